"""Query on a device: front, bottom and sink, composed once and run for blocks of sources.

The front climbs from the sources and multiplies matrices above the cells or leaves; the bottom
processes the cells or leaves; the sink stores distances, writes rows or reduces them. Each adds its
launches to a :class:`Query`.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import numpy as np

from nearfar.errors import OutOfMemoryError
from nearfar.prepared.cuda.device import DeviceTree
from nearfar.prepared.cuda.shapes import padded
from nearfar.system.devices import runtime

_TILE, _NEAR = 64, 2  # kTile and kNear of rows.cuh


def query_bytes(tree: DeviceTree, dtype: np.dtype[Any], count: int, n_rows: int) -> int:
    """Return the device memory of a query with a number of rows of distances, in bytes."""
    return padded(count) * ((n_rows + tree.height) * dtype.itemsize + 12)


class Query:
    """Launches for consecutive blocks of sources, and their shared memory.

    Attributes
    ----------
    pitch : int
        Columns of device memory, at least as many as sources.
    values : array, shape (n_rows, pitch)
        Distances, a column per source.
    labels : int32 array, shape (pitch,)
        Labels of the sources, then -1; in the order of ``column_order.cuh`` if columns are ordered.
    space : array, shape (height, pitch)
        Distances from the sources to their ancestors.
    arrivals : uint32 array, shape (2,)
        Counters of a launch for few sources, 0 between launches.
    launches : list of Launch
        Launches in order; the first reads the sources.
    writes : callable or None
        ``(query, out) -> launches`` that write rows after the others.
    back : int64 array or None
        Column of each source of the last block, if columns are in another order than sources.
    """

    writes: Callable[[Query, Any], list[runtime.Launch]] | None = None
    back: Any = None

    def __init__(
        self,
        tree: DeviceTree,
        dtype: np.dtype[Any],
        count: int,
        n_rows: int,
        advice: str = "",
        beside: int = 0,
    ) -> None:
        runtime.require_memory(query_bytes(tree, dtype, count, n_rows) + beside, advice)
        cp = runtime.cupy()
        self.tree, self.dtype, self.pitch = tree, dtype, padded(count)
        self.values = cp.empty((n_rows, self.pitch), dtype=dtype)
        self.labels = cp.empty(self.pitch, dtype=np.int32)
        # A climb writes to the depth of its source, but whole vectors of columns are read.
        self.space = cp.zeros((max(tree.height, 1), self.pitch), dtype=dtype)
        self.arrivals = cp.zeros(2, dtype=np.uint32)
        self.launches: list[runtime.Launch] = []
        self._writing: list[runtime.Launch] = []
        self._written = -1  # number of rows that `_writing` was composed for
        self._released: list[tuple[runtime.Launch, str]] = []
        self.n_rows = n_rows

    def add(
        self,
        kernel: runtime.Kernel,
        grid: int | tuple[int, ...],
        block: int,
        arguments: Mapping[str, Any],
        shared: int = 0,
        **how: bool,
    ) -> None:
        """Append a launch."""
        self.launches.append(runtime.Launch(kernel, grid, block, arguments, shared, **how))

    def __call__(self, sources: Any, out: Any = None) -> None:
        """Run the query for source vertices, on the host or device, and write rows to ``out``."""
        there = runtime.upload(sources)
        if there.dtype != np.int64:
            there = there.astype(np.int64)
        self.launches[0].set(sources=there, count=np.int32(len(there)))
        if out is not None:
            self._write_to(out)
        for launch in self.launches if out is None else (*self.launches, *self._writing):
            launch()

    def _write_to(self, out: Any) -> None:
        if len(out) != self._written:
            assert self.writes is not None
            self._writing, self._written = self.writes(self, out), len(out)
            return
        for launch in self._writing:
            launch.set(out=out)

    def release(self) -> None:
        """Release the memory of the distances until :meth:`restore`."""
        self._released = [(each, at) for each in self.launches for at in each.holds(self.values)]
        for launch, name in self._released:
            launch.set(**{name: None})
        self.values = None

    def restore(self) -> bool:
        """Allocate the distances again after a release; return whether memory sufficed."""
        try:
            runtime.require_memory(self.n_rows * self.pitch * self.dtype.itemsize)
        except OutOfMemoryError:
            return False
        self.values = runtime.cupy().empty((self.n_rows, self.pitch), dtype=self.dtype)
        for launch, name in self._released:
            launch.set(**{name: self.values})
        return True


def to_rows(tree: DeviceTree, values: Any, place: Any, out: Any) -> runtime.Launch:
    """Prepare the launch that writes rows ``place`` of ``values`` as columns of ``out``."""
    count, width = out.shape
    kernel = runtime.program("prepared/cuda/sinks/rows.cuh", tree.macros).kernel("to_rows")
    some = len(place)
    arguments = {
        "values": values,
        "pitch": np.int64(values.shape[1]),
        "place": place,
        "some": np.int32(some),
        "width": np.int64(width),
        "count": np.int32(count),
        "out": out,
        "step": tree.step,
    }
    grid = (-(-some // _TILE) * _NEAR, -(-count // (_TILE * _NEAR)))
    return runtime.Launch(kernel, grid, 256, arguments)
