"""Conversion of edge attributes to named arrays of a file, and back."""

from __future__ import annotations

import warnings
from typing import TYPE_CHECKING, Any

import numpy as np

from nearfar.errors import GraphError, listed, quoted
from nearfar.graph.snapping.lines import CLOSED_EDGES, ClosedEdges, closed_of

if TYPE_CHECKING:
    from collections.abc import Mapping

    from numpy.typing import NDArray

    from nearfar.graph.graph import Graph

_ROWS, _KEYS, _COLUMNS = "edge_rows", "edge_keys", "edge_columns"
_CLOSED, _HEADS = "closed_edges.edge", "closed_edges.head"


def edge_arrays(graph: Graph) -> dict[str, NDArray[Any]]:
    """Return the edge data of a graph as arrays, with a warning for data that files cannot hold."""
    wanted = {name: graph.attributes[name] for name in (_ROWS, _KEYS) if name in graph.attributes}
    columns = graph.attributes.get(_COLUMNS, {})
    wanted |= {f"{_COLUMNS}.{name}": column for name, column in columns.items()}
    found, left = {}, []
    for name, values in wanted.items():
        array = _storable(np.asarray(values))
        if array is None or len(array) != graph.n_edges:
            left.append(name)
        else:
            found[name] = array
    closed = closed_of(graph)
    if closed is not None:
        found |= {_CLOSED: closed.edge, _HEADS: closed.head}
    if left:
        warnings.warn(f"{listed(left)} omitted: not one number per edge", stacklevel=4)
    return found


def _storable(array: NDArray[Any]) -> NDArray[Any] | None:
    """Return numbers in a dtype that files support, or None for other data."""
    if array.ndim != 1 or array.dtype.kind not in "biuf":
        return None
    if array.dtype.kind == "f":
        return array.astype(np.float32 if array.dtype.itemsize <= 4 else np.float64, copy=False)
    if array.dtype == np.uint64 and (array > np.iinfo(np.int64).max).any():
        return None
    return array.astype(np.int32 if array.dtype == np.int32 else np.int64, copy=False)


def with_edge_arrays(
    attributes: Mapping[str, Any], arrays: Mapping[str, NDArray[Any]], n_vertices: int, n_edges: int
) -> dict[str, Any]:
    """Return attributes extended by the checked arrays of a file."""
    found = dict(attributes)
    per_edge = {name: arrays[name] for name in (_ROWS, _KEYS) if name in arrays}
    found |= per_edge
    columns = {name.removeprefix(f"{_COLUMNS}."): array for name, array in arrays.items()
               if name.startswith(f"{_COLUMNS}.")}  # fmt: skip
    if columns:
        found[_COLUMNS] = columns
    for name, array in [*per_edge.items(), *columns.items()]:
        if array.shape != (n_edges,):
            raise GraphError(f"{quoted(name)} has shape {array.shape} for {n_edges} edges")
    if _CLOSED in arrays or _HEADS in arrays:
        closed = ClosedEdges(
            *(np.asarray(arrays.get(name, ()), np.int64) for name in (_CLOSED, _HEADS))
        )
        ascends = closed.edge.ndim == 1 and bool((np.diff(closed.edge) > 0).all())
        inside = all(not len(ends) or 0 <= ends.min() <= ends.max() < most
                     for ends, most in zip(closed, (n_edges, n_vertices), strict=True))  # fmt: skip
        if closed.edge.shape != closed.head.shape or not ascends or not inside:
            raise GraphError(f"{_CLOSED} does not belong to {n_edges} edges")
        found[CLOSED_EDGES] = closed
    return found
