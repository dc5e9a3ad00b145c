"""Sorting of rows by weight on the device, once per graph and in place."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from nearfar.cuda.device_graph import DeviceGraph, device_graph
from nearfar.graph.graph import Graph
from nearfar.graph.slots import Slot
from nearfar.system.devices import runtime

_SORTED_ROWS: Slot[SortedRows] = Slot("sorted rows")

SEGMENT = 512  # edges; longer rows are sorted in pieces of this size
_THREADS = 256  # kSortThreads of sort_rows.cuh


@dataclass(frozen=True)
class SortedRows:
    """Device graph whose rows are sorted by weight, and results of the sort."""

    # graph with edges sorted in place; other users of it do not depend on the order
    device: DeviceGraph
    entered: Any  # cupy array of uint8, shape (n,); 1 for vertices with an in-edge
    n_entered: int  # number of these vertices
    seconds: float  # device time of the sort


def sorted_rows(graph: Graph) -> SortedRows:
    """Return a weighted graph with sorted rows on the current device, cached. O(m log^2)."""
    device = device_graph(graph)
    return _SORTED_ROWS.of(graph, lambda: _sort(device), device.key)


def rows_are_sorted(graph: Graph, device: DeviceGraph) -> bool:
    """Return whether :func:`sorted_rows` was called before, so that the edges are sorted."""
    return _SORTED_ROWS.filled(graph, device.key)


def _sort(device: DeviceGraph) -> SortedRows:
    cp = runtime.cupy()
    runtime.require_memory(device.n)
    entered = cp.zeros(max(device.n, 1), dtype=np.uint8)
    seconds = 0.0
    if device.m:
        timer = runtime.Timer().start()
        sort_in_place(device, entered)
        seconds = timer.stop().seconds
    # On the host, since CuPy would take seconds to compile a reduction.
    n_entered = int(np.count_nonzero(runtime.download(entered)))
    return SortedRows(device, entered, n_entered, seconds)


def sort_in_place(device: DeviceGraph, entered: Any) -> None:
    """Sort rows by weight in pieces, and mark the targets of edges in ``entered``."""
    program = runtime.program("cuda/graph/sort_rows.cuh", {**device.macros, "SEGMENT": SEGMENT})
    arguments = {"offsets": device.offsets, "edges": device.edges, "entered": entered}
    arguments |= {"n": np.int64(device.n), "m": np.int64(device.m)}
    program.kernel("sort_rows")(-(-device.m // SEGMENT), _THREADS, arguments)
