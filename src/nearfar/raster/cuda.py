"""Least costs over a raster on a GPU: `tiles.cuh` in one cooperative launch."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from nearfar.graph.dtypes import limit_in_dtype, unreached_value
from nearfar.system.devices import runtime

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from nearfar.raster.raster import Raster

__all__ = ["macros", "search"]

_C_TYPES = {"float32": "float", "float64": "double", "int32": "int", "int64": "long long"}
_SOURCE = 64  # a tile with a source, in tiles.cuh's marks


def macros(dtype: np.dtype[Any], ndim: int, rule: int, steps: NDArray[np.int8]) -> dict[str, Any]:
    """Return the macros of the program."""
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
        "THREADS": 256 if ndim == 3 else 384 if wide else 512,  # shared memory holds so many warps
        "RESIDENT": 1 if ndim == 2 else 4,
        "RULE": rule,
        "STEPS": len(steps),
        "OFFSETS": ",".join("{" + ",".join(map(str, row)) + "}" for row in offsets.tolist()),
    }


def search(
    grid: Raster,
    starts: NDArray[np.int64],
    initial: NDArray[Any] | None,
    limit: float | None,
    ends: NDArray[np.int64],
) -> tuple[NDArray[Any], dict[str, Any]]:
    """Return distances, on the device if the costs were given there, and counters."""
    runtime.device()  # or the reason why there is none
    cp = runtime.cupy()
    dtype = grid.dtype
    given = grid.describe_steps(dtype)
    unreached = unreached_value(dtype)
    macro = macros(dtype, grid.ndim, given["rule"], grid.steps)
    shape, side, depth = given["shape"], macro["SIDE"], macro["DEPTH"]
    tiles = [-(-shape[0] // depth), -(-shape[1] // side), -(-shape[2] // side)]
    n_tiles = int(np.prod(tiles))
    arrays = 1 + (grid.device_cost is None) + (grid.elevation is not None)
    runtime.require_memory(grid.n_vertices * dtype.itemsize * arrays + n_tiles * 24)
    cost, elevation = _passable(grid, given)

    begin = np.zeros(len(starts), dtype=dtype) if initial is None else initial
    cells, which = np.unique(starts, return_inverse=True)
    first = np.full(len(cells), unreached, dtype=dtype)
    np.minimum.at(first, which.reshape(-1), begin)
    distance = cp.full(grid.n_vertices, unreached, dtype=dtype)
    distance[runtime.upload(cells)] = runtime.upload(first)
    planes, rows, columns = np.unravel_index(starts, shape)
    of_tile = (planes // depth * tiles[1] + rows // side) * tiles[2] + columns // side
    keys = np.full(n_tiles, unreached, dtype=dtype)
    np.minimum.at(keys, of_tile, begin)
    marks = np.zeros(n_tiles, dtype=np.uint32)
    marks[of_tile] = _SOURCE
    table, low, scale = given["table"] or (np.zeros(3, dtype=dtype), dtype.type(0), dtype.type(0))
    program = runtime.program("raster/kernels/tiles.cuh", macro)
    kernel = program.kernel("relax_tiles")
    shared, blocks, block = _launch_shape(kernel, macro, dtype.itemsize, n_tiles)
    least = runtime.upload(np.full(8, unreached, dtype=dtype))
    state = cp.zeros(40, dtype=np.uint32)
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
        "key": runtime.upload(keys),
        "marks": runtime.upload(marks),
        "queue": cp.empty(n_tiles, dtype=np.int32),
        "state": state,
        "least": least,
        "planes": np.int64(shape[0]),
        "rows": np.int64(shape[1]),
        "columns": np.int64(shape[2]),
        "limit": limit_in_dtype(limit, dtype),
        "delta": _first_delta(grid, side),
    }
    timer = runtime.Timer().start()
    kernel(blocks, block, arguments, shared=shared, cooperative=True)
    timer.stop()
    _cut(distance, limit, ends)
    counters = state.get()
    found = distance if grid.device_cost is not None else runtime.download(distance)
    return found.reshape(grid.shape), {
        "phases": int(counters[8]),
        "tile_visits": int(counters[9]),
        "tiles": n_tiles,
        "device_seconds": timer.seconds,
        "device_bytes": sum(getattr(value, "nbytes", 0) for value in arguments.values()),
    }


def _launch_shape(
    kernel: Any, macro: dict[str, Any], itemsize: int, n_tiles: int
) -> tuple[int, int, int]:
    """Return bytes of shared memory, blocks and threads of a block: as in the kernel's header."""
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
    kernel.allow_shared(each * warps)
    blocks = max(1, min(kernel.resident_blocks(block, each * warps), -(-n_tiles // warps)))
    return each * warps, blocks, block


def _passable(grid: Raster, given: dict[str, Any]) -> tuple[Any, Any]:
    """Return costs, unreached at barriers, and finite elevations, on the device."""
    cp = runtime.cupy()
    cost = runtime.upload(grid.cost if grid.device_cost is None else grid.device_cost)
    heights = None if grid.elevation is None else runtime.upload(grid.elevation)
    blocked = None
    if given["negative"]:
        blocked = cost < 0
    if given["no_data"] is not None:
        marked = cost == given["no_data"]
        blocked = marked if blocked is None else blocked | marked
    if heights is not None:
        missing = ~cp.isfinite(heights)
        blocked = missing if blocked is None else blocked | missing
        heights = cp.where(missing, grid.dtype.type(0), heights)
    if blocked is not None:
        cost = cp.where(blocked, grid.dtype.type(unreached_value(grid.dtype)), cost)
    return cost, heights


def _first_delta(grid: Raster, side: int) -> Any:
    """Return a width of the first phases; the kernel adapts it."""
    width = float(grid.greatest_cost) * side * max(grid.cell_size if grid.lengths else (1.0,))
    if grid.dtype.kind == "i":
        return grid.dtype.type(max(1, min(width, np.iinfo(grid.dtype).max // 4)))
    tiny = np.finfo(grid.dtype).tiny
    return grid.dtype.type(min(max(width, tiny), np.finfo(grid.dtype).max / 4))


def _cut(distances: Any, limit: float | None, ends: NDArray[np.int64]) -> None:
    """Leave cells beyond the limit and the farthest target unreached."""
    bounds = [] if limit is None else [limit]
    if ends.size:
        bounds.append(distances[runtime.upload(ends)].max().item())
    if bounds:
        distances[distances > min(bounds)] = unreached_value(np.dtype(distances.dtype))
