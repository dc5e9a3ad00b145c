"""Dense form of a graph: an adjacency matrix in which a missing edge is not a zero.

The matrix variants of Martin, Torres and Gavilanes (2009, section 5) read every entry of a row or
column. An entry is the weight of the lightest edge from the row's vertex to the column's. A missing
edge has the value of an unreached distance (inf, or the maximum of an integer dtype), so that a sum
with it never improves a distance, and a zero is an edge of weight 0. The dense form of any
sufficiently small graph is built once and cached on the graph.
:meth:`nearfar.Graph.from_dense` converts a user's matrix.
"""

from __future__ import annotations

from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from nearfar.graph.dtypes import unreached_value
from nearfar.graph.given import frozen
from nearfar.graph.graph import Graph
from nearfar.graph.slots import Slot

#: Largest matrix that is built: n = 32,768 with 32-bit weights. The paper goes to n = 15 * 2**10.
DENSE_MAX_BYTES = 4 * 2**30
_DENSE: Slot[NDArray[Any]] = Slot("matrix")


def fits_dense(graph: Graph, request: object) -> Literal[True] | str:
    """Return True if the matrix is within :data:`DENSE_MAX_BYTES`, or the reason why not."""
    needed = graph.n_vertices**2 * graph.weight_dtype.itemsize
    if needed <= DENSE_MAX_BYTES:
        return True
    return (
        f"the matrix of {graph.n_vertices:,} vertices takes {needed / 2**30:,.1f} GiB and "
        f"matrix methods stop at {DENSE_MAX_BYTES / 2**30:.0f} GiB: use a method on lists"
    )


def dense_matrix(graph: Graph) -> NDArray[Any]:
    """Return the graph's read-only matrix in row-major order, cached on it. O(n**2 + m)."""

    def make() -> NDArray[Any]:
        n, missing = graph.n_vertices, unreached_value(graph.weight_dtype)
        matrix = np.full((n, n), missing, dtype=graph.weight_dtype)
        rows = graph.tails(np.int64)
        np.minimum.at(matrix.reshape(-1), rows * n + graph.indices, graph.effective_weights)
        return frozen(matrix)

    return _DENSE.of(graph, make)
