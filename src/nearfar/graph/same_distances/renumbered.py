"""Copies of graphs with other numbers for the vertices, so that neighbours are close in memory.

Points in random order, as in most neighbour graphs and triangulations, make a search fetch a cache
line per edge. With numbers in the order of small balls it takes .5 to .9 of the time, depending on
the caches. Finding them takes as long as a few searches, so it is done once the searches of a graph
have taken that long, and a few searches with either numbers decide which to keep.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from nearfar import _cpu
from nearfar.graph.build import HostArrays
from nearfar.graph.given import frozen
from nearfar.graph.graph import Graph
from nearfar.graph.same_distances.times import SearchTimes
from nearfar.graph.slots import Slot
from nearfar.system.memory import shortage

MANY_EDGES = 1 << 17  # edges of graphs that do not fit the caches of a core
_SECONDS = 2e-8  # of finding the numbers, per edge and vertex
_TRIES = 3  # searches with the given numbers before others are sought
_FEWEST, _MOST = 6, 16  # searches with other numbers before their times are compared
_GAIN = 0.97  # relative time up to which other numbers are kept
_SAMPLE = 1 << 12  # edges looked at
_CLOSE = 4.0  # mean logarithm of the distance between neighbours' numbers that is not reduced
_CLOSER = 0.85  # its relative value below which a copy may be worth it
_SHARE = 4  # the copy may take one part in this many of the free memory


@dataclass(frozen=True, slots=True)
class Renumbered:
    """Graph with other numbers for the vertices."""

    graph: Graph
    place: NDArray[np.int32]  # its vertex for each vertex of the graph as given

    def as_given(self, distances: Any, threads: int) -> Any:
        """Return distances from one source or, in place, from several, in the given order."""
        if distances.ndim == 2:
            _cpu.gathered_rows(distances, self.place, threads)
            return distances
        out = np.empty(len(self.place), distances.dtype)
        _cpu.gathered(distances, self.place, out, threads)
        return out


_TIMES: Slot[SearchTimes] = Slot("times of searches by numbers of vertices")
_RENUMBERED: Slot[Renumbered | None] = Slot("renumbered graph")


def takes(graph: Graph) -> bool:
    """Return whether searches of a graph may be faster with other numbers."""
    if graph.n_edges < MANY_EDGES or graph.on_device:
        return False
    return graph.index_dtype == np.int32 and not graph.n_negative


def for_next(graph: Graph, kind: Any, threads: int) -> Renumbered | None:
    """Return the graph that the next search for a kind of request uses, or None for the given."""
    times = _TIMES.get(graph)
    if times is None or times.spent < _SECONDS * (graph.n_edges + graph.n_vertices):
        return None
    (given, given_seconds), (tried, seconds) = times.of((kind, False)), times.of((kind, True))
    if given < _TRIES:
        return None
    if tried >= min(max(given, _FEWEST), _MOST) and seconds > _GAIN * given_seconds:
        _RENUMBERED.put(graph, None)
    return _RENUMBERED.of(graph, lambda: _renumbered(graph, threads))


def record(graph: Graph, kind: Any, renumbered: bool, seconds: float, searches: int = 1) -> None:
    """Record some searches of most of a graph."""
    times = _TIMES.of(graph, SearchTimes)
    times.add((kind, renumbered), seconds, searches)
    times.spent += seconds


def _renumbered(graph: Graph, threads: int) -> Renumbered | None:
    """Return the graph with compact numbers, or None if they are not much closer."""
    indptr, indices, weights = graph.indptr, graph.indices, graph.weights
    n, m = graph.n_vertices, graph.n_edges
    if shortage(_SHARE * (32 * m + 24 * n)) is not None:  # with packed edges
        return None
    edges = np.arange(0, m, max(1, m // _SAMPLE))
    tails, heads = np.searchsorted(indptr, edges, side="right") - 1, indices[edges]
    before = _apart(tails, heads)
    if before <= _CLOSE:
        return None
    order = np.empty(n, np.int32)
    _cpu.compact_order(indptr, indices, order)
    place = np.empty(n, np.int32)
    place[order] = np.arange(n, dtype=np.int32)
    if _apart(place[tails], place[heads]) > _CLOSER * before:
        return None
    rows, heads = np.empty_like(indptr), np.empty_like(indices)
    kept = None if weights is None else np.empty_like(weights)
    _cpu.renumber_rows(indptr, indices, weights, order, place, rows, heads, kept, threads)
    kept = None if kept is None else frozen(kept)
    arrays = HostArrays(frozen(rows), frozen(heads), kept, graph._scan)
    return Renumbered(Graph.from_checked(arrays, directed=graph.directed), frozen(place))


def _apart(tails: NDArray[Any], heads: NDArray[Any]) -> float:
    """Return the mean logarithm of the distance between the numbers of neighbours."""
    return float(np.log2(1 + np.abs(tails.astype(np.int64) - heads)).mean())
