"""METIS `.graph`, the format of graph partitioners and of the Tenth DIMACS Challenge.

Graphs are undirected by definition: every edge is in the lines of both its ends, and other files
are refused. Vertices are numbered from 1 and keep these numbers as names. Vertex weights and
sizes are skipped. Edge weights are integers greater than 0.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from nearfar.errors import keyword
from nearfar.formats.files import Sink, Source, chunks_of_rows
from nearfar.formats.specs import Format, register
from nearfar.graph.graph import Graph


def read(source: Source) -> Graph:
    """Read a METIS graph; it takes no options."""
    from nearfar import _cpu

    found = _cpu.parse_metis(source.data, source.progress())
    if not found["symmetric"]:
        raise _asymmetric(source, found)
    graph: Graph = Graph.from_csr(
        found["indptr"],
        found["indices"],
        found["weights"],
        directed=False,
        copy=False,
        vertex_names=range(1, len(found["indptr"])),
    )
    return graph


def _asymmetric(source: Source, found: dict[str, Any]) -> Exception:
    """Return an error for the first edge that is missing from the line of one of its ends."""
    rows = np.repeat(np.arange(len(found["indptr"]) - 1), np.diff(found["indptr"]))
    columns = found["indices"].astype(np.int64)
    weights: NDArray[Any] = found["weights"] if found["weights"] is not None else np.ones(len(rows))
    forth = np.lexsort((weights, columns, rows))
    back = np.lexsort((weights, rows, columns))
    wrong = (rows[forth] != columns[back]) | (columns[forth] != rows[back])
    wrong |= weights[forth] != weights[back]
    at = int(np.argmax(wrong))
    here, there = (rows[forth[at]], columns[forth[at]]), (columns[back[at]], rows[back[at]])
    u, v = (int(end) + 1 for end in min(here, there))
    message = f"the lines of vertices {u} and {v} disagree about their edge: edges are undirected"
    return source.fail(message, _line_of_vertex(source, found["header_line"], u))


def _line_of_vertex(source: Source, header: int, vertex: int) -> int:
    lines = bytes(source.data).split(b"\n")
    number, left = header, vertex
    while left and number < len(lines):
        left -= not lines[number].startswith(b"%")
        number += 1
    return number


def write(graph: Graph, sink: Sink) -> None:
    """Write an undirected graph: no self-loops; integer weights above 0, or none."""
    from nearfar import _cpu

    if graph.directed:
        raise sink.fail(
            "METIS files hold undirected graphs only: read it with "
            f"{keyword('directed', False)}, or choose another format"
        )
    weights = graph.is_weighted and graph.n_edges > 0
    if weights and (graph.weight_dtype.kind == "f" or graph.min_weight < 1):
        raise sink.fail("METIS files hold integer weights greater than 0 only")
    rows = graph.tails()
    loops = np.flatnonzero(rows == graph.indices)
    if len(loops):
        raise sink.fail(f"vertex {rows[loops[0]]} has a self-loop, which METIS files cannot hold")
    sink.write(f"{graph.n_vertices} {graph.n_edges // 2}{' 001' if weights else ''}\n".encode())
    for first, last, done in chunks_of_rows(graph):
        sink.write(_cpu.format_adjacency(graph.view, first, last, weights))
        sink.tell(done, graph.n_edges)


register(
    Format(
        name="metis",
        title="METIS adjacency lists",
        suffixes=(".graph", ".metis"),
        read=read,
        write=write,
        keeps="undirected graphs without self-loops, integer weights above 0",
    )
)
