"""Shapes of a sweep on a CUDA device: the shape of the cells and the size of the top."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from nearfar.graph.slots import Slot
from nearfar.prepared.cuda.cut.cells import PassShape
from nearfar.prepared.cuda.cut.pieces import UNIT as PIECE_UNIT
from nearfar.prepared.cuda.cut.pieces import most_members
from nearfar.prepared.cuda.cut.tiles import LeafShape
from nearfar.system.devices import runtime

if TYPE_CHECKING:
    from nearfar.prepared.prepared import Prepared

_LARGE: Slot[int] = Slot("labels at the top of the tree")
CHUNK = 63 * 16  # maximum bytes of a chunk of records in shared memory; kChunk of sweep_cells.cuh
UNIT = 128  # sources are padded to a multiple of this
CHUNKS = 2  # chunks of a cell in shared memory
TALL = 512  # height above which labels of a tree have hundreds of arcs
# Number of sources up to which passes over cells wait for chains of vertices instead of filling the
# device; small cells have short chains.
SMALL_CELLS = 512
# Number of sources up to which the steps above the cells are one launch, unless the tree is tall:
# New York's rows take 0.77 us each for 512 sources, 0.84 with separate launches.
ONE_LAUNCH = 512
_FILLED = 256  # members to which pieces are then filled up, for fewer levels
# Maximum size of the top for more than SMALL_CELLS sources in a low tree, where climbs are fast.
_MANY_TOP = 256


class AboveShape(NamedTuple):
    """Division of the labels above the cells."""

    top: int  # labels at the top of the tree with a table of distances between all of them
    least: int  # members to which pieces below the top are filled up (`pieces.cpp`)


def padded(count: int) -> int:
    """Return the columns of device memory for a number of sources."""
    return max(1, -(-count // UNIT)) * UNIT


def shared_room() -> int:
    """Return the dynamic shared memory of a block; up to 1024 bytes are reserved."""
    return runtime.device().shared_per_block - 1024


def default_shape(size: int, sources: int, height: int) -> PassShape:
    """Return the shape of cells for a size of values, a number of sources and a tree height.

    With many sources per block each arc is read once for all of them; few sources need small cells
    for short chains.
    """
    tall, columns = height > TALL, 16 // size
    if sources <= SMALL_CELLS:
        return PassShape(64, 48 if tall else 32, 32 * columns, columns)
    # More slots allow fewer blocks; fewer slots leave more labels to products.
    return PassShape(512, 64 if tall else 48, 32 * columns, columns)


def climb_form(height: int, size: int) -> tuple[dict[str, str | int], int, int]:
    """Return macros, warps and shared memory of climbs with a warp per source.

    Labels of taller trees have more arcs, so that more are fetched together.
    """
    warps = 4
    while warps > 1 and warps * height * size > runtime.device().shared_per_block:
        warps //= 2  # a tall tree
    batch = 4 if height > TALL else 2
    return {"WARPS": warps, "BATCH": batch}, warps, warps * height * size


def block_climb_form(height: int, size: int) -> tuple[dict[str, str | int], int, int]:
    """Return macros, threads and shared memory of climbs with a block per source."""
    warps, room = 4, 16384 // size
    most = runtime.device().shared_per_block
    while room > 32 and 2 * room * (size + 4) + height * (size + 2) > most:
        room //= 2  # a tall tree
    batches = 2 * 4 * 32 * warps * 16  # few_sources.cuh reuses the memory of the climb's arcs
    shared = max(2 * room * (size + 4), batches) + height * (size + 2)
    return {"WARPS": warps, "ROOM": room}, 32 * warps, shared


def default_leaf(height: int, sources: int) -> LeafShape:
    """Return the shape of the leaves below tiles of rows, for a tree of that height."""
    return LeafShape(64 if sources <= SMALL_CELLS and height > TALL else 256, 16)


def one_launch(height: int, sources: int) -> bool:
    """Return whether climbs and products run in one launch, for these sources and this tree."""
    return padded(sources) <= ONE_LAUNCH and height <= TALL


def above_shape(prepared: Prepared, sources: int, top: int | None = None) -> AboveShape:
    """Return the division of the labels above the cells for a number of sources.

    The top of the tree has a table of the distances among its labels. A product with it costs the
    square of the number of labels per source, and saves the chain through the top. Large pieces
    make fewer levels, which suits few sources; small ones need less work per source, which suits
    many.
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
    """Return the number of labels with at least 2048 labels below them."""
    low = prepared.preparation.tree.low
    return int((np.arange(len(low)) - low >= 2048).sum())
