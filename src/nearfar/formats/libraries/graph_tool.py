"""graph-tool's binary `.gt`, read only.

A numeric edge property becomes the weight; a vertex property ``pos`` of two numbers becomes the
coordinates. Other properties are skipped.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from nearfar.formats.files import Source
from nearfar.formats.specs import Format, register
from nearfar.graph.convert import weight_problem
from nearfar.graph.graph import Graph

MAGIC = b"\xe2\x9b\xbe gt"
_NUMBERS = {0: "|u1", 1: "<i2", 2: "<i4", 3: "<i8", 4: "<f8"}
_VERTEX, _EDGE, _VECTOR_OF_DOUBLES = 1, 2, 11


def sniff(head: bytes) -> bool:
    """Return whether the content begins with the magic bytes."""
    return head.startswith(MAGIC)


def read(source: Source, *, weight: str | None = "weight") -> Graph:
    """Read a graph-tool graph."""
    from nearfar import _cpu

    if not sniff(source.head):
        raise source.fail("not a graph-tool file: the magic at its start is missing")
    found = _cpu.parse_graph_tool(source.data)
    maps = [(key, name.decode(errors="replace"), *rest) for key, name, *rest in found["maps"]]
    numeric = {
        name: source.data[first:last].view(_NUMBERS[kind]).copy()  # properties lie unaligned
        for key, name, kind, first, last in maps
        if key == _EDGE and kind in _NUMBERS
    }
    weights: NDArray[Any] | None = None
    if weight in numeric:
        weights = numeric[weight]
    elif weight is not None:
        problem = weight_problem(weight, list(numeric), list(numeric), "numeric edge property")
        if problem:
            raise source.fail(problem)
    coordinates = None
    for key, name, kind, first, last in maps:
        if key == _VERTEX and name == "pos" and kind == _VECTOR_OF_DOUBLES:
            coordinates = _pairs(source.data[first:last], found["n"])
    graph: Graph = Graph.from_edges(
        found["sources"],
        found["targets"],
        weights,
        n_vertices=found["n"],
        directed=found["directed"],
        coordinates=coordinates,
    )
    return graph


def _pairs(raw: NDArray[np.uint8], n: int) -> NDArray[np.float64] | None:
    """Return vectors of two doubles, each after its length; None if one has another length."""
    if raw.size != 24 * n:
        return None
    table = raw.reshape(n, 24)
    if (np.ascontiguousarray(table[:, :8]).view("<u8") != 2).any():
        return None
    return np.ascontiguousarray(table[:, 8:]).view("<f8").reshape(n, 2).astype(np.float64)


register(
    Format(
        name="graph-tool",
        title="graph-tool binary files",
        suffixes=(".gt",),
        read=read,
        sniff=sniff,
        keeps="a numeric edge property as weight, positions",
    )
)
