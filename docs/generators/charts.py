"""Charts of measured results, declared in ``charts.toml`` and drawn by Matplotlib as SVG.

Grey text and lines on a transparent background are legible on light and on dark pages. A picture
contains a digest of its data and of this module, so that a check needs no Matplotlib and does not
depend on its version.
"""

from __future__ import annotations

import hashlib
import json
import statistics
import tomllib
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from docs.generators.results import at, load, middle, rows_of, value_of
from nearfar.errors import MissingDependencyError
from nearfar.lab.bench.report import number
from nearfar.lab.checkout import ROOT
from nearfar.system.output import replacing

__all__ = ["Chart", "charts"]

_GREY = "#737b85"  # contrast of at least 4 to 1 on white and on dark pages
_COLOURS = (
    "#d9730d",
    "#8a63d2",
    "#2f9e63",
    "#d1495b",
    "#2d8bc9",
    "#7f868e",
    "#a37c00",
    "#b5548f",
    "#1f9aa0",
)


@dataclass(frozen=True)
class Chart:
    """Picture of values from result files, in the language of :mod:`docs.generators.results`."""

    name: str
    title: str
    files: Mapping[str, str]  #: Result files, by the value of ``file`` in their rows.
    rows: str
    only: str = ""  #: Condition that selects rows.
    group: str = ""  #: Label of a row's bars.
    bars: Mapping[str, str] = field(default_factory=dict)
    panel: str = ""
    series: str = ""
    x: str = ""  #: Horizontal values; without them each row is a dot, in a strip per panel.
    y: str = ""
    log: bool = False

    @property
    def where(self) -> str:
        """Path of the picture below the root."""
        return f"docs/images/{self.name}.svg"

    def data(self) -> dict[str, dict[str, list[Any]]]:
        """Return the values by group and bar, else by panel and series, as pairs or dots."""
        found: dict[str, dict[str, list[Any]]] = {}
        for label, file in self.files.items():
            for row in rows_of(load(file) or {}, self.rows, self.only):
                row = {"file": label, **row}
                part = found.setdefault(at(row, self.group or self.panel), {})
                if self.bars:
                    part.update({bar: [_value(text, row)] for bar, text in self.bars.items()})
                elif (y := _value(self.y, row)) is not None:
                    value = [int(at(row, self.x)), y] if self.x else y
                    part.setdefault(at(row, self.series), []).append(value)
        return found

    def digest(self) -> str:
        """Return the digest of the picture's inputs."""
        source = Path(__file__).read_text(encoding="utf-8")
        return hashlib.sha256(f"{self}{json.dumps(self.data())}{source}".encode()).hexdigest()

    def fresh(self) -> bool:
        """Return whether the picture shows the present results."""
        path = ROOT / self.where
        return path.exists() and self.digest() in path.read_text(encoding="utf-8")

    def draw(self) -> None:
        """Write the picture.

        Raises
        ------
        MissingDependencyError
            Without Matplotlib.
        """
        try:
            import matplotlib as mpl
        except ImportError:
            words = "the charts need Matplotlib: pip install 'nearfar[plot]'"
            raise MissingDependencyError(words) from None
        from matplotlib.backends.backend_svg import FigureCanvasSVG

        with mpl.rc_context():
            mpl.rcdefaults()
            mpl.rc("svg", hashsalt="nearfar", fonttype="none")
            mpl.rc("font", size=9)
            mpl.rc("text", color=_GREY)
            mpl.rc("axes", labelcolor=_GREY, edgecolor=_GREY)
            mpl.rc("xtick", color=_GREY)
            mpl.rc("ytick", color=_GREY)
            figure = self._bars() if self.bars else self._lines() if self.x else self._dots()
            FigureCanvasSVG(figure)
            figure.suptitle(self.title, fontsize=10)
            metadata = {"Date": None, "Creator": None, "Description": self.digest()}
            with replacing(ROOT / self.where) as place:
                figure.savefig(place, format="svg", transparent=True, metadata=metadata)

    def _bars(self) -> Any:
        """Draw groups of bars on a logarithmic axis."""
        from matplotlib.figure import Figure

        data, count = self.data(), len(self.bars)
        figure = Figure(figsize=(7.6, 0.7 + len(data) * (0.2 + 0.17 * count)), layout="constrained")
        axes = figure.add_subplot()
        colours = _colours(self.bars)[::-1]  # the last bar is nearfar, as is the first line
        for place, (bar, colour) in enumerate(zip(self.bars, colours, strict=True)):
            at = [y + (place - (count - 1) / 2) / (count + 1) for y in range(len(data))]
            values = [group[bar][0] for group in data.values()]
            drawn = axes.barh(
                at, [value or 0 for value in values], 0.9 / (count + 1), color=colour, label=bar
            )
            axes.bar_label(drawn, [number(v) if v else "" for v in values], padding=3, fontsize=8)
        axes.set_xscale("log")
        axes.set_yticks(range(len(data)), list(data))
        axes.invert_yaxis()
        axes.margins(x=0.12)
        axes.xaxis.set_major_formatter(lambda value, _: f"{value:,g} ms")
        figure.legend(loc="outside lower center", ncols=count, frameon=False)
        return figure

    def _dots(self) -> Any:
        """Draw a strip of dots per panel, with the median of each series, on a logarithmic axis."""
        from matplotlib.figure import Figure

        data = self.data()
        names = list(dict.fromkeys(name for part in data.values() for name in part))
        figure = Figure(figsize=(7.6, 0.9 + 0.4 * len(names) * len(data)), layout="constrained")
        axes = figure.add_subplot()
        for place, (name, colour) in enumerate(zip(names, _colours(names), strict=True)):
            for y, part in enumerate(data.values()):
                middle = y + (place - (len(names) - 1) / 2) / (len(names) + 1)
                values = sorted(part.get(name, []))
                spread = [middle + 0.05 * (nth % 3 - 1) for nth in range(len(values))]
                axes.plot(values, spread, "o", ms=4, color=colour, label="" if y else name)
                axes.plot([statistics.median(values or [1])], [middle], "|", ms=18, color=_GREY)
        axes.axvline(1, color=_GREY)
        axes.set_xscale("log", base=2)
        axes.xaxis.set_major_formatter(lambda value, _: f"{value:g}x")
        axes.set_yticks(range(len(data)), list(data))
        axes.invert_yaxis()
        figure.legend(loc="outside lower center", ncols=len(names), frameon=False)
        return figure

    def _lines(self) -> Any:
        """Draw panels of lines."""
        from matplotlib.figure import Figure

        data = self.data()
        across = min(3, len(data))
        down = -(-len(data) // across)
        figure = Figure(figsize=(7.6, 0.9 + 2.2 * down + 0.5 * (across < 3)), layout="constrained")
        panels = figure.subplots(down, across, squeeze=False).flat
        names = list(dict.fromkeys(name for part in data.values() for name in part))
        colours = dict(zip(names, _colours(names), strict=True))
        drawn = {}
        for axes, (panel, part) in zip(panels, data.items(), strict=False):
            for name, points in part.items():
                (drawn[name],) = axes.plot(
                    *zip(*sorted(points), strict=True), "o-", ms=3, color=colours[name]
                )
            axes.set_title(panel, fontsize=9)
            axes.grid(color=_GREY, alpha=0.25)
            if self.log:
                axes.set_xscale("log", base=2)
                axes.set_yscale("log", base=2)
            for axis in (axes.xaxis, axes.yaxis) if self.log else ():
                axis.set_major_formatter(lambda value, _: f"{value:g}")
            axes.set_xticks(sorted({x for points in part.values() for x, _ in points}))
        figure.legend(
            drawn.values(),
            drawn,
            loc="outside lower center",
            ncols=2 if len("".join(drawn)) > 90 else len(drawn),
            frameon=False,
        )
        return figure


def charts() -> list[Chart]:
    """Return all charts."""
    text = Path(__file__).with_name("charts.toml").read_text(encoding="utf-8")
    return [Chart(name=name, **one) for name, one in tomllib.loads(text).items()]


def _value(text: str, row: Any) -> float | None:
    """Return a number of a row, or None if it has none."""
    try:
        return middle(value_of(text, row))
    except (LookupError, TypeError, ValueError):
        return None


def _colours(names: Any) -> list[str]:
    """Return a colour for each name."""
    return [_COLOURS[place % len(_COLOURS)] for place, _ in enumerate(names)]
