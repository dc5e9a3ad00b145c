"""Graphs.jl's text `.jlg`: a line ``vertices,edges,u|d,name,...``, then edges ``u,v``.

Vertices are numbered from 1 and keep these numbers as names.
"""

from __future__ import annotations

import re

from nearfar.errors import keyword
from nearfar.formats.files import Sink, Source
from nearfar.formats.specs import Format, register
from nearfar.graph.graph import Graph

_HEADER = re.compile(rb"^(\d{1,18}),(\d{1,18}),([ud])(?:,[^\n]*)?\n")


def sniff(head: bytes) -> bool:
    """Return whether the content begins with the header."""
    return _HEADER.match(head) is not None


def read(source: Source) -> Graph:
    """Read a graph; it takes no options."""
    from nearfar import _cpu

    match = _HEADER.match(source.head)
    if match is None:
        raise source.fail(
            "the first line is not 'vertices,edges,u,...' or 'vertices,edges,d,...'", 1
        )
    n, m, directed = int(match[1]), int(match[2]), match[3] == b"d"
    source.check_vertices(n, 1)
    found = _cpu.parse_edge_list(source.data, b"", 0, 1, -1, False, False, 1, source.progress())
    sources, targets = found["sources"], found["targets"]
    if len(sources) != m:
        raise source.fail(f"the first line promises {m} edges, but the file has {len(sources)}", 1)
    for ends in (sources, targets):
        wrong = (ends < 1) | (ends > n)
        if wrong.any():
            at = int(wrong.argmax())
            raise source.fail(f"vertex {ends[at]} is outside 1 to {n}", at + 2)
    graph: Graph = Graph.from_edges(
        sources - 1,
        targets - 1,
        n_vertices=n,
        directed=directed,
        vertex_names=range(1, n + 1),
        names=False,
    )
    return graph


def write(graph: Graph, sink: Sink) -> None:
    """Write a graph without its weights, which the format does not have."""
    from nearfar.formats.lists.edges import count_undirected
    from nearfar.formats.roads.dimacs import write_arcs

    if graph.is_weighted:
        raise sink.fail(
            f"Graphs.jl files hold no weights: read the graph with {keyword('weight', None)}, or "
            "call graph.without_weights()"
        )
    m = graph.n_edges if graph.directed else count_undirected(graph)
    kind = "d" if graph.directed else "u"
    sink.write(f"{graph.n_vertices},{m},{kind},graph,2,Int64,simplegraph\n".encode())
    write_arcs(graph, sink, separator=",", base=1, keep=0 if graph.directed else 1, weights=False)


register(
    Format(
        name="graphs-jl",
        title="Graphs.jl text files",
        suffixes=(".jlg", ".lg"),
        read=read,
        write=write,
        sniff=sniff,
        keeps="unweighted graphs, directedness",
    )
)
