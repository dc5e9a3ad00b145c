"""Dead ends, which searches need not queue: no vertex is missed."""

from __future__ import annotations

import numpy as np
import pytest
import scipy.sparse.csgraph

import nearfar
from nearfar import Graph

METHODS = ["delta_stepping", "delta_stepping_parallel", "worker_per_source"]
DTYPES = [np.int32, np.int64, np.float32, np.float64]


def with_dead_ends(rng: np.random.Generator, dtype: type, index: type = np.int32) -> Graph:
    """Return a random core with sinks, leaves joined both ways, and vertices that lead back to one.

    Each of the last kind has in-edges from two vertices and one out-edge to the first of them: from
    the first it is a dead end, from the second a way to the first.
    """
    core, more = 60, 120
    s, t = rng.integers(0, core, (2, 150))
    sinks = core + np.arange(more)
    to_sinks = rng.integers(0, core, more)
    leaves = sinks + more
    at_leaves = rng.integers(0, core, more)
    bridges = leaves + more
    first, second = rng.integers(0, core, (2, more))
    s = np.concatenate([s, to_sinks, at_leaves, leaves, first, second, bridges])
    t = np.concatenate([t, sinks, leaves, at_leaves, bridges, bridges, first])
    w = rng.integers(0, 8, len(s))
    return Graph.from_edges(
        s.astype(index), t.astype(index), w.astype(dtype), n_vertices=core + 3 * more
    )


def truth(graph: Graph, sources: list[int]) -> np.ndarray:
    rows = [nearfar.sssp(graph, s, method="dijkstra_binary_heap").distances for s in sources]
    return np.stack(rows)


@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("index", [np.int32, np.int64])
def test_distances_are_the_same(method: str, dtype: type, index: type) -> None:
    rng = np.random.default_rng(7)
    for _ in range(20):
        graph = with_dead_ends(rng, dtype, index)
        sources = [int(v) for v in rng.integers(0, graph.n_vertices, 3)]
        wanted = truth(graph, sources)
        found = nearfar.distances(graph, sources, method=method, threads=2)
        assert np.array_equal(found, wanted)
        least = float(np.quantile(wanted[wanted < wanted.max()], 0.5))
        near = nearfar.distances(graph, sources, method=method, threads=2, limit=least)
        assert np.array_equal(near <= least, wanted <= least)
        assert np.array_equal(near[near <= least], wanted[wanted <= least])


@pytest.mark.parametrize("queue", ["heap", "buckets"])
def test_targets_that_are_dead_ends(queue: str) -> None:
    """The next search of the same worker finds no data of the last one."""
    rng = np.random.default_rng(8)
    graph = with_dead_ends(rng, np.int32)
    sources = list(range(graph.n_vertices))
    wanted = truth(graph, sources)
    targets = rng.integers(60, graph.n_vertices, 9)
    found = np.empty((len(sources), len(targets)), np.int32)
    nearfar._cpu.per_source(
        graph.view, np.array(sources), found, targets, None, 1, queue == "buckets"
    )
    assert np.array_equal(found, wanted[:, targets])


@pytest.mark.parametrize("method", METHODS[:2])
def test_paths_through_and_to_them(method: str) -> None:
    graph = with_dead_ends(np.random.default_rng(9), np.int32)
    for source in range(0, graph.n_vertices, 29):
        paths = nearfar.sssp(graph, source, method=method, predecessors=True)
        nearfar.verify(graph, paths)


@pytest.mark.parametrize("both_ways", [True, False])
def test_a_star_queues_nothing_but_its_hub(both_ways: bool) -> None:
    n = 50_000
    hub = np.zeros(n - 1, np.int32)
    graph = Graph.from_edges(
        hub, np.arange(1, n), np.arange(1, n, dtype=np.int32), directed=not both_ways
    )
    paths = nearfar.sssp(graph, 0, method="delta_stepping")
    assert np.array_equal(paths.distances, np.arange(n))
    assert paths.stats["pushes"] == paths.stats["vertices_processed"] == 1
    if both_ways:
        back = nearfar.sssp(graph, 5, method="delta_stepping")
        assert back.stats["vertices_processed"] == 2
        assert back.distances[7] == 12


def test_roads_with_lanes_that_end() -> None:
    """A comb: the last vertices of the teeth are reached, but only the spine is processed."""
    n = 3000
    spine, teeth = np.arange(n), np.arange(n, 2 * n)
    s, t = np.concatenate([spine[:-1], spine]), np.concatenate([spine[1:], teeth])
    w = np.random.default_rng(1).integers(1, 100, len(s)).astype(np.int32)
    graph = Graph.from_edges(s, t, w, directed=False)
    paths = nearfar.sssp(graph, 0, method="delta_stepping")
    assert paths.n_reached == 2 * n
    assert paths.stats["vertices_processed"] < 1.2 * n
    reference = scipy.sparse.csgraph.dijkstra(graph.to_scipy(), indices=0)
    assert np.array_equal(paths.distances, reference)
