"""Conversion of CuPy arrays and cupyx sparse matrices to graphs, without a copy on the host.

The conventions are those of :mod:`nearfar.csgraph.inputs`; cupyx itself sums the duplicates of a
COO matrix.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from nearfar.errors import GraphError
from nearfar.graph import on_device
from nearfar.graph.build import csr_arrays
from nearfar.graph.graph import Graph
from nearfar.system.devices import runtime
from nearfar.system.devices.arrays import as_dtype, is_device_array


def lies_on_device(matrix: Any) -> bool:
    """Return whether a matrix is on a device, from CuPy, cupyx or another library."""
    return type(matrix).__module__.startswith(("cupy.", "cupyx.")) or is_device_array(matrix)


def device_adjacency(matrix: Any, unweighted: bool = False) -> Graph:
    """Return the graph of a matrix on the device, by SciPy's conventions."""
    if len(matrix.shape) != 2 or matrix.shape[0] != matrix.shape[1]:
        raise GraphError(f"the matrix has shape {matrix.shape}: csgraph must be of shape (N, N)")
    if hasattr(matrix, "tocsr"):
        indptr, indices, data = csr_arrays(matrix)
        weights = _real(data)
        if unweighted and len(weights) == len(indices):
            return Graph.from_csr(indptr, indices, None, copy=False)
    else:
        indptr, indices, weights = _from_dense(runtime.upload(matrix))
    try:
        return Graph.from_csr(indptr, indices, weights, copy=False)
    except GraphError:
        cp = runtime.cupy()
        edge = cp.isfinite(weights)
        if bool(edge.all()):
            raise
        # The Graph reports all other errors in the arrays.
        Graph.from_csr(indptr, indices, cp.where(edge, weights, 0), copy=False)
        before = cp.concatenate((cp.zeros(1, dtype=np.int64), cp.cumsum(edge, dtype=np.int64)))
        return Graph.from_csr(before[indptr], indices[edge], weights[edge], copy=False)


def _real(weights: Any) -> Any:
    """Return float64 values, or integers unchanged."""
    if weights.dtype.kind in "biu":
        return weights
    if weights.dtype.kind != "f":
        raise GraphError(f"weights have dtype {weights.dtype}: give real numbers")
    return as_dtype(weights, np.float64)


def _from_dense(values: Any) -> tuple[Any, Any, Any]:
    cp = runtime.cupy()
    values = _real(values)
    edge = values != 0
    if values.dtype.kind == "f":
        edge &= cp.isfinite(values)
    counts = cp.cumsum(edge.sum(axis=1))
    indptr = cp.concatenate((cp.zeros(1, dtype=np.int64), counts))
    _, columns = cp.nonzero(edge)
    return indptr, columns, values[edge]


def both_ways(graph: Graph) -> Graph:
    """Return the graph with every edge in both directions, in O(m log m) on the device."""
    cp = runtime.cupy()
    indptr, indices, weights = graph.device_arrays
    n, m = graph.n_vertices, graph.n_edges
    rows = cp.searchsorted(indptr, cp.arange(m, dtype=indptr.dtype), side="right") - 1
    rows = rows.astype(indices.dtype, copy=False)
    tails, heads = cp.concatenate((rows, indices)), cp.concatenate((indices, rows))
    order = cp.argsort(tails)
    counts = cp.cumsum(cp.bincount(tails, minlength=n))
    starts = cp.concatenate((cp.zeros(1, dtype=np.int64), counts))
    both = None if weights is None else cp.concatenate((weights, weights))[order]
    arrays = on_device.validate(starts, heads[order], both, copy=False)
    return Graph.from_checked(arrays, directed=False)
