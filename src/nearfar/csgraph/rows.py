"""The answers: rows of float64 distances and int32 predecessors, -9999 for none, as in SciPy."""

from __future__ import annotations

import warnings
from typing import TYPE_CHECKING, Any, Literal, NamedTuple

import numpy as np
from scipy.sparse.csgraph import NegativeCycleError as ScipyNegativeCycleError

from nearfar import errors
from nearfar.csgraph.inputs import whole_numbers
from nearfar.graph.dtypes import unreached_value
from nearfar.graph.graph import Graph
from nearfar.solve.nearest import join_sources, nearest_of
from nearfar.system.devices import runtime

if TYPE_CHECKING:
    from numpy.typing import NDArray

__all__ = ["NO_VERTEX", "Engine", "NegativeCycleError", "Rows", "nearest_source", "solve_rows"]

NO_VERTEX = -9999

#: With so many edges per vertex workers would wait for each other more than they help.
DENSE = 64

#: From so many sources on it pays to look whether the weights are whole numbers.
MANY = 4

Device = Literal["auto", "cpu", "cuda"]


class NegativeCycleError(errors.NegativeCycleError, ScipyNegativeCycleError):
    """A negative cycle; caught by handlers of nearfar's class and of SciPy's."""


class Engine(NamedTuple):
    """The keyword arguments that SciPy does not have."""

    device: Device = "auto"
    threads: int | None = None
    method: str = "auto"

    def on(self, graph: Graph) -> Device:
        """The device to run on: where the arrays came from, unless said otherwise."""
        return "cuda" if graph.on_device and self.device == "auto" else self.device


class Rows(NamedTuple):
    """Distances and, where asked for, predecessors."""

    distances: Any
    predecessors: Any


def solve_rows(
    graph: Graph,
    sources: NDArray[np.int64],
    engine: Engine,
    *,
    limit: float | None = None,
    predecessors: bool = False,
    anywhere: bool = False,
) -> Rows:
    """One row per source.

    Parameters
    ----------
    anywhere : bool
        Whether a negative cycle counts that no source reaches.

    Returns
    -------
    Rows
        float64 and int32 arrays of shape (k, n).

    Raises
    ------
    NegativeCycleError
    """
    if predecessors:
        check_predecessor_range(graph)
    try:
        if anywhere and graph.n_negative:
            from nearfar.cpu.potentials import potentials

            potentials(graph)
        raw, before = _run(graph, sources, engine, limit, predecessors)
    except errors.NegativeCycleError as found:
        raise NegativeCycleError(found.cycle, found.total) from None
    on_gpu = graph.on_device
    return Rows(_place(float_distances(raw), on_gpu), _place(_sentinels(before), on_gpu))


def check_predecessor_range(graph: Graph) -> None:
    """Refuse what an int32 predecessor cannot name."""
    if graph.n_vertices > np.iinfo(np.int32).max:
        raise errors.OptionError(
            f"{graph.n_vertices:,} vertices do not fit int32 predecessors: leave them out, or use "
            "nearfar.sssp"
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
        from nearfar.solve.many import distances

        try:
            found = distances(
                whole_numbers(graph) if k >= MANY else graph,
                sources,
                limit=limit,
                predecessors=predecessors,
                device=device,
                method=engine.method,
                threads=engine.threads,
            )
            return found if predecessors else (found, None)
        except errors.NegativeCycleError:
            # Johnson's method sees cycles that no source reaches; a source at a time decides.
            if k == n:
                raise
    parts = [_run_one(graph, int(s), engine, limit, predecessors) for s in sources]
    first = parts[0]
    if k == 1:
        return first[0][None, :], None if first[1] is None else first[1][None, :]
    here = _module(first[0])
    rows = here.stack([float_distances(row) for row, _ in parts])
    return rows, here.stack([before for _, before in parts]) if predecessors else None


def _module(array: Any) -> Any:
    """NumPy, or CuPy for an array on the device."""
    return runtime.cupy() if runtime.is_device_array(array) else np


def _run_one(
    graph: Graph, source: int, engine: Engine, limit: float | None, predecessors: bool
) -> tuple[Any, Any]:
    from nearfar.registry import Request
    from nearfar.solve.one import check_threads, select, sssp

    method = engine.method
    if method == "auto":  # a matrix comes as a new graph with every call
        threads = check_threads(engine.threads)
        request = Request(device=engine.on(graph), threads=threads, once=True)
        method = select(graph, request, method)[0].id
    paths = sssp(
        graph,
        source,
        method=method,
        device="cpu" if method.endswith("@cpu") else engine.on(graph),
        limit=limit,
        threads=engine.threads,
        predecessors=predecessors,
    )
    if not predecessors:
        return paths.distances, None
    # With negative weights a limit takes vertices away that others' paths lead over.
    before = paths.predecessors
    return paths.distances, _module(before).where(paths.reachable, before, -1)


def float_distances(raw: Any) -> Any:
    """float64 with inf for unreached, from any of the four dtypes, where the array is."""
    if raw.dtype.kind == "f":
        return raw.astype(np.float64, copy=False)
    found = raw.astype(np.float64)
    found[raw == unreached_value(raw.dtype)] = np.inf
    return found


def _sentinels(before: Any) -> Any:
    if before is None:
        return None
    found = before.astype(np.int32)
    found[found < 0] = NO_VERTEX
    return found


def _place(array: Any, on_gpu: bool) -> Any:
    """The array, on the GPU if the graph came from there."""
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
    """Distance of every vertex from the nearest of many sources, by one search.

    A further vertex with an edge of weight 0 to every source makes it a search from one source; its
    shortest-path tree says which source each vertex hangs from.

    Returns
    -------
    distances : float64 array, shape (n,)
    predecessors, nearest : int32 arrays, shape (n,), or None
        -9999 for none.
    """
    n = graph.n_vertices
    if predecessors:
        check_predecessor_range(graph)
    if len(sources) == 0 or n == 0:
        none = np.full(n, NO_VERTEX, dtype=np.int32)
        return np.full(n, np.inf), none, none.copy()
    joined = join_sources(graph, sources)
    try:
        raw, before = _run_one(
            joined, n, engine._replace(device=engine.on(graph)), limit, predecessors
        )
    except errors.NegativeCycleError as found:
        raise NegativeCycleError(found.cycle, found.total) from None
    on_gpu = graph.on_device
    distances = _place(float_distances(raw)[:n], on_gpu)
    if not predecessors:
        return distances, None, None
    nearest = _sentinels(nearest_of(before, n))
    own = before[:n].astype(np.int32)
    own[(own < 0) | (own == n)] = NO_VERTEX
    return distances, _place(own, on_gpu), _place(nearest, on_gpu)


def warn_negative(graph: Graph) -> None:
    """SciPy's warning of its dijkstra; the answer here is exact all the same."""
    if graph.n_negative:
        warnings.warn(
            "Graph has negative weights: nearfar answers with a method that accepts them. "
            "Consider johnson or bellman_ford.",
            UserWarning,
            stacklevel=3,
        )
