"""Conversion of the inputs of SciPy's functions to a Graph, source indices and a limit.

The conventions are SciPy's:

- in a dense matrix 0, NaN, infinities and masked entries are not edges;
- in a sparse matrix a stored zero is an edge of weight 0, and NaN and infinities are not edges;
- duplicates of a COO matrix are summed, those of a CSR matrix are parallel edges;
- ``unweighted`` gives every stored or unmasked entry length 1, whatever its value
  (``floyd_warshall`` only finite ones, as in SciPy);
- ``directed=False`` takes the smaller weight of both directions.

Floats are float64; integers stay integers, so their sums are exact. CuPy arrays and cupyx sparse
matrices are converted on their device; cupyx itself sums the duplicates of a COO matrix.
"""

from __future__ import annotations

import math
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from nearfar import _cpu
from nearfar.errors import GraphError, OptionError
from nearfar.graph import on_device
from nearfar.graph.build import csr_arrays, index_dtype
from nearfar.graph.graph import Graph
from nearfar.solve.matrix.fresh import fresh_matrix
from nearfar.system.devices import runtime
from nearfar.system.devices.arrays import as_dtype, is_device_array, module_of, to_host


class Rows(NamedTuple):
    """Rows of a host matrix: not validated, and weights of any dtype."""

    indptr: NDArray[Any]
    indices: NDArray[Any]
    data: NDArray[Any]

    def exact(self) -> NDArray[Any]:
        """Return weights as float64, as SciPy searches them, if sums of n of them are exact."""
        return _exact(self.data, len(self.indptr))


def host_rows(csgraph: Any, unweighted: bool = False, *, finite: bool = False) -> Rows | None:
    """Return the rows of a host matrix by SciPy's conventions; None for other graphs."""
    if isinstance(csgraph, Graph) or lies_on_device(csgraph):
        return None
    rows = _rows(csgraph, unweighted and not finite)
    if not (unweighted and finite and rows.data.dtype.kind in "biuf"):
        return rows
    return Rows(rows.indptr, rows.indices, np.where(np.isfinite(rows.data), 1.0, np.inf))


def dense(csgraph: Any) -> NDArray[np.float64] | None:
    """Return a dense matrix as SciPy searches it, or None for others and for invalid ones."""
    odd = isinstance(csgraph, (Graph, np.ma.MaskedArray)) or hasattr(csgraph, "tocsr")
    if odd or lies_on_device(csgraph):
        return None
    values = np.asarray(csgraph)
    if values.ndim != 2 or values.shape[0] != values.shape[1] or values.dtype.kind not in "biuf":
        return None
    values = _exact(values, len(values))
    return np.ascontiguousarray(values) if values.dtype == np.float64 else None


def adjacency(
    csgraph: Any,
    directed: bool = True,
    unweighted: bool = False,
    *,
    finite: bool = False,
    rows: Rows | None = None,
) -> Graph:
    """Return the graph of a matrix, by SciPy's conventions; ``rows`` are its rows if known."""
    every = unweighted and not finite
    if isinstance(csgraph, Graph):
        graph = csgraph.without_names()  # SciPy's indices are matrix positions
    else:
        rows = rows or host_rows(csgraph, unweighted, finite=finite) or _rows(csgraph, every)
        fresh = None
        if directed and not unweighted and not lies_on_device(csgraph):
            arrays = (rows.indptr, rows.indices, rows.exact())
            fresh = fresh_matrix(arrays, _from_rows, skips_nan=True)
        graph = _from_rows(*rows, every) if fresh is None else fresh
    if unweighted:
        graph = graph.without_weights()
    if directed or not graph.directed:
        return graph
    return _both_ways_on_device(graph) if graph.device_arrays is not None else _both_ways(graph)


def to_search(
    csgraph: Any, directed: bool, unweighted: bool, *, finite: bool, rows: Rows | None
) -> Graph:
    """Return the graph of a matrix as :func:`adjacency` does, possibly with parallel edges."""
    both = None
    if rows is not None and not directed and not (unweighted and finite):
        both = _rows_both_ways(rows, unweighted)
    if both is None:
        return adjacency(csgraph, directed, unweighted, finite=finite, rows=rows)
    if unweighted:
        return Graph.from_csr(*both[:2], copy=False)
    return fresh_matrix(both, _from_rows, skips_nan=True) or _from_rows(*both)


def _rows_both_ways(rows: Rows, unweighted: bool) -> tuple[Any, Any, Any] | None:
    """Return rows with every edge in both directions, or None for unusual ones."""
    (indptr, indices, given), m = rows, len(rows.indices)
    usual = all(isinstance(a, np.ndarray) and a.flags.c_contiguous for a in rows)
    if not usual or len(given) != m or len(indptr) < 2:
        return None
    weights = None if unweighted else rows.exact()
    if indptr.dtype != np.int32 or indices.dtype != np.int32:
        return None
    if weights is not None and weights.dtype != np.float64:
        return None
    starts, targets = np.empty_like(indptr), np.empty(2 * m, np.int32)
    values = None if weights is None else np.empty(2 * m)
    same = _cpu.both_ways(indptr, indices, weights, starts, targets, values)
    if same is None:
        return None
    return (indptr, indices, weights) if same else (starts, targets, values)


def lies_on_device(matrix: Any) -> bool:
    """Return whether a matrix is on a device, from CuPy, cupyx or another library."""
    return type(matrix).__module__.startswith(("cupy.", "cupyx.")) or is_device_array(matrix)


def _rows(matrix: Any, unweighted: bool) -> Rows:
    return _from_sparse(matrix) if hasattr(matrix, "tocsr") else _from_dense(matrix, unweighted)


def _from_sparse(matrix: Any) -> Rows:
    if len(matrix.shape) != 2 or matrix.shape[0] != matrix.shape[1]:
        raise GraphError(f"the matrix has shape {matrix.shape}: csgraph must be of shape (N, N)")
    return Rows(*csr_arrays(matrix))


def _from_dense(matrix: Any, unweighted: bool) -> Rows:
    values: Any
    if lies_on_device(matrix):
        values = runtime.upload(matrix)
    else:
        masked = isinstance(matrix, np.ma.MaskedArray)
        values = np.ma.getdata(matrix) if masked else np.asarray(matrix)
    if values.ndim != 2 or values.shape[0] != values.shape[1]:
        raise GraphError(f"the matrix has shape {values.shape}: csgraph must be of shape (N, N)")
    values = _real(values)
    edge = values != 0
    if isinstance(matrix, np.ma.MaskedArray):
        # SciPy uses only the mask: an unmasked zero is an edge of weight 0.
        edge = ~np.ma.getmaskarray(matrix)
        if unweighted:
            values = np.ones(values.shape, dtype=np.int8)
    xp = module_of(values)
    if values.dtype.kind == "f":
        edge &= xp.isfinite(values)
    indptr = xp.concatenate((xp.zeros(1, np.int64), xp.cumsum(xp.count_nonzero(edge, axis=1))))
    _, columns = xp.nonzero(edge)
    dtype = index_dtype(len(values), len(columns))
    return Rows(indptr.astype(dtype), columns.astype(dtype), values[edge])


def _real(weights: Any) -> Any:
    """Return float64 values, or integers unchanged."""
    if weights.dtype.kind in "biu":
        return weights
    if weights.dtype.kind != "f":
        raise GraphError(f"weights have dtype {weights.dtype}: give real numbers")
    return as_dtype(weights, np.float64)


def _exact(data: NDArray[Any], n: int) -> NDArray[Any]:
    """Return values as float64, as SciPy searches them, if sums of n of them are exact."""
    if data.dtype.kind == "f":
        return data.astype(np.float64, copy=False)
    if data.dtype.kind not in "biu" or not data.size:
        return data
    least, most = (data.min(), data.max()) if data.dtype.itemsize > 4 else (0, 2**32)
    return data.astype(np.float64) if n * max(int(most), -int(least)) < 2**53 else data


def _from_rows(indptr: Any, indices: Any, data: Any, unweighted: bool = False) -> Graph:
    """Return a graph that shares the arrays for the duration of one call."""
    weights = _real(data)
    if unweighted and len(weights) == len(indices):
        return Graph.from_csr(indptr, indices, copy=False)
    try:
        return Graph.from_csr(indptr, indices, weights, copy=False)
    except GraphError:
        xp = module_of(weights)
        edge = xp.isfinite(weights)
        if bool(edge.all()):
            raise
        # The Graph reports all other errors in the arrays.
        Graph.from_csr(indptr, indices, xp.where(edge, weights, 0), copy=False)
        before = xp.concatenate((xp.zeros(1, np.int64), xp.cumsum(edge, dtype=np.int64)))
        return Graph.from_csr(before[indptr], indices[edge], weights[edge], copy=False)


def _both_ways(graph: Graph) -> Graph:
    """Return the graph with every edge in both directions, or the graph itself if it has them."""
    back = graph.transpose()
    same = np.array_equal(graph.indptr, back.indptr) and np.array_equal(graph.indices, back.indices)
    if same and np.array_equal(graph.effective_weights, back.effective_weights):
        return graph
    return Graph.from_edges(
        graph.tails(), graph.indices, graph.weights, n_vertices=graph.n_vertices, directed=False
    )


def _both_ways_on_device(graph: Graph) -> Graph:
    """Return the graph with every edge in both directions, in O(m log m) on the device."""
    indptr, indices, weights = graph.device_arrays
    tails = on_device.tails(indptr, len(indices))
    n = graph.n_vertices
    arrays = on_device.from_edges(tails, indices, weights, n_vertices=n, directed=False)
    return Graph.from_checked(arrays, directed=False)


def source_indices(indices: Any, n: int) -> tuple[NDArray[np.int64], tuple[int, ...]]:
    """Return the source vertices of ``indices``, and the shape of the answer's leading axes."""
    if indices is None:
        return np.arange(n, dtype=np.int64), (n,)
    array = np.asarray(to_host(indices))
    shape = array.shape
    if array.size == 0:
        return np.empty(0, dtype=np.int64), shape
    if array.dtype.kind == "f":
        whole = np.isfinite(array) & (array == np.trunc(array))
        if not whole.all():
            raise OptionError(f"indices holds {array[~whole].flat[0]}: give integers")
    elif array.dtype.kind not in "iu":
        raise OptionError(f"indices has dtype {array.dtype}: give integers")
    outside = (array < -n) | (array >= n)
    if outside.any():
        raise OptionError(f"indices out of range 0...N: {array[outside].flat[0]} with N = {n}")
    flat = array.reshape(-1).astype(np.int64)
    return np.where(flat < 0, flat + n, flat), shape


def check_limit(limit: Any) -> float | None:
    """Return the checked limit; None if it is infinite."""
    if not isinstance(limit, (int, float, np.integer, np.floating)):
        raise TypeError(f"limit must be real number, not {type(limit).__name__}")
    if math.isnan(limit):
        raise OptionError("limit is NaN: give a number of at least 0")
    if limit < 0:
        raise OptionError("limit must be >= 0")
    return None if limit == math.inf else limit  # type: ignore[return-value]
