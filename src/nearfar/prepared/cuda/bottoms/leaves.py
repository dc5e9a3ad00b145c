"""Leaves as the bottom of a query, from which rows are written tile by tile."""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np

from nearfar.cuda.device_graph import far_value
from nearfar.errors import OptionError
from nearfar.graph.slots import Slot
from nearfar.prepared.cuda.bottoms.cells import Sweep
from nearfar.prepared.cuda.cut.pieces import warps_of
from nearfar.prepared.cuda.cut.tiles import LeafShape, Tiles, cut_tiles
from nearfar.prepared.cuda.device import LAYOUTS, DeviceTree, device_tree, top_flags
from nearfar.prepared.cuda.fronts.above import Above
from nearfar.prepared.cuda.query import Query
from nearfar.prepared.cuda.shapes import SMALL_CELLS, UNIT, above_shape, default_leaf, padded
from nearfar.prepared.prepared import Prepared
from nearfar.system.devices import runtime

_SWEEPS: Slot[Sweep | TileSweep] = Slot("sweeps of rows on the device")
_WEIGHTS: Slot[Any] = Slot("weights of tiles on the device")
_WARPS = 8  # kWarps of leaves.cuh
_SIDE = 128  # kSide of own_leaf.cuh
_RESERVED = 1024  # bytes of shared memory that the system reserves per block
_SECTOR = 32  # bytes per write to memory
_WIDTHS = {4: (192, 160, 128, 96, 64), 8: (128, 96, 64)}  # vertices of a tile, by bytes of a value
_UNIT = 32 * 16  # bytes of a vertex in a tile
_PAYS = 6  # rows read per vertex up to which tiles are cheaper than a transposition


@dataclass(frozen=True)
class DeviceTiles:
    """Leaves and bundles on the device, without weights."""

    host: Tiles
    # int32 array; number of each label that bundles read, among the labels outside all leaves
    row: Any
    # arguments of kernels: `closing` of leaf_closures.cuh, with jobs of shape (n_jobs, 4) of root,
    # first row, first of the boundary and its size; `ways` of leaf_ways.cuh; `bundles` of tiles.cuh
    closing: dict[str, Any]
    ways: dict[str, Any]
    bundles: dict[str, Any]
    leaf: Any  # int32 array; copy of the host's
    levels: int  # height of the highest leaf
    n_ways: int
    width: int  # vertices of a tile


def _cut(prepared: Prepared, shape: LeafShape, top: int, margin: int) -> tuple[Tiles, int]:
    """Return tiles of the greatest width at which two blocks fit a multiprocessor."""
    size, most = prepared.metric.dtype.itemsize, runtime.device().shared_per_block
    flags = top_flags(prepared, top)
    widths = _WIDTHS[size]
    for width in widths:
        host = cut_tiles(prepared.preparation.view, shape, width, margin, flags)
        if 2 * (width * _UNIT + host.tile_bytes(size) + _RESERVED) <= most + _RESERVED:
            break
    return host, width


def _cut_tiles(prepared: Prepared, shape: LeafShape, top: int, margin: int) -> DeviceTiles:
    tree, arcs = prepared.preparation.tree, prepared.preparation.arcs
    host, width = _cut(prepared, shape, top, margin)
    runtime.require_memory(2 * host.nbytes)
    sizes = (arcs.first[host.roots + 1] - arcs.first[host.roots]).astype(np.int32)
    begins = np.zeros(len(sizes), dtype=np.int32)
    np.cumsum(-(-sizes[:-1] // 4) * 4, out=begins[1:])
    which, first = warps_of(sizes)
    jobs = np.stack([host.roots[which], first, begins[which], sizes[which]], axis=1)
    levels = np.zeros(prepared.n_vertices, dtype=np.int64)
    inside = np.flatnonzero(host.leaf >= 0)
    levels[inside] = tree.depth[inside] - tree.depth[host.leaf[inside]] + 1
    way_ends = np.cumsum(levels)
    row = np.searchsorted(host.upper, host.rows).astype(np.int32)
    return DeviceTiles(
        host,
        runtime.upload(row),
        _upload(jobs=jobs.astype(np.int32), boundary=host.boundary, where=host.where),
        _upload(roots=host.roots, way_first=way_ends - levels),
        _upload(bundles=host.bundles, places=host.places, tile_first=host.tile_first),
        runtime.upload(host.leaf),
        int(levels.max(initial=1)),
        int(levels.sum()),
        width,
    )


def _upload(**arrays: Any) -> dict[str, Any]:
    return {name: runtime.upload(array) for name, array in arrays.items()}


def _closed(tiles: DeviceTiles, tree: DeviceTree, dtype: np.dtype[Any]) -> tuple[Any, Any]:
    """Return the weights of the bundles, and the distances within leaves."""
    cp = runtime.cupy()
    runtime.require_memory((tiles.host.n_values + tiles.n_ways) * dtype.itemsize)
    ways = cp.empty(tiles.n_ways, dtype=dtype)
    weights = cp.full(tiles.host.n_values, far_value(dtype), dtype=dtype)
    down = {
        "first": tree.down_first,
        "head_depth": tree.down_depth,
        "weight": tree.down_weight,
        "depth": tree.depth,
        "low": tree.low,
    }
    if jobs := len(tiles.closing["jobs"]):
        kernel, shared = _kernel(tree, dtype, "leaf_closures"), 32 * tiles.levels * dtype.itemsize
        kernel(jobs, 32, {**down, **tiles.closing, "weights": weights}, shared=shared)
    if roots := len(tiles.host.roots):
        kernel = runtime.program("prepared/cuda/bottoms/leaf_ways.cuh", tree.macros)
        arguments = {**down, **tiles.ways, "ways": ways}
        kernel.kernel("leaf_ways")(roots, 32, arguments, shared=8 * tiles.levels)
    return weights, ways


def _kernel(tree: DeviceTree, dtype: np.dtype[Any], name: str, **more: int) -> Any:
    whole = {**tree.macros, "COLUMNS": 16 // dtype.itemsize, **more}
    return runtime.program(f"prepared/cuda/bottoms/{name}.cuh", whole).kernel(name)


class TileSweep:
    """Leaves at the bottom of the tree, their tiles of rows, and the front above them."""

    def __init__(
        self,
        prepared: Prepared,
        shape: LeafShape | None = None,
        sources: int = 1024,
        top: int | None = None,
    ) -> None:
        self.n, self.dtype = prepared.n_vertices, prepared.metric.dtype
        # Tiles overlap by some vertices, so that each writes whole sectors.
        row = self.n * prepared.answer_dtype.itemsize
        self.margin = _SECTOR // 4 if row % _SECTOR else 0
        shape = shape or default_leaf(prepared.preparation.figures.height, sources)
        above = above_shape(prepared, sources, top)
        form = (shape, above.top, self.margin)
        key = (runtime.device().ordinal, self.dtype.itemsize, *form)
        self.tree = device_tree(prepared)
        self.tiles: DeviceTiles = LAYOUTS.of(
            prepared, lambda: _cut_tiles(prepared, *form), ("tiles", *key)
        )
        self.above = Above(prepared, self.tiles.host.upper, above, shape)
        self.weights, self.ways = _WEIGHTS.of(
            prepared, lambda: _closed(self.tiles, self.tree, self.dtype), key
        )

    @property
    def most_sources(self) -> int:
        """Maximum number of sources of a block: bundles address bytes by 32 bits."""
        return (2**32 - 1) // (max(self.n_kept, 1) * self.dtype.itemsize) // UNIT * UNIT

    @property
    def n_kept(self) -> int:
        """Number of rows of distances that a query stores."""
        return len(self.tiles.host.upper)

    def _begins(self, pitch: int) -> Any:
        """Return the start of each row that bundles read, in bytes."""
        if pitch > self.most_sources:
            raise OptionError(
                f"{pitch:,} sources at a time are too many for {self.n_kept:,} labels above the "
                f"leaves: sweep= at most {self.most_sources:,}"
            )
        row = np.uint32(pitch * self.dtype.itemsize)
        return self.tiles.row.astype(np.uint32) * row

    def rows(self, count: int, **memory: Any) -> Query:
        """Write whole rows. ``memory`` is that of :class:`Query`."""
        begins = self._begins(padded(count))
        query = Query(self.tree, self.dtype, count, self.n_kept, **memory)
        self.above.begin(query, self.above.held.place, 16 // self.dtype.itemsize)
        query.writes = partial(self._writing, begins)
        return query

    def _writing(self, begins: Any, query: Query, out: Any) -> list[runtime.Launch]:
        """Return the launches for bundles, from the labels above, and for each source's leaf."""
        tiles, tree, size = self.tiles, self.tree, self.dtype.itemsize
        written = {"n": np.int32(self.n), "out": out, "step": tree.step}
        n_tiles = len(tiles.host.tile_first) // 4 - 1
        arguments = {
            **written,
            **tiles.bundles,
            "n_tiles": np.int32(n_tiles),
            "rows": begins,
            "weights": self.weights.view(np.int32),  # 16 bytes at a time: four values, or two
            "values": query.values,
            "count": np.int32(len(out)),
        }
        kernel = _kernel(tree, self.dtype, "tiles", MARGIN=self.margin, TILE=tiles.width)
        shared = tiles.width * _UNIT + tiles.host.tile_bytes(size)
        jobs = n_tiles * -(-len(out) // (32 * (16 // size)))
        launches = [runtime.Launch(kernel, jobs, 32 * _WARPS, arguments, shared, early=True)]
        if len(tiles.host.roots):
            arguments = {
                **written,
                "leaf": tiles.leaf,
                "labels": query.labels,
                "space": query.space,
                "pitch": np.int64(query.pitch),
                "depth": tree.depth,
                "low": tree.low,
                "vertex": tree.vertex,
                "way_first": tiles.ways["way_first"],
                "ways": self.ways,
            }
            kernel = _kernel(tree, self.dtype, "own_leaf")
            shared = tiles.levels * size
            each = (query.pitch, 2 * _SIDE)
            launches.append(runtime.Launch(kernel, *each, arguments, shared, early=True))
        return launches


def row_sweep(prepared: Prepared, sources: int) -> Sweep | TileSweep:
    """Return the fastest sweep for whole rows, kept for later calls.

    Tiles pay if vertices next to each other in the tree also have numbers next to each
    other; otherwise a bundle has one vertex, and a transposition is cheaper.
    """

    def make() -> Sweep | TileSweep:
        tiles = TileSweep(prepared, None, sources)
        if len(tiles.tiles.host.rows) <= _PAYS * prepared.n_vertices:
            return tiles
        return Sweep(prepared, None, sources)

    # Shapes depend only on whether there are few sources.
    return _SWEEPS.of(prepared, make, (runtime.device().ordinal, sources <= SMALL_CELLS))
