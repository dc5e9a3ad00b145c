"""All shortest paths from one source: their graph, their numbers, and each path."""

from __future__ import annotations

import itertools
import math

import numpy as np
import pytest
from hypothesis import given

import nearfar
from nearfar import Graph
from nearfar.errors import (
    DistanceOverflowError,
    NegativeWeightError,
    UnreachableError,
    VertexError,
    ZeroCycleError,
)
from nearfar.measures import all_shortest_paths, path_counts, shortest_path_dag
from tests.measures import counting
from tests.measures.test_betweenness import ladder
from tests.strategies import graphs
from tests.zoo import ZOO, as_dtype

nx = pytest.importorskip("networkx")


@given(graphs(max_vertices=10, max_edges=30))
def test_any_graph_by_definition(graph: Graph) -> None:
    try:
        want = counting.Dag(graph, 0)
    except counting.ZeroCycle:
        with pytest.raises(ZeroCycleError):
            shortest_path_dag(graph, 0)
        return
    dag = shortest_path_dag(graph, 0)
    assert sorted(dag.order.tolist()) == want.reached
    assert dag.order[0] == 0
    before = {v: [u for u in want.reached if v in want.after[u]] for v in want.reached}
    place = {v: i for i, v in enumerate(dag.order.tolist())}
    values = dag.counts.values()
    for v in range(graph.n_vertices):
        assert dag.predecessors_of(v) == before.get(v, [])
        for u, e in zip(
            dag.predecessors[dag.indptr[v] : dag.indptr[v + 1]].tolist(),
            dag.edges[dag.indptr[v] : dag.indptr[v + 1]].tolist(),
            strict=True,
        ):
            assert want.after[u][v] == e
            assert place[u] < place[v]
        exact = want.between(0, v) if v in before else 0
        assert dag.count_to(v) == values[v] == exact
        if exact == 0:
            with pytest.raises(UnreachableError):
                all_shortest_paths(graph, 0, v)
            continue
        found = all_shortest_paths(graph, 0, v)
        assert found.count == exact
        listed = [tuple(path) for path in itertools.islice(found, 200)]
        assert len(set(listed)) == len(listed) == min(exact, 200)
        for path in listed:
            assert (path[0], path[-1]) == (0, v)
            assert all(b in want.after[a] for a, b in itertools.pairwise(path))


@pytest.mark.parametrize("name", ["grid", "ring", "star", "disconnected", "parallel_edges", "path"])
def test_zoo_against_networkx(name: str) -> None:
    graph = ZOO[name]().without_weights()
    other = nx.DiGraph(list(zip(graph.tails().tolist(), graph.indices.tolist(), strict=True)))
    target = sorted(nx.descendants(other, 0))[-1]
    found = all_shortest_paths(graph, 0, target)
    some = {tuple(p) for p in itertools.islice(found, 500)}
    if found.count <= 500:
        assert some == {tuple(p) for p in nx.all_shortest_paths(other, 0, target)}
    assert found.length == nx.shortest_path_length(other, 0, target)


def test_ten_to_the_hundred_and_fifty_paths_start_at_once() -> None:
    graph = ladder(500)
    found = all_shortest_paths(graph, 0, 1500)
    assert found.count == 2**500
    first = next(iter(found))
    assert len(first) == 1001
    assert first[:3] == [0, 1, 3]
    assert "length 1000" in repr(found)
    again, once = iter(found), iter(found)
    assert [next(again) for _ in range(3)] == [next(once) for _ in range(3)]


def test_numbers_beyond_a_float() -> None:
    counts = path_counts(ladder(2000), 0)
    assert not counts.fit
    assert counts.log2()[6000] == 2000
    assert (counts.mantissas[-1], counts.exponents[-1]) == (0.5, 2001)
    assert np.isfinite(counts.log2()).all()
    with pytest.raises(DistanceOverflowError, match="2001"):
        counts.values()
    small = path_counts(ladder(1000), 0)
    assert small.fit
    assert small.values()[3000] == 2.0**1000


def test_names_limits_and_ends() -> None:
    other = nx.Graph()
    other.add_weighted_edges_from(
        [("a", "b", 1), ("b", "d", 1), ("a", "c", 1), ("c", "d", 1), ("d", "e", 4)]
    )
    found = all_shortest_paths(other, "a", "d")
    assert sorted(found) == [["a", "b", "d"], ["a", "c", "d"]]
    assert list(all_shortest_paths(other, "a", "a")) == [["a"]]
    dag = shortest_path_dag(other, "a", limit=2)
    assert (dag.source, dag.predecessors_of("e"), dag.count_to("e")) == ("a", [], 0)
    assert path_counts(other, "a", weight=None).values().tolist() == [1, 1, 2, 1, 2]
    assert math.isinf(path_counts(other, "a", limit=2).log2()[-1])
    with pytest.raises(VertexError, match="target 'x'"):
        all_shortest_paths(other, "a", "x")
    with pytest.raises(VertexError, match="source 'x'"):
        path_counts(other, "x")
    with pytest.raises(NegativeWeightError):
        path_counts(Graph.from_edges([0], [1], [-1]), 0)


def test_sums_beyond_32_bits() -> None:
    top = 2**31 - 2
    graph = Graph.from_edges([0, 1, 0, 3], [1, 2, 3, 2], np.array([top] * 4, dtype=np.int32))
    assert shortest_path_dag(graph, 0).count_to(2) == 2


def test_a_tolerance() -> None:
    graph = Graph.from_edges([0, 1, 0], [1, 2, 2], [0.1, 0.2, 0.3])
    assert path_counts(graph, 0).values()[2] == 1
    assert path_counts(graph, 0, tolerance=1e-9).values()[2] == 2


@pytest.mark.parametrize("name", ZOO)
def test_edges_of_a_path(name: str) -> None:
    graph = as_dtype(ZOO[name](), "int64")
    paths = nearfar.sssp(graph, 0)
    tails = graph.tails()
    for v in np.flatnonzero(paths.reachable)[::7].tolist():
        edges, steps = paths.edges_to(v), paths.path_to(v)
        assert [*tails[edges].tolist(), v] == steps
        assert graph.indices[edges].tolist() == steps[1:]
        assert graph.effective_weights[edges].sum() == paths.distance_to(v)


def test_edges_of_a_path_with_parallel_edges() -> None:
    graph = Graph.from_edges(
        [0, 0, 0, 1, 1],
        [1, 1, 1, 2, 2],
        [9, 2, 2, 5, 4],
        vertex_names=np.array(list("xyz")),
        names=False,
    )
    paths = nearfar.sssp(graph, "x")
    assert paths.edges_to("z").tolist() == [1, 4]
    assert paths.edges_to("x").tolist() == []
    with pytest.raises(UnreachableError):
        nearfar.sssp(graph, "z").edges_to("x")


@pytest.mark.parametrize("prepared", [False, True])
@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_the_order_of_additions_makes_no_path_longer(dtype: str, prepared: bool) -> None:
    """From left to right 0.1 + 0.2 + 0.3 is more than 0.3 + 0.2 + 0.1."""
    steps = np.array([0.1, 0.2, 0.3], dtype)
    graph = Graph.from_edges(
        [0, 1, 2, 0, 4, 5], [1, 2, 3, 4, 5, 3], np.concatenate([steps, steps[::-1]])
    )
    if prepared:
        graph = nearfar.prepare(graph, "multilevel", force=True)
    assert path_counts(graph, 0).values().tolist() == [1, 1, 1, 2, 1, 1]
    assert all_shortest_paths(graph, 0, 3).count == 2
    found = nearfar.measures.betweenness(graph, normalized=False)
    assert found.tolist() == [0, 1.5, 1.5, 0, 1.5, 1.5]
