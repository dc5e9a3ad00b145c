"""Isochrones: maps of distances from one source, and areas within reach of many as GeoJSON."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Sequence
from typing import Any, Literal, Unpack

import numpy as np
from numpy.typing import NDArray

from nearfar.answer.geography import Reach, check_limits, reach_features
from nearfar.answer.isochrone import draw_isochrones
from nearfar.answer.page import draw_page
from nearfar.answer.paths import Paths
from nearfar.errors import OptionError, quoted
from nearfar.graph.graph import Graph
from nearfar.graph.like import GraphLike
from nearfar.graph.snapping.snap import Snapped
from nearfar.graph.turns import TurnGraph, named_graph, searched_graph
from nearfar.options import Device, file_name
from nearfar.raster.picture import draw_surface
from nearfar.raster.raster import Raster
from nearfar.raster.surface import Surface
from nearfar.solve.many import distances as many_distances
from nearfar.solve.one import sssp
from nearfar.solve.option_types import SearchOptions
from nearfar.solve.places.entries import check_weights, entries
from nearfar.solve.places.given import are_places, as_places, is_place, vertex_places
from nearfar.solve.places.table import numbered
from nearfar.solve.steps.request import as_graph_or_turns

_AT_ONCE = 1024  # sources that are searched together

_SUFFIXES = (".png", ".svg", ".pdf", ".html")
_SHOWN = {"s": (60.0, "minutes"), "ms": (60_000.0, "minutes"), "m": (1000.0, "km")}


def shown_unit(graph: Graph) -> tuple[float, str]:
    """Return the divisor of a graph's distances for display, and the resulting unit."""
    unit = graph.attributes.get("unit", "")
    return _SHOWN.get(unit, (1.0, unit))


def isochrone(
    graph: GraphLike,
    source: Any,
    file: str | os.PathLike[str],
    *,
    weight: str | Callable[[Any, Any, Any], Any] | None = "weight",
    method: str = "auto",
    device: Device = "auto",
    threads: int | None = None,
    limit: float | None = None,
    stats: dict[str, Any] | None = None,
    title: str = "",
    width: float = 8.0,
    dpi: int = 160,
    **options: Unpack[SearchOptions],
) -> Paths:
    """Draw the edges of a graph with coordinates, coloured by distance from one source.

    Parameters
    ----------
    graph : Graph, TurnGraph or Raster
        Graph with ``coordinates``. If ``attributes["unit"]`` is seconds, milliseconds or metres,
        the map shows minutes or kilometres. A Raster is drawn by
        :func:`nearfar.raster.draw_surface`.
    source : int or vertex name, or a place
        As for :func:`nearfar.sssp`.
    file : str or path
        Path of a PNG, SVG or PDF file, by suffix, or ``.html`` for an interactive map.
    weight, method, device, threads, limit, stats, **options
        As for :func:`nearfar.sssp`.
    title : str
    width : float
        Width of a picture in inches; the height follows from the extent.
    dpi : int

    Returns
    -------
    Paths
        Answer that was drawn.

    Raises
    ------
    GraphError, MissingDependencyError
        As for :func:`nearfar.answer.draw_isochrones`.
    OptionError
        For an unknown suffix, and as for :func:`nearfar.answer.draw_isochrones`.

    Notes
    -----
    One search, plus O(n + m).
    """
    name = file_name(file)
    suffix = os.path.splitext(name)[1].lower()
    if suffix not in _SUFFIXES:
        raise OptionError(
            f"file is {quoted(name)}: end it in {', '.join(_SUFFIXES)}; "
            "nearfar.answer.isochrones returns GeoJSON"
        )
    if not isinstance(graph, Raster):
        graph = as_graph_or_turns(graph, weight)
    paths = sssp(
        graph,
        source,
        method=method,
        device=device,
        threads=threads,
        limit=limit,
        stats=stats,
        **options,
    )
    if isinstance(paths, Surface):
        draw_surface(paths, file, title=title, width=width, dpi=dpi)
        return paths
    scale, shown = shown_unit(paths.graph)
    if suffix == ".html":
        draw_page(paths, file, title=title, scale=scale, unit=shown)
    else:
        draw_isochrones(paths, file, title=title, scale=scale, unit=shown, width=width, dpi=dpi)
    return paths


def isochrones(
    graph: GraphLike,
    sources: Any,
    limits: float | Sequence[float],
    *,
    polygons: bool = False,
    width: float = 50.0,
    weight: str | Callable[[Any, Any, Any], Any] | None = "weight",
    to: Literal["edge", "vertex"] = "edge",
    parts: Literal["largest", "all"] = "largest",
    max_distance: float | None = None,
    device: Device = "auto",
    threads: int | None = None,
) -> dict[str, Any]:
    """Return the streets or areas within given distances of many sources as GeoJSON.

    Searches stop at the largest limit and run on all cores. A place reaches its own street in both
    directions, unless it is one-way, and the rest of the network from the ends of the street.

    Parameters
    ----------
    graph : graph_like or TurnGraph
        Graph with longitudes and latitudes as ``coordinates`` and non-negative weights.
    sources : places or vertices
        Coordinates in data frames, GeoSeries, arrays or lists as for :func:`nearfar.table`, or
        names of vertices.
    limits : number or sequence of numbers
        Distances in units of the weights.
    polygons, width
        As for :func:`nearfar.answer.isochrones`.
    to, parts, max_distance
        As for :meth:`nearfar.Graph.snap`. Places beyond ``max_distance`` do not reach anything.
    weight, device, threads
        As for :func:`nearfar.distances`.

    Returns
    -------
    dict
        A FeatureCollection with one feature per source and limit, source by source, the largest
        limit first. The properties are those of :func:`nearfar.answer.isochrones`, which is for one
        source. The ``source`` of a place is its label in the index of the data frame, or its row
        number. :func:`nearfar.answer.write_geography` writes the collection to a file.

    Raises
    ------
    GraphError
        If the graph has no geographic coordinates, or negative weights.
    OptionError
        If there is no limit or one is not a number of at least 0; if ``width`` is not above 0.
    VertexError, MissingDependencyError
        For a source that is not a vertex or is a place far away; for polygons without shapely.

    Notes
    -----
    O(r log r) per source for r vertices within the largest limit and their edges, plus O(r) per
    limit and the union of polygons.

    Examples
    --------
    >>> import nearfar
    >>> g = nearfar.Graph.from_edges(
    ...     [0, 1], [1, 2], [60, 60], directed=False,
    ...     coordinates=[[24.94, 60.17], [24.95, 60.17], [24.96, 60.17]],
    ... )
    >>> found = nearfar.isochrones(g, [0, 2], [30, 60])
    >>> [(f["properties"]["source"], f["properties"]["n_vertices"]) for f in found["features"]]
    [(0, 2), (0, 1), (2, 2), (2, 1)]
    >>> found = nearfar.isochrones(g, [(24.945, 60.17)], [15])
    >>> [round(x, 4) for x, y in found["features"][0]["geometry"]["coordinates"][0]]
    [24.9425, 24.9475]
    """
    solved = as_graph_or_turns(graph, weight)
    named = named_graph(solved)
    check_weights(named)
    far = check_limits(limits)[0]
    if are_places(named, sources) or is_place(named, sources):
        options = {"to": to, "parts": parts, "max_distance": max_distance, "threads": threads}
        places, names = as_places(named, sources, "sources", options)[:2]
        names = range(len(places)) if names is None else names
    else:
        places = vertex_places(named, sources, "source").snapped
        names = named.name_of(places.vertex)
    solver = {"limit": far, "device": device, "threads": threads}
    return reach_features(
        solved, _reaches(solved, places, names, solver), limits, polygons=polygons, width=width
    )


def _reaches(
    given: Graph | TurnGraph, places: Snapped, names: Any, solver: dict[str, Any]
) -> Iterator[Reach]:
    """Yield the reach of each place within the limit, from the vertices next to it."""
    leaving, graph = entries(given, places, True), searched_graph(given)
    for first in range(0, len(places), _AT_ONCE):
        vertices, rows = numbered(leaving.vertex[first : first + _AT_ONCE])
        near: Any = None
        if len(vertices):
            near = many_distances(graph, graph.name_of(vertices), out="csr", **solver)
            near.sort_indices()
        for i, some in enumerate(rows.tolist(), first):
            reached, lengths = [], []
            for row, cost in zip(some, leaving.cost[i].tolist(), strict=True):
                if row >= 0:
                    part = slice(near.indptr[row], near.indptr[row + 1])
                    reached.append(near.indices[part])
                    lengths.append(near.data[part] + cost if cost else near.data[part])
            yield Reach(
                names[i],
                *_least(reached, lengths),
                int(places.edge[i]),
                int(places.back[i]),
                float(places.share[i]),
            )


def _least(
    vertices: list[NDArray[Any]], distances: list[NDArray[Any]]
) -> tuple[NDArray[Any], NDArray[Any]]:
    """Return the sorted vertices of all rows with the least distance of each."""
    if len(vertices) < 2:
        none = np.empty(0, np.int64)
        return (vertices[0], distances[0]) if vertices else (none, none)
    found, lengths = np.concatenate(vertices), np.concatenate(distances)
    order = np.lexsort((lengths, found))
    found = found[order]
    first = np.append(True, found[1:] != found[:-1])
    return found[first], lengths[order[first]]
