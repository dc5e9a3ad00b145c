"""Tables as Markdown, and figures by matplotlib (extra ``plot``), from plain data."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

from nearfar.bench.report import table as aligned
from nearfar.errors import MissingDependencyError

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

__all__ = ["cell", "draw", "markdown_table"]

_MARKERS = "osD^vP*X<>"


def cell(value: Any, digits: int = 3) -> str:
    """A number with so many significant digits and thousands separators; a dash for None."""
    if value is None or (isinstance(value, float) and not math.isfinite(value)):
        return "-"
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, int):
        return f"{value:,}"
    if not isinstance(value, float):
        return str(value).replace("|", "\\|")
    if value == 0:
        return "0"
    before = math.floor(math.log10(abs(value))) + 1
    return f"{value:,.{max(digits - before, 0)}f}" if before > -4 else f"{value:.{digits}g}"


def markdown_table(table: Mapping[str, Any]) -> list[str]:
    """Lines of one table (plain data of :class:`~nearfar.experiments.experiment.Table`)."""
    columns = table["columns"]
    header = [f"{c['name']}, {c['unit']}" if c["unit"] else c["name"] for c in columns]
    rows = [
        [cell(value, c["digits"]) for value, c in zip(row, columns, strict=True)]
        for row in table["rows"]
    ]
    return aligned(header, rows)


def draw(figure: Mapping[str, Any], folder: Path) -> list[str]:
    """Draw a figure (plain data of ``Figure``) as PNG and SVG; returns the file names.

    Raises
    ------
    MissingDependencyError
        Without matplotlib.
    """
    try:
        from matplotlib.backends.backend_agg import FigureCanvasAgg
        from matplotlib.figure import Figure
    except ImportError:
        raise MissingDependencyError(
            "figures need matplotlib: pip install 'nearfar[plot]'"
        ) from None
    panels = figure["panels"]
    across = min(max(figure["columns"], 1), max(len(panels), 1))
    down = max(-(-len(panels) // across), 1)
    page = Figure(figsize=(6.4 * across, 4.2 * down), dpi=110, layout="constrained")
    FigureCanvasAgg(page)
    for place, panel in enumerate(panels):
        axes = page.add_subplot(down, across, place + 1)
        (_bars if panel["kind"] == "bars" else _lines)(axes, panel)
        axes.set_title(panel["title"], fontsize=10)
        axes.set_xlabel(panel["x_label"])
        axes.set_ylabel(panel["y_label"])
        if panel["x_log"]:
            axes.set_xscale("log")
        if panel["y_log"]:
            axes.set_yscale("log")
        for label, at in panel["marks"]:
            axes.axvline(at, color="black", linewidth=0.8, linestyle=":", label=label)
        if any(series["label"] for series in panel["series"]):
            axes.legend(fontsize=7, frameon=False)
        axes.spines[["top", "right"]].set_visible(False)
        axes.grid(axis="y", linewidth=0.3)
    folder.mkdir(parents=True, exist_ok=True)
    names = []
    for suffix, stamp in (("png", {"Software": None}), ("svg", {"Date": None})):
        path = folder / f"{figure['key']}.{suffix}"
        page.savefig(path, metadata=stamp)
        names.append(path.name)
    return names


def _points(series: Mapping[str, Any]) -> list[tuple[Any, float, int]]:
    return [(x, y, i) for i, (x, y) in enumerate(zip(series["x"], series["y"], strict=True)) if y]


def _lines(axes: Any, panel: Mapping[str, Any]) -> None:
    for number, series in enumerate(panel["series"]):
        points = _points(series)
        if not points:
            continue
        xs, ys = [p[0] for p in points], [p[1] for p in points]
        style = {"marker": _MARKERS[number % len(_MARKERS)], "markersize": 4, "linewidth": 1.1}
        style |= series["style"]
        (line,) = axes.plot(xs, ys, label=series["label"], **style)
        if series["low"] and series["high"]:
            low = [series["low"][i] or y for _, y, i in points]
            high = [series["high"][i] or y for _, y, i in points]
            axes.fill_between(xs, low, high, alpha=0.15, color=line.get_color(), linewidth=0)


def _bars(axes: Any, panel: Mapping[str, Any]) -> None:
    series = panel["series"]
    names = list(series[0]["x"]) if series else []
    width = 0.8 / max(len(series), 1)
    for number, one in enumerate(series):
        shift = (number - (len(series) - 1) / 2) * width
        heights = [y or 0.0 for y in one["y"]]
        places = [i + shift for i in range(len(names))]
        axes.bar(places, heights, width * 0.95, label=one["label"], **one["style"])
    turned = any(len(str(name)) > 8 for name in names)
    axes.set_xticks(range(len(names)), names, rotation=40 if turned else 0, fontsize=7)
    if turned:
        for label in axes.get_xticklabels():
            label.set_horizontalalignment("right")
