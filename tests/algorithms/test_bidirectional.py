"""Paths between two vertices by searches from both ends: those of a search from the source."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import nearfar
from nearfar import Graph, _cpu
from nearfar.algorithms.bidirectional.cpu import REASON, path_between
from nearfar.errors import OptionError, UnreachableError, VertexError
from tests.zoo import DTYPES, ZOO, as_dtype

MANY = 1 << 40


def both_ways(graph: Graph, source: int, target: int, limit: float | None = None) -> Any:
    """Return path and length by both ends and by one; None where both ends give up."""
    least = float(graph.min_weight)
    found: Any = _cpu.path_between(
        graph.view, graph.transpose().view, source, target, limit, least, MANY
    )
    one = nearfar.sssp(graph, source, limit=limit, method="dijkstra_binary_heap")
    try:
        want = one.path_to(target), one.distance_to(target)
    except UnreachableError:
        want = [], None
    if found is None:
        return None, want
    path, length = found[0].tolist(), found[1]
    return (path, length if path else None), want


def random_graph(rng: np.random.Generator, kind: str, dtype: str) -> Graph:
    """Make a graph with ties, zeros, parallel edges, loops and parts without a path."""
    n = int(rng.integers(1, 60))
    m = int(rng.integers(0, 4 * n + 1))
    weights: Any = {
        "ties": rng.integers(1, 3, m),
        "ones": np.ones(m),
        "zeros": rng.integers(0, 3, m),
        "thirds": rng.integers(1, 9, m) / (3 if dtype.startswith("float") else 1),
        "wide": 2.0 ** rng.integers(0, 22, m),
    }[kind]
    ends = rng.integers(0, n, m), rng.integers(0, n, m)
    return Graph.from_edges(
        *ends, weights.astype(dtype), n_vertices=n, directed=bool(rng.integers(2))
    )


@pytest.mark.parametrize("dtype", ["int32", "int64", "float32", "float64"])
@pytest.mark.parametrize("kind", ["ties", "ones", "zeros", "thirds", "wide"])
def test_paths_of_random_graphs(kind: str, dtype: str) -> None:
    rng = np.random.default_rng(5)
    given_up = 0
    for trial in range(150):
        graph = random_graph(rng, kind, dtype)
        source, target = (int(v) for v in rng.integers(0, graph.n_vertices, 2))
        limit = float(rng.random() * 6 * graph.mean_weight) if trial % 3 == 0 else None
        found, want = both_ways(graph, source, target, limit)
        given_up += found is None
        assert found is None or found == want, (trial, source, target, limit)
    assert given_up == 0 or kind == "zeros"
    assert given_up < 75


@pytest.mark.parametrize("dtype", DTYPES)
def test_paths_of_the_zoo(dtype: str) -> None:
    for name, build in ZOO.items():
        graph = as_dtype(build(), dtype)
        if graph.n_negative or not graph.n_vertices:
            continue
        rng = np.random.default_rng(3)
        for source, target in rng.integers(0, graph.n_vertices, (12, 2)).tolist():
            found, want = both_ways(graph, source, target)
            assert found is None or found == want, (name, source, target)


def grown(n: int = 20_000) -> Graph:
    """Make a random graph in which both balls stay small."""
    rng = np.random.default_rng(1)
    ends = rng.integers(0, n, (2, 4 * n))
    return Graph.from_edges(*ends, rng.random(4 * n), n_vertices=n, directed=False)


def test_shortest_path_costs_what_both_ends_reach() -> None:
    graph = grown()
    for target in range(1, 20_000, 1_999):
        stats: dict[str, Any] = {}
        path, length = nearfar.shortest_path(graph, 0, target, stats=stats)
        assert (path, length) == nearfar.shortest_path(graph, 0, target, method="dijkstra")
        assert stats["reason"] == REASON
        assert stats["edges_relaxed"] < graph.n_edges / 16


def test_far_points_of_a_grid_are_left_to_a_search_from_the_source() -> None:
    grid = nearfar.generate("grid", rows=100, columns=300, seed=2)
    stats: dict[str, Any] = {}
    path, length = nearfar.shortest_path(grid, 0, grid.n_vertices - 1, stats=stats)
    assert stats["reason"] != REASON
    assert path_between(grid, 0, grid.n_vertices - 1) is None
    near = nearfar.shortest_path(grid, 0, 1, stats=stats)
    assert near == nearfar.shortest_path(grid, 0, 1, method="dijkstra")
    assert stats["reason"] == REASON
    assert (path, length) == nearfar.shortest_path(grid, 0, grid.n_vertices - 1, method="dijkstra")


def test_a_directed_graph_is_transposed_at_its_second_pair() -> None:
    graph = Graph.from_edges([0, 1, 2], [1, 2, 3], [1, 2, 3])
    stats: dict[str, Any] = {}
    for both_ends in (False, True):
        assert nearfar.shortest_path(graph, 0, 3, stats=stats) == ([0, 1, 2, 3], 6)
        assert (stats["reason"] == REASON) == both_ends == graph.has_transpose


@pytest.mark.parametrize("limit", [None, 2])
def test_errors_are_those_of_a_search_from_the_source(limit: float | None) -> None:
    names = ["a", "b", "c", "d"]
    graph = Graph.from_edges(["a", "b"], ["b", "c"], [2, 3], directed=False, vertex_names=names)
    messages = []
    for method in ("auto", "dijkstra"):
        stats: dict[str, Any] = {}
        with pytest.raises(UnreachableError) as raised:
            nearfar.shortest_path(graph, "a", "d", limit=limit, method=method, stats=stats)
        messages.append(str(raised.value))
        assert stats["reason"]
        with pytest.raises(VertexError, match="target 'x'"):
            nearfar.shortest_path(graph, "a", "x", method=method)
        with pytest.raises(VertexError, match="several vertices"):
            nearfar.shortest_path(graph, ["a"], "b", method=method)
        with pytest.raises(OptionError, match="threads"):
            nearfar.shortest_path(graph, "a", "b", method=method, threads=0)
    assert messages[0] == messages[1]
    assert nearfar.shortest_path(graph, "a", "a", limit=limit) == (["a"], 0)


def test_lengths_beyond_the_dtype_and_negative_weights_need_another_search() -> None:
    far = Graph.from_edges([0, 1], [1, 2], np.full(2, 2**30 + 5, np.int32), directed=False)
    assert nearfar.shortest_path(far, 0, 2) == ([0, 1, 2], 2**31 + 10)
    signed = Graph.from_edges([0, 0, 1], [1, 2, 2], [4, 3, -2])
    signed.transpose()
    assert nearfar.shortest_path(signed, 0, 2) == ([0, 1, 2], 2)


@pytest.mark.parametrize("dtype", ["int32", "int64", "float32", "float64"])
@pytest.mark.parametrize("directed", [False, True])
def test_distances_of_pairs(directed: bool, dtype: str) -> None:
    rng = np.random.default_rng(8)
    n = 3000
    ends = rng.integers(0, n, (2, 3 * n))
    weights = (rng.random(3 * n) * 9 + 1).astype(dtype)
    graph = Graph.from_edges(*ends, weights, n_vertices=n, directed=directed)
    pairs = rng.integers(0, n, (300, 2))
    for limit in (None, 12):
        stats: dict[str, Any] = {}
        found = nearfar.distances(graph, pairs=pairs, limit=limit, stats=stats)
        assert stats["pairs_by"] == "both ends"
        want = nearfar.distances(graph, pairs=pairs, limit=limit, method="worker_per_source")
        np.testing.assert_array_equal(found, want)
        assert found.dtype == want.dtype


def test_pairs_that_give_up_are_searched_from_their_sources() -> None:
    """A grid beside a random graph: most pairs are in the latter, whose balls are small."""
    rng = np.random.default_rng(4)
    grid = nearfar.generate("grid", rows=80, columns=80, seed=1)
    n, m = 40_000, 120_000
    ends = rng.integers(0, n, (2, m))
    graph = Graph.from_edges(
        np.concatenate([ends[0], grid.tails() + n]),
        np.concatenate([ends[1], grid.indices + n]),
        np.concatenate([rng.integers(1, 9, m), grid.weights]).astype(np.int32),
        directed=False,
    )
    pairs = rng.integers(0, n, (200, 2))
    far = np.array([[n, n + 6399], [n + 79, n + 6320], [5, n + 7]])
    every = np.concatenate([pairs[:100], far, pairs[100:]])
    stats: dict[str, Any] = {}
    found = nearfar.distances(graph, pairs=every, stats=stats)
    assert stats["pairs_by"] == "both ends"
    want = nearfar.distances(graph, pairs=every, method="worker_per_source")
    np.testing.assert_array_equal(found, want)


def test_lengths_of_pairs_that_need_64_bits() -> None:
    heavy = np.full(400, 2**28, np.int32)
    rng = np.random.default_rng(2)
    graph = Graph.from_edges(*rng.integers(0, 150, (2, 400)), heavy, directed=False)
    pairs = rng.integers(0, 150, (60, 2))
    found = nearfar.distances(graph, pairs=pairs)
    want = nearfar.distances(graph, pairs=pairs, method="worker_per_source")
    np.testing.assert_array_equal(found, want)


def test_a_long_path_of_heavy_edges_needs_64_bits() -> None:
    """The radii add up to more than the dtype holds before a sum does."""
    n = 40
    weights = np.full(n - 1, 2**27, np.int32)
    graph = Graph.from_edges(np.arange(n - 1), np.arange(1, n), weights)
    graph.transpose()
    assert nearfar.shortest_path(graph, 0, n - 1)[1] == (n - 1) * 2**27
    pairs = [(i, n - 1) for i in range(20)]
    found = nearfar.distances(graph, pairs=pairs)
    assert found.dtype == np.int64
    assert found.tolist() == [(n - 1 - i) * 2**27 for i in range(20)]


def test_few_pairs_and_none() -> None:
    graph = Graph.from_edges([0, 1], [1, 2], [1, 2], directed=False)
    assert nearfar.distances(graph, pairs=np.empty((0, 2), np.int64)).tolist() == []
    seen: list[tuple[float, float]] = []
    found = nearfar.distances(graph, pairs=[(0, 2)], progress=lambda *done: seen.append(done))
    assert (found.tolist(), seen) == ([3], [(1, 1)])
