"""Climbs from sources and products for the upper part of a tree, on a CUDA device."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from nearfar.graph.slots import Slot
from nearfar.prepared.cuda.cut.closures import closures
from nearfar.prepared.cuda.cut.pieces import DEEP, ways_up
from nearfar.prepared.cuda.device import DeviceTree, device_above, device_tree
from nearfar.prepared.cuda.shapes import (
    AboveShape,
    block_climb_form,
    climb_form,
    one_launch,
    padded,
)
from nearfar.system.devices import runtime

if TYPE_CHECKING:
    from collections.abc import Hashable

    from numpy.typing import NDArray

    from nearfar.prepared.prepared import Prepared

__all__ = ["Above", "SweepPlan"]

_MATRICES: Slot[Any] = Slot("matrices of pieces of the elimination tree on the device")
# GROUPS, ACROSS, EACH, DOWN, SHARES and STAGES of upper.cuh, for few jobs and for many.
_FEW_JOBS, _MANY_JOBS = (1, 8, 4, 4, 8, 3), (2, 16, 4, 4, 1, 4)
_SHARED_OUT = 2048  # jobs of a level for each of which several warps are left


class Above:
    """The launches that give distances from a block of sources to labels that are in no cell.

    Parameters
    ----------
    prepared : Prepared
    upper : int32 array
        These labels.
    shape : AboveShape
    key : hashable
        What they depend on besides the arcs.

    Attributes
    ----------
    held : DeviceAbove
    """

    def __init__(
        self, prepared: Prepared, upper: NDArray[np.int32], shape: AboveShape, key: Hashable
    ) -> None:
        self.held, self.dtype = device_above(prepared, upper, shape, key), prepared.metric.dtype
        self.tree: DeviceTree = device_tree(prepared)
        self._host_tree = prepared.preparation.tree
        tree = self.tree
        self.matrices = _MATRICES.of(
            prepared,
            lambda: closures(self.held.pieces, tree.macros, tree.weight, tree.down_weight),
            (runtime.device().ordinal, shape, key),
        )

    def scratch_bytes(self, count: int) -> int:
        """Device memory of a plan for so many sources."""
        return padded(count) * (self.tree.height * self.dtype.itemsize + 12)

    def plan(self, values: Any, rows: Any, unit: int = 0) -> SweepPlan:
        """Climbs, and products for all labels that are in no cell.

        Parameters
        ----------
        values : array, shape (.., padded(k))
        rows : int32 array, shape (n,), or None
            The row of `values` of each label; None means the label.
        unit : int
            Columns side by side that ``column_order.cuh`` brings into an order; 0: they are in
            that of the sources.

        Returns
        -------
        SweepPlan
        """
        plan = SweepPlan(self.tree, self.dtype, values.shape[1])
        pieces = self.held.pieces
        if not len(pieces.host.pieces):
            self._climb(plan, unit)
            return plan
        member, boundary = self._members(rows)
        products = {
            "parts": pieces.parts,
            "level_first": pieces.level_first,
            "member": member,
            "boundary_row": boundary,
            "matrices": self.matrices,
            "rows": values,
        }
        if one_launch(self.tree.height, plan.pitch):
            self._together(plan, unit, products)
            return plan
        self._climb(plan, unit)
        columns = 16 // self.dtype.itemsize
        arrays = {**products, "space": plan.space, "sources": plan.labels}
        levels = pieces.host.n_levels
        # The first levels have few products, which all others wait for: shared out among warps.
        tiles = np.diff(pieces.host.level_first) * (plan.pitch // (8 * columns))
        first = int((np.cumsum(tiles > _SHARED_OUT) == 0).sum())
        if first:
            self._launch(plan, _FEW_JOBS, (0, first), arrays)
        if first < levels:
            self._launch(plan, _MANY_JOBS, (first, levels), arrays)
        return plan

    def _climbs(self, plan: SweepPlan, unit: int) -> dict[str, Any]:
        """Arguments of a climb without its jumps; the sources are set later."""
        tree = self.tree
        return {
            "node": tree.node,
            "head_depth": tree.head_depth,
            "weight": tree.weight,
            "label": tree.label,
            "sources": None,
            "count": np.int32(0),
            "unit": np.int32(unit),
            "stop": self.held.stop,
            "labels": plan.labels,
            "space": plan.space,
            "pitch": np.int64(plan.pitch),
            "height": np.int32(tree.height),
        }

    def _climb(self, plan: SweepPlan, unit: int) -> None:
        form, warps, shared = climb_form(self.tree.height, self.dtype.itemsize)
        kernel = runtime.program(
            "prepared/cuda/fronts/climb.cuh", {**self.tree.macros, **form}
        ).kernel("climb")
        kernel.allow_shared(shared)
        arguments = {**self._climbs(plan, unit), "jump": self.tree.jump}
        grid = -(-plan.pitch // warps)
        plan.launches.append(runtime.Launch(kernel, grid, 32 * warps, arguments, shared))

    def _together(self, plan: SweepPlan, unit: int, products: dict[str, Any]) -> None:
        """Climbs and all products in one launch."""
        pieces, size = self.held.pieces, self.dtype.itemsize
        form, threads, own = block_climb_form(self.tree.height, size)
        columns = 16 // size
        stages = {"STAGE": 16, "STAGES": 4}
        macros = {**self._types(), **form, **stages}
        shared = max(own, stages["STAGE"] * stages["STAGES"] * (32 * 16 + 16 * size))
        kernel = runtime.program("prepared/cuda/fronts/few_sources.cuh", macros).kernel(
            "few_sources"
        )
        kernel.allow_shared(shared)
        host = pieces.host
        lowest, way, rows = self._ways_up()
        arguments = {
            **self._climbs(plan, unit),
            **products,
            "lift": self.tree.lift,
            "levels": np.int32(host.n_levels),
            "top": np.int32(host.pieces[0, 7]),
            "lowest": lowest,
            "way": way,
            "rows_up": rows,
            "arrivals": plan.arrivals,
        }
        jobs = int(np.diff(host.level_first).max()) * (plan.pitch // (32 * columns))
        grid = min(max(jobs, plan.pitch), kernel.resident_blocks(threads, shared))
        plan.launches.append(
            runtime.Launch(kernel, grid, threads, arguments, shared, cooperative=True)
        )

    def _ways_up(self) -> tuple[Any, Any, Any]:
        """Arrays of :func:`ways_up`, kept."""
        kept = self.held.ways_up
        if not kept:
            lowest, way, rows = map(runtime.upload, ways_up(self.held.pieces.host, self._host_tree))
            kept.append((lowest, way, rows))
        return kept[0]

    def _types(self) -> dict[str, str | int]:
        """Macros of kernels with a barrier over the grid."""
        types: dict[str, str | int] = {"INDEX_T": "int", "OFFSET_T": "int", "WEIGHTED": 1}
        weight = {"WEIGHT_T": self.tree.macros["OUT_T"], "COLUMNS": 16 // self.dtype.itemsize}
        return {**self.tree.macros, **types, **weight}

    def _members(self, rows: Any) -> tuple[Any, Any]:
        """Members and boundaries of the pieces for such rows; kept for those that come again."""
        again = rows is self.held.place
        if again and self.held.members:
            return self.held.members[0]
        cp, pieces = runtime.cupy(), self.held.pieces
        label = pieces.members
        real = label >= 0
        row = label if rows is None else rows[cp.maximum(label, 0)]
        member = cp.zeros((len(label), 4), dtype=np.int32)
        member[:, 0] = label
        member[:, 1] = cp.where(real, self.tree.low[cp.maximum(label, 0)], 0)
        member[:, 2] = cp.where(real, self.tree.depth[cp.maximum(label, 0)], 0)
        member[:, 3] = cp.where(real, row, -1)
        arrays = member, pieces.boundary if rows is None else rows[pieces.boundary]
        if again:
            self.held.members.append(arrays)
        return arrays

    def _launch(
        self,
        plan: SweepPlan,
        form: tuple[int, int, int, int, int, int],
        levels: tuple[int, int],
        arrays: dict[str, Any],
    ) -> None:
        """Products of some levels."""
        groups, across, each, down, shares, ahead = form
        columns, pieces = 16 // self.dtype.itemsize, self.held.pieces
        macros: dict[str, str | int] = {
            **self._types(),
            "GROUPS": groups,
            "ACROSS": across,
            "EACH": each,
            "DOWN": down,
            "SHARES": shares,
            "STAGES": ahead,
        }
        wide = across * groups
        stage = DEEP * (wide + down * each // columns) * 16
        while shares > 1 and shares * ahead * stage > runtime.device().shared_per_block - 1024:
            shares //= 2
        threads = across * down * shares
        macros["SHARES"] = shares
        shared = shares * ahead * stage + wide * columns * 4 + 16
        kernel = runtime.program("prepared/cuda/fronts/upper.cuh", macros).kernel("upper")
        kernel.allow_shared(shared)
        groups = plan.pitch // (wide * columns)
        progress = runtime.cupy().zeros(2 + groups, dtype=np.uint32)
        arguments = {
            **arrays,
            "level": np.int32(levels[0]),
            "levels": np.int32(levels[1]),
            "pitch": np.int64(plan.pitch),
            "progress": progress,
        }
        tiles = np.diff(pieces.host.level_first)[levels[0] : levels[1]]
        jobs = int(tiles.sum()) * groups
        grid = max(1, min(jobs, kernel.resident_blocks(threads, shared)))
        plan.launches.append(
            runtime.Launch(kernel, grid, threads, arguments, shared, cooperative=True)
        )


class SweepPlan:
    """The launches of a sweep, ready for one block of sources after the other.

    Attributes
    ----------
    pitch : int
        Columns of device memory, at least as many as sources.
    labels : int32 array, shape (pitch,)
        Of the sources, then -1; in the order of ``column_order.cuh`` where columns have one.
    space : array, shape (height, pitch)
        Distances from the sources to their ancestors.
    arrivals : uint32 array, shape (2,)
        Counters of a launch for few sources, 0 between launches.
    launches : list of Launch
        The first takes the sources.
    """

    def __init__(self, tree: DeviceTree, dtype: np.dtype[Any], pitch: int) -> None:
        cp = runtime.cupy()
        self.pitch = pitch
        self.labels = cp.empty(pitch, dtype=np.int32)
        # A climb writes down to the depth of its source; vectors of columns are read beyond that.
        self.space = cp.zeros((max(tree.height, 1), pitch), dtype=dtype)
        self.arrivals = cp.zeros(2, dtype=np.uint32)
        self.launches: list[runtime.Launch] = []

    def __call__(self, sources: Any) -> None:
        """Sweep from some sources.

        Parameters
        ----------
        sources : int64 array, shape (k,)
            Vertices; on the host or on the device.
        """
        there = runtime.upload(sources)
        if there.dtype != np.int64:
            there = there.astype(np.int64)
        self.launches[0].set(sources=there, count=np.int32(len(there)))
        for launch in self.launches:
            launch()
