"""Closeness, harmonic centrality, eccentricity and related measures, compared with NetworkX."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import nearfar
from nearfar import Graph, measures
from nearfar.choose.ranking import Choice
from nearfar.errors import (
    NegativeWeightError,
    OptionError,
    UnreachableError,
    VertexError,
)
from nearfar.measures import extent
from nearfar.registry import Request, find
from tests.measures.test_betweenness import as_networkx
from tests.strategies import graphs
from tests.zoo import ZOO, as_dtype

nx = pytest.importorskip("networkx")
SMALL = [name for name in ZOO if name not in ("star", "wide_weights", "skewed")]


@pytest.mark.parametrize("dtype", ["int32", "float64", "unweighted"])
@pytest.mark.parametrize("name", SMALL)
def test_zoo_against_networkx(name: str, dtype: str) -> None:
    graph = as_dtype(ZOO[name](), dtype)
    other = as_networkx(graph)
    weight = None if dtype == "unweighted" else "weight"
    for improved in (False, True):
        want = nx.closeness_centrality(other, distance=weight, wf_improved=improved)
        got = measures.closeness(graph, wf_improved=improved)
        assert got == pytest.approx(list(want.values()), rel=1e-12)
    want = nx.harmonic_centrality(other, distance=weight)
    assert measures.harmonic(graph) == pytest.approx(list(want.values()), rel=1e-12)
    back = other.reverse() if graph.directed else other
    want = nx.harmonic_centrality(back, distance=weight)
    assert measures.harmonic(graph, outward=True) == pytest.approx(list(want.values()), rel=1e-12)
    want = nx.closeness_centrality(back, distance=weight)
    assert measures.closeness(graph, outward=True) == pytest.approx(list(want.values()), rel=1e-12)
    if weight is None and not graph.directed:
        assert measures.efficiency(graph) == pytest.approx(nx.global_efficiency(other), rel=1e-12)
    n = graph.n_vertices
    if n > 1:
        harmonic = measures.harmonic(graph)
        assert measures.efficiency(graph) == pytest.approx(harmonic.sum() / n / (n - 1), rel=1e-12)


@pytest.mark.parametrize("dtype", ["int32", "float32", "float64", "unweighted"])
@pytest.mark.parametrize("name", SMALL)
def test_extent_against_all_distances(name: str, dtype: str) -> None:
    assert_extent(as_dtype(ZOO[name](), dtype))


def assert_extent(graph: Graph) -> None:
    matrix = nearfar.all_pairs(graph)
    top = np.inf if matrix.dtype.kind == "f" else np.iinfo(matrix.dtype).max
    functions: list[Any] = [measures.eccentricity, measures.diameter, measures.radius]
    functions += [measures.center, measures.periphery]
    if (matrix == top).any():
        for function in [*functions, measures.average_length]:
            with pytest.raises(UnreachableError, match="component"):
                function(graph)
        return
    want = matrix.max(axis=1)
    got = measures.eccentricity(graph)
    assert (got == want).all()
    assert got.dtype == matrix.dtype
    assert measures.diameter(graph) == want.max()
    assert measures.radius(graph) == want.min()
    assert measures.center(graph) == np.flatnonzero(want == want.min()).tolist()
    assert measures.periphery(graph) == np.flatnonzero(want == want.max()).tolist()
    n = graph.n_vertices
    mean = float(matrix.astype(np.float64).sum()) / (n * (n - 1)) if n > 1 else 0.0
    assert measures.average_length(graph) == pytest.approx(mean, rel=1e-12)


@settings(max_examples=80)
@given(graphs(max_vertices=8, max_edges=50))
def test_extent_of_any_graph(graph: Graph) -> None:
    n = graph.n_vertices
    ring = Graph.from_edges(
        np.concatenate([graph.tails(), np.arange(n)]),
        np.concatenate([graph.indices, (np.arange(n) + 1) % n]),
        np.concatenate([graph.effective_weights, np.full(n, 9, graph.weight_dtype)]),
        n_vertices=n,
    )
    assert_extent(ring)


@settings(max_examples=60)
@given(graphs(max_vertices=12, max_edges=60), st.booleans())
def test_bounds_of_all_eccentricities(graph: Graph, directed: bool) -> None:
    n = graph.n_vertices
    tails, heads = np.append(graph.tails(), np.arange(n)), np.append(graph.indices, np.arange(n))
    heads[graph.n_edges :] = (heads[graph.n_edges :] + 1) % n
    weights = np.append(np.floor(graph.effective_weights), np.full(n, 9)).astype(graph.weight_dtype)
    ring = Graph.from_edges(tails, heads, weights, n_vertices=n, directed=directed)
    want = nearfar.all_pairs(ring).max(axis=1)
    with pytest.MonkeyPatch().context() as patch:
        patch.setattr("nearfar.measures.extent._MANY", 0)
        patch.setattr("nearfar.measures.extent.rank", _together_takes_long)
        got = measures.eccentricity(ring)
    assert (got == want).all()
    assert got.dtype == want.dtype


def test_few_searches_for_all_eccentricities(monkeypatch: pytest.MonkeyPatch) -> None:
    searched: list[int] = []
    search = extent._Bounds._search
    monkeypatch.setattr(
        extent._Bounds, "_search", lambda self, at: (searched.extend(at), search(self, at))
    )
    graph = nearfar.generate("preferential_attachment", vertices=3000, seed=2).without_weights()
    assert (measures.eccentricity(graph) == nearfar.distances(graph, reduce="max")).all()
    assert 0 < len(searched) < 100


def test_few_searches(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("nearfar.measures.extent.rank", _together_takes_long)
    stats: dict[str, Any] = {}
    graph = nearfar.generate("road_like", vertices=3000, seed=2)
    assert measures.diameter(graph, stats=stats) == measures.eccentricity(graph).max()
    assert stats["searches"] < 30
    assert measures.radius(graph, stats=stats) == measures.eccentricity(graph).min()
    assert stats["searches"] < 30


def _together_takes_long(_: Graph, request: Request) -> list[Choice]:
    seconds = np.inf if request.problem == "batch" else 1.0
    return [Choice(find("lanes", "cpu")[0], seconds, "")]


@pytest.mark.parametrize("directed", [True, False])
@pytest.mark.parametrize("weight", [None, 3.0])
def test_searches_from_all_that_are_left(
    directed: bool, weight: float | None, monkeypatch: pytest.MonkeyPatch
) -> None:
    """They follow once the steps have taken as long: bounds exclude hardly any vertex here."""
    rng = np.random.default_rng(3)
    n, ring = 600, np.arange(600)
    s = np.concatenate([ring, rng.integers(0, n, n)])
    t = np.concatenate([(ring + 1) % n, rng.integers(0, n, n)])
    weights = None if weight is None else np.full(len(s), weight)
    graph = Graph.from_edges(s, t, weights, n_vertices=n, directed=directed)
    far = nearfar.distances(graph, reduce="max")
    left: list[int] = []
    for together in (0.0, np.inf):

        def ranked(_: Graph, request: Request, together: float = together) -> list[Choice]:
            left.append(request.n_sources)
            seconds = together if request.problem == "batch" else 1.0
            return [Choice(find("lanes", "cpu")[0], seconds, "")]

        monkeypatch.setattr("nearfar.measures.extent.rank", ranked)
        for measure, extreme in ((measures.diameter, far.max()), (measures.radius, far.min())):
            stats: dict[str, Any] = {}
            assert measure(graph, stats=stats) == extreme
            if together == 0:
                assert stats["searches"] == 4 + left[0]
            left.clear()
        every = np.flatnonzero(far == far.max()).tolist()
        assert measures.periphery(graph) == every


def test_distances_beyond_32_and_near_64_bits() -> None:
    wide = Graph.from_edges([0, 1], [1, 2], np.array([2**31 - 2] * 2, np.int32), directed=False)
    assert measures.diameter(wide) == 2**32 - 4
    assert measures.eccentricity(wide).tolist() == [2**32 - 4, 2**31 - 2, 2**32 - 4]
    huge = Graph.from_edges([0, 1], [1, 2], np.array([2**62, 2**61]), directed=False)
    assert measures.diameter(huge) == 2**62 + 2**61
    assert measures.center(huge) == [1]


def test_some_vertices_in_their_order_and_names() -> None:
    other = nx.path_graph(["x", "y", "z", "w"])
    got = measures.closeness(other, ["z", "x"])
    want = nx.closeness_centrality(other)
    assert got == pytest.approx([want["z"], want["x"]])
    assert measures.harmonic(other, ["w"]) == pytest.approx([1 + 1 / 2 + 1 / 3])
    assert measures.eccentricity(other, ["w", "y"]).tolist() == [3, 2]
    assert measures.center(other) == ["y", "z"]
    assert measures.periphery(other) == ["x", "w"]
    with pytest.raises(VertexError, match="'v'"):
        measures.closeness(other, ["v"])
    with pytest.raises(UnreachableError, match="'x'"):
        measures.diameter(nx.DiGraph([("x", "y")]))
    near = measures.closeness(other, ["x"], limit=1, wf_improved=False)
    assert near.tolist() == [1]


def test_negative_weights() -> None:
    graph = Graph.from_edges([0, 1, 1, 2], [1, 0, 2, 1], [3, 4, -1, 2])
    matrix = nearfar.all_pairs(graph)
    assert (measures.eccentricity(graph) == matrix.max(axis=1)).all()
    assert measures.average_length(graph) == matrix.sum() / 6
    refused = (*(measures.diameter, measures.radius, measures.center, measures.periphery),)
    refused += (measures.closeness, measures.harmonic, measures.efficiency)
    for function in refused:  # the last three would take reciprocals of negative distances
        with pytest.raises(NegativeWeightError, match="edge 2"):
            function(graph)


@pytest.mark.parametrize("n", [0, 1])
def test_small_graphs(n: int) -> None:
    graph = Graph.from_edges([], [], n_vertices=n)
    for function in (measures.closeness, measures.harmonic, measures.eccentricity):
        assert function(graph).tolist() == [0] * n
    assert measures.average_length(graph) == measures.efficiency(graph) == 0
    if n == 0:
        with pytest.raises(OptionError, match="no vertices"):
            measures.diameter(graph)
    else:
        assert measures.diameter(graph) == measures.radius(graph) == 0
        assert measures.center(graph) == measures.periphery(graph) == [0]


def test_figures_that_cannot_be_kept() -> None:
    graph = Graph.from_edges([0], [1], directed=False)
    for function in (measures.diameter, measures.periphery, measures.radius, measures.center):
        with pytest.raises(OptionError, match=r"stats is \[\]: give a dict"):
            function(graph, stats=[])


def test_summary_and_harmonic_reductions() -> None:
    graph = ZOO["disconnected"]()
    count, total, most = nearfar.distances(graph, reduce="summary")
    for kind, found in (("count", count), ("sum", total), ("max", most)):
        assert (found == nearfar.distances(graph, reduce=kind)).all()
    found = nearfar.distances(graph, [0, 1], targets=[2, 0, 5], reduce="harmonic")
    assert found.tolist() == [1 / 3, 1 / 2]


@pytest.mark.parametrize("outward", [False, True])
@pytest.mark.parametrize("weight", ["weight", None])
def test_estimates_of_centralities_from_samples(outward: bool, weight: str | None) -> None:
    rng = np.random.default_rng(4)
    n = 60
    ends = rng.integers(0, n, (2, 300))
    graph = Graph.from_edges(*ends, rng.random(300), n_vertices=n)
    for function, more in (
        (measures.closeness, {"wf_improved": True}),
        (measures.closeness, {"wf_improved": False}),
        (measures.harmonic, {"limit": 3}),
        (measures.harmonic, {}),
    ):
        call = {"weight": weight, "outward": outward, **more}
        exact = function(graph, **call)
        assert function(graph, samples=n, **call) == pytest.approx(exact, rel=1e-12)
        some = function(graph, [5, 0], samples=20, seed=3, **call)
        whole = function(graph, samples=20, seed=3, threads=2, **call)
        np.testing.assert_array_equal(some, whole[[5, 0]])
        draws = [function(graph, samples=20, seed=seed, **call) for seed in range(40)]
        if function is measures.harmonic:
            mean = np.mean(draws, axis=0)
            off = np.std(draws, axis=0) / np.sqrt(40)
            assert (np.abs(mean - exact) < 5 * off + 1e-9).all()
    with pytest.raises(OptionError, match="samples is 0"):
        measures.closeness(graph, samples=0)
    with pytest.raises(OptionError, match="seed is 3: give samples"):
        measures.harmonic(graph, seed=3)
