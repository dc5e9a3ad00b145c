"""Predecessors of rows by a pass over their tight edges, wherever the rows are."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from nearfar.cpu.predecessors import tight_predecessors
from nearfar.cuda.predecessors import device_predecessors
from nearfar.solve.arrays import on_device, to_host
from nearfar.system.devices import runtime
from nearfar.system.threads import on_threads

if TYPE_CHECKING:
    from nearfar.graph.graph import Graph

__all__ = ["tight_trees"]


def tight_trees(
    graph: Graph, rows: Any, matrix: Any, there: bool, threads: int
) -> tuple[Any, float | None]:
    """Predecessors of some rows, and the seconds that a device took for them, if one did.

    Parameters
    ----------
    graph : Graph
        With weights of the dtype of the rows.
    rows : sequence of int
        Sources of the rows.
    matrix : array, shape (len(rows), n) or (n,)
    there : bool
        Whether the pass over rows on the host is the device's, some of them at a time.
    threads : int
        For that of the host.

    Returns
    -------
    predecessors : array, where the rows are
    seconds : float or None
    """
    graph, matrix = graph.tight_form(rows, matrix)
    if on_device(matrix):
        return _on_device(graph, rows, matrix)
    if matrix.ndim == 1:
        return tight_predecessors(graph, int(rows[0]), matrix), None
    found = np.empty(matrix.shape, dtype=graph.index_dtype)
    if there and matrix.size:
        row = matrix.shape[1] * (2 * matrix.dtype.itemsize + 2 * found.dtype.itemsize)
        some, total = max(1, int(0.5 * runtime.memory()[0] // row)), 0.0
        for first in range(0, len(rows), some):
            part = slice(first, first + some)
            up = runtime.upload(np.ascontiguousarray(matrix[part]))
            trees, seconds = _on_device(graph, rows[part], up)
            found[part] = to_host(trees)
            total += seconds
        return found, total

    def one(i: int) -> None:
        found[i] = tight_predecessors(graph, int(rows[i]), np.ascontiguousarray(matrix[i]))

    on_threads(one, len(rows), threads)
    return found, None


def _on_device(graph: Graph, rows: Any, matrix: Any) -> tuple[Any, float]:
    found, stats = device_predecessors(graph, [int(row) for row in rows], runtime.upload(matrix))
    return found, stats["device_seconds"]
