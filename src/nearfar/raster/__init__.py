"""Cost surfaces over arrays: shortest paths on graphs that are never stored.

A :class:`Raster` is an array of costs, in two or three dimensions, whose cells are the vertices of
a graph and whose steps to neighbouring cells are its edges. :func:`cost_distance` gives a
:class:`Surface`: the least cost of every cell from the nearest source, the paths, and the
nearest source. The engines compute the cost of a step on use, so only the arrays
take memory.

`docs/explanation/rasters.md` describes the engines; :mod:`nearfar.raster.interfaces` has functions
with the arguments of scikit-image, xarray-spatial and dijkstra3d.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from nearfar.system.lazy import lazy_names

if TYPE_CHECKING:
    from nearfar.raster.files import read_raster, write_raster
    from nearfar.raster.mapping import map_array
    from nearfar.raster.paths import LeastCostPath, least_cost_paths, path_cost
    from nearfar.raster.picture import draw_surface
    from nearfar.raster.raster import Raster
    from nearfar.raster.slopes import SlopeTable, hiking
    from nearfar.raster.solve import corridor, cost_distance, cost_distances
    from nearfar.raster.surface import Surface
    from nearfar.raster.terrain import landscape

_NAMES = {
    "paths": ("LeastCostPath", "least_cost_paths", "path_cost"),
    "raster": ("Raster",),
    "slopes": ("SlopeTable", "hiking"),
    "surface": ("Surface",),
    "solve": ("corridor", "cost_distance", "cost_distances"),
    "picture": ("draw_surface",),
    "terrain": ("landscape",),
    "mapping": ("map_array",),
    "files": ("read_raster", "write_raster"),
}

__all__ = [
    "LeastCostPath",
    "Raster",
    "SlopeTable",
    "Surface",
    "corridor",
    "cost_distance",
    "cost_distances",
    "draw_surface",
    "hiking",
    "landscape",
    "least_cost_paths",
    "map_array",
    "path_cost",
    "read_raster",
    "write_raster",
]

__getattr__, __dir__ = lazy_names("nearfar.raster", _NAMES, ("interfaces",))
