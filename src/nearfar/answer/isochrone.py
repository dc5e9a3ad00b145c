"""Maps of travel times, with every edge in the colour of its distance from the source.

Streets are coloured and the areas between them are not filled, so that the map shows only computed
values: a missing bridge or a one-way street appears as a step in colour. The colour map is
perceptually uniform, so equal differences in time look equal.
"""

from __future__ import annotations

import math
import os
from typing import Any

import numpy as np
from numpy.typing import NDArray

from nearfar.answer.paths import Paths
from nearfar.answer.streets import map_coordinates, one_per_street, parts_of
from nearfar.errors import GraphError, MissingDependencyError, OptionError, quoted
from nearfar.graph.dtypes import unreached_value
from nearfar.graph.geography import on_earth
from nearfar.options import check_above_zero, file_name
from nearfar.system.output import replacing

_METRES_PER_DEGREE = 111_320.0
_SEGMENTS = 1000  # per path at most, since pictures need memory for all pixels of a path
_NUMBER = "{x:,.10g}"
_PAPER, _INK, _FAINT = "#10131a", "#f2f0ea", "#3a404d"


def draw_isochrones(
    paths: Paths,
    file: str | os.PathLike[str],
    *,
    title: str = "",
    scale: float = 1.0,
    unit: str = "",
    width: float = 8.0,
    dpi: int = 160,
) -> None:
    """Draw the edges of a graph with coordinates, coloured by distance from the source.

    Parameters
    ----------
    paths : Paths
        Answer whose graph has ``coordinates``; ``attributes["attribution"]`` is printed as the
        source of the data.
    file : str or path
        Path of a PNG, SVG or PDF file, by suffix.
    title : str
    scale : float
        Divisor of the displayed distances: 60 converts seconds to minutes.
    unit : str
        Name of the displayed unit, such as ``"minutes"``.
    width : float
        Width in inches; the height follows from the extent.
    dpi : int

    Raises
    ------
    GraphError
        If the graph has no coordinates, or no edge with both ends reached.
    OptionError
        If ``scale``, ``width`` or ``dpi`` is not above 0, or for another suffix.
    MissingDependencyError
        Without matplotlib.

    Notes
    -----
    O(n + m). The value of an edge is the mean distance of its ends; edges with an unreached end are
    drawn faintly.
    """
    try:
        from matplotlib.backends.backend_agg import FigureCanvasAgg
        from matplotlib.figure import Figure
    except ImportError:
        raise MissingDependencyError("maps need matplotlib: pip install 'nearfar[plot]'") from None

    check_above_zero(scale=scale, width=width, dpi=dpi)
    name = file_name(file)
    if not name.lower().endswith((".png", ".svg", ".pdf")):
        raise OptionError(f"file is {quoted(name)}: end it in .png, .svg or .pdf")
    graph = paths.graph
    xy = map_coordinates(graph)
    segments, values, faint = _segments(paths, scale)
    if not len(segments):
        raise GraphError("no edge has both ends reached: there is nothing to draw")
    shown = np.concatenate([segments, faint]).reshape(-1, 2)
    low, high = shown.min(axis=0), shown.max(axis=0)
    geographic = on_earth(graph)
    # A degree of longitude shrinks towards the poles; the map is true to scale at its centre.
    aspect = 1 / math.cos(math.radians((low[1] + high[1]) / 2)) if geographic else 1.0
    span = np.maximum(high - low, 1e-12)
    margin = 0.03 * span
    inner = float(np.clip(width * span[1] * aspect / span[0], width * 0.5, width * 1.5))
    head = (0.95 if "\n" in title else 0.65) if title else 0.1
    height = inner + head + 0.75
    bottom = 0.75 / height

    figure = Figure(figsize=(width, height), dpi=dpi, facecolor=_PAPER)
    FigureCanvasAgg(figure)
    axes = figure.add_axes((0.0, bottom, 1.0, inner / height))
    axes.set_facecolor(_PAPER)
    axes.set_xlim(low[0] - margin[0], high[0] + margin[0])
    axes.set_ylim(low[1] - margin[1], high[1] + margin[1])
    axes.set_aspect(aspect)
    axes.set_axis_off()

    lines = _draw_edges(axes, segments, values, faint)
    _draw_source(axes, xy[paths._source_index])
    if geographic:
        _draw_scale_bar(figure, axes, _METRES_PER_DEGREE / aspect, bottom)
    _draw_legend(figure, lines, unit, bottom)
    owner = graph.attributes.get("attribution", "")
    small: dict[str, Any] = {"color": _INK, "fontsize": 8.5, "alpha": 0.75}
    figure.text(0.985, 0.22 * bottom, owner, ha="right", va="center", **small)
    if title:
        first, _, rest = title.partition("\n")
        big: dict[str, Any] = {"color": _INK, "fontsize": 17, "fontweight": "bold"}
        figure.text(0.025, 1 - 0.27 / height, first, ha="left", va="top", **big)
        figure.text(
            0.025, 1 - 0.63 / height, rest, ha="left", va="top", **{**small, "fontsize": 11}
        )
    with replacing(name) as temporary:
        figure.savefig(temporary, facecolor=_PAPER)


def _segments(
    paths: Paths, scale: float
) -> tuple[NDArray[np.float64], NDArray[np.float64], NDArray[np.float64]]:
    """Return segments of reached edges, farthest first, their values, and the other segments."""
    graph, distances = paths.graph, paths._host_distances
    edges = one_per_street(graph, np.arange(graph.n_edges, dtype=np.int64))
    tails, heads = graph.tails(np.int64)[edges], graph.indices[edges]
    reached = distances != unreached_value(distances.dtype)
    both = reached[tails] & reached[heads]
    mean = distances[tails[both]].astype(np.float64)
    mean = (mean + distances[heads[both]]) / (2 * scale)
    # Near streets are drawn last, so that they are on top at crossings.
    order = np.argsort(-mean, kind="stable")
    parts = parts_of(graph, edges[both][order])
    return parts.ends, mean[order][parts.edge], parts_of(graph, edges[~both]).ends


def _colours() -> Any:
    """Return a colour map from bright near the source to dark, without near-white colours."""
    from matplotlib import colormaps
    from matplotlib.colors import LinearSegmentedColormap

    return LinearSegmentedColormap.from_list(
        "travel", colormaps["inferno"](np.linspace(0.97, 0.42, 256))
    )


def _draw_edges(
    axes: Any,
    segments: NDArray[np.float64],
    values: NDArray[np.float64],
    faint: NDArray[np.float64],
) -> Any:
    from matplotlib.collections import PathCollection

    # Lines become thinner as their number grows; beyond a million they form a texture.
    width = float(np.clip(180 / math.sqrt(len(segments)), 0.5, 2.0))
    style: dict[str, Any] = {"facecolors": "none", "capstyle": "round", "joinstyle": "round"}
    # A few remote edges would take up most of the colours: if the last hundredth of the edges is
    # much farther, the scale ends before them and the legend shows an arrow.
    top, rest = float(values.max()), float(np.quantile(values, 0.99))
    top = (rest if rest < 0.85 * top else top) or 1.0
    colours = _colours()
    # Segments of one colour are one path, which a file holds in a third of the space.
    shades = np.minimum(values * (colours.N / top), colours.N - 1).astype(np.intp)
    paths, _ = _joined(faint, np.zeros(len(faint), dtype=np.intp))
    axes.add_collection(PathCollection(paths, edgecolors=_FAINT, linewidths=width * 0.6, **style))
    paths, first = _joined(segments, shades)
    lines = PathCollection(paths, cmap=colours, linewidths=width, **style)
    lines.set_array(values[first])
    lines.set_clim(0, top)
    axes.add_collection(lines)
    return lines


def _joined(
    segments: NDArray[np.float64], shades: NDArray[np.intp]
) -> tuple[list[Any], NDArray[np.intp]]:
    """Return paths of successive segments of the same shade, and the first segment of each."""
    from matplotlib.path import Path

    at = np.arange(len(segments))
    first = np.flatnonzero((at % _SEGMENTS == 0) | (np.diff(shades, prepend=-1) != 0))
    paths = []
    for part in np.split(segments, first[1:]) if len(first) else ():
        path = Path(part.reshape(-1, 2), np.tile([Path.MOVETO, Path.LINETO], len(part)))
        path.should_simplify = False  # which drops short segments
        paths.append(path)
    return paths, first


def _draw_source(axes: Any, at: NDArray[np.float64]) -> None:
    axes.plot(*at, "o", markersize=17, markerfacecolor="none", markeredgecolor=_INK, alpha=0.55)
    axes.plot(*at, "o", markersize=9, color="#2ec4ff", markeredgecolor=_INK, markeredgewidth=1.8)


def _draw_scale_bar(figure: Any, axes: Any, metres_a_unit: float, bottom: float) -> None:
    """Draw a bar of a round length, about an eighth of the width, at the lower left."""
    left, right = axes.get_xlim()
    wanted = (right - left) * metres_a_unit / 8
    power = 10 ** math.floor(math.log10(wanted))
    metres = max(step * power for step in (1, 2, 5) if step * power <= wanted)
    share = metres / metres_a_unit / (right - left)
    box = axes.get_position(original=False)
    share *= box.width
    y = 0.62 * bottom
    from matplotlib.lines import Line2D

    figure.add_artist(
        Line2D([0.025, 0.025 + share], [y, y], color=_INK, linewidth=2, solid_capstyle="butt")
    )
    label = f"{metres / 1000:g} km" if metres >= 1000 else f"{metres:g} m"
    figure.text(0.025, 0.22 * bottom, label, color=_INK, fontsize=8.5, va="center", alpha=0.75)


def _draw_legend(figure: Any, lines: Any, unit: str, bottom: float) -> None:
    box = figure.add_axes((0.3, 0.55 * bottom, 0.4, 0.14 * bottom))
    from matplotlib.ticker import MaxNLocator, StrMethodFormatter

    top = lines.get_clim()[1]
    # The most ticks whose numbers have room, a character taking about .08 inches.
    for bins in range(8, 1, -1):
        ticks = MaxNLocator(nbins=bins, steps=[1, 2, 5, 10])
        numbers = [_NUMBER.format(x=x) for x in ticks.tick_values(0, top) if x <= top]
        if 0.08 * (len(numbers) + sum(map(len, numbers))) < 0.4 * figure.get_figwidth():
            break
    extend = "max" if float(lines.get_array().max()) > top else "neither"
    bar = figure.colorbar(
        lines, cax=box, orientation="horizontal", ticks=ticks, extend=extend, extendfrac=0.03
    )
    bar.outline.set_visible(False)
    box.xaxis.set_major_formatter(StrMethodFormatter(_NUMBER))
    box.tick_params(color=_INK, labelcolor=_INK, labelsize=9, length=0, pad=3)
    text = {"color": _INK, "fontsize": 9, "va": "center", "alpha": 0.75}
    figure.text(0.71, 0.62 * bottom, unit or "distance", ha="left", **text)
