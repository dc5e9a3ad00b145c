"""Drop-in replacements for SciPy's shortest-path functions: only the import changes.

::

    from scipy.sparse.csgraph import dijkstra      ->      from nearfar.csgraph import dijkstra

Signatures, shapes, float64 output, ``inf`` and ``-9999`` are SciPy's. CuPy arrays and cupyx sparse
matrices are accepted too and give CuPy arrays. Every function also takes, by keyword only,

device : {"auto", "cpu", "cuda"}
    Device of the computation; "auto" is the device of the arrays.
threads : int or None
    CPU workers; None uses all cores.
method_variant : str
    Method of :func:`nearfar.sssp` or :func:`nearfar.distances`; "auto" lets nearfar choose.

All methods are exact and return the same bits, so the name of a function determines the accepted
input but not the method. Where SciPy is silently wrong or does not return, these functions raise;
``docs/how-to/coming-from-scipy.md`` lists each difference with its reason.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from nearfar.csgraph.inputs import check_limit, to_search
from nearfar.csgraph.k_paths import yen
from nearfar.csgraph.rows import (
    Engine,
    NegativeCycleError,
    at_once,
    nearest_source,
    solve_rows,
    warn_negative,
)
from nearfar.csgraph.trees import construct_dist_matrix, reconstruct_path
from nearfar.errors import OptionError

if TYPE_CHECKING:
    from nearfar.csgraph.rows import Device

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
    """Raise an error that points to SciPy for other names of ``scipy.sparse.csgraph``."""
    from scipy.sparse import csgraph as theirs

    if not name.startswith("_") and hasattr(theirs, name):
        raise AttributeError(
            f"nearfar.csgraph has only shortest paths: use scipy.sparse.csgraph.{name}"
        )
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


def _answer(
    csgraph: Any,
    directed: bool,
    indices: Any,
    return_predecessors: bool,
    unweighted: bool,
    engine: Engine,
    *,
    limit: float | None = None,
    anywhere: bool = False,
    finite: bool = False,
    warns: bool = False,
) -> Any:
    """Return the rows of a function; ``warns`` as SciPy's dijkstra of negative weights."""
    tried = at_once(
        csgraph, indices, engine, directed=directed, unweighted=unweighted, finite=finite,
        limit=limit, predecessors=return_predecessors,
    )  # fmt: skip
    found = tried.answer
    if found is None:
        graph = tried.graph or to_search(
            csgraph, directed, unweighted, finite=finite, rows=tried.rows
        )
        try:
            found = solve_rows(
                graph, tried.sources, engine, limit=limit, predecessors=return_predecessors,
                anywhere=anywhere,
            )  # fmt: skip
        finally:
            if warns:
                warn_negative(graph)
    shape = (*tried.shape, found.distances.shape[-1])
    distances = found.distances.reshape(shape)
    return (distances, found.predecessors.reshape(shape)) if return_predecessors else distances


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
        Graph of shape (n, n). Negative weights cause SciPy's warning, but the answer is exact.
    directed : bool
        False makes edges undirected, with the smaller weight of both directions.
    indices : int or array_like of int
        Sources, of any shape; None means every vertex. Negative indices count from the end.
    return_predecessors : bool
        Whether to return predecessors.
    unweighted : bool
        Whether every edge has length 1.
    limit : float
        Inclusive limit, at least 0; farther pairs have the distance inf.
    min_only : bool
        Whether to return one row with the distance from the nearest source, by one search.
    device, threads, method_variant
        See :mod:`nearfar.csgraph`.

    Returns
    -------
    distances : float64 array, shape indices.shape + (n,), or (n,) with ``min_only``
        Distances; inf for unreached vertices.
    predecessors : int32 array of the same shape
        With ``return_predecessors``: predecessors, -9999 for none. Of several possible
        predecessors the smallest is returned.
    sources : int32 array, shape (n,)
        With ``return_predecessors`` and ``min_only``: the nearest source, -9999 for none.

    Raises
    ------
    ValueError
        For an invalid matrix, index or limit, including a NaN limit and fractional indices.
    NegativeCycleError
        If a source reaches a negative cycle.

    Notes
    -----
    O(k (n + m) log n) at worst for k sources; O(k n**2) for few sources of a dense matrix.
    """
    engine = Engine(device, threads, method_variant)
    bound = check_limit(limit)
    if not min_only:
        return _answer(
            csgraph, directed, indices, return_predecessors, unweighted, engine, limit=bound,
            warns=True,
        )  # fmt: skip
    tried = at_once(
        csgraph, indices, engine, directed=directed, unweighted=unweighted, limit=bound,
        predecessors=return_predecessors, joined=True,
    )  # fmt: skip
    found: tuple[Any, Any, Any] | None = tried.answer
    if found is None:
        graph = tried.graph or to_search(
            csgraph, directed, unweighted, finite=False, rows=tried.rows
        )
        warn_negative(graph)
        found = nearest_source(
            graph, tried.sources, engine, limit=bound, predecessors=return_predecessors
        )
    return (found[0], found[1], found[2]) if return_predecessors else found[0]


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
    O(n m) at worst per source with negative weights; otherwise as for :func:`dijkstra`.
    """
    engine = Engine(device, threads, method_variant)
    return _answer(csgraph, directed, indices, return_predecessors, unweighted, engine)


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
    engine = Engine(device, threads, method_variant)
    return _answer(
        csgraph, directed, indices, return_predecessors, unweighted, engine, anywhere=True
    )


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
        Whether to write the distances into ``csgraph`` and return it, which requires a
        C-contiguous float64 array.

    Returns
    -------
    distances, predecessors
        As for :func:`dijkstra`, shape (n, n).

    Raises
    ------
    NegativeCycleError
        If the graph has a negative cycle anywhere.
    """
    engine = Engine(device, threads, method_variant)
    found = _answer(
        csgraph, directed, None, return_predecessors, unweighted, engine, anywhere=True, finite=True
    )
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
    """Compute distances by a named method, as ``scipy.sparse.csgraph.shortest_path``.

    Parameters
    ----------
    csgraph, directed, return_predecessors, unweighted, indices, device, threads, method_variant
        As for :func:`dijkstra`.
    method : {"auto", "FW", "D", "BF", "J"}
        Function whose rules for the input apply: :func:`floyd_warshall`, :func:`dijkstra`,
        :func:`bellman_ford` or :func:`johnson`. "auto" accepts any weights.
    overwrite : bool
        As for :func:`floyd_warshall`; only with ``method="FW"``.

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
