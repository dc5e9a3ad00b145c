"""Figures 6 and 7 of Martin et al. (2009): time against vertices."""

from __future__ import annotations

import statistics
from collections.abc import Sequence

from nearfar.lab.experiments.experiment import Done, Figure, Panel, Series
from nearfar.papers.martin_2009.tables import by_size, labels_of, times_of

#: Short explanations of the paper's names.
_MEANS = {
    "FH": "Dijkstra, Fibonacci heap",
    "F-CPU": "to successors, one core",
    "U-CPU": "from predecessors, one core",
    "U-H1": "from predecessors, GPU updates",
    "U-H2": "from predecessors, GPU relaxes",
    "U-H3": "from predecessors, GPU relaxes and updates",
    "U-GPU": "from predecessors, GPU",
    "U-GPU+2min": "the same, two minimum passes",
    "U-GPU-PLUS": "the same, shared memory",
    "F-GPU": "to successors, GPU",
    "F-GPU-no-atomic": "the same, no atomics",
}


def figures_of(done: Sequence[Done]) -> list[Figure]:
    """Return figures 6 (lists) and 7 (matrices) from the measurements."""
    found = []
    for kind, number, unit, name in (("list", 6, "s", "lists"), ("matrix", 7, "ms", "matrices")):
        sizes = by_size(done, kind)
        if not sizes:
            continue
        scale = 1.0 if unit == "s" else 1e3
        series = []
        for label in labels_of(sizes):
            times = [times_of(results, label) for results in sizes.values()]
            series.append(
                Series(
                    f"{label}: {_MEANS[label]}",
                    [n / 2**20 if kind == "list" else n / 2**10 for n in sizes],
                    [statistics.fmean(t) * scale if t else None for t in times],
                    [min(t) * scale if t else None for t in times],
                    [max(t) * scale if t else None for t in times],
                )
            )
        x = "vertices, in units of " + ("2²⁰" if kind == "list" else "2¹⁰")
        panel = Panel(f"adjacency {name}", x, unit, series, y_log=True)
        found.append(
            Figure(
                f"figure-{number}",
                f"Figure {number}: adjacency {name}",
                "Mean over the graphs of a size, the band from the fastest graph to the "
                "slowest; the y axis is logarithmic, unlike the paper's.",
                [panel],
                columns=1,
            )
        )
    return found
