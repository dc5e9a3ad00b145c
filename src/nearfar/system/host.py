"""Queries to the operating system: processor, main memory, locks of files.

Linux, macOS and Windows differ in this; no other module queries them.
"""

from __future__ import annotations

import errno
import os
import sys
import time
from typing import IO, Any

#: Errors of a file system without locks.
NO_LOCKS = (errno.EINVAL, errno.ENOLCK, errno.ENOSYS, errno.EOPNOTSUPP)

_CPUINFO, _MEMINFO = "/proc/cpuinfo", "/proc/meminfo"  # of Linux

#: Byte that Windows locks: its locks forbid reading, and the file's content must stay readable.
_LOCKED_BYTE = 1 << 30


def processor_name() -> str:
    """Name of the processor; of an Arm processor on Linux the numbers of its maker and design."""
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
    """Return a text that the kernel of macOS keeps, or nothing."""
    import ctypes

    size = ctypes.c_size_t(256)
    text = ctypes.create_string_buffer(size.value)
    found = ctypes.CDLL(None).sysctlbyname(name.encode(), text, ctypes.byref(size), None, 0)
    return text.value.decode(errors="replace") if found == 0 else ""


def total_memory() -> int | None:
    """Return bytes of main memory; None where that is not known."""
    if sys.platform == "win32":
        return _of_windows()[0]
    return _pages("SC_PHYS_PAGES")


def available_memory() -> int | None:
    """Return bytes of main memory that programs can still get; None where that is not known.

    Linux and Windows count what caches would give up. macOS has no such number: it compresses and
    swaps, and the answer is all of its memory.
    """
    if sys.platform == "win32":
        return _of_windows()[1]
    try:
        with open(_MEMINFO, encoding="ascii") as lines:
            fields = dict(line.split(":", 1) for line in lines)
        return int(fields["MemAvailable"].split()[0]) * 1024
    except (OSError, KeyError, ValueError):
        free = _pages("SC_AVPHYS_PAGES")
        return total_memory() if free is None else free


def _pages(name: str) -> int | None:
    """Return a number of pages in bytes; None where the system does not count such pages."""
    try:
        return os.sysconf(name) * os.sysconf("SC_PAGE_SIZE")
    except (AttributeError, OSError, ValueError):
        return None


def _of_windows() -> tuple[int, int]:
    """Return the bytes of physical memory, and how many of them are available."""
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
    """Lock an open file for this process until it is closed, however the process ends.

    Another holder is waited for, or is a BlockingIOError. A file system without locks is an OSError
    with one of ``NO_LOCKS``.
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
