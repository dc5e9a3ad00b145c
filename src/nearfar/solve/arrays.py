"""Operations on arrays, each with one implementation for the host and the device."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from nearfar import _cpu
from nearfar.cuda.distances.predecessors import mask_above
from nearfar.cuda.distances.row_figures import row_figures as device_row_figures
from nearfar.graph.dtypes import unreached_value
from nearfar.graph.graph import Graph
from nearfar.system.devices.arrays import is_device_array, module_of, to_host, upload

_FEW = 16  # entries up to which single copies from a device are faster than one large copy
_REPEATED = 1 << 26  # bytes of rows copied at a time


def external_names(graph: Graph, places: Any) -> Any:
    """Return external names on the host, with None for -1; indices if vertices have no names.

    The array has the dtype of the names if none is missing.
    """
    if graph.vertex_names is None:
        return places
    places = to_host(places)
    if not graph.n_vertices:
        return np.full(places.shape, None, dtype=object)
    names = graph.name_of(np.maximum(places, 0))
    if not (places < 0).any():
        return names
    names = names.astype(object)
    names[places < 0] = None
    return names


def mask_beyond(graph: Graph, values: Any, bound: Any, threads: int = 1) -> Any:
    """Set distances above a bound (or None) to unreached, and return the array.

    Only read-only host arrays are copied.
    """
    if bound is None or values.size == 0:
        return values
    if is_device_array(values):
        dtype = np.dtype(values.dtype)
        if bound < unreached_value(dtype):  # otherwise no distance is greater
            mask_above(graph, values, bound)
        return values
    if not (values.flags.writeable and values.flags.c_contiguous):
        values = values.copy()
    _cpu.mask_above(values, bound, threads)
    return values


def clear_unreached(before: Any, values: Any) -> Any:
    """Clear the predecessors of unreached vertices in place, and return the array."""
    gone = values == unreached_value(np.dtype(values.dtype))
    if is_device_array(before) != is_device_array(values):
        gone = upload(gone) if is_device_array(before) else to_host(gone)
    before[gone] = -1
    return before


def entries(values: Any, places: NDArray[np.int64]) -> NDArray[Any]:
    """Return entries of a 1-D array, on the host."""
    if not is_device_array(values):
        found: NDArray[Any] = values[places]
        return found
    if len(places) <= _FEW:
        return np.concatenate([to_host(values[at : at + 1]) for at in places.tolist()])
    return to_host(values)[places]


def distinct_sources(rows: NDArray[np.int64]) -> tuple[NDArray[np.int64], NDArray[np.int64] | None]:
    """Return the distinct sources in order of appearance, and the position of each row in them."""
    if np.logical_and.reduce(rows[1:] > rows[:-1]):
        return rows, None
    order = np.argsort(rows, kind="stable")
    ordered = rows[order]
    new = np.append(True, ordered[1:] != ordered[:-1])
    if new.all():
        return rows, None
    firsts = order[new]
    by_first = np.argsort(firsts)
    number = np.empty_like(by_first)
    number[by_first] = np.arange(len(firsts))
    places = np.empty(len(rows), np.int64)
    places[order] = number[np.cumsum(new) - 1]
    return rows[firsts[by_first]], places


def repeat_rows(found: Any, places: NDArray[np.int64]) -> Any:
    """Return one row per given source from the rows of the distinct sources.

    An array that already has the final size, with only the first rows computed, is filled in
    place.
    """
    if isinstance(found, tuple):
        return tuple(repeat_rows(part, places) for part in found)
    if not hasattr(found, "nbytes"):
        return found[places]
    xp = module_of(found)
    if len(found) < len(places):
        return found[xp.asarray(places)]
    step = max(1, _REPEATED * len(found) // max(found.nbytes, 1))
    # Backwards, since each row is copied from an equal or earlier position.
    for end in range(len(places), 0, -step):
        first = max(end - step, 0)
        found[first:end] = found[xp.asarray(places[first:end])]
    return found


def reach(rows: Any, threads: int = 1) -> tuple[list[int], list[Any]]:
    """Return the number of reached entries of each row, and the greatest of them."""
    if not is_device_array(rows):
        counts, places = _cpu.row_summaries(np.ascontiguousarray(rows), threads)
        return counts.tolist(), rows[np.arange(len(rows)), places].tolist()
    many, _, _, most = device_row_figures(rows)
    return many.tolist(), most.tolist()


def row_figures(rows: Any, threads: int = 1) -> tuple[Any, Any, Any, Any]:
    """Return the number of reached entries of each row, and their sum, minimum and maximum.

    The results are on the host. Sums are float64, and those of integers are exact before rounding.
    They are None for rows on a device whose sums depend on the order of addition or do not fit 64
    bits.
    """
    if is_device_array(rows):
        count, total, least, most = device_row_figures(rows)
        some = count > 0
        if total is not None and some.any():
            farthest = max(int(most[some].max()), -int(least[some].min()))
            total = total if farthest * rows.shape[1] < 2**63 else None
        return count, None if total is None else total.astype(np.float64), least, most
    count, total = np.empty(len(rows), np.int64), np.empty(len(rows), np.float64)
    least, most = np.empty(len(rows), rows.dtype), np.empty(len(rows), rows.dtype)
    _cpu.row_figures(np.ascontiguousarray(rows), count, least, most, total, threads)
    return count, total, least, most
