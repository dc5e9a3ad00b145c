"""Searches on a device without the edges that are longer than a path, in turns with all edges."""

from __future__ import annotations

import numpy as np
import pytest

import nearfar
from nearfar.generators import generate
from nearfar.graph.graph import Graph
from nearfar.graph.same_distances import backbone
from nearfar.system.devices import compiler


@pytest.mark.parametrize("dtype", ["int32", "int64", "float32", "float64"])
@pytest.mark.parametrize("directed", [False, True])
def test_same_answers_in_turns(dtype: str, directed: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(backbone, "_SETTLED", 3)
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
    rows = nearfar.distances(graph, sources, device="cuda")
    np.testing.assert_array_equal(rows, [paths.distances for paths in wanted])
