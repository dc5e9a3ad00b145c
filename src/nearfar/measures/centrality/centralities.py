"""Measures of mean distance: closeness, harmonic centrality, average length, efficiency.

Each reduces rows of distances block by block (:class:`nearfar.solve.Reduction`) on the CPU or a
GPU, without storing a matrix.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from nearfar.graph.dtypes import unreached_value
from nearfar.graph.given import as_numpy
from nearfar.graph.graph import Graph
from nearfar.graph.turns import TurnGraph
from nearfar.measures.centrality.brandes import draws_nothing, sampled_sources
from nearfar.measures.simple import measured_turns, refuse_unreached
from nearfar.solve.many import distances
from nearfar.solve.steps.request import as_graph_or_turns, check_stats, vertex_indices

_ENTRIES = 1 << 23  # number of distances in a block of rows


def closeness(
    graph: Any,
    vertices: Iterable[Any] | None = None,
    *,
    weight: str | Callable[[Any, Any, Any], Any] | None = "weight",
    device: Literal["auto", "cpu", "cuda"] = "auto",
    threads: int | None = None,
    limit: float | None = None,
    outward: bool = False,
    wf_improved: bool = True,
    samples: int | None = None,
    seed: int | None = None,
    progress: Callable[[float, float], None] | None = None,
) -> NDArray[np.float64]:
    """Compute closeness: the reciprocal of the mean distance from the vertices that reach a vertex.

    Parameters
    ----------
    graph : graph_like or TurnGraph
        Graph with non-negative weights.
    vertices : vertices or None
        Vertices of the result, in this order; None means every vertex.
    weight, device, threads, limit, progress
        As for :func:`nearfar.distances`.
    outward : bool
        Use distances from the vertex instead of distances to it, which differ in directed graphs.
    wf_improved : bool
        Multiply by the share of the graph that is reached (Wasserman and Faust), so that a
        vertex of a small component does not get a high score.
    samples : int or None
        Estimate the values from the distances of this number of random vertices.
    seed : int or None
        Seed of the draw; None gives a different draw in each call.

    Returns
    -------
    float64 array, shape (n,) or (len(vertices),)
        Closeness; 0 for a vertex that no other reaches, or if all distances are 0.

    Raises
    ------
    NegativeWeightError
        For negative weights.
    VertexError, OptionError
        As for :func:`nearfar.distances`.

    Notes
    -----
    One search per vertex, whose row is reduced at once. Sums of integers are exact; floats are
    added in the same fixed order on every device. With ``samples``, one search per sample for the
    values of all vertices (Eppstein and Wang), whose sums are scaled; a vertex that no sample
    reaches has 0.

    References
    ----------
    L. C. Freeman, "Centrality in social networks", Social Networks 1(3), 1979. S. Wasserman,
    K. Faust, "Social network analysis", 1994. D. Eppstein, J. Wang, "Fast approximation of
    centrality", Journal of Graph Algorithms and Applications 8(1), 2004.

    Examples
    --------
    >>> import nearfar
    >>> g = nearfar.Graph.from_edges([0, 1], [1, 2], directed=False)
    >>> nearfar.measures.closeness(g).round(3)
    array([0.667, 1.   , 0.667])
    """
    solved = measured_turns(graph, weight)
    rows = _rows(solved, vertices)
    if solved.n_vertices < 2:
        return np.zeros(len(rows))
    pivots = _drawn(solved.n_vertices, samples, seed)
    call = {"device": device, "threads": threads, "limit": limit, "progress": progress}
    others: Any = solved.n_vertices - 1
    if pivots is None:
        around = _oriented(solved, outward)
        count, total, _ = _reduced(around, rows, "summary", **call)
    else:
        around = _oriented(solved, not outward)
        count, total, _ = _from_pivots(around, pivots, **call)
        count, total, others = count[rows], total[rows], _others(rows, pivots)
    found = np.zeros(len(count))
    np.divide(count, total, out=found, where=total > 0)
    return found * (count / others) if wf_improved else found


def harmonic(
    graph: Any,
    vertices: Iterable[Any] | None = None,
    *,
    weight: str | Callable[[Any, Any, Any], Any] | None = "weight",
    device: Literal["auto", "cpu", "cuda"] = "auto",
    threads: int | None = None,
    limit: float | None = None,
    outward: bool = False,
    samples: int | None = None,
    seed: int | None = None,
    progress: Callable[[float, float], None] | None = None,
) -> NDArray[np.float64]:
    """Compute harmonic centrality: the sum of the reciprocals of the distances to a vertex.

    Parameters
    ----------
    graph, vertices, weight, device, threads, limit, outward, samples, seed, progress
        As for :func:`closeness`.

    Returns
    -------
    float64 array, shape (n,) or (len(vertices),)
        Harmonic centrality; vertices that do not reach a vertex, or are at distance 0, add 0.

    Raises
    ------
    NegativeWeightError
        For negative weights.
    VertexError, OptionError
        As for :func:`nearfar.distances`.

    Notes
    -----
    One search per vertex, whose row is reduced at once in the same fixed order on every device;
    with ``samples`` as for :func:`closeness`.

    References
    ----------
    P. Boldi, S. Vigna, "Axioms for centrality", Internet Mathematics 10(3-4), 2014.

    Examples
    --------
    >>> import nearfar
    >>> g = nearfar.Graph.from_edges([0, 1], [1, 2], directed=False)
    >>> nearfar.measures.harmonic(g)
    array([1.5, 2. , 1.5])
    """
    solved = measured_turns(graph, weight)
    n = solved.n_vertices
    if not n:
        return np.zeros(0)
    rows, pivots = _rows(solved, vertices), _drawn(n, samples, seed)
    call = {"device": device, "threads": threads, "limit": limit, "progress": progress}
    found: NDArray[np.float64]
    if pivots is None:
        around = _oriented(solved, outward)
        found = _reduced(around, rows, "harmonic", **call)
        return found
    around = _oriented(solved, not outward)
    _, _, found = _from_pivots(around, pivots, **call)
    found = found[rows] * ((n - 1) / _others(rows, pivots))
    return found


def average_length(
    graph: Any,
    *,
    weight: str | Callable[[Any, Any, Any], Any] | None = "weight",
    device: Literal["auto", "cpu", "cuda"] = "auto",
    threads: int | None = None,
    samples: int | None = None,
    seed: int | None = None,
    progress: Callable[[float, float], None] | None = None,
) -> float:
    """Return the mean distance over all ordered pairs of different vertices.

    Parameters
    ----------
    graph : graph_like or TurnGraph
    weight, device, threads, progress
        As for :func:`nearfar.distances`.
    samples : int or None
        Estimate the value from the rows of this number of random vertices.
    seed : int or None
        Seed of the draw; None gives a different draw in each call.

    Returns
    -------
    float
        Mean in units of the weights; 0 for a graph of one vertex.

    Raises
    ------
    UnreachableError
        If some vertex does not reach another, so that the mean is infinite; :func:`efficiency` is
        finite.
    NegativeCycleError, OptionError
        As for :func:`nearfar.distances`.

    Notes
    -----
    One search per vertex, whose row is reduced at once.

    Examples
    --------
    >>> import nearfar
    >>> nearfar.measures.average_length(nearfar.Graph.from_edges([0, 1], [1, 0], [2, 4]))
    3.0
    """
    solved = as_graph_or_turns(graph, weight)
    n = solved.n_vertices
    if n < 2:
        return 0.0
    rows = _drawn(n, samples, seed)
    count, total, _ = _reduced(
        solved, rows, "summary", device=device, threads=threads, progress=progress
    )
    advice = "take the largest component, or measures.efficiency"
    refuse_unreached(solved, rows, count, f"the mean distance is infinite: {advice}")
    return float(total.sum()) / (len(count) * (n - 1))


def efficiency(
    graph: Any,
    *,
    weight: str | Callable[[Any, Any, Any], Any] | None = "weight",
    device: Literal["auto", "cpu", "cuda"] = "auto",
    threads: int | None = None,
    samples: int | None = None,
    seed: int | None = None,
    progress: Callable[[float, float], None] | None = None,
) -> float:
    """Compute global efficiency: the mean of ``1 / distance`` over all ordered pairs of vertices.

    Parameters
    ----------
    graph : graph_like or TurnGraph
        Graph with non-negative weights.
    weight, device, threads, progress, samples, seed
        As for :func:`average_length`.

    Returns
    -------
    float
        Pairs without a path, or at distance 0, add 0.

    Raises
    ------
    NegativeWeightError
        For negative weights.
    OptionError
        As for :func:`nearfar.distances`.

    Notes
    -----
    One search per vertex, whose row is reduced at once.

    References
    ----------
    V. Latora, M. Marchiori, "Efficient behavior of small-world networks", Physical Review Letters
    87(19), 2001.

    Examples
    --------
    >>> import nearfar
    >>> nearfar.measures.efficiency(nearfar.Graph.from_edges([0, 1], [1, 0], [2, 4]))
    0.375
    """
    solved = measured_turns(graph, weight)
    n = solved.n_vertices
    if n < 2:
        return 0.0
    rows = _drawn(n, samples, seed)
    found = _reduced(solved, rows, "harmonic", device=device, threads=threads, progress=progress)
    return float(found.sum()) / (len(found) * (n - 1))


def _oriented(graph: Graph | TurnGraph, outward: bool) -> Graph | TurnGraph:
    """Return the graph whose rows are distances from or to a vertex: itself or its transpose."""
    return graph if outward else graph.transpose()


def _drawn(n: int, samples: int | None, seed: int | None) -> NDArray[np.int64] | None:
    """Return a random sample of vertex indices; None for all vertices."""
    return None if draws_nothing(samples, seed) else sampled_sources(n, samples, seed)


def _rows(graph: Graph | TurnGraph, vertices: Any) -> Any:
    if vertices is None:
        return np.arange(graph.n_vertices)
    return vertex_indices(graph, vertices, "vertex")


def _others(rows: Any, pivots: NDArray[np.int64]) -> NDArray[np.int64]:
    """Return for each row the number of pivots other than the row's vertex; at least 1."""
    found: NDArray[np.int64] = np.maximum(len(pivots) - np.isin(rows, pivots), 1)
    return found


def _from_pivots(
    graph: Graph | TurnGraph, pivots: NDArray[np.int64], progress: Any, **call: Any
) -> tuple[NDArray[np.int64], NDArray[np.float64], NDArray[np.float64]]:
    """Return per vertex the number of pivots that reach it, sums of distances and reciprocals."""
    check_stats(None, progress)
    plain, n = graph.without_names(), graph.n_vertices
    count, total, inverse = np.zeros(n, np.int64), np.zeros(n), np.zeros(n)
    step = max(1, _ENTRIES // n)
    for first in range(0, len(pivots), step):
        some = pivots[first : first + step]
        rows = distances(plain, some, **call)
        for pivot, row in zip(some, as_numpy(rows, "distances"), strict=True):
            reached = row != unreached_value(row.dtype)
            reached[pivot] = False
            far = np.where(reached, row, 0).astype(np.float64)
            count += reached
            total += far
            np.add(inverse, 1 / np.where(far > 0, far, np.inf), out=inverse)
        if progress is not None:
            progress(min(first + step, len(pivots)), len(pivots))
    return count, total, inverse


def _reduced(graph: Graph | TurnGraph, rows: Any, kind: str, **call: Any) -> Any:
    """Return the reduction of the rows of vertex indices (None for all), in host memory."""
    found: Any = distances(graph.without_names(), rows, reduce=kind, **call)
    if isinstance(found, tuple):
        return tuple(as_numpy(column, "a reduction") for column in found)
    return as_numpy(found, "a reduction")
