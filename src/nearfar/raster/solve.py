"""Compute least costs over a raster from one or several sources."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING, Any

import numpy as np

from nearfar.errors import OptionError, OutOfMemoryError, VertexError, keyword, quoted
from nearfar.graph.dtypes import unreached_value
from nearfar.options import check_limit
from nearfar.raster.raster import Raster
from nearfar.raster.surface import Surface
from nearfar.system.memory import empty, free_memory
from nearfar.system.threads import check_threads

if TYPE_CHECKING:
    from numpy.typing import ArrayLike, NDArray

    from nearfar.options import Device

__all__ = ["corridor", "cost_distance", "cost_distances"]


def cost_distance(
    cost: Raster | ArrayLike | Any,
    sources: Any,
    *,
    initial: ArrayLike | None = None,
    limit: float | None = None,
    targets: Any = None,
    device: Device = "auto",
    threads: int | None = None,
    stats: dict[str, Any] | None = None,
    **raster: Any,
) -> Surface:
    """Compute the least cost of every cell from the nearest of the sources.

    Parameters
    ----------
    cost : Raster or array
        An array is converted by :class:`Raster`, with the further keywords.
    sources : tuple of int, sequence of those, or bool array
        Cells to start from: (row, column), or (plane, row, column).
    initial : array, shape (k,), or None
        Cost at which each source starts, at least 0; by default 0.
    limit : float or None
        Inclusive; cells beyond it are left unreached.
    targets : cells or None
        Stop once all of these are settled; cells beyond the farthest of them are left unreached.
    device : {"auto", "cpu", "cuda", "gpu"}
        ``"auto"`` is the CPU.
    threads : int or None
        None uses all cores.
    stats : dict or None
        Filled with :attr:`Surface.stats`.
    **raster
        Keywords of :class:`Raster`, where ``cost`` is an array.

    Returns
    -------
    Surface

    Raises
    ------
    VertexError
        For a source or target outside the raster, and for a source on a barrier.
    OptionError
        For a bad limit, initial cost or device, or no source.
    NegativeWeightError, GraphError
        As :class:`Raster`.
    OutOfMemoryError
        If the distances do not fit, before they are made.
    VariantUnavailable
        If there is no CUDA device and one is asked for.

    Notes
    -----
    The distances have the same bits on every device and number of threads, those of a search on
    the explicit graph; int32 distances become int64 where a sum does not fit. 4 or 8 bytes per
    cell besides the costs. About O(n) for costs that vary little between neighbours.

    Examples
    --------
    >>> import numpy as np
    >>> import nearfar
    >>> surface = nearfar.raster.cost_distance(np.ones((3, 4)), [(0, 0), (2, 3)])
    >>> surface.allocation.tolist()
    [[0, 0, 0, 1], [0, 0, 1, 1], [0, 1, 1, 1]]
    """
    grid = as_raster(cost, raster)
    threads = check_threads(threads)
    starts = grid.cells(sources, "source")
    if not len(starts):
        raise OptionError("sources is empty: name at least one cell")
    for start in starts:
        if grid.is_barrier(int(start)):
            cell = tuple(int(i) for i in np.unravel_index(start, grid.shape))
            raise VertexError(f"source {cell} is on a barrier: its cost is {grid.cost[cell]}")
    ends = np.empty(0, dtype=np.int64) if targets is None else grid.cells(targets, "target")
    bound = check_limit(limit, grid.dtype)
    begin = _initial(initial, len(starts), grid.dtype)
    if device not in ("auto", "cpu", "cuda", "gpu"):
        raise OptionError(f"{keyword('device')} is {quoted(device)}: give 'auto', 'cpu' or 'cuda'")
    began = time.perf_counter()
    if device in ("cuda", "gpu"):
        from nearfar.raster.cuda import search

        distances, counters = search(grid, starts, begin, bound, ends)
        engine = "tiles@cuda"
    else:
        distances, counters = _search(grid, grid.dtype, starts, begin, bound, ends, threads)
        engine = "tiles@cpu"
    if grid.dtype == np.int32:
        distances, counters = _widened(
            grid, distances, counters, starts, begin, bound, ends, threads
        )
    counters["seconds"] = time.perf_counter() - began
    counters["barriers"] = grid.n_barriers
    if begin is not None:
        begin = begin.astype(distances.dtype)
    if ends.size:
        # Unreached cells are beyond the farthest target.
        farthest = distances.reshape(-1)[ends].max()
        if farthest != unreached_value(distances.dtype):
            bound = farthest.item() if bound is None else min(bound, farthest.item())
    surface = Surface(grid, starts, distances, begin, bound, engine, counters, threads)
    if stats is not None:
        stats.update(counters, engine=engine)
    return surface


def cost_distances(
    cost: Raster | ArrayLike | Any,
    sources: Any,
    *,
    targets: Any = None,
    device: Device = "auto",
    threads: int | None = None,
    limit: float | None = None,
    **raster: Any,
) -> NDArray[Any]:
    """Compute the least costs from each of several sources, by one search per source.

    Parameters
    ----------
    cost, device, threads, limit, **raster
        As for :func:`cost_distance`.
    sources : cells
    targets : cells or None
        Return only the distances of these cells; a search ends once they are settled.

    Returns
    -------
    array, shape (k, targets) or (k, *shape)

    Raises
    ------
    VertexError, OptionError, GraphError
        As :func:`cost_distance`.

    Notes
    -----
    The cost is that of k searches.
    """
    grid = as_raster(cost, raster)
    starts = grid.cells(sources, "source")
    ends = None if targets is None else grid.cells(targets, "target")
    named = None if ends is None else np.stack(np.unravel_index(ends, grid.shape), axis=1)
    rows = []
    for start in starts:
        cell = [int(i) for i in np.unravel_index(start, grid.shape)]
        surface = cost_distance(
            grid, cell, targets=named, device=device, threads=threads, limit=limit
        )
        rows.append(surface.distances if ends is None else surface.distances.reshape(-1)[ends])
    shape = grid.shape if ends is None else (len(ends),)
    if not rows:
        return np.empty((0, *shape), dtype=grid.dtype)
    kind = np.result_type(*rows)
    return np.stack([_in(row, kind) for row in rows])


def corridor(
    cost: Raster | ArrayLike | Any,
    first: Any,
    second: Any,
    *,
    device: Device = "auto",
    threads: int | None = None,
    **raster: Any,
) -> NDArray[np.float64]:
    """Compute the cost of the cheapest path from one place to another through each cell.

    Parameters
    ----------
    cost, device, threads, **raster
        As for :func:`cost_distance`.
    first, second : cells
        Cells of each place.

    Returns
    -------
    float64 array of the raster's shape
        Sum of both surfaces; its minimum is the cost of the cheapest path. inf for cells that
        one of the places does not reach.

    Raises
    ------
    VertexError, OptionError, GraphError
        As :func:`cost_distance`; where a step's cost depends on its direction (``elevation`` or
        ``step="enter"``) the path to the second place is not the reverse of that from it, and the
        call is refused.

    Notes
    -----
    The cost is that of two searches.
    """
    grid = as_raster(cost, raster)
    if grid.step == "enter" or grid.elevation is not None:
        raise OptionError("a corridor needs steps that cost the same both ways: step='mean'")
    sides = [
        cost_distance(grid, place, device=device, threads=threads).as_floats()
        for place in (first, second)
    ]
    total = np.asarray(sides[0], dtype=np.float64) + sides[1]
    return np.where(np.isnan(total), np.inf, total)


def as_raster(cost: Any, keywords: dict[str, Any]) -> Raster:
    """Convert an array to a Raster; a Raster is returned unchanged."""
    if isinstance(cost, Raster):
        if keywords:
            raise OptionError(f"{next(iter(keywords))}: the Raster has it already")
        return cost
    try:
        return Raster(cost, **keywords)
    except TypeError as error:
        if "keyword" not in str(error):
            raise
        name = str(error).rpartition("argument ")[2]
        raise OptionError(f"no option {name}: see nearfar.raster.Raster") from None


def _search(
    grid: Raster,
    dtype: np.dtype[Any],
    starts: NDArray[np.int64],
    initial: NDArray[Any] | None,
    limit: float | None,
    ends: NDArray[np.int64],
    threads: int,
) -> tuple[NDArray[Any], dict[str, Any]]:
    """Return the CPU engine."""
    from nearfar import _cpu

    needed = grid.n_vertices * (dtype.itemsize * (2 if dtype != grid.dtype else 1))
    free = free_memory()
    if needed > free:
        raise OutOfMemoryError(needed, free, "cut the raster into parts, or use dtype='float32'")
    distances = empty(grid.shape, dtype, threads)
    begin = None if initial is None else initial.astype(dtype)
    found = _cpu.raster_search(grid.describe(dtype), distances, starts, begin, limit, ends, threads)
    return distances, dict(found)


def _widened(
    grid: Raster, distances: NDArray[Any], counters: dict[str, Any], *given: Any
) -> tuple[NDArray[Any], dict[str, Any]]:
    """Solve again in 64 bits, if a 32-bit sum may have saturated and some distance needs them."""
    from nearfar import _cpu

    top = np.iinfo(np.int32).max
    flat = distances.reshape(-1)
    farthest = int(flat[_cpu.distance_summary(flat)[1]])
    if farthest + int(grid.greatest_cost) < top:
        return distances, counters
    wide, counters = _search(grid, np.dtype(np.int64), *given)
    needs = ((wide >= top) & (wide != np.iinfo(np.int64).max)).any()
    return (wide if needs else distances), counters


def _in(row: NDArray[Any], dtype: np.dtype[Any]) -> NDArray[Any]:
    """Return a row in a wider integer dtype, unreached cells as that dtype has them."""
    if row.dtype == dtype:
        return row
    return np.where(row == unreached_value(row.dtype), unreached_value(dtype), row.astype(dtype))


def _initial(given: Any, count: int, dtype: np.dtype[Any]) -> NDArray[Any] | None:
    if given is None:
        return None
    values = np.asarray(given)
    if values.ndim == 0:
        values = np.full(count, values)
    if values.shape != (count,):
        raise OptionError(f"initial has shape {values.shape}: give one cost for each of {count}")
    if values.dtype.kind not in "fiu" or not ((values >= 0) & np.isfinite(values)).all():
        raise OptionError("initial: give finite costs of at least 0")
    made = values.astype(dtype)
    if dtype.kind == "i" and (made != values).any():
        raise OptionError(f"initial: the raster's distances are {dtype}, give integers")
    made += dtype.type(0)  # no -0.0
    return made
