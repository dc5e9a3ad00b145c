"""Scalars of the kernels that solve a source per block, in the width of a distance."""

from __future__ import annotations

import numpy as np

from nearfar.graph.graph import Graph


class Values:
    """Delta, cap and heaviest weight in the kernels' slots of 16, 32 or 64 bits."""

    def __init__(self, graph: Graph, limit: float | None, delta: float, bits: int) -> None:
        dtype = graph.weight_dtype
        self.floating = dtype.kind == "f"
        self.scalar = np.uint64 if bits == 64 else np.uint32  # the kernels' value_t
        self.limited = True  # floats never need the check for truncated paths
        if self.floating:
            top = dtype.type(np.inf)
            if limit is not None and limit < np.inf:
                top = np.nextafter(dtype.type(limit), top) if limit >= 0 else dtype.type(0)
            self.cap, self.delta = top.view(self.scalar), dtype.type(delta).view(self.scalar)
            self.heaviest = self.scalar(0)
            return
        full = {16: 2**16 - 1, 32: 2**31 - 1, 64: 2**63 - 1}[bits]
        full = min(full, int(np.iinfo(dtype).max))
        cap = full if limit is None else max(int(limit) + 1, 0)
        self.limited = cap <= full and limit is not None
        self.cap = self.scalar(min(full, cap))
        self.delta = self.scalar(max(1, min(round(delta), full)))
        self.heaviest = self.scalar(min(int(graph.max_weight), full))
