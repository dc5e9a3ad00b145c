"""MovingAI grid maps `.map` and their scenarios `.scen`.

Passable cells are vertices in row-major order, with (x, y) = (column, row) as coordinates. Moves go
to the eight neighbours with weights 1 and sqrt(2) in float64; a diagonal move needs both
adjacent cells free.
"""

from __future__ import annotations

import os
import re
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from nearfar.errors import GraphError, quoted
from nearfar.formats.files import Sink, Source
from nearfar.formats.specs import Format, register
from nearfar.graph.graph import Graph

_MAX_CELLS = 1 << 31
_CELL = re.compile(rb"\d{1,10}")
_LENGTH = re.compile(rb"\d{1,15}(\.\d{1,30})?")


def sniff(head: bytes) -> bool:
    """Return whether the content begins with the type line."""
    return head.startswith(b"type octile")


def read(source: Source, *, diagonal: bool = True) -> Graph:
    """Read a map."""
    from nearfar import _cpu

    found = _cpu.parse_grid_map(source.data, diagonal, source.progress())
    graph: Graph = Graph.from_csr(
        found["indptr"],
        found["indices"],
        found["weights"],
        directed=False,
        copy=False,
        coordinates=found["coordinates"].reshape(-1, 2),
        attributes={"height": found["height"], "width": found["width"], "unit": "cells"},
    )
    return graph


class Scenarios(NamedTuple):
    """Queries of a `.scen` file; every array has one entry per query."""

    # start, goal: shape (k, 2); x (column) and y (row) of the cells
    start: NDArray[np.int64]
    goal: NDArray[np.int64]
    length: NDArray[np.float64]  # shape (k,); optimal lengths as published, rounded as in the file


def read_scenarios(path: str | os.PathLike[str]) -> Scenarios:
    """Read the queries and published answers of a map."""
    source = Source(path)
    rows: list[list[bytes]] = []
    lines = bytes(source.data).split(b"\n")
    if not lines[0].startswith(b"version"):
        raise source.fail("the first line is not 'version ...'", 1)
    for number, line in enumerate(lines[1:], start=2):
        fields = line.split()
        if fields:
            if len(fields) < 9:
                raise source.fail(f"{len(fields)} fields, expected 9", number)
            row = fields[-5:]  # map names may hold blanks; what follows does not
            for field, kind in zip(row, (_CELL, _CELL, _CELL, _CELL, _LENGTH), strict=True):
                if not kind.fullmatch(field):
                    raise source.fail(f"{quoted(field.decode('latin-1'))} is not a number", number)
            rows.append(row)
    table = np.array(rows, dtype=np.float64).reshape(-1, 5)
    cells = table[:, :4].astype(np.int64)
    return Scenarios(cells[:, :2], cells[:, 2:], table[:, 4])


def vertex_at(graph: Graph, cells: NDArray[np.int64]) -> NDArray[np.int64]:
    """Return the vertices of cells (x, y), shape (k,)."""
    if graph.coordinates is None:
        raise GraphError("the graph has no coordinates: it was not read from a map")
    width = int(graph.attributes["width"])
    x, y = graph.coordinates.astype(np.int64).T
    keys, wanted = y * width + x, cells[:, 1] * width + cells[:, 0]
    at = np.minimum(np.searchsorted(keys, wanted), len(keys) - 1)
    if len(keys) == 0 or (keys[at] != wanted).any():
        raise GraphError("a cell is blocked or outside the map")
    return at


def write(graph: Graph, sink: Sink) -> None:
    """Write a grid graph as a map; refused unless the map reads back as exactly this graph."""
    from nearfar import _cpu

    xy = graph.coordinates
    if xy is None or len(xy) == 0 or (xy < 0).any() or (xy != np.floor(xy)).any():
        raise sink.fail("a map needs whole, non-negative cell coordinates on every vertex")
    size = [int(v) + 1 for v in xy.max(axis=0)]
    width = max(size[0], _whole(graph.attributes.get("width")))
    height = max(size[1], _whole(graph.attributes.get("height")))
    if width * height >= _MAX_CELLS:
        raise sink.fail(f"a map of {width} x {height} cells is too large")
    cells = np.full((height, width), ord("@"), dtype=np.uint8)
    cells[xy[:, 1].astype(np.int64), xy[:, 0].astype(np.int64)] = ord(".")
    lines = np.concatenate([cells, np.full((height, 1), ord("\n"), dtype=np.uint8)], axis=1)
    text = f"type octile\nheight {height}\nwidth {width}\nmap\n".encode() + lines.tobytes()
    back = _cpu.parse_grid_map(np.frombuffer(text, dtype=np.uint8), True, None)
    same = (
        np.array_equal(back["coordinates"].reshape(-1, 2), xy)
        and np.array_equal(back["indptr"], graph.indptr)
        and np.array_equal(back["indices"], graph.indices)
        and np.array_equal(back["weights"], graph.effective_weights)
    )
    if not same:
        raise sink.fail("the edges are not those of an eight-connected grid map")
    sink.write(text)


def _whole(value: Any) -> int:
    return value if isinstance(value, int) else 0


register(
    Format(
        name="movingai",
        title="MovingAI grid maps, eight-connected without cutting corners",
        suffixes=(".map",),
        read=read,
        write=write,
        sniff=sniff,
        keeps="grid graphs; all passable terrain becomes '.'",
    )
)
