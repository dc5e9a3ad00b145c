"""The arrays of one CUDA run of the family, and the host's view of its control block."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from nearfar.system.devices import runtime

if TYPE_CHECKING:
    from nearfar.cuda.device_graph import DeviceGraph

__all__ = ["Buffers"]

RING = 4096  # kRecords of state.cuh
_RECORD_FIELDS = ("iteration", "frontier", "near", "far", "edges", "labelled", "nanoseconds")


_COUNTERS = (
    *("gathered", "iterations", "vertices_processed", "edges_relaxed", "splits"),
    *("iteration_edges", "labelled", "traverse_ticket", "split_ticket"),
    *("done", "split", "side", "phase", "saturation", "keys", "taken"),
)
_DISTANCES = ("threshold", "floor", "delta", "near_min", "far_min", "limit")


def control_dtype(weight: np.dtype[Any]) -> np.dtype[Any]:
    """Host's mirror of ``struct Control`` in state.cuh: every field begins on a multiple of 8."""
    fields: list[tuple[str, Any, int]] = [("near_size", ("u8", 2), 0), ("far_size", ("u8", 2), 16)]
    fields += [(name, "u8", 32 + 8 * place) for place, name in enumerate(_COUNTERS)]
    after = 32 + 8 * len(_COUNTERS)
    fields += [(name, weight, after + 8 * place) for place, name in enumerate(_DISTANCES)]
    names, formats, offsets = zip(*fields, strict=True)
    layout: Any = {
        "names": list(names),
        "formats": list(formats),
        "offsets": list(offsets),
        "itemsize": after + 8 * len(_DISTANCES),
    }
    dtype: np.dtype[Any] = np.dtype(layout)
    return dtype


class Buffers:
    """Device arrays of a run; refuses before the first allocation when they do not fit.

    Parameters
    ----------
    graph : DeviceGraph
        The graph.
    gather, owners, balanced, far, keys, full : bool
        Which arrays the run needs; see ``struct Frame`` in state.cuh.
    """

    def __init__(
        self,
        graph: DeviceGraph,
        *,
        gather: bool,
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
            "records": (RING * len(_RECORD_FIELDS) if full else 0, np.dtype(np.uint64)),
            "keys": (n if keys else 0, key),
        }
        needed = sum(count * dtype.itemsize for count, dtype in plan.values())
        advice = "use duplicates='claim'" if owners else "use a CPU method (device='cpu')"
        runtime.require_memory(needed, advice)
        cp = runtime.cupy()
        self.graph = graph
        self.needed = needed
        self.arrays: dict[str, Any] = {
            name: cp.empty(count, dtype=dtype) if count else None
            for name, (count, dtype) in plan.items()
        }
        self.distance = self.arrays["distance"]
        self.kind = control_dtype(graph.weight_dtype)
        self.control = cp.zeros(self.kind.itemsize, dtype=np.uint8)
        self._pinned = [runtime.Pinned(self.kind.itemsize) for _ in range(2)]
        self._turn = 0
        self._drained = 0
        self._records: list[np.ndarray[Any, Any]] = []

    def frame(self) -> Any:
        """``struct Frame`` of state.cuh, to be passed by value."""
        names = (
            *("offsets", "edges", "distance", "queue0", "queue1", "starts", "owner", "stamp"),
            *("far0", "far1", "in_far", "control", "records", "last_label", "n"),
        )
        arrays = {
            **self.arrays,
            "offsets": self.graph.offsets,
            "edges": self.graph.edges,
            "control": self.control,
        }
        values = [self.graph.n if name == "n" else _address(arrays[name]) for name in names]
        return np.array(values, dtype=np.uint64)

    # ---- control block --------------------------------------------------------------------

    def copy_control(self) -> runtime.Pinned:
        """Queue a copy of the control block to the host; read it with :meth:`wait_control`."""
        pinned = self._pinned[self._turn]
        self._turn ^= 1
        pinned.copy_from(self.control)
        return pinned

    def wait_control(self, pinned: runtime.Pinned) -> np.void:
        """The control block of an earlier :meth:`copy_control`, once it has arrived."""
        control: np.void = np.frombuffer(pinned.wait(), dtype=self.kind)[0]
        if self.arrays["records"] is not None:
            self._drain(int(control["iterations"]))
        return control

    def read_control(self) -> np.void:
        """The control block now, after everything queued before."""
        return self.wait_control(self.copy_control())

    # ---- records --------------------------------------------------------------------------

    def _drain(self, iterations: int) -> None:
        """Fetch the records written since the last time; batches are far shorter than the ring."""
        if iterations == self._drained:
            return
        width = len(_RECORD_FIELDS)
        ring = runtime.download(self.arrays["records"]).reshape(RING, width)
        wanted = np.arange(self._drained, iterations) % RING
        self._records.append(ring[wanted].copy())
        self._drained = iterations

    def records(self) -> dict[str, Any]:
        """Arrays with one entry an iteration.

        ``frontier`` processed vertices, ``near`` and ``far`` the sizes of near set and far pile
        after it, ``edges`` touched, ``labelled`` vertices reached for the first time, ``final``
        vertices whose distance was final after it, ``seconds`` of the iteration (the first one's
        is not known and 0).
        """
        table = np.concatenate(self._records) if self._records else np.zeros((0, 7), np.uint64)
        columns = dict(zip(_RECORD_FIELDS, table.T.astype(np.int64), strict=True))
        numbers, ticks = columns.pop("iteration"), columns.pop("nanoseconds")
        last = runtime.download(self.arrays["last_label"])
        last = last[last != np.uint32(0xFFFFFFFF)].astype(np.int64)
        counts = np.bincount(last, minlength=int(numbers[-1]) + 1 if len(numbers) else 1)
        final = counts[numbers] if len(numbers) else np.zeros(0, np.int64)
        seconds = np.diff(ticks, prepend=ticks[:1]) * 1e-9
        return {**columns, "final": final, "seconds": seconds}


def _address(array: Any) -> int:
    return 0 if array is None else int(array.data.ptr)
