"""Steps of the pipe that differ for arrays on the host and on a device, each once for both."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, cast

import numpy as np

from nearfar import _cpu
from nearfar.cuda.predecessors import mask_above
from nearfar.cuda.row_figures import row_figures
from nearfar.graph.dtypes import unreached_value
from nearfar.system.devices import landing, runtime

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from nearfar.graph.graph import Graph

__all__ = [
    "cleared",
    "entries",
    "masked",
    "module_of",
    "named",
    "narrowed",
    "on_device",
    "reach",
    "to_host",
    "widened",
]

_FEW = 16  # entries: fewer small copies from a device than one large one


def on_device(array: Any) -> bool:
    """Whether an array lies on a device."""
    return type(array) is not np.ndarray and runtime.is_device_array(array)


def module_of(array: Any) -> Any:
    """NumPy, or CuPy for an array on a device."""
    return runtime.cupy() if on_device(array) else np


def to_host(array: Any, out: NDArray[Any] | None = None, threads: int = 1) -> NDArray[Any]:
    """The array on the host; one of a device is written to ``out`` where that has its form."""
    if not on_device(array):
        return cast("NDArray[Any]", array)
    same = out is not None and out.shape == array.shape and out.dtype == array.dtype
    fits = same and out is not None and out.flags.c_contiguous
    return landing.download(array, out if fits else None, threads)


def named(graph: Graph, places: Any) -> Any:
    """External names of vertices and None for -1, on the host; of no names the indices as given."""
    if graph.vertex_names is None:
        return places
    places = to_host(places)
    if not graph.n_vertices:
        return np.full(places.shape, None, dtype=object)
    names = graph.name_of(np.maximum(places, 0)).astype(object)
    names[places < 0] = None
    return names


def widened(values: Any, dtype: np.dtype[Any]) -> Any:
    """The distances in another dtype, unreached staying unreached."""
    if values.dtype == dtype:
        return values
    wide = values.astype(dtype)
    wide[values == unreached_value(np.dtype(values.dtype))] = unreached_value(np.dtype(dtype))
    return wide


def narrowed(values: Any, dtype: np.dtype[Any]) -> Any:
    """Integer distances in a shorter dtype, if every one fits it; else as they are."""
    if values.dtype == dtype or dtype.kind != "i":
        return values
    bounds = np.iinfo(dtype)
    reached = values != unreached_value(np.dtype(values.dtype))
    if bool((reached & ((values < bounds.min) | (values >= bounds.max))).any()):
        return values
    return widened(values, dtype)


def masked(graph: Graph, values: Any, bound: Any, threads: int = 1) -> Any:
    """The distances, with what is above a bound (None for none) made unreached in place.

    Host arrays that cannot be written to are copied.
    """
    if bound is None or values.size == 0:
        return values
    if on_device(values):
        dtype = np.dtype(values.dtype)
        if bound < unreached_value(dtype):  # else nothing can be farther
            mask_above(graph, values, bound)
        return values
    if not (values.flags.writeable and values.flags.c_contiguous):
        values = values.copy()
    _cpu.mask_above(values, bound, threads)
    return values


def cleared(before: Any, values: Any) -> Any:
    """Predecessors without those of vertices that are not reached, in place."""
    gone = values == unreached_value(np.dtype(values.dtype))
    if on_device(before) != on_device(values):
        gone = runtime.upload(gone) if on_device(before) else to_host(gone)
    before[gone] = -1
    return before


def entries(values: Any, places: NDArray[np.int64]) -> NDArray[Any]:
    """Some entries of a vector, on the host."""
    if not on_device(values):
        found: NDArray[Any] = values[places]
        return found
    if len(places) <= _FEW:
        return np.concatenate([to_host(values[at : at + 1]) for at in places.tolist()])
    return to_host(values)[places]


def reach(rows: Any, threads: int = 1) -> tuple[list[int], list[Any]]:
    """Of every row: how many entries are reached, and the greatest of them."""
    if not on_device(rows):
        counts, places = _cpu.row_summaries(np.ascontiguousarray(rows), threads)
        return counts.tolist(), rows[np.arange(len(rows)), places].tolist()
    many, _, _, most = row_figures(rows)
    return many.tolist(), most.tolist()
