"""Predecessors from finished distances by a pass over tight edges, shared by all variants."""

from __future__ import annotations

from typing import Any

import numpy as np

from nearfar import _cpu
from nearfar.cuda.distances.predecessors import device_predecessors
from nearfar.graph.graph import Graph
from nearfar.graph.same_distances.backbone import so_far
from nearfar.system.devices import runtime
from nearfar.system.devices.arrays import is_device_array, to_host, upload
from nearfar.system.memory import empty
from nearfar.system.threads import on_threads


def tight_predecessors(
    graph: Graph,
    sources: Any,
    distances: Any,
    *,
    by_device: bool = False,
    threads: int = 1,
    stats: dict[str, Any] | None = None,
) -> Any:
    """Compute predecessors from finished distances by the tight-edge rule.

    An edge (u, v) is tight if ``d[u] + w == d[v]``. The predecessor of a vertex is the smallest
    strictly nearer vertex with a tight edge to it. Vertices that only zero-weight edges reach are
    assigned predecessors by breadth-first levels, so that the result is a tree and the same on
    every device. With negative weights the tree is the breadth-first tree over tight edges.
    O(n + m) per source.
    """
    if distances.ndim == 1 and not isinstance(sources, int):
        sources = int(np.ravel(sources)[0])
    solved, distances = graph.tight_form(sources, distances)
    rows = [sources] if isinstance(sources, int) else [int(row) for row in sources]
    if is_device_array(distances):
        return _on_device(solved, rows, distances, stats)
    if by_device and distances.size:
        row = distances.shape[-1] * 2 * (distances.dtype.itemsize + solved.vertex_dtype.itemsize)
        step = max(1, int(0.5 * runtime.memory()[0] // row))
        if distances.ndim == 1 or len(rows) <= step:
            return to_host(_on_device(solved, rows, distances, stats))
        out = np.empty(distances.shape, dtype=solved.vertex_dtype)
        for first in range(0, len(rows), step):
            part = slice(first, first + step)
            out[part] = to_host(_on_device(solved, rows[part], distances[part], stats))
        return out
    solved = so_far(solved)
    out = empty(distances.shape, solved.vertex_dtype, threads)
    if distances.ndim == 1:
        _cpu.predecessors(solved.view, rows[0], distances, bool(solved.n_negative), out, threads)
        return out

    def one(i: int) -> None:
        form, row = solved.tight_form(rows[i], distances[i])
        row = np.ascontiguousarray(row)
        _cpu.predecessors(form.view, rows[i], row, bool(form.n_negative), out[i])

    on_threads(one, len(rows), threads, solved.n_vertices + solved.n_edges)
    return out


def _on_device(graph: Graph, rows: list[int], distances: Any, stats: dict[str, Any] | None) -> Any:
    """Compute predecessors on the device, and add the device time to the counters."""
    found, counters = device_predecessors(graph, rows, upload(distances))
    if stats is not None:
        name = "predecessor_device_seconds"
        stats[name] = stats.get(name, 0.0) + counters["device_seconds"]
    return found
