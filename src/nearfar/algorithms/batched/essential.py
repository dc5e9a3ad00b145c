"""Edges and vertices that a search from many sources need not look at again.

Dead ends: a vertex whose edges all lead back to the one vertex that leads to it (or that has none)
improves nothing but as a source. Its bit is never set: edges to it carry the sign bit of their
target. On p2p-Gnutella31 three vertices of four are dead ends.

Essential edges (Karger, Koller and Phillips, "Finding the hidden path", 1993): an edge longer than
the distance between its ends lies on no shortest path. The row of a source says which of its own
edges those are, so sources go in order of falling degree, and after a few of them the edges are
packed anew without those found out. Dropping them all at once is safe because every edge of a
shortest path is one itself. Integers only: rounded sums are not associative.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from nearfar.graph.slots import Slot
from nearfar.system.devices import runtime

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from nearfar.cuda.device_graph import DeviceGraph
    from nearfar.graph.graph import Graph

__all__ = ["Essential", "dead_ends", "sparse", "stages"]

_SHARES = (0.3, 0.5, 0.7, 0.9)  # of the edges whose sources are solved when edges are dropped
_SPARSE = 4.0  # edges per vertex below which nearly all are essential
_FEWEST = 1024  # sources that repay dropping edges
_DEAD_ENDS: Slot[NDArray[np.bool_]] = Slot("dead ends")
_MARKED: Slot[Any] = Slot("edges with dead ends marked")


def dead_ends(graph: Graph) -> NDArray[np.bool_]:
    """Whether a vertex improves nothing but as a source, shape (n,); cached. O(n + m)."""

    def make() -> NDArray[np.bool_]:
        n = graph.n_vertices
        if graph.device_arrays is not None:  # looking for them would bring the edges to the host
            return np.zeros(n, dtype=np.bool_)
        tails = graph.tails(np.int64)
        heads = graph.indices
        other = tails != heads
        tails, heads = tails[other], heads[other]
        least = np.full(n, n, dtype=np.int64)
        most = np.full(n, -1, dtype=np.int64)
        np.minimum.at(least, heads, tails)
        np.maximum.at(most, heads, tails)
        back = (least[tails] == most[tails]) & (least[tails] == heads)
        found: NDArray[np.bool_] = np.bincount(tails[~back], minlength=n) == 0
        return found

    return _DEAD_ENDS.of(graph, make)


def sparse(graph: Graph) -> bool:
    """Whether the graph has so few edges per vertex that frontiers stay thin."""
    return graph.mean_degree < _SPARSE


def stages(graph: Graph, sources: NDArray[np.int64]) -> tuple[NDArray[np.int64] | None, list[int]]:
    """Order of the sources by falling degree, and the bounds of the launches between drops.

    None and one launch where dropping would not pay: few sources, or few edges per vertex, of which
    most are essential.
    """
    k = len(sources)
    if k < _FEWEST or sparse(graph) or not graph.is_weighted or graph.device_arrays is not None:
        return None, [0, k]
    degrees = graph.degrees[sources]
    order = np.argsort(-degrees)
    # Sources that come twice count twice: the bounds are then merely later.
    share = np.cumsum(degrees[order]) / max(graph.n_edges, 1)
    bounds = np.searchsorted(share, _SHARES)
    return order, [0, *sorted({int(b) for b in bounds if 0 < b < k}), k]


class Essential:
    """The graph's edges on the device with dead ends marked, and fewer of them as rows come in.

    Attributes
    ----------
    offsets, edges : device arrays
        As in :class:`~nearfar.cuda.device_graph.DeviceGraph`.
    count : int
        Edges that are left.
    """

    def __init__(self, graph: Graph, device: DeviceGraph) -> None:
        cp = runtime.cupy()
        here = runtime.device()
        self.n, self.count, self.offsets = device.n, device.m, device.offsets
        self._record, self._grid = device.record, here.multiprocessors * 8
        self._program = runtime.program("algorithms/batched/essential.cuh", device.macros)

        def make() -> Any:
            marked = cp.empty_like(device.edges)
            dead = runtime.upload(dead_ends(graph).astype(np.uint8))
            mark = self._program.kernel("mark_dead_ends")
            mark(self._grid, 256, (device.edges, dead, marked, np.int64(device.m)))
            return marked

        self.edges = _MARKED.of(graph, make, here.ordinal)

    def drop(self, sources: NDArray[np.int64], places: NDArray[np.int64], rows: Any) -> None:
        """Leave out the edges of solved sources that are longer than their ends are apart.

        Parameters
        ----------
        sources, places : int64 arrays, shape (k,)
            Solved sources, and where their rows are.
        rows : int32 or int64 device array, shape (all rows, n)
        """
        cp = runtime.cupy()
        place = np.full(self.n, -1, dtype=np.int64)
        place[sources] = places
        counts = cp.empty(self.n, dtype=self.offsets.dtype)
        given = (self.offsets, self.edges, runtime.upload(place), rows, np.int64(self.n))
        self._program.kernel("count_essential")(self._grid, 256, (*given, counts))
        offsets = np.zeros(self.n + 1, dtype=self.offsets.dtype)
        np.cumsum(counts.get(), out=offsets[1:])
        self.count = int(offsets[-1])
        fresh = runtime.upload(offsets)
        edges = cp.empty(max(self.count, 1) * self._record, dtype=np.uint8)
        self._program.kernel("pack_essential")(self._grid, 256, (*given, fresh, edges))
        self.offsets, self.edges = fresh, edges
