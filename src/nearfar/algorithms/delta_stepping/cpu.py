"""Delta-stepping on CPU cores: one worker, or several that exchange work."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from nearfar import _cpu
from nearfar.cpu.costs import bucket_search
from nearfar.graph.graph import NARROW_VIEW
from nearfar.options import DeltaOptions
from nearfar.registry import Answer, Estimate, variant

if TYPE_CHECKING:
    from nearfar.graph.facts import Facts
    from nearfar.graph.graph import Graph
    from nearfar.registry import Request, Workspace


#: With so many edges per vertex, weights of a byte or two are read beside the targets.
_LONG_ROWS = 16


def _view(graph: Graph) -> Any:
    """Long rows with small weights in a byte or two each, cached; else the graph as it is."""
    if graph.mean_degree < _LONG_ROWS or graph.weights is None:
        return graph.view
    arrays = graph.indptr, graph.indices, graph.weights

    def make() -> _cpu.NarrowView | None:
        fits = graph.weight_dtype == np.int32 and graph.index_dtype == np.int32
        fits = fits and graph.max_weight <= np.iinfo(np.uint16).max
        return _cpu.NarrowView.make(*arrays) if fits else None

    narrow = NARROW_VIEW.of(graph, make)
    return graph.view if narrow is None else narrow


def _packing(facts: Facts, request: Request) -> float:
    """Seconds to lay out the edges, where no later search repays them."""
    if not request.once or facts.packed:
        return 0.0
    return facts.m * (1e-9 if facts.dtype.kind == "i" else 3e-9)


def _alone(facts: Facts, request: Request) -> Estimate:
    workers = "one worker" if request.threads == 1 else f"one of {request.threads} workers"
    return Estimate(
        2e-6 + bucket_search(facts) + _packing(facts, request),
        f"buckets with prefetch: {facts.n:,} vertices, {facts.degree:.1f} edges per vertex, "
        f"{workers}",
    )


#: Seconds until helpers have come, and what a step of a thin frontier costs those who share it.
_START, _STEP = 4e-4, 3e-6


def _together(facts: Facts, request: Request) -> Estimate:
    """Workers exchange what lies in their buckets, and a thin frontier keeps few of them busy.

    Fitted to ``benchmarks/results/many_cores.json``: a part of the work that shrinks with every
    worker, one that does not (a memory that all share), and one that grows with the hops.
    """
    alone, packing = bucket_search(facts), _packing(facts, request)
    if request.threads == 1:
        words = "made for several workers, and there is one"
        return Estimate(1e-5 + 1.1 * alone + packing, words)
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
    cost=_alone,
)
def delta_stepping(
    graph: Graph, source: int, options: DeltaOptions, workspace: Workspace
) -> Answer:
    """Buckets in place of a heap, so that memory can be read ahead of time."""
    distances = np.empty(graph.n_vertices, graph.weight_dtype)
    stats = _cpu.delta_stepping(
        _view(graph),
        source,
        distances,
        options.delta,
        workspace.limit,
        workspace.targets,
        workspace.stats == "full",
    )
    return Answer(distances, stats)


@variant(
    "delta_stepping_parallel",
    device="cpu",
    summary="Delta-stepping on several cores: asynchronous, work stolen by priority",
    options=DeltaOptions,
    paper="meyer-sanders-2003",
    section="parallel delta-stepping",
    complexity="O(n + m + d / delta) work on average for random weights, d the greatest distance",
    cost=_together,
    parallel=True,
)
def delta_stepping_parallel(
    graph: Graph, source: int, options: DeltaOptions, workspace: Workspace
) -> Answer:
    """Workers meet only where one has nothing better to do than to take from another."""
    distances = np.empty(graph.n_vertices, graph.weight_dtype)
    stats = _cpu.delta_stepping_parallel(
        _view(graph),
        source,
        distances,
        workspace.threads,
        options.delta,
        workspace.limit,
        workspace.targets,
    )
    return Answer(distances, stats)
