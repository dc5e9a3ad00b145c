"""Breadth-first search on CPU cores, for graphs without weights or with equal ones."""

from __future__ import annotations

import time

import numpy as np

from nearfar import _cpu
from nearfar.algorithms.breadth_first.equal_weights import also_equal_weights
from nearfar.graph.compared import Compared
from nearfar.graph.facts import Facts
from nearfar.graph.graph import Graph
from nearfar.graph.slots import Slot
from nearfar.options import NoOptions
from nearfar.registry import Answer, Estimate, Request, Workspace, variant

#: Seconds for starting the helper threads, and per level that the workers share.
_START, _LEVEL = 5e-5, 3e-6
_SHARED_FROM, _LONG_ROW = 1 << 15, 16  # kSpreadFrom and kLongRow of breadth_first.hpp

#: Times of searches that may pull, which saves edges where degrees are high, and of those that only
#: push, by number of threads.
_PULLS: Slot[Compared[bool]] = Slot("times of breadth-first searches with and without pulls")


def _seconds(facts: Facts) -> float:
    """Return the seconds on one core; skewed undirected graphs are mostly pulled."""
    pulled = not facts.graph.directed and facts.graph.max_degree > 50 * facts.degree
    pushed = 2.7e-9 if facts.degree < _LONG_ROW else 2.2e-9
    return 1e-6 + facts.n * 7e-9 + facts.m * (0.6e-9 if pulled else pushed)


def _one_worker(facts: Facts, request: Request) -> Estimate:
    return Estimate(_seconds(facts), "equal weights: level by level")


def _several_workers(facts: Facts, request: Request) -> Estimate:
    alone = _seconds(facts)
    if request.threads == 1:
        words = "needs several workers, but only one is available"
        return Estimate(1.1 * alone + 1e-5, words)
    if facts.m < _SHARED_FROM * max(facts.hops, 1.0):
        return Estimate(1.02 * alone + 1e-5, "equal weights: the levels are too thin to share")
    return Estimate(
        _START + alone * (1.2 / request.threads + 0.04) + facts.n * 3e-9 + facts.hops * _LEVEL,
        f"equal weights: {request.threads} workers share the large levels",
    )


def _search(graph: Graph, source: int, workspace: Workspace, threads: int) -> Answer:
    """Search level by level; pull only if the in-edges already exist and it is not slower."""
    distances = np.empty(graph.n_vertices, dtype=np.int32)
    limit, targets = workspace.limit, workspace.targets
    pulls = graph.has_transpose
    compares = pulls and limit is None and targets is None
    times = _PULLS.get(graph, threads) if compares else None
    if times is not None:
        pulls = times.next_way(True, lambda way: [not way])
    reverse = graph.transpose().view if pulls else None
    began = time.perf_counter()
    stats = _cpu.breadth_first(graph.view, reverse, source, distances, limit, targets, threads)
    # Pushing alone reads all edges, so it need not be tried where pulls read few.
    if compares and 2 * stats["edges_relaxed"] >= graph.n_edges:
        if times is None:  # the first search, which may prepare the graph, does not count
            _PULLS.put(graph, Compared(), threads)
        else:
            times.add(pulls, time.perf_counter() - began)
    return Answer(distances, stats)


@variant(
    "breadth_first",
    device="cpu",
    summary="breadth-first search that pushes or pulls, whichever reads fewer edges",
    weights="equal",
    paper="beamer-2012",
    section="direction-optimizing BFS",
    complexity="O(n + m) pushing; pulling levels O(n + m) each at worst",
    cost=_one_worker,
)
@also_equal_weights
def breadth_first(graph: Graph, source: int, options: NoOptions, workspace: Workspace) -> Answer:
    """Search on one core."""
    return _search(graph, source, workspace, 1)


@variant(
    "breadth_first_parallel",
    device="cpu",
    summary="breadth-first search on several cores, which divide large levels among them",
    weights="equal",
    paper="beamer-2012",
    section="direction-optimizing BFS",
    complexity="O(n + m) work pushing; pulling levels O(n + m) each at worst",
    cost=_several_workers,
    parallel=True,
)
@also_equal_weights
def breadth_first_parallel(
    graph: Graph, source: int, options: NoOptions, workspace: Workspace
) -> Answer:
    """Search with workers that take pieces of a level's frontier, or of all vertices."""
    return _search(graph, source, workspace, workspace.threads)
