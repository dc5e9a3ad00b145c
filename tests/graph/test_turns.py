"""Turn costs and forbidden turns, compared with a search over edges by hand."""

from __future__ import annotations

import heapq
import itertools
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import nearfar
from nearfar import Graph
from nearfar.errors import GraphError, OptionError, ProofError, UnreachableError, VertexError
from tests.strategies import graphs


def by_hand(
    graph: Graph, source: int, forbidden: set[Any], costs: dict[Any, Any], closed: set[int]
) -> list[float]:
    """Return distances of a Dijkstra search whose states are the last edges of paths."""
    found = [float("inf")] * graph.n_vertices
    found[source] = 0.0
    best: dict[int, float] = {-1: 0.0}
    heap = [(0.0, -1)]
    while heap:
        d, a = heapq.heappop(heap)
        if d > best[a]:
            continue
        v = source if a < 0 else int(graph.indices[a])
        if a >= 0 and v != source:
            found[v] = min(found[v], d)
        if a >= 0 and v in closed:
            continue
        for b in range(graph.indptr[v], graph.indptr[v + 1]):
            if (a, b) in forbidden:
                continue
            through = d + graph.effective_weights[b].item() + costs.get((a, b), 0)
            if through < best.get(b, float("inf")):
                best[b] = through
                heapq.heappush(heap, (through, b))
    return found


def turns_of(graph: Graph) -> list[tuple[int, int]]:
    return [
        (a, b)
        for a in range(graph.n_edges)
        for b in range(graph.indptr[graph.indices[a]], graph.indptr[graph.indices[a] + 1])
    ]


@given(graphs(max_vertices=7, max_edges=14, dtypes=("int32", "int64", "unweighted")), st.data())
def test_any_graph_by_hand(graph: Graph, data: Any) -> None:
    possible = turns_of(graph)
    some = st.sets(st.sampled_from(possible), max_size=12) if possible else st.just(set())
    forbidden = data.draw(some)
    costs = {turn: data.draw(st.integers(0, 9)) for turn in sorted(data.draw(some))}
    closed = data.draw(st.sets(st.integers(0, graph.n_vertices - 1), max_size=2))
    turns = graph.with_turns(forbidden=forbidden, costs=costs, closed=closed)
    matrix = nearfar.distances(turns)
    for source in range(graph.n_vertices):
        want = by_hand(graph, source, forbidden, costs, closed)
        paths = nearfar.sssp(turns, source)
        assert [paths.distance_to(v) for v in range(graph.n_vertices)] == want
        assert (matrix[source][paths.reachable] == paths.distances[paths.reachable]).all()
        for target in np.flatnonzero(paths.reachable).tolist():
            edges = paths.edges_to(target).tolist()
            total = sum(graph.effective_weights[e].item() for e in edges)
            for a, b in itertools.pairwise(edges):
                assert (a, b) not in forbidden
                assert graph.indices[a] not in closed
                total += costs.get((a, b), 0)
            assert total == want[target]
            assert paths.path_to(target) == [source, *graph.indices[edges].tolist()]
        for target in np.flatnonzero(~paths.reachable).tolist():
            with pytest.raises(UnreachableError):
                paths.edges_to(target)


def town() -> Graph:
    """Return a crossing m with four arms, each in both directions, and a way around."""
    ends = [("n", "m"), ("e", "m"), ("s", "m"), ("w", "m"), ("n", "e")]
    pairs = [*ends, *((b, a) for a, b in ends)]
    names = np.array(list("nesmw"))
    place = {name: i for i, name in enumerate("nesmw")}
    s, t = zip(*((place[a], place[b]) for a, b in pairs), strict=True)
    return Graph.from_edges(s, t, [1, 1, 1, 1, 5] * 2, vertex_names=names, names=False)


def test_a_prepared_graph_takes_turns() -> None:
    graph = town()
    ready = nearfar.prepare(graph, force=True)
    turns = ready.with_turns(forbidden=[("n", "m", "e")])
    again = nearfar.prepare(turns, force=True)
    want = nearfar.distances(graph.with_turns(forbidden=[("n", "m", "e")]))
    assert np.array_equal(nearfar.distances(turns), want)
    assert np.array_equal(nearfar.distances(again), want)
    assert "prepared" not in repr(turns.original)


def test_names_and_vertex_triples() -> None:
    graph = town()
    free = graph.with_turns()
    assert nearfar.shortest_path(free, "n", "e") == (["n", "m", "e"], 2)
    assert free.graph.n_vertices == graph.n_vertices
    no_left = graph.with_turns(forbidden=[("n", "m", "e")])
    # Turning round in the next street is a turn like any.
    assert nearfar.shortest_path(no_left, "n", "e") == (["n", "m", "s", "m", "e"], 4)
    strict = graph.with_turns(
        forbidden=[("n", "m", "e"), *(("m", arm, "m") for arm in "swn")], costs={}
    )
    assert nearfar.shortest_path(strict, "n", "e") == (["n", "e"], 5)
    around = nearfar.sssp(graph.with_turns(costs={("n", "m", "e"): 1}), "n")
    assert (around.path_to("e"), around.distance_to("e")) == (["n", "m", "e"], 3)
    assert around.source == "n"
    assert [path.tolist() for path in around.paths_to(["s", "n"])] == [["n", "m", "s"], ["n"]]
    assert "TurnGraph(" in repr(no_left)


def test_a_path_may_turn_round_where_it_must() -> None:
    graph = town()
    turns = graph.with_turns(forbidden=[("n", "m", "e"), ("n", "e", "m")], costs={})
    # The path to the west through e needs a forbidden turn; straight ahead is free.
    assert nearfar.shortest_path(turns, "n", "w") == (["n", "m", "w"], 2)
    none = graph.with_turns(forbidden=[("n", "m", x) for x in "ew"] + [("n", "e", "m")])
    path, length = nearfar.shortest_path(none, "n", "w")
    assert path == ["n", "m", "s", "m", "w"]
    assert length == 4


def test_closed_vertices() -> None:
    graph = town()
    turns = graph.with_turns(closed=["m"])
    assert nearfar.shortest_path(turns, "n", "m") == (["n", "m"], 1)
    assert nearfar.shortest_path(turns, "m", "w") == (["m", "w"], 1)
    with pytest.raises(UnreachableError):
        nearfar.shortest_path(turns, "s", "w")
    found = nearfar.distances(turns, ["n", "m"], targets=["e", "m", "w"])
    assert found.tolist() == [[5, 1, np.iinfo(found.dtype).max], [1, 0, 1]]
    pairs = nearfar.distances(turns, pairs=[("n", "e"), ("m", "m")])
    assert pairs.tolist() == [5, 0]


def test_other_weights() -> None:
    graph = town()
    turns = graph.with_turns(costs={("n", "m", "e"): 2})
    assert nearfar.sssp(turns, "n").distance_to("e") == 4
    heavier = turns.with_weights(graph.weights * 10)
    assert nearfar.sssp(heavier, "n").distance_to("e") == 22
    assert nearfar.sssp(heavier, "n", limit=21).distance_to("e") == float("inf")
    with pytest.raises(GraphError):
        turns.with_weights([1, 2])
    floats = turns.with_weights(np.full(graph.n_edges, 0.5))
    assert nearfar.sssp(floats, "n").distance_to("e") == 0.5


def test_wide_costs() -> None:
    graph = Graph.from_edges([0, 1], [1, 2], np.array([1, 1], np.int32))
    turns = graph.with_turns(costs={(0, 1, 2): 2**31})
    assert nearfar.sssp(turns, 0).distance_to(2) == 2**31 + 2
    assert nearfar.sssp(turns, 0, targets=[1]).distance_to(1) == 1


def test_errors() -> None:
    graph = town()
    for turn, message in (
        (("n", "e", "w"), "no edge from 'e' to 'w'"),
        (("n", "s", "m"), "no edge from 'n' to 's'"),
        ((0,), "two edges, or three"),
        ("abc", "two edges, or three"),
        ((0, 99), "edge 99 is not in the graph"),
        ((0, 0), "does not begin where"),
    ):
        with pytest.raises(GraphError, match=message):
            graph.with_turns(forbidden=[turn])
    with pytest.raises(VertexError, match="'x'"):
        graph.with_turns(forbidden=[("n", "x", "e")])
    for cost in (-1, float("inf"), "a", True):
        with pytest.raises(GraphError, match="at least 0"):
            graph.with_turns(costs={("n", "m", "e"): cost})
    with pytest.raises(GraphError, match="integers"):
        graph.with_turns(costs={("n", "m", "e"): 0.5})
    turns = graph.with_turns(closed=["m"])
    with pytest.raises(OptionError, match="no single predecessor"):
        _ = nearfar.sssp(turns, "n").predecessors
    with pytest.raises(OptionError, match="no single predecessor"):
        nearfar.sssp(turns, "n", predecessors=True)
    with pytest.raises(OptionError, match="no single predecessor"):
        nearfar.distances(turns, predecessors=True)
    with pytest.raises(OptionError, match="reduce cannot be combined with out"):
        nearfar.distances(turns, reduce="sum", out="csr")
    with pytest.raises(OptionError, match="no single predecessor"):
        nearfar.nearest(turns, ["n"], predecessors=True)
    with pytest.raises(VertexError, match="target 'x'"):
        nearfar.sssp(turns, "n", targets=["x"])


def test_answers_with_turns_are_proven_in_the_graph_that_was_searched() -> None:
    graph = town()
    turns = graph.with_turns(forbidden=[("n", "m", "e")])
    paths = nearfar.sssp(turns, "n")
    nearfar.verify(turns, paths)
    with pytest.raises(OptionError, match="give the TurnGraph"):
        nearfar.verify(graph, paths)
    with pytest.raises(OptionError, match="but not the answer"):
        nearfar.verify(turns, nearfar.sssp(graph, "n"))
    paths.distances[graph.index_of("e")] -= 1
    with pytest.raises(ProofError, match="graph that was searched"):
        nearfar.verify(turns, paths)
    paths.searched.distances[graph.index_of("e")] -= 1
    with pytest.raises(ProofError, match="vertex"):
        nearfar.verify(turns, paths)


def test_what_takes_no_turns_says_so() -> None:
    turns = town().with_turns(forbidden=[("n", "m", "e")])
    for call in (nearfar.measures.path_counts, nearfar.measures.shortest_path_dag):
        with pytest.raises(GraphError, match=r"got a TurnGraph, .* use its \.original"):
            call(turns, "n")
