"""Betweenness with folded dead ends and separate vertices without out-edges."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import nearfar
from nearfar import Graph
from nearfar.errors import ZeroCycleError
from nearfar.measures import betweenness
from tests.measures import counting
from tests.zoo import as_dtype


@st.composite
def with_trees(draw: Any) -> Graph:
    """Draw a small core of several components with trees; weights per direction."""
    core = draw(st.integers(1, 5))
    n = core + draw(st.integers(0, 7))
    pairs = {(u, v) for u in range(core) for v in range(u) if draw(st.booleans())}
    pairs |= {(v, draw(st.integers(0, v - 1))) for v in range(core, n) if draw(st.integers(0, 5))}
    names = draw(st.permutations(range(n)))
    ends = np.array([(names[u], names[v]) for u, v in sorted(pairs)], dtype=np.int64).reshape(-1, 2)
    tails, heads = np.concatenate([ends, ends[:, ::-1]]).T
    dtype = draw(st.sampled_from(["unweighted", "int32", "int64", "float64"]))
    weights = None
    if dtype != "unweighted":
        some = st.lists(st.integers(1, 3), min_size=len(tails), max_size=len(tails))
        weights = np.array(draw(some), dtype=dtype)
    return Graph.from_edges(tails, heads, weights, n_vertices=n)


@st.composite
def with_sinks(draw: Any) -> Graph:
    """Draw a directed graph in which most vertices have no out-edges."""
    n = draw(st.integers(2, 10))
    inner = draw(st.integers(1, max(1, n // 2)))
    ends = st.tuples(st.integers(0, inner - 1), st.integers(0, n - 1))
    pairs = sorted(draw(st.sets(ends, max_size=24)))
    tails, heads = np.array(pairs, dtype=np.int64).reshape(-1, 2).T
    weights = None
    if draw(st.booleans()):
        some = st.lists(st.integers(0, 3), min_size=len(pairs), max_size=len(pairs))
        weights = np.array(draw(some), dtype=draw(st.sampled_from(["int32", "float64"])))
    names = np.array(draw(st.permutations(range(n))))
    return Graph.from_edges(names[tails], names[heads], weights, n_vertices=n)


@given(graph=st.one_of(with_trees(), with_sinks()), data=st.data())
def test_by_definition(graph: Graph, data: Any) -> None:
    some = st.none() | st.lists(st.integers(0, graph.n_vertices - 1), unique=True)
    sources, targets = data.draw(some), data.draw(some)
    try:
        want, _ = counting.betweenness(graph, sources, targets)
    except counting.ZeroCycle:
        with pytest.raises(ZeroCycleError, match="weight zero"):
            betweenness(graph, sources, targets=targets, normalized=False)
        return
    got = betweenness(graph, sources, targets=targets, normalized=False)
    assert got == pytest.approx([float(x) for x in want], rel=1e-12, abs=0)


def both_ways(tails: list[int], heads: list[int], weights: Any) -> Graph:
    return Graph.from_edges(tails + heads, heads + tails, np.concatenate([weights, weights]))


def test_a_tree_is_products_of_numbers_of_vertices() -> None:
    rng = np.random.default_rng(3)
    n = 2000
    before = np.array([rng.integers(0, v) for v in range(1, n)])
    graph = Graph.from_edges(np.arange(1, n), before, directed=False)
    size = np.ones(n)
    for v in range(n - 1, 0, -1):
        size[before[v - 1]] += size[v]
    want = (n - size) * (size - 1)  # paths from a branch to the rest; between branches:
    branches = np.zeros(n)
    np.add.at(branches, before, size[1:] ** 2)
    want += ((size - 1) ** 2 - branches) / 2
    assert (betweenness(graph, normalized=False) == want).all()


def test_a_zero_cycle_in_a_dead_end_is_found() -> None:
    graph = both_ways([0, 1, 2, 2], [1, 2, 0, 3], np.array([1, 1, 1, 0]))
    with pytest.raises(ZeroCycleError, match="weight zero"):
        betweenness(graph)


def test_dead_ends_beyond_32_bits() -> None:
    """Distances within the core fit 32 bits; those between dead ends do not."""
    far = 2**30
    weights = np.array([1, 1, 1, far, far], dtype=np.int32)
    graph = both_ways([0, 1, 2, 0, 1], [1, 2, 0, 3, 4], weights)
    assert betweenness(graph, normalized=False).tolist() == [6, 6, 0, 0, 0]
    parallel = both_ways([0, 1, 2, 0], [1, 2, 0, 3], np.array([1, 1, 2, far * 2 - 3], np.int32))
    # 0 to 2 has two paths of length 2, also for 3, where the sum is 2**31 - 1.
    assert betweenness(parallel, normalized=False).tolist() == [4, 2, 0, 0]


def test_ties_of_floats_do_not_depend_on_the_order_of_additions() -> None:
    """4.0 + 0.1 + 0.2 is 4.0 + 0.3 in float64, but the weights' own sums differ."""
    graph = both_ways([0, 1, 0, 0], [1, 2, 2, 3], np.array([0.1, 0.2, 0.3, 4.0]))
    assert 4.0 + 0.1 + 0.2 == 4.0 + 0.3
    assert betweenness(graph, [0], normalized=False).tolist() == [0, 0, 0, 0]
    assert betweenness(graph, [3], normalized=False).tolist() == [2, 0, 0, 0]
    # The same three weights in two orders, whose sums from left to right differ in the last place.
    one, other = [0.1, 0.7, 0.3], [0.3, 0.1, 0.7]
    assert (one[0] + one[1]) + one[2] != (other[0] + other[1]) + other[2]  # sum() compensates
    ways = Graph.from_edges([0, 1, 2, 0, 4, 5], [1, 2, 3, 4, 5, 3], [*one, *other])
    assert betweenness(ways, [0], normalized=False).tolist() == [0, 1.5, 0.5, 0, 1.5, 0.5]
    assert nearfar.measures.path_counts(ways, 0).values()[3] == 2
    assert len(list(nearfar.measures.all_shortest_paths(ways, 0, 3))) == 2
    ready = nearfar.prepare(ways, force=True)
    assert betweenness(ready, [0], normalized=False).tolist() == [0, 1.5, 0.5, 0, 1.5, 0.5]


@pytest.mark.parametrize("weight", [None, 3])
def test_too_many_paths_for_a_float_beside_dead_ends(weight: int | None) -> None:
    """Two dead ends on the first joint and one on the last, 1,100 diamonds away."""
    k = 1100
    starts = 3 * np.arange(k)
    tails = np.concatenate([starts, starts, starts + 1, starts + 2, [3 * k], [0], [0]])
    heads = np.concatenate(
        [starts + 1, starts + 2, starts + 3, starts + 3, [3 * k + 1], [3 * k + 2], [3 * k + 3]]
    )
    w = None if weight is None else np.full(len(tails), weight)
    graph = Graph.from_edges(tails, heads, w, directed=False)
    n = graph.n_vertices
    got = betweenness(graph, [n - 1, n - 2], normalized=False, targets=[3 * k + 1]) * 2
    joint = np.arange(0, 3 * k + 1, 3)
    assert got[joint] == pytest.approx(np.full(k + 1, 2.0), rel=1e-12)
    assert got[joint[:-1] + 1] == pytest.approx(np.ones(k), rel=1e-12)
    assert got[-3:].tolist() == [0, 0, 0]


@pytest.mark.parametrize("dtype", ["int32", "unweighted"])
def test_threads_make_no_difference(dtype: str) -> None:
    rng = np.random.default_rng(5)
    tails, heads = rng.integers(0, 3000, (2, 4200))
    weights = None if dtype == "unweighted" else rng.integers(1, 9, 4200).astype(dtype)
    graph = Graph.from_edges(tails, heads, weights, n_vertices=3000)
    sources = rng.permutation(3000)[:700]
    first = betweenness(graph, sources, threads=1)
    for threads in (2, 5):
        assert (betweenness(graph, sources, threads=threads) == first).all()


@pytest.mark.parametrize("dtype", ["int32", "int64", "float32", "float64", "unweighted"])
@pytest.mark.parametrize("directed", [False, True])
def test_indices_of_64_bits(dtype: str, directed: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    rng = np.random.default_rng(1)
    tails, heads = rng.integers(0, 200, (2, 500 if directed else 230))
    weights = rng.integers(1, 5, len(tails))

    def solved() -> tuple[Graph, Any]:
        made = Graph.from_edges(tails, heads, weights, n_vertices=200, directed=directed)
        graph = as_dtype(made, dtype)
        return graph, betweenness(graph, threads=2)

    _, want = solved()
    monkeypatch.setattr("nearfar.graph.build.index_dtype", lambda n, m: np.dtype(np.int64))
    graph, got = solved()
    assert graph.indices.dtype == np.int64
    assert got == pytest.approx(want, rel=1e-12, abs=0)
