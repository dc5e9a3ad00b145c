"""Routes and isochrones as geographic data: GeoJSON, or GeoPackage through GeoPandas.

An isochrone is exact along the streets: an edge that crosses the limit is cut at the share of
its weight that is left. A polygon is the area within some metres of the reached streets; it does
not fill the blocks between them.
"""

from __future__ import annotations

import importlib
import json
import math
import os
from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from nearfar.answer.paths import Paths
from nearfar.answer.streets import line_of, one_per_street, parts_of
from nearfar.errors import GraphError, MissingDependencyError, OptionError, quoted
from nearfar.graph.geography import EARTH_RADIUS, on_earth
from nearfar.graph.graph import Graph
from nearfar.graph.snapping.lines import edge_lines
from nearfar.system.output import replacing

_DEGREE = math.radians(1) * EARTH_RADIUS  # metres


def _coordinates(graph: Graph) -> NDArray[np.float64]:
    """Return longitudes and latitudes."""
    xy = graph.coordinates
    if xy is None:
        raise GraphError("the graph has no coordinates: a map needs x and y of every vertex")
    if not on_earth(graph):
        raise GraphError(
            "the coordinates are not longitude and latitude in degrees, which GeoJSON has: convert "
            "them first"
        )
    return xy


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
        A FeatureCollection with a LineString per reached target, and properties ``source``,
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
    """Return paths of :func:`nearfar.shortest_path` as GeoJSON; see :func:`routes`."""
    _coordinates(graph)
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
        # A line needs two points, also one from a vertex to itself.
        geometry = {"type": "LineString", "coordinates": line if len(line) > 1 else line * 2}
        features.append(_feature(geometry, properties))
    return _collection(graph, features)


def isochrones(
    paths: Paths,
    limits: Sequence[float],
    *,
    polygons: bool = False,
    width: float = 50.0,
) -> dict[str, Any]:
    """Return the streets or areas within some distances as GeoJSON.

    Parameters
    ----------
    paths : Paths
        Answer whose graph has longitudes and latitudes as coordinates.
    limits : sequence of numbers
        Distances in units of the weights; each gives one feature, the largest first.
    polygons : bool
        False returns the streets themselves, with edges cut at the limit. True returns the area
        within ``width`` of them, which needs shapely.
    width : float
        Width in metres.

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
        If there is no limit, or one is not a number of at least 0.
    MissingDependencyError
        For polygons without shapely.

    Notes
    -----
    O(n + m) per limit, plus the union of polygons.
    """
    near = np.flatnonzero(paths._host_reached)
    found = [(paths.source, near, paths._host_distances[near])]
    return reach_features(paths.graph, found, limits, polygons=polygons, width=width)


def reach_features(
    graph: Graph,
    found: Iterable[tuple[Any, NDArray[Any], NDArray[Any]]],
    limits: Sequence[float],
    *,
    polygons: bool = False,
    width: float = 50.0,
) -> dict[str, Any]:
    """Return what some sources reach, each with ascending vertices and their distances."""
    _coordinates(graph)
    features = []
    descending = check_limits(limits)
    for source, vertices, distances in found:
        for limit in descending:
            near = distances <= limit
            lines = _lines_within(graph, vertices[near], distances[near], limit)
            if polygons:
                geometry = _area(lines, width)
            else:
                geometry = {"type": "MultiLineString", "coordinates": lines.tolist()}
            properties = {
                "source": source,
                "limit": limit,
                "unit": graph.attributes.get("unit"),
                "n_vertices": int(near.sum()),
            }
            features.append(_feature(geometry, properties))
    return _collection(graph, features)


def check_limits(limits: Sequence[float]) -> list[float]:
    """Return different limits, the largest first."""
    given = sorted({float(limit) for limit in limits}, reverse=True)
    if not given or not all(0 <= limit < math.inf for limit in given):
        raise OptionError(f"limits is {quoted(list(limits))}: give numbers of at least 0")
    return given


def reached_lines(paths: Paths, limit: float) -> NDArray[np.float64]:
    """Return the parts of edges within a distance of the source."""
    distances = paths._host_distances
    near = np.flatnonzero(paths._host_reached & (distances <= limit))
    return _lines_within(paths.graph, near, distances[near], limit)


def _lines_within(
    graph: Graph, vertices: NDArray[Any], distances: NDArray[Any], limit: float
) -> NDArray[np.float64]:
    """Return the parts of edges up to a distance, from vertices within it; O(their edges)."""
    begins = graph.indptr[vertices].astype(np.int64)
    degrees = graph.indptr[vertices + 1] - begins
    edges = np.arange(int(degrees.sum())) + np.repeat(
        begins - np.cumsum(degrees) + degrees, degrees
    )
    tails = np.repeat(vertices.astype(np.int64), degrees)
    heads = graph.indices[edges]
    weights = np.ones(len(edges)) if graph.weights is None else graph.weights[edges]
    weights = weights.astype(np.float64)
    left = limit - np.repeat(distances.astype(np.float64), degrees)
    share = np.ones(len(edges))
    cut = weights > left
    share[cut] = left[cut] / weights[cut]
    # Both directions of a street are one line: if one is reached whole, it is drawn once.
    key = np.minimum(tails, heads) * graph.n_vertices + np.maximum(tails, heads)
    whole = np.flatnonzero(~cut)[one_per_street(graph, edges[~cut])]
    part = cut & (share > 0)
    if edge_lines(graph) is None:  # else parallel streets may have other lines
        part &= ~np.isin(key, key[whole])
    part = np.flatnonzero(part)
    kept = np.concatenate((whole, part))
    return parts_of(graph, edges[kept]).within(share[kept])


def _area(lines: NDArray[np.float64], width: float) -> dict[str, Any]:
    """Return the area within some metres of lines, as a GeoJSON geometry."""
    try:
        shapely = importlib.import_module("shapely")
    except ImportError:
        raise MissingDependencyError(
            "polygons need shapely: pip install 'nearfar[geo]', or take the lines"
        ) from None
    if not len(lines):
        return {"type": "MultiPolygon", "coordinates": []}
    middle = lines.reshape(-1, 2).mean(axis=0)
    # Metres around the middle, since a town is nearly flat.
    scale = np.array([_DEGREE * math.cos(math.radians(middle[1])), _DEGREE])
    flat = shapely.linestrings((lines - middle) * scale)
    area = shapely.union_all(shapely.buffer(flat, width, quad_segs=4))
    area = shapely.simplify(area, width / 10)
    area = shapely.transform(area, lambda points: points / scale + middle)
    found: dict[str, Any] = json.loads(shapely.to_geojson(shapely.orient_polygons(area)))
    return found


def _feature(geometry: dict[str, Any], properties: dict[str, Any]) -> dict[str, Any]:
    return {"type": "Feature", "geometry": geometry, "properties": properties}


def _collection(graph: Graph, features: list[dict[str, Any]]) -> dict[str, Any]:
    found: dict[str, Any] = {"type": "FeatureCollection", "features": features}
    owner = graph.attributes.get("attribution")
    return {**found, "attribution": owner} if owner else found


def write_geography(collection: dict[str, Any], file: str | os.PathLike[str]) -> None:
    """Write a FeatureCollection.

    Parameters
    ----------
    collection : dict
        Result of :func:`routes` or :func:`isochrones`.
    file : str or path
        Path that ends in ``.geojson`` or ``.json``, or in ``.gpkg`` for a GeoPackage, which needs
        GeoPandas. The file is written atomically.

    Raises
    ------
    OptionError
        For another suffix.
    MissingDependencyError
        Without GeoPandas.
    """
    name = os.fspath(file).lower()
    if name.endswith((".geojson", ".json")):
        with replacing(file) as place:
            text = json.dumps(collection, default=_plain, ensure_ascii=False)
            place.write_text(text + "\n", encoding="utf-8")
        return
    if not name.endswith(".gpkg"):
        raise OptionError(f"{quoted(os.fspath(file))}: end it in .geojson or .gpkg")
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
