"""Where the rows of a many-source run go: an array, a sparse matrix, or a reduction of each row."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import pairwise
from typing import TYPE_CHECKING, Any, Protocol

import numpy as np

from nearfar.errors import DistanceOverflowError, OptionError
from nearfar.graph import Graph, unreached_value

if TYPE_CHECKING:
    from numpy.typing import NDArray

__all__ = ["ArraySink", "CsrSink", "Reduction", "Sink", "widened"]


def widened(values: NDArray[Any], dtype: np.dtype[Any]) -> NDArray[Any]:
    """The distances in another dtype, unreached staying unreached."""
    if values.dtype == dtype:
        return values
    wide = values.astype(dtype)
    wide[values == unreached_value(values.dtype)] = unreached_value(np.dtype(dtype))
    return wide


class Sink(Protocol):
    """Takes blocks of rows in order of their numbers, each number once."""

    def start(self, shape: tuple[int, int], dtype: np.dtype[Any]) -> None:
        """Prepare for rows of this shape and dtype."""

    def has(self, number: int) -> bool:
        """Whether a block is there already, from a run that was interrupted."""

    def memory(self, first: int, count: int) -> NDArray[Any] | None:
        """Memory that the solver may write rows ``first`` to ``first + count`` to, or None."""

    def put(self, number: int, first: int, rows: NDArray[Any]) -> None:
        """Take a solved block."""

    def finish(self) -> Any:
        """The result for the caller."""


class ArraySink:
    """A new array, or the caller's."""

    def __init__(self, given: Any = None) -> None:
        self.given, self.array = given, given

    def start(self, shape: tuple[int, int], dtype: np.dtype[Any]) -> None:
        """Check the caller's array, or make one."""
        if self.given is None:
            self.array = np.empty(shape, dtype=dtype)
            return
        if not isinstance(self.given, np.ndarray):
            kind = type(self.given).__name__
            raise OptionError(f"out is a {kind}: give an array, a path or 'csr'")
        wide = np.dtype(np.float64 if dtype.kind == "f" else np.int64)
        if self.given.shape != shape or self.given.dtype not in (dtype, wide):
            raise OptionError(
                f"out has shape {self.given.shape} and dtype {self.given.dtype}: "
                f"give {shape} and {dtype} (or {wide})"
            )
        if not self.given.flags.writeable:
            raise OptionError("out is read-only: give an array that can be written to")

    def has(self, number: int) -> bool:
        """Nothing is there before the run."""
        return False

    def memory(self, first: int, count: int) -> NDArray[Any] | None:
        """The rows themselves, if they lie one after the other."""
        part: NDArray[Any] = self.array[first : first + count]
        return part if part.flags.c_contiguous else None

    def put(self, number: int, first: int, rows: NDArray[Any]) -> None:
        """Copy what was not written in place; change to 64 bits when the rows did."""
        part = self.array[first : first + len(rows)]
        if rows.base is part or (rows.size and np.shares_memory(rows, part)):
            return
        if rows.dtype.itemsize > self.array.dtype.itemsize:
            if self.given is not None:
                raise DistanceOverflowError(
                    f"a distance does not fit {self.array.dtype}: give out of dtype {rows.dtype}"
                )
            if first == 0 and len(rows) == len(self.array):
                self.array = rows
                return
            self.array = widened(self.array, rows.dtype)
        self.array[first : first + len(rows)] = widened(rows, self.array.dtype)

    def finish(self) -> Any:
        """The array."""
        return self.array


class CsrSink:
    """A sparse matrix of the pairs that are reached, zeros included."""

    def __init__(self, width: int) -> None:
        self.width = width
        self.counts: list[NDArray[Any]] = []
        self.columns: list[NDArray[Any]] = []
        self.values: list[NDArray[Any]] = []

    def start(self, shape: tuple[int, int], dtype: np.dtype[Any]) -> None:
        """Remember the shape."""
        self.shape, self.dtype = shape, dtype

    def has(self, number: int) -> bool:
        """Nothing is there before the run."""
        return False

    def memory(self, first: int, count: int) -> NDArray[Any] | None:
        """Rows are solved into memory of their own."""
        return None

    def put(self, number: int, first: int, rows: NDArray[Any]) -> None:
        """Keep the reached entries."""
        reached = rows != unreached_value(rows.dtype)
        self.counts.append(np.count_nonzero(reached, axis=1))
        self.columns.append(np.nonzero(reached)[1].astype(np.int64))
        self.values.append(rows[reached])

    def finish(self) -> Any:
        """A ``scipy.sparse.csr_array``."""
        from scipy.sparse import csr_array

        counts = np.concatenate([np.zeros(1, np.int64), *self.counts])
        none: list[NDArray[Any]] = [np.empty(0, self.dtype)]
        values = np.concatenate(self.values or none)
        columns = np.concatenate(self.columns) if self.columns else np.empty(0, np.int64)
        return csr_array((values, columns, np.cumsum(counts)), shape=self.shape)


@dataclass(frozen=True, slots=True)
class Reduction:
    """What to keep of each row instead of the row.

    The vertices that count are those reached (within the limit) apart from the source itself; with
    ``targets``, those of the targets that are reached, the source included if it is one of them.

    Attributes
    ----------
    kind : {"count", "sum", "mean", "max", "nearest", "histogram"}
        ``count``: how many, int64. ``sum`` and ``mean``: of their distances, float64 (mean is NaN
        when there are none; closeness is ``1 / mean``). ``max``: the greatest distance
        (eccentricity), ``-1`` when there are none. ``nearest``: the ``k`` nearest as ``(vertices,
        distances)``, both of shape ``(rows, k)``; equal distances in order of the vertex; -1 and
        unreached fill up. ``histogram``: how many per half-open bin of the edges, shape ``(rows,
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
        """From ``"mean"``, ``"nearest:5"`` or ``("histogram", edges)``.

        Raises
        ------
        OptionError
            For anything else.
        """
        if isinstance(given, str):
            kind, _, rest = given.partition(":")
            if kind == "nearest" and rest.isdigit() and int(rest) > 0:
                return Reduction("nearest", k=int(rest))
            if kind in ("count", "sum", "mean", "max") and not rest:
                return Reduction(kind)
        elif isinstance(given, tuple) and len(given) == 2 and given[0] == "histogram":
            edges = tuple(float(e) for e in given[1])
            if len(edges) >= 2 and all(a < b for a, b in pairwise(edges)):
                return Reduction("histogram", edges=edges)
        raise OptionError(
            f"reduce is {given!r}: use 'count', 'sum', 'mean', 'max', 'nearest:k' or "
            "('histogram', ascending edges)"
        )

    def sink(
        self, rows: NDArray[np.int64], columns: NDArray[np.int64] | None, graph: Graph
    ) -> ReducingSink:
        """A sink that keeps this of each row."""
        return ReducingSink(self, rows, columns, graph)


class ReducingSink:
    """Reduces each block as it comes."""

    def __init__(
        self,
        reduction: Reduction,
        rows: NDArray[np.int64],
        columns: NDArray[np.int64] | None,
        graph: Graph,
    ) -> None:
        self.reduction, self.rows, self.columns, self.graph = reduction, rows, columns, graph
        self.parts: list[Any] = []

    def start(self, shape: tuple[int, int], dtype: np.dtype[Any]) -> None:
        """Remember the dtype."""
        self.dtype = dtype

    def has(self, number: int) -> bool:
        """Nothing is there before the run."""
        return False

    def memory(self, first: int, count: int) -> NDArray[Any] | None:
        """Rows are solved into memory of their own."""
        return None

    def put(self, number: int, first: int, rows: NDArray[Any]) -> None:
        """Reduce the block."""
        none = unreached_value(rows.dtype)
        if self.columns is None:  # the source does not count
            rows[np.arange(len(rows)), self.rows[first : first + len(rows)]] = none
        kind = self.reduction.kind
        if kind == "nearest":
            self.parts.append(self._nearest(rows, none))
            return
        reached = rows != none
        count = np.count_nonzero(reached, axis=1)
        if kind == "count":
            self.parts.append(count)
        elif kind in ("sum", "mean"):
            total = np.sum(rows, axis=1, where=reached, dtype=np.float64)
            if kind == "mean":
                with np.errstate(invalid="ignore"):
                    total = np.where(count > 0, total / np.maximum(count, 1), np.nan)
            self.parts.append(total)
        elif kind == "max":
            least = rows.dtype.type(-1 if self.graph.n_negative == 0 else -none)
            most = np.max(rows, axis=1, where=reached, initial=least)
            self.parts.append(np.where(count > 0, most, rows.dtype.type(-1)))
        else:
            edges = np.asarray(self.reduction.edges)
            bins = np.empty((len(rows), len(edges) - 1), dtype=np.int64)
            for i, row in enumerate(rows):
                below = np.searchsorted(np.sort(row[reached[i]]), edges, side="left")
                bins[i] = np.diff(below)
            self.parts.append(bins)

    def _nearest(self, rows: NDArray[Any], none: Any) -> tuple[NDArray[Any], NDArray[Any]]:
        k = min(self.reduction.k, rows.shape[1])
        order = np.argsort(rows, axis=1, kind="stable")[:, :k]
        values = np.take_along_axis(rows, order, axis=1)
        vertices = order if self.columns is None else self.columns[order]
        vertices = np.where(values == none, -1, vertices)
        missing = self.reduction.k - k
        if missing:
            vertices = np.pad(vertices, ((0, 0), (0, missing)), constant_values=-1)
            values = np.pad(values, ((0, 0), (0, missing)), constant_values=none)
        return vertices, values

    def finish(self) -> Any:
        """One array, or the two of ``nearest``."""
        if self.reduction.kind != "nearest":
            return np.concatenate(self.parts)
        wide = np.result_type(*(values for _, values in self.parts))
        vertices = np.concatenate([vertices for vertices, _ in self.parts])
        return vertices, np.concatenate([widened(values, wide) for _, values in self.parts])
