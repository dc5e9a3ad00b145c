"""Names and types of a kernel's parameters, read from its source."""

from __future__ import annotations

import re
import struct
from collections.abc import Mapping
from typing import Any, NamedTuple

import numpy as np

from nearfar.system.devices.structs import c_dtype, kernel_text

_ENTRY = r"__global__[^;{{]*?\b{name}\s*\("
_MARKS = re.compile(r"\b(?:const|volatile|__restrict__|__grid_constant__)\b")
_NULL, _ADDRESS = bytes(8), struct.Struct("Q").pack
_DECLARED = re.compile(r"(.+?)(\*?) ?(\w+)")
_VECTOR = re.compile(r"int[24]")  # vector types of 8 and 16 bytes, passed as arrays of int
_SAME = {"l": "lq", "q": "lq", "L": "LQ", "Q": "LQ"}  # names of the same 64 bits
#: Dtype codes of equal width and kind: entries of arrays may differ only in sign and name.
_ALIKE = {code: codes for codes in ("bB?", "hH", "iI", "lqLQ", "f", "d") for code in codes}


class Parameter(NamedTuple):
    """Parameter of a kernel."""

    name: str
    c_type: str  # type in the kernel's declaration
    pointer: bool
    codes: str | None  # characters of accepted dtypes; None means any structured dtype

    def __str__(self) -> str:
        return f"{self.c_type} {self.name}"

    def raw(self, value: Any) -> bytes | None:
        """Return the bytes of an accepted value, otherwise None.

        A pointer accepts a device array, None or an address as ``np.uint64``; other parameters
        accept NumPy scalars.
        """
        kind = type(value)
        array = _ARRAYS.get(kind)
        if array is None:  # checked first, since an array's interface takes 3 us
            array = _ARRAYS[kind] = hasattr(kind, "__cuda_array_interface__")
        if self.pointer:
            if value is None:
                return _NULL
            if array:
                if self.codes is None or value.dtype.char in self.codes:
                    return _ADDRESS(value.data.ptr)
                return None
            return value.tobytes() if kind is np.uint64 else None
        if array or not hasattr(value, "dtype"):
            return None
        if self.codes is not None and value.dtype.char not in self.codes:
            return None
        raw: bytes = value.tobytes()
        return raw


_ARRAYS: dict[type, bool] = {}  # whether each type is that of device arrays


def raw_bytes(
    kernel: str, declared: Mapping[str, Parameter], arguments: Mapping[str, Any]
) -> list[bytes]:
    """Return the bytes of a kernel's arguments; raise TypeError for an invalid one."""
    if declared.keys() != arguments.keys():
        names = arguments.keys()
        parts = (("needs", declared.keys() - names), ("has no", names - declared.keys()))
        said = [f"{what} {', '.join(sorted(which))}" for what, which in parts if which]
        raise TypeError(f"kernel {kernel} {' and '.join(said)}")
    found = []
    for name, parameter in declared.items():
        raw = parameter.raw(arguments[name])
        if raw is None:
            value = _described(arguments[name])
            raise TypeError(f"kernel {kernel}: {parameter} does not accept {value}")
        found.append(raw)
    return found


def _described(value: Any) -> str:
    """Describe a value for an error message."""
    dtype = getattr(value, "dtype", None)
    if value is None:
        return "None"
    if dtype is None:
        return f"a {type(value).__name__}: give a device array, None or a NumPy scalar"
    on_device = hasattr(type(value), "__cuda_array_interface__")
    return f"{'a device array' if on_device else 'a value'} of {dtype}"


def parameters(
    files: tuple[str, ...], name: str, macros: Mapping[str, str | int]
) -> dict[str, Parameter]:
    """Return the parameters of a kernel, in order, for the given files and macros."""
    text = kernel_text(files)
    entry = re.search(_ENTRY.format(name=name), text)
    if entry is None:
        raise ValueError(f"{files[-1]} has no kernel {name}")
    declared = text[entry.end() : text.index(")", entry.end())].split(",")
    found = (_parameter(files, one, macros) for one in declared if one.strip())
    return {parameter.name: parameter for parameter in found}


def _parameter(files: tuple[str, ...], declared: str, macros: Mapping[str, str | int]) -> Parameter:
    read = _DECLARED.fullmatch(" ".join(_MARKS.sub(" ", declared).split()))
    if read is None:
        raise ValueError(
            f"{files[-1]}: a parameter that is not a number, struct or pointer: {declared}"
        )
    base, star, name = read.groups()
    vector = _VECTOR.fullmatch(base)
    dtype = np.dtype(np.int32) if vector else c_dtype(files, base, macros)
    codes: str | None = None
    if dtype is not None:
        codes = _ALIKE.get(dtype.char) if star else _SAME.get(dtype.char, dtype.char)
    return Parameter(name, base + star, bool(star), codes)
