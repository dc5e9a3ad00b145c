"""Bounded searches on the emulated device: rows, sparse rows, reductions, aggregates, spills."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import nearfar
from nearfar import Graph
from nearfar.algorithms.bounded import cuda
from nearfar.errors import VariantUnavailable
from tests.algorithms.test_bounded import limits
from tests.graph.test_on_device import there as device_form
from tests.zoo import DTYPES, ZOO, as_dtype

pytestmark = pytest.mark.usefixtures("emulated_gpu")
METHOD = "bounded@cuda"
DECAYS: list[Any] = [None, "linear", "exponential", ("table", (1.0, 4.0, 9.0), (1.0, 0.4, 0.1))]


def check(graph: Graph, sources: Any, limit: float, name: str = "") -> None:
    """Check every form of answer against the CPU, bit for bit."""
    call: dict[str, Any] = {"sources": sources, "limit": limit}
    want = nearfar.distances(graph, method="worker_per_source", **call)
    np.testing.assert_array_equal(nearfar.distances(graph, method=METHOD, **call), want, name)
    sparse = [
        nearfar.distances(graph, method=m, out="csr", **call) for m in (METHOD, "bounded@cpu")
    ]
    for part in ("indptr", "indices", "data"):
        np.testing.assert_array_equal(*(getattr(one, part) for one in sparse), name)
    for reduce in ("count", "max", "mean", "nearest:2", ("histogram", (0.0, 1.0, 3.0, 50.0))):
        found, other = (
            np.atleast_1d(nearfar.distances(graph, reduce=reduce, method=m, **call))
            for m in (METHOD, "bounded@cpu")
        )
        for one, two in zip(found, other, strict=True):
            np.testing.assert_array_equal(one, two, name)


@pytest.mark.parametrize("dtype", DTYPES)
def test_the_zoo(dtype: str) -> None:
    served = 0
    for name, build in ZOO.items():
        graph = as_dtype(build(), dtype)
        if not graph.n_vertices or graph.n_vertices > 400:
            continue
        if graph.mean_degree >= cuda._LONG_ROWS and dtype not in ("int32", "float64"):
            continue  # programs of their own, which the GPU suite has of every dtype
        served += 1
        sources = np.arange(0, graph.n_vertices, max(1, graph.n_vertices // 5))[::-1]
        check(graph, sources, limits(graph)[1 + served % 2], name)
    assert served > 5


def test_sources_that_outgrow_the_table_are_searched_on_the_cpu(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(cuda, "_SLOTS", 64)
    rng = np.random.default_rng(3)
    weights = rng.integers(1, 9, 1200).astype("float64")
    tails, heads = rng.integers(0, 300, (2, 1200))
    graph = Graph.from_edges(tails, heads, weights, n_vertices=301, directed=False)
    stats: dict[str, Any] = {}
    sources = [0, 300, 7, 9]
    nearfar.distances(graph, sources, limit=8, method=METHOD, stats=stats)
    assert 0 < stats["sources_on_the_cpu"] < 4
    for limit in (0, 2, 8, 100):
        check(graph, sources, limit)
    values = rng.random((301, 2))
    call: dict[str, Any] = {"limit": 8, "sources": sources, "aggregate": ["sum", "count", "max"]}
    found = nearfar.catchment(graph, values, device="cuda", **call)
    np.testing.assert_array_equal(found, nearfar.catchment(graph, values, **call))


@pytest.mark.parametrize("degree", [3, 40])
def test_long_rows_are_shared_by_a_warp(degree: int) -> None:
    rng = np.random.default_rng(degree)
    n = 200
    tails = np.repeat(np.arange(n), degree)
    heads = rng.integers(0, n, n * degree)
    check(Graph.from_edges(tails, heads, rng.random(n * degree)), [0, 5, 5, 199], 0.2)
    star = Graph.from_edges(np.zeros(500, int), np.arange(500), np.arange(500) % 7)
    check(star, [0, 3], 3)


@pytest.mark.parametrize("decay", DECAYS, ids=str)
def test_aggregates(decay: Any) -> None:
    graph = nearfar.generate("road_like", vertices=300, seed=1)
    n, rng = graph.n_vertices, np.random.default_rng(0)
    limit = 4 * float(graph.mean_weight)
    if isinstance(decay, tuple):
        decay = ("table", tuple(limit / 9 * x for x in decay[1]), decay[2])
    at = rng.integers(0, n, 500)
    values = np.where(rng.random((500, 3)) < 0.1, np.nan, rng.random((500, 3)))
    kinds = ["sum", "mean", "count", "min", "max"]
    call: dict[str, Any] = {"limit": limit, "decay": decay, "aggregate": kinds}
    want = nearfar.catchment(graph, (at, values), **call)
    found = nearfar.catchment(graph, (at, values), device="cuda", **call)
    np.testing.assert_allclose(found, want, rtol=1e-13)
    if decay in (None, "linear"):
        np.testing.assert_array_equal(found, want)


def test_a_graph_on_the_device() -> None:
    graph = nearfar.generate("road_like", vertices=200, seed=2)
    there = device_form(graph)
    limit = 3 * float(graph.mean_weight)
    want = nearfar.distances(graph, [1, 2], limit=limit, method="dijkstra")
    np.testing.assert_array_equal(
        nearfar.distances(there, [1, 2], limit=limit, method="bounded").get(), want
    )
    ones = np.ones(graph.n_vertices)
    np.testing.assert_array_equal(
        nearfar.catchment(there, ones, limit=limit), nearfar.catchment(graph, ones, limit=limit)
    )


def test_what_it_does_not_serve() -> None:
    graph = nearfar.generate("road_like", vertices=50, seed=2)
    with pytest.raises(VariantUnavailable, match="needs a limit"):
        nearfar.distances(graph, [0], method=METHOD)
    with pytest.raises(VariantUnavailable, match="have no targets"):
        nearfar.distances(graph, [0], targets=[1], limit=5, method=METHOD)


def test_sources_that_outgrow_a_small_table_get_a_larger_one(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(cuda, "_SAMPLED", 2)
    monkeypatch.setattr(cuda, "_FEWEST_SLOTS", 16)
    rng = np.random.default_rng(4)
    # Two sampled sources reach nothing; of the others most reach more than 12 vertices.
    tails, heads = rng.integers(1, 150, (2, 500))
    tails[tails == 40] = heads[heads == 40] = 41
    weights = rng.integers(1, 9, 500).astype("int32")
    graph = Graph.from_edges(tails, heads, weights, n_vertices=151, directed=False)
    sources = np.r_[0, np.arange(1, 40), 40, np.arange(41, 80)]
    assert cuda._slots(graph, sources, 6) == 16
    stats: dict[str, Any] = {}
    reached = nearfar.distances(graph, sources, limit=6, reduce="count", method=METHOD, stats=stats)
    assert stats["sources_on_the_cpu"] == 0
    assert (reached > 16).any()
    check(graph, sources, 6)
    values = rng.random(151)
    call: dict[str, Any] = {"limit": 6, "sources": sources}
    found = nearfar.catchment(graph, values, device="cuda", **call)
    np.testing.assert_array_equal(found, nearfar.catchment(graph, values, **call))
