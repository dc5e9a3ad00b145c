"""Edges longer than another path, found on the emulated device, and when searches use them."""

from __future__ import annotations

import threading
from contextlib import nullcontext
from typing import Any

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings

import nearfar
from nearfar import Graph
from nearfar.cuda.device_graph import DeviceGraph, device_graph
from nearfar.cuda.graph import longer_edges
from nearfar.errors import OutOfMemoryError
from nearfar.generators import generate
from nearfar.graph.same_distances import backbone
from nearfar.solve.steps.plan import search_on_device
from nearfar.system.devices import runtime
from tests.graph.test_backbone import DTYPES, LEFT_OUT, beyond_the_pivot, hubs
from tests.strategies import graphs

pytestmark = pytest.mark.usefixtures("emulated_gpu")


@pytest.fixture
def eager(monkeypatch: pytest.MonkeyPatch) -> None:
    """Leave out edges of graphs of any size after the first search, and wait for the compiler."""
    monkeypatch.setattr(backbone, "MANY_EDGES", 1)
    monkeypatch.setattr(longer_edges, "FEWER", 1.0)
    monkeypatch.setattr(longer_edges, "_SECONDS", (1e-15, 0.0))
    monkeypatch.setattr(longer_edges, "_TRIED", 2)
    monkeypatch.setattr(longer_edges, "_SETTLED", 2)
    monkeypatch.setattr(runtime, "compiling_in_background", lambda _=True: nullcontext())


def on_host(graph: Graph) -> Graph:
    """Copy a graph, as a directed one: edges may be left out in one direction only."""
    return Graph(graph.indptr, graph.indices, graph.weights, directed=True)


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("directed", [False, True])
def test_most_longer_edges_are_found(dtype: str, directed: bool) -> None:
    graph = hubs(dtype, directed, 600)
    found = longer_edges.without_longer(graph, search_on_device)
    assert found is not None
    assert found.on_device
    assert found.directed == directed
    exact = nearfar.distances(graph, method="dijkstra", device="cpu")
    longer = graph.effective_weights > exact[graph.tails(), graph.indices]
    assert longer.sum() * 0.8 < graph.n_edges - found.n_edges <= longer.sum()
    assert np.array_equal(nearfar.distances(on_host(found), device="cpu"), exact)


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("directed", [False, True])
@pytest.mark.parametrize("sweeps", [8, 128])
def test_short_searches_find_detours(
    dtype: str, directed: bool, sweeps: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(longer_edges, "_SWEEPS", sweeps)  # 8: paths are longer
    made = generate("delaunay", vertices=900, seed=4)
    keys = 1 + made.tails(np.int64) * made.indices % 997  # the same in both directions
    graph = Graph(made.indptr, made.indices, (keys * 1.37).astype(dtype), directed=directed)
    found = longer_edges.without_longer(graph, search_on_device)
    assert found is not None
    exact = nearfar.distances(graph, method="dijkstra", device="cpu")
    longer = int((graph.effective_weights > exact[graph.tails(), graph.indices]).sum())
    assert 0.9 * longer < graph.n_edges - found.n_edges <= longer
    assert np.array_equal(nearfar.distances(on_host(found), device="cpu"), exact)


@pytest.mark.parametrize("degree", [100, 200])
def test_long_rows_and_more_vertices_than_a_table_has_room_for(degree: int) -> None:
    made = generate("uniform_random", vertices=500, degree=degree, seed=7)
    weights = 1 + np.arange(made.n_edges) * 7919 % 10_007
    graph = Graph(made.indptr, made.indices, weights.astype(np.int32))
    marks = longer_edges._Marks(graph, device_graph(graph))
    share = marks.by_searches(1)
    found = marks.rest()
    assert (found is None) == (degree == 200)
    if found is not None:
        assert share == pytest.approx(1 - found.n_edges / graph.n_edges)
        exact = nearfar.distances(graph, device="cpu")
        assert np.array_equal(nearfar.distances(on_host(found), device="cpu"), exact)


@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.usefixtures("eager")
def test_far_sources_that_do_not_reach_the_pivot(
    dtype: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(longer_edges, "_WORTHWHILE", -1.0)
    for seed in range(20):
        graph = beyond_the_pivot(dtype, seed)
        wanted = nearfar.distances(graph, method="dijkstra", device="cpu")
        found = longer_edges.without_longer(graph, search_on_device) or graph
        rows = nearfar.distances(on_host(found), method="dijkstra", device="cpu")
        assert np.array_equal(rows, wanted)


@given(graphs(negative=False))
@settings(suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow])
@pytest.mark.usefixtures("eager")
def test_any_graph(graph: Graph) -> None:
    if graph.weights is None or not backbone.takes(graph):
        return
    found = longer_edges.without_longer(graph, search_on_device)
    if found is not None:
        exact = nearfar.distances(graph, method="dijkstra", device="cpu")
        assert np.array_equal(nearfar.distances(on_host(found), device="cpu"), exact)


def test_rows_without_edges_keep_their_places() -> None:
    # Vertices 0, 3 and 6 have no edges; 1 -> 4 is longer than the path over the pivot 2.
    tails, heads = [1, 1, 2, 2, 2, 5], [2, 4, 4, 1, 5, 2]
    graph = Graph.from_edges(tails, heads, [1, 9, 1, 1, 1, 1], n_vertices=7)
    found = longer_edges.without_longer(graph, search_on_device)
    assert found is not None
    assert found.indptr.tolist() == [0, 0, 1, 4, 4, 4, 5, 5]
    assert found.indices.tolist() == [2, 4, 1, 5, 2]
    assert found.weights is not None
    assert found.weights.tolist() == [1, 1, 1, 1, 1]


def test_graphs_of_long_paths_or_few_longer_edges_keep_all() -> None:
    path = np.arange(longer_edges._SWEEPS + 2)
    weights = 1 + path[:-1] % 2
    assert (
        longer_edges.without_longer(
            Graph.from_edges(path[:-1], path[1:], weights), search_on_device
        )
        is None
    )
    grid = generate("grid", rows=9, columns=9)
    even = Graph(grid.indptr, grid.indices, 5 + grid.weights % 2, directed=False)
    assert longer_edges.without_longer(even, search_on_device) is None


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.usefixtures("eager")
def test_searches_take_turns(dtype: str) -> None:
    graph = hubs(dtype, False, 150)
    wanted = nearfar.sssp(graph, 3, method="dijkstra", device="cpu")
    reasons = []
    for _ in range(7):
        paths = nearfar.sssp(graph, 3, device="cuda")
        assert paths.distances.dtype == wanted.distances.dtype
        assert np.array_equal(paths.distances, wanted.distances)
        assert np.array_equal(paths.predecessors, wanted.predecessors)
        nearfar.verify(graph, paths)
        reasons.append(LEFT_OUT in paths.reason)
    assert reasons[:5] == [False, True, False, True, False]
    assert reasons[5] == reasons[6]  # the faster one
    near = nearfar.sssp(graph, 3, device="cuda", limit=700)
    assert LEFT_OUT not in near.reason
    assert np.array_equal(near.reachable, wanted.distances <= 700)


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("directed", [False, True])
@pytest.mark.usefixtures("eager")
def test_many_sources_leave_them_out_at_once(dtype: str, directed: bool) -> None:
    graph = hubs(dtype, directed, 150)
    wanted, trees = nearfar.distances(graph, method="dijkstra", device="cpu", predecessors=True)
    stats: dict[str, Any] = {}
    rows, before = nearfar.distances(graph, device="cuda", predecessors=True, stats=stats)
    assert LEFT_OUT in stats["reason"]
    assert rows.dtype == wanted.dtype
    assert np.array_equal(rows, wanted)
    assert np.array_equal(before, trees)
    some = nearfar.distances(graph, [4, 9], targets=[8, 2, 8], device="cuda")
    assert np.array_equal(some, wanted[[4, 9]][:, [8, 2, 8]])
    near = nearfar.distances(graph, [4, 9], device="cuda", limit=300, stats=stats)
    assert LEFT_OUT not in stats["reason"]
    assert np.array_equal(near < 300, wanted[[4, 9]] < 300)
    sums = nearfar.distances(graph, device="cuda", reduce="max")
    assert np.array_equal(sums, nearfar.distances(graph, device="cpu", reduce="max"))


def test_both_graphs_are_searched_until_they_are_settled(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(longer_edges, "_SECONDS", (1e-15, 0.0))
    longer_edges.without_longer(hubs("int32", False, 300), search_on_device)  # compiles
    for gain, solves in (
        (0.9, longer_edges._SETTLED),
        (1.1, longer_edges._SETTLED),
        (0.5, longer_edges._TRIED),
    ):
        graph, turns = hubs("int32", False, 300), []
        longer_edges.record(graph, graph, 1.0)
        for _ in range(2 * solves):
            searched = longer_edges.for_next(graph, search_on_device)
            turns.append(searched is not graph)
            longer_edges.record(graph, searched, gain if turns[-1] else 1.0)
        assert turns == [True, False] * solves
        assert (longer_edges.for_next(graph, search_on_device) is not graph) == (gain < 1)
        assert (
            longer_edges.for_next(graph, search_on_device, 1.0) is not graph
        )  # batches are compared by themselves


def test_memory_and_compilation_decide(monkeypatch: pytest.MonkeyPatch) -> None:
    graph = hubs("int32", False, 300)
    longer_edges.without_longer(graph, search_on_device)  # compiles
    assert (
        longer_edges.for_next(graph, search_on_device, 1e-9) is graph
    )  # they take less time than leaving out edges

    def compiling(*_: Any) -> Graph:
        raise runtime.Compiling(threading.Thread())

    def without_memory(*_: Any) -> Graph:
        raise OutOfMemoryError(2, 1, "")

    with monkeypatch.context() as now:
        now.setattr(longer_edges, "without_longer", compiling)
        assert longer_edges.for_next(graph, search_on_device, 1.0) is graph
    assert longer_edges.for_next(graph, search_on_device, 1.0) is not graph
    other = hubs("int32", False, 300)
    with monkeypatch.context() as now:
        now.setattr(longer_edges, "without_longer", without_memory)
        assert longer_edges.for_next(other, search_on_device, 1.0) is other
    assert longer_edges.for_next(other, search_on_device, 1.0) is other  # it is not tried again
    kept = hubs("int32", False, 300)
    longer_edges.keep_all(kept)
    assert longer_edges.for_next(kept, search_on_device, 1.0) is kept


@pytest.mark.usefixtures("eager")
def test_all_edges_are_searched_while_kernels_are_compiled(monkeypatch: pytest.MonkeyPatch) -> None:
    graph = hubs("int32", False, 150)
    wanted = nearfar.distances(graph, method="dijkstra", device="cpu")
    assert np.array_equal(nearfar.sssp(graph, 3, device="cuda").distances, wanted[3])
    refused: list[Graph] = []

    def compiles(searched: Graph) -> DeviceGraph:
        if searched is not graph:
            refused.append(searched)
            raise runtime.Compiling(threading.Thread())
        return device_graph(searched)

    monkeypatch.setattr("nearfar.algorithms.near_far.one_launch.driver.device_graph", compiles)
    monkeypatch.setattr("nearfar.cuda.device_rows.device_graph", compiles)
    for _ in range(2):
        assert np.array_equal(nearfar.sssp(graph, 3, device="cuda").distances, wanted[3])
    assert np.array_equal(nearfar.distances(graph, device="cuda"), wanted)
    assert len(refused) == 3
