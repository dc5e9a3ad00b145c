"""Rows of float64 distances and int32 predecessors (-9999 for none), as in SciPy."""

from __future__ import annotations

import warnings
from typing import Any, Literal, NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.sparse.csgraph import NegativeCycleError as ScipyNegativeCycleError

from nearfar import _cpu, errors
from nearfar.cpu.potentials import refuse_negative_cycle
from nearfar.csgraph.inputs import Rows, adjacency, dense, host_rows, source_indices
from nearfar.graph.dtypes import unreached_value
from nearfar.graph.graph import Graph
from nearfar.solve.many import distances
from nearfar.solve.matrix.fresh import is_fresh
from nearfar.solve.nearest import nearest_indices
from nearfar.solve.one import solve_one
from nearfar.system.devices import runtime
from nearfar.system.devices.arrays import as_dtype, module_of
from nearfar.system.threads import check_threads

NO_VERTEX = -9999

#: Vertices and edges of all searches up to which one call of C++ is faster than a chosen method,
#: and the same of one search of a whole matrix, which needs no preparation.
_SMALL, _SMALL_ALONE = 1 << 18, 1 << 14
#: Entries of all rows up to which searches that may reach little are tried as well, within a limit
#: or along directed edges, and edges they look at before they are given up.
_TRIED, _TRIED_EDGES = 1 << 22, 1 << 15

#: Vertices of a dense matrix, and entries of all rows, up to which searches of the matrix itself
#: are faster than those of its edges, and entries visited per thread.
_DENSE, _DENSE_ROWS, _DENSE_THREAD = 1 << 13, 1 << 17, 1 << 20

Device = Literal["auto", "cpu", "cuda"]


class NegativeCycleError(errors.NegativeCycleError, ScipyNegativeCycleError):
    """Error for a negative cycle, a subclass of both nearfar's and SciPy's error."""


class Engine(NamedTuple):
    """Keyword arguments that SciPy's functions do not have."""

    device: Device = "auto"
    threads: int | None = None
    method: str = "auto"

    def on(self, graph: Graph) -> Device:
        """Return the requested device, or by default the device of the arrays."""
        return "cuda" if graph.on_device and self.device == "auto" else self.device


_CHOSEN = Engine()


class Found(NamedTuple):
    """Distances and, on request, predecessors and nearest sources."""

    distances: Any
    predecessors: Any
    nearest: Any = None


class Attempt(NamedTuple):
    """Sources, and the answer if one call of C++ found it, else the graph or rows to search."""

    sources: NDArray[np.int64]
    shape: tuple[int, ...]
    answer: Found | None = None
    rows: Rows | None = None
    graph: Graph | None = None


def at_once(
    csgraph: Any,
    indices: Any,
    engine: Engine,
    *,
    directed: bool,
    unweighted: bool,
    finite: bool = False,
    limit: float | None = None,
    predecessors: bool = False,
    joined: bool = False,
) -> Attempt:
    """Search a dense or small matrix by one call of C++, which also checks it.

    That takes less time than to choose a method. ``joined`` is one row, from the nearest of the
    sources.
    """
    asked = _Asked(directed, unweighted, limit, predecessors, joined)
    square = dense(csgraph) if engine.method == "auto" and engine.device != "cuda" else None
    if square is not None:
        sources, shape = source_indices(indices, len(square))
        found = _dense(square, sources, asked, check_threads(engine.threads))
        if found is not None:
            return Attempt(sources, shape, found)
    rows = host_rows(csgraph, unweighted, finite=finite)
    if rows is None:
        graph = adjacency(csgraph, directed, unweighted, finite=finite)
        return Attempt(*source_indices(indices, graph.n_vertices), graph=graph)
    sources, shape = source_indices(indices, len(rows.indptr) - 1)
    found = None
    if engine == _CHOSEN:
        found = _small(rows, sources, asked._replace(unweighted=unweighted and not finite))
    return Attempt(sources, shape, found, rows)


class _Asked(NamedTuple):
    """Arguments of a search of a host matrix."""

    directed: bool
    unweighted: bool
    limit: float | None
    predecessors: bool
    joined: bool

    def rows(self, sources: NDArray[np.int64]) -> int:
        """Return the number of rows of the answer."""
        return 1 if self.joined else len(sources)


def _dense(
    square: NDArray[np.float64], sources: NDArray[np.int64], asked: _Asked, threads: int
) -> Found | None:
    """Return the answer for a dense matrix, or None."""
    n, k = len(square), asked.rows(sources)
    if len(sources) == 0 or n > _DENSE or k * n > _DENSE_ROWS:
        return None
    out = _out(k, n, asked)
    threads = min(threads, 1 + k * n * n // _DENSE_THREAD)
    given = square, not asked.directed, asked.unweighted, sources, asked.joined, asked.limit
    return out if _cpu.dense_rows(*given, threads, *out) else None


def _small(rows: Rows, sources: NDArray[np.int64], asked: _Asked) -> Found | None:
    """Return the answer for a small matrix, or None."""
    n, m, k = len(rows.indptr) - 1, len(rows.indices), asked.rows(sources)
    directed, limit = asked.directed, asked.limit
    alone = len(sources) == 1 and limit is None and directed and not asked.unweighted
    small = k * (n + m * (2 - directed)) <= (_SMALL_ALONE if alone else _SMALL)
    tried = limit is not None or (directed and k > 1)
    if len(sources) == 0 or not (small or (tried and k * n + m <= _TRIED)):
        return None
    data = rows.data if rows.data.dtype.kind not in "biuf" else rows.exact()
    if len(data) != m or data.dtype != np.float64:
        return None
    out = _out(k, n, asked)
    weights = None if asked.unweighted else np.ascontiguousarray(data)
    indptr, indices = np.ascontiguousarray(rows.indptr), np.ascontiguousarray(rows.indices)
    direction = "along" if directed else "both"
    given = indptr, indices, weights, direction, sources, asked.joined, limit
    most = _TRIED_EDGES if directed else _TRIED_EDGES + m  # the columns take as long
    return out if _cpu.small_rows(*given, *out, None if small else most) else None


def _out(k: int, n: int, asked: _Asked) -> Found:
    """Return memory for an answer of k rows."""
    distances = np.empty((n,) if asked.joined else (k, n))
    before = np.empty(distances.shape, dtype=np.int32) if asked.predecessors else None
    roots = np.empty(n, dtype=np.int32) if asked.predecessors and asked.joined else None
    return Found(distances, before, roots)


def solve_rows(
    graph: Graph,
    sources: NDArray[np.int64],
    engine: Engine,
    *,
    limit: float | None = None,
    predecessors: bool = False,
    anywhere: bool = False,
) -> Found:
    """Return one row per source."""
    if predecessors:
        check_predecessor_range(graph)
    try:
        looked = not is_fresh(graph) or not len(sources)  # no search would validate it
        if anywhere and looked and graph.n_negative:
            refuse_negative_cycle(graph)
        raw, before = _run(graph, sources, engine, limit, predecessors)
        if anywhere and not looked and not is_fresh(graph) and graph.n_negative:
            refuse_negative_cycle(graph)
    except errors.NegativeCycleError as found:
        raise NegativeCycleError(found.cycle, found.total) from None
    on_gpu = graph.on_device
    return Found(_place(float_distances(raw), on_gpu), _place(_sentinels(before), on_gpu))


def check_predecessor_range(graph: Graph) -> None:
    """Refuse vertices that an int32 predecessor cannot represent."""
    if graph.n_vertices > np.iinfo(np.int32).max:
        raise errors.OptionError(
            f"{graph.n_vertices:,} vertices do not fit int32 predecessors: omit "
            "return_predecessors, or use nearfar.sssp"
        )


def _run(
    graph: Graph,
    sources: NDArray[np.int64],
    engine: Engine,
    limit: float | None,
    predecessors: bool,
) -> tuple[Any, Any]:
    k, n = len(sources), graph.n_vertices
    if k == 0 or n == 0:
        return np.empty((k, n)), np.empty((k, n), dtype=np.int32) if predecessors else None
    device = engine.on(graph)
    if k > 1:
        try:
            found = distances(
                graph,
                sources,
                limit=limit,
                predecessors=predecessors,
                device=device,
                method=engine.method,
                threads=engine.threads,
            )
            if not predecessors:
                return found, None
            return found[0], _within(graph, found[0], found[1], limit)
        except errors.NegativeCycleError:
            # Johnson's method also finds cycles that no source reaches: solve sources singly.
            if k == n:
                raise
    parts = [_run_one(graph, int(s), engine, limit, predecessors) for s in sources]
    first = parts[0]
    if k == 1:
        return first[0][None, :], None if first[1] is None else first[1][None, :]
    here = module_of(first[0])
    rows = here.stack([float_distances(row) for row, _ in parts])
    return rows, here.stack([before for _, before in parts]) if predecessors else None


def _run_one(
    graph: Graph, source: int, engine: Engine, limit: float | None, predecessors: bool
) -> tuple[Any, Any]:
    paths = solve_one(
        graph,
        source,
        once=True,  # every call converts its matrix to a new graph
        method=engine.method,
        device=engine.on(graph),
        limit=limit,
        threads=engine.threads,
        predecessors=predecessors,
    )
    if not predecessors:
        return paths.distances, None
    return paths.distances, _within(graph, paths.distances, paths.predecessors, limit)


def _within(graph: Graph, distances: Any, before: Any, limit: float | None) -> Any:
    """Remove the predecessors of vertices beyond the limit, for negative weights."""
    if limit is None or is_fresh(graph) or not graph.n_negative:
        return before
    reached = distances != unreached_value(np.dtype(distances.dtype))
    return module_of(before).where(reached, before, -1)


def float_distances(raw: Any) -> Any:
    """Convert distances of any dtype to float64 with inf for unreached, on their device."""
    if raw.dtype.kind == "f":
        return as_dtype(raw, np.float64)
    found = raw.astype(np.float64)
    found[raw == unreached_value(raw.dtype)] = np.inf
    return found


def _sentinels(before: Any) -> Any:
    if before is None:
        return None
    found = before.astype(np.int32, copy=not before.flags.owndata)  # else made for this call
    found[found < 0] = NO_VERTEX
    return found


def _place(array: Any, on_gpu: bool) -> Any:
    """Return the array, copied to the GPU if the graph came from one."""
    if array is None or not on_gpu:
        return array
    return runtime.upload(array)


def nearest_source(
    graph: Graph,
    sources: NDArray[np.int64],
    engine: Engine,
    *,
    limit: float | None,
    predecessors: bool,
) -> tuple[Any, Any, Any]:
    """Return distances, predecessors and nearest sources of all vertices, by one search."""
    n = graph.n_vertices
    if predecessors:
        check_predecessor_range(graph)
    if len(sources) == 0 or n == 0:
        none = np.full(n, NO_VERTEX, dtype=np.int32)
        return np.full(n, np.inf), none, none.copy()
    given = {"method": engine.method, "device": engine.on(graph), "threads": engine.threads}
    on_gpu = graph.on_device
    try:
        found = nearest_indices(graph, sources, tree=predecessors, limit=limit, **given)
    except errors.NegativeCycleError as cycle:
        raise NegativeCycleError(cycle.cycle, cycle.total) from None
    distances = _place(float_distances(found.distances), on_gpu)
    if not predecessors:
        return distances, None, None
    own, nearest = _sentinels(found.predecessors), _sentinels(found.sources)
    return distances, _place(own, on_gpu), _place(nearest, on_gpu)


def warn_negative(graph: Graph) -> None:
    """Issue the warning of SciPy's dijkstra, although the answer is exact.

    A matrix that was searched without being validated has no negative weights.
    """
    if not is_fresh(graph) and graph.n_negative:
        warnings.warn(
            "Graph has negative weights: nearfar answers with a method that accepts them. "
            "Consider johnson or bellman_ford.",
            UserWarning,
            stacklevel=3,
        )
