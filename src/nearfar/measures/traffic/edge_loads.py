"""Loads of edges when demand takes shortest paths, and totals of other quantities along the paths.

``loads.cpp`` does both. With turns, the searched graph has several edges per original edge,
whose loads are added up.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from nearfar import _cpu
from nearfar.errors import OptionError, does_not_fit, quoted
from nearfar.graph.dtypes import unreached_value
from nearfar.graph.graph import Graph, negative_weight
from nearfar.graph.saturation import may_saturate, widest
from nearfar.graph.turns import TurnGraph
from nearfar.measures.simple import many_rows, on_device_or_cores, takes_device
from nearfar.measures.traffic.demand import Demand, read_demand
from nearfar.measures.traffic.place_skims import place_skims
from nearfar.options import Device
from nearfar.solve.places.given import are_places, as_places
from nearfar.solve.steps.request import as_graph, check_stats, vertex_indices
from nearfar.system.threads import check_threads


@dataclass(frozen=True, slots=True)
class EdgeLoads:
    """Loads of edges by demand.

    Attributes
    ----------
    loads : int64 or float64 array, shape (m,)
        Load of each edge, by its position in :attr:`nearfar.Graph.indices`; integers if demand
        is.
    carried : int or float
        Demand that has a path, including demand from vertices to themselves.
    total_length : float
        Sum of carried demand times the length of its path.
    unreached : int or float
        Demand without a path.
    unreached_sources, unreached_targets : array
        External names of the pairs without a path.
    unreached_amounts : array
        Their demand.
    """

    loads: NDArray[Any]
    carried: Any
    total_length: float
    unreached: Any
    unreached_sources: NDArray[Any]
    unreached_targets: NDArray[Any]
    unreached_amounts: NDArray[Any]


@dataclass(frozen=True, slots=True)
class Skims:
    """Totals along shortest paths.

    Attributes
    ----------
    distances : array, shape (k, l)
        Lengths of the paths, as from :func:`nearfar.distances`.
    totals : list or dict of arrays, shape (k, l)
        One array per quantity, in the given order: integers for integer quantities between
        vertices. Pairs without a path have inf, or the maximum of int64.
    """

    distances: NDArray[Any]
    totals: Any


class Searched:
    """Searched graph, and its vertices and edges in terms of the caller's graph."""

    def __init__(self, graph: Any, weight: Any) -> None:
        self.turns = graph if isinstance(graph, TurnGraph) else None
        self.named: Graph = as_graph(graph, weight) if self.turns is None else graph.original
        self.graph = self.named.without_names() if self.turns is None else graph.graph
        if self.graph.n_negative:
            raise negative_weight(self.named)

    def starts(self, vertices: NDArray[np.int64]) -> NDArray[np.int64]:
        """Return the searched vertices at which paths from the given ones start."""
        return vertices if self.turns is None else self.turns.starts[vertices]

    def loads(self, found: NDArray[Any]) -> NDArray[Any]:
        """Return the loads of the caller's edges."""
        if self.turns is None:
            return found
        return self.turns.to_edges(found)

    def quantity(self, values: NDArray[Any]) -> NDArray[Any]:
        """Return a quantity of the caller's edges for the searched edges."""
        return values if self.turns is None else self.turns.of_edges(values)

    def solved(self, run: Callable[[Graph], NDArray[np.bool_]]) -> None:
        """Call ``run``; repeat it in 64 bits if an overflowing distance may seem unreached."""
        unreached = run(self.graph)
        if not unreached.any() or not may_saturate(self.graph):
            return
        wide = widest(self.graph)
        unreached = unreached if wide is self.graph else run(wide)
        if unreached.any() and may_saturate(wide):
            # Distances in edges never overflow, so they show every reachable pair.
            if (run(self.graph.without_weights()) != unreached).any():
                raise does_not_fit(wide.weight_dtype)
            run(wide)


def edge_loads(
    graph: Any,
    demand: Any,
    *,
    weight: str | Callable[[Any, Any, Any], Any] | None = "weight",
    device: Device = "auto",
    threads: int | None = None,
    zones: Iterable[Any] | None = None,
    progress: Callable[[float, float], None] | None = None,
) -> EdgeLoads:
    """Compute the load of each edge when all demand takes a shortest path.

    Parameters
    ----------
    graph : graph_like or TurnGraph
        Graph with non-negative weights.
    demand : sparse matrix, array of shape (k, 3), list of triples, three arrays, or data frame
        Amounts of at least 0 from source to target. A matrix has a row and a column per vertex or
        zone; triples and three arrays are sources, targets and amounts; a table has columns
        ``source``, ``target`` and ``demand``. Repeated pairs add up.
    weight, device, threads
        As for :func:`betweenness`.
    zones : vertices or None
        Vertices of the rows and columns of a matrix; None means every vertex in order.
    progress : callable or None
        Called with the numbers of finished sources and of all sources.

    Returns
    -------
    EdgeLoads
        Loads, and the demand without a path, in total and per pair.

    Raises
    ------
    OptionError
        If demand is none of these, or an amount is negative or not finite.
    NegativeWeightError
        For negative weights.
    VertexError
        For an entry that is not a vertex.
    DistanceOverflowError
        If a distance does not fit 64 bits.
    OutOfMemoryError
        If a GPU has too little memory, before anything is allocated.

    Notes
    -----
    All demand of a pair takes the path of :class:`nearfar.Paths`, over the lightest of parallel
    edges. One search per source, which ends at the last target, plus one pass over the edges on
    its paths. Integer loads are exact; floats are added in an order that depends only on the
    demand. On a GPU they are added exactly and rounded once, so both agree to 1e-12.

    Examples
    --------
    >>> import nearfar
    >>> g = nearfar.Graph.from_edges([0, 1, 0], [1, 2, 2], [1, 1, 5])
    >>> nearfar.measures.edge_loads(g, [(0, 2, 10), (0, 1, 3)]).loads
    array([13,  0, 10])
    """
    check_stats(None, progress)
    searched = Searched(graph, weight)
    trips = Trips(read_demand(searched.named, demand, zones))
    loads, lengths = trips.on(searched, device, check_threads(threads), progress)
    if progress is not None:
        progress(len(trips.sources), len(trips.sources))
    pairs = trips.pairs
    lost = np.flatnonzero(~np.isfinite(lengths))
    there = np.isfinite(lengths)
    name_of = searched.named.name_of
    return EdgeLoads(
        loads,
        pairs.amounts[there].sum().item(),
        float(pairs.amounts[there].astype(np.float64) @ lengths[there]),
        pairs.amounts[lost].sum().item(),
        name_of(pairs.sources[lost]),
        name_of(pairs.targets[lost]),
        pairs.amounts[lost],
    )


class Trips:
    """Demand arranged by source, for repeated loading onto the shortest paths of a graph."""

    def __init__(self, pairs: Demand) -> None:
        self.pairs = pairs
        # Demand from a vertex to itself uses no edge; with turns its start cannot be reached.
        self.away = np.flatnonzero(pairs.sources != pairs.targets)
        begins, self.targets, self.amounts = (column[self.away] for column in pairs)
        first = np.ones(len(begins), dtype=bool)
        first[1:] = begins[1:] != begins[:-1]
        self.sources = begins[first]
        self.first = np.append(np.flatnonzero(first), len(begins)).astype(np.int64)
        self.ends = np.unique(self.targets)

    def on(
        self,
        searched: Searched,
        device: Any,
        workers: int,
        progress: Callable[[float, float], None] | None = None,
    ) -> tuple[NDArray[Any], NDArray[np.float64]]:
        """Return the loads of the caller's edges, and the length of each pair's path, or inf."""
        rows = searched.starts(self.sources)
        lengths = np.zeros(len(self.pairs.amounts))

        def on_cores() -> tuple[NDArray[Any], NDArray[np.float64]]:
            return _on_cores(searched, rows, self, workers, progress)

        def on_device() -> tuple[NDArray[Any], NDArray[np.float64]]:
            from nearfar.measures.traffic.device_loads import device_loads

            demand = (self.first, self.targets, self.amounts)
            return device_loads(searched.graph, rows, *demand, progress)

        takes = takes_device(device, searched.graph, len(rows))
        loads, lengths[self.away] = (
            on_device_or_cores(device, on_device, on_cores) if takes else on_cores()
        )
        return searched.loads(loads), lengths


def _on_cores(
    searched: Searched,
    rows: NDArray[np.int64],
    trips: Trips,
    workers: int,
    progress: Callable[[float, float], None] | None,
) -> tuple[NDArray[Any], NDArray[np.float64]]:
    """Return the loads of the searched edges and the lengths of all paths, on the CPU."""
    loads = np.zeros(searched.graph.n_edges, dtype=trips.amounts.dtype)
    lengths = np.zeros(len(trips.amounts))
    into, entering, tails = searched.graph.entering()

    def run(solved: Graph) -> NDArray[np.bool_]:
        loads[:] = 0
        _cpu.edge_loads(
            solved.view,
            into,
            entering,
            tails,
            rows,
            trips.first,
            trips.targets,
            trips.ends,
            trips.amounts,
            lengths,
            loads,
            workers,
            many_rows(solved, len(rows), workers),
            progress,
        )
        return ~np.isfinite(lengths)

    searched.solved(run)
    return loads, lengths


def skims(
    graph: Any,
    sources: Iterable[Any],
    targets: Iterable[Any],
    *,
    weight: str | Callable[[Any, Any, Any], Any] | None = "weight",
    threads: int | None = None,
    quantities: Sequence[ArrayLike] | Mapping[str, ArrayLike] = (),
    progress: Callable[[float, float], None] | None = None,
) -> Skims:
    """Sum further edge quantities along shortest paths, such as metres along the fastest path.

    Parameters
    ----------
    graph : graph_like or TurnGraph
        Graph with non-negative weights, which determine the paths.
    sources, targets : vertices, or places
        Rows and columns, in this order. Places are frames, points, arrays or lists of coordinates,
        as for :func:`nearfar.table`.
    weight, threads
        As for :func:`betweenness`.
    quantities : list or dict of arrays, shape (m,)
        Finite numbers, one per edge in the order of :attr:`nearfar.Graph.indices`.
    progress : callable or None
        Called with the numbers of finished sources and of all sources; quantities of
        floats and of integers are separate passes.

    Returns
    -------
    Skims

    Raises
    ------
    OptionError
        If a quantity does not have one finite number per edge, or integers may not fit 64 bits.
    NegativeWeightError, VertexError, DistanceOverflowError
        As for :func:`edge_loads`.

    Notes
    -----
    Paths and cost are those of :func:`edge_loads`. Floats are added in order from the source.
    Between places, the used shares of the first and last edge are added.

    Examples
    --------
    >>> import nearfar
    >>> g = nearfar.Graph.from_edges([0, 1, 0], [1, 2, 2], [1, 1, 5])
    >>> nearfar.measures.skims(g, [0], [2], quantities=[[300, 400, 500]]).totals[0]
    array([[700]])
    """
    check_stats(None, progress)
    searched, workers = Searched(graph, weight), check_threads(threads)
    named = quantities if isinstance(quantities, Mapping) else dict(enumerate(quantities))
    given = [_quantity(searched.named, name, values) for name, values in named.items()]
    if any(are_places(searched.named, ends) for ends in (sources, targets)):
        options = {"to": "edge", "parts": "largest", "max_distance": None, "threads": threads}
        starts, ends = (
            as_places(searched.named, ends, what, options).snapped
            for ends, what in ((sources, "sources"), (targets, "targets"))
        )
        lengths, totals = place_skims(
            searched.turns or searched.named, starts, ends, given,
            lambda s, t: _skims(searched, s, s, t, given, workers, progress),
        )  # fmt: skip
    else:
        rows = vertex_indices(searched.named, sources, "source")
        columns = vertex_indices(searched.named, targets, "target")
        begin = searched.starts(rows)
        lengths, totals = _skims(searched, begin, rows, columns, given, workers, progress)
    answer: Any = totals
    if isinstance(quantities, Mapping):
        answer = dict(zip(named, totals, strict=True))
    return Skims(lengths, answer)


def _skims(
    searched: Searched,
    begin: NDArray[np.int64],
    rows: NDArray[np.int64],
    columns: NDArray[np.int64],
    given: list[NDArray[Any]],
    workers: int,
    progress: Callable[[float, float], None] | None,
) -> tuple[NDArray[Any], list[NDArray[Any]]]:
    """Return lengths and totals of the paths from ``begin``, the start vertices of ``rows``."""
    ends = np.unique(columns)
    shape = (len(rows), len(columns))
    into, entering, tails = searched.graph.entering()
    totals: dict[Any, NDArray[Any]] = {}
    found: NDArray[Any] = np.zeros(0)

    def run(solved: Graph) -> NDArray[np.bool_]:
        nonlocal found
        found = np.zeros((len(rows), len(ends)), dtype=solved.weight_dtype)
        for kind in (np.int64, np.float64):
            alike = [i for i, q in enumerate(given) if q.dtype == kind]
            if not alike and (totals or kind is np.int64):
                continue
            stacked = np.array([searched.quantity(given[i]) for i in alike], dtype=kind)
            out = np.zeros((*found.shape, len(alike)), dtype=kind)
            _cpu.skims(
                solved.view,
                into,
                entering,
                tails,
                begin,
                ends,
                stacked,
                len(alike),
                found,
                out,
                workers,
                many_rows(solved, len(begin), workers),
                progress,
            )
            for k, i in enumerate(alike):
                totals[i] = out[:, :, k]
        unreached: NDArray[np.bool_] = found == unreached_value(found.dtype)
        return unreached

    searched.solved(run)
    if progress is not None:
        progress(len(rows), len(rows))
    place = np.searchsorted(ends, columns)
    same = rows[:, None] == columns[None, :]

    def arranged(table: NDArray[Any]) -> NDArray[Any]:
        picked: NDArray[Any] = table.reshape(len(rows), len(ends))[:, place].reshape(shape)
        picked[same] = 0
        return picked

    return arranged(found), [arranged(totals[i]) for i in range(len(given))]


def _quantity(graph: Graph, name: Any, values: Any) -> NDArray[Any]:
    array = np.asarray(values)
    what = f"quantity {quoted(name)}"
    if array.shape != (graph.n_edges,) or array.dtype.kind not in "biuf":
        raise OptionError(
            f"{what} has shape {array.shape} and dtype {array.dtype}: give a number per edge, "
            f"({graph.n_edges},)"
        )
    if array.dtype.kind == "f":
        if not np.isfinite(array).all():
            raise OptionError(f"{what} is not finite at edge {int(np.argmin(np.isfinite(array)))}")
        return array.astype(np.float64)
    if float(np.abs(array.astype(np.float64)).sum()) >= 2.0**63:
        raise OptionError(f"{what} adds up to more than 64 bits: give floats")
    return array.astype(np.int64)
