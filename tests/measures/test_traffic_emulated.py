"""Loads of edges on the emulated device: the CPU's numbers."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import nearfar
from nearfar import Graph
from nearfar.errors import DistanceOverflowError, OptionError, OutOfMemoryError
from nearfar.measures import edge_loads
from nearfar.measures.traffic import device_loads
from nearfar.system.devices import runtime
from tests.covering import pairwise
from tests.strategies import graphs
from tests.zoo import ZOO, as_dtype

pytestmark = pytest.mark.usefixtures("emulated_gpu")


def assert_as_on_the_cpu(graph: Any, demand: Any) -> None:
    want = edge_loads(graph, demand, device="cpu")
    got = edge_loads(graph, demand, device="cuda")
    assert got.loads.dtype == want.loads.dtype
    if want.loads.dtype.kind == "i":
        assert (got.loads == want.loads).all()
    else:
        np.testing.assert_allclose(got.loads, want.loads, rtol=1e-12, atol=0)
    assert got.carried == want.carried
    assert got.total_length == want.total_length
    assert got.unreached == want.unreached
    assert got.unreached_sources.tolist() == want.unreached_sources.tolist()
    assert got.unreached_targets.tolist() == want.unreached_targets.tolist()
    assert got.unreached_amounts.tolist() == want.unreached_amounts.tolist()


def some_demand(n: int, *, whole: bool) -> tuple[Any, Any, Any]:
    rng = np.random.default_rng(5)
    sources, targets = rng.integers(0, n, 300) % 17 % n, rng.integers(0, n, 300)
    amounts = rng.integers(0, 99, 300)
    return (
        sources,
        targets,
        amounts if whole else amounts * rng.random(300) * 10.0 ** (amounts % 12),
    )


ZOO_DEMAND = pairwise(list(ZOO), [True, False], ["int32", "float64", "unweighted"])


@pytest.mark.parametrize(("name", "whole", "dtype"), ZOO_DEMAND)
def test_zoo(name: str, whole: bool, dtype: str) -> None:
    graph = as_dtype(ZOO[name](), dtype)
    assert_as_on_the_cpu(graph, some_demand(graph.n_vertices, whole=whole))


@settings(max_examples=30, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(graphs(max_vertices=9, max_edges=30, dtypes=("int32", "float64")), st.data())
def test_any_graph(graph: Graph, data: Any) -> None:
    vertex = st.integers(0, graph.n_vertices - 1)
    pair = st.tuples(vertex, vertex, st.integers(0, 9))
    demand = data.draw(st.lists(pair, max_size=20))
    assert_as_on_the_cpu(graph, demand)
    closed = data.draw(st.sets(vertex, max_size=3))
    assert_as_on_the_cpu(graph.with_turns(closed=closed), demand)


def test_parts_of_the_sources_add_up(monkeypatch: pytest.MonkeyPatch) -> None:
    graph = ZOO["grid"]()
    demand = some_demand(graph.n_vertices, whole=False)
    first = edge_loads(graph, demand, device="cuda").loads
    monkeypatch.setattr(device_loads, "_SOURCES", 2)
    assert (edge_loads(graph, demand, device="cuda").loads == first).all()


def test_floats_are_added_exactly_and_rounded_once() -> None:
    """Sums for which any order of additions would give other bits."""
    n = 60
    path = Graph.from_edges(range(n - 1), range(1, n))
    rng = np.random.default_rng(1)
    amounts = rng.random(n - 1) * 10.0 ** rng.integers(-5, 5, n - 1)
    pairs = np.arange(n - 1), np.full(n - 1, n - 1), amounts
    loads = edge_loads(path, pairs, device="cuda").loads
    wanted = [math.fsum(amounts[: i + 1]) for i in range(n - 1)]
    np.testing.assert_allclose(loads, wanted, rtol=2.3e-16, atol=0)


def test_parallel_edges_and_hubs() -> None:
    graph = Graph.from_edges([0, 0, 0, 1], [1, 1, 1, 2], [4, 2, 2, 1])
    assert edge_loads(graph, [(0, 2, 5)], device="cuda").loads.tolist() == [0, 5, 0, 5]
    n = 500
    hub = Graph.from_edges([0] * n, range(1, n + 1), directed=False)
    assert_as_on_the_cpu(hub, (np.arange(1, 300), np.arange(300, 1, -1), np.arange(1, 300)))


def test_distances_beyond_32_and_64_bits() -> None:
    top = 2**31 - 2
    graph = Graph.from_edges([0, 1, 2], [1, 2, 3], np.array([top, top, top], dtype=np.int32))
    assert_as_on_the_cpu(graph, [(0, 3, 5), (3, 0, 2)])
    huge = Graph.from_edges([0, 1], [1, 2], np.array([2**62, 2**62], dtype=np.int64))
    with pytest.raises(DistanceOverflowError, match="scale the weights down"):
        edge_loads(huge, [(0, 2, 1)], device="cuda")


def test_errors(monkeypatch: pytest.MonkeyPatch) -> None:
    graph = ZOO["grid"]()
    assert edge_loads(graph, [], device="cuda").carried == 0
    with pytest.raises(OptionError, match="more than a float64"):
        edge_loads(graph, [(0, 1, 1.7e308), (0, 2, 1.7e308)], device="cuda")
    monkeypatch.setattr(device_loads, "_MOST_PAIRS", 1)
    with pytest.raises(OptionError, match="up to 1 pairs"):
        edge_loads(graph, [(0, 1, 1), (0, 2, 1)], device="cuda")
    monkeypatch.setattr("nearfar.measures.simple.LARGEST_ON_DEVICE", 1)
    with pytest.raises(OptionError, match="up to 1 vertices and edges"):
        edge_loads(graph, [(0, 1, 1)], device="cuda")


def test_memory_is_asked_for_first(monkeypatch: pytest.MonkeyPatch) -> None:
    graph = nearfar.generate("grid", rows=9, columns=9)
    edge_loads(graph, [(0, 1, 1)], device="cuda")
    monkeypatch.setattr(runtime, "memory", lambda: (100, 1 << 32))
    with pytest.raises(OutOfMemoryError, match="device='cpu'"):
        edge_loads(graph, [(0, 1, 1)], device="cuda")
    monkeypatch.setattr("nearfar.measures.simple._WORTH_A_DEVICE", 1)
    assert edge_loads(graph, [(0, 1, 1)]).carried == 1  # auto continues on the CPU
