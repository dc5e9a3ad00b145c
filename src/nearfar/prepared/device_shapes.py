"""How a sweep on a CUDA device is cut: the shape of the cells and the size of the top."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from nearfar.graph.slots import Slot
from nearfar.prepared.cells import PassShape
from nearfar.prepared.device_pieces import most_members
from nearfar.prepared.pieces import UNIT as PIECE_UNIT
from nearfar.prepared.tiles import LeafShape
from nearfar.system.devices import runtime

if TYPE_CHECKING:
    from nearfar.prepared.prepared import Prepared

__all__ = [
    "CHUNK",
    "FEW",
    "STAGES",
    "TALL",
    "TOGETHER",
    "UNIT",
    "block_climb_form",
    "climb_form",
    "default_leaf",
    "default_shape",
    "padded",
    "top_size",
]

_LARGE: Slot[int] = Slot("labels at the top of the tree")
CHUNK = 63 * 16  # bytes of a chunk of arcs in shared memory
UNIT = 128  # sources are padded to a multiple of this
STAGES = 2  # chunks of arcs under way
FEW = 512  # sources that wait for chains of vertices rather than fill the device
TOGETHER = 256  # sources for which climbs and products are one launch, unless a tree is tall
TALL = 512  # levels of a tree, beyond which labels have hundreds of arcs


def padded(count: int) -> int:
    """Columns of device memory for so many sources.

    Parameters
    ----------
    count : int

    Returns
    -------
    int
    """
    return max(1, -(-count // UNIT)) * UNIT


def default_shape(size: int, sources: int, height: int) -> PassShape:
    """Shape of the cells for values of so many bytes, so many sources and a tree of that height.

    Many sources per block read each arc once for all of them; few sources want small cells for
    short chains.

    Parameters
    ----------
    size : int
    sources : int
    height : int

    Returns
    -------
    PassShape
    """
    tall, columns = height > TALL, 16 // size
    if sources <= FEW:
        return PassShape(64, 48, 32 * (columns // 2), columns // 2)
    # More slots leave room for fewer blocks, fewer of them more labels to products.
    return PassShape(256, 48 if tall else 32, 32 * columns, columns)


def climb_form(height: int, size: int) -> tuple[dict[str, str | int], int, int]:
    """How a warp climbs a tree of that height, for values of so many bytes.

    Taller trees have labels with more arcs, of which more are fetched together.

    Parameters
    ----------
    height, size : int

    Returns
    -------
    macros : dict
        Of ``climb.cuh``.
    warps : int
        Of a block.
    shared : int
        Bytes of dynamic shared memory.
    """
    warps = 4
    while warps > 1 and warps * height * size > runtime.device().shared_per_block:
        warps //= 2  # a tall tree
    batch = 4 if height > TALL else 2
    return {"WARPS": warps, "BATCH": batch}, warps, warps * height * size


def block_climb_form(height: int, size: int) -> tuple[dict[str, str | int], int, int]:
    """The same for a block that climbs, of which there are fewer than a device holds.

    Parameters
    ----------
    height, size : int

    Returns
    -------
    macros : dict
        Of ``climbing.cuh``.
    threads : int
        Of a block.
    shared : int
        Bytes of dynamic shared memory.
    """
    warps, room = 4, 16384 // size
    most = runtime.device().shared_per_block
    while room > 32 and 2 * room * (size + 4) + height * (size + 2) > most:
        room //= 2  # a tall tree
    shared = 2 * room * (size + 4) + height * (size + 2)
    return {"WARPS": warps, "ROOM": room}, 32 * warps, shared


def default_leaf(height: int, sources: int) -> LeafShape:
    """Shape of the leaves below tiles of rows, for a tree of that height.

    Parameters
    ----------
    height, sources : int

    Returns
    -------
    LeafShape
    """
    return LeafShape(64 if sources <= FEW and height > TALL else 256, 16)


def top_size(prepared: Prepared, wanted: int | None) -> int:
    """How many labels of the top of the tree are worth a table of the distances among them.

    A product costs the square of that per source, and saves the chain through the top.

    Parameters
    ----------
    prepared : Prepared
    wanted : int or None
        None chooses.

    Returns
    -------
    int
        No more than a piece may have.
    """
    most = most_members(prepared.metric.dtype.itemsize)
    if wanted is not None:
        return min(wanted, most, prepared.n_vertices)
    return min(most, _LARGE.of(prepared, lambda: _large(prepared))) // PIECE_UNIT * PIECE_UNIT


def _large(prepared: Prepared) -> int:
    """How many labels have many others below."""
    low = prepared.preparation.tree.low
    return int((np.arange(len(low)) - low >= 2048).sum())
