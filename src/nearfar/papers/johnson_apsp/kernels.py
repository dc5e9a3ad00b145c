"""Time of each kernel of the Johnson paper's forms, and the longest row of one thread."""

# ruff: noqa: E501 - lines of Markdown

from __future__ import annotations

from collections.abc import Iterable

import numpy as np

from nearfar.lab.experiments.kept import Part, kernel_seconds, share
from nearfar.lab.experiments.render import cell

_RELAX = ("relax_flags", "relax_queue")
#: Graphs of the paper, and larger ones.
PAPER_GRAPHS = ("graph1", "graph2", "graph3", "graph4", "graph5", "graph8")
_UPDATE = ("update_flags", "update_queue", "mark_next", "update_prefix")


def iterations(kernels: Part) -> list[str]:
    """Return the time of an iteration in each kernel and outside them."""
    rows = []
    for r in kernels.rows:
        steps = r["counters"]["iterations"]
        micro = 1e6 / steps
        parts = [kernel_seconds(r, *names) * micro for names in (_RELAX, ("minimum_threshold",))]
        parts.append(kernel_seconds(r, *_UPDATE) * micro)
        rest = (r["seconds"] - kernel_seconds(r)) * micro
        rows.append([r["graph"], r["n"], r["label"], steps, *parts, rest])
    columns = ["graph", "vertices", "form", "iterations", "relax, us", "minimum, us"]
    columns += ["update, us", "outside these kernels, us"]
    note = (
        "Microseconds per iteration; one source. The last column is the time outside the "
        "kernels: launches, the wait for delta, the prefix sum, and copying the row to the host, "
        "once. The graphs named by their size are uniform random ones of out-degree 12."
    )
    title = "Time of an iteration"
    return kernels.table(title, columns, rows, note, lambda row: str(row[2]))


def relax_microseconds(kernels: Part) -> dict[str, float]:
    """Return microseconds of the relax kernel per iteration of the flag form, by graph of the paper."""
    return {
        r["graph"]: kernel_seconds(r, *_RELAX) * 1e6 / r["counters"]["iterations"]
        for r in kernels.rows
        if r["label"] == "flag" and r["graph"] in PAPER_GRAPHS
    }


def relax_share(kernels: Part, graphs: Iterable[str]) -> list[float]:
    """Return the percent of a run of the flag form that its relax kernel takes."""
    return [share(kernels.at(g, "flag"), *_RELAX) for g in graphs]


def queue_over_flag(kernels: Part, graphs: list[str], *, relax: bool) -> list[float]:
    """Return the time of the queue form over the flag form, of the relax kernel or the whole run."""
    found = []
    for graph in graphs:
        pair = [kernels.at(graph, form) for form in ("queue", "flag")]
        times = [kernel_seconds(r, *_RELAX) if relax else r["seconds"] for r in pair]
        found.append(times[0] / times[1])
    return found


def update_ratio(kernels: Part, graphs: list[str]) -> list[float]:
    """Return the time of filling the queue by atomics over that of setting flags."""
    return [
        kernel_seconds(kernels.at(g, "queue"), "update_queue")
        / kernel_seconds(kernels.at(g, "flag"), "update_flags")
        for g in graphs
    ]


def longest_rows(counts: Part) -> list[str]:
    """Return the longest row that one thread walks per iteration, by graph."""
    rows = [
        [
            r["graph"],
            r["n"],
            r["iterations"],
            r["edges_mean"],
            r["longest_row_mean"],
            r["longest_row"],
        ]
        for r in counts.rows
    ]
    columns = ["graph", "vertices", "iterations", "edges per iteration"]
    columns += ["longest row, mean", "longest row"]
    note = (
        "Of Crauser's frontiers from one source: the edges of an iteration, and the longest row in it, which one thread "
        "walks while the others wait."
    )
    return counts.table("Rows of one thread", columns, rows, note)


def row_cost(counts: Part, relax: dict[str, float]) -> str:
    """Return a sentence on how the time of relax depends on the longest row."""
    pairs = [(r["longest_row_mean"], relax[r["graph"]]) for r in counts.rows if r["graph"] in relax]
    if len(pairs) < 3:
        return ""
    rows, times = np.array(pairs).T
    slope, base = np.polyfit(rows, times, 1)
    fit = np.corrcoef(rows, times)[0, 1]
    return (
        f"one thread walks the longest row of a frontier, {cell(float(rows.min()))} to {cell(float(rows.max()))} edges in the mean: over the "
        f"{len(pairs)} graphs relax takes {cell(float(base), 2)} us and {cell(float(slope), 2)} us more for each edge of it (correlation {fit:.3f})"
    )
