"""Betweenness, compared with its definition in integers and with NetworkX."""

from __future__ import annotations

import itertools
import math
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings

import nearfar
from nearfar import Graph
from nearfar.errors import (
    DistanceOverflowError,
    NegativeWeightError,
    OptionError,
    VariantUnavailable,
    VertexError,
    ZeroCycleError,
)
from nearfar.graph.same_distances import backbone
from nearfar.measures import betweenness, path_counts
from nearfar.measures.centrality import brandes
from nearfar.measures.centrality.brandes import sampled_sources
from nearfar.measures.paths.order_free import in_steps
from nearfar.measures.simple import simple
from nearfar.solve.steps.plan import search_once
from nearfar.system.devices import runtime
from tests.measures import counting
from tests.strategies import graphs
from tests.zoo import ZOO, as_dtype

nx = pytest.importorskip("networkx")

#: Graphs on which NetworkX and the definition take seconds; tested by sums only.
LARGE = ("path", "star", "grid", "wide_weights", "skewed")


def as_networkx(graph: Graph) -> Any:
    made = nx.DiGraph() if graph.directed else nx.Graph()
    made.add_nodes_from(range(graph.n_vertices))
    for (u, v), (w, _) in counting.lightest(graph).items():
        made.add_edge(u, v, weight=w.item())
    return made


def assert_by_definition(graph: Graph, **given_: Any) -> None:
    try:
        vertices, edges = counting.betweenness(graph, **given_)
    except counting.ZeroCycle:
        with pytest.raises(ZeroCycleError, match="weight zero"):
            betweenness(graph, **given_)
        return
    half = 1 if graph.directed else 2
    got = betweenness(graph, normalized=False, **given_)
    assert got == pytest.approx([float(v / half) for v in vertices], rel=1e-12, abs=0)
    got = betweenness(graph, normalized=False, edges=True, **given_)
    if not graph.directed:
        lightest = counting.lightest(graph)
        both = [(edges[e], edges[lightest[v, u][1]], e) for (u, v), (_, e) in lightest.items()]
        for there, back, e in both:
            edges[e] = there + back if (there or back) else there
    assert got == pytest.approx([float(e / half) for e in edges], rel=1e-12, abs=0)


@pytest.mark.parametrize("dtype", ["int32", "int64", "float64", "unweighted"])
@pytest.mark.parametrize("name", [name for name in ZOO if name not in LARGE])
def test_zoo_against_networkx(name: str, dtype: str) -> None:
    graph = as_dtype(ZOO[name](), dtype)
    if graph.has_zero_weight:
        assert_by_definition(graph)
        return
    other = as_networkx(in_steps(graph)[0])  # NetworkX adds floats from left to right
    weight = None if dtype == "unweighted" else "weight"
    for normalized, endpoints in itertools.product((False, True), repeat=2):
        how = {"normalized": normalized, "endpoints": endpoints}
        want = nx.betweenness_centrality(other, weight=weight, **how)
        assert betweenness(graph, **how) == pytest.approx(list(want.values()), rel=1e-12, abs=0)
    want = nx.edge_betweenness_centrality(other, weight=weight)
    got = betweenness(graph, edges=True)
    seen = dict.fromkeys(want)
    for (u, v), (_, e) in counting.lightest(graph).items():
        pair = (u, v) if (u, v) in want else (v, u)
        assert got[e] == pytest.approx(want[pair], rel=1e-12, abs=0)
        seen[pair] = e
    assert None not in seen.values()


@given(graphs(max_vertices=9, max_edges=24))
def test_any_graph_by_definition(graph: Graph) -> None:
    assert_by_definition(graph)


@given(graphs(max_vertices=9, max_edges=24))
def test_any_graph_without_longer_edges_by_definition(graph: Graph) -> None:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(brandes, "MANY_EDGES", 1)
        patch.setattr(brandes, "_MANY_SOURCES", 1)
        patch.setattr(backbone, "FEWER", 1.0)
        patch.setattr(backbone, "_MUCH_FEWER", 1.0)
        assert_by_definition(graph)


def test_longer_edges_have_no_share() -> None:
    graph = as_dtype(nearfar.generate("preferential_attachment", vertices=500, attach=6), "int32")
    weights = 1 + graph.tails(np.int64) * graph.indices % 997  # the same in both directions
    graph = graph.with_weights(weights.astype(np.int32))
    left = backbone.without_longer(simple(graph).graph, 1, search_once)
    assert left.n_edges < 0.8 * graph.n_edges
    found = betweenness(graph, threads=1)
    assert (betweenness(graph, threads=3) == found).all()
    want = nx.betweenness_centrality(as_networkx(graph), weight="weight")
    assert found == pytest.approx(list(want.values()), rel=1e-12, abs=0)


@settings(max_examples=60)
@given(graphs(max_vertices=8, max_edges=20, dtypes=("int32", "float64", "unweighted")))
def test_some_sources_some_targets_and_a_limit_by_definition(graph: Graph) -> None:
    n = graph.n_vertices
    assert_by_definition(graph, sources=list(range(0, n, 2)), targets=list(range(n // 2, n)))
    assert_by_definition(graph, limit=2)


@pytest.mark.parametrize("name", ["path", "ring", "star", "grid", "skewed", "disconnected"])
@pytest.mark.parametrize("dtype", ["int32", "unweighted"])
def test_sums_that_must_hold(name: str, dtype: str) -> None:
    """Inner vertices of all pairs, and edges of all pairs, on graphs whose paths are known."""
    graph = as_dtype(ZOO[name](), dtype)
    if graph.has_zero_weight:
        graph = Graph.from_csr(
            graph.indptr, graph.indices, graph.effective_weights + 1, directed=graph.directed
        )
    half = 1 if graph.directed else 2
    vertices = betweenness(graph, normalized=False) * half
    ends = betweenness(graph, normalized=False, endpoints=True) * half
    matrix = nearfar.all_pairs(graph)
    reached = matrix != np.iinfo(matrix.dtype).max
    pairs = reached.sum() - graph.n_vertices
    if dtype == "unweighted":
        assert vertices.sum() == pytest.approx(matrix[reached].sum() - pairs, rel=1e-12)
    assert ends.sum() - vertices.sum() == pytest.approx(2 * pairs, rel=1e-12)
    edges = betweenness(graph, normalized=False, edges=True) * half
    weights = graph.effective_weights
    total = float((edges * weights).sum()) / (1 if graph.directed else 2)
    assert total == pytest.approx(float(matrix[reached].sum()), rel=1e-12)


def test_a_partition_of_the_sources_adds_up() -> None:
    graph = ZOO["grid"]()
    whole = betweenness(graph)
    n = graph.n_vertices
    parts = [betweenness(graph, sources=range(i, n, 3)) for i in range(3)]
    assert sum(parts) == pytest.approx(whole, rel=1e-12)
    assert betweenness(graph, sources=[5, 5, 7]).tolist() == (
        betweenness(graph, sources=[7, 5]).tolist()
    )


@pytest.mark.parametrize("edges", [False, True])
@pytest.mark.parametrize("dtype", ["float64", "unweighted"])
def test_threads_make_no_difference(edges: bool, dtype: str) -> None:
    graph = as_dtype(nearfar.generate("delaunay", vertices=700), dtype)
    first = betweenness(graph, edges=edges, threads=1)
    for threads in (2, 3, 7):
        for _ in range(3):
            assert (betweenness(graph, edges=edges, threads=threads) == first).all()
    near = betweenness(graph, edges=edges, threads=1, limit=3)
    assert (betweenness(graph, edges=edges, threads=5, limit=3) == near).all()


def ladder(diamonds: int, weight: int | None = None) -> Graph:
    starts = 3 * np.arange(diamonds)
    tails = np.concatenate([starts, starts, starts + 1, starts + 2])
    heads = np.concatenate([starts + 1, starts + 2, starts + 3, starts + 3])
    return Graph.from_edges(tails, heads, weight)


@pytest.mark.parametrize("weight", [None, 3])
def test_a_ladder_of_two_thousand_diamonds(weight: int | None) -> None:
    """There are 2**2000 paths from end to end, which exceeds a float."""
    k = 2000
    graph = ladder(k, weight)
    n = graph.n_vertices
    got = betweenness(graph, sources=[0], normalized=False)
    v = np.arange(1, n)
    joint = v % 3 == 0
    want = np.where(joint, n - 1 - v, 0.5 * (n - 1 - (v // 3 + 1) * 3 + 1))
    assert got[1:] == pytest.approx(want, rel=1e-12, abs=0)
    assert got[0] == 0
    edges = betweenness(graph, sources=[0], normalized=False, edges=True)
    into_joints = graph.indices % 3 == 0
    assert np.isfinite(edges).all()
    assert edges[into_joints] == pytest.approx(
        (n - graph.indices[into_joints]) / 2, rel=1e-12, abs=0
    )
    backwards = betweenness(graph.transpose(), normalized=False, sources=[n - 1])
    assert backwards[::-1] == pytest.approx(got, rel=1e-12, abs=0)


def test_zero_weights_and_their_cycles() -> None:
    zeros = Graph.from_edges([3, 2, 0, 0], [2, 1, 3, 1], [0, 0, 0, 0])
    assert betweenness(zeros, normalized=False).tolist() == [0, 0, 1.5, 1.5]
    graph = Graph.from_edges(
        [0, 1, 2, 3], [1, 2, 3, 1], [1, 0, 0, 0], vertex_names=np.array(list("abcd")), names=False
    )
    with pytest.raises(ZeroCycleError) as caught:
        betweenness(graph)
    cycle = caught.value.cycle
    assert set(cycle) == set("bcd")
    follows = {"b": "c", "c": "d", "d": "b"}
    assert all(follows[u] == v for u, v in itertools.pairwise([*cycle, cycle[0]]))
    # Vertices beyond the limit do not matter.
    assert betweenness(graph, sources=["a"], limit=0.5).tolist() == [0, 0, 0, 0]
    back_and_forth = Graph.from_edges([0, 1], [1, 2], [0, 3], directed=False)
    with pytest.raises(ZeroCycleError, match="2 vertices"):
        betweenness(back_and_forth, sources=[2])


def test_weights_that_a_sum_swallows_are_zeros() -> None:
    graph = Graph.from_edges([0, 1, 2, 1], [1, 2, 3, 3], [1e20, 1.0, 1.0, 1.0])
    # 1e20 + 1 == 1e20: from 0 there are two paths from 1 to 3.
    got = betweenness(graph, sources=[0], normalized=False)
    assert got.tolist() == [0, 2, 0.5, 0]
    turned = Graph.from_edges([0, 3, 2, 3], [3, 2, 1, 1], [1e20, 1.0, 1.0, 1.0])
    assert betweenness(turned, sources=[0], normalized=False).tolist() == [0, 0, 0.5, 2]


def test_sums_beyond_32_bits_are_repeated_in_64() -> None:
    top = 2**31 - 2
    graph = Graph.from_edges([0, 1, 2], [1, 2, 3], np.array([top, top, top], dtype=np.int32))
    assert betweenness(graph, normalized=False).tolist() == [0, 2, 2, 0]
    huge = Graph.from_edges([0, 1], [1, 2], np.array([2**62, 2**62], dtype=np.int64))
    with pytest.raises(DistanceOverflowError, match="scale the weights down"):
        betweenness(huge)


def test_a_tolerance_makes_ties_of_rounded_sums() -> None:
    third = Graph.from_edges([0, 1, 0], [1, 2, 2], [0.1, 0.2, 0.3])
    assert betweenness(third, normalized=False).tolist() == [0, 0, 0]
    assert betweenness(third, normalized=False, tolerance=1e-12).tolist() == [0, 0.5, 0]
    with pytest.raises(OptionError, match="integers are exact"):
        betweenness(ZOO["grid"](), tolerance=0.1)
    for wrong in (-1, 1, math.nan, "a", True):
        with pytest.raises(OptionError, match="from 0 up to 1"):
            betweenness(third, tolerance=wrong)  # type: ignore[arg-type]


@pytest.mark.parametrize("directed", [False, True])
@pytest.mark.parametrize("samples", [1, 2, 5, 9])
def test_samples_are_scaled_as_networkx_scales(directed: bool, samples: int) -> None:
    other = nx.gnp_random_graph(9, 0.4, seed=3, directed=directed)
    graph = Graph.from_networkx(other)

    class Drawn:
        """Random generator that returns nearfar's draw."""

        def sample(self, vertices: list[int], k: int) -> list[int]:
            drawn = sampled_sources(len(vertices), k, 7)
            return [vertices[i] for i in drawn]

    drawn: Any = Drawn()
    functions = nx.algorithms.centrality.betweenness
    for normalized, endpoints in itertools.product((False, True), repeat=2):
        how: dict[str, Any] = {"normalized": normalized, "endpoints": endpoints}
        got = betweenness(graph, samples=samples, seed=7, **how)
        plain = functions.betweenness_centrality.orig_func
        want = plain.__wrapped__ if hasattr(plain, "__wrapped__") else plain
        found = want(other, k=samples, seed=drawn, **how)
        assert got == pytest.approx(list(found.values()), rel=1e-12, nan_ok=True)


def test_a_seed_repeats_a_draw_and_none_does_not() -> None:
    graph = ZOO["grid"]()
    again = [betweenness(graph, samples=20, seed=4).tolist() for _ in range(2)]
    assert again[0] == again[1]
    assert again[0] != betweenness(graph, samples=20, seed=5).tolist()
    free = [betweenness(graph, samples=20).tolist() for _ in range(2)]
    assert free[0] != free[1]


def test_names_weights_and_other_graphs() -> None:
    other = nx.Graph()
    other.add_weighted_edges_from([("x", "y", 1), ("y", "z", 1), ("x", "z", 5)], weight="km")
    assert betweenness(other, weight="km").tolist() == [0, 1, 0]
    assert betweenness(other, weight=None).tolist() == [0, 0, 0]
    graph = Graph.from_networkx(other, "km")
    assert betweenness(graph, sources=["x"], normalized=False).tolist() == [0, 0.5, 0]
    with pytest.raises(VertexError, match="'w'"):
        betweenness(graph, sources=["w"])


def test_parallel_edges_share_nothing() -> None:
    graph = Graph.from_edges([0, 0, 0, 1], [1, 1, 1, 2], [4, 2, 2, 1])
    assert betweenness(graph, normalized=False, edges=True).tolist() == [0, 2, 0, 2]
    assert betweenness(graph, normalized=False).tolist() == [0, 1, 0]


@pytest.mark.parametrize("n", [0, 1, 2, 3])
def test_small_graphs(n: int) -> None:
    graph = Graph.from_edges(range(n - 1), range(1, n), n_vertices=n)
    assert betweenness(graph).tolist() == {3: [0, 0.5, 0]}.get(n, [0] * n)
    assert betweenness(graph, sources=[]).tolist() == [0.0] * n


def test_errors() -> None:
    graph = ZOO["grid"]()
    with pytest.raises(NegativeWeightError):
        betweenness(Graph.from_edges([0], [1], [-1]))
    with pytest.raises(OptionError, match="sources or samples"):
        betweenness(graph, [1], samples=3)
    for samples in (0, 10**6, 1.5, True):
        with pytest.raises(OptionError, match="integer from 1"):
            betweenness(graph, samples=samples)  # type: ignore[arg-type]
    with pytest.raises(OptionError, match="seed"):
        betweenness(graph, samples=3, seed="a")  # type: ignore[arg-type]
    with pytest.raises(OptionError, match="limit"):
        betweenness(graph, limit=-1)


def test_a_limit_costs_what_it_visits() -> None:
    graph = nearfar.generate("grid", rows=24, columns=24)
    near = betweenness(graph, limit=int(graph.min_weight), normalized=False)
    assert near.sum() == 0
    exact = betweenness(graph, limit=10**9)
    assert (exact == betweenness(graph)).all()


@pytest.mark.data
def test_a_real_graph_against_igraph() -> None:
    igraph = pytest.importorskip("igraph")
    from tests.datafiles import data_path

    graph = nearfar.read(data_path("snap-johnson/p2p-Gnutella08.txt.xz"))
    plain = graph.without_weights()
    pairs = np.stack([plain.tails(), plain.indices], axis=1)
    other = igraph.Graph(n=plain.n_vertices, edges=pairs, directed=True)
    got = betweenness(plain, normalized=False)
    assert got == pytest.approx(other.betweenness(), rel=1e-12, abs=1e-9)
    weights = np.random.default_rng(1).integers(1, 30, plain.n_edges).astype(np.int32)
    some = list(range(0, plain.n_vertices, 5))
    got = betweenness(plain.with_weights(weights), some, normalized=False)
    want = other.betweenness(sources=some, weights=weights.astype(float).tolist())
    assert got == pytest.approx(want, rel=1e-12, abs=1e-9)
    got = betweenness(plain, range(300), normalized=False, edges=True)
    assert got == pytest.approx(
        other.edge_betweenness(sources=list(range(300))), rel=1e-12, abs=1e-9
    )


@pytest.mark.data
def test_a_real_network_with_dead_ends_against_igraph() -> None:
    igraph = pytest.importorskip("igraph")
    from tests.datafiles import data_path

    graph = nearfar.read(data_path("snap-johnson/loc-brightkite.txt.xz"), directed=False)
    tails = graph.tails(np.int64)
    kept = np.flatnonzero(tails < graph.indices)
    pairs = np.stack([tails[kept], graph.indices[kept]], axis=1)
    other = igraph.Graph(n=graph.n_vertices, edges=pairs)
    weights = 1 + (tails + graph.indices) % 7
    some = np.random.default_rng(2).permutation(graph.n_vertices)[:12]
    for solved, listed in (
        (graph.without_weights(), None),
        (graph.with_weights(weights.astype(np.int32)), weights[kept].astype(float).tolist()),
    ):
        got = betweenness(solved, graph.name_of(some), normalized=False)
        want = other.betweenness(sources=some.tolist(), directed=False, weights=listed)
        assert got == pytest.approx(want, rel=1e-12, abs=1e-9)


@pytest.mark.skipif(runtime.available() is True, reason="there is a GPU")
def test_without_a_gpu_a_request_for_one_says_so() -> None:
    for run in (betweenness, path_counts):
        with pytest.raises(VariantUnavailable):
            run(ZOO["grid"](), [0] if run is betweenness else 0, device="cuda")
