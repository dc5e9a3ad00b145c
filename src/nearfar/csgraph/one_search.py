"""One search on the bare arrays of a SciPy matrix: neither validated nor packed beforehand.

To validate a matrix as a Graph and to pack its edges costs as much as one search. So one pass at
the speed of memory looks whether the edges are usual ones, and with long rows copies weights that
are small whole numbers into a byte or two each; whatever is unusual (a negative or infinite weight,
an index out of range) sends the matrix the long way, which says what is wrong with it. NaN weights
improve nothing, which makes them the non-edges that they are to SciPy.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from nearfar.csgraph.device_inputs import lies_on_device
from nearfar.csgraph.inputs import check_limit, source_indices
from nearfar.csgraph.rows import DENSE, NO_VERTEX
from nearfar.graph.build import on_device
from nearfar.graph.graph import Graph
from nearfar.solve.one import check_threads
from nearfar.system.memory import empty_on_huge_pages
from nearfar.system.threads import on_threads

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from nearfar.csgraph.rows import Engine

__all__ = ["search_once"]

#: With more edges than this, and fewer per vertex than DENSE, workers share the search.
SHARED = 1 << 18

#: From this many edges per vertex on, searches from many sources share the reading of rows.
LONG_ROWS = 16


def _search(
    arrays: tuple[Any, Any, Any],
    source: int,
    row: NDArray[np.float64],
    bound: float | None,
    workers: int,
) -> bool:
    """Fill a row with the distances from a source; False where the matrix is an unusual one."""
    from nearfar import _cpu

    limit = None if bound is None else float(bound)
    stats = _cpu.search_matrix(*arrays, source, row, limit, workers)
    steps = max(len(arrays[0]) - 2, 1)
    if stats is None or stats["greatest_weight"] * steps >= np.finfo(np.float64).max:
        return False
    if limit is not None:
        _cpu.mask_above(row, limit)
    return True


def _each(
    arrays: tuple[Any, Any, Any], sources: NDArray[np.int64], bound: float | None, threads: int
) -> NDArray[np.float64] | None:
    """A row per source, each by a search of its own; None where the matrix is an unusual one."""
    rows = empty_on_huge_pages((len(sources), len(arrays[0]) - 1), np.float64)

    def search(place: int) -> bool:
        return _search(arrays, int(sources[place]), rows[place], bound, 1)

    if not search(0):
        return None
    usual = on_threads(lambda i: search(i + 1), len(sources) - 1, threads)
    return rows if all(usual) else None


def search_once(
    csgraph: Any, indices: Any, limit: Any, predecessors: bool, engine: Engine
) -> tuple[NDArray[np.float64], NDArray[np.int32] | None] | None:
    """Distances in a directed matrix as it is, and predecessors; None where it does not fit.

    Parameters
    ----------
    csgraph : sparse matrix of float64, shape (n, n)
        Any other input is left to the long way.
    indices : int or array_like of int
    limit : number
    predecessors : bool
    engine : Engine

    Returns
    -------
    distances : float64 array, shape (n,), or (k, n) for k > 1 sources
    predecessors : int32 array, shape (n,), or None

    Raises
    ------
    OptionError
        For a limit or a source that makes no sense.
    """
    if isinstance(csgraph, Graph) or not hasattr(csgraph, "tocsr") or indices is None:
        return None
    if lies_on_device(csgraph) or on_device(getattr(csgraph, "data", None)) or on_device(indices):
        return None
    if csgraph.dtype != np.float64 or np.size(indices) == 0:
        return None
    if engine.device == "cuda" or engine.method != "auto":
        return None
    if len(csgraph.shape) != 2 or csgraph.shape[0] != csgraph.shape[1]:
        return None
    csr = csgraph.tocsr()
    n, m = csr.shape[0], len(csr.indices)
    arrays = csr.indptr, csr.indices, csr.data
    usual = all(isinstance(a, np.ndarray) and a.flags.c_contiguous for a in arrays)
    if not usual or any(a.dtype != np.int32 for a in arrays[:2]):
        return None
    if len(csr.data) != m or len(csr.indptr) != n + 1:
        return None
    threads = check_threads(engine.threads)
    workers = threads if SHARED < m < DENSE * n else 1
    sources, _ = source_indices(indices, n)
    bound = check_limit(limit)
    if len(sources) > 1:
        # Many sources in long rows run together, and predecessors of many rows too.
        if predecessors or m >= LONG_ROWS * n:
            return None
        rows = _each(arrays, sources, bound, threads)
        return None if rows is None else (rows, None)
    distances = empty_on_huge_pages(n, np.float64)
    source = int(sources[0])
    if not _search(arrays, source, distances, bound, workers):
        return None
    if not predecessors:
        return distances, None
    from nearfar import _cpu

    before = np.empty(n, dtype=np.int32)
    _cpu.predecessors(_cpu.GraphView(*arrays), source, distances, False, before)
    before[before < 0] = NO_VERTEX
    return distances, before
