"""Reductions of rows to a few numbers: counts, sums, maxima, nearest vertices and histograms.

A reduction is a monoid over the columns of a row, given by :func:`identity`, :func:`combine` for
the partial results of two parts, and :func:`finish`. Partial results come from variants that do not
materialise rows, or from the rows of a block on the host or a device.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

import numpy as np
from numpy.typing import NDArray

from nearfar.errors import OptionError, keyword, quoted
from nearfar.graph.dtypes import unreached_value
from nearfar.graph.graph import Graph
from nearfar.graph.saturation import widened
from nearfar.registry import FIGURES, UNADDED, Partial
from nearfar.solve.arrays import external_names, row_figures
from nearfar.solve.rows.sinks import Sink
from nearfar.system.devices import runtime, several
from nearfar.system.devices.arrays import as_dtype, is_device_array, module_of, to_host

_AT_ONCE = 1 << 18  # entries reduced at a time, which fit in the cache
_ON_THE_WAY = 40  # temporary bytes per entry for reducing rows on a device
_PLAIN = ("count", "sum", "mean", "max", "summary", "harmonic")
#: Functions that combine parts of the same rows; nearest vertices are merged instead.
_JOINS = {"counts": np.add, "totals": np.add, "most": np.maximum, "bins": np.add}


@dataclass(frozen=True, slots=True)
class Reduction:
    """Quantity that is kept of each row instead of the row.

    It includes the vertices reached within the limit except the source itself, or with ``targets``
    the reached targets, including the source if it is one of them.

    Attributes
    ----------
    kind : {"count", "sum", "mean", "max", "summary", "harmonic", "nearest", "histogram"}
        ``count``: number of vertices, int64. ``sum`` and ``mean``: of the distances, float64, with
        the same bits on every device; the mean of no distances is NaN. ``max``: greatest distance,
        unreached if there is none. ``summary``: count, sum and max, as three arrays. ``harmonic``:
        sum of ``1 / distance`` over distances above 0, float64. ``nearest``: the ``k`` nearest
        vertices as ``(vertices, distances)`` of shape ``(rows, k)``, ties in order of the index,
        padded with -1 (None among names) and unreached. ``histogram``: number of vertices per
        half-open bin, shape ``(rows, len(edges) - 1)``.
    k : int
        Number of vertices for ``nearest``.
    edges : tuple of float
        Ascending edges of the bins for ``histogram``.
    """

    kind: str
    k: int = 0
    edges: tuple[float, ...] = ()

    @staticmethod
    def parse(given: Any) -> Reduction:
        """Parse ``"mean"``, ``"nearest:5"``, ``("histogram", edges)`` or ``"histogram:0,10,20"``.

        Raises
        ------
        OptionError
            For anything else.
        """
        kind, rest = "", given
        if isinstance(given, str):
            kind, _, rest = given.partition(":")
        elif isinstance(given, tuple) and len(given) == 2 and isinstance(given[0], str):
            kind, rest = given
        # Longer numbers exceed any memory, and Python refuses to convert very long ones.
        if kind == "nearest" and isinstance(rest, str) and rest.isdecimal() and len(rest) < 20:
            if int(rest) > 0:
                return Reduction("nearest", k=int(rest))
        elif kind == "histogram":
            try:
                edges = tuple(map(float, rest.split(",") if isinstance(rest, str) else rest))
            except (TypeError, ValueError):
                edges = ()
            if len(edges) >= 2 and all(a < b for a, b in pairwise(edges)):
                return Reduction("histogram", edges=edges)
            raise OptionError(
                f"{keyword('reduce')} is {quoted(given)}: give ascending edges, as in "
                "histogram:0,10,20"
            )
        elif isinstance(given, str) and given in _PLAIN:
            return Reduction(given)
        raise OptionError(
            f"{keyword('reduce')} is {quoted(given)}: use {', '.join(map(repr, _PLAIN))}, "
            "'nearest:k' or 'histogram:0,10,20'"
        )


def result_bytes(reduction: Reduction, rows: int) -> int:
    """Return an upper bound on the bytes of the reduction of a number of rows."""
    each = {"nearest": 2 * reduction.k, "summary": 3, "histogram": len(reduction.edges) - 1}
    return 8 * rows * each.get(reduction.kind, 1)


def identity(reduction: Reduction, rows: int, dtype: np.dtype[Any]) -> Partial:
    """Return the partial results of zero columns."""
    if reduction.kind == "nearest":
        none = np.empty((rows, 0), dtype=np.int64)
        return Partial(vertices=none, distances=none.astype(dtype))
    if reduction.kind == "histogram":
        return Partial(bins=np.zeros((rows, len(reduction.edges) - 1), dtype=np.int64))
    least = -np.inf if dtype.kind == "f" else np.iinfo(dtype).min
    zeros = np.zeros(rows, dtype=np.int64)
    return Partial(zeros, zeros.astype(np.float64), np.full(rows, least, dtype=dtype))


def combine(reduction: Reduction, one: Partial, other: Partial) -> Partial:
    """Combine the partial results of two sets of columns of the same rows."""
    if reduction.kind != "nearest":
        joined = {
            name: join(getattr(one, name), getattr(other, name))
            for name, join in _JOINS.items()
            if getattr(one, name) is not None
        }
        return Partial(**joined)
    xp = module_of(other.distances)
    wide = np.result_type(one.distances.dtype, other.distances.dtype)
    parts = [widened(part.distances, wide) for part in (one, other)]
    names = xp.concatenate([one.vertices, other.vertices], axis=1)
    return nearest_columns(xp.concatenate(parts, axis=1), names, reduction.k)


def finish(reduction: Reduction, found: Partial) -> Any:
    """Return the result: one array, the two of ``nearest``, or the three of ``summary``."""
    kind = reduction.kind
    if kind == "nearest":
        return found.vertices, found.distances
    if kind in ("histogram", "count"):
        return found.bins if kind == "histogram" else found.counts
    if kind in ("max", "summary"):
        none = unreached_value(np.dtype(found.most.dtype))
        most = np.where(found.counts > 0, found.most, none)
        return most if kind == "max" else (found.counts, found.totals, most)
    if kind == "mean":
        means = np.full(len(found.counts), np.nan)
        return np.divide(found.totals, found.counts, out=means, where=found.counts > 0)
    return found.totals


class ReducingSink(Sink):
    """Sink that reduces each block on its device; rows are never copied to the host.

    With ``stay`` the result stays on the device; otherwise it is copied to the host.
    """

    def __init__(
        self,
        reduction: Reduction,
        rows: NDArray[np.int64],
        columns: NDArray[np.int64] | None,
        graph: Graph,
        stay: bool = False,
        threads: int = 1,
    ) -> None:
        self.threads = threads
        self.reduction, self.rows, self.columns, self.graph = reduction, rows, columns, graph
        self.on_device = True
        self._by_vertex = None if columns is None else np.argsort(columns, kind="stable")
        self.home = runtime.device().ordinal if stay else None
        self.blocks: dict[int, list[Any]] = {}

    def start(self, shape: tuple[int, int], dtype: np.dtype[Any]) -> None:
        """Store the dtype."""
        self.dtype = dtype

    def put(self, number: int, first: int, rows: Any) -> None:
        """Reduce the block."""
        self.keep(number, self.of_rows(first, rows))

    def keep(self, number: int, partials: list[Partial]) -> None:
        """Store the partial results of a block of consecutive rows."""
        self.blocks[number] = [self._kept(finish(self.reduction, part)) for part in partials]

    def of_rows(self, first: int, rows: Any) -> list[Partial]:
        """Reduce rows, some at a time, so that signals are handled in between on the host."""
        width = max(rows.shape[1], 1)
        kind = self.reduction.kind
        plain = self.columns is None and not self.graph.n_negative and kind in FIGURES
        if module_of(rows) is np:
            step = _AT_ONCE // width
        elif plain and rows.dtype == np.int32:
            step = len(rows)  # no copy is made
        else:  # as many rows as there is memory for copies
            step = int(runtime.memory()[0] // (2 * _ON_THE_WAY * width))
        return [
            self._reduced(first + low, rows[low : low + max(step, 1)])
            for low in range(0, max(len(rows), 1), max(step, 1))
        ]

    def _reduced(self, first: int, rows: Any) -> Partial:
        xp, none = module_of(rows), unreached_value(np.dtype(rows.dtype))
        kind = self.reduction.kind
        alone = kind in ("nearest", "histogram", "harmonic")
        # The source is excluded; without negative weights it adds nothing to sum and maximum.
        one_less = self.columns is None
        if one_less and (alone or self.graph.n_negative):
            rows[xp.arange(len(rows)), xp.asarray(self.rows[first : first + len(rows)])] = none
            one_less = False
        if kind == "nearest":
            return self._nearest(xp, rows)
        if kind == "histogram":
            return Partial(bins=self._histogram(xp, _comparable(rows), none))
        if kind == "harmonic":
            rows = _comparable(rows)
            reached = rows != none
            with np.errstate(divide="ignore", over="ignore"):
                inverse = xp.where(reached & (rows != 0), 1 / as_dtype(rows, np.float64), 0.0)
            return Partial(totals=_sums_by_halves(xp, inverse, reached))
        return self._figures(rows, int(one_less))

    def _kept(self, part: Any) -> Any:
        """Move a partial result to the device of the result."""
        if isinstance(part, tuple):
            return tuple(self._kept(one) for one in part)
        if self.home is None or not runtime.is_device_array(part):
            return part
        with runtime.on_device(self.home):
            return several.here(part)

    def _figures(self, rows: Any, less: int) -> Partial:
        """Compute count, sum and maximum on the host, excluding ``less`` entries of distance 0."""
        count, total, _, most = row_figures(rows, self.threads)
        if total is None and self.reduction.kind not in UNADDED:
            if rows.dtype.kind == "i":
                return self._figures(to_host(rows), less)
            reached = rows != unreached_value(np.dtype(rows.dtype))
            total = to_host(_sums_by_halves(module_of(rows), rows, reached))
        count -= less
        return Partial(count, total, most)

    def _histogram(self, xp: Any, rows: Any, none: Any) -> Any:
        """Return the number of entries per bin, as differences of cumulative counts."""
        integer = rows.dtype.kind == "i"
        below = xp.empty((len(rows), len(self.reduction.edges)), dtype=np.int64)
        for i, edge in enumerate(self.reduction.edges):
            bound = edge
            if integer:  # exact even beyond 2**53
                low, high = int(np.iinfo(rows.dtype).min), int(none)
                bound = high if edge >= high else max(math.ceil(max(edge, low)), low)
            below[:, i] = xp.count_nonzero(
                rows < rows.dtype.type(bound) if integer else rows < np.float64(bound), axis=1
            )
        return below[:, 1:] - below[:, :-1]

    def _nearest(self, xp: Any, rows: Any) -> Partial:
        columns = self.columns
        if columns is None:
            return nearest_columns(rows, None, self.reduction.k)
        # Equal distances are ordered by vertex, not by column.
        rows = rows[:, xp.asarray(self._by_vertex)]
        return nearest_columns(rows, xp.asarray(columns[self._by_vertex]), self.reduction.k)

    def finish(self) -> Any:
        """Return one array, the two of ``nearest``, or the three of ``summary``."""
        parts = [part for number in sorted(self.blocks) for part in self.blocks[number]]
        if not isinstance(parts[0], tuple):
            return self._home(_joined(parts))
        columns = [_joined(column) for column in zip(*parts, strict=True)]
        if self.reduction.kind == "nearest":
            columns[0] = external_names(self.graph, columns[0])
        return tuple(self._home(column) for column in columns)

    def _home(self, found: Any) -> Any:
        """Move the result to the device if the graph is on one, otherwise to the host."""
        if self.home is None or found.dtype == object:  # names
            return to_host(found)
        with runtime.on_device(self.home):
            return runtime.upload(found)


def _joined(parts: Sequence[Any]) -> Any:
    """Concatenate rows in the widest of their dtypes, on their device if it is the same for all.

    Otherwise they are copied to the host part by part, so that signals are handled in between.
    """
    wide = np.result_type(*{part.dtype for part in parts})
    parts = [widened(part, wide) for part in parts]
    if len({int(part.device.id) if is_device_array(part) else -1 for part in parts}) > 1:
        parts = [to_host(part) for part in parts]
    xp = module_of(parts[0])
    if xp is not np:
        return xp.concatenate(parts)
    out = np.empty((sum(map(len, parts)), *parts[0].shape[1:]), dtype=wide)
    at = 0
    for part in parts:
        out[at : at + len(part)] = part
        at += len(part)
    return out


def _comparable(rows: Any) -> Any:
    """Return rows in a form in which CuPy's kernels compare denormal entries correctly."""
    narrow = rows.dtype == np.float32 and is_device_array(rows)
    return as_dtype(rows, np.float64) if narrow else rows


def _sums_by_halves(xp: Any, rows: Any, reached: Any) -> Any:
    """Return the float64 sums of the reached entries, with the same bits on every device."""
    some = as_dtype(xp.where(reached, rows, rows.dtype.type(0)), np.float64)
    width = rows.shape[1]
    while width > 1:
        half = (width + 1) // 2
        some[:, : width - half] += some[:, half:width]
        width = half
    return some[:, 0].copy() if width else xp.zeros(len(rows), dtype=np.float64)


def nearest_columns(rows: Any, names: Any, k: int) -> Partial:
    """Return the k least entries of each row in order, equal ones in order of column."""
    xp, none = module_of(rows), unreached_value(np.dtype(rows.dtype))
    count, width = rows.shape
    found = min(k, width)
    vertices = xp.full((count, k), -1, dtype=np.int64)
    values = xp.full((count, k), none, dtype=rows.dtype)
    if found and count:
        if xp is np and found < width // 8:
            order = _least_columns(rows, found)
        else:
            order = xp.argsort(rows, axis=1, kind="stable")[:, :found]
        near = xp.take_along_axis(rows, order, axis=1)
        if names is not None:
            order = xp.take_along_axis(names, order, axis=1) if names.ndim == 2 else names[order]
        vertices[:, :found] = xp.where(near == none, -1, order)
        values[:, :found] = near
    return Partial(vertices=vertices, distances=values)


def _least_columns(rows: NDArray[Any], k: int) -> NDArray[Any]:
    """Return the k least entries of each row in order without sorting whole rows."""
    # All entries up to the k-th least, in order of column; more than k if values are equal.
    places = np.flatnonzero(rows <= np.partition(rows, k - 1, axis=1)[:, k - 1 : k])
    row, column = np.divmod(places, rows.shape[1])
    order = np.lexsort((rows.reshape(-1)[places], row))
    first = np.searchsorted(row, np.arange(len(rows)))
    found: NDArray[Any] = column[order[first[:, None] + np.arange(k)]]
    return found
