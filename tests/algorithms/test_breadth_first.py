"""Breadth-first search on CPU cores: both directions, shared levels, edges read."""

from __future__ import annotations

import numpy as np
import pytest

import nearfar
from nearfar import Graph
from nearfar.algorithms.breadth_first.cpu import _PULLS
from nearfar.generators import generate
from tests import oracle

TOP = np.iinfo(np.int32).max


def test_both_directions_agree() -> None:
    rng = np.random.default_rng(5)
    n, m = 5000, 60_000
    s, t = rng.integers(0, n, m), rng.integers(0, n, m)
    for directed in (True, False):
        graph = Graph.from_edges(s, t, n_vertices=n, directed=directed)
        expected = oracle.dijkstra(graph, 3)
        first = nearfar.sssp(graph, 3, method="breadth_first")
        assert np.array_equal(first.distances, expected)
        graph.transpose()  # allows pulling
        again = nearfar.sssp(graph, 3, method="breadth_first")
        assert np.array_equal(again.distances, expected)
        assert again.stats["edges_relaxed"] < graph.n_edges
        some = nearfar.sssp(graph, 3, method="breadth_first", targets=[7, 1, 7]).distances
        assert np.array_equal(some[[1, 7]], expected[[1, 7]])
        near = nearfar.sssp(graph, 3, method="breadth_first", limit=2).distances
        assert np.array_equal(near, np.where(expected <= 2, expected, TOP))


def test_the_last_levels_of_a_road_are_pushed() -> None:
    """A pull scans all vertices: 14 pulls would cost more than the whole search."""
    grid = generate("grid", rows=120, columns=120).without_weights()
    paths = nearfar.sssp(grid, 0, method="breadth_first")
    assert paths.stats["vertices_processed"] == np.count_nonzero(paths.reachable)
    assert paths.stats["edges_relaxed"] == grid.degrees[paths.reachable].sum()


def test_levels_after_a_pull_in_vain_are_pushed() -> None:
    """On a ring with a few far edges, 13 pulls would read all edges four times."""
    rng = np.random.default_rng(1)
    ring, far = np.arange(3000), rng.integers(0, 3000, (2, 60))
    sources = np.concatenate([ring, ring, ring, far[0]])
    targets = np.concatenate([(ring + 1) % 3000, (ring + 2) % 3000, (ring + 3) % 3000, far[1]])
    graph = Graph.from_edges(sources, targets, directed=False)
    paths = nearfar.sssp(graph, 0, method="breadth_first")
    np.testing.assert_array_equal(paths.distances, oracle.dijkstra(graph, 0))
    assert graph.n_edges < paths.stats["edges_relaxed"] < 1.8 * graph.n_edges


def test_pulls_are_compared_where_they_read_most_edges() -> None:
    below = np.arange(1, 50_000)
    tree = Graph.from_edges((below - 1) // 2, below, directed=False)
    hubs = generate("kronecker", scale=14).without_weights()
    relaxed: dict[str, set[int]] = {"tree": set(), "hubs": set()}
    for name, graph in (("tree", tree), ("hubs", hubs)):
        source = int(np.argmax(graph.degrees))
        expected = oracle.dijkstra(graph, source)
        for _ in range(6):
            paths = nearfar.sssp(graph, source, method="breadth_first")
            assert np.array_equal(paths.distances, expected)
            relaxed[name].add(paths.stats["edges_relaxed"])
    assert len(relaxed["tree"]) == 2  # with and without pulls
    assert tree.n_edges in relaxed["tree"]
    times = _PULLS.get(tree, 1)
    assert times is not None
    assert set(times.times) == {True, False}
    assert len(relaxed["hubs"]) == 1
    assert max(relaxed["hubs"]) < hubs.n_edges / 2
    assert _PULLS.get(hubs, 1) is None


@pytest.mark.parametrize("threads", [1, 2, 3])
@pytest.mark.parametrize("directed", [True, False])
def test_workers_share_levels(directed: bool, threads: int) -> None:
    """Hubs and levels of every size, in both directions, repeated for different schedules."""
    made = generate("kronecker", scale=16)
    graph = Graph.from_csr(made.indptr, made.indices, directed=directed)
    source = int(np.argmax(graph.degrees))
    alone = nearfar.sssp(graph, source, method="breadth_first")
    nearfar.verify(graph, alone)
    for _ in range(15):
        paths = nearfar.sssp(graph, source, method="breadth_first_parallel", threads=threads)
        assert np.array_equal(paths.distances, alone.distances)
        assert paths.stats["iterations"] == alone.stats["iterations"]
        assert 1 <= paths.stats["workers"] <= threads
    deep = int(alone.distances[alone.reachable].max())
    near = nearfar.sssp(
        graph, source, method="breadth_first_parallel", threads=threads, limit=deep - 1
    )
    assert np.array_equal(near.distances, np.where(alone.distances < deep, alone.distances, TOP))


def test_thin_levels_stay_with_one_worker() -> None:
    grid = generate("grid", rows=120, columns=120).without_weights()
    paths = nearfar.sssp(grid, 0, method="breadth_first_parallel", threads=2)
    assert paths.stats["workers"] == 1
    np.testing.assert_array_equal(paths.distances, oracle.dijkstra(grid, 0))


def _equal(weight: float, dtype: str) -> Graph:
    rng = np.random.default_rng(11)
    n, m = 4000, 9000  # some vertices are unreached
    s, t = rng.integers(0, n, m), rng.integers(0, n, m)
    return Graph.from_edges(s, t, np.full(m, weight, dtype), n_vertices=n, directed=False)


@pytest.mark.parametrize("method", ["breadth_first", "breadth_first_parallel"])
@pytest.mark.parametrize(
    ("weight", "dtype"),
    [(7, "int32"), (0, "int64"), (0.1, "float32"), (0.1, "float64"), (1e-300, "float64")],
)
def test_equal_weights_are_counted(weight: float, dtype: str, method: str) -> None:
    graph = _equal(weight, dtype)
    assert graph.has_equal_weights
    expected = oracle.dijkstra(graph, 5)
    paths = nearfar.sssp(graph, 5, method=method, threads=3)
    assert paths.distances.dtype == graph.weight_dtype
    assert np.array_equal(paths.distances, expected)
    nearfar.verify(graph, paths)
    none = expected.max()
    reached = np.unique(expected[expected < none])
    for limit in {float(reached[len(reached) // 2]), float(reached[-1]) * 0.75, 0.0}:
        near = nearfar.sssp(graph, 5, method=method, limit=limit).distances
        assert np.array_equal(near, np.where(expected <= limit, expected, none))
    target = int(np.argmax(expected == reached[len(reached) // 2]))
    stopped = nearfar.sssp(graph, 5, method=method, targets=[target], predecessors=True)
    assert stopped.distance_to(target) == expected[target]


def test_targets_where_more_edges_are_no_farther() -> None:
    """Regression: a search stopped at the last target, before vertices at the same distance."""
    steps = np.arange(30)
    path = Graph.from_edges(steps, steps + 1, np.zeros(30, np.int32), n_vertices=31)
    paths = nearfar.sssp(path, 0, method="breadth_first", targets=[3, 5])
    assert paths.distances.tolist() == [0] * 31


@pytest.mark.parametrize("dtype", ["int32", "int64", "float32"])
def test_lengths_of_equal_weights_that_do_not_fit(dtype: str) -> None:
    n = 50
    heavy = 2**28 if dtype == "int32" else 2**60 if dtype == "int64" else 3e37
    s = np.arange(n - 1)
    path = Graph.from_edges(s, s + 1, np.full(n - 1, heavy, dtype), n_vertices=n)
    if dtype == "int64":
        with pytest.raises(nearfar.DistanceOverflowError, match="scale the weights down"):
            nearfar.sssp(path, 0, method="breadth_first")
        near = nearfar.sssp(path, 0, method="breadth_first", limit=5 * heavy)
        assert near.distances[:6].tolist() == [k * heavy for k in range(6)]
        assert near.n_reached == 6
        return
    paths = nearfar.sssp(path, 0, method="breadth_first")
    assert np.array_equal(paths.distances, nearfar.sssp(path, 0, method="dijkstra").distances)
    assert paths.n_reached == n


def test_equal_weights_are_the_same_and_not_negative() -> None:
    assert _equal(3, "int32").without_weights().has_equal_weights
    assert not _equal(-3, "int32").has_equal_weights
    mixed = _equal(3, "int32").weights.copy()  # type: ignore[union-attr]
    mixed[-1] = 4
    made = _equal(3, "int32")
    assert not Graph(made.indptr, made.indices, mixed).has_equal_weights
    with pytest.raises(nearfar.VariantUnavailable, match="with equal ones"):
        nearfar.sssp(Graph(made.indptr, made.indices, mixed), 0, method="breadth_first")
