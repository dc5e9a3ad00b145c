"""Accessibility between places: opportunities within a limit, gravity, two-step catchments.

All are sums over a table of distances between places that is computed block by block and never
stored. Gravity weights the supply at each destination by a decreasing function of the distance
(Hansen 1959). The two-step floating catchment area method (Luo and Wang 2003) divides the supply of
each destination by the demand that reaches it, so that a clinic in great demand counts for
less; with a decay this is the enhanced method (Luo and Qi 2009).
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from nearfar.errors import OptionError, listed, quoted
from nearfar.graph.like import GraphLike
from nearfar.options import check_limit
from nearfar.solve.places.given import Places
from nearfar.solve.places.table import TableBlocks, prepared_places
from nearfar.solve.steps.request import check_stats

_DECAYS = (
    "None, 'linear', 'exponential', 'gaussian' (with a limit above 0), ('exponential', scale), "
    "('gaussian', scale), ('table', ascending distances, factors) or a function"
)


def accessibility(
    graph: GraphLike,
    origins: Any,
    destinations: Any,
    supply: Any = None,
    *,
    demand: Any = None,
    limit: float | None = None,
    decay: str | tuple[Any, ...] | Callable[[NDArray[np.float64]], Any] | None = None,
    weight: str | Callable[[Any, Any, Any], Any] | None = "weight",
    to: Literal["edge", "vertex"] = "edge",
    parts: Literal["largest", "all"] = "largest",
    max_distance: float | None = None,
    method: str = "auto",
    device: Literal["auto", "cpu", "cuda", "gpu"] = "auto",
    threads: int | None = None,
    progress: Callable[[float, float], None] | None = None,
) -> Any:
    """Compute the supply at the destinations that each origin reaches.

    Without ``demand`` the score of an origin is the sum of ``supply * decay(distance)``. With
    ``demand`` the scores are those of two-step floating catchments: supply is first divided by the
    sum of ``demand * decay(distance)`` over the origins that reach it, so that the sum of ``demand
    * score`` is the supply that is reached from any origin.

    Parameters
    ----------
    graph, origins, destinations, weight, to, parts, max_distance, method, device, threads
        As for :func:`nearfar.table`.
    supply : array, column of ``destinations``, or None
        One number of at least 0 per destination; None counts destinations.
    demand : array, column of ``origins``, or None
        One number of at least 0 per origin.
    limit : number or None
        Inclusive; farther pairs do not count.
    decay : str, tuple, function or None
        Factor of the supply at a distance d. None: 1. ``"linear"``: ``1 - d / limit``.
        ``"exponential"``: ``exp(-d / limit)``, ``"gaussian"``: ``exp(-d**2 / (2 * limit**2))``, or
        a pair of either with another scale. ``("table", distances, factors)``: linear
        interpolation, constant beyond both ends. A function takes an array of distances.
    progress : callable or None
        Called with the numbers of finished rows and of all rows, of both steps with ``demand``.

    Returns
    -------
    float64 array, shape (len(origins),), or pandas.Series
        A series in the index of the origins if they are in a frame or series.

    Raises
    ------
    OptionError
        For an invalid supply, demand or decay, for neither limit nor decay, and as
        :func:`nearfar.table`.

    Notes
    -----
    The cost of :func:`nearfar.table`, twice with ``demand``, with memory for one block of rows.

    Examples
    --------
    >>> import nearfar
    >>> g = nearfar.Graph.from_edges(
    ...     [0, 1], [1, 2], [40, 30], directed=False, coordinates=[[0, 0], [400, 0], [400, 300]]
    ... )
    >>> homes, clinics = [(0.0, 0.0), (400.0, 150.0)], [(200.0, 0.0), (400.0, 300.0)]
    >>> nearfar.accessibility(g, homes, clinics, [6, 8], limit=40)
    array([ 6., 14.])
    """
    check_stats(None, progress)
    options = {"to": to, "parts": parts, "max_distance": max_distance, "threads": threads}
    solved, starts, ends = prepared_places(graph, weight, origins, destinations, options)
    if limit is None and decay is None:
        raise OptionError("give limit, decay or both: without them every destination counts fully")
    bound = check_limit(limit, np.dtype(np.float64))
    falls = _decay(decay, bound)
    offered = _values(supply, destinations, len(ends.snapped), "supply")
    wanted = None if demand is None else _values(demand, origins, len(starts.snapped), "demand")
    solver = {"method": method, "device": device, "threads": threads}
    table = _Factors(
        TableBlocks(solved, starts.snapped, ends.snapped, limit, solver),
        falls,
        1 if wanted is None else 2,
        progress,
    )
    if wanted is not None:
        reaching = np.zeros(len(offered))
        for part, factors in table:
            reaching += wanted[part] @ factors
        offered = np.divide(offered, reaching, out=np.zeros_like(offered), where=reaching > 0)
    found = np.empty(len(starts.snapped))
    for part, factors in table:
        found[part] = factors @ offered
    return _series(found, starts)


class _Factors:
    """Factors of pairs, block by block; a table of a single block is computed once."""

    def __init__(
        self,
        blocks: TableBlocks,
        decay: Callable[[NDArray[np.float64]], NDArray[np.float64]],
        steps: int,
        progress: Callable[[float, float], None] | None,
    ) -> None:
        self.blocks, self.decay, self.progress = blocks, decay, progress
        self.done, self.all = 0, steps * blocks.shape[0]
        self.only: NDArray[np.float64] | None = None

    def __iter__(self) -> Iterator[tuple[slice, NDArray[np.float64]]]:
        rows = self.blocks.shape[0]
        if self.only is not None:
            self._tell(rows)
            yield slice(0, rows), self.only
            return
        for first, distances in self.blocks:
            reached = np.isfinite(distances)
            factors = np.zeros_like(distances)
            factors[reached] = self.decay(distances[reached])
            if len(factors) == rows:
                self.only = factors
            self._tell(len(factors))
            yield slice(first, first + len(factors)), factors

    def _tell(self, rows: int) -> None:
        self.done += rows
        if self.progress is not None:
            self.progress(self.done, self.all)


def _decay(decay: Any, limit: float | None) -> Callable[[NDArray[np.float64]], NDArray[np.float64]]:
    """Return the function of the distance for a decay."""
    if decay is None:
        return np.ones_like
    if callable(decay):
        return lambda d: _checked(decay, d)
    kind, *rest = (
        (decay,) if isinstance(decay, str) else decay if isinstance(decay, tuple) else [""]
    )
    if kind == "linear" and not rest and limit:
        return lambda d: np.maximum(1 - d / limit, 0.0)
    if kind in ("exponential", "gaussian") and len(rest) <= 1:
        scale = rest[0] if rest else limit
        if isinstance(scale, (int, float, np.number)) and 0 < scale < math.inf:
            if kind == "exponential":
                return lambda d: np.exp(-d / scale)
            return lambda d: np.exp(-(d**2) / (2 * scale**2))
    if kind == "table" and len(rest) == 2:
        at, factors = (np.asarray(points, np.float64) for points in rest)
        rising = at.ndim == 1 and len(at) > 0 and bool((np.diff(at) > 0).all())
        if rising and at.shape == factors.shape and np.isfinite([at, factors]).all():
            return lambda d: np.interp(d, at, factors)
    raise OptionError(f"decay is {quoted(decay)}: give {_DECAYS}")


def _checked(decay: Callable[[Any], Any], d: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return the checked factors of the caller's function for some distances."""
    found = np.asarray(decay(d), np.float64)
    if found.shape != d.shape or not np.isfinite(found).all():
        raise OptionError(
            f"decay returned shape {found.shape} for distances of shape {d.shape}: give a finite "
            "factor for each"
        )
    return found


def _values(given: Any, places: Any, count: int, what: str) -> NDArray[np.float64]:
    """Return one number of at least 0 per place."""
    if given is None:
        return np.ones(count)
    if isinstance(given, str):
        columns = [str(name) for name in getattr(places, "columns", ())]
        if given not in columns:
            shown = listed(columns) or "no columns at all"
            raise OptionError(
                f"{what} is {quoted(given)}: there is no such column; there are {shown}"
            )
        given = places[given]
    try:
        found = np.asarray(given.to_numpy() if hasattr(given, "to_numpy") else given, np.float64)
    except (TypeError, ValueError):
        raise OptionError(f"{what} holds something that is not a number") from None
    if found.shape != (count,):
        raise OptionError(f"{what} has shape {found.shape}: give one number for each of {count}")
    wrong = ~((found >= 0) & (found < np.inf))
    if wrong.any():
        row = int(np.argmax(wrong))
        raise OptionError(f"{what} is {found[row]} in row {row}: give finite numbers of at least 0")
    return found


def _series(found: NDArray[np.float64], starts: Places) -> Any:
    """Return the scores in the index of the origins."""
    if not starts.framed:
        return found
    import pandas

    return pandas.Series(found, index=starts.labels, name="accessibility")
