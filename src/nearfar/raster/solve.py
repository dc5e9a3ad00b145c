"""Compute least costs over a raster from one or several sources."""

from __future__ import annotations

import contextlib
import inspect
import os
import threading
import time
from typing import TYPE_CHECKING, Any

import numpy as np

from nearfar.errors import (
    DistanceOverflowError,
    OptionError,
    OutOfMemoryError,
    VertexError,
    did_you_mean,
    keyword,
    quoted,
)
from nearfar.graph.dtypes import unreached_value
from nearfar.options import check_kind, check_limit
from nearfar.raster.raster import Raster
from nearfar.raster.surface import Surface
from nearfar.system.devices.arrays import to_host
from nearfar.system.memory import empty, shortage
from nearfar.system.output import replacing
from nearfar.system.threads import check_threads

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from numpy.typing import ArrayLike, NDArray

    from nearfar.options import Device

__all__ = ["corridor", "cost_distance", "cost_distances"]

_INTERVAL = 0.2  # seconds between two calls of progress
_KEYWORDS = [*inspect.signature(Raster).parameters][1:]


def cost_distance(
    cost: Raster | ArrayLike | Any,
    sources: Any,
    *,
    initial: ArrayLike | None = None,
    limit: float | None = None,
    targets: Any = None,
    device: Device = "auto",
    threads: int | None = None,
    memory: int | None = None,
    out: NDArray[Any] | str | os.PathLike[str] | None = None,
    progress: Callable[[float, float], None] | None = None,
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
        ``"auto"`` is the CPU. On a GPU, the CPU continues the search while few tiles wait, as in a
        long corridor; ``stats["handed_over"]`` counts how often.
    threads : int or None
        CPU workers; None uses all cores of this process.
    memory : int or None
        Bytes that the search may use on a GPU; None means all free memory. A raster on the host
        that needs more is solved by parts, which are copied to the GPU in turn.
    out : array, path or None
        Destination of the distances: a contiguous array of the raster's shape and dtype, a memory
        map for instance, or the path of a ``.npy`` file, which is mapped into memory. Costs and
        distances in such files may be larger than memory.
    progress : callable or None
        Called as ``progress(tiles reached, tiles)`` several times a second from another thread; on
        a GPU after each part.
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
    DistanceOverflowError
        If a distance is too large for floats or int64.
    VariantUnavailable
        If a CUDA device is requested and there is none.

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
    for start in starts[~grid._may_enter(starts)]:
        cell = grid._cell(start)
        raise VertexError(f"source {cell} is on a barrier: its cost is {grid._cost_of(cell)}")
    ends = np.empty(0, dtype=np.int64) if targets is None else grid.cells(targets, "target")
    if targets is not None and not len(ends):
        raise OptionError("targets is empty: name at least one cell, or omit it")
    bound = check_limit(limit, grid.dtype)
    check_kind("cost_distance", "memory", memory, "int | None")
    begin = _initial(initial, len(starts), grid.dtype)
    if device not in ("auto", "cpu", "cuda", "gpu"):
        raise OptionError(f"{keyword('device')} is {quoted(device)}: give 'auto', 'cpu' or 'cuda'")
    if isinstance(out, str | os.PathLike):
        return _into_file(
            out, grid, sources, initial=initial, limit=limit, targets=targets, device=device,
            threads=threads, memory=memory, progress=progress, stats=stats,
        )  # fmt: skip
    place = None if out is None else _place(out, grid)
    began = time.perf_counter()
    if device in ("cuda", "gpu"):
        from nearfar.raster.parts import search

        distances, counters = search(
            grid, starts, begin, bound, ends, memory,
            lambda: _room(grid, grid.dtype, threads) if place is None else place, progress,
            threads,
        )  # fmt: skip
        engine = "tiles@cuda"
        if place is not None and distances is not place:
            place[...] = to_host(distances)
            distances = place
    else:
        distances, counters = _search(
            grid, grid.dtype, starts, begin, bound, ends, threads, place, progress
        )
        engine = "tiles@cpu"
    if grid.dtype == np.int32:
        distances, counters = _widened(
            grid, to_host(distances), counters, starts, begin, bound, ends, threads
        )
        if place is not None and distances is not place:
            raise OptionError("distances do not fit int32: give dtype='int64', and out in it")
    if bound is None:
        _refuse_overflow(grid, distances, starts, begin, ends, threads)
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
    progress: Callable[[float, float], None] | None = None,
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
    progress : callable or None
        Called as ``progress(done, all)`` after each search.

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
    if ends is not None and not len(ends):
        return np.empty((len(starts), 0), dtype=grid.dtype)
    named = None if ends is None else np.stack(np.unravel_index(ends, grid.shape), axis=1)
    rows = []
    for start in starts:
        cell = grid._cell(start)
        surface = cost_distance(
            grid, cell, targets=named, device=device, threads=threads, limit=limit
        )
        rows.append(surface._values if ends is None else surface._values.reshape(-1)[ends])
        if progress is not None:
            progress(len(rows), len(starts))
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
        ``step="enter"``) the path to the second place is not the reverse of the path from it, and
        the call is refused.

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
    for name in keywords:
        if name not in _KEYWORDS:
            near = did_you_mean(name, _KEYWORDS)
            raise OptionError(f"no option {quoted(name)}: see nearfar.raster.Raster{near}")
    if isinstance(cost, Raster):
        if keywords:
            raise OptionError(f"{next(iter(keywords))}: the Raster has it already")
        cost._look_again()
        return cost
    return Raster(cost, **keywords)


def _search(
    grid: Raster,
    dtype: np.dtype[Any],
    starts: NDArray[np.int64],
    initial: NDArray[Any] | None,
    limit: float | None,
    ends: NDArray[np.int64],
    threads: int,
    out: NDArray[Any] | None = None,
    progress: Callable[[float, float], None] | None = None,
) -> tuple[NDArray[Any], dict[str, Any]]:
    """Return distances and counters of the CPU engine."""
    from nearfar import _cpu

    distances = _room(grid, dtype, threads) if out is None else out
    begin = None if initial is None else initial.astype(dtype)
    reached = np.zeros(1, dtype=np.uint64)
    described = grid._describe(dtype)
    with _watched(progress, reached, _cpu.raster_tiles(described["shape"])):
        found = _cpu.raster_search(
            described, distances, starts, begin, limit, ends, reached, threads
        )
    return distances, dict(found)


def _room(grid: Raster, dtype: np.dtype[Any], threads: int) -> NDArray[Any]:
    """Allocate a host array for the distances, if it fits."""
    needed = grid.n_vertices * (dtype.itemsize * (2 if dtype != grid.dtype else 1))
    if (free := shortage(needed)) is not None:
        raise OutOfMemoryError(
            needed, free, "give out='distances.npy', a file, or use dtype='float32'"
        )
    return empty(grid.shape, dtype, threads)


@contextlib.contextmanager
def _watched(
    progress: Callable[[float, float], None] | None, reached: NDArray[np.uint64], tiles: int
) -> Iterator[None]:
    """Report a counter of the engine from another thread while the block runs."""
    if progress is None:
        yield
        return
    ended = threading.Event()

    def report() -> None:
        while not ended.wait(_INTERVAL):
            progress(int(reached[0]), tiles)

    beside = threading.Thread(target=report, name="nearfar's progress", daemon=True)
    beside.start()
    try:
        yield
    finally:
        ended.set()
        beside.join()
    progress(tiles, tiles)


def _place(out: Any, grid: Raster) -> NDArray[Any]:
    """Return an array for the distances, after checking it."""
    size = " x ".join(map(str, grid.shape))
    if (
        not isinstance(out, np.ndarray)
        or (out.shape, out.dtype) != (grid.shape, grid.dtype)
        or not (out.flags.c_contiguous and out.flags.writeable)
    ):
        raise OptionError(f"out: give a writable, contiguous array of {size} {grid.dtype}")
    for name, given in (("costs", grid._host_cost), ("elevation", grid.elevation)):
        if given is not None and np.may_share_memory(out, given):
            raise OptionError(f"out shares memory with the {name}: give another array")
    return out


def _into_file(path: Any, grid: Raster, sources: Any, **given: Any) -> Surface:
    """Solve into a new memory-mapped file, which appears once it is complete."""
    name = os.fspath(path)
    if not name.endswith(".npy"):
        raise OptionError(f"out is {quoted(name)}: distances are mapped from .npy files")
    with replacing(name) as temporary:
        made = np.lib.format.open_memmap(temporary, mode="w+", dtype=grid.dtype, shape=grid.shape)
        surface = cost_distance(grid, sources, out=made, **given)
        made.flush()
    return surface


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


def _refuse_overflow(
    grid: Raster,
    distances: NDArray[Any],
    starts: NDArray[np.int64],
    initial: NDArray[Any] | None,
    ends: NDArray[np.int64],
    threads: int,
) -> None:
    """Raise if a cell is unreached only because its distance does not fit the dtype."""
    dtype = distances.dtype
    longest = grid._greatest_step() * grid.n_vertices
    longest += 0.0 if initial is None else float(initial.max())
    if longest < float(np.iinfo(dtype).max if dtype.kind == "i" else np.finfo(dtype).max):
        return
    passable, _ = _search(grid._scaled(), np.dtype(np.float64), starts, None, None, ends, threads)
    lost = np.isfinite(passable) & (to_host(distances) == unreached_value(dtype))
    which = np.flatnonzero(lost) if not ends.size else ends[lost.reshape(-1)[ends]]
    if len(which):
        cell = grid._cell(which[0])
        way = "give dtype='float64'" if dtype == np.float32 else "scale the costs down"
        raise DistanceOverflowError(f"the distance of cell {cell} does not fit {dtype}: {way}")


def _in(row: NDArray[Any], dtype: np.dtype[Any]) -> NDArray[Any]:
    """Return a row in a wider integer dtype, with that dtype's value for unreached cells."""
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
    with np.errstate(over="ignore"):
        made = values.astype(dtype)
    if not np.isfinite(made).all():
        raise OptionError(f"initial: {values.max()} does not fit the raster's {dtype}")
    if dtype.kind == "i" and (made != values).any():
        raise OptionError(f"initial: the raster's distances are {dtype}, give integers")
    made += dtype.type(0)  # no -0.0
    return made
