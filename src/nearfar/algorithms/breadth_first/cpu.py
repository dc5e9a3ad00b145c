"""Breadth-first search on CPU cores, for graphs without weights or with equal ones."""

from __future__ import annotations

import math
import time
from typing import Any

import numpy as np
from numpy.typing import NDArray

from nearfar import _cpu
from nearfar.algorithms.breadth_first.equal_weights import (
    also_equal_weights,
    hops_within,
    lengths_by_hops,
)
from nearfar.cpu.rows import answer_rows
from nearfar.graph.compared import Compared
from nearfar.graph.facts import Facts
from nearfar.graph.graph import Graph
from nearfar.graph.saturation import FARTHEST
from nearfar.graph.slots import Slot
from nearfar.options import NoOptions
from nearfar.registry import FIGURES, Answer, Estimate, Partial, Request, Workspace, variant

#: Seconds for starting the helper threads, and per level that the workers share.
_START, _LEVEL = 5e-5, 3e-6
_SHARED_FROM, _LONG_ROW = 1 << 15, 16  # kSpreadFrom and kLongRow of breadth_first.hpp

#: Sources of a batch, and bytes per vertex of each worker (lanes.hpp).
_LANES, _LANE_BYTES = 64, 88
#: Greatest distances that are sums of integers without rounding.
_EXACT = {**FARTHEST, np.dtype(np.float32): 2**24, np.dtype(np.float64): 2**53}
_FEW = 8  # sources below which they have too little in common

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


def _together(facts: Facts, request: Request) -> Estimate | None:
    """Estimate batches of up to 64 sources; fitted to sixteen graphs of the zoo's families."""
    k = request.n_sources
    if k < _FEW:
        return None
    workers = max(1, min(request.threads, k))
    turns = math.ceil(k / (_LANES * workers))
    lanes = k / (turns * workers)
    levels = max(facts.hops, 1.0)
    if request.limit is not None:
        levels = min(levels, 1 + request.limit / max(float(facts.graph.max_weight), 1e-300))
    # Levels in which some source reaches a vertex: fewer, the more the searches have in common.
    apart = levels * min(0.5 + levels / 200, 1.0)
    active = 1 / (1 / lanes + 1 / apart)
    edge = 6e-9 if facts.graph.directed else 3e-9  # pushed or pulled
    batch = active * (facts.m * edge + facts.n * 5e-9) + levels * facts.n * 2e-9
    width = facts.n if request.targets is None else len(request.targets)
    return Estimate(
        2e-5 + turns * (batch + lanes * width * 1.5e-9),
        f"equal weights: {lanes:,.0f} sources at once, about {levels:,.0f} levels",
    )


def _lane_bytes(graph: Graph, request: Request) -> int:
    """Return the bytes of sets of sources, and of levels, of each worker."""
    return _LANE_BYTES * graph.n_vertices * request.threads


@variant(
    "breadth_first_lanes",
    device="cpu",
    problems={"batch", "all_pairs"},
    summary="breadth-first search from up to 64 sources at once, one per bit",
    weights="equal",
    paper="then-2014",
    section="MS-BFS",
    complexity="O(k (n + m)); O(k h (n + m) / 64) where sources reach a vertex in h levels",
    cost=_together,
    scratch=_lane_bytes,
    reduces=True,
)
def breadth_first_lanes(
    graph: Graph, sources: NDArray[np.int64], options: NoOptions, workspace: Workspace
) -> Answer:
    """Search from batches of sources, and count vertices by level instead of filling rows."""
    limit = workspace.limit
    levels = graph.n_vertices if limit is None else hops_within(graph, limit)
    reverse = graph.transpose().view if graph.has_transpose or not graph.directed else None
    given = graph.view, reverse, sources.astype(np.int32)
    if workspace.reduction is not None:
        return _counted(graph, given, levels, workspace)
    rows = answer_rows(workspace, len(sources), graph.n_vertices, graph.weight_dtype)
    columns, lengths = workspace.columns, lengths_by_hops(graph)
    stats = _cpu.breadth_first_lanes(*given, rows, lengths, columns, levels, workspace.threads)
    return Answer(rows, stats, masked=limit is not None)


def _counted(
    graph: Graph, given: tuple[Any, Any, NDArray[np.int32]], levels: int, workspace: Workspace
) -> Answer:
    """Reduce rows from the numbers of vertices by level, or return nothing."""
    reduction, dtype, weight = workspace.reduction, graph.weight_dtype, graph.max_weight
    assert reduction is not None
    # Sums of integers are the same in any order.
    known = reduction.kind in (*FIGURES, "harmonic", "histogram") and weight == math.floor(weight)
    if not known or workspace.columns is not None:
        return Answer(None)
    bin_of, bins = np.zeros(0, np.int32), max(len(reduction.edges) - 1, 0)
    if bins:
        of_level = np.searchsorted(reduction.edges, lengths_by_hops(graph), side="right") - 1
        bin_of = np.where(of_level < bins, of_level, -1).astype(np.int32)
    found, stats = _cpu.breadth_first_figures(*given, levels, bin_of, bins, workspace.threads)
    count, hops, most, inverse, binned = found
    farthest, total = (int(weight) * int(x.max(initial=0)) for x in (most, hops))
    if farthest > _EXACT[dtype] or total > 2**53:
        return Answer(None)
    if reduction.kind == "histogram":
        part = Partial(bins=binned.reshape(len(count), bins))
    elif reduction.kind == "harmonic":
        part = Partial(totals=inverse / weight if weight else np.zeros(len(count)))
    else:
        part = Partial(count, float(weight) * hops, lengths_by_hops(graph)[most])
    return Answer(None, stats, partials=[part])
