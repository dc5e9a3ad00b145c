"""Crauser's criteria: thresholds by hand, iterations, exact floats, emulated CUDA forms."""

from __future__ import annotations

import numpy as np
import pytest

import nearfar
from nearfar import Graph
from nearfar.errors import SolverError
from nearfar.generators import generate
from nearfar.graph.dtypes import unreached_value
from nearfar.papers.ortega_arranz_2015.crauser import fused as fused_form
from nearfar.papers.ortega_arranz_2015.crauser.lightest import lightest_in, lightest_out
from nearfar.registry import Variant, variants
from tests import oracle
from tests.settle_checks import check_same_as_cpu, family
from tests.zoo import DTYPES, ZOO, as_dtype

CPU = [v for v in variants(device="cpu") if v.family == "crauser"]
SHAPE = {"threads_relax": 64, "threads_minimum": 32, "threads_update": 96}


def iterations(graph: Graph, idea: str) -> int:
    return int(nearfar.sssp(graph, 0, method=f"{idea}@cpu").stats["iterations"])


def test_lightest_edges_are_computed_once() -> None:
    graph = Graph.from_edges([0, 0, 1], [1, 2, 2], np.array([4, 3, 7], dtype=np.int32))
    top = 2**31 - 1
    assert lightest_out(graph).tolist() == [3, 7, top]
    assert lightest_in(graph).tolist() == [top, 4, 3]
    assert lightest_out(graph) is lightest_out(graph)
    assert lightest_in(graph) is lightest_in(graph)


def test_thresholds_by_hand() -> None:
    """From 0: 1 at 3, 2 at 5, 3 at 9; lightest out-edges 4, 2, 1: up to min(7, 7, 10) settle."""
    graph = Graph.from_edges(
        [0, 0, 0, 1, 2, 3], [1, 2, 3, 4, 4, 4], np.array([3, 5, 9, 4, 2, 1], dtype=np.int32)
    )
    stats = nearfar.sssp(graph, 0, method="crauser_successors@cpu", trace=True).stats
    assert stats["frontier"].tolist() == [1, 2, 2]  # then up to 9 + 1: 4 (at 7) and 3
    into = nearfar.sssp(graph, 0, method="crauser_in@cpu", trace=True).stats
    # minimum 3: 1 (3 <= 3 + 3), 2 (5 <= 3 + 5) and 3 (9 <= 3 + 9) all settle, then 4.
    assert into["frontier"].tolist() == [1, 3, 1]


@pytest.mark.parametrize("low", [0, 1])
def test_wider_criteria_take_fewer_iterations(low: int) -> None:
    for graph in (
        generate("martin", vertices=1 << 13, low=low),
        generate("martin", vertices=1 << 12, predecessors=20, low=low, high=100),
    ):
        single = iterations(graph, "frontier_successors")
        out, into = iterations(graph, "crauser_successors"), iterations(graph, "crauser_in")
        both = iterations(graph, "crauser_in_out")
        assert out <= single
        assert both <= out
        assert both <= into + 1
        assert low == 0 or out < single
        assert iterations(graph, "crauser_predecessors") == out


def test_rounded_floats_settle_by_sums_not_differences() -> None:
    """d - lightest may round below the minimum although d <= minimum + lightest is false."""
    for seed in range(20):
        rng = np.random.default_rng(seed)
        n, m = 60, 400
        for dtype in (np.float32, np.float64):
            weights = (rng.random(m) * 10.0 ** rng.integers(-12, 6, m)).astype(dtype)
            graph = Graph.from_edges(
                rng.integers(0, n, m), rng.integers(0, n, m), weights, n_vertices=n
            )
            want = oracle.dijkstra(graph, 0)
            for variant in CPU:
                got = nearfar.sssp(graph, 0, method=variant.id).distances
                np.testing.assert_array_equal(got, want)


@pytest.mark.parametrize("variant", CPU, ids=lambda v: v.id)
def test_a_target_does_not_hide_a_nearer_vertex(variant: Variant) -> None:
    """Criteria settle vertices out of order: after a target, nearer vertices may be unsettled."""
    for name in ("grid", "skewed", "zero_cycle", "wide_weights"):
        graph = as_dtype(ZOO[name](), "int32")
        want = oracle.dijkstra(graph, 0)
        top = unreached_value(want.dtype)
        for target in np.flatnonzero(want != top)[1:40]:
            paths = nearfar.sssp(graph, 0, method=variant.id, targets=[int(target)])
            expected = np.where(want <= want[target], want, top)
            np.testing.assert_array_equal(paths.distances, expected)


# ---- the CUDA forms, emulated -------------------------------------------------------------


@pytest.mark.usefixtures("emulated_gpu")
@pytest.mark.parametrize("variant", family("crauser"), ids=lambda v: v.id)
def test_emulated_counters_equal_the_cpu_form(variant: Variant) -> None:
    options = {"threads": 64} if variant.idea == "crauser_fused" else SHAPE
    for name in ("one_vertex", "no_edges", "zero_cycle", "all_zero", "parallel_edges", "skewed"):
        check_same_as_cpu(variant, as_dtype(ZOO[name](), "int32"), **options)


@pytest.mark.usefixtures("emulated_gpu")
@pytest.mark.parametrize("dtype", DTYPES)
def test_emulated_dtypes(dtype: str) -> None:
    for variant in family("crauser"):
        options = {"block_threads": 32} if variant.idea == "crauser_fused" else SHAPE
        check_same_as_cpu(variant, as_dtype(ZOO["zero_cycle"](), dtype), **options)


@pytest.mark.usefixtures("emulated_gpu")
@pytest.mark.parametrize("criterion", ["out", "in_out"])
def test_emulated_fused_with_long_rows_and_several_blocks(criterion: str) -> None:
    (fused,) = (v for v in family("crauser") if v.idea == "crauser_fused")
    for name in ("complete", "star", "grid"):
        check_same_as_cpu(
            fused, as_dtype(ZOO[name](), "int32"), criterion=criterion, block_threads=32
        )


@pytest.mark.usefixtures("emulated_gpu")
def test_emulated_fused_limit() -> None:
    for dtype in DTYPES:
        graph = as_dtype(ZOO["skewed"](), dtype)
        want = oracle.dijkstra(graph, 0)
        top = unreached_value(want.dtype)
        limit = float(np.median(want[want != top]))
        paths = nearfar.sssp(graph, 0, method="crauser_fused@cuda", limit=limit, block_threads=64)
        np.testing.assert_array_equal(paths.distances, np.where(want <= limit, want, top))


@pytest.mark.usefixtures("emulated_gpu")
def test_emulated_fused_watchdog(monkeypatch: pytest.MonkeyPatch) -> None:
    graph = as_dtype(ZOO["path"](), "int32")
    monkeypatch.setattr(fused_form, "ITERATIONS_BEYOND", 5 - graph.n_vertices)
    with pytest.raises(SolverError, match="5 iterations"):
        nearfar.sssp(graph, 0, method="crauser_fused@cuda", block_threads=64)
