"""Times and operation counts of BMSSP, Dijkstra's heaps and delta-stepping by family and size."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from nearfar.lab.experiments.experiment import Column, Done, Figure, Panel, Series, Table
from nearfar.papers.duan_2025.graphs import FAMILIES

BASE, BMSSP = "binary heap", "BMSSP"
#: Labels, ids and options; the graph of constant degree has up to 2 m vertices.
METHODS: dict[str, tuple[str, dict[str, Any]]] = {
    BMSSP: ("bmssp@cpu", {}),
    "BMSSP, k = 4": ("bmssp@cpu", {"pivot_rounds": 4}),
    "BMSSP, constant degree": ("bmssp@cpu", {"constant_degree": True}),
    BASE: ("dijkstra_binary_heap@cpu", {}),
    "4-ary heap": ("dijkstra_dary_heap@cpu", {"arity": 4}),
    "pairing heap": ("dijkstra_pairing_heap@cpu", {}),
    "Fibonacci heap": ("dijkstra_fibonacci_heap@cpu", {}),
    "delta-stepping": ("delta_stepping@cpu", {}),
}
_COUNTS = {
    "edges_relaxed": "relaxations",
    "calls": "calls",
    "base_cases": "base cases",
    "sources": "sources given to FindPivots",
    "pivots": "pivots that it left",
    "heap_pops": "pops of base cases",
    "inserts": "insertions",
    "prepends": "prepended",
}


def of_family(done: Sequence[Done], family: str) -> list[Done]:
    """Return the finished graphs of a family, smallest first."""
    found = [one for one in done if one.what["family"] == family]
    return sorted(found, key=lambda one: int(one.what["exponent"]))


def seconds(one: Done, label: str) -> float | None:
    """Return the median seconds of a method on a graph, or None if it was not measured."""
    case = one.result["cases"].get(label)
    return None if case is None else float(case["median_seconds"])


def tables_of(done: Sequence[Done]) -> list[Table]:
    """Return a table of times and one of operation counts for each family."""
    found = []
    for family in FAMILIES:
        graphs = of_family(done, family)
        if not graphs:
            continue
        rows = [
            [one.result["n"], *(_milliseconds(one, label) for label in METHODS)] for one in graphs
        ]
        columns = [Column("vertices"), *(Column(label, "ms") for label in METHODS)]
        note = "Median over the rounds, one core, one source; every answer was compared."
        found.append(Table(f"{family}-times", f"{family}: time of a solve", note, columns, rows))
        counted: list[list[Any]] = []
        for one in graphs:
            counters = one.result["cases"][BMSSP]["counters"]
            relaxed = one.result["cases"][BASE]["counters"].get("edges_relaxed")
            counted.append([one.result["n"], relaxed, *(counters.get(key) for key in _COUNTS)])
        columns = [Column("vertices"), Column("relaxations of Dijkstra's method")]
        columns += [Column(name) for name in _COUNTS.values()]
        note = "Operations of one solve by BMSSP with the paper's k and t."
        found.append(Table(f"{family}-counts", f"{family}: operations", note, columns, counted))
    return found


def _milliseconds(one: Done, label: str) -> float | None:
    found = seconds(one, label)
    return None if found is None else found * 1e3


def figures_of(done: Sequence[Done]) -> list[Figure]:
    """Return the figure of times over that of the binary heap, by size, a panel per family."""
    panels = []
    for family in FAMILIES:
        graphs = [one for one in of_family(done, family) if seconds(one, BASE)]
        if not graphs:
            continue
        sizes = [one.what["exponent"] for one in graphs]
        series = []
        for label in METHODS:
            ratios = [ratio_of(one, label) for one in graphs]
            if label != BASE and any(ratio is not None for ratio in ratios):
                series.append(Series(label, sizes, ratios))
        panels.append(
            Panel(family, "log2 of the vertices", "time over that of a heap", series, y_log=True)
        )
    if not panels:
        return []
    text = "Below 1: faster than Dijkstra's method over a binary heap on the same graph."
    return [Figure("ratios", "Time over that of Dijkstra's method", text, panels, columns=3)]


def ratio_of(one: Done, label: str) -> float | None:
    """Return the time of a method over that of the binary heap, or None."""
    top, base = seconds(one, label), seconds(one, BASE)
    return None if top is None or not base else top / base
