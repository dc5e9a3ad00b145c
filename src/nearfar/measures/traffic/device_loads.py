"""Loads of edges on CUDA: shortest-path trees by the batch methods, and one walk per pair."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from nearfar.cuda.device_graph import C_NAMES, device_graph
from nearfar.errors import OptionError, keyword
from nearfar.graph.graph import Graph
from nearfar.graph.slots import Slot
from nearfar.measures.centrality.device_shares import in_a_width_that_fits
from nearfar.measures.simple import require_device_size
from nearfar.solve.many import distances
from nearfar.system.devices import runtime

_DIRECTED: Slot[Graph] = Slot("directed")
_HIGH, _LOW = 61, 36  # bits of an amount's integer and fractional part
_MOST_PAIRS = 1 << 28  # number of low parts whose sum fits 64 bits
_SOURCES = 1024  # sources per batch


def device_loads(
    graph: Graph,
    sources: NDArray[np.int64],
    first: NDArray[np.int64],
    targets: NDArray[np.int64],
    amounts: NDArray[Any],
    progress: Callable[[float, float], None] | None = None,
) -> tuple[NDArray[Any], NDArray[np.float64]]:
    """Return the load of each edge, and the lengths of all paths."""
    require_device_size(graph)
    if len(amounts) > _MOST_PAIRS:
        raise OptionError(
            f"{keyword('device', 'cuda')} takes up to {_MOST_PAIRS} pairs, and the demand has "
            f"{len(amounts)}: "
            f"use {keyword('device', 'cpu')}"
        )
    if not len(amounts):
        return np.zeros(graph.n_edges, dtype=amounts.dtype), np.zeros(0)
    return in_a_width_that_fits(
        graph, lambda solved: _loads(solved, sources, first, targets, amounts, progress)
    )


def _loads(
    graph: Graph,
    sources: NDArray[np.int64],
    first: NDArray[np.int64],
    targets: NDArray[np.int64],
    amounts: NDArray[Any],
    progress: Callable[[float, float], None] | None,
) -> tuple[NDArray[Any], NDArray[np.float64]]:
    cp = runtime.cupy()
    n, m, k = graph.n_vertices, graph.n_edges, len(sources)
    directed = graph if graph.directed else _DIRECTED.of(graph, lambda: _directed(graph))
    reverse = device_graph(directed.transpose())
    high, low, scale = _parts(amounts)
    loads = [cp.zeros(m, dtype=np.uint64) for _ in range(1 if low is None else 2)]
    lengths = np.empty(len(amounts))
    row = n * (graph.weight_dtype.itemsize + 2 * graph.index_dtype.itemsize)
    runtime.require_memory(row)
    each = max(1, min(_SOURCES, k, int(runtime.memory()[0] // 2 // row)))
    macros = {**reverse.macros, "PREDECESSOR_T": C_NAMES[graph.index_dtype.name]}
    kernel = runtime.program("measures/traffic/tree_loads.cuh", macros).kernel("tree_loads")
    blocks = runtime.device().multiprocessors * 8
    for begin in range(0, k, each):
        end = min(begin + each, k)
        out = cp.empty((end - begin, n), dtype=graph.weight_dtype)
        found, before = distances(
            graph, sources[begin:end], device="cuda", predecessors=True, out=out
        )
        part = slice(int(first[begin]), int(first[end]))
        count = part.stop - part.start
        rows = np.repeat(np.arange(end - begin), np.diff(first[begin : end + 1]))
        there = cp.empty(count, dtype=np.float64)
        arguments = {
            "entering_offsets": reverse.offsets,
            "entering_edges": reverse.edges,
            "distances": found,
            "before": before,
            "row_of": cp.asarray(rows.astype(np.int32)),
            "targets": cp.asarray(targets[part].astype(np.int32)),
            "high": cp.asarray(high[part]),
            "low": None if low is None else cp.asarray(low[part]),
            "loads_high": loads[0],
            "loads_low": None if low is None else loads[1],
            "lengths": there,
            "pairs": np.int64(count),
            "n": np.int64(n),
        }
        kernel(blocks, 256, arguments)
        lengths[part] = runtime.download(there)
        if progress is not None:
            progress(end, k)
    total = np.empty(m, dtype=amounts.dtype)
    _, edges, _ = directed.entering()
    total[edges] = _joined([runtime.download(one) for one in loads], scale)
    return total, lengths


def _directed(graph: Graph) -> Graph:
    """Return a graph of the stored edges of an undirected graph, so that they can be reversed."""
    made: Graph = Graph.from_csr(
        graph.indptr, graph.indices, graph.weights, directed=True, copy=False
    )
    return made


def _parts(amounts: NDArray[Any]) -> tuple[NDArray[np.uint64], NDArray[np.uint64] | None, int]:
    """Split amounts into integers: a high part, a low part for floats, and the high part's scale.

    The sum of all high parts is at most 2^62. The low part ends at 2^-97 of the total demand.
    """
    if amounts.dtype.kind == "i":
        return amounts.astype(np.uint64), None, 0
    with np.errstate(over="ignore"):
        total = float(amounts.sum())
    if not np.isfinite(total):
        raise OptionError("the demand adds up to more than a float64 holds: scale it down")
    scale = _HIGH - int(np.frexp(total)[1])
    scaled = np.ldexp(amounts, scale)
    high = np.floor(scaled)
    low = np.rint(np.ldexp(scaled - high, _LOW))
    return high.astype(np.uint64), low.astype(np.uint64), scale


def _joined(parts: list[NDArray[np.uint64]], scale: int) -> NDArray[Any]:
    if len(parts) == 1:
        return parts[0].astype(np.int64)
    high, low = parts
    whole = (high + (low >> np.uint64(_LOW))).astype(np.float64)
    rest = (low & np.uint64((1 << _LOW) - 1)).astype(np.float64)
    return np.asarray(np.ldexp(whole, -scale) + np.ldexp(rest, -scale - _LOW))
