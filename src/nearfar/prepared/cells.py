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
    parts : int
        Threads that share out the arcs of a vertex: for few sources, and for paths to the root
        that leave room for few blocks.
    """

    members: int
    slots: int
    lanes: int
    columns: int
    parts: int = 1

    def __post_init__(self) -> None:
        if min(self.members, self.slots, self.lanes, self.columns, self.parts) < 1:
            raise OptionError(f"{self}: all must be positive")
        if self.lanes % self.columns or self.threads % 32:
            raise OptionError(f"{self}: lanes / columns * parts must be a multiple of 32")
        if self.parts > 1 and self.lanes // self.columns not in (4, 8, 16, 32):
            raise OptionError(f"{self}: with parts, lanes / columns must be 4, 8, 16 or 32")
        if self.slots >= 2**15 or self.threads > 1024:
            raise OptionError(f"{self}: at most 32,767 slots and 1,024 threads")

    @property
    def threads(self) -> int:
        """Threads of a block."""
        return self.lanes // self.columns * self.parts


@dataclass(frozen=True, slots=True)
class Cells:
    """What the passes read; see ``cells.cpp`` for the layout of the streams.

    Attributes
    ----------
    cells : int32 array, shape (n_cells, 11)
        Boundary, its size, chunks, their number, lowest and highest label, vertices, slots, where
        its part of ``outline`` begins, least depth, number of depths; the bottom pass first.
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
    outline : int32 array
        Pairs of the lowest label below a vertex and its depth, in the order of the sweep.
    upper : int32 array
        Labels that are known before, then those of all passes but the bottom.
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
    outline: NDArray[np.int32]
    upper: NDArray[np.int32]
    n_global: int

    @property
    def n_passes(self) -> int:
        """Launches of a sweep."""
        return len(self.pass_first) - 1

    @property
    def nbytes(self) -> int:
        """Bytes of the arrays that a sweep reads."""
        read = (self.cells, self.boundary, self.stream, self.chunk, self.outline)
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
        1 for labels to sweep, 2 for those whose distances are known before, 0 for what nobody
        asks for. Parents of labels that are not 0 are not 0, parents of those that are 2 are 2.
        None means 1 for all.

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
    found["cells"] = found["cells"].reshape(-1, 11)
    return Cells(**found)
