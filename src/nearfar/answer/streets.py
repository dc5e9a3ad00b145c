"""Lines of edges on a map: straight, or through the points stored in the graph.

``attributes["edge_lines"]`` stores the points as ``(first, xy)``: edge ``e`` passes through
``xy[first[e]:first[e + 1]]`` between its ends, from tail to head. All functions that draw edges
use this module to cut them into straight parts.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from nearfar.answer.paths import lightest_edges
from nearfar.errors import GraphError
from nearfar.graph.build import row_edges
from nearfar.graph.geography import on_earth
from nearfar.graph.graph import Graph
from nearfar.graph.snapping.lines import edge_lines, line_points, route_points, tails_of


class Parts(NamedTuple):
    """Straight parts of some edges, ordered by edge from tail to head."""

    # shape (k,); edge of each part, by its position among the requested edges
    edge: NDArray[np.int64]
    # begin, end: shape (k, 2)
    begin: NDArray[np.float64]
    end: NDArray[np.float64]
    # since, until: shape (k,); fractions of the edge's length at both ends; with longitude and
    # latitude, of its length on the Earth
    since: NDArray[np.float64]
    until: NDArray[np.float64]

    @property
    def ends(self) -> NDArray[np.float64]:
        """Both ends, shape (k, 2, 2)."""
        return np.stack([self.begin, self.end], axis=1)

    def within(
        self, share: NDArray[np.float64], since: NDArray[np.float64] | None = None
    ) -> NDArray[np.float64]:
        """Return both ends of the parts up to a fraction of each edge, cutting the last part.

        ``since`` is another fraction, at which the first part is cut.
        """
        most = share[self.edge]
        kept = (self.since < most) | ((self.since == 0) & (most > 0))
        least = np.zeros(len(most)) if since is None else since[self.edge]
        kept &= (self.until > least) | (least == 0)
        most, least = most[kept], least[kept]
        begin, end = self.begin[kept], self.end[kept]
        length = np.maximum(self.until[kept] - self.since[kept], 1e-300)
        part = np.clip((most - self.since[kept]) / length, 0, 1)
        part[self.until[kept] <= most] = 1
        cut = np.clip((least - self.since[kept]) / length, 0, 1)
        step = end - begin
        return np.stack([begin + cut[:, None] * step, begin + part[:, None] * step], axis=1)


def map_coordinates(graph: Graph) -> NDArray[np.float64]:
    """Return the coordinates of a graph that is drawn."""
    if graph.coordinates is None:
        raise GraphError("the graph has no coordinates: a map needs x and y of every vertex")
    return graph.coordinates


def one_per_street(graph: Graph, edges: NDArray[np.int64]) -> NDArray[np.int64]:
    """Return the first edge of each line, such as one of both directions of a street."""
    tails, heads = tails_of(graph, edges), graph.indices[edges].astype(np.int64)
    pair = np.minimum(tails, heads) * graph.n_vertices + np.maximum(tails, heads)
    lines = edge_lines(graph)
    if lines is None:
        return np.unique(pair, return_index=True)[1]
    # The same points in either order have the same sums.
    counts = lines.first[edges + 1] - lines.first[edges]
    ends = np.cumsum(counts)
    sums = np.zeros((int(counts.sum()) + 1, 2))
    np.cumsum(lines.xy[row_edges(lines.first, edges)[1]], axis=0, out=sums[1:])
    inner = np.round(sums[ends] - sums[ends - counts], 6)
    return first_rows(np.column_stack((pair, counts, inner)))


def first_rows(rows: NDArray[np.float64]) -> NDArray[np.int64]:
    """Return the first position of each distinct row, in a tenth of the time of np.unique."""
    order = np.lexsort(rows.T[::-1])
    fresh = np.ones(len(order), dtype=bool)
    fresh[1:] = (rows[order[1:]] != rows[order[:-1]]).any(axis=1)
    first: NDArray[np.int64] = order[fresh]
    return first


def parts_of(graph: Graph, edges: NDArray[np.int64]) -> Parts:
    """Cut edges of a graph with coordinates into straight parts; O(points)."""
    lines = edge_lines(graph)
    start, points = line_points(graph, edges, lines)
    if lines is None:
        none = np.zeros(len(edges))
        which = np.arange(len(edges), dtype=np.int64)
        return Parts(which, points[::2], points[1::2], none, none + 1)
    begins = np.ones(len(points), dtype=np.bool_)
    begins[start[1:] - 1] = False
    at = np.flatnonzero(begins)
    counts = np.diff(start) - 1  # parts of each edge
    which = np.repeat(np.arange(len(edges), dtype=np.int64), counts)
    step = points[at + 1] - points[at]
    if on_earth(graph):  # the same fractions as those of snapped places
        step[:, 0] *= np.cos(np.radians((points[at + 1, 1] + points[at, 1]) / 2))
    lengths = np.hypot(*step.T)
    total = np.bincount(which, lengths, len(edges))
    past = np.cumsum(lengths) - lengths
    past -= np.repeat(past[start[:-1] - np.arange(len(edges))], counts)
    scale = np.where(total > 0, total, 1)[which]
    since, until = past / scale, (past + lengths) / scale
    until[np.append(which[1:] != which[:-1], True)[: len(which)]] = 1
    return Parts(which, points[at], points[at + 1], since, until)


def line_of(graph: Graph, vertices: NDArray[np.int64]) -> list[list[float]]:
    """Return the points of a path, given by vertex indices, along its lightest edges."""
    place: Any = graph.coordinates
    if edge_lines(graph) is None or len(vertices) < 2:
        return list(place[vertices].tolist())
    return list(route_points(graph, lightest_edges(graph, vertices)).tolist())
