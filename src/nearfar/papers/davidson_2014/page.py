"""Page of Davidson et al. (2014), from benchmarks/results/davidson-2014-*.json."""

# ruff: noqa: E501 - lines of Markdown

from __future__ import annotations

from collections.abc import Iterable, Sequence

from nearfar.lab.checkout import NOTICE
from nearfar.lab.experiments.claims import beside, spread, verdicts
from nearfar.lab.experiments.experiment import Done
from nearfar.lab.experiments.kept import Kept, Part, kernel_seconds, share
from nearfar.lab.experiments.render import cell
from nearfar.papers.davidson_2014.claims import claims_of, of_class, ratios
from nearfar.papers.davidson_2014.graphs import GRAPHS
from nearfar.papers.davidson_2014.tables import (
    HEAP,
    RELAXED,
    TRAVERSALS,
    counts_of,
    in_paper_order,
    seconds_of,
    speed_over,
)

_BF, _SWEEP, _NEAR_FAR, _BUCKETS = "Bellman-Ford", "Workfront Sweep", "Near-Far", "Bucketing"
_ONE = "one launch"


def _iteration(some: Iterable[Done], label: str) -> list[float]:
    """Return microseconds per iteration of a method, by graph."""
    found = []
    for one in some:
        counts, seconds = counts_of(one, label), seconds_of(one, label)
        if counts and seconds:
            found.append(seconds * 1e6 / counts[2])
    return found


def _break_even(one: Done) -> str:
    """Return the vertices per iteration of Near-Far, and the number the heap settles in that time."""
    counts, heap = counts_of(one, _NEAR_FAR), seconds_of(one, HEAP)
    iteration = _iteration([one], _NEAR_FAR)
    if not counts or not heap or not iteration:
        return ""
    vertex = heap * 1e6 / (one.result["reached"][0] * _again(one))
    return f"{one.key} has {cell(counts[1])} vertices per iteration, and the heap settles {cell(iteration[0] / vertex)} in that time"


def _again(one: Done) -> float:
    """Return the mean number of times that Near-Far processes a vertex."""
    case = one.result["cases"][_NEAR_FAR]["counters"]
    return float(case["vertices_processed"]) / max(float(one.result["reached"][0]), 1.0)


def _fewer(some: Sequence[Done]) -> str:
    """Return iterations and their times of Bellman-Ford and the work-saving methods."""
    told = []
    for label in (_BF, _SWEEP, _NEAR_FAR):
        steps = [c[2] for one in some if (c := counts_of(one, label))]
        told.append(f"{label} {spread(steps)} of {spread(_iteration(some, label))} us")
    return f"iterations: {', '.join(told)}"


def _smaller_delta(done: Sequence[Done]) -> str:
    """Return graphs on which Near-Far saves little, with its savings at the smallest delta."""
    told = []
    for one in done:
        sweep, near = counts_of(one, _SWEEP), counts_of(one, _NEAR_FAR)
        rows = sorted(one.result.get("sweep", {}).get("rows", []), key=lambda row: row["delta"])
        if not sweep or not near or not rows or sweep[0] / near[0] > 1.1:
            continue
        saves = sweep[0] / max(rows[0]["work"], 1e-9)
        told.append(f"{one.key} {cell(saves)} times at {cell(rows[0]['factor'])} of the delta")
    if not told:
        return ""
    return (
        "the far pile stays empty where the heuristic's delta exceeds nearly all distances (Figure 4); a smaller delta saves work "
        f"(Figure 7): {', '.join(told)}"
    )


def _over_near_far(kernels: Part, label: str, key: str) -> list[float]:
    """Return a counter of Near-Far over that of a Bucketing variant, on graphs that have both."""
    graphs = [r["graph"] for r in kernels.rows if r["label"] == label]
    return [
        kernels.at(g, "Near-Far, load balanced")["counters"][key]
        / kernels.at(g, label)["counters"][key]
        for g in graphs
    ]


def _narrower() -> str:
    """Return the savings of buckets narrower than Near-Far's step."""
    kernels = Part("kernel_times", "davidson")
    text = "buckets as wide as Near-Far's step process the same vertices in the same order"
    if not kernels.there:
        return f"{text}; {kernels.how()}"
    half = "Bucketing, delta / 2"
    saves = [spread(_over_near_far(kernels, half, "edges_relaxed"))]
    slower = _over_near_far(kernels, half, "iterations")
    return (
        f"{text}. Half as wide they save {saves[0]} times Near-Far's work in {spread([1 / x for x in slower])} times its "
        f"iterations (the paper: {353 / 260:.2f} and {2.27 / 1.66:.2f})"
    )


def _reorganising() -> str:
    """Return the share of Bucketing's time that is not traversal."""
    kernels = Part("kernel_times", "davidson")
    if not kernels.there:
        return kernels.how()
    rows = [kernels.at(g, _BUCKETS) for g in kernels.graphs()]
    rest = [100.0 - share(r, "gather", "traverse") for r in rows]
    own = [share(r, "classify", "take") for r in rows]
    return (
        f"{spread(rest)}% of its time is not traversal (the paper: 82% on average). Its own two kernels are {spread(own)}%; "
        "most of the rest is sorting, merging and synchronization with the host"
    )


def _balancing(some: Sequence[Done]) -> str:
    """Return the cost of load balancing for each policy."""
    told = []
    for policy in ("sweep", "near-far"):
        over = [
            1 / value
            for one in some
            if (value := speed_over(one, f"{policy} load_balanced", f"{policy} thread"))
        ]
        told.append(f"{policy} {spread(over)}")
    return f"load balancing takes {', '.join(told)} times as long as one list per thread"


def _gathering() -> str:
    """Return the reason why load balancing costs time."""
    kernels = Part("kernel_times", "davidson")
    gather = ""
    if kernels.there and "road-cal" in kernels.graphs():
        row = kernels.at("road-cal", "Near-Far, load balanced")
        part = 100.0 * kernel_seconds(row, "gather") / kernel_seconds(row)
        gather = f", {part:.0f}% of all kernels' time on road-cal"
    return f"it needs one more launch per iteration, to scan the queue{gather}"


def _reasons(kept: Kept) -> dict[str, str]:
    """Return the reason of each claim that would not be reproduced."""
    done = in_paper_order(kept.done)
    roads, meshes = of_class(done, "road networks"), of_class(done, "meshes")
    free = of_class(done, "scale-free graphs")
    thread = [
        speed_over(one, f"{policy} load_balanced", f"{policy} thread")
        for one in free
        for policy in ("sweep", "near-far")
    ]
    pays = "; ".join(filter(None, map(_break_even, roads)))
    launch = (
        f"Near-Far takes {spread(_iteration(roads, _NEAR_FAR))} us per iteration; {pays}. In one launch it is "
        f"{spread(ratios(roads, _NEAR_FAR, [_ONE]))} times faster still"
    )
    lists = f"Bellman-Ford gives each vertex one thread; load balancing makes the other methods {spread(thread)} times faster"
    relaxed = [one.key for one in done if (speed_over(one, RELAXED) or 0) > 1]
    small = _smaller_delta(done)
    place = (
        "the sequential Bellman-Ford updates in place, so it needs fewer iterations than a method with separate rounds"
        if kept.device == "cpu"
        else ""
    )
    found = {
        "road networks, Bellman-Ford": f"{_fewer(roads)}: a round over the whole graph is short on this device, and Bellman-Ford needs the fewest",
        "road networks, Dijkstra": launch,
        "meshes, Bellman-Ford": _fewer(meshes),
        "meshes, Dijkstra": _fewer(meshes),
        "scale-free graphs, Bellman-Ford": lists,
        "scale-free graphs, Dijkstra": _fewer(free),
        "heaps": f"the relaxed heap is faster on {', '.join(relaxed)}",
        "350 MTEPS": "Figure 5 has the time of every method",
        "bucketing": _reorganising(),
        "work saved": f"road networks dominate the mean; {_narrower()}",
        "parallelism": "as for the work saved",
        "iterations": f"as for the work saved{f'; {place}' if place else ''}",
        "bellman-ford, deep": f"the number of rounds is that of the edges of the longest shortest path: {place}".rstrip(": "),
        "bellman-ford, shallow": place or _fewer(free),
        "near-far, sweep": small,
        "roads, parallelism": "Table II has the size and depth of the roads",
        "compactions": "Figure 4 shows the size of the pile",
        "delta": "Figure 7 shows the sweep",
        "msdoor, edges": small,
        "msdoor, time": _fewer([o for o in done if o.key == "msdoor"]),
        "rmat, edges": small,
        "rmat, time": "as for the edges",
    }  # fmt: skip
    if kept.device == "cuda":
        found |= {
            "traversals, roads": f"{_balancing(roads)}: {_gathering()}",
            "traversals, meshes": _balancing(meshes),
            "traversals, dense": f"the next best of {len(TRAVERSALS)} is ahead on a graph",
        }
    return found


def page() -> str:
    """Return the page."""
    cuda, cpu = Kept("davidson-2014", "cuda"), Kept("davidson-2014", "cpu")
    lines = [
        "# Davidson et al. (2014)",
        "",
        NOTICE,
        "",
        "The paper uses a GTX 680 and a host with a 3.2 GHz Core i5-650. Graphs of the same class and size",
        "replace its graph files (Table II). MTEPS are millions of edges that Dijkstra's algorithm relaxes, per second of solving.",
        "",
        *verdicts((run.place(), claims_of(run.done, run.device)) for run in (cuda, cpu)),
        f"## On {cuda.place()}",
        "",
        cuda.how(),
        "",
    ]
    if cuda.there:
        lines += [cuda.missing(), ""] if cuda.missing() else []
        lines += ["### Statements of the paper", ""]
        lines += [*beside(claims_of(cuda.done, "cuda"), _reasons(cuda)), ""]
        lines += [f"Wrong answers: {cuda.wrong()}. {cuda.full()}", ""]
        lines += cuda.summary("table-2", lambda row: f"{row[0]}, {row[1]}", _DEPTHS, _HOPS)
        lines += cuda.table("table-3")
        lines += _figures(cuda, cuda.place())
    lines += ["## On the CPU of the build machine", "", cpu.how(), ""]
    if cpu.there:
        lines += [
            "The sequential variants, which show the counters, on graphs with a 64th of the paper's vertices.",
            "",
            *beside(
                claims_of(cpu.done, "cpu"),
                _reasons(cpu),
                differing=True,
                given=_reasons(cuda).values() if cuda.there else (),
            ),
            "",
            f"Wrong answers: {cpu.wrong()}.",
            "",
            *_figures(cpu, "the CPU"),
        ]
    return "\n".join(lines).rstrip() + "\n"


_FIGURES = {
    3: "traversals",
    4: "queue sizes of a scale-free graph and a mesh",
    5: "speed and throughput",
    6: "work and iterations against parallelism",
    7: "delta, and the heuristic's choice",
}


#: Columns that show differences between a replacement and the paper's graph.
_HOPS = (
    "A graph of the same class replaces each of the paper's files. Hops: the greater depth of two breadth-first "
    "searches, a lower bound of the diameter."
)
_DEPTHS = ("vertices", "hops", "paper: vertices", "paper: diameter")
#: Figures whose table has a row per class of graphs, with the columns of that table.
_BY_CLASS = {5: tuple(f"{label}, times" for label in (_BF, _SWEEP, _NEAR_FAR, _BUCKETS, _ONE))}


def _figures(kept: Kept, where: str) -> list[str]:
    """Return each figure; those in :data:`_BY_CLASS` have a summary of their numbers."""
    lines = []
    for number, text in _FIGURES.items():
        if kept.device == "cpu" and number == 5:
            continue  # the sequential forms serve only for counting
        lines += kept.figure(f"figure-{number}", f"Figure {number} on {where}: {text}")
        if kept.device == "cuda" and number in _BY_CLASS:
            lines += kept.summary(f"figure-{number}", _class_of, _BY_CLASS[number])
    return lines


def _class_of(row: Sequence[object]) -> str:
    """Return the class of a row's graph."""
    return GRAPHS[str(row[0])].kind
