"""Files that appear whole or not at all: written under a temporary name, then renamed.

What is not a regular file (a device such as ``/dev/null``, a pipe) is written to where it is:
renaming would put a plain file in its place. A symbolic link stays, and the file that it names is
replaced. A file that is replaced hands its permissions on.
"""

from __future__ import annotations

import contextlib
import errno
import itertools
import os
import stat
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator

__all__ = ["replacing"]

_serial = itertools.count()

#: Characters of the final name that the temporary one keeps, the suffixes among them: some writers
#: choose a format by those, and a long name must not become too long.
_KEPT = 40


@contextlib.contextmanager
def replacing(path: str | os.PathLike[str]) -> Iterator[Path]:
    """Give a path to write to; the file takes the name ``path`` if the block ends without an error.

    Parameters
    ----------
    path : str or path
        The final name.

    Yields
    ------
    Path
        A name that is free, in the folder of ``path`` and with its suffixes; or the final name
        itself where that is a device or a pipe.

    Raises
    ------
    OSError
        If the file cannot be written, with the final name.
    ValueError
        For a name with a NUL character.
    """
    final = Path(os.path.realpath(path))
    try:
        there = final.stat()
    except FileNotFoundError:
        there = None
    if there is not None and stat.S_ISDIR(there.st_mode):
        raise IsADirectoryError(errno.EISDIR, os.strerror(errno.EISDIR), os.fspath(path))
    if there is not None and not stat.S_ISREG(there.st_mode):
        yield final
        return
    name = f".{os.getpid()}-{next(_serial)}.tmp.{final.name[-_KEPT:]}"
    temporary = final.with_name(name)
    try:
        yield temporary
        if there is not None:
            temporary.chmod(stat.S_IMODE(there.st_mode))
        temporary.replace(final)
    except OSError as error:
        if error.filename == str(temporary):
            error.filename = os.fspath(path)  # the name that the user knows
        raise
    finally:
        with contextlib.suppress(OSError):
            temporary.unlink(missing_ok=True)
