"""A prepared graph on a CUDA device: tree, arcs and cells, uploaded on first use and kept."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np

from nearfar.graph.slots import Slot
from nearfar.prepared.cells import Cells, PassShape, cut
from nearfar.system.devices import runtime

if TYPE_CHECKING:
    from collections.abc import Hashable

    from numpy.typing import NDArray

    from nearfar.prepared.prepared import Prepared

__all__ = ["C_VALUES", "JUMP", "DeviceCells", "DeviceTree", "device_cells", "device_tree", "plain"]

_TREE: Slot[DeviceTree] = Slot("elimination tree on the device")
_CELLS: Slot[DeviceCells] = Slot("cells on the device")
_ADVICE = "use device='cpu', or a GPU with more memory"

JUMP = 8  # kAhead of climb.cuh

#: C names of the types of arcs' weights.
C_VALUES = {
    "uint32": "unsigned int",
    "uint64": "unsigned long long",
    "int64": "long long",
    "float32": "float",
    "float64": "double",
}
_C_DISTANCES = {"int32": "int", "int64": "long long", "float32": "float", "float64": "double"}


@dataclass(frozen=True)
class DeviceTree:
    """Arrays of the tree and of the arcs upwards, by label.

    Attributes
    ----------
    node : int32 array, shape (n, 4)
        First arc, arcs, parent, depth.
    jump : int32 array, shape (n,)
        The ancestor ``JUMP`` levels up, or -1.
    head_depth, weight : arrays
        Of the arcs upwards.
    depth, low, vertex, label : int32 arrays, shape (n,)
    height : int
    macros : dict
        Types of the kernels.
    """

    node: Any
    jump: Any
    head_depth: Any
    weight: Any
    depth: Any
    low: Any
    vertex: Any
    label: Any
    height: int
    macros: dict[str, str | int] = field(default_factory=dict)


@dataclass(frozen=True)
class DeviceCells:
    """Cells on the device, their weights in place.

    Attributes
    ----------
    host : Cells
    shapes : tuple of PassShape
    cells, boundary, stream, chunk, outline : int32 arrays
    place : int32 array, shape (n,)
        Of each label that is known before, or of an upper pass, its number among them; -1 for the
        others.
    """

    host: Cells
    shapes: tuple[PassShape, ...]
    cells: Any
    boundary: Any
    stream: Any
    chunk: Any
    outline: Any
    place: Any

    def shape(self, number: int) -> PassShape:
        """The shape of a pass; pass 0 is the bottom."""
        return self.shapes[min(number, len(self.shapes) - 1)]


def device_tree(prepared: Prepared) -> DeviceTree:
    """The tree and the arcs upwards on the current device.

    Parameters
    ----------
    prepared : Prepared

    Returns
    -------
    DeviceTree

    Raises
    ------
    OutOfMemoryError
        Before anything is allocated.
    """
    return _TREE.of(prepared, lambda: _tree(prepared), runtime.device().ordinal)


def device_cells(
    prepared: Prepared,
    shapes: tuple[PassShape, ...],
    active: NDArray[np.uint8] | None = None,
    key: Hashable = None,
) -> DeviceCells:
    """The cells of some shapes on the current device.

    Parameters
    ----------
    prepared : Prepared
    shapes : tuple of PassShape
    active : uint8 array, shape (n,), or None
        As for :func:`nearfar.prepared.cells.cut`.
    key : hashable
        By which to keep the cells; with ``active`` and without a key they are not kept.

    Returns
    -------
    DeviceCells

    Raises
    ------
    OutOfMemoryError
        Before anything is allocated.
    """
    if active is not None and key is None:
        return _cells(prepared, shapes, active)
    whole_key = (runtime.device().ordinal, shapes, key)
    return _CELLS.of(
        prepared,
        lambda: prepared.metric.cells(whole_key, lambda: _cells(prepared, shapes, active)),
        whole_key,
    )


def _tree(prepared: Prepared) -> DeviceTree:
    tree, up = prepared.preparation.tree, prepared.metric.swept[0]
    n = tree.n_vertices
    node = np.empty((n, 4), dtype=np.int32)
    node[:, 0] = up.first[:-1]
    node[:, 1] = np.diff(up.first)
    node[:, 2] = tree.parent
    node[:, 3] = tree.depth
    jump = _ancestors(tree.parent, JUMP)
    parts = (node, jump, up.head_depth, up.weight, tree.depth, tree.low, tree.vertex, tree.label)
    runtime.require_memory(sum(part.nbytes for part in parts), _ADVICE)
    values, distances = up.weight.dtype, prepared.weight_dtype
    macros: dict[str, str | int] = {
        "VALUE_T": C_VALUES[values.name],
        "OUT_T": _C_DISTANCES[distances.name],
        "SIGNED_VALUES": int(values.name == "int64"),
    }
    node_, jump_, head_depth, weight, depth, low, vertex, label = (
        runtime.upload(plain(part)) for part in parts
    )
    ways = (head_depth, weight)
    return DeviceTree(node_, jump_, *ways, depth, low, vertex, label, tree.height, macros)


def _ancestors(parent: NDArray[np.int32], levels: int) -> NDArray[np.int32]:
    """Of each label the ancestor so many levels up, a power of two, or -1."""
    up = np.append(parent, np.int32(-1))  # -1 is its own parent
    while levels > 1:
        up = up[up]
        levels //= 2
    return up[:-1]


def _cells(
    prepared: Prepared, shapes: tuple[PassShape, ...], active: NDArray[np.uint8] | None
) -> DeviceCells:
    cp = runtime.cupy()
    arcs = prepared.metric.swept[1]
    found = cut(prepared.preparation.view, arcs, shapes, active)
    staging = found.weight_at.nbytes + found.far_at.nbytes + arcs.weight.nbytes
    runtime.require_memory(found.nbytes + staging, _ADVICE)
    stream = runtime.upload(found.stream)
    values = stream.view(arcs.weight.dtype)
    weights, places = runtime.upload(plain(arcs.weight)), cp.asarray(found.weight_at)
    if active is not None:
        used = places >= 0
        weights, places = weights[used], places[used]
    if len(places):
        values[places] = weights
    if len(found.far_at):
        values[cp.asarray(found.far_at)] = far_value(arcs.weight.dtype)
    place = np.full(prepared.n_vertices, -1, dtype=np.int32)
    place[found.upper] = np.arange(len(found.upper), dtype=np.int32)
    return DeviceCells(
        found,
        shapes,
        runtime.upload(found.cells),
        runtime.upload(found.boundary),
        stream,
        runtime.upload(found.chunk),
        runtime.upload(found.outline),
        runtime.upload(place),
    )


def far_value(dtype: np.dtype[Any]) -> Any:
    """What stands for "no path" in the arcs' dtype; ``far`` of ``value.hpp``."""
    if dtype.kind == "f":
        return dtype.type(np.inf)
    return dtype.type(np.iinfo(dtype).max // 2)


def plain(array: NDArray[Any]) -> NDArray[Any]:
    """An array in memory; of one mapped from a file a copy that the driver can read.

    Parameters
    ----------
    array : array

    Returns
    -------
    array
    """
    return np.array(array) if isinstance(array, np.memmap) else array
