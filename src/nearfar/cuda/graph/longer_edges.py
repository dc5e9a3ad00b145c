"""Edges that are longer than another path between their ends, left out on the device.

As on cores (:mod:`nearfar.graph.same_distances.backbone`), once the searches of a graph have taken
as long: with a path over the vertex of most edges, and short searches from each vertex if those
from a few find enough. Fewer edges are not always faster on a GPU, so searches from one source with
them and with all edges take turns until both are settled. Searches from many use the fewer ones.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from nearfar.cuda.device_graph import DeviceGraph, device_graph
from nearfar.cuda.distances.row_figures import row_figures
from nearfar.errors import OutOfMemoryError
from nearfar.graph import on_device
from nearfar.graph.graph import Graph
from nearfar.graph.same_distances.backbone import FEWER, relative_error, takes
from nearfar.graph.same_distances.times import SearchTimes
from nearfar.graph.slots import Slot
from nearfar.system.devices import runtime

_SETTLED = 32  # searches after which forms and widths have been compared
_TRIED, _CLEARLY = 12, 1.25  # searches after which such a factor decides
_SECONDS = 2e-3, 1e-9  # of leaving out edges, and of that per edge
_SAMPLE = 1 << 12  # vertices from which short searches are tried
_WORTHWHILE = 0.2  # share of their edges that is then found
_NEAREST = 32  # vertices that a short search settles
_SWEEPS = 128  # at most
_SHARE = 4  # the copy may take one part in this many of the free memory
_THREADS = 256
#: A search from a vertex on the device, which returns distances there.
Search = Callable[[Graph, int], Any]
_KERNELS = "cuda/graph/longer_edges.cuh"


@dataclass(slots=True)
class _State:
    """The graph without the longer edges, once it has been asked for, and searches in both."""

    waits: bool
    shorter: Graph | None = None
    #: Of searches from one source, by whether longer edges are left out.
    times: SearchTimes = field(default_factory=SearchTimes)


_STATES: Slot[_State] = Slot("longer edges on a device")


def keep_all(graph: Graph) -> None:
    """Let searches on this device use all edges of a graph from now on."""
    _STATES.put(graph, _State(False), runtime.device().ordinal)


def for_next(graph: Graph, search: Search | None, batch_seconds: float | None = None) -> Graph:
    """Return the graph in which to search next.

    ``search`` bounds paths in undirected graphs of float32. ``batch_seconds``: estimated time of
    searches from many sources, None for one.
    """
    state = _state(graph)
    if state.waits:
        cost = _SECONDS[0] + _SECONDS[1] * graph.n_edges
        if state.times.spent < cost and (batch_seconds or 0.0) < cost:
            return graph
        state.waits = False  # another thread searches meanwhile
        try:
            with runtime.compiling_in_background():
                state.shorter = without_longer(graph, search)
        except runtime.Compiling:
            state.waits = True
            return graph
        except OutOfMemoryError:
            state.shorter = None  # the search itself may still fit
        state.times = SearchTimes()
    if state.shorter is None or batch_seconds is not None:
        return state.shorter or graph
    fewer, least = state.times.of(True)
    all_edges, least_of_all = state.times.of(False)
    tried = min(fewer, all_edges)
    differ = max(least, least_of_all) > _CLEARLY * min(least, least_of_all)
    if tried < _TRIED or (tried < _SETTLED and not differ):
        return state.shorter if fewer <= all_edges else graph
    return state.shorter if least < least_of_all else graph


def record(graph: Graph, searched: Graph, seconds: float, sources: int = 1) -> None:
    """Record the time of searches in a graph, or in the one without its longer edges."""
    times = _state(graph).times
    times.spent += seconds
    if sources == 1:
        times.add(searched is not graph, seconds)


def _state(graph: Graph) -> _State:
    return _STATES.of(graph, lambda: _State(takes(graph)), runtime.device().ordinal)


@runtime.in_turn  # another solve may sort the rows meanwhile
def without_longer(graph: Graph, search: Search | None) -> Graph | None:
    """Return a graph without the longer edges on this device, or None if they are few.

    O(m) for each edge of the shortest path from or to the pivot that has most edges.
    """
    device = device_graph(graph)
    n, m, size = device.n, device.m, device.weight_dtype.itemsize
    runtime.require_memory(_SHARE * (m * (13 + 3 * size) + n * (4 + 4 * size)))
    marks = _Marks(graph, device)
    if not marks.by_pivot():
        marks.bound_paths(search)
    if marks.by_searches(max(1, n // _SAMPLE)) > _WORTHWHILE:
        marks.by_searches(1)
    return marks.rest()


class _Marks:
    """Marks of longer edges of a graph, and the kernels that set and read them."""

    def __init__(self, graph: Graph, device: DeviceGraph) -> None:
        cp = runtime.cupy()
        self._graph, self._device = graph, device
        self._program = runtime.program(_KERNELS, device.macros)
        self._blocks = max(1, min(runtime.device().multiprocessors * 8, -(-device.m // _THREADS)))
        tails = cp.empty(device.m, device.vertex_dtype)
        self._given: dict[str, Any] = {"edges": device.edges, "offsets": device.offsets}
        self._given |= {"n": np.int64(device.n), "m": np.int64(device.m), "tails": tails}
        self._given |= {"longer": cp.zeros(device.m, np.uint8)}
        self._launch("find_tails")
        #: Bounds on the lengths of paths to a vertex, by which the margin for floats grows.
        self._reach: dict[str, Any] = {"from": None, "farthest": np.float64(graph._path_bound)}

    def by_pivot(self) -> bool:
        """Mark edges longer than the path over the vertex of most edges.

        Return False if long paths, which hardly lead over it, are not known.
        """
        to = self._distances(away=False)
        found = self._distances(away=True) if self._graph.directed and to else to
        if to is None or found is None:
            return False
        self._set_reach(to[0], found[0])
        self._launch("drop_by_pivot", **self._reach, error=self._error(to[1] + found[1]))
        if self._graph.directed and self._floats:
            # What leads to a vertex that does not reach the pivot need not reach it either.
            into, out = runtime.download(to[0]), runtime.download(found[0])
            out[np.isinf(into)] = np.inf
            self._reach["from"] = runtime.upload(out)
        return True

    def bound_paths(self, search: Search | None) -> None:
        """Bound the lengths of paths by a search, where another bound leaves too wide a margin."""
        wide = self._device.weight_dtype == np.float32
        if wide and search is not None and not self._graph.directed:
            found = search(self._graph, self._graph.widest_vertex)
            self._set_reach(found, found)

    def _set_reach(self, to: Any, found: Any) -> None:
        """Set the distances to a vertex and from it, over which a path to any other may lead."""
        farthest = row_figures(to.reshape(1, -1))[3][0] if self._floats else 0
        self._reach = {"to": to, "from": found, "farthest": np.float64(farthest)}

    def by_searches(self, step: int) -> float:
        """Mark edges by short searches from every ``step``th vertex; return the share of them."""
        found = runtime.cupy().zeros(2, np.uint64)
        given = {"step": np.int64(step), "most_settled": np.int32(_NEAREST), "found": found}
        given |= {"both_ways": np.int32(not self._graph.directed), **self._reach}
        self._launch("search_shortly", **given, error=self._error(_NEAREST + 2))
        looked, marked = runtime.download(found)
        return float(marked) / max(float(looked), 1.0)

    def rest(self) -> Graph | None:
        """Return a graph of the other edges, or None if they are nearly all."""
        cp, n, m = runtime.cupy(), self._device.n, self._device.m
        kept_of = cp.zeros(self._blocks, np.uint32)
        share = np.int64(-(-m // self._blocks))
        self._launch("count_kept", share=share, kept_of=kept_of)
        ends = np.cumsum(runtime.download(kept_of), dtype=np.int64)
        left = int(ends[-1])
        if left > FEWER * m:
            return None
        starts = cp.zeros(self._blocks, np.uint32)
        starts[1:].set(ends[:-1].astype(np.uint32))
        made = {"indptr": cp.empty(n + 1, np.int32), "indices": cp.empty(left, np.int32)}
        made |= {"weights": cp.empty(left, self._device.weight_dtype)}
        self._launch("copy_kept", share=share, starts=starts, **made)
        arrays = on_device.validate(*made.values(), copy=False)
        return Graph.from_checked(arrays, directed=self._graph.directed)

    @property
    def _floats(self) -> bool:
        return self._device.weight_dtype.kind == "f"

    def _error(self, edges: int) -> np.float64:
        """Return the relative margin for errors of sums along a path of some edges."""
        dtype = self._device.weight_dtype
        return np.float64(relative_error(dtype, edges) if self._floats else 0.0)

    def _launch(self, kernel: str, *, cooperative: bool = False, **given: Any) -> None:
        known, kernel_of = {**self._given, **given}, self._program.kernel(kernel)
        blocks = self._blocks
        if cooperative:
            blocks = min(blocks, kernel_of.resident_blocks(_THREADS))
        arguments = {name: known[name] for name in kernel_of.parameters}
        kernel_of(blocks, _THREADS, arguments, cooperative=cooperative)

    def _distances(self, *, away: bool) -> tuple[Any, int] | None:
        """Return distances from the pivot, or to it, and a bound on the edges of a path.

        None if a shortest path has more than _SWEEPS edges.
        """
        cp, dtype = runtime.cupy(), self._device.weight_dtype
        given = {"pivot": np.int64(self._graph.widest_vertex), "away": np.int32(away)}
        given |= {name: cp.empty(self._device.n, dtype) for name in ("distances", "next")}
        given |= {"most_sweeps": np.int32(_SWEEPS), "changed": cp.zeros(_SWEEPS, np.int32)}
        self._launch("sweep", cooperative=True, **given, barrier=cp.zeros(1, np.uint32))
        last = np.flatnonzero(runtime.download(given["changed"]) == 0)
        return (given["distances"], int(last[0])) if len(last) else None
