"""Detection of sums that do not fit the dtype of the weights.

Variants add with saturation: a sum beyond the dtype's range becomes "unreached". With every method,
an answer has the dtype of the weights if all of its distances fit, and 64 bits otherwise. Distances
beyond the limit or the last target are not part of the answer and are ignored.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from nearfar import _cpu
from nearfar.choose.ranking import best
from nearfar.graph.dtypes import unreached_value
from nearfar.graph.graph import Graph
from nearfar.graph.saturation import FARTHEST, may_saturate
from nearfar.registry import Request, Workspace
from nearfar.solve.arrays import reach
from nearfar.system.devices.arrays import to_host


def lost_rows(
    graph: Graph, sources: Any, found: Any, limit: Any, columns: Any = None, *, threads: int = 1
) -> list[int]:
    """Return the rows in which a distance within the limit may be missing because it does not fit.

    The result is exact for whole rows without negative weights and for 64 bits. Otherwise it may
    include rows without a loss, which a repetition in 64 bits reveals.
    """
    if found.size == 0 or not may_saturate(graph):
        return []
    dtype, signed = graph.weight_dtype, graph.n_negative > 0
    if limit is not None and not signed and limit <= FARTHEST[dtype]:
        return []
    rows = found.reshape(len(sources), -1)
    low = below(rows) if signed else None
    if columns is not None:
        missing = to_host(rows == unreached_value(dtype))
        if low is not None:
            missing |= to_host(low)
        short = np.flatnonzero(missing.any(axis=1)).tolist()
        if dtype.itemsize == 4 or not short:
            return short
        hops = graph.without_weights()
        return [i for i in short if _walks_to(hops, int(sources[i]), columns[missing[i]])]
    counts, farthest = reach(rows, threads)
    n, heaviest, top = graph.n_vertices, graph.max_weight, FARTHEST[dtype]
    fell = np.zeros(len(rows), np.bool_) if low is None else to_host(low.any(axis=1))
    lost = []
    for i, (count, far) in enumerate(zip(counts, farthest, strict=True)):
        if fell[i]:
            lost.append(i)
            continue
        if count == n or (far + heaviest <= top and not signed):
            continue
        row = np.ascontiguousarray(to_host(rows[i]))
        if _cpu.first_saturated_edge(graph.view, row) >= 0:
            lost.append(i)
    return lost


def below(rows: Any) -> Any:
    """Return a mask of float sums below the range, or None for integers, which have no mark."""
    if rows.dtype.kind != "f":
        return None
    return ~(rows >= -FARTHEST[np.dtype(rows.dtype)])  # also true for NaN


def _walks_to(hops: Graph, source: int, targets: Any) -> bool:
    """Return whether any of the targets can be reached; O(n + m)."""
    variant, _ = best(hops, Request(device="cpu"))
    row = variant.run(hops, source, variant.options(), Workspace()).distances
    return bool((row[targets] != unreached_value(row.dtype)).any())
