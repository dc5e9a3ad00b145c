"""Main memory: how much of it a run can get."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    pass

__all__ = ["free_memory"]


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
