"""Host and device arrays of any library: their location, and copies between host and device."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from nearfar.system.devices import landing, runtime
from nearfar.system.devices.runtime import is_device_array, upload

if TYPE_CHECKING:
    from numpy.typing import NDArray

__all__ = ["as_dtype", "is_device_array", "module_of", "to_host", "upload"]

_C_FLOATS = {"float32": "float", "float64": "double"}
_CAST_BLOCKS, _CAST_THREADS = 4096, 256


def module_of(array: Any) -> Any:
    """Return NumPy, or CuPy for an array on a device."""
    return runtime.cupy() if is_device_array(array) else np


def as_dtype(array: Any, dtype: Any) -> Any:
    """Return an array in another dtype, or itself; denormal floats of a device stay as they are.

    CuPy compiles its kernels to flush denormal float32 to zero, in conversions too.
    """
    wanted = np.dtype(dtype)
    if array.dtype == wanted:
        return array
    if not is_device_array(array) or {wanted.name, array.dtype.name} != _C_FLOATS.keys():
        return array.astype(wanted)
    module = runtime.cupy()
    given = module.ascontiguousarray(array)
    made = module.empty(given.shape, wanted)
    if given.size:
        macros = {"FROM_T": _C_FLOATS[given.dtype.name], "TO_T": _C_FLOATS[wanted.name]}
        kernel = runtime.program("cuda/cast.cuh", macros).kernel("cast")
        arguments = {"given": given, "made": made, "count": np.int64(given.size)}
        blocks = min(-(-given.size // _CAST_THREADS), _CAST_BLOCKS)
        kernel(blocks, _CAST_THREADS, arguments)
    return made


def to_host(array: Any, out: NDArray[Any] | None = None, threads: int = 1) -> NDArray[Any]:
    """Return a host array unchanged; copy a device array, into ``out`` if that has its form."""
    if not is_device_array(array):
        return array  # type: ignore[no-any-return]
    if not isinstance(array, runtime.cupy().ndarray):
        array = upload(array)
    same = out is not None and out.shape == array.shape and out.dtype == array.dtype
    fits = same and out is not None and out.flags.c_contiguous
    return landing.download(array, out if fits else None, threads)
