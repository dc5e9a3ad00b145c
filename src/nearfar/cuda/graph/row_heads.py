"""Short rows at fixed positions on the device, addressed by the vertex.

See row_heads.cuh, and row_shortcuts.cuh for rows that bypass vertices of few edges.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from nearfar.cuda.device_graph import DeviceGraph
from nearfar.errors import keyword
from nearfar.graph.graph import Graph
from nearfar.graph.slots import Slot
from nearfar.system.devices import runtime

#: Mean degree up to which bypassing a vertex adds few edges.
SHORTCUT_DEGREE = 3.0
#: Share of the vertices that must be removed for the wider rows to be faster.
ENOUGH_OUT = 0.25

_THREADS = 256
# kMostWeights, and kRoom by the bytes of a weight, of head_edges.cuh
_MOST_WEIGHTS, _ROOM = 4, {4: 14, 8: 15}
_CHOICES = 3  # rounds after which nearly all suitable vertices are selected
_ROW_HEADS: Slot[RowHeads] = Slot("heads of rows")


@dataclass(frozen=True)
class RowHeads:
    """First edges of all rows, stored at fixed positions."""

    edges: Any  # cupy array of uint8; n rows
    width: int  # edges per vertex
    row: int  # bytes per row
    chains: bool  # whether shortcuts store the weights of all of their edges
    seconds: float  # device time for building them
    depth: int = 0  # number of rounds in which vertices of few edges were removed
    out: float = 0.0  # share of the vertices that were removed
    long: float = 0.0  # share of the rows with more edges than fit


def row_heads(graph: Graph, device: DeviceGraph, width: int, *, depth: int = 0) -> RowHeads:
    """Return the heads of a graph's rows, built in O(n + m) on first use and cached on it."""
    ones = depth > 0 and not device.weighted
    chains = depth > 0 and device.weighted and device.weight_dtype.kind == "f"

    def make() -> RowHeads:
        cp, vertex, weight = runtime.cupy(), device.vertex_dtype, device.weight_dtype
        record = 2 * vertex.itemsize if ones else device.record
        if chains:  # a target, a count and the weights
            record = 8 + _MOST_WEIGHTS * weight.itemsize
        n, size = np.int64(device.n), max(device.n, 1) * width * record
        runtime.require_memory(
            (1 + chains) * size,
            f"use {keyword('local_limit', 0)}, or a CPU method ({keyword('device', 'cpu')})",
        )
        # Records of mixed sizes have padding, which kernels load too.
        edges = cp.zeros(size, dtype=np.uint8)
        macros = {**device.macros, "ROW_HEAD": width, "CHAINS": int(chains)}
        if ones:
            macros |= {"WEIGHTED": 1, "ONES": 1}
        heads = runtime.program("cuda/graph/row_heads.cuh", macros).kernel("row_heads")
        past = runtime.program("cuda/graph/row_shortcuts.cuh", macros) if depth else None
        state = cp.zeros(max(device.n, 1) if depth else 0, dtype=np.uint8)
        counts = cp.zeros(2, dtype=np.uint32)  # of removed vertices, and of longer rows
        blocks, row = runtime.device().multiprocessors * 8, width * record
        timer = runtime.Timer().start()
        given = {"offsets": device.offsets, "edges": device.edges}
        heads(blocks, _THREADS, {**given, "heads": edges, "n": n, "n_long": counts[1:]})
        if past is not None:
            for time in range(depth):
                for name in ("removable", *("choose_removed",) * _CHOICES):
                    past.kernel(name)(blocks, _THREADS, {"heads": edges, "state": state, "n": n})
                given = {"heads": edges, "state": state, "n": n}
                given |= {"time": np.int64(time), "n_out": counts[:1]}
                past.kernel("lead_past")(blocks, _THREADS, given)
        if chains:
            row = width * (vertex.itemsize + 1) + _ROOM[weight.itemsize] * weight.itemsize
            row = -(-row // 16) * 16
            rows = cp.empty(max(device.n, 1) * row, dtype=np.uint8)
            pack = runtime.program("cuda/graph/pack_heads.cuh", macros).kernel("pack_heads")
            pack(blocks, _THREADS, {"heads": edges, "rows": rows, "n": n})
            edges = rows
        seconds = timer.stop().seconds
        out, long = counts.get() / max(device.n, 1)
        return RowHeads(edges, width, row, chains, seconds, depth, float(out), float(long))

    return _ROW_HEADS.of(graph, make, (*device.key, width, depth), alone=True)
