"""Crauser's criteria on a GPU: the CPU's counters, and one launch equal to three kernels."""

from __future__ import annotations

import numpy as np
import pytest

import nearfar
from nearfar.generators import generate
from nearfar.graph.dtypes import unreached_value
from nearfar.registry import Variant
from tests import oracle
from tests.settle_checks import check_same_as_cpu, family
from tests.zoo import DTYPES, ZOO, as_dtype

pytestmark = pytest.mark.gpu
SAFE = family("crauser")
NAMES = ("one_vertex", "no_edges", "zero_cycle", "parallel_edges", "grid", "skewed", "star")


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("variant", SAFE, ids=lambda v: v.id)
def test_counters_equal_the_cpu_form(variant: Variant, dtype: str) -> None:
    for name in NAMES:
        check_same_as_cpu(variant, as_dtype(ZOO[name](), dtype))


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("threads", [32, 128, 1024])
def test_fused_criteria_and_block_sizes(dtype: str, threads: int) -> None:
    (fused,) = (v for v in SAFE if v.idea == "crauser_fused")
    for name in NAMES:
        graph = as_dtype(ZOO[name](), dtype)
        for criterion in ("out", "in_out"):
            check_same_as_cpu(fused, graph, criterion=criterion, block_threads=threads)


@pytest.mark.parametrize("low", [0, 1])
@pytest.mark.parametrize("variant", SAFE, ids=lambda v: v.id)
def test_larger_graphs(variant: Variant, low: int) -> None:
    check_same_as_cpu(variant, generate("martin", vertices=1 << 16, low=low))
    check_same_as_cpu(
        variant, generate("martin", vertices=1 << 13, predecessors=200, low=low, high=100)
    )


@pytest.mark.parametrize("criterion", ["out", "in_out"])
def test_fused_200_times(criterion: str) -> None:
    graph = generate("martin", vertices=1 << 16, low=0)
    want = oracle.dijkstra(graph, 0)
    counts = set()
    for _ in range(200):
        paths = nearfar.sssp(graph, 0, method="crauser_fused@cuda", criterion=criterion)
        np.testing.assert_array_equal(paths.distances, want)
        counts.add(paths.stats["iterations"])
    assert len(counts) == 1


def test_fused_limit() -> None:
    for dtype in DTYPES:
        graph = as_dtype(ZOO["grid"](), dtype)
        full = oracle.dijkstra(graph, 0)
        top = unreached_value(full.dtype)
        limit = float(np.median(full[full != top]))
        paths = nearfar.sssp(graph, 0, method="crauser_fused@cuda", limit=limit)
        np.testing.assert_array_equal(paths.distances, np.where(full <= limit, full, top))


def test_tuner_measures_and_stores(monkeypatch: pytest.MonkeyPatch, tmp_path: object) -> None:
    from nearfar.cuda import launch_shapes
    from nearfar.cuda.tune import tune

    monkeypatch.setenv("NEARFAR_CACHE", str(tmp_path))
    graph = generate("martin", vertices=1 << 14)
    result = tune(graph, "crauser_successors", rounds=2, threads=(64, 256), carveouts=(-1, 50))
    found = launch_shapes.stored(result.device, result.graph_class, "crauser_successors")
    assert found == result.best
    assert {m.shape.relax for m in result.measurements} == {64, 256}
    paths = nearfar.sssp(graph, 0, method="crauser_successors@cuda", trace=True)
    assert paths.stats["launch_shape"] == result.best
