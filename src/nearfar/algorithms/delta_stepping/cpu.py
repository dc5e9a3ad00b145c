"""Delta-stepping on CPU cores: one worker, or several that exchange work."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING, Any

import numpy as np

from nearfar import _cpu
from nearfar.algorithms.delta_stepping.widths import ADAPTED, Widths
from nearfar.cpu.costs import bucket_search
from nearfar.graph.facts import few_wait
from nearfar.graph.graph import NARROW_VIEW
from nearfar.graph.slots import Slot
from nearfar.options import DeltaOptions
from nearfar.registry import CHOICES, Answer, Estimate, variant

if TYPE_CHECKING:
    from collections.abc import Callable

    from nearfar.graph.facts import Facts
    from nearfar.graph.graph import Graph
    from nearfar.registry import Request, Workspace


#: Widths and workers that searches of most of the graph have tried, by number of threads.
_WIDTHS: Slot[Widths] = Slot("widths of buckets among workers")
_SMALL = 1 << 12  # edges of a graph that is searched faster than a width is chosen
#: Edges per vertex from which weights of one or two bytes are stored with the targets.
_LONG_ROWS = 16


def _view(graph: Graph) -> Any:
    """Return a cached view with weights in one or two bytes if rows are long, else the usual."""
    if graph.mean_degree < _LONG_ROWS or graph.weights is None:
        return graph.view
    arrays = graph.indptr, graph.indices, graph.weights

    def make() -> _cpu.NarrowView | None:
        fits = graph.weight_dtype == np.int32 and graph.index_dtype == np.int32
        fits = fits and graph.max_weight <= np.iinfo(np.uint16).max
        return _cpu.NarrowView.make(*arrays) if fits else None

    narrow = NARROW_VIEW.of(graph, make)
    return graph.view if narrow is None else narrow


def _with_widths(
    graph: Graph,
    options: DeltaOptions,
    workspace: Workspace,
    threads: int,
    search: Callable[[float | None, float | None, int, bool], dict[str, Any]],
) -> dict[str, Any]:
    """Search with the width and workers that are to be tried next; record the time.

    One worker begins with that width and adapts it, since a fixed width that does not suit the
    graph can repeat its work many times.
    """
    if options.delta is not None or graph.n_edges < _SMALL:
        return search(options.delta, None, threads, False)
    widths = _WIDTHS.of(graph, lambda: Widths(threads), threads)
    way = widths.next_way()
    workers = widths.workers(way)
    began = time.perf_counter()
    if way.power is ADAPTED or workers == 1:
        stats = search(None, widths.width(way), workers, way.claim)
    else:
        stats = search(widths.width(way), None, workers, way.claim)
    comparable = workspace.whole and workspace.stats == "basic"
    if comparable and 2 * stats["edges_relaxed"] >= graph.n_edges:
        widths.learn(way, time.perf_counter() - began, stats["delta"])
        # Half of the vertices of a bucket wait at a time.
        waiting = 0.5 * stats["vertices_processed"] / stats["iterations"]
        if workers == 1 and few_wait(graph, waiting):
            CHOICES.drop(graph)  # a heap may be faster
    return stats


def _packing(facts: Facts, request: Request) -> float:
    """Return the seconds for packing the edges, or 0 if later searches benefit from it."""
    if not request.once or facts.packed:
        return 0.0
    return facts.m * (1e-9 if facts.dtype.kind == "i" else 3e-9)


def _one_worker(facts: Facts, request: Request) -> Estimate:
    workers = "one worker" if request.threads == 1 else f"one of {request.threads} workers"
    return Estimate(
        2e-6 + bucket_search(facts) + _packing(facts, request),
        f"buckets with prefetch: {facts.n:,} vertices, {facts.degree:.1f} edges per vertex, "
        f"{workers}",
    )


#: Seconds for starting the helper threads, and per step of a thin frontier.
_START, _STEP = 2.5e-4, 3e-6


def _several_workers(facts: Facts, request: Request) -> Estimate:
    """Estimate several workers by a fit to ``benchmarks/results/many_cores.json``."""
    alone, packing = bucket_search(facts), _packing(facts, request)
    if request.threads == 1:
        words = "needs several workers, but only one is available"
        return Estimate(1e-5 + 1.1 * alone + packing, words)
    # One part shrinks with the workers, one does not (memory bandwidth), one grows with the hops.
    shared = 2 / facts.gain - 0.08
    seconds = _START + alone * (shared / request.threads + 0.04) + _STEP * facts.hops
    return Estimate(
        seconds + packing,
        f"{request.threads} workers exchange work: {facts.m:,} edges, about {facts.hops:,.0f} hops",
    )


@variant(
    "delta_stepping",
    device="cpu",
    summary="Delta-stepping on one core, with software prefetch along each bucket",
    options=DeltaOptions,
    paper="meyer-sanders-2003",
    section="sequential delta-stepping",
    complexity="O(n + m + d / delta) on average for random weights, d the greatest distance",
    cost=_one_worker,
    learns=True,
)
def delta_stepping(
    graph: Graph, source: int, options: DeltaOptions, workspace: Workspace
) -> Answer:
    """Search with buckets instead of a heap, so that memory can be prefetched."""
    distances = np.empty(graph.n_vertices, graph.weight_dtype)
    full = workspace.stats == "full"
    end = workspace.limit, workspace.targets
    view = _view(graph)

    def search(delta: float | None, start: float | None, *_: Any) -> dict[str, Any]:
        return _cpu.delta_stepping(view, source, distances, delta, *end, full, start)

    return Answer(distances, _with_widths(graph, options, workspace, 1, search))


@variant(
    "delta_stepping_parallel",
    device="cpu",
    summary="Delta-stepping on several cores: asynchronous, with work stealing by priority",
    options=DeltaOptions,
    paper="meyer-sanders-2003",
    section="parallel delta-stepping",
    complexity="O(n + m + d / delta) work on average for random weights, d the greatest distance",
    cost=_several_workers,
    parallel=True,
    learns=True,
)
def delta_stepping_parallel(
    graph: Graph, source: int, options: DeltaOptions, workspace: Workspace
) -> Answer:
    """Search with workers that synchronise only to take work from each other."""
    distances = np.empty(graph.n_vertices, graph.weight_dtype)
    end = workspace.limit, workspace.targets
    view = _view(graph)

    def search(
        delta: float | None, start: float | None, workers: int, claim: bool
    ) -> dict[str, Any]:
        return _cpu.delta_stepping_parallel(
            view, source, distances, workers, delta, *end, start, claim
        )

    return Answer(distances, _with_widths(graph, options, workspace, workspace.threads, search))
