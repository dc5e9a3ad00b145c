"""Graphs without edges that are longer than another path between their ends.

No shortest path contains such an edge, so every search finds the same distances without them. In
graphs with hubs or widely spread weights they are a third to nine tenths of all edges, and most
exceed the path over one hub. A search from it and to it finds them, once the searches of a graph
have taken as long, unless distances of one of those show that few edges can be so long. In clusters
and meshes short searches from each vertex find more, if those from a few vertices do; they take as
long as 6 to 25 searches. A shorter graph is kept if it has clearly fewer edges. It is close to the
metric backbone [1]_.

References
----------
.. [1] Tiago Simas, Rion Brattig Correia and Luis M. Rocha. "The distance backbone of complex
   networks." Journal of Complex Networks, 9(6), 2021.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass
from threading import Lock
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from nearfar import _cpu
from nearfar.graph.build import HostArrays, checked_weights
from nearfar.graph.dtypes import unreached_value
from nearfar.graph.given import frozen
from nearfar.graph.graph import Graph
from nearfar.graph.slots import Slot
from nearfar.system.memory import shortage

MANY_EDGES = 1 << 12  # edges of graphs from which some may be left out
FEWER = 0.9  # relative number of edges up to which a pivot is worth it
#: Distances from a vertex in the dtype of the weights, and predecessors or None.
Tree = tuple[NDArray[Any], NDArray[Any] | None]
#: A search from a vertex with some threads, with predecessors if the last argument is true.
Search = Callable[[Graph, int, int, bool], Tree]

_SECONDS = 1e-3, 2e-8  # of leaving out edges by a pivot, and of that per edge and vertex
_WORKERS = 4  # that speed this up
_BOTH_WAYS = 3  # times as long if edges have to be reversed first
_SEVERAL = 16  # sources per worker that take longer than that
_SHORT = 5e6  # sources times edges and vertices below which a graph of its own takes longer
_MANY_SOURCES = 1 << 8  # sources that take longer than a short search from each vertex
_SAMPLE = 256  # vertices from which short searches are tried
_TRIAL_SECONDS = 2.5e-3  # of these
_MUCH_FEWER = 0.8  # the same for short searches
_EDGES_TRIED, _LOOKED = 1 << 14, 16  # most edges that are compared, and edges for each of them
_FEW_NEAR = 0.05  # share of edges that may be longer, below which no search to the pivot follows
_SHARE = 4  # the copy may take one part in this many of the free memory
_SAFE = 4  # margin for errors of sums, of which half is needed


@dataclass(slots=True)
class _State:
    """Progress of leaving out the longer edges of a graph.

    The next step is taken after some seconds of one worker, or before as many sources.
    """

    step: Literal["pivot", "trial", "searches"] | None
    cost: float = 0.0
    sources: int = 0
    shorter: Graph | None = None
    reach: NDArray[np.float64] | None = None  # greatest length of a path to each vertex, for floats
    looked: bool = False  # whether distances from a source were compared with the edges
    spent: float = 0.0  # seconds of searches since the last step


_STATES: Slot[_State] = Slot("longer edges")
_LOCK = Lock()  # a search that comes meanwhile does not wait


def keep_all(graph: Graph) -> None:
    """Let searches of a graph use all of its edges from now on."""
    _STATES.put(graph, _State(None))


def waits(graph: Graph) -> bool:
    """Return whether the times of searches decide when more edges are left out."""
    return _state(graph).step is not None


def for_next(graph: Graph, sources: int, threads: int, search: Search) -> Graph:
    """Return the graph in which to search next, without longer edges once that is worth it."""
    state = _state(graph)
    while state.step is not None:
        several = sources >= state.sources * (threads if state.step == "pivot" else 1)
        several = several and sources * (graph.n_edges + graph.n_vertices) >= _SHORT
        if not several and state.spent < state.cost / min(threads, _WORKERS):
            break
        if _LOCK.locked():
            break
        _advance(graph, state, threads, search)
    return state.shorter or graph


def without_longer(graph: Graph, threads: int, search: Search) -> Graph:
    """Return the graph without the longer edges that are found, or the graph itself."""
    state = _state(graph)
    while state.step is not None:
        _advance(graph, state, threads, search)
    return state.shorter or graph


def so_far(graph: Graph) -> Graph:
    """Return the graph without the longer edges found so far, which has the same tight edges."""
    state = _STATES.get(graph)
    return graph if state is None else state.shorter or graph


def record(graph: Graph, seconds: float, found: NDArray[Any] | None = None) -> None:
    """Record the time of some searches; ``found``: distances from a source to all vertices."""
    if graph.n_edges < MANY_EDGES:
        return
    state = _state(graph)
    state.spent += seconds
    if found is None or state.looked or state.step != "pivot":
        return
    # Without distances to a vertex the bounds on paths are too wide for sums of float32.
    if state.spent < max(state.cost / _WORKERS, _SECONDS[0]) or (
        graph.directed and graph.weight_dtype == np.float32
    ):
        return
    state.looked = True
    if _most_over_pivot(graph, found) < 1 - FEWER:
        reach = _reach_over(graph, found, None if graph.directed else found)
        with _LOCK:
            if state.step == "pivot":
                _try_short_searches(state, reach)


def takes(graph: Graph) -> bool:
    """Return whether edges of a graph may be longer than another path, and can be left out."""
    if graph.n_negative or graph.has_equal_weights or not graph.n_edges:
        return False
    return graph.index_dtype == np.int32


def relative_error(dtype: np.dtype[Any], edges: int) -> float:
    """Return the margin for errors of sums with so many edges on a path over the pivot."""
    return _SAFE * (edges + 4) * float(np.finfo(dtype).eps)


def _state(graph: Graph) -> _State:
    state = _STATES.get(graph)
    return _STATES.of(graph, lambda: _first(graph)) if state is None else state


def _first(graph: Graph) -> _State:
    """Return the state before any edge is left out."""
    if graph.on_device or not takes(graph):
        return _State(None)
    ways = _BOTH_WAYS if graph.directed else 1
    cost = _SECONDS[0] + _SECONDS[1] * ways * (graph.n_edges + graph.n_vertices)
    return _State("pivot", cost, _SEVERAL * ways)


def _advance(graph: Graph, state: _State, threads: int, search: Search) -> None:
    """Take the next step, unless another thread has taken it meanwhile or memory is short."""
    step = state.step
    with _LOCK:
        if state.step != step:
            return
        n, m, size = graph.n_vertices, graph.n_edges, 4 + graph.weight_dtype.itemsize
        needed = _SHARE * (m * (2 + size + 2 * size * graph.directed) + 40 * n)
        try:
            if shortage(needed) is not None:
                state.step = None
            elif step == "pivot":
                kept, reach = _by_pivot(graph, threads, search)
                state.shorter = _with(graph, kept, FEWER, threads)
                _try_short_searches(state, reach)
            elif step == "trial":
                state.cost, left = _tried(state.shorter or graph, state.reach)
                state.step = "searches" if left <= _MUCH_FEWER else None
            else:
                before = state.shorter or graph
                kept = np.ones(before.n_edges, np.uint8)
                both_ways = not graph.directed
                _cpu.drop_by_searches(*_parts(before), state.reach, None, both_ways, kept, threads)
                state.shorter = _with(before, kept, _MUCH_FEWER, threads) or state.shorter
                state.step = None
        except MemoryError:  # the search itself may still fit
            state.step = None
        state.spent = 0.0
        if state.step is None:
            state.reach = None


def _try_short_searches(state: _State, reach: NDArray[np.float64] | None) -> None:
    """Let short searches from a few vertices be the next step."""
    state.step, state.cost, state.sources = "trial", _TRIAL_SECONDS, _MANY_SOURCES
    state.reach, state.spent = reach, 0.0


def _most_over_pivot(graph: Graph, found: NDArray[Any]) -> float:
    """Return a bound on the share of edges that are longer than a path over the pivot.

    By the triangle inequality, distances from any source bound those to the pivot and from it. The
    share is that of a sample.
    """
    m, unreached = graph.n_edges, unreached_value(found.dtype)
    edges = np.arange(0, m, max(1, m // min(_EDGES_TRIED, 1 + m // _LOOKED)))
    tails = np.searchsorted(graph.indptr, edges, side="right") - 1
    ends = np.stack([tails, graph.indices[edges]])
    pivot = found[graph.widest_vertex]
    if pivot == unreached:
        return 1.0  # nothing is known of those distances
    beyond = np.where(found[ends] == unreached, np.inf, found[ends].astype(np.float64)) - pivot
    to, away = np.abs(beyond) if not graph.directed else np.maximum([-beyond[0], beyond[1]], 0)
    return float(np.mean(graph.effective_weights[edges] > to + away))


def _by_pivot(
    graph: Graph, threads: int, search: Search
) -> tuple[NDArray[np.uint8], NDArray[np.float64] | None]:
    """Return whether the path over a hub is no shorter than each edge, and bounds on paths."""
    pivot, trees = graph.widest_vertex, graph.weight_dtype == np.float32
    found = other = search(graph, pivot, threads, trees)
    if graph.directed:
        if graph.weight_dtype.kind == "i" and _most_over_pivot(graph, found[0]) < _FEW_NEAR:
            return np.ones(graph.n_edges, np.uint8), None
        other = search(_backwards(graph), pivot, threads, trees)
    away, back = found[0], other[0]
    error, reach = 0.0, _reach_over(graph, away, back)
    if reach is not None:
        edges = sum(len(back) if tree is None else _longest(tree) for _, tree in (found, other))
        error = relative_error(graph.weight_dtype, edges)
    kept = np.ones(graph.n_edges, np.uint8)
    _cpu.drop_by_pivot(*_parts(graph), back, away, reach, error, kept, threads)
    return kept, reach


def _reach_over(
    graph: Graph, away: NDArray[Any], back: NDArray[Any] | None
) -> NDArray[np.float64] | None:
    """Return bounds on the lengths of paths to each vertex, for floats.

    A path may lead over a vertex from which and, if given, to which the distances are known.
    """
    if graph.weight_dtype.kind != "f":
        return None
    if back is None:
        return np.full(len(away), graph._path_bound)
    reaches = back != unreached_value(back.dtype)
    far = float(back.max(initial=0, where=reaches))
    # What leads to a vertex that does not reach the other one need not reach it either.
    reach = np.where(reaches, far + away.astype(np.float64), np.inf)
    return np.minimum(reach, graph._path_bound)


def _tried(graph: Graph, reach: NDArray[np.float64] | None) -> tuple[float, float]:
    """Return the seconds of short searches from all vertices, and the share of edges left by some.

    One worker's seconds, from a sample of the vertices.
    """
    step = max(1, graph.n_vertices // _SAMPLE)
    tails = np.arange(0, graph.n_vertices, step, dtype=np.int32)
    kept = np.ones(graph.n_edges, np.uint8)
    began = time.perf_counter()
    _cpu.drop_by_searches(*_parts(graph), reach, tails, not graph.directed, kept, 1)
    seconds = time.perf_counter() - began
    edges = int((graph.indptr[tails + 1] - graph.indptr[tails]).sum())
    dropped = graph.n_edges - np.count_nonzero(kept)
    return seconds * step, 1 - dropped / max(edges, 1)


def _with(graph: Graph, kept: NDArray[np.uint8], most: float, threads: int) -> Graph | None:
    """Return the graph with some edges, or None if they are more than a share of all."""
    if np.count_nonzero(kept) > most * graph.n_edges:
        return None
    indptr = np.zeros(graph.n_vertices + 1, np.int32)
    _cpu.kept_per_row(graph.indptr, kept, indptr[1:], threads)
    left = int(np.cumsum(indptr, out=indptr)[-1])
    indices, weights = np.empty(left, np.int32), np.empty(left, graph.weight_dtype)
    _cpu.keep_edges(*_parts(graph), kept, indptr, indices, weights, threads)
    arrays = HostArrays(frozen(indptr), frozen(indices), *checked_weights(frozen(weights), left))
    return Graph.from_checked(arrays, directed=graph.directed)


def _parts(graph: Graph) -> tuple[Any, Any, Any]:
    return graph.indptr, graph.indices, graph.weights


def _backwards(graph: Graph) -> Graph:
    """Return the graph with every edge reversed, which is not kept unless it was."""
    if graph.has_transpose:
        return graph.transpose()
    arrays = HostArrays(graph.indptr, graph.indices, graph.weights, graph._scan)
    return Graph.from_checked(arrays.transposed(graph.view))


def _longest(before: NDArray[Any]) -> int:
    """Return a bound on the edges of the longest path of a tree, less than twice their number."""
    above = np.where(before < 0, np.arange(len(before), dtype=before.dtype), before)
    edges = 1
    while True:
        twice = above[above]
        if np.array_equal(twice, above):
            return edges
        above, edges = twice, 2 * edges
