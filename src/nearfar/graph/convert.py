"""Conversion of NetworkX graphs, tables of edges, dense matrices and SciPy matrices to arrays.

The functions call :func:`nearfar.graph.build.from_edges` and return its arrays, or the arguments of
``Graph.from_checked`` for graphs with names. They are documented by the class methods of the same
names. :mod:`nearfar.graph.libraries` and :mod:`nearfar.graph.geography`
convert graphs of further libraries.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Sequence
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from nearfar.errors import GraphError, did_you_mean, keyword, listed, quoted
from nearfar.graph.build import HostArrays, from_edges
from nearfar.graph.given import as_numpy, as_weights
from nearfar.graph.names import Coded, distinct, missing_in, numbered_columns, object_array


def check_weight(weight: Any) -> None:
    """Refuse a value that cannot name an attribute or column, such as an array of weights."""
    try:
        hash(weight)
    except TypeError:
        raise GraphError(
            f"weight is {quoted(weight)}: give the name of an attribute or column; for your own "
            "weights use Graph.from_csr(graph.indptr, graph.indices, weights)"
        ) from None


def weight_problem(weight: str, named: Sequence[Any], numeric: Sequence[Any], what: str) -> str:
    """Describe why named weights are missing; "" if the graph has no other candidates."""
    shown = listed(numeric)
    count = f"{keyword('weight', None)} counts edges"
    if weight != "weight":
        near = did_you_mean(str(weight), [str(name) for name in named])
        if near:
            return f"no {what} {quoted(weight)}{near} {count}"
        held = f"; numbers are in {shown}" if numeric else ""
        return f"no {what} {quoted(weight)}{held}; {count}"
    if not numeric:
        return ""
    choice = keyword("weight", str(numeric[0]))
    return f"no {what} 'weight', but numbers in {shown}: choose with {choice}; {count}"


def refuse_missing_weight(
    weight: str, named: Sequence[Any], numeric: Sequence[Any], what: str
) -> None:
    """Refuse named weights that are missing, unless the graph has no other candidates."""
    problem = weight_problem(weight, named, numeric, what)
    if problem:
        raise GraphError(problem)


def check_library(graph: Any, library: str, *needed: str) -> None:
    """Refuse an object without the attributes of a library's graphs."""
    if not all(hasattr(graph, name) for name in needed):
        raise GraphError(f"expected a graph of {library}, got {type(graph).__name__}")


def from_networkx(
    graph: Any, weight: str | Callable[[Any, Any, Any], Any] | None
) -> dict[str, Any]:
    """Convert as :meth:`nearfar.Graph.from_networkx` describes."""
    check_library(graph, "NetworkX", "adjacency", "nodes")
    check_weight(weight)
    names = list(graph)
    place = {name: i for i, name in enumerate(names)}
    directed = graph.is_directed()
    if callable(weight):
        (sources, targets), values = _called(graph, place, weight)
        numbers = as_numbers(values, "the weight function")
        arrays = from_edges(sources, targets, numbers, n_vertices=len(names))
        # The function was called for both directions of an undirected edge, which may differ.
        directed = directed or not _symmetric(sources, targets, values)
    else:
        (sources, targets), numbers = _attribute(graph, place, weight)
        arrays = from_edges(sources, targets, numbers, n_vertices=len(names), directed=directed)
    as_is = names == list(range(len(names)))
    return {
        "arrays": arrays,
        "directed": directed,
        "vertex_names": None if as_is else object_array(names),
        "coordinates": coordinates_of((d.get("x"), d.get("y")) for d in graph.nodes.values()),
        "attributes": {
            key: value
            for key, value in graph.graph.items()
            if key not in ("node_default", "edge_default")  # from a GraphML file
        },
    }


def coordinates_of(pairs: Iterable[tuple[Any, Any]]) -> NDArray[np.float64] | None:
    """Return the coordinates of the vertices if all vertices have finite x and y."""
    found = []
    for x, y in pairs:
        if not (is_number(x) and is_number(y) and math.isfinite(x) and math.isfinite(y)):
            return None
        found.append((x, y))
    return np.array(found, dtype=np.float64) if found else None


def _attribute(graph: Any, place: dict[Any, int], weight: str | None) -> tuple[Any, Any]:
    """Return ends and weights from an edge attribute; a missing one counts 1, as in NetworkX."""
    k = graph.number_of_edges()
    ends = np.empty((2, k), dtype=np.int64)
    values: list[Any] = []
    found = False
    for at, (u, v, data) in enumerate(graph.edges(data=True)):
        ends[:, at] = place[u], place[v]
        if weight is not None:
            found = found or weight in data
            values.append(data.get(weight, 1))
    if found:
        return ends, as_numbers(values, f"edge attribute {quoted(weight)}")
    if weight is not None and k:
        kinds: dict[Any, bool] = {}
        for _, _, data in graph.edges(data=True):
            for name, value in data.items():
                kinds[name] = kinds.get(name, False) or is_number(value)
        numeric = [name for name, number in kinds.items() if number]
        refuse_missing_weight(weight, list(kinds), numeric, "edge attribute")
    return ends, None


def is_number(value: Any) -> bool:
    """Return whether a value can be a weight."""
    return isinstance(value, (int, float, np.number)) and not isinstance(value, bool)


def _called(graph: Any, place: dict[Any, int], weight: Callable[[Any, Any, Any], Any]) -> Any:
    """Return ends and weights from a function of ends and data; None hides an edge."""
    sources, targets, values = [], [], []
    for u, neighbours in graph.adjacency():
        for v, data in neighbours.items():
            value = weight(u, v, data)
            if value is not None:
                sources.append(place[u])
                targets.append(place[v])
                values.append(value)
    return np.array([sources, targets], dtype=np.int64), values


def as_numbers(values: list[Any], what: str) -> NDArray[Any]:
    """Return an int64 array if all values are integers, otherwise float64."""
    kinds = set(map(type, values))
    text = tuple(kind for kind in kinds if issubclass(kind, (str, bytes, type(None))))
    if text:
        wrong = next(value for value in values if isinstance(value, text))
        raise GraphError(f"{what} is not a number everywhere: one is {quoted(wrong)}")
    whole = all(issubclass(kind, (int, np.integer)) for kind in kinds)
    if whole and values and not (min(values) >= -(2**63) and max(values) < 2**63):
        large = next(value for value in values if not -(2**63) <= value < 2**63)
        raise GraphError(f"{what} does not fit 64 bits: one is {quoted(large)}")
    try:
        return np.array(values, dtype=np.int64 if whole else np.float64)
    except (TypeError, ValueError, OverflowError) as error:
        raise GraphError(f"{what} is not a number everywhere: {error}") from None


def _symmetric(sources: NDArray[Any], targets: NDArray[Any], values: list[Any]) -> bool:
    edges = dict(zip(zip(sources.tolist(), targets.tolist(), strict=True), values, strict=True))
    return all(edges.get((v, u)) == value for (u, v), value in edges.items())


def from_dataframe(
    table: Any, source: str, target: str, weight: str | None, directed: bool
) -> dict[str, Any]:
    """Convert as :meth:`nearfar.Graph.from_dataframe` describes."""
    check_weight(weight)
    lazy = hasattr(table, "collect")  # accessing the columns of a polars LazyFrame would warn
    found = None if lazy else getattr(table, "column_names", getattr(table, "columns", None))
    if found is None:
        raise GraphError(
            f"expected a table of pandas, polars or Arrow, got {type(table).__name__}: "
            + ("call its collect() first" if lazy else "convert it to a data frame first")
        )
    columns = list(found)

    def column(name: str) -> Coded:
        if name not in columns:
            near = did_you_mean(str(name), list(map(str, columns)))
            has = near or f": the table has {', '.join(map(str, columns))}"
            raise GraphError(f"no column {quoted(name)}{has}")
        values = table[name]
        if len(getattr(values, "shape", ())) > 1:
            raise GraphError(f"the table has {values.shape[1]} columns {quoted(name)}: keep one")
        part = distinct(values)
        empty = missing_in(part)
        if empty.any():
            raise GraphError(f"column {quoted(name)} is empty in row {int(np.argmax(empty))}")
        return part

    ends = [column(source), column(target)]
    weights = None
    if weight is not None and weight not in columns:
        spare = [name for name in columns if name not in (source, target)]
        numeric = [name for name in spare if _holds_numbers(table[name])]
        refuse_missing_weight(weight, spare, numeric, "column")
    elif weight is not None:
        values, at = column(weight)
        weights = values if at is None else values[at]
    codes, present = numbered_columns(ends)
    as_is = present.dtype.kind in "iu" and np.array_equal(present, np.arange(len(present)))
    names: NDArray[Any] | None = None if as_is else present
    arrays = from_edges(codes[0], codes[1], weights, n_vertices=len(present), directed=directed)
    return {"arrays": arrays, "directed": directed, "vertex_names": names}


def _holds_numbers(column: Any) -> bool:
    """Return whether a table's column holds numbers, judging by its first entry."""
    first = column[:1]
    array = first.to_numpy() if hasattr(first, "to_numpy") else np.asarray(first)
    return array.dtype.kind in "iuf" or (len(array) > 0 and is_number(array[0]))


def from_dense(matrix: ArrayLike, missing: float | None, directed: bool) -> HostArrays:
    """Convert as :meth:`nearfar.Graph.from_dense` describes."""
    mask = np.ma.getmaskarray(matrix) if isinstance(matrix, np.ma.MaskedArray) else None
    _refuse_orders(matrix)
    if isinstance(matrix, np.matrix):  # its rows stay two-dimensional
        matrix = np.asarray(matrix)
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
    elif edge.all() and (
        zeros := np.count_nonzero(dense == 0) - np.count_nonzero(dense.diagonal() == 0)
    ):
        raise GraphError(
            f"{zeros} entries off the diagonal are 0, and no entry marks a missing edge: give "
            "missing=0 if they are missing edges, missing=np.nan if they are edges of weight 0"
        )
    diagonal = np.arange(len(dense))
    edge[diagonal, diagonal] &= dense[diagonal, diagonal] != 0
    rows, columns = np.nonzero(edge)
    return from_edges(rows, columns, dense[rows, columns], n_vertices=len(dense), directed=directed)


def _refuse_orders(matrix: Any) -> None:
    """Refuse a data frame whose rows and columns have the same number but other names."""
    rows, columns = (getattr(matrix, name, None) for name in ("index", "columns"))
    if rows is None or columns is None or len(rows) != len(columns):
        return
    if list(rows) != list(columns):
        raise GraphError(
            f"rows are named {listed(rows, 4)}, columns {listed(columns, 4)}: give one order to "
            "both, or matrix.to_numpy()"
        )
