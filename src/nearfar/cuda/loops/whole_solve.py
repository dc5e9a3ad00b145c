"""Cooperative launches that perform a whole solve, with control block and step records.

In addition to its own parameters, a kernel takes ``targets`` and ``n_targets``, ``max_steps``, and
``records`` of its steps with their capacity ``most_records``. Its counters are in a control block,
which is zeroed before each launch and read after it.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from nearfar.cuda.device_graph import DeviceGraph
from nearfar.registry import Workspace
from nearfar.system.devices import runtime

_MOST_RECORDS = 1 << 15
_NO_ARRAY, _NONE, _ROOM = np.uint64(0), np.int64(0), np.int64(_MOST_RECORDS)


class WholeSolve:
    """Launch that is prepared once for all solves of a graph."""

    def __init__(
        self,
        kernel: runtime.Kernel,
        blocks: int,
        block: int,
        arguments: Mapping[str, Any],
        shared: int,
        control: np.dtype[Any],
        record: np.dtype[Any],
    ) -> None:
        whole = np.int64(0)
        self._kind, self._record = control, record
        # cupy array; control block
        self.control = runtime.cupy().empty(control.itemsize, dtype=np.uint8)
        self._pinned = runtime.Pinned(control.itemsize)
        self._timer = runtime.Timer()
        self._held: dict[str, Any] = {}  # arguments of the last launch
        given = {**arguments, "targets": None, "n_targets": whole}
        given |= {"max_steps": whole, "records": None, "most_records": whole}
        self._launch = runtime.Launch(kernel, blocks, block, given, shared, cooperative=True)

    def run(
        self,
        arguments: Mapping[str, Any],
        most_steps: int,
        workspace: Workspace,
        vertex_dtype: np.dtype[Any],
        then: Callable[[], None] | None = None,
    ) -> tuple[np.void, Any]:
        """Launch, wait, and return the control block and the records (None unless requested).

        ``then`` queues what follows the solve and belongs to its time.
        """
        cp = runtime.cupy()
        targets = records = None
        if workspace.targets is not None:
            targets = workspace.targets
            if not runtime.is_device_array(targets):  # else they have the dtype already
                targets = cp.asarray(np.ascontiguousarray(targets, dtype=vertex_dtype))
        if workspace.stats == "full":
            records = cp.zeros(_MOST_RECORDS * self._record.itemsize, dtype=np.uint8)
        given = {
            **arguments,
            "targets": _NO_ARRAY if targets is None else np.uint64(targets.data.ptr),
            "n_targets": _NONE if targets is None else np.int64(len(targets)),
            "max_steps": np.int64(most_steps),
            "records": _NO_ARRAY if records is None else np.uint64(records.data.ptr),
            "most_records": _ROOM,
        }
        # Most arguments equal those of the previous solve; structs may have changed in place.
        fresh = {
            name: value
            for name, value in given.items()
            if isinstance(value, np.ndarray) or value != self._held.get(name)
        }
        self._launch.set(**fresh)
        self._held.update(fresh)
        self._timer.start()
        stream = cp.cuda.get_current_stream().ptr
        cp.cuda.runtime.memsetAsync(self.control.data.ptr, 0, self.control.nbytes, stream)
        self._launch()
        if then is not None:
            then()
        self._timer.stop()
        self._pinned.copy_from(self.control)
        counted: np.void = np.frombuffer(self._pinned.wait(), self._kind)[0]
        return counted, records

    def records(self, records: Any, steps: int) -> dict[str, NDArray[np.int64]]:
        """Return the fields of the records of the first ``steps`` steps, up to the capacity."""
        kept = records[: min(steps, _MOST_RECORDS) * self._record.itemsize].get()
        table = kept.view(self._record)
        return {name: table[name].astype(np.int64) for name in self._record.names or ()}

    @property
    def seconds(self) -> float:
        """Device time of the last launch."""
        return self._timer.seconds


def row_lanes(device: DeviceGraph) -> int:
    """Return the lanes per row of a thin frontier, a power of two near the mean degree."""
    return 1 << math.ceil(math.log2(min(max(device.m / max(device.n, 1), 4.0), 32.0)))
