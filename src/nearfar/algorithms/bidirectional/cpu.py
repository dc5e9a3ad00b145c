"""Paths and distances between two vertices by searches from both ends."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from nearfar import _cpu
from nearfar.graph.graph import Graph
from nearfar.graph.slots import Slot

#: Reason of the answer in statistics.
REASON = "searches from both ends of a pair"
#: Least and greatest share of the edges after which a side gives up, besides a few edges. Each time
#: it gives up halves the share for the graph's next pair, and each path found doubles it.
_SHARES = (1 / 2048, 1 / 32)
_FEW = 2048
_SHARE: Slot[float] = Slot("share of the edges for a pair")
#: Whether a path in a directed graph was requested before: the second request repays the transpose.
_ASKED: Slot[bool] = Slot("asked for a pair")
#: Number of pairs that are tried first; time per edge relative to a search from a source.
_TRIED = 16
_PER_EDGE = 8
_BLOCK = 1 << 14  # pairs between two reports of progress


class PathBetween(NamedTuple):
    """Vertices of a shortest path (none: there is no path within the limit), length, counters."""

    vertices: list[int]
    length: Any
    stats: dict[str, Any]


def path_between(
    graph: Graph, source: int, target: int, limit: float | None = None
) -> PathBetween | None:
    """Return a shortest path, or None if another search is to run.

    O(r log r) for r vertices and edges that both searches reach; the first call on a directed graph
    makes none, the second one makes its transpose.
    """
    if graph.n_negative:
        return None
    if not graph.has_transpose and _ASKED.get(graph) is None:
        _ASKED.put(graph, True)
        return None
    began = time.perf_counter()
    least, most = _SHARES
    share = _SHARE.get(graph) or most
    budget = int(share * graph.n_edges) + _FEW
    found: Any = _cpu.path_between(
        graph.view, graph.transpose().view, source, target, limit, _least_weight(graph), budget
    )
    share = max(share / 2, least) if found is None else min(2 * share, most)
    _SHARE.put(graph, share)
    if found is None:
        return None
    vertices, length, settled, edges = found
    stats = {
        "vertices_processed": settled,
        "edges_relaxed": edges,
        "seconds": time.perf_counter() - began,
        "workers": 1,
        "engine": "bidirectional@cpu",
        "reason": REASON,
    }
    return PathBetween(vertices.tolist(), length, stats)


class PairDistances(NamedTuple):
    """Distances of pairs, the positions of those that another search is to find, and counters."""

    distances: NDArray[Any]
    left: NDArray[np.int64]
    stats: dict[str, Any]


def distances_between(
    graph: Graph,
    sources: NDArray[np.int64],
    targets: NDArray[np.int64],
    limit: float | None,
    threads: int,
    progress: Callable[[float, float], None] | None = None,
) -> PairDistances | None:
    """Return distances of pairs, or None if searches from the sources read fewer edges.

    A few pairs are tried first and show what both ends reach.
    """
    rows = len(np.unique(sources))
    if not rows or graph.n_negative or (rows < _TRIED and not graph.has_transpose):
        return None
    began = time.perf_counter()
    back, least = graph.transpose().view, _least_weight(graph)
    budget = int(_SHARES[1] * graph.n_edges) + _FEW
    distances = np.empty(len(sources), graph.weight_dtype)
    given_up = np.ones(len(sources), np.uint8)
    stats: dict[str, Any] = {"vertices_processed": 0, "edges_relaxed": 0}

    def solve(part: NDArray[np.int64]) -> int:
        found, gave_up = distances[part], given_up[part]
        pairs = sources[part], targets[part]
        counts: Any = _cpu.distances_between(
            graph.view, back, *pairs, limit, least, budget, threads, found, gave_up
        )
        settled, edges = counts
        distances[part], given_up[part] = found, gave_up
        stats["vertices_processed"] += settled
        stats["edges_relaxed"] += edges
        return int(edges)

    step = -(-len(sources) // _TRIED)
    tried = np.arange(step // 2, len(sources), step)
    edges = solve(tried)
    done = len(tried) - int(given_up[tried].sum())
    if 4 * done < 3 * len(tried):
        return None
    if _PER_EDGE * len(sources) * edges / done > rows * graph.n_edges:
        return None
    rest = np.delete(np.arange(len(sources)), tried)
    for first in range(0, max(len(rest), 1), _BLOCK):
        solve(rest[first : first + _BLOCK])
        if progress is not None:
            progress(len(tried) + min(first + _BLOCK, len(rest)), len(sources))
    stats.update(seconds=time.perf_counter() - began, workers=threads, reason=REASON)
    return PairDistances(distances, np.flatnonzero(given_up), stats)


def _least_weight(graph: Graph) -> float:
    return float(min(graph.min_weight, 2**53))  # exact as float64
