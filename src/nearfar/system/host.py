"""Queries to the operating system: processor, main memory, control groups and file locks.

They differ between Linux, macOS and Windows; no other module makes such queries.
"""

from __future__ import annotations

import contextlib
import errno
import functools
import os
import sys
import time
from pathlib import PurePosixPath
from typing import IO, Any

#: Error numbers of file systems without locks.
NO_LOCKS = (errno.EINVAL, errno.ENOLCK, errno.ENOSYS, errno.EOPNOTSUPP)

_CPUINFO, _MEMINFO = "/proc/cpuinfo", "/proc/meminfo"  # on Linux
_OWN_GROUPS, _GROUPS = "/proc/self/cgroup", "/sys/fs/cgroup"

#: Position of the byte to lock on Windows, beyond the content, since locked bytes are unreadable.
_LOCKED_BYTE = 1 << 30


def processor_name() -> str:
    """Return the name of the processor; for Arm on Linux, the numbers of implementer and part."""
    import platform

    fields: dict[str, str] = {}
    try:
        with open(_CPUINFO, encoding="utf-8", errors="replace") as lines:
            for line in lines:
                name, _, value = line.partition(":")
                fields.setdefault(name.strip(), value.strip())
    except OSError:
        if sys.platform == "darwin":
            return _of_macos("machdep.cpu.brand_string") or platform.machine()
    if fields.get("model name"):
        return fields["model name"]
    if "CPU part" in fields:
        maker = fields.get("CPU implementer", "unknown")
        return f"{platform.machine()}, implementer {maker}, part {fields['CPU part']}"
    return platform.processor() or platform.machine()


def _of_macos(name: str) -> str:
    """Return a text value of the macOS kernel, or an empty string."""
    import ctypes

    size = ctypes.c_size_t(256)
    text = ctypes.create_string_buffer(size.value)
    found = ctypes.CDLL(None).sysctlbyname(name.encode(), text, ctypes.byref(size), None, 0)
    return text.value.decode(errors="replace") if found == 0 else ""


def total_memory() -> int | None:
    """Return the bytes of main memory, or None if unknown."""
    if sys.platform == "win32":
        return _of_windows()[0]
    return _pages("SC_PHYS_PAGES")


def available_memory() -> int | None:
    """Return the bytes of main memory that are available to programs, or None if unknown.

    Linux and Windows include reclaimable caches. macOS has no such number, since it compresses and
    swaps memory, so all of its memory is returned.
    """
    if sys.platform == "win32":
        return _of_windows()[1]
    try:
        return int(contents(_MEMINFO).partition(b"MemAvailable:")[2].split(None, 1)[0]) * 1024
    except (OSError, IndexError, ValueError):
        free = _pages("SC_AVPHYS_PAGES")
        return total_memory() if free is None else free


def contents(path: str) -> bytes:
    """Return the contents of a small file of the system, in the least time."""
    with open(path, "rb", buffering=0) as file:
        return file.read()


@functools.cache
def control_groups(controller: str) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """Return the folders of this process's control groups, of version 2 and of version 1.

    Each limits the process: its own and those above it. In a container its own may be the root.
    """
    found: tuple[dict[str, None], dict[str, None]] = {}, {}
    with contextlib.suppress(OSError, ValueError):
        for line in contents(_OWN_GROUPS).decode().splitlines():
            _, controllers, path = line.split(":", 2)
            old = controller in controllers.split(",")
            if controllers and not old:
                continue
            root = PurePosixPath(_GROUPS, controller if old else "")
            own = PurePosixPath(path.strip("/"))
            for group in (own, *own.parents):
                if os.path.isdir(root / group):
                    found[old][str(root / group)] = None
    return tuple(found[0]), tuple(found[1])


@functools.cache
def core_quota() -> float:
    """Return the processor time per time that the control groups allow, as in `docker --cpus`.

    It is read once: a process that takes more is stopped for the rest of each tenth of a second.
    """
    quotas, (new, old) = [float("inf")], control_groups("cpu")
    for folder in new:
        with contextlib.suppress(OSError, ValueError):
            most, period = contents(f"{folder}/cpu.max").split()
            quotas.append(int(most) / int(period))  # not a number: no limit
    for folder in old:
        with contextlib.suppress(OSError, ValueError):
            spent = int(contents(f"{folder}/cpu.cfs_quota_us"))
            if spent > 0:  # -1: no limit
                quotas.append(spent / int(contents(f"{folder}/cpu.cfs_period_us")))
    return min(quotas)


def _pages(name: str) -> int | None:
    """Return a number of pages in bytes, or None if the system does not count such pages."""
    try:
        return os.sysconf(name) * os.sysconf("SC_PAGE_SIZE")
    except (AttributeError, OSError, ValueError):
        return None


def _of_windows() -> tuple[int, int]:
    """Return the bytes of physical memory in total and available."""
    import ctypes

    class Status(ctypes.Structure):
        _fields_ = (
            ("size", ctypes.c_uint32),
            ("load", ctypes.c_uint32),
            ("total", ctypes.c_uint64),
            ("available", ctypes.c_uint64),
            ("others", ctypes.c_uint64 * 5),
        )

    status = Status(size=ctypes.sizeof(Status))
    library: Any = ctypes.windll  # type: ignore[attr-defined, unused-ignore]
    library.kernel32.GlobalMemoryStatusEx(ctypes.byref(status))
    return int(status.total), int(status.available)


def lock_file(file: IO[Any], *, wait: bool) -> None:
    """Lock an open file for this process until it is closed or the process ends.

    If another process holds the lock, wait for it, or raise BlockingIOError without ``wait``. On a
    file system without locks an OSError with one of ``NO_LOCKS`` is raised.
    """
    if sys.platform != "win32":
        import fcntl

        fcntl.flock(file, fcntl.LOCK_EX if wait else fcntl.LOCK_EX | fcntl.LOCK_NB)
        return
    import msvcrt

    while True:
        file.seek(_LOCKED_BYTE)
        try:
            msvcrt.locking(file.fileno(), msvcrt.LK_NBLCK, 1)
        except PermissionError:
            if not wait:
                raise BlockingIOError(errno.EAGAIN, "another process holds the lock") from None
            time.sleep(0.02)
        else:
            file.seek(0)
            return
