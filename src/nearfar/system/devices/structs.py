"""NumPy dtypes of the structs in kernel files, so that each is described once: by the kernel.

Understood is what such structs need: plain fields and fixed arrays of them, pointers, ``alignas``,
and types that a macro, a typedef or another struct of the same program names. Anything else is
refused, so that no layout is ever guessed.
"""

from __future__ import annotations

import functools
import math
import re
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Mapping

    from numpy.typing import NDArray

__all__ = ["enum_names", "filled", "struct_dtype"]

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


class _Declared(NamedTuple):
    """What a kernel file declares, by name; the first of several."""

    typedefs: dict[str, str]
    counters: dict[str, str]  # and the type whose size decides
    structs: dict[str, tuple[str | None, str]]  # alignment, and fields


def struct_dtype(
    file: str, name: str, macros: Mapping[str, str | int] | None = None, **types: str
) -> np.dtype[Any]:
    """The dtype of a struct as a program compiled with these macros lays it out.

    Parameters
    ----------
    file : str
        Kernel file that has the struct or requires the file that has it, relative to the package.
    name : str
    macros : mapping
        Those of the program; the ones that name a type are used.
    **types : str
        NumPy types of names that only the compiler could resolve.

    Returns
    -------
    dtype
        Structured, with the offsets, alignment and size of the device; pointers are uint64.

    Raises
    ------
    ValueError
        For a struct that is not there, or that has more than plain fields.
    """
    given = {key: str(value) for key, value in (macros or {}).items()}
    return _struct(file, name, tuple(sorted(given.items())), tuple(sorted(types.items())))


@functools.cache
def _text(file: str) -> str:
    from nearfar.system.devices.compiler import assemble  # programs of the CPU do without

    return _COMMENT.sub("", assemble([file]))


@functools.cache
def _declared(file: str) -> _Declared:
    """Found in one pass: to search the text for each name takes milliseconds of a first solve."""
    text = _text(file)
    return _Declared(
        {name: kind for kind, name in reversed(_TYPEDEF.findall(text))},
        {name: kind for kind, name in reversed(_COUNTER.findall(text))},
        {
            found["name"]: (found["align"], text[found.end() : text.find("};", found.end())])
            for found in reversed(list(_STRUCT.finditer(text)))
        },
    )


@functools.cache
def _struct(
    file: str, name: str, macros: tuple[tuple[str, str], ...], types: tuple[tuple[str, str], ...]
) -> np.dtype[Any]:
    declared, named, chosen = _declared(file), dict(macros), dict(types)

    def resolve(type_name: str) -> np.dtype[Any]:
        if type_name in chosen:
            return np.dtype(chosen[type_name])
        if type_name in _NUMBERS:
            return np.dtype(_NUMBERS[type_name])
        if type_name in named:
            return resolve(named[type_name])
        if type_name in declared.typedefs:
            return resolve(declared.typedefs[type_name])
        if type_name in declared.counters:
            size = resolve(declared.counters[type_name]).itemsize
            return np.dtype("u8" if size > 4 else "u4")
        return _struct(file, type_name, macros, types)

    if name not in declared.structs:
        raise ValueError(f"{file} has no struct {name}")
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
                raise ValueError(f"{file}: struct {name} has more than plain fields: {statement}")
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
    """A struct to pass to a kernel by value.

    Parameters
    ----------
    kind : dtype
        From :func:`struct_dtype`.
    **values : number, device array, None, or sequence of these
        Every field's value; of an array its address, of None a null pointer.

    Returns
    -------
    array, shape ()

    Raises
    ------
    TypeError
        If a field is missing or one too many is given.
    """
    if set(values) != set(kind.names or ()):
        odd = sorted(set(values) ^ set(kind.names or ()))
        raise TypeError(f"fields of the struct that are missing, or that it does not have: {odd}")
    out = np.zeros((), dtype=kind)
    for name, value in values.items():
        several = isinstance(value, (list, tuple))
        out[name] = [_plain(one) for one in value] if several else _plain(value)
    return out


def _plain(value: Any) -> Any:
    if value is None:
        return 0
    if isinstance(value, (int, float, np.generic)):  # to ask an array takes long
        return value
    # Of the array itself the interface would be made first, 3 us each.
    there = hasattr(type(value), "__cuda_array_interface__")
    return int(value.data.ptr) if there else value


def enum_names(file: str, name: str) -> tuple[str, ...]:
    """What an enum of a kernel file counts through: ``kNearFar`` is ``"near_far"``.

    Parameters
    ----------
    file : str
        As for :func:`struct_dtype`.
    name : str

    Returns
    -------
    tuple of str

    Raises
    ------
    ValueError
        If it is not there, or gives numbers of its own.
    """
    found = re.search(rf"\benum {name} : \w+ {{(?P<body>[\w\s,]*)}};", _text(file))
    if found is None:
        raise ValueError(f"{file} has no enum {name} that counts from 0")
    words = (word.strip().removeprefix("k") for word in found["body"].split(","))
    return tuple(re.sub(r"(?<!^)([A-Z])", r"_\1", word).lower() for word in words)
