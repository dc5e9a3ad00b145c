"""Nearest points on edges, or nearest vertices, of many places."""

from __future__ import annotations

import math
import warnings
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from nearfar.errors import GraphError, OptionError, VertexError, quoted
from nearfar.graph.geography import EARTH_RADIUS, as_points, nearest_in, on_earth, vertex_tree
from nearfar.graph.slots import Slot
from nearfar.graph.snapping.lines import closed_of, edge_lines, line_points
from nearfar.options import check_kind
from nearfar.system.threads import check_threads

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from nearfar.graph.graph import Graph
    from nearfar.graph.snapping.lines import EdgeLines

#: Distance in metres up to which a place on the Earth is never too far from a network.
_LEAST_FAR = 10_000.0


@dataclass(frozen=True)
class Snapped:
    """Places on the edges or vertices of a graph.

    Returned by :meth:`nearfar.Graph.snap`, and accepted by functions that take places. A place
    farther than ``max_distance`` from the network has -1 for edge and vertex.

    Attributes
    ----------
    edge : int64 array, shape (k,)
        Edge of each place, as a position in :attr:`Graph.indices`; -1 for none.
    back : int64 array, shape (k,)
        Edge along the same line in the opposite direction; -1 on a one-way street.
    share : float64 array, shape (k,)
        Fraction of the edge's length between its tail and the point, 0 to 1.
    offset : float64 array, shape (k,)
        Length between the tail and the point, in metres or in units of the coordinates.
    vertex : int64 array, shape (k,)
        Index of the vertex with ``to="vertex"``; otherwise -1.
    distance : float64 array, shape (k,)
        Distance of the place from the point, in metres on the Earth; NaN beyond ``max_distance``.
    x, y : float64 arrays, shape (k,)
        Coordinates of the point on the edge, or of the vertex.
    n_edges : int
        Number of edges of the graph.
    remark : str
        Description of the vertices and edges excluded from snapping; empty if there are none.
    """

    edge: NDArray[np.int64]
    back: NDArray[np.int64]
    share: NDArray[np.float64]
    offset: NDArray[np.float64]
    vertex: NDArray[np.int64]
    distance: NDArray[np.float64]
    x: NDArray[np.float64]
    y: NDArray[np.float64]
    n_edges: int
    remark: str = ""

    def __len__(self) -> int:
        return len(self.edge)

    @property
    def found(self) -> NDArray[np.bool_]:
        """Whether each place was snapped to an edge or vertex."""
        return (self.edge >= 0) | (self.vertex >= 0)


class _Streets(NamedTuple):
    """Index of the edges that places are snapped to, with both directions of a street as one."""

    tree: Any  # _cpu.Streets
    edge: NDArray[np.int64]
    back: NDArray[np.int64]
    lengths: NDArray[np.float64]
    low: NDArray[np.float64]
    high: NDArray[np.float64]
    remark: str

    def snap(self, graph: Graph, points: NDArray[np.float64], most: float, threads: int) -> Snapped:
        """Snap to the nearest points on edges."""
        k = len(points)
        street = np.empty(k, np.int64)
        share, away, x, y = (np.empty(k) for _ in range(4))
        self.tree.nearest(points, most, street, share, away, x, y, threads)
        missing = street < 0
        street = np.maximum(street, 0)
        edge, back, offset = self.edge[street], self.back[street], self.lengths[street] * share
        edge[missing] = back[missing] = -1
        for values in (share, offset, away, x, y):
            values[missing] = np.nan
        none = np.full(k, -1, np.int64)
        return Snapped(edge, back, share, offset, none, away, x, y, graph.n_edges, self.remark)


class _Vertices(NamedTuple):
    """Index of the vertices that places are snapped to."""

    members: NDArray[np.int64]
    tree: Any
    low: NDArray[np.float64]
    high: NDArray[np.float64]
    remark: str

    def snap(self, graph: Graph, points: NDArray[np.float64], most: float, threads: int) -> Snapped:
        """Snap to the nearest vertices."""
        at, away = nearest_in(graph, self.tree, points)
        vertex = self.members[at]
        xy: Any = graph.coordinates
        x, y = xy[vertex].T.copy()
        missing = away > most
        vertex[missing] = -1
        for values in (away, x, y):
            values[missing] = np.nan
        none, zeros = np.full(len(points), -1, np.int64), np.zeros(len(points))
        return Snapped(none, none, zeros, zeros, vertex, away, x, y, graph.n_edges, self.remark)


_INDEX: Slot[_Streets | _Vertices] = Slot("edges and vertices to snap to")
_PARTS: Slot[tuple[NDArray[np.int64], int]] = Slot("strongly connected parts")


def strong_parts(graph: Graph) -> tuple[NDArray[np.int64], int]:
    """Return the strongly connected component of each vertex, and the largest one; cached."""

    def make() -> tuple[NDArray[np.int64], int]:
        from nearfar import _cpu

        part, count = _cpu.strong_parts(graph.view)
        return part, int(np.argmax(np.bincount(part, minlength=count))) if count else 0

    return _PARTS.of(graph, make)


def snap(
    graph: Graph,
    x: Any,
    y: Any,
    *,
    to: str,
    parts: str,
    max_distance: float | None,
    threads: int | None,
) -> Snapped:
    """Snap as :meth:`nearfar.Graph.snap` describes."""
    if to not in ("edge", "vertex"):
        raise OptionError(f"to is {quoted(to)}: give 'edge' or 'vertex'")
    if parts not in ("largest", "all"):
        raise OptionError(f"parts is {quoted(parts)}: give 'largest' or 'all'")
    check_kind("snap", "max_distance", max_distance, "float | None")
    if max_distance is not None and not max_distance >= 0:
        raise OptionError(f"max_distance is {quoted(max_distance)}: give a number of at least 0")
    workers = check_threads(threads)
    if graph.coordinates is None:
        raise GraphError("the graph has no coordinates: places need x and y of vertices")
    if not graph.n_vertices:
        raise GraphError("the graph has no vertices")
    make = _streets if to == "edge" else _vertices
    index = _INDEX.of(graph, lambda: make(graph, parts), (to, parts))
    points = _points(graph, x, y, index)
    most = math.inf if max_distance is None else float(max_distance)
    found = index.snap(graph, points, most, workers)
    if max_distance is None:
        _refuse_far(graph, points, index, found.distance)
    return found


def _members(graph: Graph, parts: str) -> tuple[NDArray[np.bool_], str]:
    """Mark the vertices that places may be snapped to, and describe the excluded ones."""
    n = graph.n_vertices
    if parts == "all":
        return np.ones(n, bool), ""
    part, largest = strong_parts(graph)
    inside: NDArray[np.bool_] = part == largest
    outside = n - int(inside.sum())
    if not outside:
        return inside, ""
    edges = graph.n_edges - int((inside[graph.tails(np.int64)] & inside[graph.indices]).sum())
    remark = (
        f"places are snapped to the largest strongly connected component: {outside:,} of {n:,} "
        f"vertices and {edges:,} of {graph.n_edges:,} edges are left out; parts='all' includes them"
    )
    warnings.warn(remark, stacklevel=7)
    return inside, remark


def _streets(graph: Graph, parts: str) -> _Streets:
    """Build the index of edges."""
    from nearfar import _cpu

    inside, remark = _members(graph, parts)
    lines = edge_lines(graph)
    edge, back = _directions(graph, inside, lines)
    if not len(edge):
        raise GraphError("there is no edge to snap places to: give to='vertex', or parts='all'")
    first, points = line_points(graph, edge, lines)
    geographic = on_earth(graph)
    west = _west_of(points) if geographic else 0.0
    tree = _cpu.Streets(first.astype(np.int64), np.ascontiguousarray(points), geographic, west)
    low, high = points.min(axis=0), points.max(axis=0)
    return _Streets(tree, edge, back, tree.lengths(), low, high, remark)


def _directions(
    graph: Graph, inside: NDArray[np.bool_], lines: EdgeLines | None
) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Return an edge of each street, and the opposite edge along the same line or -1.

    Of parallel edges on the same line the first lightest one is used.
    """
    tails, heads = graph.tails(np.int64), graph.indices.astype(np.int64)
    inner = 0 if lines is None else np.diff(lines.first)
    open_ = inside[tails] & inside[heads] & ((tails != heads) | (inner > 0))
    closed = closed_of(graph)
    if closed is not None:
        open_[closed.edge] = False
    edges = np.flatnonzero(open_)
    tails, heads = tails[edges], heads[edges]
    backward = tails > heads
    keys = [np.minimum(tails, heads) * graph.n_vertices + np.maximum(tails, heads)]
    if lines is not None:
        counts = lines.first[edges + 1] - lines.first[edges]
        has = counts > 0
        ends = np.zeros((2, len(edges), 2))
        ends[0, has] = lines.xy[lines.first[edges[has]]]
        ends[1, has] = lines.xy[lines.first[edges[has] + 1] - 1]
        # A ring begins and ends at the same vertex: its points determine its direction.
        (x, y), (last_x, last_y) = ends[0].T, ends[1].T
        backward |= (tails == heads) & ((x > last_x) | ((x == last_x) & (y > last_y)))
        ends[:, backward] = ends[::-1, backward]
        keys += [counts, *ends[0].T, *ends[1].T]
    order = np.lexsort((edges, graph.effective_weights[edges], backward, *keys[::-1]))
    new = np.ones(len(order), bool)
    new[1:] = np.any([key[order][1:] != key[order][:-1] for key in keys], axis=0)
    edge = edges[order[new]]
    # Opposite edges are sorted after forward ones; a street may have only opposite edges.
    against = backward[order]
    turns = against & ~new
    turns[1:] &= ~against[:-1]
    back = np.full(len(edge), -1, np.int64)
    back[(np.cumsum(new) - 1)[turns]] = edges[order[turns]]
    return edge, back


def _vertices(graph: Graph, parts: str) -> _Vertices:
    """Build the index of vertices."""
    inside, remark = _members(graph, parts)
    members = np.flatnonzero(inside)
    xy: Any = graph.coordinates
    low, high = xy[members].min(axis=0), xy[members].max(axis=0)
    return _Vertices(members, vertex_tree(graph, members), low, high, remark)


def _west_of(points: NDArray[np.float64]) -> float:
    """Return a longitude in a gap between streets, from which longitudes are counted eastwards."""
    taken = np.zeros(720, bool)
    taken[np.clip(((points[:, 0] + 180) * 2).astype(np.int64), 0, 719)] = True
    at = np.flatnonzero(taken)
    gaps = np.diff(np.append(at, at[0] + 720))
    widest = int(np.argmax(gaps))
    if gaps[widest] < 4:
        return -180.0
    return float(at[(widest + 1) % len(at)] / 2 - 180 - 0.5)


def _wrong_place(row: int, text: str) -> VertexError:
    """Return the error for a place."""
    error = VertexError(f"place {row} {text}")
    error.row = row
    return error


def _points(graph: Graph, x: Any, y: Any, index: _Streets | _Vertices) -> NDArray[np.float64]:
    """Check the coordinates of places; swapped longitude and latitude are an error."""
    points = as_points(x, y)
    wrong = ~np.isfinite(points).all(axis=1)
    if wrong.any():
        row = int(np.argmax(wrong))
        raise _wrong_place(
            row,
            f"is at {points[row, 0]:g}, {points[row, 1]:g} ({int(wrong.sum())} of "
            f"{len(points)} places are not finite): omit it, or give finite numbers",
        )
    if not on_earth(graph) or not len(points):
        return points
    margin = np.maximum(index.high - index.low, 0.01)
    low, high = index.low - margin, index.high + margin
    outside = ((points < low) | (points > high)).any(axis=1)
    swapped = outside & ((points[:, ::-1] >= low) & (points[:, ::-1] <= high)).all(axis=1)
    if swapped.any():
        row = int(np.argmax(swapped))
        lon, lat = points[row]
        raise _wrong_place(
            row,
            f"is at longitude {lon:g} and latitude {lat:g}, far from the network, but "
            f"longitude {lat:g} and latitude {lon:g} is in it: swap them ("
            f"{int(swapped.sum())} of {len(points)} places)",
        )
    beyond = (np.abs(points[:, 0]) > 180) | (np.abs(points[:, 1]) > 90)
    if beyond.any():
        row = int(np.argmax(beyond))
        lon, lat = points[row]
        raise _wrong_place(
            row,
            f"is at longitude {lon:g} and latitude {lat:g}, not on the Earth: give "
            "degrees, as in the network",
        )
    return points


def _refuse_far(
    graph: Graph,
    points: NDArray[np.float64],
    index: _Streets | _Vertices,
    away: NDArray[np.float64],
) -> None:
    """Refuse places that are farther from the network than the network is wide."""
    if not len(points):
        return
    size = index.high - index.low
    if on_earth(graph):
        middle = math.radians(float(index.high[1] + index.low[1]) / 2)
        size = np.radians(size) * EARTH_RADIUS * np.array([math.cos(middle), 1.0])
    wide = float(np.hypot(*size))
    most = max(wide, _LEAST_FAR) if on_earth(graph) else wide
    row = int(np.argmax(away))
    if most > 0 and away[row] > most:
        unit = " m" if on_earth(graph) else ""
        raise _wrong_place(
            row,
            f"is at {points[row, 0]:g}, {points[row, 1]:g}, {away[row]:,.0f}{unit} from "
            f"the nearest street of a network that is {wide:,.0f}{unit} wide: check its "
            "coordinates, or set max_distance to the greatest distance allowed",
        )
