"""Arrays in memory-mapped files, for rasters larger than memory."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, Any

import numpy as np

from nearfar.errors import GraphError, OptionError, quoted
from nearfar.options import file_name
from nearfar.system.output import replacing

if TYPE_CHECKING:
    from collections.abc import Callable

    from numpy.typing import DTypeLike, NDArray

__all__ = ["map_array"]

_BLOCK = 1 << 26  # bytes per copied block


def map_array(
    source: Any,
    path: str | os.PathLike[str],
    *,
    dtype: DTypeLike | None = None,
    band: int = 1,
    progress: Callable[[float, float], None] | None = None,
) -> NDArray[Any]:
    """Copy an array block by block into a ``.npy`` file and map it into memory.

    Parameters
    ----------
    source : array, or path of a GeoTIFF
        Any object with a shape and a dtype that can be sliced: Zarr, dask, HDF5, a memory map. The
        numbers of a GeoTIFF are read as stored: pass its ``no_data`` to the :class:`Raster`.
    path : str or path
        Path ending in ``.npy``; the file appears once it is complete.
    dtype : dtype or None
        Dtype of the file; by default that of the source.
    band : int
        Band of a GeoTIFF, from 1.
    progress : callable or None
        Called as ``progress(done, all)`` with the rows (planes) copied.

    Returns
    -------
    memory-mapped array
        A :class:`Raster` of float32 or float64 uses it without a copy.

    Raises
    ------
    OptionError
        If the path ends otherwise.
    GraphError
        If the source cannot be sliced, or has masked entries and an integer dtype; in floats
        masked entries are NaN.
    MissingDependencyError
        For a GeoTIFF, without rasterio.
    """
    name = file_name(path)
    if not name.endswith(".npy"):
        raise OptionError(f"{quoted(name)}: arrays are mapped from .npy files")
    if isinstance(source, str | os.PathLike):
        from nearfar.raster.files import open_band

        with open_band(source, band) as opened:
            return _copy(opened, name, dtype, progress)
    return _copy(source, name, dtype, progress)


def _without_mask(block: Any, kind: np.dtype[Any]) -> NDArray[Any]:
    """Return a block with NaN in place of masked entries."""
    if not np.ma.is_masked(block):
        return np.asarray(block)
    if kind.kind != "f":
        raise GraphError(
            f"the source has masked entries, which {kind} cannot hold: give a float dtype"
        )
    return np.ma.filled(block.astype(kind), np.nan)


def _copy(source: Any, name: str, dtype: Any, progress: Any) -> NDArray[Any]:
    """Copy rows (planes) of the source, in blocks of limited size."""
    try:
        shape = tuple(int(n) for n in source.shape)
        kind = np.dtype(source.dtype if dtype is None else dtype)
        rows = shape[0]
    except (AttributeError, TypeError, ValueError, IndexError):
        raise GraphError(f"{quoted(source)}: give an array with a shape and a dtype") from None
    if kind.hasobject:
        raise GraphError(f"the source has dtype {kind}: give numbers")
    each = max(1, kind.itemsize * int(np.prod(shape[1:])))
    step = max(1, _BLOCK // each)
    chunks = getattr(source, "chunks", None)
    if chunks:  # round blocks to whole chunks, if a chunk fits
        first = chunks[0] if isinstance(chunks[0], int) else max(chunks[0])
        step = max(step // first, 1) * first
    with replacing(name) as temporary, open(temporary, "wb") as file:
        header = {"descr": kind.str, "fortran_order": False, "shape": shape}
        np.lib.format.write_array_header_1_0(file, header)
        for begin in range(0, rows, step):
            end = min(begin + step, rows)
            block = np.ascontiguousarray(_without_mask(source[begin:end], kind), dtype=kind)
            file.write(block.data.cast("B"))
            if progress is not None:
                progress(end, rows)
    return np.load(name, mmap_mode="r", allow_pickle=False)  # type: ignore[no-any-return]
