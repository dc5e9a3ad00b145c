"""Source of ``src/nearfar/solve/option_types.py``: the options of all methods for type checkers."""

from __future__ import annotations

import dataclasses
import sys
from collections import defaultdict
from typing import Any

from nearfar.registry import variants

_HEAD = '''"""Options of all methods for type checkers; written by ``python -m docs.generators``."""

from __future__ import annotations

from typing import TYPE_CHECKING, Literal, TypedDict

if TYPE_CHECKING:
    from nearfar.options import Devices

__all__ = ["MethodOptions", "SearchOptions"]
'''


def _text(owner: type[Any], annotation: str) -> str:
    """Return the annotation of a field, with names of its module's types written out."""
    alias = getattr(sys.modules[owner.__module__], annotation, None)
    text = annotation if alias is None else str(alias).replace("typing.", "")
    return text.replace("'", '"')


def _class(name: str, base: str, summary: str, options: dict[str, set[str]]) -> str:
    lines = [f"class {name}({base}, total=False):", f'    """{summary}"""', ""]
    for option, kinds in sorted(options.items()):
        parts = sorted({part for kind in kinds for part in kind.split(" | ")})
        parts = [part for part in parts if part != "None"] + ["None"] * ("None" in parts)
        lines.append(f"    {option}: {' | '.join(parts)}")
    return "\n".join(lines) + "\n"


def module() -> str:
    """Return the text of the file."""
    one: dict[str, set[str]] = defaultdict(set)
    many: dict[str, set[str]] = defaultdict(set)
    for variant in variants(unsafe=True):
        options = one if "sssp" in variant.problems else many
        for field in dataclasses.fields(variant.options):
            options[field.name].add(_text(variant.options, str(field.type)))
    devices = {"devices": one.pop("devices")}  # a keyword of the functions for many sources
    shared = {name: kinds | many.pop(name, set()) for name, kinds in one.items()}
    return "\n\n".join([
        _HEAD,
        _class("_Shared", "TypedDict", "Options of methods for one source.", shared),
        _class("SearchOptions", "_Shared", "Options of the functions for one source.", devices),
        _class("MethodOptions", "_Shared", "Options of the functions for many sources.", many),
    ])  # fmt: skip
