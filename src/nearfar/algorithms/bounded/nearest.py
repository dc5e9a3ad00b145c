"""Nearest of several sources for each vertex within a limit, by one bounded search."""

from __future__ import annotations

import time
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from nearfar import _cpu
from nearfar.graph.dtypes import unreached_value
from nearfar.graph.facts import within
from nearfar.graph.graph import Graph

_SAMPLED = 8  # sources sampled to estimate the vertices within the limit
_SHARE = 4  # beyond n / 4 expected vertices a search of the whole graph is cheaper


class NearestWithin(NamedTuple):
    """Distances, nearest sources (-1 for none), predecessors and counters."""

    distances: NDArray[Any]
    sources: NDArray[np.int64]
    predecessors: NDArray[Any]
    stats: dict[str, Any]


def nearest_within(
    graph: Graph, sources: NDArray[np.int64], limit: Any, tree: bool = True, threads: int = 1
) -> NearestWithin | None:
    """Return the nearest source of each vertex, or None if another search should run.

    Without ``tree``, sources and predecessors are empty.

    O(n + r log r) for r vertices within the limit and their edges.
    """
    if limit is None or not limit < unreached_value(graph.weight_dtype):
        return None
    step = -(-len(sources) // _SAMPLED)
    sample = tuple(int(v) for v in sources[step // 2 :: step])
    # A single sample that reaches this many vertices makes the mean too large.
    useful = graph.n_vertices * len(sample) // (_SHARE * len(sources)) + 1
    reach = within(graph, limit, sample, len(sources), useful)
    if reach is None:
        return None
    expected = int(min(reach[0] * len(sources), graph.n_vertices))
    if expected * _SHARE > graph.n_vertices:
        return None
    began = time.perf_counter()
    n = graph.n_vertices
    distances = np.empty(n, dtype=graph.weight_dtype)
    places = np.empty(n if tree else 0, dtype=np.int64)
    before = np.empty(n if tree else 0, dtype=graph.vertex_dtype)
    reached: Any = _cpu.bounded_nearest(
        graph.view,
        sources,
        limit,
        expected,
        distances,
        places if tree else None,
        before if tree else None,
        threads,
    )
    if reached is None:
        return None
    stats = {
        "engine": "bounded@cpu",
        "reason": f"one search within the limit, of about {reach[0]:,.0f} vertices per source",
        "vertices_processed": reached,
        "seconds": time.perf_counter() - began,
        "workers": 1,
    }
    return NearestWithin(distances, places, before, stats)
