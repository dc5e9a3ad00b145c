"""Cheap statistics of a graph for the costs of variants, measured once and cached.

Each takes a small fraction of the time of a solve. The number of hops to the farthest vertex is not
measured by whole sweeps, which would take as long as a solve, but extrapolated from two samples:
breadth-first balls that stop after some thousand vertices. In a graph of dimension d (about 2 for a
road network) a ball of h hops has in the order of h^d vertices, so the whole graph is
(n / ball)^(1/d) times wider. If a ball grows geometrically, d is large and the estimate hardly
exceeds the radius of the ball.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from nearfar import _cpu
from nearfar.graph.graph import Graph
from nearfar.graph.slots import Slot

# A sampled ball stops at this number of vertices, edges or hops.
_BALL = 2048
_EDGES = 1 << 15
_LEVELS = 64
_ROW = 1 << 12  # edges scanned per row, at most
_SHRINKS = 0.75  # size over that of the level before, of the last levels of a ball that ends soon
_SPREAD = 2.0  # mean over median weight above which twice the median is the usual weight
_WEIGHT_SPREAD: Slot[float] = Slot("weight spread")
_ESTIMATED_HOPS: Slot[float] = Slot("estimated hops")
_WAITING: Slot[float] = Slot("vertices waiting in a search")
_FEW_WAITING = 8.0  # vertices
_WITHIN: Slot[tuple[float, float] | None] = Slot("reach of limits")
_WITHIN_HELD = 256  # cached results, for different limits and sources
_WITHIN_AT_MOST = 4096  # vertices at which a sample search within a limit stops


class NotMeasuredError(Exception):
    """Signal that a cost needs a statistic that takes longer to measure than it may."""


@dataclass(frozen=True, slots=True)
class Facts:
    """Statistics for the cost of a variant, each measured on first access."""

    graph: Graph
    gain: float = 1.5  # speedup of two workers over one on this machine
    reach: float | None = None  # number of hops to use instead of the estimate
    # fraction of the edges that a search scans before the limit or the last target stops it
    share: float = 1.0
    measures: bool = True  # whether to measure the number of hops if it is not known

    @property
    def n(self) -> int:
        """Number of vertices."""
        return self.graph.n_vertices

    @property
    def m(self) -> int:
        """Number of edges."""
        return self.graph.n_edges

    @property
    def degree(self) -> float:
        """Mean number of edges per vertex."""
        return self.graph.mean_degree

    @property
    def dtype(self) -> np.dtype[Any]:
        """Dtype of weights and distances."""
        return self.graph.weight_dtype

    @property
    def negative(self) -> bool:
        """Whether some edge has a negative weight."""
        return self.graph.n_negative > 0

    @property
    def packed(self) -> bool:
        """Whether an earlier search has packed the edges for bucket searches."""
        return self.graph.has_view

    @property
    def weight_spread(self) -> float:
        """Ratio of mean to median weight: :func:`weight_spread`."""
        return weight_spread(self.graph)

    @property
    def waiting(self) -> float | None:
        """Mean number of vertices in the queue of a search, if known to be few."""
        return _WAITING.get(self.graph)

    @property
    def hops(self) -> float:
        """Estimated number of hops to the farthest vertex: :func:`estimated_hops`."""
        if self.reach is not None:
            return self.reach
        if not self.measures and not _ESTIMATED_HOPS.filled(self.graph):
            raise NotMeasuredError
        return estimated_hops(self.graph)

    def within(
        self, limit: float, sources: tuple[int, ...], many: int = 1
    ) -> tuple[float, float] | None:
        """Return the mean numbers of vertices and edges within a limit; see :func:`within`."""
        return within(self.graph, limit, sources, many)


def few_wait(graph: Graph, waiting: float) -> bool:
    """Record the vertices in the queue of a search if few; return whether that was unknown."""
    if waiting >= _FEW_WAITING or _WAITING.filled(graph):
        return False
    _WAITING.put(graph, waiting)
    return True


def within(
    graph: Graph, limit: float, sources: tuple[int, ...], many: int = 1, useful: int | None = None
) -> tuple[float, float] | None:
    """Return the mean numbers of vertices and scanned edges within a limit; cached.

    ``sources`` is a sample of the ``many`` sources of a request. The result is None for graphs on a
    device, or if a search reaches more than 4,096 vertices (or, in a large graph, 64 * ``many``),
    or ``useful`` vertices if these are fewer.
    """
    # If more than one vertex in 64 is reached, a search with an array of all vertices is faster.
    most = max(_WITHIN_AT_MOST, min(64 * many, graph.n_vertices // 64))
    most = most if useful is None else min(most, useful)

    def search() -> tuple[float, float] | None:
        if graph.device_arrays is not None or not sources or not graph.n_vertices:
            return None
        counts, _, _, edges = _cpu.bounded_figures(
            graph.view, np.array(sources, np.int64), limit, 1, "", most
        )
        if int(counts.max()) + 1 >= most:
            return None
        return float(counts.mean()) + 1, edges / len(sources)

    if len(_WITHIN.held(graph)) >= _WITHIN_HELD:
        _WITHIN.drop(graph)
    return _WITHIN.of(graph, search, (limit, sources, most))


def share_of_edges(
    graph: Graph, sources: tuple[int, ...], limit: float | None, targets: NDArray[np.int64] | None
) -> float:
    """Return the fraction of the edges that searches scan before a limit or the last target.

    It is measured by searches from these sources. It is 1 for a graph on a device, and for negative
    weights, with which no search stops early.
    """
    if graph.device_arrays is not None or graph.n_negative or not (sources and graph.n_edges):
        return 1.0
    width = graph.n_vertices if targets is None else len(targets)
    out = np.empty((len(sources), width), graph.weight_dtype)
    stats = _cpu.per_source(graph.view, np.array(sources, np.int64), out, targets, limit, 1, True)
    return min(1.0, float(stats["edges_relaxed"]) / (len(sources) * graph.n_edges))


def weight_spread(graph: Graph) -> float:
    """Return the ratio of mean to median weight in an evenly spaced sample; 1 without weights.

    It is near 1 for uniform weights, and in the hundreds if a few edges are so much heavier than
    the rest that no bucket width suits all of them.
    """

    def make() -> float:
        if not (graph.is_weighted and graph.n_edges):
            return 1.0
        sample = np.abs(graph.weight_sample().astype(np.float64))
        sample.sort()
        sample /= sample[-1] or 1  # so that no sum overflows
        # np.median and np.mean take longer than a solve of a small graph.
        middle = 0.5 * (float(sample[(len(sample) - 1) // 2]) + float(sample[len(sample) // 2]))
        mean = float(np.add.reduce(sample)) / len(sample)
        if middle > 0:
            return min(mean / middle, 1e308)  # finite, unless the median is 0
        return math.inf if mean > 0 else 1.0

    return _WEIGHT_SPREAD.of(graph, make)


def usual_weight(graph: Graph) -> float:
    """Return the mean weight, or twice the median if a few edges are much heavier."""
    spread = weight_spread(graph)
    return graph.mean_weight * (min(1.0, _SPREAD / spread) if spread < math.inf else 1.0)


def degree_spread(graph: Graph) -> float:
    """Return the ratio of the greatest to the mean out-degree; 0 without edges. O(n) once."""
    return graph.max_degree / graph.mean_degree if graph.n_edges else 0.0


def estimated_hops(graph: Graph) -> float:
    """Estimate the number of hops from any vertex to its farthest vertex; cached.

    The estimate is the maximum of two samples, one from the vertex of largest degree and one from
    the last vertex of the first sample. For a graph on the host the median of samples from five
    vertices spread over the graph is included, since a sample around a hub misses a long path
    attached to it.
    """

    def make() -> float:
        if not graph.n_edges:
            return 0.0
        first, last = _ball(graph, graph.widest_vertex)
        again, _ = _ball(graph, last)
        if graph.device_arrays is not None:
            return max(first, again)
        n = graph.n_vertices
        balls = sorted(_ball(graph, (2 * i + 1) * n // 10, _BALL)[0] for i in range(5))
        return max(first, again, balls[2])

    return _ESTIMATED_HOPS.of(graph, make)


def _ball(graph: Graph, start: int, levels: int = _LEVELS) -> tuple[float, int]:
    """Return the hops to the farthest vertex, extrapolated from a ball, and a vertex of its rim."""
    n = graph.n_vertices
    if graph.device_arrays is None:
        arrays = graph.indptr, graph.indices
        sizes, last, ended = _cpu.ball(*arrays, start, _BALL, _EDGES, levels, _ROW)
    else:
        sizes, last, ended = _ball_on_device(graph, start)
    hops, ball = len(sizes) - 1, sizes[-1]
    if ended or _ends_soon(sizes):  # the ball contains all or most reachable vertices
        return float(hops), last
    half = max(hops // 2, 1)
    if hops < 2:  # the start is a hub whose ball has one hop: measure from its neighbours
        return hops + math.log(max(n / ball, 1.0)) / math.log(max(graph.mean_degree, 2.0)), last
    # Growth from half the radius to the whole radius: 2^d on a d-dimensional graph.
    dimension = max(math.log(ball / sizes[half]) / math.log(hops / half), 1.0)
    return hops * max(n / ball, 1.0) ** (1.0 / dimension), last


def _ends_soon(sizes: list[int]) -> bool:
    """Return whether the levels of a ball become ever smaller, as in acyclic graphs."""
    levels = np.diff(sizes[-4:])
    return len(levels) == 3 and bool((levels[1:] < _SHRINKS * levels[:-1]).all())


def _ball_on_device(graph: Graph, start: int) -> tuple[list[int], int, bool]:
    """Grow a ball level by level on a device, with the result of ``cpu/graph/ball.cpp``."""
    seen = np.zeros(graph.n_vertices, dtype=np.bool_)
    seen[start] = True
    frontier = np.array([start], dtype=np.int64)
    sizes = [1]
    scanned = 0
    while len(sizes) <= _LEVELS and sizes[-1] < _BALL and scanned < _EDGES:
        near = graph.rows_of(frontier, _ROW)
        scanned += len(near)
        new = np.sort(near[~seen[near]]).astype(np.int64)
        if not len(new):
            return sizes, int(frontier[-1]), True
        # np.unique takes 10 ms for imports, and 40 bytes per vertex.
        new = new[np.flatnonzero(np.diff(new, prepend=-1))]
        seen[new] = True
        frontier = new
        sizes.append(sizes[-1] + len(new))
        if sizes[-1] == graph.n_vertices:
            return sizes, int(frontier[-1]), True
    return sizes, int(frontier[-1]), False
