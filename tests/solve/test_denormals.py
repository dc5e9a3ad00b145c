"""Denormal float32 distances on a device: CuPy's kernels flush them to zero, nearfar's do not."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import nearfar
import nearfar.csgraph
from nearfar.graph.graph import Graph
from nearfar.system.devices import runtime
from nearfar.system.devices.arrays import as_dtype, to_host

pytestmark = pytest.mark.usefixtures("emulated_gpu")
TINY = np.finfo(np.float32).smallest_subnormal


def tiny_graph() -> Graph:
    """Return a connected graph whose distances are all 32-bit denormal numbers."""
    rng = np.random.default_rng(3)
    n = 30
    tails = np.concatenate([np.arange(n - 1), rng.integers(0, n, 60)])
    heads = np.concatenate([np.arange(1, n), rng.integers(0, n, 60)])
    weights = (rng.integers(1, 9, len(tails)) * TINY).astype(np.float32)
    return Graph.from_edges(tails, heads, weights, n_vertices=n, directed=False)


def test_the_emulated_cupy_flushes() -> None:
    there = runtime.upload(np.array([TINY, 1], np.float32))
    assert to_host(there.astype(np.float64)).tolist() == [0, 1]
    assert to_host(there != 0).tolist() == [False, True]
    assert to_host(as_dtype(there, np.float64)).tolist() == [TINY, 1]
    assert to_host(as_dtype(as_dtype(there, np.float64), np.float32)).tolist() == [TINY, 1]
    assert as_dtype(there, np.float32) is there


@pytest.mark.parametrize("stay", [False, True])
@pytest.mark.parametrize(
    "reduce",
    [
        *("count", "sum", "mean", "max", "summary", "harmonic", "nearest:3"),
        ("histogram", [0.0, 9 * float(TINY), 20 * float(TINY), 1.0]),
    ],
    ids=str,
)
def test_reductions(reduce: Any, stay: bool) -> None:
    graph = tiny_graph()
    given = graph
    if stay:
        parts = (graph.indptr, graph.indices, graph.weights)
        given = Graph.from_csr(*map(runtime.upload, parts))
    for targets in (None, [3, 7, 20]):
        want = nearfar.distances(graph, reduce=reduce, targets=targets, device="cpu")
        for method in ("auto", "block_per_source@cuda"):
            call = {"reduce": reduce, "targets": targets, "device": "cuda", "method": method}
            found = nearfar.distances(given, **call)
            pairs = zip(found, want, strict=True) if isinstance(want, tuple) else [(found, want)]
            for one, other in pairs:
                np.testing.assert_array_equal(to_host(one), other)


def test_wider_weights() -> None:
    graph = tiny_graph()
    parts = (graph.indptr, graph.indices, graph.weights)
    there = Graph.from_csr(*map(runtime.upload, parts))
    wide = there.astype(np.float64)
    np.testing.assert_array_equal(wide.weights, graph.weights.astype(np.float64))
    for found in (wide, wide.astype(np.float32)):
        want = nearfar.distances(graph.astype(found.weight_dtype), [0, 5], device="cpu")
        np.testing.assert_array_equal(to_host(nearfar.distances(found, [0, 5])), want)


def test_matrices_of_scipy() -> None:
    graph = tiny_graph()
    matrix = np.zeros((30, 30), np.float32)
    np.minimum.at(matrix, (graph.tails(), graph.indices), -graph.weights)
    dense = runtime.upload(-matrix)
    found = nearfar.csgraph.dijkstra(dense, indices=[0, 4])
    np.testing.assert_array_equal(to_host(found), nearfar.csgraph.dijkstra(-matrix, indices=[0, 4]))
    assert (to_host(found)[:, 1:] > 0).any()


def test_predecessors_of_rows() -> None:
    graph = tiny_graph()
    for method in ("auto", "block_per_source@cuda"):
        rows, before = nearfar.distances(
            graph, [0, 9], predecessors=True, device="cuda", method=method
        )
        want, trees = nearfar.distances(graph, [0, 9], predecessors=True, device="cpu")
        np.testing.assert_array_equal(to_host(rows), want)
        np.testing.assert_array_equal(to_host(before), trees)
