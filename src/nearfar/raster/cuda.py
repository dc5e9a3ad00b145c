"""Least costs over a raster on a GPU: `tiles.cuh` in one cooperative launch."""

from __future__ import annotations

import itertools
from typing import TYPE_CHECKING, Any

import numpy as np

from nearfar.graph.dtypes import limit_in_dtype, unreached_value
from nearfar.system.devices import runtime

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from nearfar.raster.raster import Raster

__all__ = ["Engine", "macros", "search"]

_C_TYPES = {"float32": "float", "float64": "double", "int32": "int", "int64": "long long"}
_SOURCE = 64  # mark of a tile with a source, as in tiles.cuh
_TILE = 24  # bytes per tile in addition to its cells
# A GPU takes _VISIT seconds per visit of few tiles, more than a CPU. The search moves to the CPU
# once such visits have taken as long as copying the distances, and back once many tiles wait.
_VISIT, _COPIED = 7e-6, 10e9  # seconds; bytes per second to the host and back; on an H100
_PATIENCE = 500  # minimum number of such visits before the search moves
_WIDE = 64  # number of waiting CPU tiles from which the search moves back


def macros(dtype: np.dtype[Any], ndim: int, rule: int, steps: NDArray[np.int8]) -> dict[str, Any]:
    """Return the macros for compiling the program."""
    wide = dtype.itemsize == 8
    halo = 2 if len(steps) == 16 else 1
    side = 32 - 2 * halo if ndim == 2 else 16
    depth = 1 if ndim == 2 else 4 if wide else 8 if rule == 2 else 16
    offsets = np.zeros((len(steps), 3), dtype=int)
    offsets[:, 3 - steps.shape[1] :] = steps
    return {
        "INDEX_T": "int",
        "OFFSET_T": "long long",
        "WEIGHT_T": _C_TYPES[dtype.name],
        "WEIGHTED": 1,
        "DIMS": ndim,
        "SIDE": side,
        "DEPTH": depth,
        "HALO": halo,
        "THREADS": 256 if ndim == 3 else 384 if wide else 512,  # warps that shared memory fits
        "RESIDENT": 1 if ndim == 2 else 4,
        "RULE": rule,
        "STEPS": len(steps),
        "OFFSETS": ",".join("{" + ",".join(map(str, row)) + "}" for row in offsets.tolist()),
    }


class Engine:
    """Program for a raster, which relaxes the whole raster or a part: a range of lines.

    For the kernel a part is a raster itself. Lines are rows in two
    dimensions and planes in three.
    """

    def __init__(self, grid: Raster) -> None:
        runtime.device()  # raises an error with the reason if there is no device
        self.grid = grid
        self.given = grid._describe_steps(grid.dtype)
        self.macro = macros(grid.dtype, grid.ndim, self.given["rule"], grid.steps)
        self.unreached = unreached_value(grid.dtype)
        program = runtime.program("raster/kernels/tiles.cuh", self.macro)
        self.kernel = program.kernel("relax_tiles")
        self.counters = {"phases": 0, "tile_visits": 0, "handed_over": 0, "visits_on_cpu": 0}
        self.seconds, self.bytes = 0.0, 0

    def shape(self, lines: int) -> tuple[int, int, int]:
        """Return the extents of a part."""
        _, rows, columns = self.given["shape"]
        return (1, lines, columns) if self.grid.ndim == 2 else (lines, rows, columns)

    def tiles(self, shape: tuple[int, ...]) -> tuple[int, int, int]:
        """Return the number of tiles along each axis."""
        side = self.macro["SIDE"]
        return -(-shape[0] // self.macro["DEPTH"]), -(-shape[1] // side), -(-shape[2] // side)

    def bytes_of(self, lines: int) -> int:
        """Return the device memory of a part, in bytes."""
        grid, given, shape = self.grid, self.given, self.shape(lines)
        arrays = 1 + (grid.device_cost is None) + (grid.elevation is not None)
        masked = given["negative"] or given["no_data"] is not None or grid.elevation is not None
        cell = grid.dtype.itemsize * (arrays + masked) + 2 * masked
        return int(np.prod(shape)) * cell + int(np.prod(self.tiles(shape))) * _TILE

    def waiting(
        self, shape: tuple[int, ...], cells: NDArray[np.int64], values: NDArray[Any]
    ) -> tuple[NDArray[Any], NDArray[np.uint32]]:
        """Return key and mark of each tile, given cells of a part with new distances."""
        tiles, side = self.tiles(shape), self.macro["SIDE"]
        keys = np.full(int(np.prod(tiles)), self.unreached, dtype=self.grid.dtype)
        marks = np.zeros(len(keys), dtype=np.uint32)
        at = np.stack(np.unravel_index(cells, shape))
        # A tile of a volume sends only lowered distances, so adjacent tiles read their neighbours.
        reach = (0,) if self.grid.ndim == 2 else (-1, 0, 1)
        for shift in itertools.product(reach, repeat=3):
            near = np.clip(at + np.array(shift)[:, None], 0, np.array(shape)[:, None] - 1)
            of_tile = near[0] // self.macro["DEPTH"] * tiles[1] + near[1] // side
            of_tile = of_tile * tiles[2] + near[2] // side
            np.minimum.at(keys, of_tile, values)
            marks[of_tile] = _SOURCE
        return keys, marks

    def relax(
        self,
        cost: Any,
        elevation: Any,
        distance: Any,
        shape: tuple[int, ...],
        waiting: tuple[NDArray[Any], NDArray[np.uint32]],
        limit: float | None,
        patience: int = 2**32 - 1,
    ) -> NDArray[Any] | None:
        """Lower the distances of a part, on the device, to their fixed point.

        Returns None, or after ``patience`` visits of few tiles at a time the tiles' keys.
        """
        cp, dtype, given = runtime.cupy(), self.grid.dtype, self.given
        cost, elevation = self._passable(cost, elevation)
        n_tiles = int(np.prod(self.tiles(shape)))
        table, low, scale = given["table"] or (np.zeros(3, dtype), dtype.type(0), dtype.type(0))
        shared, blocks, block = _launch_shape(self.kernel, self.macro, dtype.itemsize, n_tiles)
        state = cp.zeros(40, dtype=np.uint32)
        key = runtime.upload(waiting[0])
        arguments = {
            "cost": cost,
            "elevation": elevation,
            "factors": runtime.upload(given["factors"]),
            "inverses": runtime.upload(given["inverses"]),
            "table": runtime.upload(table),
            "low": low,
            "scale": scale,
            "last": dtype.type(len(table) - 2),
            "distance": distance,
            "key": key,
            "marks": runtime.upload(waiting[1]),
            "queue": cp.empty(n_tiles, dtype=np.int32),
            "state": state,
            "least": runtime.upload(np.full(8, self.unreached, dtype=dtype)),
            "planes": np.int64(shape[0]),
            "rows": np.int64(shape[1]),
            "columns": np.int64(shape[2]),
            "limit": limit_in_dtype(limit, dtype),
            "delta": _first_delta(self.grid, self.macro["SIDE"]),
            "patience": np.uint32(patience),
        }
        timer = runtime.Timer().start()
        self.kernel(blocks, block, arguments, shared=shared, cooperative=True)
        timer.stop()
        counters = state.get()
        self.counters["phases"] += int(counters[8])
        self.counters["tile_visits"] += int(counters[9])
        self.seconds += timer.seconds
        held = sum(getattr(value, "nbytes", 0) for value in arguments.values())
        self.bytes = max(self.bytes, held)
        return key.get() if counters[10] else None

    def go_on(
        self, distance: NDArray[Any], keys: NDArray[Any], limit: float | None, threads: int
    ) -> NDArray[np.int64]:
        """Continue on the CPU; return cells from which the GPU continues if many tiles wait."""
        from nearfar import _cpu

        cells = self._reached(distance, keys)
        patience = threads * _patience(distance.nbytes)
        given = self.grid._describe(self.grid.dtype)
        left: NDArray[np.int64]
        left, visits = _cpu.raster_resume(given, distance, cells, limit, _WIDE, patience, threads)
        self.counters["handed_over"] += 1
        self.counters["visits_on_cpu"] += visits
        return left

    def _reached(self, distance: NDArray[Any], keys: NDArray[Any]) -> NDArray[np.int64]:
        """Return the reached cells of waiting tiles and of their rims."""
        shape = self.given["shape"]
        extents = (self.macro["DEPTH"], self.macro["SIDE"], self.macro["SIDE"])
        rim = (int(self.grid.ndim == 3), self.macro["HALO"], self.macro["HALO"])
        room, found = distance.reshape(shape), []
        for tile in np.argwhere(keys.reshape(self.tiles(shape)) < self.unreached):
            first = [max(0, t * e - r) for t, e, r in zip(tile, extents, rim, strict=True)]
            last = [(t + 1) * e + r for t, e, r in zip(tile, extents, rim, strict=True)]
            part = room[tuple(map(slice, first, last))]
            at = np.argwhere(part < self.unreached) + first
            found.append(np.ravel_multi_index(tuple(at.T), shape))
        return np.unique(np.concatenate(found))

    def stats(self) -> dict[str, Any]:
        """Return counters of all launches."""
        return {**self.counters, "device_seconds": self.seconds, "device_bytes": self.bytes}

    def _passable(self, cost: Any, elevation: Any) -> tuple[Any, Any]:
        """Return costs, unreached at barriers, and finite elevations, on the device."""
        cp, dtype = runtime.cupy(), self.grid.dtype
        cost = runtime.upload(cost)
        heights = None if elevation is None else runtime.upload(elevation)
        blocked = None
        if self.given["negative"]:
            blocked = cost < 0
        if self.given["no_data"] is not None:
            marked = cost == self.given["no_data"]
            blocked = marked if blocked is None else blocked | marked
        if heights is not None:
            missing = ~cp.isfinite(heights)
            blocked = missing if blocked is None else blocked | missing
            heights = cp.where(missing, dtype.type(0), heights)
        if blocked is not None:
            cost = cp.where(blocked, dtype.type(self.unreached), cost)
        return cost, heights


def search(
    engine: Engine,
    starts: NDArray[np.int64],
    initial: NDArray[Any],
    limit: float | None,
    ends: NDArray[np.int64],
    threads: int,
) -> NDArray[Any]:
    """Return distances of a raster that fits the device, on the device if the costs are."""
    grid, shape = engine.grid, engine.given["shape"]
    runtime.require_memory(engine.bytes_of(grid.shape[0]))
    cells, which = np.unique(starts, return_inverse=True)
    first = np.full(len(cells), engine.unreached, dtype=grid.dtype)
    np.minimum.at(first, which.reshape(-1), initial)
    distance = runtime.cupy().full(grid.n_vertices, engine.unreached, dtype=grid.dtype)
    distance[runtime.upload(cells)] = runtime.upload(first)
    cost = grid.cost if grid.device_cost is None else grid.device_cost
    waiting = engine.waiting(shape, starts, initial)
    while True:
        patience = _patience(distance.nbytes)
        keys = engine.relax(cost, grid.elevation, distance, shape, waiting, limit, patience)
        if keys is None:
            break
        host = runtime.download(distance)
        left = engine.go_on(host, keys, limit, threads)
        distance = runtime.upload(host)
        if not left.size:
            break
        waiting = engine.waiting(shape, left, host[left])
    bounds = [] if limit is None else [limit]
    if ends.size:
        bounds.append(distance[runtime.upload(ends)].max().item())
    if bounds:
        distance[distance > min(bounds)] = engine.unreached
    found = distance if grid.device_cost is not None else runtime.download(distance)
    return found.reshape(grid.shape)


def _patience(nbytes: int) -> int:
    """Return the number of visits of few tiles that cost as much as copying the distances twice."""
    return max(_PATIENCE, int(2 * nbytes / _COPIED / _VISIT))


def _launch_shape(
    kernel: Any, macro: dict[str, Any], itemsize: int, n_tiles: int
) -> tuple[int, int, int]:
    """Return shared bytes, number of blocks, and threads per block; see the kernel's header."""
    halo, side = 2 * macro["HALO"], macro["SIDE"] + 2 * macro["HALO"]
    if macro["DIMS"] == 2:
        cells = (side + halo) * (side + halo - 1) + halo
    else:
        cells = (side * side + 1) * (macro["DEPTH"] + halo)
    each = cells * itemsize * (3 if macro["RULE"] == 2 else 2)
    block, warps = macro["THREADS"], 1
    if macro["DIMS"] == 2:
        device = runtime.device()
        fit = (device.shared_per_block - 1024) // each
        warps = max(1, min(block // 32, fit, -(-n_tiles // device.multiprocessors)))
        block = 32 * warps
    blocks = max(1, min(kernel.resident_blocks(block, each * warps), -(-n_tiles // warps)))
    return each * warps, blocks, block


def _first_delta(grid: Raster, side: int) -> Any:
    """Return the width of the first phase, which the kernel adapts."""
    width = float(grid.greatest_cost) * side * max(grid.cell_size if grid.lengths else (1.0,))
    if grid.dtype.kind == "i":
        return grid.dtype.type(max(1, min(width, np.iinfo(grid.dtype).max // 4)))
    floats = np.finfo(grid.dtype)
    return grid.dtype.type(min(max(width, float(floats.tiny)), float(floats.max) / 4))
