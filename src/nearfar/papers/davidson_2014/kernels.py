"""Counters of Bucketing and of Near-Far, from ``benchmarks/kernel_times.py``."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from nearfar.lab.experiments.kept import KernelRows


def over_near_far(kernels: KernelRows, label: str, key: str) -> list[float]:
    """Return a counter of Near-Far over that of a Bucketing variant, on graphs that have both."""
    graphs = [r["graph"] for r in kernels.rows if r["label"] == label]
    return [
        kernels.at(g, "Near-Far, load balanced")["counters"][key]
        / kernels.at(g, label)["counters"][key]
        for g in graphs
    ]
