"""NumPy dtypes of the types in kernel files, so that each is described only in the kernel.

Supported are plain fields and fixed arrays of them, pointers, ``alignas``, and types named by a
macro, a typedef or another struct of the same program. Anything else is refused, so that no layout
is guessed.
"""

from __future__ import annotations

import functools
import math
import re
from collections.abc import Mapping
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

_NUMBERS = {
    "int": "i4",
    "unsigned int": "u4",
    "long long": "i8",
    "unsigned long long": "u8",
    "unsigned char": "u1",
    "unsigned short": "u2",
    "float": "f4",
    "double": "f8",
}
_COMMENT = re.compile(r"//[^\n]*")
_FIELD = re.compile(
    r"(?:(?P<type>\w[\w ]*?)(?:\s+|(?=\*)))?(?P<pointer>\*?)\s*(?P<name>\w+)"
    r"(?:\[(?P<count>\d+)\])?"
)
_ALIGNED = re.compile(r"alignas\((\d+)\)\s*")
_LARGER = re.compile(r"\((\d+) > (\d+) \? (\d+) : (\d+)\)")
_TYPEDEF = re.compile(r"\btypedef ([\w ]+) (\w+);")
_COUNTER = re.compile(r"\btypedef CountOf<\(sizeof\((\w+)\) > 4\)>::type (\w+);")
_STRUCT = re.compile(r"\bstruct\s+(?:alignas\((?P<align>[^\n]+)\)\s+)?(?P<name>\w+)\s*\{")


_LINE = re.compile(
    r"#(?P<directive>if|ifdef|ifndef|elif|else|endif)\b *(?P<condition>.*)"
    r"|typedef (?P<kind>[\w ]+) (?P<name>\w+);"
)
_CONDITION = re.compile(r"(!?)(\w+)(?: == (\d+))?")
_DEFAULT = re.compile(r"^#define (\w+) (\w+)$", re.MULTILINE)


class _Declared(NamedTuple):
    """Declarations in kernel files by name, the first of several."""

    typedefs: dict[str, str]
    counters: dict[str, str]  # type whose size determines that of a counter
    structs: dict[str, tuple[str | None, str]]  # alignment and fields
    branches: frozenset[str]  # typedefs that depend on macros


def struct_dtype(
    file: str, name: str, macros: Mapping[str, str | int] | None = None, **types: str
) -> np.dtype[Any]:
    """Return the dtype of a struct in a program that is compiled with the given macros."""
    return _struct((file,), name, _items(macros or {}), _items(types))


def c_dtype(
    files: tuple[str, ...], name: str, macros: Mapping[str, str | int]
) -> np.dtype[Any] | None:
    """Return the dtype of a type in these files; void for a struct, None for a template."""
    if name in _declared(files).structs:
        return np.dtype("V")
    try:
        return _resolved(files, name, _items(macros), ())
    except ValueError:
        return None


@functools.cache
def kernel_text(files: tuple[str, ...]) -> str:
    """Return the assembled text of kernel files without comments."""
    from nearfar.system.devices.compiler import assemble  # CPU runs do not import the compiler

    return _COMMENT.sub("", assemble(files))


def _items(macros: Mapping[str, str | int]) -> tuple[tuple[str, str], ...]:
    return tuple(sorted((key, str(value)) for key, value in macros.items()))


@functools.cache
def _declared(files: tuple[str, ...]) -> _Declared:
    """Find all declarations in one pass, since one search per name takes milliseconds."""
    text = kernel_text(files)
    typedefs = _TYPEDEF.findall(text)
    first = {name: kind for kind, name in reversed(typedefs)}
    return _Declared(
        first,
        {name: kind for kind, name in reversed(_COUNTER.findall(text))},
        {
            found["name"]: (found["align"], text[found.end() : text.find("};", found.end())])
            for found in reversed(list(_STRUCT.finditer(text)))
        },
        frozenset(name for kind, name in typedefs if first[name] != kind),
    )


@functools.cache
def _chosen(files: tuple[str, ...], macros: tuple[tuple[str, str], ...]) -> dict[str, str]:
    """Return the typedefs in the branches selected by the macros, the first of several."""
    text = kernel_text(files)
    values = {**dict(reversed(_DEFAULT.findall(text))), **dict(macros)}

    def holds(directive: str, condition: str) -> bool | None:
        read = _CONDITION.fullmatch(condition.strip())
        if read is None:
            return None
        no, name, number = read.groups()
        if directive.endswith("def"):
            return (name in values) == (directive == "ifdef")
        value = values.get(name, "0")
        return bool((value == number if number else value != "0") != bool(no))

    found: dict[str, str] = {}
    open_branches: list[
        tuple[bool | None, bool | None]
    ] = []  # whether an earlier branch, and this one, holds
    for line in _LINE.finditer(text):
        directive = line["directive"]
        if directive is None:
            if all(now for _, now in open_branches):
                found.setdefault(line["name"], line["kind"])
        elif directive == "endif":
            open_branches.pop()
        else:
            before: bool | None = False
            if directive in ("elif", "else"):
                earlier, now = open_branches.pop()
                before = earlier or now
            now = True if directive == "else" else holds(directive, line["condition"])
            open_branches.append((before, not before and now))
    return found


def _resolved(
    files: tuple[str, ...],
    name: str,
    macros: tuple[tuple[str, str], ...],
    types: tuple[tuple[str, str], ...],
) -> np.dtype[Any]:
    given = dict(types)
    if name in given:
        return np.dtype(given[name])
    if name in _NUMBERS:
        return np.dtype(_NUMBERS[name])
    declared, named = _declared(files), dict(macros)
    if name in declared.branches:
        named = {**_chosen(files, macros), **named}
    else:
        named = {**declared.typedefs, **named}
    if name in named:
        return _resolved(files, named[name], macros, types)
    if name in declared.counters:
        size = _resolved(files, declared.counters[name], macros, types).itemsize
        return np.dtype("u8" if size > 4 else "u4")
    return _struct(files, name, macros, types)


@functools.cache
def _struct(
    files: tuple[str, ...],
    name: str,
    macros: tuple[tuple[str, str], ...],
    types: tuple[tuple[str, str], ...],
) -> np.dtype[Any]:
    declared = _declared(files)
    resolve = functools.partial(_resolved, files, macros=macros, types=types)
    if name not in declared.structs:
        raise ValueError(f"{files[-1]} has no struct {name}")
    alignment, fields = declared.structs[name]
    align, end = 1, 0
    names: list[str] = []
    formats: list[Any] = []
    offsets: list[int] = []
    for statement in filter(None, map(str.strip, fields.split(";"))):
        at_least, type_name = 1, ""
        if aligned := _ALIGNED.match(statement):
            at_least = int(aligned[1])
            statement = statement[aligned.end() :]
        for place, piece in enumerate(statement.removeprefix("const ").split(",")):
            field = _FIELD.fullmatch(piece.strip())
            if field is None or (field["type"] is None) != (place > 0):
                raise ValueError(
                    f"{files[-1]}: struct {name} has a field that is not plain: {statement}"
                )
            type_name = field["type"] or type_name
            kind = np.dtype(np.uint64) if field["pointer"] else resolve(type_name)
            own = max(at_least, kind.alignment)
            end = -(-end // own) * own
            names.append(field["name"])
            formats.append((kind, int(field["count"])) if field["count"] else kind)
            offsets.append(end)
            end += kind.itemsize * int(field["count"] or 1)
            align = max(align, own)
    if alignment:
        sized = re.sub(r"sizeof\((\w+)\)", lambda m: str(resolve(m[1]).itemsize), alignment)
        sized = _LARGER.sub(lambda m: m[3] if int(m[1]) > int(m[2]) else m[4], sized)
        align = max(align, math.prod(map(int, sized.split("*"))))
    layout: Any = {
        "names": names,
        "formats": formats,
        "offsets": offsets,
        "itemsize": -(-end // align) * align,
    }
    dtype: np.dtype[Any] = np.dtype(layout)
    return dtype


def filled(kind: np.dtype[Any], **values: Any) -> NDArray[Any]:
    """Return a struct with the given fields, to be passed to a kernel by value."""
    if set(values) != set(kind.names or ()):
        odd = sorted(set(values) ^ set(kind.names or ()))
        raise TypeError(f"missing or unknown fields of the struct: {odd}")
    out = np.zeros((), dtype=kind)
    for name, value in values.items():
        several = isinstance(value, (list, tuple))
        out[name] = [_plain(one) for one in value] if several else _plain(value)
    return out


def _plain(value: Any) -> Any:
    if value is None:
        return 0
    if isinstance(value, (int, float, np.generic)):  # fast path
        return value
    # Looked up on the type, since an instance would build its interface in 3 us.
    on_device = hasattr(type(value), "__cuda_array_interface__")
    return int(value.data.ptr) if on_device else value


def enum_names(file: str, name: str) -> tuple[str, ...]:
    """Return the names of an enum in a kernel file; ``kNearFar`` becomes ``"near_far"``."""
    found = re.search(rf"\benum {name} : \w+ {{(?P<body>[\w\s,]*)}};", kernel_text((file,)))
    if found is None:
        raise ValueError(f"{file} has no enum {name} that counts from 0")
    words = (word.strip().removeprefix("k") for word in found["body"].split(","))
    return tuple(re.sub(r"(?<!^)([A-Z])", r"_\1", word).lower() for word in words)
