"""Times, speedups and iterations of Martin's methods by size, and the counterexample's failures."""

from __future__ import annotations

import statistics
from collections.abc import Sequence
from typing import Any

from nearfar.lab.experiments.experiment import Column, Done, Table

BASE = "FH"
# The paper's names (section 4.1), and the variants.
HOST_LISTS = {
    BASE: "dijkstra_fibonacci_heap@cpu",
    "F-CPU": "frontier_successors@cpu",
    "U-CPU": "frontier_predecessors@cpu",
}
HYBRIDS = {
    "U-H1": "frontier_predecessors_h1@cuda",
    "U-H2": "frontier_predecessors_h2@cuda",
    "U-H3": "frontier_predecessors_h3@cuda",
}
GPU_LISTS = {
    "U-GPU": "frontier_predecessors@cuda",
    "U-GPU+2min": "frontier_predecessors_2min@cuda",
    "U-GPU-PLUS": "frontier_predecessors_plus@cuda",
    "F-GPU": "frontier_successors@cuda",
    "F-GPU-no-atomic": "frontier_successors_no_atomics@cuda",
}
HOST_MATRICES = {
    BASE: "dijkstra_fibonacci_heap@cpu",
    "F-CPU": "frontier_matrix_successors@cpu",
    "U-CPU": "frontier_matrix_predecessors@cpu",
}
GPU_MATRICES = {
    "U-GPU": "frontier_matrix_predecessors@cuda",
    "F-GPU": "frontier_matrix_successors@cuda",
    "F-GPU-no-atomic": "frontier_matrix_successors_no_atomics@cuda",
}
RACE_BLOCK = 32  # threads per block in the paper's run of the counterexample


def tables_of(done: Sequence[Done]) -> list[Table]:
    """Return times, speedups and iterations by size, and failures of the counterexample."""
    found: list[Table] = []
    for kind, title, figure in (
        ("list", "Adjacency lists", "Figure 6"),
        ("matrix", "Adjacency matrices", "Figure 7"),
    ):
        sizes = by_size(done, kind)
        if not sizes:
            continue
        labels = labels_of(sizes)
        note = (
            f"{figure} of the paper. Mean over the graphs of a size; one source per graph; on "
            "the GPU by events, host steps included, graph on the device; every answer checked."
        )
        held = sum(BASE in r["cases"] for results in sizes.values() for r in results)
        if held < sum(map(len, sizes.values())):
            note += " Methods that run on the host were timed on the first graphs of a size."
        head = [Column("vertices"), Column("graphs")]
        for key, what, unit in (
            ("times", "time of a solve", "ms"),
            ("speedup", f"times faster than {BASE}", ""),
            ("iterations", "iterations", ""),
        ):
            shown = [label for label in labels if key == "times" or label != BASE]
            rows = [
                [n, len(results), *(_value(results, label, key) for label in shown)]
                for n, results in sizes.items()
            ]
            columns = [*head, *(Column(label, unit) for label in shown)]
            found.append(Table(f"{kind}-{key}", f"{title}: {what}", note, columns, rows))
    races = [race for d in done if d.what["kind"] == "race" for race in d.result["races"]]
    if races:
        found.append(
            Table(
                "counterexample",
                "The counterexample of section 4.3",
                "Runs in which the sink's distance was not 2; 1,024 vertices, "
                f"{RACE_BLOCK} threads per block where the method lets one choose.",
                [Column("graph"), Column("method"), Column("runs"), Column("wrong runs")],
                [
                    [race["graph"], label, race["runs"], one["wrong_runs"]]
                    for race in races
                    for label, one in race["cases"].items()
                ],
            )
        )
    return found


def by_size(done: Sequence[Done], kind: str) -> dict[int, list[dict[str, Any]]]:
    """Return the results of the graphs of each size, sizes ascending."""
    found: dict[int, list[dict[str, Any]]] = {}
    for one in done:
        if one.what["kind"] == kind:
            found.setdefault(one.what["vertices"], []).append(one.result)
    return dict(sorted(found.items()))


def labels_of(sizes: dict[int, list[dict[str, Any]]]) -> list[str]:
    """Return the methods measured on any graph, in the paper's order."""
    order = [*HOST_LISTS, *HYBRIDS, *GPU_LISTS]
    there = {label for results in sizes.values() for r in results for label in r["cases"]}
    return [label for label in order if label in there]


def times_of(results: list[dict[str, Any]], label: str) -> list[float]:
    """Return median seconds of a method on each graph that has it."""
    return [r["cases"][label]["median_seconds"] for r in results if label in r["cases"]]


def _value(results: list[dict[str, Any]], label: str, what: str) -> float | int | None:
    if what == "times":
        times = times_of(results, label)
        return statistics.fmean(times) * 1e3 if times else None
    if what == "speedup":
        ratios = [
            r["cases"][BASE]["median_seconds"] / r["cases"][label]["median_seconds"]
            for r in results
            if label in r["cases"] and BASE in r["cases"]
        ]
        return statistics.fmean(ratios) if ratios else None
    counts = [
        r["cases"][label]["counters"]["iterations"]
        for r in results
        if "iterations" in r["cases"].get(label, {}).get("counters", {})
    ]
    return max(counts) if counts else None
