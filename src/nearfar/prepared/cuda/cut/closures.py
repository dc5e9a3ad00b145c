"""Pieces of an elimination tree on a CUDA device, and their matrices."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from nearfar.prepared.cuda.cut.pieces import UNIT, Pieces
from nearfar.system.devices import runtime

_MOST = 512


@dataclass(frozen=True)
class DevicePieces:
    """Pieces on the device, without weights."""

    host: Pieces
    # pieces, level_first, members, boundary: int32 arrays; copies of the host's
    pieces: Any
    # int32 array, shape (n_tiles, 8); for products: fields of each tile's piece except the
    # last, and its first member
    parts: Any
    level_first: Any
    members: Any
    boundary: Any
    # copies of the host's `up_first`, `up`, `down_first` and `down`
    ways: tuple[Any, Any, Any, Any]
    # list of (int32 array, int); piece and first row for each warp of closures, and the members of
    # the largest piece among them
    jobs: list[tuple[Any, int]]

    @classmethod
    def upload(cls, host: Pieces) -> DevicePieces:
        """Upload pieces to the current device."""
        rows = host.pieces[:, 1] + host.pieces[:, 3]
        warps = -(-rows // 32)
        which = np.repeat(np.arange(len(rows)), warps)
        number = np.arange(len(which)) - np.repeat(np.cumsum(warps) - warps, warps)
        jobs = np.stack([which, 32 * number], axis=1).astype(np.int32)
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
        ways = (host.up_first, host.up, host.down_first, host.down)
        up_first, up, down_first, down = (runtime.upload(array) for array in ways)
        return cls(
            host,
            runtime.upload(host.pieces),
            runtime.upload(products),
            runtime.upload(host.level_first),
            runtime.upload(host.members),
            runtime.upload(host.boundary),
            (up_first, up, down_first, down),
            listed,
        )


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
    up_first, up, down_first, down = pieces.ways
    for jobs, members in pieces.jobs:
        shared = 33 * members * dtype.itemsize
        kernel.allow_shared(shared)
        arguments = {
            "pieces": pieces.pieces,
            "jobs": jobs,
            "down_first": down_first,
            "down_way": down,
            "down_weight": down_weight,
            "up_first": up_first,
            "up_way": up,
            "up_weight": up_weight,
            "matrices": matrices,
        }
        kernel(len(jobs), 32, arguments, shared=shared)
    return matrices
