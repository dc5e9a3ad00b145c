"""Routes between places: edges, vertices and the line on a map."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from nearfar.answer.geography import collection, line_feature
from nearfar.errors import OptionError, UnreachableError
from nearfar.graph.dtypes import unreached_value
from nearfar.graph.geography import on_earth
from nearfar.graph.graph import Graph
from nearfar.graph.like import GraphLike
from nearfar.graph.snapping.lines import edge_lines, line_points, route_points
from nearfar.graph.snapping.snap import Snapped
from nearfar.graph.turns import TurnGraph, named_graph, real_edges, searched_graph
from nearfar.prepared.cpu.pairs import pair_distances, pair_paths
from nearfar.prepared.prepared import Prepared
from nearfar.solve.many import distances
from nearfar.solve.one import sssp
from nearfar.solve.places.entries import Entries, check_weights, entries, part
from nearfar.solve.places.given import is_place
from nearfar.solve.places.table import prepared_places
from nearfar.system.threads import check_threads

#: Number of paths from which several threads search.
_SHARED = 32


@dataclass(eq=False)
class Route:
    """Route between two places.

    Attributes
    ----------
    length : float
        Length in units of the weights, including the parts of the first and last edge.
    edges : int64 array, shape (k,)
        Positions in :attr:`Graph.indices`, including the edges of origin and destination.
    begin, end : float
        Fraction of the first edge before the origin, and of the last edge before the destination.
    vertices : list
        Names of the vertices on the route.
    points : float64 array, shape (p, 2)
        Line from the origin to the destination, both at their positions on the edges.
    shares : float64 array, shape (k,)
        Travelled fraction of each edge, 0 to 1.
    """

    length: float
    edges: NDArray[np.int64]
    begin: float
    end: float
    graph: Graph = field(repr=False)
    _start: int | None = field(default=None, repr=False)
    _between: NDArray[Any] | None = field(default=None, repr=False)

    @cached_property
    def vertices(self) -> list[Any]:
        """Names of the vertices on the route."""
        if self._start is None:
            return []
        passed = np.append([self._start], self.graph.indices[self._between])
        found: list[Any] = self.graph.name_of(passed).tolist()
        return found

    @cached_property
    def shares(self) -> NDArray[np.float64]:
        """Travelled fraction of each edge, 0 to 1."""
        found = np.ones(len(self.edges))
        if len(found):
            found[-1] = self.end
            found[0] -= self.begin
        return found

    @cached_property
    def points(self) -> NDArray[np.float64]:
        """Line from the origin to the destination, both at their positions on the edges."""
        return _line(self.graph, self.edges, self.vertices, self.begin, self.end)

    def total(self, values: Any) -> float:
        """Sum another quantity of the edges along the route, such as metres or tolls.

        Parameters
        ----------
        values : array, shape (m,)
            One number per edge of the graph.

        Returns
        -------
        float
            Sum over the edges, each weighted by its travelled fraction.

        Raises
        ------
        OptionError
            If the number of values is not that of the edges.
        """
        given = np.asarray(values)
        if given.shape != (self.graph.n_edges,):
            raise OptionError(
                f"values has shape {given.shape}: give one for each of {self.graph.n_edges:,} edges"
            )
        return float((given[self.edges] * self.shares).sum())

    def to_geojson(self, **properties: Any) -> dict[str, Any]:
        """Return the route as a GeoJSON feature.

        Parameters
        ----------
        **properties
            Properties in addition to ``distance``, ``unit`` and ``vertices``.

        Returns
        -------
        dict
            A Feature with a LineString.
        """
        own = {
            "distance": self.length,
            "unit": self.graph.attributes.get("unit"),
            "vertices": self.vertices,
        }
        return line_feature(self.points.tolist(), {**own, **properties})


def routes_geojson(routes: Sequence[Route]) -> dict[str, Any]:
    """Return routes as a GeoJSON FeatureCollection, numbered by the property ``route``."""
    features = [route.to_geojson(route=number) for number, route in enumerate(routes)]
    return collection(routes[0].graph if routes else None, features)


def route(
    graph: GraphLike,
    origin: Any,
    destination: Any,
    *,
    weight: str | Callable[[Any, Any, Any], Any] | None = "weight",
    to: Literal["edge", "vertex"] = "edge",
    parts: Literal["largest", "all"] = "largest",
    max_distance: float | None = None,
    method: str = "auto",
    device: Literal["auto", "cpu", "cuda", "gpu"] = "auto",
    threads: int | None = None,
) -> Any:
    """Return a shortest route between two places, or a list of routes for several pairs.

    Parameters
    ----------
    graph, weight, to, parts, max_distance, method, device, threads
        As for :func:`nearfar.table`.
    origin, destination : places
        As for :func:`nearfar.table`: a place ``(lon, lat)``, a vertex, or equally many origins and
        destinations.

    Returns
    -------
    Route, or list of Route
        Route of a single pair. For data frames, arrays, lists or snapped places a list, with None
        for a pair without a path.

    Raises
    ------
    UnreachableError
        If there is no path between two single places.
    OptionError
        If the numbers of origins and destinations differ, and as for :func:`nearfar.table`.

    Notes
    -----
    Distances of up to four pairs of vertices and one path; each takes microseconds on a prepared
    graph.

    Examples
    --------
    >>> import nearfar
    >>> g = nearfar.Graph.from_edges(
    ...     [0, 1], [1, 2], [40, 30], directed=False, coordinates=[[0, 0], [400, 0], [400, 300]]
    ... )
    >>> found = nearfar.route(g, (100.0, 0.0), (400.0, 150.0))
    >>> found.length, found.vertices, found.points.tolist()
    (45.0, [1], [[100.0, 0.0], [400.0, 0.0], [400.0, 150.0]])
    """
    options = {"to": to, "parts": parts, "max_distance": max_distance, "threads": threads}
    solved, starts, ends = prepared_places(graph, weight, origin, destination, options)
    solver = {"method": method, "device": device, "threads": threads}
    chosen = chosen_ends(solved, starts.snapped, ends.snapped, solver)
    found = [
        made_routes(chosen, i, [(path, length)])[0] if np.isfinite(length) else None
        for i, (path, length) in enumerate(
            zip(_paths(chosen, solver), chosen.length.tolist(), strict=True)
        )
    ]
    if not (_is_single(chosen.graph, origin) and _is_single(chosen.graph, destination)):
        return found
    if found[0] is None:
        raise UnreachableError("there is no way from the origin to the destination")
    return found[0]


def _is_single(graph: Graph, given: Any) -> bool:
    """Return whether a single place or vertex is given, and not a list of one."""
    if is_place(graph, given) and not isinstance(given, Snapped):
        return True
    several = isinstance(given, (list, set, range, Snapped)) or hasattr(given, "columns")
    if several or getattr(given, "ndim", 0) > 0:
        return False
    return not isinstance(given, tuple) or not hasattr(given[0], "shape")


class Ends:
    """Connections by which the shortest routes of pairs of places begin and end."""

    def __init__(self, graph: Graph | TurnGraph, origins: Snapped, destinations: Snapped) -> None:
        self.turns = graph if isinstance(graph, TurnGraph) else None
        #: Graph with the edges on which the places lie, and graph with the connected vertices.
        self.graph, self.searched = named_graph(graph), searched_graph(graph)
        check_weights(self.graph)
        if len(origins) != len(destinations):
            raise OptionError(
                f"{len(origins)} origins and {len(destinations)} destinations: give equal numbers"
            )
        self.origins, self.destinations = origins, destinations
        self.leaving: Entries = entries(graph, origins, True)
        self.arriving: Entries = entries(graph, destinations, False)
        #: Chosen columns of the connections; -1 if the route stays on one edge or does not exist.
        self.first, self.last = np.full((2, len(origins)), -1, np.int64)
        #: Length of each route; infinite if it does not exist.
        self.length = np.full(len(origins), np.inf)

    def vertices(self, i: int) -> tuple[int, int]:
        """Return the end vertices of the path that is part of a pair's route."""
        return (
            int(self.leaving.vertex[i, self.first[i]]),
            int(self.arriving.vertex[i, self.last[i]]),
        )


def chosen_ends(
    graph: Graph | TurnGraph, origins: Snapped, destinations: Snapped, solver: dict[str, Any]
) -> Ends:
    """Choose the connections by which the shortest route of each pair of places begins and ends."""
    ends = Ends(graph, origins, destinations)
    out, into = (ways.vertex.shape[1] for ways in (ends.leaving, ends.arriving))
    start = np.repeat(ends.leaving.vertex, into, axis=1)
    stop = np.tile(ends.arriving.vertex, out)
    row, column = np.nonzero((start >= 0) & (stop >= 0))
    between = _between(ends.searched, start[row, column], stop[row, column], solver)
    total = np.full(start.shape, np.inf)
    missing = between == unreached_value(between.dtype)
    cost = np.repeat(ends.leaving.cost, into, axis=1) + np.tile(ends.arriving.cost, out)
    total[row, column] = np.where(missing, np.inf, cost[row, column] + between)
    best = np.argmin(total, axis=1)
    ends.length = total[np.arange(len(best)), best]
    exists = np.isfinite(ends.length)
    ends.first[exists], ends.last[exists] = best[exists] // into, best[exists] % into
    same = np.flatnonzero((origins.edge == destinations.edge) & (origins.edge >= 0))
    if not len(same):
        return ends
    along = part(ends.graph, origins, destinations, same, same)
    shorter = same[along <= ends.length[same]]
    ends.length[shorter] = along[along <= ends.length[same]]
    ends.first[shorter] = ends.last[shorter] = -1
    return ends


def _between(
    graph: Graph, starts: NDArray[np.int64], stops: NDArray[np.int64], solver: dict[str, Any]
) -> NDArray[Any]:
    """Return the distances of pairs of vertices."""
    if not len(starts):
        return np.empty(0)
    if isinstance(graph, Prepared) and solver["method"] == "auto" and solver["device"] != "cuda":
        return pair_distances(graph, starts, stops, check_threads(solver["threads"]))
    ways = [graph.name_of(side) for side in (starts, stops)]
    if ways[0].dtype.kind in "iu":
        pairs: Any = np.stack(ways, axis=1)
    else:
        pairs = list(zip(*(side.tolist() for side in ways), strict=True))
    return np.asarray(distances(graph, pairs=pairs, **solver))


def _paths(ends: Ends, solver: dict[str, Any]) -> list[NDArray[Any]]:
    """Return the edges of a shortest path per pair, or no edges if the route has no such path."""
    graph = ends.searched
    found = [np.empty(0, np.int64)] * len(ends.length)
    paired = np.flatnonzero(ends.first >= 0)
    pairs = [ends.vertices(int(i)) for i in paired]
    if isinstance(graph, Prepared) and solver["method"] == "auto" and pairs:
        threads = check_threads(solver["threads"]) if len(pairs) >= _SHARED else 1
        sources, targets = np.array(pairs, dtype=np.int64).T
        paths = pair_paths(graph, sources, targets, threads)
        for at, i in enumerate(paired.tolist()):
            found[i] = paths.edges[paths.offsets[at] : paths.offsets[at + 1]]
    else:
        for source in {start for start, _ in pairs}:
            mine = [(i, end) for i, (start, end) in zip(paired.tolist(), pairs, strict=True)
                    if start == source]  # fmt: skip
            targets = [graph.name_of(end) for _, end in mine]
            tree = sssp(graph, graph.name_of(source), targets=targets, **solver)
            for (i, _), target in zip(mine, targets, strict=True):
                found[i] = tree.edges_to(target)
    return found if ends.turns is None else [real_edges(ends.turns, path) for path in found]


def made_routes(ends: Ends, i: int, paths: Iterable[tuple[NDArray[Any], float]]) -> list[Route]:
    """Build several routes of a pair from paths between its chosen vertices and their lengths."""
    graph, origins, destinations = ends.graph, ends.origins, ends.destinations
    begin, end = 0.0, 1.0
    s, t = float(origins.share[i]), float(destinations.share[i])
    if ends.first[i] < 0:
        way = origins.edge[i] if s <= t else origins.back[i]
        begin, end = (s, t) if s <= t else (1 - s, 1 - t)
        edges = np.array([way], np.int64)
        return [Route(length, edges, begin, end, graph) for _, length in paths]
    start = ends.vertices(i)[0]
    start = start if ends.turns is None else int(ends.turns.vertices[start])
    first = ends.leaving.edge[i, ends.first[i]]
    last = ends.arriving.edge[i, ends.last[i]]
    if first >= 0:
        begin = s if first == origins.edge[i] else 1 - s
    if last >= 0:
        end = t if last == destinations.edge[i] else 1 - t
    found = []
    for path, length in paths:
        edges = between = np.asarray(path, np.int64)
        if first >= 0:
            edges = np.append([first], edges)
        if last >= 0:
            edges = np.append(edges, [last])
        found.append(Route(length, edges, begin, end, graph, start, between))
    return found


def _line(
    graph: Graph, edges: NDArray[np.int64], passed: list[Any], begin: float, end: float
) -> NDArray[np.float64]:
    """Return the points of a route, with the first and the last edge cut."""
    if graph.coordinates is None:
        return np.empty((0, 2))
    if not len(edges):
        return np.asarray(graph.coordinates[graph.indices_of(passed)])
    points, earth = route_points(graph, edges), on_earth(graph)
    first, last = (line_points(graph, edges[at : at + 1 or None], edge_lines(graph))[1]
                   for at in (0, -1))  # fmt: skip
    if len(edges) == 1:
        return _cut(points, begin, end, earth)
    between = points[len(first) : len(points) - len(last) + 1]
    return np.concatenate(
        [_cut(first, begin, 1.0, earth), between, _cut(last, 0.0, end, earth)[1:]]
    )


def _cut(line: NDArray[np.float64], s: float, t: float, earth: bool) -> NDArray[np.float64]:
    """Return the part of a line between two fractions of its length."""
    step = np.diff(line, axis=0)
    if earth:
        step[:, 0] *= np.cos(np.radians((line[1:, 1] + line[:-1, 1]) / 2))
    along = np.concatenate([[0.0], np.cumsum(np.hypot(step[:, 0], step[:, 1]))])
    along /= along[-1] or 1.0
    ends = [[np.interp(at, along, axis) for axis in line.T] for at in (s, t)]
    inner = line[(along > s) & (along < t)]
    return np.vstack([ends[:1], inner, ends[1:]])
