"""An elimination tree cut into cells that a thread block of a GPU sweeps in shared memory."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from nearfar import _cpu
from nearfar.errors import OptionError

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from nearfar.prepared.metric import QueryArcs

__all__ = ["Cells", "PassShape", "cut"]


@dataclass(frozen=True, slots=True)
class PassShape:
    """How large the cells of a pass may be, and how a block works on one.

    Attributes
    ----------
    members : int
        Vertices of a cell, at most.
    slots : int
        Distances per source that a cell keeps in shared memory, at most.
    lanes : int
        Sources per block.
    columns : int
        Sources per thread.
    """

    members: int
    slots: int
    lanes: int
    columns: int

    def __post_init__(self) -> None:
        if min(self.members, self.slots, self.columns) < 1 or self.lanes % (32 * self.columns):
            raise OptionError(
                f"{self}: lanes must be a multiple of 32 times columns, and all positive"
            )
        if self.slots >= 2**15 or self.lanes > 1024 * self.columns:
            raise OptionError(f"{self}: at most 32,767 slots and 1,024 threads")


@dataclass(frozen=True, slots=True)
class Cells:
    """What the passes read; see ``cells.cpp`` for the layout of the streams.

    Attributes
    ----------
    cells : int32 array, shape (n_cells, 10)
        Boundary, its size, chunks, their number, lowest and highest label, vertices, slots, how
        many of the boundary the cell writes, where its part of ``ordered`` begins; the bottom pass
        first.
    boundary : int32 array
        Labels outside of a cell that its vertices have arcs to.
    stream : int32 array
        Vertices and arcs in the order of the sweep; weights are 0 and filled in on the device.
    chunk : int32 array
        Where parts of the stream end.
    weight_at : int32 array, shape (n_arcs,)
        Where in the stream, counted in values, the weight of each arc belongs; -1 for arcs that are
        left out.
    far_at : int32 array
        Which values of the stream are "no path" whatever the weights.
    pass_first : int32 array, shape (n_passes + 1,)
        First cell of each pass.
    ordered : int32 array
        Pairs of the place among vertices that the bottom pass writes together and the vertex, by
        vertex within each group.
    loose : int32 array
        Labels that the bottom pass does not write.
    upper : int32 array
        Labels of all passes but the bottom.
    n_sectors : int
        How many sectors of 8 neighbouring vertices all groups write.
    n_global : int
        How many passes, the last ones, keep their distances in global memory: 0 or 1.
    """

    cells: NDArray[np.int32]
    boundary: NDArray[np.int32]
    stream: NDArray[np.int32]
    chunk: NDArray[np.int32]
    weight_at: NDArray[np.int32]
    far_at: NDArray[np.int32]
    pass_first: NDArray[np.int32]
    ordered: NDArray[np.int32]
    loose: NDArray[np.int32]
    upper: NDArray[np.int32]
    n_sectors: int
    n_global: int

    @property
    def n_passes(self) -> int:
        """Launches of a sweep."""
        return len(self.pass_first) - 1

    @property
    def nbytes(self) -> int:
        """Bytes of the arrays that a sweep reads."""
        read = (self.cells, self.boundary, self.stream, self.chunk, self.ordered)
        return sum(array.nbytes for array in read)


def cut(
    view: Any,
    arcs: QueryArcs,
    shapes: tuple[PassShape, ...],
    active: NDArray[np.uint8] | None = None,
) -> Cells:
    """Cut a tree into cells, pass by pass from the bottom.

    Parameters
    ----------
    view : nearfar._cpu.PreparedArcs
    arcs : QueryArcs
        The arcs that a sweep follows.
    shapes : tuple of PassShape
        Of each pass; the last one of all later passes, too.
    active : uint8 array, shape (n,), or None
        Which labels to sweep, closed under parents; None means all.

    Returns
    -------
    Cells

    Notes
    -----
    O(arcs) per pass; tens of milliseconds for a city.
    """
    wide = arcs.weight.dtype.itemsize == 8
    limits = [(shape.members, shape.slots) for shape in shapes]
    found = _cpu.prepared_cells(view, arcs.first, arcs.head_depth, wide, limits, active)
    found["cells"] = found["cells"].reshape(-1, 10)
    return Cells(**found)
