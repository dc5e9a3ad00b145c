"""Routes and isochrones as geographic data: GeoJSON, or GeoPackage through GeoPandas.

An isochrone is exact along the streets: an edge that crosses the limit is cut in proportion to its
weight. A polygon is the area within some metres of the reached streets; it does not fill the blocks
between them.
"""

from __future__ import annotations

import importlib
import json
import math
import os
from collections.abc import Iterable, Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from nearfar.answer.paths import Paths
from nearfar.answer.streets import first_rows, line_of, map_coordinates, one_per_street, parts_of
from nearfar.answer.turn_paths import TurnPaths
from nearfar.errors import GraphError, MissingDependencyError, OptionError, quoted
from nearfar.graph.build import row_edges
from nearfar.graph.geography import EARTH_RADIUS, on_earth
from nearfar.graph.graph import Graph
from nearfar.graph.snapping.lines import closed_of, edge_lines, tails_of
from nearfar.graph.turns import TurnGraph, named_graph, searched_graph
from nearfar.options import check_above_zero, file_name
from nearfar.system.output import replacing

_DEGREE = math.radians(1) * EARTH_RADIUS  # metres


class Reach(NamedTuple):
    """Vertices that a source reaches, and the edge on which the source lies."""

    source: Any  # vertex name or label
    vertices: NDArray[Any]  # indices in the searched graph
    distances: NDArray[Any]
    edge: int = -1  # edge on which a place lies; -1 for none
    back: int = -1  # edge in the opposite direction along the same line; -1 for none
    share: float = 0.0  # fraction of the edge's length before the place

    def within(self, limit: float) -> Reach:
        """Return the part of the reach within a distance."""
        near = self.distances <= limit
        return self._replace(vertices=self.vertices[near], distances=self.distances[near])


def _require_degrees(graph: Graph) -> None:
    """Refuse a graph without longitudes and latitudes."""
    map_coordinates(graph)
    if not on_earth(graph):
        raise GraphError(
            "the coordinates are not longitude and latitude in degrees, as GeoJSON requires: "
            "convert them first"
        )


def routes(paths: Paths, targets: Iterable[Any]) -> dict[str, Any]:
    """Return shortest paths as GeoJSON lines.

    Parameters
    ----------
    paths : Paths
        Answer whose graph has longitudes and latitudes as coordinates.
    targets : iterable of int or vertex name

    Returns
    -------
    dict
        A FeatureCollection with one LineString per target and the properties ``source``,
        ``target``, ``distance``, ``unit`` and ``vertices`` (their names in order).

    Raises
    ------
    GraphError
        If the graph has no geographic coordinates.
    VertexError
        If a target is not a vertex.
    UnreachableError
        If a target is not reached.
    """
    found = [(paths.path_to(target), paths.distance_to(target)) for target in targets]
    return route_lines(paths.graph, found)


def route_lines(graph: Graph, found: Iterable[tuple[list[Any], Any]]) -> dict[str, Any]:
    """Return results of :func:`nearfar.shortest_path` as GeoJSON; see :func:`routes`."""
    _require_degrees(graph)
    features = []
    for names, distance in found:
        line = line_of(graph, graph.indices_of(names))
        properties = {
            "source": names[0],
            "target": names[-1],
            "distance": distance,
            "unit": graph.attributes.get("unit"),
            "vertices": names,
        }
        features.append(line_feature(line, properties))
    return collection(graph, features)


def isochrones(
    paths: Paths, limits: float | Sequence[float], *, polygons: bool = False, width: float = 50.0
) -> dict[str, Any]:
    """Return the streets or areas within given distances as GeoJSON.

    Parameters
    ----------
    paths : Paths
        Answer whose graph has longitudes and latitudes as coordinates.
    limits : number or sequence of numbers
        Distances in units of the weights; each gives one feature, the largest first.
    polygons : bool
        False returns the streets, with edges cut at the limit. True returns the area within
        ``width`` of them, which needs shapely.
    width : float
        Distance from a street to the border of the area, in metres.

    Returns
    -------
    dict
        A FeatureCollection of MultiLineStrings or polygons with properties ``source``, ``limit``,
        ``unit`` and ``n_vertices``, the number of reached vertices.

    Raises
    ------
    GraphError
        If the graph has no geographic coordinates.
    OptionError
        If there is no limit, or one is not a number of at least 0; if ``width`` is not above 0.
    MissingDependencyError
        For polygons without shapely.

    Notes
    -----
    O(n + m) per limit, plus the union of polygons.
    """
    graph, reach = _reach_of(paths)
    return reach_features(graph, [reach], limits, polygons=polygons, width=width)


def _reach_of(paths: Paths) -> tuple[Graph | TurnGraph, Reach]:
    """Return the graph of an answer, and the vertices that the answer reaches."""
    graph, searched = paths.graph, paths
    if isinstance(paths, TurnPaths):
        graph, searched = paths.turns, paths.searched
    near = np.flatnonzero(searched._host_reached)
    return graph, Reach(paths.source, near, searched._host_distances[near])


def reach_features(
    graph: Graph | TurnGraph,
    found: Iterable[Reach],
    limits: float | Sequence[float],
    *,
    polygons: bool = False,
    width: float = 50.0,
) -> dict[str, Any]:
    """Return the streets or areas that several sources reach; see :func:`isochrones`."""
    named = named_graph(graph)
    _require_degrees(named)
    check_above_zero(width=width)
    features = []
    descending = check_limits(limits)
    for reach in found:
        nears = [reach.within(limit) for limit in descending]
        streets = [
            _lines_within(graph, near, limit) for near, limit in zip(nears, descending, strict=True)
        ]
        shapes = _areas(streets, width) if polygons else list(map(_lines, streets))
        for limit, near, geometry in zip(descending, nears, shapes, strict=True):
            properties = {
                "source": reach.source,
                "limit": limit,
                "unit": named.attributes.get("unit"),
                "n_vertices": _count(graph, near),
            }
            features.append(_feature(geometry, properties))
    return collection(named, features)


def check_limits(limits: float | Sequence[float]) -> list[float]:
    """Return the distinct limits in decreasing order."""
    try:
        several = limits if isinstance(limits, Iterable) else [limits]
        given = sorted({float(limit) for limit in several}, reverse=True)
    except (TypeError, ValueError):
        given = []
    if not given or not all(0 <= limit < math.inf for limit in given):
        raise OptionError(f"limits is {quoted(limits)}: give numbers of at least 0")
    return given


def _count(graph: Graph | TurnGraph, near: Reach) -> int:
    """Return the number of reached vertices, each counted once."""
    if isinstance(graph, TurnGraph):
        return len(np.unique(graph.vertices[near.vertices]))
    return len(near.vertices)


def _entered(
    graph: Graph | TurnGraph, near: Reach, limit: float
) -> tuple[NDArray[np.int64], NDArray[np.float64]]:
    """Return the edges that leave reached vertices, and the distance left at their tails."""
    which, edges = row_edges(searched_graph(graph).indptr, near.vertices)
    left = limit - near.distances.astype(np.float64)[which]
    if not isinstance(graph, TurnGraph):
        return edges, left
    left -= graph.extra[edges]
    edges = graph.edges[edges]
    taken = (edges >= 0) & (left >= 0)
    edges, left = edges[taken], left[taken]
    order = np.argsort(-left, kind="stable")  # the cheapest turn into each edge
    edges, first = np.unique(edges[order], return_index=True)
    return edges, left[order[first]]


def _lines_within(graph: Graph | TurnGraph, near: Reach, limit: float) -> NDArray[np.float64]:
    """Return the parts of edges within a distance, in time linear in the edges of its vertices."""
    edges, left = _entered(graph, near, limit)
    graph = named_graph(graph)
    own = np.empty((0, 2, 2))
    if near.edge >= 0:
        ways = np.array([near.edge, near.back])
        mine = np.isin(edges, ways)
        ahead = [left[edges == way].max(initial=0.0) for way in ways]
        own = _own_lines(graph, near, limit, ways, np.array(ahead))
        edges, left = edges[~mine], left[~mine]
    tails, heads = tails_of(graph, edges), graph.indices[edges].astype(np.int64)
    share = _shares(graph, edges, left)
    cut = share < 1
    # Both directions of a street are one line, which is drawn once if either is reached entirely.
    key = np.minimum(tails, heads) * graph.n_vertices + np.maximum(tails, heads)
    whole = np.flatnonzero(~cut)[one_per_street(graph, edges[~cut])]
    partly = cut & (share > 0)
    if edge_lines(graph) is None:  # otherwise parallel streets may have different lines
        partly &= ~np.isin(key, key[whole])
    kept = np.concatenate((whole, np.flatnonzero(partly)))
    return np.concatenate((own, parts_of(graph, edges[kept]).within(share[kept])))


def _shares(graph: Graph, edges: NDArray[Any], left: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return the fraction of each edge that the remaining distance covers."""
    weights = np.ones(len(edges)) if graph.weights is None else graph.weights[edges]
    weights = weights.astype(np.float64)
    share = np.ones(len(edges))
    cut = weights > left
    share[cut] = left[cut] / weights[cut]
    return share


def _own_lines(
    graph: Graph, near: Reach, limit: float, ways: NDArray[np.int64], left: NDArray[np.float64]
) -> NDArray[np.float64]:
    """Return the reached parts of the edge on which a place lies, without overlap.

    ``ways`` are the edge and its opposite, and ``left`` the distances left at their tails.
    """
    open_ = ways >= 0
    closed = closed_of(graph)
    if closed is not None:
        open_ &= ~closed.among(ways)[0]

    def shares(left: NDArray[np.float64]) -> list[float]:
        found: list[float] = np.where(open_, _shares(graph, ways, left), 0.0).tolist()
        return found

    # First from the place in both directions, then from the ends of the edge towards the place.
    ahead, behind = shares(np.full(2, float(limit)))
    since, until = max(near.share - behind, 0.0), min(near.share + ahead, 1.0)
    forth, back = shares(left)
    pieces = np.array([(0.0, min(forth, since)), (since, until), (max(1 - back, until), 1.0)])
    pieces = pieces[pieces[:, 0] < pieces[:, 1]]
    parts = parts_of(graph, np.full(len(pieces), near.edge))
    return parts.within(pieces[:, 1], pieces[:, 0])


def _lines(lines: NDArray[np.float64]) -> dict[str, Any]:
    return {"type": "MultiLineString", "coordinates": lines.tolist()}


def _areas(streets: list[NDArray[np.float64]], width: float) -> list[dict[str, Any]]:
    """Return the areas within some metres of lines as GeoJSON; each contains those after it.

    From the smallest on, so that each line is added once.
    """
    try:
        shapely = importlib.import_module("shapely")
    except ImportError:
        raise MissingDependencyError(
            "polygons need shapely: pip install 'nearfar[geo]', or use polygons=False"
        ) from None
    middle = streets[0].reshape(-1, 2).mean(axis=0) if len(streets[0]) else np.zeros(2)
    # In metres around the centre: the Earth is nearly flat over the extent of a town.
    scale = np.array([_DEGREE * math.cos(math.radians(middle[1])), _DEGREE])
    area, added = shapely.MultiPolygon(), np.empty((0, 4))
    found: list[dict[str, Any]] = []
    for lines in reversed(streets):
        rows = np.concatenate((added, lines.reshape(-1, 4)))
        first = first_rows(rows)
        fresh = rows[first[first >= len(added)]]
        added = rows[first]
        flat = shapely.linestrings((fresh.reshape(-1, 2, 2) - middle) * scale)
        area = shapely.union(area, shapely.union_all(shapely.buffer(flat, width, quad_segs=4)))
        shown = shapely.coverage_simplify(area, width / 10)
        shown = shapely.transform(shown, lambda points: points / scale + middle)
        shape = json.loads(shapely.to_geojson(shapely.orient_polygons(shown)))
        found.append({"type": "MultiPolygon", "coordinates": []} if area.is_empty else shape)
    return found[::-1]


def _feature(geometry: dict[str, Any], properties: dict[str, Any]) -> dict[str, Any]:
    return {"type": "Feature", "geometry": geometry, "properties": properties}


def line_feature(line: list[list[float]], properties: dict[str, Any]) -> dict[str, Any]:
    """Return a line as a GeoJSON feature, which needs two points even for a single vertex."""
    coordinates = line if len(line) > 1 else line * 2
    return _feature({"type": "LineString", "coordinates": coordinates}, properties)


def collection(graph: Graph | None, features: list[dict[str, Any]]) -> dict[str, Any]:
    """Return a GeoJSON FeatureCollection with the attribution of the graph's data."""
    found: dict[str, Any] = {"type": "FeatureCollection", "features": features}
    owner = None if graph is None else graph.attributes.get("attribution")
    return {**found, "attribution": owner} if owner else found


def write_geography(collection: dict[str, Any], file: str | os.PathLike[str]) -> None:
    """Write a FeatureCollection.

    Parameters
    ----------
    collection : dict
        Result of :func:`routes` or :func:`isochrones`.
    file : str or path
        Path that ends in ``.geojson`` or ``.json``, or in ``.gpkg`` for a GeoPackage (which needs
        GeoPandas). The file is written atomically.

    Raises
    ------
    OptionError
        For another suffix.
    MissingDependencyError
        Without GeoPandas.
    """
    name = file_name(file)
    if name.lower().endswith((".geojson", ".json")):
        with replacing(file) as place:
            text = json.dumps(collection, default=_plain, ensure_ascii=False)
            place.write_text(text + "\n", encoding="utf-8")
        return
    if not name.lower().endswith(".gpkg"):
        raise OptionError(f"{quoted(name)}: end it in .geojson or .gpkg")
    try:
        geopandas = importlib.import_module("geopandas")
    except ImportError:
        raise MissingDependencyError(
            "a GeoPackage needs GeoPandas: pip install 'nearfar[geo]', or write .geojson"
        ) from None
    features = [
        {**f, "properties": {k: _column(v) for k, v in f["properties"].items()}}
        for f in collection["features"]
    ]
    table = geopandas.GeoDataFrame.from_features(features, crs="EPSG:4326")
    with replacing(file) as place:
        table.to_file(place, driver="GPKG", layer="nearfar")


def _plain(value: Any) -> Any:
    return value.item() if isinstance(value, np.generic) else str(value)


def _column(value: Any) -> Any:
    """Return a property as one cell of a table."""
    return json.dumps(value, default=_plain) if isinstance(value, (list, tuple)) else value
