"""Bounds on the sums of a graph's paths, to decide whether they fit a dtype."""

from __future__ import annotations

from typing import Any

import numpy as np

from nearfar import _cpu
from nearfar.graph.dtypes import unreached_value
from nearfar.graph.graph import Graph
from nearfar.graph.on_device import widening
from nearfar.system.devices.arrays import module_of

#: Greatest distance that each dtype can hold, as a Python number.
FARTHEST: dict[np.dtype[Any], int | float] = {
    np.dtype(np.int32): 2**31 - 2,
    np.dtype(np.int64): 2**63 - 2,
    np.dtype(np.float32): float(np.finfo(np.float32).max),
    np.dtype(np.float64): float(np.finfo(np.float64).max),
}
_EXACT = 2**53  # sums of integers below it are exact in float64


def widest(graph: Graph) -> Graph:
    """Return the graph with weights in the 64-bit dtype of their kind."""
    return graph.astype(np.float64 if graph.weight_dtype.kind == "f" else np.int64)


def heaviest_path(graph: Graph) -> int | float:
    """Return a bound on the magnitude of all path weights; inf beyond the range of floats."""
    number = float if graph.weight_dtype.kind == "f" else int
    heaviest = max(abs(number(graph.max_weight)), abs(number(graph.min_weight)))
    return heaviest * max(graph.n_vertices - 1, 1)


def may_saturate(graph: Graph, top: float | None = None) -> bool:
    """Return whether a path may be too long for the dtype, by a cheap and safe bound.

    ``top`` is another greatest distance.
    """
    top = FARTHEST[graph.weight_dtype] if top is None else top
    if graph.weight_dtype.kind == "f":
        top /= 4  # float sums may be rounded up
    return graph._path_bound > top


def widened(values: Any, dtype: np.dtype[Any], out: Any = None, threads: int = 1) -> Any:
    """Convert 32-bit distances to another dtype; unreached entries stay unreached.

    ``out`` is a contiguous array for the result, of which `values` may be the last part.
    """
    if values.dtype == dtype:
        return values
    xp = module_of(values)
    wide = xp.empty(values.shape, dtype) if out is None else out
    values = xp.ascontiguousarray(values)
    if xp is np:
        _cpu.widened(values, wide, threads)
    else:
        widening(values, wide)()
    return wide


def narrowed(values: Any, dtype: np.dtype[Any]) -> Any:
    """Convert sums of integers to another integer dtype if all of them fit, else return them."""
    if values.dtype == dtype or dtype.kind != "i":
        return values
    bounds = np.iinfo(dtype)
    floats = values.dtype.kind == "f"
    top = min(bounds.max, _EXACT) if floats else bounds.max
    reached = values != unreached_value(np.dtype(values.dtype))
    if bool((reached & ((values < bounds.min) | (values >= top))).any()):
        return values
    short = (np.where(reached, values, 0) if floats else values).astype(dtype)
    short[~reached] = unreached_value(dtype)
    return short
