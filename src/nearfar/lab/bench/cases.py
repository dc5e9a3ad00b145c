"""Timing of this library's own variants in alternation, for all experiments."""

from __future__ import annotations

import statistics
import time
from collections.abc import Callable, Iterable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

import nearfar
from nearfar.graph.dtypes import unreached_value
from nearfar.graph.graph import Graph
from nearfar.lab.profile import dijkstra_edges
from nearfar.options import build_options
from nearfar.registry import Request, Variant, Workspace, registered
from nearfar.system.devices import runtime
from nearfar.system.threads import default_threads

#: Variants and dtypes that have run in this process: their kernels are compiled.
_SEEN: set[tuple[str, str]] = set()


@dataclass(frozen=True, slots=True)
class Case:
    """Contender: a label for tables, a variant with checked options, and CPU workers."""

    label: str
    variant: Variant
    options: Any
    threads: int = 1


def case(label: str, identity: str, *, threads: int = 1, **options: Any) -> Case:
    """Return a case of the registered variant ``identity`` (``idea@device``)."""
    variant = registered(identity)
    if variant is None:
        raise KeyError(identity)
    return Case(label, variant, build_options(variant.options, options, variant.id), threads)


def proven(graph: Graph, sources: Iterable[int]) -> dict[int, NDArray[Any]]:
    """Return the distances of the CPU engine for each source, each proven by its certificate.

    Sources are solved in parallel, one worker each, so that none waits for another on busy cores.
    O(n + m) per proof.
    """

    def prove(source: int) -> NDArray[Any]:
        paths = nearfar.sssp(graph, source, device="cpu", threads=1, predecessors=True)
        nearfar.verify(graph, paths)
        distances: NDArray[Any] = paths.distances
        return distances

    distinct = list(dict.fromkeys(sources))
    # builds the cached data that the others share
    found = {source: prove(source) for source in distinct[:1]}
    with ThreadPoolExecutor(default_threads()) as pool:
        return found | dict(zip(distinct[1:], pool.map(prove, distinct[1:]), strict=True))


def time_once(one: Case, graph: Graph, source: int) -> tuple[float, Any]:
    """Return the seconds of one solve and its answer.

    On CUDA the time is measured by events, which include host steps and waits between launches; the
    graph is on the device already. On the CPU it is measured by the wall clock.
    """
    workspace = Workspace(threads=one.threads)
    if one.variant.device == "cuda":
        timer = runtime.Timer().start()
        answer = one.variant.run(graph, source, one.options, workspace)
        return timer.stop().seconds, answer
    began = time.perf_counter()
    answer = one.variant.run(graph, source, one.options, workspace)
    return time.perf_counter() - began, answer


def counters(one: Case, graph: Graph, source: int) -> dict[str, Any]:
    """Run once with full statistics and return its scalars and a summary of frontier sizes."""
    workspace = Workspace(threads=one.threads, stats="full")
    return _scalars(one.variant.run(graph, source, one.options, workspace).stats)


def _scalars(stats: dict[str, Any]) -> dict[str, Any]:
    found = {k: v for k, v in stats.items() if isinstance(v, (bool, int, float, str))}
    if len(np.atleast_1d(stats.get("frontier", ()))):
        sizes = np.asarray(stats["frontier"])
        found |= {"frontier_mean": float(sizes.mean()), "frontier_max": int(sizes.max())}
    return found


class _Truth:
    """Proven distances on the host and, once needed, on the device."""

    def __init__(self, distances: dict[int, NDArray[Any]]) -> None:
        self.host = distances
        self.device: dict[int, Any] = {}

    def wrong(self, answer: Any, source: int) -> int:
        """Return the vertices whose distance differs in any bit from the proven one."""
        if isinstance(answer.distances, np.ndarray):
            return int(np.count_nonzero(answer.distances != self.host[source]))
        if source not in self.device:
            self.device = {source: runtime.upload(self.host[source])}  # only one source at a time
        return int((answer.distances != self.device[source]).sum())


def _compile(one: Case, graph: Graph) -> None:
    """Solve a graph of one edge, so that kernels are compiled before a large graph is solved."""
    seen = one.variant.id, graph.weight_dtype.name if graph.is_weighted else ""
    if one.variant.device != "cuda" or seen in _SEEN:
        return
    weights = np.ones(1, graph.weight_dtype) if graph.is_weighted else None
    indptr, indices = np.array([0, 1, 1]), np.array([1])
    tiny = Graph(indptr.astype(graph.indptr.dtype), indices.astype(graph.indices.dtype), weights)
    if one.variant.can_run(tiny, Request(device="cuda")) is True:
        one.variant.run(tiny, 0, one.options, Workspace())
    _SEEN.add(seen)


class _Timing:
    """Cases on one graph, whose solves are timed, checked and recorded."""

    def __init__(self, graph: Graph, truth: dict[int, NDArray[Any]]) -> None:
        self.graph = graph
        self.found: dict[str, dict[str, Any]] = {}  # results by label
        self.spent: dict[str, float] = {}  # timed seconds by label
        self._truth = _Truth(truth)

    def solve(self, one: Case, source: int) -> float:
        """Solve once, check the answer, and return the seconds."""
        seconds, answer = time_once(one, self.graph, source)
        entry = self.found[one.label]
        wrong = self._truth.wrong(answer, source)
        entry["runs"] += 1
        entry["wrong_runs"] += bool(wrong)
        entry["wrong_vertices"] = max(entry["wrong_vertices"], wrong)
        entry["counters"] |= _scalars(answer.stats)
        return seconds

    def warm_up(self, one: Case, source: int, patience: float) -> bool:
        """Solve once; return whether that was short enough to repeat, else store the sample."""
        entry = self.found[one.label] = {
            "id": one.variant.id,
            "options": asdict(one.options),
            "threads": one.threads if one.variant.device == "cpu" else None,
            "unsafe": one.variant.unsafe,
            "timed_once": False,
            "runs": 0,
            "wrong_runs": 0,
            "wrong_vertices": 0,
            "counters": {},
            "samples": [],
        }
        self.spent[one.label] = 0.0
        _compile(one, self.graph)
        seconds = self.solve(one, source)
        if seconds > patience:
            entry["timed_once"] = True
            entry["samples"].append([0, source, seconds])
        return seconds <= patience

    def turn(self, live: list[Case], number: int, source: int) -> None:
        """Time one solve of each case, in this order."""
        for one in live:
            seconds = self.solve(one, source)
            self.found[one.label]["samples"].append([number, source, seconds])
            self.spent[one.label] += seconds


def time_cases(
    graph: Graph,
    cases: Sequence[Case],
    sources: Sequence[int],
    *,
    rounds: int = 3,
    patience: float = 1.0,
    per_method: float | None = None,
    truth: dict[int, NDArray[Any]] | None = None,
    with_counters: bool = True,
    progress: Callable[[float], None] = lambda part: None,
) -> dict[str, Any]:
    """Time cases on a graph in alternation, and check every answer.

    Each round starts with another case, so that no case always follows the same one.
    """
    truth = proven(graph, sources) if truth is None else truth
    timing = _Timing(graph, truth)
    found = timing.found
    left_out: dict[str, str] = {}
    live: list[Case] = []
    steps = len(cases) * (1 + rounds * len(sources))
    step = 0
    for one in cases:
        fits = one.variant.can_run(graph, Request(device=one.variant.device))
        if fits is not True:
            left_out[one.label] = fits
            continue
        if timing.warm_up(one, sources[0], patience):
            live.append(one)
        step += 1
        progress(step / steps)
    for number in range(rounds):
        for place, source in enumerate(sources):
            if per_method is not None:
                live = [one for one in live if timing.spent[one.label] < per_method]
            shift = (number + place) % max(len(live), 1)
            timing.turn(live[shift:] + live[:shift], number, source)
            step += len(live)
            progress(min(step / steps, 1.0))
    for one in cases:
        if with_counters and one.label in found and not found[one.label]["timed_once"]:
            found[one.label]["counters"] |= counters(one, graph, sources[0])
    for entry in found.values():
        _summarise(entry)
    return {
        "n": graph.n_vertices,
        "m": graph.n_edges,
        "weights": graph.weight_dtype.name if graph.is_weighted else "none",
        "sources": [int(s) for s in sources],
        "reached": [_reached(truth[s]) for s in sources],
        "edges_of_dijkstra": [dijkstra_edges(graph, truth[s]) for s in sources],
        "left_out": left_out,
        "cases": found,
    }


def _reached(distances: NDArray[Any]) -> int:
    return int(np.count_nonzero(distances != unreached_value(distances.dtype)))


def _summarise(entry: dict[str, Any]) -> None:
    """Add median and minimum of all samples, and the mean of the sources' medians."""
    seconds = [sample[2] for sample in entry["samples"]]
    by_source: dict[int, list[float]] = {}
    for _, source, value in entry["samples"]:
        by_source.setdefault(source, []).append(value)
    entry["sources"] = len(by_source)
    entry["median_seconds"] = statistics.median(seconds)
    entry["minimum_seconds"] = min(seconds)
    entry["mean_seconds"] = statistics.fmean(statistics.median(v) for v in by_source.values())
