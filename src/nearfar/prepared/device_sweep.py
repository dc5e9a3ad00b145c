"""Distances from many sources on a CUDA device: climbs, products, cells, rows."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from nearfar.errors import OptionError
from nearfar.graph.slots import Slot
from nearfar.prepared.device import DeviceCells, DeviceTree, device_cells, device_tree
from nearfar.prepared.device_pieces import closures
from nearfar.prepared.device_shapes import (
    CHUNK,
    FEW,
    STAGES,
    UNIT,
    default_shape,
    default_top,
    padded,
)
from nearfar.prepared.pieces import DEEP
from nearfar.system.devices import runtime

if TYPE_CHECKING:
    from nearfar.prepared.cells import PassShape
    from nearfar.prepared.prepared import Prepared
    from nearfar.system.devices.launching import Launch

__all__ = ["Sweep", "SweepPlan"]

_MATRICES: Slot[Any] = Slot("matrices of pieces of the elimination tree on the device")
_CLIMB_WARPS = 4
_STORE = "prepared/sweep.cuh"
Sink = tuple[str, str, "dict[str, str | int]", "tuple[Any, ...]"]  # file, kernel, macros, arguments
_TILE, _NEAR = 64, 2  # kTile and kNear of rows.cuh


class Sweep:
    """The launches that give distances from a block of sources.

    Parameters
    ----------
    prepared : Prepared
    shape : PassShape or None
        Of the cells at the bottom of the tree; None chooses by the number of sources.
    sources : int
        How many there will be in a block, for the choice.
    top : int or None
        Of how many labels at the top of the tree all distances are kept; None chooses.
    """

    def __init__(
        self,
        prepared: Prepared,
        shape: PassShape | None = None,
        sources: int = 1024,
        top: int | None = None,
    ) -> None:
        self.n = prepared.n_vertices
        self.dtype = prepared.metric.dtype
        height = prepared.preparation.figures.height
        self.shape = shape or default_shape(self.dtype.itemsize, sources, height)
        if self.shape.columns * self.dtype.itemsize not in (4, 8, 16) or UNIT % self.shape.lanes:
            raise OptionError(f"{self.shape} does not suit values of {self.dtype.itemsize} bytes")
        self.tree: DeviceTree = device_tree(prepared)
        size = default_top(prepared) if top is None else min(top, self.n)
        self.cells: DeviceCells = device_cells(prepared, self.shape, size)
        self.matrices = _MATRICES.of(
            prepared,
            lambda: closures(
                self.cells.pieces, self.tree.macros, self.tree.weight, self.tree.down_weight
            ),
            (runtime.device().ordinal, self.shape, size),
        )

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
        kind = 2 if place is not None else int(by_vertex)
        place = self.tree.vertex if by_vertex else place
        plan = self._above(values, kind, place)
        self._bottom(plan, values, kind, place, (_STORE, "sweep", {"LAST_USE": int(by_vertex)}, ()))
        return plan

    def ending(
        self, values: Any, file: str, kernel: str, macros: dict[str, str | int], arguments: Any
    ) -> SweepPlan:
        """A sweep whose last pass hands each distance to a sink instead of storing it.

        Parameters
        ----------
        values : array, shape (n_upper, padded(k))
            Scratch memory: distances of labels that are in no cell, in the order of
            ``cells.host.upper``. They do not come to the sink.
        file, kernel : str
            A kernel file that requires ``prepared/sweep_cells.cuh``, and its kernel. That takes
            the arguments of ``sweep`` and then some of its own, and is launched for all cells of
            the bottom pass.
        macros : dict
            Of that file.
        arguments : sequence
            Its own.

        Returns
        -------
        SweepPlan
        """
        plan = self._above(values, 2, self.cells.place)
        sink = (file, kernel, macros, tuple(arguments))
        self._bottom(plan, values, 2, self.cells.place, sink)
        return plan

    @property
    def n_upper(self) -> int:
        """Labels whose distances :meth:`ending` keeps."""
        return len(self.cells.host.upper)

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

    def _above(self, values: Any, kind: int, place: Any) -> SweepPlan:
        """Climbs, and products for all labels that are in no cell."""
        cp = runtime.cupy()
        plan = SweepPlan(self, values.shape[1])
        pieces = self.cells.pieces
        if not len(pieces.host.pieces):
            return plan
        few = plan.pitch <= FEW
        groups, across, each, down, shares, ahead = (
            (1, 8, 8, 4, 8, 2) if few else (2, 16, 4, 8, 1, 3)
        )
        columns = 16 // self.dtype.itemsize
        macros: dict[str, str | int] = {
            **self.tree.macros,
            "INDEX_T": "int",
            "OFFSET_T": "int",
            "WEIGHTED": 1,
            "WEIGHT_T": self.tree.macros["OUT_T"],
            "COLUMNS": columns,
            "GROUPS": groups,
            "ACROSS": across,
            "EACH": each,
            "DOWN": down,
            "SHARES": shares,
            "STAGES": ahead,
        }
        kernel = runtime.program("prepared/upper.cuh", macros).kernel("upper")
        wide, threads = across * groups, across * down * shares
        stage = DEEP * (wide + down * each // columns) * 16
        shared = shares * ahead * stage + wide * columns * 4
        kernel.allow_shared(shared)
        rows_of = place if kind else None
        label = pieces.members
        real = label >= 0
        row = label if rows_of is None else rows_of[cp.maximum(label, 0)]
        member = cp.zeros((len(label), 4), dtype=np.int32)
        member[:, 0] = label
        member[:, 1] = cp.where(real, self.tree.low[cp.maximum(label, 0)], 0)
        member[:, 2] = cp.where(real, self.tree.depth[cp.maximum(label, 0)], 0)
        member[:, 3] = cp.where(real, row, -1)
        boundary = pieces.boundary if rows_of is None else rows_of[pieces.boundary]
        arguments = (
            *(pieces.pieces, pieces.tiles, pieces.level_first, np.int32(pieces.host.n_levels)),
            *(member, boundary, self.matrices, plan.space, plan.labels, values),
            *(np.int64(plan.pitch), plan.arrivals),
        )
        jobs = int(np.diff(pieces.host.level_first).max()) * (plan.pitch // (wide * columns))
        grid = max(1, min(jobs, kernel.resident_blocks(threads, shared)))
        plan.launches.append(
            runtime.Launch(kernel, grid, threads, arguments, shared, cooperative=True)
        )
        return plan

    def _bottom(self, plan: SweepPlan, values: Any, kind: int, place: Any, sink: Sink) -> None:
        """The pass over cells."""
        host, shape = self.cells.host, self.shape
        if not len(host.cells):
            return
        slots = int(host.cells[:, 7].max())
        file, name, own, more = sink
        macros = {
            **self.tree.macros,
            "LANES": shape.lanes,
            "COLUMNS": shape.columns,
            "STAGES": STAGES,
            "ROW_KIND": kind,
            **own,
        }
        shared = STAGES * CHUNK + slots * shape.lanes * self.dtype.itemsize
        kernel = runtime.program(file, macros).kernel(name)
        kernel.allow_shared(shared)
        arguments = (
            *(self.cells.cells, self.cells.boundary, self.cells.stream, self.cells.chunk),
            *(self.cells.outline, place, plan.space, plan.labels, values, np.int64(plan.pitch)),
            *more,
        )
        grid = len(host.cells) * (plan.pitch // shape.lanes)
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
    arrivals : uint32 array, shape (1,)
        0 after each climb.
    """

    def __init__(self, sweep: Sweep, pitch: int) -> None:
        cp = runtime.cupy()
        tree, size = sweep.tree, sweep.dtype.itemsize
        self.pitch = pitch
        self.sources = cp.zeros(pitch, dtype=np.int64)
        self.labels = cp.empty(pitch, dtype=np.int32)
        # A climb writes down to the depth of its source; vectors of columns are read beyond that.
        self.space = cp.zeros((max(tree.height, 1), pitch), dtype=sweep.dtype)
        self.arrivals = cp.zeros(1, dtype=np.uint32)
        kernel = runtime.program(
            "prepared/climb.cuh", {**tree.macros, "WARPS": _CLIMB_WARPS}
        ).kernel("climb")
        shared = _CLIMB_WARPS * tree.height * size
        kernel.allow_shared(shared)
        arguments = (
            *(tree.node, tree.jump, tree.head_depth, tree.weight, tree.label, self.sources),
            *(np.int32(0), sweep.cells.stop, self.labels, self.space),
            *(np.int64(pitch), np.int32(tree.height), self.arrivals),
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
