"""SciPy's shortest-path functions with nearfar's engine, by changing only the import.

::

    from scipy.sparse.csgraph import dijkstra      ->      from nearfar.csgraph import dijkstra

Signatures, shapes, float64 output, ``inf`` and ``-9999`` are SciPy's. CuPy arrays and cupyx sparse
matrices are accepted too and give CuPy arrays. Every function also takes, by keyword only,

device : {"auto", "cpu", "cuda"}
    Device; "auto" is the device of the arrays.
threads : int or None
    CPU workers; None uses all cores.
method_variant : str
    A method of :func:`nearfar.sssp` or :func:`nearfar.distances`; the default lets nearfar choose.

All methods are exact and return the same bits, so the function's name does not bind the method: it
says what input is accepted. Where SciPy is silently wrong or does not return, these functions
raise; ``docs/how-to/coming-from-scipy.md`` lists each difference with its reason.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from nearfar.csgraph.inputs import adjacency, check_limit, source_indices
from nearfar.csgraph.k_paths import yen
from nearfar.csgraph.rows import (
    Engine,
    NegativeCycleError,
    nearest_source,
    solve_rows,
    warn_negative,
)
from nearfar.csgraph.trees import construct_dist_matrix, reconstruct_path
from nearfar.errors import OptionError

if TYPE_CHECKING:
    from nearfar.csgraph.rows import Device
    from nearfar.graph.graph import Graph

__all__ = [
    "NegativeCycleError",
    "bellman_ford",
    "construct_dist_matrix",
    "dijkstra",
    "floyd_warshall",
    "johnson",
    "reconstruct_path",
    "shortest_path",
    "yen",
]


def __getattr__(name: str) -> Any:
    """Return other names of ``scipy.sparse.csgraph`` from SciPy."""
    from scipy.sparse import csgraph as theirs

    if not name.startswith("_") and hasattr(theirs, name):
        raise AttributeError(
            f"nearfar.csgraph has only shortest paths: use scipy.sparse.csgraph.{name}"
        )
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


def _answer(
    graph: Graph,
    indices: Any,
    return_predecessors: bool,
    engine: Engine,
    *,
    limit: float | None = None,
    anywhere: bool = False,
) -> Any:
    sources, shape = source_indices(indices, graph.n_vertices)
    rows = solve_rows(
        graph, sources, engine, limit=limit, predecessors=return_predecessors, anywhere=anywhere
    )
    shape = (*shape, graph.n_vertices)
    distances = rows.distances.reshape(shape)
    return (distances, rows.predecessors.reshape(shape)) if return_predecessors else distances


def dijkstra(
    csgraph: Any,
    directed: bool = True,
    indices: Any = None,
    return_predecessors: bool = False,
    unweighted: bool = False,
    limit: float = np.inf,
    min_only: bool = False,
    *,
    device: Device = "auto",
    threads: int | None = None,
    method_variant: str = "auto",
) -> Any:
    """Compute distances from some or all vertices, as ``scipy.sparse.csgraph.dijkstra``.

    Parameters
    ----------
    csgraph : array_like, sparse matrix, CuPy array, cupyx sparse matrix or nearfar.Graph
        Shape (n, n). Negative weights bring SciPy's warning, but the answer is exact.
    directed : bool
        False makes edges undirected, with the lighter weight of both directions.
    indices : int or array_like of int
        Sources, of any shape; None means every vertex. Negative indices count from the end.
    return_predecessors : bool
        Return predecessors too.
    unweighted : bool
        Every edge counts 1.
    limit : float
        Inclusive, at least 0; farther pairs have the distance inf.
    min_only : bool
        Return one row with the distance from the nearest source, by one search.
    device, threads, method_variant
        See :mod:`nearfar.csgraph`.

    Returns
    -------
    distances : float64 array, shape indices.shape + (n,), or (n,) with ``min_only``
        inf for unreached.
    predecessors : int32 array of that shape
        With ``return_predecessors``; -9999 for none. The smallest vertex wins among equals.
    sources : int32 array, shape (n,)
        With ``return_predecessors`` and ``min_only``: the nearest source, -9999 for none.

    Raises
    ------
    ValueError
        For a matrix, index or limit that makes no sense; a NaN limit and fractional indices too.
    NegativeCycleError
        If a source reaches a negative cycle.

    Notes
    -----
    O(k (n + m) log n) at worst for k sources.
    """
    engine = Engine(device, threads, method_variant)
    graph = adjacency(csgraph, directed, unweighted)
    bound = check_limit(limit)
    if not min_only:
        try:
            return _answer(graph, indices, return_predecessors, engine, limit=bound)
        finally:
            warn_negative(graph)
    warn_negative(graph)
    sources, _ = source_indices(indices, graph.n_vertices)
    found = nearest_source(graph, sources, engine, limit=bound, predecessors=return_predecessors)
    return found if return_predecessors else found[0]


def bellman_ford(
    csgraph: Any,
    directed: bool = True,
    indices: Any = None,
    return_predecessors: bool = False,
    unweighted: bool = False,
    *,
    device: Device = "auto",
    threads: int | None = None,
    method_variant: str = "auto",
) -> Any:
    """Return the distances with weights of either sign, as ``scipy.sparse.csgraph.bellman_ford``.

    Parameters
    ----------
    csgraph, directed, indices, return_predecessors, unweighted, device, threads, method_variant
        As for :func:`dijkstra`.

    Returns
    -------
    distances, predecessors
        As for :func:`dijkstra`.

    Raises
    ------
    NegativeCycleError
        If a source reaches a negative cycle; the error carries its vertices.

    Notes
    -----
    O(n m) at worst per source with negative weights; without, as :func:`dijkstra`.
    """
    graph = adjacency(csgraph, directed, unweighted)
    return _answer(graph, indices, return_predecessors, Engine(device, threads, method_variant))


def johnson(
    csgraph: Any,
    directed: bool = True,
    indices: Any = None,
    return_predecessors: bool = False,
    unweighted: bool = False,
    *,
    device: Device = "auto",
    threads: int | None = None,
    method_variant: str = "auto",
) -> Any:
    """Return the distances with weights of either sign, as ``scipy.sparse.csgraph.johnson``.

    Parameters
    ----------
    csgraph, directed, indices, return_predecessors, unweighted, device, threads, method_variant
        As for :func:`dijkstra`.

    Returns
    -------
    distances, predecessors
        As for :func:`dijkstra`.

    Raises
    ------
    NegativeCycleError
        If the graph has a negative cycle anywhere.

    Notes
    -----
    O(n m + k (n + m) log n) at worst for k sources.
    """
    graph = adjacency(csgraph, directed, unweighted)
    engine = Engine(device, threads, method_variant)
    return _answer(graph, indices, return_predecessors, engine, anywhere=True)


def floyd_warshall(
    csgraph: Any,
    directed: bool = True,
    return_predecessors: bool = False,
    unweighted: bool = False,
    overwrite: bool = False,
    *,
    device: Device = "auto",
    threads: int | None = None,
    method_variant: str = "auto",
) -> Any:
    """Return all pairs with weights of either sign, as ``scipy.sparse.csgraph.floyd_warshall``.

    Parameters
    ----------
    csgraph, directed, return_predecessors, unweighted, device, threads, method_variant
        As for :func:`dijkstra`.
    overwrite : bool
        Write the distances into csgraph and return it; only for a C-contiguous float64 array.

    Returns
    -------
    distances, predecessors
        As for :func:`dijkstra`, shape (n, n).

    Raises
    ------
    NegativeCycleError
        If the graph has a negative cycle anywhere.
    """
    graph = adjacency(csgraph, directed, unweighted, finite=True)
    engine = Engine(device, threads, method_variant)
    found = _answer(graph, None, return_predecessors, engine, anywhere=True)
    if not (overwrite and _is_plain(csgraph)):
        return found
    csgraph[...] = found[0] if return_predecessors else found
    return (csgraph, found[1]) if return_predecessors else csgraph


def _is_plain(matrix: Any) -> bool:
    return (
        isinstance(matrix, np.ndarray)
        and not isinstance(matrix, np.ma.MaskedArray)
        and matrix.dtype == np.float64
        and matrix.flags.c_contiguous
        and matrix.flags.writeable
    )


def shortest_path(
    csgraph: Any,
    method: str = "auto",
    directed: bool = True,
    return_predecessors: bool = False,
    unweighted: bool = False,
    overwrite: bool = False,
    indices: Any = None,
    *,
    device: Device = "auto",
    threads: int | None = None,
    method_variant: str = "auto",
) -> Any:
    """Compute distances by a function of this module, as ``scipy.sparse.csgraph.shortest_path``.

    Parameters
    ----------
    csgraph, directed, return_predecessors, unweighted, indices, device, threads, method_variant
        As for :func:`dijkstra`.
    method : {"auto", "FW", "D", "BF", "J"}
        Function whose input rules apply: floyd_warshall, dijkstra, bellman_ford or johnson. "auto"
        takes any weights.
    overwrite : bool
        As for :func:`floyd_warshall`, whose method must be named.

    Returns
    -------
    distances, predecessors
        As for :func:`dijkstra`.

    Raises
    ------
    ValueError
        For an unknown method, or indices with ``"FW"``.
    NegativeCycleError
        As for the function of the method.
    """
    common: dict[str, Any] = {
        "directed": directed,
        "return_predecessors": return_predecessors,
        "unweighted": unweighted,
        "device": device,
        "threads": threads,
        "method_variant": method_variant,
    }
    if method == "FW":
        if indices is not None:
            raise OptionError("Cannot specify indices with method == 'FW'.")
        return floyd_warshall(csgraph, overwrite=overwrite, **common)
    if method == "D":
        return dijkstra(csgraph, indices=indices, **common)
    if method == "BF":
        return bellman_ford(csgraph, indices=indices, **common)
    if method in ("J", "auto"):
        return johnson(csgraph, indices=indices, **common)
    raise OptionError(f"unrecognized method '{method}': use 'auto', 'FW', 'D', 'BF' or 'J'")
