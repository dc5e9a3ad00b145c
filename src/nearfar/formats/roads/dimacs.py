"""DIMACS text: `.gr` road networks with `.co` coordinates, SPLIB's `.sp`, PACE's `p tw` topologies.

Vertices are numbered from 1 and keep these numbers as names. Arcs are directed; `p tw` files list
each undirected edge once. SPLIB's source line ``n v`` becomes ``attributes["source"]``.
The Ninth DIMACS Challenge stores longitude and latitude as integers in millionths of a degree; that
scale is undone on reading and redone on writing.
"""

from __future__ import annotations

import os
import re
from typing import Any

import numpy as np
from numpy.typing import NDArray

from nearfar.errors import keyword
from nearfar.formats.compression import COMPRESSIONS, split_suffix
from nearfar.formats.files import Sink, Source, chunks_of_rows, finish, replacing
from nearfar.formats.specs import Format, register
from nearfar.graph.graph import Graph
from nearfar.options import check_above_zero

_PROBLEM = re.compile(rb"(?m)^p[ \t]+(sp|tw)[ \t]+\d+[ \t]+\d+")


def sniff(head: bytes) -> bool:
    """Return whether the content has a problem line of a known kind."""
    return _PROBLEM.search(head) is not None


def read(
    source: Source,
    *,
    directed: bool | None = None,
    coordinates: str | os.PathLike[str] | bool | None = None,
    coordinate_scale: float = 1e6,
) -> Graph:
    """Read `.gr`, `.sp` or PACE text."""
    from nearfar import _cpu

    check_above_zero(coordinate_scale=coordinate_scale)
    found = _cpu.parse_dimacs(source.data, source.progress())
    if directed is None:
        directed = not found["treewidth"]
    beside: str | os.PathLike[str] | None = None
    if coordinates is None or coordinates is True:
        beside = _beside(source.path)
    elif coordinates is not False:
        beside = coordinates
    if coordinates is True and beside is None:
        raise source.fail("there is no .co file of the same name in its folder")
    attributes: dict[str, Any] = {}
    if found["title"]:
        attributes["title"] = found["title"].decode(errors="replace")
    if len(found["sources_named"]):
        attributes["source"] = int(found["sources_named"][0]) + 1
    graph: Graph = Graph.from_edges(
        found["sources"],
        found["targets"],
        found["weights"],
        n_vertices=found["n"],
        directed=directed,
        vertex_names=range(1, found["n"] + 1),
        names=False,
        coordinates=None
        if beside is None
        else read_coordinates(beside, found["n"], scale=coordinate_scale),
        attributes=attributes,
    )
    return graph


def read_coordinates(
    path: str | os.PathLike[str], n_vertices: int, *, scale: float = 1e6
) -> NDArray[np.float64]:
    """Return the coordinates of a `.co` file, shape (n_vertices, 2), divided by ``scale``."""
    from nearfar import _cpu

    source = Source(path)
    with finish(source.path):
        flat: NDArray[np.float64] = _cpu.parse_dimacs_coordinates(source.data, None)
        if len(flat) != 2 * n_vertices:
            raise source.fail(f"{len(flat) // 2} vertices, but the graph has {n_vertices}")
    return flat.reshape(-1, 2) / scale


def write(
    graph: Graph,
    sink: Sink,
    *,
    coordinates: bool = True,
    coordinate_scale: float = 1e6,
    comment: str = "",
) -> None:
    """Write `p sp` arcs, and a `.co` file next to it if the graph has coordinates."""
    check_above_zero(coordinate_scale=coordinate_scale)
    left = _beside(sink.path) if coordinates and graph.coordinates is None else None
    if left is not None:
        raise sink.fail(
            f"the graph has no coordinates, but a reader would take those of {left}: remove that "
            f"file, or pass {keyword('coordinates', False)} if they belong to the graph"
        )
    n, m = graph.n_vertices, graph.n_edges
    sink.write("".join(f"c {line}\n" for line in comment.splitlines()).encode())
    sink.write(f"p sp {n} {m}\n".encode())
    if isinstance(graph.attributes.get("source"), int):
        sink.write(f"n {graph.index_of(graph.attributes['source'], 'source') + 1}\n".encode())
    write_arcs(graph, sink, prefix="a ", base=1)
    if coordinates and graph.coordinates is not None:
        _write_coordinates(graph.coordinates, sink.path, coordinate_scale)


def write_arcs(
    graph: Graph,
    sink: Sink,
    *,
    prefix: str = "",
    separator: str = " ",
    base: int = 0,
    keep: int = 0,
    weights: bool = True,
    names: tuple[NDArray[np.int64], NDArray[np.uint8]] | None = None,
) -> None:
    """Write lines of edges for any text format; ``keep`` 1 and 2 select a triangle."""
    from nearfar import _cpu

    offsets, text = names if names is not None else (None, None)
    for first, last, done in chunks_of_rows(graph):
        sink.write(
            _cpu.format_rows(
                graph.view, first, last, prefix, separator, base, keep, weights, offsets, text
            )
        )
        sink.tell(done, graph.n_edges)


def _stem(path: str) -> tuple[str, str]:
    """Return a path without its suffixes, and the suffix of its compression."""
    suffix, packed = split_suffix(path)
    return path[: len(path) - len(suffix) - len(packed)], packed


def _beside(path: str) -> str | None:
    """Return the .co file that readers of a path use, or None."""
    stem, packed = _stem(path)
    names = (f"{stem}.co{other}" for other in dict.fromkeys((packed, "", *COMPRESSIONS)))
    return next(filter(os.path.isfile, names), None)


def _write_coordinates(xy: NDArray[np.float64], graph_path: str, scale: float) -> None:
    from nearfar import _cpu

    stem, packed = _stem(graph_path)
    whole = np.ascontiguousarray(np.rint(xy * scale))
    with replacing(stem + ".co" + packed) as sink:
        sink.write(f"p aux sp co {len(xy)}\n".encode())
        for first in range(0, len(xy), 1 << 18):
            sink.write(_cpu.format_coordinates(whole, first, min(first + (1 << 18), len(xy))))


register(
    Format(
        name="dimacs",
        title="DIMACS shortest-path text, with coordinates in a .co file; SPLIB; PACE topologies",
        suffixes=(".gr", ".sp"),
        read=read,
        write=write,
        sniff=sniff,
        keeps="weights, coordinates to a millionth; every edge as an arc",
    )
)
