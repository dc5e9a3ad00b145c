"""Tables of benchmarks/results/paper_counts.json for the pages of docs/reproduction."""

# ruff: noqa: E501 - lines of Markdown

from __future__ import annotations

import json
from typing import Any

import numpy as np
from experiment_results import ROOT, describe, spread

from nearfar.experiments.render import cell, markdown_table

FILE = "benchmarks/results/paper_counts.json"


class Counts:
    """The file's parts, and where they come from; empty where it is missing."""

    def __init__(self) -> None:
        path = ROOT / FILE
        document: dict[str, Any] = json.loads(path.read_text()) if path.is_file() else {}
        self.parts: dict[str, list[dict[str, Any]]] = document.get("parts", {})
        self.environment: dict[str, Any] = document.get("environment", {})

    def rows(self, part: str) -> list[dict[str, Any]]:
        """Rows of ``threads`` or ``rows``."""
        return self.parts.get(part, [])

    def table(self, title: str, columns: list[str], rows: list[list[Any]], note: str) -> list[str]:
        """A table with title, caption and origin; nothing without rows."""
        if not rows:
            return []
        shown = [{"name": name, "unit": "", "digits": 3} for name in columns]
        lines = markdown_table({"columns": shown, "rows": rows})
        how = f"*{describe(self.environment)}; `python benchmarks/paper_counts.py`. From `{FILE}`.*"
        return [f"### {title}", "", *lines, "", note, "", how, ""]


_READINGS = ("frontier", "unsettled", "finds", "lowers")


def idle(row: dict[str, Any], reading: str) -> float:
    """Percent of the threads of relax that do not work, by one reading of "working"."""
    return 100.0 * (1.0 - float(row[reading]) / float(row["threads"]))


def uniform(row: dict[str, Any], form: str) -> float:
    """Percent of the warps whose threads all take the same side of the branch."""
    return 100.0 * (1.0 - float(row[f"mixed_{form}"]) / float(row["warps"]))


def threads(counts: Counts) -> list[str]:
    """Ortega-Arranz 5.1 d: idle threads by each reading, and warps of one kind."""
    rows = []
    for r in counts.rows("threads"):
        method = "Martin" if r["criterion"] == "frontier" else "Crauser"
        line = [r["graph"], method, r["iterations"], *(idle(r, x) for x in _READINGS)]
        rows.append([*line, uniform(r, "succ"), uniform(r, "pred")])
    columns = ["graph", "method", "iterations", "succ.: not in the frontier, %"]
    columns += ["pred.: settled, %", "pred.: finds no frontier vertex, %"]
    columns += [
        "pred.: lowers no distance, %",
        "succ.: uniform warps, %",
        "pred.: uniform warps, %",
    ]
    note = (
        "Threads of the relax kernel over all iterations that do no work, by four readings of it; and "
        "warps of 32 consecutive vertices whose threads take the same side of the branch."
    )
    return counts.table("Figure 2 d: who is idle, counted on its own", columns, rows, note)


def idle_readings(counts: Counts) -> str:
    """What the paper's 90% by predecessors can mean, in words."""
    some = [r for r in counts.rows("threads") if r["criterion"] == "crauser"]
    if not some:
        return "not counted: `python benchmarks/paper_counts.py`"
    finds, lowers = (spread([idle(r, x) for r in some]) for x in ("finds", "lowers"))
    means = [sum(idle(r, x) for r in some) / len(some) for x in ("finds", "lowers")]
    near = "the first" if abs(means[0] - 90) < abs(means[1] - 90) else "the second"
    return (
        "every unsettled vertex counts as working here, because it walks its in-edges. Counted otherwise, "
        f"{finds}% of the threads find no frontier vertex among their predecessors and {lowers}% lower no "
        f"distance: {near} is near the paper's 90%"
    )


def branches(counts: Counts) -> str:
    """How many warps the branch of relax splits, beside the paper's profiler ratio."""
    some = counts.rows("threads")
    if not some:
        return ""
    return (
        "The paper's profiler gives the relax kernel's branches an efficiency of 94.3% to 99.5%, loops and all. Of the one "
        f"branch that asks whether a thread has work, {spread([uniform(r, 'succ') for r in some])}% of the warps go one way "
        f"by successors and {spread([uniform(r, 'pred') for r in some])}% by predecessors."
    )


def longest_rows(counts: Counts) -> list[str]:
    """Johnson: what one thread walks in an iteration."""
    rows = [
        [
            r["graph"],
            r["n"],
            r["iterations"],
            r["edges_mean"],
            r["longest_row_mean"],
            r["longest_row"],
        ]
        for r in counts.rows("rows")
    ]
    columns = ["graph", "vertices", "iterations", "edges an iteration"]
    columns += ["longest row, mean", "longest row"]
    note = (
        "Of Crauser's frontiers from one source: the edges of an iteration, and the longest row in it, which one thread "
        "walks while the others wait."
    )
    return counts.table("What one thread walks", columns, rows, note)


def row_cost(counts: Counts, relax: dict[str, float]) -> str:
    """How the time of relax follows the longest row, in words.

    Parameters
    ----------
    counts : Counts
    relax : dict
        Microseconds of the relax kernel an iteration, by graph.
    """
    pairs = [
        (r["longest_row_mean"], relax[r["graph"]])
        for r in counts.rows("rows")
        if r["graph"] in relax
    ]
    if len(pairs) < 3:
        return ""
    rows, times = np.array(pairs).T
    slope, base = np.polyfit(rows, times, 1)
    fit = np.corrcoef(rows, times)[0, 1]
    return (
        f"one thread walks the longest row of a frontier, {cell(float(rows.min()))} to {cell(float(rows.max()))} edges in the mean: over the "
        f"{len(pairs)} graphs relax takes {cell(float(base), 2)} us and {cell(float(slope), 2)} us more for each edge of it (correlation {fit:.3f})"
    )
