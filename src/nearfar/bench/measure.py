"""Fair timing of several contenders on one graph: warm-up, interleaved rounds, checked answers."""

from __future__ import annotations

import gc
import math
import os
import platform
import statistics
import subprocess
import time
from dataclasses import dataclass, field
from datetime import UTC, datetime
from importlib import metadata
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

import nearfar
from nearfar.bench.peers.nearfar import Nearfar
from nearfar.errors import OptionError, SolverError

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from numpy.typing import NDArray

    from nearfar.bench.peers.base import Peer
    from nearfar.graph import Graph

__all__ = ["Result", "Run", "Sample", "environment", "measure"]

#: A sample repeats short solves until it lasts about this long (seconds), and divides.
_SHORTEST = 0.02
_MOST_CALLS = 200


@dataclass(frozen=True, slots=True)
class Sample:
    """One timing: seconds a solve, the mean of ``calls`` solves in a row (1 unless short)."""

    round: int
    source: int
    seconds: float
    calls: int


@dataclass(slots=True)
class Result:
    """What was measured of one contender on one graph.

    Attributes
    ----------
    contender, name, version, threads
        Label in tables, adapter, version of the library, workers.
    engine : str
        For this library: the variant that ran.
    prepare_seconds : float
        Building its own graph object, once, not part of any sample.
    first_seconds : float
        The first solve of all, with whatever it initialises.
    samples : list of Sample
        Empty when it was left out.
    answer : str
        ``equal`` (bit for bit), ``close`` (floats within tolerance), ``wrong``, or ``not shown`` by
        programs that keep their distances.
    skipped : str
        Why it was left out; empty when it was measured.
    """

    contender: str
    name: str
    version: str
    threads: int
    engine: str = ""
    prepare_seconds: float = math.nan
    first_seconds: float = math.nan
    samples: list[Sample] = field(default_factory=list)
    answer: str = ""
    skipped: str = ""

    @property
    def seconds(self) -> list[float]:
        """All samples."""
        return [s.seconds for s in self.samples]

    @property
    def median(self) -> float:
        """Median seconds a solve; NaN when left out."""
        return statistics.median(self.seconds) if self.samples else math.nan

    @property
    def minimum(self) -> float:
        """Least seconds a solve; NaN when left out."""
        return min(self.seconds) if self.samples else math.nan

    @property
    def spread(self) -> float:
        """Distance of the quartiles over the median: 0 when all samples agree."""
        if len(self.samples) < 2:
            return math.nan
        low, _, high = statistics.quantiles(self.seconds, n=4, method="inclusive")
        return (high - low) / self.median

    def as_dict(self) -> dict[str, Any]:
        """Plain data for JSON."""
        plain: dict[str, Any] = {
            "contender": self.contender,
            "name": self.name,
            "version": self.version,
            "threads": self.threads,
        }
        if self.engine:
            plain["engine"] = self.engine
        if self.skipped:
            return plain | {"skipped": self.skipped}
        return plain | {
            "answer": self.answer,
            "median_seconds": self.median,
            "minimum_seconds": self.minimum,
            "spread": None if math.isnan(self.spread) else self.spread,
            "first_seconds": self.first_seconds,
            "prepare_seconds": self.prepare_seconds,
            "samples": [[s.round, s.source, s.seconds, s.calls] for s in self.samples],
        }


@dataclass(slots=True)
class Run:
    """All contenders on one graph."""

    graph: str
    summary: str
    n_vertices: int
    n_edges: int
    weight_dtype: str
    origin: str
    sources: list[int]
    rounds: int
    results: list[Result]

    def find(self, contender: str) -> Result | None:
        """The result with this label, if it was measured."""
        found = (r for r in self.results if r.contender == contender and r.samples)
        return next(found, None)

    def ratio(self, result: Result, base: str = "scipy") -> float:
        """How many times faster than ``base``: ratio of medians of this run; NaN without either."""
        other = self.find(base)
        return other.median / result.median if other and result.samples else math.nan

    def as_dict(self) -> dict[str, Any]:
        """Plain data for JSON."""
        results = []
        for result in self.results:
            ratio = self.ratio(result)
            extra = {} if math.isnan(ratio) else {"times_scipy": ratio}
            results.append(result.as_dict() | extra)
        return {
            "graph": self.graph,
            "summary": self.summary,
            "n_vertices": self.n_vertices,
            "n_edges": self.n_edges,
            "weight_dtype": self.weight_dtype,
            "origin": self.origin,
            "sources": self.sources,
            "rounds": self.rounds,
            "results": results,
        }


def _git(*arguments: str) -> str:
    """Output of git in the checkout this file belongs to; empty outside of one."""
    root = Path(__file__).resolve().parents[3]
    if not (root / ".git").exists():
        return ""
    try:
        done = subprocess.run(
            ["git", "-C", str(root), *arguments], capture_output=True, text=True, check=False
        )
    except OSError:
        return ""
    return done.stdout.strip() if done.returncode == 0 else ""


def _processor() -> str:
    try:
        with open("/proc/cpuinfo") as lines:
            for line in lines:
                if line.startswith("model name"):
                    return line.split(":", 1)[1].strip()
    except OSError:
        pass
    return platform.processor() or platform.machine()


def environment() -> dict[str, Any]:
    """What the numbers depend on: processor, cores, versions, commit, load; no host name."""
    from nearfar.construct import default_threads

    versions = {"nearfar": nearfar.__version__, "python": platform.python_version()}
    for package in ("numpy", "scipy"):
        versions[package] = metadata.version(package)
    commit = _git("rev-parse", "HEAD")
    return {
        "date": datetime.now(UTC).isoformat(timespec="seconds"),
        "cpu": _processor(),
        "cores": default_threads(),
        "system": f"{platform.system()} {platform.machine()}",
        "memory_bytes": os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES"),
        "load_average": os.getloadavg()[0],
        "versions": versions,
        "commit": commit or "unknown",
        "uncommitted_changes": bool(_git("status", "--porcelain", "--untracked-files=no", "src")),
    }


def compare(found: NDArray[np.float64], truth: NDArray[np.float64], dtype: np.dtype[Any]) -> str:
    """``equal``, ``close`` or ``wrong``; integers know no ``close``."""
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
    """Seconds a solve over ``calls`` solves in a row, and the last answer."""
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
    """Time contenders on one graph.

    Parameters
    ----------
    graph : Graph
    peers : sequence of Peer
        Those that are not installed or cannot hold the graph are listed with the reason.
    sources : sequence of int
        Round ``r`` solves ``sources[r % len(sources)]`` with every contender.
    rounds : int
        At least 5 for numbers that are shown to anybody.
    patience : float
        Seconds; a contender whose solve takes longer is left out of the rounds.
    name, summary : str
        Of the graph, for the report.
    progress : callable
        Called with (done, total).

    Returns
    -------
    Run

    Raises
    ------
    ProofError
        If this library's own reference fails its proof.
    OptionError
        Without a source or a round.
    """
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
    """Distances whose certificate holds: the truth that every contender is compared with."""
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
    """Prepare a contender and solve every source once; says in the result why it is left out."""
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
                result.skipped = f"one solve took {seconds:.1f} s, the patience is {patience:g} s"
                return entry
            slowest = max(slowest, seconds)
        if len(sources) == 1:
            slowest, _ = _once(peer, sources[0], 1)
        entry.calls = min(max(math.ceil(_SHORTEST / max(slowest, 1e-9)), 1), _MOST_CALLS)
    except (RuntimeError, ValueError, MemoryError, OSError, ImportError) as error:
        if isinstance(peer, Nearfar) and not isinstance(error, SolverError):
            raise
        result.skipped = f"{type(error).__name__}: {error}"
    result.engine = getattr(peer, "engine", "")
    return entry
