"""Restore the sums of a search in rows of floats on a CUDA device; see left_to_right.cuh."""

from __future__ import annotations

from typing import Any

import numpy as np

from nearfar.cuda.device_graph import device_graph
from nearfar.prepared.prepared import Prepared
from nearfar.system.devices import runtime

_THREADS = 256
_SHARE = 4  # scratch takes at most one over this of the free memory


class Restoration:
    """Pass that replaces sums over shortcuts by those of a search, in place.

    One block per row. O(n + m) per row if few paths are equally long up to rounding, in as many
    rounds as a shortest path has edges.
    """

    def __init__(self, prepared: Prepared, most: int) -> None:
        self.graph = device_graph(prepared)
        dtype, n = prepared.weight_dtype, prepared.n_vertices
        macros = {**self.graph.macros, "THREADS": _THREADS}
        self.kernel = runtime.program("prepared/cuda/sinks/left_to_right.cuh", macros).kernel(
            "restore_sums"
        )
        each = self.row_bytes(prepared)
        free, _ = runtime.memory()
        wanted = min(most, self.kernel.resident_blocks(_THREADS))
        self.blocks = max(1, min(wanted, free // (_SHARE * each)))
        runtime.require_memory(self.blocks * each)
        cp = runtime.cupy()
        self.spaces = cp.empty((self.blocks, n), dtype=dtype)
        self.queues = cp.empty((self.blocks, 2, n), dtype=np.int32)
        # Rounding errors are nearly always smaller; if one is larger, the slack is widened.
        self.slack = dtype.type(np.finfo(dtype).eps * (2**8 if dtype.itemsize == 4 else 2**16))

    @staticmethod
    def row_bytes(prepared: Prepared) -> int:
        """Return the scratch memory of a block, in bytes."""
        return prepared.n_vertices * (prepared.weight_dtype.itemsize + 8)

    def __call__(self, sources: Any, rows: Any) -> None:
        """Restore the sums of some rows in place."""
        count, n = rows.shape
        arguments = {
            "n": np.int32(n),
            "offsets": self.graph.offsets,
            "edges": self.graph.edges,
            "sources": runtime.upload(sources),
            "rows": rows,
            "count": np.int32(count),
            "spaces": self.spaces,
            "queues": self.queues,
            "slack": self.slack,
        }
        self.kernel(min(self.blocks, count), _THREADS, arguments)
