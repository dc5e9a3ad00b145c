"""Tables of benchmarks/results/kernel_times.json for the pages of docs/reproduction."""

from __future__ import annotations

import json
from collections.abc import Iterable
from typing import Any

from experiment_results import ROOT, describe, spread

from nearfar.lab.experiments.render import cell, markdown_table

FILE = "benchmarks/results/kernel_times.json"
Row = dict[str, Any]


class KernelRows:
    """One part of the file: its rows by graph and label, and where they were measured.

    Parameters
    ----------
    part : str
        A key of ``PARTS`` of benchmarks/kernel_times.py.
    """

    def __init__(self, part: str) -> None:
        self.part = part
        path = ROOT / FILE
        parts = json.loads(path.read_text(encoding="utf-8"))["parts"] if path.is_file() else {}
        self.there = part in parts
        self.rows: list[Row] = parts[part]["rows"] if self.there else []
        self.environment: dict[str, Any] = parts[part]["environment"] if self.there else {}

    def at(self, graph: str, label: str) -> Row:
        """The row of a method on a graph."""
        return next(r for r in self.rows if r["graph"] == graph and r["label"] == label)

    def graphs(self) -> list[str]:
        """Graphs in the order of measurement."""
        return list(dict.fromkeys(r["graph"] for r in self.rows))

    def how(self) -> str:
        """One line: on what, when, from where."""
        command = f"python benchmarks/kernel_times.py --parts {self.part}"
        if not self.there:
            return f"Not measured yet: `{command} -o {FILE}`."
        return f"*{describe(self.environment)}; `{command}`. From `{FILE}`.*"

    def table(self, title: str, columns: list[str], rows: list[list[Any]], note: str) -> list[str]:
        """A table with title, caption and origin; or how to measure it."""
        if not self.there:
            return [self.how(), ""]
        shown = [{"name": name, "unit": "", "digits": 3} for name in columns]
        lines = markdown_table({"columns": shown, "rows": rows})
        return [f"### {title}", "", *lines, "", note, "", self.how(), ""]


def kernel_seconds(row: Row, *names: str) -> float:
    """Seconds of some kernels of a run; of all without names."""
    chosen: Iterable[str] = names or row["kernels"]
    return float(sum(row["kernels"][n]["seconds"] for n in chosen if n in row["kernels"]))


def share(row: Row, *names: str) -> float:
    """Percent of the run's own time that some kernels take."""
    return 100.0 * kernel_seconds(row, *names) / float(row["seconds"])


# --- Johnson: flag, queue, prefix ----------------------------------------------------------------

_RELAX = ("relax_flags", "relax_queue")
#: Graphs of the paper, and larger ones.
PAPER_GRAPHS = ("graph1", "graph2", "graph3", "graph4", "graph5", "graph8")
_UPDATE = ("update_flags", "update_queue", "mark_next", "update_prefix")


def johnson(kernels: KernelRows) -> list[str]:
    """What an iteration spends in each kernel, and outside them."""
    rows = []
    for r in kernels.rows:
        steps = r["counters"]["iterations"]
        micro = 1e6 / steps
        parts = [kernel_seconds(r, *names) * micro for names in (_RELAX, ("minimum_threshold",))]
        parts.append(kernel_seconds(r, *_UPDATE) * micro)
        rest = (r["seconds"] - kernel_seconds(r)) * micro
        rows.append([r["graph"], r["n"], r["label"], steps, *parts, rest])
    columns = ["graph", "vertices", "form", "iterations", "relax, us", "minimum, us"]
    columns += ["update, us", "outside these kernels, us"]
    note = (
        "Microseconds an iteration; one source. The last column is what the run takes beyond its "
        "kernels: launches, the wait for delta, the prefix sum, and the row's way to the host, "
        "once. The graphs named by their size are uniform random ones of out-degree 12."
    )
    return kernels.table("Where an iteration's time goes", columns, rows, note)


def relax_microseconds(kernels: KernelRows, form: str) -> dict[str, float]:
    """Microseconds of the relax kernel an iteration of a form, by graph of the paper."""
    return {
        r["graph"]: kernel_seconds(r, *_RELAX) * 1e6 / r["counters"]["iterations"]
        for r in kernels.rows
        if r["label"] == form and r["graph"] in PAPER_GRAPHS
    }


def relax_share(kernels: KernelRows, graphs: Iterable[str], form: str) -> list[float]:
    """Percent of a run that its relax kernel takes."""
    return [share(kernels.at(g, form), *_RELAX) for g in graphs]


def queue_over_flag(kernels: KernelRows, graphs: list[str], *, relax: bool) -> list[float]:
    """Time of the queue form over the flag form: of the relax kernel, or of the whole run."""
    found = []
    for graph in graphs:
        pair = [kernels.at(graph, form) for form in ("queue", "flag")]
        times = [kernel_seconds(r, *_RELAX) if relax else r["seconds"] for r in pair]
        found.append(times[0] / times[1])
    return found


def update_ratio(kernels: KernelRows, graphs: list[str]) -> list[float]:
    """Time of filling the queue by atomics over that of setting flags."""
    return [
        kernel_seconds(kernels.at(g, "queue"), "update_queue")
        / kernel_seconds(kernels.at(g, "flag"), "update_flags")
        for g in graphs
    ]


# --- Martin: atomics on matrices -----------------------------------------------------------------

_ROWS = ("relax_rows", "relax_rows_no_atomics", "relax_columns")


def relax_seconds(row: Row) -> float:
    """Seconds of all launches of the relax kernel on a matrix."""
    return kernel_seconds(row, *_ROWS)


def matrices(kernels: KernelRows) -> list[str]:
    """The relax kernel with each way to store a sum."""
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
    columns = ["graph", "relax stores by", "right", "iterations", "relax, ms a launch"]
    columns += ["relax, ms in all", "solve, ms"]
    note = (
        "F-GPU is *atomic*, F-GPU-no-atomic is *read, then plain store*; the two others exist for "
        "this table. U-GPU looks at columns and stores once a vertex."
    )
    return kernels.table("Atomics and reads in the relax step", columns, rows, note)


# --- Martin: U-GPU and U-GPU-PLUS ----------------------------------------------------------------

_COLUMNS = ("relax_predecessors", "relax_predecessors_plus")


def lists(kernels: KernelRows) -> list[str]:
    """The relax kernels of U-GPU and U-GPU-PLUS; nothing where they were not measured."""
    if not kernels.there:
        return []
    rows = []
    for r in kernels.rows:
        steps = r["counters"]["iterations"]
        line = [r["graph"], r["label"], steps, r["counters"]["edges_relaxed"]]
        relax = kernel_seconds(r, *_COLUMNS)
        rows.append([*line, relax * 1e3 / steps, r["seconds"] * 1e3])
    columns = [
        "graph",
        "method",
        "iterations",
        "edges looked at",
        "relax, ms a launch",
        "solve, ms",
    ]
    note = "PLUS stages row bounds in shared memory and reads flags through the read-only path."
    return kernels.table("What staging saves", columns, rows, note)


def plus(kernels: KernelRows) -> str:
    """The relax kernel of U-GPU-PLUS over that of U-GPU, in words; empty without measurement."""
    if not kernels.there:
        return ""
    ratios = [
        kernel_seconds(kernels.at(g, "U-GPU-PLUS"), *_COLUMNS)
        / kernel_seconds(kernels.at(g, "U-GPU"), *_COLUMNS)
        for g in kernels.graphs()
    ]
    cache = kernels.environment["gpu"]["l2_cache"] / 2**20
    return (
        f": its relax kernel takes {spread(ratios)} of U-GPU's time. The flags, a byte a vertex, "
        f"fit an L2 cache of {cache:.0f} MiB; the paper's board caches no global memory"
    )


# --- Ortega-Arranz: launches and waits -----------------------------------------------------------


def ortega(kernels: KernelRows) -> list[str]:
    """How much of a solve the kernels take."""
    names = {"frontier_successors": "GPU Martin succ.", "crauser_successors": "GPU Crauser succ."}
    rows = []
    for r in kernels.rows:
        steps = r["counters"]["iterations"]
        line = [r["graph"], names[r["label"]], steps, r["seconds"] * 1e3]
        rows.append([*line, r["seconds"] * 1e6 / steps, share(r)])
    columns = ["graph", "method", "iterations", "solve, ms", "an iteration, us"]
    columns += ["of it in kernels, %"]
    note = "The rest of an iteration is three launches and the wait for the minimum on the host."
    return kernels.table("Kernels and waits", columns, rows, note)


_STEPS = ("relax", "minimum", "update")


def crauser_iteration(kernels: KernelRows) -> str:
    """Kernels of an iteration of Martin's and Crauser's successors; empty without them."""
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


# --- Davidson: Bucketing's reorganisation --------------------------------------------------------

_TRAVERSE = ("gather", "traverse", "sweep_all")
_ORGANISE = ("split", "classify", "take")


def davidson(kernels: KernelRows) -> list[str]:
    """Traversal, reorganisation and the rest, and the work over Bellman-Ford's."""
    rows = []
    for r in kernels.rows:
        counters = r["counters"]
        base = kernels.at(r["graph"], "Bellman-Ford")["counters"]
        line = [r["graph"], r["label"], r["seconds"] * 1e3, share(r, *_TRAVERSE)]
        line += [share(r, *_ORGANISE), 100.0 - share(r)]
        line.append(base["edges_relaxed"] / counters["edges_relaxed"])
        rows.append([*line, counters["iterations"] / base["iterations"]])
    columns = ["graph", "method", "solve, ms", "traversal, %", "split, classify, take, %"]
    columns += ["outside these kernels, %", "work saved, times", "iterations, times"]
    note = (
        "Percent of the solve. Outside are launches and waits, and of Bucketing the sort and the "
        "merge before it, which are CuPy's. The last two columns are against Bellman-Ford, as in "
        "Table III."
    )
    return kernels.table("Where the time goes, and narrower buckets", columns, rows, note)


def over_near_far(kernels: KernelRows, label: str, key: str) -> list[float]:
    """A counter of Near-Far over that of a Bucketing, on the graphs that have both."""
    graphs = [r["graph"] for r in kernels.rows if r["label"] == label]
    return [
        kernels.at(g, "Near-Far, load balanced")["counters"][key]
        / kernels.at(g, label)["counters"][key]
        for g in graphs
    ]
