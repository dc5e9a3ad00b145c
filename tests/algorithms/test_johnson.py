"""Johnson's method: potentials, exact integers, and the float bits of Bellman-Ford."""

from __future__ import annotations

import numpy as np
import pytest

import nearfar
from nearfar import _cpu
from nearfar.algorithms.johnson.cpu import shifted
from nearfar.cpu.potentials import potentials
from nearfar.errors import NegativeCycleError, OptionError
from nearfar.generators import generate
from nearfar.graph.graph import Graph
from nearfar.solve.many import all_pairs, distances
from tests.algorithms.test_floyd_warshall import DTYPES, random_graph, rows_of
from tests.datafiles import data_path


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("inner", ["lanes", "worker_per_source"])
def test_equals_bellman_ford_bit_for_bit(dtype, inner):
    rng = np.random.default_rng(7)
    for n, m in [(1, 1), (6, 14), (90, 400), (150, 300)]:
        for negative in (False, True):
            graph = random_graph(rng, n, m, dtype, negative)
            stats = {}
            found = all_pairs(
                graph, method="johnson", device="cpu", threads=2, inner=inner, stats=stats
            )
            np.testing.assert_array_equal(found, rows_of(graph))
            assert stats.get("repeated_rows", 0) == 0


@pytest.mark.parametrize("dtype", DTYPES)
def test_all_methods_agree_without_negative_weights(dtype):
    graph = random_graph(np.random.default_rng(12), 130, 700, dtype)
    truth = rows_of(graph)
    for method in ("johnson", "floyd_warshall", "lanes", "worker_per_source", "tarjan_subtree"):
        np.testing.assert_array_equal(all_pairs(graph, method=method, device="cpu"), truth)


@pytest.mark.parametrize("dtype", DTYPES)
def test_potentials_and_reweighted_graph(dtype):
    graph = random_graph(np.random.default_rng(1), 200, 900, dtype, negative=True)
    assert graph.n_negative > 0
    h = potentials(graph)
    assert (h <= 0).all()
    rows = graph.tails(np.int64)
    moved = graph.weights + h[rows] - h[graph.indices]
    if np.dtype(dtype).kind == "i":
        assert (moved >= 0).all()
        np.testing.assert_array_equal(shifted(graph).graph.weights, moved)
    else:
        assert (moved > -1e-5).all()
    assert shifted(graph).graph.n_negative == 0
    assert shifted(graph) is shifted(graph)


def test_limit_and_columns_are_of_the_true_distances():
    graph = random_graph(np.random.default_rng(3), 100, 420, np.int32, negative=True)
    truth = rows_of(graph)
    none = np.iinfo(np.int32).max
    found = distances(graph, [5, 9, 5], targets=[3, 3, 8], limit=10, method="johnson", device="cpu")
    np.testing.assert_array_equal(found, np.where(truth > 10, none, truth)[[5, 9, 5]][:, [3, 3, 8]])
    auto = distances(graph, [5, 9])
    np.testing.assert_array_equal(auto, truth[[5, 9]])


def test_sums_beyond_32_bits():
    low = -(2**31) + 5
    graph = Graph.from_edges([0, 1, 2], [1, 2, 3], np.array([low, low, 7], dtype=np.int32))
    found = all_pairs(graph, method="johnson", device="cpu")
    assert found.dtype == np.int64
    assert found[0].tolist() == [0, low, 2 * low, 2 * low + 7]
    assert found[1].tolist()[1:] == [0, low, low + 7]


def test_a_negative_cycle_anywhere_is_an_error():
    graph = Graph.from_edges([0, 2, 3], [1, 3, 2], [5, -2, 1], n_vertices=4)
    for method in ("johnson", "auto"):
        with pytest.raises(NegativeCycleError):
            all_pairs(graph, method=method, device="cpu")


def test_rows_that_rounding_keeps_improving_are_counted():
    cycle = [0.9, 0.9, -1.8]
    graph = Graph.from_edges([0, 1, 2, 3], [1, 2, 3, 1], [1e16, *cycle])
    stats = {}
    found = all_pairs(graph, method="johnson", device="cpu", stats=stats)
    assert stats["repeated_rows"] >= 0
    np.testing.assert_allclose(found[0], [0, 1e16, 1e16, 1e16], atol=8)


def test_unknown_inner_method():
    graph = Graph.from_edges([0], [1], [1])
    with pytest.raises(OptionError, match="inner"):
        all_pairs(graph, method="johnson", device="cpu", inner="dial")


@pytest.mark.data
def test_splib_rows():
    graph = nearfar.read(data_path("negative-splib/splib-acyc_neg-00.sp.xz"))
    found = distances(graph, [1, 18, 4001], method="johnson", device="cpu")
    for row, source in zip(found, [1, 18, 4001], strict=True):
        single = nearfar.sssp(graph, source, method="goldberg_radzik").distances
        np.testing.assert_array_equal(row, single)


def acyclic(n: int, dtype: str) -> Graph:
    """Return a path and edges from lower to higher numbers, all of negative weight."""
    rng = np.random.default_rng(3)
    tails = np.concatenate([np.arange(n - 1), rng.integers(0, n - 1, 4 * n)])
    heads = np.minimum(tails + rng.integers(1, n // 20, len(tails)), n - 1)
    heads[: n - 1] = np.arange(1, n)
    weights = -rng.integers(1, 1000, len(tails))
    return Graph.from_edges(tails, heads, weights.astype(dtype), n_vertices=n)


@pytest.mark.parametrize("dtype", ["int64", "float64"])
def test_potentials_of_acyclic_graphs_take_two_rounds(dtype: str) -> None:
    """A queue takes as many rounds as the longest path has edges."""
    graph = acyclic(4000, dtype)
    found = np.empty(graph.n_vertices, dtype)
    stats = _cpu.bellman_ford_goldberg_radzik(graph.view, -1, found, True)
    assert stats["edges_relaxed"] <= 2 * graph.n_edges
    assert stats["proven"] == (dtype == "float64")
    other = np.empty_like(found)
    _cpu.bellman_ford_subtree(graph.view, -1, other, True)
    np.testing.assert_array_equal(found, other)
    np.testing.assert_array_equal(potentials(graph), other)


@pytest.mark.parametrize("dtype", ["int32", "int64", "float32", "float64"])
def test_later_searches_of_auto_use_potentials(dtype: str) -> None:
    made = generate("uniform_random", vertices=6000, degree=8, seed=4, high=9000)
    shift = np.random.default_rng(5).integers(0, 20_000, made.n_vertices)
    weights = made.effective_weights + shift[made.tails(np.int64)] - shift[made.indices]
    scale = 1.0 if dtype[0] == "i" else 0.37
    graph = Graph(made.indptr, made.indices, (weights * scale).astype(dtype), directed=True)
    assert graph.n_negative
    sources = [0, 17, 5999]
    wanted = [nearfar.sssp(graph, s, method="tarjan_subtree") for s in sources]
    engines = []
    for turn in range(15):
        paths = nearfar.sssp(graph, sources[turn % 3], device="cpu", threads=1)
        np.testing.assert_array_equal(paths.distances, wanted[turn % 3].distances)
        np.testing.assert_array_equal(paths.predecessors, wanted[turn % 3].predecessors)
        assert paths.distances.dtype == dtype
        engines.append(paths.engine)
    assert engines.count("johnson_search@cpu") >= 2


def test_a_cycle_elsewhere_leaves_a_search_to_another_method() -> None:
    tails, heads, weights = [0, 1, 2, 3], [1, 2, 3, 2], [4, -1, 3, -5]
    graph = Graph.from_edges([*tails, 4], [*heads, 0], [*weights, 1], n_vertices=6)
    for _ in range(2):  # the second time it is known
        with pytest.raises(nearfar.NegativeCycleError):
            nearfar.sssp(graph, 0, method="johnson_search")
        paths = nearfar.sssp(graph, 5, method="johnson_search")
        assert paths.n_reached == 1
    graph = Graph.from_edges([0, 2, 3], [1, 3, 2], [-4, 1, -2], n_vertices=4)
    for _ in range(9):
        assert nearfar.sssp(graph, 0).distances[1] == -4


def test_rows_by_several_forms_are_all_checked_for_sums_that_do_not_fit():
    """Potentials notice such sums themselves, and subtrees leave it to the caller."""
    rng = np.random.default_rng(4)
    ends = [(v, v + int(step)) for v in range(100) for step in rng.integers(1, 6, 4)]
    heavy = 2**30 + rng.integers(-9000, 9000, len(ends))
    graph = Graph.from_edges(*np.array(ends).T, heavy.astype(np.int32))
    rows = nearfar.distances(graph.astype(np.int64), range(40))
    for _ in range(3):
        found = nearfar.distances(graph, range(40), method="johnson_search@cpu", threads=1)
        np.testing.assert_array_equal(found, rows)
