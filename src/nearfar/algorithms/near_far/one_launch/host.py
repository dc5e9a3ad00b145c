"""Host side of the one-launch engines: buffers, prepared launch and counters.

The kernel of an engine takes the first and last parameters of :meth:`Engine.solve` and its own
between them; the structs that it shares with the host are those of ``one_launch_rows.cuh``.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from nearfar.cuda.device_graph import DeviceGraph
from nearfar.cuda.loops.whole_solve import WholeSolve
from nearfar.errors import SolverError, keyword
from nearfar.graph.dtypes import limit_in_dtype, unreached_value
from nearfar.graph.on_device import widening
from nearfar.graph.slots import Slot
from nearfar.registry import Answer, Workspace
from nearfar.system.devices import runtime
from nearfar.system.devices.structs import enum_names, filled, struct_dtype

if TYPE_CHECKING:
    from nearfar.cuda.graph.row_heads import RowHeads

STAGE = 128  # kStage of one_launch_rows.cuh
STATIC = 6144  # upper bound on the static shared memory of a kernel, in bytes
_RESERVED = 1024  # part of it that the device reserves per block, in bytes
_ROWS = "algorithms/near_far/one_launch/one_launch_rows.cuh"
_FITS_L1 = 1 << 19  # bytes
_TOO_NARROW = 2  # kTooNarrow
_LOCAL = ("local_capacity", "local_rounds", "local_leave", "row_lanes")
PLAIN_ENGINE: Slot[Engine] = Slot("near-far in one launch")


class TooNarrow(Exception):
    """Exception for a distance that does not fit the bits of the solve."""


def most_steps(n: int) -> int:
    """Return the watchdog's bound on steps; a solve that exceeds it makes no progress."""
    return 8 * n + 1_000_000


@dataclass(frozen=True, slots=True)
class Shape:
    """Sizes of an engine's buffers."""

    queues: int  # number of queues: two near ones, and possibly two far piles
    # capacity, heavy_capacity: entries per queue, and chunks of long rows
    capacity: int
    heavy_capacity: int
    bits: int = 0  # bits per distance while solving; 0 for whole distances


class Engine:
    """Arrays and prepared launch that a graph's solves share, cached on the graph."""

    def __init__(
        self,
        device: DeviceGraph,
        file: str,
        entry: str,
        shape: Shape,
        macros: Mapping[str, str | int],
        shared_entries: tuple[int, int],
        own: Mapping[str, Any],
        heads: RowHeads | None = None,
    ) -> None:
        cp = runtime.cupy()
        n, weight = max(device.n, 1), device.weight_dtype
        record = entry_bytes(device)
        chunk = struct_dtype(_ROWS, "Chunk", device.macros).itemsize
        # The kernel takes distances as an untyped pointer.
        kind = struct_dtype(_ROWS, "Solve", device.macros, Distances="u8")
        control = struct_dtype(_ROWS, "Control", device.macros)
        packed = -(-n * shape.bits // 32) * 4
        runtime.require_memory(
            n * weight.itemsize
            + packed
            + shape.queues * shape.capacity * record
            + shape.heavy_capacity * chunk,
            f"use {keyword('queue_factor', 1)}, or {keyword('device', 'cpu')}",
        )
        self.device, self.heads = device, heads
        self._packed = shape.bits > 0
        # Zeroed once: records are read whole, including padding that is never written.
        size = shape.capacity * record
        queues = [cp.zeros(size, dtype=np.uint8) for _ in range(shape.queues)]
        heavy = cp.zeros(shape.heavy_capacity * chunk, dtype=np.uint8)
        slots = cp.empty(packed, dtype=np.uint8)
        self._buffers = (queues, heavy, slots)  # kept alive
        # Distances are cached in L1 only if they fit: a large array would evict other data.
        small = (packed or n * weight.itemsize) <= _FITS_L1
        defines: dict[str, str | int] = {
            "SEEN_FROM_L1": int(small),
            "BLOCK_THREADS": 512,
            "BLOCKS_EACH": 1,
            "DISTANCE_BITS": shape.bits,
            "ROW_HEAD": 0 if heads is None else heads.width,
            "CHAINS": 0 if heads is None else int(heads.chains),
            "SHORTCUTS": 0 if heads is None else heads.depth,
            **device.macros,
            **macros,
        }
        block = int(defines["BLOCK_THREADS"])
        shared = max(block // 32 * shared_entries[0], shared_entries[1]) * record
        # capacity of each of a block's local lists
        self.local_room = shared // local_bytes(device, heads)
        room = runtime.device().shared_per_block + _RESERVED
        fitting = room // (shared + STATIC + _RESERVED)
        each = max(min(int(defines["BLOCKS_EACH"]), fitting), 1)
        defines["BLOCKS_EACH"] = each
        self.blocks = runtime.device().multiprocessors * each  # blocks of the launch
        kernel = runtime.program(file, defines).kernel(entry)
        never = weight.type(unreached_value(weight))
        given = {"given": np.zeros((), dtype=kind), "source": np.int64(0), "limit": never, **own}
        kinds = control, struct_dtype(_ROWS, "Record")
        self._solve = WholeSolve(kernel, self.blocks, block, given, shared, *kinds)
        self._frame = filled(
            kind,
            n=device.n,
            offsets=device.offsets,
            edges=device.edges,
            heads=device.edges if heads is None else heads.edges,
            distance=slots,
            near_queue=queues[:2],
            far_pile=queues[2:] or queues,  # unused without a far pile
            heavy=heavy,
            control=self._solve.control,
            capacity=shape.capacity,
            heavy_capacity=shape.heavy_capacity,
            answer=None,
            **dict.fromkeys(_LOCAL, 0),
        )

    def solve(
        self,
        source: int,
        delta: float,
        workspace: Workspace,
        own: Mapping[str, Any],
        local: tuple[int, int, int, int] = (0, 0, 0, 0),
    ) -> Answer:
        """Launch once and read the counters."""
        cp = runtime.cupy()
        device = self.device
        distance = cp.empty(device.n, dtype=device.weight_dtype)
        arguments = {
            "given": self._solve_into(distance, local),
            "source": np.int64(source),
            "limit": limit_in_dtype(workspace.limit, device.weight_dtype),
            **own,
        }
        wanted = workspace.answer_dtype
        converted: Any = None
        if wanted is not None:
            converted = cp.empty(device.n, dtype=wanted)
        control, records = self._solve.run(
            arguments,
            most_steps(device.n),
            workspace,
            device.vertex_dtype,
            None if converted is None else widening(distance, converted),
        )
        steps = int(control["steps"])
        if control["status"] == _TOO_NARROW:
            raise TooNarrow
        if control["status"]:
            raise SolverError(
                f"near_far@cuda gave up after {steps} steps with delta {delta}: pass a larger delta"
            )
        found: dict[str, Any] = {
            "iterations": steps,
            "edges_relaxed": int(control["edges"]),
            "splits": int(control["splits"]),
            "local_steps": int(control["local_steps"]),
            "block_rounds": int(control["block_rounds"]),
            "cycles": int(control["cycles"]),
            "rescans": int(control["rescans"]),
            "delta": delta,
            "last_delta": float(control["last_delta"]) or delta,  # 0: no range has ended
            "last_threshold": float(control["last_threshold"]),
            "device_seconds": self._solve.seconds,
        }
        if self.heads is not None:
            found["pack_seconds"] = self.heads.seconds
            found["shortcuts"] = self.heads.depth > 0
        if records is not None:
            found |= _steps(self._solve.records(records, steps))
        return Answer(distance, found, converted=converted)

    def _solve_into(self, distance: Any, local: tuple[int, int, int, int]) -> NDArray[Any]:
        """Return ``struct Solve``, setting only the fields that change, which is faster."""
        frame, where = self._frame, distance.data.ptr
        frame["answer"] = where
        if not self._packed:
            frame["distance"] = where
        for name, value in zip(_LOCAL, local, strict=True):
            frame[name] = value
        return frame


def entry_bytes(device: DeviceGraph) -> int:
    """Return the bytes of ``struct Entry``: a vertex and a distance."""
    return struct_dtype(_ROWS, "Entry", device.macros).itemsize


def local_bytes(device: DeviceGraph, heads: RowHeads | None) -> int:
    """Return the shared memory per entry of a block's lists: two ``LocalEntry``, one ``Entry``."""
    record = entry_bytes(device)
    if heads is not None:  # adds the predecessor, and aligns the row to 16 bytes
        before = -(-(record + device.vertex_dtype.itemsize) // 16) * 16
        entry = before + heads.row
    else:
        entry = -(-(record + 2 * device.offset_dtype.itemsize) // 16) * 16
    return 2 * entry + record


def _steps(records: dict[str, NDArray[np.int64]]) -> dict[str, Any]:
    kinds = enum_names(_ROWS, "StepKind")
    return {
        "kind": [kinds[kind] for kind in records["kind"]],
        "near": records["near"],
        "far": records["far"],
        "frontier": records["near"],
        "seconds_per_step": np.diff(records["nanoseconds"]) * 1e-9,
    }
