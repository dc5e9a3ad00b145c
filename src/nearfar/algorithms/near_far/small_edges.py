"""Edges in 4 bytes each on the device, where a vertex and a weight fit 32 bits together."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from nearfar.graph.slots import Slot
from nearfar.system.devices import runtime

if TYPE_CHECKING:
    from nearfar.cuda.device_graph import DeviceGraph
    from nearfar.graph.graph import Graph

__all__ = ["SmallEdges", "small_edges"]

_THREADS = 256
_SMALL_EDGES: Slot[SmallEdges] = Slot("edges in 4 bytes")


@dataclass(frozen=True)
class SmallEdges:
    """Words of target and weight.

    Attributes
    ----------
    words : cupy array of uint32, shape (m,)
    bits : int
        Low bits of a word that hold the target.
    seconds : float
        Device time that making them took.
    """

    words: Any
    bits: int
    seconds: float


def small_edges(graph: Graph, device: DeviceGraph) -> SmallEdges | None:
    """The edges of a graph in 4 bytes each, kept with it; None where they do not fit. O(m) once."""
    bits = max(graph.n_vertices - 1, 1).bit_length()
    if not graph.is_weighted or graph.weight_dtype.kind != "i" or not graph.n_edges:
        return None
    if bits + int(graph.max_weight).bit_length() > 32:
        return None

    def make() -> SmallEdges:
        runtime.require_memory(4 * device.m, "use distance_bits=0, or a CPU method (device='cpu')")
        words = runtime.cupy().empty(device.m, dtype=np.uint32)
        macros = {**device.macros, "EDGE_BITS": bits}
        kernel = runtime.program("algorithms/near_far/shrink_edges.cuh", macros).kernel(
            "shrink_edges"
        )
        timer = runtime.Timer().start()
        blocks = runtime.device().multiprocessors * 8
        kernel(blocks, _THREADS, (device.edges, words, np.int64(device.m)))
        return SmallEdges(words, bits, timer.stop().seconds)

    key = (runtime.device().ordinal, device.vertex_dtype, device.offset_dtype)
    return _SMALL_EDGES.of(graph, make, key)
