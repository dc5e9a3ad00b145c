"""Every registered, safe variant on every test graph and dtype against the oracle, bit for bit.

Every answer is proven as well. The variants come from the registry, so a new one is tested without
changes in this file, and a variant that runs on no graph fails. Variants that need a GPU run in
tests/gpu/test_conformance_gpu.py from the same functions.
"""

from __future__ import annotations

import itertools

import numpy as np
import pytest
from hypothesis import given, note

import nearfar
from nearfar import Graph, NegativeCycleError
from nearfar.graph.dtypes import unreached_value
from nearfar.registry import Request, Variant, variants
from tests import oracle
from tests.strategies import graphs
from tests.zoo import DTYPES, ZOO, as_dtype

CPU = [v for v in variants(device="cpu", problem="sssp")]


def served(variant: Variant, graph: Graph) -> Graph:
    """Return the graph as the variant needs it: plain, or prepared with a search's sums.

    Sums in fixed point are compared with exact rational arithmetic in ``tests/prepared``.
    """
    if variant.family != "prepared":
        return graph
    return nearfar.prepare(graph, "multilevel", force=True).summing("search")


def check(variant: Variant, graph: Graph, source: int, want: np.ndarray, **options: object) -> None:
    paths = nearfar.sssp(
        served(variant, graph), source, method=variant.id, predecessors=True, **options
    )
    assert paths.engine == variant.id
    assert paths.distances.dtype == want.dtype
    np.testing.assert_array_equal(paths.distances, want)
    nearfar.verify(graph, paths)


def run_zoo(variant: Variant, dtype: str) -> None:
    """Run one variant and dtype on all zoo graphs from two sources; also used on the GPU."""
    ran = 0
    for build in ZOO.values():
        graph = as_dtype(build(), dtype)
        if variant.fits(served(variant, graph), Request()) is not True:
            continue
        for source in {0, graph.n_vertices // 2}:
            check(variant, graph, source, oracle.dijkstra(graph, source))
            ran += 1
    takes = "int32" in variant.dtypes if dtype == "unweighted" else dtype in variant.dtypes
    if takes:
        assert ran > 0, f"{variant.id} ran on no {dtype} graph"
    else:
        assert ran == 0


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("variant", CPU, ids=lambda v: v.id)
def test_zoo(variant: Variant, dtype: str) -> None:
    run_zoo(variant, dtype)


@pytest.mark.parametrize("variant", CPU, ids=lambda v: v.id)
def test_64_bit_indices(variant: Variant, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("nearfar.graph.build.index_dtype", lambda n, m: np.dtype(np.int64))
    for name in ("grid", "skewed", "zero_cycle", "star"):
        for dtype in DTYPES:
            graph = as_dtype(ZOO[name](), dtype)
            assert graph.indices.dtype == np.int64
            if variant.fits(served(variant, graph), Request()) is True:
                check(variant, graph, 0, oracle.dijkstra(graph, 0))


@given(graph=graphs())
def test_any_graph(graph: Graph) -> None:
    """Each drawn graph by every variant."""
    want = oracle.dijkstra(graph, 0)
    for variant in CPU:
        note(variant.id)
        if variant.fits(served(variant, graph), Request()) is True:
            check(variant, graph, 0, want)


@given(graph=graphs(negative=True, dtypes=("int32", "int64")))
def test_negative_weights(graph: Graph) -> None:
    want = oracle.bellman_ford(graph, 0)
    for variant in (v for v in CPU if v.weights == "any"):
        note(variant.id)
        try:
            ready = served(variant, graph)
        except NegativeCycleError as error:  # preparing refuses one that the source does not reach
            check_cycle(graph, error)
            continue
        if want is None:
            with pytest.raises(NegativeCycleError) as caught:
                nearfar.sssp(ready, 0, method=variant.id)
            check_cycle(graph, caught.value)
        else:
            check(variant, graph, 0, want)


def check_cycle(graph: Graph, error: NegativeCycleError) -> None:
    """Check that the cycle in the error exists and has a negative sum."""
    total = 0
    closed = [*error.cycle, error.cycle[0]]
    for u, v in itertools.pairwise(closed):
        row = slice(graph.indptr[u], graph.indptr[u + 1])
        total += int(graph.weights[row][graph.indices[row] == v].min())
    assert total < 0
    assert total == error.total


@pytest.mark.parametrize("variant", CPU, ids=lambda v: v.id)
@pytest.mark.parametrize("dtype", ["int32", "float64"])
def test_limit_and_targets(variant: Variant, dtype: str) -> None:
    for name in ("grid", "skewed", "zero_cycle", "path"):
        graph = as_dtype(ZOO[name](), dtype)
        if variant.fits(served(variant, graph), Request()) is not True:
            continue
        full = oracle.dijkstra(graph, 0)
        top = unreached_value(full.dtype)
        for quantile in (0.1, 0.6):
            limit = float(np.quantile(full[full != top], quantile, method="lower"))
            paths = nearfar.sssp(served(variant, graph), 0, method=variant.id, limit=limit)
            np.testing.assert_array_equal(paths.distances, np.where(full <= limit, full, top))
            nearfar.verify(graph, paths)
        reached = np.flatnonzero(full != top)
        targets = reached[:: max(1, len(reached) // 3)][:3]
        bound = full[targets].max()
        paths = nearfar.sssp(
            served(variant, graph), 0, method=variant.id, targets=targets, predecessors=True
        )
        np.testing.assert_array_equal(paths.distances, np.where(full <= bound, full, top))
        nearfar.verify(graph, paths)


@pytest.mark.parametrize("variant", CPU, ids=lambda v: v.id)
def test_saturation_is_repeated_in_64_bits(variant: Variant) -> None:
    big = 2**31 - 2
    graph = Graph.from_edges(
        [0, 1, 2, 0], [1, 2, 3, 3], np.array([big, big, 1, big], dtype=np.int32)
    )
    if variant.fits(served(variant, graph), Request()) is not True:
        return
    paths = nearfar.sssp(served(variant, graph), 0, method=variant.id, predecessors=True)
    assert paths.distances.dtype == np.int64
    assert paths.distances.tolist() == [0, big, 2 * big, big]
    assert "64 bits" in paths.reason
    nearfar.verify(graph, paths)


@pytest.mark.parametrize("variant", CPU, ids=lambda v: v.id)
def test_the_same_run_again_and_again(variant: Variant) -> None:
    graph = as_dtype(ZOO["skewed"](), "float32")
    if variant.fits(served(variant, graph), Request()) is not True:
        graph = as_dtype(ZOO["skewed"](), "int32")
        if variant.fits(served(variant, graph), Request()) is not True:
            graph = graph.without_weights()
    first = nearfar.sssp(served(variant, graph), 0, method=variant.id, threads=2, predecessors=True)
    for _ in range(200 if variant.parallel else 3):  # thread schedules differ between runs
        again = nearfar.sssp(served(variant, graph), 0, method=variant.id, threads=2)
        np.testing.assert_array_equal(again.distances, first.distances)


def test_every_safe_cpu_variant_is_here() -> None:
    assert {v.id for v in CPU} == {
        v.id for v in variants(device="cpu") if not v.unsafe and "sssp" in v.problems
    }
    assert len(CPU) >= 8
