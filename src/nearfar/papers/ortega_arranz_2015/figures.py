"""Figures 2 to 11 of Ortega-Arranz et al. (2015) from measured results.

Figures 7 and 8 of the paper compare three boards; these show the measured device.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from nearfar.lab.experiments.experiment import Done, Figure, Panel, Series
from nearfar.papers.ortega_arranz_2015.tables import (
    HOW,
    ORDER,
    by_size,
    counter_of,
    labels_of,
    milliseconds_of,
    name_of,
    of_kind,
    saved_by_tuning,
    seconds_of,
)

_WORDS = {"succ.": "to successors", "pred.": "from predecessors", "opt.": "to successors, tuned"}

_MILLIONS = "vertices, in units of 2²⁰"
_DEFAULT, _TUNED = "GPU Crauser succ.", "GPU Crauser opt."
_HEAP = "relaxed heap"
_ALGORITHMS = ("CPU Crauser succ.", "GPU Martin succ.", _DEFAULT)


def figures_of(done: Sequence[Done]) -> list[Figure]:
    """Return all figures that the finished tasks allow; those of the GPU need one."""
    martin = sorted(of_kind(done, "martin"), key=lambda one: one.what["vertices"])
    random, real = of_kind(done, "random"), of_kind(done, "real")
    made = [
        _figure_2(martin),
        _by_degree(3, "Crauser and Martin, random graphs", random, _ALGORITHMS),
        _by_graph(4, "Crauser and Martin, real and real-like graphs", real, _ALGORITHMS),
        _gains(5, random),
        _gains(6, real),
        _by_degree(7, "this GPU, random graphs", random, (_TUNED,)),
        _by_graph(8, "this GPU, real and real-like graphs", real, (_TUNED,)),
        _by_degree(9, "the relaxed heap, random graphs", random, (_HEAP, _TUNED)),
        _by_graph(10, "the relaxed heap, real and real-like graphs", real, (_HEAP, _TUNED)),
        _figure_11([one for one in done if one.result.get("memory")]),
    ]
    return [figure for figure in made if figure is not None]


def _named(label: str) -> str:
    """Return a method's label without the paper's abbreviations."""
    head, _, last = label.rpartition(" ")
    return f"{head}, {_WORDS[last]}" if last in _WORDS else label


def _figure(number: int, title: str, panels: Sequence[Panel], columns: int) -> Figure | None:
    """Return a figure of the panels with data, or None without any."""
    shown = [panel for panel in panels if panel.series]
    if not shown:
        return None
    return Figure(f"figure-{number}", f"Figure {number}: {title}", HOW, shown, columns)


def _figure_2(martin: Sequence[Done]) -> Figure | None:
    """Return the figure of Martin's graphs: sequential forms, GPU forms, launch shapes, threads."""
    xs = [one.what["vertices"] / 2**20 for one in martin]

    def panel(title: str, labels: Sequence[str]) -> Panel:
        there = [label for label in labels if label in labels_of(martin)]
        series = [Series(_named(x), xs, [seconds_of(one, x) for one in martin]) for x in there]
        return Panel(title, _MILLIONS, "s", series, y_log=True)

    host = [label for label in ORDER if label.startswith("CPU")]
    board = [label for label in ORDER if label.startswith("GPU") and label != _TUNED]
    panels = [panel("a: sequential", host), panel("b: GPU", board)]
    if _TUNED in labels_of(martin):
        panels.append(panel("c: default and tuned", [host[2], _DEFAULT, _TUNED]))
        panels.append(_threads(martin, xs))
    return _figure(2, "Martin's graphs", panels, 2)


def _threads(martin: Sequence[Done], xs: list[float]) -> Panel:
    """Return the panel of the relax kernel's threads over all iterations, and those with work."""
    series = []
    for label in (_DEFAULT, "GPU Crauser pred."):
        form = _WORDS[label.rpartition(" ")[2]]
        for name, word in (("total_threads", "launched"), ("working_threads", "at work")):
            y = [counter_of(one, label, name) for one in martin]
            if any(y):
                series.append(Series(f"{form}, {word}", xs, y))
    return Panel("d: threads of relax", _MILLIONS, "threads", series, y_log=True)


def _by_degree(
    number: int, title: str, random: Sequence[Done], labels: Sequence[str]
) -> Figure | None:
    """Return the figure of time against out-degree, a panel per number of vertices."""
    panels = []
    for n, some in by_size(random).items():
        series = [
            Series(
                _named(label),
                [o.what["degree"] for o in some],
                [milliseconds_of(o, label) for o in some],
            )
            for label in labels
            if any(milliseconds_of(o, label) for o in some)
        ]
        panels.append(Panel(f"{n:,} vertices", "degree", "ms", series, x_log=True, y_log=True))
    return _figure(number, title, panels, 3)


def _by_graph(
    number: int, title: str, real: Sequence[Done], labels: Sequence[str]
) -> Figure | None:
    """Return the figure of the time on each graph as bars."""
    values = {x: [milliseconds_of(one, x) for one in real] for x in labels if x in labels_of(real)}
    return _figure(number, title, [_bars("time of a solve", "ms", real, values, log=True)], 1)


def _gains(number: int, some: Sequence[Done]) -> Figure | None:
    """Return the figure of the time saved by the tuned launch shape."""
    gains = [saved_by_tuning(one) for one in some]
    if all(gain is None for gain in gains):
        return None
    panel = _bars(
        "time saved by the tuned launch shape", "time saved, %", some, {"": gains}, log=False
    )
    return _figure(number, "gain of tuning", [panel], 1)


def _figure_11(held: Sequence[Done]) -> Figure | None:
    """Return the figure of memory: the graph's rows, and the greatest memory of one solve."""
    values: dict[str, list[float | None]] = {}
    for label in ORDER:
        solves = [(one.result["memory"].get(label), one.result["graph_bytes"]) for one in held]
        if any(solve for solve, _ in solves):
            values[label] = [
                None if solve is None else (solve + rows) / 2**20 for solve, rows in solves
            ]
    panel = _bars("the graph's rows and one solve", "MiB", held, values, log=True)
    return _figure(11, "memory in use", [panel], 1)


def _bars(
    title: str,
    unit: str,
    some: Sequence[Done],
    values: Mapping[str, Sequence[float | None]],
    *,
    log: bool,
) -> Panel:
    names = [name_of(one) for one in some]
    series = [Series(_named(label), names, y) for label, y in values.items() if some]
    return Panel(title, "", unit, series, kind="bars", y_log=log)
