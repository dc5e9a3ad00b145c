"""Shapes of a sweep on a CUDA device: the shape of the cells and the size of the top."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from nearfar.graph.slots import Slot
from nearfar.prepared.cuda.cut.cells import PassShape
from nearfar.prepared.cuda.cut.closures import most_members
from nearfar.prepared.cuda.cut.pieces import UNIT as PIECE_UNIT
from nearfar.prepared.cuda.cut.tiles import LeafShape
from nearfar.system.devices import runtime

if TYPE_CHECKING:
    from nearfar.prepared.prepared import Prepared

_LARGE: Slot[int] = Slot("labels at the top of the tree")
CHUNK = 63 * 16  # bytes of a chunk of records in shared memory, at most; kChunk of sweep_cells.cuh
UNIT = 128  # sources are padded to a multiple of this
CHUNKS = 2  # of a cell, in shared memory
TALL = 512  # levels of a tree, beyond which labels have hundreds of arcs
# Two limits, because each is of a step of its own. Up to so many sources the passes over cells wait
# for chains of vertices rather than fill the device, and chains are short in small cells.
SMALL_CELLS = 512
# Up to so many the steps above the cells are one launch, unless the tree is tall: 512 sources take
# 0.77 us each for New York's rows with it, 0.84 with separate launches; more were not measured.
ONE_LAUNCH = 512
_FILLED = 256  # members that a piece is filled up to for them: fewer levels
# Labels of the top for more than SMALL_CELLS sources: in a low tree climbs are quick.
_MANY_TOP = 256


class AboveShape(NamedTuple):
    """Division of the labels above the cells."""

    top: int  # labels at the top of the tree of which all distances to each other are kept
    least: int  # members that a piece below it is filled up to (`pieces.cpp`)


def padded(count: int) -> int:
    """Return the columns of device memory for a number of sources."""
    return max(1, -(-count // UNIT)) * UNIT


def shared_room() -> int:
    """Return the dynamic shared memory of a block, besides up to 1024 bytes that it takes."""
    return runtime.device().shared_per_block - 1024


def default_shape(size: int, sources: int, height: int) -> PassShape:
    """Return the shape of cells by the size of values, the sources and the tree's height.

    Many sources per block read each arc once for all of them; few sources want small cells for
    short chains.
    """
    tall, columns = height > TALL, 16 // size
    if sources <= SMALL_CELLS:
        return PassShape(64, 48 if tall else 32, 32 * columns, columns)
    # More slots permit fewer blocks, fewer of them more labels to products.
    return PassShape(512, 64 if tall else 48, 32 * columns, columns)


def climb_form(height: int, size: int) -> tuple[dict[str, str | int], int, int]:
    """Return how a warp climbs a tree of that height, for the size of values.

    Taller trees have labels with more arcs, of which more are fetched together.
    """
    warps = 4
    while warps > 1 and warps * height * size > runtime.device().shared_per_block:
        warps //= 2  # a tall tree
    batch = 4 if height > TALL else 2
    return {"WARPS": warps, "BATCH": batch}, warps, warps * height * size


def block_climb_form(height: int, size: int) -> tuple[dict[str, str | int], int, int]:
    """Return how a block climbs, if there are fewer blocks than a device holds."""
    warps, room = 4, 16384 // size
    most = runtime.device().shared_per_block
    while room > 32 and 2 * room * (size + 4) + height * (size + 2) > most:
        room //= 2  # a tall tree
    batches = 2 * 4 * 32 * warps * 16  # of few_sources.cuh, where the climb had its arcs
    shared = max(2 * room * (size + 4), batches) + height * (size + 2)
    return {"WARPS": warps, "ROOM": room}, 32 * warps, shared


def default_leaf(height: int, sources: int) -> LeafShape:
    """Choose the shape of the leaves below tiles of rows, for a tree of that height."""
    return LeafShape(64 if sources <= SMALL_CELLS and height > TALL else 256, 16)


def one_launch(height: int, sources: int) -> bool:
    """Return whether climbs and products are one launch, for these sources and this tree."""
    return padded(sources) <= ONE_LAUNCH and height <= TALL


def above_shape(prepared: Prepared, sources: int, top: int | None = None) -> AboveShape:
    """Return the division of the labels above the cells for a number of sources.

    How many labels of the top of the tree are worth a table of the distances among them: a
    product costs the square of that per source, and saves the chain through the top. Large pieces
    make few levels, which few sources wait for; many sources rather pay for what climbs reach.
    """
    most = most_members(prepared.metric.dtype.itemsize)
    height = prepared.preparation.figures.height
    together, quick = one_launch(height, sources), sources > SMALL_CELLS and height <= TALL
    if top is not None:
        size = min(top, most, prepared.n_vertices)
    else:
        large = _LARGE.of(prepared, lambda: _large(prepared))
        size = min(_MANY_TOP if quick else most, large) // PIECE_UNIT * PIECE_UNIT
    return AboveShape(size, _FILLED if together else PIECE_UNIT)


def _large(prepared: Prepared) -> int:
    """Return the number of labels with many others below."""
    low = prepared.preparation.tree.low
    return int((np.arange(len(low)) - low >= 2048).sum())
