"""Aggregates of the values within a limit of each source, such as jobs within ten minutes."""

from __future__ import annotations

import math
import time
from typing import TYPE_CHECKING, Any

import numpy as np

from nearfar import _cpu
from nearfar.errors import GraphError, NegativeWeightError, OptionError, quoted
from nearfar.graph.turns import TurnGraph
from nearfar.options import check_limit
from nearfar.solve.request import as_graph, check_stats, vertex_indices
from nearfar.system.threads import check_threads

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence

    from numpy.typing import NDArray

    from nearfar.graph.graph import Graph
    from nearfar.graph.like import GraphLike

__all__ = ["catchment"]

_KINDS = ("sum", "mean", "count", "min", "max")
_AT_ONCE = 1 << 14  # sources between two calls of progress


def catchment(
    graph: GraphLike,
    values: Any,
    *,
    limit: float,
    sources: Iterable[Any] | None = None,
    aggregate: str | Sequence[str] = "sum",
    decay: str | tuple[Any, ...] | None = None,
    weight: str | Callable[[Any, Any, Any], Any] | None = "weight",
    threads: int | None = None,
    stats: dict[str, Any] | None = None,
    progress: Callable[[float, float], None] | None = None,
) -> Any:
    """Aggregate, for each source, the values that lie on vertices within a limit.

    Time and memory depend on the vertices within the limit, not on the graph.

    Parameters
    ----------
    graph : Graph, SciPy sparse matrix or NetworkX graph
        Weights are not negative.
    values : array, pandas.Series or pandas.DataFrame
        An array of shape (n,) or (n, c) has a row per vertex. A series or a frame is indexed by
        vertex; a vertex may occur several times, once per shop or home. NaN is no value.
    limit : float
        Inclusive, in the unit of the weights. The source itself lies within it.
    sources : vertices or None
        One row of the result each; None means every vertex.
    aggregate : {"sum", "mean", "count", "min", "max"} or a list of these
        ``count`` counts values, ``mean`` is the sum over the count. Both are NaN-aware; ``mean``,
        ``min`` and ``max`` are NaN where nothing lies within the limit.
    decay : str, tuple or None
        How much a value at distance d counts in ``sum``, ``count`` and ``mean``. None: fully.
        ``"linear"``: ``1 - d / limit``. ``"exponential"``: ``exp(-d / limit)``, or
        ``("exponential", scale)`` for ``exp(-d / scale)``. ``("table", distances, factors)``:
        linear interpolation between the points, constant beyond the first and the last.
    weight
        As for :func:`nearfar.distances`.
    threads : int or None
        Workers; None means one per core.
    stats : dict or None
        Filled with ``edges_relaxed`` and ``seconds``.
    progress : callable or None
        Called with the sources that are done and all sources.

    Returns
    -------
    float64 array, pandas.Series or pandas.DataFrame
        For arrays shape (k,) or (k, c), with a list of aggregates a last axis of its length. For a
        series or a frame one indexed by the sources' names, with a column per column of values;
        with a list of aggregates the columns are pairs (column, aggregate).

    Raises
    ------
    OptionError
        For values that do not fit the graph, an unknown aggregate or decay, and a missing limit.
    VertexError
        For a source, or an index of the values, that is not a vertex.
    NegativeWeightError
        For negative weights.

    Notes
    -----
    O(r log r) per source for r vertices within the limit and their edges. Values are added in order
    of distance, then vertex, so the result does not depend on the number of threads.

    Examples
    --------
    >>> import nearfar
    >>> g = nearfar.Graph.from_edges([0, 1, 2], [1, 2, 3], [4, 3, 9], directed=False)
    >>> nearfar.catchment(g, [1.0, 10.0, 100.0, 1000.0], limit=7)
    array([ 111.,  111.,  111., 1000.])
    >>> nearfar.catchment(g, [1.0, 10.0, 100.0, 1000.0], limit=7, aggregate="max", sources=[1])
    array([100.])
    """
    if isinstance(graph, TurnGraph):
        raise OptionError("catchment takes graphs without turn costs: give turns.original")
    solved = as_graph(graph, weight)
    check_stats(stats, progress)
    kinds = _kinds(aggregate)
    place, table, columns = _on_vertices(solved, values)
    checked = check_limit(limit, solved.weight_dtype)
    if checked is None or not math.isfinite(checked):
        raise OptionError("limit is None or infinite: give the distance up to which values count")
    decays = _decay(decay, float(checked))
    if solved.n_negative:
        raise NegativeWeightError(solved.first_negative, solved.n_negative, [])
    if solved.on_device:
        raise GraphError("catchment runs on the CPU, but the graph is on a device: g.to_host()")
    rows = np.arange(solved.n_vertices) if sources is None else None
    if rows is None:
        rows = vertex_indices(solved, sources, "source")
    workers = check_threads(threads)
    found = np.empty((4, len(rows), table.shape[1]))  # sums, shares, least, greatest
    began, edges = time.perf_counter(), 0
    step = len(rows) if progress is None else _AT_ONCE
    for first in range(0, len(rows), max(step, 1)):
        part = slice(first, first + step)
        edges += _cpu.bounded_aggregate(
            solved.view, rows[part], float(checked), workers, place, table, *decays, *found[:, part]
        )
        if progress is not None:
            progress(min(first + step, len(rows)), len(rows))
    if stats is not None:
        stats.update(edges_relaxed=edges, seconds=time.perf_counter() - began)
    sums, shares, least, greatest = found
    with np.errstate(invalid="ignore"):
        known = {"sum": sums, "count": shares, "min": least, "max": greatest}
        known["mean"] = np.where(shares > 0, sums / np.where(shares > 0, shares, 1), np.nan)
    parts = [known[kind] for kind in kinds]
    if columns is None:
        stacked = np.stack(parts, axis=-1)
        stacked = stacked[:, 0] if np.ndim(values) == 1 else stacked
        return stacked[..., 0] if isinstance(aggregate, str) else stacked
    return _frame(solved, rows, parts, kinds, columns, values, isinstance(aggregate, str))


def _kinds(aggregate: Any) -> list[str]:
    """Check the names of aggregates."""
    kinds = [aggregate] if isinstance(aggregate, str) else list(aggregate)
    for kind in kinds:
        if kind not in _KINDS:
            raise OptionError(f"aggregate is {quoted(kind)}: give one of {', '.join(_KINDS)}")
    if not kinds:
        raise OptionError(f"aggregate is empty: give one of {', '.join(_KINDS)}")
    return kinds


def _decay(decay: Any, limit: float) -> tuple[str, float, Any, Any]:
    """Check a decay: its kind, its scale, and the points of a table."""
    if decay is None:
        return "flat", 1.0, None, None
    if decay in ("linear", "exponential") and limit > 0:
        return decay, limit, None, None
    if isinstance(decay, tuple) and len(decay) == 2 and decay[0] == "exponential":
        scale = float(decay[1])
        if 0 < scale < math.inf:
            return "exponential", scale, None, None
    if isinstance(decay, tuple) and len(decay) == 3 and decay[0] == "table":
        at, factors = (np.asarray(points, np.float64) for points in decay[1:])
        rising = at.ndim == 1 and len(at) > 0 and bool((np.diff(at) > 0).all())
        if rising and at.shape == factors.shape and np.isfinite([at, factors]).all():
            return "table", 1.0, at.tolist(), factors.tolist()
    raise OptionError(
        f"decay is {quoted(decay)}: give 'linear', 'exponential' (with a limit above 0), "
        "('exponential', scale above 0) or ('table', ascending distances, factors)"
    )


def _on_vertices(
    graph: Graph, values: Any
) -> tuple[NDArray[np.int64], NDArray[np.float64], list[Any] | None]:
    """Sort values by vertex: offsets per vertex, a row per value, and the columns of a frame."""
    n = graph.n_vertices
    if not hasattr(values, "index") or not hasattr(values, "to_numpy"):
        table = np.asarray(values, np.float64)
        if table.ndim not in (1, 2) or len(table) != n:
            raise OptionError(
                f"values has shape {table.shape}: give a row for each of {n} vertices"
            )
        table = np.ascontiguousarray(table.reshape(n, -1))
        place, columns = np.arange(n + 1), None
    else:
        at = graph.indices_of(values.index.to_numpy(), "vertex of values")
        table = np.asarray(values.to_numpy(), np.float64).reshape(len(at), -1)
        order = np.argsort(at, kind="stable")
        table = np.ascontiguousarray(table[order])
        place = np.searchsorted(at[order], np.arange(n + 1))
        columns = list(values.columns) if hasattr(values, "columns") else [values.name]
    if np.isinf(table).any():
        row = int(np.argwhere(np.isinf(table))[0][0])
        raise OptionError(f"values holds an infinite number in row {row}: give finite ones or NaN")
    return place.astype(np.int64), table, columns


def _frame(
    graph: Graph,
    rows: NDArray[np.int64],
    parts: list[NDArray[np.float64]],
    kinds: list[str],
    columns: list[Any],
    values: Any,
    single: bool,
) -> Any:
    """Label the result as the values were labelled."""
    import pandas

    index = pandas.Index(graph.name_of(rows), name=values.index.name)
    if single and not hasattr(values, "columns"):
        return pandas.Series(parts[0][:, 0], index, name=columns[0])
    if single:
        return pandas.DataFrame(parts[0], index, columns)
    stacked = np.stack(parts, axis=-1).reshape(len(rows), -1)
    if not hasattr(values, "columns"):
        return pandas.DataFrame(stacked, index, kinds)
    return pandas.DataFrame(stacked, index, pandas.MultiIndex.from_product([columns, kinds]))
