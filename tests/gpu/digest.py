"""The digest of all device code, which ties a recorded GPU run to the text that ran."""

from __future__ import annotations

import hashlib
from pathlib import Path

from nearfar.system.devices import compiler

VALIDATION = Path(__file__).resolve().parent / "validation.json"


def device_code_digest() -> str:
    """SHA-256 over the names and texts of every kernel file of the package."""
    state = hashlib.sha256()
    for name in compiler.kernel_files():
        state.update(name.encode() + b"\0" + (compiler.PACKAGE / name).read_bytes() + b"\0")
    return state.hexdigest()
