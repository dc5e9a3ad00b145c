"""The k nearest of several sources for every vertex.

Three methods give the same answer: lists of k entries that are passed up and down the elimination
tree of a prepared graph; one search in which up to k sources settle every vertex; and one row per
source, for few sources and for requests that the other two do not support.
"""

from __future__ import annotations

import time
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from nearfar import _cpu
from nearfar.answer.frames import nearest_frame
from nearfar.cpu.costs import bucket_search, heap_search
from nearfar.errors import OutOfMemoryError, keyword
from nearfar.graph.dtypes import unreached_value
from nearfar.graph.facts import Facts
from nearfar.graph.graph import Graph
from nearfar.graph.same_distances import backbone
from nearfar.graph.saturation import narrowed, widened
from nearfar.graph.turns import TurnGraph
from nearfar.options import check_limit
from nearfar.prepared.prepared import Prepared
from nearfar.solve.arrays import external_names, mask_beyond
from nearfar.solve.many import distances
from nearfar.solve.steps.plan import graph_to_search
from nearfar.solve.steps.request import check_count, check_stats
from nearfar.system.devices import runtime
from nearfar.system.devices.arrays import to_host
from nearfar.system.memory import empty, shortage
from nearfar.system.threads import check_threads

_ROWS = 1 << 26  # bytes of rows merged at a time
#: Seconds before the first row; time of a row, relative to a search with buckets, and of a label,
#: relative to a search with a heap.
_BEGUN, _ROW, _LISTED = 5e-4, 1.7, 1.3


class Nearest(NamedTuple):
    """Nearest of several sources for every vertex.

    Attributes
    ----------
    distances : array, shape (n,), or (n, k) with ``k=``
        Distance from the nearest source, as in :func:`nearfar.sssp`; with ``k=`` from the k nearest
        in ascending order, padded with unreached.
    sources : array of the same shape
        Nearest source, -1 for unreached vertices. If the graph has names, these are returned, as
        objects with None if a vertex is unreached.
    predecessors : int array, shape (n,), or None
        Vertex indices, -1 for sources and unreached vertices; only if they were requested.
    """

    distances: Any
    sources: Any
    predecessors: Any = None

    def to_frame(self, graph: Graph | TurnGraph, library: str | None = None) -> Any:
        """Return a table with one row per vertex, or with ``k=`` one row per vertex and rank.

        Parameters
        ----------
        graph : Graph or TurnGraph
            Graph that was searched, which has the names of the vertices.
        library : {"pandas", "polars"} or None
            Library of the table; None uses the first that is installed.

        Returns
        -------
        DataFrame
            Table with the columns ``vertex``, ``distance`` and ``source``, and with ``k=`` the
            rank ``place``, from 1. Unreached vertices have missing values, or with ``k=`` no row.

        Raises
        ------
        OptionError
            For an unknown library, and for a graph with other vertices.
        MissingDependencyError
            If it is not installed.
        """
        return nearest_frame(graph, to_host(self.distances), to_host(self.sources), library)


def k_nearest(
    graph: Graph,
    sources: NDArray[np.int64],
    k: Any,
    given: dict[str, Any],
    stats: dict[str, Any] | None,
) -> Nearest:
    """Return the k nearest of the sources for every vertex; see :func:`nearfar.nearest`."""
    k = check_count(keyword("k"), k, 1)
    check_stats(stats)
    needed = 2 * 16 * k * graph.n_vertices
    if (free := shortage(needed)) is not None:
        raise OutOfMemoryError(needed, free, f"{k} sources per vertex: use a smaller k")
    began = time.perf_counter()
    plain = given["method"] == "auto" and given["device"] != "cuda" and not graph.on_device
    plain = plain and given.keys() <= {"method", "device", "threads", "limit"}
    found = None
    if plain and not graph.n_negative and not _rows_are_faster(graph, len(sources), k, given):
        found = _by_lists(graph, sources, k, given)
    if found is None:
        found = _by_rows(graph, sources, k, given)
    values, nearest, reason = found
    if stats is not None:
        stats.update(reason=reason, seconds=time.perf_counter() - began)
    if graph.on_device:
        values, nearest = runtime.upload(values), runtime.upload(nearest)
    return Nearest(values, external_names(graph, nearest))


class _Found(NamedTuple):
    distances: NDArray[Any]
    sources: NDArray[np.int64]
    reason: str


def _rows_are_faster(graph: Graph, sources: int, k: int, given: dict[str, Any]) -> bool:
    """Estimate whether searches from all sources take less time than k labels per vertex."""
    if isinstance(graph, Prepared) or given["limit"] is not None:
        return False
    facts, workers = Facts(graph), min(check_threads(given["threads"]), sources)
    row = _ROW / workers * bucket_search(facts)
    return _BEGUN + sources * row < _LISTED * k * heap_search(facts)


def _by_lists(
    graph: Graph, sources: NDArray[np.int64], k: int, given: dict[str, Any]
) -> _Found | None:
    """Solve by lists on a prepared graph or by one search; None if a sum does not fit."""
    dtype, threads = graph.weight_dtype, check_threads(given["threads"])
    bound = check_limit(given["limit"], dtype)
    shape = graph.n_vertices, k
    found = empty(shape, np.int64, threads)
    ready = graph if isinstance(graph, Prepared) else None
    lists = ready is not None and not (ready.adds_floats or ready.beyond_arcs)
    if ready is not None and lists and (wide := ready.fitting()):
        values = np.empty(shape, dtype=wide.weight_dtype)
        _cpu.prepared_nearest(wide.metric_view, sources, k, values, found)
        values = narrowed(mask_beyond(graph, values, bound), dtype)
        found[values == unreached_value(values.dtype)] = -1
        return _Found(values, found, "prepared: lists of k up and down the elimination tree")
    searched = graph_to_search(graph, 1)
    wider = np.dtype(np.int64) if dtype.kind == "i" else dtype
    began = time.perf_counter()
    for kind in dict.fromkeys((dtype, wider)):
        values = empty(shape, kind, threads)
        if not _cpu.k_nearest(searched.view, sources, k, bound, values, found, threads):
            backbone.record(graph, time.perf_counter() - began)
            reason = f"one search that settles a vertex {'once' if k == 1 else f'{k} times'}"
            return _Found(narrowed(values, dtype), found, reason)
    return None


def _by_rows(graph: Graph, sources: NDArray[np.int64], k: int, given: dict[str, Any]) -> _Found:
    """Solve by one row per source, merging some rows at a time."""
    n, threads, stats = graph.n_vertices, check_threads(given["threads"]), dict[str, Any]()
    found = empty((n, k), np.int64, threads)
    values = np.empty((0, k), graph.weight_dtype)
    step = max(1, _ROWS // (8 * max(n, 1)))
    for first in range(0, len(sources), step):
        part = sources[first : first + step]
        rows = to_host(distances(graph, graph.name_of(part), stats=stats, **given))
        if first == 0:
            values = empty((n, k), rows.dtype, threads)
        wide = np.result_type(rows.dtype, values.dtype)
        rows, values = widened(rows, wide), widened(values, wide)
        _cpu.merge_nearest(rows, part, k, first == 0, values, found, threads)
    reason = f"one row per source: {stats.get('reason', '')}"
    return _Found(narrowed(values, graph.weight_dtype), found, reason)
