"""Distances from many sources on a CUDA device: climbs, passes over cells, rows."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from nearfar.errors import OptionError
from nearfar.graph.slots import Slot
from nearfar.prepared.device import (
    DeviceCells,
    DeviceTree,
    device_cells,
    device_tree,
    far_value,
)
from nearfar.prepared.device_shapes import (
    CHUNK,
    FEW,
    STATIC,
    TOP_UNIT,
    UNIT,
    default_shapes,
    default_top,
    padded,
    stages,
)
from nearfar.system.devices import runtime

if TYPE_CHECKING:
    from collections.abc import Hashable

    from numpy.typing import NDArray

    from nearfar.prepared.cells import PassShape
    from nearfar.prepared.prepared import Prepared
    from nearfar.system.devices.launching import Launch

__all__ = ["Sweep", "SweepPlan"]

_TOP: Slot[DeviceTop] = Slot("top of the elimination tree on the device")
_CLIMB_WARPS = 4
_TILE, _NEAR = 64, 2  # kTile and kNear of rows.cuh


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
    top : int or None
        Of how many labels at the top of the tree all distances are kept; None chooses.
    key : hashable
        By which to keep the cells of labels that are wanted; None lets them go.
    """

    def __init__(
        self,
        prepared: Prepared,
        shapes: tuple[PassShape, ...] | None = None,
        sources: int = 1024,
        active: NDArray[np.uint8] | None = None,
        top: int | None = None,
        key: Hashable = None,
    ) -> None:
        self.n = prepared.n_vertices
        self.dtype = prepared.metric.dtype
        height = prepared.preparation.figures.height
        self.shapes = shapes or default_shapes(self.dtype.itemsize, sources, height)
        for shape in self.shapes:
            if shape.columns * self.dtype.itemsize not in (4, 8, 16) or UNIT % shape.lanes:
                raise OptionError(f"{shape} does not suit values of {self.dtype.itemsize} bytes")
        self.tree: DeviceTree = device_tree(prepared)
        self.top: DeviceTop | None = None
        size = default_top(prepared) if top is None else min(top, self.n)
        if size:
            self.top = device_top(prepared, size)
            key = key if active is not None else size
            active = np.ones(self.n, dtype=np.uint8) if active is None else active.copy()
            active[self.top.labels] = 2
        self.stop = None if self.top is None else self.top.stop
        self.cells: DeviceCells = device_cells(prepared, self.shapes, active, key)

    def scratch_bytes(self, count: int) -> int:
        """Device memory of a block of so many sources besides its rows of values."""
        return padded(count) * (self.tree.height * self.dtype.itemsize + 12)

    def values_bytes(self, count: int) -> int:
        """Device memory of the distances of so many sources that a sweep keeps besides rows."""
        return padded(count) * self.n * self.dtype.itemsize

    def columns(self, values: Any, by_vertex: bool = False, place: Any = None) -> SweepPlan:
        """A sweep that writes distances as [label][source] or [vertex][source].

        Parameters
        ----------
        values : array, shape (n, padded(k))
            Of the dtype of the arcs' weights. Rows of labels that are not active stay as they are.
        by_vertex : bool
            One row per vertex instead of one per label.
        place : int32 array, shape (n,), or None
            The row of each label instead.

        Returns
        -------
        SweepPlan
        """
        plan = SweepPlan(self, values.shape[1])
        kind = 2 if place is not None else int(by_vertex)
        place = self.tree.vertex if by_vertex else place
        if self.top is not None:
            self._over_top(plan, self.top, values, kind, place)
        for number in range(self.cells.host.n_passes - 1, -1, -1):
            self._pass(plan, number, values, kind, place, number == 0 and by_vertex)
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
        plan.launches.append(self.to_rows(values, place, out))
        return plan

    def _over_top(
        self, plan: SweepPlan, top: DeviceTop, values: Any, kind: int, place: Any
    ) -> None:
        few = plan.pitch <= FEW
        columns = 16 // self.dtype.itemsize
        groups, across, each, down, shares = (1, 8, 4, 4, 8) if few else (2, 16, 4, 16, 1)
        macros = {
            **self.tree.macros,
            "COLUMNS": columns,
            "GROUPS": groups,
            "ACROSS": across,
            "EACH": each,
            "DOWN": down,
            "SHARES": shares,
            "ROW_KIND": kind,
        }
        kernel = runtime.program("prepared/top.cuh", macros).kernel("top_of_tree")
        size = len(top.between)
        arguments = (
            *(top.between, np.int32(size), top.device_labels, top.depth, top.low),
            *(place, plan.space, plan.labels, values, np.int64(plan.pitch)),
        )
        grid = (size // (each * down), plan.pitch // (columns * groups * across))
        plan.launches.append(runtime.Launch(kernel, grid, across * down * shares, arguments))

    def _pass(
        self,
        plan: SweepPlan,
        number: int,
        values: Any,
        kind: int,
        place: Any,
        last: bool = False,
    ) -> None:
        host, shape = self.cells.host, self.cells.shape(number)
        first, end = (int(x) for x in host.pass_first[number : number + 2])
        over = number >= host.n_passes - host.n_global
        ahead = stages(shape.parts)
        macros = {
            **self.tree.macros,
            "LANES": shape.lanes,
            "COLUMNS": shape.columns,
            "PARTS": shape.parts,
            "STAGES": ahead,
            "ROW_KIND": kind,
            "GLOBAL_SLOTS": int(over),
            "LAST_USE": int(last),
        }
        slots = 0 if over else int(host.cells[first:end, 7].max())
        partial = 2 * (shape.threads // 32) if shape.parts > 1 and shape.threads > 32 else 0
        each = shape.lanes * self.dtype.itemsize
        shared = ahead * CHUNK + (slots + partial) * each
        # In upper passes most blocks have sources below: no vertex waits for what they left there.
        climbs = int(host.cells[first:end, 10].max()) * each
        kept = number > 0 and shared + climbs <= runtime.device().shared_per_block - STATIC
        shared += climbs if kept else 0
        macros["CLIMB_SLOTS"] = int(kept)
        kernel = runtime.program("prepared/sweep.cuh", macros).kernel("sweep")
        kernel.allow_shared(shared)
        arguments = (
            *(self.cells.cells[first:end], self.cells.boundary, self.cells.stream),
            *(self.cells.chunk, self.cells.outline, place, plan.space, plan.labels),
            *(values, np.int64(plan.pitch), np.int32(slots)),
        )
        grid = (end - first) * (plan.pitch // shape.lanes)
        plan.launches.append(runtime.Launch(kernel, grid, shape.threads, arguments, shared))

    def to_rows(self, values: Any, place: Any, out: Any) -> Launch:
        """The launch that writes distances of labels as rows.

        Parameters
        ----------
        values : array, shape (n, pitch)
        place : int32 array, shape (width,)
            Labels of the columns.
        out : array, shape (k, width)

        Returns
        -------
        Launch
        """
        count, width = out.shape
        kernel = runtime.program("prepared/rows.cuh", self.tree.macros).kernel("to_rows")
        some = len(place)
        arguments = (
            *(values, np.int64(values.shape[1]), place, np.int32(some)),
            *(np.int64(width), np.int32(count), out),
        )
        grid = (-(-some // _TILE) * _NEAR, -(-count // (_TILE * _NEAR)))
        return runtime.Launch(kernel, grid, 256, arguments)


@dataclass(frozen=True)
class DeviceTop:
    """Distances within the top of a tree.

    Attributes
    ----------
    labels : int32 array, shape (size,)
        On the host; closed under parents, falling.
    device_labels, depth, low : int32 arrays, shape (padded size,)
        The same and what the tree says of them, then -1.
    stop : int32 array, shape (n,)
        Of each label the depth of the first ancestor in the top, itself included; -1 if there is
        none.
    between : array, shape (padded size, padded size)
        From row to column.
    """

    labels: NDArray[np.int32]
    device_labels: Any
    depth: Any
    low: Any
    stop: Any
    between: Any


def device_top(prepared: Prepared, size: int) -> DeviceTop:
    """The distances within the top of a tree on the current device.

    Parameters
    ----------
    prepared : Prepared
    size : int
        How many labels: those with the largest subtrees.

    Returns
    -------
    DeviceTop

    Raises
    ------
    OutOfMemoryError
        Before anything is allocated.
    """
    return _TOP.of(prepared, lambda: _top(prepared, size), (runtime.device().ordinal, size))


def _top(prepared: Prepared, size: int) -> DeviceTop:
    cp = runtime.cupy()
    tree, n = prepared.preparation.tree, prepared.n_vertices
    subtree = np.arange(n) - tree.low + 1
    largest = np.argpartition(-subtree, size - 1)[:size]  # a parent has more below than its child
    labels = np.sort(largest)[::-1].astype(np.int32)
    active = np.zeros(n, dtype=np.uint8)
    active[labels] = 1
    place = np.full(n, -1, dtype=np.int32)
    place[labels] = np.arange(size, dtype=np.int32)
    itemsize = prepared.metric.dtype.itemsize
    shapes = default_shapes(itemsize, size, tree.height)[1:]
    sweep = Sweep(prepared, shapes, size, active, top=0, key=("top", size))
    whole = -(-size // TOP_UNIT) * TOP_UNIT
    needed = sweep.scratch_bytes(size) + (size * padded(size) + whole**2) * itemsize
    runtime.require_memory(needed, "use device='cpu', or a GPU with more memory")
    values = cp.empty((size, padded(size)), sweep.dtype)
    sweep.columns(values, place=runtime.upload(place))(tree.vertex[labels].astype(np.int64))
    between = cp.full((whole, whole), far_value(sweep.dtype), sweep.dtype)
    between[:size, :size] = values[:, :size].T
    listed = np.full((3, whole), -1, dtype=np.int32)
    listed[:, :size] = labels, tree.depth[labels], tree.low[labels]
    stop = tree.depth.copy()
    highest = np.flatnonzero(active == 0)  # below the top; of these, those right below
    above = tree.parent[highest]
    highest = highest[(above < 0) | (active[above] == 1)]
    above = tree.parent[highest]
    stop[active == 0] = np.repeat(np.where(above < 0, -1, tree.depth[above]), subtree[highest])
    there, depth, low, first = (runtime.upload(array) for array in (*listed, stop))
    return DeviceTop(labels, there, depth, low, first, between)


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
        # A climb writes down to the depth of its source; vectors of columns are read beyond that.
        self.space = cp.zeros((max(tree.height, 1), pitch), dtype=sweep.dtype)
        kernel = runtime.program(
            "prepared/climb.cuh", {**tree.macros, "WARPS": _CLIMB_WARPS}
        ).kernel("climb")
        shared = _CLIMB_WARPS * tree.height * size
        kernel.allow_shared(shared)
        arguments = (
            *(tree.node, tree.jump, tree.head_depth, tree.weight, tree.label, self.sources),
            *(np.int32(0), sweep.stop, self.labels, self.space),
            *(np.int64(pitch), np.int32(tree.height)),
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
        self._climb.set(6, np.int32(count))
        self._climb()
        for launch in self.launches:
            launch()
