"""One cooperative launch that does a whole solve, and what every such launch has around it.

The kernel's parameters are the solve's first ones, the targets and their number, the kernel's own,
the most steps that it may take, and the records of its steps and the room for them. It counts in a
control block, which is zeroed before each launch and read after it.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

import numpy as np

from nearfar.system.devices import runtime

if TYPE_CHECKING:
    from collections.abc import Sequence

    from nearfar.cuda.device_graph import DeviceGraph
    from nearfar.registry import Workspace

__all__ = ["WholeSolve", "read_records", "row_lanes"]

_COUNTERS_AT = 128  # byte of a control block where its counters begin
_MOST_RECORDS = 1 << 15


class WholeSolve:
    """A launch prepared once for the solves of a graph.

    Parameters
    ----------
    kernel : Kernel
    blocks, block : int
        Launch shape.
    first, own : sequence of NumPy scalars
        The kernel's parameters before the targets and after them, for their types.
    shared : int
        Bytes of dynamic shared memory a block.
    control_bytes : int
        Size of the control block.

    Attributes
    ----------
    control : cupy array
        The control block.
    """

    def __init__(
        self,
        kernel: runtime.Kernel,
        blocks: int,
        block: int,
        first: Sequence[Any],
        own: Sequence[Any],
        shared: int,
        control_bytes: int,
    ) -> None:
        whole = np.int64(0)
        kernel.allow_shared(shared)
        self.control = runtime.cupy().empty(control_bytes, dtype=np.uint8)
        self._timer = runtime.Timer()
        self._launch = runtime.Launch(
            kernel,
            blocks,
            block,
            (*first, None, whole, *own, whole, None, whole),
            shared=shared,
            cooperative=True,
        )

    def run(
        self,
        first: Sequence[Any],
        own: Sequence[Any],
        most_steps: int,
        workspace: Workspace,
        vertex_dtype: np.dtype[Any],
        counters: int,
    ) -> tuple[Any, Any]:
        """Launch once and wait.

        Parameters
        ----------
        first, own : sequence of NumPy scalars
            The parameters, as when it was prepared.
        most_steps : int
        workspace : Workspace
            Its targets go to the device; with stats="full" the steps are recorded.
        vertex_dtype : dtype
            Of the targets on the device.
        counters : int
            How many numbers of 8 bytes to read of the control block.

        Returns
        -------
        counters : ndarray of uint8
        records : cupy array of uint64, shape (most records, 4), or None
        """
        cp = runtime.cupy()
        targets = records = None
        if workspace.targets is not None:
            targets = cp.asarray(np.ascontiguousarray(workspace.targets, dtype=vertex_dtype))
        if workspace.stats == "full":
            records = cp.zeros((_MOST_RECORDS, 4), dtype=np.uint64)
        values = (
            *first,
            np.uint64(0 if targets is None else targets.data.ptr),
            np.int64(0 if targets is None else len(targets)),
            *own,
            np.int64(most_steps),
            np.uint64(0 if records is None else records.data.ptr),
            np.int64(_MOST_RECORDS),
        )
        for place, value in enumerate(values):
            self._launch.set(place, value)
        self._timer.start()
        self.control.fill(0)
        self._launch()
        self._timer.stop()
        return self.control[_COUNTERS_AT : _COUNTERS_AT + 8 * counters].get(), records

    @property
    def seconds(self) -> float:
        """Time of the last launch on the device."""
        return self._timer.seconds


def row_lanes(device: DeviceGraph) -> int:
    """Lanes that take a row of a thin frontier together: a power of two near the mean degree."""
    return 1 << math.ceil(math.log2(min(max(device.m / max(device.n, 1), 4.0), 32.0)))


def read_records(records: Any, steps: int) -> Any:
    """Records of the first ``steps`` steps, as far as there was room: four rows of int64."""
    return records[: min(steps, _MOST_RECORDS)].get().astype(np.int64).T
