"""Figures 3 to 7 of Davidson et al. (2014) from measured results."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from nearfar.lab.experiments.experiment import Done, Figure, Panel, Series
from nearfar.lab.experiments.solving import geometric
from nearfar.papers.davidson_2014.tables import (
    DRAWN,
    RELAXED,
    TRAVERSALS,
    counts_of,
    in_paper_order,
    labels_of,
    mteps_of,
    speed_over,
)

_SWEEP, _NEAR_FAR = "Workfront Sweep", "Near-Far"
_BARE = {"marker": ""}
_POLICIES = {"sweep": _SWEEP, "near-far": _NEAR_FAR}


def figures_of(done: Sequence[Done], device: str) -> list[Figure]:
    """Return all figures that the finished tasks allow; Figure 3 needs a GPU."""
    ordered = in_paper_order(done)
    made = [_figure_4(ordered), _figure_5(ordered), _figure_6(ordered), _figure_7(ordered)]
    return [_figure_3(ordered), *made] if device == "cuda" else made


def _figure_3(done: Sequence[Done]) -> Figure:
    graphs = [one.key for one in done]
    panels = []
    for policy in ("sweep", "near-far"):
        series = []
        for t in TRAVERSALS:
            values = [speed_over(one, f"{policy} {t}", f"{policy} thread") for one in done]
            mean = geometric(v for v in values if v)
            shown = t.replace("_", " ") + (f" (mean {mean:.2f})" if mean else "")
            series.append(Series(shown, graphs, values))
        panels.append(
            Panel(
                _POLICIES[policy],
                "",
                "times faster than one thread per vertex",
                series,
                kind="bars",
                y_log=True,
            )
        )
    caption = "Higher is faster; log scales."
    return Figure("figure-3", "Figure 3: traversals", caption, panels)


def _figure_4(done: Sequence[Done]) -> Figure:
    """Return queues, labelled and final vertices (left) and edges (right) per iteration."""
    kept = [one for one in done if one.result.get("queues")]
    paper = [one for name in DRAWN for one in kept if one.key == name]
    panels = []
    for one in paper or kept[:2]:
        for method in (_SWEEP, _NEAR_FAR):
            panels.append(_queue_panel(one, method))
    caption = (
        "A scale-free graph and a mesh. Left axis: the vertices in a queue, and a tenth of those "
        "labelled and final so far; right axis: edges touched so far."
    )
    return Figure("figure-4", "Figure 4: near set and far pile", caption, panels, columns=2)


def _queue_panel(one: Done, method: str) -> Panel:
    queues = one.result["queues"].get(method, {})
    across = queues.get("iteration", [])
    series = []
    first = "workfront" if method == _SWEEP else "near set"
    for key, name, part in (
        ("frontier", first, 1.0),
        ("far", "far pile", 1.0),
        ("labelled", "labelled / 10", 0.1),
        ("final", "final / 10", 0.1),
    ):
        if any(queues.get(key, ())):
            series.append(Series(name, across, [v * part for v in queues[key]], style=_BARE))
    if any(queues.get("edges", ())):
        dark = {**_BARE, "color": "black", "linewidth": 0.8}
        edges = queues["edges"]
        series.append(Series("edges touched (right)", across, edges, style=dark, right=True))
    title = f"{one.key}: {method}"
    return Panel(title, "iteration", "vertices", series, right_label="edges")


def _figure_5(done: Sequence[Done]) -> Figure:
    graphs, labels = [one.key for one in done], labels_of(done)
    left = [Series(x, graphs, [speed_over(one, x) for one in done]) for x in labels]
    shown = [x for x in labels if x != RELAXED]
    right = [Series(x, graphs, [mteps_of(one, x) for one in done]) for x in shown]
    panels = [
        Panel(
            "(a) speed",
            "",
            "times faster than Dijkstra, binary heap",
            left,
            kind="bars",
            y_log=True,
        ),
        Panel("(b) throughput", "", "million edges per second", right, kind="bars", y_log=True),
    ]
    return Figure("figure-5", "Figure 5: speed and throughput", "Log scales.", panels)


def _oval(xs: Sequence[float], ys: Sequence[float], colour: str) -> Series:
    """Return an oval around points on log axes, as the paper draws the range of a method."""
    across, along = np.log(np.asarray(xs)), np.log(np.asarray(ys))
    turn = np.linspace(0.0, 2.0 * np.pi, 65)
    wide = max(np.ptp(across) / np.sqrt(2.0), 0.3)
    high = max(np.ptp(along) / np.sqrt(2.0), 0.15)
    x = np.exp((across.max() + across.min()) / 2 + wide * np.cos(turn))
    y = np.exp((along.max() + along.min()) / 2 + high * np.sin(turn))
    style = {"marker": "", "color": colour, "linewidth": 0.8, "alpha": 0.6}
    return Series("", x.tolist(), y.tolist(), style=style)


def _figure_6(done: Sequence[Done]) -> Figure:
    """Return work and iterations against vertices per iteration."""
    work: list[Series] = []
    steps: list[Series] = []
    for label in labels_of(done):
        counts = [c for one in done if (c := counts_of(one, label))]
        if not counts or label == RELAXED:
            continue
        across = [c[1] for c in counts]
        colour = f"C{len(work) // 2}"
        for panel, values in ((work, [c[0] for c in counts]), (steps, [c[2] for c in counts])):
            style = {"linestyle": "none", "color": colour}
            panel.append(Series(label, across, values, style=style))
            panel.append(_oval(across, values, colour))
    if work:
        style = {"linestyle": "none", "color": "black", "marker": "*"}
        work.append(Series("Dijkstra", [1.0], [1.0], style=style))
        reached = [float(one.result["reached"][0]) for one in done]
        steps.append(Series("Dijkstra", [1.0] * len(reached), reached, style=style))
    panels = [
        Panel(title, "vertices per iteration", what, series, x_log=True, y_log=True)
        for title, what, series in (
            ("(a) work", "edges / Dijkstra's", work),
            ("(b) iterations", "iterations", steps),
        )
    ]
    caption = (
        "One point per graph, one oval per method. Dijkstra does one vertex per iteration and, by "
        "definition, once its own work."
    )
    return Figure("figure-6", "Figure 6: the four dimensions", caption, panels)


def _figure_7(done: Sequence[Done]) -> Figure:
    panels = []
    for one in done:
        rows = sorted(one.result["sweep"]["rows"], key=lambda row: row["delta"])
        across = [row["delta"] for row in rows]
        marks = [("heuristic", one.result["sweep"]["heuristic"])]
        for title, key in (("work", "work"), ("parallelism", "average_parallelism")):
            series = [Series("", across, [row[key] for row in rows])]
            what = "edges / Dijkstra's" if key == "work" else "vertices per iteration"
            panels.append(
                Panel(
                    f"{one.key}: {title}",
                    "delta",
                    what,
                    series,
                    x_log=True,
                    y_log=True,
                    marks=marks,
                )
            )
    caption = "Near-Far with multiples of the heuristic's delta, which the dotted line marks."
    return Figure("figure-7", "Figure 7: delta", caption, panels, columns=4)
