"""Graphs with turn costs and forbidden turns, whose vertices record by which edge a path arrived.

A vertex without forbidden or costly turns remains one vertex. Any other vertex ``v`` becomes

- an end, where paths to ``v`` end,
- a start, where paths from ``v`` begin, and
- a copy for each edge into ``v``, from which the turns allowed after that edge leave.

An edge leads to its own copy of the head, with its weight plus the cost of the turn before it.
Links of weight 0 lead from the start and from all copies of ``v`` to its end. A vertex that no path
may pass through has no copies: edges lead to its end. Therefore any search of this graph obeys the
turns, and its paths, without the links, are paths of the original graph, edge by edge.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np

from nearfar.errors import GraphError, quoted
from nearfar.graph.build import row_edges
from nearfar.graph.convert import is_number
from nearfar.graph.snapping.lines import tails_of

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from numpy.typing import ArrayLike, NDArray

    from nearfar.graph.graph import Graph


@dataclass(eq=False, repr=False)
class TurnGraph:
    """Graph with turn costs, built by :meth:`nearfar.Graph.with_turns`.

    The following functions accept it and return vertices and edges of the original graph:
    :func:`nearfar.sssp`, :func:`nearfar.shortest_path`, :func:`nearfar.distances`,
    :func:`nearfar.nearest`, :func:`nearfar.k_shortest_paths`, :func:`nearfar.isochrone`,
    :func:`nearfar.prepare`, the measures (except those that list or count individual shortest
    paths), and between places :func:`nearfar.table`, :func:`nearfar.nearest_places`,
    :func:`nearfar.route`, :func:`nearfar.isochrones` and :func:`nearfar.accessibility`.
    :func:`nearfar.routes` accepts it if it is prepared.

    Attributes
    ----------
    original : Graph
        Original graph.
    graph : Graph
        Graph that searches run on, without names.
    starts, ends : int64 arrays, shape (n,)
        Vertices of ``graph`` where paths from and to each original vertex begin and end.
    vertices : int64 array
        Original vertex of each vertex of ``graph``.
    edges : int64 array, shape (m,)
        Original edge of each edge of ``graph``; -1 for a link to an end.
    extra : array, shape (m,)
        Cost of the turn before each edge, in units of the weights.
    """

    original: Graph
    graph: Graph
    starts: NDArray[np.int64]
    ends: NDArray[np.int64]
    vertices: NDArray[np.int64]
    edges: NDArray[np.int64]
    extra: NDArray[Any]
    _reverse: TurnGraph | None = field(default=None, init=False)

    @property
    def n_vertices(self) -> int:
        """Number of vertices of the original graph."""
        return self.original.n_vertices

    #: Always true: turns have a direction even if the edges have none.
    directed = True

    @property
    def weight_dtype(self) -> np.dtype[Any]:
        """Dtype of the weights of :attr:`graph`."""
        return self.graph.weight_dtype

    @property
    def n_negative(self) -> int:
        """Number of negative weights of the original graph."""
        return self.original.n_negative

    @property
    def first_negative(self) -> int:
        """Position of the first original edge with a negative weight, or -1."""
        return self.original.first_negative

    def name_of(self, vertex: Any) -> Any:
        """Return external names, as :meth:`nearfar.Graph.name_of` does."""
        return self.original.name_of(vertex)

    def indices_of(self, vertices: Any, what: str = "vertex") -> NDArray[np.int64]:
        """Return the indices of original vertices, as :meth:`nearfar.Graph.indices_of` does."""
        return self.original.indices_of(vertices, what)

    def searched_weights(self, weights: NDArray[Any]) -> NDArray[Any]:
        """Return the weights of the edges of :attr:`graph`, including the costs of turns."""
        whole = weights.dtype.kind == "i" and self.extra.dtype.kind == "f"
        extra = self.extra if whole else self.extra.astype(weights.dtype)
        found: NDArray[Any] = self.of_edges(weights) + extra
        return found

    def of_edges(self, values: NDArray[Any]) -> NDArray[Any]:
        """Return the values of the original edges at the edges of :attr:`graph`; 0 for links."""
        found = np.zeros(len(self.edges), dtype=values.dtype)
        real = self.edges >= 0
        found[real] = values[self.edges[real]]
        return found

    def to_edges(self, values: NDArray[Any]) -> NDArray[Any]:
        """Return sums over the edges of :attr:`graph` that correspond to each original edge."""
        found = np.zeros(self.original.n_edges, dtype=values.dtype)
        real = self.edges >= 0
        np.add.at(found, self.edges[real], values[real])
        return found

    def with_weights(self, weights: ArrayLike, *, unit: str | None = None) -> TurnGraph:
        """Return the same turns for other weights of the original edges.

        Parameters
        ----------
        weights : array, shape (m,)
            Weights in the order of :attr:`nearfar.Graph.indices` of the original graph.
        unit : str or None
            As for :meth:`nearfar.Graph.with_weights`.

        Returns
        -------
        TurnGraph

        Raises
        ------
        GraphError
            If the number of weights is not that of the edges, or a weight is not a finite number.
        """
        original = self.original.with_weights(weights, unit=unit)
        searched = self.graph.with_weights(self.searched_weights(original.effective_weights))
        return self._over(original, searched)

    def without_names(self) -> TurnGraph:
        """Return the same graph with the original vertices named by their indices.

        Returns
        -------
        TurnGraph
        """
        return self._over(self.original.without_names(), self.graph)

    def transpose(self) -> TurnGraph:
        """Return the graph with every edge and every turn reversed, cached; O(n + m).

        Returns
        -------
        TurnGraph
        """
        if self._reverse is None:
            _, order, _ = self.graph.entering()
            original = self.original
            if not original.directed:  # turns have a direction, so edges must have one too
                original = original._with_arrays(original._arrays, directed=True, attributes={})
            place = np.empty(original.n_edges, dtype=np.int64)
            place[original.entering()[1]] = np.arange(len(place))
            edges = self.edges[order]
            edges[edges >= 0] = place[edges[edges >= 0]]
            self._reverse = TurnGraph(
                original.transpose(),
                self.graph.transpose(),
                self.ends,
                self.starts,
                self.vertices,
                edges,
                self.extra[order],
            )
            self._reverse._reverse = self
        return self._reverse

    def _over(self, original: Graph, searched: Graph) -> TurnGraph:
        """Return the same vertices and turns with other graphs that have the same edges."""
        return TurnGraph(
            original, searched, self.starts, self.ends, self.vertices, self.edges, self.extra
        )

    def __repr__(self) -> str:
        return (
            f"{type(self).__name__}({self.original!r}; searched with {self.graph.n_vertices:,} "
            f"vertices and {self.graph.n_edges:,} edges)"
        )


def named_graph(graph: Graph | TurnGraph) -> Graph:
    """Return the caller's graph, which has the names and coordinates."""
    return graph.original if isinstance(graph, TurnGraph) else graph


def searched_graph(graph: Graph | TurnGraph) -> Graph:
    """Return the graph that searches run on."""
    return graph.graph if isinstance(graph, TurnGraph) else graph


def real_edges(turns: TurnGraph, path: NDArray[Any]) -> NDArray[np.int64]:
    """Return the original edges of a path in the searched graph."""
    edges: NDArray[np.int64] = turns.edges[path]
    return edges[edges >= 0]


def turn_heads(turns: TurnGraph, edges: NDArray[np.int64]) -> NDArray[np.int64]:
    """Return the vertices of the searched graph to which original edges lead."""
    which, found = row_edges(turns.graph.indptr, turns.starts[tails_of(turns.original, edges)])
    own = turns.edges[found] == edges[which]  # the edge from each start
    heads: NDArray[np.int64] = turns.graph.indices[found[own]].astype(np.int64)
    return heads


def turns_into(
    turns: TurnGraph, edges: NDArray[np.int64]
) -> tuple[NDArray[np.int64], NDArray[np.int64], NDArray[np.float64]]:
    """Return all turns into original edges: index of the edge, tail and cost of the turn.

    The tail is a vertex of the searched graph.
    """
    first, entering, tails = turns.graph.entering()
    which, at = row_edges(first, turn_heads(turns, edges))
    found = entering[at]
    own = turns.edges[found] == edges[which]
    found = found[own]
    return which[own], tails[found], turns.extra[found].astype(np.float64)


def with_turns(
    graph: Graph, forbidden: Iterable[Any], costs: Mapping[Any, Any], closed: Iterable[Any]
) -> TurnGraph:
    """Build the graph that :meth:`nearfar.Graph.with_turns` describes."""
    n, m = graph.n_vertices, graph.n_edges
    tails, heads = graph.tails(np.int64), graph.indices.astype(np.int64)
    banned, _ = _pairs(graph, list(forbidden), tails, heads)
    priced, turn_of = _pairs(graph, list(costs), tails, heads)
    added = _checked_costs(graph, costs)[turn_of]
    shut = np.zeros(n, dtype=bool)
    shut[graph.indices_of(list(closed))] = True
    ruled = shut.copy()
    ruled[heads[np.concatenate([banned[:, 0], priced[:, 0]])]] = True

    starts = np.arange(n, dtype=np.int64)
    at = np.flatnonzero(ruled)
    starts[at] = n + np.arange(len(at))
    copied = np.flatnonzero(ruled[heads] & ~shut[heads])  # edges with their own copy of the head
    copy = np.full(m, -1, dtype=np.int64)
    copy[copied] = n + len(at) + np.arange(len(copied))

    # One edge from the start of the tail, and one from each copy of the tail that allows the turn.
    which, out = row_edges(graph.indptr, heads[copied])
    into = copied[which]
    extra = np.zeros(len(into), dtype=_cost_dtype(graph, added))
    allowed = np.ones(len(into), dtype=bool)
    keys = into * m + out  # in ascending order

    def places(turns: NDArray[np.int64]) -> NDArray[np.int64]:
        """Return the positions of these turns, none of which is at a closed vertex."""
        return np.searchsorted(keys, turns[:, 0] * m + turns[:, 1])

    allowed[places(banned[~shut[heads[banned[:, 0]]]])] = False
    open_ = ~shut[heads[priced[:, 0]]]
    extra[places(priced[open_])] = added[open_]  # of a repeated turn the last cost is used
    ends = np.arange(n, dtype=np.int64)
    into, out, onward = into[allowed], out[allowed], extra[allowed]
    goal = np.where(copy >= 0, copy, heads)  # head of each edge
    # Links come first, to precede a parallel loop of weight 0 at a closed vertex.
    tail = np.concatenate([starts[at], copy[copied], starts[tails], copy[into]])
    head = np.concatenate([at, heads[copied], goal, goal[out]])
    links = np.full(len(at) + len(copied), -1)
    edges = np.concatenate([links, np.arange(m), out])
    extra = np.zeros(len(edges), dtype=extra.dtype)
    extra[len(links) + m :] = onward
    order = np.argsort(tail, kind="stable")  # the order of the graph's rows
    vertices = np.concatenate([ends, at, heads[copied]])
    turns = TurnGraph(graph, graph, starts, ends, vertices, edges[order], extra[order])
    weights = turns.searched_weights(graph.effective_weights.astype(extra.dtype, copy=False))
    turns.graph = type(graph).from_edges(
        tail[order], head[order], weights, n_vertices=len(vertices)
    )
    return turns


def _pairs(
    graph: Graph, turns: list[Any], tails: NDArray[np.int64], heads: NDArray[np.int64]
) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Return the pairs of edges of some turns, and the index of each pair's turn in the list."""
    if {type(turn) for turn in turns} == {tuple} and {len(turn) for turn in turns} == {2}:
        ends = np.fromiter((e for turn in turns for e in turn), dtype=object, count=2 * len(turns))
        if {type(e) for e in ends} == {int}:
            found = np.clip(ends.astype(np.float64), -1, len(heads)).astype(np.int64).reshape(-1, 2)
            if found.min() >= 0 and found.max() < len(heads):
                joined = heads[found[:, 0]] == tails[found[:, 1]]
                if joined.all():
                    return found, np.arange(len(turns))
    listed = [(pair, at) for at, turn in enumerate(turns) for pair in _turns(graph, turn)]
    pairs = np.array([pair for pair, _ in listed], dtype=np.int64).reshape(-1, 2)
    return pairs, np.array([at for _, at in listed], dtype=np.int64)


def _turns(graph: Graph, given: Any) -> list[tuple[int, int]]:
    """Return the pairs of edges of a turn: two edges, or three vertices."""
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


def _checked_costs(graph: Graph, costs: Mapping[Any, Any]) -> NDArray[Any]:
    """Check the costs, and return them as an array."""
    integers = graph.weight_dtype.kind == "i"
    for turn, cost in costs.items():
        if not is_number(cost) or not 0 <= cost < np.inf:
            raise GraphError(
                f"the cost of turn {quoted(turn)} is {quoted(cost)}: give a number of at least 0, "
                "and turns that are not allowed in forbidden="
            )
        if integers and int(cost) != cost:
            raise GraphError(
                f"the cost of turn {quoted(turn)} is {cost}, but weights are integers: use "
                "graph.astype('float64')"
            )
    kind, dtype = (int, np.int64) if integers else (float, np.float64)
    return np.array(list(map(kind, costs.values())), dtype=dtype)


def _cost_dtype(graph: Graph, costs: NDArray[Any]) -> Any:
    """Return the dtype of the weights, or its 64-bit form if a cost does not fit."""
    dtype = graph.weight_dtype
    most = int(costs.max(initial=0)) if dtype.kind == "i" else 0
    if dtype.kind == "i" and most + graph.max_weight > np.iinfo(dtype).max - 1:
        return np.dtype(np.int64)
    return dtype
