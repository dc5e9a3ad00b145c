"""Digests of device code, which tie a recorded GPU run to the text that ran."""

from __future__ import annotations

import hashlib
import re
from pathlib import Path
from typing import TYPE_CHECKING, Any

from nearfar.system.devices import compiler

if TYPE_CHECKING:
    from collections.abc import Iterable

VALIDATION = Path(__file__).resolve().parent / "validation.json"
_COMMENT_OR_STRING = re.compile(r'"(?:\\.|[^"\\\n])*"|//[^\n]*|/\*.*?\*/', re.DOTALL)
_DIRECTIVE = re.compile(r"//\s*(requires|links):\s*(\S+)\s*$")


def compiled(text: str) -> str:
    """Return the part of a kernel file that affects machine code, without comments.

    The comments ``// requires:`` and ``// links:`` remain, because they name further compiled
    files.
    """
    rest = _COMMENT_OR_STRING.sub(_shortened, text)
    return "\n".join(line for raw in rest.split("\n") if (line := " ".join(raw.split())))


def _shortened(found: re.Match[str]) -> str:
    text = found.group()
    if text.startswith('"'):
        return text
    directive = _DIRECTIVE.match(text)
    return f"// {directive[1]}: {Path(directive[2]).name}" if directive else " "


def digest(files: Iterable[str]) -> str:
    """Return the SHA-256 of the compiled text of kernel files; of a missing one, of its name."""
    parts = []
    for name in files:
        path = compiler.PACKAGE / name
        text = compiled(path.read_text(encoding="utf-8")) if path.exists() else ""
        parts.append(f"{path.name}\0{text}\0")
    return hashlib.sha256("".join(sorted(parts)).encode()).hexdigest()


def fresh_modules(record: dict[str, Any]) -> set[str]:
    """Return test modules whose recorded kernels are those of the tree."""
    modules = record["modules"].items()
    return {name for name, seen in modules if digest(seen["kernels"]) == seen["digest"]}
