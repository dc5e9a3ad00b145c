"""Idle threads of a relax step, the cost of Crauser's threshold, and the time of each kernel."""

# ruff: noqa: E501 - lines of Markdown

from __future__ import annotations

from typing import Any

import numpy as np

from nearfar.lab.experiments.claims import spread
from nearfar.lab.experiments.kept import Part, Row, kernel_seconds
from nearfar.lab.experiments.render import cell


def idle(row: dict[str, Any], reading: str) -> float:
    """Return the percentage of idle threads of relax, by one reading of "working"."""
    return 100.0 * (1.0 - float(row[reading]) / float(row["threads"]))


def idle_readings(counts: Part) -> str:
    """Return readings of the paper's 90% of idle threads by predecessors."""
    some = [r for r in counts.rows if r["criterion"] == "crauser"]
    if not some:
        return "not counted: `python benchmarks/paper_counts.py`"
    finds, lowers = (spread([idle(r, x) for r in some]) for x in ("finds", "lowers"))
    means = [sum(idle(r, x) for r in some) / len(some) for x in ("finds", "lowers")]
    near = "the first" if abs(means[0] - 90) < abs(means[1] - 90) else "the second"
    return (
        "this library counts every unsettled vertex as working, because its thread reads the in-edges. By other counts, "
        f"{finds}% of the threads find no frontier vertex among their predecessors and {lowers}% lower no "
        f"distance: {near} is near the paper's 90%"
    )


_MARTIN, _CRAUSER = "martin", "crauser"


def _over(row: dict[str, Any], top: str) -> float:
    """Return the median ratio of a method's times to CPU Martin's, round by round."""
    pairs = zip(row["samples"][top], row["samples"][_MARTIN], strict=True)
    return float(np.median([a / b for a, b in pairs]))


def threshold_cost(counts: Part, form: str) -> str:
    """Return the saving of CPU Crauser's threshold by one form, from many rounds."""
    some = [r for r in counts.rows if r["form"] == form]
    if not some:
        return "not measured: `python benchmarks/paper_counts.py --parts threshold`"
    saves = [100 * (1 - _over(r, _CRAUSER)) for r in some]
    turns = len(some[0]["samples"][_MARTIN])
    turns_saved = sum(save > 0 for save in saves)
    return (
        f"in {turns} rounds of one process (`benchmarks/paper_counts.py`) it saves {spread(saves)}% and is faster on {turns_saved} "
        f"of {len(saves)} graphs"
    )


def crauser_iteration(kernels: Part) -> str:
    """Return a sentence on the kernels of an iteration of both successor forms, if measured."""
    graph = next((g for g in kernels.graphs() if g.startswith("martin")), None)
    if graph is None:
        return ""
    pair = [kernels.at(graph, f"{idea}_successors") for idea in ("frontier", "crauser")]
    told = []
    for step in ("relax", "minimum", "update"):
        names = [[k for k in r["kernels"] if k.startswith(step)] for r in pair]
        each = [_microseconds(r, found) for r, found in zip(pair, names, strict=True)]
        told.append(f"{step} {cell(each[0])} and {cell(each[1])}")
    rest = [(r["seconds"] - kernel_seconds(r)) * 1e6 / r["counters"]["iterations"] for r in pair]
    told.append(f"launches and waits {cell(rest[0])} and {cell(rest[1])}")
    where = f"on {int(graph.split()[-1]):,} vertices"
    return f"an iteration of Martin's and of Crauser's successors {where} in us: {', '.join(told)}"


def _microseconds(row: Row, names: list[str]) -> float:
    found = sum(row["kernels"][name]["seconds"] for name in names)
    return float(found) * 1e6 / float(row["counters"]["iterations"])
