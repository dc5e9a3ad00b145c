"""Least-cost paths between many pairs of cells, and alternatives to each."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from nearfar.errors import OptionError, keyword, quoted
from nearfar.graph.dtypes import unreached_value
from nearfar.options import check_kind
from nearfar.raster.raster import Raster
from nearfar.raster.solve import as_raster, cost_distance

if TYPE_CHECKING:
    from collections.abc import Callable

    from numpy.typing import ArrayLike, NDArray

    from nearfar.options import Device

__all__ = ["LeastCostPath", "least_cost_paths", "path_cost"]


class LeastCostPath(NamedTuple):
    """Path with its cost and its cells from source to target, shape (length, ndim)."""

    cost: Any
    cells: NDArray[np.int64]


def least_cost_paths(
    cost: Raster | ArrayLike | Any,
    pairs: Any,
    k: int = 1,
    *,
    penalty: float = 2.0,
    apart: int = 1,
    device: Device = "auto",
    threads: int | None = None,
    progress: Callable[[float, float], None] | None = None,
    **raster: Any,
) -> list[list[LeastCostPath]]:
    """Compute least-cost paths between pairs of cells, and alternatives to each.

    Parameters
    ----------
    cost, device, threads, **raster
        As for :func:`cost_distance`.
    pairs : sequence of (source, target)
        Cells as (row, column) or (plane, row, column).
    k : int
        Paths per pair. The first costs least. Each further one costs least after the costs of all
        cells near those found before it were multiplied by ``penalty``, once for each of them; a
        pair may get fewer than k different ones. The k cheapest paths of a raster in the strict
        sense would differ by only a few cells.
    penalty : float
        Factor above 1.
    apart : int
        Distance in cells from an earlier path, along each axis, within which costs are multiplied.
    progress : callable or None
        Called as ``progress(done, all)`` after each search.

    Returns
    -------
    list of lists of LeastCostPath
        For each pair, by increasing cost; empty where the target is not reached. Costs are those
        of the raster as given.

    Raises
    ------
    VertexError, OptionError, GraphError
        As :func:`cost_distance`, and for a bad k, penalty or distance.

    Notes
    -----
    Pairs of one source share its search, which ends once their targets are settled. Every further
    path takes a separate search.

    Examples
    --------
    >>> import numpy as np
    >>> import nearfar
    >>> found = nearfar.raster.least_cost_paths(np.ones((5, 9)), [((2, 0), (2, 8))], k=2, apart=0)
    >>> [float(path.cost) for path in found[0]]
    [8.0, 8.82842712474619]
    """
    grid = as_raster(cost, raster)
    if isinstance(k, bool) or not isinstance(k, int | np.integer) or k < 1:
        raise OptionError(f"k is {quoted(k)}: give an integer of at least 1")
    check_kind("least_cost_paths", "penalty", penalty, "float")
    if penalty <= 1:
        raise OptionError(f"{keyword('penalty')} is {quoted(penalty)}: give a factor above 1")
    if isinstance(apart, bool) or not isinstance(apart, int | np.integer) or apart < 0:
        raise OptionError(f"{keyword('apart')} is {quoted(apart)}: give a number of cells")
    ends = [_pair(grid, pair) for pair in pairs]
    by_source: dict[int, list[int]] = {}
    for i, (source, _) in enumerate(ends):
        by_source.setdefault(source, []).append(i)
    searches, done = len(by_source) + (k - 1) * len(ends), 0

    def count(searched: int) -> None:
        nonlocal done
        done += searched
        if progress is not None:
            progress(done, searches)

    options: dict[str, Any] = {"device": device, "threads": threads}
    found: list[list[LeastCostPath]] = [[] for _ in ends]
    for source, which in by_source.items():
        targets = [ends[i][1] for i in which]
        cells = [grid._cell(target) for target in targets]
        surface = cost_distance(grid, grid._cell(source), targets=cells, **options)
        for i, target, cell in zip(which, targets, cells, strict=True):
            if surface._distance(target) < float("inf"):
                found[i].append(LeastCostPath(surface._values[cell], surface._path(target)))
        count(1)
    for paths in found if k > 1 else []:
        if paths:
            _alternatives(grid, paths, k, penalty, int(apart), options)
        count(k - 1)
    return found


def path_cost(raster: Raster | ArrayLike, cells: ArrayLike) -> Any:
    """Compute the cost of a path, with the roundings of a search.

    Parameters
    ----------
    raster : Raster or array
    cells : array, shape (length, ndim)
        Neighbouring cells in their order.

    Returns
    -------
    number
        In the raster's dtype, int64 where a sum does not fit int32; inf, or the maximum of an
        integer dtype, across a barrier or a corner that may not be cut.

    Raises
    ------
    OptionError
        If two consecutive cells are not neighbours.
    """
    from nearfar import _cpu

    if not isinstance(raster, Raster):
        raster = Raster(raster)
    places = raster.cells(cells)
    total, end = _cpu.raster_path_cost(raster._describe(), places)
    if end < len(places):
        a, b = (raster._cell(int(at)) for at in places[end - 1 : end + 1])
        raise OptionError(f"cells {a} and {b} of the path are not neighbours")
    wide = unreached_value(np.dtype(np.int64))
    if raster.dtype == np.int32 and np.iinfo(np.int32).max <= total < wide:
        return np.int64(total)  # finite, but beyond 32 bits
    return raster.dtype.type(min(total, unreached_value(raster.dtype)))


def _alternatives(
    grid: Raster,
    paths: list[LeastCostPath],
    k: int,
    penalty: float,
    apart: int,
    options: dict[str, Any],
) -> None:
    """Add up to k - 1 further paths with the ends of the first, and sort all by cost."""
    # Penalties may not fit int32.
    values = grid.cost.astype(np.int64) if grid.dtype == np.int32 else grid.cost.copy()
    top = values.dtype.type(_greatest(values.dtype))
    values[~grid._passable(grid.cost)] = unreached_value(values.dtype)
    seen = {paths[0].cells.tobytes()}
    ends = (tuple(paths[0].cells[0].tolist()), tuple(paths[0].cells[-1].tolist()))
    newest = paths[0].cells
    for _ in range(k - 1):
        near = np.zeros(grid.shape, dtype=bool)
        for shift in np.ndindex(*(2 * apart + 1,) * grid.ndim):
            cells = newest + np.array(shift) - apart
            inside = ((cells >= 0) & (cells < grid.shape)).all(axis=1)
            near[tuple(cells[inside].T)] = True
        near &= values < top
        with np.errstate(over="ignore"):
            dearer = np.minimum(values[near] * np.float64(penalty), top)
        values[near] = dearer.astype(values.dtype)
        surface = cost_distance(grid._with_cost(values), ends[0], targets=[ends[1]], **options)
        newest = surface.path_to(ends[1])
        if newest.tobytes() not in seen:
            seen.add(newest.tobytes())
            paths.append(LeastCostPath(path_cost(grid, newest), newest))
    paths.sort(key=lambda path: path.cost)


def _greatest(dtype: np.dtype[Any]) -> float:
    """Return a large cost whose sums stay finite on most paths."""
    return float(np.iinfo(dtype).max // 4096 if dtype.kind == "i" else np.finfo(dtype).max / 1e9)


def _pair(grid: Raster, pair: Any) -> tuple[int, int]:
    try:
        source, target = pair
    except (TypeError, ValueError):
        raise OptionError(f"pairs: {quoted(pair)} is not a (source, target)") from None
    first = [grid.cells(end, role) for end, role in ((source, "source"), (target, "target"))]
    if any(len(cells) != 1 for cells in first):
        raise OptionError(f"pairs: {quoted(pair)} is not one source and one target")
    return int(first[0][0]), int(first[1][0])
