"""Graphs without edges that are longer than a path, and when searches use them."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given

import nearfar
from nearfar import Graph
from nearfar.generators import generate
from nearfar.graph.same_distances import backbone
from nearfar.registry import Request, find
from nearfar.solve.steps import plan
from tests.strategies import graphs

DTYPES = ["int32", "int64", "float32", "float64"]
LEFT_OUT = "without edges that are longer than a path"


@pytest.fixture
def eager(monkeypatch: pytest.MonkeyPatch) -> None:
    """Leave out edges of graphs of any size after the first search, and however few they are."""
    for name, value in (
        ("MANY_EDGES", 1),
        ("_SECONDS", (1e-15, 0.0)),
        ("_SHORT", 0.0),
        ("FEWER", 1.0),
        ("_MUCH_FEWER", 1.0),
        ("_FEW_NEAR", 0.0),
    ):
        monkeypatch.setattr(backbone, name, value)


def hubs(dtype: str, directed: bool, n: int = 1500) -> Graph:
    """Return a graph with hubs, whose weights are spread over four decades."""
    made = generate("preferential_attachment", vertices=n, attach=8, seed=3)
    keys = np.minimum(made.tails(np.int64), made.indices) * 7919
    keys += np.maximum(made.tails(np.int64), made.indices) * (1 + directed * (made.tails() % 3))
    weights = 10 ** (keys % 4001 / 1000.0)
    weights = weights if dtype[0] == "f" else np.ceil(weights)
    return Graph(made.indptr, made.indices, weights.astype(dtype), directed=directed)


def shorter(graph: Graph, threads: int = 2) -> Graph | None:
    found = backbone.without_longer(graph, threads, plan.search_once)
    return None if found is graph else found


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("directed", [False, True])
@pytest.mark.parametrize("method", ["auto", "near_far"])
@pytest.mark.usefixtures("eager")
def test_answers_are_those_of_all_edges(dtype: str, directed: bool, method: str) -> None:
    graph = hubs(dtype, directed)
    sources = [5, 77, 1400]
    wanted = [nearfar.sssp(graph, s, method="dijkstra", device="cpu") for s in sources]
    reasons = []
    for turn in range(9):
        paths = nearfar.sssp(graph, sources[turn % 3], device="cpu", threads=2, method=method)
        reasons.append(LEFT_OUT in paths.reason)
        before = wanted[turn % 3]
        assert paths.distances.dtype == before.distances.dtype
        assert np.array_equal(paths.distances, before.distances)
        assert np.array_equal(paths.predecessors, before.predecessors)
        nearfar.verify(graph, paths)
    assert reasons == [method == "auto" and turn > 0 for turn in range(9)]
    near = nearfar.sssp(graph, 5, device="cpu", limit=900.0)
    assert np.array_equal(near.reachable, wanted[0].distances <= 900)
    assert nearfar.sssp(graph, 5, device="cpu", targets=[9]).distances[9] == wanted[0].distances[9]


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.usefixtures("eager")
def test_rows_are_those_of_all_edges(dtype: str) -> None:
    graph, sources = hubs(dtype, False), np.arange(0, 1500, 40)
    wanted, trees = nearfar.distances(
        graph, sources, method="dijkstra", device="cpu", predecessors=True
    )
    for turn in range(3):
        stats: dict[str, Any] = {}
        rows, before = nearfar.distances(
            graph, sources, predecessors=True, stats=stats, device="cpu", threads=1
        )
        assert LEFT_OUT in stats["reason"], turn  # from the first time on: many sources
        assert rows.dtype == wanted.dtype
        assert np.array_equal(rows, wanted)
        assert np.array_equal(before, trees)
    some = nearfar.distances(graph, sources, targets=[7, 5], device="cpu")
    assert np.array_equal(some, wanted[:, [7, 5]])


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("directed", [False, True])
@pytest.mark.usefixtures("eager")
def test_pairs_are_those_of_all_edges(dtype: str, directed: bool) -> None:
    graph = hubs(dtype, directed)
    pairs = np.random.default_rng(1).integers(0, 1500, (40, 2))
    for source, target in pairs[:12].tolist():
        wanted = nearfar.sssp(graph, source, method="dijkstra", device="cpu")
        if np.isfinite(wanted.distances[target]) and wanted.reachable[target]:
            path, length = nearfar.shortest_path(graph, source, target, device="cpu")
            assert path == wanted.path_to(target)
            assert length == wanted.distances[target]
    assert backbone._state(graph).shorter is not None
    exact = nearfar.distances(graph, pairs[:, 0], method="dijkstra", device="cpu")
    for _ in range(3):
        found = nearfar.distances(graph, pairs=pairs, device="cpu")
        assert np.array_equal(found, exact[np.arange(40), pairs[:, 1]])


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("directed", [False, True])
def test_most_longer_edges_are_found(dtype: str, directed: bool) -> None:
    graph = hubs(dtype, directed)
    found = shorter(graph)
    assert found is not None
    assert found.directed == directed
    assert graph.has_transpose == (not directed)
    exact = nearfar.distances(graph, method="dijkstra", device="cpu")
    longer = graph.effective_weights > exact[graph.tails(), graph.indices]
    assert graph.n_edges * 0.1 < longer.sum()
    assert longer.sum() * 0.8 < graph.n_edges - found.n_edges <= longer.sum()
    left = set(zip(found.tails().tolist(), found.indices.tolist(), strict=True))
    needed = ~longer
    assert left >= set(
        zip(graph.tails()[needed].tolist(), graph.indices[needed].tolist(), strict=True)
    )
    assert np.array_equal(nearfar.distances(found, device="cpu"), exact)


@pytest.mark.parametrize("dtype", DTYPES)
def test_short_searches_find_detours(dtype: str) -> None:
    made = generate("delaunay", vertices=1500, seed=4)
    keys = made.tails(np.int64) * made.indices % 997  # the same in both directions
    weights = (1 + keys + (0.37 if dtype[0] == "f" else 0)).astype(dtype)
    graph = Graph(made.indptr, made.indices, weights, directed=False)
    found = shorter(graph)
    assert found is not None
    exact = nearfar.distances(graph, method="dijkstra", device="cpu")
    longer = int((graph.effective_weights > exact[graph.tails(), graph.indices]).sum())
    assert graph.n_edges * 0.2 < longer
    assert longer * 0.9 < graph.n_edges - found.n_edges <= longer
    rows = nearfar.distances(found, method="worker_per_source", device="cpu")
    assert np.array_equal(rows, exact)
    # The sample finds few of them where only one edge in nine is longer.
    flat = graph.with_weights((weights + weights.dtype.type(1500)).astype(dtype))
    assert shorter(flat) is None


@pytest.mark.parametrize("dtype", DTYPES)
def test_short_searches_find_paths_over_hubs_of_long_rows(
    dtype: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    # Rings around eight hubs, each of 250 leaves: a search looks at 64 edges of a hub.
    monkeypatch.setattr(backbone, "FEWER", 0.0)  # no pivot
    monkeypatch.setattr(backbone, "_MUCH_FEWER", 0.99)
    leaves = np.arange(8, 2008)
    tails = np.concatenate([leaves, leaves, np.arange(8)])
    heads = np.concatenate([np.roll(leaves, -1), (leaves - 8) // 250, np.roll(np.arange(8), -1)])
    keys = np.random.default_rng(3).integers(100, 1000, len(tails))
    graph = Graph.from_edges(tails, heads, keys.astype(dtype) / 8, directed=False)
    graph = graph if dtype[0] == "f" else graph.with_weights((graph.weights * 8).astype(dtype))
    found = shorter(graph)
    assert found is not None
    exact = nearfar.distances(graph, method="dijkstra", device="cpu")
    longer = int((graph.effective_weights > exact[graph.tails(), graph.indices]).sum())
    assert longer * 0.6 < graph.n_edges - found.n_edges <= longer
    assert np.array_equal(nearfar.distances(found, method="dijkstra", device="cpu"), exact)


@pytest.mark.parametrize("degree", [200, 300])
def test_long_rows_and_more_vertices_than_a_short_search_remembers(
    degree: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(backbone, "_MUCH_FEWER", 1.0)
    made = generate("uniform_random", vertices=2000, degree=degree, seed=7)
    weights = 1 + np.arange(made.n_edges) * 7919 % 10_007
    graph = Graph(made.indptr, made.indices, weights.astype(np.int32))
    sources = np.arange(0, 2000, 97)
    wanted = nearfar.distances(graph, sources, method="dijkstra", device="cpu")
    found = shorter(graph)
    assert found is not None
    assert np.array_equal(nearfar.distances(found, sources, device="cpu"), wanted)


def beyond_the_pivot(dtype: str, seed: int) -> Graph:
    """Return a far source whose only way leads to edges that do not lead on to the pivot."""
    rng = np.random.default_rng(seed)
    leaves, (first, second) = np.arange(5, 35), rng.random(2)
    tails = np.concatenate([np.zeros(30, int), leaves, [0, 1, 2, 2, 3]])
    heads = np.concatenate([leaves, np.zeros(30, int), [2, 2, 4, 3, 4]])
    far, more = (1e12, 1e-9) if dtype == "float64" else (1e5, 1e-3)
    last = [1.0, far, first + second + more, first, second]  # 2 -> 4 is longer than 2 -> 3 -> 4
    weights = np.concatenate([rng.random(60) + 0.5, last])
    return Graph.from_edges(tails, heads, weights.astype(dtype), n_vertices=35)


@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_far_sources_that_do_not_reach_the_pivot(
    dtype: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(backbone, "FEWER", 1.0)
    monkeypatch.setattr(backbone, "_MUCH_FEWER", 1.0)
    for seed in range(40):
        graph = beyond_the_pivot(dtype, seed)
        wanted = nearfar.distances(graph, method="dijkstra", device="cpu")
        found = shorter(graph) or graph
        assert np.array_equal(nearfar.distances(found, method="dijkstra", device="cpu"), wanted)


@given(graphs(negative=False))
@pytest.mark.usefixtures("eager")
def test_any_graph(graph: Graph) -> None:
    if graph.weights is None or not graph.n_edges or graph.index_dtype != np.int32:
        return
    found = shorter(graph, 1)
    if found is None:
        return
    for source in range(graph.n_vertices):
        wanted = nearfar.sssp(graph, source, method="dijkstra", device="cpu").distances
        assert np.array_equal(
            nearfar.sssp(found, source, method="dijkstra", device="cpu").distances, wanted
        )


def test_close_float_sums_keep_their_edges() -> None:
    # Far away, 1 + 2e-7 and two halves have the same sum in float32: neither may be left out.
    far = [0, 1, 2, 1], [1, 2, 3, 3], np.array([1e6, 0.5, 0.5, 1.0000002], np.float32)
    graph = Graph.from_edges(*far, directed=False, n_vertices=4)
    assert shorter(graph) is None
    heavier = graph.with_weights(np.where(graph.effective_weights == 1.0000002, 9, 0.5))
    assert heavier.n_edges == 8


def test_a_tree_knows_the_edges_of_its_longest_path() -> None:
    assert backbone._longest(np.array([-1, 0, 1, 2, 3, -1])) in range(4, 8)
    assert backbone._longest(np.array([-1, 0, 0, 0])) == 1


def test_graphs_that_keep_their_edges() -> None:
    grid = generate("grid", rows=100, columns=100)
    assert shorter(Graph(grid.indptr, grid.indices, 5 + grid.weights % 2, directed=False)) is None
    assert backbone.waits(hubs("int32", False))
    assert not backbone.waits(hubs("int32", False).without_weights())
    negative = hubs("int32", True)
    assert not backbone.waits(negative.with_weights(-negative.weights))


def test_memory_and_time_decide(monkeypatch: pytest.MonkeyPatch) -> None:
    graph = hubs("int32", False)

    def ask(sources: int = 1) -> Graph:
        return backbone.for_next(graph, sources, 1, plan.search_once)

    assert ask() is graph
    backbone.record(graph, 1e-6)
    assert ask() is graph
    assert ask(64) is graph  # short searches, for which a graph of its own takes long
    backbone.record(graph, 1.0)
    found = ask()
    assert found.n_edges < graph.n_edges
    assert ask() is found
    graph.forget()
    monkeypatch.setattr(backbone, "_SHORT", 0.0)
    assert ask() is graph
    assert ask(64) is not graph
    graph.forget()
    with monkeypatch.context() as short:
        short.setattr(backbone, "shortage", lambda _: 1 << 10)
        assert ask(64) is graph
    assert not backbone.waits(graph)
    graph.forget()

    def without_memory(*_: Any) -> Any:
        raise MemoryError

    monkeypatch.setattr(backbone, "_by_pivot", without_memory)
    assert ask(64) is graph
    assert not backbone.waits(graph)


@pytest.mark.usefixtures("eager")
def test_sums_beyond_32_bits() -> None:
    graph = hubs("int32", False)
    heavy = graph.with_weights((graph.effective_weights.astype(np.int64) * 190_000).astype("i4"))
    wanted = nearfar.sssp(heavy, 0, method="dijkstra", device="cpu").distances
    for _ in range(4):
        assert np.array_equal(nearfar.sssp(heavy, 0, device="cpu").distances, wanted)


@pytest.mark.parametrize(("dtype", "searches"), [("int32", 1), ("float32", 2)])
def test_few_edges_near_the_pivot_are_not_searched_for_both_ways(dtype: str, searches: int) -> None:
    """Floats need the distances to the pivot for their margins; hubs have long edges near them."""
    roads = generate("grid", rows=60, columns=60, low=1, high=9, weight_dtype=dtype)
    for graph, times in ((roads, searches), (hubs(dtype, True), 2)):
        asked: list[int] = []

        def search(graph: Graph, source: int, *how: Any, asked: list[int] = asked) -> Any:
            asked.append(source)
            return plan.search_once(graph, source, *how)

        directed = Graph(graph.indptr, graph.indices, graph.weights, directed=True)
        backbone.without_longer(directed, 2, search)
        assert len(asked) == times


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("directed", [False, True])
def test_a_search_that_shows_that_few_edges_are_long_saves_those_of_the_pivot(
    dtype: str, directed: bool
) -> None:
    """Both ways would be searched in a directed graph. Sums of float32 need these for margins."""
    roads = generate("grid", rows=60, columns=60, low=1, high=9, weight_dtype=dtype)
    for graph, few in (
        (roads, not (directed and dtype == "float32")),
        (hubs(dtype, directed), False),
    ):
        made = Graph(graph.indptr, graph.indices, graph.weights, directed=directed)
        found = plan.search_once(made, 17, 1, False)[0]
        for seconds, ends in ((1e-9, False), (1.0, few)):
            backbone.record(made, seconds, found)
            assert (backbone._state(made).step == "trial") is ends
        assert (shorter(made) is not None) is (graph is not roads)


def test_only_searches_on_the_cpu_count() -> None:
    """Their distances are on the host."""
    graph = generate("grid", rows=60, columns=60, low=1, high=9)
    made = plan.first_plan(graph, Request(device="cpu"), "auto", {})
    assert made.variant.device == "cpu"
    assert made.spends
    assert not made.using(find("near_far", "cuda")[0], "a device").spends


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("directed", [False, True])
def test_short_searches_that_come_first_keep_all_distances(
    dtype: str, directed: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Their margins are those of distances from a source, not of those from the pivot and to it."""
    monkeypatch.setattr(backbone, "_most_over_pivot", lambda *_: 0.0)
    monkeypatch.setattr(backbone, "_MUCH_FEWER", 1.0)
    graph = hubs(dtype, directed)
    backbone.record(graph, 1.0, plan.search_once(graph, 400, 1, False)[0])
    if not (directed and dtype == "float32"):
        assert backbone._state(graph).step == "trial"
    fewer = shorter(graph)
    assert fewer is not None
    assert fewer.n_edges < graph.n_edges
    for source in range(0, graph.n_vertices, 50):
        found, wanted = (plan.search_once(g, source, 1, False)[0] for g in (fewer, graph))
        assert np.array_equal(found, wanted)


@given(graph=graphs())
@pytest.mark.usefixtures("eager")
def test_no_more_edges_are_long_than_distances_from_anywhere_show(graph: Graph) -> None:
    if not backbone.takes(graph):
        return
    kept, _ = backbone._by_pivot(graph, 1, plan.search_once)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(backbone, "_LOOKED", 1)  # all edges
        for source in range(0, graph.n_vertices, 3):
            found = plan.search_once(graph, source, 1, False)[0]
            assert 1 - kept.mean() <= backbone._most_over_pivot(graph, found) + 1e-12
