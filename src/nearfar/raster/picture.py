"""Draw a surface: hill-shaded relief, contour lines of the cost, and routes."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, Any

import numpy as np

from nearfar.errors import MissingDependencyError, OptionError, quoted
from nearfar.options import file_name
from nearfar.system.output import replacing

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import ArrayLike, NDArray

    from nearfar.raster.surface import Surface

__all__ = ["draw_surface"]

_SUFFIXES = (".png", ".svg", ".pdf")
_MOST = 1200  # maximum number of drawn cells along an axis; larger rasters are thinned


def draw_surface(
    surface: Surface,
    file: str | os.PathLike[str],
    *,
    routes: Sequence[ArrayLike] = (),
    relief: ArrayLike | None = None,
    levels: int = 12,
    title: str = "",
    unit: str = "",
    width: float = 8.0,
    dpi: int = 160,
) -> None:
    """Draw a surface of two dimensions.

    Parameters
    ----------
    surface : Surface
    file : str or path
        PNG, SVG or PDF, by suffix.
    routes : sequence of arrays, shape (length, 2)
        Paths to draw, as from :meth:`Surface.path_to`.
    relief : array or None
        Elevation model for the hill shading; by default the raster's own, else its costs.
    levels : int
        Number of contour lines.
    title, unit : str
    width : float
        Width in inches; the height follows from the raster.
    dpi : int

    Raises
    ------
    OptionError
        For three dimensions, or another suffix.
    MissingDependencyError
        Without matplotlib.
    """
    name = file_name(file)
    if not name.lower().endswith(_SUFFIXES):
        raise OptionError(f"file is {quoted(name)}: end it in {', '.join(_SUFFIXES)}")
    raster = surface.raster
    if raster.ndim != 2:
        raise OptionError("a picture has two dimensions: draw a plane of the volume")
    try:
        from matplotlib.backends.backend_agg import FigureCanvasAgg
        from matplotlib.colors import LightSource
        from matplotlib.figure import Figure
    except ImportError:
        raise MissingDependencyError(
            "pictures need matplotlib: pip install 'nearfar[plot]'"
        ) from None
    every = max(1, -(-max(raster.shape) // _MOST))
    costs = surface.as_floats()[::every, ::every].astype(np.float64)
    given = raster.elevation if raster.elevation is not None else raster.cost
    heights = np.asarray(given if relief is None else relief)[::every, ::every].astype(float)
    if relief is None and raster.elevation is None:  # costs of barriers would flatten all others
        heights[(heights < 0) | (heights == raster.no_data)] = np.nan
    rows, columns = raster.shape
    tall = rows * raster.cell_size[0] / (columns * raster.cell_size[1])
    figure = Figure(figsize=(width, max(2.0, min(3 * width, 0.86 * width * tall + 0.6))), dpi=dpi)
    FigureCanvasAgg(figure)
    axes = figure.add_subplot()
    extent = (-0.5, columns - 0.5, rows - 0.5, -0.5)
    axes.imshow(_shaded(heights, raster.cell_size, every, LightSource), cmap="gray", vmin=0, vmax=1,
                extent=extent)  # fmt: skip
    shown = axes.imshow(costs, cmap="viridis", alpha=0.55, extent=extent)
    x, y = (np.arange(n) * every + (every - 1) / 2 for n in costs.shape[::-1])
    if min(costs.shape) > 1 and np.isfinite(costs).any() and np.nanmax(costs) > np.nanmin(costs):
        at = np.linspace(np.nanmin(costs), np.nanmax(costs), levels + 2)[1:-1]
        axes.contour(x, y, costs, levels=at, colors="white", linewidths=0.6, alpha=0.8)
    for route in routes:
        path = np.asarray(route)
        if len(path):
            axes.plot(path[:, 1], path[:, 0], color="black", linewidth=2.4, solid_capstyle="round")
            axes.plot(path[:, 1], path[:, 0], color="#ff6a00", linewidth=1.4)
    begin = np.unravel_index(surface.sources, raster.shape)
    axes.scatter(begin[1], begin[0], s=28, color="#ff6a00", edgecolors="black", zorder=3)
    axes.set_xlim(-0.5, columns - 0.5), axes.set_ylim(rows - 0.5, -0.5)
    axes.set_aspect(raster.cell_size[0] / raster.cell_size[1])
    axes.set_xticks([]), axes.set_yticks([])
    if title:
        axes.set_title(title)
    bar = figure.colorbar(shown, ax=axes, fraction=0.035, pad=0.02)
    bar.set_label(f"cost distance ({unit})" if unit else "cost distance")
    with replacing(name) as temporary:
        figure.savefig(temporary, bbox_inches="tight")


def _shaded(heights: NDArray[Any], size: Any, every: int, light: Any) -> NDArray[Any]:
    """Return hill shading between 0 and 1; cells without a height are flat."""
    known = np.isfinite(heights)
    if min(heights.shape) < 2 or not known.any():
        return np.full(heights.shape, 0.7)
    filled = np.where(known, heights, heights[known].mean())
    run = max(float(filled.max() - filled.min()), 1e-12)
    # Heights are exaggerated so that the steepest slopes of any landscape cast shadows.
    reach = 0.12 * min(heights.shape) * every * min(size) / run
    source = light(azdeg=315, altdeg=45)
    shade = source.hillshade(filled, vert_exag=reach, dx=every * size[1], dy=every * size[0])
    return np.where(known, shade, 0.35)
