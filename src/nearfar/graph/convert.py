"""Other libraries' graphs as arrays and back: NetworkX, tables of edges, dense matrices, SciPy.

The ways in end in :func:`nearfar.graph.build.from_edges` and return its arrays; those with names
also return what else :class:`nearfar.Graph` takes. Its class methods of the same names document
them.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from nearfar.errors import GraphError
from nearfar.graph.build import HostArrays, as_numpy, as_weights, from_edges

if TYPE_CHECKING:
    from numpy.typing import ArrayLike, NDArray


def from_networkx(graph: Any, weight: str | None = "weight") -> tuple[HostArrays, dict[str, Any]]:
    """See :meth:`nearfar.Graph.from_networkx`."""
    names = list(graph)
    place = {name: i for i, name in enumerate(names)}
    k = graph.number_of_edges()
    sources, targets = np.empty(k, dtype=np.int64), np.empty(k, dtype=np.int64)
    values: list[Any] = []
    found = False
    for at, (u, v, data) in enumerate(graph.edges(data=True)):
        sources[at], targets[at] = place[u], place[v]
        if weight is not None:
            found = found or weight in data
            values.append(data.get(weight, 1))
    weights = None
    if found:
        whole = all(type(value) in (int, bool) for value in values)
        try:
            weights = np.array(values, dtype=np.int64 if whole else np.float64)
        except (TypeError, ValueError, OverflowError) as error:
            raise GraphError(
                f"edge attribute {weight!r} is not a number everywhere: {error}"
            ) from None
    as_is = names == list(range(len(names)))
    arrays = from_edges(
        sources, targets, weights, n_vertices=len(names), directed=graph.is_directed()
    )
    kept = {
        "directed": graph.is_directed(),
        "vertex_names": None if as_is else _object_array(names),
    }
    return arrays, kept


def _object_array(values: list[Any]) -> NDArray[Any]:
    array = np.empty(len(values), dtype=object)
    array[:] = values
    return array


def from_dataframe(
    table: Any,
    source: str = "source",
    target: str = "target",
    weight: str | None = None,
    *,
    directed: bool = True,
) -> tuple[HostArrays, dict[str, Any]]:
    """See :meth:`nearfar.Graph.from_dataframe`."""
    columns = list(getattr(table, "column_names", None) or table.columns)

    def column(name: str) -> NDArray[Any]:
        if name not in columns:
            raise GraphError(f"no column {name!r}: the table has {', '.join(map(str, columns))}")
        values = table[name]
        array = values.to_numpy() if hasattr(values, "to_numpy") else np.asarray(values)
        empty = np.zeros(len(array), dtype=bool)
        if array.dtype.kind == "f":
            empty = np.isnan(array)
        elif array.dtype == object:
            empty = np.array([item is None or item != item for item in array], dtype=bool)
        if empty.any():
            raise GraphError(f"column {name!r} is empty in row {int(np.argmax(empty))}")
        return np.asarray(array)

    ends = [column(source), column(target)]
    weights = None if weight is None else column(weight)
    k = len(ends[0])
    names: NDArray[Any] | None
    if all(end.dtype.kind in "iu" for end in ends):
        present, codes = np.unique(np.concatenate(ends), return_inverse=True)
        names = None if np.array_equal(present, np.arange(len(present))) else present
    else:
        both = np.concatenate([np.asarray(end, dtype=object) for end in ends])
        present, codes = np.unique(both.astype(str) if _mixed(both) else both, return_inverse=True)
        names = present
    arrays = from_edges(codes[:k], codes[k:], weights, n_vertices=len(present), directed=directed)
    return arrays, {"directed": directed, "vertex_names": names}


def _mixed(values: NDArray[Any]) -> bool:
    return len({type(value) for value in values.tolist()}) > 1


def from_dense(
    matrix: ArrayLike, *, missing: float | None = None, directed: bool = True
) -> HostArrays:
    """See :meth:`nearfar.Graph.from_dense`."""
    mask = np.ma.getmaskarray(matrix) if isinstance(matrix, np.ma.MaskedArray) else None
    if mask is None and (array := as_numpy(matrix, "matrix")).dtype == object:
        none = [item is None for item in array.flat]
        mask = np.array(none, dtype=bool).reshape(array.shape)
        matrix = np.ma.masked_array(np.array(np.where(mask, 0, array).tolist()), mask)
    dense = as_weights(np.ma.getdata(matrix) if mask is not None else matrix)
    if dense.ndim != 2 or dense.shape[0] != dense.shape[1]:
        raise GraphError(f"the matrix has shape {dense.shape}: an adjacency matrix is square")
    edge = np.isfinite(dense) if dense.dtype.kind == "f" else np.ones(dense.shape, dtype=bool)
    if mask is not None:
        edge &= ~mask
    if missing is not None:
        edge &= dense != missing
    diagonal = np.arange(len(dense))
    edge[diagonal, diagonal] &= dense[diagonal, diagonal] != 0
    rows, columns = np.nonzero(edge)
    return from_edges(rows, columns, dense[rows, columns], n_vertices=len(dense), directed=directed)


def lightest(
    indptr: NDArray[Any], indices: NDArray[Any], weights: NDArray[Any]
) -> tuple[NDArray[Any], NDArray[Any], NDArray[Any]]:
    """``weights, indices, indptr`` of rows with the lightest of parallel edges.

    The arrays themselves where there are none: O(m) where rows ascend, else O(m log m).
    """
    rising = indices[1:] > indices[:-1]
    rising[indptr[(indptr > 0) & (indptr < len(indices))] - 1] = True  # from row to row
    if rising.all():
        return weights, indices, indptr
    rows = np.repeat(np.arange(len(indptr) - 1, dtype=indptr.dtype), np.diff(indptr))
    order = np.lexsort((weights, indices, rows))
    rows, columns = rows[order], indices[order]
    first = np.ones(len(rows), dtype=bool)
    first[1:] = (rows[1:] != rows[:-1]) | (columns[1:] != columns[:-1])
    if first.all():
        return weights, indices, indptr
    starts = np.zeros(len(indptr), dtype=indptr.dtype)
    np.cumsum(np.bincount(rows[first], minlength=len(indptr) - 1), out=starts[1:])
    return weights[order[first]], columns[first], starts
