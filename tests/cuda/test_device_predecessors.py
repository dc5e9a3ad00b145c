"""Predecessors computed on the (emulated) device equal those of the host's pass."""

from __future__ import annotations

import numpy as np
import pytest

import nearfar
from nearfar import Graph
from nearfar.cpu.distances.predecessors import tight_predecessors
from nearfar.cuda.device_graph import device_graph
from nearfar.cuda.distances import predecessors
from nearfar.cuda.distances.predecessors import device_predecessors
from nearfar.cuda.graph.sorted_rows import sorted_rows
from nearfar.errors import SolverError
from nearfar.system.devices import runtime
from tests.zoo import ZOO, as_dtype

pytestmark = pytest.mark.usefixtures("emulated_gpu")
NAMES = ("grid", "skewed", "star", "path", "complete", "disconnected", "no_edges", "one_vertex")
DTYPES = ("int32", "int64", "float32", "float64", "unweighted")


def both_ways(graph: Graph) -> Graph:
    """Return every edge in both directions with one weight."""
    sources = graph.tails(np.int64)
    weights = None if graph.weights is None else graph.weights
    return Graph.from_edges(
        sources, graph.indices, weights, n_vertices=graph.n_vertices, directed=False
    )


def check(graph: Graph, source: int) -> dict[str, object]:
    """Compare the device's pass with the host's, and prove both."""
    distances = nearfar.sssp(graph, source, device="cpu").distances
    found, stats = device_predecessors(graph, [source], runtime.upload(distances))
    assert runtime.is_device_array(found)
    want = tight_predecessors(graph, source, distances)
    assert found.dtype == want.dtype
    np.testing.assert_array_equal(runtime.download(found), want)
    return stats


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("name", NAMES)
def test_zoo(name: str, dtype: str) -> None:
    graph = as_dtype(ZOO[name](), dtype)
    for made in (graph, both_ways(graph)):
        for source in {0, made.n_vertices // 2}:
            check(made, source)


@pytest.mark.parametrize("is_sorted", [True, False])
@pytest.mark.parametrize("high", [3, 40, 4000])
@pytest.mark.parametrize("directed", [True, False])
def test_rows_of_several_pieces(high: int, directed: bool, is_sorted: bool) -> None:
    """Few, half and all edges of a row are tight; in sorted rows the end of those is searched."""
    rng = np.random.default_rng(high)
    ends = rng.integers(0, 300, (2, 30_000))
    ends[0, :2000] = 7
    weights = rng.integers(1, high, 30_000).astype(np.int32)
    graph = Graph.from_edges(*ends, weights, directed=directed)
    if is_sorted:
        sorted_rows(graph)
    for source in (7, 8):
        check(graph, source)


def test_each_call_counts_for_itself() -> None:
    """With weights of 0, the number of vertices with a predecessor selects the next pass."""
    rng = np.random.default_rng(2)
    ends, weights = rng.integers(0, 60, (2, 150)), rng.integers(0, 4, 150)
    graph = Graph.from_edges(*ends, weights.astype(np.int32))
    by_levels = [check(graph, source)["rows_by_levels"] for source in range(20)]
    assert by_levels == [check(graph, source)["rows_by_levels"] for source in range(20)]
    assert len(set(by_levels)) == 2


@pytest.mark.parametrize("name", ["skewed", "complete", "grid"])
@pytest.mark.parametrize("dtype", ["int32", "float64"])
def test_rows_sorted_by_weight(name: str, dtype: str) -> None:
    """Parts of rows are skipped when pulling and pushing; the answer is that of all edges."""
    graph = as_dtype(ZOO[name](), dtype)
    for made in (graph, both_ways(graph)):
        sorted_rows(made)
        check(made, 0)


def test_long_sorted_rows() -> None:
    """A row of several sorted pieces, divided by the ranges that warps process."""
    rng = np.random.default_rng(5)
    n = 3000
    sources = np.concatenate([np.full(2500, 7), rng.integers(0, n, 6000)])
    targets = np.concatenate([rng.choice(n, 2500, replace=False), rng.integers(0, n, 6000)])
    weights = rng.integers(1, 60, len(sources)).astype(np.int32)
    for directed in (True, False):
        graph = Graph.from_edges(sources, targets, weights, n_vertices=n, directed=directed)
        check(graph, 7)
        sorted_rows(graph)
        check(graph, 7)
        check(graph, 11)


@pytest.mark.parametrize("directed", [True, False])
@pytest.mark.parametrize("dtype", ["int32", "float32"])
def test_zero_weights(directed: bool, dtype: str) -> None:
    """Cycles, chains and fans of weight 0 give a tree, by levels."""
    rng = np.random.default_rng(11)
    n = 400
    sources, targets = rng.integers(0, n, 1600), rng.integers(0, n, 1600)
    weights = (rng.integers(0, 3, 1600) * rng.integers(0, 2, 1600)).astype(dtype)
    graph = Graph.from_edges(sources, targets, weights, n_vertices=n, directed=directed)
    assert graph.has_zero_weight
    assert check(graph, 3)["rows_by_levels"] == 1
    zero = Graph.from_edges(sources, targets, np.zeros(1600, dtype), n_vertices=n)
    check(zero, 3)


def test_a_row_of_zeros_longer_than_a_warp() -> None:
    n = 300
    graph = Graph.from_edges(np.zeros(n - 1, int), np.arange(1, n), np.zeros(n - 1, np.int32))
    assert check(graph, 0)["rows_by_levels"] == 1


def test_absorbed_weights() -> None:
    """Edges too light to change a float sum count as edges of weight 0."""
    graph = Graph.from_edges([0, 1, 2, 3], [1, 2, 3, 1], np.array([1e8, 1e-4, 1e-4, 1e-4], "f4"))
    assert check(graph, 0)["rows_by_levels"] == 1


def test_negative_weights() -> None:
    graph = Graph.from_edges([0, 0, 1, 2, 3], [1, 2, 3, 1, 4], np.array([4, 5, -3, -2, 0], "i4"))
    check(graph, 0)
    for limit in (None, 3):
        asked = {"predecessors": True, "limit": limit}
        found = nearfar.sssp(graph, 0, method="bellman_ford_queue@cuda", **asked)
        want = nearfar.sssp(graph, 0, device="cpu", **asked)
        np.testing.assert_array_equal(found.distances, want.distances)
        np.testing.assert_array_equal(found.predecessors, want.predecessors)


def test_rows() -> None:
    """Many rows at once, with and without edges that add nothing."""
    rng = np.random.default_rng(2)
    n = 120
    for low in (0, 1):
        weights = rng.integers(low, 5, 700).astype(np.int32)
        graph = Graph.from_edges(rng.integers(0, n, 700), rng.integers(0, n, 700), weights)
        rows = [0, 5, 7, 5]
        matrix = nearfar.distances(graph, rows, device="cpu")
        found, _ = device_predecessors(graph, rows, runtime.upload(matrix))
        for i, source in enumerate(rows):
            want = tight_predecessors(graph, source, matrix[i])
            np.testing.assert_array_equal(runtime.download(found[i]), want)


def test_64_bit_kernels(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(predecessors, "device_graph", lambda graph: device_graph(graph, wide=True))
    for name in ("grid", "skewed"):
        check(both_ways(as_dtype(ZOO[name](), "int64")), 0)
        check(as_dtype(ZOO[name](), "int64"), 0)


@pytest.mark.parametrize(
    "method", ["near_far@cuda", "frontier_successors@cuda", "bellman_ford_queue@cuda"]
)
def test_asked_for_with_a_solve(method: str) -> None:
    """Limits and targets mask predecessors; a later request gives the same."""
    graph = as_dtype(ZOO["grid"](), "int32")
    full = nearfar.sssp(graph, 0, method=method, predecessors=True)
    assert isinstance(full.predecessors, np.ndarray)
    assert not runtime.is_device_array(full.predecessors)
    assert full.stats["predecessor_device_seconds"] >= 0
    later = nearfar.sssp(graph, 0, method=method)
    np.testing.assert_array_equal(later.predecessors, full.predecessors)
    assert not runtime.is_device_array(later.predecessors)
    middle = int(full.distances[full.reachable].max()) // 2
    target = int(np.flatnonzero(full.distances <= middle)[-1])
    for asked in ({"limit": middle}, {"targets": [target]}, {"targets": range(18)}):
        paths = nearfar.sssp(graph, 0, method=method, predecessors=True, **asked)
        nearfar.verify(graph, paths)
        kept = paths.reachable
        assert kept.any()
        np.testing.assert_array_equal(paths.predecessors[~kept], -1)
        np.testing.assert_array_equal(paths.predecessors[kept], full.predecessors[kept])
        np.testing.assert_array_equal(paths.distances[kept], full.distances[kept])


def test_device_arrays_stay_there() -> None:
    graph = as_dtype(ZOO["skewed"](), "int32")
    there = Graph.from_csr(graph.indptr, graph.indices, graph.weights)
    there.on_device = True  # as from_csr sets for CuPy arrays
    paths = nearfar.sssp(there, 0, method="near_far@cuda", predecessors=True, limit=1000)
    assert runtime.is_device_array(paths.distances)
    assert runtime.is_device_array(paths.predecessors)
    nearfar.verify(there, paths)
    here = nearfar.sssp(graph, 0, device="cpu")
    far = here.farthest
    assert paths.path_to(far) == here.path_to(far)
    assert paths.tree().n_edges == here.tree().n_edges


def test_the_watchdog_ends_the_levels(monkeypatch: pytest.MonkeyPatch) -> None:
    n = 40
    graph = Graph.from_edges(np.arange(n - 1), np.arange(1, n), np.zeros(n - 1, np.int32))
    monkeypatch.setattr(predecessors, "ROUNDS_BEYOND", 5 - n)
    with pytest.raises(SolverError, match="within 5 rounds"):
        check(graph, 0)
