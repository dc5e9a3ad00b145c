"""Customization on a CUDA device: weights of the arcs from device arrays of weights."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import TYPE_CHECKING, Any, TypeVar

import numpy as np

from nearfar.graph.slots import Slot
from nearfar.prepared.device import C_VALUES, DeviceCells, plain
from nearfar.prepared.metric import Metric, QueryArcs, detours_are_longer, value_dtype
from nearfar.system.devices import runtime

if TYPE_CHECKING:
    from collections.abc import Callable, Hashable

    from numpy.typing import NDArray

    from nearfar.graph.graph import Graph
    from nearfar.prepared.preparation import Preparation
    from nearfar.prepared.prepared import Prepared

__all__ = ["DeviceArcs", "DeviceMetric", "customized_there", "device_arcs", "share_arcs"]

T = TypeVar("T")
_ARCS: Slot[DeviceArcs] = Slot("arcs on the device")
_C_WEIGHTS = {"int32": "int", "int64": "long long", "float32": "float", "float64": "double"}
_FILE = "prepared/customize.cuh"
_NEEDED = 4  # kNeeded of customize.hpp
_CLUSTER = 8  # blocks: as many as any device with clusters allows
_FEW = 128  # arcs of all metrics in a level that is left to one cluster
_ROOM = 8  # share of the free memory that third sides may take
_ADVICE = "give weights on the host, or use a GPU with more memory"


@dataclass(frozen=True)
class DeviceArcs:
    """What customization reads of the structure, and what sweeps of later weights share.

    Attributes
    ----------
    preparation : Preparation
    indptr, indices : arrays
        Of the graph.
    arcs, third_first, third, level_first, depth, edge, place : int32 arrays
        As ``customize.cuh`` has them; the third sides are None where there is no memory for them.
    sizes : int64 array
        Of the levels, on the host.
    cells : dict
        By shapes: cells whose streams hold the weights of some metric, the arcs that they have, and
        where their weights belong.
    layouts : dict
        What else sweeps keep of the arcs without their weights.
    sides_before : list of int
        One: of the arcs' weights of the metric before, 2 where the directions differed.
    """

    preparation: Preparation
    indptr: Any
    indices: Any
    arcs: Any
    third_first: Any
    third: Any
    level_first: Any
    depth: Any
    edge: Any
    place: Any
    sizes: NDArray[np.int64]
    cells: dict[Any, tuple[DeviceCells, Any, Any]] = field(default_factory=dict)
    layouts: dict[Any, Any] = field(default_factory=dict)
    sides_before: list[int] = field(default_factory=lambda: [1])

    @property
    def n_arcs(self) -> int:
        """Number of arcs."""
        return self.preparation.arcs.n_arcs


class DeviceMetric:
    """Weights of the arcs that lie on a device, with the interface of :class:`Metric`.

    A sweep there follows all arcs, so that new weights need no new cells. What queries on the host
    follow is downloaded when it is first asked for.

    Parameters
    ----------
    structure : DeviceArcs
    there : array, shape (n_arcs * sides,)
    flags : uint8 array, shape (n_arcs,), or None
        What perfect customization found out.
    sides : int
    """

    def __init__(self, structure: DeviceArcs, there: Any, flags: Any, sides: int) -> None:
        self.structure, self.there, self.flags, self.sides = structure, there, flags, sides

    def __reduce__(self) -> tuple[Any, ...]:
        return Metric, (self.weights, self.up, self.down, self.sides)

    def on_host(self) -> Metric:
        """The same in host memory."""
        return Metric(self.weights, self.up, self.down, self.sides)

    @property
    def dtype(self) -> np.dtype[Any]:
        """Dtype of the weights."""
        dtype: np.dtype[Any] = self.there.dtype
        return dtype

    @property
    def swept(self) -> tuple[QueryArcs, QueryArcs]:
        """The arcs up and down that a GPU follows; their weights are device arrays."""
        arcs = self.structure.preparation.arcs
        up, down = (
            QueryArcs(arcs.first, arcs.head_depth, self._side(i)) for i in (0, self.sides - 1)
        )
        return up, (up if self.sides == 1 else down)

    @property
    def n_swept(self) -> int:
        """How many arcs a pass down follows."""
        return self.structure.n_arcs

    @property
    def nbytes(self) -> int:
        """Bytes on the device."""
        return int(self.there.nbytes) + (0 if self.flags is None else int(self.flags.nbytes))

    @cached_property
    def weights(self) -> NDArray[Any]:
        """Weights of all arcs, on the host."""
        return runtime.download(self.there)

    @cached_property
    def up(self) -> QueryArcs:
        """The arcs that queries on the host follow upwards."""
        return self._needed(0)

    @cached_property
    def down(self) -> QueryArcs:
        """The same downwards."""
        return self.up if self.sides == 1 else self._needed(1)

    def _needed(self, side: int) -> QueryArcs:
        arcs = self.structure.preparation.arcs
        weights = self.weights[side :: self.sides]
        if self.flags is None:
            return QueryArcs(arcs.first, arcs.head_depth, np.ascontiguousarray(weights))
        wanted = (runtime.download(self.flags) & (_NEEDED << side)) != 0
        first = np.zeros(len(wanted) + 1, dtype=np.int64)
        np.cumsum(wanted, out=first[1:])
        return QueryArcs(first[arcs.first], arcs.head_depth[wanted], weights[wanted])

    def _side(self, side: int) -> Any:
        if self.sides == 1:
            return self.there
        return runtime.cupy().ascontiguousarray(self.there[side :: self.sides])

    def cells(self, key: Hashable, make: Callable[[], DeviceCells]) -> DeviceCells:
        """Cells with these weights in their streams, cut for the first metric that asks.

        Parameters
        ----------
        key : hashable
            Device and shapes.
        make : callable
            Cuts the tree and fills the streams.

        Returns
        -------
        DeviceCells
        """
        cp = runtime.cupy()
        kept = self.structure.cells
        whole_key = (key, self.dtype)
        if whole_key not in kept:
            made = make()
            used = np.flatnonzero(made.host.weight_at >= 0)
            kept[whole_key] = made, cp.asarray(used), cp.asarray(made.host.weight_at[used])
            return made
        base, used, places = kept[whole_key]
        stream = base.stream.copy()
        if len(places):
            stream.view(self.dtype)[places] = self._side(self.sides - 1)[used]
        return replace(base, stream=stream)

    def layout(self, key: Hashable, make: Callable[[], T]) -> T:
        """What a GPU keeps of the arcs without their weights, made for the first metric that asks.

        Parameters
        ----------
        key : hashable
        make : callable

        Returns
        -------
        object
        """
        kept = self.structure.layouts
        if key not in kept:
            kept[key] = make()
        found: T = kept[key]
        return found


def device_arcs(graph: Graph, preparation: Preparation) -> DeviceArcs:
    """What customization on the current device reads of a structure; kept with the graph.

    Parameters
    ----------
    graph : Graph
    preparation : Preparation

    Returns
    -------
    DeviceArcs

    Raises
    ------
    OutOfMemoryError
        Before anything is allocated.
    """
    return _ARCS.of(graph, lambda: _made(graph, preparation), runtime.device().ordinal)


def share_arcs(prepared: Prepared, structure: DeviceArcs) -> None:
    """Let a prepared graph of the same structure use what another one has made.

    Parameters
    ----------
    prepared : Prepared
    structure : DeviceArcs
    """
    _ARCS.put(prepared, structure, runtime.device().ordinal)


def customized_there(
    structure: DeviceArcs, graphs: list[Graph], perfect: bool
) -> list[DeviceMetric]:
    """Weights of all arcs from weights on the device, for one metric or several at once.

    Parameters
    ----------
    structure : DeviceArcs
    graphs : list of Graph
        Of that structure, with weights of one dtype; floats not negative.
    perfect : bool
        As for :func:`nearfar.prepare`.

    Returns
    -------
    list of DeviceMetric

    Raises
    ------
    OutOfMemoryError
        Before anything is allocated.

    Notes
    -----
    O(triangles log degree) work in as many steps as the tree is high.
    """
    cp = runtime.cupy()
    count, n_arcs = len(graphs), structure.n_arcs
    dtypes = {value_dtype(graph) for graph in graphs}
    values = dtypes.pop() if len(dtypes) == 1 else np.dtype(np.int64)
    m = graphs[0].n_edges
    each = n_arcs * values.itemsize * (2 + 2 * perfect + 1) + n_arcs
    runtime.require_memory(count * each, _ADVICE)
    of_edges = [_weights_there(graph) for graph in graphs]
    flat = of_edges[0] if count == 1 else cp.concatenate(of_edges)
    far = np.inf if values.kind == "f" else np.iinfo(values).max // 2
    weights = cp.full(count * n_arcs * 2, far, dtype=values)
    call = _Calls(structure, values, graphs[0].weight_dtype, count)
    call.weigh(flat, m, weights)
    differ = runtime.Pinned(1)
    differ.copy_from((weights[0::2] != weights[1::2]).any())
    # Mostly directions differ as they did before, and the device need not wait until we know.
    begun = structure.sides_before[0] == 2
    if begun:
        call.levels("lower_triangles", 2, weights)
    sides = 1 + any(differ.wait())
    structure.sides_before[0] = sides
    if sides == 1:
        weights = cp.ascontiguousarray(weights[0::2])
    if not begun:
        call.levels("lower_triangles", sides, weights)
    flags = None
    if perfect:
        detours = cp.full(len(weights), far, dtype=values)
        call.levels("upper_triangles", sides, weights, detours)
        flags = cp.empty(count * n_arcs, dtype=np.uint8)
        ties = all(detours_are_longer(graph, weights) for graph in graphs)
        call.mark(sides, weights, detours, ties, flags)
    size = n_arcs * sides
    return [
        DeviceMetric(
            structure,
            weights[i * size : (i + 1) * size],
            None if flags is None else flags[i * n_arcs : (i + 1) * n_arcs],
            sides,
        )
        for i in range(count)
    ]


def _weights_there(graph: Graph) -> Any:
    if graph.device_arrays and graph.device_arrays[2] is not None:
        return graph.device_arrays[2]
    return runtime.upload(plain(graph.effective_weights))


def _macros(values: np.dtype[Any], weight: np.dtype[Any], sides: int) -> dict[str, str | int]:
    """Types and shapes of the kernels."""
    return {
        "VALUE_T": C_VALUES[values.name],
        "OUT_T": _C_WEIGHTS[weight.name],
        "SIGNED_VALUES": int(values.name == "int64"),
        "INDEX_T": "int",
        "OFFSET_T": "int",
        "WEIGHT_T": _C_WEIGHTS[weight.name],
        "WEIGHTED": 1,
        "THREADS": _threads(),
        "CLUSTER": _CLUSTER,
        "SIDES": sides,
    }


def _threads() -> int:
    """Threads of a block that goes through levels; more would have too few registers."""
    return min(640, runtime.device().threads_per_multiprocessor)


class _Calls:
    """The launches of one customization."""

    def __init__(
        self, structure: DeviceArcs, values: np.dtype[Any], weight: np.dtype[Any], metrics: int
    ) -> None:
        self.structure, self.metrics = structure, metrics
        self.types = values, weight

    def _kernel(self, name: str, sides: int) -> Any:
        return runtime.program(_FILE, _macros(*self.types, sides)).kernel(name)

    def _blocks(self, items: int) -> int:
        return max(1, min(-(-items // 256), runtime.device().multiprocessors * 8))

    def weigh(self, of_edges: Any, m: int, weights: Any) -> None:
        """The edges' weights, in both directions."""
        s = self.structure
        entries = len(s.edge)
        if entries:
            arguments = (s.edge, s.place, np.int64(entries), of_edges, np.int64(m), weights)
            grid = (self._blocks(entries), self.metrics)
            self._kernel("weigh_edges", 2)(grid, 256, (*arguments, np.int64(s.n_arcs)))

    def levels(self, name: str, sides: int, *arrays: Any) -> None:
        """A pass over all levels: near the root by a cluster of blocks, else by all there are."""
        s = self.structure
        if not len(s.arcs):
            return
        crowded, rest = _cuts(s.sizes, self.metrics)
        parts = [(name, 0, rest), (f"{name}_near_root", rest, len(s.sizes))]
        if name == "upper_triangles":
            parts.reverse()
        arrivals = runtime.cupy().zeros(2, dtype=np.uint32)
        for number, (kernel, level, end) in enumerate(parts):
            arguments = (
                *(s.arcs, s.third_first, s.third, s.level_first, np.int32(level), np.int32(end)),
                *(np.int32(crowded), s.depth, *arrays),
                *(np.int64(s.n_arcs), np.int32(self.metrics), arrivals[number:]),
            )
            blocks = runtime.device().multiprocessors if kernel == name else _CLUSTER
            if end > level:
                self._kernel(kernel, sides)(blocks, _threads(), arguments, cooperative=True)

    def mark(self, sides: int, weights: Any, detours: Any, ties: bool, flags: Any) -> None:
        """What queries need."""
        count = len(flags)
        if count:
            arguments = (weights, detours, np.int64(count), np.int32(ties), flags)
            self._kernel("mark_arcs", sides)(self._blocks(count), 256, arguments)


def _made(graph: Graph, preparation: Preparation) -> DeviceArcs:
    tree, arcs = preparation.tree, preparation.arcs
    n, n_arcs = tree.n_vertices, arcs.n_arcs
    runtime.require_memory(
        n_arcs * 20 + len(arcs.edge) * 8 + (n + graph.n_edges) * 8,
        _ADVICE,
    )
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
    there_arcs, there_depth = (
        runtime.upload(records[several]),
        runtime.upload(plain(arcs.head_depth)),
    )
    thirds = _third_sides(records[several], there_arcs, there_depth)
    sizes = np.bincount(level[several], minlength=1)
    level_first = np.zeros(len(sizes) + 1, dtype=np.int32)
    np.cumsum(sizes, out=level_first[1:])
    height = max(tree.height, 1)
    entry_tails = np.repeat(np.arange(n, dtype=np.int64), np.diff(arcs.edge_first))
    wanted = entry_tails * height + (arcs.edge_place >> 1)
    at = np.searchsorted(tails * height + arcs.head_depth, wanted)
    place = (2 * at + (arcs.edge_place & 1)).astype(np.int32)
    there = graph.device_arrays or (graph.indptr, graph.indices)
    return DeviceArcs(
        preparation,
        runtime.upload(plain(there[0])),
        runtime.upload(plain(there[1])),
        there_arcs,
        *thirds,
        runtime.upload(level_first),
        there_depth,
        runtime.upload(plain(arcs.edge)),
        runtime.upload(place),
        sizes,
    )


def _cuts(sizes: NDArray[np.int64], metrics: int) -> tuple[int, int]:
    """Levels with more arcs than the device has warps, and levels that are not left to a cluster.

    Parameters
    ----------
    sizes : int64 array
        Arcs of the levels.
    metrics : int

    Returns
    -------
    tuple of int
        Up to the last such level.
    """
    warps = runtime.device().multiprocessors * _threads() // 32
    return _up_to(sizes, warps), _up_to(sizes, _FEW // metrics)


def _up_to(sizes: NDArray[np.int64], most: int) -> int:
    """Levels up to the last one with more arcs than that."""
    large = np.flatnonzero(sizes > most)
    return int(large[-1]) + 1 if len(large) else 0


def _third_sides(records: NDArray[np.int32], arcs: Any, depth: Any) -> tuple[Any, Any]:
    """Where the triangles of each arc begin and their third sides, if there is room for them."""
    counts = (records[:, 1] - records[:, 0]).astype(np.int64)
    triangles = int(counts.sum())
    free, _ = runtime.memory()
    if not triangles or triangles > 2**31 - 1 or 4 * _ROOM * triangles > free:
        return None, None
    first = np.zeros(len(counts), dtype=np.int32)
    np.cumsum(counts[:-1], out=first[1:])
    there = runtime.upload(first)
    third = runtime.cupy().empty(triangles, dtype=np.int32)
    macros = _macros(np.dtype(np.uint32), np.dtype(np.int32), 1)
    kernel = runtime.program(_FILE, macros).kernel("list_third_sides")
    blocks = runtime.device().multiprocessors * 8
    kernel(blocks, 256, (arcs, there, np.int32(len(counts)), depth, third))
    return there, third


def _heights(parent: NDArray[np.int32], depth: NDArray[np.int32]) -> NDArray[np.int64]:
    """Of each label: vertices below it on the longest path down."""
    height = np.zeros(len(parent), dtype=np.int64)
    order = np.argsort(depth, kind="stable")
    first = np.searchsorted(depth[order], np.arange(1, int(depth.max(initial=0)) + 2))
    for d in range(len(first) - 1, 0, -1):
        mine = order[first[d - 1] : first[d]]
        np.maximum.at(height, parent[mine], height[mine] + 1)
    return height
