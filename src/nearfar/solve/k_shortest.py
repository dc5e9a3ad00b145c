"""The k shortest paths without repeated vertices between two vertices.

Yen's method (1971) with Lawler's rule (1972): the next path leaves an earlier one at some vertex,
the spur, by an edge that no earlier path with the same beginning has used at that vertex. One
search per spur runs with the vertices of the beginning removed. The searches are goal-directed: the
distance to the target in the whole graph, computed once on the transpose, never overestimates the
remaining distance when vertices are removed. A search therefore scans little more than the path it
finds, and no vertices that cannot reach the target. With negative weights the same potentials make
every step non-negative. The loop is in ``cpu/search/k_shortest.cpp``.

Between vertices near each other in a large graph, it runs on the subgraph of the vertices that are
as near to the target as the longest of the paths is long.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from operator import itemgetter
from typing import Any

import numpy as np
from numpy.typing import NDArray

from nearfar import _cpu
from nearfar.algorithms.bidirectional.cpu import path_between
from nearfar.answer.paths import lightest_edges
from nearfar.errors import NegativeCycleError, OptionError, keyword, quoted
from nearfar.graph.dtypes import unreached_value
from nearfar.graph.graph import Graph
from nearfar.graph.like import GraphLike
from nearfar.graph.saturation import FARTHEST, may_saturate, widened, widest
from nearfar.graph.turns import TurnGraph
from nearfar.options import check_limit
from nearfar.prepared import is_prepared
from nearfar.solve.one import sssp
from nearfar.solve.steps.request import as_graph, check_count

_BY = itemgetter(1)  # length

_SMALL = 1 << 13  # vertices and edges that are searched in less time than a method is chosen in
_LARGE = 1 << 17  # edges of a graph in which paths between vertices near each other are looked for
#: Lengths up to which these are found, relative to the shortest path, and the part of such a length
#: up to which no rounding of floats loses one.
_REACHES, _CERTAIN = (1.25, 2.0), 0.9
#: Greatest number of vertices near the target, relative to those that searches from both ends
#: settle and besides a few, and how many times as many the graph has at least.
_GROWTH, _FEW, _ROOM = 16, 1 << 10, 8


def k_shortest_paths(
    graph: GraphLike,
    source: Any,
    target: Any,
    k: int,
    *,
    weight: str | Callable[[Any, Any, Any], Any] | None = "weight",
    limit: float | None = None,
    stats: dict[str, Any] | None = None,
    cycles_anywhere: bool = False,
) -> list[tuple[list[Any], Any]]:
    """Return the k shortest simple paths, shortest first.

    Parameters
    ----------
    graph : graph_like or TurnGraph
        Graph with any weights, but no negative cycle from which the target is reached.
    source, target : int or vertex name
    k : int
        Maximum number of paths, at least 0.
    weight, stats
        As for :func:`nearfar.sssp`.
    limit : number or None
        Inclusive limit, at least 0; longer paths are omitted.
    cycles_anywhere : bool
        Whether to refuse a negative cycle anywhere in the graph, as SciPy does.

    Returns
    -------
    list of (path, length)
        Paths and their lengths in ascending order; ``path`` has external names, source first. Paths
        differ in their vertices, since of parallel edges only the lightest is used. Paths of equal
        length have the same order in every run. With turns, paths differ in their edges, and a path
        may visit a vertex twice but not an edge.

    Raises
    ------
    NegativeCycleError, VertexError, OptionError
    DistanceOverflowError
        If one of the k paths, within the limit, is too long for 64 bits.

    Notes
    -----
    O(k n (m + n log n)) at worst; in practice each path takes about as many small searches as it
    has edges.

    Examples
    --------
    >>> import nearfar
    >>> g = nearfar.Graph.from_edges([0, 1, 0], [1, 2, 2], [4, 3, 9])
    >>> nearfar.k_shortest_paths(g, 0, 2, 5)
    [([0, 1, 2], 7), ([0, 2], 9)]
    """
    if isinstance(graph, TurnGraph):
        original, states = graph.original, graph.vertices
        begin = int(graph.starts[original.index_of(source, "source")])
        goal = int(graph.ends[original.index_of(target, "target")])
        found = k_shortest_paths(
            graph.graph, begin, goal, k, limit=limit, stats=stats, cycles_anywhere=cycles_anywhere
        )
        return [
            (original.name_of(states[_without_link(graph, path)]).tolist(), length)
            for path, length in found
        ]
    graph = as_graph(graph, weight)
    start, end = graph.index_of(source, "source"), graph.index_of(target, "target")
    k = check_count(keyword("k"), k, 0)
    if k >= 2**63:
        raise OptionError(f"{keyword('k')} is {quoted(k)}: give an integer of at least 0")
    bound = check_limit(limit, graph.weight_dtype)
    if cycles_anywhere and graph.n_negative:
        from nearfar.cpu.potentials import refuse_negative_cycle

        refuse_negative_cycle(graph)
    paths: Any = _near_target(graph, start, end, int(k), bound, stats)
    if paths is None:
        solved = widest(graph)  # the k-th path may be longer than any shortest path
        remaining = None if stats is not None else _remaining_of_small(solved, end)
        if remaining is None:
            remaining = _remaining(graph, solved, end, stats)
        paths = _cpu.k_shortest_paths(solved.view, remaining, start, end, int(k), bound is None)
    if graph.weight_dtype == np.float32:
        paths = sorted(((path, _sum_along(graph, path, length)) for path, length in paths), key=_BY)
    return [
        ([graph.name_of(v) for v in path], length)
        for path, length in paths
        if bound is None or length <= bound
    ]


def _near_target(
    graph: Graph, start: int, end: int, k: int, bound: Any, stats: dict[str, Any] | None
) -> list[tuple[list[int], Any]] | None:
    """Return the paths by searches among vertices near the target, or None if these are many.

    Paths up to some length lead only over vertices as near to the target as that.
    """
    if graph.n_edges < _LARGE or graph.on_device or is_prepared(graph) or not k:
        return None
    shortest = path_between(graph, start, end, bound)
    if shortest is None or _ROOM * shortest.stats["edges_relaxed"] > graph.n_edges:
        return None
    if not shortest.vertices:
        return []
    began = time.perf_counter()
    back, integers, goal = graph.transpose().view, graph.weight_dtype.kind == "i", np.array([end])
    # In random graphs balls grow so fast that a search of the whole graph takes less time.
    most = min(_GROWTH * shortest.stats["vertices_processed"] + _FEW, graph.n_vertices // _ROOM)
    for factor in _REACHES:
        reach = factor * float(shortest.length)
        if not 0 < reach < float(FARTHEST[graph.weight_dtype]):
            return None
        if _cpu.bounded_figures(back, goal, reach, most=most)[0][0] + 1 >= most:
            return None
        vertices = np.sort(_cpu.bounded_rows(back, goal, reach)[1]).astype(np.int64)
        part = graph.without_names().subgraph(vertices)
        first, last = (int(np.searchsorted(vertices, v)) for v in (start, end))
        solved = widest(part)
        remaining = _remaining(part, solved, last, None)
        found = _cpu.k_shortest_paths(solved.view, remaining, first, last, k, bound is None)
        certain = reach if integers else _CERTAIN * reach
        every = bound is not None and bound <= certain
        if every or (len(found) == k and found[-1][1] <= certain):
            break
    else:
        return None
    if stats is not None:
        seconds = shortest.stats["seconds"] + time.perf_counter() - began
        reason = f"searches among {len(vertices):,} vertices near the target"
        stats.update(shortest.stats, reason=reason, seconds=seconds)
    return [(vertices[path].tolist(), length) for path, length in found]


def _remaining(graph: Graph, solved: Graph, end: int, stats: dict[str, Any] | None) -> NDArray[Any]:
    """Return the distance from every vertex to the target."""
    # Shorter floats would round the remaining distance; sssp repeats integers that do not fit.
    back = (solved if graph.weight_dtype.kind == "f" else graph).transpose()
    # A vertex whose distance to the target exceeds 64 bits is on no path that fits 64 bits.
    lossy = not graph.n_negative and may_saturate(solved)
    most = FARTHEST[solved.weight_dtype]
    goal = back.name_of(end)
    try:
        distances = sssp(
            back, goal, limit=most if lossy else None, device="cpu", stats=stats
        )._host_distances
    except NegativeCycleError as error:  # found on the reversed graph
        raise NegativeCycleError(error.cycle[::-1], error.total) from None
    remaining: NDArray[Any] = widened(distances, solved.weight_dtype)
    if lossy:
        reachable = sssp(back.without_weights(), goal, device="cpu").reachable
        remaining = np.where(reachable, np.minimum(remaining, most), remaining)
    return remaining


def _remaining_of_small(graph: Graph, end: int) -> NDArray[Any] | None:
    """Return the same without a transpose and a choice of the method, which take longer; or None.

    Distances are computed in float64, so sums of integers have to be below 2**53.
    """
    n, kind = graph.n_vertices, graph.weight_dtype
    if n + graph.n_edges > _SMALL or (kind.kind == "i" and n * int(graph.max_weight) >= 2**53):
        return None
    weights = graph.effective_weights.astype(np.float64, copy=False)
    found, goal = np.empty(n), np.array([end], dtype=np.int64)
    if not _cpu.small_rows(
        graph.indptr, graph.indices, weights, "against", goal, False, None, found, None, None
    ):
        return None
    if kind.kind == "f":
        return found
    reached = np.isfinite(found)
    exact: NDArray[Any] = np.full(n, unreached_value(kind), dtype=kind)
    exact[reached] = found[reached]
    return exact


def _without_link(turns: TurnGraph, path: list[int]) -> list[int]:
    """Return a path in the searched graph without the link to the end of its last vertex."""
    linked = len(path) > 1 and turns.vertices[path[-2]] == turns.vertices[path[-1]]
    return path[:-1] if linked else path


def _sum_along(graph: Graph, path: list[int], exact: float) -> float:
    """Return the length as a search in float32 adds it, or ``exact`` if that overflows."""
    total = np.float32(0)
    with np.errstate(over="ignore"):
        for weight in graph.effective_weights[lightest_edges(graph, path)]:
            total = total + weight
    return float(total) if np.isfinite(total) else exact
