"""Location of arrays of any library, and copies between host and device."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from nearfar.system.devices import landing, runtime
from nearfar.system.devices.runtime import is_device_array, upload

__all__ = ["as_dtype", "is_device_array", "module_of", "to_host", "upload"]


def module_of(array: Any) -> Any:
    """Return the module of an array: NumPy, or CuPy for an array on a device."""
    return runtime.cupy() if is_device_array(array) else np


def as_dtype(array: Any, dtype: Any) -> Any:
    """Convert an array to another dtype, preserving denormal floats on a device.

    CuPy's own kernels flush denormal float32 values to zero, even in conversions.
    """
    wanted = np.dtype(dtype)
    if array.dtype == wanted:
        return array
    made = array.astype(wanted)
    if not is_device_array(array):
        return made
    module = runtime.cupy()
    if (array.dtype, wanted) == (np.float32, np.float64):
        bits = module.ascontiguousarray(array).view(np.int32)
        units = bits & 0x7FFFFFFF  # value of a denormal in multiples of 2**-149
        denormal = module.where(bits < 0, -1.0, 1.0) * units.astype(np.float64) * 2.0**-149
        return module.where(units < 1 << 23, denormal, made)
    if (array.dtype, wanted) == (np.float64, np.float32):
        size = abs(array)
        small = size < 2.0**-126
        units = np.rint(module.where(small, size, 0.0) * 2.0**149).astype(np.int32)
        sign = module.where(np.signbit(array), np.int32(-(2**31)), np.int32(0))
        bits = module.where(small, units | sign, module.ascontiguousarray(made).view(np.int32))
        return bits.view(np.float32)
    return made


def to_host(array: Any, out: NDArray[Any] | None = None, threads: int = 1) -> NDArray[Any]:
    """Return a host array unchanged; copy a device array to the host, into ``out`` if it fits."""
    if not is_device_array(array):
        return array  # type: ignore[no-any-return]
    if not isinstance(array, runtime.cupy().ndarray):
        array = upload(array)
    same = out is not None and out.shape == array.shape and out.dtype == array.dtype
    fits = same and out is not None and out.flags.c_contiguous
    return landing.download(array, out if fits else None, threads)
