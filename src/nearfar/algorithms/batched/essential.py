"""Edges and vertices that a search from many sources need not look at again.

Dead ends: an edge whose target has no way on but back to where the edge came from improves nothing
beyond that target. Such edges carry the sign bit of their target, whose bit is then never set. On
p2p-Gnutella31 three vertices of four are the target of no other edge.

Essential edges (Karger, Koller and Phillips, "Finding the hidden path", 1993): an edge longer than
the distance between its ends lies on no shortest path. The row of a source says which of its own
edges those are, so sources go in order of falling degree, and after a few of them the edges are
packed anew without those found out. Dropping them all at once is safe because every edge of a
shortest path is one itself. Integers only: rounded sums are not associative.

What is left of the edges stays with the graph, so that the next block of rows, or the next call,
begins where the last one ended, on whichever device.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np

from nearfar.graph.slots import Slot
from nearfar.system.devices import runtime, several

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from nearfar.cuda.device_graph import DeviceGraph
    from nearfar.graph.graph import Graph

__all__ = ["Essential", "essential", "sparse", "stages"]

_SHARES = (0.3, 0.5, 0.7, 0.9)  # of the edges whose sources are solved when edges are dropped
_WORTH = 0.1  # of the edges, so many at least that the last rows of a block say something about
_SPARSE = 4.0  # edges per vertex below which nearly all are essential
_FEWEST = 1024  # sources that repay dropping edges
_KERNELS, _THREADS = "algorithms/batched/essential.cuh", 256
_KEPT: Slot[Essential] = Slot("edges that a batch looks at")


def sparse(graph: Graph) -> bool:
    """Whether the graph has so few edges per vertex that frontiers stay thin."""
    return graph.mean_degree < _SPARSE


def stages(
    graph: Graph, sources: NDArray[np.int64], decided: NDArray[np.bool_]
) -> list[tuple[NDArray[np.int64] | None, bool]]:
    """The launches of a batch: by falling degree, so that the first rows decide the most edges.

    One launch where dropping would not pay: few sources, few edges per vertex, of which most are
    essential, or little to say that earlier rows did not.
    """
    k = len(sources)
    if k < _FEWEST or sparse(graph) or not graph.is_weighted:
        return [(None, False)]
    degrees, m = graph.degrees, max(graph.n_edges, 1)
    known = float(degrees[decided].sum()) / m
    fresh = np.where(decided[sources], 0, degrees[sources])
    order = np.argsort(-fresh)
    # Sources that come twice count twice: the bounds are then merely later.
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
    """A graph's edges on a device with dead ends marked, without some that no path needs.

    Attributes
    ----------
    offsets, edges : device arrays
        As in :class:`~nearfar.cuda.device_graph.DeviceGraph`.
    count : int
        Edges that are left.
    decided : bool array, shape (n,)
        Vertices of whose edges only essential ones are left.
    """

    offsets: Any
    edges: Any
    count: int
    decided: NDArray[np.bool_]

    def without(self, graph: Graph, device: DeviceGraph, solved: Solved, rows: Any) -> Essential:
        """Without the edges of solved sources that are longer than their ends are apart."""
        cp = runtime.cupy()
        program, grid = _program(device)
        n = device.n
        counts = cp.empty(n, dtype=self.offsets.dtype)
        given = {"offsets": self.offsets, "edges": self.edges, "place": solved.there()}
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
    """Sources that are solved, and where their rows are."""

    def __init__(self, n: int, sources: NDArray[np.int64], places: NDArray[np.int64]) -> None:
        self.sources = sources
        self._place = np.full(n, -1, dtype=np.int32)
        self._place[sources] = places
        self._there: dict[int, Any] = {}

    @property
    def flags(self) -> NDArray[np.bool_]:
        """Of every vertex whether it is one of them."""
        found: NDArray[np.bool_] = self._place >= 0
        return found

    def there(self) -> Any:
        """The row of each vertex, or -1, on the current device."""
        at = runtime.device().ordinal
        if at not in self._there:
            self._there[at] = runtime.upload(self._place)
        return self._there[at]


def essential(graph: Graph, device: DeviceGraph) -> Essential:
    """What is left of the graph's edges, on the current device; at first all of them.

    Where another device has fewer left they are copied from there.
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
    """All edges, with those that lead to dead ends marked where there is room for a copy."""
    decided = np.zeros(device.n, dtype=np.bool_)
    if runtime.memory()[0] < device.edges.nbytes + 4 * device.n:
        return Essential(device.offsets, device.edges, device.m, decided)
    cp = runtime.cupy()
    program, grid = _program(device)
    ways, n = cp.empty(device.n, dtype=np.int32), np.int64(device.n)
    # A copy, since records are read whole later, and what fills one up is in no field of it.
    edges = runtime.copied(device.edges)
    given = {"offsets": device.offsets, "edges": device.edges, "n": n, "ways": ways}
    program.kernel("only_ways")(grid, _THREADS, given)
    program.kernel("mark_dead_ends")(grid, _THREADS, {**given, "to": edges})
    return Essential(device.offsets, edges, device.m, decided)


def _program(device: DeviceGraph) -> tuple[runtime.Program, int]:
    """The kernels, and how many blocks they take."""
    return runtime.program(_KERNELS, device.macros), runtime.device().multiprocessors * 8
