"""Measures on a GPU: the CPU's numbers, large sizes, the same bits in every run."""

from __future__ import annotations

import functools
from typing import Any

import numpy as np
import pytest

import nearfar
from nearfar import measures
from nearfar.errors import ZeroCycleError
from nearfar.generators import generate
from nearfar.graph.graph import Graph
from nearfar.measures import betweenness, path_counts
from nearfar.measures.centrality import device_shares
from nearfar.measures.centrality.folding import core_of
from nearfar.measures.simple import simple
from tests.measures.test_betweenness import ladder
from tests.zoo import ZOO, as_dtype

DTYPES = ("unweighted", "int32", "int64", "float32", "float64")
REPEATS = 100


@functools.cache
def social(directed: bool = False) -> Graph:
    """Return hubs, leaves and unreachable vertices: 20,000 in total."""
    rng = np.random.default_rng(3)
    n, m = 20_000, 90_000
    s = (n * rng.random(m) ** 3).astype(np.int64)
    t = rng.integers(0, n, m)
    return Graph.from_edges(s, t, rng.integers(1, 40, m), n_vertices=n, directed=directed)


@functools.cache
def mesh() -> Graph:
    """Return long paths whose number exceeds the integers of a float."""
    return generate("grid", rows=120, columns=130, missing=0.0)


def assert_close(found: Any, want: Any) -> None:
    np.testing.assert_allclose(found, want, rtol=1e-12, atol=0)


@pytest.mark.parametrize("edges", [False, True])
@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("make", [social, lambda: social(True), mesh], ids=["sym", "dir", "mesh"])
def test_betweenness(make: Any, dtype: str, edges: bool) -> None:
    graph = as_dtype(make(), dtype)
    sources = np.random.default_rng(1).permutation(graph.n_vertices)[:40]
    how: dict[str, Any] = {"sources": sources, "edges": edges, "normalized": False}
    want = betweenness(graph, device="cpu", **how)
    assert_close(betweenness(graph, device="cuda", **how), want)
    near = {**how, "limit": 3 if dtype == "unweighted" else 60, "endpoints": True}
    near["targets"] = range(0, graph.n_vertices, 3)
    assert_close(betweenness(graph, device="cuda", **near), betweenness(graph, **near))


@pytest.mark.parametrize("name", [name for name in ZOO])
@pytest.mark.parametrize("dtype", ["unweighted", "int32", "float64"])
def test_zoo(name: str, dtype: str) -> None:
    graph = as_dtype(ZOO[name](), dtype)
    for edges in (False, True):
        try:
            want = betweenness(graph, edges=edges, device="cpu")
        except ZeroCycleError:
            with pytest.raises(ZeroCycleError):
                betweenness(graph, edges=edges, device="cuda")
            continue
        assert_close(betweenness(graph, edges=edges, device="cuda"), want)


@pytest.mark.parametrize("edges", [False, True])
@pytest.mark.parametrize("dtype", ["unweighted", "float64"])
@pytest.mark.parametrize("make", [social, mesh])
def test_runs_repeat_bit_for_bit(make: Any, dtype: str, edges: bool) -> None:
    graph = as_dtype(make(), dtype)
    how: dict[str, Any] = {"samples": 700, "seed": 1, "edges": edges, "device": "cuda"}
    first = betweenness(graph, **how)
    for _ in range(REPEATS):
        assert (betweenness(graph, **how) == first).all()


@pytest.mark.parametrize("weight", [None, 3])
def test_more_paths_than_a_float_holds(weight: int | None) -> None:
    graph = ladder(2000, weight)
    for edges in (False, True):
        how: dict[str, Any] = {"edges": edges, "sources": range(0, 6000, 40)}
        assert_close(
            betweenness(graph, device="cuda", **how), betweenness(graph, device="cpu", **how)
        )
    want, got = (path_counts(graph, 0, device=device) for device in ("cpu", "cuda"))
    assert (got.mantissas == want.mantissas).all()
    assert (got.exponents == want.exponents).all()


@pytest.mark.parametrize("dtype", DTYPES)
def test_numbers_of_paths(dtype: str) -> None:
    for graph in (as_dtype(social(), dtype), as_dtype(mesh(), dtype)):
        want, got = (path_counts(graph, 7, device=device) for device in ("cpu", "cuda"))
        assert (got.exponents == want.exponents).all()
        assert_close(got.mantissas, want.mantissas)


def test_a_zero_cycle_is_named() -> None:
    graph = social(True)
    weights = graph.weights.copy()
    ring = Graph.from_edges(
        [*graph.tails().tolist(), 5, 6, 7],
        [*graph.indices.tolist(), 6, 7, 5],
        [*weights.tolist(), 0, 0, 0],
        n_vertices=graph.n_vertices,
    )
    with pytest.raises(ZeroCycleError) as caught:
        betweenness(ring, sources=[0, 5], device="cuda")
    assert set(caught.value.cycle) == {5, 6, 7}


def test_vertices_beyond_shared_memory() -> None:
    """Bitmaps of two million vertices are in global memory."""
    n = 2_000_000
    rng = np.random.default_rng(2)
    graph = Graph.from_edges(rng.integers(0, n, 2 * n), rng.integers(0, n, 2 * n), n_vertices=n)
    run = device_shares._Run(graph, device_shares._Request(np.arange(3)))
    assert run.shape.shared == 0
    how: dict[str, Any] = {"sources": [1, 2, 3], "normalized": False}
    assert_close(betweenness(graph, device="cuda", **how), betweenness(graph, device="cpu", **how))


@pytest.mark.parametrize("dtype", ["unweighted", "int32"])
def test_folded_trees(dtype: str) -> None:
    """Roots represent the sources and targets of their trees."""
    rng = np.random.default_rng(5)
    n, more = 4000, 3000
    s, t = rng.integers(0, n, (2, 4 * n))
    onto = [rng.integers(0, v) for v in range(n, n + more)]  # leaves, and leaves of leaves
    tails, heads = np.concatenate([s, onto]), np.concatenate([t, np.arange(n, n + more)])
    weights = rng.integers(1, 50, len(tails))
    graph = as_dtype(Graph.from_edges(tails, heads, weights, directed=False), dtype)
    core = core_of(simple(graph).graph)
    assert core is not None
    assert core.graph.n_vertices < n + 100
    for sources in (None, rng.permutation(n + more)[:1500]):
        found = [betweenness(graph, sources, device="cuda") for _ in range(5)]
        assert all((one == found[0]).all() for one in found)
        assert_close(found[0], betweenness(graph, sources, device="cpu"))


@pytest.mark.parametrize("whole", [True, False])
@pytest.mark.parametrize("dtype", DTYPES)
def test_loads_of_edges(dtype: str, whole: bool) -> None:
    rng = np.random.default_rng(6)
    for graph in (as_dtype(social(), dtype), as_dtype(mesh(), dtype)):
        pairs = rng.integers(0, graph.n_vertices, (2, 20_000))
        pairs[0] %= 50
        amounts = rng.integers(1, 99, 20_000) * (1 if whole else rng.random(20_000))
        want = measures.edge_loads(graph, (*pairs, amounts), device="cpu")
        found = [measures.edge_loads(graph, (*pairs, amounts), device="cuda") for _ in range(9)]
        assert all((one.loads == found[0].loads).all() for one in found)
        assert_close(found[0].loads, want.loads)
        assert found[0].total_length == want.total_length
        assert found[0].unreached == want.unreached
        assert not whole or (found[0].loads == want.loads).all()


@pytest.mark.parametrize("dtype", ["unweighted", "int32", "float64"])
def test_streamed_measures(dtype: str) -> None:
    graph = as_dtype(mesh(), dtype)
    some = range(0, graph.n_vertices, 100)
    for name in ("closeness", "harmonic", "eccentricity"):
        measure = getattr(measures, name)
        assert (measure(graph, some, device="cuda") == measure(graph, some, device="cpu")).all()
    small = as_dtype(ZOO["ring"](), dtype)
    for name in ("average_length", "efficiency", "diameter", "radius", "center", "periphery"):
        measure = getattr(measures, name)
        assert measure(small, device="cuda") == measure(small, device="cpu")
    assert measures.diameter(graph, device="cuda") == nearfar.measures.diameter(graph, device="cpu")
