"""Main memory: the amount available to a run, and arrays to which many threads write."""

from __future__ import annotations

import contextlib
import math
import re
from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import DTypeLike, NDArray

from nearfar.errors import OptionError, keyword, quoted
from nearfar.system.host import available_memory, contents, control_groups

#: Files of control groups of versions 2 and 1: limit, usage, and the name of inactive pages.
_FILES = (
    ("memory.max", "memory.current", "inactive_file"),
    ("memory.limit_in_bytes", "memory.usage_in_bytes", "total_inactive_file"),
)
_NO_LIMIT = 1 << 60  # bytes; version 1 of control groups always has a limit
_LARGE = 1 << 22  # bytes from which NumPy requests huge pages
#: Bytes that are assumed to be free: reading the amount takes as long as searching a small graph.
ALWAYS_FREE = 1 << 24


def empty(shape: tuple[int, ...], dtype: DTypeLike, threads: int) -> NDArray[Any]:
    """Allocate an array, as :func:`numpy.empty`, to which many threads will write."""
    made = np.empty(shape, dtype=dtype)
    if threads > 1 and made.nbytes >= _LARGE:
        from nearfar import _cpu

        _cpu.touch(made, threads)
    return made


def free_memory() -> int:
    """Return the bytes of main memory available to a run, within the limits of its groups."""
    available = available_memory()
    free = 1 << 62 if available is None else available
    for folders, names in zip(control_groups("memory"), _FILES, strict=True):
        for folder in folders:
            with contextlib.suppress(OSError, ValueError):
                free = min(free, _free_in_group(folder, *names))
    return max(free, 0)


def shortage(needed: float) -> int | None:
    """Return the bytes of free memory if they are fewer than needed, otherwise None."""
    if needed <= ALWAYS_FREE:
        return None
    free = free_memory()
    return free if needed > free else None


def _free_in_group(folder: str, most: str, used: str, idle: str) -> int:
    """Return the free memory of a control group, counting its reclaimable file pages."""
    limit = int(contents(f"{folder}/{most}"))
    if limit >= _NO_LIMIT:
        return limit
    taken = int(contents(f"{folder}/{used}"))
    kept = re.search(rf"^{idle} (\d+)".encode(), contents(f"{folder}/memory.stat"), re.MULTILINE)
    return limit - taken + (int(kept[1]) if kept else 0)


def bytes_left(memory: int | None, free: Callable[[], int]) -> int:
    """Return the memory for a run: that given by the caller, or the free memory."""
    if memory is None:
        return free()
    if (
        isinstance(memory, bool)
        or not isinstance(memory, (int, float, np.integer))
        or not 0 <= memory < math.inf
    ):
        raise OptionError(
            f"{keyword('memory')} is {quoted(memory)}: give a number of bytes, or leave it out"
        )
    return int(memory)
