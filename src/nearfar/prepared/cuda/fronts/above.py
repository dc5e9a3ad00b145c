"""Climbs from sources and products for the upper part of a tree, on a CUDA device."""

from __future__ import annotations

from collections.abc import Hashable
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from nearfar.graph.slots import Slot
from nearfar.prepared.cuda.cut.pieces import DEEP, closures
from nearfar.prepared.cuda.device import DeviceTree, device_above, device_tree
from nearfar.prepared.cuda.shapes import (
    AboveShape,
    block_climb_form,
    climb_form,
    one_launch,
    shared_room,
)
from nearfar.prepared.prepared import Prepared
from nearfar.system.devices import runtime

if TYPE_CHECKING:
    from nearfar.prepared.cuda.query import Query

_MATRICES: Slot[Any] = Slot("matrices of pieces of the elimination tree on the device")
# Macros of upper.cuh for few jobs and for many.
_FEW_JOBS = {"GROUPS": 1, "ACROSS": 8, "EACH": 4, "DOWN": 4, "SHARES": 8, "STAGES": 3}
_MANY_JOBS = {"GROUPS": 2, "ACROSS": 16, "EACH": 4, "DOWN": 4, "SHARES": 1, "STAGES": 4}
_SHARED_OUT = 2048  # jobs of a level up to which several warps share each


def climb_arguments(
    query: Query, arcs: tuple[Any, Any, Any], unit: int = 0, stop: Any = None
) -> dict[str, Any]:
    """Return the arguments of a climb without its jumps; sources are set per block."""
    node, head_depth, weight = arcs
    return {
        "node": node,
        "head_depth": head_depth,
        "weight": weight,
        "label": query.tree.label,
        "sources": None,
        "count": np.int32(0),
        "unit": np.int32(unit),
        "stop": stop,
        "labels": query.labels,
        "space": query.space,
        "pitch": np.int64(query.pitch),
        "height": np.int32(query.tree.height),
    }


def add_climb(query: Query, arguments: dict[str, Any]) -> None:
    """Add the climb, the first launch of a query."""
    tree = query.tree
    form, warps, shared = climb_form(tree.height, query.dtype.itemsize)
    program = runtime.program("prepared/cuda/fronts/climb.cuh", {**tree.macros, **form})
    given = {**arguments, "jump": tree.jump}
    query.add(program.kernel("climb"), -(-query.pitch // warps), 32 * warps, given, shared)


class Above:
    """Front of a query: distances to the labels outside the cells, for a block of sources.

    Attributes
    ----------
    held : DeviceAbove
    """

    def __init__(
        self, prepared: Prepared, upper: NDArray[np.int32], shape: AboveShape, key: Hashable
    ) -> None:
        self.held, self.dtype = device_above(prepared, upper, shape, key), prepared.metric.dtype
        self.tree: DeviceTree = device_tree(prepared)
        tree = self.tree
        self.matrices = _MATRICES.of(
            prepared,
            lambda: closures(self.held.pieces, tree.macros, tree.weight, tree.down_weight),
            (runtime.device().ordinal, shape, key),
        )

    def begin(self, query: Query, rows: Any, unit: int = 0) -> None:
        """Add climbs, and products for all labels that are in no cell."""
        tree, pieces = self.tree, self.held.pieces
        arcs = (tree.node, tree.head_depth, tree.weight)
        climb = climb_arguments(query, arcs, unit, self.held.stop)
        if not len(pieces.host.pieces):
            add_climb(query, climb)
            return
        member, boundary = self._members(rows)
        products = {
            "parts": pieces.parts,
            "level_first": pieces.level_first,
            "member": member,
            "boundary_row": boundary,
            "matrices": self.matrices,
            "rows": query.values,
        }
        if one_launch(tree.height, query.pitch):
            self._together(query, {**climb, **products})
            return
        add_climb(query, climb)
        columns, levels = 16 // self.dtype.itemsize, pieces.host.n_levels
        # The first levels have few products, on which all others depend: warps share each.
        tiles = np.diff(pieces.host.level_first) * (query.pitch // (8 * columns))
        first = int((np.cumsum(tiles > _SHARED_OUT) == 0).sum())
        products |= {"space": query.space, "sources": query.labels}
        if first:
            self._products(query, _FEW_JOBS, (0, first), products)
        if first < levels:
            self._products(query, _MANY_JOBS, (first, levels), products)

    def _together(self, query: Query, climb: dict[str, Any]) -> None:
        """Run climbs and all products in one launch."""
        host, size = self.held.pieces.host, self.dtype.itemsize
        form, threads, own = block_climb_form(self.tree.height, size)
        stages = {"STAGE": 16, "STAGES": 4}
        shared = max(own, stages["STAGE"] * stages["STAGES"] * (32 * 16 + 16 * size))
        kernel = runtime.program(
            "prepared/cuda/fronts/few_sources.cuh", {**self._types(), **form, **stages}
        ).kernel("few_sources")
        lowest, way, rows = self.held.ways_up
        arguments = {
            **climb,
            "lift": self.tree.lift,
            "levels": np.int32(host.n_levels),
            "top": np.int32(host.pieces[0, 7]),
            "lowest": lowest,
            "way": way,
            "rows_up": rows,
            "arrivals": query.arrivals,
        }
        jobs = int(np.diff(host.level_first).max()) * (query.pitch // (32 * (16 // size)))
        grid = min(max(jobs, query.pitch), kernel.resident_blocks(threads, shared))
        query.add(kernel, grid, threads, arguments, shared, cooperative=True)

    def _types(self) -> dict[str, str | int]:
        """Return the macros of kernels with a grid-wide barrier."""
        types: dict[str, str | int] = {"INDEX_T": "int", "OFFSET_T": "int", "WEIGHTED": 1}
        weight = {"WEIGHT_T": self.tree.macros["OUT_T"], "COLUMNS": 16 // self.dtype.itemsize}
        return {**self.tree.macros, **types, **weight}

    def _members(self, rows: Any) -> tuple[Any, Any]:
        """Return the rows of members and boundaries of the pieces, cached."""
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

    def _products(
        self, query: Query, form: dict[str, int], levels: tuple[int, int], arrays: dict[str, Any]
    ) -> None:
        """Add the products of a range of levels."""
        groups, across, each, down, shares, ahead = form.values()
        columns, pieces = 16 // self.dtype.itemsize, self.held.pieces
        wide = across * groups
        stage = DEEP * (wide + down * each // columns) * 16
        while shares > 1 and shares * ahead * stage > shared_room():
            shares //= 2
        threads = across * down * shares
        macros = {**self._types(), **form, "SHARES": shares}
        shared = shares * ahead * stage + wide * columns * 4 + 16
        kernel = runtime.program("prepared/cuda/fronts/upper.cuh", macros).kernel("upper")
        groups = query.pitch // (wide * columns)
        progress = runtime.cupy().zeros(2 + groups, dtype=np.uint32)
        arguments = {
            **arrays,
            "level": np.int32(levels[0]),
            "levels": np.int32(levels[1]),
            "pitch": np.int64(query.pitch),
            "progress": progress,
        }
        tiles = np.diff(pieces.host.level_first)[levels[0] : levels[1]]
        jobs = int(tiles.sum()) * groups
        grid = max(1, min(jobs, kernel.resident_blocks(threads, shared)))
        query.add(kernel, grid, threads, arguments, shared, cooperative=True)
