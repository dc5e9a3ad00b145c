"""The k nearest of given places from each of others.

Either a table is computed and k entries of each row are kept: each origin takes as long as there
are destinations, or vertices if the graph is not prepared. Or a search from each origin ends as
soon as its k nearest are certain, after the vertices that are nearer. Both add the weights of a
path in the same order, so the distances have the same bits, unless the graph is prepared and has
float weights.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Any, Literal, NamedTuple

import numpy as np
from numpy.typing import NDArray

from nearfar import _cpu
from nearfar.graph.build import row_starts
from nearfar.graph.dtypes import unreached_value
from nearfar.graph.like import GraphLike
from nearfar.prepared.prepared import Prepared
from nearfar.solve.places.entries import part, same_edge
from nearfar.solve.places.given import Places
from nearfar.solve.places.table import (
    TableBlocks,
    prepared_places,
    result_library,
)
from nearfar.solve.rows.reductions import nearest_columns
from nearfar.solve.steps.request import check_count, check_stats

#: Least seconds of a worker per vertex that a search settles, per row of a table, and per entry.
_SETTLED, _ROW, _ENTRY = 6e-8, 1e-5, 2e-8
_TRIED = 16, 64  # origins per worker of the first searches, and of the first table if prepared


class NearestPlaces(NamedTuple):
    """Nearest destinations of each origin, nearest first.

    Attributes
    ----------
    distances : float64 array, shape (n, k)
        Distances; NaN if fewer are reached.
    destinations : int64 array, shape (n, k)
        Positions in the given destinations; -1 if fewer are reached.
    """

    distances: NDArray[np.float64]
    destinations: NDArray[np.int64]


class _Searches:
    """Searches from origins that end as soon as their k nearest destinations are certain."""

    def __init__(self, blocks: TableBlocks, k: int) -> None:
        self.blocks, self.k = blocks, k
        graph, n = blocks.graph, blocks.graph.n_vertices
        self.column_of = np.full(n, -1, np.int32)
        self.column_of[blocks.columns] = np.arange(len(blocks.columns))
        place, way = np.nonzero(blocks.column_of >= 0)
        column = blocks.column_of[place, way]
        order = np.argsort(column, kind="stable")
        self.entered = (
            row_starts(np.bincount(column, minlength=len(blocks.columns))),
            place[order],
            np.ascontiguousarray(blocks.column_cost[place, way][order]),
        )
        i, j = same_edge(blocks.origins, blocks.destinations)
        cost = part(blocks.named, blocks.origins, blocks.destinations, i, j)
        self.direct = row_starts(np.bincount(i, minlength=len(blocks.origins))), j, cost
        # Seconds per origin, of one search if destinations are spread evenly; then as measured.
        settled = n * k / max(len(blocks.destinations), 1)
        self.seconds = settled * _SETTLED / blocks.threads
        self.table_seconds = (_ROW + _ENTRY * len(blocks.columns)) / blocks.threads
        most = unreached_value(graph.weight_dtype)
        self.fits = graph.weight_dtype.kind == "f" or n * int(graph.max_weight) < most

    def pay(self) -> bool:
        """Return whether searching is expected to be faster than a table."""
        return self.seconds <= self.table_seconds

    def run(self, first: int, count: int) -> tuple[NDArray[np.float64], NDArray[np.int64]] | None:
        """Return totals and destinations for some origins, or None if a sum may not have fitted."""
        blocks, rows, began = self.blocks, slice(first, first + count), time.perf_counter()
        starts, places, costs = self.direct
        lists = slice(starts[first], starts[first + count])
        totals = np.full((count, self.k), np.inf)
        found = np.full((count, self.k), -1, np.int64)
        exhausted = _cpu.nearest_targets(
            blocks.graph.view,
            np.ascontiguousarray(blocks.leaving.vertex[rows]),
            np.ascontiguousarray(blocks.leaving.cost[rows]),
            self.column_of,
            *self.entered,
            starts[first : first + count + 1] - starts[first],
            places[lists],
            costs[lists],
            len(blocks.destinations),
            np.inf if blocks.limit is None else float(blocks.limit),
            totals,
            found,
            blocks.threads,
        )
        self.seconds = (time.perf_counter() - began) / count
        if exhausted and not self.fits:
            self.seconds = np.inf
            return None
        return totals, found


def _searches(blocks: TableBlocks, k: int, method: str, device: str) -> _Searches | None:
    """Return searches if the call permits them."""
    graph = blocks.graph
    if method != "auto" or device not in ("auto", "cpu") or graph.on_device:
        return None
    return _Searches(blocks, k)


def nearest_places(
    graph: GraphLike,
    origins: Any,
    destinations: Any,
    k: int = 1,
    *,
    weight: str | Callable[[Any, Any, Any], Any] | None = "weight",
    limit: float | None = None,
    out: Literal["numpy", "pandas"] | None = None,
    to: Literal["edge", "vertex"] = "edge",
    parts: Literal["largest", "all"] = "largest",
    max_distance: float | None = None,
    method: str = "auto",
    device: Literal["auto", "cpu", "cuda", "gpu"] = "auto",
    threads: int | None = None,
    progress: Callable[[float, float], None] | None = None,
) -> Any:
    """Return the k nearest destinations of every origin, given by coordinates.

    See :func:`nearfar.nearest` for the nearest of several vertices from every vertex.

    Parameters
    ----------
    graph, origins, destinations, weight, limit, to, parts, max_distance, method, device, threads
        As for :func:`nearfar.table`.
    k : int
        Number of destinations, at least 1.
    out : None, "numpy" or "pandas"
        Kind of the result; None returns a data frame if origins or destinations were given in a
        data frame or series.
    progress : callable or None
        Function called with the number of finished rows and of all rows.

    Returns
    -------
    NearestPlaces, or pandas.DataFrame
        A data frame has one row per origin and rank, indexed by both, with the columns
        ``destination`` (label) and ``distance``; origins that reach fewer destinations have fewer
        rows. Equally near destinations are in the given order.

    Raises
    ------
    OptionError
        If k is not an integer of at least 1, and as for :func:`nearfar.table`.

    Notes
    -----
    Whichever is faster: rows of the table, O(len(destinations)) each, or searches that end after
    the k nearest, O(r log r) for r nearer vertices.

    Examples
    --------
    >>> import nearfar
    >>> g = nearfar.Graph.from_edges(
    ...     [0, 1], [1, 2], [40, 30], directed=False, coordinates=[[0, 0], [400, 0], [400, 300]]
    ... )
    >>> nearfar.nearest_places(g, [(100, 0)], [(300, 0), (400, 150), (50, 0)], k=2)
    NearestPlaces(distances=array([[ 5., 20.]]), destinations=array([[2, 0]]))
    """
    k = check_count("k", k, 1)
    check_stats(None, progress)
    options = {"to": to, "parts": parts, "max_distance": max_distance, "threads": threads}
    library = result_library(out, ("numpy", "pandas"))
    solved, starts, ends = prepared_places(graph, weight, origins, destinations, options)
    solver = {"method": method, "device": device, "threads": threads}
    blocks = TableBlocks(solved, starts.snapped, ends.snapped, limit, solver)
    n, most = len(starts.snapped), min(k, len(ends.snapped))
    found = NearestPlaces(np.full((n, k), np.nan), np.full((n, k), -1, np.int64))
    searches = _searches(blocks, most, method, device)
    step, first_rows = (each * blocks.threads for each in _TRIED)
    first, tried = 0, searches is None or not isinstance(blocks.graph, Prepared)
    while first < n:
        near = None
        if searches is not None and searches.pay():
            near = searches.run(first, min(step, n - first))
            step *= 4
        if near is None:
            began, count = time.perf_counter(), min(blocks.block, n - first)
            count = count if tried else min(first_rows, count)
            kept = nearest_columns(blocks.rows(first, count), None, most)
            near, tried = (kept.distances, kept.vertices), True
            if searches is not None:
                searches.table_seconds = (time.perf_counter() - began) / count
        values, nearest = near
        rows = slice(first, first + len(values))
        found.distances[rows, :most] = np.where(nearest < 0, np.nan, values)
        found.destinations[rows, :most] = nearest
        first = rows.stop
        if progress is not None:
            progress(first, n)
    if library is None:
        library = "pandas" if starts.framed or ends.framed else "numpy"
    return found if library == "numpy" else _nearest_frame(found, starts, ends)


def _nearest_frame(found: NearestPlaces, starts: Places, ends: Places) -> Any:
    """Return a data frame with one row per origin and rank."""
    import pandas

    row, rank = np.nonzero(found.destinations >= 0)
    index = pandas.Index(starts.names)
    levels = pandas.MultiIndex.from_arrays(
        [index.take(row), rank + 1], names=[index.name or "origin", "rank"]
    )
    labels = pandas.Index(ends.names).take(found.destinations[row, rank])
    return pandas.DataFrame(
        {"destination": np.asarray(labels), "distance": found.distances[row, rank]}, index=levels
    )
