"""Tables of the numbers in the figures of Ortega-Arranz et al. (2015), per graph."""

from __future__ import annotations

import statistics
from collections.abc import Iterable, Sequence
from typing import Any

from nearfar.lab.experiments.claims import spread
from nearfar.lab.experiments.experiment import Column, Done, Table

ORDER = (
    "relaxed heap",
    "CPU Martin succ.",
    "CPU Martin pred.",
    "CPU Crauser succ.",
    "CPU Crauser pred.",
    "GPU Martin succ.",
    "GPU Martin pred.",
    "GPU Crauser succ.",
    "GPU Crauser pred.",
    "GPU Crauser opt.",
)
#: Options of a launch shape.
SHAPE = ("threads_relax", "threads_minimum", "threads_update", "carveout")
HOW = (
    "Mean over the sources of each one's median; on the GPU by events, host steps included, graph "
    "on the device; every answer checked."
)


def seconds_of(one: Done, label: str) -> float | None:
    """Return the mean over the sources of each one's median, or None if not measured."""
    entry = one.result["cases"].get(label)
    return None if entry is None else float(entry["mean_seconds"])


def milliseconds_of(one: Done, label: str) -> float | None:
    """Return the same in milliseconds."""
    seconds = seconds_of(one, label)
    return None if seconds is None else seconds * 1e3


def ratio_of(one: Done, slow: str, fast: str) -> float | None:
    """Return the speed-up of the second method, over the sources from which both were timed.

    A slow method may have fewer sources than others.
    """
    both = [one.result["cases"].get(label) for label in (slow, fast)]
    if None in both:
        return None
    first, second = (_by_source(case["samples"]) for case in both if case)
    shared = first.keys() & second.keys()
    if not shared:
        return None
    return sum(first[s] for s in shared) / sum(second[s] for s in shared)


def _by_source(samples: Iterable[Sequence[Any]]) -> dict[int, float]:
    """Return the median seconds per source from samples (round, source, seconds)."""
    found: dict[int, list[float]] = {}
    for _, source, seconds in samples:
        found.setdefault(source, []).append(seconds)
    return {source: statistics.median(values) for source, values in found.items()}


def counter_of(one: Done, label: str, name: str) -> Any:
    """Return a counter of a method's run, or None."""
    return one.result["cases"].get(label, {}).get("counters", {}).get(name)


def name_of(one: Done) -> str:
    """Return the name of a graph in tables."""
    what = one.what
    if what["kind"] == "random":
        return f"{what['vertices'] // 1000}k deg{what['degree']}"
    return str(what["name"]) if what["kind"] == "real" else f"martin {what['vertices']:,}"


def labels_of(done: Iterable[Done]) -> list[str]:
    """Return the methods that were measured, in the paper's order."""
    there = {label for one in done for label in one.result["cases"]}
    return [label for label in ORDER if label in there]


def fewer_sources(some: Iterable[Done]) -> str:
    """Return a sentence on methods that were not timed from every source, or nothing."""
    found: dict[str, list[int]] = {}
    for one in some:
        every = len(one.result["sources"])
        for label, case in one.result["cases"].items():
            if case.get("sources", every) < every:
                found.setdefault(label, []).append(case["sources"])
    told = [
        f"{label} on {len(counts)} graph{'s' if len(counts) > 1 else ''} ({spread(counts)})"
        for label, counts in found.items()
    ]
    return f" Timed from fewer sources: {', '.join(told)}." if told else ""


def of_kind(done: Sequence[Done], kind: str) -> list[Done]:
    """Return the results of Martin's, random or real graphs."""
    return [one for one in done if one.what["kind"] == kind]


def by_size(random: Sequence[Done]) -> dict[int, list[Done]]:
    """Return random graphs by number of vertices, each by degree."""
    found: dict[int, list[Done]] = {}
    for one in sorted(random, key=lambda o: (o.what["vertices"], o.what["degree"])):
        found.setdefault(one.what["vertices"], []).append(one)
    return found


def tables_of(done: Sequence[Done]) -> list[Table]:
    """Return all tables that the finished tasks allow."""
    found = []
    for kind, title in (
        ("martin", "Figure 2 a-c: Martin's graphs"),
        ("random", "Figures 3 and 9: uniform random graphs"),
        ("real", "Figures 4 and 10: real and real-like graphs"),
    ):
        some = of_kind(done, kind)
        if some:
            labels = labels_of(some)
            rows: list[list[Any]] = []
            for one in some:
                milliseconds = [milliseconds_of(one, label) for label in labels]
                rows.append([name_of(one), one.result["n"], one.result["m"], *milliseconds])
            head = [Column("graph"), Column("vertices"), Column("edges")]
            columns = [*head, *(Column(label, "ms") for label in labels)]
            found.append(Table(f"{kind}-times", title, HOW + fewer_sources(some), columns, rows))
    found += _idle(done) + _shapes(done) + _memory(done)
    return found


def _idle(done: Sequence[Done]) -> list[Table]:
    rows = []
    for one in done:
        for label in ("GPU Martin succ.", "GPU Crauser succ.", "GPU Crauser pred."):
            total = counter_of(one, label, "total_threads")
            if total:
                working = counter_of(one, label, "working_threads")
                share = counter_of(one, label, "idle_share")
                iterations = counter_of(one, label, "iterations")
                rows.append([name_of(one), label, iterations, total, working, 100 * share])
    if not rows:
        return []
    columns = [Column("graph"), Column("method"), Column("iterations"), Column("threads launched")]
    columns += [Column("threads at work"), Column("idle", "%")]
    note = "Figure 2 d: threads of the relax kernel over all iterations, counted in a separate run."
    return [Table("idle", "Figure 2 d: working and total threads", note, columns, rows)]


def saved_by_tuning(one: Done) -> float | None:
    """Return the percent of the time that the tuned launch shape saves; 0 for the default.

    Medians are over all samples: some solves wait for the host for many times their usual length,
    which would dominate a mean over sources.
    """
    shape = one.result.get("shape")
    cases = one.result["cases"]
    if not shape or "GPU Crauser opt." not in cases:
        return None
    default = cases["GPU Crauser succ."]
    if all(shape[name] == default["options"][name] for name in SHAPE):
        return 0.0
    tuned = cases["GPU Crauser opt."]["median_seconds"]
    return 100.0 * (1.0 - float(tuned / default["median_seconds"]))


def _shapes(done: Sequence[Done]) -> list[Table]:
    rows = []
    for one in done:
        gain = saved_by_tuning(one)
        if gain is not None:
            rows.append([name_of(one), *(one.result["shape"][n] for n in SHAPE), gain])
    if not rows:
        return []
    kernels = (Column(kernel, "threads") for kernel in ("relax", "minimum", "update"))
    columns = [Column("graph"), *kernels, Column("carve-out", "%")]
    columns.append(Column("gain over the default", "%"))
    note = (
        "Figures 5 and 6: the fastest shape on this device, -1 for the "
        "driver's own carve-out, and its saving in the timed rounds, which alternate between both "
        "(medians; 0 where the default itself was the fastest)."
    )
    return [Table("shapes", "Figures 5 and 6: launch shapes and their gain", note, columns, rows)]


def _memory(done: Sequence[Done]) -> list[Table]:
    some = [one for one in done if one.result.get("memory")]
    if not some:
        return []
    labels = [x for x in ORDER if any(x in one.result["memory"] for one in some)]
    rows: list[list[Any]] = []
    for one in some:
        held = [one.result["graph_bytes"], *map(one.result["memory"].get, labels)]
        rows.append([name_of(one), *(None if size is None else size / 2**20 for size in held)])
    columns = [Column("graph"), Column("rows of the graph", "MiB")]
    columns += [Column(label, "MiB") for label in labels]
    note = (
        "Figure 11: greatest memory of one solve beyond the graph, distances included; on the host "
        "the growth of resident memory, on the device the size of a separate memory pool."
    )
    return [Table("memory", "Figure 11: memory of a solve", note, columns, rows)]
