"""A prepared graph on a CUDA device: tree, arcs and cells, uploaded on first use and kept."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np

from nearfar.graph.slots import Slot
from nearfar.prepared.cells import Cells, PassShape, cut
from nearfar.system.devices import runtime

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from nearfar.prepared.prepared import Prepared

__all__ = ["C_VALUES", "DeviceCells", "DeviceTree", "device_cells", "device_tree"]

_TREE: Slot[DeviceTree] = Slot("elimination tree on the device")
_CELLS: Slot[DeviceCells] = Slot("cells on the device")
_ADVICE = "use device='cpu', or a GPU with more memory"

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
    head_depth, weight : arrays
        Of the arcs upwards.
    depth, low, vertex, label : int32 arrays, shape (n,)
    height : int
    macros : dict
        Types of the kernels.
    """

    node: Any
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
    cells, boundary, stream, chunk, ordered, loose : int32 arrays
    place : int32 array, shape (n,)
        Of each label of an upper pass its number among them; -1 for the others.
    """

    host: Cells
    shapes: tuple[PassShape, ...]
    cells: Any
    boundary: Any
    stream: Any
    chunk: Any
    ordered: Any
    loose: Any
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
) -> DeviceCells:
    """The cells of some shapes on the current device.

    Parameters
    ----------
    prepared : Prepared
    shapes : tuple of PassShape
    active : uint8 array, shape (n,), or None
        As for :func:`nearfar.prepared.cells.cut`; such cells are not kept.

    Returns
    -------
    DeviceCells

    Raises
    ------
    OutOfMemoryError
        Before anything is allocated.
    """
    if active is not None:
        return _cells(prepared, shapes, active)
    key = (runtime.device().ordinal, shapes)
    return _CELLS.of(prepared, lambda: _cells(prepared, shapes, None), key)


def _tree(prepared: Prepared) -> DeviceTree:
    tree, up = prepared.preparation.tree, prepared.metric.up
    n = tree.n_vertices
    node = np.empty((n, 4), dtype=np.int32)
    node[:, 0] = up.first[:-1]
    node[:, 1] = np.diff(up.first)
    node[:, 2] = tree.parent
    node[:, 3] = tree.depth
    parts = (node, up.head_depth, up.weight, tree.depth, tree.low, tree.vertex, tree.label)
    runtime.require_memory(sum(part.nbytes for part in parts), _ADVICE)
    values, distances = up.weight.dtype, prepared.weight_dtype
    macros: dict[str, str | int] = {
        "VALUE_T": C_VALUES[values.name],
        "OUT_T": _C_DISTANCES[distances.name],
        "SIGNED_VALUES": int(values.name == "int64"),
    }
    node_, head_depth, weight, depth, low, vertex, label = (
        runtime.upload(_plain(part)) for part in parts
    )
    return DeviceTree(node_, head_depth, weight, depth, low, vertex, label, tree.height, macros)


def _cells(
    prepared: Prepared, shapes: tuple[PassShape, ...], active: NDArray[np.uint8] | None
) -> DeviceCells:
    cp = runtime.cupy()
    arcs = prepared.metric.down
    found = cut(prepared.preparation.view, arcs, shapes, active)
    staging = found.weight_at.nbytes + found.far_at.nbytes + arcs.weight.nbytes
    runtime.require_memory(found.nbytes + staging, _ADVICE)
    stream = runtime.upload(found.stream)
    values = stream.view(arcs.weight.dtype)
    weights, places = arcs.weight, found.weight_at
    if active is not None:
        used = places >= 0
        weights, places = weights[used], places[used]
    if len(places):
        values[cp.asarray(places)] = runtime.upload(_plain(weights))
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
        runtime.upload(found.ordered),
        runtime.upload(found.loose),
        runtime.upload(place),
    )


def far_value(dtype: np.dtype[Any]) -> Any:
    """What stands for "no path" in the arcs' dtype; ``far`` of ``value.hpp``."""
    if dtype.kind == "f":
        return dtype.type(np.inf)
    return dtype.type(np.iinfo(dtype).max // 2)


def _plain(array: NDArray[Any]) -> NDArray[Any]:
    """An array in memory; of one mapped from a file a copy that the driver can read."""
    return np.array(array) if isinstance(array, np.memmap) else array
