"""Run the experiments of Ortega-Arranz et al. (2015): methods, launch shapes, memory."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import asdict
from typing import Any, ClassVar

from nearfar.graph.graph import Graph
from nearfar.lab.bench.cases import Case, case, proven
from nearfar.lab.bench.suite import draw_sources
from nearfar.lab.experiments.claims import table_of_claims
from nearfar.lab.experiments.experiment import (
    Done,
    Experiment,
    Figure,
    Input,
    Settings,
    Table,
    Task,
)
from nearfar.lab.experiments.solving import timed
from nearfar.papers.ortega_arranz_2015.claims import claims_of
from nearfar.papers.ortega_arranz_2015.figures import figures_of
from nearfar.papers.ortega_arranz_2015.graphs import (
    BETWEEN,
    DEGREES,
    MARTIN,
    RANDOM,
    REAL,
    graph_of,
)
from nearfar.papers.ortega_arranz_2015.memory import graph_bytes, solve_bytes
from nearfar.papers.ortega_arranz_2015.paper_tables import paper_tables
from nearfar.papers.ortega_arranz_2015.tables import tables_of

CPU = {
    "CPU Martin succ.": "frontier_successors@cpu",
    "CPU Martin pred.": "frontier_predecessors@cpu",
    "CPU Crauser succ.": "crauser_successors@cpu",
    "CPU Crauser pred.": "crauser_predecessors@cpu",
}
GPU = {
    "GPU Martin succ.": "frontier_successors@cuda",
    "GPU Martin pred.": "frontier_predecessors@cuda",
    "GPU Crauser succ.": "crauser_successors@cuda",
    "GPU Crauser pred.": "crauser_predecessors@cuda",
}
HEAP = {"relaxed heap": "dijkstra_relaxed_heap@cpu"}
DEFAULT_SHAPE = {
    "threads_relax": 256,
    "threads_minimum": 256,
    "threads_update": 256,
    "carveout": -1,
}
#: Maximum of a graph's edges times its number of sources.
MOST_EDGES = 2_000_000_000


class OrtegaArranz2015(Experiment):
    """Experiments of section 5."""

    name = "ortega-arranz-2015"
    paper = "ortega-arranz-2015"
    title = "A new GPU-based approach to the shortest path problem (Ortega-Arranz et al. 2015)"
    defaults: ClassVar[dict[str, dict[str, Any]]] = {
        "tiny": {"rounds": 1, "sources": 2},
        "small": {"rounds": 1, "sources": 10},
        "paper": {"rounds": 1, "sources": 100},
    }

    def tasks(self, settings: Settings) -> list[Task]:
        """Return the tasks: random, real and Martin's graphs, then the further degrees of Figure 3.

        With a GPU, all tasks for its methods precede those for the methods of the host.
        """
        scale, seed = settings.scale, settings.seed
        wanted: list[tuple[str, dict[str, Any], float]] = []

        def random(n: int, degree: int) -> None:
            what = {"kind": "random", "vertices": n, "degree": degree, "seed": seed}
            wanted.append((f"random-{n}-{degree}", what, 0.5 + n * degree * 2e-8))

        for n in RANDOM[scale]:
            for degree in DEGREES[scale]:
                random(n, degree)
        for name, family in REAL(scale).items():
            what = {"kind": "real", "name": name, "family": family, "seed": seed}
            wanted.append((f"real-{name.lower()}", what, 1.0))
        multiples, unit = MARTIN[scale]
        for k in multiples:
            what = {"kind": "martin", "vertices": k * unit, "k": k, "seed": seed}
            wanted.append((f"martin-{k:02}", what, 4e-6 * k * unit))
        for n, degree in BETWEEN[scale]:
            random(n, degree)
        found = [Task(key, what, cost) for key, what, cost in wanted]
        # methods of the host need no GPU and can be timed on another machine
        if settings.device == "cuda":
            found += [
                Task(f"{key}-host", what | {"part": "host"}, cost) for key, what, cost in wanted
            ]
        return found

    def make(self, task: Task, settings: Settings) -> Input:
        """Return the graph, random sources, and the proven distances from each."""
        graph = graph_of(task.what, settings.scale)
        martin = task.what["kind"] == "martin"
        if martin:
            graph.transpose()
        # A proof reads every edge a few times, so proofs of a hundred sources would take too long.
        most = 3 if martin else max(3, MOST_EDGES // max(graph.n_edges, 1))
        sources = draw_sources(graph, min(settings.sources, most))
        return Input(graph, sources, proven(graph, sources))

    def run(
        self, task: Task, made: Input | None, settings: Settings, progress: Callable[[float], None]
    ) -> dict[str, Any]:
        """Measure one graph: the paper's methods for its kind, launch shapes, memory."""
        assert made is not None
        graph, sources = made.graph, made.sources
        part = task.what.get("part", "gpu" if settings.device == "cuda" else "host")
        cases = _cases(task.what["kind"], part, settings.device)
        shape: dict[str, Any] = {}
        if part == "gpu":
            tuned, shape = _tuned(graph, sources[0], settings)
            cases.append(tuned)
        found = timed(made, cases, settings, progress)
        memory = {
            one.label: solve_bytes(one, graph, sources[0])
            for one in cases
            if one.label in found["cases"] and not found["cases"][one.label]["timed_once"]
        }
        return found | {"shape": shape, "memory": memory, "graph_bytes": graph_bytes(graph)}

    def tables(self, done: Sequence[Done], settings: Settings) -> list[Table]:
        """Return tables 1 to 4, and the numbers behind Figures 2 to 11."""
        stated = table_of_claims(claims_of(done), f"{self.name}.md")
        return [*tables_of(done), *paper_tables(done), stated]

    def figures(self, done: Sequence[Done], settings: Settings) -> list[Figure]:
        """Return figures 2 to 11; those of the GPU need one."""
        return figures_of(done)


def _cases(kind: str, part: str, device: str) -> list[Case]:
    if part == "gpu":
        chosen = GPU if kind == "martin" else {k: v for k, v in GPU.items() if "succ" in k}
        return [case(label, identity, **DEFAULT_SHAPE) for label, identity in chosen.items()]
    names = dict(CPU) if kind == "martin" else {"CPU Crauser succ.": CPU["CPU Crauser succ."]}
    if kind != "martin" or device == "cpu":
        names |= HEAP
    return [case(label, identity) for label, identity in names.items()]


def _tuned(graph: Graph, source: int, settings: Settings) -> tuple[Case, dict[str, Any]]:
    """Return GPU Crauser with the fastest launch shape on this device, and that shape."""
    from nearfar.cuda.tune import tune

    rounds = 1 if settings.scale == "tiny" else 3
    result = tune(graph, "crauser_successors", sources=[source], rounds=rounds, store=False)
    best = result.best
    options = {
        "threads_relax": best.relax,
        "threads_minimum": best.minimum,
        "threads_update": best.update,
        "carveout": best.carveout,
    }
    one = case("GPU Crauser opt.", GPU["GPU Crauser succ."], **options)
    measured = [asdict(m.shape) | {"seconds": list(m.seconds)} for m in result.measurements]
    return one, options | {"gain": result.gain, "measurements": measured}


EXPERIMENT = OrtegaArranz2015()
