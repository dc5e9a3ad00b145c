"""All shortest paths from one source: as a graph of predecessors, as numbers, and one by one."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from nearfar import _cpu
from nearfar.errors import DistanceOverflowError, not_reached, quoted
from nearfar.graph.graph import Graph
from nearfar.measures.paths.order_free import in_steps
from nearfar.measures.simple import check_tolerance, measured, refuse_cycle, simple, takes_device
from nearfar.options import Device, check_limit
from nearfar.solve.one import sssp


@dataclass(frozen=True, slots=True)
class PathCounts:
    """Numbers of shortest paths from one source, without an upper bound.

    Attributes
    ----------
    mantissas : float64 array, shape (n,)
        0 for an unreached vertex, else at least 0.5 and less than 1.
    exponents : int64 array, shape (n,)
        The number of paths to ``v`` is ``mantissas[v] * 2**exponents[v]``: exact below 2**53, else
        rounded once per addition.
    """

    mantissas: NDArray[np.float64]
    exponents: NDArray[np.int64]

    @property
    def fit(self) -> bool:
        """Whether every number fits a float64."""
        return int(self.exponents.max(initial=0)) <= 1024

    def values(self) -> NDArray[np.float64]:
        """Return the numbers as floats.

        Returns
        -------
        float64 array, shape (n,)
            Numbers by vertex index.

        Raises
        ------
        DistanceOverflowError
            If a number does not fit; :meth:`log2` always fits.
        """
        if not self.fit:
            raise DistanceOverflowError(
                f"up to 2**{int(self.exponents.max())} paths do not fit a float64: use log2()"
            )
        return np.ldexp(self.mantissas, self.exponents)

    def log2(self) -> NDArray[np.float64]:
        """Return the base-2 logarithms of the numbers.

        Returns
        -------
        float64 array, shape (n,)
            Logarithms by vertex index; -inf for an unreached vertex.
        """
        found = np.full(len(self.mantissas), -np.inf)
        reached = self.mantissas > 0
        found[reached] = np.log2(self.mantissas[reached]) + self.exponents[reached]
        return found


@dataclass(frozen=True, slots=False, eq=False)
class ShortestPathDag:
    """All shortest paths from one source, as compressed sparse rows of predecessors.

    Attributes
    ----------
    graph : Graph
        Graph of the answer.
    distances : array, shape (n,)
        As in :attr:`nearfar.Paths.distances`.
    order : int64 array, shape (r,)
        Indices of the reached vertices, each after its predecessors; the source first.
    indptr : int64 array, shape (n + 1,)
        The predecessors of vertex ``v`` are entries ``indptr[v]`` to ``indptr[v + 1]``.
    predecessors : int64 array
        Indices of the predecessors, ascending for each vertex.
    edges : int64 array, same shape
        Positions in :attr:`nearfar.Graph.indices` of the edges from them; of parallel edges the
        lightest of lowest id.
    counts : PathCounts
        Numbers of shortest paths to each vertex.
    """

    graph: Graph
    distances: NDArray[Any]
    order: NDArray[np.int64]
    indptr: NDArray[np.int64]
    predecessors: NDArray[np.int64]
    edges: NDArray[np.int64]
    counts: PathCounts

    @property
    def source(self) -> Any:
        """External name of the source."""
        return self.graph.name_of(int(self.order[0]))

    @cached_property
    def _place(self) -> NDArray[np.int64]:
        place = np.full(self.graph.n_vertices, -1, dtype=np.int64)
        place[self.order] = np.arange(len(self.order))
        return place

    def predecessors_of(self, vertex: Any) -> list[Any]:
        """Return the predecessors of a vertex on its shortest paths.

        Parameters
        ----------
        vertex : int or vertex name

        Returns
        -------
        list
            External names; empty for the source and for an unreached vertex.
        """
        v = self.graph.index_of(vertex, "vertex")
        names: list[Any] = self.graph.name_of(
            self.predecessors[self.indptr[v] : self.indptr[v + 1]]
        ).tolist()
        return names

    def count_to(self, target: Any) -> int:
        """Return the exact number of shortest paths to a vertex.

        Parameters
        ----------
        target : int or vertex name

        Returns
        -------
        int
            A Python integer, which does not overflow; 0 for an unreached vertex.
        """
        end = self.graph.index_of(target, "target")
        if self._place[end] < 0:
            return 0
        waiting, behind = [end], {end}
        while waiting:
            v = waiting.pop()
            for u in self.predecessors[self.indptr[v] : self.indptr[v + 1]].tolist():
                if u not in behind:
                    behind.add(u)
                    waiting.append(u)
        paths = {int(self.order[0]): 1}
        for v in sorted(behind, key=self._place.__getitem__):
            if v not in paths:
                before = self.predecessors[self.indptr[v] : self.indptr[v + 1]].tolist()
                paths[v] = sum(paths[u] for u in before)
        return paths[end]


def shortest_path_dag(
    graph: Any,
    source: Any,
    *,
    weight: str | Callable[[Any, Any, Any], Any] | None = "weight",
    threads: int | None = None,
    limit: float | None = None,
    tolerance: float | None = None,
) -> ShortestPathDag:
    """Return all predecessors of every vertex on its shortest paths from one source.

    Parameters
    ----------
    graph : graph_like
        Graph with non-negative weights.
    source : int or vertex name
    weight, threads, limit
        As for :func:`nearfar.sssp`.
    tolerance : float or None
        As for :func:`betweenness`.

    Returns
    -------
    ShortestPathDag

    Raises
    ------
    NegativeWeightError
        For negative weights.
    ZeroCycleError
        If the source reaches a cycle of weight 0.
    VertexError
        If the source is not a vertex of the graph.

    Notes
    -----
    One search, a sort of the distances and a pass over the edges: O(m + n log n).

    Examples
    --------
    >>> import nearfar
    >>> g = nearfar.Graph.from_edges([0, 0, 1, 2], [1, 2, 3, 3])
    >>> nearfar.measures.shortest_path_dag(g, 0).predecessors_of(3)
    [1, 2]
    """
    return _dag(measured(graph, weight), source, threads, limit, tolerance)


def _dag(
    graph: Graph, source: Any, threads: Any, limit: Any, tolerance: Any, targets: Any = None
) -> ShortestPathDag:
    distances, found, ids = _built(graph, source, threads, limit, tolerance, targets)
    edges = found["edges"]
    return ShortestPathDag(
        graph,
        distances,
        found["order"],
        found["indptr"],
        found["predecessors"],
        edges if ids is None else ids[edges].astype(np.int64),
        PathCounts(found["mantissas"], found["exponents"]),
    )


def _built(
    graph: Graph,
    source: Any,
    threads: Any,
    limit: Any,
    tolerance: Any,
    targets: Any = None,
    rows: bool = True,
) -> tuple[NDArray[Any], dict[str, NDArray[Any]], NDArray[Any] | None]:
    """Return distances, arrays of the DAG, and ids of its edges; without rows, only the counts."""
    relative = check_tolerance(graph, tolerance)
    counted, fixed = (graph, None) if relative else in_steps(graph)
    if fixed is not None and (bound := check_limit(limit, graph.weight_dtype)) is not None:
        limit = fixed.steps_within(float(bound), graph.weight_dtype)
    paths = sssp(counted, source, device="cpu", threads=threads, limit=limit, targets=targets)
    distances = paths._host_distances
    solved, ids = simple(counted)
    if solved.weight_dtype != distances.dtype:
        solved = solved.astype(distances.dtype)
    found = _cpu.path_dag(solved.view, paths._source_index, distances, relative, rows)
    refuse_cycle(graph, found["cycle"])
    if fixed is not None:
        distances = fixed.distances(distances, graph.weight_dtype)
    return distances, found, ids


def path_counts(
    graph: Any,
    source: Any,
    *,
    weight: str | Callable[[Any, Any, Any], Any] | None = "weight",
    device: Device = "auto",
    threads: int | None = None,
    limit: float | None = None,
    tolerance: float | None = None,
) -> PathCounts:
    """Count the shortest paths from one source to every vertex.

    Parameters
    ----------
    graph, source, weight, threads, limit, tolerance
        As for :func:`shortest_path_dag`.
    device : {"auto", "cpu", "cuda"}
        ``"auto"`` is the CPU: one source uses one thread block of a GPU.

    Returns
    -------
    PathCounts
        Numbers with separate exponents, since they can exceed the range of floats.

    Raises
    ------
    NegativeWeightError, ZeroCycleError, VertexError
        As for :func:`shortest_path_dag`.

    Notes
    -----
    One search, a sort of the distances and a pass over the edges: O(m + n log n).

    Examples
    --------
    >>> import nearfar
    >>> g = nearfar.Graph.from_edges([0, 0, 1, 2], [1, 2, 3, 3])
    >>> nearfar.measures.path_counts(g, 0).values()
    array([1., 1., 1., 2.])
    """
    solved = measured(graph, weight)
    relative = check_tolerance(solved, tolerance)
    plain = simple(solved if relative else in_steps(solved)[0]).graph
    if takes_device(device, plain, 0, relative):
        from nearfar.measures.centrality.device_shares import ZeroCycleFrom, device_path_counts

        try:
            return PathCounts(*device_path_counts(plain, solved.index_of(source, "source"), limit))
        except ZeroCycleFrom:  # the CPU finds and names the cycle
            pass
    found = _built(solved, source, threads, limit, tolerance, rows=False)[1]
    return PathCounts(found["mantissas"], found["exponents"])


class AllShortestPaths:
    """Iterable of the shortest paths between two vertices.

    Every iteration starts from the first path. Paths are ordered by their vertices from the target
    backwards.

    Parameters
    ----------
    dag : ShortestPathDag
        Shortest paths from the source.
    target : int
        Index of a reached target.

    Attributes
    ----------
    count : int
        Exact number of paths.
    length : int or float
        Length of each path, in units of the weights.
    """

    def __init__(self, dag: ShortestPathDag, target: int) -> None:
        self._dag, self._target = dag, target
        self.count: int = dag.count_to(dag.graph.name_of(target))
        self.length: Any = dag.distances[target].item()

    def __iter__(self) -> Iterator[list[Any]]:
        dag = self._dag
        name_of, start = dag.graph.name_of, int(dag.order[0])
        path = [self._target]
        rows = [iter(self._before(self._target))]
        while rows:
            if path[-1] == start:
                yield [name_of(v) for v in reversed(path)]
            else:
                step = next(rows[-1], None)
                if step is not None:
                    path.append(step)
                    rows.append(iter(self._before(step)))
                    continue
            path.pop()
            rows.pop()

    def _before(self, v: int) -> list[int]:
        found: list[int] = self._dag.predecessors[
            self._dag.indptr[v] : self._dag.indptr[v + 1]
        ].tolist()
        return found

    def __repr__(self) -> str:
        name = self._dag.graph.name_of
        shown = quoted(self.count)
        return (
            f"AllShortestPaths(from {self._dag.source!r} to {name(self._target)!r}, "
            f"count {shown}, length {self.length})"
        )


def all_shortest_paths(
    graph: Any,
    source: Any,
    target: Any,
    *,
    weight: str | Callable[[Any, Any, Any], Any] | None = "weight",
    threads: int | None = None,
    tolerance: float | None = None,
) -> AllShortestPaths:
    """Return all shortest paths between two vertices, with their number.

    Parameters
    ----------
    graph, weight, threads, tolerance
        As for :func:`shortest_path_dag`.
    source, target : int or vertex name

    Returns
    -------
    AllShortestPaths
        Iterable of lists of external names, whose ``count`` is known before the first path. The
        only path from a vertex to itself is that vertex.

    Raises
    ------
    UnreachableError
        If there is no path.
    NegativeWeightError, ZeroCycleError, VertexError
        As for :func:`shortest_path_dag`; the search stops at the target.

    Notes
    -----
    O(m + n log n) at first, then the length of each path.

    Examples
    --------
    >>> import nearfar
    >>> g = nearfar.Graph.from_edges([0, 0, 1, 2], [1, 2, 3, 3])
    >>> paths = nearfar.measures.all_shortest_paths(g, 0, 3)
    >>> paths.count, list(paths)
    (2, [[0, 1, 3], [0, 2, 3]])
    """
    solved = measured(graph, weight)
    end = solved.index_of(target, "target")
    dag = _dag(solved, source, threads, None, tolerance, [target])
    if dag._place[end] < 0:
        raise not_reached(source, target)
    return AllShortestPaths(dag, end)
