"""Matrix Market `.mtx`, parsed and written in C++.

Entry (i, j) is the edge from i to j; vertices are numbered from 1 and keep these numbers as names.
A symmetric matrix is an undirected graph, a pattern an unweighted one; of a skew-symmetric matrix
both triangles are arcs, one with the opposite sign. Stored zeros are edges of weight 0; in a dense
(``array``) file zeros are not edges.
"""

from __future__ import annotations

import re

import numpy as np

from nearfar.formats.files import Sink, Source, narrowed
from nearfar.formats.specs import Format, register
from nearfar.graph.graph import Graph
from nearfar.system.threads import default_threads

_BANNER = re.compile(rb"^%%MatrixMarket\s", re.IGNORECASE)


def sniff(head: bytes) -> bool:
    """Return whether the content begins with the banner."""
    return _BANNER.match(head) is not None


def read(source: Source, *, directed: bool | None = None) -> Graph:
    """Read a Matrix Market file."""
    from nearfar import _cpu

    found = _cpu.parse_matrix_market(source.data, default_threads(), source.progress())
    sources, targets, weights = found["sources"], found["targets"], found["weights"]
    if found["skew"]:
        if weights.dtype == np.int64 and (weights == np.iinfo(np.int64).min).any():
            raise source.fail(f"a value of {-(2**63)} has no opposite in 64 bits")
        sources, targets = np.concatenate([sources, targets]), np.concatenate([targets, sources])
        weights = np.concatenate([weights, -weights])
    symmetric = found["symmetric"]
    names = range(1, found["n"] + 1)
    graph: Graph = Graph.from_edges(
        sources,
        targets,
        None if weights is None else narrowed(weights),
        n_vertices=found["n"],
        directed=not symmetric and directed is not False,
        vertex_names=names,
        names=False,
    )
    if symmetric and directed is True:
        arcs: Graph = Graph.from_csr(graph.indptr, graph.indices, graph.weights, vertex_names=names)
        return arcs
    return graph


def write(graph: Graph, sink: Sink, *, comment: str = "") -> None:
    """Write a coordinate matrix: integer, real or pattern; symmetric for an undirected graph."""
    from nearfar.formats.lists.edges import count_undirected
    from nearfar.formats.roads.dimacs import write_arcs

    field = "pattern"
    if graph.weights is not None:
        field = "real" if graph.weights.dtype.kind == "f" else "integer"
    symmetry = "general" if graph.directed else "symmetric"
    m = graph.n_edges if graph.directed else count_undirected(graph)
    sink.write(f"%%MatrixMarket matrix coordinate {field} {symmetry}\n".encode())
    sink.write("".join(f"% {line}\n" for line in comment.splitlines()).encode())
    sink.write(f"{graph.n_vertices} {graph.n_vertices} {m}\n".encode())
    keep = 0 if graph.directed else 2
    write_arcs(graph, sink, base=1, keep=keep, weights=graph.is_weighted)


register(
    Format(
        name="matrix-market",
        title="Matrix Market coordinate and array files",
        suffixes=(".mtx", ".mm"),
        read=read,
        write=write,
        sniff=sniff,
        keeps="weights, directedness",
    )
)
