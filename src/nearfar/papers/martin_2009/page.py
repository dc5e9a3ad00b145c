"""Page of Martin et al. (2009), from benchmarks/results/martin-2009-*.json."""

# ruff: noqa: E501 - lines of Markdown

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from typing import Any

from nearfar.lab.checkout import NOTICE
from nearfar.lab.experiments.claims import beside, spread, verdicts
from nearfar.lab.experiments.kept import Kept, Part
from nearfar.lab.experiments.render import cell
from nearfar.papers.martin_2009 import kernels as kernel
from nearfar.papers.martin_2009.claims import OVERLAP, Runs, claims_of
from nearfar.papers.martin_2009.graphs import SIZES


def _reasons(kept: Kept) -> dict[str, str]:
    """Return the reason of each claim that would not be reproduced."""
    runs = Runs(kept.done)
    looks = spread(runs.over("list", "edges_relaxed", "U-GPU", "F-GPU"))
    host_looks = spread(runs.over("list", "edges_relaxed", "U-CPU", "F-CPU"))
    reads = spread(runs.over("matrix", "edges_relaxed", "U-GPU", "F-GPU"))
    host_reads = spread(runs.over("matrix", "edges_relaxed", "U-CPU", "F-CPU"))
    share = spread(runs.over("matrix", "edges_relaxed", "F-CPU", "FH"))
    lost = [a > b for a, b in runs.counts("list", "iterations", "F-GPU-no-atomic", "F-GPU")]
    small = f"the smallest graphs do not fill a GPU: {_iteration(runs)}"
    counted = "an iteration settles the vertices of one distance, so there are as many iterations as different distances (a test counts both), which depend on the random graphs"
    return {
        "F-GPU": small,
        "U-GPU-PLUS": small,
        "plus": (
            f"{_same(runs)}; staging row bounds in shared memory and flags through the read-only path makes hardly any difference "
            f"on this device{kernel.plus(Part('kernel_times', 'lists'))}"
        ),
        "iterations": counted,
        "hybrids": "the host's share is negligible",
        "2min": _apart(runs, "U-GPU", "U-GPU+2min"),
        "F over U": f"U reads {looks} times as many edges, but an iteration needs the same launches in both",
        "F over U, host": f"U-CPU reads {host_looks} times as many edges as F-CPU, sequentially",
        "atomics, lists": f"{_apart(runs, 'F-GPU', 'F-GPU-no-atomic')}; sums that are lost without atomics add an iteration on {sum(lost)} of {len(lost)} graphs",
        "CPU": "every iteration scans all vertices, which a heap does not",
        "CPU, matrices": f"the loops read all n^2 entries, while FH reads only the edges, a fifth of them: F-CPU reads {share} times as many",
        "matrices, first": (
            f"{_fastest(runs)}. U reads {reads} times as many entries as F; F needs atomics, which take no measurable time on "
            "this GPU"
        ),
        "matrices": f"where FH is ahead, {_iteration(runs, 'matrix')}",
        "F under U, host": (
            f"U-CPU reads {host_reads} times as many entries as F-CPU, and reads columns with a stride of one row, while "
            "F-CPU reads rows sequentially"
        ),
        "atomics, matrices": _atomics(runs),
        "race": "on this device the smallest sum was the last one stored in every run",
        "race, safe": "**an error of this library**",
    }


def _same(runs: Runs) -> str:
    """Return whether U-GPU and U-GPU-PLUS do the same work, by their counters."""
    pairs = [
        pair
        for counter in ("edges_relaxed", "iterations")
        for pair in runs.counts("list", counter, "U-GPU", "U-GPU-PLUS")
    ]
    word = "the same" if all(a == b for a, b in pairs) else "NOT the same"
    return f"both read {word} edges in {word} iterations, according to their counters"


def _apart(runs: Runs, one: str, other: str) -> str:
    """Return a sentence on the number of graphs on which two methods differ beyond overlap."""
    apart = [
        [[sample[2] for sample in r["cases"][label]["samples"]] for label in (one, other)]
        for r in runs.of("list", one, other)
        if abs(r["cases"][one]["median_seconds"] / r["cases"][other]["median_seconds"] - 1)
        >= OVERLAP
    ]
    meet = sum(max(map(min, pair)) <= min(map(max, pair)) for pair in apart)
    return f"their medians differ by {100 * OVERLAP:.0f}% or more on {len(apart)} graph{'' if len(apart) == 1 else 's'}; on {meet} of them the samples of both overlap"


def _iteration(runs: Runs, kind: str = "list") -> str:
    """Return the cost of an iteration on the smallest and largest graphs of a kind."""
    some = [r for r in runs.of(kind, "U-GPU") if r["cases"]["U-GPU"]["counters"].get("iterations")]
    if not some:
        return "not measured"
    low, high = min(some, key=lambda r: r["n"]), max(some, key=lambda r: r["n"])
    cost = [
        r["cases"]["U-GPU"]["median_seconds"] * 1e6 / r["cases"]["U-GPU"]["counters"]["iterations"]
        for r in (low, high)
    ]
    looks = [r["cases"]["U-GPU"]["counters"]["edges_relaxed"] for r in (low, high)]
    return (
        f"an iteration of U-GPU takes {cell(cost[0])} us at {low['n']:,} vertices and {cell(cost[1])} us at {high['n']:,}, "
        f"where {cell(looks[1] / looks[0])} times as many entries are read: on small matrices most of the time is spent on launches and synchronization"
    )


def _fastest(runs: Runs) -> str:
    """Return a sentence on the number and the sizes of matrices on which each method is fastest."""
    found: Counter[str] = Counter()
    largest: dict[str, int] = {}
    for result in runs.of("matrix", "FH", "U-GPU"):
        cases = result["cases"]
        best = min(cases, key=lambda label: float(cases[label]["median_seconds"]))
        found[best] += 1
        largest[best] = max(largest.get(best, 0), result["n"])
    told = [
        f"{label} on {count} (up to {largest[label]:,} vertices)"
        for label, count in found.most_common()
    ]
    return f"the fastest is {', '.join(told)}" if told else "not measured"


def _atomics(runs: Runs) -> str:
    """Return the effect of a read before the atomic."""
    kernels = Part("kernel_times", "matrices")
    extra = [a > b for a, b in runs.counts("matrix", "iterations", "F-GPU-no-atomic", "F-GPU")]
    lost = f"Lost sums add an iteration on {sum(extra)} of {len(extra)} matrices"
    if not kernels.there:
        return f"{lost}. {kernels.how()}"

    def over(label: str, base: str) -> list[float]:
        return [
            kernel.relax_seconds(kernels.at(g, label)) / kernel.relax_seconds(kernels.at(g, base))
            for g in kernels.graphs()
        ]

    plain = over("read, then plain store", "read, then atomic")
    same = "as in the paper" if max(plain) < 1 else "not always as in the paper"
    return (
        "nearfar's F-GPU does not read a distance before its atomic, and does not wait for the unused result of the atomic; a plain "
        f"store needs that read. When both read first, plain stores take {spread(plain)} of the time of atomics, {same}. {lost}"
    )


def _counts(found: Counter[int]) -> str:
    """Return the number of graphs per size as text, with runs of equal numbers combined."""
    sizes = sorted(found)
    if len(set(found.values())) == 1:
        return str(found[sizes[0]])
    runs: list[list[int]] = []
    for k in sizes:
        if runs and found[runs[-1][-1]] == found[k]:
            runs[-1].append(k)
        else:
            runs.append([k])
    told = [f"{found[r[0]]} of size {r[0]}" + (f" to {r[-1]}" if r[1:] else "") for r in runs]
    return ", ".join(told)


def _subset(kept: Kept) -> list[str]:
    """Return the number of graphs of each size, and the sizes that are missing."""
    lists, step, matrices, side, _ = SIZES[kept.settings.scale]
    lines = []
    for kind, name, sizes, unit in (
        ("list", "lists", lists, f"2^{step.bit_length() - 1}"),
        ("matrix", "matrices", matrices, f"2^{side.bit_length() - 1}"),
    ):
        held = [d for d in kept.done if d.what["kind"] == kind]
        gpu = [d for d in held if kept.device == "cpu" or "F-GPU" in d.result["cases"]]
        found = Counter(d.what["k"] for d in gpu)
        if not found:
            continue
        left = [k for k in sizes if k not in found]
        more = f"; not of {', '.join(map(str, left))}" if left else ", all of this scale's"
        lines.append(
            f"- {name}: {len(found)} of {len(sizes)} sizes, {min(found)} to {max(found)} times {unit}{more}; graphs of each: "
            f"{_counts(found)}, where the paper has 25."
        )
        for methods, label in (("FH and the methods of the host", "FH"), ("hybrids", "U-H1")):
            some = Counter(d.what["k"] for d in held if label in d.result["cases"])
            if kept.device == "cuda" and some and some != found:
                lines.append(f"- {methods} on {name}, graphs of each size: {_counts(some)}.")
    at_once = kept.at_once
    if at_once.get("host", 0) > 1:
        lines.append(
            f"- Methods on the host were timed separately, each on its own core, up to {at_once['host']} graphs at a time."
        )
    if at_once.get("hybrid", 0) > 1:
        lines.append(f"- Hybrids were timed up to {at_once['hybrid']} at a time on one GPU.")
    return [*lines, ""]


def page() -> str:
    """Return the page."""
    cuda, cpu = Kept("martin-2009", "cuda"), Kept("martin-2009", "cpu")
    lines = [
        "# Martín et al. (2009): CUDA solutions for the SSSP problem",
        "",
        NOTICE,
        "",
        "Martin, Torres and Gavilanes (2009) time compound frontiers on a GeForce GTX 280 and a Core 2 Quad.",
        "FH is Dijkstra's algorithm with a Fibonacci heap on one core. Names are those of the paper;",
        "[Compound frontiers](../explanation/compound-frontiers.md) lists the corresponding variants.",
        "",
        *verdicts((run.place(), claims_of(run.done)) for run in (cuda, cpu)),
        f"## On {cuda.place()}",
        "",
        cuda.how(),
        "",
        *(_subset(cuda) if cuda.there else []),
    ]
    if cuda.there:
        lines += ["### Statements of the paper", ""]
        lines += [*beside(claims_of(cuda.done), _reasons(cuda)), ""]
        lines += [f"Wrong answers of safe methods: {cuda.wrong()}. {cuda.full()}", ""]
        lines += _measured(cuda, cuda.place())
        lines += cuda.table("counterexample")
        lines += kernel.matrices(Part("kernel_times", "matrices"))
    lines += ["## On the CPU", ""]
    if cpu.there:
        lines += [cpu.how(), ""]
        lines += [*beside(claims_of(cpu.done), _reasons(cpu), differing=True), ""]
        for number in (6, 7):
            lines += cpu.figure(f"figure-{number}", f"Figure {number} on the CPU")
    else:
        lines += [cpu.how()]
    return "\n".join(lines).rstrip() + "\n"


def _measured(kept: Kept, where: str) -> list[str]:
    """Return figures 6 and 7 with their numbers."""
    lines = []
    for number, kind in ((6, "list"), (7, "matrix")):
        lines += kept.figure(f"figure-{number}", f"Figure {number} on {where}")
        key = f"{kind}-speedup"
        labels = [c["name"] for c in kept.tables[key]["columns"][2:]] if key in kept.tables else []
        note = None if kind == "list" else ""
        lines += kept.summary(key, _half(kept, key), labels, note)
    return lines


def _half(kept: Kept, key: str) -> Callable[[list[Any]], str]:
    """Return a function that labels a row by the lower or the upper half of the sizes."""
    rows = kept.tables[key]["rows"] if key in kept.tables else []
    middle = max((row[0] for row in rows), default=0) // 2
    return lambda row: f"{'up to' if row[0] <= middle else 'above'} {middle:,} vertices"
