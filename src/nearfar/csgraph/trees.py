"""SciPy's construct_dist_matrix and reconstruct_path: distances and trees from predecessors."""

from __future__ import annotations

from typing import Any

import numpy as np

from nearfar import _cpu
from nearfar.csgraph.inputs import adjacency
from nearfar.errors import GraphError, OptionError
from nearfar.system.devices.arrays import to_host


def construct_dist_matrix(
    graph: Any, predecessors: Any, directed: bool = True, null_value: float = np.inf
) -> Any:
    """Return distances along the paths that a matrix of predecessors describes.

    Parameters
    ----------
    graph : array_like, sparse matrix or Graph, shape (n, n)
    predecessors : int32 array, shape (n, n)
        Row i holds the predecessors on paths from i; negative for none.
    directed : bool
        False allows edges in both directions.
    null_value : float
        Distance of unconnected pairs.

    Returns
    -------
    float64 array, shape (n, n)

    Raises
    ------
    TypeError
        If the predecessors are not int32, as in SciPy.
    OptionError
        If their shape is wrong, one is not a vertex, or they form a cycle (for which SciPy does not
        return).

    Notes
    -----
    O(n^2). Lengths are added from the source, as by a search.
    """
    matrix = np.asarray(to_host(predecessors))
    if matrix.dtype != np.int32:
        raise TypeError(f"expected int32 predecessors, got {matrix.dtype}")
    given = adjacency(graph, directed)
    n = given.n_vertices
    if matrix.shape != (n, n):
        raise OptionError(
            f"expected predecessors of the graph's shape ({n}, {n}), got {matrix.shape}"
        )
    if matrix.size and int(matrix.max()) >= n:
        raise OptionError(f"predecessor {int(matrix.max())} is not a vertex: the graph has {n}")
    weights = np.full((n, n), np.inf)
    tails = np.repeat(np.arange(n), np.diff(given.indptr))
    np.minimum.at(weights, (tails, given.indices), given.effective_weights)
    result = np.empty((n, n))
    circle = _cpu.matrix_distances(weights, np.ascontiguousarray(matrix), float(null_value), result)
    if circle >= 0:
        raise OptionError(f"the predecessors of row {circle} form a cycle")
    return result


def reconstruct_path(csgraph: Any, predecessors: Any, directed: bool = True) -> Any:
    """Return the tree of an array of predecessors as a sparse matrix.

    Parameters
    ----------
    csgraph : array_like, sparse matrix or Graph, shape (n, n)
    predecessors : array_like of int, shape (n,)
        Predecessor of each vertex; negative for none.
    directed : bool
        False allows edges in both directions.

    Returns
    -------
    scipy.sparse.csr_array
        Matrix of shape (n, n) and dtype float64; entry (p, v) is the weight of the edge from the
        predecessor p of v. A ``csr_matrix`` if ``csgraph`` is one.

    Raises
    ------
    GraphError
        If a predecessor is not a vertex, or there is no edge from it.
    """
    from scipy.sparse import csr_array, csr_matrix, isspmatrix

    before = np.asarray(to_host(predecessors))
    graph = adjacency(csgraph, directed)
    n = graph.n_vertices
    if before.shape != (n,) or before.dtype.kind not in "iu":
        raise GraphError(
            f"expected predecessors as {n} integers, got {before.dtype} of shape {before.shape}"
        )
    if before.size and int(before.max()) >= n:
        raise GraphError(f"predecessor {int(before.max())} is not a vertex: the graph has {n}")
    before = np.ascontiguousarray(before, np.int32 if before.dtype == np.int32 else np.int64)
    lengths = np.full(n, np.nan)
    _cpu.tree_weights(graph.indptr, graph.indices, graph.effective_weights, before, lengths)
    heads = np.flatnonzero(before >= 0)
    tails, weights = before[heads], lengths[heads]
    unknown = np.isnan(weights)
    if unknown.any():
        at = int(np.argmax(unknown))
        raise GraphError(f"no edge leads from {int(tails[at])} to {int(heads[at])}")
    make = csr_matrix if isspmatrix(csgraph) else csr_array
    order = np.argsort(tails, kind="stable")
    starts = np.append(0, np.cumsum(np.bincount(tails, minlength=n)))
    return make((weights[order], heads[order], starts), shape=(n, n))
