"""The GAP benchmark suite's files: text `.el` and `.wel`, serialised `.sg` and `.wsg`.

Text: ``u v`` or ``u v w`` per line, 0-based, no comments. Serialised (little-endian): one byte
"directed", int64 number of stored edges, int64 number of vertices, int64 row starts, int32
neighbours (with an int32 weight after each in `.wsg`), and for directed graphs the same again for
incoming edges.
"""

from __future__ import annotations

import struct
from typing import Any

import numpy as np
from numpy.typing import NDArray

from nearfar.errors import keyword
from nearfar.formats.files import Sink, Source, warn_of_lost
from nearfar.formats.specs import Format, register
from nearfar.graph.graph import Graph

_HEADER = struct.Struct("<?qq")
_WEIGHTED = np.dtype([("v", "<i4"), ("w", "<i4")])


def read_list(source: Source, *, directed: bool = True) -> Graph:
    """Read `.el` or `.wel` text."""
    from nearfar.formats.lists.edges import read

    return read(source, directed=directed, names=False, header=False, renumber=False)


def write_list(graph: Graph, sink: Sink) -> None:
    """Write every stored edge as a line; with weights the name should end in `.wel`."""
    from nearfar.formats.roads.dimacs import write_arcs

    if not graph.n_edges:  # nothing would tell the file from one that was cut short
        raise sink.fail("the graph has no edges, and this format holds nothing else: use .sg")
    warn_of_lost(graph, sink)
    write_arcs(graph, sink, weights=graph.is_weighted)


def read_serialized(source: Source, *, weighted: bool | None = None) -> Graph:
    """Read `.sg` or `.wsg`."""
    data = source.data
    if data.size < _HEADER.size or int(data[0]) > 1:
        raise source.fail("the header is damaged or cut short")
    directed, m, n = _HEADER.unpack(source.head[: _HEADER.size])
    sides = 2 if directed else 1
    sizes = {w: _HEADER.size + sides * (8 * (n + 1) + (8 if w else 4) * m) for w in (False, True)}
    if weighted is None:
        by_size = [w for w, size in sizes.items() if size == data.size]
        by_name = {".sg": False, ".wsg": True}.get(source.suffix)
        weighted = by_name if by_name is not None else (by_size or [False])[0]
    if n < 0 or m < 0 or sizes[weighted] != data.size:
        kind = "weighted" if weighted else "unweighted"
        raise source.fail(
            f"a {kind} graph of {n} vertices and {m} edges has {sizes[weighted]} bytes, but the "
            f"file has {data.size}: it is cut short, damaged or of the other kind"
        )
    at = _HEADER.size
    indptr = data[at : at + 8 * (n + 1)].view("<i8").copy()  # the header leaves it unaligned
    at += 8 * (n + 1)
    weights: NDArray[Any] | None = None
    if weighted:
        pairs = data[at : at + 8 * m].view(_WEIGHTED)
        indices, weights = pairs["v"], pairs["w"]
    else:
        indices = data[at : at + 4 * m].view("<i4").copy()
    graph: Graph = Graph.from_csr(indptr, indices, weights, directed=directed, copy=False)
    return graph


def write_serialized(graph: Graph, sink: Sink, *, weighted: bool | None = None) -> None:
    """Write `.sg` or `.wsg`; weights must fit int32."""
    if graph.n_vertices >= 2**31:
        raise sink.fail("GAP's files number vertices in 32 bits")
    if weighted is None:
        from nearfar.formats.compression import split_suffix

        weighted = split_suffix(sink.path)[0] == ".wsg"
        if graph.is_weighted and not weighted:
            raise sink.fail(
                "the graph has weights, which only .wsg holds: end the name so, or read the graph "
                f"with {keyword('weight', None)}"
            )
    sink.write(_HEADER.pack(graph.directed, graph.n_edges, graph.n_vertices))
    for part in [graph, graph.transpose()] if graph.directed else [graph]:
        sink.write(np.asarray(part.indptr, dtype="<i8").tobytes())
        if not weighted:
            sink.write(np.asarray(part.indices, dtype="<i4").tobytes())
            continue
        pairs = np.empty(part.n_edges, dtype=_WEIGHTED)
        pairs["v"], pairs["w"] = part.indices, _int32_weights(part, sink)
        sink.write(pairs.tobytes())


def _int32_weights(graph: Graph, sink: Sink) -> NDArray[Any]:
    weights = graph.effective_weights
    whole = weights.astype(np.int32) if graph.max_weight < 2**31 else None
    if whole is None or graph.min_weight < -(2**31) or not np.array_equal(whole, weights):
        raise sink.fail("GAP's .wsg holds int32 weights only")
    return whole


register(
    Format(
        name="gap-list",
        title="GAP benchmark edge lists, .wel with weights",
        suffixes=(".el", ".wel"),
        read=read_list,
        write=write_list,
        keeps="weights; every edge as an arc, no isolated vertices at the end",
    )
)
register(
    Format(
        name="gap",
        title="GAP benchmark serialised graphs, .wsg with weights",
        suffixes=(".sg", ".wsg"),
        read=read_serialized,
        write=write_serialized,
        keeps="int32 weights, directedness",
    )
)
