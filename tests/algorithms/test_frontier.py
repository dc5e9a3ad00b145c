"""Compound frontiers: iterations and counters by hand, matrices, emulated CUDA forms."""

from __future__ import annotations

import numpy as np
import pytest

import nearfar
from nearfar import Graph
from nearfar.errors import OptionError, VariantUnavailable
from nearfar.generators import generate
from nearfar.papers.martin_2009.frontier.dense import DENSE_MAX_BYTES, dense_matrix
from nearfar.registry import Variant, variants
from tests import oracle
from tests.settle_checks import check_same_as_cpu, count_wrong, family
from tests.zoo import DTYPES, ZOO, as_dtype

CPU = [v for v in variants(device="cpu") if v.family == "frontier"]
SHAPE = {"threads_relax": 64, "threads_minimum": 32, "threads_update": 96}


@pytest.mark.parametrize("variant", CPU, ids=lambda v: v.id)
def test_one_iteration_a_distance(variant: Variant) -> None:
    """With positive weights an iteration settles all vertices at one distance."""
    for name in ("path", "ring", "grid", "star", "dag_with_long_detours"):
        graph = as_dtype(ZOO[name](), "int32")
        paths = nearfar.sssp(graph, 0, method=variant.id)
        assert paths.stats["iterations"] == len(np.unique(oracle.dijkstra(graph, 0)))


@pytest.mark.parametrize("variant", CPU, ids=lambda v: v.id)
def test_zero_weights_settle_again_at_the_same_threshold(variant: Variant) -> None:
    graph = Graph.from_edges([0, 1, 2, 0], [1, 2, 3, 4], np.array([2, 0, 0, 2], dtype=np.int32))
    paths = nearfar.sssp(graph, 0, method=variant.id, trace=True)
    assert paths.distances.tolist() == [0, 2, 2, 2, 2]
    assert paths.stats["frontier"].tolist() == [1, 2, 1, 1]


def test_counters_of_a_small_graph() -> None:
    """0 -> 1, 2 (weight 1), 1 -> 3 (1), 2 -> 3 (5): three iterations, counted by hand."""
    graph = Graph.from_edges([0, 0, 1, 2], [1, 2, 3, 3], np.array([1, 1, 1, 5], dtype=np.int32))
    successors = nearfar.sssp(graph, 0, method="frontier_successors@cpu", trace=True).stats
    assert successors["frontier"].tolist() == [1, 2, 1]
    assert successors["working"].tolist() == [1, 2, 1]
    assert successors["edges"].tolist() == [2, 2, 0]
    assert successors["total_threads"] == 12
    assert successors["idle_share"] == pytest.approx(1 - 4 / 12)
    predecessors = nearfar.sssp(graph, 0, method="frontier_predecessors@cpu", trace=True).stats
    assert predecessors["frontier"].tolist() == [1, 2, 1]
    assert predecessors["working"].tolist() == [3, 1, 0]
    assert predecessors["edges"].tolist() == [4, 2, 0]
    assert predecessors["vertices_settled"] == 4
    matrix = nearfar.sssp(graph, 0, method="frontier_matrix_predecessors@cpu", trace=True).stats
    assert matrix["edges"].tolist() == [12, 4, 0]


def test_martin_graph_needs_about_as_many_iterations_as_the_paper_says() -> None:
    """Section 6: "around 45" for 11 * 2**20 vertices; the count grows with the logarithm of n."""
    graph = generate("martin", vertices=1 << 16)
    paths = nearfar.sssp(graph, 0, method="frontier_successors@cpu")
    assert 25 <= paths.stats["iterations"] <= 45


@pytest.mark.parametrize("variant", CPU, ids=lambda v: v.id)
def test_saturated_sums_never_enter_a_frontier(variant: Variant) -> None:
    big = 2**31 - 2
    graph = Graph.from_edges([0, 1, 0], [1, 2, 3], np.array([big, 1, 1], dtype=np.int32))
    answer = variant.run(graph, 0, None, nearfar.registry.Workspace(stats="full"))
    assert answer.distances.tolist() == [0, big, 2**31 - 1, 1]
    assert answer.stats["vertices_settled"] == 3


@pytest.mark.parametrize("variant", CPU, ids=lambda v: v.id)
def test_limit_and_targets_end_the_loop_early(variant: Variant) -> None:
    graph = as_dtype(ZOO["path"](), "int32")
    everything = nearfar.sssp(graph, 0, method=variant.id).stats["iterations"]
    near = nearfar.sssp(graph, 0, method=variant.id, targets=[3]).stats["iterations"]
    limited = nearfar.sssp(graph, 0, method=variant.id, limit=10).stats["iterations"]
    assert near < 10
    assert limited < 10
    assert everything == 300


@pytest.mark.parametrize("variant", CPU, ids=lambda v: v.id)
def test_a_target_does_not_hide_a_vertex_that_ties_with_it(variant: Variant) -> None:
    """A zero-weight edge puts vertex 2 at the target's distance one iteration later."""
    graph = Graph.from_edges([0, 1, 0], [1, 2, 2], np.array([2, 0, 9], dtype=np.int32))
    paths = nearfar.sssp(graph, 0, method=variant.id, targets=[1])
    assert paths.distances.tolist() == [0, 2, 2]


# ---- matrices -----------------------------------------------------------------------------


@pytest.mark.parametrize("idea", ["frontier_matrix_predecessors", "frontier_matrix_successors"])
def test_matrix_forms_keep_zero_weights_and_missing_edges_apart(idea: str) -> None:
    dense = np.array(
        [[np.nan, 0.0, 5.0, np.inf], [np.nan, np.nan, 0.0, np.nan]] + [[np.nan] * 4] * 2
    )
    graph = Graph.from_dense(dense)
    assert graph.n_edges == 3
    paths = nearfar.sssp(graph, 0, method=f"{idea}@cpu")
    assert paths.distances.tolist() == [0.0, 0.0, 0.0, np.inf]
    nearfar.verify(graph, paths)
    empty = Graph.from_dense(np.full((3, 3), np.inf))
    assert nearfar.sssp(empty, 1, method=f"{idea}@cpu").distances.tolist() == [np.inf, 0.0, np.inf]


def test_masked_matrix_and_integer_sentinel() -> None:
    masked = np.ma.masked_array([[0, 3], [1, 0]], mask=[[True, False], [True, True]])
    assert Graph.from_dense(masked).n_edges == 1
    graph = Graph.from_dense(np.array([[0, 7, -1], [-1, 0, 0], [-1, -1, 0]]), missing=-1)
    paths = nearfar.sssp(graph, 0, method="frontier_matrix_successors@cpu")
    assert paths.distances.tolist() == [0, 7, 7]


def test_dense_matrix_has_the_lightest_of_parallel_edges() -> None:
    graph = Graph.from_edges([0, 0, 1], [1, 1, 0], np.array([5, 3, 0], dtype=np.int64))
    matrix = dense_matrix(graph)
    top = np.iinfo(np.int64).max
    assert matrix.tolist() == [[top, 3], [0, top]]
    assert dense_matrix(graph) is matrix
    assert not matrix.flags.writeable


def test_a_matrix_that_would_be_too_large_is_refused_in_words() -> None:
    n = int((DENSE_MAX_BYTES / 4) ** 0.5) + 1
    graph = Graph.from_edges([0], [n - 1], np.array([1], dtype=np.int32), n_vertices=n)
    with pytest.raises(VariantUnavailable, match="use a method on lists"):
        nearfar.sssp(graph, 0, method="frontier_matrix_successors@cpu")


# ---- the CUDA forms, emulated -------------------------------------------------------------


@pytest.mark.usefixtures("emulated_gpu")
@pytest.mark.parametrize("variant", family("frontier"), ids=lambda v: v.id)
def test_emulated_counters_equal_the_cpu_form(variant: Variant) -> None:
    for name in ("one_vertex", "no_edges", "zero_cycle", "all_zero", "parallel_edges", "skewed"):
        check_same_as_cpu(variant, as_dtype(ZOO[name](), "int32"), **SHAPE)


@pytest.mark.usefixtures("emulated_gpu")
@pytest.mark.parametrize("dtype", DTYPES)
def test_emulated_dtypes(dtype: str) -> None:
    for variant in family("frontier"):
        check_same_as_cpu(variant, as_dtype(ZOO["zero_cycle"](), dtype), **SHAPE)


@pytest.mark.usefixtures("emulated_gpu")
@pytest.mark.parametrize("variant", family("frontier"), ids=lambda v: v.id)
def test_emulated_limit(variant: Variant) -> None:
    graph = as_dtype(ZOO["zero_cycle"](), "int32")
    paths = nearfar.sssp(graph, 0, method=variant.id, limit=4, **SHAPE)
    assert paths.distances.tolist() == [0, 4, 4, 4] + [2**31 - 1] * 3


@pytest.mark.usefixtures("emulated_gpu")
def test_unsafe_methods_run_only_when_asked_for() -> None:
    unsafe = family("frontier", unsafe=True)
    assert {v.idea for v in unsafe} == {
        "two_cost_arrays",
        "frontier_successors_no_atomics",
        "frontier_matrix_successors_no_atomics",
    }
    graph = as_dtype(ZOO["path"](), "int32")
    small = Graph.from_edges([0, 1], [1, 2], np.array([4, 5], dtype=np.int32))
    for variant in unsafe:
        with pytest.raises(VariantUnavailable, match="wrong by design"):
            nearfar.sssp(graph, 0, method=variant.id)
        # Without two threads at one vertex there is no race, and the method is right.
        assert count_wrong(small, variant.id, 3) == 0


@pytest.mark.parametrize(
    "bad", [{"threads_relax": 100}, {"threads_minimum": 2048}, {"carveout": 101}]
)
@pytest.mark.usefixtures("emulated_gpu")
def test_bad_launch_shapes_are_refused(bad: dict[str, int]) -> None:
    graph = as_dtype(ZOO["path"](), "int32")
    with pytest.raises(OptionError, match=next(iter(bad))):
        nearfar.sssp(graph, 0, method="frontier_successors@cuda", **bad)


def test_none_entries_are_no_edges() -> None:
    graph = Graph.from_dense([[None, 0, 4], [None, None, 2], [1, None, None]])
    assert graph.n_edges == 4
    assert graph.weight_dtype.kind == "i"
    paths = nearfar.sssp(graph, 0, method="frontier_matrix_predecessors@cpu")
    assert paths.distances.tolist() == [0, 0, 2]
