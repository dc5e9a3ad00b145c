"""Run the experiments of Martin et al. (2009): tasks, methods, the counterexample."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, ClassVar

import numpy as np

from nearfar.generators import generate
from nearfar.lab.bench.cases import Case, case, proven
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
from nearfar.lab.experiments.solving import from_one, timed
from nearfar.papers.martin_2009.claims import claims_of
from nearfar.papers.martin_2009.figures import figures_of
from nearfar.papers.martin_2009.graphs import SIZES, graph_of, source_of
from nearfar.papers.martin_2009.tables import (
    GPU_LISTS,
    GPU_MATRICES,
    HOST_LISTS,
    HOST_MATRICES,
    HYBRIDS,
    RACE_BLOCK,
    tables_of,
)
from nearfar.registry import Workspace
from nearfar.system.devices import runtime

RACES = {
    "two cost arrays [10]": "two_cost_arrays@cuda",
    "F-GPU-no-atomic": "frontier_successors_no_atomics@cuda",
    "F-GPU": "frontier_successors@cuda",
    "U-GPU": "frontier_predecessors@cuda",
}
#: Measured separately from the GPU's own methods: those of the host, which need no GPU, and those
#: that divide an iteration between host and GPU.
PARTS = {"cpu": ("",), "cuda": ("", "host", "hybrid")}
#: Seconds of a task, by kind and part, of the smallest lists and matrices.
COSTS = {
    ("list", ""): 0.6,
    ("list", "host"): 4.0,
    ("list", "hybrid"): 2.0,
    ("matrix", ""): 0.004,
    ("matrix", "host"): 0.02,
}
#: Maximum number of graphs per size at the paper's scale.
MOST = {"host": 3, "hybrid": 1}


class Martin2009(Experiment):
    """Experiments of sections 6 and 4.3."""

    name = "martin-2009"
    paper = "martin-2009"
    title = "CUDA solutions for the SSSP problem (Martin, Torres, Gavilanes 2009)"
    defaults: ClassVar[dict[str, dict[str, Any]]] = {
        "tiny": {"rounds": 1, "graphs": 1},
        "small": {"rounds": 3, "graphs": 3},
        "paper": {"rounds": 3, "graphs": 25},
    }

    def tasks(self, settings: Settings) -> list[Task]:
        """Return the tasks: counterexample, matrices, lists by size and graph, then host tasks."""
        lists, unit, matrices, side, runs = SIZES[settings.scale]
        found = []
        if settings.device == "cuda":
            found.append(Task("counterexample", {"kind": "race", "runs": runs}, 2.0))
        for part in PARTS[settings.device]:
            for kind, multiples, step in (("matrix", matrices, side), ("list", lists, unit)):
                if kind == "matrix" and part == "hybrid":
                    continue
                cost = COSTS[kind, part]
                for k in multiples:
                    for g in range(min(settings.graphs, _most(settings, part))):
                        what = {"kind": kind, "k": k, "vertices": k * step}
                        what |= {"seed": settings.seed + g, **({"part": part} if part else {})}
                        key = f"{'lists' if kind == 'list' else 'matrices'}-{k:02}-g{g:02}"
                        key += f"-{part}" if part else ""
                        found.append(Task(key, what, cost * (k if kind == "list" else k * k)))
        return found

    def make(self, task: Task, settings: Settings) -> Input | None:
        """Return the graph, its transpose for forms by predecessors, and proven distances."""
        what = task.what
        if what["kind"] == "race":
            return None
        graph = graph_of(what)
        return from_one(graph, source_of(graph))

    def run(
        self, task: Task, made: Input | None, settings: Settings, progress: Callable[[float], None]
    ) -> dict[str, Any]:
        """Measure every method on one graph, or the counterexample."""
        what = task.what
        if made is None:
            return {"races": [_race(directed, what["runs"]) for directed in (True, False)]}
        part = what.get("part", "gpu" if settings.device == "cuda" else "host")
        cases = _cases(what["kind"], part)
        return timed(made, cases, settings, progress)

    def tables(self, done: Sequence[Done], settings: Settings) -> list[Table]:
        """Return times, speedups and iterations by size, and failures of the counterexample."""
        return [*tables_of(done), table_of_claims(claims_of(done), f"{self.name}.md")]

    def figures(self, done: Sequence[Done], settings: Settings) -> list[Figure]:
        """Return figures 6 and 7: time against vertices."""
        return figures_of(done)


def _most(settings: Settings, part: str) -> int:
    """Return the number of graphs per size of a part; heaps take seconds at the paper's sizes."""
    return MOST.get(part, settings.graphs) if settings.scale == "paper" else settings.graphs


def _cases(kind: str, part: str) -> list[Case]:
    if part == "hybrid":
        chosen = HYBRIDS
    elif part == "host":
        chosen = HOST_LISTS if kind == "list" else HOST_MATRICES
    else:
        chosen = GPU_LISTS if kind == "list" else GPU_MATRICES
    return [case(label, identity) for label, identity in chosen.items()]


def _race(directed: bool, runs: int) -> dict[str, Any]:
    """Count how often each method is wrong on the counterexample."""
    graph = generate("section43", vertices=1024, directed=directed)
    truth = proven(graph, [0])[0]
    found: dict[str, Any] = {}
    for label, identity in RACES.items():
        options = {"threads_relax": RACE_BLOCK} if "frontier" in identity else {}
        one = case(label, identity, **options)
        wrong = 0
        for _ in range(runs):
            answer = one.variant.run(graph, 0, one.options, Workspace()).distances
            wrong += not np.array_equal(runtime.download(answer), truth)
        found[label] = {"id": identity, "unsafe": one.variant.unsafe, "wrong_runs": wrong}
    return {"graph": "directed" if directed else "undirected", "runs": runs, "cases": found}


EXPERIMENT = Martin2009()
