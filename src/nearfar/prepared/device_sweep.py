"""Distances from many sources on a CUDA device: climbs, passes over cells, rows."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from nearfar.errors import OptionError
from nearfar.graph.slots import Slot
from nearfar.prepared.cells import PassShape
from nearfar.prepared.device import (
    DeviceCells,
    DeviceTree,
    device_cells,
    device_tree,
    far_value,
)
from nearfar.system.devices import runtime

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from nearfar.prepared.prepared import Prepared
    from nearfar.system.devices.launching import Launch

__all__ = ["Sweep", "SweepPlan", "default_shapes", "padded"]

_TOP: Slot[DeviceTop] = Slot("top of the elimination tree on the device")
_CHUNK = (64 + 2) * 16  # bytes of a chunk of arcs in shared memory
_STATIC = 1024  # bytes of shared memory that a block takes besides
_CLIMB_WARPS = 4
_UNIT = 128  # sources are padded to a multiple of this
_TOP_UNIT = 64  # labels of a top are padded to a multiple of this


def padded(count: int) -> int:
    """Columns of device memory for so many sources."""
    return max(1, -(-count // _UNIT)) * _UNIT


def default_shapes(size: int, sources: int, height: int) -> tuple[PassShape, ...]:
    """Shapes of the passes for values of so many bytes, so many sources and a tree of that height.

    At the bottom there are thousands of cells: many sources per block read each arc once for all of
    them. The upper passes have few cells, and long paths to the root: several warps share out the
    arcs of a vertex. Few sources want many small cells and short chains.
    """
    parts = 8 if height > _TALL or sources <= _FEW else 4
    room = runtime.device().shared_per_block - _STATIC - _stages(parts) * _CHUNK
    slots = min(room // (32 * size) - 2 * parts, 2**15 - 1)
    columns = 16 // size
    if sources <= _FEW:
        bottom = PassShape(64, 48, 32 * (columns // 2), columns // 2)
        return (bottom, PassShape(256, slots, 32, 1, parts))
    bottom = PassShape(256, 64 if height > _TALL else 32, 32 * columns, columns)
    return (bottom, PassShape(1024, slots, 32, 1, parts))


_FEW = 512  # sources
_TALL = 512  # levels of a tree


def default_top(prepared: Prepared, sources: int) -> int:
    """How many labels of the top of the tree are worth a table of the distances among them.

    A product costs the square of that per source, and saves the chain through the top.
    """
    size = np.arange(prepared.n_vertices) - prepared.preparation.tree.low + 1
    most = 2048 if prepared.preparation.figures.height > _TALL else 1024 if sources <= _FEW else 512
    worth = int((size > 2048).sum())
    return min(most, worth) // _TOP_UNIT * _TOP_UNIT


def _stages(parts: int) -> int:
    """Chunks of arcs under way: several warps are soon through with one."""
    return 2 if parts == 1 else 8


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
    sources_first : bool
        Whether neighbouring blocks work for neighbouring sources, and not on neighbouring cells.
    """

    def __init__(
        self,
        prepared: Prepared,
        shapes: tuple[PassShape, ...] | None = None,
        sources: int = 1024,
        active: NDArray[np.uint8] | None = None,
        top: int | None = None,
        sources_first: bool = True,
    ) -> None:
        self.n, self.sources_first = prepared.n_vertices, sources_first
        self.dtype = prepared.metric.dtype
        height = prepared.preparation.figures.height
        self.shapes = shapes or default_shapes(self.dtype.itemsize, sources, height)
        for shape in self.shapes:
            if shape.columns * self.dtype.itemsize not in (4, 8, 16) or _UNIT % shape.lanes:
                raise OptionError(f"{shape} does not suit values of {self.dtype.itemsize} bytes")
        self.tree: DeviceTree = device_tree(prepared)
        self.top: DeviceTop | None = None
        size = default_top(prepared, sources) if top is None else min(top, self.n)
        key = None
        if size:
            self.top = device_top(prepared, size)
            key = None if active is not None else size
            active = np.ones(self.n, dtype=np.uint8) if active is None else active.copy()
            active[self.top.labels] = 2
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
        few = plan.pitch <= _FEW
        columns = 1 if few else 16 // self.dtype.itemsize
        shape = (1, 32, 2, 8) if few else (2, 16, 4, 16)
        groups, across, each, down = shape
        macros = {
            **self.tree.macros,
            "COLUMNS": columns,
            "GROUPS": groups,
            "ACROSS": across,
            "EACH": each,
            "DOWN": down,
            "ROW_KIND": kind,
        }
        kernel = runtime.program("prepared/top.cuh", macros).kernel("top_of_tree")
        size = len(top.between)
        arguments = (
            *(top.between, np.int32(size), top.device_labels, self.tree.depth, self.tree.low),
            *(place, plan.space, plan.labels, values, np.int64(plan.pitch)),
        )
        grid = (size // (each * down), plan.pitch // (columns * groups * across))
        plan.launches.append(runtime.Launch(kernel, grid, across * down, arguments))

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
        stages = _stages(shape.parts)
        macros = {
            **self.tree.macros,
            "LANES": shape.lanes,
            "COLUMNS": shape.columns,
            "PARTS": shape.parts,
            "STAGES": stages,
            "ROW_KIND": kind,
            "GLOBAL_SLOTS": int(over),
            "LAST_USE": int(last),
            "SOURCES_FIRST": int(self.sources_first),
        }
        slots = 0 if over else int(host.cells[first:end, 7].max())
        partial = 2 * (shape.threads // 32) if shape.parts > 1 and shape.threads > 32 else 0
        each = shape.lanes * self.dtype.itemsize
        shared = stages * _CHUNK + (slots + partial) * each
        # In upper passes most blocks have sources below: no vertex waits for what they left there.
        climbs = int(host.cells[first:end, 10].max()) * each
        kept = number > 0 and shared + climbs <= runtime.device().shared_per_block - _STATIC
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

    def to_rows(self, values: Any, place: Any, out: Any, tile: Tile | None = None) -> Launch:
        """The launch that writes distances of labels as rows.

        Parameters
        ----------
        values : array, shape (n, pitch)
        place : int32 array, shape (width,)
            Labels of the columns.
        out : array, shape (k, width)
        tile : Tile or None
            None for the usual one.

        Returns
        -------
        Launch
        """
        count, width = out.shape
        tile = tile or Tile()
        macros = {**self.tree.macros, "WIDE": tile.wide, "TALL": tile.tall, "NEAR": tile.near}
        kernel = runtime.program("prepared/rows.cuh", macros).kernel("to_rows")
        shared = tile.tall * (tile.wide + 1) * self.dtype.itemsize
        kernel.allow_shared(shared)
        some = len(place)
        arguments = (
            *(values, np.int64(values.shape[1]), place, np.int32(some)),
            *(np.int64(width), np.int32(count), out),
        )
        grid = (-(-some // tile.wide) * tile.near, -(-count // (tile.tall * tile.near)))
        return runtime.Launch(kernel, grid, 256, arguments, shared)


@dataclass(frozen=True, slots=True)
class Tile:
    """Columns and sources of a tile of ``rows.cuh``; tiles of sources next to each other."""

    wide: int = 64
    tall: int = 64
    near: int = 1


@dataclass(frozen=True)
class DeviceTop:
    """Distances within the top of a tree.

    Attributes
    ----------
    labels : int32 array, shape (size,)
        On the host; closed under parents, falling.
    device_labels : int32 array, shape (padded size,)
        The same, then -1.
    between : array, shape (padded size, padded size)
        From row to column.
    """

    labels: NDArray[np.int32]
    device_labels: Any
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
    labels = np.sort(np.argsort(-subtree, kind="stable")[:size])[::-1].astype(np.int32)
    active = np.zeros(n, dtype=np.uint8)
    active[labels] = 1
    place = np.full(n, -1, dtype=np.int32)
    place[labels] = np.arange(size, dtype=np.int32)
    itemsize = prepared.metric.dtype.itemsize
    shapes = default_shapes(itemsize, size, tree.height)[1:]
    sweep = Sweep(prepared, shapes, size, active, top=0)
    whole = -(-size // _TOP_UNIT) * _TOP_UNIT
    needed = sweep.scratch_bytes(size) + (size * padded(size) + whole**2) * itemsize
    runtime.require_memory(needed, "use device='cpu', or a GPU with more memory")
    values = cp.empty((size, padded(size)), sweep.dtype)
    sweep.columns(values, place=runtime.upload(place))(tree.vertex[labels].astype(np.int64))
    between = cp.full((whole, whole), far_value(sweep.dtype), sweep.dtype)
    between[:size, :size] = values[:, :size].T
    device_labels = np.full(whole, -1, dtype=np.int32)
    device_labels[:size] = labels
    return DeviceTop(labels, runtime.upload(device_labels), between)


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
            *(tree.node, tree.jump, tree.head_depth, tree.weight, tree.label, self.sources),
            *(np.int32(0), self.labels, self.space, np.int64(pitch), np.int32(tree.height)),
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
