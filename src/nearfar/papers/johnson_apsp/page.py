"""Page of the Johnson paper, from benchmarks/results/johnson-apsp-*.json."""

# ruff: noqa: E501 - lines of Markdown

from __future__ import annotations

from nearfar.lab.checkout import NOTICE
from nearfar.lab.experiments.claims import beside, spread, verdicts
from nearfar.lab.experiments.kept import Kept, Part, share
from nearfar.papers.johnson_apsp import kernels as kernel
from nearfar.papers.johnson_apsp.claims import (
    FEW_EDGES,
    claims_of,
    iteration_seconds,
    iterations_of,
    over,
)
from nearfar.papers.johnson_apsp.graphs import GRAPHS, MISSING


def _reasons(cuda: Kept) -> dict[str, str]:
    """Return the reason of each claim that would not be reproduced."""
    done = [one for one in cuda.done if {"flag", "queue", "prefix"} <= set(one.result["cases"])]
    results = {one.key: one.result for one in done}
    few = {k: r for k, r in results.items() if r["m"] < FEW_EDGES}
    steps = spread([iterations_of(r, "queue") for r in results.values()])
    cost = spread([iteration_seconds(r, "queue") * 1e6 for r in few.values()])
    kernels = Part("kernel_times", "johnson")
    there = [k for k in few if kernels.there and k in kernels.graphs()]
    parts = [share(kernels.at(k, "queue")) for k in there]
    launches = (
        f"an iteration is three launches and one value read back; on the {len(few)} small graphs it takes {cost} us for any "
        f"size{f', and the kernels are {spread(parts, 2)}% of it' if parts else ''}"
    )
    row = kernel.row_cost(Part("paper_counts", "rows"), kernel.relax_microseconds(kernels))
    behind = [k for k, r in results.items() if r["m"] >= FEW_EDGES and over(r, "queue") <= 1]
    heap = {k: r["cases"]["sequential"]["seconds_per_source"] * 1e3 for k, r in results.items()}
    many = [k for k, r in results.items() if r["m"] >= FEW_EDGES]
    larger = (
        f"slower on {', '.join(behind)}, where the sequential method takes {spread([heap[k] for k in behind])} ms per source "
        f"({spread([heap[k] for k in many if k not in behind])} ms on the other larger graphs): {row}"
        if behind
        else row
    )
    extra = spread(
        [
            1e6 * (iteration_seconds(r, "prefix") - iteration_seconds(r, "queue"))
            for r in results.values()
        ]
    )
    scan = f"an iteration takes {extra} us more than with the queue: the prefix sum needs additional launches over all vertices, as the paper says of its small inputs"
    serial = f"the criterion needs {steps} successive iterations per source on any GPU; {row}"
    return {
        "few edges": launches,
        "many edges": larger,
        "best": serial,
        "queue over flag": _queue_and_flag(kernels),
        "prefix": scan,
        "closer": _closer(kernels, list(few)),
    }


def _queue_and_flag(kernels: Part) -> str:
    """Return a sentence on the relax kernels of the queue and flag forms."""
    if not kernels.there:
        return kernels.how()
    gpu = kernels.environment["gpu"]
    threads = gpu["multiprocessors"] * gpu["threads_per_multiprocessor"]
    large = [g for g in kernels.graphs() if kernels.at(g, "flag")["n"] > 4 * threads]
    small = [g for g in kernel.PAPER_GRAPHS if g in kernels.graphs()]
    runs = kernel.queue_over_flag(kernels, large, relax=False)
    names = " and ".join(large)
    wins = (
        "queue is faster, as in the paper,"
        if runs and max(runs) < 1
        else "queue is not always faster,"
    )
    return (
        f"it depends on the size. This GPU holds {threads:,} threads, so all flags of the paper's graphs are read at once: a "
        "queue saves nothing, and its relax kernel, which reads the queue first, takes "
        f"{spread(kernel.queue_over_flag(kernels, small, relax=True))} times as long as the one with flags. With {names}, more flags "
        f"than threads, it takes {spread(kernel.queue_over_flag(kernels, large, relax=True))} times as long, and {wins} with "
        f"{spread(runs)} of flag's time, although its atomics make the update {spread(kernel.update_ratio(kernels, large))} times "
        "as long. The paper's GTX 960 holds 16,384 threads (8 multiprocessors of 2,048), fewer than seven of its eight graphs "
        "have vertices"
    )


def _closer(kernels: Part, few: list[str]) -> str:
    """Return the share of a run that the differing kernel takes."""
    if not kernels.there:
        return kernels.how()
    many = [g for g in kernel.PAPER_GRAPHS if g not in few and g in kernels.graphs()]
    return (
        "the variants differ in the relax kernel, which takes a larger share of a run on the larger graphs: "
        f"{spread(kernel.relax_share(kernels, few), 2)}% on the small ones, {spread(kernel.relax_share(kernels, many), 2)}% on the others"
    )


def _batched(kept: Kept) -> str:
    """Return a sentence with the speeds of nearfar's engines on the same graphs."""
    found = [
        f"{label} {spread([over(one.result, label) for one in kept.done if label in one.result['cases']])}"
        for label in ("batched", "lanes, all cores", "worker per source, all cores")
        if any(label in one.result["cases"] for one in kept.done)
    ]
    gpu = (
        ", on a GPU with one thread block per source, without launches or copies to the host within a source"
        if any("batched" in one.result["cases"] for one in kept.done)
        else ""
    )
    return f"nearfar's engines solve many sources at once{gpu}. Speed relative to the sequential method: {'; '.join(found)}."


def page() -> str:
    """Return the page."""
    cuda, cpu = Kept("johnson-apsp", "cuda"), Kept("johnson-apsp", "cpu")
    lines = [
        "# Johnson's all pairs on CUDA",
        "",
        NOTICE,
        "",
        "The paper compares the sequential method with three forms of a parallel inner Dijkstra on eight",
        "graphs (Table 1, Figures 3 and 4), on a GTX 960 and a Core i7-6700K. Its text states no times.",
        "",
        f"Not available: {' and '.join(f'{key} ({GRAPHS[key][1]:,} vertices)' for key in MISSING)}.",
        "",
        *verdicts((run.place(), claims_of(run.done)) for run in (cuda,)),
        f"## On {cuda.place()}",
        "",
        cuda.how(),
        "",
    ]
    if cuda.there:
        lines += [cuda.missing(), ""] if cuda.missing() else []
        lines += ["### Statements of the paper", ""]
        lines += [*beside(claims_of(cuda.done), _reasons(cuda)), ""]
        lines += [_batched(cuda), "", f"Wrong answers: {cuda.wrong()}. {cuda.full()}", ""]
        lines += cuda.figure("figures-3-4", f"Figures 3 and 4 on {cuda.place()}")
        for key in ("table-1", "figure-3"):
            lines += cuda.table(key)
        lines += cuda.summary("iterations", lambda row: str(row[1]))
        lines += kernel.iterations(Part("kernel_times", "johnson"))
        lines += kernel.longest_rows(Part("paper_counts", "rows"))
    lines += ["## On the CPU of the build machine", "", cpu.how(), ""]
    if cpu.there:
        lines += [
            "The paper's parallel variants run on a GPU; this section has its sequential method and nearfar's engines.",
            "",
        ]
        lines += [_batched(cpu), "", f"Wrong answers: {cpu.wrong()}.", ""]
        lines += cpu.figure("figures-3-4", "Figures 3 and 4 on the CPU")
    return "\n".join(lines).rstrip() + "\n"
