"""Small JSON files in the user's cache folder with measurements of this machine for later runs.

Each file has a format number; a file of another format is treated as empty. Files are written under
a temporary name and renamed while a lock is held, so that readers never see a partial file and
concurrent writers lose nothing.
"""

from __future__ import annotations

import contextlib
import functools
import json
import os
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

from nearfar.errors import CacheError
from nearfar.system.host import lock_file

_read: dict[Path, tuple[float, dict[str, Any]]] = {}


def folder() -> Path:
    """Return ``$NEARFAR_CACHE``, or else ``$XDG_CACHE_HOME/nearfar`` or ``~/.cache/nearfar``."""
    return _folder(os.environ.get("NEARFAR_CACHE"), os.environ.get("XDG_CACHE_HOME"))


@functools.lru_cache(maxsize=1)  # building the paths takes as long as a small search
def _folder(own: str | None, base: str | None) -> Path:
    if own:
        return Path(own)
    return (Path(base) if base else Path.home() / ".cache") / "nearfar"


def load(path: Path, key: str, version: int) -> dict[str, Any]:
    """Return the entries under ``key``; none if the file is missing, damaged or foreign."""
    try:
        stamp = path.stat().st_mtime
    except OSError:
        return {}
    known = _read.get(path)
    if known is not None and known[0] == stamp:
        return known[1]
    entries: dict[str, Any] = {}
    with contextlib.suppress(OSError, ValueError):
        content = json.loads(path.read_text(encoding="utf-8"))
        if isinstance(content, dict) and content.get("format") == version:
            found = content.get(key)
            entries = dict(found) if isinstance(found, dict) else {}
    _read[path] = (stamp, entries)
    return entries


def update(
    path: Path,
    key: str,
    version: int,
    change: Callable[[dict[str, Any]], dict[str, Any]],
    what: str,
) -> None:
    """Replace the entries by ``change(entries)``; ``what`` names them in the error."""
    from nearfar.system.output import replacing  # most processes store nothing

    try:
        with locked(path):
            _read.pop(path, None)
            content = {"format": version, key: change(dict(load(path, key, version)))}
            text = json.dumps(content, indent=1, sort_keys=True)
            with replacing(path) as temporary:
                temporary.write_text(text + "\n", encoding="utf-8")
            _read.pop(path, None)
    except OSError as error:
        raise CacheError(
            f"{what} cannot be stored in {path}: {error.strerror or error}; "
            "set NEARFAR_CACHE to a writable folder"
        ) from None


@contextlib.contextmanager
def locked(path: Path) -> Iterator[None]:
    """Hold the lock of a file; its folder is created if it does not exist."""
    path.parent.mkdir(parents=True, exist_ok=True)
    with open(path.with_suffix(".lock"), "a") as file:
        with contextlib.suppress(OSError):  # some network file systems have no locks
            lock_file(file, wait=True)
        yield
