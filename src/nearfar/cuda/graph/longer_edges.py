"""Edges that are longer than another path between their ends, left out on the device.

As on cores (:mod:`nearfar.graph.same_distances.backbone`), once the searches of a graph have taken
as long, with a path over the vertex of most edges. Fewer edges are not always faster on a GPU, so
searches with them and with all edges take turns until both are settled.
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
_SECONDS = 1e-3, 1.5e-10  # of leaving out edges, and of that per edge in each direction
_SEVERAL = 16  # sources in each direction that take longer than that
_SWEEPS, _AT_ONCE = 128, 8  # most sweeps, and sweeps between questions whether the last one changed
_SHARE = 4  # the copy may take one part in this many of the free memory
_THREADS = 256
_KERNELS = "cuda/graph/longer_edges.cuh"


@dataclass(slots=True)
class _State:
    """The graph without the longer edges, once it has been asked for, and searches by way."""

    waits: bool
    shorter: Graph | None = None
    #: By whether there is one source, and whether longer edges are left out.
    times: SearchTimes = field(default_factory=SearchTimes)


_STATES: Slot[_State] = Slot("longer edges on a device")


def keep_all(graph: Graph) -> None:
    """Let searches on this device use all edges of a graph from now on."""
    _STATES.put(graph, _State(False), runtime.device().ordinal)


def for_next(graph: Graph, sources: int = 1) -> Graph:
    """Return the graph in which to search next."""
    state = _state(graph)
    if state.waits:
        (base, each), ways = _SECONDS, 1 + graph.directed
        few = sources < _SEVERAL * ways
        if few and state.times.spent < base + each * ways * graph.n_edges:
            return graph
        state.waits = False  # another thread searches meanwhile
        try:
            with runtime.compiling_in_background():
                state.shorter = without_longer(graph)
        except runtime.Compiling:
            state.waits = True
            return graph
        except OutOfMemoryError:
            state.shorter = None  # the search itself may still fit
        state.times = SearchTimes()
    if state.shorter is None:
        return graph
    fewer, least = state.times.of((sources == 1, True))
    all_edges, least_of_all = state.times.of((sources == 1, False))
    tried = min(fewer, all_edges)
    differ = max(least, least_of_all) > _CLEARLY * min(least, least_of_all)
    if tried < _TRIED or (tried < _SETTLED and not differ):
        return state.shorter if fewer <= all_edges else graph
    return state.shorter if least < least_of_all else graph


def record(graph: Graph, searched: Graph, seconds: float, sources: int = 1) -> None:
    """Record the time of searches in a graph, or in the one without its longer edges."""
    times = _state(graph).times
    times.spent += seconds
    times.add((sources == 1, searched is not graph), seconds, sources)


def _state(graph: Graph) -> _State:
    return _STATES.of(graph, lambda: _State(takes(graph)), runtime.device().ordinal)


@runtime.in_turn  # another solve may sort the rows meanwhile
def without_longer(graph: Graph) -> Graph | None:
    """Return a graph without the longer edges on this device, or None if they are few.

    O(m) for each edge of the shortest path from or to the pivot that has most edges.
    """
    device = device_graph(graph)
    n, m, size = device.n, device.m, device.weight_dtype.itemsize
    runtime.require_memory(_SHARE * (m * (13 + 3 * size) + n * (4 + 4 * size)))
    cp, program = runtime.cupy(), runtime.program(_KERNELS, device.macros)
    blocks = max(1, min(runtime.device().multiprocessors * 8, -(-m // _THREADS)))
    ends = {"edges": device.edges, "tails": cp.empty(m, device.vertex_dtype), "m": np.int64(m)}

    def launch(kernel: str, **given: Any) -> None:
        known = {**ends, "n": np.int64(n), "offsets": device.offsets, **given}
        kernel_of = program.kernel(kernel)
        kernel_of(blocks, _THREADS, {name: known[name] for name in kernel_of.parameters})

    launch("find_tails")
    to = _distances(graph, device, launch, away=False)
    found = _distances(graph, device, launch, away=True) if graph.directed and to else to
    if to is None or found is None:
        return None  # long paths hardly lead over a hub
    error = farthest = 0.0
    if device.weight_dtype.kind == "f":
        error = relative_error(device.weight_dtype, to[1] + found[1])
        farthest = float(row_figures(to[0].reshape(1, n))[3][0])
    share = -(-m // blocks)
    kept, kept_of = cp.empty(m, np.uint8), cp.zeros(blocks, np.uint32)
    parts = {"share": np.int64(share), "kept": kept}
    margin = {"farthest": np.float64(farthest), "error": np.float64(error)}
    launch("mark_longer", to=to[0], **{"from": found[0]}, kept_of=kept_of, **margin, **parts)
    ends_of = np.cumsum(runtime.download(kept_of), dtype=np.int64)
    left = int(ends_of[-1])
    if left > FEWER * m:
        return None
    starts = cp.zeros(blocks, np.uint32)
    starts[1:].set(ends_of[:-1].astype(np.uint32))
    indptr, indices = cp.empty(n + 1, np.int32), cp.empty(left, np.int32)
    weights = cp.empty(left, device.weight_dtype)
    launch("copy_kept", starts=starts, indptr=indptr, indices=indices, weights=weights, **parts)
    arrays = on_device.validate(indptr, indices, weights, copy=False)
    return Graph.from_checked(arrays, directed=graph.directed)


def _distances(
    graph: Graph, device: DeviceGraph, launch: Callable[..., None], *, away: bool
) -> tuple[Any, int] | None:
    """Return distances from the pivot, or to it, and a bound on the edges of a path.

    None if a shortest path has more than _SWEEPS edges.
    """
    cp = runtime.cupy()
    distances = cp.empty(device.n, device.weight_dtype)
    launch("set_distances", distances=distances, pivot=np.int64(graph.widest_vertex))
    changed = cp.zeros(_SWEEPS, np.int32)
    for sweep in range(_SWEEPS):
        after = runtime.copied(distances)
        this = {"away": np.int64(away), "changed": changed[sweep:]}
        launch("sweep", before=distances, after=after, **this)
        distances = after
        asks = (sweep + 1) % _AT_ONCE == 0
        if asks and not runtime.download(changed[sweep : sweep + 1])[0]:
            return distances, sweep
    return None
