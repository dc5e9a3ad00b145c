"""Places in arguments: coordinates in arrays, data frames and GeoSeries, or vertices."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from nearfar.errors import GraphError, OptionError, VertexError, listed, quoted
from nearfar.graph.geography import on_earth
from nearfar.graph.graph import Graph
from nearfar.graph.snapping.snap import Snapped
from nearfar.solve.steps.request import vertex_indices

#: Names of columns with coordinates, ignoring case.
LONGITUDES = ("lon", "lng", "long", "longitude")
LATITUDES = ("lat", "latitude")


class NamedPlaces(NamedTuple):
    """Coordinates with labels, for use without data frames; shapes are (k,)."""

    x: NDArray[np.float64]
    y: NDArray[np.float64]
    labels: NDArray[Any]


class Places(NamedTuple):
    """Places on a graph, and their labels."""

    snapped: Snapped
    labels: Any  # index of the data frame or series, or the vertices; None if there are none
    framed: bool  # whether they were given in a pandas data frame or series, as answers then are

    @property
    def names(self) -> Any:
        """Labels, or row numbers."""
        return np.arange(len(self.snapped)) if self.labels is None else self.labels


def is_place(graph: Graph, given: Any) -> bool:
    """Return whether one place is given: two numbers, not both integers, or a row of a frame."""
    if isinstance(given, Snapped) or _is_row(given):
        return True
    if not isinstance(given, tuple) or len(given) != 2 or graph.coordinates is None:
        return False
    numbers = all(isinstance(one, (int, float, np.number)) for one in given)
    if not numbers or not any(isinstance(one, (float, np.floating)) for one in given):
        return False
    return not graph._are_names(given)


def _is_row(given: Any) -> bool:
    """Return whether one place is given by named coordinates: a row of a frame, or a dict."""
    names = given if isinstance(given, Mapping) else getattr(given, "index", None)
    if names is None or callable(names) or hasattr(given, "columns"):
        return False
    return any(
        all(any(form in names for name in kind for form in (name, name.title(), name.upper()))
            for kind in kinds)
        for kinds in ((LONGITUDES, LATITUDES), (("x",), ("y",)))
    )  # fmt: skip


def are_places(graph: Graph, given: Any) -> bool:
    """Return whether an argument holds places with coordinates and not vertices."""
    if isinstance(given, (Snapped, NamedPlaces)) or hasattr(given, "geometry"):
        return True
    if graph.coordinates is None:
        return False
    return hasattr(given, "columns") or _pairs(graph, given) is not None


def as_places(graph: Graph, given: Any, what: str, options: dict[str, Any]) -> Places:
    """Read places and snap them; ``options`` are those of :meth:`nearfar.Graph.snap`."""
    places = _read(graph, given, what, options)
    if not len(places.snapped):
        raise OptionError(f"{what} is empty: give at least one place")
    if places.snapped.n_edges != graph.n_edges:
        raise OptionError(
            f"{what} were snapped to a graph of {places.snapped.n_edges:,} edges, but this graph "
            f"has {graph.n_edges:,}: snap them to this graph"
        )
    return places


def _read(graph: Graph, given: Any, what: str, options: dict[str, Any]) -> Places:
    if isinstance(given, Snapped):
        return Places(given, None, False)
    if isinstance(given, NamedPlaces):
        found = _snapped(graph, given.x, given.y, what, options, given.labels)
        return found._replace(framed=False)
    if _is_row(given):
        names = list(given if isinstance(given, Mapping) else given.index)
        x, y = coordinate_columns(graph, names, what)
        return _snapped(graph, [given[x]], [given[y]], what, options)
    if hasattr(given, "crs") and hasattr(given, "geometry"):
        return _of_geometry(graph, given, what, options)
    if hasattr(given, "columns"):
        return _of_frame(graph, given, what, options)
    if isinstance(given, tuple) and len(given) == 2:
        if is_place(graph, given):
            return _snapped(graph, [given[0]], [given[1]], what, options)
        if all(getattr(one, "ndim", 0) == 1 for one in given):
            return _snapped(graph, given[0], given[1], what, options)
    pairs = _pairs(graph, given)
    if pairs is not None:
        return _snapped(graph, pairs[:, 0], pairs[:, 1], what, options)
    one = given[0] if isinstance(given, (list, tuple)) and given else given
    if hasattr(one, "geom_type") and not hasattr(one, "to_numpy"):
        raise VertexError(
            f"{what} holds a {one.geom_type} of Shapely: give x and y, such as (point.x, point.y), "
            "or a GeoSeries"
        )
    return vertex_places(graph, given, what)


def _pairs(graph: Graph, given: Any) -> NDArray[np.float64] | None:
    """Return coordinates from an array of two columns or a list of pairs, or None."""
    if isinstance(given, np.ndarray):
        if given.ndim != 2:
            return None
        if given.shape[1] != 2 or given.dtype.kind not in "iuf":
            raise VertexError(
                f"places have shape {given.shape} and dtype {given.dtype}: give x and y per row"
            )
        return given.astype(np.float64)
    if not isinstance(given, (list, tuple)) or not given:
        return None
    if not all(isinstance(one, (list, tuple, np.ndarray)) and len(one) == 2 for one in given):
        return None
    if isinstance(given[0], tuple) and graph._are_names(given[0]):
        return None
    try:
        return np.array(given, dtype=np.float64)
    except (TypeError, ValueError):
        return None


def _snapped(
    graph: Graph, x: Any, y: Any, what: str, options: dict[str, Any], labels: Any = None
) -> Places:
    """Snap coordinates; errors name the argument and row."""
    try:
        found = graph.snap(x, y, **options)
    except VertexError as error:
        row = error.row
        named = labels is not None and row is not None and labels[row] != row
        whose = f"{what}, row {quoted(labels[row])}" if named else what
        raise VertexError(f"{whose}: {error}") from None
    return Places(found, labels, labels is not None)


def vertex_places(graph: Graph, given: Any, what: str) -> Places:
    """Convert vertices to places."""
    labels = getattr(given, "index", None) if hasattr(given, "to_numpy") else None
    framed = labels is not None
    values = given.to_numpy() if hasattr(given, "to_numpy") else given
    at = vertex_indices(graph, values, what)
    none, zeros = np.full(len(at), -1, np.int64), np.zeros(len(at))
    x = y = np.full(len(at), np.nan)
    if graph.coordinates is not None:
        x, y = graph.coordinates[at].T.copy()
    snapped = Snapped(none, none, zeros, zeros, at, zeros, x, y, graph.n_edges)
    return Places(snapped, labels if framed else graph.name_of(at), framed)


def coordinate_columns(graph: Graph, columns: Any, what: str) -> tuple[Any, Any]:
    """Find the columns of coordinates by their names."""
    known: list[Any] = list(columns)
    wanted: list[tuple[tuple[str, ...], tuple[str, ...]]] = [(LONGITUDES, LATITUDES)]
    wanted.insert(int(on_earth(graph)), (("x",), ("y",)))
    for kinds in wanted:
        found = [[c for c in known if str(c).strip().lower() in names] for names in kinds]
        if not all(found):
            continue
        twice = next((names for names in found if len(names) > 1), None)
        if twice:
            raise OptionError(f"{what} has several columns for a coordinate: {listed(twice)}")
        if graph.coordinates is None:
            raise GraphError(
                f"{what} has columns {found[0][0]} and {found[1][0]}, but the network has no "
                "coordinates: give coordinates= when building it"
            )
        if kinds[0] is LONGITUDES and not on_earth(graph):
            raise GraphError(
                f"{what} has columns {found[0][0]} and {found[1][0]}, but the network's "
                "coordinates are not degrees: convert them, and name the columns x and y"
            )
        return found[0][0], found[1][0]
    raise OptionError(
        f"{what} has no columns of coordinates (lon and lat, or x and y); it has "
        f"{listed(known) or 'no columns'}"
    )


def _of_frame(graph: Graph, frame: Any, what: str, options: dict[str, Any]) -> Places:
    """Convert a data frame with columns of coordinates."""
    x, y = coordinate_columns(graph, frame.columns, what)
    values = []
    for name in (x, y):
        column = frame[name]
        try:
            values.append(np.asarray(column.to_numpy(), dtype=np.float64))
        except (TypeError, ValueError):
            raise VertexError(f"{what}: column {quoted(name)} is not a number everywhere") from None
    labels = getattr(frame, "index", None)
    return _snapped(graph, values[0], values[1], what, options, labels)


def _of_geometry(graph: Graph, given: Any, what: str, options: dict[str, Any]) -> Places:
    """Convert the points of a GeoSeries or GeoDataFrame, checking the coordinate system."""
    points = given.geometry
    wrong = np.asarray((points.geom_type != "Point") | points.is_empty)
    if wrong.any():
        row = int(np.argmax(wrong))
        raise VertexError(
            f"{what}: row {row} holds {points.iloc[row].geom_type if points.iloc[row] else None}, "
            "not a point: give points, such as .representative_point()"
        )
    mine, theirs = graph.attributes.get("crs"), given.crs
    if theirs is not None and on_earth(graph) and not theirs.is_geographic:
        raise GraphError(
            f"{what} are in {theirs.to_string()}, but the network is in degrees: "
            f"{what}.to_crs(4326) converts them"
        )
    if theirs is not None and not on_earth(graph) and mine not in (None, theirs.to_string()):
        raise GraphError(
            f"{what} are in {theirs.to_string()}, but the network is in {mine}: "
            f"{what}.to_crs({quoted(mine)}) converts them"
        )
    return _snapped(graph, points.x.to_numpy(), points.y.to_numpy(), what, options, given.index)
