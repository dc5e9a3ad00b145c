"""Common rules of all methods: dtypes of answers, overflow, limits, ties, predecessors."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

import nearfar
from nearfar import Graph
from nearfar.errors import DistanceOverflowError, NegativeCycleError, OptionError, VertexError
from nearfar.graph.dtypes import unreached_value
from nearfar.graph.saturation import may_saturate, narrowed
from nearfar.registry import Request, variants

TOP32, TOP64 = np.iinfo(np.int32).max, np.iinfo(np.int64).max
HALF = 2**30

# Without variants that ignore weights or need a prepared graph.
WEIGHTED = [v for v in variants() if v.weights != "equal" and "prepared" not in v.run.__module__]
ONE = [v.id for v in WEIGHTED if v.device == "cpu" and "sssp" in v.problems]
MANY = [v.id for v in WEIGHTED if v.device == "cpu"]
DEVICE = [v.id for v in WEIGHTED if v.device == "cuda" and "sssp" not in v.problems]


def fits(dtype: object = np.int32) -> Graph:
    """Return weights up to 2^30: three would not fit, but no shortest path has three edges."""
    weights = np.array([HALF, HALF - 2, 3, HALF, 5, 9], dtype=dtype)
    return Graph.from_edges([0, 1, 0, 2, 3, 1], [1, 2, 2, 3, 0, 3], weights)


def exceeds(dtype: object = np.int32) -> Graph:
    """Return a graph with a distance of 2^31 - 1 or more from 0, and none from 3."""
    weights = np.array([HALF, HALF, 7, 1], dtype=dtype)
    return Graph.from_edges([0, 1, 3, 3], [1, 2, 4, 5], weights, n_vertices=6)


def runs(graph: Graph, method: str, problem: str = "batch") -> bool:
    found = next(v for v in variants() if v.id == method)
    problem = problem if problem in found.problems else "sssp"
    request = Request(problem=problem, n_sources=graph.n_vertices, device=found.device)
    return found.can_run(graph, request) is True


def rows(graph: Graph) -> np.ndarray:
    """Return the right distances in 64 bits."""
    wide = graph.astype(np.int64)
    return np.array([nearfar.sssp(wide, v).distances for v in range(graph.n_vertices)])


# ---- one source -------------------------------------------------------------------------------


@pytest.mark.parametrize("method", ONE)
def test_the_dtype_of_one_source_does_not_depend_on_the_method(method: str) -> None:
    for graph, dtype in ((fits(), np.int32), (exceeds(), np.int64)):
        paths = nearfar.sssp(graph, 0, method=method)
        assert paths.distances.dtype == dtype
        truth = rows(graph)[0]
        np.testing.assert_array_equal(paths.distances, narrowed(truth, np.dtype(dtype)))
        nearfar.verify(graph, paths)
        assert bool(paths.stats.get("repeated_in_64_bits")) == (dtype == np.int64)


@pytest.mark.parametrize("method", ONE)
@pytest.mark.parametrize("given", [{"targets": [1]}, {"limit": HALF}, {"limit": TOP32 - 1}])
def test_what_is_beyond_the_answer_proves_nothing(method: str, given: dict[str, object]) -> None:
    """An early stop leaves vertices unreached whose distances would not fit."""
    graph = exceeds()
    paths = nearfar.sssp(graph, 0, method=method, **given)
    assert paths.distances.dtype == np.int32
    assert paths.distances.tolist() == [0, HALF, *[TOP32] * 4]
    nearfar.verify(graph, paths)


def test_an_early_stop_overflows_nothing() -> None:
    g = Graph.from_edges([0, 1, 0, 3], [1, 2, 3, 2], np.array([1, 2**63 - 2, 5, 5]))
    for method in ONE:
        found = nearfar.sssp(g, 0, targets=[1], method=method).distances
        assert found.tolist() == [0, 1, TOP64, TOP64]


def test_a_limit_beyond_the_short_dtype_keeps_it_where_it_can() -> None:
    graph = exceeds()
    near = nearfar.sssp(graph, 0, limit=TOP32)  # the distance 2^31 is beyond it
    assert near.distances.dtype == np.int32
    far = nearfar.sssp(graph, 0, limit=2**31)
    assert far.distances.dtype == np.int64
    assert far.distances[2] == 2**31


def test_unreached_targets_do_not_hide_an_overflow() -> None:
    graph = exceeds()
    found = nearfar.sssp(graph, 0, targets=[5]).distances
    assert (found.dtype, found[2]) == (np.int64, 2**31)
    heavy = np.array([TOP64 - 1, TOP64 - 1])
    with pytest.raises(DistanceOverflowError, match="a distance from 0 does not fit int64"):
        nearfar.sssp(Graph.from_edges([0, 1], [1, 2], heavy, n_vertices=4), 0, targets=[3])


def test_negative_weights_bring_a_distance_back_into_32_bits() -> None:
    """The path to 3 leads over 2, whose own distance does not fit."""
    weights = np.array([HALF, HALF, -9], dtype=np.int32)
    graph = Graph.from_edges([0, 1, 2], [1, 2, 3], weights)
    near = nearfar.sssp(graph, 0, limit=2**31 - 9)
    assert near.distances.tolist() == [0, HALF, TOP32, 2**31 - 9]
    assert near.distances.dtype == np.int32
    nearfar.verify(graph, near)
    for method in ("auto", "bellman_ford", "johnson"):
        some = nearfar.distances(graph, [0, 1], targets=[3, 1], method=method)
        assert some.dtype == np.int32
        assert some.tolist() == [[2**31 - 9, HALF], [HALF - 9, 0]]
        assert nearfar.distances(graph, [0], method=method).tolist()[0][2] == 2**31


# ---- many sources -----------------------------------------------------------------------------


@pytest.mark.parametrize("method", MANY)
@pytest.mark.parametrize("dtype", [np.int32, np.float32])
def test_the_dtype_of_many_sources_does_not_depend_on_the_method(method, dtype) -> None:
    for made in (fits, exceeds):
        graph = made(dtype)
        if not runs(graph, method, "all_pairs"):
            continue
        found = nearfar.all_pairs(graph, method=method)
        truth = rows(made())
        expected = narrowed(truth, np.dtype(np.int32))
        if dtype == np.float32:
            expected = np.where(truth == TOP64, np.inf, truth).astype(np.float32)
        np.testing.assert_array_equal(found, expected)
        assert found.dtype == expected.dtype


@pytest.mark.parametrize("method", MANY)
def test_columns_and_limits_decide_the_dtype(method: str) -> None:
    graph = exceeds()
    every = range(6)  # floyd_warshall takes all sources
    near = nearfar.distances(graph, every, targets=[1, 5], method=method)
    assert near.dtype == np.int32
    none = [TOP32, TOP32]
    assert near.tolist() == [[HALF, TOP32], [0, TOP32], none, [TOP32, 1], none, [TOP32, 0]]
    assert nearfar.distances(graph, every, limit=TOP32 - 1, method=method).dtype == np.int32
    far = nearfar.distances(graph, every, targets=[2], method=method)
    assert far.dtype == np.int64
    assert far[0] == 2**31


@pytest.mark.usefixtures("emulated_gpu")
@pytest.mark.parametrize("method", DEVICE)
def test_the_same_dtypes_on_the_device(method: str) -> None:
    for graph in (fits(), exceeds()):
        if not runs(graph, method, "all_pairs"):
            continue
        expected = narrowed(rows(graph), np.dtype(np.int32))
        found = nearfar.all_pairs(graph, method=method)
        np.testing.assert_array_equal(found, expected)
        assert found.dtype == expected.dtype
        near = nearfar.distances(graph, range(graph.n_vertices), limit=HALF, method=method)
        assert near.dtype == np.int32


@pytest.mark.parametrize("dtype", [np.int32, np.float64])
def test_unreached_targets_are_no_evidence_of_lost_sums(dtype: type) -> None:
    path = np.arange(4999)
    weights = np.ones(4999, dtype)
    weights[-1] = 2**30  # with as many edges a path could exceed 32 bits
    graph = Graph.from_edges(path, path + 1, weights, n_vertices=6000)
    stats: dict[str, object] = {}
    rows = nearfar.distances(
        graph, [0, 4000], targets=[4999, 5500], method="worker_per_source", stats=stats
    )
    assert stats["iterations"] == 2  # no row is repeated
    assert rows[:, 0].tolist() == [4998 + 2**30, 998 + 2**30]
    assert (rows[:, 1] == unreached_value(np.dtype(dtype))).all()
    heavy = graph.with_weights(np.where(path > 4990, 2**30, 1).astype(dtype))
    far = nearfar.distances(heavy, [0], targets=[4999, 5500], method="worker_per_source")
    assert far[0, 0] == 4991 + 8 * 2**30
    assert far[0, 1] == unreached_value(far.dtype)


def test_a_row_of_floats_is_the_same_bits_beside_one_that_does_not_fit() -> None:
    top = float(np.finfo(np.float32).max)
    weights = np.array([top, top, 0.1, 0.2, 0.3], dtype=np.float32)
    graph = Graph.from_edges([0, 1, 3, 4, 5], [1, 2, 4, 5, 6], weights)
    alone = nearfar.sssp(graph, 3)
    both, before = nearfar.distances(graph, [3, 0], predecessors=True)
    assert (alone.distances.dtype, both.dtype) == (np.float32, np.float64)
    np.testing.assert_array_equal(both[0], alone.distances.astype(np.float64))
    np.testing.assert_array_equal(before[0], alone.predecessors)
    np.testing.assert_array_equal(before[1], nearfar.sssp(graph, 0).predecessors)
    out = np.empty((1, 7))  # a wider dtype of `out` changes no sum and no tree
    same, tree = nearfar.distances(graph, [3], predecessors=True, out=out)
    assert same is out
    np.testing.assert_array_equal(tree[0], alone.predecessors)


def test_lanes_leave_sums_near_the_end_of_64_bits_to_searches() -> None:
    weights = np.array([2**62, 2**61, 3])
    graph = Graph.from_edges([0, 1, 0], [1, 2, 3], weights)
    expected = nearfar.all_pairs(graph, method="worker_per_source")
    assert expected[0].tolist() == [0, 2**62, 2**62 + 2**61, 3]
    stats: dict[str, object] = {}
    found = nearfar.all_pairs(graph, method="lanes", stats=stats)
    np.testing.assert_array_equal(found, expected)
    assert "near the limit of 64 bits" in str(stats["reason"])


def test_a_bound_that_paths_cannot_reach_costs_no_repetition() -> None:
    """The heaviest edge times all vertices exceeds 32 bits, but the sum of all edges does not."""
    n = 50
    weights = np.ones(n - 1, dtype=np.int32)
    weights[0] = HALF
    graph = Graph.from_edges(range(n - 1), range(1, n), weights, n_vertices=n + 1)
    assert not may_saturate(graph)
    assert may_saturate(exceeds())
    stats: dict[str, object] = {}
    found = nearfar.distances(graph, [0, 1], targets=[n, 9], stats=stats)
    assert found.dtype == np.int32
    assert "repeated_in_64_bits" not in stats


# ---- limits, ties, trees ----------------------------------------------------------------------


@pytest.mark.parametrize("dtype", [np.int32, np.int64, np.float32, np.float64, None])
@pytest.mark.parametrize("limit", [-1, -0.5, -np.inf])
def test_a_limit_below_zero_is_refused(dtype: object, limit: float) -> None:
    weights = None if dtype is None else np.array([1, 2], dtype=dtype)
    graph = Graph.from_edges([0, 1], [1, 2], weights)
    for call in (nearfar.sssp, lambda g, s, **kw: nearfar.distances(g, [s], **kw)):
        with pytest.raises(OptionError, match=r"limit is -.*: give at least 0"):
            call(graph, 0, limit=limit)
    assert nearfar.sssp(graph, 0, limit=-0.0).n_reached == 1


def test_a_limit_below_zero_is_refused_with_negative_weights_too() -> None:
    graph = Graph.from_edges([0, 1], [1, 2], [1, -5])
    with pytest.raises(OptionError, match="give at least 0"):
        nearfar.sssp(graph, 0, limit=-1)
    assert nearfar.sssp(graph, 0, limit=0).distances.tolist() == [0, TOP64, -4]


@pytest.mark.parametrize("k", [1, 2, 3, 40])
def test_nearest_of_targets_breaks_ties_by_vertex(k: int) -> None:
    n = 40
    graph = Graph.from_edges(np.zeros(n - 1, int), np.arange(1, n), np.ones(n - 1, int))
    targets = np.arange(n)[::-1].copy()
    vertices, near = nearfar.distances(graph, [0], targets=targets, reduce=f"nearest:{k}")
    assert vertices.tolist() == [list(range(k))]
    assert near.tolist() == [[0, *[1] * (k - 1)]]


def test_memory_that_a_method_takes_besides_its_rows(tmp_path: Path) -> None:
    """Regression: the advice was fewer sources, although rows go to a file."""
    graph = nearfar.generate("grid", rows=40, columns=40)
    most = "100,000 bytes free: .*@cpu needs .* MiB in addition to its rows: use fewer"
    with pytest.raises(nearfar.OutOfMemoryError, match=most):
        nearfar.all_pairs(graph, out=tmp_path / "rows.npy", memory=10**5)
    with pytest.raises(nearfar.OutOfMemoryError, match=r"the matrix takes .* out='name.npy'"):
        nearfar.all_pairs(graph, memory=10**5)


def test_more_nearest_than_memory_holds() -> None:
    """Regression: NumPy's MemoryError was raised after all rows had been solved."""
    graph = Graph.from_edges(np.zeros(39, int), np.arange(1, 40), np.ones(39, int))
    with pytest.raises(nearfar.OutOfMemoryError, match=r"or nearest:40 \(a row has no more col"):
        nearfar.distances(graph, [0, 1], reduce="nearest:1000000000000")
    with pytest.raises(nearfar.OutOfMemoryError, match=r"use fewer sources, or a smaller k$"):
        nearfar.distances(graph, reduce="nearest:40", memory=2000)
    with pytest.raises(nearfar.OutOfMemoryError, match=r"the reduced rows take .* fewer sources$"):
        nearfar.distances(graph, reduce=("histogram", range(9999)), memory=2**20)
    with pytest.raises(nearfar.OptionError, match=r"nearest:k"):
        nearfar.distances(graph, reduce=f"nearest:{'9' * 5000}")
    assert nearfar.distances(graph, [0], reduce="nearest:50")[0].shape == (1, 50)


@pytest.mark.parametrize("method", ["auto", "bellman_ford", "johnson", "floyd_warshall"])
def test_trees_with_negative_weights_and_a_limit_are_those_of_one_source(method: str) -> None:
    graph = Graph.from_edges([0, 1, 0, 2, 3], [1, 2, 2, 3, 0], [10, -8, 5, 1, 1])
    found, before = nearfar.distances(graph, range(4), limit=4, predecessors=True, method=method)
    for source in range(4):
        paths = nearfar.sssp(graph, source, limit=4, predecessors=True)
        np.testing.assert_array_equal(found[source], paths.distances)
        np.testing.assert_array_equal(before[source], paths.predecessors)
        nearfar.verify(graph, paths)


def test_a_vertex_of_another_graph_is_refused_before_anything_runs() -> None:
    with pytest.raises(VertexError, match="source 9 is outside the graph"):
        nearfar.distances(fits(), [0, 9])
    assert unreached_value(np.dtype(np.int32)) == TOP32


def test_pairs_answer_for_the_pairs_alone() -> None:
    """Other entries of the rows and columns that pairs need may not fit."""
    big = 2**30
    graph = Graph.from_edges([0, 1, 2], [1, 2, 3], np.array([big, big, big], dtype=np.int32))
    found = nearfar.distances(graph, pairs=[(0, 1), (2, 3)])
    assert (found.dtype, found.tolist()) == (np.int32, [big, big])
    assert nearfar.distances(graph, pairs=[(0, 3), (2, 3)]).dtype == np.int64
    huge = Graph.from_edges([0, 1, 2], [1, 2, 3], np.array([2**62, 2**62, 2**62]))
    assert nearfar.distances(huge, pairs=[(0, 1), (2, 3)]).tolist() == [2**62, 2**62]
    with pytest.raises(DistanceOverflowError):
        nearfar.distances(huge, pairs=[(0, 3)])


def test_pairs_keep_to_memory_and_blocks() -> None:
    """Regression: both were ignored."""
    graph = Graph.from_edges([0, 1, 2], [1, 2, 3], [1, 2, 3])
    with pytest.raises(nearfar.OutOfMemoryError):
        nearfar.distances(graph, pairs=[(0, 1), (2, 3)], memory=1)
    with pytest.raises(nearfar.OptionError, match="block is 0"):
        nearfar.distances(graph, pairs=[(0, 1), (2, 3)], block=0)
    assert nearfar.distances(nearfar.prepare(graph), pairs=[(0, 2)], memory=1).tolist() == [3]


def test_a_negative_cycle_that_no_source_reaches() -> None:
    """Regression: `auto` chose a method that refuses negative cycles anywhere."""
    n = 30
    ring = np.arange(n)
    ends = np.append(ring, [n, n + 1]), np.append((ring + 1) % n, [n + 1, n])
    weights = np.append(np.where(ring % 2, 5, -2), [1, -3]).astype(np.int32)
    graph = Graph.from_edges(*ends, weights)
    stats: dict[str, object] = {}
    found = nearfar.distances(graph, [0, 3, 4], stats=stats)
    assert found.tolist() == [nearfar.sssp(graph, s).distances.tolist() for s in (0, 3, 4)]
    with pytest.raises(NegativeCycleError):
        nearfar.distances(graph, [0, n])
    with pytest.raises(NegativeCycleError):
        nearfar.all_pairs(graph)
    with pytest.raises(NegativeCycleError):  # the named method searches for one anywhere
        nearfar.distances(graph, [0], method="johnson@cpu")


@pytest.mark.parametrize("dtype", ["int32", "int64", "float32", "float64"])
def test_reductions_on_the_host_are_those_of_arrays(dtype: str) -> None:
    """One pass in C++ has the bits of the array formulas that devices use."""
    from nearfar.solve.rows.reductions import _sums_by_halves

    rng = np.random.default_rng(5)
    n = 130
    weights = (rng.random(500) * 1000).astype(dtype)
    graph = Graph.from_edges(*rng.integers(0, n, (2, 500)), weights, n_vertices=n + 3)
    rows = nearfar.distances(graph)
    rows[np.arange(n + 3), np.arange(n + 3)] = none = unreached_value(rows.dtype)
    reached = rows != none
    counts = np.count_nonzero(reached, axis=1)
    if rows.dtype.kind == "i":
        sums = rows.sum(axis=1, where=reached, dtype=np.int64).astype(np.float64)
    else:
        sums = _sums_by_halves(np, rows, reached)
    for threads in (1, 3):
        ask = {"threads": threads}
        np.testing.assert_array_equal(nearfar.distances(graph, reduce="sum", **ask), sums)
        np.testing.assert_array_equal(nearfar.distances(graph, reduce="count", **ask), counts)
        mean = nearfar.distances(graph, reduce="mean", **ask)
        np.testing.assert_array_equal(
            mean, np.where(counts > 0, sums / np.maximum(counts, 1), np.nan)
        )
        most = nearfar.distances(graph, reduce="max", **ask)
        greatest = np.where(reached, rows, -1).max(axis=1)
        np.testing.assert_array_equal(most, np.where(counts > 0, greatest, none))
        assert most.dtype == rows.dtype
