"""Run the Johnson experiments: samples of sources by every method, in alternation."""

from __future__ import annotations

import statistics
import time
from collections.abc import Callable, Sequence
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from nearfar.graph.graph import Graph
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
from nearfar.papers.johnson_apsp.claims import claims_of
from nearfar.papers.johnson_apsp.graphs import GRAPHS, load
from nearfar.papers.johnson_apsp.tables import FORMS, SEQUENTIAL, figures_of, tables_of

#: label: (method, sources in a sample by scale (tiny, small, paper), device)
_METHODS: dict[str, tuple[str, tuple[int, int, int], str]] = {
    SEQUENTIAL: ("dijkstra_binary_heap@cpu", (2, 32, 64), "cpu"),
    "worker per source, all cores": ("worker_per_source@cpu", (4, 128, 256), "cpu"),
    "lanes, all cores": ("lanes@cpu", (4, 128, 256), "cpu"),
    **{f"{form}": (f"{idea}@cuda", (2, 4, 8), "cuda") for form, idea in FORMS.items()},
    "batched": ("block_per_source@cuda", (4, 2_000, 13_200), "cuda"),
}


def _wrong(graph: Graph, sources: NDArray[np.int64], rows: Any) -> int:
    """Count rows, of up to four, that differ from those of a heap search in any bit."""
    from nearfar.solve.one import sssp

    picked = np.unique(np.linspace(0, len(sources) - 1, 4).astype(int))
    wrong = 0
    for i in picked:
        truth = sssp(graph, int(sources[i]), method="dijkstra_binary_heap@cpu").distances
        row = rows[int(i)]
        row = row if isinstance(row, np.ndarray) else row.get()
        wrong += not np.array_equal(row, truth)
    return wrong


def _batch(
    graph: Graph, method: str, sources: NDArray[np.int64]
) -> tuple[float, Any, dict[str, Any]]:
    """Return the seconds of a batch, its rows, and the scalars of its statistics."""
    from nearfar.options import build_options
    from nearfar.registry import Workspace, registered
    from nearfar.solve.many import distances
    from nearfar.system.threads import default_threads

    if method == "dijkstra_binary_heap@cpu":
        began = time.perf_counter()
        rows = distances(graph, sources, method=method.split("@")[0], device="cpu", threads=1)
        return time.perf_counter() - began, rows, {}
    variant = registered(method)
    if variant is None:
        raise KeyError(method)
    workspace = Workspace(threads=default_threads())
    began = time.perf_counter()
    answer = variant.run(graph, sources, build_options(variant.options, {}, method), workspace)
    seconds = float(answer.stats.get("device_seconds", time.perf_counter() - began))
    scalars = {k: v for k, v in answer.stats.items() if isinstance(v, (bool, int, float, str))}
    return seconds, answer.distances, scalars


class JohnsonApsp(Experiment):
    """Experiment with Table 1 and Figures 3 and 4."""

    name = "johnson-apsp"
    paper = "johnson-cuda"
    title = "All pairs by Johnson's method on a GPU"
    defaults: ClassVar[dict[str, dict[str, Any]]] = {
        "tiny": {"rounds": 1},
        "small": {"rounds": 2},
        "paper": {"rounds": 3},
    }

    def tasks(self, settings: Settings) -> list[Task]:
        """Return the tasks of the six available graphs; at scale tiny only the smallest."""
        here = [
            Task(key, {"graph": name}, edges / 1e5)
            for key, (name, _, edges) in GRAPHS.items()
            if name is not None
        ]
        return here[:1] if settings.scale == "tiny" else here

    def make(self, task: Task, settings: Settings) -> Input:
        """Return the graph; answers are checked against a heap search of their own."""
        return Input(load(task.what["graph"]))

    def run(
        self, task: Task, made: Input | None, settings: Settings, progress: Callable[[float], None]
    ) -> dict[str, Any]:
        """Solve the samples of sources by every method, in alternation."""
        assert made is not None
        graph = made.graph
        n, at = graph.n_vertices, ("tiny", "small", "paper").index(settings.scale)
        cases: dict[str, dict[str, Any]] = {}
        for label, (method, sizes, device) in _METHODS.items():
            if device == "cpu" or settings.device == "cuda":
                cases[label] = {"id": method, "sources": min(sizes[at], n), "samples": []}
                cases[label] |= {"wrong_runs": 0, "unsafe": False, "counters": {}}
        steps, step = len(cases) * (settings.rounds + 1), 0
        for turn in range(settings.rounds + 1):
            for entry in cases.values():
                sources = np.linspace(0, n - 1, entry["sources"]).astype(np.int64)
                seconds, rows, scalars = _batch(graph, entry["id"], sources)
                if turn:
                    entry["samples"].append(seconds)
                else:
                    entry["wrong_runs"] += bool(_wrong(graph, sources, rows))
                    entry["counters"] = scalars
                del rows
                step += 1
                progress(step / steps)
        for entry in cases.values():
            entry["seconds_per_source"] = statistics.median(entry["samples"]) / entry["sources"]
            entry["all_pairs_seconds"] = entry["seconds_per_source"] * n
        return {"graph": task.what["graph"], "n": n, "m": graph.n_edges, "cases": cases}

    def tables(self, done: Sequence[Done], settings: Settings) -> list[Table]:
        """Return table 1 and the numbers of both figures."""
        stated = [table_of_claims(claims_of(done), f"{self.name}.md")]
        return [*tables_of(done, settings.device), *(stated if settings.device == "cuda" else [])]

    def figures(self, done: Sequence[Done], settings: Settings) -> list[Figure]:
        """Return figures 3 and 4 as bars."""
        return figures_of(done)


EXPERIMENT = JohnsonApsp()
