"""Arrays of a graph on the host: validation, and construction from edge lists and SciPy matrices.

All constructors call :func:`validate`, the only function that checks host arrays, and return
:class:`HostArrays`, which :class:`nearfar.Graph` holds. :mod:`nearfar.graph.on_device` is the
counterpart for arrays on a GPU; :mod:`nearfar.graph.convert` converts graphs of other libraries.
"""

from __future__ import annotations

import operator
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar, NoReturn

import numpy as np
from numpy.typing import ArrayLike, NDArray

from nearfar.errors import GraphError, OutOfMemoryError, quoted
from nearfar.graph.given import (
    as_direction,
    as_indices,
    as_numpy,
    as_weights,
    frozen,
    kept,
    must_copy,
)
from nearfar.system.memory import shortage
from nearfar.system.threads import default_threads

if TYPE_CHECKING:
    from nearfar._cpu import GraphView

_INT32_MAX = 2**31 - 1

_SAMPLE = 512  # weights that represent those of a graph, fewer than twice as many
_AT_ONCE = 1 << 18  # weights converted at a time


def index_dtype(n: int, m: int) -> np.dtype[Any]:
    """Return int32 if the numbers of vertices and edges fit it, else int64."""
    return np.dtype(np.int32 if max(n, m) < _INT32_MAX else np.int64)


@dataclass(frozen=True, slots=True)
class HostArrays:
    """Validated arrays of a graph in main memory; contiguous and read-only."""

    indptr: NDArray[Any]
    indices: NDArray[Any]
    weights: NDArray[Any] | None
    scan: dict[str, Any]

    #: (indptr, indices, weights) on the device; None for arrays on the host.
    device_arrays: ClassVar[None] = None

    def widest_vertex(self) -> int:
        """Return the first vertex of largest out-degree."""
        return int(np.argmax(np.diff(self.indptr))) if len(self.indptr) > 1 else 0

    def max_degree(self) -> int:
        """Return the largest out-degree."""
        return int(np.diff(self.indptr).max()) if len(self.indptr) > 1 else 0

    def weight_sample(self) -> NDArray[Any]:
        """Return evenly spaced weights, starting with the first; ones without weights."""
        return self._effective_weights()[:: sample_step(len(self.indices))]

    def _effective_weights(self) -> NDArray[Any]:
        weights = self.weights
        return np.ones(len(self.indices), dtype=np.int32) if weights is None else weights

    def rows_of(self, vertices: NDArray[Any], most: int) -> NDArray[Any]:
        """Return the targets of the first edges of some vertices, at most ``most`` per vertex."""
        begin = self.indptr[vertices]
        _, places = runs(np.minimum(self.indptr[vertices + 1] - begin, most), begin)
        found: NDArray[Any] = self.indices[places]
        return found

    def astype(self, dtype: np.dtype[Any]) -> HostArrays:
        """Return the arrays with weights in another dtype, refusing inexact conversions."""
        given = self._effective_weights()
        weights = np.empty(len(given), dtype)
        cut = dtype.kind == "i" or given.dtype.kind == "i"  # floats may be rounded
        with np.errstate(over="ignore", invalid="ignore"):
            for first in range(0, len(given), _AT_ONCE):
                part = slice(first, first + _AT_ONCE)
                weights[part] = given[part]
                if cut and not np.array_equal(weights[part].astype(given.dtype), given[part]):
                    refuse_dtype(dtype)
        return HostArrays(self.indptr, self.indices, *checked_weights(frozen(weights), len(given)))

    def without_weights(self) -> HostArrays:
        """Return the same edges with weight 1 each."""
        return HostArrays(self.indptr, self.indices, *checked_weights(None, len(self.indices)))

    def transposed(self, view: GraphView) -> HostArrays:
        """Return the arrays with every edge reversed; ``view`` is the C++ view of this graph."""
        from nearfar import _cpu

        indptr, indices = np.empty_like(self.indptr), np.empty_like(self.indices)
        weights = None if self.weights is None else np.empty_like(self.weights)
        _cpu.transpose(view, indptr, indices, weights)
        scan = dict(self.scan)
        if scan["n_negative"]:  # the order of the edges has changed
            scan["first_negative"] = int(np.argmax(weights < 0))  # type: ignore[operator]
        return HostArrays(
            frozen(indptr), frozen(indices), None if weights is None else frozen(weights), scan
        )

    def one_way_edge(self) -> int | None:
        """Return an edge without a reverse edge of the same weight, or None.

        O(n + m), but O(m log m) if there is such an edge or parallel edges differ in order.
        """
        from nearfar import _cpu

        weights = self._effective_weights()
        turned: list[tuple[Any, Any, Any]] = [(self.indptr, self.indices, weights)]
        for _ in range(2):  # transposing sorts rows by target
            turned.append(tuple(map(np.empty_like, turned[-1])))
            _cpu.transpose(_cpu.GraphView(*turned[-2]), *turned[-1])
        if all(np.array_equal(one, other) for one, other in zip(*turned[1:], strict=True)):
            return None
        tails = np.repeat(np.arange(len(self.indptr) - 1), np.diff(self.indptr))
        return unpaired_edge(tails, self.indices, weights)


def sample_step(m: int) -> int:
    """Return the distance between the edges of a sample."""
    return max(1, m // _SAMPLE)


def runs(
    sizes: NDArray[Any], begin: NDArray[Any] | int = 0
) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Return the members of runs of some sizes: the index of each one's run, and its position.

    Positions of a run count from ``begin``.
    """
    which = np.repeat(np.arange(len(sizes)), sizes)
    return which, np.arange(len(which)) + (begin - np.cumsum(sizes) + sizes)[which]


def places_among(kept: NDArray[Any], vertices: NDArray[Any], n: int) -> NDArray[np.int64]:
    """Return the position of each vertex among others, -1 if it is none of them."""
    if len(kept) > n >> 6 or not len(kept):
        place = np.full(n, -1, dtype=np.int64)
        place[kept] = np.arange(len(kept))
        found: NDArray[np.int64] = place[vertices]
        return found
    order = np.argsort(kept, kind="stable")
    at = np.minimum(np.searchsorted(kept[order], vertices), len(kept) - 1)
    return np.where(kept[order][at] == vertices, order[at], -1)


def row_edges(
    first: NDArray[Any], rows: NDArray[np.int64]
) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Return the index of the row of each position in some rows, and all these positions."""
    begin = first[rows].astype(np.int64)
    return runs(first[rows + 1].astype(np.int64) - begin, begin)


def row_starts(sizes: NDArray[Any]) -> NDArray[np.int64]:
    """Return where rows of some sizes begin, and where the last one ends."""
    return np.append(0, np.cumsum(sizes, dtype=np.int64))


def validate(indptr: Any, indices: Any, weights: Any, *, copy: bool = True) -> HostArrays:
    """Check CSR arrays and convert them to the library's dtypes."""
    from nearfar import _cpu

    indptr, indices = as_indices(indptr, "indptr"), as_indices(indices, "indices")
    if len(indptr) == 0:
        raise GraphError("indptr is empty: a graph of n vertices has n + 1 entries")
    n, m = len(indptr) - 1, len(indices)
    dtype = index_dtype(n, m)
    if indptr.dtype.itemsize > dtype.itemsize or indptr.dtype.kind == "u":
        out = (indptr < 0) | (indptr > m) if indptr.dtype.kind == "i" else indptr > m
        if out.any():
            at = int(np.argmax(out))
            raise GraphError(
                f"indptr[{at}] is {indptr[at]}: it must be nondecreasing and end at {m}"
            )
    if indices.dtype.itemsize > dtype.itemsize or indices.dtype.kind == "u":
        outside = indices >= n if indices.dtype.kind == "u" else (indices < 0) | (indices >= n)
        if outside.any():
            at = int(np.argmax(outside))
            refuse_index(at, indices[at], n)
    indptr = kept(np.ascontiguousarray(indptr, dtype=dtype), indptr, copy)
    bad = _cpu.first_bad_indptr(indptr, m)
    if bad >= 0:
        refuse_row(bad, indptr[bad], m)
    given, indices = indices, np.ascontiguousarray(indices, dtype=dtype)
    own = np.empty_like(indices) if must_copy(indices, given, copy) else None
    bad = _cpu.first_bad_index(indices, n, default_threads(), own)
    indices = kept(indices, given, False) if own is None else frozen(own)
    if bad >= 0:
        refuse_index(bad, indices[bad], n)
    if weights is None:
        return HostArrays(indptr, indices, *checked_weights(None, m))
    given = as_numpy(weights, "weights")
    weights = np.ascontiguousarray(as_weights(given))
    if must_copy(weights, given, copy):
        return HostArrays(indptr, indices, *checked_weights(weights, m, copy=True))
    return HostArrays(indptr, indices, *checked_weights(kept(weights, given, False), m))


def checked_weights(
    weights: NDArray[Any] | None, m: int, *, copy: bool = False
) -> tuple[NDArray[Any] | None, dict[str, Any]]:
    """Return the weights of m edges without negative zeros, and their statistics."""
    from nearfar import _cpu

    if weights is None:
        one = 1 if m else 0
        scan = {"n_negative": 0, "first_negative": -1, "n_zero": 0}
        return None, {**scan, "min": one, "max": one, "mean": float(one)}
    if weights.shape != (m,):
        raise GraphError(f"weights has shape {weights.shape}, but there are {m} edges")
    own = np.empty_like(weights) if copy else None
    scan = _cpu.weight_scan(weights, default_threads(), own)
    if own is not None:
        weights = frozen(own)
    if scan["n_nonfinite"]:
        at = scan["first_nonfinite"]
        refuse_weight(at, weights[at], scan["n_nonfinite"])
    if scan["negative_zero"]:
        weights = frozen(weights + weights.dtype.type(0))  # -0.0 + 0.0 is 0.0
        scan["min"], scan["max"] = scan["min"] + 0, scan["max"] + 0
    return weights, scan


def unpaired_edge(tails: Any, heads: Any, weights: Any) -> int | None:
    """Return an edge without a reverse edge of the same weight, from NumPy or CuPy arrays."""
    keys = ((tails, heads, weights), (heads, tails, weights))
    orders = []
    for one in keys:
        order = one[2].argsort(kind="stable")
        for key in (one[1], one[0]):
            order = order[key[order].argsort(kind="stable")]
        orders.append(order)
    columns = zip(*keys, strict=True)
    differs = sum(one[orders[0]] != other[orders[1]] for one, other in columns)
    if not len(heads) or not differs.any():
        return None
    at = int(differs.argmax())
    edges = [int(order[at]) for order in orders]
    ends = [tuple(key[edge].item() for key in one) for one, edge in zip(keys, edges, strict=True)]
    return edges[ends[1] < ends[0]]  # the smaller one is missing from the other order


def lightest(
    view: GraphView, indptr: NDArray[Any], *, loops: bool
) -> tuple[NDArray[Any], NDArray[np.intp]]:
    """Return row starts and positions of edges without all but the lightest of parallel ones.

    Of equally light ones the first stays; self-loops stay if ``loops``. O(n + m).
    """
    from nearfar import _cpu

    marks = np.empty(indptr[-1], dtype=np.uint8)
    _cpu.mark_lightest(view, loops, marks)
    before = np.zeros(len(marks) + 1, dtype=indptr.dtype)
    np.cumsum(marks, out=before[1:])
    return before[indptr], np.flatnonzero(marks)


def csr_arrays(matrix: Any) -> tuple[Any, Any, Any]:
    """Return ``indptr, indices, data`` of a square sparse matrix in CSR."""
    csr = matrix.tocsr()
    n, starts = csr.shape[0], len(csr.indptr)
    if starts != n + 1:
        raise GraphError(f"indptr has {starts} entries: a matrix of {n} rows needs {n + 1}")
    return _in_32_bits(csr.indptr), _in_32_bits(csr.indices), csr.data


def _in_32_bits(numbers: Any) -> Any:
    """Return int64 numbers of a host array as int32 if they fit."""
    if not isinstance(numbers, np.ndarray) or numbers.dtype != np.int64:
        return numbers
    fit = 0 <= np.bitwise_or.reduce(numbers) <= np.iinfo(np.int32).max
    return numbers.astype(np.int32) if fit else numbers


def refuse_row(at: int, value: Any, m: int) -> NoReturn:
    """Raise for an invalid row start."""
    rule = "it must start at 0" if at == 0 else f"it must be nondecreasing and end at {m}"
    raise GraphError(f"indptr[{at}] is {value}: {rule}")


def refuse_index(at: int, value: Any, n: int) -> NoReturn:
    """Raise for an invalid edge target."""
    valid = f"vertices are 0 to {n - 1}" if n else "the graph has no vertices"
    raise GraphError(f"edge {at} goes to {value}: {valid}")


def refuse_weight(at: int, value: Any, count: int) -> NoReturn:
    """Raise for an invalid weight."""
    raise GraphError(
        f"weight of edge {at} is {value} ({count} such edges): weights must be finite; omit "
        "missing edges"
    )


def refuse_dtype(dtype: np.dtype[Any]) -> NoReturn:
    """Raise for weights that a conversion would change."""
    raise GraphError(f"the weights do not fit {dtype} exactly: round or scale them first")


def _require_room(n: int, k: int, needed: int) -> None:
    """Refuse a graph that does not fit in memory, usually because its ids have large gaps."""
    free = shortage(needed)
    if free is None:
        return
    advice = "give int32 ends and int32 or float32 weights, and release unused arrays"
    if n > 2 * k:
        advice = (
            "if the integers are names, such as ids in a file, pass names=True to "
            "Graph.from_edges; otherwise number the vertices from 0 without gaps"
        )
    raise OutOfMemoryError(needed, free, advice)


def _count_vertices(source: NDArray[Any], target: NDArray[Any], n_vertices: int | None) -> int:
    """Return the number of vertices of an edge list, after checking its ends."""
    if n_vertices is not None:
        try:
            n_vertices = operator.index(n_vertices)
        except TypeError:
            raise GraphError(f"n_vertices is {quoted(n_vertices)}: give an integer") from None
        if n_vertices < 0:
            raise GraphError(f"n_vertices is {n_vertices}: give 0 or more")
    largest = -1
    for name, ends in (("source", source), ("target", target)):
        if not len(ends):
            continue
        low, high = int(ends.min()), int(ends.max())
        if low < 0:
            at = int(np.argmin(ends))
            raise GraphError(f"{name} of edge {at} is {low}: vertices start at 0")
        if n_vertices is not None and high >= n_vertices:
            at = int(np.argmax(ends))
            raise GraphError(f"{name} of edge {at} is {high}, but n_vertices is {n_vertices}")
        largest = max(largest, high)
    return largest + 1 if n_vertices is None else n_vertices


def from_edges(
    sources: ArrayLike,
    targets: ArrayLike,
    weights: ArrayLike | None = None,
    *,
    n_vertices: int | None = None,
    directed: bool = True,
) -> HostArrays:
    """Sort an edge list into rows in O(n + m); see :meth:`nearfar.Graph.from_edges`."""
    from nearfar import _cpu

    source, target = as_indices(sources, "sources"), as_indices(targets, "targets")
    if len(source) != len(target):
        raise GraphError(f"{len(source)} sources and {len(target)} targets: give one per edge")
    directed = as_direction(directed)
    k = len(source)
    n = _count_vertices(source, target, n_vertices)
    values: NDArray[Any] | None = None
    if weights is not None:
        values = as_weights(weights)
        if values.ndim == 0:
            values = np.full(k, values[()], dtype=values.dtype)
        if values.shape != (k,):
            raise GraphError(f"{values.shape} weights for {k} edges: give one per edge")
        values = np.ascontiguousarray(values)
    loops = 0 if directed else int(np.count_nonzero(source == target))
    m = k if directed else 2 * k - loops
    dtype = index_dtype(n, m)
    # Memory for the result, the next free position of every row, and converted ends.
    converted = sum(k for ends in (source, target) if ends.dtype != dtype)
    width = 0 if values is None else values.itemsize
    _require_room(n, k, (2 * n + 1 + m + converted) * dtype.itemsize + m * width)
    source = np.ascontiguousarray(source, dtype=dtype)
    target = np.ascontiguousarray(target, dtype=dtype)
    indptr, indices = np.empty(n + 1, dtype=dtype), np.empty(m, dtype=dtype)
    ordered = None if values is None else np.empty(m, dtype=values.dtype)
    _cpu.csr_from_edges(source, target, values, n, not directed, indptr, indices, ordered)
    try:
        return validate(
            frozen(indptr), frozen(indices), None if ordered is None else frozen(ordered)
        )
    except GraphError:
        if values is None or np.isfinite(values).all():
            raise
    wrong = ~np.isfinite(values)  # by position in the caller's edges, not in the rows
    at = int(np.argmax(wrong))
    refuse_weight(at, values[at], int(np.count_nonzero(wrong)))


def from_scipy(matrix: Any, *, directed: bool = True, copy: bool = True) -> HostArrays:
    """Return the rows of a SciPy sparse matrix or array; see :meth:`nearfar.Graph.from_scipy`."""
    if not hasattr(matrix, "tocsr"):
        raise GraphError(f"{type(matrix).__name__} is not sparse: use Graph.from_dense")
    if len(matrix.shape) != 2 or matrix.shape[0] != matrix.shape[1]:
        raise GraphError(f"the matrix has shape {matrix.shape}: an adjacency matrix is square")
    if matrix.format == "coo" or not directed:
        coo = matrix.tocoo()
        return from_edges(coo.row, coo.col, coo.data, n_vertices=matrix.shape[0], directed=directed)
    return validate(*csr_arrays(matrix), copy=copy or matrix.format != "csr")
