"""Removal of edges and vertices that further searches from other sources need not scan.

Dead ends: if the only out-edge of a target leads back to the edge's tail, scanning the target
improves nothing. Such edges have the sign bit of their target set, and the target is never queued.
On p2p-Gnutella31 three vertices of four are the target of no other edge.

Essential edges (Karger, Koller and Phillips, "Finding the hidden path", 1993): an edge longer than
the distance between its ends is on no shortest path. The row of a source identifies such edges
among its out-edges, so sources are solved by decreasing degree, and after some of them the edges
are packed again without the identified ones. Dropping all of them at once is safe: every edge of
a shortest path is itself a shortest path. This holds only for integers: rounded sums are not
associative.

The remaining edges are kept with the graph, so that the next block of rows, or the next call,
starts from them, on any device.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from nearfar.cuda.device_graph import DeviceGraph
from nearfar.graph.graph import Graph
from nearfar.graph.slots import Slot
from nearfar.system.devices import runtime, several

_SHARES = (0.3, 0.5, 0.7, 0.9)  # edges are dropped once this share has its sources solved
_WORTH = 0.1  # least share of the edges that the last rows of a block must decide
_SPARSE = 4.0  # edges per vertex below which nearly all are essential
_FEWEST = 1024  # sources that repay dropping edges
_KERNELS, _THREADS = "algorithms/batched/essential.cuh", 256
_KEPT: Slot[Essential] = Slot("edges that a batch scans")


def sparse(graph: Graph) -> bool:
    """Return whether the graph has so few edges per vertex that frontiers remain thin."""
    return graph.mean_degree < _SPARSE


def stages(
    graph: Graph, sources: NDArray[np.int64], decided: NDArray[np.bool_]
) -> list[tuple[NDArray[np.int64] | None, bool]]:
    """Return the launches of a batch by decreasing degree, since the first rows decide most edges.

    A single launch is returned if dropping edges would not save time: for few sources, few edges
    per vertex (most of which are essential) or few undecided edges.
    """
    k = len(sources)
    if k < _FEWEST or sparse(graph) or not graph.is_weighted:
        return [(None, False)]
    degrees, m = graph.degrees, max(graph.n_edges, 1)
    known = float(degrees[decided].sum()) / m
    fresh = np.where(decided[sources], 0, degrees[sources])
    order = np.argsort(-fresh)
    # Repeated sources count twice, which only delays the bounds.
    share = known + np.cumsum(fresh[order]) / m
    if share[-1] - known < _WORTH:
        return [(None, False)]
    inner = {int(b) for b in np.searchsorted(share, [s for s in _SHARES if s > known])}
    bounds = sorted(b for b in inner if 0 < b < k)
    last = share[-1] - (share[bounds[-1] - 1] if bounds else known) >= _WORTH
    pieces = np.split(order, bounds)
    return [(piece, i < len(bounds) or bool(last)) for i, piece in enumerate(pieces)]


@dataclass(frozen=True, slots=True)
class Essential:
    """Remaining edges of a graph on a device, with dead ends marked."""

    # offsets, edges: device arrays as in nearfar.cuda.device_graph.DeviceGraph
    offsets: Any
    edges: Any
    count: int  # number of remaining edges
    decided: NDArray[np.bool_]  # shape (n,); vertices with only essential edges left

    def without(self, graph: Graph, device: DeviceGraph, solved: Solved, rows: Any) -> Essential:
        """Return the edges without those of solved sources that no shortest path uses."""
        cp = runtime.cupy()
        program, grid = _program(device)
        n = device.n
        counts = cp.empty(n, dtype=self.offsets.dtype)
        given = {"offsets": self.offsets, "edges": self.edges, "place": solved.on_device()}
        given |= {"rows": rows, "n": np.int64(n)}
        program.kernel("count_essential")(grid, _THREADS, {**given, "counts": counts})
        fresh = cp.empty(n + 1, dtype=self.offsets.dtype)
        sums = {"counts": counts, "n": np.int64(n), "fresh": fresh}
        program.kernel("add_counts")(1, 1024, sums)
        count = int(runtime.download(fresh[n:])[0])
        edges = cp.empty(max(count, 1) * device.record, dtype=np.uint8)
        program.kernel("pack_essential")(grid, _THREADS, {**given, "fresh": fresh, "to": edges})
        made = Essential(fresh, edges, count, self.decided | solved.flags)
        _KEPT.put(graph, made, runtime.device().ordinal)
        return made


class Solved:
    """Solved sources, and the positions of their rows."""

    def __init__(self, n: int, sources: NDArray[np.int64], places: NDArray[np.int64]) -> None:
        self.sources = sources
        self._place = np.full(n, -1, dtype=np.int32)
        self._place[sources] = places
        self._uploaded: dict[int, Any] = {}

    @property
    def flags(self) -> NDArray[np.bool_]:
        """Whether each vertex is in the set."""
        found: NDArray[np.bool_] = self._place >= 0
        return found

    def on_device(self) -> Any:
        """Return the row of each vertex, or -1, on the current device."""
        at = runtime.device().ordinal
        if at not in self._uploaded:
            self._uploaded[at] = runtime.upload(self._place)
        return self._uploaded[at]


def essential(graph: Graph, device: DeviceGraph) -> Essential:
    """Return the remaining edges of the graph on the current device; initially all of them.

    They are copied from another device if that has fewer left.
    """
    at = runtime.device().ordinal
    kept = _KEPT.held(graph)
    least = min(kept.values(), key=lambda one: one.count, default=None)
    if least is None:
        return _KEPT.of(graph, lambda: _marked(device), at)
    if at not in kept or kept[at].count > least.count:
        here = replace(least, offsets=several.here(least.offsets), edges=several.here(least.edges))
        _KEPT.put(graph, here, at)
        return here
    return kept[at]


def _marked(device: DeviceGraph) -> Essential:
    """Return all edges, with dead ends marked if there is memory for a copy."""
    decided = np.zeros(device.n, dtype=np.bool_)
    if runtime.memory()[0] < device.edges.nbytes + 4 * device.n:
        return Essential(device.offsets, device.edges, device.m, decided)
    cp = runtime.cupy()
    program, grid = _program(device)
    ways, n = cp.empty(device.n, dtype=np.int32), np.int64(device.n)
    # Copied: records are later read whole, including their padding.
    edges = runtime.copied(device.edges)
    given = {"offsets": device.offsets, "edges": device.edges, "n": n, "ways": ways}
    program.kernel("only_ways")(grid, _THREADS, given)
    program.kernel("mark_dead_ends")(grid, _THREADS, {**given, "to": edges})
    return Essential(device.offsets, edges, device.m, decided)


def _program(device: DeviceGraph) -> tuple[runtime.Program, int]:
    """Return the kernels, and their number of blocks."""
    return runtime.program(_KERNELS, device.macros), runtime.device().multiprocessors * 8
