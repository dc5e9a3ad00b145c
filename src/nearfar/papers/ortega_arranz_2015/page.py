"""Page of Ortega-Arranz et al. (2015), from benchmarks/results/ortega-arranz-2015-*.json."""

# ruff: noqa: E501 - lines of Markdown

from __future__ import annotations

from collections.abc import Iterable, Sequence

from nearfar.lab.checkout import NOTICE
from nearfar.lab.experiments.claims import beside, spread, verdicts
from nearfar.lab.experiments.experiment import Done
from nearfar.lab.experiments.kept import Kept, Part, share
from nearfar.lab.experiments.render import cell
from nearfar.papers.ortega_arranz_2015 import counts as counted
from nearfar.papers.ortega_arranz_2015.claims import CROSSINGS, claims_of
from nearfar.papers.ortega_arranz_2015.tables import (
    HOW,
    by_size,
    counter_of,
    fewer_sources,
    name_of,
    of_kind,
    ratio_of,
    saved_by_tuning,
)

_HEAP, _CPU, _OPT = "relaxed heap", "CPU Crauser succ.", "GPU Crauser opt."
_MARTIN, _GPU = "GPU Martin succ.", "GPU Crauser succ."


def _over(some: Iterable[Done], counter: str, top: str, bottom: str) -> list[float]:
    """Return a counter of one method over that of another, on the graphs that have both."""
    pairs = [(counter_of(one, top, counter), counter_of(one, bottom, counter)) for one in some]
    return [a / b for a, b in pairs if a and b]


def _iteration(some: Iterable[Done], label: str) -> list[float]:
    """Return microseconds per iteration, by graph."""
    found = []
    for one in some:
        steps = counter_of(one, label, "iterations")
        if steps:
            found.append(one.result["cases"][label]["median_seconds"] * 1e6 / steps)
    return found


def _against_martin(some: Sequence[Done], device: str, form: str) -> tuple[str, str, str]:
    """Return percent fewer iterations of Crauser, and their time and edges over Martin's."""
    ours, theirs = f"{device} Crauser {form}", f"{device} Martin {form}"
    steps = _over(some, "iterations", ours, theirs)
    slower = [
        1 / (ratio * step)
        for one in some
        if (ratio := ratio_of(one, theirs, ours))
        for step in _over([one], "iterations", ours, theirs)
    ]
    edges = _over(some, "edges_relaxed", ours, theirs)
    return spread([100 * (1 - step) for step in steps]), spread(slower), spread(edges)


def _noise(some: Iterable[Done]) -> str:
    """Return the difference between two timings of one shape, if the tuned shape is the default."""
    found = []
    for one in some:
        if saved_by_tuning(one) == 0.0:
            pair = [one.result["cases"][x]["median_seconds"] for x in (_OPT, _GPU)]
            found.append(100 * abs(1 - pair[0] / pair[1]))
    return f"two timings of one shape differ by up to {cell(max(found))}%" if found else ""


def _waits() -> str:
    """Return the share of a solve that the kernels take."""
    kernels = Part("kernel_times", "ortega")
    rows = [r for r in kernels.rows if r["label"] == "crauser_successors"]
    if not rows:
        return ""
    return f"kernels are {spread([share(r) for r in rows])}% of a solve"


def _reasons(done: Sequence[Done]) -> dict[str, str]:
    """Return the reason of each claim that would not be reproduced."""
    martin, random, real = (of_kind(done, kind) for kind in ("martin", "random", "real"))
    thin = [one for one in random if one.what["degree"] == 2]
    tuned = "; ".join(
        filter(None, ("launch shapes are measured, not modelled", _noise(done), _waits()))
    )
    each = f"an iteration of GPU Crauser takes {spread(_iteration(done, _GPU))} us, even if it has few vertices"
    steps = spread(_over(random, "iterations", _MARTIN, _GPU))
    weights = "[The range of the weights](../explanation/compound-frontiers.md#the-range-of-the-weights) shows which weights would give the paper's ratios"
    same = f"the ratio of iterations is {steps}, and both run the same kernels. {weights}"
    families = f"the ratio of iterations is {spread(_over(real, 'iterations', _MARTIN, _GPU))} over these graphs; both run the same kernels"
    found: dict[str, str] = {}
    for device, form, key in (
        ("CPU", "succ.", "a, succ."),
        ("CPU", "pred.", "a, pred."),
        ("GPU", "succ.", "b, succ."),
        ("GPU", "pred.", "b, pred."),
    ):
        fewer, slower, edges = _against_martin(martin, device, form)
        counts = f"{fewer}% fewer iterations, each {slower} times as long; {edges} times as many edges are relaxed"
        if device == "CPU":
            name = {"succ.": "successors", "pred.": "predecessors"}[form]
            counts = f"{counts}; {counted.threshold_cost(Part('paper_counts', 'threshold'), name)}"
        elif kernels := counted.crauser_iteration(Part("kernel_times", "ortega")):
            counts = f"{counts}; {kernels}"
        found[key] = counts
    idle = "each vertex is active in only one iteration"
    held = "Boost's queue grows with the edges; the relaxed heap of this library keeps one entry per vertex"
    found |= {
        "c, tuned": tuned,
        "c, CPU": each,
        "d, succ.": idle,
        "d, pred.": counted.idle_readings(Part("paper_counts", "threads")),
        "table 2, CPU": each,
        "table 2, Martin": same,
        "thin": (
            f"an iteration of CPU Crauser scans all vertices in {spread(_iteration(thin, _CPU))} us; one of GPU Martin takes "
            f"{spread(_iteration(thin, _MARTIN))} us, and there are {spread(_over(thin, 'iterations', _MARTIN, _CPU))} times as many"
        ),
        "bend": _bend(random),
        "table 4": tuned,
        "table 3, CPU": each,
        "table 3, Martin": families,
        "figure 6": tuned,
        "heap, thin": f"{each}, and a heap has few edges to relax",
        "heap, walshaw": f"{_ahead(real)}; {each}",
        "heap, social": each,
        "memory": held,
    }
    for thousands in CROSSINGS:
        found[f"heap, {thousands}k"] = each
        found[f"heap, {thousands}k, deg2000"] = each
    return found


def _bend(random: Sequence[Done]) -> str:
    """Return iterations and edges per iteration along the degrees of the smallest size."""
    if not random:
        return ""
    some = next(iter(by_size(random).values()))
    steps = [counter_of(one, _GPU, "iterations") for one in some]
    if not all(steps):
        return ""
    edges = [one.result["m"] / step for one, step in zip(some, steps, strict=True)]
    return f"{', '.join(map(cell, steps))} iterations of {', '.join(map(cell, edges))} edges each in the mean"


def _ahead(real: Sequence[Done]) -> str:
    """Return a sentence on the meshes on which the GPU is faster than the heap."""
    told = [
        f"{name_of(one)} ({cell(counter_of(one, _GPU, 'iterations'))} iterations for {one.result['n']:,} vertices)"
        for one in real
        if one.what["family"] == "walshaw" and (ratio_of(one, _HEAP, _OPT) or 0) > 1
    ]
    return (
        f"the GPU is faster on {', '.join(told)}" if told else "the GPU is faster on none of them"
    )


def _sources(kept: Kept) -> str:
    """Return the numbers of sources per graph."""
    counts = {len(one.result["sources"]) for one in kept.done if one.what["kind"] != "martin"}
    martin = {len(one.result["sources"]) for one in kept.done if one.what["kind"] == "martin"}
    fewer = fewer_sources(kept.done)
    text = f"{spread(counts)} random sources per graph" if counts else ""
    if martin:
        text += f"{', ' if text else ''}{spread(martin)} on Martin's graphs"
    every = counts | martin
    text += ", as in the paper." if every == {100} else ", where the paper has 100."
    if fewer:
        text += f"{fewer} Ratios are over the sources that both methods have."
    if kept.at_once.get("host", 0) > 1:
        text += f" Methods on the host were timed separately, each on its own core, up to {kept.at_once['host']} graphs at a time."
    return text


def page() -> str:
    """Return the page."""
    cuda, cpu = Kept("ortega-arranz-2015", "cuda"), Kept("ortega-arranz-2015", "cpu")
    lines = [
        "# Ortega-Arranz et al. (2015)",
        "",
        NOTICE,
        "",
        "Ortega-Arranz, Torres, Llanos and Gonzalez (2015) compare Crauser's criterion on a GTX 480 (Fermi), a GTX 680",
        "(Kepler) and a GTX Titan Black with Martin's method, one core, and Boost's relaxed heap. One GPU replaces",
        "the three boards, so section 5.2 C, which compares them, is omitted. Real graphs of the same families",
        "replace the paper's files.",
        "",
        *verdicts((run.place(), claims_of(run.done)) for run in (cuda, cpu)),
        f"## On {cuda.place()}",
        "",
        cuda.how(),
        "",
    ]
    if cuda.there:
        lines += [" ".join(filter(None, (_sources(cuda), cuda.missing()))), ""]
        lines += ["### Statements of the paper", ""]
        lines += [*beside(claims_of(cuda.done), _reasons(cuda.done)), ""]
        lines += [f"Wrong answers: {cuda.wrong()}. {cuda.full()}", ""]
        for number in range(2, 12):
            lines += cuda.figure(f"figure-{number}", f"Figure {number} on {cuda.place()}")
            lines += _summaries(cuda, number)
    lines += ["## On the CPU", "", cpu.how(), ""]
    if cpu.there:
        lines += [" ".join(filter(None, (_sources(cpu), cpu.missing()))), ""]
        lines += [*beside(claims_of(cpu.done), _reasons(cpu.done), differing=True), ""]
        lines += [f"Wrong answers: {cpu.wrong()}.", ""]
        for number in (2, 3, 4, 9):
            lines += cpu.figure(f"figure-{number}", f"Figure {number} on the CPU")
    return "\n".join(lines).rstrip() + "\n"


#: Tables that follow a figure, with their columns.
_TIMES = tuple(f"{label}, ms" for label in (_HEAP, _CPU, _MARTIN, _GPU))
_TABLES = {2: ("martin-times", _TIMES), 3: ("random-times", _TIMES), 4: ("real-times", _TIMES)}


def _summaries(kept: Kept, number: int) -> list[str]:
    """Return the tables of a figure, with a row per family of graphs."""
    families = {
        name_of(one): str(one.what.get("family") or name_of(one).split()[0]) for one in kept.done
    }
    if number not in _TABLES:
        return []
    key, only = _TABLES[number]
    note = "" if number in (3, 4) else HOW if number == 2 else None
    return kept.summary(key, lambda row: families.get(row[0], row[0]), only, note)
