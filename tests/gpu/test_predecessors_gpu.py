"""Predecessors on a GPU: the host's tree entry by entry, on large graphs."""

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
from nearfar.generators import generate
from nearfar.system.devices import runtime
from tests.zoo import DTYPES, as_dtype


def zeros() -> Graph:
    """Return a graph with half of all weights 0, so that most vertices are processed by levels."""
    graph = generate("uniform_random", vertices=60_000, degree=6)
    weights = np.where(np.arange(graph.n_edges) % 2, graph.weights, 0).astype(np.int32)
    return Graph.from_csr(graph.indptr, graph.indices, weights)


def hubs() -> Graph:
    """Return rows of half a million edges among rows of two or three."""
    rng = np.random.default_rng(2)
    n = 300_000
    sources = np.concatenate([np.full(500_000, 17), rng.integers(0, n, 700_000)])
    targets = np.concatenate([rng.integers(0, n, 1_000_000), np.full(200_000, 17)])
    weights = rng.integers(1, 60, sources.size).astype(np.int32)
    return Graph.from_edges(sources, targets, weights, n_vertices=n)


GRAPHS = {
    "hubs": hubs,
    "kronecker": lambda: generate("kronecker", scale=16),
    "random": lambda: generate("uniform_random", vertices=100_000, degree=12),
    "grid": lambda: generate("grid", rows=400, columns=400),
    "zeros": zeros,
}


@pytest.mark.parametrize("name", GRAPHS)
def test_the_hosts_tree(name: str) -> None:
    plain = GRAPHS[name]()
    for dtype in DTYPES:
        if name == "zeros" and dtype == "unweighted":
            continue
        graph = as_dtype(plain, dtype)
        source = int(np.argmax(graph.degrees))
        there = runtime.upload(nearfar.sssp(graph, source, device="cpu").distances)
        want = tight_predecessors(graph, source, runtime.download(there))
        for form in range(2 if graph.is_weighted else 1):
            if form:
                sorted_rows(graph)
            for _ in range(20):
                found, stats = device_predecessors(graph, [source], there)
                np.testing.assert_array_equal(runtime.download(found), want)
            assert (stats["rows_by_levels"] == 1) == (name == "zeros")


def test_64_bit_kernels(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(predecessors, "device_graph", lambda graph: device_graph(graph, wide=True))
    for name in ("kronecker", "zeros"):
        graph = as_dtype(GRAPHS[name](), "int64")
        distances = nearfar.sssp(graph, 5, device="cpu").distances
        found, _ = device_predecessors(graph, [5], runtime.upload(distances))
        want = tight_predecessors(graph, 5, distances)
        np.testing.assert_array_equal(runtime.download(found), want)


def test_device_arrays_in_and_out() -> None:
    cp = runtime.cupy()
    graph = GRAPHS["kronecker"]()
    there = Graph.from_csr(*map(cp.asarray, (graph.indptr, graph.indices, graph.weights)))
    paths = nearfar.sssp(there, 1, method="near_far@cuda", predecessors=True, limit=40)
    assert isinstance(paths.predecessors, cp.ndarray)
    nearfar.verify(there, paths)
    assert paths.stats["predecessor_device_seconds"] > 0


def test_with_limit_and_targets() -> None:
    graph = GRAPHS["grid"]()
    for asked in ({"limit": 9000}, {"targets": [300, 70_000]}, {"targets": range(90)}):
        paths = nearfar.sssp(graph, 0, method="near_far@cuda", predecessors=True, **asked)
        nearfar.verify(graph, paths)
        want = nearfar.sssp(graph, 0, device="cpu", predecessors=True, **asked)
        np.testing.assert_array_equal(paths.distances, want.distances)
        np.testing.assert_array_equal(paths.predecessors, want.predecessors)
