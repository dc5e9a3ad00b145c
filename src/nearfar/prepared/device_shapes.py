"""How a sweep on a CUDA device is cut: shapes of the passes and the size of the top."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from nearfar.graph.slots import Slot
from nearfar.prepared.cells import PassShape
from nearfar.system.devices import runtime

if TYPE_CHECKING:
    from nearfar.prepared.prepared import Prepared

__all__ = [
    "CHUNK",
    "FEW",
    "STATIC",
    "TOP_UNIT",
    "UNIT",
    "default_shapes",
    "default_top",
    "padded",
    "stages",
]

_LARGE: Slot[int] = Slot("labels at the top of the tree")
CHUNK = (64 + 2) * 16  # bytes of a chunk of arcs in shared memory
STATIC = 1024  # bytes of shared memory that a block takes besides
UNIT = 128  # sources are padded to a multiple of this
TOP_UNIT = 64  # labels of a top are padded to a multiple of this
FEW = 512  # sources that wait for chains of vertices rather than fill the device
_MANY = 2048  # sources that fill the device by themselves
_TALL = 512  # levels of a tree


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


def default_shapes(size: int, sources: int, height: int) -> tuple[PassShape, ...]:
    """Shapes of the passes for values of so many bytes, so many sources and a tree of that height.

    At the bottom there are thousands of cells: many sources per block read each arc once for all of
    them. The upper passes have few cells, and long paths to the root. Where the slots of such a
    path leave room for few blocks, or few sources wait for the chain from vertex to vertex, several
    warps share out the arcs of a vertex; few sources want small cells besides, for short chains.

    Parameters
    ----------
    size : int
    sources : int
    height : int

    Returns
    -------
    tuple of PassShape
        From the bottom.
    """
    tall, columns = height > _TALL, 16 // size
    if sources <= FEW:
        bottom = PassShape(64, 48, 32 * (columns // 2), columns // 2)
        members, parts = 128, 8
    else:
        # Wide slots of a deep boundary would leave room for too few blocks.
        each = columns // 2 if tall else columns
        bottom = PassShape(256, 64 if tall else 32, 32 * each, each)
        members, parts = (512, 4) if tall else (1024, 1 if sources >= _MANY else 4)
    room = runtime.device().shared_per_block - STATIC - stages(parts) * CHUNK
    partial = 2 * parts if parts > 1 else 0
    slots = min(room // (32 * size) - partial, 2**15 - 1)
    return (bottom, PassShape(members, slots, 32, 1, parts))


def default_top(prepared: Prepared) -> int:
    """How many labels of the top of the tree are worth a table of the distances among them.

    A product costs the square of that per source, and saves the chain through the top.

    Parameters
    ----------
    prepared : Prepared

    Returns
    -------
    int
    """
    most = 2048 if prepared.preparation.figures.height > _TALL else 512
    return min(most, _LARGE.of(prepared, lambda: _large(prepared))) // TOP_UNIT * TOP_UNIT


def _large(prepared: Prepared) -> int:
    """How many labels have many others below."""
    low = prepared.preparation.tree.low
    return int((np.arange(len(low)) - low >= 2048).sum())


def stages(parts: int) -> int:
    """Chunks of arcs under way: several warps are soon through with one.

    Parameters
    ----------
    parts : int

    Returns
    -------
    int
    """
    return 2 if parts == 1 else 8
