"""Searches on a device without the edges that are longer than a path, in turns with all edges."""

from __future__ import annotations

import numpy as np
import pytest

import nearfar
from nearfar.cuda.graph import longer_edges
from nearfar.generators import generate
from nearfar.graph.graph import Graph
from nearfar.graph.same_distances import backbone
from nearfar.solve.steps.plan import search_on_device
from nearfar.system.devices import compiler


@pytest.mark.parametrize("dtype", ["int32", "int64", "float32", "float64"])
@pytest.mark.parametrize("directed", [False, True])
def test_same_answers_in_turns(dtype: str, directed: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(longer_edges, "_TRIED", 3)
    monkeypatch.setattr(longer_edges, "_SETTLED", 3)
    monkeypatch.setattr(longer_edges, "_SECONDS", (1e-9, 0.0))
    made = generate("kronecker", scale=13, seed=5)
    tails, heads = made.tails(np.int64), made.indices
    keys = np.minimum(tails, heads) * 31 + np.maximum(tails, heads) + directed * (tails % 5)
    weights = 10 ** (keys % 4001 / 1000.0)
    weights = np.ceil(weights) if dtype[0] == "i" else weights
    graph = Graph(made.indptr, made.indices, weights.astype(dtype), directed=directed)
    sources = [int(np.argmax(graph.degrees)), 7, 500]
    wanted = [nearfar.sssp(graph, s, method="dijkstra", device="cpu") for s in sources]
    seen = []
    for turn in range(12):
        paths = nearfar.sssp(graph, sources[turn % 3], device="cuda")
        compiler.finish_background()
        before = wanted[turn % 3]
        np.testing.assert_array_equal(paths.distances, before.distances)
        np.testing.assert_array_equal(paths.predecessors, before.predecessors)
        seen.append("longer than a path" in paths.reason)
    assert sum(seen) >= 3
    many = np.resize(sources, 40)
    for method in ("auto", "near_far_per_source", "block_per_source_global"):
        rows = nearfar.distances(graph, many, device="cuda", method=method)
        compiler.finish_background()
        np.testing.assert_array_equal(rows, [wanted[i % 3].distances for i in range(40)])


def test_graph_of_the_host_whose_searches_auto_leaves_to_the_device(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """The CPU's search for longer edges waits for searches on the CPU."""
    monkeypatch.setattr(backbone, "_SECONDS", (1e-9, 0.0))
    graph = generate("uniform_random", vertices=300_000, degree=8, seed=5)
    wanted = nearfar.sssp(graph, 1, method="dijkstra", device="cpu").distances
    nearfar.sssp(graph, 1, device="cuda")  # copies the graph
    for _ in range(6):
        paths = nearfar.sssp(graph, 1, threads=1)  # one core: slower than a shared device
        compiler.finish_background()
        np.testing.assert_array_equal(paths.distances, wanted)
    assert paths.engine.endswith("@cuda")
    assert backbone._state(graph).step == "pivot"


@pytest.mark.parametrize("dtype", ["int32", "int64", "float32", "float64"])
@pytest.mark.parametrize("directed", [False, True])
def test_edges_left_out_are_longer(dtype: str, directed: bool) -> None:
    made = generate("preferential_attachment", vertices=3000, attach=9, seed=7)
    weights = 10 ** (made.tails(np.int64) * made.indices % 4001 / 1000.0)
    graph = Graph(made.indptr, made.indices, np.ceil(weights).astype(dtype), directed=directed)
    exact = nearfar.distances(graph, device="cpu")
    longer = graph.effective_weights > exact[graph.tails(), graph.indices]
    for _ in range(20):
        found = longer_edges.without_longer(graph, search_on_device)
        assert found is not None
        assert 0.8 * longer.sum() < graph.n_edges - found.n_edges <= longer.sum()
    rows = nearfar.distances(found, np.arange(0, 3000, 50), method="dijkstra", device="cpu")
    np.testing.assert_array_equal(rows, exact[::50])


@pytest.mark.parametrize("dtype", ["int32", "int64", "float32", "float64"])
@pytest.mark.parametrize("directed", [False, True])
@pytest.mark.parametrize("vertices", [3000, 40_000])
def test_short_searches_find_detours(dtype: str, directed: bool, vertices: int) -> None:
    made = generate("delaunay", vertices=vertices, seed=4)
    keys = 1 + made.tails(np.int64) * made.indices % 997  # the same in both directions
    graph = Graph(made.indptr, made.indices, (keys * 1.37).astype(dtype), directed=directed)
    sources = np.arange(0, vertices, vertices // 30)
    exact = nearfar.distances(graph, sources, method="dijkstra", device="cpu")
    if vertices == 3000:
        every = nearfar.distances(graph, device="cpu")
        longer = int((graph.effective_weights > every[graph.tails(), graph.indices]).sum())
    for _ in range(20):
        found = longer_edges.without_longer(graph, search_on_device)
        if found is None:  # no bound on the lengths of long paths in float32
            assert (vertices, dtype, directed) == (40_000, "float32", True)
            return
        if vertices == 3000:
            assert 0.9 * longer < graph.n_edges - found.n_edges <= longer
    on_host = Graph(found.indptr, found.indices, found.weights)
    rows = nearfar.distances(on_host, sources, method="dijkstra", device="cpu")
    np.testing.assert_array_equal(rows, exact)
    rows = nearfar.distances(graph, sources, device="cuda")
    compiler.finish_background()
    np.testing.assert_array_equal(rows, exact)
