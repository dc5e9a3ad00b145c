"""Sinks for the rows of a run: an array on the host or on a device, or a sparse matrix.

:mod:`nearfar.solve.rows.reductions` has the sinks that reduce rows, and
:mod:`nearfar.solve.rows.files` those that write files.
"""

from __future__ import annotations

import threading
from abc import ABC, abstractmethod
from typing import Any

import numpy as np
from numpy.typing import NDArray

from nearfar.errors import DistanceOverflowError, OptionError, keyword
from nearfar.graph.dtypes import unreached_value
from nearfar.graph.saturation import widened
from nearfar.system.devices import runtime, several
from nearfar.system.memory import empty


class Sink(ABC):
    """Receiver of blocks of rows; each arrives once, in any order, from threads of any device."""

    #: Whether it accepts rows on the device, from methods that can leave them there.
    on_device = False
    #: Whether it receives the rows of all given sources in order, and not of distinct sources.
    in_order = False

    @abstractmethod
    def start(self, shape: tuple[int, int], dtype: np.dtype[Any]) -> None:
        """Prepare for rows of this shape and dtype."""

    def has(self, number: int) -> bool:
        """Return whether an interrupted run finished a block."""
        return False

    def memory(self, first: int, count: int) -> Any:
        """Return memory for rows ``first`` to ``first + count``, or None."""
        return None

    @abstractmethod
    def put(self, number: int, first: int, rows: Any) -> None:
        """Store a solved block."""

    @abstractmethod
    def finish(self) -> Any:
        """Return the result of the rows."""

    def close(self) -> None:
        """Release all resources other than the result; also called after an error."""
        return


class DeviceArraySink(Sink):
    """Sink with an array on the device, new or the caller's; nothing is copied to the host.

    With ``shared`` several devices solve rows. The other devices write to the array through peer
    access, or their rows are copied.
    """

    on_device = True

    def __init__(self, given: Any = None, shared: bool = False) -> None:
        self.given, self.array, self.shared = given, given, shared
        self.home = runtime.device().ordinal if given is None else int(given.device.id)
        self._one_at_a_time = threading.Lock()

    def start(self, shape: tuple[int, int], dtype: np.dtype[Any]) -> None:
        """Check the caller's array, or allocate one if several devices write to it."""
        if self.given is not None:
            _check_out(self.given, shape, dtype)
        elif self.shared:
            self.array = runtime.cupy().empty(shape, dtype)

    def memory(self, first: int, count: int) -> Any:
        """Return the rows of the array, if they are contiguous and accessible from the device."""
        if self.array is None or not several.open_way(runtime.device().ordinal, self.home):
            return None
        part = self.array[first : first + count]
        return part if part.flags.c_contiguous else None

    def put(self, number: int, first: int, rows: Any) -> None:
        """Store the rows without a copy, or copy them to the array on its device."""
        if self.array is None:
            self.array = rows
            return
        if rows.size == 0:
            return
        with self._one_at_a_time, runtime.on_device(self.home):
            part = self.array[first : first + len(rows)]
            if part.__cuda_array_interface__ == rows.__cuda_array_interface__:
                return
            if _is_wider(rows, self.array, self.given):
                self.array = widened(self.array, rows.dtype)
                part = self.array[first : first + len(rows)]
            part[...] = widened(several.here(rows), self.array.dtype)

    def finish(self) -> Any:
        """Return the array."""
        return self.array


def _check_out(given: Any, shape: tuple[int, int], dtype: np.dtype[Any]) -> None:
    wide = np.dtype(np.float64 if dtype.kind == "f" else np.int64)
    if given.shape != shape or given.dtype not in (dtype, wide):
        other = "" if dtype == wide else f" (or {wide})"
        raise OptionError(
            f"{keyword('out')} has shape {given.shape} and dtype {given.dtype}: "
            f"give {shape} and {dtype}{other}"
        )


def _is_wider(rows: Any, array: Any, given: Any) -> bool:
    """Return whether rows are wider than an array; raise if the array is the caller's."""
    wider: bool = rows.dtype.itemsize > array.dtype.itemsize
    if wider and given is not None:
        raise DistanceOverflowError(
            f"a distance does not fit {array.dtype}: give out of dtype {rows.dtype}"
        )
    return wider


class ArraySink(Sink):
    """Sink with an array on the host, new or the caller's, filled by ``threads``."""

    def __init__(self, given: Any = None, threads: int = 1) -> None:
        self.given, self.array, self.threads = given, given, threads
        self._one_at_a_time = threading.Lock()

    def start(self, shape: tuple[int, int], dtype: np.dtype[Any]) -> None:
        """Check the caller's array, or allocate one."""
        if self.given is None:
            self.array = empty(shape, dtype, self.threads)
            return
        if not isinstance(self.given, np.ndarray):
            kind = type(self.given).__name__
            raise OptionError(f"{keyword('out')} is a {kind}: give an array or a path")
        _check_out(self.given, shape, dtype)
        if not self.given.flags.writeable:
            raise OptionError(
                f"{keyword('out')} is read-only: give an array that can be written to"
            )

    def memory(self, first: int, count: int) -> NDArray[Any] | None:
        """Return the rows of the array, if they are contiguous."""
        part: NDArray[Any] = self.array[first : first + count]
        return part if part.flags.c_contiguous else None

    def put(self, number: int, first: int, rows: NDArray[Any]) -> None:
        """Copy rows that were not solved in place; widen the array to 64 bits if the rows are."""
        with self._one_at_a_time:
            part = self.array[first : first + len(rows)]
            if rows.base is part or (rows.size and np.shares_memory(rows, part)):
                return
            if _is_wider(rows, self.array, self.given):
                if first == 0 and len(rows) == len(self.array):
                    self.array = rows
                    return
                self.array = widened(self.array, rows.dtype)
            self.array[first : first + len(rows)] = widened(rows, self.array.dtype)

    def finish(self) -> Any:
        """Return the array."""
        return self.array


class CsrSink(Sink):
    """Sink that stores the reached pairs as a sparse matrix, including zeros."""

    def __init__(self) -> None:
        self.blocks: dict[int, tuple[NDArray[Any], NDArray[Any], NDArray[Any]]] = {}

    def start(self, shape: tuple[int, int], dtype: np.dtype[Any]) -> None:
        """Store the shape."""
        self.shape, self.dtype = shape, dtype

    def put(self, number: int, first: int, rows: NDArray[Any]) -> None:
        """Store the reached entries."""
        reached = rows != unreached_value(rows.dtype)
        columns = np.nonzero(reached)[1].astype(np.int64)
        self.blocks[number] = np.count_nonzero(reached, axis=1), columns, rows[reached]

    def put_sparse(self, number: int, indptr: Any, columns: Any, distances: Any) -> None:
        """Store a block of rows that a variant returned in sparse form."""
        self.blocks[number] = np.diff(indptr), columns.astype(np.int64), distances

    def finish(self) -> Any:
        """Return a ``scipy.sparse.csr_array`` with sorted columns."""
        from scipy.sparse import csr_array

        blocks = [self.blocks[number] for number in sorted(self.blocks)]
        counts = np.concatenate([np.zeros(1, np.int64), *(block[0] for block in blocks)])
        none: list[NDArray[Any]] = [np.empty(0, self.dtype)]
        values = np.concatenate([block[2] for block in blocks] or none)
        columns = np.concatenate([np.empty(0, np.int64), *(block[1] for block in blocks)])
        shape = len(counts) - 1, self.shape[1]
        found = csr_array((values, columns, np.cumsum(counts)), shape=shape)
        found.sort_indices()
        return found
