"""Upper part of an elimination tree, divided into pieces, and their matrices on a device."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from nearfar import _cpu
from nearfar.graph.build import runs
from nearfar.prepared.metric.arc_weights import QueryArcs
from nearfar.prepared.order.tree import Tree
from nearfar.system.devices import runtime

UNIT, DEEP = 16, 8  # kUnit and kDeep of pieces.cpp
_MOST = 512  # members of a piece


@dataclass(frozen=True, slots=True)
class Pieces:
    """Pieces, and the labels that their members have arcs to; see ``pieces.cpp``."""

    # shape (n_pieces, 8); first member, members, start and size of its boundary, lowest and
    # highest label, start of its matrix in units of `UNIT * DEEP` values, whether it is the top
    pieces: NDArray[np.int32]
    # labels, descending within a piece, padded with -1 to a multiple of `UNIT`
    members: NDArray[np.int32]
    # labels; the last ones of a piece may be padding to a multiple of `DEEP`
    boundary: NDArray[np.int32]
    # shape (n_tiles, 2); piece and first member of each `UNIT` members, by level
    tiles: NDArray[np.int32]
    level_first: NDArray[np.int32]  # shape (n_levels + 1,); first tile of each level
    # up_first, up, down_first, down: for each member, start of its arcs; pairs of the row that
    # an arc leads to and the arc
    up_first: NDArray[np.int32]
    up: NDArray[np.int32]
    down_first: NDArray[np.int32]
    down: NDArray[np.int32]
    units: int  # size of all matrices, in units of `UNIT * DEEP` values

    @property
    def n_levels(self) -> int:
        """Number of steps of a sweep above the bottom cells."""
        return len(self.level_first) - 1

    @property
    def n_values(self) -> int:
        """Number of values of all matrices."""
        return self.units * UNIT * DEEP


def cut_pieces(
    view: Any,
    up: QueryArcs,
    down: QueryArcs,
    upper: NDArray[np.int32],
    top: NDArray[np.int32],
    least: int = UNIT,
    most: int = 512,
) -> Pieces:
    """Cut labels that are closed under parents into pieces.

    O(n + arcs of these labels).
    """
    found = _cpu.prepared_pieces(view, *up[:2], *down[:2], upper, top, least, most)
    found["pieces"] = found["pieces"].reshape(-1, 8)
    found["tiles"] = found["tiles"].reshape(-1, 2)
    return Pieces(**found)


def ways_up(
    pieces: Pieces, tree: Tree
) -> tuple[NDArray[np.int32], NDArray[np.int32], NDArray[np.uint16]]:
    """Return the pieces on the path from each label to the root, and its ancestors in them.

    O(n + listed ancestors).
    """
    number = np.full(tree.n_vertices, -1, dtype=np.int32)
    real = np.flatnonzero(pieces.members >= 0)
    labels = pieces.members[real]
    number[labels] = real
    piece = np.repeat(np.arange(len(pieces.pieces)), pieces.pieces[:, 1])
    first = pieces.pieces[piece, 0]
    root = pieces.members[first]
    parent = np.full(len(pieces.members), -1, dtype=np.int32)
    parent[real] = np.where(tree.parent[labels] >= 0, number[tree.parent[labels]], -1)
    way = np.zeros((len(pieces.members), 4), dtype=np.int32)
    way[:, 0] = parent[first]
    way[:, 1] = np.searchsorted(pieces.tiles[:, 0], piece)
    way[real, 2] = tree.depth[labels] - tree.depth[root[real]] + 1
    ends = np.cumsum(way[:, 2], dtype=np.int64)
    way[:, 3] = ends - way[:, 2]
    rows = np.zeros(ends[-1] if len(ends) else 0, dtype=np.uint16)
    at, to, left = real, ends[real] - 1, way[real, 2]
    while len(at):
        rows[to] = at - first[at]
        more = left > 1
        at, to, left = parent[at[more]], to[more] - 1, left[more] - 1
    lowest = number.copy()
    outside = np.flatnonzero(number < 0)
    above = tree.parent[outside]
    highest = (above < 0) | (number[above] >= 0)
    outside, above = outside[highest], above[highest]
    below = np.where(above < 0, -1, number[above])
    lowest[number < 0] = np.repeat(below, outside - tree.low[outside] + 1)
    return lowest, way, rows


@dataclass(frozen=True)
class DevicePieces:
    """Pieces on the device, without weights."""

    host: Pieces
    # int32 array, shape (n_tiles, 8); for products: fields of each tile's piece except the
    # last, and its first member
    parts: Any
    # level_first, members, boundary: int32 arrays; copies of the host's
    level_first: Any
    members: Any
    boundary: Any
    arcs: dict[str, Any]  # pieces and their arcs, as arguments of `closures.cuh`
    # list of (int32 array, int); piece and first row for each warp of closures, and the members of
    # the largest piece among them
    jobs: list[tuple[Any, int]]

    @classmethod
    def upload(cls, host: Pieces) -> DevicePieces:
        """Upload pieces to the current device."""
        rows = host.pieces[:, 1] + host.pieces[:, 3]
        which, first = warps_of(rows)
        jobs = np.stack([which, first], axis=1).astype(np.int32)
        is_top = host.pieces[which, 7] == 1
        of_piece, first = host.tiles.T
        products = np.column_stack([host.pieces[of_piece, :7], first])
        # A large top would leave shared memory for few warps of the other pieces.
        parts = [jobs[is_top], jobs[~is_top]]
        listed = [
            (runtime.upload(part), int(host.pieces[part[:, 0], 1].max()))
            for part in parts
            if len(part)
        ]
        ways = {"up_first": host.up_first, "up_way": host.up}
        ways |= {"down_first": host.down_first, "down_way": host.down, "pieces": host.pieces}
        arcs = {name: runtime.upload(array) for name, array in ways.items()}
        read = {"parts": products, "level_first": host.level_first}
        read |= {"members": host.members, "boundary": host.boundary}
        there = {name: runtime.upload(array) for name, array in read.items()}
        return cls(host, **there, arcs=arcs, jobs=listed)


def warps_of(rows: NDArray[Any]) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Return the warps of 32 rows each that cover matrices: their matrix and first row."""
    which, warp = runs(-(-rows // 32))
    return which, 32 * warp


def most_members(size: int) -> int:
    """Return the maximum size of a piece: closures store 33 values per member."""
    room = (runtime.device().shared_per_block - 1024) // (33 * size)
    return min(_MOST, room // UNIT * UNIT)


def closures(
    pieces: DevicePieces, macros: dict[str, str | int], up_weight: Any, down_weight: Any
) -> Any:
    """Compute the distances from the boundary of each piece to its members."""
    dtype = down_weight.dtype
    runtime.require_memory(pieces.host.n_values * dtype.itemsize)
    matrices = runtime.cupy().empty(pieces.host.n_values, dtype)
    kernel = runtime.program("prepared/cuda/cut/closures.cuh", macros).kernel("closures")
    weights = {"up_weight": up_weight, "down_weight": down_weight}
    for jobs, members in pieces.jobs:
        shared = 33 * members * dtype.itemsize
        arguments = {**pieces.arcs, **weights, "jobs": jobs, "matrices": matrices}
        kernel(len(jobs), 32, arguments, shared=shared)
    return matrices
