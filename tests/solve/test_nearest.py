"""The nearest of several places, maps in one call, and shared behaviour of public functions."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

import nearfar
from nearfar import Graph
from nearfar.choose import ranking
from nearfar.errors import DistanceOverflowError, OptionError, VertexError
from nearfar.graph.same_distances import backbone
from nearfar.solve import k_nearest
from tests import oracle
from tests.zoo import ZOO


@pytest.mark.parametrize("dtype", [np.int32, np.int64, np.float32, np.float64, None])
@pytest.mark.parametrize("limit", [None, 0, 9])
def test_nearest_is_the_minimum_of_many_searches(dtype: object, limit: float | None) -> None:
    rng = np.random.default_rng(4)
    weights = None if dtype is None else rng.integers(1, 20, 300).astype(dtype)
    graph = Graph.from_edges(*rng.integers(0, 120, (2, 300)), weights, n_vertices=125)
    sources = [7, 3, 99, 7]
    rows = np.array([oracle.dijkstra(graph, s) for s in sources])
    least = rows.min(axis=0)
    none = np.inf if least.dtype.kind == "f" else np.iinfo(least.dtype).max
    least[least > (none if limit is None else limit)] = none
    stats: dict[str, object] = {}
    found = nearfar.nearest(graph, sources, limit=limit, predecessors=True, stats=stats)
    np.testing.assert_array_equal(found.distances, least)
    assert found.distances.dtype == graph.weight_dtype
    assert stats["engine"]
    reached = np.flatnonzero(least != none)
    for v in range(graph.n_vertices):
        if v not in reached:
            assert (found.sources[v], found.predecessors[v]) == (-1, -1)
            continue
        at, seen = v, 0
        while found.predecessors[at] >= 0:
            at, seen = found.predecessors[at], seen + 1
            assert seen <= graph.n_vertices
        assert at == found.sources[v]
        assert rows[sources.index(at)][v] == least[v]
    assert nearfar.nearest(graph, sources).predecessors is None


def test_nearest_takes_names_and_gives_names() -> None:
    graph = Graph.from_edges(
        [0, 1, 3], [1, 2, 2], [4, 3, 5], vertex_names=list("abcd"), names=False
    )
    found = nearfar.nearest(graph, ["a", "d"], limit=4)
    assert found.distances.tolist()[:2] == [0, 4]
    assert found.sources.tolist() == ["a", "a", None, "d"]
    with pytest.raises(VertexError, match="'x' is not a vertex name"):
        nearfar.nearest(graph, ["x"])
    with pytest.raises(OptionError, match="sources is empty"):
        nearfar.nearest(graph, [])


def test_nearest_with_negative_weights_and_a_named_method() -> None:
    graph = Graph.from_edges([0, 1, 3], [1, 2, 2], [4, -3, 5])
    found = nearfar.nearest(graph, [0, 3], method="bellman_ford")
    assert found.distances.tolist() == [0, 4, 1, 0]
    assert found.sources.tolist() == [0, 0, 0, 3]


def test_the_nearest_source_over_a_vertex_beyond_the_limit() -> None:
    """Vertex 2 had a distance and no source: its path leads over 1, which is farther."""
    graph = Graph.from_edges([0, 1], [1, 2], [4, -3])
    found = nearfar.nearest(graph, [0], limit=2, predecessors=True)
    assert found.sources.tolist() == [0, -1, 0]
    assert found.distances.tolist()[::2] == [0, 1]


def test_the_method_of_a_graph_is_chosen_once(monkeypatch: pytest.MonkeyPatch) -> None:
    """Each call joins other sources to the graph; the earlier choice holds for them as well."""
    ranked: list[str] = []
    estimates = ranking.estimates
    monkeypatch.setattr(
        ranking,
        "estimates",
        lambda *given, **more: ranked.append(given[2]) or estimates(*given, **more),
    )
    rng = np.random.default_rng(4)
    graph = Graph.from_edges(*rng.integers(0, 60, (2, 200)), rng.integers(1, 9, 200))
    for sources in ([5, 1], [7], list(range(30))):
        stats: dict[str, object] = {}
        found = nearfar.nearest(graph, sources, device="cpu", threads=1, stats=stats)
        wanted = nearfar.nearest(graph, sources, method="dijkstra_binary_heap", device="cpu")
        np.testing.assert_array_equal(found.distances, wanted.distances)
        assert "requested by name" not in str(stats["reason"])
    assert ranked == ["cpu"]
    nearfar.nearest(graph, [1], device="cpu", threads=2)
    assert len(ranked) == 2, "other threads are another question"
    nearfar.sssp(graph, 0, device="cpu", threads=1)
    assert len(ranked) == 3, "and so is the graph by itself"


@pytest.mark.usefixtures("emulated_gpu")
def test_nearest_on_the_device_is_that_of_the_host() -> None:
    rng = np.random.default_rng(4)
    graph = Graph.from_edges(*rng.integers(0, 60, (2, 200)), rng.integers(0, 9, 200))
    host = nearfar.nearest(graph, [5, 1], predecessors=True, device="cpu")
    there = nearfar.nearest(graph, [5, 1], predecessors=True, method="near_far@cuda")
    for a, b in zip(host, there, strict=True):
        np.testing.assert_array_equal(a, b)


def test_isochrone_solves_and_draws(tmp_path: Path) -> None:
    pytest.importorskip("matplotlib")
    graph = Graph.from_edges(
        [0, 1, 2],
        [1, 2, 3],
        [60, 60, 600],
        coordinates=[[0, 0], [1, 0], [1, 1], [2, 1]],
        attributes={"unit": "s"},
    )
    file = tmp_path / "map.svg"
    paths = nearfar.isochrone(graph, 0, file, limit=120, title="Town", threads=1)
    assert paths.n_reached == 3
    assert "minutes" in file.read_text(encoding="utf-8")


def test_progress_counts_the_rows_that_are_done(tmp_path: Path) -> None:
    graph = ZOO["grid"]()
    n = graph.n_vertices
    seen: list[tuple[float, float]] = []
    nearfar.all_pairs(graph, block=7, reduce="count", progress=lambda *at: seen.append(at))
    assert seen[-1] == (n, n)
    assert [done for done, _ in seen] == [*range(0, n, 7), n]  # the pace counts from the start
    seen.clear()
    nearfar.distances(graph, pairs=[(0, 1), (2, 3)], progress=lambda *at: seen.append(at))
    assert seen == [(2, 2)]


def test_stats_are_filled_alike() -> None:
    graph = ZOO["grid"]()
    calls = (
        lambda **kw: nearfar.sssp(graph, 0, **kw),
        lambda **kw: nearfar.shortest_path(graph, 0, 1, **kw),
        lambda **kw: nearfar.distances(graph, [0, 1], **kw),
        lambda **kw: nearfar.all_pairs(graph, **kw),
        lambda **kw: nearfar.nearest(graph, [0, 1], **kw),
        lambda **kw: nearfar.k_shortest_paths(graph, 0, 1, 2, **kw),
    )
    for call in calls:
        stats: dict[str, object] = {}
        call(stats=stats)
        assert {"engine", "reason", "seconds"} <= stats.keys()
        with pytest.raises(OptionError, match="stats is 3: give a dict"):
            call(stats=3)


def test_k_shortest_paths_within_a_limit() -> None:
    graph = Graph.from_edges([0, 1, 0], [1, 2, 2], [4, 3, 9])
    assert nearfar.k_shortest_paths(graph, 0, 2, 5, limit=7) == [([0, 1, 2], 7)]
    assert len(nearfar.k_shortest_paths(graph, 0, 2, 5, limit=9)) == 2
    with pytest.raises(OptionError, match="give at least 0"):
        nearfar.k_shortest_paths(graph, 0, 2, 5, limit=-1)


def test_a_heavier_parallel_edge_is_no_path_that_overflows() -> None:
    big = 2**62
    graph = Graph.from_edges([0, 1, 1], [1, 2, 2], [big, 5, big])
    assert nearfar.k_shortest_paths(graph, 0, 2, 4) == [([0, 1, 2], big + 5)]
    graph = Graph.from_edges([0, 1, 0], [1, 2, 2], [big, big, 1])
    with pytest.raises(DistanceOverflowError):
        nearfar.k_shortest_paths(graph, 0, 2, 2)


def test_all_but_the_first_parameters_go_by_keyword() -> None:
    graph = ZOO["grid"]()
    for call in (
        lambda: nearfar.sssp(graph, 0, "auto"),
        lambda: nearfar.distances(graph, [0], [1]),
        lambda: nearfar.all_pairs(graph, "auto"),
        lambda: nearfar.shortest_path(graph, 0, 1, "auto"),
        lambda: nearfar.nearest(graph, [0], "auto"),
    ):
        with pytest.raises(TypeError, match="positional argument"):
            call()


def test_k_shortest_paths_look_at_what_they_need() -> None:
    """Regression: a path that does not fit 64 bits was an error although no wanted path used it."""
    half = 2**62
    ends = [0, 1, 0, 3, 4], [1, 2, 2, 4, 2]
    graph = nearfar.Graph.from_edges(*ends, np.array([1, 1, 5, half, half]))
    assert nearfar.k_shortest_paths(graph, 0, 2, 5) == [([0, 1, 2], 2), ([0, 2], 5)]
    ends = [*ends[0], 0], [*ends[1], 3]
    joined = nearfar.Graph.from_edges(*ends, np.array([1, 1, 5, half, half, 1]))
    two = [([0, 1, 2], 2), ([0, 2], 5)]
    assert nearfar.k_shortest_paths(joined, 0, 2, 2) == two
    assert nearfar.k_shortest_paths(joined, 0, 2, 3, limit=10) == two
    for source, k in ((0, 3), (3, 1)):
        with pytest.raises(nearfar.DistanceOverflowError):
            nearfar.k_shortest_paths(joined, source, 2, k)
    assert nearfar.k_shortest_paths(joined, 2, 0, 1) == []


def test_a_distance_that_does_not_fit_names_no_vertex_that_is_not_there() -> None:
    far = np.array([2**62, 2**62], np.int64)
    graph = Graph.from_edges([0, 1], [1, 2], far)
    with pytest.raises(nearfar.DistanceOverflowError, match="from the sources does not fit int64"):
        nearfar.nearest(graph, [0])


@pytest.mark.parametrize("k", [None, 3])
@pytest.mark.parametrize("dtype", ["int32", "float64"])
def test_repeated_calls_leave_out_longer_edges(
    dtype: str, k: int | None, monkeypatch: pytest.MonkeyPatch
) -> None:
    graph = nearfar.generate("kronecker", scale=9, weight_dtype=dtype)
    sources = np.random.default_rng(5).choice(graph.n_vertices, 12, replace=False)
    monkeypatch.setattr(k_nearest, "_rows_are_faster", lambda *_: False)
    given = {"k": k, "threads": 1, "device": "cpu"}
    first = nearfar.nearest(graph, sources, **given)
    backbone.record(graph, 1e3)  # as many calls would
    again = nearfar.nearest(graph, sources, **given)
    assert backbone.so_far(graph).n_edges < 0.9 * graph.n_edges
    np.testing.assert_array_equal(first.distances, again.distances)
    np.testing.assert_array_equal(first.sources, again.sources)
    if k is None:
        other = Graph.from_csr(graph.indptr, graph.indices, graph.weights, directed=graph.directed)
        given["predecessors"] = True
        forests = [nearfar.nearest(one, sources, **given).predecessors for one in (graph, other)]
        np.testing.assert_array_equal(*forests)
