"""Isochrone maps: solve from one source and draw the distances."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, Any, Unpack

from nearfar.answer.isochrone import draw_isochrones
from nearfar.answer.page import draw_page
from nearfar.errors import OptionError, quoted
from nearfar.raster.picture import draw_surface
from nearfar.raster.raster import Raster
from nearfar.raster.surface import Surface
from nearfar.solve.one import sssp
from nearfar.solve.steps.request import as_graph_or_turns

if TYPE_CHECKING:
    from collections.abc import Callable

    from nearfar.answer.paths import Paths
    from nearfar.graph.graph import Graph
    from nearfar.graph.like import GraphLike
    from nearfar.options import Device
    from nearfar.solve.option_types import SearchOptions

__all__ = ["isochrone", "shown_unit"]

_SUFFIXES = (".png", ".svg", ".pdf", ".html")
_SHOWN = {"s": (60.0, "minutes"), "ms": (60_000.0, "minutes"), "m": (1000.0, "km")}


def shown_unit(graph: Graph) -> tuple[float, str]:
    """Return the divisor of a graph's distances on a map, and the unit after dividing."""
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
        Needs ``coordinates``. Where ``attributes["unit"]`` is seconds, milliseconds or metres, the
        map shows minutes or kilometres. A Raster is drawn by :func:`nearfar.raster.draw_surface`.
    source : int or vertex name, or a place
        As for :func:`nearfar.sssp`.
    file : str or path
        PNG, SVG or PDF, by suffix; ``.html`` for an interactive map in one file.
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
        As :func:`nearfar.answer.draw_isochrones`.
    OptionError
        For an unknown suffix, and as :func:`nearfar.answer.draw_isochrones`.

    Notes
    -----
    The cost of one search, plus O(n + m).
    """
    suffix = os.path.splitext(os.fspath(file))[1].lower()
    if suffix not in _SUFFIXES:
        raise OptionError(
            f"file is {quoted(os.fspath(file))}: end it in {', '.join(_SUFFIXES)}; "
            "nearfar.answer.isochrones makes GeoJSON"
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
