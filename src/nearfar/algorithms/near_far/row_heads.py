"""Short rows at fixed places on the device, found by the vertex alone.

See row_heads.cuh, and row_shortcuts.cuh for rows that go past vertices of few edges.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from nearfar.graph.slots import Slot
from nearfar.system.devices import runtime

if TYPE_CHECKING:
    from nearfar.cuda.device_graph import DeviceGraph
    from nearfar.graph.graph import Graph

__all__ = ["RowHeads", "row_heads"]

_THREADS = 256
_CHOICES = 3  # times that vertices are taken out, after which nearly all are that can be
_ROW_HEADS: Slot[RowHeads] = Slot("heads of rows")


@dataclass(frozen=True)
class RowHeads:
    """Heads of all rows.

    Attributes
    ----------
    edges : cupy array of uint8
        n * width edge records.
    width : int
        Edges per vertex.
    seconds : float
        Device time that making them took.
    shortcuts : bool
        Whether they go past vertices of few edges.
    """

    edges: Any
    width: int
    seconds: float
    shortcuts: bool = False


def row_heads(
    graph: Graph, device: DeviceGraph, width: int, *, shortcuts: bool = False
) -> RowHeads:
    """The heads of a graph's rows, made on first use and kept with it. O(n + m) once.

    Parameters
    ----------
    graph : Graph
    device : DeviceGraph
    width : int
        Edges of a row that are kept there.
    shortcuts : bool
        Rows go past vertices of few edges; for integer weights.

    Raises
    ------
    OutOfMemoryError
        Before anything is allocated.
    """

    def make() -> RowHeads:
        size = max(device.n, 1) * width * device.record
        runtime.require_memory(size, "use local_limit=0, or a CPU method (device='cpu')")
        # A record of mixed sizes has padding, which kernels load with the rest.
        edges = runtime.cupy().zeros(size, dtype=np.uint8)
        macros = {**device.macros, "ROW_HEAD": width}
        file = "row_shortcuts.cuh" if shortcuts else "row_heads.cuh"
        program = runtime.program(f"algorithms/near_far/{file}", macros)
        state = runtime.cupy().empty(max(device.n, 1) if shortcuts else 0, dtype=np.uint8)
        timer = runtime.Timer().start()
        blocks, n = runtime.device().multiprocessors * 8, np.int64(device.n)
        rows = device.offsets, device.edges
        if shortcuts:
            for name in ("removable", *("choose_removed",) * _CHOICES):
                program.kernel(name)(blocks, _THREADS, (*rows, state, n))
            program.kernel("rows_with_shortcuts")(blocks, _THREADS, (*rows, state, edges, n))
        else:
            program.kernel("row_heads")(blocks, _THREADS, (*rows, edges, n))
        return RowHeads(edges, width, timer.stop().seconds, shortcuts)

    here = runtime.device().ordinal
    key = (here, device.vertex_dtype, device.offset_dtype, width, shortcuts)
    return _ROW_HEADS.of(graph, make, key, alone=True)
