"""Aggregates of the values within a limit of each source, such as jobs within ten minutes."""

from __future__ import annotations

import hashlib
import math
import os
import time
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from nearfar import _cpu
from nearfar.algorithms.bounded.cuda import device_aggregates
from nearfar.errors import OptionError, quoted
from nearfar.graph.graph import Graph, negative_weight
from nearfar.graph.like import GraphLike
from nearfar.graph.turns import TurnGraph
from nearfar.options import Device, canonical_device, check_limit
from nearfar.prepared.prepared import Prepared
from nearfar.solve.arrays import distinct_sources
from nearfar.solve.many import distances
from nearfar.solve.rows.files import FileSink
from nearfar.solve.steps.request import as_graph, check_stats, vertex_indices
from nearfar.system.devices import runtime
from nearfar.system.threads import check_threads

_KINDS = ("sum", "mean", "count", "min", "max")
_AT_ONCE = 1 << 16  # sources between two calls of progress
# Number of sources from which those searched first decide; their number; edges of the graph over
# those that they read, up to which whole rows are tried.
_MANY, _FIRST, _FEW = 64, 8, 4
_ROWS = 1 << 26  # bytes of rows at a time


def catchment(
    graph: GraphLike,
    values: Any,
    *,
    limit: float,
    sources: Iterable[Any] | None = None,
    aggregate: str | Sequence[str] = "sum",
    decay: str | tuple[Any, ...] | None = None,
    weight: str | Callable[[Any, Any, Any], Any] | None = "weight",
    device: Device = "auto",
    threads: int | None = None,
    stats: dict[str, Any] | None = None,
    progress: Callable[[float, float], None] | None = None,
    out: str | os.PathLike[str] | None = None,
    block: int | None = None,
) -> Any:
    """Aggregate, for each source, the values of the vertices within a limit.

    Parameters
    ----------
    graph : graph_like
        Graph with non-negative weights.
    values : array, pandas.Series, pandas.DataFrame or tuple
        An array of shape (n,) or (n, c); a series or a frame indexed by vertex; or ``(vertices,
        array)``. A vertex may occur several times in the latter. NaN means no value.
    limit : float
        Inclusive limit in units of the weights. The source itself is within it.
    sources : vertices or None
        One row of the result each; None means every vertex.
    aggregate : {"sum", "mean", "count", "min", "max"} or a list of these
        ``mean`` is the sum over the count. ``mean``, ``min`` and ``max`` are NaN if no value is
        within the limit.
    decay : str, tuple or None
        Factor of a value at distance d in ``sum``, ``count`` and ``mean``. None: 1. ``"linear"``:
        ``1 - d / limit``. ``"exponential"``: ``exp(-d / limit)``, or ``("exponential", scale)``.
        ``("table", distances, factors)``: linear interpolation, constant beyond both ends.
    weight
        As for :func:`nearfar.distances`.
    device : {"auto", "cpu", "cuda"}
        ``"auto"`` is the device of the graph.
    threads : int or None
        None means one worker per core.
    stats : dict or None
        Filled with ``edges_relaxed`` and ``seconds``.
    progress : callable or None
        Called with the numbers of finished sources and of all sources.
    out : path or None
        ``.npy``, ``.zarr`` or ``.parquet``, written block by block and resumed as by
        :func:`nearfar.distances`.
    block : int or None
        Sources per block of ``out``, and between two calls of ``progress``.

    Returns
    -------
    float64 array, pandas.Series or pandas.DataFrame
        For arrays shape (k,) or (k, c), with a list of aggregates one more axis. A series or a
        frame is indexed by the sources' names; with a list of aggregates its columns are pairs
        (column, aggregate). With ``out`` shape (k, c times the aggregates).

    Raises
    ------
    OptionError
        For values that do not fit the graph, an unknown aggregate or decay, a missing limit, or a
        file that holds another result.
    VertexError
        For a source, or an index of the values, that is not a vertex.
    NegativeWeightError
        For negative weights.

    Notes
    -----
    O(r log r) per source for r vertices within the limit and their edges, or a whole row. Values
    are added in order of vertex, whatever the number of threads. A GPU adds in the same order;
    its exponential function and its interpolation may differ in the last place.

    Examples
    --------
    >>> import nearfar
    >>> g = nearfar.Graph.from_edges([0, 1, 2], [1, 2, 3], [4, 3, 9], directed=False)
    >>> nearfar.catchment(g, [1.0, 10.0, 100.0, 1000.0], limit=7)
    array([ 111.,  111.,  111., 1000.])
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
        raise negative_weight(solved)
    where = canonical_device(device)
    on_device = where == "cuda" or (where == "auto" and solved.on_device)
    if on_device:
        runtime.import_and_open()
    rows = np.arange(solved.n_vertices) if sources is None else None
    if rows is None:
        rows = vertex_indices(solved, sources, "source")
    workers = check_threads(threads)
    if block is not None and block < 1:
        raise OptionError(f"block is {block}: give at least 1 source")
    job = _Job(solved, rows, float(checked), workers, place, table, kinds, decays)
    job.block, job.on_device = block or _AT_ONCE, on_device
    if isinstance(solved, Prepared):  # whose rows may round sums of floats otherwise
        job.whole = False
    began = time.perf_counter()
    if out is not None:
        result = _in_file(job, out, progress)
    else:
        job.rows, places = distinct_sources(rows)
        result = np.empty((len(job.rows), table.shape[1], len(kinds)))
        for first in range(0, len(job.rows), job.block):
            done = min(first + job.block, len(job.rows))
            result[first:done] = job.solve(first)
            if progress is not None:
                progress(done, len(job.rows))
        result = result if places is None else result[places]
    if stats is not None:
        stats.update(edges_relaxed=job.edges, seconds=time.perf_counter() - began)
    if out is not None:
        return result
    single = isinstance(aggregate, str)
    if columns is None:
        flat = values[1] if isinstance(values, tuple) else values
        result = result[:, 0] if np.ndim(flat) == 1 else result
        return result[..., 0] if single else result
    return _frame(solved, rows, result, kinds, columns, values, single)


@dataclass(slots=True)
class _Job:
    """Checked sources, values and decay, solved in blocks of sources."""

    graph: Graph
    rows: NDArray[np.int64]
    limit: float
    workers: int
    place: NDArray[np.int64]
    table: NDArray[np.float64]
    kinds: list[str]
    decays: tuple[str, float, Any, Any]
    block: int = _AT_ONCE
    on_device: bool = False
    edges: int = 0
    whole: bool | None = None  # whether whole rows take less time than searches within the limit
    columns: None = None  # required by nearfar.solve.rows.files
    engine: str = "catchment"

    @property
    def further(self) -> dict[str, Any]:
        """Return further values that the rows of a file depend on."""
        digest = hashlib.sha256(np.ascontiguousarray(self.place).tobytes())
        digest.update(self.table.tobytes())
        return {"values": digest.hexdigest(), "aggregate": self.kinds, "decay": list(self.decays)}

    def solve(self, first: int) -> NDArray[np.float64]:
        """Return the aggregates of the block from a source on: (sources, columns, aggregates)."""
        rows = self.rows[first : first + self.block]
        found = np.empty((4, len(rows), self.table.shape[1]))  # sums, shares, least, greatest
        if self.on_device:
            self.edges += device_aggregates(
                self.graph, rows, self.limit, self.workers,
                self.place, self.table, self.decays, found,
            )  # fmt: skip
        else:
            self._on_cores(rows, found)
        sums, shares, least, greatest = found
        if self.kinds == ["sum"]:
            return sums[..., None]
        known = {"sum": sums, "count": shares, "min": least, "max": greatest}
        known["mean"] = np.where(shares > 0, sums / np.where(shares > 0, shares, 1), np.nan)
        return np.stack([known[kind] for kind in self.kinds], axis=-1)

    def _on_cores(self, rows: NDArray[np.int64], found: NDArray[np.float64]) -> None:
        """Search within the limit, or make whole rows if the first of them took less time."""
        at, seconds = 0, dict[bool, float]()
        for whole in (False, True):
            if self.whole is not None or len(rows) < _MANY:
                break
            edges, began, part = self.edges, time.perf_counter(), slice(at, at + _FIRST)
            self._aggregate(rows[part], found[:, part], 1, whole=whole)
            seconds[whole] = time.perf_counter() - began
            at += _FIRST
            if whole:
                self.whole = seconds[True] < seconds[False]
            elif (self.edges - edges) * _FEW < _FIRST * self.graph.n_edges:
                self.whole = False
        self._aggregate(rows[at:], found[:, at:], self.workers, whole=bool(self.whole))

    def _aggregate(
        self, rows: NDArray[np.int64], found: NDArray[np.float64], workers: int, *, whole: bool
    ) -> None:
        """Write the aggregates of some sources, by searches within the limit or whole rows."""
        graph = self.graph
        if not whole:
            self.edges += _cpu.bounded_aggregate(
                graph.view, rows, self.limit, workers,
                self.place, self.table, self.kinds == ["sum"], *self.decays, *found,
            )  # fmt: skip
            return
        how: dict[str, Any] = {"limit": self.limit, "threads": workers, "device": "cpu"}
        step, stats = max(1, _ROWS // (8 * max(graph.n_vertices, 1))), dict[str, Any]()
        for first in range(0, len(rows), step):
            part = slice(first, first + step)
            made = distances(graph, graph.name_of(rows[part]), stats=stats, **how)
            _cpu.rows_aggregate(
                made, workers, self.place, self.table, *self.decays, *found[:, part]
            )
            self.edges += int(stats.get("edges_relaxed", 0))


def _in_file(
    job: _Job, out: str | os.PathLike[str], progress: Callable[[float, float], None] | None
) -> Any:
    """Write the blocks that are missing from a file."""
    sink = FileSink(os.fspath(out), job, job.further)
    width = job.table.shape[1] * len(job.kinds)
    try:
        sink.start((len(job.rows), width), np.dtype(np.float64))
        for number, first in enumerate(range(0, max(len(job.rows), 1), job.block)):
            if not sink.has(number):
                sink.put(number, first, job.solve(first).reshape(-1, width))
            if progress is not None:
                progress(min(first + job.block, len(job.rows)), len(job.rows))
        return sink.finish()
    finally:
        sink.close()


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
    """Check a decay and return its kind, its scale, and the points of a table."""
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
    named = hasattr(values, "index") and hasattr(values, "to_numpy")
    columns = None
    if named or isinstance(values, tuple):
        if not named and len(values) != 2:
            raise OptionError(f"values is a tuple of {len(values)}: give (vertices, array)")
        vertices, given = (values.index.to_numpy(), values.to_numpy()) if named else values
        at = graph.indices_of(vertices, "vertex of values")
        table = np.asarray(given, np.float64)
        if table.ndim not in (1, 2) or len(table) != len(at):
            raise OptionError(f"values has shape {table.shape}: give a row per vertex named")
        order = np.argsort(at, kind="stable")
        table = np.ascontiguousarray(table.reshape(len(at), -1 if table.size else 1)[order])
        place = np.searchsorted(at[order], np.arange(n + 1))
        if named:
            columns = list(values.columns) if hasattr(values, "columns") else [values.name]
    else:
        table = np.asarray(values, np.float64)
        if table.ndim not in (1, 2) or len(table) != n:
            raise OptionError(
                f"values has shape {table.shape}: give a row for each of {n} vertices"
            )
        table = np.ascontiguousarray(table.reshape(n, -1 if n else 1))
        place = np.arange(n + 1)
    if np.isinf(table).any():
        row = int(np.argwhere(np.isinf(table))[0][0])
        raise OptionError(f"values holds an infinite number in row {row}: give finite ones or NaN")
    return place.astype(np.int64), table, columns


def _frame(
    graph: Graph,
    rows: NDArray[np.int64],
    result: NDArray[np.float64],
    kinds: list[str],
    columns: list[Any],
    values: Any,
    single: bool,
) -> Any:
    """Return the result as a series or frame with the labels of the values."""
    import pandas

    index = pandas.Index(graph.name_of(rows), name=values.index.name)
    if single and not hasattr(values, "columns"):
        return pandas.Series(result[:, 0, 0], index, name=columns[0])
    if single:
        return pandas.DataFrame(result[..., 0], index, columns)
    stacked = result.reshape(len(rows), -1)
    if not hasattr(values, "columns"):
        return pandas.DataFrame(stacked, index, kinds)
    return pandas.DataFrame(stacked, index, pandas.MultiIndex.from_product([columns, kinds]))
