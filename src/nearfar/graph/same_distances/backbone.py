"""Graphs without edges that are longer than another path between their ends.

No shortest path contains such an edge, so every search finds the same distances without them. In
graphs with hubs or widely spread weights they are a third to nine tenths of all edges. Most exceed
the path over one hub, so that a search from it and to it finds them. That is done once the searches
of a graph have taken as long, and the shorter graph is kept if it has clearly fewer edges. The
graph that is left is close to the metric backbone [1]_.

References
----------
.. [1] Tiago Simas, Rion Brattig Correia and Luis M. Rocha. "The distance backbone of complex
   networks." Journal of Complex Networks, 9(6), 2021.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, field
from threading import Lock
from typing import Any

import numpy as np
from numpy.typing import NDArray

from nearfar import _cpu
from nearfar.graph.build import HostArrays, checked_weights
from nearfar.graph.dtypes import unreached_value
from nearfar.graph.given import frozen
from nearfar.graph.graph import Graph
from nearfar.graph.slots import Slot
from nearfar.system.memory import free_memory

MANY_EDGES = 1 << 12  # edges of graphs from which some may be left out
#: Distances from a vertex in the dtype of the weights, and predecessors or None.
Tree = tuple[NDArray[Any], NDArray[Any] | None]
#: A search from a vertex with some threads, with predecessors if the last argument is true.
Search = Callable[[Graph, int, int, bool], Tree]

_SECONDS = 2e-8  # of finding the edges and copying the others, per edge and vertex
_WORKERS = 4  # that speed this up
_BOTH_WAYS = 3  # times as long if edges have to be reversed first
_SEVERAL = 16  # sources per worker that take longer than finding the edges
_FEWER = 0.9  # relative number of edges up to which a shorter graph is kept
_SHARE = 4  # the copy may take one part in this many of the free memory
_SAFE = 4  # margin for errors of sums, of which half is needed
_SETTLED = 40  # searches on a GPU after which forms and widths have been compared


@dataclass(slots=True)
class _Times:
    """Seconds of the searches of a graph."""

    spent: float = 0.0
    #: Number and least seconds of searches on a GPU, without longer edges and with them.
    on_gpu: dict[bool, tuple[int, float]] = field(
        default_factory=lambda: {True: (0, math.inf), False: (0, math.inf)}
    )


_TIMES: Slot[_Times] = Slot("times of searches by edges")
_BACKBONE: Slot[Graph | None] = Slot("graph without longer edges")
_LOCK = Lock()  # a search that comes meanwhile does not wait


def decided(graph: Graph) -> bool:
    """Return whether it is known which graph to search."""
    if _BACKBONE.filled(graph):
        return True
    takes = not (graph.on_device or graph.n_negative or graph.has_equal_weights)
    if takes and graph.index_dtype == np.int32:
        return False
    _BACKBONE.put(graph, None)
    return True


def for_next(graph: Graph, sources: int, threads: int, search: Search) -> Graph:
    """Return the graph in which to search next, without longer edges once that is worth it."""
    if not decided(graph):
        ways = _BOTH_WAYS if graph.directed else 1
        times = _TIMES.get(graph)
        enough = _SECONDS * ways * (graph.n_edges + graph.n_vertices) / min(threads, _WORKERS)
        if sources < _SEVERAL * ways * threads and (times is None or times.spent < enough):
            return graph
        if _LOCK.locked():
            return graph
    return without_longer(graph, threads, search)


def without_longer(graph: Graph, threads: int, search: Search) -> Graph:
    """Return the graph without most of the longer edges, or the graph itself if they are few."""
    if not decided(graph):
        with _LOCK:
            _BACKBONE.of(graph, lambda: _found(graph, threads, search))
    return _BACKBONE.get(graph) or graph


def record(graph: Graph, seconds: float) -> None:
    """Record the time of some searches before it is decided in which graph to search."""
    _TIMES.of(graph, _Times).spent += seconds


def faster_on_gpu(graph: Graph) -> bool:
    """Return whether the next search on a GPU should leave out the longer edges.

    Fewer edges are not always faster there. Both graphs are searched in turns until settled.
    """
    on_gpu = _TIMES.of(graph, _Times).on_gpu
    (fewer, least), (all_edges, least_of_all) = on_gpu[True], on_gpu[False]
    if min(fewer, all_edges) < _SETTLED:
        return fewer <= all_edges
    return least < least_of_all


def record_on_gpu(graph: Graph, fewer: bool, seconds: float) -> None:
    """Record the time of a search of the whole graph on a GPU."""
    on_gpu = _TIMES.of(graph, _Times).on_gpu
    searches, least = on_gpu[fewer]
    on_gpu[fewer] = searches + 1, min(seconds, least)


def _found(graph: Graph, threads: int, search: Search) -> Graph | None:
    """Return the graph without most of the longer edges, or None if they are few."""
    n, m, size = graph.n_vertices, graph.n_edges, 4 + graph.weight_dtype.itemsize
    assert graph.weights is not None
    if _SHARE * (m * (2 + size + 2 * size * graph.directed) + 32 * n) > free_memory():
        return None
    pivot, trees = graph.widest_vertex, graph.weight_dtype == np.float32
    found = other = search(graph, pivot, threads, trees)
    if graph.directed:
        other = search(_backwards(graph), pivot, threads, trees)
    away, back = found[0], other[0]
    far = float(back.max(initial=0, where=back != unreached_value(back.dtype)))
    error = 0.0
    if graph.weight_dtype.kind == "f":
        edges = sum(n if tree is None else _longest(tree) for _, tree in (found, other))
        error = _SAFE * (edges + 4) * float(np.finfo(graph.weight_dtype).eps)
    kept, sizes = np.ones(m, np.uint8), np.empty(n, np.int32)
    parts = graph.indptr, graph.indices, graph.weights
    _cpu.drop_by_pivot(*parts, back, away, error, far, kept, sizes, threads)
    indptr = np.zeros(n + 1, np.int32)
    left = int(np.cumsum(sizes, out=indptr[1:])[-1])
    if left > _FEWER * m:
        return None
    indices, weights = np.empty(left, np.int32), np.empty(left, graph.weight_dtype)
    _cpu.keep_edges(*parts, kept, indptr, indices, weights, threads)
    arrays = HostArrays(frozen(indptr), frozen(indices), *checked_weights(frozen(weights), left))
    return Graph.from_checked(arrays, directed=graph.directed)


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
