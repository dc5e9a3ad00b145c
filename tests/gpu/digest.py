"""Digests of device code, which tie a recorded GPU run to the text that ran."""

from __future__ import annotations

import hashlib
from pathlib import Path
from typing import TYPE_CHECKING, Any

from nearfar.system.devices import compiler

if TYPE_CHECKING:
    from collections.abc import Iterable

VALIDATION = Path(__file__).resolve().parent / "validation.json"


def digest(files: Iterable[str]) -> str:
    """SHA-256 over the names and texts of kernel files; of one that is gone, over its name."""
    state = hashlib.sha256()
    for name in sorted(files):
        path = compiler.PACKAGE / name
        state.update(name.encode() + b"\0" + (path.read_bytes() if path.exists() else b"") + b"\0")
    return state.hexdigest()


def fresh_modules(record: dict[str, Any]) -> set[str]:
    """Modules of tests whose kernels, as they were launched then, are those of the tree."""
    modules = record["modules"].items()
    return {name for name, seen in modules if digest(seen["kernels"]) == seen["digest"]}
