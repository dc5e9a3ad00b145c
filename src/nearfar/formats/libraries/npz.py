"""SciPy's `.npz`, as ``scipy.sparse.save_npz`` writes it.

Entry (i, j) is the edge from i to j; a matrix of booleans is an unweighted graph. COO duplicates
stay parallel edges.
"""

from __future__ import annotations

import io
import zipfile
from typing import Any

import numpy as np
from numpy.typing import NDArray

from nearfar.formats.files import Sink, Source, library_errors
from nearfar.formats.specs import Format, register
from nearfar.graph.graph import Graph


def sniff(head: bytes) -> bool:
    """Return whether the content is a ZIP archive of arrays."""
    return head.startswith(b"PK\x03\x04") and b".npy" in head[:4096]


def read(source: Source, *, directed: bool = True) -> Graph:
    """Read a sparse matrix."""
    with library_errors(source.path, "SciPy .npz"):
        parts = archive_arrays(source)
        if "format" not in parts or "shape" not in parts:
            raise source.fail("the archive holds no sparse matrix: save_npz writes one")
        layout = parts["format"].item()
        layout = layout.decode("ascii") if isinstance(layout, bytes) else str(layout)
        rows, columns = (int(size) for size in parts["shape"])
        if rows != columns:
            raise source.fail(f"the matrix is {rows} x {columns}: an adjacency matrix is square")
        source.check_vertices(rows)
        data = parts["data"]
        if layout not in ("csr", "csc", "coo"):
            from scipy import sparse

            # dia and bsr have padding, which only SciPy distinguishes from entries
            other: Any = sparse.load_npz(io.BytesIO(source.data.data))
            other = other.tocoo()
            parts, data, layout = {"row": other.row, "col": other.col}, other.data, "coo"
        weights: Any = None if data.dtype == bool else data
        graph: Graph
        if layout == "coo":
            graph = Graph.from_edges(
                parts["row"], parts["col"], weights, n_vertices=rows, directed=directed
            )
            return graph
        if len(parts["indptr"]) != rows + 1:
            raise source.fail(f"{len(parts['indptr'])} row starts for {rows} rows")
        graph = Graph.from_csr(parts["indptr"], parts["indices"], weights, copy=False)
        graph = graph.transpose() if layout == "csc" else graph
    if directed:
        return graph
    sources = graph.tails()
    both: Graph = Graph.from_edges(
        sources, graph.indices, graph.weights, n_vertices=rows, directed=False
    )
    return both


def archive_arrays(source: Source) -> dict[str, NDArray[Any]]:
    """Return the arrays of the archive, after checking their sizes against the file.

    ``numpy.load`` allocates the size that the header of an array declares.
    """
    found: dict[str, NDArray[Any]] = {}
    with zipfile.ZipFile(io.BytesIO(source.data.data)) as archive:
        room = source.room(source.data.size)
        if sum(member.file_size for member in archive.infolist()) > room:
            raise source.too_large("the archive", source.data.size)
        for member in archive.infolist():
            raw = io.BytesIO(archive.read(member))
            version = np.lib.format.read_magic(raw)
            header = {
                (1, 0): np.lib.format.read_array_header_1_0,
                (2, 0): np.lib.format.read_array_header_2_0,
            }[version]
            shape, _, dtype = header(raw)
            array = np.frombuffer(raw.getbuffer()[raw.tell() :], dtype=dtype)
            found[member.filename.removesuffix(".npy")] = array.reshape(shape)
    return found


def write(graph: Graph, sink: Sink, *, compressed: bool = True) -> None:
    """Write a CSR matrix; an unweighted graph becomes booleans."""
    ones = np.ones(graph.n_edges, dtype=bool)
    arrays = {
        "indices": graph.indices,
        "indptr": graph.indptr,
        "format": np.array(b"csr"),
        "shape": np.array([graph.n_vertices, graph.n_vertices]),
        "data": ones if graph.weights is None else graph.weights,
    }
    buffer = io.BytesIO()
    # numpy.savez_compressed packs at level 6: hardly smaller, and several times slower.
    method = zipfile.ZIP_DEFLATED if compressed else zipfile.ZIP_STORED
    with zipfile.ZipFile(buffer, "w", method, compresslevel=1) as archive:
        for name, array in arrays.items():
            with archive.open(f"{name}.npy", "w", force_zip64=True) as member:
                np.lib.format.write_array(member, array, allow_pickle=False)
    sink.write(buffer.getvalue())


register(
    Format(
        name="npz",
        title="SciPy sparse matrices (save_npz)",
        suffixes=(".npz",),
        read=read,
        write=write,
        sniff=sniff,
        keeps="weights; every edge as an arc",
    )
)
