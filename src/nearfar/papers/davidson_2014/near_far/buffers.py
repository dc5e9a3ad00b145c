"""Arrays of one CUDA run of the family, and the host's copy of its control block."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from nearfar.errors import keyword
from nearfar.system.devices import runtime
from nearfar.system.devices.structs import filled, struct_dtype

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from nearfar.cuda.device_graph import DeviceGraph

RING = 4096  # kRecords of state.cuh
_STATE = "papers/davidson_2014/near_far/state.cuh"


class Buffers:
    """Device arrays of a run; a run that does not fit is refused before any allocation."""

    def __init__(
        self,
        graph: DeviceGraph,
        *,
        owners: bool,
        balanced: bool,
        far: bool,
        keys: bool,
        full: bool,
    ) -> None:
        n = max(graph.n, 1)
        vertex, position = graph.vertex_dtype, graph.offset_dtype
        key = np.dtype(np.uint32 if n <= 2**28 else np.uint64)
        raw = max(graph.m, n) if owners else n
        plan: dict[str, tuple[int, Any]] = {
            "distance": (n, graph.weight_dtype),
            "queue0": (raw, vertex),
            "queue1": (n, vertex),
            "starts": (n if balanced else 0, position),
            "owner": (n if owners else 0, position),
            "stamp": (0 if owners else n, np.dtype(np.uint32)),
            "far0": (n if far else 0, vertex),
            "far1": (n if far else 0, vertex),
            "in_far": (n if far else 0, np.dtype(np.uint32)),
            "last_label": (n if full else 0, np.dtype(np.uint32)),
            "records": (RING * _record().itemsize if full else 0, np.dtype(np.uint8)),
            "keys": (n if keys else 0, key),
        }
        needed = sum(count * dtype.itemsize for count, dtype in plan.values())
        advice = f"use {keyword('duplicates', 'claim')}" if owners else ""
        runtime.require_memory(needed, advice)
        cp = runtime.cupy()
        self.graph = graph
        self.needed = needed
        self.arrays: dict[str, Any] = {
            name: cp.empty(count, dtype=dtype) if count else None
            for name, (count, dtype) in plan.items()
        }
        self.distance = self.arrays["distance"]
        self.kind = struct_dtype(_STATE, "Control", graph.macros)
        self.control = cp.zeros(self.kind.itemsize, dtype=np.uint8)
        self._pinned = [runtime.Pinned(self.kind.itemsize) for _ in range(2)]
        self._turn = 0
        self._drained = 0
        self._records: list[np.ndarray[Any, Any]] = []

    def frame(self) -> NDArray[Any]:
        """Return ``struct Frame`` of state.cuh, to be passed by value."""
        arrays = {name: array for name, array in self.arrays.items() if name != "keys"}
        return filled(
            struct_dtype(_STATE, "Frame", self.graph.macros),
            **arrays,
            offsets=self.graph.offsets,
            edges=self.graph.edges,
            control=self.control,
            n=self.graph.n,
        )

    # ---- control block --------------------------------------------------------------------

    def copy_control(self) -> runtime.Pinned:
        """Queue a copy of the control block to the host; read it with :meth:`wait_control`."""
        pinned = self._pinned[self._turn]
        self._turn ^= 1
        pinned.copy_from(self.control)
        return pinned

    def wait_control(self, pinned: runtime.Pinned) -> np.void:
        """Return the control block of an earlier :meth:`copy_control`, once it has arrived."""
        control: np.void = np.frombuffer(pinned.wait(), dtype=self.kind)[0]
        if self.arrays["records"] is not None:
            self._drain(int(control["iterations"]))
        return control

    def read_control(self) -> np.void:
        """Wait for all queued work and return the control block."""
        return self.wait_control(self.copy_control())

    # ---- records --------------------------------------------------------------------------

    def _drain(self, iterations: int) -> None:
        """Fetch the records written since the last call; batches are far shorter than the ring."""
        if iterations == self._drained:
            return
        ring = runtime.download(self.arrays["records"]).view(_record())
        wanted = np.arange(self._drained, iterations) % RING
        self._records.append(ring[wanted].copy())
        self._drained = iterations

    def records(self) -> dict[str, Any]:
        """Return the arrays with one entry per iteration.

        ``frontier`` processed vertices, ``near`` and ``far`` the sizes of near set and far pile
        after it, ``edges`` touched, ``labelled`` vertices reached for the first time, ``final``
        vertices whose distance was final after it, ``seconds`` of the iteration (the first one's
        is unknown and 0).
        """
        table = np.concatenate(self._records) if self._records else np.zeros(0, _record())
        columns = {
            name.removesuffix("_size"): table[name].astype(np.int64)
            for name in table.dtype.names or ()
        }
        numbers, ticks = columns.pop("iteration"), columns.pop("nanoseconds")
        last = runtime.download(self.arrays["last_label"])
        last = last[last != np.uint32(0xFFFFFFFF)].astype(np.int64)
        counts = np.bincount(last, minlength=int(numbers[-1]) + 1 if len(numbers) else 1)
        final = counts[numbers] if len(numbers) else np.zeros(0, np.int64)
        seconds = np.diff(ticks, prepend=ticks[:1]) * 1e-9
        return {**columns, "final": final, "seconds": seconds}


def _record() -> np.dtype[Any]:
    return struct_dtype(_STATE, "Record")
