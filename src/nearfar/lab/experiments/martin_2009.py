"""Martin, Torres, Gavilanes (2009): Figures 6 and 7, the iterations, and the counterexample.

Section 6: random graphs by predecessors, seven a vertex, 1 to 11 times 2**20 vertices as lists; n/5
predecessors, 1 to 15 times 2**10 vertices as matrices; integer weights 1 to 10; vertex 0 is the
source; 256 threads a block; 25 graphs a size. The base is Dijkstra with a Fibonacci heap (FH) on
one core.

Departures. ``small`` has three graphs a size and the same multiples of 2**15 and 2**7 vertices. At
``paper`` scale on a GPU the methods that run wholly or partly on the host are timed on the first
graph of a size only: they take seconds a solve.
"""

from __future__ import annotations

import statistics
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np

from nearfar.generators import generate
from nearfar.lab.bench.cases import Case, case, proven, time_cases
from nearfar.lab.experiments.claims import table_of_claims
from nearfar.lab.experiments.experiment import (
    Column,
    Done,
    Experiment,
    Figure,
    Input,
    Panel,
    Series,
    Settings,
    Table,
    Task,
)
from nearfar.lab.experiments.martin_claims import claims_of
from nearfar.registry import Workspace
from nearfar.system.devices import runtime

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from nearfar.graph.graph import Graph

__all__ = ["EXPERIMENT", "Martin2009"]

BASE = "FH"
# The paper's names (section 4.1) and the variants here.
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
RACES = {
    "two cost arrays [10]": "two_cost_arrays@cuda",
    "F-GPU-no-atomic": "frontier_successors_no_atomics@cuda",
    "F-GPU": "frontier_successors@cuda",
    "U-GPU": "frontier_predecessors@cuda",
}
# Multiples, and what they are multiples of: lists, matrices; then runs of the counterexample.
SIZES: dict[str, tuple[tuple[int, ...], int, tuple[int, ...], int, int]] = {
    "tiny": ((1, 2), 1 << 8, (1,), 1 << 5, 20),
    "small": ((1, 2, 4, 6, 8, 11), 1 << 15, (1, 3, 5, 8, 11, 15), 1 << 7, 200),
    "paper": (tuple(range(1, 12)), 1 << 20, tuple(range(1, 16)), 1 << 10, 1000),
}
_SETTINGS_BLOCK = 32  # threads a block in the paper's run of the counterexample


class Martin2009(Experiment):
    """The experiments of section 6 and of section 4.3."""

    name = "martin-2009"
    paper = "martin-2009"
    title = "CUDA solutions for the SSSP problem (Martin, Torres, Gavilanes 2009)"
    defaults: ClassVar[dict[str, dict[str, Any]]] = {
        "tiny": {"rounds": 1, "graphs": 1},
        "small": {"rounds": 3, "graphs": 3},
        "paper": {"rounds": 3, "graphs": 25},
    }

    def tasks(self, settings: Settings) -> list[Task]:
        """The counterexample, matrices, lists; each by size, then by graph."""
        lists, unit, matrices, side, runs = SIZES[settings.scale]
        found = []
        if settings.device == "cuda":
            found.append(Task("counterexample", {"kind": "race", "runs": runs}, 2.0))
        for kind, multiples, step in (("matrix", matrices, side), ("list", lists, unit)):
            for k in multiples:
                for g in range(settings.graphs):
                    heavy = g == 0 or settings.scale != "paper"
                    seconds = (3.0 * k if heavy else 0.6 * k) if kind == "list" else 0.02 * k * k
                    what = {"kind": kind, "k": k, "vertices": k * step, "seed": settings.seed + g}
                    key = f"{'lists' if kind == 'list' else 'matrices'}-{k:02}-g{g:02}"
                    found.append(Task(key, what | {"heavy": heavy}, seconds))
        return found

    def make(self, task: Task, settings: Settings) -> Input | None:
        """The graph, its transpose for the forms by predecessors, and its proven distances."""
        what = task.what
        if what["kind"] == "race":
            return None
        family = "martin" if what["kind"] == "list" else "martin_matrix"
        graph = generate(family, vertices=what["vertices"], seed=what["seed"])
        if what["kind"] == "list":
            graph.transpose()
        source = source_of(graph)
        return Input(graph, [source], proven(graph, [source]))

    def run(
        self,
        task: Task,
        made: Input | None,
        settings: Settings,
        progress: Callable[[float], None],
    ) -> dict[str, Any]:
        """One graph with every method, or the counterexample."""
        what = task.what
        if made is None:
            return {"races": [_race(directed, what["runs"]) for directed in (True, False)]}
        return time_cases(
            made.graph,
            _cases(what["kind"], settings.device, what["heavy"]),
            made.sources,
            rounds=settings.rounds,
            patience=settings.patience,
            per_method=settings.per_method,
            truth=made.truth,
            progress=progress,
        )

    def tables(self, done: Sequence[Done], settings: Settings) -> list[Table]:
        """Times, speedups and iterations by size; failures of the counterexample."""
        found: list[Table] = []
        for kind, title, figure in (
            ("list", "Adjacency lists", "Figure 6"),
            ("matrix", "Adjacency matrices", "Figure 7"),
        ):
            sizes = by_size(done, kind)
            if not sizes:
                continue
            labels = _labels(sizes)
            note = (
                f"{figure} of the paper. Mean over the graphs of a size; one source a graph; on "
                "the GPU by events, host steps included, graph on the device; every answer checked."
            )
            held = sum(BASE in r["cases"] for results in sizes.values() for r in results)
            if held < sum(map(len, sizes.values())):
                note += " The methods of the host are those of the first graph of a size."
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
                    f"{_SETTINGS_BLOCK} threads a block where the method lets one choose.",
                    [Column("graph"), Column("method"), Column("runs"), Column("wrong runs")],
                    [
                        [race["graph"], label, race["runs"], one["wrong_runs"]]
                        for race in races
                        for label, one in race["cases"].items()
                    ],
                )
            )
        return [*found, table_of_claims(claims_of(done), f"{self.name}.md")]

    def figures(self, done: Sequence[Done], settings: Settings) -> list[Figure]:
        """Figures 6 and 7: time against vertices."""
        found = []
        for kind, number, unit, name in (
            ("list", 6, "s", "lists"),
            ("matrix", 7, "ms", "matrices"),
        ):
            sizes = by_size(done, kind)
            if not sizes:
                continue
            scale = 1.0 if unit == "s" else 1e3
            series = []
            for label in _labels(sizes):
                times = [_times(results, label) for results in sizes.values()]
                series.append(
                    Series(
                        label,
                        [n / 2**20 if kind == "list" else n / 2**10 for n in sizes],
                        [statistics.fmean(t) * scale if t else None for t in times],
                        [min(t) * scale if t else None for t in times],
                        [max(t) * scale if t else None for t in times],
                    )
                )
            x = "vertices, in units of " + ("2²⁰" if kind == "list" else "2¹⁰")
            panel = Panel(f"adjacency {name}", x, unit, series, y_log=True)
            found.append(
                Figure(
                    f"figure-{number}",
                    f"Figure {number}: adjacency {name}",
                    "Mean over the graphs of a size, the band from the fastest graph to the "
                    "slowest; the y axis is logarithmic, unlike the paper's.",
                    [panel],
                    columns=1,
                )
            )
        return found


def source_of(graph: Graph) -> int:
    """Vertex 0, the paper's source; the first with an out-edge where it has none."""
    return int(np.flatnonzero(graph.degrees)[0])


def _cases(kind: str, device: str, heavy: bool) -> list[Case]:
    host = HOST_LISTS if kind == "list" else HOST_MATRICES
    gpu = GPU_LISTS if kind == "list" else GPU_MATRICES
    chosen = dict(host) if heavy else {}
    if device == "cuda":
        chosen |= (HYBRIDS if kind == "list" and heavy else {}) | gpu
    elif not heavy:
        chosen = dict(host)
    return [case(label, identity) for label, identity in chosen.items()]


def _race(directed: bool, runs: int) -> dict[str, Any]:
    """How often each method is wrong on the counterexample."""
    graph = generate("section43", vertices=1024, directed=directed)
    truth = proven(graph, [0])[0]
    found: dict[str, Any] = {}
    for label, identity in RACES.items():
        options = {"threads_relax": _SETTINGS_BLOCK} if "frontier" in identity else {}
        one = case(label, identity, **options)
        wrong = 0
        for _ in range(runs):
            answer = one.variant.run(graph, 0, one.options, Workspace()).distances
            wrong += not np.array_equal(runtime.download(answer), truth)
        found[label] = {"id": identity, "unsafe": one.variant.unsafe, "wrong_runs": wrong}
    return {"graph": "directed" if directed else "undirected", "runs": runs, "cases": found}


def by_size(done: Sequence[Done], kind: str) -> dict[int, list[dict[str, Any]]]:
    """Results of the graphs of each size, sizes ascending."""
    found: dict[int, list[dict[str, Any]]] = {}
    for one in done:
        if one.what["kind"] == kind:
            found.setdefault(one.what["vertices"], []).append(one.result)
    return dict(sorted(found.items()))


def _labels(sizes: dict[int, list[dict[str, Any]]]) -> list[str]:
    order = [*HOST_LISTS, *HYBRIDS, *GPU_LISTS]
    there = {label for results in sizes.values() for r in results for label in r["cases"]}
    return [label for label in order if label in there]


def _times(results: list[dict[str, Any]], label: str) -> list[float]:
    return [r["cases"][label]["median_seconds"] for r in results if label in r["cases"]]


def _value(results: list[dict[str, Any]], label: str, what: str) -> float | int | None:
    if what == "times":
        times = _times(results, label)
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


EXPERIMENT = Martin2009()
