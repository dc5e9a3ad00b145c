"""Demand between vertices, given as a sparse matrix, triples or a data frame."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from nearfar.errors import OptionError, quoted
from nearfar.graph.graph import Graph

_COLUMNS = ("source", "target", "demand")


class Demand(NamedTuple):
    """Amounts above 0 between vertex indices, ordered by source and target, each pair once."""

    # sources, targets: shape (k,)
    sources: NDArray[np.int64]
    targets: NDArray[np.int64]
    amounts: NDArray[Any]  # int64 or float64 array, shape (k,)


def read_demand(graph: Graph, demand: Any, zones: Any = None) -> Demand:
    """Check demand and convert it to one form."""
    if hasattr(demand, "tocoo"):
        sources, targets, amounts = _of_matrix(graph, demand, zones)
    else:
        if zones is not None:
            raise OptionError("zones names the rows and columns of a matrix: leave it out")
        ends = _columns(demand)
        sources, targets = (
            graph.indices_of(_whole(end), what)
            for end, what in zip(ends[:2], ("source", "target"), strict=True)
        )
        amounts = np.asarray(ends[2])
    amounts = _numbers(amounts)
    if len({len(sources), len(targets), len(amounts)}) != 1:
        raise OptionError(
            f"demand has {len(sources)} sources, {len(targets)} targets and {len(amounts)} amounts"
        )
    return _ordered(graph, sources, targets, amounts)


def _of_matrix(graph: Graph, demand: Any, zones: Any) -> tuple[Any, Any, Any]:
    matrix = demand.tocoo()
    n = graph.n_vertices
    names = np.arange(n) if zones is None else graph.indices_of(list(zones), "zone")
    if matrix.shape != (len(names), len(names)):
        advice = "give zones= the vertex of each row" if zones is None else "one row per zone"
        raise OptionError(
            f"demand has shape {matrix.shape}, but there are {len(names)} "
            f"{'vertices' if zones is None else 'zones'}: {advice}"
        )
    row, column = (np.asarray(c, dtype=np.int64) for c in (matrix.row, matrix.col))
    return names[row], names[column], matrix.data


def _columns(demand: Any) -> tuple[Any, Any, Any]:
    names = getattr(demand, "column_names", None)
    if names is None:
        names = getattr(demand, "columns", None)
    if names is not None and not callable(names):
        missing = [name for name in _COLUMNS if name not in list(names)]
        if missing:
            raise OptionError(
                f"demand has no column {quoted(missing[0])}: name the columns source, target and "
                "demand"
            )
        found = [demand[name] for name in _COLUMNS]
        arrays = [c.to_numpy() if hasattr(c, "to_numpy") else np.asarray(c) for c in found]
        return arrays[0], arrays[1], arrays[2]
    if isinstance(demand, tuple) and len(demand) == 3 and all(map(_is_column, demand)):
        return demand
    if isinstance(demand, np.ndarray):
        if demand.ndim != 2 or demand.shape[1] != 3:
            raise OptionError(
                f"demand has shape {demand.shape}: give 3 columns: source, target, amount"
            )
        return demand[:, 0], demand[:, 1], demand[:, 2]
    if hasattr(demand, "__iter__") and not isinstance(demand, (str, bytes)):
        listed = list(demand)
        if all(hasattr(row, "__len__") and len(row) == 3 for row in listed):
            columns = list(zip(*listed, strict=True)) or [(), (), ()]
            return list(columns[0]), list(columns[1]), list(columns[2])
    raise OptionError(
        f"demand is {quoted(demand)}: give a sparse matrix, rows of (source, target, amount), or a "
        "table with columns source, target and demand"
    )


def _is_column(value: Any) -> bool:
    return hasattr(value, "__len__") and not isinstance(value, (str, bytes, tuple))


def _whole(vertices: Any) -> Any:
    """Return vertex numbers from an array of floats that also holds amounts."""
    if not isinstance(vertices, np.ndarray):
        return list(vertices)
    if vertices.dtype.kind == "f" and (vertices == np.floor(vertices)).all():
        return vertices.astype(np.int64)
    return vertices


def _numbers(amounts: Any) -> NDArray[Any]:
    """Return int64 or float64 amounts, finite and at least 0."""
    array = np.asarray(amounts)
    if array.dtype == object or not array.size:
        array = np.array(array.tolist())
    if not array.size:
        return np.zeros(0, dtype=np.int64)
    if array.dtype.kind not in "iuf":
        raise OptionError(f"demand has amounts of {array.dtype}: give numbers")
    if array.dtype.kind == "f":
        found = array.astype(np.float64)
    else:
        if int(array.max()) > np.iinfo(np.int64).max or sum(array.tolist()) > 2**63 - 1:
            raise OptionError("demand adds up to more than 64 bits: give floats")
        found = array.astype(np.int64)
    wrong = np.flatnonzero(~(found >= 0) | ~np.isfinite(found))
    if len(wrong):
        raise OptionError(
            f"demand {int(wrong[0])} is {found[wrong[0]]}: give finite amounts of at least 0"
        )
    return found


def _ordered(
    graph: Graph, sources: NDArray[np.int64], targets: NDArray[np.int64], amounts: NDArray[Any]
) -> Demand:
    kept = np.flatnonzero(amounts > 0)
    s, t, q = sources[kept], targets[kept], amounts[kept]
    keys = s * graph.n_vertices + t
    if (keys[1:] <= keys[:-1]).any():  # rows of a matrix are in order already
        order = np.argsort(keys, kind="stable")
        s, t, q = s[order], t[order], q[order]
    first = np.ones(len(s), dtype=bool)
    first[1:] = (s[1:] != s[:-1]) | (t[1:] != t[:-1])
    if not first.all():
        q = np.add.reduceat(q, np.flatnonzero(first))
        s, t = s[first], t[first]
    return Demand(s, t, q)
