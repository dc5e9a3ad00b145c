"""Tables II and III of Davidson et al. (2014), and the numbers behind Figures 3, 5 and 6."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from nearfar.lab.experiments.experiment import Column, Done, Table
from nearfar.papers.davidson_2014.graphs import GRAPHS

TRAVERSALS = ("thread", "cooperative_blocks", "cta_warp_scan", "load_balanced")
HEAP, RELAXED = "Dijkstra, binary heap", "Dijkstra, relaxed heap"
#: Graphs of Figure 4.
DRAWN = ("rmat", "msdoor")
#: Table III as printed: work saved, vertices per iteration, iterations, against Bellman-Ford.
TABLE_III = {
    "Workfront Sweep": (9.6, 87_998, 1.05),
    "Near-Far": (260.0, 17_138, 1.66),
    "Bucketing": (353.0, 8_135, 2.27),
}


def summary(done: Sequence[Done], label: str) -> tuple[float, float, float] | None:
    """Return means over the graphs: work saved, vertices per iteration, iterations."""
    rows = []
    for one in done:
        cases = one.result["cases"]
        if label in cases and "Bellman-Ford" in cases:
            base, mine = cases["Bellman-Ford"]["counters"], cases[label]["counters"]
            rows.append(
                (
                    base["edges_relaxed"] / max(mine["edges_relaxed"], 1),
                    mine["vertices_processed"] / max(mine["iterations"], 1),
                    mine["iterations"] / max(base["iterations"], 1),
                )
            )
    if not rows:
        return None
    saved, parallel, steps = (float(np.mean(part)) for part in zip(*rows, strict=True))
    return saved, parallel, steps


def tables_of(done: Sequence[Done], device: str) -> list[Table]:
    """Return all tables that the finished tasks allow."""
    ordered = in_paper_order(done)
    made = [_table_two(ordered), _table_three(ordered), _queues(ordered), _speed(ordered)]
    made += [_work(ordered), _deltas(ordered)]
    return [*made, _traversals(ordered)] if device == "cuda" else made


def in_paper_order(done: Sequence[Done]) -> list[Done]:
    """Sort graphs by the paper's decreasing diameter."""
    found = {one.key: one for one in done}
    return [found[name] for name in GRAPHS if name in found]


def labels_of(done: Sequence[Done]) -> list[str]:
    """Return the methods except the traversals and the base."""
    every = dict.fromkeys(label for one in done for label in one.result["cases"])
    return [x for x in every if x != HEAP and not x.startswith(("sweep ", "near-far "))]


def seconds_of(one: Done, label: str) -> float | None:
    """Return the median of a method's samples, or None if it was not measured."""
    found = one.result["cases"].get(label)
    return float(found["median_seconds"]) if found else None


def speed_over(one: Done, label: str, base: str = HEAP) -> float | None:
    """Return the speed-up of a method over another."""
    seconds, heap = seconds_of(one, label), seconds_of(one, base)
    return heap / seconds if heap and seconds else None


def mteps_of(one: Done, label: str) -> float | None:
    """Return millions of Dijkstra's edges per second."""
    seconds = seconds_of(one, label)
    return one.result["edges_of_dijkstra"][0] / seconds * 1e-6 if seconds else None


def counts_of(one: Done, label: str) -> tuple[float, float, int] | None:
    """Return work over Dijkstra's, vertices per iteration, iterations."""
    counters = one.result["cases"].get(label, {}).get("counters", {})
    if not all(counters.get(k) for k in ("edges_relaxed", "iterations", "vertices_processed")):
        return None
    return (
        counters["edges_relaxed"] / max(one.result["edges_of_dijkstra"][0], 1),
        counters["vertices_processed"] / counters["iterations"],
        counters["iterations"],
    )


def _table_two(done: Sequence[Done]) -> Table:
    rows: list[list[Any]] = []
    for one in done:
        paper, result = GRAPHS[one.key], one.result
        line = [one.key, paper.kind, paper.stand_in, result["n"], result["m"]]
        line += [result["m"] / result["n"], result["hops"]]
        rows.append([*line, paper.vertices, paper.edges, paper.diameter])
    names = ["graph", "class", "here", "vertices", "edges", "degree", "hops"]
    names += ["paper: vertices", "paper: edges", "paper: diameter"]
    caption = (
        "The paper's files are not available; the third column names the substitute. Hops: the "
        "greater depth of two breadth-first searches, a lower bound of the diameter."
    )
    return Table("table-2", "Table II: the graphs", caption, [Column(n) for n in names], rows)


def _table_three(done: Sequence[Done]) -> Table:
    rows: list[list[Any]] = []
    for label, printed in TABLE_III.items():
        rows.append([label, *(summary(done, label) or (None,) * 3), *printed])
    columns = [Column("method"), Column("work saved", "times"), Column("vertices per iteration")]
    columns += [Column("iterations", "times"), Column("paper: work saved", "times")]
    columns += [Column("paper: vertices per iteration"), Column("paper: iterations", "times")]
    caption = (
        "Against Bellman-Ford, means over the graphs. Work is edges relaxed; iterations are "
        "those over Bellman-Ford's."
    )
    return Table("table-3", "Table III: work, parallelism, iterations", caption, columns, rows)


def _speed(done: Sequence[Done]) -> Table:
    labels = labels_of(done)
    rows: list[list[Any]] = []
    for one in done:
        base = seconds_of(one, HEAP)
        line: list[Any] = [one.key, base * 1e3 if base else None]
        line += [speed_over(one, label) for label in labels]
        rows.append([*line, *(mteps_of(one, label) for label in labels if label != RELAXED)])
    columns = [Column("graph"), Column(HEAP, "ms")]
    columns += [Column(label, "times") for label in labels]
    columns += [Column(label, "MTEPS") for label in labels if label != RELAXED]
    caption = (
        "Times faster than Dijkstra with a binary heap on one core (left), and throughput. MTEPS "
        "count the edges that Dijkstra touches. A GPU's time is the device's, graph on it."
    )
    return Table("figure-5", "Figure 5: speed and throughput", caption, columns, rows)


def _work(done: Sequence[Done]) -> Table:
    rows: list[list[Any]] = []
    for one in done:
        for label in labels_of(done):
            counts = counts_of(one, label)
            if counts and label != RELAXED:
                rows.append([one.key, label, *counts])
    columns = [Column("graph"), Column("method"), Column("work over Dijkstra's", "times")]
    columns += [Column("vertices per iteration"), Column("iterations")]
    caption = "Delta is the paper's heuristic, 32 times the mean weight over the mean degree."
    return Table("figure-6", "Figure 6: the four dimensions", caption, columns, rows)


def discarded(one: Done, method: str = "Near-Far") -> float | None:
    """Return the percent of the far pile's entries that its compactions drop.

    None if the pile was never compacted, or if iterations are missing from the record.
    """
    queues = one.result.get("queues", {}).get(method, {})
    far, near = queues.get("far", ()), queues.get("frontier", ())
    if len(queues.get("iteration", ())) < 2 or queues["iteration"][1] != 2:
        return None
    taken = [i for i in range(1, len(far)) if far[i] < far[i - 1]]
    before = sum(far[i - 1] for i in taken)
    return 100.0 * (before - sum(far[i] + near[i] for i in taken)) / before if before else None


def _queues(done: Sequence[Done]) -> Table:
    """Return the numbers of Figure 4, for the paper's two graphs."""
    rows: list[list[Any]] = []
    for one in (o for name in DRAWN for o in done if o.key == name):
        for method, queues in one.result.get("queues", {}).items():
            if not queues.get("frontier"):
                continue
            far = max(queues.get("far", ()), default=0) if method == "Near-Far" else None
            line: list[Any] = [one.key, method, queues["iteration"][-1], max(queues["frontier"])]
            line += [far, discarded(one, method), (queues.get("edges") or [None])[-1]]
            rows.append(line)
    columns = [Column("graph"), Column("method"), Column("iterations")]
    columns += [Column("greatest workfront or near set"), Column("greatest far pile")]
    columns += [Column("dropped by compactions", "%"), Column("edges touched")]
    caption = (
        "A compaction of the far pile drops entries whose vertex was updated since, and duplicates."
    )
    return Table("figure-4", "Figure 4: queues of both methods", caption, columns, rows)


def _deltas(done: Sequence[Done]) -> Table:
    """Return the numbers of Figure 7: the heuristic's delta, the fastest, and both ends."""
    rows: list[list[Any]] = []
    for one in done:
        sweep = sorted(one.result.get("sweep", {}).get("rows", ()), key=lambda row: row["delta"])
        mine = [row for row in sweep if row["factor"] == 1]
        if not mine:
            continue
        best = min(sweep, key=lambda row: row["seconds"])
        line: list[Any] = [one.key, one.result["sweep"]["heuristic"], mine[0]["work"]]
        line += [mine[0]["average_parallelism"], mine[0]["seconds"] * 1e3, best["factor"]]
        line += [best["work"], best["average_parallelism"], best["seconds"] * 1e3]
        rows.append([*line, mine[0]["seconds"] / best["seconds"]])
    columns = [Column("graph"), Column("heuristic delta"), Column("work over Dijkstra's", "times")]
    columns += [Column("vertices per iteration"), Column("time", "ms")]
    columns += [Column("fastest delta over it"), Column("its work", "times")]
    columns += [Column("its vertices per iteration"), Column("its time", "ms")]
    columns += [Column("heuristic over fastest", "times")]
    caption = (
        "Near-Far at the heuristic's delta, and at the delta of the sweep that was fastest, one "
        "solve each."
    )
    return Table("figure-7", "Figure 7: the heuristic's choice", caption, columns, rows)


def _traversals(done: Sequence[Done]) -> Table:
    rows: list[list[Any]] = []
    for policy in ("sweep", "near-far"):
        names = [f"{policy} {t}" for t in TRAVERSALS]
        for one in done:
            times = [seconds_of(one, name) for name in names]
            rows.append([policy, one.key, *(t * 1e3 if t else None for t in times)])
    columns = [Column("policy"), Column("graph")]
    columns += [Column(t.replace("_", " "), "ms") for t in TRAVERSALS]
    return Table("figure-3", "Figure 3: traversals", "Median device time.", columns, rows)
