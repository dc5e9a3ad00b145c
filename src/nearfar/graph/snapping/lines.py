"""Lines of edges on a map: the points between their ends, stored in the graph."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from nearfar.errors import GraphError
from nearfar.graph.build import row_edges, row_starts, unpaired_edge
from nearfar.graph.given import as_numpy
from nearfar.graph.slots import Slot

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from nearfar.graph.graph import Graph

#: Key of the lines in a graph's ``attributes``; they refer to edges by position.
EDGE_LINES = "edge_lines"
#: Key of the closed edges and their original heads.
CLOSED_EDGES = "closed_edges"
#: Attributes that refer to edges by position.
OF_EDGES = ("edge_keys", "edge_rows", "edge_columns", EDGE_LINES, CLOSED_EDGES)


class EdgeLines(NamedTuple):
    """Points of every edge between its ends; the ends have the coordinates of the vertices."""

    # shape (m + 1,); the points of edge `e` are `xy[first[e]:first[e + 1]]`, from tail to head
    first: NDArray[np.int64]
    xy: NDArray[np.float64]  # shape (k, 2)


_LINES: Slot[EdgeLines] = Slot("lines of edges")


def tails_of(graph: Graph, edges: NDArray[Any]) -> NDArray[np.int64]:
    """Return the tails of some edges; O(log n) per edge."""
    # Converted to the dtype of the rows, which NumPy would otherwise copy.
    found = np.searchsorted(graph.indptr, edges.astype(graph.indptr.dtype), side="right")
    return found.astype(np.int64) - 1


class ClosedEdges(NamedTuple):
    """Closed edges, which the graph stores as self-loops."""

    edge: NDArray[np.int64]  # positions in ascending order
    head: NDArray[np.int64]  # original heads

    def among(self, edges: NDArray[np.int64]) -> tuple[NDArray[np.bool_], NDArray[np.int64]]:
        """Return whether each edge is closed, and its index in these arrays."""
        at = np.minimum(np.searchsorted(self.edge, edges), max(len(self.edge) - 1, 0))
        return (self.edge[at] == edges if len(self.edge) else np.zeros(len(edges), bool)), at


def edge_lines(graph: Graph) -> EdgeLines | None:
    """Return the lines of a graph, validated once; None if all edges are straight."""
    if EDGE_LINES not in graph.attributes:
        return None
    return _LINES.of(graph, lambda: _checked(graph, *graph.attributes[EDGE_LINES]))


def _checked(graph: Graph, first: Any, xy: Any) -> EdgeLines:
    """Return lines after checking that they match the edges."""
    lines = EdgeLines(np.asarray(first, np.int64), np.asarray(xy, np.float64))
    fits = lines.first.shape == (graph.n_edges + 1,) and lines.first[0] == 0
    fits = fits and lines.xy.shape == (int(lines.first[-1]), 2)
    if not fits or (np.diff(lines.first) < 0).any() or not np.isfinite(lines.xy).all():
        raise GraphError(f"attributes[{EDGE_LINES!r}] does not belong to {graph.n_edges} edges")
    return lines


def lines_from(
    counts: NDArray[np.int64], xy: NDArray[np.float64], rows: NDArray[np.int64], back: NDArray[Any]
) -> EdgeLines:
    """Return the lines of edges from the lines of a table.

    Row ``r`` has ``counts[r]`` points of ``xy``; edge ``e`` is on row ``rows[e]``, in the opposite
    direction if ``back[e]``. First and last points, which are the ends, are omitted.
    """
    begin = np.cumsum(counts) - counts
    inner = np.maximum(counts - 2, 0)[rows]
    first = row_starts(inner)
    step = np.where(back, -1, 1)
    start = np.where(back, begin[rows] + counts[rows] - 2, begin[rows] + 1)
    along = np.arange(first[-1]) - np.repeat(first[:-1], inner)
    return EdgeLines(first, xy[np.repeat(start, inner) + np.repeat(step, inner) * along])


def line_points(
    graph: Graph, edges: NDArray[np.int64], lines: EdgeLines | None
) -> tuple[NDArray[np.int64], NDArray[np.float64]]:
    """Return offsets and coordinates of all points of some edges, including the ends."""
    xy: Any = graph.coordinates
    tails = tails_of(graph, edges)
    ends = np.stack([xy[tails], xy[graph.indices[edges]]], axis=1)
    if lines is None:
        return 2 * np.arange(len(edges) + 1), ends.reshape(-1, 2)
    which, inner = row_edges(lines.first, edges)
    first = row_starts(lines.first[edges + 1] - lines.first[edges] + 2)
    points = np.empty((int(first[-1]), 2))
    points[first[:-1]], points[first[1:] - 1] = ends[:, 0], ends[:, 1]
    points[np.arange(len(inner)) + 2 * which + 1] = lines.xy[inner]
    return first, points


def route_points(graph: Graph, edges: NDArray[np.int64]) -> NDArray[np.float64]:
    """Return the line of consecutive edges, without repeating the vertices between them."""
    first, points = line_points(graph, np.asarray(edges, np.int64), edge_lines(graph))
    once = np.ones(len(points), bool)
    once[first[1:-1]] = False
    return points[once]


def edge_positions(graph: Graph, edges: Any) -> NDArray[np.int64]:
    """Check positions of edges, and return them sorted and distinct."""
    at = np.atleast_1d(as_numpy(edges, "edges"))
    if at.ndim != 1 or (at.size and at.dtype.kind not in "iu"):
        raise GraphError(
            f"edges has shape {at.shape} and dtype {at.dtype}: give positions of edges"
        )
    at = np.unique(at.astype(np.int64))
    wrong = at[(at < 0) | (at >= graph.n_edges)]
    if len(wrong):
        raise GraphError(f"edge {wrong[0]} does not exist: the graph has {graph.n_edges} edges")
    return at


def closed_of(graph: Graph) -> ClosedEdges | None:
    """Return the closed edges of a graph, or None if it has none."""
    found = graph.attributes.get(CLOSED_EDGES)
    return None if found is None else ClosedEdges(*found)


def closed_edges(
    graph: Graph, edges: Any
) -> tuple[NDArray[Any], NDArray[Any] | None, dict[str, Any], bool]:
    """Close edges: return heads, weights, attributes and whether the graph remains undirected."""
    at = edge_positions(graph, edges)
    tails = tails_of(graph, at)
    heads = graph.indices[at].astype(np.int64)
    indices = graph.indices.copy()
    indices[at] = tails
    changed = graph.weights
    if changed is not None and (changed[at] < 0).any():  # no loop may be a negative cycle
        changed = changed.copy()
        changed[at] = np.maximum(changed[at], 0)
    before = closed_of(graph)
    closed = ClosedEdges(at, heads)
    if before is not None:
        new = ~before.among(at)[0]
        both = np.concatenate([before.edge, at[new]])
        order = np.argsort(both)
        closed = ClosedEdges(both[order], np.concatenate([before.head, heads[new]])[order])
    weights = graph.effective_weights[at]
    symmetric = not graph.directed and unpaired_edge(tails, heads, weights) is None
    attributes = {**graph.attributes, CLOSED_EDGES: closed}
    lines = edge_lines(graph)
    if lines is not None:  # closed edges are not drawn
        counts = np.diff(lines.first)
        kept = np.repeat(~np.isin(np.arange(graph.n_edges), at), counts)
        counts[at] = 0
        attributes[EDGE_LINES] = EdgeLines(row_starts(counts), lines.xy[kept])
    return indices, changed, attributes, symmetric
