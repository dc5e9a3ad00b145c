"""Main memory: how much of it a run can get, and memory for a result that all threads write to."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from typing import Any

    from numpy.typing import DTypeLike, NDArray

__all__ = ["empty", "free_memory"]

_LARGE = 1 << 22  # bytes from which NumPy asks for huge pages


def empty(shape: tuple[int, ...], dtype: DTypeLike, threads: int) -> NDArray[Any]:
    """An array for a result that so many threads write to, as :func:`numpy.empty` makes it.

    Parameters
    ----------
    shape : tuple of int
    dtype : dtype
    threads : int
        With more than one, each huge page of a large array is made by one of them here. Threads
        that write to a new one at the same time would each make it and clear it.

    Returns
    -------
    array
        Entries are anything.
    """
    from nearfar import _cpu

    made = np.empty(shape, dtype=dtype)
    if threads > 1 and made.nbytes >= _LARGE:
        _cpu.touch(made, threads)
    return made


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
