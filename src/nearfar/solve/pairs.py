"""Distances of pairs by one table, by walks or labels on a prepared graph, or by searches.

One method is chosen for all pairs of a call: walks if the graph is prepared, or if preparing it
within the call and walking is faster than one search per source; searches from both ends of each
pair if sample pairs show that these read fewer edges; a table if the pairs fill much of it;
otherwise searches, for some sources at a time.
"""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Iterable
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from nearfar.algorithms.bidirectional.cpu import distances_between
from nearfar.choose.ranking import rank
from nearfar.errors import DistanceOverflowError
from nearfar.graph.dtypes import unreached_value
from nearfar.graph.facts import Facts
from nearfar.graph.graph import Graph
from nearfar.graph.same_distances import backbone
from nearfar.graph.saturation import narrowed, widened
from nearfar.options import Device, check_limit
from nearfar.prepared.cpu.labels import many_pair_distances
from nearfar.prepared.cpu.pairs import pair_indices
from nearfar.prepared.first import can_be_prepared, cost_of_preparing, made_ready
from nearfar.prepared.guess import Guess
from nearfar.prepared.prepared import Prepared
from nearfar.registry import Declined, Request
from nearfar.solve.arrays import mask_beyond
from nearfar.solve.one import WALKED
from nearfar.solve.steps.plan import graph_to_search
from nearfar.solve.steps.request import make_request
from nearfar.system.devices import runtime
from nearfar.system.threads import check_threads

#: Entries of a table per requested pair up to which a table is faster than walks or labels.
_FILLED = 64
_MOST_TABLE = 2**30  # bytes of the table, if ``memory`` is None
_FEW = 1024  # pairs of a prepared graph below which walks are faster than any table
#: Sources per block of searches, whose columns are the targets of these sources only.
_BLOCK = 256
_BY_LABELS = "prepared: labels of all vertices, computed for these pairs"
#: Arguments that walks support; all others require searches.
_WALKS_TAKE = frozenset({"threads", "stats", "limit", "devices", "memory", "block"})


class _Pairs(NamedTuple):
    """Pairs of vertex indices as entries of a table of distinct rows and columns."""

    starts: NDArray[np.int64]
    ends: NDArray[np.int64]
    rows: NDArray[np.int64]
    columns: NDArray[np.int64]
    row_of: NDArray[np.intp]
    column_of: NDArray[np.intp]

    @classmethod
    def of(cls, starts: NDArray[np.int64], ends: NDArray[np.int64]) -> _Pairs:
        rows, row_of = np.unique(starts, return_inverse=True)
        columns, column_of = np.unique(ends, return_inverse=True)
        return cls(starts, ends, rows, columns, row_of, column_of)

    def fill_a_table(self, memory: int | None) -> bool:
        """Return whether the pairs fill much of the table of all rows and columns."""
        size = len(self.rows) * len(self.columns)
        most = _MOST_TABLE if memory is None else memory // 4
        return size <= _FILLED * len(self.starts) and 8 * size <= most


class _Call(NamedTuple):
    """Arguments of a call, and the function that computes tables."""

    table: Callable[..., Any]
    device: Device
    progress: Callable[[float, float], None] | None
    stats: dict[str, Any]
    arguments: dict[str, Any]


def pair_distances(
    table: Callable[..., Any],
    graph: Graph,
    pairs: Iterable[tuple[Any, Any]],
    *,
    device: Device = "auto",
    progress: Callable[[float, float], None] | None = None,
    stats: dict[str, Any] | None = None,
    **arguments: Any,
) -> Any:
    """Return a vector with the distances of (source, target) pairs."""
    device = "cuda" if device == "gpu" else device
    began = time.perf_counter()
    stats = {} if stats is None else stats
    call = _Call(table, device, progress, stats, arguments)
    simple = {n for n, value in arguments.items() if value not in (None, "auto")} <= _WALKS_TAKE
    limit, devices, memory = (arguments.get(name) for name in ("limit", "devices", "memory"))
    on_gpu = device == "cuda" or devices is not None or runtime.is_device_array(pairs)
    ready = graph if isinstance(graph, Prepared) and simple else None
    if ready is not None and on_gpu:
        workers = arguments.get("threads")
        found = ready.distances_of_pairs(pairs, workers, device=device, devices=devices)
        stats.update(pairs_by="walks", reason=WALKED)
        return _finished(graph, found, limit, stats, began)
    entries = _Pairs.of(*pair_indices(graph, pairs))
    fill = entries.fill_a_table(memory)
    on_host = simple and not on_gpu and not graph.on_device
    if ready is None and on_host and not fill:
        ready = _prepared_for(call, graph, entries)
    if ready is None or (fill and len(entries.starts) >= _FEW):
        found = None
        if ready is None and on_host and memory is None:
            found = _from_both_ends(call, graph, entries)
        if found is None:
            found = _searched(call, graph, entries, fill)
        return narrowed(found, graph.weight_dtype)
    threads = check_threads(arguments.get("threads"))
    found = many_pair_distances(ready, entries.starts, entries.ends, threads, memory, stats)
    reason = _BY_LABELS if stats["pairs_by"] == "labels" else WALKED
    within = "; prepared within this call" if "prepare_seconds" in stats else ""
    stats["reason"] = reason + within
    if progress is not None:
        progress(len(entries.rows), len(entries.rows))
    return _finished(graph, found, limit, stats, began)


def _finished(graph: Graph, found: Any, limit: Any, stats: dict[str, Any], began: float) -> Any:
    """Mask distances beyond the limit, and return them in the shortest dtype that fits."""
    found = mask_beyond(graph, found, check_limit(limit, graph.weight_dtype))
    stats["seconds"] = time.perf_counter() - began
    return narrowed(found, graph.weight_dtype)


def _prepared_for(call: _Call, graph: Graph, entries: _Pairs) -> Prepared | None:
    """Return the prepared graph if walks repay preparing it, else None."""
    threads, limit, memory = map(call.arguments.get, ("threads", "limit", "memory"))
    given: dict[str, Any] = {"device": call.device, "threads": threads, "limit": limit}
    request = make_request(graph, "batch", entries.rows, targets=entries.columns, **given)
    count = len(entries.starts)
    if graph.n_negative or memory is not None or can_be_prepared(graph, request) is not True:
        return None
    choices = rank(graph, request)
    searches = choices[0].seconds if choices else math.inf

    def walks(facts: Facts, request: Request, prepared: Prepared) -> float:
        return count * _walk_seconds(facts)

    def guessed(facts: Facts, request: Request, found: Guess) -> tuple[float, float]:
        return found.weights, count * _walk_seconds(facts)

    cost = cost_of_preparing(Facts(graph), request, searches, walks, guessed, pairs=True)
    if cost is None or cost.seconds >= searches:
        return None
    try:
        ready, seconds = made_ready(graph, False, request.threads)
    except Declined:
        return None
    if seconds:
        call.stats["prepare_seconds"] = seconds
    return ready


def _from_both_ends(call: _Call, graph: Graph, asked: _Pairs) -> Any:
    """Return the distances by searches from both ends of each pair, or None if others are faster.

    Pairs whose searches give up are solved by searches from their sources.
    """
    bound = check_limit(call.arguments.get("limit"), graph.weight_dtype)
    threads = check_threads(call.arguments.get("threads"))
    searched = graph_to_search(graph, threads)
    found = distances_between(searched, asked.starts, asked.ends, bound, threads, call.progress)
    if found is None:
        return None
    distances, left, counters = found
    backbone.record(graph, counters["seconds"])
    if len(left):
        others = _Pairs.of(asked.starts[left], asked.ends[left])
        rest_call = call._replace(device="cpu", progress=None, stats={})
        rest = _searched(rest_call, graph, others, False)
        wide = np.promote_types(rest.dtype, distances.dtype)
        distances = widened(distances, wide)
        distances[left] = widened(rest, wide)
    call.stats.update(counters, pairs_by="both ends")
    return distances


def _walk_seconds(facts: Facts) -> float:
    """Estimate a walk on one core: 4.6 us on roads, 48 us on a grid of some 100,000 vertices."""
    return 1e-6 + 1e-7 * math.sqrt(facts.n)


def _searched(call: _Call, graph: Graph, entries: _Pairs, fill: bool) -> Any:
    """Return the pairs' entries of one table of all rows, or of one table per block of rows."""
    given = {"device": call.device, "stats": call.stats, **call.arguments}
    stay = graph.on_device and call.device != "cpu"
    here: Any = runtime.cupy() if stay else np
    dtype = graph.weight_dtype
    found = here.full(len(entries.starts), unreached_value(dtype), dtype=dtype)
    order = np.argsort(entries.row_of, kind="stable")
    step, first = len(entries.rows) if fill else _BLOCK, 0
    while first < len(entries.rows):
        low, high = np.searchsorted(entries.row_of[order], [first, first + step])
        mine = order[low:high]
        columns, column_of = np.unique(entries.ends[mine], return_inverse=True)
        part = entries.rows[first : first + step]
        names = graph.name_of(part), graph.name_of(columns)
        try:
            matrix = call.table(graph, names[0], targets=names[1], **given)
        except DistanceOverflowError:
            if step == 1:
                raise
            step, fill = 1, False  # a distance that does not fit may be of no requested pair
            continue
        matrix = runtime.upload(matrix) if stay else matrix
        if matrix.dtype != found.dtype:
            wide = np.promote_types(matrix.dtype, found.dtype)
            matrix, found = widened(matrix, wide), widened(found, wide)
        places = here.asarray(entries.row_of[mine] - first), here.asarray(column_of)
        found[here.asarray(mine)] = matrix[places]
        first += step
        if call.progress is not None:
            call.progress(min(first, len(entries.rows)), len(entries.rows))
    call.stats["pairs_by"] = "table" if fill else "searches"
    return found
