"""The page of Martin et al. (2009), from benchmarks/results/martin-2009-*.json."""

# ruff: noqa: E501 - lines of Markdown

from __future__ import annotations

import statistics
from typing import Any

import kernel_time_tables as times
from experiment_results import Kept, spread

from nearfar.experiments.render import cell

PAGE = "docs/reproduction/martin-2009.md"
#: What the paper's text states, and where.
PAPER = {
    "F-GPU": ("section 6", "a factor around 60X w.r.t. FH on lists"),
    "U-GPU-PLUS": ("section 6", "slightly faster than U-GPU, a factor near 10X w.r.t. FH"),
    "matrices": ("section 6", "U-GPU is the fastest, a factor of 32X w.r.t. FH"),
    "iterations": ("section 6", "around 45 are enough for the largest lists"),
    "hybrids": ("section 6", "wholly on the GPU is more efficient than U-H1, U-H2, U-H3"),
    "2min": ("section 6", "U-GPU and U-GPU+2min overlap"),
    "F over U": ("section 6", "F-GPU is quite faster than U-GPU on lists"),
    "atomics, lists": ("section 6", "F-GPU without atomics behaves as F-GPU on lists"),
    "atomics, matrices": ("section 6", "F-GPU without atomics is usually faster on matrices"),
    "CPU": ("section 6", "some CPU forms too run faster than FH"),
    "race": ("section 4.3", "the sink's value changes randomly from run to run"),
}


class _Runs:
    """Ratios within one graph, over the graphs of a kind."""

    def __init__(self, kept: Kept) -> None:
        self.done = kept.done

    def of(self, kind: str) -> list[dict[str, Any]]:
        return [d.result for d in self.done if d.what["kind"] == kind]

    def ratios(self, kind: str, slow: str, fast: str) -> list[float]:
        """How many times faster ``fast`` is, a graph."""
        return [
            r["cases"][slow]["median_seconds"] / r["cases"][fast]["median_seconds"]
            for r in self.of(kind)
            if slow in r["cases"] and fast in r["cases"]
        ]

    def largest(self, kind: str, slow: str, fast: str) -> str:
        """The ratio on the largest graph that has both, with its size."""
        some = [r for r in self.of(kind) if slow in r["cases"] and fast in r["cases"]]
        top = max(some, key=lambda r: r["n"])
        ratio = top["cases"][slow]["median_seconds"] / top["cases"][fast]["median_seconds"]
        return f"{cell(ratio)} at {top['n']:,} vertices"

    def counts(self, kind: str, label: str, name: str) -> list[float]:
        return [r["cases"][label]["counters"][name] for r in self.of(kind) if label in r["cases"]]


def _differences(cuda: Kept) -> list[str]:
    if not cuda.there:
        return [cuda.how()]
    runs = _Runs(cuda)
    looks = [
        a / b
        for a, b in zip(
            runs.counts("list", "U-GPU", "edges_relaxed"),
            runs.counts("list", "F-GPU", "edges_relaxed"),
            strict=True,
        )
    ]
    reads = [
        a / b
        for a, b in zip(
            runs.counts("matrix", "U-GPU", "edges_relaxed"),
            runs.counts("matrix", "F-GPU", "edges_relaxed"),
            strict=True,
        )
    ]
    extra = [
        a > b
        for a, b in zip(
            runs.counts("matrix", "F-GPU-no-atomic", "iterations"),
            runs.counts("matrix", "F-GPU", "iterations"),
            strict=True,
        )
    ]
    plus = runs.ratios("list", "U-GPU", "U-GPU-PLUS")
    racy = [
        case["wrong_runs"] / race["runs"]
        for d in cuda.done
        if d.what["kind"] == "race"
        for race in d.result["races"]
        for label, case in race["cases"].items()
        if "two cost" in label
    ]
    most = max(runs.counts("list", "F-GPU", "iterations"))
    rows = [
        (
            "F-GPU",
            runs.largest("list", "FH", "F-GPU"),
            "the same direction, larger; both devices are other ones",
        ),
        (
            "U-GPU-PLUS",
            f"{runs.largest('list', 'FH', 'U-GPU-PLUS')}; {spread(plus)} of U-GPU's speed",
            "the gain over U-GPU is gone: with the same edges and iterations, staging row bounds in shared memory and "
            "flags through the read-only path brings nothing measurable on this GPU",
        ),
        (
            "matrices",
            f"U-GPU {runs.largest('matrix', 'FH', 'U-GPU')}; F-GPU is {spread(runs.ratios('matrix', 'U-GPU', 'F-GPU'))} times as fast as U-GPU",
            "direction differs on large matrices, by little: U reads the columns of unsettled vertices again in every "
            f"iteration, {spread(reads)} times the entries that F reads. F pays for that with atomics, which the paper "
            "found to cost it time; here they do not, as the row on atomics and matrices shows",
        ),
        (
            "iterations",
            f"at most {most:.0f}",
            "an iteration settles the vertices of one distance, so there are as many as different distances (a test "
            "counts both), and those depend on the random graphs",
        ),
        (
            "hybrids",
            f"U-GPU is {spread(runs.ratios('list', 'U-H1', 'U-GPU'))}, {spread(runs.ratios('list', 'U-H2', 'U-GPU'))}, "
            f"{spread(runs.ratios('list', 'U-H3', 'U-GPU'))} times faster",
            "as in the paper, and more: the host's scans and the copies have not sped up as the kernels have",
        ),
        (
            "2min",
            f"{spread(runs.ratios('list', 'U-GPU', 'U-GPU+2min'))} of its speed",
            "as in the paper",
        ),
        (
            "F over U",
            f"{spread(runs.ratios('list', 'U-GPU', 'F-GPU'))} times",
            f"as in the paper: U looks at {spread(looks)} times the edges that F looks at",
        ),
        (
            "atomics, lists",
            f"{spread(runs.ratios('list', 'F-GPU', 'F-GPU-no-atomic'))} of its speed",
            "as in the paper",
        ),
        (
            "atomics, matrices",
            f"{spread(runs.ratios('matrix', 'F-GPU', 'F-GPU-no-atomic'))} of its speed",
            f"{_atomics()}. Lost sums add an iteration on {sum(extra)} of {len(extra)} matrices",
        ),
        (
            "CPU",
            f"F-CPU {spread(runs.ratios('list', 'FH', 'F-CPU'))} times on lists, U-CPU {spread(runs.ratios('list', 'FH', 'U-CPU'))}; "
            f"F-CPU {spread(runs.ratios('matrix', 'FH', 'F-CPU'))} on matrices",
            "as in the paper on lists; on matrices the loops read all n^2 entries where FH reads the edges, a fifth of them",
        ),
        (
            "race",
            f"wrong in {spread([100 * r for r in racy])}% of the runs; F-GPU and U-GPU never",
            "as in the paper",
        ),
    ]
    lines = ["| the paper says | where | here | why |", "|---|---|---|---|"]
    for key, here, why in rows:
        where, said = PAPER[key]
        lines.append(f"| {said} | {where} | {here} | {why} |")
    return lines


def _atomics() -> str:
    """What a read before the atomic changes."""
    kernels = times.KernelRows("matrices")
    if not kernels.there:
        return kernels.how()

    def over(label: str, base: str) -> list[float]:
        return [
            times.relax_seconds(kernels.at(g, label)) / times.relax_seconds(kernels.at(g, base))
            for g in kernels.graphs()
        ]

    return (
        "direction differs, because our F-GPU does not read a distance before its atomic, and an atomic whose result "
        f"nobody uses is not waited for: a read before it makes the relax step {spread(over('read, then atomic', 'atomic'))} "
        "times as long. A plain store needs that read. When both read first, plain stores take "
        f"{spread(over('read, then plain store', 'read, then atomic'))} of the time of atomics, as in the paper, although some need an iteration more"
    )


def _subset(cuda: Kept) -> list[str]:
    if not cuda.there:
        return []
    held = [d for d in cuda.done if d.what["kind"] == "list"]
    sizes = sorted({d.what["k"] for d in held})
    most = statistics.mode([d.what["k"] for d in held])
    many = sum(d.what["k"] == most for d in held)
    return [
        "The paper has 25 graphs of each of 1 to 11 times 2^20 vertices. To spare GPU time this run has",
        f"up to {many} graphs of {', '.join(map(str, sizes))} times 2^20, and the methods that need the host were",
        "timed on the first graph of a size. `--graphs 25` without `--only` and `--budget` runs all.",
        "",
    ]


def page() -> str:
    """The page in full."""
    cuda, cpu = Kept("martin-2009", "cuda"), Kept("martin-2009", "cpu")
    lines = [
        "# CUDA solutions for the SSSP problem: what the paper has, and what we measure",
        "",
        "<!-- generated by scripts/make_reproduction.py; do not edit -->",
        "",
        "Martin, Torres and Gavilanes (2009) time compound frontiers on a GeForce GTX 280 and a Core 2 Quad.",
        "FH is Dijkstra's algorithm with a Fibonacci heap on one core. The names are the paper's; the variants",
        "behind them are in [Compound frontiers](../explanation/compound-frontiers.md).",
        "",
        "## On one H100",
        "",
        *_subset(cuda),
    ]
    for key in ("list-times", "list-speedup", "list-iterations"):
        lines += cuda.table(key)
    lines += cuda.figure("figure-6", "Figure 6 on one H100")
    for key in ("matrix-times", "matrix-speedup", "matrix-iterations"):
        lines += cuda.table(key)
    lines += cuda.figure("figure-7", "Figure 7 on one H100")
    lines += times.matrices(times.KernelRows("matrices"))
    lines += cuda.table("counterexample")
    lines += ["## Differences and their reasons", "", *_differences(cuda), ""]
    lines += ["## On the CPU", ""]
    for key in ("list-times", "list-speedup", "matrix-times", "matrix-speedup"):
        lines += cpu.table(key)
    for number in (6, 7):
        lines += cpu.figure(f"figure-{number}", f"Figure {number} on the CPU")
    return "\n".join(lines).rstrip() + "\n"
