"""Predecessors and masks of distances that lie on the device; see tight_edges.cuh."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from nearfar.cuda.device_graph import C_NAMES, device_graph
from nearfar.cuda.sorted_rows import SEGMENT, rows_are_sorted
from nearfar.errors import SolverError
from nearfar.graph.slots import Slot
from nearfar.system.devices import runtime
from nearfar.system.devices.structs import struct_dtype

if TYPE_CHECKING:
    from collections.abc import Sequence

    from nearfar.cuda.device_graph import DeviceGraph
    from nearfar.graph.graph import Graph

__all__ = ["device_predecessors", "mask_above"]

_THREADS = 256
_KERNELS = "cuda/tight_edges.cuh"
_PASS: Slot[_Pass] = Slot("predecessors")
_LEAST_SPAN, _TURNS = 512, 4  # edges a warp takes at a time; such turns per warp
_MOST_ROWS = 32_768  # of the grid's y
ROUNDS_BEYOND = 2  # the watchdog: a round takes at least one vertex


def _tally() -> np.dtype[Any]:
    return struct_dtype(_KERNELS, "Tally")


class _Pass:
    """The programs for one graph and form, and launches prepared for some number of rows."""

    def __init__(self, graph: Graph, device: DeviceGraph, is_sorted: bool) -> None:
        self.device = device
        self.narrow = device.weight_dtype.kind == "i"
        # Without weights that add nothing every vertex has a strictly nearer predecessor.
        self.counted = graph.has_zero_weight or not self.narrow
        macros = {
            **device.macros,
            "PULL": int(not graph.directed),
            "SORTED": int(is_sorted),
            "SIGNED": int(graph.n_negative > 0),
            "NARROW": int(self.narrow),
            "COUNTED": int(self.counted),
            "SEGMENT": SEGMENT,
        }
        program = runtime.program(_KERNELS, macros)
        self._start = program.kernel("tight_start")
        self._edges = program.kernel("tight_edges")
        self.levels = program.kernel("tight_levels")
        self.blocks = self._edges.resident_blocks(_THREADS)
        self.timer = runtime.Timer()
        self.forget()

    def forget(self) -> None:
        """Let the memory of many rows go."""
        self._rows = 0
        self.parts: list[tuple[int, Any, Any]] = []
        self.tallies: Any = None
        self.codes: Any = None

    def prepare(self, k: int) -> None:
        """Launches over k rows, kept while the next call has as many."""
        if k == self._rows:
            return
        self.forget()
        cp = runtime.cupy()
        device, null = self.device, np.uint64(0)
        n, m = np.int64(device.n), np.int64(device.m)
        self.tallies = cp.empty(k * _tally().itemsize, dtype=np.uint8)
        self.codes = cp.empty(k * device.n if self.narrow else 0, dtype=np.uint8)
        for first in range(0, k, _MOST_ROWS):
            many = min(k - first, _MOST_ROWS)
            tallies = self.tallies[first * _tally().itemsize :]
            codes = self.codes[first * device.n :] if self.narrow else None
            width = max(min(self.blocks, -(-device.n // _THREADS)) // many, 1)
            start = runtime.Launch(
                self._start, (width, many), _THREADS, (n, null, null, tallies, codes)
            )
            width = max(self.blocks // many, 1)
            turns = _TURNS * width * (_THREADS // 32)
            span = np.int64(min(max(_LEAST_SPAN, -(-device.m // turns)), 1 << 24))
            arrays = (device.offsets, device.edges, null, null, tallies, codes)
            edges = runtime.Launch(self._edges, (width, many), _THREADS, (n, m, *arrays, span))
            self.parts.append((first, start, edges))
        self._rows = k


def _pass(graph: Graph, device: DeviceGraph) -> _Pass:
    is_sorted = rows_are_sorted(graph, device)
    key = (runtime.device().ordinal, device.vertex_dtype, device.offset_dtype, is_sorted)
    return _PASS.of(graph, lambda: _Pass(graph, device, is_sorted), key, alone=True)


def device_predecessors(
    graph: Graph, sources: Sequence[int], distances: Any
) -> tuple[Any, dict[str, Any]]:
    """Predecessors from finished distances, without leaving the device.

    The same as :func:`nearfar.cpu.predecessors.tight_predecessors` gives on the host. O(n + m) work
    per row.

    Parameters
    ----------
    graph : Graph
        With weights of the distances' dtype.
    sources : sequence of int
        Vertex indices, one per row.
    distances : CuPy array, shape (n,) or (k, n)
        Exact distances, C-contiguous.

    Returns
    -------
    predecessors : CuPy array of the distances' shape, dtype of ``graph.indptr``
        -1 for sources and unreached vertices.
    stats : dict
        ``device_seconds``, and ``rows_by_levels``: rows in which edges that add nothing mattered.

    Raises
    ------
    OutOfMemoryError
        Before anything is allocated.
    SolverError
        If the watchdog's bound on rounds is reached.
    """
    cp = runtime.cupy()
    device = device_graph(graph)
    n, m, k = device.n, device.m, len(sources)
    advice = "ask for predecessors of fewer sources, or on the host: device='cpu'"
    each = n * (device.vertex_dtype.itemsize + 1) + _tally().itemsize
    runtime.require_memory(k * each, advice)
    made = _pass(graph, device)
    made.prepare(k)
    found = cp.empty((k, n), dtype=device.vertex_dtype)
    rows = distances.reshape(k, n)
    launches: list[runtime.Launch] = []
    for first, start, edges in made.parts:
        places = np.uint64(rows[first:].data.ptr), np.uint64(found[first:].data.ptr)
        start.set(1, places[0])
        start.set(2, places[1])
        launches.append(start)
        if m and not graph.n_negative:
            edges.set(4, places[0])
            edges.set(5, places[1])
            launches.append(edges)
    # One after the other: what the host does between two launches the device would wait for.
    made.timer.start()
    made.tallies.data.memset_async(0, made.tallies.nbytes)
    for launch in launches:
        launch()
    made.timer.stop()
    seconds = made.timer.seconds
    by_levels: list[int] = []
    if graph.n_negative:
        by_levels = list(range(k))
    elif made.counted:
        seen = made.tallies.get().view(_tally())
        by_levels = np.flatnonzero(seen["reached"] > seen["filled"] + 1).tolist()
    if by_levels and m:
        made.timer.start()
        for row in by_levels:
            _by_levels(made, device, int(sources[row]), rows[row], found[row])
        seconds += made.timer.stop().seconds
    wanted = graph.index_dtype
    if wanted != found.dtype:
        found = found.astype(wanted)
    if k > 1:
        made.forget()
    stats = {"device_seconds": seconds, "rows_by_levels": len(by_levels)}
    return found.reshape(distances.shape), stats


def _by_levels(
    made: _Pass, device: DeviceGraph, source: int, distance: Any, predecessor: Any
) -> None:
    """Give the vertices that are left their predecessors, level by level, in one launch."""
    cp = runtime.cupy()
    n = device.n
    runtime.require_memory(n * (4 + device.vertex_dtype.itemsize), "ask on the host: device='cpu'")
    kind = struct_dtype(_KERNELS, "LevelControl")
    control = cp.zeros(kind.itemsize, dtype=np.uint8)
    arguments = (np.int64(n), device.offsets, device.edges, distance, np.int64(source), predecessor)
    scratch = (cp.empty(n, dtype=np.int32), cp.empty(n, dtype=device.vertex_dtype), control)
    made.levels(
        runtime.device().multiprocessors,
        _THREADS,
        (*arguments, *scratch, np.int64(n + ROUNDS_BEYOND)),
        cooperative=True,
    )
    if control.get().view(kind)["status"][0]:
        raise SolverError(
            f"predecessors were not found within {n + ROUNDS_BEYOND} rounds: check the device "
            "with `nearfar doctor`"
        )


def mask_above(graph: Graph, distances: Any, bound: Any) -> None:
    """Make every distance above ``bound`` (a number of the distances' dtype) unreached, in place.

    Parameters
    ----------
    graph : Graph
        Whose distances they are; any dtype.
    distances : CuPy array
    """
    dtype = np.dtype(distances.dtype)
    macros = {**device_graph(graph).macros, "WEIGHT_T": C_NAMES[dtype.name]}
    kernel = runtime.program("cuda/mask_above.cuh", macros).kernel("mask_above")
    blocks = min(-(-distances.size // _THREADS), runtime.device().multiprocessors * 8)
    if blocks:
        kernel(blocks, _THREADS, (distances, dtype.type(bound), np.int64(distances.size)))
