"""Connections between places and vertices: up to two from each place, and up to two to it.

A path from a place on an edge continues at the head of the edge, or on a two-way street also at the
tail, at the cost of the remaining fraction of the weight. A path to a place comes from the tail, or
likewise from the head. Two places on the same edge are also connected along it. A table between
places is then a table between few vertices and one min-plus step
(:mod:`nearfar.solve.places.table`).

With turn costs the vertices are those of the searched graph. A path from a place continues at the
copy of the vertex to which the edge leads. A path to a place comes from the start of the edge's
tail, and from every copy of the tail whose turn into the edge is allowed, at the cost of that turn.

:func:`with_place` makes the connections of one place edges of a graph.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from nearfar.errors import GraphError, VertexError
from nearfar.graph.build import row_edges, row_starts, runs
from nearfar.graph.graph import Graph
from nearfar.graph.snapping.lines import (
    EDGE_LINES,
    OF_EDGES,
    EdgeLines,
    closed_of,
    edge_lines,
    tails_of,
)
from nearfar.graph.snapping.snap import Snapped
from nearfar.graph.turns import TurnGraph, turn_heads, turns_into
from nearfar.solve.places.given import as_places


class Entries(NamedTuple):
    """Vertices next to places, and the costs between them; shapes are (k, w)."""

    # head of the place's edge, then the tail (w = 2); -1 for none. A place on a vertex has only
    # this vertex, in the first column. With turn costs, all connections in any order
    vertex: NDArray[np.int64]
    cost: NDArray[np.float64]  # cost between place and vertex; infinite without a path
    edge: NDArray[np.int64]  # edge that is travelled in part; -1 for a place on a vertex


def check_weights(graph: Graph) -> None:
    """Refuse negative weights, which cannot be divided."""
    if graph.n_negative:
        raise GraphError(
            f"edge {graph.first_negative} has a negative weight, which places cannot divide: give "
            "vertices"
        )


def entries(graph: Graph | TurnGraph, places: Snapped, leaving: bool) -> Entries:
    """Return the connections from places to vertices, or from vertices to places."""
    if isinstance(graph, TurnGraph):
        return _with_turns(graph, entries(graph.original, places, leaving), leaving)
    k = len(places)
    edge, back, share = places.edge, places.back, places.share
    vertex, taken = np.full((k, 2), -1, np.int64), np.full((k, 2), -1, np.int64)
    cost = np.full((k, 2), np.inf)
    on = places.vertex >= 0
    vertex[on, 0], cost[on, 0] = places.vertex[on], 0.0
    if (edge < 0).all():
        return Entries(vertex, cost, taken)
    tails = tails_of(graph, edge)
    heads = graph.indices[np.maximum(edge, 0)].astype(np.int64) if graph.n_edges else edge
    weights, closed = graph.effective_weights, closed_of(graph)
    if closed is not None:  # the head of a closed edge was replaced by its tail
        was, at = closed.among(edge)
        heads[was] = closed.head[at[was]]
    # A place at an end of an edge is the vertex, from which every edge can be taken.
    inside = (edge >= 0) & (share > 0) & (share < 1)
    for at_end, ends in ((share == 0, tails), (share == 1, heads)):
        here = (edge >= 0) & at_end
        vertex[here, 0], cost[here, 0] = ends[here], 0.0
    forth, against = (0, 1) if leaving else (1, 0)  # columns of both directions
    for column, way, rest, ends in (
        (forth, edge, 1 - share if leaving else share, heads if leaving else tails),
        (against, back, share if leaving else 1 - share, tails if leaving else heads),
    ):
        here = inside & (way >= 0)
        if closed is not None:
            here &= ~closed.among(way)[0]
        vertex[here, column], taken[here, column] = ends[here], way[here]
        cost[here, column] = rest[here] * weights[way[here]].astype(np.float64)
    return Entries(vertex, cost, taken)


def _with_turns(turns: TurnGraph, ways: Entries, leaving: bool) -> Entries:
    """Convert connections to vertices of the searched graph."""
    row, column = np.nonzero(ways.vertex >= 0)
    vertex, edge = ways.vertex[row, column], ways.edge[row, column]
    cost = ways.cost[row, column]
    on = edge < 0
    vertex = np.where(on, (turns.starts if leaving else turns.ends)[vertex], vertex)
    if leaving:
        vertex[~on] = turn_heads(turns, edge[~on])
    else:
        which, tails, extra = turns_into(turns, edge[~on])
        some = np.flatnonzero(~on)[which]
        row, edge = np.append(row[on], row[some]), np.append(edge[on], edge[some])
        vertex = np.append(vertex[on], tails)
        cost = np.append(cost[on], cost[some] + extra)
    order = np.argsort(row, kind="stable")
    row, vertex, cost, edge = row[order], vertex[order], cost[order], edge[order]
    counts = np.bincount(row, minlength=len(ways.vertex))
    _, place = runs(counts)
    shape = (len(counts), max(int(counts.max(initial=0)), 1))
    found = Entries(np.full(shape, -1), np.full(shape, np.inf), np.full(shape, -1))
    for of, values in zip(found, (vertex, cost, edge), strict=True):
        of[row, place] = values
    return found


def part(
    graph: Graph, places: Snapped, others: Snapped, i: NDArray[np.int64], j: NDArray[np.int64]
) -> NDArray[np.float64]:
    """Return the cost along an edge from place i to place j, both on that edge."""
    weights = graph.effective_weights
    edge, back = places.edge[i], places.back[i]
    ahead = others.share[j] - places.share[i]
    found = np.where(ahead >= 0, ahead * weights[edge].astype(np.float64), np.inf)
    turns = (ahead < 0) & (back >= 0)
    found[turns] = -ahead[turns] * weights[back[turns]].astype(np.float64)
    closed = closed_of(graph)
    if closed is not None:
        way = np.where(ahead >= 0, edge, back)
        found[closed.among(way)[0] & (ahead != 0)] = np.inf
    return found


def along_edge(
    graph: Graph, origins: Snapped, destinations: Snapped, found: NDArray[np.float64]
) -> None:
    """Add to a table the paths between places on the same edge that do not leave it."""
    i, j = same_edge(origins, destinations)
    if len(i):
        found[i, j] = np.minimum(found[i, j], part(graph, origins, destinations, i, j))


def same_edge(
    origins: Snapped, destinations: Snapped
) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Return the pairs of places that are on the same edge."""
    order = np.argsort(destinations.edge, kind="stable")
    sorted_edges = destinations.edge[order]
    first = np.searchsorted(sorted_edges, origins.edge, side="left")
    count = np.searchsorted(sorted_edges, origins.edge, side="right") - first
    count[origins.edge < 0] = 0
    i, at = runs(count, first)
    return i, order[at]


def with_place(graph: Graph, place: Any) -> tuple[Graph, Any]:
    """Return the graph with one place as its last vertex, and the name of that vertex.

    Weights become float64, since a fraction of a weight is not an integer. O(n + m).
    """
    options = {"to": "edge", "parts": "largest", "max_distance": None, "threads": None}
    snapped = as_places(graph, place, "source", options).snapped
    if len(snapped) != 1 or not snapped.found[0]:
        raise VertexError("source is several places, or none within max_distance: give one place")
    check_weights(graph)
    n = graph.n_vertices
    leave, arrive = (entries(graph, snapped, leaving) for leaving in (True, False))
    out, into = (ways.vertex[0] >= 0 for ways in (leave, arrive))
    tails = np.concatenate([graph.tails(np.int64), np.full(out.sum(), n), arrive.vertex[0][into]])
    heads = np.concatenate([graph.indices, leave.vertex[0][out], np.full(into.sum(), n)])
    costs = [graph.effective_weights, leave.cost[0][out], arrive.cost[0][into]]
    # A stable sort preserves the order of the graph's edges, with new ones last in each row.
    order = np.argsort(tails, kind="stable")
    indptr = np.searchsorted(tails[order], np.arange(n + 2))
    attributes = {k: v for k, v in graph.attributes.items() if k not in OF_EDGES}
    lines = edge_lines(graph)
    if lines is not None:
        attributes[EDGE_LINES] = _reordered(lines, order)
    made = Graph(
        indptr,
        heads[order],
        np.concatenate(costs).astype(np.float64)[order],
        directed=True,
        vertex_names=_names(graph, snapped.x[0], snapped.y[0]),
        coordinates=np.vstack([graph.coordinates, [snapped.x[0], snapped.y[0]]]),  # type: ignore[list-item]
        attributes=attributes,
        copy=False,
    )
    return made, made.name_of(n)


def _reordered(lines: EdgeLines, order: NDArray[np.int64]) -> EdgeLines:
    """Return the lines of edges in another order; additional edges are straight."""
    added = len(order) + 1 - len(lines.first)
    first = np.append(lines.first, np.full(added, lines.first[-1]))
    return EdgeLines(row_starts(np.diff(first)[order]), lines.xy[row_edges(first, order)[1]])


def _names(graph: Graph, x: float, y: float) -> Any:
    """Return the names of the vertices plus one, or None if there are none."""
    numbers = graph.vertex_numbers
    if numbers is not None:
        return None if graph.vertex_names is None else range(numbers.start, numbers.stop + 1)
    names = np.empty(graph.n_vertices + 1, dtype=object)
    names[:-1] = graph.vertex_names.tolist()  # type: ignore[union-attr]
    names[-1] = (float(x), float(y))
    return names
