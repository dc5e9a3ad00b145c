"""Atomic output files, written under a temporary name and then renamed.

Devices such as ``/dev/null`` and pipes are written directly, since renaming would replace them by a
regular file. A symbolic link is preserved, and its target is replaced. A new file inherits the
permissions of the file it replaces.
"""

from __future__ import annotations

import contextlib
import errno
import os
import stat
import time
from collections.abc import Iterator
from pathlib import Path

from nearfar.errors import OptionError
from nearfar.system.host import NO_LOCKS, lock_file

#: Trailing characters of the final name in the temporary one. They include the suffixes, by which
#: some writers choose a format; long names must not exceed the limit of the file system.
_KEPT = 40


@contextlib.contextmanager
def naming(path: str | os.PathLike[str], other: str | None = None) -> Iterator[None]:
    """Add the name of the output file to errors of the operating system.

    A failed write, such as on a full disk, does not name the file, and users do not know the
    temporary name ``other``.
    """
    try:
        yield
    except OSError as error:
        if error.errno is not None and error.filename in (None, other):  # about this file
            error.filename = os.fspath(path)
        raise


@contextlib.contextmanager
def replacing(path: str | os.PathLike[str], *, sole: bool = False) -> Iterator[Path]:
    """Yield a temporary path, which is renamed to ``path`` if the block ends without an error."""
    final = Path(os.path.realpath(path))
    try:
        there = final.stat()
    except FileNotFoundError:
        there = None
    if there is not None and stat.S_ISDIR(there.st_mode):
        raise IsADirectoryError(errno.EISDIR, os.strerror(errno.EISDIR), os.fspath(path))
    if there is not None and not stat.S_ISREG(there.st_mode):
        with naming(path):
            yield final
        return
    if not final.parent.is_dir():  # libraries that write to the path say so in many ways
        raise FileNotFoundError(errno.ENOENT, os.strerror(errno.ENOENT), os.fspath(path))
    # random, since processes of other hosts and containers may have the same number
    name = final.name if sole else f"{os.urandom(6).hex()}.tmp.{final.name[-_KEPT:]}"
    temporary = final.with_name(f".tmp.{name}" if sole else f".{name}")
    try:
        with naming(path, str(temporary)):
            yield temporary
            if there is not None:
                temporary.chmod(stat.S_IMODE(there.st_mode))
            temporary.replace(final)
    finally:
        with contextlib.suppress(OSError):
            temporary.unlink(missing_ok=True)


@contextlib.contextmanager
def only_writer(
    path: str | os.PathLike[str], lock: str | os.PathLike[str] | None = None
) -> Iterator[None]:
    """Hold the lock of an output file during the block.

    The operating system releases the lock when the process ends for any reason. On network file
    systems with locks (such as NFS) it applies across hosts; on file systems without locks nothing
    is locked.
    """
    import platform

    lock = f"{os.path.realpath(path)}.lock" if lock is None else lock
    while True:
        try:
            file = open(lock, "a+", encoding="utf-8")  # noqa: SIM115 - it outlives the loop
        except OSError as error:
            error.filename = os.fspath(path)
            raise
        try:
            lock_file(file, wait=False)
        except BlockingIOError:
            with file:
                file.seek(0)
                holder = file.read().strip() or "another process"
            raise OptionError(
                f"{os.fspath(path)} is being written by {holder}: wait until it ends, or choose "
                "another name"
            ) from None
        except OSError as error:
            if error.errno not in NO_LOCKS:
                file.close()
                raise
        with contextlib.suppress(FileNotFoundError):
            if os.path.samestat(os.fstat(file.fileno()), os.stat(lock)):
                break
        file.close()  # the previous writer has just removed it
    with file:
        try:
            file.truncate(0)
            since = time.strftime("%Y-%m-%d %H:%M:%S %z")
            file.write(f"process {os.getpid()} on {platform.node()} since {since}")
            file.flush()
            yield
        finally:
            with contextlib.suppress(OSError):
                os.unlink(lock)
