"""Distances from many sources on a CUDA device: climbs, passes over cells, rows."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from nearfar.errors import OptionError
from nearfar.prepared.cells import PassShape
from nearfar.prepared.device import DeviceCells, DeviceTree, device_cells, device_tree
from nearfar.system.devices import runtime

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from nearfar.prepared.prepared import Prepared

__all__ = ["Sweep", "SweepPlan", "default_shapes", "padded"]

_CHUNKS = 2 * (64 + 2) * 16  # bytes of shared memory that a block stages arcs in
_STATIC = 1024  # bytes of shared memory that a block takes besides
_CLIMB_WARPS = 4
_TILE = 64  # of rows.cuh
_FLUSH = 64  # of sweep.cuh
_UNIT = 128  # sources are padded to a multiple of this


def padded(count: int) -> int:
    """Columns of device memory for so many sources."""
    return max(1, -(-count // _UNIT)) * _UNIT


def default_shapes(size: int, sources: int) -> tuple[PassShape, ...]:
    """Shapes of the passes for values of so many bytes and so many sources.

    Many sources fill the device with large cells, which load few boundaries; few sources want many
    small cells and short chains. The upper passes have few cells, and long paths to the root: one
    source per thread makes them many blocks.
    """
    room = runtime.device().shared_per_block - _STATIC - _CHUNKS
    columns = 16 // size
    top = PassShape(1024, min(room // (32 * size), 2**15 - 1), 32, 1)
    if sources <= 512:
        return (PassShape(64, 48, 32, 1), PassShape(256, 256, 32, 1), top)
    return (PassShape(256, 64, 32 * columns, columns), top)


class Sweep:
    """The launches that give distances from a block of sources.

    Parameters
    ----------
    prepared : Prepared
    shapes : tuple of PassShape or None
        None chooses by the number of sources.
    sources : int
        How many there will be in a block, for the choice.
    active : uint8 array, shape (n,), or None
        Which labels are wanted, closed under parents; None means all.
    """

    def __init__(
        self,
        prepared: Prepared,
        shapes: tuple[PassShape, ...] | None = None,
        sources: int = 1024,
        active: NDArray[np.uint8] | None = None,
    ) -> None:
        self.n = prepared.n_vertices
        self.dtype = prepared.metric.weights.dtype
        self.shapes = shapes or default_shapes(self.dtype.itemsize, sources)
        for shape in self.shapes:
            if shape.columns * self.dtype.itemsize not in (4, 8, 16) or _UNIT % shape.lanes:
                raise OptionError(f"{shape} does not suit values of {self.dtype.itemsize} bytes")
        self.tree: DeviceTree = device_tree(prepared)
        self.cells: DeviceCells = device_cells(prepared, self.shapes, active)

    def scratch_bytes(self, count: int) -> int:
        """Device memory of a block of so many sources besides its rows of values."""
        return padded(count) * (self.tree.height * self.dtype.itemsize + 12)

    def values_bytes(self, count: int, gathered: bool) -> int:
        """Device memory of the distances of so many sources that a sweep keeps besides rows."""
        kept = len(self.cells.host.upper) if gathered else self.n
        return padded(count) * kept * self.dtype.itemsize

    def columns(self, values: Any, by_vertex: bool = False) -> SweepPlan:
        """A sweep that writes distances as [label][source] or [vertex][source].

        Parameters
        ----------
        values : array, shape (n, padded(k))
            Of the dtype of the arcs' weights. Rows of labels that are not active stay as they are.
        by_vertex : bool
            One row per vertex instead of one per label.

        Returns
        -------
        SweepPlan
        """
        plan = SweepPlan(self, values.shape[1])
        place = self.tree.vertex if by_vertex else None
        for number in range(self.cells.host.n_passes - 1, -1, -1):
            last = number == 0 and by_vertex
            self._pass(plan, number, values, int(by_vertex), place, last)
        return plan

    @property
    def can_gather(self) -> bool:
        """Whether the bottom pass can write rows: its distances are in shared memory."""
        host = self.cells.host
        return host.n_passes > host.n_global

    def gathered(self, out: Any) -> SweepPlan:
        """A sweep whose bottom pass writes rows, in the order of the vertices.

        Parameters
        ----------
        out : array, shape (k, n)

        Returns
        -------
        SweepPlan
        """
        cp = runtime.cupy()
        plan = SweepPlan(self, padded(len(out)))
        place, loose = self.cells.place, self.cells.loose
        upper = cp.empty((max(len(self.cells.host.upper), 1), plan.pitch), self.dtype)
        for number in range(self.cells.host.n_passes - 1, 0, -1):
            self._pass(plan, number, upper, 2, place)
        self._pass(plan, 0, upper, 2, place, out=out)
        if len(loose):
            self._transpose(plan, upper, place[loose], out, self.tree.vertex[loose])
        return plan

    def transposed(self, values: Any, place: Any, out: Any) -> SweepPlan:
        """A sweep over labels and a pass that transposes what it wrote.

        Parameters
        ----------
        values : array, shape (n, padded(k))
            Scratch memory of the dtype of the arcs' weights.
        place : int32 array, shape (width,)
            Labels of the columns.
        out : array, shape (k, width)

        Returns
        -------
        SweepPlan
        """
        plan = self.columns(values)
        self._transpose(plan, values, place, out)
        return plan

    def _pass(
        self,
        plan: SweepPlan,
        number: int,
        values: Any,
        kind: int,
        place: Any,
        last: bool = False,
        out: Any = None,
    ) -> None:
        host, shape = self.cells.host, self.cells.shape(number)
        first, end = (int(x) for x in host.pass_first[number : number + 2])
        over = number >= host.n_passes - host.n_global
        macros = {
            **self.tree.macros,
            "LANES": shape.lanes,
            "COLUMNS": shape.columns,
            "ROW_KIND": kind,
            "GLOBAL_SLOTS": int(over),
            "LAST_USE": int(last),
            "TO_ROWS": int(out is not None),
        }
        kernel = runtime.program("prepared/sweep.cuh", macros).kernel("sweep")
        slots = 0 if over else int(host.cells[first:end, 7].max())
        kept = slots * shape.lanes
        if out is not None:
            kept += _FLUSH * (shape.lanes + shape.columns)
        shared = _CHUNKS + kept * self.dtype.itemsize
        kernel.allow_shared(shared)
        count, width = (0, 0) if out is None else out.shape
        arguments = (
            *(self.cells.cells[first:end], self.cells.boundary, self.cells.stream),
            *(self.cells.chunk, self.tree.depth, self.tree.low, place, plan.space, plan.labels),
            *(values, np.int64(plan.pitch), np.int32(slots), self.cells.ordered, out),
            *(np.int64(width), np.int32(count)),
        )
        grid = (end - first, plan.pitch // shape.lanes)
        threads = shape.lanes // shape.columns
        plan.launches.append(runtime.Launch(kernel, grid, threads, arguments, shared))

    def _transpose(
        self, plan: SweepPlan, values: Any, place: Any, out: Any, columns: Any = None
    ) -> None:
        count, width = out.shape
        kernel = runtime.program("prepared/rows.cuh", self.tree.macros).kernel("to_rows")
        some = len(place)
        arguments = (
            *(values, np.int64(values.shape[1]), place, columns, np.int32(some)),
            *(np.int64(width), np.int32(count), out),
        )
        grid = (-(-some // _TILE), -(-count // _TILE))
        plan.launches.append(runtime.Launch(kernel, grid, 256, arguments))


class SweepPlan:
    """The launches of a sweep, ready for one block of sources after the other.

    Attributes
    ----------
    pitch : int
        Columns of device memory, at least as many as sources.
    labels : int32 array, shape (pitch,)
        Of the sources, then -1.
    space : array, shape (height, pitch)
        Distances from the sources to their ancestors.
    """

    def __init__(self, sweep: Sweep, pitch: int) -> None:
        cp = runtime.cupy()
        tree, size = sweep.tree, sweep.dtype.itemsize
        self.pitch = pitch
        self.sources = cp.zeros(pitch, dtype=np.int64)
        self.labels = cp.empty(pitch, dtype=np.int32)
        self.space = cp.empty((max(tree.height, 1), pitch), dtype=sweep.dtype)
        kernel = runtime.program(
            "prepared/climb.cuh", {**tree.macros, "WARPS": _CLIMB_WARPS}
        ).kernel("climb")
        shared = _CLIMB_WARPS * tree.height * size
        kernel.allow_shared(shared)
        arguments = (
            *(tree.node, tree.head_depth, tree.weight, tree.label, self.sources, np.int32(0)),
            *(self.labels, self.space, np.int64(pitch), np.int32(tree.height)),
        )
        grid = -(-pitch // _CLIMB_WARPS)
        self._climb = runtime.Launch(kernel, grid, 32 * _CLIMB_WARPS, arguments, shared)
        self.launches: list[runtime.Launch] = []

    def __call__(self, sources: Any) -> None:
        """Sweep from some sources.

        Parameters
        ----------
        sources : int64 array, shape (k,)
            Vertices; on the host or on the device.
        """
        count = len(sources)
        self.sources[:count] = runtime.cupy().asarray(sources)
        self._climb.set(5, np.int32(count))
        self._climb()
        for launch in self.launches:
            launch()
