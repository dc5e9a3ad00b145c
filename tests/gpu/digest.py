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
    """What of a kernel file reaches the machine code: no comments, no folders, no blank space.

    Of the comments, ``// requires:`` and ``// links:`` say what is compiled with it, so they stay.
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
    """SHA-256 over what is compiled of kernel files; of one that is gone, over its name."""
    parts = []
    for name in files:
        path = compiler.PACKAGE / name
        text = compiled(path.read_text(encoding="utf-8")) if path.exists() else ""
        parts.append(f"{path.name}\0{text}\0")
    return hashlib.sha256("".join(sorted(parts)).encode()).hexdigest()


def fresh_modules(record: dict[str, Any]) -> set[str]:
    """Modules of tests whose kernels, as they were launched then, are those of the tree."""
    modules = record["modules"].items()
    return {name for name, seen in modules if digest(seen["kernels"]) == seen["digest"]}
