"""Beyond the papers: this project's best engine on their graphs, every installed peer, a roofline.

On the CPU every peer that is installed solves the same graphs in turns with ``auto`` on one worker
and on all. On a GPU the engine in one launch is measured, with the CPU engine of the same machine
beside it. The roofline says how far a time is from what the memory allows:

- *stream*: the bytes that any method has to move once (row bounds and edges of the reached
  vertices, and every distance) over the measured bandwidth of a copy;
- *gather*: as many reads of single distances in random order, over an array of this graph's size,
  as there are edges to look at, over the measured rate of such reads. Every method that looks at
  each edge reads the distance at its end.

Both are lower bounds of one look at each edge without any waiting, not goals that a method with a
chain of dependent steps can reach.
"""

from __future__ import annotations

import time
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np

from nearfar.bench.cases import case, proven, time_cases
from nearfar.experiments.davidson_graphs import GRAPHS, source_of
from nearfar.experiments.experiment import (
    Column,
    Done,
    Experiment,
    Figure,
    Panel,
    Series,
    Settings,
    Table,
    Task,
)

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from nearfar.graph import Graph

__all__ = ["EXPERIMENT", "Beyond", "bytes_once"]

_SHRINK = {"tiny": 4096, "small": 64, "paper": 1}
#: Graphs of the other papers, from the benchmark suite; those that are not at hand are left out.
_SUITE = {"martin": "Martin et al.", "small": "Johnson's Graph1", "newyork": "real roads"}
_ENGINE = "near_far@cuda"
_COPY = 1 << 28
_REPEATS = 5


def bytes_once(graph: Graph, distances: Any) -> dict[str, int]:
    """Bytes that any method moves at least once, and the edges that it has to look at.

    Row bounds (two a reached vertex), edges (end and weight) of reached vertices, and one distance
    a vertex.
    """
    from nearfar.graph import unreached_value

    reached = distances != unreached_value(distances.dtype)
    edges = int(graph.degrees[reached].sum(dtype=np.int64))
    weight = graph.weight_dtype.itemsize if graph.is_weighted else 0
    rows = int(reached.sum()) * 2 * graph.indptr.dtype.itemsize
    moved = rows + edges * (graph.indices.dtype.itemsize + weight) + distances.nbytes
    return {"edges": edges, "bytes": moved}


def _best(run: Callable[[], float]) -> float:
    run()
    return min(run() for _ in range(_REPEATS))


def _cpu_rates(n: int, dtype: np.dtype[Any], scale: str) -> dict[str, float]:
    """Bytes a second of a copy, and random reads a second from n numbers; one core."""
    size = _COPY // (64 if scale == "tiny" else 1)
    source, target = np.ones(size, dtype=np.uint8), np.empty(size, dtype=np.uint8)
    count = min(1 << 24, size // 8)
    where = np.random.default_rng(1).integers(0, n, count)
    numbers = np.zeros(n, dtype=dtype)
    out = np.empty(count, dtype=dtype)

    def copy() -> float:
        began = time.perf_counter()
        np.copyto(target, source)
        return time.perf_counter() - began

    def gather() -> float:
        began = time.perf_counter()
        np.take(numbers, where, out=out, mode="clip")
        return time.perf_counter() - began

    return {"copy_bytes": 2 * size / _best(copy), "gathers": count / _best(gather)}


def _cuda_rates(n: int, dtype: np.dtype[Any], scale: str) -> dict[str, float]:
    """The same on the device, by events."""
    from nearfar.cuda import runtime

    cp = runtime.cupy()
    size = _COPY // 64 if scale == "tiny" else 4 * _COPY
    source, target = cp.ones(size, dtype=np.uint8), cp.empty(size, dtype=np.uint8)
    count = size // 16
    where = cp.asarray(np.random.default_rng(1).integers(0, n, count, dtype=np.int32))
    numbers = cp.zeros(n, dtype=dtype)
    out = cp.empty(count, dtype=dtype)

    def copy() -> float:
        timer = runtime.Timer().start()
        cp.copyto(target, source)
        return timer.stop().seconds

    def gather() -> float:
        timer = runtime.Timer().start()
        cp.take(numbers, where, out=out)
        return timer.stop().seconds

    return {"copy_bytes": 2 * size / _best(copy), "gathers": count / _best(gather)}


class Beyond(Experiment):
    """The graphs of the papers by the best engine of each device, the peers, and the roofline."""

    name = "beyond"
    paper = "davidson-2014"
    title = "Beyond the papers: the best engines, peers and a roofline"
    defaults: ClassVar[dict[str, dict[str, Any]]] = {
        "tiny": {"rounds": 2},
        "small": {"rounds": 5},
        "paper": {"rounds": 5, "patience": 10.0},
    }

    def tasks(self, settings: Settings) -> list[Task]:
        """One graph each, small ones first."""
        from nearfar.bench.suite import SUITE

        suite = [name for name in _SUITE if SUITE[name].available() is True]
        found = [Task(name, {"suite": name}, 5.0) for name in suite]
        order = sorted(GRAPHS.values(), key=lambda g: g.edges)
        return found + [Task(g.name, {"graph": g.name}, g.edges / 1e6) for g in order]

    def run(
        self, task: Task, settings: Settings, progress: Callable[[float], None]
    ) -> dict[str, Any]:
        """Peers or the GPU on one graph, and what its memory could do."""
        from nearfar.bench.suite import draw_sources, load

        shrink = _SHRINK[settings.scale]
        if "suite" in task.what:
            graph = load(task.what["suite"], shrink)
            source = draw_sources(graph, 1)[0]
        else:
            paper = GRAPHS[task.what["graph"]]
            graph = paper.make(max(paper.vertices // shrink, 32))
            source = source_of(graph)
        truth = proven(graph, [source])
        result: dict[str, Any] = bytes_once(graph, truth[source])
        cores = _cores()
        cases = [case("nearfar, 1 core", "delta_stepping@cpu")]
        if settings.device == "cuda":
            rates = _cuda_rates(graph.n_vertices, graph.weight_dtype, settings.scale)
            cases.append(
                case(f"nearfar, {cores} cores", "delta_stepping_parallel@cpu", threads=cores)
            )
            cases.append(case("nearfar, GPU", _ENGINE))
        else:
            rates = _cpu_rates(graph.n_vertices, graph.weight_dtype, settings.scale)
        progress(0.2)
        result |= time_cases(
            graph,
            cases,
            [source],
            rounds=settings.rounds,
            patience=settings.patience,
            truth=truth,
            with_counters=False,
            progress=lambda part: progress(0.2 + part * 0.3),
        )
        if settings.device == "cpu":
            result["peers"] = _peers(graph, source, task.key, settings, cores, progress)
        result["rates"] = rates
        result["bounds"] = {
            "stream": result["bytes"] / rates["copy_bytes"],
            "gather": result["edges"] / rates["gathers"],
        }
        return result

    def tables(self, done: Sequence[Done], settings: Settings) -> list[Table]:
        """Times of all, and the roofline."""
        made = [_roofline(done, settings.device)]
        if settings.device == "cuda":
            return [_devices(done), *made]
        return [_beside_peers(done), *made]

    def figures(self, done: Sequence[Done], settings: Settings) -> list[Figure]:
        """Bars: ratio over SciPy on the CPU, over one core on a GPU; the roofline."""
        graphs = [one.key for one in done]
        best = [_fastest(one, settings.device) for one in done]
        bounds = [
            Series(name, graphs, [one.result["bounds"][name] * 1e3 for one in done])
            for name in ("stream", "gather")
        ]
        bounds.append(Series("measured", graphs, [s * 1e3 if s else None for s in best]))
        roof = Panel("roofline", "", "ms", bounds, kind="bars", y_log=True)
        rows: dict[str, list[float | None]] = {}
        times = [_times(one) for one in done]
        base = "scipy" if settings.device == "cpu" else "nearfar, 1 core"
        for label in dict.fromkeys(x for found in times for x in found):
            if label != base:
                rows[label] = [
                    found[base] / found[label] if base in found and label in found else None
                    for found in times
                ]
        series = [Series(label, graphs, values) for label, values in rows.items()]
        over = Panel(f"over {base}", "", "times faster", series, kind="bars", y_log=True)
        return [Figure("beyond", "Speed and roofline", "Log scales.", [over, roof], columns=1)]


def _cores() -> int:
    from nearfar.construct import default_threads

    return default_threads()


def _peers(
    graph: Graph,
    source: int,
    name: str,
    settings: Settings,
    cores: int,
    progress: Callable[[float], None],
) -> dict[str, Any]:
    """Measure ``auto`` of this library and every peer, in turns."""
    from nearfar.bench.measure import measure
    from nearfar.bench.peers import PEERS, Nearfar, contenders

    threads = sorted({1, cores})
    entrants = [*contenders(PEERS, threads), *(Nearfar(t, "auto") for t in threads)]
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


def _times(one: Done) -> dict[str, float]:
    """Median seconds by label: the peers' run on the CPU, else the cases."""
    if "peers" in one.result:
        rows = one.result["peers"]["results"]
        return {r["contender"]: r["median_seconds"] for r in rows if r.get("median_seconds")}
    return {label: c["median_seconds"] for label, c in one.result["cases"].items()}


def _fastest(one: Done, device: str) -> float | None:
    """Seconds of this project's best engine on the device that the roofline is of."""
    if device == "cuda":
        return _times(one).get("nearfar, GPU")
    mine = [s for label, s in _times(one).items() if label.startswith("nearfar")]
    return min(mine) if mine else None


def _beside_peers(done: Sequence[Done]) -> Table:
    times = [_times(one) for one in done]
    labels = list(dict.fromkeys(label for found in times for label in found))
    rows: list[list[Any]] = []
    for one, found in zip(done, times, strict=True):
        milliseconds = [found[x] * 1e3 if x in found else None for x in labels]
        rows.append([one.key, one.result["n"], one.result["m"], *milliseconds])
    columns = [Column("graph"), Column("vertices"), Column("edges")]
    columns += [Column(label, "ms") for label in labels]
    left = {
        r["name"]: r["skipped"]
        for one in done
        for r in one.result["peers"]["results"]
        if "skipped" in r
    }
    out = "; ".join(f"{name}: {why}" for name, why in left.items())
    caption = "Median of rounds in turns in one process, answers compared with a proven one."
    return Table(
        "peers", "Every peer", caption + (f" Left out: {out}." if out else ""), columns, rows
    )


def _devices(done: Sequence[Done]) -> Table:
    labels = list(dict.fromkeys(label for one in done for label in _times(one)))
    rows: list[list[Any]] = []
    for one in done:
        found = _times(one)
        one_core, gpu = found.get("nearfar, 1 core"), found.get("nearfar, GPU")
        line = [one.key, one.result["n"], one.result["m"]]
        line += [found[x] * 1e3 if x in found else None for x in labels]
        rows.append([*line, one_core / gpu if one_core and gpu else None])
    columns = [Column("graph"), Column("vertices"), Column("edges")]
    columns += [*(Column(x, "ms") for x in labels), Column("GPU over one core", "times")]
    caption = "The GPU's time is the device's, graph and answer on it; the cores are its host's."
    return Table("devices", "The best engines", caption, columns, rows)


def _roofline(done: Sequence[Done], device: str) -> Table:
    rows: list[list[Any]] = []
    for one in done:
        result, seconds = one.result, _fastest(one, device)
        stream, gather = result["bounds"]["stream"], result["bounds"]["gather"]
        line: list[Any] = [one.key, result["bytes"] / 1e6, result["rates"]["copy_bytes"] / 1e9]
        line += [stream * 1e3, result["rates"]["gathers"] / 1e9, gather * 1e3]
        share = max(stream, gather) / seconds if seconds else None
        rows.append([*line, seconds * 1e3 if seconds else None, share])
    columns = [Column("graph"), Column("bytes once", "MB"), Column("copy", "GB/s")]
    columns += [Column("stream bound", "ms"), Column("random reads", "G/s")]
    columns += [Column("gather bound", "ms"), Column("measured", "ms"), Column("bound / measured")]
    where = "one core" if device == "cpu" else "the device"
    caption = (
        f"Rates of {where}, measured by the same run; the last column takes the greater bound, and "
        "is above 1 where several cores beat one core's rate or caches help more than in the "
        "micro-benchmark."
    )
    return Table("roofline", "Roofline", caption, columns, rows)


EXPERIMENT = Beyond()
