"""Run the experiments of Davidson et al. (2014): methods, traversals, queues, deltas."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, ClassVar

import numpy as np

from nearfar.lab.bench.cases import Case, case
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
from nearfar.lab.experiments.solving import from_one, hops, hub, timed
from nearfar.papers.davidson_2014.claims import claims_of
from nearfar.papers.davidson_2014.figures import figures_of
from nearfar.papers.davidson_2014.graphs import GRAPHS, LARGE
from nearfar.papers.davidson_2014.tables import DRAWN, HEAP, RELAXED, TRAVERSALS, tables_of

#: Divisor of the paper's numbers of vertices, by scale.
_SHRINK = {"tiny": 4096, "small": 64, "paper": 1}
_FACTORS = (1 / 64, 1 / 16, 1 / 4, 1.0, 4.0, 16.0, 64.0)
#: The paper's names of the methods, and nearfar's ids by device.
METHODS = {
    "Bellman-Ford": {"cpu": "bellman_ford@cpu", "cuda": "bellman_ford@cuda"},
    "Workfront Sweep": {"cpu": "workfront_sweep@cpu", "cuda": "workfront_sweep@cuda"},
    "Near-Far": {"cpu": "near_far@cpu", "cuda": "near_far_host_loop@cuda"},
    "Bucketing": {"cpu": "bucketing@cpu", "cuda": "bucketing@cuda"},
}
_BEYOND = {"hybrid": "hybrid_sweep@cuda", "one launch": "near_far@cuda"}
_RECORDED = ("Workfront Sweep", "Near-Far")
_MOST_POINTS = 1_500


def _recorded(graph: Any, source: int, method: str) -> dict[str, list[int]]:
    """Return queue sizes and edges per iteration, thinned for thousands of iterations."""
    from nearfar.solve.one import sssp

    stats = sssp(graph, source, method=method, predecessors=False, trace=True).stats
    found: dict[str, list[int]] = {}
    for name in ("frontier", "far", "edges", "labelled", "final"):
        values = np.atleast_1d(stats.get(name, ()))
        if len(values):
            values = np.cumsum(values) if name in ("edges", "labelled", "final") else values
            step = -(-len(values) // _MOST_POINTS)
            found[name] = values[::step].tolist()
            found["iteration"] = list(range(1, len(values) + 1, step))
    return found


class Davidson2014(Experiment):
    """Experiment with Tables II-III and Figures 3-7."""

    name = "davidson-2014"
    paper = "davidson-2014"
    title = "Near-Far and its relatives (Davidson et al. 2014)"
    scales = ("tiny", "small", "paper")
    defaults: ClassVar[dict[str, dict[str, Any]]] = {
        "tiny": {"rounds": 1},
        "small": {"rounds": 3},
        "paper": {"rounds": 3, "patience": 1.0},
    }

    def tasks(self, settings: Settings) -> list[Task]:
        """Return one task per graph, small ones first; the last is not in Table II."""
        order = sorted([*GRAPHS.values(), LARGE], key=lambda g: g.edges)
        return [Task(g.name, {"graph": g.name}, g.edges / 1e6) for g in order]

    def make(self, task: Task, settings: Settings) -> Input:
        """Return the graph, one source, and the proven distances."""
        paper = GRAPHS.get(task.what["graph"], LARGE)
        graph = paper.make(max(paper.vertices // _SHRINK[settings.scale], 32))
        return from_one(graph, hub(graph))

    def run(
        self, task: Task, made: Input | None, settings: Settings, progress: Callable[[float], None]
    ) -> dict[str, Any]:
        """Measure all methods, traversals, queue sizes and deltas on one graph."""
        from nearfar.lab.profile import delta_sweep

        assert made is not None
        graph, source, device = made.graph, made.sources[0], settings.device
        large = task.key == LARGE.name
        result = timed(
            made,
            _cases(device, large=large),
            settings,
            lambda part: progress(part * (1.0 if large else 0.7)),
            with_counters=False,
        )
        if large:
            return result
        result["hops"] = hops(graph, source)
        result["queues"] = {
            label: _recorded(graph, source, METHODS[label][device]) for label in _RECORDED
        }
        progress(0.85)
        result["sweep"] = delta_sweep(
            graph, source, method=METHODS["Near-Far"][device], factors=_FACTORS
        )
        return result

    def kept(self, key: str, result: dict[str, Any]) -> dict[str, Any]:
        """Drop queue sizes per iteration of graphs that no figure shows."""
        return {k: v for k, v in result.items() if k != "queues" or key in DRAWN}

    def tables(self, done: Sequence[Done], settings: Settings) -> list[Table]:
        """Return Tables II and III, the numbers of Figures 3 and 5 to 7, and the statements."""
        stated = table_of_claims(claims_of(done, settings.device), f"{self.name}.md")
        return [*tables_of(done, settings.device), stated]

    def figures(self, done: Sequence[Done], settings: Settings) -> list[Figure]:
        """Return figures 3 (on a GPU) to 7."""
        return figures_of(done, settings.device)


def _cases(device: str, *, large: bool) -> list[Case]:
    """Return all methods and traversals, or for the large graph those compared by throughput."""
    heap = case(HEAP, "dijkstra_binary_heap@cpu")
    if large:
        near_far = case("Near-Far", METHODS["Near-Far"][device])
        more = [case("one launch", _BEYOND["one launch"])] if device == "cuda" else []
        return [heap, near_far, *more]
    cases = [heap, case(RELAXED, "dijkstra_relaxed_heap@cpu")]
    cases += [case(label, ours[device]) for label, ours in METHODS.items()]
    if device == "cuda":
        cases += [case(label, ours) for label, ours in _BEYOND.items()]
        for t in TRAVERSALS:
            cases.append(case(f"sweep {t}", "workfront_sweep@cuda", traversal=t))
            cases.append(case(f"near-far {t}", "near_far_host_loop@cuda", traversal=t))
    return cases


EXPERIMENT = Davidson2014()
