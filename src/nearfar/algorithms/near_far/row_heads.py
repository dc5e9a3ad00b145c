"""Short rows at fixed places on the device, found by the vertex alone; see row_heads.cuh."""

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
    """

    edges: Any
    width: int
    seconds: float


def row_heads(graph: Graph, device: DeviceGraph, width: int) -> RowHeads:
    """The heads of a graph's rows, made on first use and kept with it. O(n + m) once.

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
        kernel = runtime.program("algorithms/near_far/row_heads.cuh", macros).kernel("row_heads")
        timer = runtime.Timer().start()
        blocks = runtime.device().multiprocessors * 8
        kernel(blocks, _THREADS, (device.offsets, device.edges, edges, np.int64(device.n)))
        return RowHeads(edges, width, timer.stop().seconds)

    key = (runtime.device().ordinal, device.vertex_dtype, device.offset_dtype, width)
    return _ROW_HEADS.of(graph, make, key)
