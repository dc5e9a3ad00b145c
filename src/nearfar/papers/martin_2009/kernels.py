"""Single kernels of Martin's methods: ways to store a sum, and savings by staging row bounds."""

from __future__ import annotations

from typing import Any

from nearfar.lab.experiments.claims import spread
from nearfar.lab.experiments.kept import Part, Row, kernel_seconds

_ROWS = ("relax_rows", "relax_rows_no_atomics", "relax_columns")


def relax_seconds(row: Row) -> float:
    """Return the seconds of all launches of the relax kernel on a matrix."""
    return kernel_seconds(row, *_ROWS)


def matrices(kernels: Part) -> list[str]:
    """Return the relax kernel with each way to store a sum."""
    rows = [
        [
            r["graph"],
            r["label"],
            "yes" if r["right"] else "no",
            r["counters"]["iterations"],
            relax_seconds(r) * 1e3 / r["counters"]["iterations"],
            relax_seconds(r) * 1e3,
            r["seconds"] * 1e3,
        ]
        for r in kernels.rows
    ]
    columns = ["graph", "relax stores by", "right", "iterations", "relax, ms per launch"]
    columns += ["relax, ms in all", "solve, ms"]
    note = (
        "F-GPU is *atomic*, F-GPU-no-atomic is *read, then plain store*; the two others exist for "
        "this table. U-GPU reads columns and stores once per vertex."
    )
    title = "Atomics and reads in the relax step"
    return kernels.table(title, columns, rows, note, _stored)


def _stored(row: list[Any]) -> str:
    """Return the label of a row, with a mark if distances were wrong."""
    return str(row[1]) if row[2] == "yes" else f"{row[1]}, wrong"


_COLUMNS = ("relax_predecessors", "relax_predecessors_plus")


def plus(kernels: Part) -> str:
    """Return the relax time of U-GPU-PLUS over U-GPU's as text; empty if not measured."""
    if not kernels.there:
        return ""
    ratios = [
        kernel_seconds(kernels.at(g, "U-GPU-PLUS"), *_COLUMNS)
        / kernel_seconds(kernels.at(g, "U-GPU"), *_COLUMNS)
        for g in kernels.graphs()
    ]
    cache = kernels.environment["gpu"]["l2_cache"] / 2**20
    return (
        f": its relax kernel takes {spread(ratios)} of U-GPU's time. The flags, one byte per "
        f"vertex, fit an L2 cache of {cache:.0f} MiB; the paper's board caches no global memory"
    )
