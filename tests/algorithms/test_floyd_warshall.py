"""Blocked Floyd-Warshall against single searches: tile sizes, dtypes, signs, overflow."""

from __future__ import annotations

import numpy as np
import pytest

import nearfar
from nearfar.errors import NegativeCycleError, OptionError
from nearfar.graph.graph import Graph
from nearfar.solve.many import all_pairs

DTYPES = [np.int32, np.int64, np.float32, np.float64]


def rows_of(graph):
    every = range(graph.n_vertices)
    rows = [nearfar.sssp(graph, s, method="bellman_ford_queue@cpu").distances for s in every]
    return np.array(rows).reshape(graph.n_vertices, graph.n_vertices)


def random_graph(rng, n, m, dtype, negative=False):
    weights = rng.integers(1, 60, m) if np.dtype(dtype).kind == "i" else rng.random(m)
    tails, heads = rng.integers(0, n, m), rng.integers(0, n, m)
    if negative:  # differences of potentials keep every cycle non-negative
        height = rng.integers(-40, 40, n) if np.dtype(dtype).kind == "i" else rng.normal(size=n)
        weights = weights + height[tails] - height[heads]
    return Graph.from_edges(tails, heads, weights.astype(dtype), n_vertices=n)


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("negative", [False, True])
def test_sizes_around_the_tile(dtype, negative):
    rng = np.random.default_rng(2)
    for n, m in [(1, 2), (5, 12), (63, 250), (64, 900), (65, 160), (129, 700)]:
        graph = random_graph(rng, n, m, dtype, negative)
        for threads in (1, 3):
            found = all_pairs(graph, method="floyd_warshall", device="cpu", threads=threads)
            np.testing.assert_array_equal(found, rows_of(graph))


def test_no_vertices():
    graph = Graph.from_edges([], [], n_vertices=0)
    assert all_pairs(graph, method="floyd_warshall", device="cpu").shape == (0, 0)


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_without_exact_floats_are_close(dtype):
    graph = random_graph(np.random.default_rng(3), 90, 900, dtype)
    loose = all_pairs(graph, method="floyd_warshall", device="cpu", exact=False)
    exact = all_pairs(graph, method="floyd_warshall", device="cpu")
    np.testing.assert_allclose(loose, exact, rtol=200 * np.finfo(dtype).eps)


def test_negative_cycle_anywhere_is_an_error():
    graph = Graph.from_edges([0, 2, 3], [1, 3, 2], [5, -2, 1], n_vertices=4)
    with pytest.raises(NegativeCycleError) as caught:
        all_pairs(graph, method="floyd_warshall", device="cpu")
    assert caught.value.cycle == [2, 3]


def test_heavy_weights_take_64_bits_inside_and_outside_if_needed():
    fits = Graph.from_edges([0, 1], [1, 2], np.array([2**30, 2**29], dtype=np.int32))
    found = all_pairs(fits, method="floyd_warshall", device="cpu")
    assert found.dtype == np.int32
    assert found[0].tolist() == [0, 2**30, 2**30 + 2**29]
    wide = Graph.from_edges([0, 1], [1, 2], np.array([2**31 - 2, 2**30], dtype=np.int32))
    found = all_pairs(wide, method="floyd_warshall", device="cpu")
    assert found.dtype == np.int64
    assert found[0].tolist() == [0, 2**31 - 2, 2**31 - 2 + 2**30]


def test_columns_limit_and_options():
    graph = random_graph(np.random.default_rng(4), 70, 300, np.int32)
    truth = rows_of(graph)
    none = np.iinfo(np.int32).max
    found = all_pairs(graph, targets=[4, 1], limit=50, method="floyd_warshall", device="cpu")
    np.testing.assert_array_equal(found, np.where(truth > 50, none, truth)[:, [4, 1]])
    with pytest.raises(OptionError, match="exact"):
        all_pairs(graph, method="floyd_warshall", device="cpu", exakt=True)


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("negative", [False, True])
def test_predecessors_are_those_of_single_searches(dtype, negative):
    """The pass over tight edges gives every method the trees of single searches."""
    rng = np.random.default_rng(9)
    for n, m in [(1, 1), (40, 100), (70, 1500)]:
        graph = random_graph(rng, n, m, dtype, negative)
        searches = [nearfar.sssp(graph, s, method="tarjan_subtree@cpu") for s in range(n)]
        for threads in (1, 3):
            found, before = all_pairs(
                graph, predecessors=True, method="floyd_warshall", device="cpu", threads=threads
            )
            for s, paths in enumerate(searches):
                np.testing.assert_array_equal(found[s], paths.distances)
                np.testing.assert_array_equal(before[s], paths.predecessors)
                for v in np.flatnonzero(before[s] >= 0):
                    row = slice(*graph.indptr[before[s][v] : before[s][v] + 2])
                    edge = graph.weights[row][graph.indices[row] == v].min()
                    assert found[s][before[s][v]] + edge == found[s][v]


def zeros_and_parallels(rng, n, m, dtype):
    """Return weights 0..3 (floats also too small for sums), loops and parallel edges."""
    tails, heads = rng.integers(0, n, m), rng.integers(0, n, m)
    weights = rng.integers(0, 4, m).astype(dtype)
    if np.dtype(dtype).kind == "f":
        weights[rng.random(m) < 0.2] = np.finfo(dtype).tiny
    return Graph.from_edges(tails, heads, weights, n_vertices=n)


def is_tree(graph, source, before):
    """Return whether every chain of predecessors ends at the source, without cycles."""
    at = np.arange(graph.n_vertices)
    for _ in range(graph.n_vertices):
        at = np.where(before[at] < 0, at, before[at])
    return bool((at[before >= 0] == source).all())


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize(("n", "m"), [(2, 3), (63, 150), (64, 500), (65, 4000), (200, 700)])
def test_predecessors_with_edges_that_add_nothing(dtype, n, m):
    rng = np.random.default_rng(n)
    graph = zeros_and_parallels(rng, n, m, dtype)
    for threads in (1, 2):
        found, before = all_pairs(
            graph, predecessors=True, method="floyd_warshall", device="cpu", threads=threads
        )
        assert before.dtype == graph.indptr.dtype
        for s in range(n):
            paths = nearfar.sssp(graph, s, method="dijkstra_binary_heap@cpu")
            np.testing.assert_array_equal(found[s], paths.distances)
            np.testing.assert_array_equal(before[s], paths.predecessors)
            assert is_tree(graph, s, before[s])


def test_predecessors_of_heavy_weights_limits_and_chosen_sources():
    rng = np.random.default_rng(3)
    graph = random_graph(rng, 80, 500, np.int32)
    heavy = Graph.from_csr(graph.indptr, graph.indices, graph.weights * np.int32(2**20))
    truth, trees = all_pairs(heavy, predecessors=True, method="lanes@cpu")
    call = {"method": "floyd_warshall", "device": "cpu", "predecessors": True}
    found, before = all_pairs(heavy, **call)
    np.testing.assert_array_equal(found, truth)
    np.testing.assert_array_equal(before, trees)
    limit = int(np.median(truth))
    found, before = all_pairs(heavy, limit=limit, **call)
    beyond = truth > limit
    np.testing.assert_array_equal(before, np.where(beyond, -1, trees))
    too_heavy = Graph.from_csr(graph.indptr, graph.indices, graph.weights * np.int32(2**25))
    found, before = all_pairs(too_heavy, **call)
    assert found.dtype == np.int64
    np.testing.assert_array_equal(before, trees)


def test_predecessors_need_exact_distances():
    graph = random_graph(np.random.default_rng(3), 9, 20, np.float32)
    with pytest.raises(OptionError, match="exact"):
        all_pairs(graph, method="floyd_warshall", device="cpu", exact=False, predecessors=True)
