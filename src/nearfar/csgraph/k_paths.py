"""SciPy's ``yen``, implemented by nearfar's k shortest paths."""

from __future__ import annotations

from typing import Any

import numpy as np

from nearfar import _cpu, errors
from nearfar.csgraph.inputs import Rows, adjacency, host_rows
from nearfar.csgraph.rows import NO_VERTEX, NegativeCycleError
from nearfar.errors import OptionError, quoted
from nearfar.solve.k_shortest import k_shortest_paths

#: Vertices and edges up to which making a graph and choosing a method take longer than a search.
_SMALL = 1 << 13


def yen(
    csgraph: Any,
    source: int,
    sink: int,
    K: int,
    *,
    directed: bool = True,
    return_predecessors: bool = False,
    unweighted: bool = False,
) -> Any:
    """Return the K shortest loopless paths between two vertices, as ``scipy.sparse.csgraph.yen``.

    Parameters
    ----------
    csgraph, directed, unweighted
        As for :func:`dijkstra`.
    source, sink : int
        First and last vertex.
    K : int
        Maximum number of paths, at least 0.
    return_predecessors : bool
        Whether to return predecessors.

    Returns
    -------
    distances : float64 array, shape (M,)
        Lengths of the paths in ascending order; M <= K.
    predecessors : int32 array, shape (M, n)
        With ``return_predecessors``: row i has the predecessors on path i, -9999 elsewhere.

    Raises
    ------
    ValueError
        If source or sink is not an integer or not a vertex, or K is negative.
    NegativeCycleError
        If the graph has a negative cycle.

    Notes
    -----
    See :func:`nearfar.solve.k_shortest.k_shortest_paths`.
    """
    rows = host_rows(csgraph, unweighted)
    graph = None
    if rows is None:
        graph = adjacency(csgraph, directed, unweighted)
        n = graph.n_vertices
    else:
        n = len(rows.indptr) - 1
    for name, value in (("source", source), ("sink", sink), ("K", K)):
        if isinstance(value, (bool, np.bool_)) or not isinstance(value, (int, np.integer)):
            raise OptionError(f"{name} is {quoted(value)}: give an integer")
    if not (0 <= source < n and 0 <= sink < n):
        raise OptionError(
            "For csgraph with shape (N, N), must have 0 <= source < N and 0 <= sink < N. "
            f"Got N={n}, source={source}, sink={sink}."
        )
    if K < 0:
        raise OptionError(f"K is {K}: give 0 or more")
    ends = int(source), int(sink)
    found = _of_small(rows, *ends, int(K), unweighted) if directed and rows is not None else None
    if found is None:
        if graph is None:
            graph = adjacency(csgraph, directed, unweighted, rows=rows)
        try:
            found = k_shortest_paths(graph, *ends, int(K), cycles_anywhere=True)
        except errors.NegativeCycleError as error:
            raise NegativeCycleError(error.cycle, error.total) from None
    distances = np.array([length for _, length in found], dtype=np.float64)
    if not return_predecessors:
        return distances
    predecessors = np.full((len(found), n), NO_VERTEX, dtype=np.int32)
    for row, (path, _) in zip(predecessors, found, strict=True):
        row[path[1:]] = path[:-1]
    return distances, predecessors


def _of_small(
    rows: Rows, source: int, sink: int, k: int, unweighted: bool
) -> list[tuple[list[int], float]] | None:
    """Return the paths in a small matrix without making a graph, which takes longer; or None."""
    n, m = len(rows.indptr) - 1, len(rows.indices)
    if n + m > _SMALL or rows.data.dtype.kind not in "biuf" or rows.indptr.dtype != np.int32:
        return None
    data = np.ones(m) if unweighted else np.ascontiguousarray(rows.exact())
    if data.dtype != np.float64 or len(data) != m or not np.isfinite(data).all():
        return None
    remaining, goal = np.empty(n), np.array([sink], dtype=np.int64)
    arrays = np.ascontiguousarray(rows.indptr), np.ascontiguousarray(rows.indices), data
    if arrays[1].dtype != np.int32 or not _cpu.small_rows(
        *arrays, "against", goal, False, None, remaining, None, None
    ):
        return None
    view = _cpu.GraphView(*arrays)
    found: list[tuple[list[int], float]] = _cpu.k_shortest_paths(
        view, remaining, source, sink, k, True
    )
    return found
