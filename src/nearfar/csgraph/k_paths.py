"""SciPy's ``yen``, implemented by nearfar's k shortest paths."""

from __future__ import annotations

from typing import Any

import numpy as np

from nearfar import errors
from nearfar.csgraph.inputs import adjacency
from nearfar.csgraph.rows import NO_VERTEX, NegativeCycleError
from nearfar.errors import OptionError, quoted
from nearfar.solve.k_shortest import k_shortest_paths


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
    graph = adjacency(csgraph, directed, unweighted)
    n = graph.n_vertices
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
    try:
        found = k_shortest_paths(graph, int(source), int(sink), int(K), cycles_anywhere=True)
    except errors.NegativeCycleError as error:
        raise NegativeCycleError(error.cycle, error.total) from None
    distances = np.array([length for _, length in found], dtype=np.float64)
    if not return_predecessors:
        return distances
    predecessors = np.full((len(found), n), NO_VERTEX, dtype=np.int32)
    for row, (path, _) in zip(predecessors, found, strict=True):
        row[path[1:]] = path[:-1]
    return distances, predecessors
