"""Who is idle in a relax step, and what Crauser's threshold costs, by counts and untuned runs."""

# ruff: noqa: E501 - lines of Markdown

from __future__ import annotations

from typing import Any

import numpy as np

from nearfar.lab.experiments.claims import spread
from nearfar.lab.experiments.kept import Counts

_READINGS = ("frontier", "unsettled", "finds", "lowers")


def idle(row: dict[str, Any], reading: str) -> float:
    """Return the percent of the threads of relax that do not work, by one reading of "working"."""
    return 100.0 * (1.0 - float(row[reading]) / float(row["threads"]))


def uniform(row: dict[str, Any], form: str) -> float:
    """Return the percent of the warps whose threads all take the same side of the branch."""
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
    return counts.table(
        "threads", "Figure 2 d: who is idle, counted on its own", columns, rows, note
    )


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


_MARTIN, _BLIND, _CRAUSER = "martin", "crauser, all 0", "crauser"


def _over(row: dict[str, Any], top: str) -> float:
    """Return the median of a method's times over CPU Martin's, turn by turn."""
    pairs = zip(row["samples"][top], row["samples"][_MARTIN], strict=True)
    return float(np.median([a / b for a, b in pairs]))


def threshold(counts: Counts) -> list[str]:
    """Ortega-Arranz 5.1 a: what the threshold of CPU Crauser costs."""
    rows = []
    for r in counts.rows("threshold"):
        steps = [r["counters"][label]["iterations"] for label in (_MARTIN, _CRAUSER)]
        rows.append([r["graph"], r["form"], *steps, _over(r, _CRAUSER), _over(r, _BLIND)])
    columns = ["graph", "by", "iterations, CPU Martin", "iterations, CPU Crauser"]
    columns += ["time over CPU Martin's", "with lightest out-edges of 0"]
    note = (
        "In the last column every lightest out-edge is 0: the same rounds and edges as CPU Martin, and one array more that is "
        "read to find the threshold. Medians over the turns of one process of each turn's ratio."
    )
    return counts.table("threshold", "What the threshold costs on one core", columns, rows, note)


def threshold_cost(counts: Counts, form: str) -> str:
    """The same of a form in words, which CPU Crauser's few samples in the experiment are beside."""
    some = [r for r in counts.rows("threshold") if r["form"] == form]
    if not some:
        return "not measured: `python benchmarks/paper_counts.py --parts threshold`"
    saves = [100 * (1 - _over(r, _CRAUSER)) for r in some]
    turns = len(some[0]["samples"][_MARTIN])
    turns_saved = sum(save > 0 for save in saves)
    return (
        f"in {turns} turns of one process (table *What the threshold costs*) it saves {spread(saves)}% on the graphs, more than nothing on {turns_saved} of {len(saves)}; the threshold itself, by "
        f"a run that has it and the rounds of CPU Martin, makes a solve take {spread([_over(r, _BLIND) for r in some])} times as long"
    )
