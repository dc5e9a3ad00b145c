"""Fair timing of several contenders on one graph: warm-up, interleaved rounds, checked answers."""

from __future__ import annotations

import gc
import math
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

import nearfar
from nearfar.errors import OptionError, SolverError
from nearfar.graph.graph import Graph
from nearfar.lab.bench.peers.base import Peer
from nearfar.lab.bench.peers.nearfar import Nearfar
from nearfar.lab.bench.result import Result, Run, Sample

#: Minimum seconds of a sample: short solves are repeated, and the time is divided.
_SHORTEST = 0.02
_MOST_CALLS = 200


def compare(found: NDArray[np.float64], truth: NDArray[np.float64], dtype: np.dtype[Any]) -> str:
    """Return ``equal``, ``close`` or ``wrong``; integers are never ``close``."""
    if found.shape == truth.shape and np.array_equal(found, truth):
        return "equal"
    tolerance = {"float64": 1e-12, "float32": 1e-4}.get(dtype.name)
    if tolerance is None or found.shape != truth.shape:
        return "wrong"
    return "close" if np.allclose(found, truth, rtol=tolerance, atol=0.0) else "wrong"


_ORDER = ("equal", "close", "not shown", "wrong")


def _worst(first: str, second: str) -> str:
    return max(first, second, key=lambda a: _ORDER.index(a) if a else -1)


def _once(peer: Peer, source: int, calls: int) -> tuple[float, Any]:
    """Return the seconds per solve over ``calls`` solves in a row, and the last answer."""
    peer.reported_seconds = None
    own = 0.0
    began = time.perf_counter()
    for _ in range(calls):
        answer = peer.solve(source)
        if peer.reported_seconds is not None:
            own += peer.reported_seconds
    wall = time.perf_counter() - began
    return (wall if peer.reported_seconds is None else own) / calls, answer


@dataclass(slots=True)
class _Entry:
    peer: Peer
    result: Result
    calls: int = 1


def measure(
    graph: Graph,
    peers: Sequence[Peer],
    sources: Sequence[int],
    *,
    rounds: int = 7,
    patience: float = 10.0,
    name: str = "",
    summary: str = "",
    progress: Callable[[float, float], None] = lambda done, total: None,
) -> Run:
    """Time contenders on one graph."""
    if not sources or rounds < 1:
        raise OptionError("nothing to measure: give at least one source and one round")
    truth = {s: _reference(graph, s) for s in sources}
    entries: list[_Entry] = []
    results: list[Result] = []
    for at, peer in enumerate(peers):
        progress(at, len(peers) + rounds)
        entry = _warm_up(peer, graph, sources, truth, patience)
        results.append(entry.result)
        if entry.result.skipped:
            peer.close()
        else:
            entries.append(entry)
    collecting = gc.isenabled()
    gc.collect()
    gc.disable()
    try:
        for turn in range(rounds):
            progress(len(peers) + turn, len(peers) + rounds)
            source = sources[turn % len(sources)]
            shift = turn % len(entries) if entries else 0
            for entry in entries[shift:] + entries[:shift]:
                seconds, answer = _once(entry.peer, source, entry.calls)
                entry.result.samples.append(Sample(turn, source, seconds, entry.calls))
                _check(entry, answer, truth[source], graph)
                del answer
    finally:
        if collecting:
            gc.enable()
        for entry in entries:
            entry.peer.close()
    return Run(
        graph=name,
        summary=summary,
        n_vertices=graph.n_vertices,
        n_edges=graph.n_edges,
        weight_dtype=graph.weight_dtype.name if graph.is_weighted else "none",
        origin=str(graph.attributes.get("source", "generated")),
        sources=list(sources),
        rounds=rounds,
        results=results,
    )


def _reference(graph: Graph, source: int) -> NDArray[np.float64]:
    """Return proven distances, with which every contender is compared."""
    own = Nearfar()
    own.prepare(graph)
    paths = own.solve(source)
    nearfar.verify(graph, paths)
    return own.distances(paths)


def _check(entry: _Entry, answer: Any, truth: NDArray[np.float64], graph: Graph) -> None:
    found = entry.peer.distances(answer)
    verdict = "not shown" if found is None else compare(found, truth, graph.weight_dtype)
    entry.result.answer = _worst(entry.result.answer, verdict)


def _warm_up(
    peer: Peer,
    graph: Graph,
    sources: Sequence[int],
    truth: dict[int, NDArray[np.float64]],
    patience: float,
) -> _Entry:
    """Prepare a contender and solve every source once; record in the result why it is left out."""
    here = peer.available()
    fits = peer.takes(graph) if here is True else here
    version = peer.version() if here is True else ""
    result = Result(peer.label, peer.name, version, peer.threads)
    entry = _Entry(peer, result)
    if fits is not True:
        result.skipped = str(fits)
        return entry
    try:
        began = time.perf_counter()
        peer.prepare(graph)
        result.prepare_seconds = time.perf_counter() - began
        slowest = 0.0
        for i, source in enumerate(sources):
            began = time.perf_counter()
            seconds, answer = _once(peer, source, 1)
            if i == 0:
                result.first_seconds = time.perf_counter() - began
            _check(entry, answer, truth[source], graph)
            del answer
            if seconds > patience:
                result.skipped = f"one solve took {seconds:.1f} s, the limit is {patience:g} s"
                return entry
            slowest = max(slowest, seconds)
        if len(sources) == 1:
            slowest, _ = _once(peer, sources[0], 1)
        if peer.reported_seconds is None:  # programs repeat solves themselves
            entry.calls = min(max(math.ceil(_SHORTEST / max(slowest, 1e-9)), 1), _MOST_CALLS)
    except (RuntimeError, ValueError, MemoryError, OSError, ImportError) as error:
        if isinstance(peer, Nearfar) and not isinstance(error, SolverError):
            raise
        result.skipped = f"{type(error).__name__}: {error}"
    result.engine = getattr(peer, "engine", "")
    return entry
