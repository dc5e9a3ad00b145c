"""Idle threads of a relax step, and the cost of Crauser's threshold, by counts and untuned runs."""

# ruff: noqa: E501 - lines of Markdown

from __future__ import annotations

from typing import Any

import numpy as np

from nearfar.lab.experiments.claims import spread
from nearfar.lab.experiments.kept import Counts


def idle(row: dict[str, Any], reading: str) -> float:
    """Return the percentage of idle threads of relax, by one reading of "working"."""
    return 100.0 * (1.0 - float(row[reading]) / float(row["threads"]))


def idle_readings(counts: Counts) -> str:
    """Return readings of the paper's 90% of idle threads by predecessors."""
    some = [r for r in counts.rows("threads") if r["criterion"] == "crauser"]
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


def threshold_cost(counts: Counts, form: str) -> str:
    """Return the saving of CPU Crauser's threshold by one form, from many rounds."""
    some = [r for r in counts.rows("threshold") if r["form"] == form]
    if not some:
        return "not measured: `python benchmarks/paper_counts.py --parts threshold`"
    saves = [100 * (1 - _over(r, _CRAUSER)) for r in some]
    turns = len(some[0]["samples"][_MARTIN])
    turns_saved = sum(save > 0 for save in saves)
    return (
        f"in {turns} rounds of one process (`benchmarks/paper_counts.py`) it saves {spread(saves)}% and is faster on {turns_saved} "
        f"of {len(saves)} graphs"
    )
