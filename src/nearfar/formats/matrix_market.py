"""Matrix Market `.mtx`: read with SciPy's reader, written in C++.

Entry (i, j) is the edge from i to j; vertices are numbered from 1 and keep these numbers as names.
A symmetric matrix is an undirected graph, a pattern an unweighted one. Stored zeros are edges of
weight 0; in a dense (``array``) file zeros are no edges.
"""

from __future__ import annotations

import io
import re
from typing import TYPE_CHECKING, Any

import numpy as np

from nearfar.formats.files import Sink, Source, library_errors, narrowed
from nearfar.formats.specs import Format, register

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from nearfar.graph.graph import Graph

_BANNER = re.compile(rb"^%%MatrixMarket\s", re.IGNORECASE)
_SIZES = re.compile(rb"(?m)^\s*(\d+)\s+(\d+)(?:\s+(\d+))?\s*$")


def sniff(head: bytes) -> bool:
    """Whether the banner is there."""
    return _BANNER.match(head) is not None


def read(source: Source, *, directed: bool | None = None) -> Graph:
    """Read a Matrix Market file.

    Parameters
    ----------
    directed : bool or None
        None: undirected when the file is symmetric. False adds the reverse of every entry of a
        general matrix; True takes the entries of a symmetric one, both triangles, as arcs.
    """
    from scipy import io as scipy_io

    from nearfar.graph.graph import Graph

    if not sniff(source.head):
        raise source.fail("the first line is not '%%MatrixMarket matrix ...'", 1)
    _check_sizes(source)
    with library_errors(source.path, "Matrix Market"):
        raw = io.BytesIO(source.data.tobytes())
        rows, columns, _, layout, field, symmetry = scipy_io.mminfo(raw)
        raw.seek(0)
        if rows != columns:
            raise source.fail(f"the matrix is {rows} x {columns}: an adjacency matrix is square")
        if field == "complex":
            raise source.fail("complex entries cannot be weights", 1)
        matrix: Any = scipy_io.mmread(raw)
        ends: tuple[Any, ...]
        weights: NDArray[Any]
        if layout == "array":
            at = np.nonzero(matrix)
            ends, weights = at, np.asarray(matrix)[at]
        else:
            ends, weights = (matrix.row, matrix.col), matrix.data
    if weights.dtype.kind == "f" and not np.isfinite(weights).all():
        where = re.search(rb"(?i)[+-]?\b(nan|inf)", bytes(source.data))
        line = None if where is None else bytes(source.data[: where.start()]).count(b"\n") + 1
        raise source.fail("an entry is not a finite number", line)
    weights = narrowed(weights)
    symmetric = symmetry in ("symmetric", "hermitian")
    values = None if field == "pattern" else weights
    names = range(1, rows + 1)
    if symmetric and directed is not True:
        both = Graph.from_edges(ends[0], ends[1], values, n_vertices=rows)
        graph: Graph = Graph.from_csr(
            both.indptr, both.indices, both.weights, directed=False, vertex_names=names
        )
    else:
        graph = Graph.from_edges(
            ends[0],
            ends[1],
            values,
            n_vertices=rows,
            directed=directed is not False,
            vertex_names=names,
        )
    return graph


def _check_sizes(source: Source) -> None:
    """Refuse sizes that the bytes cannot hold before a library allocates for them."""
    text = source.head
    at = 0
    while at < len(text):
        stop = text.find(b"\n", at)
        stop = len(text) if stop < 0 else stop
        line = text[at:stop].strip()
        if line and not line.startswith(b"%"):
            match = _SIZES.match(line)
            if match is None:
                raise source.fail("the size line is not integers", text.count(b"\n", 0, at) + 1)
            n, size = max(int(match[1]), int(match[2])), source.data.size
            entries = int(match[3]) if match[3] else int(match[1]) * int(match[2])
            number = text.count(b"\n", 0, at) + 1
            source.check_vertices(n, number)
            if entries > size:
                raise source.fail(f"{entries} entries promised in a file of {size} bytes", number)
            return
        at = stop + 1
    if source.data.size <= len(text):
        raise source.fail("there is no size line: the file is cut short")


def write(graph: Graph, sink: Sink, *, comment: str = "") -> None:
    """Write a coordinate matrix: integer, real or pattern; symmetric when the graph is undirected.

    Parameters
    ----------
    comment : str
        Text for comment lines under the banner.
    """
    from nearfar.formats.dimacs import write_arcs
    from nearfar.formats.edges import count_undirected

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
