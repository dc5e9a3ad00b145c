"""SciPy's construct_dist_matrix and reconstruct_path: distances and trees from predecessors."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from nearfar.csgraph.inputs import adjacency
from nearfar.errors import GraphError, OptionError
from nearfar.graph.graph import Graph
from nearfar.system.devices.arrays import to_host


class _Weights:
    """Weights of the lightest edges by tail and head."""

    def __init__(self, graph: Graph) -> None:
        matrix = graph.to_scipy().sorted_indices()
        tails = np.repeat(np.arange(graph.n_vertices, dtype=np.int64), np.diff(matrix.indptr))
        self.n, self.weights = graph.n_vertices, matrix.data.astype(np.float64)
        self.keys = tails * self.n + matrix.indices

    def of(self, tails: Any, heads: Any) -> tuple[NDArray[np.float64], NDArray[np.bool_]]:
        """Return the weight from each tail to its head, or 0, and whether there is an edge."""
        if not len(self.keys):
            return np.zeros(len(heads)), np.zeros(len(heads), dtype=bool)
        wanted = tails.astype(np.int64) * self.n + heads
        at = np.minimum(np.searchsorted(self.keys, wanted), len(self.keys) - 1)
        found = self.keys[at] == wanted
        return np.where(found, self.weights[at], 0.0), found


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
    All paths advance together, one vectorised step per hop; O(n^2 * longest path).
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
    weights = _Weights(given)
    result = np.full((n, n), float(null_value))
    np.fill_diagonal(result, 0.0)
    rows, columns = np.nonzero(matrix >= 0)
    off = rows != columns
    rows, columns = rows[off], columns[off]
    total = np.zeros(len(rows))
    at = columns.copy()
    reached = np.zeros(len(rows), dtype=bool)
    open_ = np.arange(len(rows))
    for _ in range(n + 1):
        if len(open_) == 0:
            break
        before = matrix[rows[open_], at[open_]]
        step = before >= 0
        reached[open_[~step]] = at[open_[~step]] == rows[open_[~step]]
        open_, before = open_[step], before[step]
        lengths, known = weights.of(before, at[open_])
        total[open_] += np.where(known, lengths, np.inf)
        at[open_] = before
        home = at[open_] == rows[open_]
        reached[open_[home]] = True
        open_ = open_[~home]
    if len(open_):
        raise OptionError(f"the predecessors of row {int(rows[open_[0]])} form a cycle")
    result[rows[reached], columns[reached]] = total[reached]
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
    heads = np.flatnonzero(before >= 0)
    tails = before[heads]
    weights, known = _Weights(graph).of(tails, heads)
    if not known.all():
        at = int(np.argmin(known))
        raise GraphError(f"no edge leads from {int(tails[at])} to {int(heads[at])}")
    make = csr_matrix if isspmatrix(csgraph) else csr_array
    return make((weights, (tails, heads)), shape=(n, n))
