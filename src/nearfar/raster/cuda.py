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


def macros(dtype: np.dtype[Any], ndim: int, rule: int, steps: NDArray[np.int8]) -> dict[str, Any]:
    """Macros of the program: tiles are as large as 48 KiB of shared memory hold."""
    wide = dtype.itemsize == 8
    side = (32 if wide or rule == 2 else 64) if ndim == 2 else 16
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
        "HALO": 2 if len(steps) == 16 else 1,
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
    """Distances on the host, and counters."""
    runtime.device()  # or the reason why there is none
    cp = runtime.cupy()
    given, dtype = grid.describe(), grid.dtype
    unreached = unreached_value(dtype)
    macro = macros(dtype, grid.ndim, given["rule"], grid.steps)
    shape, side, depth = given["shape"], macro["SIDE"], macro["DEPTH"]
    tiles = [-(-shape[0] // depth), -(-shape[1] // side), -(-shape[2] // side)]
    n_tiles = int(np.prod(tiles))
    arrays = 2 if grid.elevation is None else 3
    runtime.require_memory(grid.n_vertices * dtype.itemsize * arrays + n_tiles * 16)
    cost, elevation = _passable(grid)

    begin = np.zeros(len(starts), dtype=dtype) if initial is None else initial
    host = np.full(grid.n_vertices, unreached, dtype=dtype)
    np.minimum.at(host, starts, begin)
    planes, rows, columns = np.unravel_index(starts, shape)
    of_tile = (planes // depth * tiles[1] + rows // side) * tiles[2] + columns // side
    keys = np.full(n_tiles, unreached, dtype=dtype)
    np.minimum.at(keys, of_tile, begin)
    distance, key = runtime.upload(host), runtime.upload(keys)
    table, low, scale = given["table"] or (np.zeros(3, dtype=dtype), dtype.type(0), dtype.type(0))
    program = runtime.program("raster/tiles.cuh", macro)
    kernel = program.kernel("relax_tiles")
    block = 4 * side if grid.ndim == 2 else 256
    blocks = max(1, min(kernel.resident_blocks(block), n_tiles))
    least = runtime.upload(np.full(8, unreached, dtype=dtype))
    state = cp.zeros(12, dtype=np.uint32)
    timer = runtime.Timer().start()
    arguments = {
        "cost": runtime.upload(cost),
        "elevation": None if elevation is None else runtime.upload(elevation),
        "factors": runtime.upload(given["factors"]),
        "inverses": runtime.upload(given["inverses"]),
        "table": runtime.upload(table),
        "low": low,
        "scale": scale,
        "last": dtype.type(len(table) - 2),
        "distance": distance,
        "key": key,
        "queue": cp.empty(n_tiles, dtype=np.int32),
        "state": state,
        "least": least,
        "planes": np.int64(shape[0]),
        "rows": np.int64(shape[1]),
        "columns": np.int64(shape[2]),
        "limit": limit_in_dtype(limit, dtype),
        "delta": _first_delta(grid, side),
    }
    kernel(blocks, block, arguments, cooperative=True)
    timer.stop()
    found = runtime.download(distance).reshape(grid.shape)
    counters = state.get()
    _cut(found, limit, ends)
    return found, {
        "phases": int(counters[9]),
        "tile_visits": int(counters[10]),
        "tiles": n_tiles,
        "device_seconds": timer.seconds,
    }


def _passable(grid: Raster) -> tuple[NDArray[Any], NDArray[Any] | None]:
    """Costs whose barriers never improve a distance, and finite elevations."""
    given = grid.describe()
    cost, heights = grid.cost, grid.elevation
    blocked = np.zeros(0, dtype=bool)
    if given["negative"]:
        blocked = cost < 0
    if given["no_data"] is not None:
        marked = cost == given["no_data"]
        blocked = marked | blocked if blocked.size else marked
    if heights is not None:
        missing = ~np.isfinite(heights)
        blocked = missing | blocked if blocked.size else missing
        heights = np.where(missing, grid.dtype.type(0), heights)
    if blocked.size and blocked.any():
        cost = np.where(blocked, unreached_value(grid.dtype), cost)
    return cost, heights


def _first_delta(grid: Raster, side: int) -> Any:
    """A width of the first phases; the kernel adapts it."""
    width = float(grid.greatest_cost) * side * max(grid.cell_size if grid.lengths else (1.0,))
    if grid.dtype.kind == "i":
        return grid.dtype.type(max(1, min(width, np.iinfo(grid.dtype).max // 4)))
    tiny = np.finfo(grid.dtype).tiny
    return grid.dtype.type(min(max(width, tiny), np.finfo(grid.dtype).max / 4))


def _cut(distances: NDArray[Any], limit: float | None, ends: NDArray[np.int64]) -> None:
    """Leave cells beyond the limit and the farthest target unreached."""
    unreached = unreached_value(distances.dtype)
    if ends.size:
        farthest = distances.reshape(-1)[ends].max()
        distances[distances > farthest] = unreached
    if limit is not None:
        distances[distances > limit] = unreached
