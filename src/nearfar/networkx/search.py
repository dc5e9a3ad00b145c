"""Searches of all functions of the backend, and their answers in NetworkX's types."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import Any, NoReturn, SupportsIndex

import numpy as np
from numpy.typing import NDArray

import networkx as nx
from nearfar import _cpu
from nearfar.answer.paths import Paths
from nearfar.errors import NegativeCycleError, UnreachableError
from nearfar.graph.dtypes import unreached_value
from nearfar.graph.graph import Graph
from nearfar.networkx.graph import BackendGraph
from nearfar.solve.many import distances as many_distances
from nearfar.solve.nearest import join_sources
from nearfar.solve.one import shortest_path, sssp

#: Entries of a block of rows that all-pairs functions hold at a time.
BLOCK_ENTRIES = 1 << 22


class LazyPaths(Mapping[Any, list[Any]], dict[Any, list[Any]]):  # type: ignore[misc,metaclass]
    """Mapping from vertex to path, nearest first, which builds paths on access.

    It is an immutable dict with the vertices as keys, for :mod:`json` among others; ``copy``
    returns a plain one.
    """

    def __init__(
        self,
        graph: BackendGraph,
        distances: NDArray[Any],
        before: NDArray[Any],
        *,
        towards: bool = False,
    ) -> None:
        names = graph.names
        reached = [names[at] for at in nearest_first(distances).tolist()]
        own: Any = self  # not through the methods below
        dict.update(own, dict.fromkeys(reached))
        self._graph, self._before, self._towards = graph, before, towards

    def _refuse(self, *args: Any, **kwargs: Any) -> NoReturn:
        raise TypeError("these paths are read-only: change a copy, paths.copy()")

    __setitem__ = __delitem__ = __ior__ = _refuse
    pop = popitem = clear = update = setdefault = _refuse
    __contains__, __len__ = dict.__contains__, dict.__len__
    __reversed__ = dict.__reversed__

    def __iter__(self) -> Iterator[Any]:  # C code then calls methods instead of reading items
        own: Any = self  # not through the methods below
        return dict.__iter__(own)

    def __getitem__(self, target: Any) -> list[Any]:
        if target not in self:
            raise KeyError(target)
        names, at, path = self._graph.names, self._graph.places[target], []
        while at >= 0:
            path.append(names[at])
            at = self._before[at]
        return path if self._towards else path[::-1]

    def __reduce_ex__(self, protocol: SupportsIndex) -> tuple[Any, ...]:
        return dict, (self.copy(),)

    def __ne__(self, other: object) -> bool:
        return not self == other

    def __or__(self, other: Any) -> Any:
        return self.copy() | dict(other)

    def __ror__(self, other: Any) -> Any:
        return dict(other) | self.copy()

    def __repr__(self) -> str:
        return f"LazyPaths({len(self)} targets)"

    def copy(self) -> dict[Any, list[Any]]:
        """Return all paths in a plain dict."""
        return dict(self)


class Search:
    """Answer of one search: distances and predecessors by vertex."""

    def __init__(self, graph: BackendGraph, paths: Paths, towards: bool = False) -> None:
        self.graph, self._paths, self._towards = graph, paths, towards
        self.distances: NDArray[Any] = paths._host_distances[: len(graph)]

    @property
    def before(self) -> NDArray[Any]:
        """Predecessors, -1 for none."""
        n = len(self.graph)
        found = self._paths.predecessors[:n]
        return np.where(found == n, -1, found) if self._paths._source_index == n else found

    def lengths(self) -> dict[Any, Any]:
        """Return vertex -> distance, reached vertices only."""
        return to_dict(self.graph, self.distances)

    def paths(self) -> LazyPaths:
        """Return vertex -> path."""
        return LazyPaths(self.graph, self.distances, self.before, towards=self._towards)


def to_dict(graph: BackendGraph, distances: NDArray[Any]) -> dict[Any, Any]:
    """Return vertex -> distance in Python numbers, reached vertices only, nearest first."""
    row = np.ascontiguousarray(distances)
    return _cpu.distance_dict(graph.names, row, nearest_first(row), graph.kept)


def nearest_first(distances: NDArray[Any]) -> NDArray[np.int64]:
    """Return positions of the reached vertices by distance, ties in the graph's order."""
    reached = np.flatnonzero(distances != unreached_value(distances.dtype))
    return reached[np.argsort(distances[reached], kind="stable")]


def require_nonnegative(solved: Graph) -> None:
    """Leave negative weights to NetworkX, whose Dijkstra treats them in its own way."""
    if solved.n_negative:
        raise NotImplementedError(f"{solved.n_negative} negative weights: NetworkX decides")


def _require_plain(cutoff: Any) -> None:
    """Leave a cutoff below 0 or NaN to NetworkX, for which sources are within any cutoff."""
    if cutoff is not None and not cutoff >= 0:
        raise NotImplementedError(f"cutoff is {cutoff}: NetworkX decides")


def between(
    graph: BackendGraph,
    sources: Iterable[Any],
    target: Any,
    weight: Any,
    *,
    cutoff: Any = None,
    negative: bool = False,
) -> tuple[Any, list[Any]]:
    """Return distance and path from the nearest of some vertices to one."""
    places = _places(graph, sources)
    if graph.has(target) and graph.places[target] in places:
        return 0, [target]
    solved, start, joined = _joined(graph, places, weight, negative)
    _require_plain(cutoff)
    if not graph.has(target):
        raise nx.NetworkXNoPath(f"No path to {target}.")
    try:
        path, length = shortest_path(solved, start, graph.places[target], limit=cutoff)
    except NegativeCycleError:
        raise nx.NetworkXUnbounded("Negative cycle detected.") from None
    except UnreachableError:
        raise nx.NetworkXNoPath(f"No path to {target}.") from None
    return length, [graph.names[at] for at in path[joined:]]


def require_vertex(graph: BackendGraph, vertex: Any) -> None:
    """Refuse an object that is not a vertex."""
    if not graph.has(vertex):
        raise nx.NodeNotFound(f"Node {vertex} is not found in the graph")


def _places(graph: BackendGraph, sources: Iterable[Any]) -> list[int]:
    """Return the positions of vertices."""
    places = []
    for source in sources:
        require_vertex(graph, source)
        places.append(graph.places[source])
    return places


def _joined(
    graph: BackendGraph, places: list[int], weight: Any, negative: bool
) -> tuple[Graph, int, bool]:
    """Return the graph to search, its source, and whether that stands for several vertices."""
    solved = graph.weighted(weight)
    if not negative:
        require_nonnegative(solved)
    if len(places) == 1:
        return solved, places[0], False
    return join_sources(solved, np.array(places)), solved.n_vertices, True


def search(
    graph: BackendGraph,
    sources: Iterable[Any],
    weight: Any,
    *,
    cutoff: Any = None,
    negative: bool = False,
    towards: bool = False,
) -> Search:
    """Return one search from one or many sources, or towards one."""
    solved, start, _ = _joined(graph, _places(graph, sources), weight, negative)
    if towards:
        solved = solved.transpose()
    _require_plain(cutoff)
    try:
        paths = sssp(solved, start, limit=cutoff)
    except NegativeCycleError:
        raise nx.NetworkXUnbounded("Negative cycle detected.") from None
    return Search(graph, paths, towards)


def blocks(
    graph: BackendGraph,
    solved: Graph,
    *,
    sources: NDArray[np.int64] | None = None,
    cutoff: Any = None,
    predecessors: bool = False,
    negative: bool = False,
) -> Iterator[tuple[NDArray[np.int64], Any, Any]]:
    """Yield (sources, distances, predecessors) for blocks of many sources.

    Checks happen at the call, not at the first block, so that NetworkX can still take over.
    """
    if not negative:
        require_nonnegative(solved)
    _require_plain(cutoff)
    rows = np.arange(len(graph), dtype=np.int64) if sources is None else sources
    step = max(1, min(512, BLOCK_ENTRIES // max(len(graph), 1)))

    def run() -> Iterator[tuple[NDArray[np.int64], Any, Any]]:
        for first in range(0, len(rows), step):
            part = rows[first : first + step]
            try:
                found = many_distances(solved, part, limit=cutoff, predecessors=predecessors)
            except NegativeCycleError:
                raise nx.NetworkXUnbounded("Negative cycle detected.") from None
            yield (part, *found) if predecessors else (part, found, None)

    return run()


def each_row(
    graph: BackendGraph, solved: Graph, answer: Callable[[Any, Any], Any], **how: Any
) -> Iterator[tuple[Any, Any]]:
    """Yield (vertex, answer of its row), one by one; ``how`` as for :func:`blocks`."""
    return (
        (graph.names[at], answer(distances[i], None if before is None else before[i]))
        for part, distances, before in blocks(graph, solved, **how)
        for i, at in enumerate(part.tolist())
    )


def tight_lists(found: Search, solved: Graph, start: int) -> dict[Any, list[Any]]:
    """Return vertex -> every predecessor on a shortest path, nearest first. O(m)."""
    distances = found.distances
    far = unreached_value(distances.dtype)
    tails = solved.tails(np.int64)
    keep = distances[tails] != far
    tails, heads = tails[keep], solved.indices[keep].astype(np.int64)
    weights = solved.effective_weights[keep]
    tight = distances[tails] + weights == distances[heads]
    tails, heads = tails[tight], heads[tight]
    pairs = np.unique(tails * solved.n_vertices + heads)  # parallel edges count once
    tails, heads = np.divmod(pairs, solved.n_vertices)
    order = np.argsort(distances[tails], kind="stable")
    names = found.graph.names
    lists: dict[Any, list[Any]] = {names[start]: []}
    for tail, head in zip(tails[order].tolist(), heads[order].tolist(), strict=True):
        lists.setdefault(names[head], []).append(names[tail])
    return lists
