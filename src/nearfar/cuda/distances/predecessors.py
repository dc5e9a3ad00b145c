"""Predecessors and masks of distances on the device; see tight_edges.cuh."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from nearfar.cuda.device_graph import C_NAMES, DeviceGraph, device_graph
from nearfar.cuda.graph.sorted_rows import SEGMENT, rows_are_sorted
from nearfar.errors import keyword, wrong_device
from nearfar.graph.graph import Graph
from nearfar.graph.slots import Slot
from nearfar.system.devices import runtime
from nearfar.system.devices.structs import struct_dtype

_THREADS = 256
_KERNELS = "cuda/distances/tight_edges.cuh"
_PASS: Slot[_Pass] = Slot("predecessors")
_PIECE = 256  # edges per piece of a long row that a whole warp scans, if rows are not sorted
_ADVICE = f"request predecessors of fewer sources, or on the CPU: {keyword('device', 'cpu')}"
_MOST_ROWS = 32_768  # rows per launch, limited by the grid's y dimension
ROUNDS_BEYOND = 2  # watchdog: every round settles at least one vertex


def _tally() -> np.dtype[Any]:
    return struct_dtype(_KERNELS, "Tally")


class _Pass:
    """Kernels for one graph, and launches prepared for a number of rows."""

    def __init__(self, graph: Graph, device: DeviceGraph, is_sorted: bool) -> None:
        self.device = device
        whole = device.weight_dtype.kind == "i"
        # If every weight increases the sum, every vertex has a strictly nearer predecessor.
        self.counted = graph.has_zero_weight or not whole
        macros = {
            **device.macros,
            "PULL": int(not graph.directed),
            "SORTED": int(is_sorted),
            "SIGNED": int(graph.n_negative > 0),
            "COUNTED": int(self.counted),
            "SEGMENT": SEGMENT if is_sorted else _PIECE,
        }
        program = runtime.program(_KERNELS, macros)
        self._start = program.kernel("tight_start")
        self._edges = program.kernel("tight_edges")
        self.levels = program.kernel("tight_levels")
        self.blocks = self._edges.resident_blocks(_THREADS)
        self.start_blocks = self._start.resident_blocks(_THREADS)
        self.pieces, self.n_pieces = self._pieces(program, macros, graph.max_degree)
        self.timer = runtime.Timer()
        self.forget()

    def _pieces(
        self, program: runtime.Program, macros: dict[str, Any], longest: int
    ) -> tuple[Any, Any]:
        """Return the pieces of long rows and their number, on the device."""
        cp, device, size = runtime.cupy(), self.device, macros["SEGMENT"]
        piece = struct_dtype(_KERNELS, "Piece", device.macros).itemsize
        most = 2 * (device.m // size) if longest > size else 0
        runtime.require_memory(most * piece, _ADVICE)
        pieces = cp.empty(most * piece, dtype=np.uint8)
        count = cp.zeros(1, dtype=np.uint64)
        if most:
            blocks = min(self.blocks, -(-device.n // _THREADS))
            given = {"n": np.int64(device.n), "offsets": device.offsets}
            given |= {"pieces": pieces, "n_pieces": count}
            program.kernel("tight_pieces")(blocks, _THREADS, given)
        return pieces, count

    def forget(self) -> None:
        """Release the memory of prepared launches."""
        self._rows = 0
        self._turn = 0  # index of the tallies that are zero; calls alternate between two
        self.parts: list[tuple[int, Any, Any]] = []
        self.tallies: Any = None

    def prepare(self, k: int) -> None:
        """Prepare launches over k rows, reused while the number of rows is the same."""
        if k == self._rows:
            return
        self.forget()
        cp = runtime.cupy()
        device, n = self.device, np.int64(self.device.n)
        rows = dict.fromkeys(("distances", "predecessors", "tallies"))
        self.tallies = cp.zeros((2, k * _tally().itemsize), dtype=np.uint8)
        for first in range(0, k, _MOST_ROWS):
            many = min(k - first, _MOST_ROWS)
            width = max(min(self.start_blocks, -(-device.n // _THREADS)) // many, 1)
            given = {"n": n, **rows, "of_next_call": None}
            start = runtime.Launch(self._start, (width, many), _THREADS, given)
            width = max(self.blocks // many, 1)
            arrays = {"offsets": device.offsets, "edges": device.edges, **rows}
            arrays |= {"n": n, "pieces": self.pieces, "n_pieces": self.n_pieces}
            edges = runtime.Launch(self._edges, (width, many), _THREADS, arrays)
            self.parts.append((first, start, edges))
        self._rows = k

    def take_tallies(self) -> tuple[Any, Any]:
        """Return the zeroed tallies for this call, and those that it clears for the next one."""
        self._turn = 1 - self._turn
        return self.tallies[1 - self._turn], self.tallies[self._turn]


@runtime.in_turn
def device_predecessors(
    graph: Graph, sources: Sequence[int], distances: Any
) -> tuple[Any, dict[str, Any]]:
    """Compute predecessors from finished distances on the device.

    The result is that of :func:`nearfar.cpu.distances.predecessors.tight_predecessors` on the host.
    O(n + m) work per row.
    """
    cp = runtime.cupy()
    device = device_graph(graph)
    n, m, k = device.n, device.m, len(sources)
    each = n * device.vertex_dtype.itemsize + 2 * _tally().itemsize
    runtime.require_memory(k * each, _ADVICE)
    is_sorted = rows_are_sorted(graph, device)
    key = (*device.key, is_sorted)
    made = _PASS.of(graph, lambda: _Pass(graph, device, is_sorted), key, alone=True)
    made.prepare(k)
    found = cp.empty((k, n), dtype=device.vertex_dtype)
    rows = distances.reshape(k, n)
    launches: list[runtime.Launch] = []
    tallies, of_next_call = made.take_tallies()
    arrays = {"distances": rows, "predecessors": found, "tallies": tallies}
    each_row = {name: (a.data.ptr, a.nbytes // max(k, 1)) for name, a in arrays.items()}
    of_next_row = of_next_call.nbytes // max(k, 1)
    for first, start, edges in made.parts:
        part = {name: np.uint64(at + first * size) for name, (at, size) in each_row.items()}
        start.set(**part, of_next_call=np.uint64(of_next_call.data.ptr + first * of_next_row))
        launches.append(start)
        if m and not graph.n_negative:
            edges.set(**part)
            launches.append(edges)
    # Launched back to back: host work between two launches would leave the device idle.
    made.timer.start()
    for launch in launches:
        launch()
    made.timer.stop()
    seconds = made.timer.seconds
    by_levels: list[int] = []
    if graph.n_negative:
        by_levels = list(range(k))
    elif made.counted:
        seen = tallies.get().view(_tally())
        by_levels = np.flatnonzero(seen["reached"] > seen["filled"] + 1).tolist()
    if by_levels and m:
        made.timer.start()
        for row in by_levels:
            _by_levels(made, device, int(sources[row]), rows[row], found[row])
        seconds += made.timer.stop().seconds
    wanted = graph.vertex_dtype
    if wanted != found.dtype:
        found = found.astype(wanted)
    if k > 1:
        made.forget()
    stats = {"device_seconds": seconds, "rows_by_levels": len(by_levels)}
    return found.reshape(distances.shape), stats


def _by_levels(
    made: _Pass, device: DeviceGraph, source: int, distance: Any, predecessor: Any
) -> None:
    """Assign predecessors to the remaining vertices, level by level, in one launch."""
    cp = runtime.cupy()
    n = device.n
    runtime.require_memory(
        n * (4 + device.vertex_dtype.itemsize), f"use the CPU: {keyword('device', 'cpu')}"
    )
    kind = struct_dtype(_KERNELS, "LevelControl")
    control = cp.zeros(kind.itemsize, dtype=np.uint8)
    arguments = {
        "n": np.int64(n),
        "offsets": device.offsets,
        "edges": device.edges,
        "distance": distance,
        "source": np.int64(source),
        "predecessor": predecessor,
        "level": cp.empty(n, dtype=np.int32),
        "queue": cp.empty(n, dtype=device.vertex_dtype),
        "control": control,
        "max_rounds": np.int64(n + ROUNDS_BEYOND),
    }
    made.levels(runtime.device().multiprocessors, _THREADS, arguments, cooperative=True)
    if control.get().view(kind)["status"][0]:
        raise wrong_device(f"predecessors were not found within {n + ROUNDS_BEYOND} rounds")


def mask_above(graph: Graph, distances: Any, bound: Any) -> None:
    """Set every distance above ``bound`` to unreached, in place."""
    dtype = np.dtype(distances.dtype)
    exact, bound = bound, dtype.type(bound)
    if bound > exact:  # rounded up
        bound = np.nextafter(bound, dtype.type(-np.inf))
    macros = {**device_graph(graph).macros, "WEIGHT_T": C_NAMES[dtype.name]}
    kernel = runtime.program("cuda/distances/mask_above.cuh", macros).kernel("mask_above")
    blocks = min(-(-distances.size // _THREADS), runtime.device().multiprocessors * 8)
    if blocks:
        count = np.int64(distances.size)
        kernel(blocks, _THREADS, {"distance": distances, "bound": bound, "count": count})
