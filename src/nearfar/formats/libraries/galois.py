"""Galois's binary `.gr`, version 1 (32-bit targets) and 2 (64-bit targets).

Little-endian: uint64 version, bytes of edge data, vertices, edges; uint64 row ends; targets (in
version 1 padded to 8 bytes); edge data. The file does not record whether its edge data are
integers or floats: the option ``data`` does, and a file of floats is not read without it. DIMACS
text has the same suffix; the first 8 bytes distinguish them.
"""

from __future__ import annotations

import struct
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from nearfar.errors import OptionError, keyword, quoted
from nearfar.formats.files import Sink, Source
from nearfar.formats.specs import Format, register
from nearfar.graph.graph import Graph

_HEADER = struct.Struct("<QQQQ")
_TYPES = {
    4: {"int": "<i4", "uint": "<u4", "float": "<f4"},
    8: {"int": "<i8", "uint": "<u8", "float": "<f8"},
}


def sniff(head: bytes) -> bool:
    """Return whether version and size of the edge data are those of such a file."""
    if len(head) < _HEADER.size:
        return False
    version, size, n, m = _HEADER.unpack(head[: _HEADER.size])
    if n == m == 0 and len(head) > _HEADER.size:  # a GAP file without vertices begins alike
        return False
    return version in (1, 2) and size in (0, 4, 8)


def read(source: Source, *, data: Literal["int", "uint", "float"] | None = None) -> Graph:
    """Read a Galois graph; by default weights are integers, unless all of them look like floats."""
    if data is not None and data not in _TYPES[4]:
        raise OptionError(f"data is {quoted(data)}: use 'int', 'uint' or 'float'")
    raw = source.data
    if raw.size < _HEADER.size:
        raise source.fail("the header is cut short")
    version, size, n, m = _HEADER.unpack(source.head[: _HEADER.size])
    if version not in (1, 2) or size not in (0, 4, 8):
        raise source.fail(
            f"version {version} with {size} bytes per edge: expected 1 or 2 with 0, 4 or 8"
        )
    target = 4 if version == 1 else 8
    padding = 4 * (m % 2) if version == 1 else 0
    expected = _HEADER.size + 8 * n + target * m + padding + size * m
    # Without edge data some writers omit the padding.
    if raw.size not in (expected, expected - padding if size == 0 else expected):
        raise source.fail(
            f"{n} vertices and {m} edges make {expected} bytes, but the file has {raw.size}: it is "
            "cut short or damaged"
        )
    at = _HEADER.size + 8 * n
    indptr = np.zeros(n + 1, dtype=np.uint64)
    indptr[1:] = raw[_HEADER.size : at].view("<u8")
    indices = raw[at : at + target * m].view("<u4" if version == 1 else "<u8")
    at += target * m + padding
    weights: NDArray[Any] | None = None
    if size:
        bits = raw[at : at + size * m]
        if data is None and _look_like_floats(bits.view(_TYPES[size]["float"])):
            raise source.fail(
                f"the weights look like floats: pass {keyword('data', 'float')}, or "
                f"{keyword('data', 'int')} if they are integers"
            )
        weights = bits.view(_TYPES[size][data or "int"])
        if data == "uint" and size == 4 and (m == 0 or int(weights.max()) < 2**31):
            weights = weights.astype(np.int32)
    graph: Graph = Graph.from_csr(indptr, indices, weights, copy=False)
    return graph


def _look_like_floats(weights: NDArray[Any]) -> bool:
    """Return whether the weights are floats of usual size, which are very large as integers."""
    known = np.abs(weights[weights != 0])
    return bool(known.size and ((known > 2.0**-40) & (known < 2.0**40)).all())


def write(graph: Graph, sink: Sink, *, version: int | None = None) -> None:
    """Write a Galois graph; weights keep their 4 or 8 bytes."""
    n, m = graph.n_vertices, graph.n_edges
    if version is None:
        version = 1 if n < 2**32 else 2
    if version not in (1, 2) or (version == 1 and n > 2**32):
        raise OptionError(f"version is {version}: use 1 (up to 2**32 vertices) or 2")
    size = 0 if graph.weights is None else graph.weights.dtype.itemsize
    sink.write(_HEADER.pack(version, size, n, m))
    sink.write(np.asarray(graph.indptr[1:], dtype="<u8").tobytes())
    sink.write(np.asarray(graph.indices, dtype="<u4" if version == 1 else "<u8").tobytes())
    if version == 1 and m % 2:
        sink.write(bytes(4))
    if graph.weights is not None:
        sink.write(graph.weights.astype(graph.weights.dtype.newbyteorder("<")).tobytes())


register(
    Format(
        name="galois",
        title="Galois binary graphs, versions 1 and 2",
        suffixes=(".gr", ".vgr"),
        read=read,
        write=write,
        sniff=sniff,
        keeps="weights; every edge as an arc",
    )
)
