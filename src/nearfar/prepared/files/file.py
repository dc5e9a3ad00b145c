"""File of a prepared graph (``.nfp``): named arrays, mapped into memory when read.

A file has eight bytes that name the format, a header in JSON and the arrays, each at a
multiple of 64 bytes, so that two processes that load one file share its memory. Layout, little
endian:

====================  ==============================================================
bytes                 what
====================  ==============================================================
0 to 7                ``nearfar`` and a zero byte
8 to 11               version of the format, unsigned
12 to 15              CRC-32 of the header
16 to 23              length of the header in bytes, unsigned
24 ...                the header: names, dtypes, shapes, offsets and CRC-32 of arrays
====================  ==============================================================
"""

from __future__ import annotations

import json
import math
import os
import re
import struct
import sys
import zlib
from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from nearfar.errors import GraphError, GraphFormatError, OptionError, listed, quoted
from nearfar.options import file_name
from nearfar.system.output import replacing

_MAGIC = b"nearfar\0"
_VERSION = 2
_PREFIX = struct.Struct("<8sIIQ")
_LINE = 64  # bytes that arrays are aligned to
_MOST_HEADER = 2**26
_DTYPE = re.compile(r"(\|b1|\|u1|\|i1|<[iuf][248]|<U[1-9]\d{0,6}|\|S[1-9]\d{0,6})\Z")


def write_arrays(
    path: str | os.PathLike[str], about: Mapping[str, Any], arrays: Mapping[str, NDArray[Any]]
) -> None:
    """Write arrays to a file, atomically."""
    _check_suffix(path)
    entries: list[dict[str, Any]] = []
    offset = 0
    for name, array in arrays.items():
        if array.dtype.kind not in "iufUSb":
            raise GraphError(f"{name} has dtype {array.dtype}: name vertices by text or numbers")
        entries.append(
            {
                "name": name,
                "dtype": array.dtype.str,
                "shape": list(array.shape),
                "offset": offset,
                "crc": zlib.crc32(_bytes(array)),
            }
        )
        offset += -(-array.nbytes // _LINE) * _LINE
    header = json.dumps({**about, "arrays": entries}).encode()
    start = _start(len(header))
    with replacing(path) as name_there, open(name_there, "wb") as out:
        out.write(_PREFIX.pack(_MAGIC, _VERSION, zlib.crc32(header), len(header)))
        out.write(header)
        for entry, array in zip(entries, arrays.values(), strict=True):
            out.write(b"\0" * (start + entry["offset"] - out.tell()))
            out.write(_bytes(array))
        out.write(b"\0" * (start + offset - out.tell()))


def read_arrays(
    path: str | os.PathLike[str], check: bool = True
) -> tuple[dict[str, Any], dict[str, NDArray[Any]]]:
    """Read the content written by :func:`write_arrays`; arrays are read-only maps of the file."""
    _check_suffix(path)
    if sys.byteorder != "little":
        raise GraphFormatError("prepared graphs are stored little endian", path)
    with open(path, "rb") as source:
        prefix = source.read(_PREFIX.size)
        if len(prefix) < _PREFIX.size or not prefix.startswith(_MAGIC):
            raise GraphFormatError("this is not a prepared graph: nearfar.prepare makes one", path)
        _, version, crc, length = _PREFIX.unpack(prefix)
        if version != _VERSION:
            raise GraphFormatError(
                f"format version {version}, and this nearfar reads version {_VERSION}: "
                "prepare the graph again",
                path,
            )
        header = source.read(min(length, _MOST_HEADER))
    if length > _MOST_HEADER or len(header) != length or zlib.crc32(header) != crc:
        raise GraphFormatError("the header is damaged or cut off", path)
    try:
        found = json.loads(header)
    except (ValueError, RecursionError) as error:
        raise GraphFormatError(f"the header cannot be read as JSON: {error}", path) from None
    if not isinstance(found, dict) or not isinstance(found.get("arrays"), list):
        raise GraphFormatError("the header has no list of arrays", path)
    for entry in found["arrays"]:
        if not isinstance(entry, dict) or not _is_entry(entry):
            raise GraphFormatError(f"the header describes an array as {quoted(entry)}", path)
    start = _start(length)
    mapped = np.memmap(path, dtype=np.uint8, mode="r")
    arrays = {e["name"]: _array(path, mapped, start, e, check) for e in found["arrays"]}
    return found, arrays


def _is_entry(entry: dict[str, Any]) -> bool:
    """Return whether the description of an array has values of the right kinds."""
    shape, name, kind = entry.get("shape"), entry.get("name"), entry.get("dtype")
    numbers = [entry.get("offset"), entry.get("crc"), *(shape if isinstance(shape, list) else [""])]
    whole = all(type(number) is int and number >= 0 for number in numbers)
    return whole and isinstance(name, str) and isinstance(kind, str) and bool(_DTYPE.match(kind))


def _start(header: int) -> int:
    """Return the start of the arrays after a header of ``length`` bytes."""
    return -(-(_PREFIX.size + header) // _LINE) * _LINE


def _bytes(array: NDArray[Any]) -> Any:
    return np.ascontiguousarray(array).reshape(-1).view(np.uint8).data if array.size else b""


def _check_suffix(path: str | os.PathLike[str]) -> None:
    name = file_name(path)
    if not name.endswith(".nfp"):
        raise OptionError(f"{quoted(name)}: the name of a prepared graph's file ends in .nfp")


def _array(
    path: str | os.PathLike[str],
    mapped: NDArray[np.uint8],
    start: int,
    entry: dict[str, Any],
    check: bool,
) -> NDArray[Any]:
    dtype = np.dtype(entry["dtype"])
    size = math.prod(entry["shape"]) * dtype.itemsize
    begin = start + entry["offset"]
    if begin + size > len(mapped) or begin % _LINE:
        raise GraphFormatError(f"the file is cut off in {listed([entry['name']])}", path)
    part = mapped[begin : begin + size]
    if check and size and zlib.crc32(part.data) != entry["crc"]:
        raise GraphFormatError(f"{listed([entry['name']])} is damaged: its checksum differs", path)
    return np.ndarray(entry["shape"], dtype, buffer=part.data)
