"""Turn costs and forbidden turns: a graph whose vertices say where a path came from.

A vertex at which no turn differs from another stays one vertex. Any other vertex ``v`` becomes

- an end, where paths to ``v`` arrive and from which none goes on,
- a start, from which paths from ``v`` leave, and
- a copy for each edge into ``v``, from which the turns allowed after that edge lead on.

An edge leads to the end of ``v`` and to its copy there, with its weight and the cost of the turn
before it. A vertex that no path may pass through has no copies. So any search of this graph obeys
the turns, and a path in it is a path of the original one, edge by edge.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from nearfar.errors import GraphError, quoted

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from numpy.typing import ArrayLike, NDArray

    from nearfar.graph.graph import Graph

__all__ = ["TurnGraph", "with_turns"]


class TurnGraph:
    """A graph with turn costs, made by :meth:`nearfar.Graph.with_turns`.

    :func:`nearfar.sssp`, :func:`nearfar.shortest_path` and :func:`nearfar.distances` take it, and
    :func:`nearfar.measures.edge_loads` and :func:`nearfar.measures.skims`; answers are in vertices
    and edges of the original graph.

    Attributes
    ----------
    original : Graph
        The graph it was made of.
    graph : Graph
        The graph that is searched, without names. Its vertices 0 to n - 1 are where paths to the
        original vertices end.
    starts : int64 array, shape (n,)
        The vertex of :attr:`graph` where paths from each original vertex begin.
    edges : int64 array, shape (m,)
        The original edge that each edge of :attr:`graph` stands for.
    extra : array, shape (m,)
        The cost of the turn before it, in units of the weights.
    """

    def __init__(
        self,
        original: Graph,
        graph: Graph,
        starts: NDArray[np.int64],
        edges: NDArray[np.int64],
        extra: NDArray[Any],
    ) -> None:
        self.original, self.graph = original, graph
        self.starts, self.edges, self.extra = starts, edges, extra

    def with_weights(self, weights: ArrayLike) -> TurnGraph:
        """The same turns for other weights of the original edges.

        Parameters
        ----------
        weights : array, shape (m,)
            In the order of :attr:`nearfar.Graph.indices` of the original graph.

        Returns
        -------
        TurnGraph

        Raises
        ------
        GraphError
            If there is not one weight per edge, or one is not a finite number.
        """
        original = self.original.with_weights(weights)
        there = original.effective_weights[self.edges]
        whole = there.dtype.kind == "i" and self.extra.dtype.kind == "f"
        extra = self.extra if whole else self.extra.astype(there.dtype)
        return TurnGraph(
            original, self.graph.with_weights(there + extra), self.starts, self.edges, self.extra
        )

    def __repr__(self) -> str:
        return (
            f"TurnGraph({self.original!r}; searched with {self.graph.n_vertices:,} vertices and "
            f"{self.graph.n_edges:,} edges)"
        )


def with_turns(
    graph: Graph,
    forbidden: Iterable[Any],
    costs: Mapping[Any, Any],
    closed: Iterable[Any],
) -> TurnGraph:
    """See :meth:`nearfar.Graph.with_turns`."""
    n, m = graph.n_vertices, graph.n_edges
    tails, heads = graph.tails(np.int64), graph.indices.astype(np.int64)
    banned = {turn for given in forbidden for turn in _turns(graph, given)}
    priced: dict[tuple[int, int], Any] = {}
    for given, cost in costs.items():
        _check_cost(graph, given, cost)
        priced |= dict.fromkeys(_turns(graph, given), cost)
    shut = np.zeros(n, dtype=bool)
    shut[graph.indices_of(list(closed))] = True
    ruled = shut.copy()
    ruled[[heads[a] for a, _ in banned | priced.keys()]] = True

    starts = np.arange(n, dtype=np.int64)
    at = np.flatnonzero(ruled)
    starts[at] = n + np.arange(len(at))
    copied = np.flatnonzero(ruled[heads] & ~shut[heads])  # edges whose end has a copy for them
    copy = np.full(m, -1, dtype=np.int64)
    copy[copied] = n + len(at) + np.arange(len(copied))

    # Every edge from the start of its tail, and from each copy there that allows the turn.
    degrees = graph.degrees.astype(np.int64)[heads[copied]]
    into = np.repeat(copied, degrees)
    shift = np.arange(len(into)) - np.repeat(np.cumsum(degrees) - degrees, degrees)
    out = graph.indptr.astype(np.int64)[heads[into]] + shift
    extra = np.zeros(len(into), dtype=_cost_dtype(graph, priced))
    allowed = np.ones(len(into), dtype=bool)
    keys = into * m + out
    order = np.argsort(keys)

    def places(turns: Iterable[tuple[int, int]]) -> NDArray[np.int64]:
        """Where these turns stand; one at a closed vertex stands nowhere."""
        listed = [a * m + b for a, b in turns if not shut[heads[a]]]
        found: NDArray[np.int64] = order[np.searchsorted(keys, listed, sorter=order)]
        return found

    allowed[places(banned)] = False
    extra[places(priced)] = [cost for (a, _), cost in priced.items() if not shut[heads[a]]]
    everything = np.arange(m)
    states = np.concatenate([starts[tails], copy[into[allowed]]])
    edges = np.concatenate([everything, out[allowed]])
    extra = np.concatenate([np.zeros(m, dtype=extra.dtype), extra[allowed]])
    onward = np.flatnonzero(copy[edges] >= 0)
    states = np.concatenate([states, states[onward]])
    ends = np.concatenate([heads[edges], copy[edges[onward]]])
    edges = np.concatenate([edges, edges[onward]])
    extra = np.concatenate([extra, extra[onward]])

    order = np.argsort(states, kind="stable")  # as the rows of the graph will be
    weights = graph.effective_weights[edges[order]] + extra[order]
    searched = type(graph).from_edges(
        states[order], ends[order], weights, n_vertices=n + len(at) + len(copied)
    )
    return TurnGraph(graph, searched, starts, edges[order], extra[order])


def _turns(graph: Graph, given: Any) -> list[tuple[int, int]]:
    """The pairs of edges that a turn stands for: two edges, or three vertices."""
    size = len(given) if hasattr(given, "__len__") and not isinstance(given, str) else 0
    if size == 2:
        a, b = (_edge(graph, e) for e in given)
        if int(graph.indices[a]) != int(np.searchsorted(graph.indptr, b, side="right")) - 1:
            raise GraphError(f"turn {quoted(given)}: edge {b} does not begin where edge {a} ends")
        return [(a, b)]
    if size != 3:
        raise GraphError(
            f"turn {quoted(given)}: give two edges, or three vertices: from, via and to"
        )
    u, v, w = (graph.index_of(vertex, "vertex") for vertex in given)
    rows = [np.arange(graph.indptr[x], graph.indptr[x + 1]) for x in (u, v)]
    first = rows[0][graph.indices[rows[0]] == v].tolist()
    second = rows[1][graph.indices[rows[1]] == w].tolist()
    if not first or not second:
        missing = (given[0], given[1]) if not first else (given[1], given[2])
        raise GraphError(
            f"turn {quoted(given)}: there is no edge from {quoted(missing[0])} to "
            f"{quoted(missing[1])}"
        )
    return [(a, b) for a in first for b in second]


def _edge(graph: Graph, e: Any) -> int:
    whole = isinstance(e, (int, np.integer)) and not isinstance(e, bool)
    if not whole or not 0 <= e < graph.n_edges:
        raise GraphError(f"edge {quoted(e)} is not in the graph: give 0 to {graph.n_edges - 1}")
    return int(e)


def _check_cost(graph: Graph, given: Any, cost: Any) -> None:
    number = isinstance(cost, (int, float, np.number)) and not isinstance(cost, bool)
    if not number or not 0 <= cost < np.inf:
        raise GraphError(
            f"the cost of turn {quoted(given)} is {quoted(cost)}: give a number of at least 0; "
            "forbidden= takes turns that are not allowed"
        )
    if graph.weight_dtype.kind == "i" and int(cost) != cost:
        raise GraphError(
            f"the cost of turn {quoted(given)} is {cost}, but weights are whole numbers: use "
            "graph.astype('float64')"
        )


def _cost_dtype(graph: Graph, priced: dict[tuple[int, int], Any]) -> Any:
    """That of the weights, or 64 bits where a cost does not fit it."""
    dtype = graph.weight_dtype
    most = max(priced.values(), default=0)
    if dtype.kind == "i" and most + graph.max_weight > np.iinfo(dtype).max - 1:
        return np.dtype(np.int64)
    return dtype
