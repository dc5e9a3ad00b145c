"""Cost surfaces over arrays: shortest paths on graphs that are never stored.

A :class:`Raster` is an array of costs, in two or three dimensions, whose cells are the vertices of
a graph and whose steps to neighbouring cells are its edges. :func:`cost_distance` gives a
:class:`Surface`: the least cost of every cell from the nearest source, the paths, and which source
it is. The engines compute each step's cost when they need it, so memory is the arrays' own.

`docs/explanation/rasters.md` describes the engines; :mod:`nearfar.raster.interfaces` has functions
with the arguments of scikit-image, xarray-spatial and dijkstra3d.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from nearfar.system.lazy import lazy_names

if TYPE_CHECKING:
    from nearfar.raster.files import read_raster, write_raster
    from nearfar.raster.picture import draw_surface
    from nearfar.raster.raster import Raster
    from nearfar.raster.slopes import SlopeTable, hiking
    from nearfar.raster.solve import corridor, cost_distance, cost_distances
    from nearfar.raster.surface import Surface
    from nearfar.raster.terrain import landscape

_WHERE = {
    "Raster": "raster",
    "SlopeTable": "slopes",
    "Surface": "surface",
    "corridor": "solve",
    "cost_distance": "solve",
    "cost_distances": "solve",
    "draw_surface": "picture",
    "hiking": "slopes",
    "landscape": "terrain",
    "read_raster": "files",
    "write_raster": "files",
}

__all__ = [
    "Raster",
    "SlopeTable",
    "Surface",
    "corridor",
    "cost_distance",
    "cost_distances",
    "draw_surface",
    "hiking",
    "landscape",
    "read_raster",
    "write_raster",
]

__getattr__, __dir__ = lazy_names("nearfar.raster", _WHERE, ("interfaces",))
