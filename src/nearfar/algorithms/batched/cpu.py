"""Many sources on CPU cores: one source per worker, and one source per lane of vector registers."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from nearfar import _cpu
from nearfar.cpu.costs import heap_search
from nearfar.cpu.rows import answer_rows, masks
from nearfar.errors import OptionError, quoted
from nearfar.graph.facts import Facts, usual_weight
from nearfar.graph.graph import Graph
from nearfar.registry import Answer, Estimate, Request, Workspace, variant

BATCH = frozenset({"batch", "all_pairs"})
_OWN_CACHE, _SHARED_CACHE = 2**19, 2**24  # bytes of a core's cache, and of all cores'
#: Below this number of vertices the queue is short and a heap costs less than a ring of buckets.
_BUCKETS_FROM = 512
_REACH = 0.7  # hops times mean weight, over the range of a lane, up to which distances fit


@dataclass(frozen=True, slots=True)
class LaneOptions:
    """Options of ``lanes@cpu``.

    Parameters
    ----------
    width : {8, 16, 32, 64} or None
        Sources per sweep, rounded to a number that the type of the lanes supports. None means two
        cache lines per vertex: 64 lanes of 16 bits, 32 of 32 bits or 16 of 64 bits.
    delta : float or None
        Width of a bucket in units of the weights, greater than 0; None means a quarter of the mean
        weight.
    """

    width: int | None = None
    delta: float | None = None

    def __post_init__(self) -> None:
        if self.width not in (None, 8, 16, 32, 64):
            raise OptionError(f"width is {quoted(self.width)}: give 8, 16, 32 or 64, or None")
        if self.delta is not None and not self.delta > 0:
            raise OptionError(f"delta is {self.delta}: give a number greater than 0, or None")


@dataclass(frozen=True, slots=True)
class WorkerOptions:
    """Options of ``worker_per_source@cpu``.

    Parameters
    ----------
    queue : {"heap", "buckets"} or None
        A 4-ary heap (Dijkstra's method) or a ring of buckets (sequential delta-stepping). None
        means buckets from 512 vertices on, or for 64 sources per worker the faster.
    """

    queue: Literal["heap", "buckets"] | None = None

    def __post_init__(self) -> None:
        if self.queue not in (None, "heap", "buckets"):
            raise OptionError(f"queue is {quoted(self.queue)}: use 'heap', 'buckets' or None")

    def buckets(self, graph: Graph) -> bool:
        """Return whether searches of this graph order their vertices in buckets."""
        if self.queue is not None:
            return self.queue == "buckets"
        return graph.n_vertices >= _BUCKETS_FROM


def _searches(facts: Facts, request: Request) -> Estimate:
    """Estimate one source per worker; fitted, as lanes are, to 22 graphs of the zoo."""
    k, n = request.n_sources, facts.n
    if WorkerOptions().buckets(facts.graph):
        vertex, edge = 8e-9 + 15e-9 * min(1.0, n / 2**20), 3e-9 + 1.5e-9 * min(1.0, n / 1e5)
        # With uneven weights vertices are scanned again; searches that stop early fit the caches.
        one = (n * vertex + facts.m * edge) * (1 + 0.18 * _unevenness(facts))
        one *= 0.5 * (1 + facts.share)
    else:
        one = heap_search(facts)
    words = "searches that have little in common"
    if facts.share < 1:
        width = n if request.targets is None else len(request.targets)
        one = one * facts.share + width * 5e-10
        words += f" and stop after {facts.share:.2%} of the edges"
    workers = max(1, min(request.threads, k))
    return Estimate(k * one / workers, words)


def _unevenness(facts: Facts) -> float:
    """Return the doublings between median and mean of the weights; 0 where the median is 0."""
    spread = facts.weight_spread
    return max(math.log2(spread), 0.0) if 0 < spread < math.inf else 0.0


@variant(
    "worker_per_source",
    device="cpu",
    problems=BATCH,
    options=WorkerOptions,
    summary="each worker searches with buckets or a heap, whichever is faster, reusing its memory",
    paper="meyer-sanders-2003",
    section="sequential delta-stepping; below 512 vertices Dijkstra's method",
    complexity="O(k (n + m + d / delta)) on average, O(k (n + m) log n) over a heap",
    cost=_searches,
    one_by_one=True,
)
def worker_per_source(
    graph: Graph, sources: NDArray[np.int64], options: WorkerOptions, workspace: Workspace
) -> Answer:
    """Solve one source per worker; with columns, each search stops at the last of them."""
    out = answer_rows(workspace, len(sources), graph.n_vertices, graph.weight_dtype)
    stats = _cpu.per_source(
        graph.view,
        sources,
        out,
        workspace.columns,
        workspace.limit,
        workspace.threads,
        options.buckets(graph),
        options.queue is None,
    )
    return Answer(out, stats, masked=masks(workspace.limit, graph.weight_dtype))


def _sweeps(facts: Facts, request: Request) -> Estimate | None:
    """Estimate lanes, within a factor of two on most of the graphs that they are fitted to."""
    k, n = request.n_sources, facts.n
    if k < 8:
        return None
    width, attempts = _lanes(facts)
    batches = -(-k // width)
    # Identical searches scan a vertex once, unrelated ones once per source; hops and degree tell
    # them apart. With uneven weights a vertex is scanned up to 14 times as often.
    apart = 2 + min(max(0.27, 0.022 * facts.degree**2), 0.75) * facts.hops
    scans = n / (batches / k + 1 / apart)
    scans *= 1 + 0.75 * max(_unevenness(facts) - 3, 0.0) * min(facts.hops / 32, 1.0)
    if request.targets is None or request.limit is not None:
        scans *= facts.share  # a sweep stops only at a limit
    vertex = 2e-8 + 3e-8 * min(1.0, 128 * n / _OWN_CACHE)
    edge = 4.5e-9 + 4e-8 * min(1.0, 128 * n / _SHARED_CACHE)
    sweep = scans * (vertex + facts.degree * edge) + n * width * 6.5e-10
    return Estimate(
        1e-5 + attempts * batches * sweep / min(max(request.threads, 1), batches),
        f"{width} sources per sweep, about {facts.hops:,.0f} hops",
    )


def _lanes(facts: Facts) -> tuple[int, float]:
    """Return the width of a sweep and the number of attempts until distances fit a lane."""
    if facts.dtype.kind == "f":
        return 128 // facts.dtype.itemsize, 1.0
    heaviest = float(facts.graph.max_weight)
    for bits in (16, 32):
        if heaviest < 2.0 ** (bits - 2):
            fits = facts.hops * facts.graph.mean_weight < _REACH * 2.0**bits
            return (1024 // bits, 1.0) if fits else (512 // bits, 1.5)
    return 16, 1.0


def _lane_bytes(graph: Graph, request: Request) -> int:
    """Return the bytes of each worker: two cache lines of lanes per vertex, and a queue."""
    return 140 * graph.n_vertices * request.threads


@variant(
    "lanes",
    device="cpu",
    problems=BATCH,
    options=LaneOptions,
    summary="8 to 64 sources in the lanes of vector registers, each edge read once for all",
    paper="dial-1969",
    complexity="O(k n m / width) in the worst case, a few scans per vertex in practice",
    cost=_sweeps,
    scratch=_lane_bytes,
)
def lanes(
    graph: Graph, sources: NDArray[np.int64], options: LaneOptions, workspace: Workspace
) -> Answer:
    """Solve one source per lane; integers in 16-bit lanes first, repeated wider if necessary."""
    out = answer_rows(workspace, len(sources), graph.n_vertices, graph.weight_dtype)
    delta = options.delta if options.delta is not None else usual_weight(graph) / 4
    heaviest = int(graph.max_weight) if graph.weight_dtype.kind == "i" else 0
    stats = _cpu.lanes(
        graph.view,
        sources.astype(np.int32),
        out,
        heaviest,
        workspace.columns,
        workspace.limit,
        float(delta),
        options.width or 0,
        workspace.threads,
    )
    return Answer(out, stats)
