"""Measures of mean distance: closeness, harmonic centrality, average length, efficiency.

Each reduces rows of distances block by block (:class:`nearfar.solve.Reduction`) on the CPU or a
GPU, without storing a matrix.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Literal

import numpy as np

from nearfar.errors import UnreachableError
from nearfar.graph.given import as_numpy
from nearfar.measures.centrality.brandes import draws_nothing, sampled_sources
from nearfar.measures.simple import measured_turns
from nearfar.solve.many import distances
from nearfar.solve.steps.request import as_graph_or_turns

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from numpy.typing import NDArray

    from nearfar.graph.graph import Graph
    from nearfar.graph.turns import TurnGraph

__all__ = ["average_length", "closeness", "efficiency", "harmonic"]


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
    added in the same fixed order on every device.

    References
    ----------
    L. C. Freeman, "Centrality in social networks", Social Networks 1(3), 1979. S. Wasserman,
    K. Faust, "Social network analysis", 1994.

    Examples
    --------
    >>> import nearfar
    >>> g = nearfar.Graph.from_edges([0, 1], [1, 2], directed=False)
    >>> nearfar.measures.closeness(g).round(3)
    array([0.667, 1.   , 0.667])
    """
    solved = _oriented(measured_turns(graph, weight), outward)
    if solved.n_vertices < 2:
        return np.zeros(len(_rows(solved, vertices)))
    rows = _rows(solved, vertices)
    count, total, _ = _reduced(solved, rows, "summary", device, threads, limit, progress)
    found = np.zeros(len(count))
    np.divide(count, total, out=found, where=total > 0)
    return found * (count / (solved.n_vertices - 1)) if wf_improved else found


def harmonic(
    graph: Any,
    vertices: Iterable[Any] | None = None,
    *,
    weight: str | Callable[[Any, Any, Any], Any] | None = "weight",
    device: Literal["auto", "cpu", "cuda"] = "auto",
    threads: int | None = None,
    limit: float | None = None,
    outward: bool = False,
    progress: Callable[[float, float], None] | None = None,
) -> NDArray[np.float64]:
    """Compute harmonic centrality: the sum of the reciprocals of the distances to a vertex.

    Parameters
    ----------
    graph : graph_like or TurnGraph
        Graph with non-negative weights.
    vertices : vertices or None
        Vertices of the result, in this order; None means every vertex.
    weight, device, threads, limit, progress
        As for :func:`nearfar.distances`.
    outward : bool
        Use distances from the vertex instead of distances to it.

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
    One search per vertex, whose row is reduced at once in the same fixed order on every device.

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
    solved = _oriented(measured_turns(graph, weight), outward)
    if not solved.n_vertices:
        return np.zeros(0)
    rows = _rows(solved, vertices)
    found: NDArray[np.float64]
    found = _reduced(solved, rows, "harmonic", device, threads, limit, progress)
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
    count, total, _ = _reduced(solved, rows, "summary", device, threads, None, progress)
    short = np.flatnonzero(count < n - 1)
    if len(short):
        first = short[0] if rows is None else rows[short[0]]
        raise UnreachableError(
            f"vertex {solved.name_of(int(first))!r} reaches {int(count[short[0]]):,} of "
            f"{n - 1:,} others, so the mean distance is infinite: take the largest component, or "
            "measures.efficiency"
        )
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
    found = _reduced(solved, rows, "harmonic", device, threads, None, progress)
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
    from nearfar.solve.steps.request import vertex_indices

    return vertex_indices(graph, vertices, "vertex")


def _reduced(
    graph: Graph | TurnGraph,
    rows: Any,
    kind: str,
    device: Any,
    threads: Any,
    limit: Any,
    progress: Any,
) -> Any:
    """Return the reduction of the rows of vertex indices, None for all, on the host."""
    plain = graph.without_names()
    call: dict[str, Any]
    call = {"device": device, "threads": threads, "limit": limit, "progress": progress}
    found = distances(plain, rows, reduce=kind, **call)
    if isinstance(found, tuple):
        return tuple(as_numpy(column, "a reduction") for column in found)
    return as_numpy(found, "a reduction")
