"""Extent of a graph: eccentricities, diameter, radius, center and periphery.

A search from ``w`` bounds the eccentricity of every other vertex ``v``:

    max(d(v, w), ecc(w) - d(w, v))  <=  ecc(v)  <=  d(v, w) + ecc(w)

Takes and Kosters (2011) choose the next ``w`` by these bounds, alternately the vertex with the
greatest upper bound and the one with the least lower bound, and drop every vertex that the bounds
exclude: a diameter takes a few searches on most graphs instead of n. Unlike theirs, the choice for
the bound that is not sought includes dropped vertices: the center, which a diameter drops early,
bounds all others best. Where the bounds exclude few vertices, as in graphs with few different
distances, later steps search from several vertices at once, one for every 32 searched before: a
batch costs less per source. Once the steps have taken a fifth of the time of searches from all
vertices that are left, and exclude too few vertices per search, these follow. In a directed graph
each step is two searches, one of them on the reversed graph. The bounds do not hold with turns,
since a path to ``w`` and a path from ``w`` may not join: a search then starts from every vertex.

Where sums are exact, the same bounds give the eccentricities of all vertices: one is known when its
two bounds meet, which takes a few searches in some networks with hubs.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from nearfar.choose.ranking import rank
from nearfar.errors import OptionError, UnreachableError
from nearfar.graph.dtypes import unreached_value
from nearfar.graph.given import as_numpy
from nearfar.graph.graph import Graph
from nearfar.graph.turns import TurnGraph
from nearfar.measures.simple import measured_turns, refuse_unreached
from nearfar.options import canonical_device
from nearfar.prepared import is_prepared
from nearfar.registry import Request
from nearfar.solve.many import distances
from nearfar.solve.one import sssp
from nearfar.solve.steps.request import as_graph_or_turns, check_stats, vertex_indices
from nearfar.system.devices.arrays import to_host
from nearfar.system.threads import check_threads

_FOR_EACH = 32  # searches done for each one of the next step
_FOR_EACH_OF_ALL = 2  # the same where the eccentricities of all vertices are sought
_TOGETHER = 64  # most searches of a step
_MANY = 1000  # vertices; searches from fewer take no longer than comparing bounds
_SPENT, _GAIN = 0.2, 2  # share of the time of all searches left; saved time over a search's own
_SEARCH, _BOUNDS = 1e-4, 1e-8  # seconds per search and per vertex besides the search itself
_INFINITE = "there is no greatest distance: take the largest component"


def eccentricity(
    graph: Any,
    vertices: Iterable[Any] | None = None,
    *,
    weight: str | Callable[[Any, Any, Any], Any] | None = "weight",
    device: Literal["auto", "cpu", "cuda"] = "auto",
    threads: int | None = None,
    progress: Callable[[float, float], None] | None = None,
) -> NDArray[Any]:
    """Compute the distance from a vertex to the vertex farthest from it.

    Parameters
    ----------
    graph : graph_like or TurnGraph
    vertices : vertices or None
        Vertices of the result, in this order; None means every vertex.
    weight, device, threads, progress
        As for :func:`nearfar.distances`.

    Returns
    -------
    array, shape (n,) or (len(vertices),)
        Eccentricities in the dtype of the distances.

    Raises
    ------
    UnreachableError
        If one of the vertices does not reach all others; ``nearfar.distances(graph,
        reduce="max")`` gives the greatest distance that is reached.
    NegativeCycleError, VertexError, OptionError
        As for :func:`nearfar.distances`.

    Notes
    -----
    A search per vertex; fewer for all vertices where sums are exact.

    Examples
    --------
    >>> import nearfar
    >>> g = nearfar.Graph.from_edges([0, 1], [1, 2], [4, 5], directed=False)
    >>> nearfar.measures.eccentricity(g)
    array([9, 5, 9])
    """
    solved = as_graph_or_turns(graph, weight)
    n = solved.n_vertices
    rows = np.arange(n) if vertices is None else vertex_indices(solved, vertices, "vertex")
    if not len(rows):
        return np.zeros(0, dtype=solved.weight_dtype)
    if vertices is None and n >= _MANY and _bounds_meet(solved):
        return _Bounds(solved, "weight", device, threads, progress).eccentricities()
    plain = solved.without_names()
    call: dict[str, Any] = {"device": device, "threads": threads, "progress": progress}
    count, _, most = distances(plain, rows, reduce="summary", **call)
    count, most = as_numpy(count, "counts"), as_numpy(most, "distances")
    advice = "take the largest component, or distances(reduce='max')"
    refuse_unreached(solved, rows, count, f"its eccentricity is infinite: {advice}")
    return np.zeros_like(most) if n == 1 else most


def diameter(
    graph: Any,
    *,
    weight: str | Callable[[Any, Any, Any], Any] | None = "weight",
    device: Literal["auto", "cpu", "cuda"] = "auto",
    threads: int | None = None,
    stats: dict[str, Any] | None = None,
    progress: Callable[[float, float], None] | None = None,
) -> Any:
    """Compute the greatest distance between two vertices exactly, by few searches.

    Parameters
    ----------
    graph : graph_like or TurnGraph
        Graph with non-negative weights.
    weight, device, threads
        As for :func:`nearfar.sssp`.
    stats : dict or None
        Filled with the number of searches.
    progress : callable or None
        Called with the numbers of vertices that the bounds decided and of all vertices.

    Returns
    -------
    int or float
        Distance in units of the weights.

    Raises
    ------
    UnreachableError
        If some vertex does not reach another.
    NegativeWeightError
        For negative weights.
    OptionError
        For a graph without vertices.

    Notes
    -----
    Searches run until the bounds of all eccentricities decide: n at worst, as on a ring, and a
    few on most graphs.

    References
    ----------
    F. W. Takes, W. A. Kosters, "Determining the diameter of small world networks", CIKM 2011.

    Examples
    --------
    >>> import nearfar
    >>> g = nearfar.generate("path", vertices=100, directed=False, low=2, high=2)
    >>> nearfar.measures.diameter(g)
    198
    """
    return _Bounds(graph, weight, device, threads, progress).extreme(stats, True)[0]


def periphery(
    graph: Any,
    *,
    weight: str | Callable[[Any, Any, Any], Any] | None = "weight",
    device: Literal["auto", "cpu", "cuda"] = "auto",
    threads: int | None = None,
    stats: dict[str, Any] | None = None,
    progress: Callable[[float, float], None] | None = None,
) -> list[Any]:
    """Return the vertices whose eccentricity is the diameter.

    Parameters
    ----------
    graph, weight, device, threads, stats, progress
        As for :func:`diameter`.

    Returns
    -------
    list
        External names, in the graph's order.

    Raises
    ------
    UnreachableError, NegativeWeightError, OptionError
        As for :func:`diameter`.

    Notes
    -----
    The cost is that of :func:`diameter`, plus a search from every vertex that may be in the answer.

    Examples
    --------
    >>> import nearfar
    >>> nearfar.measures.periphery(nearfar.Graph.from_edges([0, 1], [1, 2], directed=False))
    [0, 2]
    """
    return _Bounds(graph, weight, device, threads, progress).extreme(stats, True, every=True)[1]


def radius(
    graph: Any,
    *,
    weight: str | Callable[[Any, Any, Any], Any] | None = "weight",
    device: Literal["auto", "cpu", "cuda"] = "auto",
    threads: int | None = None,
    stats: dict[str, Any] | None = None,
    progress: Callable[[float, float], None] | None = None,
) -> Any:
    """Compute the least eccentricity exactly, by few searches.

    Parameters
    ----------
    graph, weight, device, threads, stats, progress
        As for :func:`diameter`.

    Returns
    -------
    int or float
        Distance in units of the weights.

    Raises
    ------
    UnreachableError, NegativeWeightError, OptionError
        As for :func:`diameter`.

    Notes
    -----
    The cost is that of :func:`diameter`.

    Examples
    --------
    >>> import nearfar
    >>> nearfar.measures.radius(nearfar.Graph.from_edges([0, 1], [1, 2], directed=False))
    1
    """
    return _Bounds(graph, weight, device, threads, progress).extreme(stats, False)[0]


def center(
    graph: Any,
    *,
    weight: str | Callable[[Any, Any, Any], Any] | None = "weight",
    device: Literal["auto", "cpu", "cuda"] = "auto",
    threads: int | None = None,
    stats: dict[str, Any] | None = None,
    progress: Callable[[float, float], None] | None = None,
) -> list[Any]:
    """Return the vertices of least eccentricity.

    Parameters
    ----------
    graph, weight, device, threads, stats, progress
        As for :func:`diameter`.

    Returns
    -------
    list
        External names, in the graph's order.

    Raises
    ------
    UnreachableError, NegativeWeightError, OptionError
        As for :func:`diameter`.

    Notes
    -----
    The cost is that of :func:`diameter`, plus a search from every vertex that may be in the answer.

    Examples
    --------
    >>> import nearfar
    >>> nearfar.measures.center(nearfar.Graph.from_edges([0, 1], [1, 2], directed=False))
    [1]
    """
    return _Bounds(graph, weight, device, threads, progress).extreme(stats, False, every=True)[1]


class _Bounds:
    """Bounds of all eccentricities, tightened by searches."""

    def __init__(
        self,
        graph: Any,
        weight: Any,
        device: Any,
        threads: int | None,
        progress: Callable[[float, float], None] | None,
    ) -> None:
        check_stats(None, progress)
        self.progress = progress
        named = measured_turns(graph, weight)
        n = named.n_vertices
        if not n:
            raise OptionError("the graph has no vertices: its extent is undefined")
        self.named, self.graph = named, named.without_names()
        self.device, self.threads = device, threads
        whole = named.weight_dtype.kind == "i"
        # Sums of two 64-bit distances fit unsigned integers. Float bounds are widened by the
        # rounding error of a path's sum.
        self.dtype = np.dtype(np.uint64) if whole else np.dtype(np.float64)
        self.slack = 0.0
        if not whole and isinstance(named, Graph) and not _adds_exactly(named):
            self.slack = 4 * n * _epsilon(named)
        self.lower = np.zeros(n, dtype=self.dtype)
        self.upper = np.full(n, unreached_value(np.dtype(np.int64 if whole else np.float64)))
        self.upper = self.upper.astype(self.dtype)
        self.exact = np.zeros(n, dtype=bool)
        self.searches, self.compared, self.left = 0, 2, n

    def extreme(self, stats: Any, greatest: bool, every: bool = False) -> tuple[Any, list[Any]]:
        """Return diameter or radius and, with ``every``, all vertices that have it."""
        check_stats(stats)
        high, open_ = greatest, np.ones(len(self.exact), dtype=bool)
        while self._step(open_, high, sought=high == greatest):
            known = self.lower[self.exact]
            value = known.max() if greatest else known.min()
            bounds = (self.upper, value) if greatest else (value, self.lower)
            open_ = (np.greater_equal if every else np.greater)(*bounds) & ~self.exact
            high = not high
        if stats is not None:
            stats["searches"] = self.searches
        at = np.flatnonzero(self.exact & (self.lower == value))
        return value.item(), self.named.name_of(at).tolist()

    def eccentricities(self) -> NDArray[Any]:
        """Return the eccentricities of all vertices, where sums are exact."""
        high, open_ = True, np.ones(len(self.exact), dtype=bool)
        while self._step(open_, high, True, _FOR_EACH_OF_ALL):
            open_ = (self.lower < self.upper) & ~self.exact
            high = not high
        narrow = self.named.weight_dtype
        fits = self.lower.max() < unreached_value(narrow)
        return self.lower.astype(narrow if fits else np.int64)

    def _step(
        self, open_: NDArray[np.bool_], high: bool, sought: bool, for_each: int = _FOR_EACH
    ) -> bool:
        """Search from vertices with extreme bounds; return False if none is open any more."""
        left = np.flatnonzero(open_)
        if self.progress is not None:
            self.progress(len(open_) - len(left), len(open_))
        if not len(left):
            return False
        if self._worth_finishing(len(left)):
            self._finish(left)
            return True
        keys, extreme = (self.upper, np.max) if high else (self.lower, np.min)
        if not sought and (most := extreme(keys)) != extreme(keys[self.exact]):
            left = np.flatnonzero(keys == most)[:1]
        # Together they take less time, but their bounds come too late for each other.
        count = min(len(left), max(1, self.searches // for_each), _TOGETHER)
        keys = keys[left]
        best = np.argpartition(keys, -count if high else count - 1)
        self._search(left[best[-count:] if high else best[:count]])
        return True

    def _worth_finishing(self, left: int) -> bool:
        """Return whether the searches take long and decide too few of the vertices left."""
        # Rows in fixed point, and others of a prepared graph, differ in the last bits.
        if isinstance(self.graph, TurnGraph) or is_prepared(self.graph):
            return False
        if self.searches < 2 * self.compared:
            return False
        decided = (self.left - left) / max(self.searches - self.compared, 1)
        self.compared, self.left = self.searches, left
        threads, device = check_threads(self.threads), canonical_device(self.device)
        request = Request(n_sources=left, device=device, threads=threads)
        together = rank(self.graph, request._replace(problem="batch"))[0].seconds
        alone = rank(self.graph, request._replace(n_sources=1))[0].seconds
        alone += _SEARCH + _BOUNDS * self.graph.n_vertices
        late = (self.searches + 1) * alone > _SPENT * together
        return late and decided * together / left < _GAIN * alone

    def _finish(self, sources: NDArray[np.intp]) -> None:
        """Search from each of some vertices, without bounds for others."""
        self.searches += len(sources)
        call: Any = {"device": self.device, "threads": self.threads}
        count, _, most = distances(self.graph, sources, reduce="summary", **call)
        count = as_numpy(count, "counts")
        refuse_unreached(self.named, sources, count, _INFINITE)
        self.lower[sources] = self.upper[sources] = as_numpy(most, "distances")
        self.exact[sources] = True

    def _search(self, sources: NDArray[np.intp]) -> None:
        rows = self._rows(self.graph, sources)
        turns = isinstance(self.graph, TurnGraph)
        if not turns:
            backwards = rows
            if self.graph.directed:
                backwards = self._rows(self.graph.transpose(), sources, True)
        for i, w in enumerate(sources):
            far = rows[i].max()
            if not turns:
                self._tighten(rows[i], backwards[i], far)
            self.lower[w] = self.upper[w] = far
            self.exact[w] = True

    def _tighten(self, away: NDArray[Any], back: NDArray[Any], far: Any) -> None:
        """Tighten all bounds by the distances from a vertex and back to it."""
        lower = np.maximum(back, np.where(far > away, far - np.minimum(far, away), 0))
        upper = back + far
        if self.slack:
            lower, upper = lower * (1 - self.slack) - far * self.slack, upper * (1 + self.slack)
        np.maximum(self.lower, lower, out=self.lower, where=~self.exact)
        np.minimum(self.upper, upper, out=self.upper, where=~self.exact)

    def _rows(
        self, graph: Graph | TurnGraph, sources: NDArray[np.intp], backwards: bool = False
    ) -> NDArray[Any]:
        self.searches += len(sources)
        call: Any = {"device": self.device, "threads": self.threads}
        if len(sources) == 1:
            rows = sssp(graph, int(sources[0]), **call)._host_distances[None]
        else:
            rows = to_host(distances(graph, sources, **call))
        unreached = rows == unreached_value(rows.dtype)
        if unreached.any():
            row, other = (int(at[0]) for at in np.nonzero(unreached))
            name = self.named.name_of
            tail, head = name(int(sources[row])), name(other)
            if backwards:
                tail, head = head, tail
            raise UnreachableError(f"vertex {tail!r} does not reach {head!r}, so {_INFINITE}")
        return rows.astype(self.dtype, copy=False)


def _epsilon(graph: Graph) -> float:
    return float(np.finfo(graph.weight_dtype).eps)


def _bounds_meet(graph: Any) -> bool:
    """Return whether sums are exact and paths to and from a vertex join."""
    if not isinstance(graph, Graph) or is_prepared(graph) or graph.n_negative:
        return False
    return graph.weight_dtype.kind == "i" or _adds_exactly(graph)


def _adds_exactly(graph: Graph) -> bool:
    """Return whether all weights are integers whose sums along paths are exact as floats."""
    if graph.max_weight * graph.n_vertices * _epsilon(graph) >= 1:
        return False
    weights = to_host(graph.effective_weights)
    return bool((weights == np.floor(weights)).all())
