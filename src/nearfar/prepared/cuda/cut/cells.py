"""Elimination tree divided into cells that a thread block sweeps in shared memory."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from nearfar import _cpu
from nearfar.errors import OptionError
from nearfar.prepared.metric.arc_weights import QueryArcs


@dataclass(frozen=True, slots=True)
class PassShape:
    """Maximum size of the cells, and the number of threads per cell."""

    members: int  # maximum number of vertices of a cell
    slots: int  # maximum number of distances per source in a cell's shared memory
    lanes: int  # sources per block
    columns: int  # sources per thread

    def __post_init__(self) -> None:
        if min(self.members, self.slots, self.lanes, self.columns) < 1:
            raise OptionError(f"{self}: all must be positive")
        if self.lanes % self.columns or self.threads % 32:
            raise OptionError(f"{self}: lanes / columns must be a multiple of 32")
        if self.slots >= 2**15 or self.threads > 1024:
            raise OptionError(f"{self}: at most 32,767 slots and 1,024 threads")

    @property
    def threads(self) -> int:
        """Number of threads of a block."""
        return self.lanes // self.columns


@dataclass(frozen=True, slots=True)
class Cells:
    """Data for the sweep over cells; see ``cells.cpp`` for the layout of the streams."""

    # shape (n_cells, 9); boundary, its size, first round of the stream, rounds, lowest and highest
    # label, vertices, slots, start of its part of `outline`
    cells: NDArray[np.int32]
    boundary: NDArray[np.int32]  # labels outside a cell to which its vertices have arcs
    # vertices and arcs in the order of the sweep; weights are 0 and filled in on the device
    stream: NDArray[np.int32]
    # shape (n_arcs,); position of each arc's weight in the stream, counted in values; -1
    # for arcs of labels that are in no cell
    weight_at: NDArray[np.int32]
    far_at: NDArray[np.int32]  # positions in the stream with "no path" for all weights
    # pairs of the lowest label below a vertex and its depth, in the order of the sweep
    outline: NDArray[np.int32]
    upper: NDArray[np.int32]  # labels that are in no cell

    @property
    def nbytes(self) -> int:
        """Bytes of the arrays that a sweep reads."""
        read = (self.cells, self.boundary, self.stream, self.outline)
        return sum(array.nbytes for array in read)


def cut(
    view: Any, arcs: QueryArcs, shape: PassShape, known: NDArray[np.uint8] | None = None
) -> Cells:
    """Cut the bottom of a tree into cells.

    O(arcs); tens of milliseconds for a city.
    """
    wide = arcs.weight.dtype.itemsize == 8
    limits = (shape.members, shape.slots, shape.lanes * arcs.weight.dtype.itemsize)
    found = _cpu.prepared_cells(view, arcs.first, arcs.head_depth, wide, *limits, known)
    found["cells"] = found["cells"].reshape(-1, 9)
    return Cells(**found)
