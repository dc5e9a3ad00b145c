"""Graphs with integer weights are solved in int32, with the answers of their own dtype."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.sparse import csgraph

import nearfar
import nearfar.csgraph
from nearfar import Graph
from nearfar.graph.same_distances.integer_weights import in_int32
from nearfar.registry import Request
from nearfar.solve.steps import plan
from nearfar.solve.steps.plan import in_int32_if_faster
from nearfar.system.devices import runtime
from nearfar.system.devices.arrays import to_host

DTYPES = ("int64", "float32", "float64")
#: Greatest weights: sums stay below 2**24, pass it, pass 2**31, or no weight fits.
GREATEST = (1000, 2**22, 2**29, 2**33)
REASON = "integer weights, solved in int32"


def graph_of(seed: int, dtype: str, greatest: int, n: int = 900, m: int = 5000) -> Graph:
    """Return a random graph with isolated vertices and weights from 0 to `greatest`."""
    rng = np.random.default_rng(seed)
    tails, heads = rng.integers(0, n - 20, (2, m))
    weights = rng.integers(0, greatest, m, endpoint=True).astype(dtype)
    made: Graph = Graph.from_edges(tails, heads, weights, n_vertices=n, directed=bool(seed % 2))
    return made


@pytest.mark.parametrize("greatest", GREATEST)
@pytest.mark.parametrize("dtype", DTYPES)
def test_one_source(dtype: str, greatest: int) -> None:
    for seed in range(4):
        graph = graph_of(seed, dtype, greatest)
        for end in ({"limit": 2.5 * greatest}, {"targets": [5, 77]}, {}):
            want = nearfar.sssp(graph, 3, method="dijkstra_binary_heap", **end)
            for threads in (1, 2):  # the first may show that the numbers are too large
                paths = nearfar.sssp(graph, 3, device="cpu", threads=threads, **end)
                assert paths.distances.dtype == graph.weight_dtype
                np.testing.assert_array_equal(paths.distances, want.distances)
                np.testing.assert_array_equal(paths.predecessors, want.predecessors)
            if not end:
                nearfar.verify(graph, paths)
        solved = REASON in paths.reason
        if dtype == "float32":  # as fast as int32 on a core
            assert not solved
            continue
        assert solved == (in_int32(graph) is not None)
        assert solved or greatest > 1000
        assert not solved or greatest < 2**33


@pytest.mark.parametrize("greatest", GREATEST)
@pytest.mark.parametrize("dtype", DTYPES)
def test_many_sources(dtype: str, greatest: int) -> None:
    graph = graph_of(7, dtype, greatest)
    sources = [1, 30, 899, 1, 200]
    for more in ({}, {"targets": [4, 9, 890]}, {"limit": 3 * greatest}, {"predecessors": True}):
        want = nearfar.distances(graph, sources, method="dijkstra_binary_heap", **more)
        found = nearfar.distances(graph, sources, device="cpu", threads=2, **more)
        both = zip(found, want, strict=True) if "predecessors" in more else [(found, want)]
        for one, other in both:
            assert one.dtype == other.dtype
            np.testing.assert_array_equal(one, other)
    out = np.empty((5, graph.n_vertices), dtype)
    assert nearfar.distances(graph, sources, out=out, device="cpu") is out
    np.testing.assert_array_equal(out, nearfar.distances(graph, sources, device="cpu"))


def test_rows_beyond_the_bound_are_solved_as_given() -> None:
    """Some rows of a batch pass 2**24, where float32 sums are rounded; the others do not."""
    n = 5000
    weights = np.full(n - 1, 2**13 + 1, np.float32)
    weights[0] = 3
    graph = Graph.from_edges(np.arange(n - 1), np.arange(1, n), weights, n_vertices=n)
    sources = [4900, 0, 2, 4990]
    want = nearfar.distances(graph, sources, method="dijkstra_binary_heap")
    found = nearfar.distances(graph, sources, device="cpu")
    np.testing.assert_array_equal(found, want)
    assert float(want[1, -1]) > 2**24
    assert float(want[1, -1]) != 3 + (n - 2) * (2.0**13 + 1)
    assert in_int32(graph) is None  # later searches do not try again
    assert REASON not in nearfar.sssp(graph, 0, device="cpu").reason


def test_what_is_not_converted() -> None:
    given = graph_of(0, "float64", 50)
    fractions = given.with_weights(np.asarray(given.weights) + 0.5)
    late = np.array(given.weights)
    late[4] += 0.25  # outside the sample
    one_fraction = given.with_weights(late)
    negative = given.with_weights(np.where(late == late[9], -1.0, np.round(late)))
    for graph in (fractions, one_fraction, negative, given.astype("int32")):
        assert in_int32_if_faster(graph, Request()) is graph
    small = Graph.from_edges([0, 1], [1, 2], [1.0, 2.0])
    assert REASON not in nearfar.sssp(small, 0).reason
    named = nearfar.sssp(given, 0, method="delta_stepping", device="cpu")
    assert named.reason == "requested by name"
    assert REASON in nearfar.sssp(given, 0, device="cpu").reason


@pytest.mark.usefixtures("emulated_gpu")
@pytest.mark.parametrize("greatest", GREATEST[:3])
@pytest.mark.parametrize("dtype", DTYPES)
def test_on_a_device(dtype: str, greatest: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(plan, "MANY_EDGES", 1)
    graph = graph_of(2, dtype, greatest, 60, 200)
    there = Graph.from_csr(*map(runtime.upload, (graph.indptr, graph.indices, graph.weights)))
    want = nearfar.sssp(graph, 3, method="dijkstra_binary_heap")
    found = nearfar.sssp(there, 3)
    assert found.distances.dtype == dtype
    np.testing.assert_array_equal(to_host(found.distances), want.distances)
    np.testing.assert_array_equal(to_host(found.predecessors), want.predecessors)
    rows = nearfar.distances(there, [3, 5])
    np.testing.assert_array_equal(to_host(rows)[0], want.distances)
    on_host = nearfar.sssp(graph, 3, device="cuda")
    np.testing.assert_array_equal(on_host.distances, want.distances)


def test_matrices_searched_once() -> None:
    graph = graph_of(1, "float64", 100)
    matrix = graph.to_scipy()
    for indices in (3, [3, 5, 8]):
        want = csgraph.dijkstra(matrix, indices=indices)
        np.testing.assert_array_equal(nearfar.csgraph.dijkstra(matrix, indices=indices), want)
