"""Edges to dead ends, from which a search need not go on.

If the only out-edge of a target leads back to the edge's tail, scanning the target improves
nothing. Such edges have the sign bit of their target set, and the target is never queued. On
p2p-Gnutella31 three vertices of four are the target of no other edge.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from nearfar.cuda.device_graph import DeviceGraph
from nearfar.graph.graph import Graph
from nearfar.graph.slots import Slot
from nearfar.system.devices import runtime

_KERNELS, _THREADS = "algorithms/batched/dead_ends.cuh", 256
_MARKED: Slot[Any] = Slot("edges with dead ends marked")


def marked_edges(graph: Graph, device: DeviceGraph) -> Any:
    """Return the edges on the current device, with dead ends marked if a copy fits in memory."""
    return _MARKED.of(graph, lambda: _marked(device), runtime.device().ordinal)


def _marked(device: DeviceGraph) -> Any:
    if runtime.memory()[0] < device.edges.nbytes + 4 * device.n:
        return device.edges
    ways = runtime.cupy().empty(device.n, dtype=np.int32)
    program = runtime.program(_KERNELS, device.macros)
    grid = runtime.device().multiprocessors * 8
    # Copied: records are later read whole, including their padding.
    marked = runtime.copied(device.edges)
    given = {"offsets": device.offsets, "edges": device.edges, "n": np.int64(device.n)}
    program.kernel("only_ways")(grid, _THREADS, {**given, "ways": ways})
    program.kernel("mark_dead_ends")(grid, _THREADS, {**given, "ways": ways, "to": marked})
    return marked
