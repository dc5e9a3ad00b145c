"""Prepared graph on a CUDA device: tree, arcs and cells, uploaded on first use and cached."""

from __future__ import annotations

from collections.abc import Hashable
from dataclasses import dataclass, field
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from nearfar.cuda.device_graph import C_NAMES, far_value
from nearfar.errors import keyword
from nearfar.graph.slots import Slot
from nearfar.prepared.cuda.cut.cells import Cells, PassShape, cut
from nearfar.prepared.cuda.cut.pieces import DevicePieces, cut_pieces, most_members, ways_up
from nearfar.prepared.cuda.shapes import UNIT, AboveShape
from nearfar.prepared.metric.arc_weights import QueryArcs
from nearfar.prepared.order.tree import Tree
from nearfar.system.devices import runtime

if TYPE_CHECKING:
    from nearfar.prepared.prepared import Prepared

_TREE: Slot[DeviceTree] = Slot("elimination tree on the device")
_CELLS: Slot[DeviceCells] = Slot("cells on the device")
#: Data of the tree and its arcs without weights; graphs customized on a device share it.
LAYOUTS: Slot[Any] = Slot("layouts of the tree on the device")
_FITS: Slot[bool] = Slot("fits the device")
_LABEL = 64  # bytes per label of the tree for any dtype of weights

_JUMP = 16  # kAhead of climb.cuh
_LIFTS = (2, 4, 8, 32)  # levels; WaysUp of climbing.cuh

#: C names of the types of arcs' weights.
C_VALUES = {**C_NAMES, "uint32": "unsigned int", "uint64": "unsigned long long"}


@dataclass(frozen=True)
class DeviceTree:
    """Arrays of the tree and of the arcs upwards, by label."""

    node: Any  # int32 array, shape (n, 4); first arc, arcs, parent, depth
    jump: Any  # int32 array, shape (n,); the ancestor 16 levels up, or -1
    lift: Any  # int32 array, shape (n, 4); the ancestors 2, 4, 8 and 32 levels up, or -1
    # head_depth, weight: arrays; depths of heads, and weights, of the upward arcs
    head_depth: Any
    weight: Any
    # down_first, down_depth, down_weight: arrays; the same of the downward arcs
    down_first: Any
    down_depth: Any
    down_weight: Any
    # depth, low, vertex, label: int32 arrays, shape (n,)
    depth: Any
    low: Any
    vertex: Any
    label: Any
    height: int
    macros: dict[str, str | int] = field(default_factory=dict)  # types of the kernels
    step: Any = 1.0  # float64; value of one step of weights in fixed point


@dataclass(frozen=True)
class DeviceAbove:
    """Labels outside the cells, in pieces."""

    tree: Tree  # on the host
    labels: NDArray[np.int32]  # host array
    # int32 array, shape (n,); number of each label among these, -1 for other labels
    place: Any
    pieces: DevicePieces
    # int32 array, shape (n,), or None; depth of each label's first ancestor in the top,
    # including the label itself; -1 without one
    stop: Any
    # rows of members and boundaries that products for `place` read, once built
    members: list[tuple[Any, Any]] = field(default_factory=list)

    @cached_property
    def ways_up(self) -> list[Any]:
        """Arrays of :func:`nearfar.prepared.cuda.cut.pieces.ways_up`."""
        return [runtime.upload(array) for array in ways_up(self.pieces.host, self.tree)]


@dataclass(frozen=True)
class DeviceCells:
    """Cells on the device, with their weights."""

    host: Cells
    # cells, boundary, stream, outline: int32 arrays
    cells: Any
    boundary: Any
    stream: Any
    outline: Any


def device_tree(prepared: Prepared) -> DeviceTree:
    """Upload the tree and the upward arcs to the current device, once."""
    return _TREE.of(prepared, lambda: _tree(prepared), runtime.device().ordinal)


def device_cells(prepared: Prepared, shape: PassShape, top: int) -> DeviceCells:
    """Cut cells of a shape and upload them to the current device, once."""
    key = (runtime.device().ordinal, shape, top)
    return _CELLS.of(
        prepared, lambda: prepared.metric.cells(key, lambda: _cells(prepared, shape, top)), key
    )


def _tree(prepared: Prepared) -> DeviceTree:
    tree, up = prepared.preparation.tree, prepared.metric.swept[0]
    lift = np.stack([_ancestors(tree.parent, levels) for levels in _LIFTS], axis=1)
    parts = {"node": nodes(tree, up), "jump": _ancestors(tree.parent, _JUMP), "lift": lift}
    parts |= {"head_depth": up.head_depth, "weight": up.weight}
    parts |= {name: getattr(tree, name) for name in ("depth", "low", "vertex", "label")}
    runtime.require_memory(sum(part.nbytes for part in parts.values()))
    values, distances = up.weight.dtype, prepared.answer_dtype
    macros: dict[str, str | int] = {
        "VALUE_T": C_VALUES[values.name],
        "OUT_T": C_NAMES[distances.name],
        "SIGNED_VALUES": int(values.name == "int64"),
    }
    there = {name: runtime.upload(part) for name, part in parts.items()}
    down = prepared.metric.swept[1]
    same = down is up
    return DeviceTree(
        **there,
        down_first=runtime.upload(down.first.astype(np.int32)),
        down_depth=there["head_depth"] if same else runtime.upload(down.head_depth),
        down_weight=there["weight"] if same else runtime.upload(down.weight),
        height=tree.height,
        macros=macros,
        step=np.float64(1.0 if prepared.fixed is None else prepared.fixed.step),
    )


def nodes(tree: Tree, arcs: QueryArcs) -> NDArray[np.int32]:
    """Return first arc, number of arcs, parent and depth of each label."""
    columns = (arcs.first[:-1], np.diff(arcs.first), tree.parent, tree.depth)
    return np.stack(columns, axis=1).astype(np.int32)


def _ancestors(parent: NDArray[np.int32], levels: int) -> NDArray[np.int32]:
    """Return each label's ancestor ``levels`` (a power of two) levels up, or -1."""
    up = np.append(parent, np.int32(-1))  # the parent of -1 is -1
    while levels > 1:
        up = up[up]
        levels //= 2
    return up[:-1]


def _cells(prepared: Prepared, shape: PassShape, size: int) -> DeviceCells:
    cp = runtime.cupy()
    arcs = prepared.metric.swept[1]
    found = cut(prepared.preparation.view, arcs, shape, top_flags(prepared, size))
    staging = found.weight_at.nbytes + found.far_at.nbytes + arcs.weight.nbytes
    runtime.require_memory(found.nbytes + staging)
    stream = runtime.upload(found.stream)
    values = stream.view(arcs.weight.dtype)
    used = np.flatnonzero(found.weight_at >= 0)
    if len(used):
        weights = runtime.upload(arcs.weight)
        values[cp.asarray(found.weight_at[used])] = weights[cp.asarray(used)]
    if len(found.far_at):
        values[cp.asarray(found.far_at)] = far_value(arcs.weight.dtype)
    cells, boundary, outline = map(runtime.upload, (found.cells, found.boundary, found.outline))
    return DeviceCells(found, cells, boundary, stream, outline)


def top_flags(prepared: Prepared, size: int) -> NDArray[np.uint8] | None:
    """Return an array with 1 for the labels of a top of that size, or None without a top."""
    if size == 0:
        return None
    flags = np.zeros(prepared.n_vertices, dtype=np.uint8)
    flags[_top(prepared.preparation.tree, size)] = 1
    return flags


def device_above(
    prepared: Prepared, upper: NDArray[np.int32], shape: AboveShape, key: Hashable
) -> DeviceAbove:
    """Cut the labels outside all cells into pieces on the current device, once per key."""
    whole_key = ("above", runtime.device().ordinal, prepared.metric.dtype.itemsize, shape, key)
    found: DeviceAbove = LAYOUTS.of(prepared, lambda: _above(prepared, upper, shape), whole_key)
    return found


def _above(prepared: Prepared, upper: NDArray[np.int32], shape: AboveShape) -> DeviceAbove:
    tree, size = prepared.preparation.tree, shape.top
    top = _top(tree, size)
    limits = (shape.least, most_members(prepared.metric.dtype.itemsize))
    pieces = cut_pieces(prepared.preparation.view, *prepared.metric.swept, upper, top, *limits)
    runtime.require_memory(2 * pieces.down.nbytes + 8 * prepared.n_vertices)
    place = np.full(prepared.n_vertices, -1, dtype=np.int32)
    place[upper] = np.arange(len(upper), dtype=np.int32)
    stop = runtime.upload(_stops(tree, top)) if size else None
    return DeviceAbove(tree, upper, runtime.upload(place), DevicePieces.upload(pieces), stop)


def _top(tree: Tree, size: int) -> NDArray[np.int32]:
    """Return the labels with the largest subtrees, descending; the set is closed under parents."""
    if size == 0:
        return np.empty(0, dtype=np.int32)
    subtree = np.arange(tree.n_vertices) - tree.low + 1
    # a parent's subtree is larger than its child's
    largest = np.argpartition(-subtree, size - 1)[:size]
    return np.sort(largest)[::-1].astype(np.int32)


def _stops(tree: Tree, top: NDArray[np.int32]) -> NDArray[np.int32]:
    """Return the depth of each label's first ancestor in the top, itself included, or -1."""
    inside = np.zeros(tree.n_vertices, dtype=bool)
    inside[top] = True
    highest = np.flatnonzero(~inside)  # labels below the top, then only its children
    above = tree.parent[highest]
    right_below = (above < 0) | inside[above]
    highest, above = highest[right_below], above[right_below]
    stop = tree.depth.copy()
    depth = np.where(above < 0, -1, tree.depth[above])
    stop[~inside] = np.repeat(depth, highest - tree.low[highest] + 1)
    return stop


def factor_bytes(prepared: Prepared) -> int:
    """Return a lower estimate of the device memory of a query, without its rows, in bytes."""
    metric, figures = prepared.metric, prepared.preparation.figures
    size = metric.dtype.itemsize
    arcs = metric.n_swept * (4 + size) * (1 + metric.sides)
    values = UNIT * size * (prepared.n_vertices + figures.height)
    return prepared.n_vertices * _LABEL + arcs + values


def require_factor(prepared: Prepared) -> None:
    """Refuse a graph that does not fit the current device, before anything is allocated."""
    here = runtime.device().ordinal
    if _FITS.filled(prepared, here):
        return
    runtime.require_memory(
        factor_bytes(prepared),
        f"a tree of {prepared.n_vertices:,} labels with {prepared.metric.n_swept:,} arcs: use "
        f"{keyword('device', 'cpu')}, or a GPU with more memory",
    )
    _FITS.put(prepared, True, here)
