"""A few numbers of each row instead of the row: counts, sums, maxima, the nearest, histograms."""

from __future__ import annotations

import math
from dataclasses import dataclass
from itertools import pairwise
from typing import TYPE_CHECKING, Any

import numpy as np

from nearfar import _cpu
from nearfar.cuda.row_figures import row_figures
from nearfar.errors import OptionError, keyword, quoted
from nearfar.graph.dtypes import unreached_value
from nearfar.graph.graph import Graph
from nearfar.graph.saturation import widened
from nearfar.registry import Figures
from nearfar.solve.arrays import external_names
from nearfar.solve.sinks import InMemory
from nearfar.system.devices import runtime, several
from nearfar.system.devices.arrays import is_device_array, module_of, to_host

if TYPE_CHECKING:
    from numpy.typing import NDArray

__all__ = ["ReducingSink", "Reduction", "result_bytes"]

_AT_ONCE = 1 << 18  # entries reduced at once, which stay in the cache
_ON_THE_WAY = 40  # bytes per entry that reducing rows on a device takes
_PLAIN = ("count", "sum", "mean", "max", "summary", "harmonic")
_UNADDED = ("count", "max")
_FEW = (*_UNADDED, "sum", "mean", "summary")


@dataclass(frozen=True, slots=True)
class Reduction:
    """What to keep of each row instead of the row.

    The vertices that count are those reached (within the limit) apart from the source itself; with
    ``targets``, those of the targets that are reached, the source included if it is one of them.

    Attributes
    ----------
    kind : {"count", "sum", "mean", "max", "summary", "harmonic", "nearest", "histogram"}
        ``count``: how many, int64. ``sum`` and ``mean``: of their distances, float64 (mean is NaN
        when there are none; closeness is ``1 / mean``). Integers are added exactly; floats in
        float64 by halves: entry i and entry i + half, until one is left, so the sum is the same
        bits on every device. ``max``: the greatest distance
        (eccentricity), ``-1`` when there are none. ``summary``: count, sum and max of one pass, as
        three arrays. ``harmonic``: the sum of ``1 / distance``, float64, added like a sum of
        floats; distances of 0 do not count. ``nearest``: the ``k`` nearest as ``(vertices,
        distances)``, both of shape ``(rows, k)``; equal distances in order of the vertex's
        index; -1 and unreached fill up. A graph with names gives them as a NumPy array of objects,
        with None for -1. ``histogram``: how many per half-open bin of the edges, shape ``(rows,
        len(edges) - 1)``.
    k : int
        For ``nearest``.
    edges : tuple of float
        For ``histogram``, ascending.
    """

    kind: str
    k: int = 0
    edges: tuple[float, ...] = ()

    @staticmethod
    def parse(given: Any) -> Reduction:
        """From ``"mean"``, ``"nearest:5"``, ``("histogram", edges)`` or ``"histogram:0,10,20"``.

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
        # More digits than memory has bytes cannot be a number to convert, or to divide.
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

    def sink(
        self,
        rows: NDArray[np.int64],
        columns: NDArray[np.int64] | None,
        graph: Graph,
        stay: bool = False,
        threads: int = 1,
    ) -> ReducingSink:
        """A sink that keeps this of each row; with ``stay`` on the device that solves."""
        return ReducingSink(self, rows, columns, graph, stay, threads)


def result_bytes(reduction: Reduction, rows: int) -> int:
    """Bytes of a reduction of so many rows, if its values have 64 bits."""
    each = {"nearest": 2 * reduction.k, "summary": 3, "histogram": len(reduction.edges) - 1}
    return 8 * rows * each.get(reduction.kind, 1)


class ReducingSink(InMemory):
    """Reduces each block as it comes, where it is: rows on a device are never copied to the host.

    With ``stay`` the result is left on the device, else its few numbers per row are fetched.
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
        """Remember the dtype."""
        self.dtype = dtype

    def memory(self, first: int, count: int) -> NDArray[Any] | None:
        """Rows are solved into memory of their own."""
        return None

    def put(self, number: int, first: int, rows: Any) -> None:
        """Reduce the block."""
        self.keep(number, self.of_rows(first, rows))

    def keep(self, number: int, parts: list[Any]) -> None:
        """Take what is kept of a block."""
        self.blocks[number] = parts

    @property
    def few(self) -> bool:
        """Whether what is kept follows from how many are reached, their sum and the greatest."""
        whole = self.columns is None and not self.graph.n_negative
        return whole and self.reduction.kind in _FEW

    def of_rows(self, first: int, rows: Any, figures: Any = None) -> list[Any]:
        """What is kept of rows, a few at a time: on the host a signal is seen between them.

        ``figures`` are those of :class:`nearfar.registry.Answer`, if there are any.
        """
        width = max(rows.shape[1], 1)
        if figures is not None and self.few:
            count, total, most = figures
            farthest = int(most.max()) if len(most) else 0
            if farthest * width < 2**63 or self.reduction.kind in _UNADDED:
                found = self._of_columns(
                    count - 1, total.astype(np.float64), most.astype(rows.dtype)
                )
                return [self._kept(found)]
        if module_of(rows) is np:
            step = _AT_ONCE // width
        elif self.few and rows.dtype == np.int32:
            step = len(rows)  # nothing is made on the way
        else:  # as many as what is made of them on the way has room for
            step = int(runtime.memory()[0] // (2 * _ON_THE_WAY * width))
        return [
            self._kept(self._reduced(first + low, rows[low : low + max(step, 1)]))
            for low in range(0, max(len(rows), 1), max(step, 1))
        ]

    def _reduced(self, first: int, rows: Any) -> Any:
        xp, none = module_of(rows), unreached_value(np.dtype(rows.dtype))
        kind = self.reduction.kind
        alone = kind in ("nearest", "histogram", "harmonic")
        # The source does not count. Where no weight is negative it adds nothing to sum and maximum.
        one_less = self.columns is None
        if one_less and (alone or self.graph.n_negative):
            rows[xp.arange(len(rows)), xp.asarray(self.rows[first : first + len(rows)])] = none
            one_less = False
        if kind == "nearest":
            return self._nearest(xp, rows, none)
        if kind == "histogram":
            return self._histogram(xp, rows, none)
        if kind == "harmonic":
            reached = rows != none
            with np.errstate(divide="ignore", over="ignore"):
                inverse = xp.where(reached & (rows != 0), 1 / rows.astype(np.float64), 0.0)
            return _sums_by_halves(xp, inverse, reached)
        return self._of_columns(*self._figures(rows, int(one_less)))

    def of_figures(self, figures: Figures) -> Any:
        """What is kept of a block from a method that made no rows."""
        kind = self.reduction.kind
        if kind == "nearest":
            return self._kept((figures.vertices, figures.distances))
        if kind == "summary":
            return figures.counts, figures.totals, figures.most
        one = {"histogram": figures.bins, "count": figures.counts, "max": figures.most}
        one |= {"mean": figures.means}
        return self._kept(one.get(kind, figures.totals))

    def _of_columns(self, count: Any, total: Any, farthest: Any) -> Any:
        """Of counts, sums, which may be written over, and greatest distances."""
        kind = self.reduction.kind
        if kind == "count":
            return count
        if kind in ("max", "summary"):
            farthest = np.where(count > 0, farthest, farthest.dtype.type(-1))
            return farthest if kind == "max" else (count, total, farthest)
        if kind == "mean":
            none = count <= 0
            np.divide(total, count, out=total, where=~none)
            total[none] = np.nan
        return total

    def _kept(self, part: Any) -> Any:
        """Few numbers per row: where the result is to lie."""
        if isinstance(part, tuple):
            return tuple(self._kept(one) for one in part)
        if self.home is None or not runtime.is_device_array(part):
            return part
        with runtime.on_device(self.home):
            return several.here(part)

    def _figures(self, rows: Any, less: int) -> tuple[Any, Any, Any]:
        """How many entries of each row are reached, their sum, and the greatest of them.

        On the host, wherever the rows are; ``less`` entries, of distance 0, do not count.
        """
        xp = module_of(rows)
        total: Any
        if xp is np:
            count, total = np.empty(len(rows), np.int64), np.empty(len(rows), np.float64)
            least, most = np.empty(len(rows), rows.dtype), np.empty(len(rows), rows.dtype)
            whole = np.ascontiguousarray(rows)
            _cpu.row_figures(whole, count, least, most, total, self.threads)
        else:
            count, total, least, most = row_figures(rows)
        count -= less
        some = count > 0
        if rows.dtype.kind == "i":
            farthest = 0
            if some.any():
                farthest = max(int(most[some].max()), -int(least[some].min()))
            # The device adds in 64 bits, the host in 128.
            fits = xp is np or farthest * rows.shape[1] < 2**63
            total = total.astype(np.float64) if fits else None
        if total is None and rows.dtype.kind == "i" and self.reduction.kind not in _UNADDED:
            total = self._figures(to_host(rows), less)[1]
        if total is None and self.reduction.kind not in _UNADDED:
            reached = rows != unreached_value(np.dtype(rows.dtype))
            total = to_host(_sums_by_halves(xp, rows, reached))
        return count, total, most

    def _histogram(self, xp: Any, rows: Any, none: Any) -> Any:
        """Differences of how many entries are below each edge."""
        integer = rows.dtype.kind == "i"
        below = xp.empty((len(rows), len(self.reduction.edges)), dtype=np.int64)
        for i, edge in enumerate(self.reduction.edges):
            bound = edge
            if integer:  # exact beyond 2**53 too
                low, high = int(np.iinfo(rows.dtype).min), int(none)
                bound = high if edge >= high else max(math.ceil(max(edge, low)), low)
            below[:, i] = xp.count_nonzero(
                rows < rows.dtype.type(bound) if integer else rows < np.float64(bound), axis=1
            )
        return below[:, 1:] - below[:, :-1]

    def _nearest(self, xp: Any, rows: Any, none: Any) -> tuple[Any, Any]:
        k, width = self.reduction.k, rows.shape[1]
        if self.columns is not None:  # equal distances in order of the vertex, not of the column
            rows = rows[:, xp.asarray(self._by_vertex)]
        found = min(k, width)
        vertices = xp.full((len(rows), k), -1, dtype=np.int64)
        values = xp.full((len(rows), k), none, dtype=rows.dtype)
        if found == 0 or len(rows) == 0:
            return vertices, values
        if xp is np and found < width // 8:
            order = _nearest_columns(rows, found)
            near = np.take_along_axis(rows, order, axis=1)
        else:
            order = xp.argsort(rows, axis=1, kind="stable")[:, :found]
            near = xp.take_along_axis(rows, order, axis=1)
        sorted_columns = None if self.columns is None else self.columns[self._by_vertex]
        names = order if sorted_columns is None else xp.asarray(sorted_columns)[order]
        vertices[:, :found] = xp.where(near == none, -1, names)
        values[:, :found] = near
        return vertices, values

    def finish(self) -> Any:
        """One array, the two of ``nearest``, or the three of ``summary``."""
        parts = [part for number in sorted(self.blocks) for part in self.blocks[number]]
        if self.reduction.kind == "summary":
            columns = zip(*parts, strict=True)
            return tuple(self._home(_joined(list(column))) for column in columns)
        if self.reduction.kind != "nearest":
            return self._home(_joined(parts))
        wide = np.result_type(*(values.dtype for _, values in parts))
        vertices = _joined([vertices for vertices, _ in parts])
        near = _joined([widened(values, wide) for _, values in parts])
        return self._home(external_names(self.graph, vertices)), self._home(near)

    def _home(self, found: Any) -> Any:
        """On the device when the graph came from there, else on the host."""
        if self.home is None or found.dtype == object:  # names
            return to_host(found)
        with runtime.on_device(self.home):
            return runtime.upload(found)


def _joined(parts: list[Any]) -> Any:
    """The rows of all parts, on the host if some are or if they come from several devices.

    There they are copied part by part, so that a signal is seen between.
    """
    if len({int(part.device.id) if is_device_array(part) else -1 for part in parts}) > 1:
        parts = [to_host(part) for part in parts]
    xp = module_of(parts[0])
    if xp is not np:
        return xp.concatenate(parts)
    dtype = np.result_type(*{part.dtype for part in parts})
    out = np.empty((sum(map(len, parts)), *parts[0].shape[1:]), dtype=dtype)
    at = 0
    for part in parts:
        out[at : at + len(part)] = part
        at += len(part)
    return out


def _sums_by_halves(xp: Any, rows: Any, reached: Any) -> Any:
    """Sums of the reached entries, float64; the same bits on every device."""
    some = xp.where(reached, rows, rows.dtype.type(0)).astype(np.float64)
    width = rows.shape[1]
    while width > 1:
        half = (width + 1) // 2
        some[:, : width - half] += some[:, half:width]
        width = half
    return some[:, 0].copy() if width else xp.zeros(len(rows), dtype=np.float64)


def _nearest_columns(rows: NDArray[Any], k: int) -> NDArray[Any]:
    """The k least entries of each row in order, the first of equals first, without sorting rows."""
    order = np.empty((len(rows), k), dtype=np.int64)
    last = np.partition(rows, k - 1, axis=1)[:, k - 1]
    for i, row in enumerate(rows):
        near = np.flatnonzero(row < last[i])
        equal = np.flatnonzero(row == last[i])[: k - len(near)]
        near = near[np.argsort(row[near], kind="stable")]
        order[i, : len(near)], order[i, len(near) :] = near, equal
    return order
