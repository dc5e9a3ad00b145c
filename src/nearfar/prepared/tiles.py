"""Tiles of consecutive vertices whose distances a device writes as rows in one go."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from nearfar import _cpu

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

__all__ = ["TILE", "LeafShape", "Tiles", "cut_tiles"]

TILE = 128  # kTile of tiles.cuh
EACH, ROWS = 4, 4  # kEach and kRows of tiles.cpp


@dataclass(frozen=True, slots=True)
class LeafShape:
    """How large the leaves may be.

    Attributes
    ----------
    members : int
        Vertices, at most.
    bound : int
        Labels of the boundary, at most.
    """

    members: int
    bound: int


@dataclass(frozen=True, slots=True)
class Tiles:
    """Leaves of an elimination tree and tiles of vertices; see ``tiles.cpp``.

    Attributes
    ----------
    leaf : int32 array, shape (n,)
        Of each label the root of its leaf, or -1.
    upper : int32 array
        Labels that are in no leaf.
    roots : int32 array
        Of the leaves, falling.
    boundary : int32 array
        Labels that quads look at; first those of the leaves.
    quads : int32 array
        First of the boundary, its size, where the weights begin in units of ``ROWS`` rows, places
        of the vertices in the tile as bytes.
    tile_first : int32 array, shape (n_tiles + 1,)
        First quad of each tile.
    where : int32 array, shape (2 * n,)
        Of each label its weights from the first of its boundary, counted in values, in up to two
        tiles; otherwise -1.
    zero_at : int32 array
        Weights that are 0 whatever the metric.
    units : int
        How many weights there are, in units of ``ROWS`` rows.
    """

    leaf: NDArray[np.int32]
    upper: NDArray[np.int32]
    roots: NDArray[np.int32]
    boundary: NDArray[np.int32]
    quads: NDArray[np.int32]
    tile_first: NDArray[np.int32]
    where: NDArray[np.int32]
    zero_at: NDArray[np.int32]
    units: int

    @property
    def n_values(self) -> int:
        """Weights: additions per source, too."""
        return self.units * ROWS * EACH

    @property
    def nbytes(self) -> int:
        """Bytes of the arrays."""
        arrays = (self.leaf, self.upper, self.roots, self.boundary, self.quads)
        more = (self.tile_first, self.where, self.zero_at)
        return sum(array.nbytes for array in (*arrays, *more))


def cut_tiles(
    view: Any, shape: LeafShape, margin: int = 0, known: NDArray[np.uint8] | None = None
) -> Tiles:
    """Cut the bottom of a tree into leaves, and rows into tiles.

    Parameters
    ----------
    view : nearfar._cpu.PreparedArcs
    shape : LeafShape
    margin : int
        Vertices that a tile has beyond those it writes, for rows that begin anywhere.
    known : uint8 array, shape (n,), or None
        1 for labels that are to be in no leaf, closed under parents.

    Returns
    -------
    Tiles

    Notes
    -----
    O(n log(tile) + boundaries of leaves).
    """
    return Tiles(**_cpu.prepared_tiles(view, shape.members, shape.bound, TILE, margin, known))
