"""The path between two vertices by searches from both ends, on one core."""

from __future__ import annotations

import time
from typing import Any, NamedTuple

from nearfar import _cpu
from nearfar.graph.graph import Graph
from nearfar.graph.slots import Slot

ENGINE = "bidirectional@cpu"
_REASON = "one pair: searches from both ends"
# : A side gives up after this share of the edges, and a few more. Each time that it does halves the
# : share for the graph's next pair, and each path found doubles it, within these bounds.
_SHARES = (1 / 2048, 1 / 32)
_FEW = 2048
_SHARE: Slot[float] = Slot("share of the edges for a pair")
# : Whether a directed graph was asked for a pair: the second time repays its transpose.
_ASKED: Slot[bool] = Slot("asked for a pair")


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
    least_weight = min(graph.min_weight, 2**53)  # exact as float64
    budget = int(share * graph.n_edges) + _FEW
    found: Any = _cpu.path_between(
        graph.view, graph.transpose().view, source, target, limit, least_weight, budget
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
        "engine": ENGINE,
        "reason": _REASON,
    }
    return PathBetween(vertices.tolist(), length, stats)
