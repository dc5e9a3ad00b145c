"""The k shortest paths between vertices near each other in a large graph."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import nearfar
from nearfar import Graph
from nearfar.solve import k_shortest


@pytest.fixture(autouse=True)
def every_size(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let small graphs count as large."""
    monkeypatch.setattr(k_shortest, "_LARGE", 0)


def _in_whole_graph(*asked: Any, **more: Any) -> Any:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(k_shortest, "_LARGE", 1 << 40)
        return nearfar.k_shortest_paths(*asked, **more)


def _made(name: str, dtype: str) -> Graph:
    made = {
        "grid": lambda: nearfar.generate("grid", rows=70, columns=70),
        "roads": lambda: nearfar.generate("road_like", vertices=5000, seed=2),
        "one way": lambda: nearfar.generate("uniform_random", vertices=4000, degree=3),
    }[name]()
    weights = made.weights.astype(dtype)
    weights = weights / 7 if weights.dtype.kind == "f" else weights
    return Graph(made.indptr, made.indices, weights, directed=made.directed)


@pytest.mark.parametrize("dtype", ["int32", "int64", "float32", "float64"])
@pytest.mark.parametrize("name", ["grid", "roads", "one way"])
def test_paths_near_the_target_are_those_of_the_whole_graph(name: str, dtype: str) -> None:
    graph, rng, near = _made(name, dtype), np.random.default_rng(5), 0
    for trial in range(25):
        source = int(rng.integers(graph.n_vertices))
        distances = nearfar.sssp(graph, source, device="cpu").distances
        target = int(np.argsort(distances, kind="stable")[rng.integers(2, 60)])
        k = int(rng.integers(1, 9))
        limit = distances[target] * (1 + rng.random()) if trial % 3 == 0 else None
        stats: dict[str, Any] = {}
        found = nearfar.k_shortest_paths(graph, source, target, k, limit=limit, stats=stats)
        assert found == _in_whole_graph(graph, source, target, k, limit=limit)
        near += "near the target" in stats["reason"]
    assert near > {"grid": 15, "roads": 8, "one way": -1}[name]


def test_few_paths_and_none() -> None:
    """Where fewer than k paths exist, or none, also within a limit."""
    graph = Graph.from_edges(range(3000), range(1, 3001), n_vertices=4000, directed=False)
    for source, target, limit in (
        (5, 9, None),
        (5, 9, 4),
        (5, 9, 3),
        (5, 3500, None),
        (7, 7, None),
    ):
        found = nearfar.k_shortest_paths(graph, source, target, 5, limit=limit)
        assert found == _in_whole_graph(graph, source, target, 5, limit=limit)
        assert len(found) == (limit != 3 and target < 3001)


def test_names_stay_those_of_the_graph() -> None:
    grid = nearfar.generate("grid", rows=60, columns=60)
    names = [f"v{i}" for i in range(grid.n_vertices)]
    graph = Graph(grid.indptr, grid.indices, grid.weights, directed=False, vertex_names=names)
    plain = nearfar.k_shortest_paths(grid, 1830, 1835, 4)
    found = nearfar.k_shortest_paths(graph, "v1830", "v1835", 4)
    assert found == [([names[v] for v in path], length) for path, length in plain]
