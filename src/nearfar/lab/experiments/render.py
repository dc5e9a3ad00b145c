"""Tables as Markdown, and figures by matplotlib (extra ``plot``), from plain data."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from nearfar.errors import MissingDependencyError
from nearfar.lab.bench.report import table as aligned
from nearfar.system.output import replacing

_MARKERS = "osD^vP*X<>hd"
_MOST_BARS = 120
#: Label of an axis by its unit, if it has only a unit.
_SHOWN = {"s": "time, s", "ms": "time, ms", "MiB": "memory, MiB"}
_COLOURS = (*(f"C{i}" for i in range(10)), "black", "goldenrod")


def cell(value: Any, digits: int = 3) -> str:
    """Format a number with significant digits and thousands separators; None is a dash."""
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
    """Return lines of a table (plain data of :class:`~nearfar.lab.experiments.experiment.Table`).

    Columns with a text are aligned to the left, others and those without rows to the right.
    """
    columns = table["columns"]
    header = [_head(column) for column in columns]
    rows = [
        [cell(value, c["digits"]) for value, c in zip(row, columns, strict=True)]
        for row in table["rows"]
    ]
    texts = [
        i for i in range(len(columns)) if any(isinstance(row[i], str) for row in table["rows"])
    ]
    return aligned(header, rows, left=(0, *texts))


def _head(column: Mapping[str, Any]) -> str:
    """Return a column's name with its unit."""
    return f"{column['name']}, {column['unit']}" if column["unit"] else str(column["name"])


def by_family(
    table: Mapping[str, Any], family: Callable[[list[Any]], str], only: Sequence[str] = ()
) -> dict[str, Any]:
    """Return a table with one row per family: ranges, and geometric means in brackets.

    Columns of text are left out, as are columns that are not in ``only`` if that is given.
    """
    groups: dict[str, list[list[Any]]] = {}
    for row in table["rows"]:
        groups.setdefault(family(row), []).append(row)
    chosen = [
        (place, column)
        for place, column in enumerate(table["columns"])
        if (_head(column) in only if only else place)
        and not any(isinstance(row[place], str) for row in table["rows"])
    ]
    rows = [
        [
            f"{name} ({len(some)})" if len(some) > 1 else name,
            *(_extremes([r[place] for r in some], column["digits"]) for place, column in chosen),
        ]
        for name, some in groups.items()
    ]
    first = {"name": "group (graphs)", "unit": "", "digits": 3}
    return {**table, "columns": [first, *(column for _, column in chosen)], "rows": rows}


def _extremes(values: Sequence[float | None], digits: int) -> str:
    """Return the range of some numbers and, for positive floats, the geometric mean."""
    known = [value for value in values if value is not None and math.isfinite(value)]
    if not known:
        return "-"
    low, high = cell(min(known), digits), cell(max(known), digits)
    if low == high:
        return low
    counted = min(known) <= 0 or all(isinstance(value, int) for value in known)
    mean = math.exp(sum(map(math.log, known)) / len(known)) if not counted else None
    return f"{low} to {high}" if mean is None else f"{low} to {high} ({cell(mean, digits)})"


def draw(figure: Mapping[str, Any], folder: Path) -> list[str]:
    """Draw a figure (plain data of ``Figure``) as PNG and SVG; return the file names."""
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
    legends = _legends(panels)
    if across == 1 and (legends != "inside" or any(p["kind"] == "bars" for p in panels)):
        wide = 10.0
    page = Figure(figsize=(wide * across, high * down), dpi=110, layout="constrained")
    FigureCanvasAgg(page)
    looks = _looks(panels)
    for place, panel in enumerate(panels):
        axes = page.add_subplot(down, across, place + 1)
        (_bars if panel["kind"] == "bars" else _lines)(axes, panel, looks)
        _dress(axes, panel)
        more = _right(axes, panel, looks)
        if legends != "one" and any(series["label"] for series in panel["series"]):
            handles, _ = axes.get_legend_handles_labels()
            place_of = _beside(axes, len(handles) + len(more), across) if legends == "each" else {}
            axes.legend(handles=[*handles, *more], fontsize=7, frameon=False, **place_of)
    if legends == "one":
        _legend(page, across)
    folder.mkdir(parents=True, exist_ok=True)
    names = []
    for suffix, stamp in (("png", {"Software": None}), ("svg", {"Date": None})):
        path = folder / f"{figure['key']}.{suffix}"
        with replacing(path) as temporary:
            page.savefig(temporary, metadata=stamp)
        names.append(path.name)
    return names


def _looks(panels: Sequence[Mapping[str, Any]]) -> dict[str, tuple[str, str]]:
    """Return colour and marker of each label, equal in all panels.

    Text in brackets, such as a mean, does not distinguish labels, unless one panel has two that
    differ in nothing else.
    """
    each = [[s["label"] for s in panel["series"] if s["label"]] for panel in panels]
    plain = {label: label.partition(" (")[0] for labels in each for label in labels}
    if any(len({plain[label] for label in labels}) < len(set(labels)) for labels in each):
        plain = {label: label for label in plain}
    numbers = {name: i for i, name in enumerate(dict.fromkeys(plain.values()))}
    return {
        label: (_COLOURS[numbers[name] % len(_COLOURS)], _MARKERS[numbers[name] % len(_MARKERS)])
        for label, name in plain.items()
    }


def _legends(panels: Sequence[Mapping[str, Any]]) -> str:
    """Return the position of the legends: ``"inside"`` the axes, ``"one"`` or ``"each"`` outside.

    The legend is outside the axes for bars and many labels. Panels whose labels differ have one
    legend each, so that it lists only colours of the panel.
    """
    each = [tuple(s["label"] for s in panel["series"] if s["label"]) for panel in panels]
    bars = any(panel["kind"] == "bars" for panel in panels)
    full = any(len(labels) > (0 if bars else 4) for labels in each)
    every = set().union(*each)
    if any(set(labels) == every for labels in each):
        same = len(each) > 1 and len(each[0]) > 1 and len(set(each)) == 1
        return "one" if full or same else "inside"
    return "each" if full else "inside"


def _beside(axes: Any, labels: int, across: int) -> dict[str, Any]:
    """Return the place of a panel's legend: right of a single column, else above the axes."""
    if across == 1:
        return {"loc": "upper left", "bbox_to_anchor": (1.0, 1.0)}
    columns = min(labels, 3)
    axes.set_title(axes.get_title(), fontsize=10, pad=8.0 + 13.0 * -(-labels // columns))
    return {"loc": "lower center", "bbox_to_anchor": (0.5, 0.98), "ncols": columns}


def _legend(page: Any, across: int) -> None:
    """Draw one legend outside the axes: to the right of one column, else below."""
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
    """Set title, labels, scales and marks."""
    axes.set_title(panel["title"], fontsize=10)
    axes.set_xlabel(panel["x_label"])
    axes.set_ylabel(_SHOWN.get(panel["y_label"], panel["y_label"]))
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
    else:
        _label_large(axes)
    if panel["kind"] == "bars" and panel["y_label"].startswith("times"):
        axes.axhline(1.0, color="black", linewidth=0.8)
    for label, at in panel["marks"]:
        axes.axvline(at, color="black", linewidth=0.8, linestyle=":")
        where = axes.get_xaxis_transform()
        height = _clear(axes, panel, at)
        side = "top" if height > 0.5 else "bottom"
        axes.text(at, height, f" {label}", fontsize=7, va=side, transform=where)
    axes.spines[["top", "right"]].set_visible(False)
    axes.grid(axis="y", linewidth=0.3)
    axes.set_axisbelow(True)


def _clear(axes: Any, panel: Mapping[str, Any], at: float) -> float:
    """Return the top or bottom of the axes, whichever is farther from lines right of ``at``."""
    axes.get_xlim(), axes.get_ylim()  # computes the limits
    into = axes.transData + axes.transAxes.inverted()
    beside = into.transform((at, axes.get_ylim()[0]))[0] + np.linspace(0.0, 0.2, 9)
    heights = [0.5]
    for series in panel["series"]:
        points = [(x, y) for x, y, _ in _points(series)]
        if points:
            xs, ys = into.transform(sorted(points)).T
            heights += list(np.interp(beside, xs, ys))
    top, bottom = (min(abs(place - y) for y in heights) for place in (0.95, 0.05))
    return 0.98 if top >= bottom else 0.02


def _label_log(axis: Any) -> None:
    """Label powers of ten, and numbers between them if there are few."""
    from matplotlib.ticker import FuncFormatter, LogLocator, NullFormatter

    low, high = axis.get_view_interval()
    spread = high / low if low > 0 else math.inf
    between = (2.0, 3.0, 4.0, 5.0, 7.0) if spread < 10 else (2.0, 5.0) if spread < 300 else ()
    axis.set_major_locator(LogLocator(10, subs=(1.0, *between)))
    axis.set_major_formatter(FuncFormatter(lambda value, _: _power(value)))
    axis.set_minor_formatter(NullFormatter())


def _label_large(axes: Any) -> None:
    """Use commas in large numbers of a linear axis, and millions in very large ones."""
    top = axes.get_ylim()[1]
    if top >= 1e7:
        axes.yaxis.set_major_formatter(lambda value, _: f"{value / 1e6:,.10g}")
        axes.set_ylabel(f"{axes.get_ylabel()}, millions")
    elif top >= 1e4:
        axes.yaxis.set_major_formatter("{x:,.0f}")


def _power(value: float) -> str:
    """Format a number, from a million on with its power of ten."""
    if value < 1e6:
        return f"{value:,.10g}"
    exponent = math.floor(math.log10(value) + 1e-9)
    times = value / 10.0**exponent
    factor = "" if abs(times - 1) < 1e-6 else rf"{times:g}\cdot "
    return f"${factor}10^{{{exponent}}}$"


def _points(series: Mapping[str, Any]) -> list[tuple[Any, float, int]]:
    return [
        (x, y, i)
        for i, (x, y) in enumerate(zip(series["x"], series["y"], strict=True))
        if y is not None
    ]


def _right(axes: Any, panel: Mapping[str, Any], looks: Mapping[str, tuple[str, str]]) -> list[Any]:
    """Draw and return the lines on the right axis, if there are any."""
    there = [series for series in panel["series"] if series.get("right")]
    if not there:
        return []
    other = axes.twinx()
    _lines(other, {**panel, "series": [{**one, "right": False} for one in there]}, looks)
    other.set_ylabel(panel.get("right_label", ""))
    for one in (axes, other):
        one.set_ylim(bottom=0)
    other.spines[["top", "left"]].set_visible(False)
    _label_large(other)
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
    # A group is as wide as the number of its series.
    there = [
        [n for n, one in enumerate(series) if one["y"][i] is not None] for i in range(len(names))
    ]
    width = 0.8 / max((len(group) for group in there), default=1)
    points = len(names) * len(series) > _MOST_BARS  # narrower bars cannot be distinguished
    for number, one in enumerate(series):
        groups = [i for i, group in enumerate(there) if number in group]
        places = [i + (there[i].index(number) - (len(there[i]) - 1) / 2) * width for i in groups]
        heights = [one["y"][i] for i in groups]
        style = {"color": looks.get(one["label"], _COLOURS)[0]} | one["style"]
        if points:
            marker = looks.get(one["label"], _MARKERS)[1]
            style |= {"marker": marker, "linestyle": "none", "markersize": 4, "alpha": 0.75}
            axes.plot(groups, heights, label=one["label"] or None, **style)
            continue
        axes.bar(places, heights, width * 0.95, label=one["label"] or None, **style)
    if points:
        axes.grid(axis="x", linewidth=0.3)
    turned = any(len(str(name)) > 8 for name in names)
    axes.set_xticks(range(len(names)), names, rotation=40 if turned else 0, fontsize=7)
    if turned:
        for label in axes.get_xticklabels():
            label.set_horizontalalignment("right")
