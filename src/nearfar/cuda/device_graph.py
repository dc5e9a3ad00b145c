"""Graphs on the device: offsets and packed edge records, uploaded once and cached on the Graph.

Whatever the index dtype on the host, vertices on the device have 32 bits if n fits, and edge
positions if m fits, which halves the traffic of memory-bound traversals.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from nearfar.graph.graph import Graph
from nearfar.graph.slots import Slot
from nearfar.registry import CHOICES
from nearfar.system.devices import runtime, several

#: Device graphs by device and by whether vertex ids have 64 bits.
DEVICE_GRAPH: Slot[DeviceGraph] = Slot("on the device")

C_NAMES = {"int32": "int", "int64": "long long", "float32": "float", "float64": "double"}
_CHUNK = 1 << 26  # edges packed at a time, so that the host needs no memory for a second copy
_LARGEST = 2**31 - 2**16  # with a margin for the stride of a grid past the end
_LONGEST = 2**30  # edges of a row up to which twice as many fit 32 bits, as kernels require


def far_value(dtype: np.dtype[Any]) -> Any:
    """Return a value above every distance, twice which still fits the dtype."""
    return dtype.type(np.inf) if dtype.kind == "f" else dtype.type(np.iinfo(dtype).max // 2)


@dataclass(frozen=True)
class DeviceGraph:
    """Device arrays of a graph."""

    # n, m: vertices and edges
    n: int
    m: int
    offsets: Any  # cupy array, shape (n + 1,), `offset_dtype`; positions of the rows in `edges`
    # cupy array of bytes; m records of `record` bytes: target and weight, or only the target if
    # the graph has no weights
    edges: Any
    # vertex_dtype, offset_dtype, weight_dtype: np.dtype; vertex ids, edge positions and distances
    # on the device
    vertex_dtype: np.dtype[Any]
    offset_dtype: np.dtype[Any]
    weight_dtype: np.dtype[Any]
    weighted: bool  # whether records hold weights
    record: int  # bytes per record

    @cached_property
    def macros(self) -> dict[str, str | int]:
        """Macros of ``types.cuh`` for this graph; callers must not modify the dict."""
        return {
            "INDEX_T": C_NAMES[self.vertex_dtype.name],
            "OFFSET_T": C_NAMES[self.offset_dtype.name],
            "WEIGHT_T": C_NAMES[self.weight_dtype.name],
            "WEIGHTED": int(self.weighted),
        }

    @property
    def key(self) -> tuple[Any, ...]:
        """Key of data cached on the graph for these dtypes and the current device."""
        return runtime.device().ordinal, self.vertex_dtype, self.offset_dtype

    @property
    def nbytes(self) -> int:
        """Size of the arrays in bytes."""
        return int(self.offsets.nbytes + self.edges.nbytes)


@dataclass(frozen=True)
class Rows:
    """Rows of consecutive vertices on the device that owns them."""

    device: int
    # first, last: vertices `first` to `last - 1`
    first: int
    last: int
    graph: DeviceGraph  # these rows; targets are vertices of the whole graph


def device_graph(graph: Graph, *, wide: bool = False) -> DeviceGraph:
    """Return the graph on the current device, uploaded on first use and cached on it."""

    def make() -> DeviceGraph:
        CHOICES.drop(graph)  # they were made with the time to upload it
        return _upload(graph, wide)

    return DEVICE_GRAPH.of(graph, make, (runtime.device().ordinal, wide))


def at_hand(graph: Graph) -> bool:
    """Return whether the edges are already on a device, so that a solve does not copy them."""
    return graph.on_device or DEVICE_GRAPH.filled_anywhere(graph)


def _types(graph: Graph, wide: bool) -> tuple[np.dtype[Any], np.dtype[Any], int]:
    """Return dtypes of vertices and of edge positions on the device, and bytes per record."""
    narrow, big = np.dtype(np.int32), np.dtype(np.int64)
    vertex = big if wide or graph.n_vertices > _LARGEST else narrow
    long_rows = graph.n_edges > _LONGEST and graph.max_degree > _LONGEST
    offset = big if wide or long_rows or graph.n_edges > _LARGEST else narrow
    size = 2 * max(vertex.itemsize, graph.weight_dtype.itemsize)
    return vertex, offset, size if graph.is_weighted else vertex.itemsize


def upload_bytes(graph: Graph, *, wide: bool = False) -> int:
    """Return an upper bound on the device memory for uploading the graph, including staging.

    Solves check the rest of their memory themselves. Both checks raise
    :class:`~nearfar.errors.OutOfMemoryError` before anything is allocated.
    """
    return _bytes(graph, wide, graph.n_vertices, graph.n_edges)


def _bytes(graph: Graph, wide: bool, n: int, m: int) -> int:
    _, offset, record = _types(graph, wide)
    index, chunk = graph.index_dtype.itemsize, min(m, _CHUNK)
    staging = chunk * (index + graph.weight_dtype.itemsize) + (n + 1) * index
    return (n + 1) * offset.itemsize + m * record + staging


def upload_rows(graph: Graph, first: int, last: int) -> DeviceGraph:
    """Upload rows ``first`` to ``last - 1`` of a graph, with offsets from 0, to this device."""
    return _upload(graph, False, slice(first, last))


def _upload(graph: Graph, wide: bool, rows: slice = slice(None)) -> DeviceGraph:
    vertex, offset, record = _types(graph, wide)
    weight, weighted = graph.weight_dtype, graph.is_weighted
    index = graph.index_dtype
    arrays: tuple[Any, ...] = graph.device_arrays or (graph.indptr, graph.indices, graph.weights)
    indptr, indices, weights = arrays
    if rows != slice(None):
        indptr = indptr[rows.start : rows.stop + 1]
        edges_of = slice(int(indptr[0]), int(indptr[-1]))
        indptr = indptr - indptr[0]
        indices, weights = indices[edges_of], weights if weights is None else weights[edges_of]
    # The arrays of a graph may be on another device.
    indptr, indices, weights = (
        several.here(array) if runtime.is_device_array(array) else array
        for array in (indptr, indices, weights)
    )
    n, m = len(indptr) - 1, len(indices)
    runtime.require_memory(_bytes(graph, wide, n, m))
    cp = runtime.cupy()
    offsets = cp.empty(n + 1, dtype=offset)
    # Records of mixed sizes have padding, which kernels load too: initialise it once.
    padded = weighted and vertex.itemsize != weight.itemsize
    edges = (cp.zeros if padded else cp.empty)(max(m, 1) * record, dtype=np.uint8)
    found = DeviceGraph(n, m, offsets, edges, vertex, offset, weight, weighted, record)
    macros = {**found.macros, "SOURCE_T": C_NAMES[index.name]}
    program = runtime.program("cuda/graph/pack.cuh", macros)
    grid, block = runtime.device().multiprocessors * 8, 256
    convert, pack = program.kernel("convert_offsets"), program.kernel("pack_edges")
    nothing = {"from": None, "to": None, "count": np.int64(0)}
    with runtime.first_cooperative(convert, nothing, runtime.device().ordinal):
        given = {"from": runtime.upload(indptr), "to": offsets, "count": np.int64(n + 1)}
        convert(grid, block, given)
        for first in range(0, m, _CHUNK):
            part = slice(first, min(first + _CHUNK, m))
            arguments = {
                "indices": runtime.upload(indices[part]),
                "weights": None if weights is None else runtime.upload(weights[part]),
                "edges": edges[first * record : part.stop * record],
                "m": np.int64(part.stop - first),
            }
            pack(grid, block, arguments)
    return found
