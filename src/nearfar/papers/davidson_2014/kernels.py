"""Where Davidson's methods spend their time: traversal, Bucketing's reorganisation, the rest."""

from __future__ import annotations

from typing import TYPE_CHECKING

from nearfar.lab.experiments.kept import KernelRows, share

if TYPE_CHECKING:
    pass


_TRAVERSE = ("gather", "traverse", "sweep_all")
_ORGANISE = ("split", "classify", "take")


def where_time_goes(kernels: KernelRows) -> list[str]:
    """Return the table of traversal, reorganisation and the rest."""
    rows = []
    for r in kernels.rows:
        line = [r["graph"], r["label"], r["seconds"] * 1e3, share(r, *_TRAVERSE)]
        rows.append([*line, share(r, *_ORGANISE), 100.0 - share(r)])
    columns = ["graph", "method", "solve, ms", "traversal, %", "split, classify, take, %"]
    columns += ["outside these kernels, %"]
    note = (
        "Percent of the solve. Outside are launches and waits, and of Bucketing the sort and the "
        "merge before it, which are CuPy's."
    )
    title = "Where the time goes"
    return kernels.table(title, columns, rows, note, lambda row: str(row[1]))


def over_near_far(kernels: KernelRows, label: str, key: str) -> list[float]:
    """Return a counter of Near-Far over that of a Bucketing, on the graphs that have both."""
    graphs = [r["graph"] for r in kernels.rows if r["label"] == label]
    return [
        kernels.at(g, "Near-Far, load balanced")["counters"][key]
        / kernels.at(g, label)["counters"][key]
        for g in graphs
    ]
