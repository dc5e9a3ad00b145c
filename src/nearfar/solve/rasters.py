"""Requests on a :class:`nearfar.raster.Raster`, which the raster engines solve."""

from __future__ import annotations

from typing import Any

import numpy as np

from nearfar.errors import OptionError
from nearfar.raster.raster import Raster
from nearfar.raster.solve import cost_distance, cost_distances
from nearfar.raster.surface import Surface


def _refuse(method: str, **given: Any) -> None:
    """Refuse methods and arguments that only graphs with stored edges support."""
    if method != "auto":
        raise OptionError("a Raster has its own engines: omit method, and name a device")
    for name, value in given.items():
        if value is not None and value is not False:
            raise OptionError(f"{name} is not supported for a Raster")


def surface_of(
    raster: Raster, source: Any, method: str, options: dict[str, Any], **given: Any
) -> Surface:
    """Return the surface of one source or of several."""
    _refuse(method, **options)
    return cost_distance(raster, source, **given)


def rows_of(
    raster: Raster, sources: Any, method: str, options: dict[str, Any], **given: Any
) -> Any:
    """Return distances, one row per source."""
    _refuse(method, **options)
    if sources is None:
        raise OptionError("give the sources: one row per cell of a Raster would be too large")
    return cost_distances(raster, sources, **given)


def nearest_of(
    raster: Raster,
    sources: Any,
    method: str,
    options: dict[str, Any],
    predecessors: bool,
    **given: Any,
) -> tuple[Any, Any, Any]:
    """Return (distances, positions of the nearest sources, predecessors or None)."""
    _refuse(method, **options)
    surface = cost_distance(raster, sources, **given)
    rows = surface.allocation
    places = np.where(rows < 0, -1, surface.sources[np.maximum(rows, 0)])
    return surface.distances, places, surface.predecessors if predecessors else None
