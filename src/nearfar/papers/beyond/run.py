"""Run the experiment ``beyond``: engines, peers, and memory rates."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, ClassVar

from nearfar.graph.graph import Graph
from nearfar.lab.bench.cases import case, time_once
from nearfar.lab.experiments.experiment import (
    Done,
    Experiment,
    Figure,
    Input,
    Settings,
    Table,
    Task,
)
from nearfar.lab.experiments.solving import from_one, hub, timed
from nearfar.papers.beyond.figures import figures_of
from nearfar.papers.beyond.roofline import bounds, bytes_once, rates
from nearfar.papers.beyond.tables import tables_of
from nearfar.papers.davidson_2014.graphs import GRAPHS

_SHRINK = {"tiny": 4096, "small": 64, "paper": 1}
#: Graphs of the other papers, from the benchmark suite; unavailable ones are left out.
_SUITE = {"martin": "Martin et al.", "small": "Johnson's Graph1", "newyork": "real roads"}
_ENGINE = "near_far@cuda"
_SETTLING = 8  # solves after which the GPU engine has chosen a form for the graph
_NETWORKX_EDGES = 1_000_000  # number of edges beyond which building NetworkX's dicts takes minutes


class Beyond(Experiment):
    """Experiment on the papers' graphs: best engine of each device, peers, and the roofline."""

    name = "beyond"
    paper = "davidson-2014"
    title = "Beyond the papers: the best engines, peers and a roofline"
    defaults: ClassVar[dict[str, dict[str, Any]]] = {
        "tiny": {"rounds": 2},
        "small": {"rounds": 5},
        "paper": {"rounds": 5, "patience": 10.0},
    }

    def tasks(self, settings: Settings) -> list[Task]:
        """Return one task per graph, small ones first."""
        from nearfar.lab.bench.suite import SUITE

        suite = [name for name in _SUITE if SUITE[name].available() is True]
        found = [Task(name, {"suite": name}, 5.0) for name in suite]
        order = sorted(GRAPHS.values(), key=lambda g: g.edges)
        return found + [Task(g.name, {"graph": g.name}, g.edges / 1e6) for g in order]

    def make(self, task: Task, settings: Settings) -> Input:
        """Return the graph, one source, and the proven distances."""
        from nearfar.lab.bench.suite import draw_sources, load

        shrink = _SHRINK[settings.scale]
        if "suite" in task.what:
            graph = load(task.what["suite"], shrink)
            source = draw_sources(graph, 1)[0]
        else:
            paper = GRAPHS[task.what["graph"]]
            graph = paper.make(max(paper.vertices // shrink, 32))
            source = hub(graph)
        return from_one(graph, source)

    def run(
        self, task: Task, made: Input | None, settings: Settings, progress: Callable[[float], None]
    ) -> dict[str, Any]:
        """Measure the peers or the GPU on one graph, and the rates of its memory."""
        assert made is not None
        graph, source = made.graph, made.sources[0]
        result: dict[str, Any] = bytes_once(graph, made.truth[source])
        cores = _cores()
        cases = [case("nearfar, 1 core", "delta_stepping@cpu")]
        if settings.device == "cuda":
            cases.append(
                case(f"nearfar, {cores} cores", "delta_stepping_parallel@cpu", threads=cores)
            )
            cases.append(case("nearfar, GPU", _ENGINE))
            for _ in range(_SETTLING):
                time_once(cases[-1], graph, source)
        result["rates"] = rates(graph, settings.device, settings.scale)
        progress(0.2)
        result |= timed(
            made, cases, settings, lambda part: progress(0.2 + part * 0.3), with_counters=False
        )
        result["peers"] = _peers(graph, source, task.key, settings, cores, progress)
        result["bounds"] = bounds(result, result["rates"])
        return result

    def tables(self, done: Sequence[Done], settings: Settings) -> list[Table]:
        """Return the tables of times, and of the roofline."""
        return tables_of(done, settings.device)

    def figures(self, done: Sequence[Done], settings: Settings) -> list[Figure]:
        """Return bars of ratios (over SciPy on the CPU, one core on a GPU) and the roofline."""
        return figures_of(done, settings.device)


def _cores() -> int:
    from nearfar.system.threads import default_threads

    return default_threads()


def _peers(
    graph: Graph,
    source: int,
    name: str,
    settings: Settings,
    cores: int,
    progress: Callable[[float], None],
) -> dict[str, Any]:
    """Measure nearfar's ``auto`` and every peer, in alternation."""
    from nearfar.lab.bench.measure import measure
    from nearfar.lab.bench.peers import PEERS, Nearfar, contenders

    threads = sorted({1, cores})
    names = [x for x in PEERS if x != "networkx" or graph.n_edges <= _NETWORKX_EDGES]
    entrants = [*contenders(names, threads), *(Nearfar(t, "auto") for t in threads)]
    run = measure(
        graph,
        entrants,
        [source],
        rounds=settings.rounds,
        patience=settings.patience,
        name=name,
        progress=lambda at, total: progress(0.5 + 0.5 * at / max(total, 1)),
    )
    return run.as_dict()


EXPERIMENT = Beyond()
