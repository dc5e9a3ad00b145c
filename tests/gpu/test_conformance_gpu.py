"""Every registered, safe CUDA variant against the oracle, bit for bit, each answer proven."""

from __future__ import annotations

import numpy as np
import pytest

import nearfar
from nearfar.graph.dtypes import unreached_value
from nearfar.registry import Request, Variant, variants
from tests import oracle
from tests.test_conformance import check, run_zoo
from tests.zoo import DTYPES, ZOO, as_dtype

CUDA = variants(device="cuda", problem="sssp")


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("variant", CUDA, ids=lambda v: v.id)
def test_zoo(variant: Variant, dtype: str) -> None:
    run_zoo(variant, dtype)


@pytest.mark.parametrize("variant", CUDA, ids=lambda v: v.id)
def test_64_bit_indices(variant: Variant, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("nearfar.graph.build.index_dtype", lambda n, m: np.dtype(np.int64))
    for name in ("grid", "zero_cycle", "star"):
        graph = as_dtype(ZOO[name](), "int32")
        if variant.fits(graph, Request()) is True:
            check(variant, graph, 0, oracle.dijkstra(graph, 0))


@pytest.mark.parametrize("variant", CUDA, ids=lambda v: v.id)
def test_limit(variant: Variant) -> None:
    for name in ("grid", "skewed"):
        graph = as_dtype(ZOO[name](), "int32")
        if variant.fits(graph, Request()) is not True:
            continue
        full = oracle.dijkstra(graph, 0)
        top = unreached_value(full.dtype)
        limit = float(np.quantile(full[full != top], 0.4, method="lower"))
        paths = nearfar.sssp(graph, 0, method=variant.id, limit=limit)
        np.testing.assert_array_equal(paths.distances, np.where(full <= limit, full, top))


@pytest.mark.parametrize("variant", CUDA, ids=lambda v: v.id)
def test_saturation_is_repeated_in_64_bits(variant: Variant) -> None:
    big = 2**31 - 2
    graph = nearfar.Graph.from_edges(
        [0, 1, 2, 0], [1, 2, 3, 3], np.array([big, big, 1, big], dtype=np.int32)
    )
    if variant.fits(graph, Request()) is not True:
        return
    paths = nearfar.sssp(graph, 0, method=variant.id, predecessors=True)
    assert paths.distances.tolist() == [0, big, 2 * big, big]


@pytest.mark.parametrize("variant", CUDA, ids=lambda v: v.id)
def test_the_same_run_200_times(variant: Variant) -> None:
    graph = as_dtype(ZOO["skewed"](), "int32")
    if variant.fits(graph, Request()) is not True:
        graph = graph.without_weights()
    first = nearfar.sssp(graph, 0, method=variant.id, predecessors=True)
    nearfar.verify(graph, first)
    for _ in range(200):
        again = nearfar.sssp(graph, 0, method=variant.id)
        np.testing.assert_array_equal(again.distances, first.distances)
