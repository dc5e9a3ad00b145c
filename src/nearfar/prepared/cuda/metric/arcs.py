"""Arcs of a prepared graph on a CUDA device, as customization reads them."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from nearfar.cuda.device_graph import C_NAMES
from nearfar.graph.graph import Graph
from nearfar.graph.slots import Slot
from nearfar.prepared.cuda.device import C_VALUES, LAYOUTS, DeviceCells
from nearfar.prepared.order.tree import Preparation
from nearfar.system.devices import runtime

if TYPE_CHECKING:
    from nearfar.prepared.prepared import Prepared

ADVICE = "give weights on the host, or use a GPU with more memory"
CLUSTER = 8  # blocks per cluster: the portable maximum
_ARCS: Slot[DeviceArcs] = Slot("arcs on the device")
_ROOM = 8  # third sides take at most one over this of the free memory


@dataclass(frozen=True)
class DeviceArcs:
    """Structure for customization, shared by sweeps of later weights."""

    preparation: Preparation
    # indptr, indices: arrays of the graph
    indptr: Any
    indices: Any
    # int32 arrays that `customize.cuh` describes, as arguments of its kernels: `edges` of
    # weigh_edges, `levels` of the others; the third sides are None if memory is short
    edges: dict[str, Any]
    levels: dict[str, Any]
    sizes: NDArray[np.int64]  # sizes of the levels, on the host
    # by shape: cells whose streams hold the weights of some metric, their arcs, and the positions
    # of these arcs' weights
    cells: dict[Any, tuple[DeviceCells, Any, Any]] = field(default_factory=dict)
    layouts: dict[Any, Any] = field(default_factory=dict)  # shared by graphs with these arcs
    # one entry: number of values per arc in the last metric, 2 if directions differed
    sides_before: list[int] = field(default_factory=lambda: [1])

    @property
    def n_arcs(self) -> int:
        """Number of arcs."""
        return self.preparation.arcs.n_arcs


def device_arcs(graph: Graph, preparation: Preparation) -> DeviceArcs:
    """Upload the structure for customization to the current device; cached on the graph."""
    return _ARCS.of(graph, lambda: _upload_arcs(graph, preparation), runtime.device().ordinal)


def share_arcs(prepared: Prepared, structure: DeviceArcs) -> None:
    """Share the device data of a prepared graph with another one of the same structure."""
    _ARCS.put(prepared, structure, runtime.device().ordinal)
    LAYOUTS.share(prepared, structure.layouts)


def customize_kernel(name: str, values: np.dtype[Any], weight: np.dtype[Any], sides: int) -> Any:
    """Return a kernel of ``customize.cuh`` for values of the arcs and weights of the edges."""
    macros: dict[str, str | int] = {
        "VALUE_T": C_VALUES[values.name],
        "OUT_T": C_NAMES[weight.name],
        "SIGNED_VALUES": int(values.name == "int64"),
        "INDEX_T": "int",
        "OFFSET_T": "int",
        "WEIGHT_T": C_NAMES[weight.name],
        "WEIGHTED": 1,
        "THREADS": threads(),
        "CLUSTER": CLUSTER,
        "SIDES": sides,
    }
    return runtime.program("prepared/cuda/metric/customize.cuh", macros).kernel(name)


def threads() -> int:
    """Return the threads of a block that processes levels; more would run out of registers."""
    return min(640, runtime.device().threads_per_multiprocessor)


def _upload_arcs(graph: Graph, preparation: Preparation) -> DeviceArcs:
    tree, arcs = preparation.tree, preparation.arcs
    n, n_arcs = tree.n_vertices, arcs.n_arcs
    runtime.require_memory(n_arcs * 20 + len(arcs.edge) * 8 + (n + graph.n_edges) * 8, ADVICE)
    counts = np.diff(arcs.first)
    tails = np.repeat(np.arange(n, dtype=np.int64), counts)
    heads = np.empty(n_arcs, dtype=np.int64)
    heads[arcs.lower_arc] = np.repeat(np.arange(n, dtype=np.int64), np.diff(arcs.lower_first))
    level = _heights(tree.parent, tree.depth)[tails]
    records = np.empty((n_arcs, 4), dtype=np.int32)
    records[:, 0], records[:, 1] = arcs.first[tails], np.arange(n_arcs)
    records[:, 2], records[:, 3] = arcs.first[heads], counts[heads]
    several = np.flatnonzero(records[:, 0] < records[:, 1])
    several = several[np.argsort(level[several], kind="stable")]
    levels = {"arcs": runtime.upload(records[several]), "depth": runtime.upload(arcs.head_depth)}
    levels |= _third_sides(records[several], **levels)
    sizes = np.bincount(level[several], minlength=1)
    level_first = np.zeros(len(sizes) + 1, dtype=np.int32)
    np.cumsum(sizes, out=level_first[1:])
    levels["level_first"] = runtime.upload(level_first)
    height = max(tree.height, 1)
    entry_tails = np.repeat(np.arange(n, dtype=np.int64), np.diff(arcs.edge_first))
    wanted = entry_tails * height + (arcs.edge_place >> 1)
    at = np.searchsorted(tails * height + arcs.head_depth, wanted)
    place = (2 * at + (arcs.edge_place & 1)).astype(np.int32)
    edges = {"edge": runtime.upload(arcs.edge), "place": runtime.upload(place)}
    there = graph.device_arrays or (graph.indptr, graph.indices)
    indptr, indices = runtime.upload(there[0]), runtime.upload(there[1])
    return DeviceArcs(preparation, indptr, indices, edges, levels, sizes)


def _third_sides(records: NDArray[np.int32], arcs: Any, depth: Any) -> dict[str, Any]:
    """Return the start of each arc's triangles and their third sides, if memory permits."""
    counts = (records[:, 1] - records[:, 0]).astype(np.int64)
    triangles = int(counts.sum())
    free, _ = runtime.memory()
    if not triangles or triangles > 2**31 - 1 or 4 * _ROOM * triangles > free:
        return {"third_first": None, "third": None}
    first = np.zeros(len(counts), dtype=np.int32)
    np.cumsum(counts[:-1], out=first[1:])
    third = runtime.cupy().empty(triangles, dtype=np.int32)
    found = {"third_first": runtime.upload(first), "third": third}
    kernel = customize_kernel("list_third_sides", np.dtype(np.uint32), np.dtype(np.int32), 1)
    blocks = runtime.device().multiprocessors * 8
    kernel(blocks, 256, {**found, "arcs": arcs, "count": np.int32(len(counts)), "depth": depth})
    return found


def _heights(parent: NDArray[np.int32], depth: NDArray[np.int32]) -> NDArray[np.int64]:
    """Return the number of vertices below each label on the longest path down."""
    height = np.zeros(len(parent), dtype=np.int64)
    order = np.argsort(depth, kind="stable")
    first = np.searchsorted(depth[order], np.arange(1, int(depth.max(initial=0)) + 2))
    for d in range(len(first) - 1, 0, -1):
        mine = order[first[d - 1] : first[d]]
        np.maximum.at(height, parent[mine], height[mine] + 1)
    return height
