"""Predecessors from finished distances: the pass over tight edges that every variant shares."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from nearfar.cuda.predecessors import device_predecessors
from nearfar.system.devices.runtime import is_device_array, upload

if TYPE_CHECKING:
    from nearfar.graph.graph import Graph

__all__ = ["tight_predecessors"]


def tight_predecessors(graph: Graph, source: int, distances: Any) -> Any:
    """Predecessors from finished distances, by the tight-edge rule; the same on every device.

    An edge (u, v) is tight when ``d[u] + w == d[v]``. A vertex takes the smallest id among its
    tight edges from strictly nearer vertices; vertices that only zero-weight edges reach take
    theirs in breadth-first levels, so that the result is a tree. With negative weights the tree is
    the breadth-first one over tight edges. O(n + m).

    Parameters
    ----------
    distances : array, shape (n,)
        Exact distances from ``source``, on the host or on a GPU.

    Returns
    -------
    int array, shape (n,)
        -1 for the source and for unreached vertices; lies where the distances lie.
    """
    from nearfar import _cpu

    solved, distances = graph.tight_form(source, distances)
    if type(distances) is not np.ndarray and is_device_array(distances):
        return device_predecessors(solved, [source], upload(distances))[0]
    out = np.empty(graph.n_vertices, dtype=graph.indptr.dtype)
    _cpu.predecessors(solved.view, source, distances, bool(solved.n_negative), out)
    return out
