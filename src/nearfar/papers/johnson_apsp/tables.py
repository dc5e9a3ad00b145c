"""Table 1 of the Johnson paper, and its figures with their numbers."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from nearfar.lab.experiments.experiment import Column, Done, Figure, Panel, Series, Table
from nearfar.papers.johnson_apsp.graphs import GRAPHS, MISSING

SEQUENTIAL = "sequential"
#: Forms of the paper, and the names of their variants.
FORMS = {"flag": "johnson_flag", "queue": "johnson_queue", "prefix": "johnson_prefix"}


def tables_of(done: Sequence[Done], device: str) -> list[Table]:
    """Return table 1, times and speed-ups; on a GPU the cost of an iteration."""
    found = {one.key: one.result for one in done}
    first: list[list[Any]] = []
    for key, (name, vertices, edges) in GRAPHS.items():
        mine = found.get(key)
        what = name or f"{MISSING[key]}, by its size: not available"
        sizes = (mine["n"], mine["m"]) if mine else (None, None)
        first.append([key, what, vertices, edges, *sizes])
    columns = [Column(x) for x in ("graph", "which", "paper: nodes", "paper: edges")]
    columns += [Column("vertices here"), Column("edges here")]
    text = "Two of eight are missing. Weights are 1..100, seeded: the paper does not specify them."
    made = [Table("table-1", "Table 1: the graphs", text, columns, first)]
    labels = labels_of(done)
    times = [[k, *(all_pairs_of(r, x) for x in labels)] for k, r in found.items()]
    over = [[k, *(over_sequential(r, x) for x in labels[1:])] for k, r in found.items()]
    made.append(
        Table(
            "figure-3",
            "Figure 3: execution times, all pairs",
            "Seconds per source of a sample of sources, median, times the number of vertices. "
            "Rows stay on the device for the batched engine, reach the host for the others.",
            [Column("graph"), *(Column(x, "s") for x in labels)],
            times,
        )
    )
    made.append(
        Table(
            "figure-4",
            "Figure 4: speed-ups over the sequential method",
            "From the same run. The paper: queue up to more than 4.5, above flag above prefix.",
            [Column("graph"), *(Column(x, "times") for x in labels[1:])],
            over,
        )
    )
    if device == "cuda":
        made.append(_iterations(done))
    return made


def labels_of(done: Sequence[Done]) -> list[str]:
    """Return the methods of all graphs, in the order of measurement."""
    return list(dict.fromkeys(label for one in done for label in one.result["cases"]))


def all_pairs_of(result: dict[str, Any], label: str) -> float | None:
    """Return the seconds of all pairs by a method, or None if it was not run."""
    found = result["cases"].get(label)
    return float(found["all_pairs_seconds"]) if found else None


def over_sequential(result: dict[str, Any], label: str) -> float | None:
    """Return the speed-up of a method over the sequential one, or None without both."""
    base, mine = all_pairs_of(result, SEQUENTIAL), all_pairs_of(result, label)
    return base / mine if base and mine else None


def figures_of(done: Sequence[Done]) -> list[Figure]:
    """Return figures 3 and 4 as bars."""
    labels, graphs = labels_of(done), [one.key for one in done]
    times = [Series(x, graphs, [all_pairs_of(one.result, x) for one in done]) for x in labels]
    over = [Series(x, graphs, [over_sequential(one.result, x) for one in done]) for x in labels[1:]]
    left = Panel("Figure 3", "", "seconds, all pairs", times, kind="bars", y_log=True)
    right = Panel("Figure 4", "", "times the sequential", over, kind="bars", y_log=True)
    caption = "Log scales; times of samples scaled to all sources."
    return [Figure("figures-3-4", "Figures 3 and 4", caption, [left, right])]


def _iterations(done: Sequence[Done]) -> Table:
    """Return iterations per source of the paper's forms, and microseconds for each."""
    rows: list[list[Any]] = []
    for one in done:
        for form in FORMS:
            case = one.result["cases"][form]
            steps = case["counters"]["iterations"] / case["sources"]
            each = case["seconds_per_source"] * 1e6 / steps
            rows.append([one.key, form, steps, case["seconds_per_source"] * 1e3, each])
    columns = [Column("graph"), Column("form"), Column("iterations per source")]
    columns += [Column("per source", "ms"), Column("per iteration", "us")]
    caption = "An iteration is the launches relax, minimum and update, and one value read back."
    return Table("iterations", "Cost of an iteration", caption, columns, rows)
