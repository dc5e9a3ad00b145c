"""Tables as Markdown, and figures by matplotlib (extra ``plot``), from plain data."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

from nearfar.bench.report import table as aligned
from nearfar.errors import MissingDependencyError

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from pathlib import Path

__all__ = ["cell", "draw", "markdown_table"]

_MARKERS = "osD^vP*X<>hd"
_COLOURS = (
    *(f"C{i}" for i in range(10)),
    "black",
    "goldenrod",
)


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
    wide, high = (4.2, 3.1) if len(panels) > 6 else (6.4, 4.2)
    if across == 1 and any(panel["kind"] == "bars" for panel in panels):
        wide = 10.0
    page = Figure(figsize=(wide * across, high * down), dpi=110, layout="constrained")
    FigureCanvasAgg(page)
    looks = _looks(panels)
    together = _one_legend(panels)
    for place, panel in enumerate(panels):
        axes = page.add_subplot(down, across, place + 1)
        (_bars if panel["kind"] == "bars" else _lines)(axes, panel, looks)
        _dress(axes, panel)
        more = _right(axes, panel, looks)
        if not together and any(series["label"] for series in panel["series"]):
            handles, _ = axes.get_legend_handles_labels()
            axes.legend(handles=[*handles, *more], fontsize=7, frameon=False)
    if together:
        _legend(page, across)
    folder.mkdir(parents=True, exist_ok=True)
    names = []
    for suffix, stamp in (("png", {"Software": None}), ("svg", {"Date": None})):
        path = folder / f"{figure['key']}.{suffix}"
        page.savefig(path, metadata=stamp)
        names.append(path.name)
    return names


def _looks(panels: Sequence[Mapping[str, Any]]) -> dict[str, tuple[str, str]]:
    """Colour and marker of each label, the same in all panels."""
    labels = dict.fromkeys(s["label"] for panel in panels for s in panel["series"] if s["label"])
    return {
        label: (_COLOURS[i % len(_COLOURS)], _MARKERS[i % len(_MARKERS)])
        for i, label in enumerate(labels)
    }


def _one_legend(panels: Sequence[Mapping[str, Any]]) -> bool:
    """Whether one legend outside serves all: bars, many labels, the same in several panels."""
    each = [tuple(s["label"] for s in panel["series"] if s["label"]) for panel in panels]
    bars = any(panel["kind"] == "bars" for panel in panels)
    if any(len(labels) > (0 if bars else 4) for labels in each):
        return True
    return len(each) > 1 and len(each[0]) > 1 and len(set(each)) == 1


def _legend(page: Any, across: int) -> None:
    """One legend outside the axes: to the right of one column, else below."""
    handles: dict[str, Any] = {}
    for axes in page.axes:
        for handle, label in zip(*axes.get_legend_handles_labels(), strict=True):
            handles.setdefault(label, handle)
    page.legend(
        handles.values(),
        handles.keys(),
        fontsize=8,
        frameon=False,
        loc="outside lower center" if across > 1 else "outside right upper",
        ncols=min(len(handles), 3 * across) if across > 1 else 1,
    )


def _dress(axes: Any, panel: Mapping[str, Any]) -> None:
    """Title, labels, scales, marks."""
    axes.set_title(panel["title"], fontsize=10)
    axes.set_xlabel(panel["x_label"])
    axes.set_ylabel(panel["y_label"])
    if panel["x_log"]:
        axes.set_xscale("log")
        _label_log(axes.xaxis)
        measured = sorted({x for series in panel["series"] for x in series["x"]})
        if len(measured) <= 6:
            axes.set_xticks(measured, [f"{x:,g}" for x in measured])
            axes.set_xticks([], minor=True)
    if panel["y_log"]:
        axes.set_yscale("log")
        _label_log(axes.yaxis)
    elif axes.get_ylim()[1] >= 10_000:
        axes.yaxis.set_major_formatter("{x:,.0f}")
    for label, at in panel["marks"]:
        axes.axvline(at, color="black", linewidth=0.8, linestyle=":")
        where = axes.get_xaxis_transform()
        axes.text(at, 0.98, f" {label}", fontsize=7, va="top", transform=where)
    axes.spines[["top", "right"]].set_visible(False)
    axes.grid(axis="y", linewidth=0.3)
    axes.set_axisbelow(True)


def _label_log(axis: Any) -> None:
    """Plain numbers at powers of ten; at 2 and 5 times them too where there are few powers."""
    from matplotlib.ticker import FuncFormatter, LogLocator, NullFormatter

    low, high = axis.get_view_interval()
    few = low > 0 and high / low < 300
    plain = FuncFormatter(lambda value, _: f"{value:,.10g}" if value < 1e6 else f"{value:.0e}")
    axis.set_major_locator(LogLocator(10, subs=(1.0, 2.0, 5.0) if few else (1.0,)))
    axis.set_major_formatter(plain)
    axis.set_minor_formatter(NullFormatter())


def _points(series: Mapping[str, Any]) -> list[tuple[Any, float, int]]:
    return [
        (x, y, i)
        for i, (x, y) in enumerate(zip(series["x"], series["y"], strict=True))
        if y is not None
    ]


def _right(axes: Any, panel: Mapping[str, Any], looks: Mapping[str, tuple[str, str]]) -> list[Any]:
    """Lines on the right axis; results of older versions have none."""
    there = [series for series in panel["series"] if series.get("right")]
    if not there:
        return []
    other = axes.twinx()
    _lines(other, {**panel, "series": [{**one, "right": False} for one in there]}, looks)
    other.set_ylabel(panel.get("right_label", ""))
    for one in (axes, other):
        one.set_ylim(bottom=0)
    other.spines[["top", "left"]].set_visible(False)
    if other.get_ylim()[1] >= 10_000:
        other.yaxis.set_major_formatter("{x:,.0f}")
    return list(other.get_lines())


def _lines(axes: Any, panel: Mapping[str, Any], looks: Mapping[str, tuple[str, str]]) -> None:
    for series in (one for one in panel["series"] if not one.get("right")):
        points = [p for p in _points(series) if p[1] > 0 or not panel["y_log"]]
        if not points:
            continue
        xs, ys = [p[0] for p in points], [p[1] for p in points]
        colour, marker = looks.get(series["label"], (_COLOURS[0], _MARKERS[0]))
        style = {"color": colour, "marker": marker, "markersize": 4, "linewidth": 1.1}
        style |= series["style"]
        (line,) = axes.plot(xs, ys, label=series["label"] or None, **style)
        if series["low"] and series["high"]:
            low = [series["low"][i] or y for _, y, i in points]
            high = [series["high"][i] or y for _, y, i in points]
            axes.fill_between(xs, low, high, alpha=0.15, color=line.get_color(), linewidth=0)


def _bars(axes: Any, panel: Mapping[str, Any], looks: Mapping[str, tuple[str, str]]) -> None:
    series = panel["series"]
    names = list(series[0]["x"]) if series else []
    # A group is as wide as the series that it has.
    there = [
        [n for n, one in enumerate(series) if one["y"][i] is not None] for i in range(len(names))
    ]
    width = 0.8 / max((len(group) for group in there), default=1)
    for number, one in enumerate(series):
        groups = [i for i, group in enumerate(there) if number in group]
        places = [i + (there[i].index(number) - (len(there[i]) - 1) / 2) * width for i in groups]
        heights = [one["y"][i] for i in groups]
        style = {"color": looks.get(one["label"], _COLOURS)[0]} | one["style"]
        axes.bar(places, heights, width * 0.95, label=one["label"] or None, **style)
    turned = any(len(str(name)) > 8 for name in names)
    axes.set_xticks(range(len(names)), names, rotation=40 if turned else 0, fontsize=7)
    if turned:
        for label in axes.get_xticklabels():
            label.set_horizontalalignment("right")
