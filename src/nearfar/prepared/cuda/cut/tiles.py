"""Tiles of consecutive vertices, whose distances a device writes together as rows."""

from __future__ import annotations

from dataclasses import dataclass, fields
from typing import Any

import numpy as np
from numpy.typing import NDArray

from nearfar import _cpu

MOST = 12  # vertices of a bundle: more would leave warps without work
ROWS = 4  # kRows of tiles.cpp


@dataclass(frozen=True, slots=True)
class LeafShape:
    """Maximum size of the leaves."""

    members: int  # maximum number of vertices
    bound: int  # maximum size of the boundary, at most 16: kRows * kSteps of tiles.cpp


@dataclass(frozen=True, slots=True)
class Tiles:
    """Leaves of an elimination tree and tiles of vertices; see ``tiles.cpp``.

    Attributes
    ----------
    leaf : int32 array, shape (n,)
        Root of the leaf of each label, or -1.
    upper : int32 array
        Labels that are in no leaf.
    roots : int32 array
        Roots of the leaves, in descending order.
    boundary : int32 array
        Labels to which the roots of leaves have arcs, padded to multiples of ``ROWS``.
    bundles : int32 array
        Steps of ``ROWS`` rows, 15 for vertices that are in no leaf, and 16 times the vertices;
        then, from the first of the tile on: first row in units of ``ROWS``, where the weights
        begin in units of ``ROWS`` rows, first word of places.
    rows : int32 array
        Labels that bundles read, ``ROWS`` at a time.
    places : int32 array
        Positions of the vertices of bundles in their tiles, a byte each.
    tile_first : int32 array, shape (4 * (n_tiles + 1),)
        First bundle of each tile, first row in units of ``ROWS``, where its weights begin in units
        of ``ROWS`` rows, first four words of places.
    where : int32 array, shape (2 * n,)
        Position of the weights of each label from the first of its boundary, counted in values, in
        up to two tiles; otherwise -1.
    units : int
        Number of weights, in units of ``ROWS`` rows.
    """

    leaf: NDArray[np.int32]
    upper: NDArray[np.int32]
    roots: NDArray[np.int32]
    boundary: NDArray[np.int32]
    bundles: NDArray[np.int32]
    rows: NDArray[np.int32]
    places: NDArray[np.int32]
    tile_first: NDArray[np.int32]
    where: NDArray[np.int32]
    units: int

    @property
    def n_values(self) -> int:
        """Number of weights, and of additions per source."""
        return self.units * ROWS

    @property
    def nbytes(self) -> int:
        """Bytes of the arrays."""
        return sum(getattr(self, f.name).nbytes for f in fields(self) if f.name != "units")

    def tile_bytes(self, size: int) -> int:
        """Return the bytes of the largest tile, for a given size of weights."""
        first = self.tile_first.reshape(-1, 4)
        counts = first[1:] - first[:-1]
        return int((counts @ [16, 4 * ROWS, ROWS * size, 16]).max(initial=0))


def cut_tiles(
    view: Any, shape: LeafShape, width: int, margin: int, known: NDArray[np.uint8] | None = None
) -> Tiles:
    """Cut the bottom of a tree into leaves, and rows into tiles.

    O(n log(tile) + boundaries of leaves).
    """
    return Tiles(
        **_cpu.prepared_tiles(view, shape.members, shape.bound, width, MOST, margin, known)
    )
