"""Compound frontiers on a GPU: the CPU's counters, and the race of section 4.3."""

from __future__ import annotations

import numpy as np
import pytest

import nearfar
from nearfar import Graph
from nearfar.generators import generate
from nearfar.graph.dtypes import unreached_value
from nearfar.registry import Variant
from tests import oracle
from tests.settle_checks import check_same_as_cpu, count_wrong, family
from tests.zoo import DTYPES, ZOO, as_dtype

pytestmark = pytest.mark.gpu
SAFE = family("frontier")
RUNS = 1000


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("variant", SAFE, ids=lambda v: v.id)
def test_counters_equal_the_cpu_form(variant: Variant, dtype: str) -> None:
    for name in (
        "one_vertex",
        "no_edges",
        "zero_cycle",
        "parallel_edges",
        "grid",
        "skewed",
        "star",
    ):
        check_same_as_cpu(variant, as_dtype(ZOO[name](), dtype))


@pytest.mark.parametrize("threads", [32, 96, 192, 1024])
@pytest.mark.parametrize("variant", SAFE, ids=lambda v: v.id)
def test_launch_shapes(variant: Variant, threads: int) -> None:
    graph = as_dtype(ZOO["skewed"](), "int32")
    check_same_as_cpu(
        variant,
        graph,
        threads_relax=threads,
        threads_minimum=threads,
        threads_update=threads,
        carveout=50,
    )


@pytest.mark.parametrize("variant", SAFE, ids=lambda v: v.id)
def test_martin_graph(variant: Variant) -> None:
    matrix = "matrix" in variant.id
    graph = (
        generate("martin_matrix", vertices=1500) if matrix else generate("martin", vertices=1 << 16)
    )
    check_same_as_cpu(variant, graph)


@pytest.mark.parametrize("directed", [True, False])
def test_two_cost_arrays_lose_a_minimum(
    directed: bool, record_property: pytest.RecordProperty
) -> None:
    """Section 4.3: a wrong answer within 1000 runs; the number of wrong ones is recorded."""
    graph = generate("section43", directed=directed)
    wrong = count_wrong(graph, "two_cost_arrays@cuda", RUNS)
    record_property("wrong_runs", wrong)
    record_property("runs", RUNS)
    print(f"two_cost_arrays: {wrong} of {RUNS} runs wrong (directed={directed})")
    assert wrong > 0


def test_no_atomics_lose_a_minimum(record_property: pytest.RecordProperty) -> None:
    graph = generate("section43")
    for method in ("frontier_successors_no_atomics", "frontier_matrix_successors_no_atomics"):
        wrong = count_wrong(graph, f"{method}@cuda", RUNS)
        record_property(method, wrong)
        print(f"{method}: {wrong} of {RUNS} runs wrong")
        assert wrong > 0


@pytest.mark.parametrize("order", ["ascending", "descending", "shuffled"])
@pytest.mark.parametrize("variant", SAFE + family("crauser"), ids=lambda v: v.id)
def test_safe_variants_never_fail_on_the_counterexample(variant: Variant, order: str) -> None:
    graph = generate("section43", order=order, sinks=4)
    want = oracle.dijkstra(graph, 0)
    for _ in range(100):
        paths = nearfar.sssp(graph, 0, method=variant.id)
        np.testing.assert_array_equal(paths.distances, want)


def test_matrix_from_dense_with_zero_weights_and_missing_edges() -> None:
    dense = np.array([[np.nan, 0.0, 5.0], [np.inf, np.nan, 0.0], [np.nan, np.nan, np.nan]])
    graph = Graph.from_dense(dense)
    for idea in ("frontier_matrix_predecessors", "frontier_matrix_successors"):
        paths = nearfar.sssp(graph, 0, method=f"{idea}@cuda")
        assert paths.distances.tolist() == [0.0, 0.0, 0.0]


@pytest.mark.parametrize("variant", SAFE, ids=lambda v: v.id)
def test_limit_stops_early_and_answers_the_same(variant: Variant) -> None:
    graph = as_dtype(ZOO["grid"](), "int32")
    full = oracle.dijkstra(graph, 0)
    limit = int(np.median(full))
    paths = nearfar.sssp(graph, 0, method=variant.id, limit=limit)
    top = unreached_value(full.dtype)
    np.testing.assert_array_equal(paths.distances, np.where(full <= limit, full, top))
    everything = nearfar.sssp(graph, 0, method=variant.id)
    assert paths.stats["iterations"] < everything.stats["iterations"]
