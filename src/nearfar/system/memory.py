"""Main memory: how much of it a run can get, and arrays on huge pages."""

from __future__ import annotations

import math
import mmap
import os
from typing import TYPE_CHECKING, Any

import numpy as np

if TYPE_CHECKING:
    from numpy.typing import DTypeLike, NDArray

__all__ = ["empty_on_huge_pages", "free_memory"]

_HUGE_PAGE = 1 << 21


def empty_on_huge_pages(shape: int | tuple[int, ...], dtype: DTypeLike) -> NDArray[Any]:
    """An array for values that are visited in no order, such as distances.

    Memory that a process has used before comes back in pages of 4 KiB; with those, nearly every
    visit to a large array misses the processor's table of address translations. So a large array
    gets fresh memory, on huge pages where the system grants them.

    Parameters
    ----------
    shape : int or tuple of int
    dtype : dtype

    Returns
    -------
    array
        Content undefined.
    """
    dtype = np.dtype(dtype)
    size = math.prod(shape if isinstance(shape, tuple) else (shape,)) * dtype.itemsize
    if size < _HUGE_PAGE or not hasattr(mmap, "MADV_HUGEPAGE"):
        return np.empty(shape, dtype)
    try:
        block = mmap.mmap(-1, size + _HUGE_PAGE, mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS)
        block.madvise(mmap.MADV_HUGEPAGE)
    except (OSError, OverflowError):  # no memory, which NumPy reports, or no huge pages
        return np.empty(shape, dtype)
    everything = np.frombuffer(block, np.uint8)  # it keeps the block
    begin = -everything.ctypes.data % _HUGE_PAGE
    return everything[begin : begin + size].view(dtype).reshape(shape)


def free_memory() -> int:
    """Bytes of main memory that a run can still get, the limit of a container counted."""
    free = 1 << 62
    try:
        with open("/proc/meminfo", encoding="ascii") as lines:
            fields = dict(line.split(":", 1) for line in lines)
        free = int(fields["MemAvailable"].split()[0]) * 1024
    except (OSError, KeyError, ValueError):
        if hasattr(os, "sysconf"):
            free = os.sysconf("SC_AVPHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")
    for limit, used in (
        ("/sys/fs/cgroup/memory.max", "/sys/fs/cgroup/memory.current"),
        (
            "/sys/fs/cgroup/memory/memory.limit_in_bytes",
            "/sys/fs/cgroup/memory/memory.usage_in_bytes",
        ),
    ):
        try:
            with open(limit, encoding="ascii") as a, open(used, encoding="ascii") as b:
                free = min(free, int(a.read()) - int(b.read()))
        except (OSError, ValueError):
            continue
    return max(free, 0)
