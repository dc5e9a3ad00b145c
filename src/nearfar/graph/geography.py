"""Geographic graphs: from geographic tables and OSMnx, and the vertex nearest to a point."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from nearfar.errors import GraphError, VertexError, listed, quoted
from nearfar.graph.build import from_edges
from nearfar.graph.convert import check_library, from_networkx
from nearfar.graph.libraries import needed
from nearfar.graph.slots import Slot
from nearfar.graph.snapping.lines import EDGE_LINES, EdgeLines, lines_from

if TYPE_CHECKING:
    from nearfar.graph.graph import Graph

EARTH_RADIUS = 6_371_008.8  # mean radius in metres

_TREE: Slot[Any] = Slot("tree of coordinates")
_ON_EARTH: Slot[bool] = Slot("coordinates in the range of degrees")

#: Units of the columns that OSMnx fills.
_UNITS = {"length": "m", "travel_time": "s"}


def is_geographic(xy: NDArray[np.float64]) -> bool:
    """Return whether coordinates are in the range of longitude and latitude in degrees."""
    return bool(len(xy)) and bool(np.abs(xy[:, 0]).max() <= 180 and np.abs(xy[:, 1]).max() <= 90)


def check_degrees(xy: NDArray[np.float64]) -> None:
    """Refuse coordinates that are not degrees; longitudes up to 360 are in use."""
    beyond = (np.abs(xy[:, 0]) > 360) | (np.abs(xy[:, 1]) > 90)
    if beyond.any():
        wrong = int(np.argmax(beyond))
        lon, lat = xy[wrong]
        raise GraphError(
            f"vertex {wrong} is at longitude {lon:g} and latitude {lat:g}, not on the Earth, in a "
            "network in degrees: give longitude as x, latitude as y"
        )


def on_earth(graph: Graph) -> bool:
    """Return whether a graph's coordinates are longitude and latitude in degrees.

    ``attributes["geographic"]`` tells if the origin is known, as for geographic tables, OSMnx and
    generators; otherwise the range of the coordinates decides.
    """
    if graph.coordinates is None:
        return False
    known = graph.attributes.get("geographic")
    if isinstance(known, bool):
        return known
    xy = graph.coordinates
    return _ON_EARTH.of(graph, lambda: is_geographic(xy))


def nearest_vertices(graph: Graph, x: Any, y: Any) -> tuple[NDArray[np.int64], NDArray[Any]]:
    """Return the vertex indices nearest to points, and their distances."""
    xy = graph.coordinates
    if xy is None:
        raise GraphError("the graph has no coordinates: nearest_vertex needs x and y of vertices")
    if not len(xy):
        raise GraphError("the graph has no vertices")
    points = as_points(x, y)
    if not np.isfinite(points).all():
        raise VertexError(f"point {points[~np.isfinite(points).all(axis=1)][0]} is not finite")
    spherical = on_earth(graph)
    if spherical and not is_geographic(points):
        outside = (np.abs(points[:, 0]) > 180) | (np.abs(points[:, 1]) > 90)
        lon, lat = points[outside][0]
        raise VertexError(
            f"longitude {lon:g}, latitude {lat:g} is not on the Earth: give degrees, longitude "
            "first"
        )

    return nearest_in(graph, _TREE.of(graph, lambda: vertex_tree(graph)), points)


def as_points(x: Any, y: Any) -> NDArray[np.float64]:
    """Return points of shape (k, 2) from their coordinates; masked ones are NaN."""
    if y is None:
        x, y = _columns(x)
    try:
        x, y = (
            np.ma.filled(one.astype(np.float64), np.nan) if np.ma.isMaskedArray(one) else one
            for one in (x, y)
        )
        return np.column_stack((np.ravel(x), np.ravel(y))).astype(np.float64)
    except (TypeError, ValueError):
        raise VertexError("x and y must be numbers, or vectors of the same length") from None


def _columns(points: Any) -> Any:
    """Return x and y of an array of points; the columns of a data frame may have any order."""
    try:
        pairs = points if hasattr(points, "shape") else np.array(points)
        if pairs.ndim == 2 and not hasattr(pairs, "columns"):
            x, y = pairs.T
            return x, y
    except ValueError:  # other shapes
        pass
    raise VertexError("y is missing: give x and y, or one array of points, shape (k, 2)")


def vertex_tree(graph: Graph, members: NDArray[np.int64] | None = None) -> Any:
    """Return a tree of the coordinates of some or all vertices, for :func:`nearest_in`."""
    from scipy.spatial import cKDTree

    xy: Any = graph.coordinates if members is None else graph.coordinates[members]  # type: ignore[index]
    return cKDTree(_on_sphere(xy) if on_earth(graph) else xy)


def nearest_in(
    graph: Graph, tree: Any, points: NDArray[np.float64]
) -> tuple[NDArray[np.int64], NDArray[np.float64]]:
    """Return the index of the vertex of a tree nearest to each point, and its distance."""
    spherical = on_earth(graph)
    chords, found = tree.query(_on_sphere(points) if spherical else points)
    if spherical:
        chords = 2 * EARTH_RADIUS * np.arcsin(np.minimum(chords / 2, 1.0))
    return found.astype(np.int64), chords


def _on_sphere(xy: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return points on the unit sphere, whose distances have the same order as on the Earth."""
    lon, lat = np.radians(xy).T
    return np.column_stack((np.cos(lat) * np.cos(lon), np.cos(lat) * np.sin(lon), np.sin(lat)))


def from_geodataframe(
    table: Any, weight: str | None, directed: bool, digits: int | None
) -> dict[str, Any]:
    """Convert as :meth:`nearfar.Graph.from_geodataframe` describes."""
    shapely = needed("shapely", "from_geodataframe", "geo")
    if not (hasattr(table, "geometry") and hasattr(table, "columns")):
        raise GraphError(
            f"cannot convert {type(table).__name__}: give a GeoDataFrame, such as "
            "geopandas.GeoDataFrame(geometry=lines, crs=...)"
        )
    lines = np.asarray(table.geometry.values)
    wrong = (shapely.get_type_id(lines) != 1) | shapely.is_empty(lines)
    if wrong.any():
        at = int(np.argmax(wrong))
        kind = "nothing" if lines[at] is None else lines[at].geom_type
        raise GraphError(
            f"row {at} holds {kind}: give single lines; `table.explode()` splits multi-lines"
        )
    points, stops = shapely.get_coordinates(lines), np.cumsum(shapely.get_num_coordinates(lines))
    ends = points[np.concatenate((stops - shapely.get_num_coordinates(lines), stops - 1))]
    if digits is not None:
        ends = np.round(ends, digits)
    # Complex numbers are sorted by x and then y, much faster than rows.
    found, codes = np.unique(ends.view(np.complex128).ravel(), return_inverse=True)
    xy, codes = found.view(np.float64).reshape(-1, 2), codes.reshape(2, -1)
    weights, unit = _line_weights(table, lines, weight, shapely)
    made = from_edges(codes[0], codes[1], weights, n_vertices=len(xy), directed=directed)
    attributes: dict[str, Any] = {"unit": unit} if unit else {}
    shapes = lines_of_rows(lines, codes, xy, directed)
    if shapes is not None:
        attributes[EDGE_LINES] = shapes
    if table.crs is not None:
        attributes |= {"crs": table.crs.to_string(), "geographic": table.crs.is_geographic}
    kept = {"directed": directed, "coordinates": xy, "attributes": attributes}
    return {"arrays": made, **kept}


def _line_weights(table: Any, lines: Any, weight: str | None, shapely: Any) -> tuple[Any, str]:
    """Return the weights from a column, or the lengths of the lines."""
    if weight is None:
        return None, ""
    if weight in table.columns:
        values = table[weight].to_numpy()
        if values.dtype.kind not in "iuf" or np.isnan(values.astype(np.float64)).any():
            raise GraphError(f"column {quoted(weight)} is not a number in every row")
        return values, ""
    if weight != "length":
        names = [name for name in table.columns if table[name].dtype.kind in "iuf"]
        raise GraphError(
            f"no column {quoted(weight)}; numeric columns: {listed(names) or 'none'}; "
            "weight='length' measures the lines, weight=None counts them"
        )
    if table.crs is not None and table.crs.is_geographic:
        raise GraphError(
            "lengths of these lines would be in degrees: project the table first with "
            "table.to_crs(table.estimate_utm_crs()), or name a column of lengths"
        )
    axes = [] if table.crs is None else table.crs.axis_info
    metres = bool(axes) and axes[0].unit_name in ("metre", "meter")
    return shapely.length(lines), "m" if metres else ""


def lines_of_rows(
    shapes: NDArray[Any], codes: NDArray[Any], xy: NDArray[np.float64], directed: bool
) -> EdgeLines | None:
    """Return the lines of the edges of a table's rows, or None if all are straight.

    A line from the second end to the first is reversed; rows without a line are straight.
    """
    shapely = needed("shapely", "lines of edges", "geo")
    known = shapely.get_type_id(shapes) == 1
    counts = np.where(known, shapely.get_num_coordinates(shapes), 0).astype(np.int64)
    if not (counts > 2).any():
        return None
    points = shapely.get_coordinates(shapes[known])
    last = np.cumsum(counts)[known] - 1
    first = last + 1 - counts[known]
    u, v = (xy[code[known]] for code in codes)
    ahead = np.hypot(*(points[first] - u).T) + np.hypot(*(points[last] - v).T)
    turned = np.zeros(len(shapes), dtype=bool)
    turned[known] = np.hypot(*(points[first] - v).T) + np.hypot(*(points[last] - u).T) < ahead
    rows, back = rows_of_edges(codes, len(xy), directed)
    return lines_from(counts, points, rows, back ^ turned[rows])


def rows_of_edges(
    codes: NDArray[Any], n: int, directed: bool
) -> tuple[NDArray[np.int64], NDArray[np.bool_]]:
    """Return the table row of each edge, and whether the edge has the opposite direction."""
    numbers = np.arange(len(codes[0]))
    made = from_edges(codes[0], codes[1], numbers, n_vertices=n, directed=directed)
    rows: NDArray[np.int64] = np.asarray(made.weights, np.int64)
    tails = np.repeat(np.arange(n), np.diff(made.indptr))
    return rows, tails != codes[0][rows]


def from_osmnx(graph: Any, weight: str | Callable[[Any, Any, Any], Any] | None) -> dict[str, Any]:
    """Convert as :meth:`nearfar.Graph.from_osmnx` describes."""
    check_library(graph, "OSMnx", "adjacency", "nodes")
    try:
        xy = np.array([(data["x"], data["y"]) for _, data in graph.nodes(data=True)], dtype=float)
    except KeyError as error:
        raise GraphError(
            f"a vertex has no {error}: this is not an OSMnx graph, use Graph.from_networkx"
        ) from None
    kept = from_networkx(graph, weight)
    attributes: dict[str, Any] = {"attribution": "© OpenStreetMap contributors"}
    if weight in _UNITS:
        attributes["unit"] = _UNITS[str(weight)]
    if "crs" in graph.graph:
        crs = str(graph.graph["crs"])
        attributes |= {"crs": crs, "geographic": crs.lower() in ("epsg:4326", "ogc:crs84")}
    if graph.is_directed() and graph.is_multigraph() and not callable(weight):
        place = {name: at for at, name in enumerate(graph)}
        ends, keys, shapes = [], [], []
        for u, v, key, data in graph.edges(keys=True, data=True):
            ends.append((place[u], place[v]))
            keys.append(key)
            shapes.append(data.get("geometry"))
        codes = np.array(ends, dtype=np.int64).reshape(-1, 2).T
        # The order of a vertex's edges is preserved.
        order = np.argsort(codes[0], kind="stable")
        attributes["edge_keys"] = np.array(keys)[order] if keys else np.empty(0, dtype=np.int64)
        if any(shape is not None for shape in shapes):
            drawn = lines_of_rows(np.array(shapes, dtype=object), codes, xy, True)
            if drawn is not None:
                attributes[EDGE_LINES] = drawn
    return {**kept, "coordinates": xy.reshape(-1, 2), "attributes": attributes}
