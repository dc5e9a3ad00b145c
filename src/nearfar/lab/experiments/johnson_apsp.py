"""Johnson's all-pairs method on a GPU (the paper on CUDA forms of its inner Dijkstra).

Table 1 and Figures 3 and 4: execution times and speed-ups of the sequential method and of the
flag, queue and prefix forms. This project's batched engines stand beside them. Six of the paper's
eight graphs are in the folder of public graphs; Graph4 is listed once an edge there and is made
symmetric. The paper says nothing of weights: they are whole numbers 1..100 with seed 1.

All pairs of the larger graphs would take the paper's forms hours, so every method solves a sample
of sources, spread evenly, and its time is scaled to all; the JSON has both. The batched engines
solve larger samples, because a few sources would not fill what they run on.
"""

from __future__ import annotations

import statistics
import time
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np

from nearfar.errors import MissingDependencyError
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
from nearfar.lab.experiments.johnson_claims import claims_of
from nearfar.lab.experiments.solving import weighted

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from numpy.typing import NDArray

    from nearfar.graph.graph import Graph

__all__ = ["EXPERIMENT", "GRAPHS", "JohnsonApsp", "load"]

#: Name in Table 1, file, vertices and edges as the paper prints them; None where it is not at hand.
GRAPHS: dict[str, tuple[str | None, int, int]] = {
    "graph1": ("p2p-Gnutella08", 6_301, 20_777),
    "graph2": ("p2p-Gnutella30", 36_682, 88_328),
    "graph3": ("p2p-Gnutella31", 62_586, 147_892),
    "graph4": ("loc-brightkite", 58_228, 428_156),
    "graph5": ("soc-Epinions1", 75_879, 508_837),
    "graph6": (None, 77_360, 905_468),
    "graph7": (None, 265_214, 420_045),
    "graph8": ("soc-Slashdot0902", 82_168, 948_464),
}
#: What the two that are missing are, by size.
MISSING = {"graph6": "soc-Slashdot0811", "graph7": "email-EuAll"}

_SEQUENTIAL = "sequential"
_PAPER = {"flag": "johnson_flag", "queue": "johnson_queue", "prefix": "johnson_prefix"}
#: label: (method, sources in a sample by scale (tiny, small, paper), device)
_METHODS: dict[str, tuple[str, tuple[int, int, int], str]] = {
    _SEQUENTIAL: ("dijkstra_binary_heap@cpu", (2, 32, 64), "cpu"),
    "worker a source, all cores": ("worker_per_source@cpu", (4, 128, 256), "cpu"),
    "lanes, all cores": ("lanes@cpu", (4, 128, 256), "cpu"),
    **{f"{form}": (f"{idea}@cuda", (2, 4, 8), "cuda") for form, idea in _PAPER.items()},
    "batched": ("block_per_source@cuda", (4, 2_000, 13_200), "cuda"),
}


def load(name: str) -> Graph:
    """A graph of the paper with seeded weights.

    Raises
    ------
    MissingDependencyError
        Without the folder of public graphs; the task is then left out.
    """
    from nearfar.formats import read
    from nearfar.graph.graph import Graph as Made
    from nearfar.lab.bench.suite import data_folder

    folder = data_folder()
    path = folder / f"snap-johnson/{name}.txt.xz" if folder else None
    if path is None or not path.is_file():
        raise MissingDependencyError(f"{name} is not in the data folder: set NEARFAR_DATA")
    bare = read(path)
    if name == "loc-brightkite" and bare.n_edges < 300_000:
        tails = bare.tails(np.int64)
        both = np.concatenate([tails, bare.indices]), np.concatenate([bare.indices, tails])
        bare = Made.from_edges(*both, n_vertices=bare.n_vertices)
    return weighted(bare, 1, 100, "experiments.johnson")


def _wrong(graph: Graph, sources: NDArray[np.int64], rows: Any) -> int:
    """How many of up to four rows are not those of a heap search, bit for bit."""
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
    """Seconds of a batch, its rows, and the scalars of its statistics."""
    from nearfar.graph.build import default_threads
    from nearfar.options import build_options
    from nearfar.registry import Workspace, registered
    from nearfar.solve.many import distances

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
    """Table 1, Figures 3 and 4."""

    name = "johnson-apsp"
    paper = "johnson-cuda"
    title = "All pairs by Johnson's method on a GPU"
    defaults: ClassVar[dict[str, dict[str, Any]]] = {
        "tiny": {"rounds": 1},
        "small": {"rounds": 2},
        "paper": {"rounds": 3},
    }

    def tasks(self, settings: Settings) -> list[Task]:
        """The six graphs that are at hand; at scale tiny the smallest."""
        here = [
            Task(key, {"graph": name}, edges / 1e5)
            for key, (name, _, edges) in GRAPHS.items()
            if name is not None
        ]
        return here[:1] if settings.scale == "tiny" else here

    def make(self, task: Task, settings: Settings) -> Input:
        """The graph; answers are checked against a heap search of their own."""
        return Input(load(task.what["graph"]))

    def run(
        self,
        task: Task,
        made: Input | None,
        settings: Settings,
        progress: Callable[[float], None],
    ) -> dict[str, Any]:
        """Samples of sources by every method, in turns."""
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
            entry["seconds_a_source"] = statistics.median(entry["samples"]) / entry["sources"]
            entry["all_pairs_seconds"] = entry["seconds_a_source"] * n
        return {"graph": task.what["graph"], "n": n, "m": graph.n_edges, "cases": cases}

    def tables(self, done: Sequence[Done], settings: Settings) -> list[Table]:
        """Table 1 and the numbers of both figures."""
        found = {one.key: one.result for one in done}
        first: list[list[Any]] = []
        for key, (name, vertices, edges) in GRAPHS.items():
            mine = found.get(key)
            what = name or f"{MISSING[key]}, by its size: not at hand"
            sizes = (mine["n"], mine["m"]) if mine else (None, None)
            first.append([key, what, vertices, edges, *sizes])
        columns = [Column(x) for x in ("graph", "which", "paper: nodes", "paper: edges")]
        columns += [Column("vertices here"), Column("edges here")]
        text = (
            "Two of eight are missing. Weights are 1..100, seeded: the paper says nothing of them."
        )
        made = [Table("table-1", "Table 1: the graphs", text, columns, first)]
        labels = _labels(done)
        times = [[k, *(_all(r, x) for x in labels)] for k, r in found.items()]
        over = [[k, *(_over(r, x) for x in labels[1:])] for k, r in found.items()]
        made.append(
            Table(
                "figure-3",
                "Figure 3: execution times, all pairs",
                "Seconds a source of a sample of sources, median, times the number of vertices. "
                "Rows stay on the device for the batched engine, reach the host for the others.",
                [Column("graph"), *(Column(x, "s") for x in labels)],
                times,
            )
        )
        made.append(
            Table(
                "figure-4",
                "Figure 4: speed-ups over the sequential method",
                "Of the same run. The paper: queue up to more than 4.5, above flag above prefix.",
                [Column("graph"), *(Column(x, "times") for x in labels[1:])],
                over,
            )
        )
        if settings.device == "cuda":
            made.append(_iterations(done))
            made.append(table_of_claims(claims_of(done), f"{self.name}.md"))
        return made

    def figures(self, done: Sequence[Done], settings: Settings) -> list[Figure]:
        """Figures 3 and 4 as bars."""
        labels, graphs = _labels(done), [one.key for one in done]
        times = [Series(x, graphs, [_all(one.result, x) for one in done]) for x in labels]
        over = [Series(x, graphs, [_over(one.result, x) for one in done]) for x in labels[1:]]
        left = Panel("Figure 3", "", "seconds, all pairs", times, kind="bars", y_log=True)
        right = Panel("Figure 4", "", "times the sequential", over, kind="bars", y_log=True)
        caption = "Log scales; times of samples scaled to all sources."
        return [Figure("figures-3-4", "Figures 3 and 4", caption, [left, right])]


def _labels(done: Sequence[Done]) -> list[str]:
    return list(dict.fromkeys(label for one in done for label in one.result["cases"]))


def _all(result: dict[str, Any], label: str) -> float | None:
    found = result["cases"].get(label)
    return float(found["all_pairs_seconds"]) if found else None


def _over(result: dict[str, Any], label: str) -> float | None:
    base, mine = _all(result, _SEQUENTIAL), _all(result, label)
    return base / mine if base and mine else None


def _iterations(done: Sequence[Done]) -> Table:
    """What a source costs the paper's forms: iterations, and microseconds for each."""
    rows: list[list[Any]] = []
    for one in done:
        for form in _PAPER:
            case = one.result["cases"][form]
            steps = case["counters"]["iterations"] / case["sources"]
            each = case["seconds_a_source"] * 1e6 / steps
            rows.append([one.key, form, steps, case["seconds_a_source"] * 1e3, each])
    columns = [Column("graph"), Column("form"), Column("iterations a source")]
    columns += [Column("a source", "ms"), Column("an iteration", "us")]
    caption = "An iteration is the launches relax, minimum and update, and one value read back."
    return Table("iterations", "What an iteration costs", caption, columns, rows)


EXPERIMENT = JohnsonApsp()
