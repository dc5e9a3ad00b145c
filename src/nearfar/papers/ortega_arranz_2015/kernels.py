"""Time of each kernel in an iteration of Martin's and Crauser's methods."""

from __future__ import annotations

from nearfar.lab.experiments.kept import KernelRows, Row, kernel_seconds
from nearfar.lab.experiments.render import cell

_STEPS = ("relax", "minimum", "update")


def crauser_iteration(kernels: KernelRows) -> str:
    """Return a sentence on the kernels of an iteration of both successor forms, if measured."""
    graph = next((g for g in kernels.graphs() if g.startswith("martin")), None)
    if graph is None:
        return ""
    pair = [kernels.at(graph, f"{idea}_successors") for idea in ("frontier", "crauser")]
    told = []
    for step in _STEPS:
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
