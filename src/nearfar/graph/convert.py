"""Building a Graph from other libraries' graphs: NetworkX, tables of edges, dense matrices.

Like :mod:`nearfar.graph.build`, whose :func:`~nearfar.graph.build.from_edges` they all end in; each
becomes a class method of :class:`nearfar.Graph`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from nearfar.errors import GraphError
from nearfar.graph.build import as_numpy, as_weights, from_edges

if TYPE_CHECKING:
    from numpy.typing import ArrayLike, NDArray

    from nearfar.graph.graph import Graph


def from_networkx(cls: type[Graph], graph: Any, weight: str | None = "weight") -> Graph:
    """Make a graph from a NetworkX graph; its vertices become ``vertex_names``.

    Parameters
    ----------
    graph : networkx.Graph, DiGraph, MultiGraph or MultiDiGraph
    weight : str or None
        Edge attribute; a missing one counts 1, as in NetworkX. None ignores weights.

    Returns
    -------
    Graph
        int64 weights when all are Python ints, else float64; unweighted when no edge has the
        attribute.

    Raises
    ------
    GraphError
        If an edge's attribute is not a number.
    """
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
    return from_edges(
        cls,
        sources,
        targets,
        weights,
        n_vertices=len(names),
        directed=graph.is_directed(),
        vertex_names=None if as_is else _object_array(names),
    )


def _object_array(values: list[Any]) -> NDArray[Any]:
    array = np.empty(len(values), dtype=object)
    array[:] = values
    return array


def from_dataframe(
    cls: type[Graph],
    table: Any,
    source: str = "source",
    target: str = "target",
    weight: str | None = None,
    *,
    directed: bool = True,
) -> Graph:
    """Make a graph from a table of edges: pandas, polars or Arrow, anything with columns by name.

    Parameters
    ----------
    table : DataFrame or Table
    source, target : str
        Columns of the ends: any type that sorts; they are factorised into ``vertex_names``. Integer
        columns that are already 0 to n - 1 are kept as they are.
    weight : str or None
        Column of the weights.
    directed : bool
        False enters every edge in both directions.

    Returns
    -------
    Graph

    Raises
    ------
    GraphError
        For a column that is missing or holds empty entries.
    """
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
    return from_edges(
        cls,
        codes[:k],
        codes[k:],
        weights,
        n_vertices=len(present),
        directed=directed,
        vertex_names=names,
    )


def _mixed(values: NDArray[Any]) -> bool:
    return len({type(value) for value in values.tolist()}) > 1


def from_dense(
    cls: type[Graph], matrix: ArrayLike, *, missing: float | None = None, directed: bool = True
) -> Graph:
    """Make a graph from a dense matrix in which a missing edge is not a zero.

    Parameters
    ----------
    matrix : array or masked array, shape (n, n)
        Entry (i, j) is the weight of the edge from i to j. NaN, infinities, None, masked entries
        and entries equal to ``missing`` are no edges; a zero is an edge of weight 0, except on the
        diagonal, where it would be a self-loop that changes nothing and is left out.
    missing : number or None
        A further value that stands for no edge, for integer matrices.
    directed : bool
        False adds the reverse of every entry.

    Returns
    -------
    Graph

    Raises
    ------
    GraphError
        If the matrix is not square.
    """
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
    return from_edges(
        cls, rows, columns, dense[rows, columns], n_vertices=len(dense), directed=directed
    )
