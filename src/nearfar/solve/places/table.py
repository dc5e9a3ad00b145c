"""Tables between places given by coordinates."""

from __future__ import annotations

import hashlib
import math
import os
import time
from collections.abc import Callable, Iterator
from dataclasses import replace
from typing import Any, Literal, NamedTuple

import numpy as np
from numpy.typing import NDArray

from nearfar import _cpu
from nearfar.answer.frames import LABELLED, labelled_matrix, labelling_library
from nearfar.errors import OptionError, did_you_mean, quoted
from nearfar.graph.graph import Graph
from nearfar.graph.like import GraphLike
from nearfar.graph.snapping.snap import Snapped
from nearfar.graph.turns import TurnGraph, named_graph, searched_graph
from nearfar.options import check_limit
from nearfar.prepared.prepared import Prepared
from nearfar.prepared.scenario import Scenario
from nearfar.solve.many import distances
from nearfar.solve.places.entries import along_edge, check_weights, entries
from nearfar.solve.places.given import Places, as_places
from nearfar.solve.rows.files import FileSink
from nearfar.solve.rows.sinks import ArraySink
from nearfar.solve.steps.request import (
    as_graph_or_turns,
    check_block,
    check_stats,
)
from nearfar.solve.steps.room import is_path
from nearfar.system.devices import runtime
from nearfar.system.threads import check_threads

#: Bytes of a block of the table, including the distances between vertices.
_BLOCK_BYTES = 1 << 27


class BothTables(NamedTuple):
    """Tables of a scenario: the base, the scenario, and their difference.

    Attributes
    ----------
    base, scenario, difference : array or labelled table
        Results of :func:`nearfar.table`. The difference is scenario minus base, and is missing if a
        path is missing in either.
    """

    base: Any
    scenario: Any
    difference: Any


class TableBlocks:
    """Table between places, computed block by block of rows.

    :func:`nearfar.distances` computes the distances between the distinct vertices next to origins
    and destinations; a min-plus step adds the costs along the edges of the places.
    """

    def __init__(
        self,
        graph: Graph | TurnGraph,
        origins: Snapped,
        destinations: Snapped,
        limit: float | None,
        solver: dict[str, Any],
        block: int | None = None,
    ) -> None:
        self.named, self.graph = named_graph(graph), searched_graph(graph)
        check_weights(self.named)
        self.origins, self.destinations = origins, destinations
        self.limit = check_limit(limit, np.dtype(np.float64))
        # Costs along edges only add to the distances between vertices. A prepared graph is left to
        # its lists: a search within a limit may round sums of floats otherwise.
        within = self.limit is not None and math.isfinite(self.limit)
        within = within and not isinstance(self.graph, Prepared)
        self.solver = {**solver, "limit": self.limit} if within else solver
        self.threads = check_threads(solver.get("threads"))
        check_block("table", block)
        self.leaving = entries(graph, origins, True)
        arriving = entries(graph, destinations, False)
        self.columns, self.column_of = numbered(arriving.vertex)
        self.column_cost = arriving.cost
        each = 8 * (len(destinations) + 2 * len(self.columns)) + 1
        self.block = max(1, min(_BLOCK_BYTES // each, len(origins)) if block is None else block)
        self.solved = 0  # solved rows of distances between vertices

    @property
    def shape(self) -> tuple[int, int]:
        """Numbers of origins and destinations."""
        return len(self.origins), len(self.destinations)

    def rows(self, first: int, count: int) -> NDArray[np.float64]:
        """Return some rows; infinite without a path."""
        part = slice(first, first + count)
        vertices, row_of = numbered(self.leaving.vertex[part])
        if len(vertices) and len(self.columns):
            names = self.graph.name_of
            between = distances(
                self.graph, names(vertices), targets=names(self.columns), **self.solver
            )
            if runtime.is_device_array(between):
                between = runtime.download(between)
        else:
            between = np.empty((len(vertices), len(self.columns)))
        self.solved += len(vertices)
        found = np.empty((len(row_of), len(self.column_of)))
        _cpu.place_table(
            np.ascontiguousarray(between),
            row_of,
            np.ascontiguousarray(self.leaving.cost[part]),
            self.column_of,
            self.column_cost,
            found,
            self.threads,
        )
        along_edge(self.named, _rows_of(self.origins, part), self.destinations, found)
        if self.limit is not None:
            found[found > self.limit] = np.inf
        return found

    def __iter__(self) -> Iterator[tuple[int, NDArray[np.float64]]]:
        for first in range(0, len(self.origins), self.block):
            yield first, self.rows(first, min(self.block, len(self.origins) - first))


def numbered(vertices: NDArray[np.int64]) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Return the distinct vertices, and the position of each among them; -1 is preserved."""
    distinct, number = np.unique(vertices, return_inverse=True)
    number = np.ascontiguousarray(number.reshape(vertices.shape), dtype=np.int64)
    if len(distinct) and distinct[0] < 0:
        return distinct[1:], number - 1
    return distinct, number


def _rows_of(places: Snapped, part: slice) -> Snapped:
    """Return some of the places."""
    names = ("edge", "back", "share", "offset", "vertex", "distance", "x", "y")
    return replace(places, **{name: getattr(places, name)[part] for name in names})


class _Labelled:
    """Graph whose vertex names are the labels of origins, for a file."""

    def __init__(self, graph: Graph, origins: Places) -> None:
        self.digest, self.labels = graph.digest, np.asarray(origins.names)
        self.vertex_names = self.labels if origins.labels is not None else None

    def name_of(self, index: Any) -> Any:
        """Return labels of origins."""
        return self.labels[index]


class _Written:
    """Table as the run that writes a file."""

    engine, columns = "table", None

    def __init__(self, blocks: TableBlocks, origins: Places) -> None:
        self.graph: Any = _Labelled(blocks.graph, origins)
        self.rows = np.arange(len(blocks.origins), dtype=np.int64)
        self.limit, self.block = blocks.limit, blocks.block


def _file(blocks: TableBlocks, origins: Places, destinations: Places, path: str) -> FileSink:
    """Return the sink of a file, whose manifest identifies the places."""
    names = [str(name) for name in plain_names(destinations.names)]
    if path.endswith(".parquet") and len({"origin", *names}) <= len(names):
        raise OptionError(
            "two columns would have the same name: give the destinations distinct names other "
            "than 'origin', or write .npy"
        )
    state = hashlib.sha256("\n".join(names).encode("utf-8", "backslashreplace"))
    for places in (origins.snapped, destinations.snapped):
        for array in (places.edge, places.share, places.vertex):
            state.update(np.ascontiguousarray(array).tobytes())
    return FileSink(path, _Written(blocks, origins), {"places": state.hexdigest()}, names)


def prepared_places(
    graph: GraphLike, weight: Any, origins: Any, destinations: Any, options: dict[str, Any]
) -> tuple[Graph | TurnGraph, Places, Places]:
    """Check the arguments, and return the graph and the places on it."""
    solved = as_graph_or_turns(graph, weight)
    named = named_graph(solved)
    return (
        solved,
        as_places(named, origins, "origins", options),
        as_places(named, destinations, "destinations", options),
    )


def table(
    graph: GraphLike,
    origins: Any,
    destinations: Any,
    *,
    weight: str | Callable[[Any, Any, Any], Any] | None = "weight",
    limit: float | None = None,
    out: Any = None,
    to: Literal["edge", "vertex"] = "edge",
    parts: Literal["largest", "all"] = "largest",
    max_distance: float | None = None,
    method: str = "auto",
    device: Literal["auto", "cpu", "cuda", "gpu"] = "auto",
    threads: int | None = None,
    block: int | None = None,
    stats: dict[str, Any] | None = None,
    progress: Callable[[float, float], None] | None = None,
) -> Any:
    """Compute exact distances between places given by coordinates.

    Paths begin and end at the position of a place on its edge: the travelled fraction of the edge's
    weight counts, one-way streets are respected, and two places on the same edge are connected
    along it.

    Parameters
    ----------
    graph : graph_like, Prepared, TurnGraph or Scenario
        Graph with coordinates and without negative weights. With turn costs, a path into the edge
        of a destination includes the turn before it. With a scenario, places are snapped to the
        streets before the scenario, and ``out`` must be None or the name of a library.
    origins, destinations : places
        Data frames of pandas or polars with columns ``lon`` and ``lat`` (or ``x`` and ``y``),
        GeoSeries or GeoDataFrames of points, arrays of shape (k, 2), lists of pairs, a pair of
        arrays, or a result of :meth:`nearfar.Graph.snap`. Alternatively vertices: names, or an
        array of indices.
    weight, method, device, threads
        As for :func:`nearfar.distances`.
    limit : number or None
        Inclusive limit; farther pairs are missing.
    out : None, "numpy", "pandas", "polars", "xarray", array or path
        Destination of the table. None returns a pandas data frame if origins or destinations were
        given in a data frame or series, otherwise an array. A float64 array is filled. A path that
        ends in ``.npy``, ``.zarr`` or ``.parquet`` is written and resumed as by
        :func:`nearfar.distances`.
    to, parts, max_distance
        As for :meth:`nearfar.Graph.snap`. Places beyond ``max_distance`` have no paths.
    block : int or None
        Rows per block; None chooses a number.
    stats : dict or None
        Dict to be filled with ``vertices`` (number of distinct vertices next to the places),
        ``seconds`` and ``unreached`` (number of pairs).
    progress : callable or None
        Function called with the number of finished rows and of all rows.

    Returns
    -------
    float64 array, shape (len(origins), len(destinations)), or a labelled table
        Distances; NaN for pairs without a path (null in polars). If ``out`` is a path, the memory
        map, Zarr array or folder. For a scenario, ``(base, scenario, difference)``.

    Raises
    ------
    OptionError
        If there are no places, or for an invalid option.
    GraphError
        If the graph has no coordinates, negative weights, or another coordinate system.
    VertexError
        For places that are not finite or far away; see :meth:`nearfar.Graph.snap`.

    Notes
    -----
    :func:`nearfar.distances` from at most twice as many vertices to at most twice as many targets,
    plus four additions per pair. Sums are float64. With turn costs there is one target per turn
    into the edge of a destination.

    Examples
    --------
    >>> import nearfar
    >>> g = nearfar.Graph.from_edges(
    ...     [0, 1], [1, 2], [40, 30], directed=False, coordinates=[[0, 0], [400, 0], [400, 300]]
    ... )
    >>> nearfar.table(g, [(100, 0)], [(300, 0), (400, 150)])
    array([[20., 45.]])
    """
    check_stats(stats, progress)
    options = {"to": to, "parts": parts, "max_distance": max_distance, "threads": threads}
    library = result_library(out, ("numpy", *LABELLED))
    began = time.perf_counter()
    if isinstance(graph, Scenario):
        if library is None and out is not None:
            raise OptionError("a scenario returns several tables: omit out=, or name a library")
        base, starts, ends = prepared_places(graph.base, weight, origins, destinations, options)
        call: dict[str, Any] = {"weight": weight, "limit": limit, "method": method, "block": block,
                                "device": device, "threads": threads, "stats": stats,
                                "progress": progress}  # fmt: skip
        return _both(graph, base, starts, ends, library, call)
    solved, starts, ends = prepared_places(graph, weight, origins, destinations, options)
    if library is None and out is None:
        library = "pandas" if starts.framed or ends.framed else "numpy"
    if library not in (None, "numpy"):
        labelling_library(library, LABELLED)
    solver = {"method": method, "device": device, "threads": threads}
    blocks = TableBlocks(solved, starts.snapped, ends.snapped, limit, solver, block)
    sink: FileSink | ArraySink
    if library is None and is_path(out):
        sink = _file(blocks, starts, ends, os.fspath(out))
    else:
        sink = ArraySink(None if isinstance(out, str) else out, blocks.threads)
    unreached, count = 0, len(blocks.origins)
    try:
        sink.start(blocks.shape, np.dtype(np.float64))
        step = sink.run.block if isinstance(sink, FileSink) else blocks.block
        for number, first in enumerate(range(0, count, step)):
            end = min(first + step, count)
            if not sink.has(number):  # else kept from an interrupted run
                rows = blocks.rows(first, end - first)
                rows[np.isinf(rows)] = np.nan
                unreached += int(np.isnan(rows).sum())
                sink.put(number, first, rows)
            if progress is not None:
                progress(end, count)
        found = sink.finish()
    finally:
        sink.close()
    if stats is not None:
        stats.update(
            vertices=(blocks.solved, len(blocks.columns)),
            seconds=time.perf_counter() - began,
            unreached=unreached,
        )
    return _labelled(found, library, starts, ends)


def _labelled(found: NDArray[np.float64], library: str | None, starts: Places, ends: Places) -> Any:
    """Convert a table to a library's; None returns an array."""
    if library in (None, "numpy"):
        return found
    missing = np.where(np.isnan(found), np.inf, found)
    named = labelled_matrix(
        str(library), plain_names(starts.names), plain_names(ends.names), missing
    )
    if library == "pandas" and starts.framed:
        named.index = starts.labels
    if library == "pandas" and ends.framed:
        named.columns = ends.labels
    return named


def _both(
    scenario: Scenario,
    base: Graph | TurnGraph,
    starts: Places,
    ends: Places,
    library: str | None,
    call: dict[str, Any],
) -> BothTables:
    """Return the tables before and after a change, and the difference."""
    before, after = (
        table(graph, starts.snapped, ends.snapped, out="numpy", **call)
        for graph in (base, scenario.changed)
    )
    if library is None:
        library = "pandas" if starts.framed or ends.framed else "numpy"
    return BothTables(
        *(_labelled(found, library, starts, ends) for found in (before, after, after - before))
    )


def result_library(out: Any, known: tuple[str, ...]) -> str | None:
    """Return the library that ``out`` names; None for a path, an array or None."""
    if not isinstance(out, str) or out.endswith((".npy", ".zarr", ".parquet")):
        return None
    if out not in known:
        near = did_you_mean(out, known)
        raise OptionError(
            f"out is {quoted(out)}: give {', '.join(map(repr, known))}, or a name that ends in "
            f".npy, .zarr or .parquet{near}"
        )
    return out


def plain_names(labels: Any) -> Any:
    """Return labels as a list of names."""
    return labels if isinstance(labels, np.ndarray) else list(labels)
