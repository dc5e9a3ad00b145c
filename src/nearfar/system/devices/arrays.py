"""Host and device arrays of any library: where an array is, and copies to the other side."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from nearfar.system.devices import landing, runtime
from nearfar.system.devices.runtime import is_device_array, upload

if TYPE_CHECKING:
    from numpy.typing import NDArray

__all__ = ["is_device_array", "module_of", "to_host", "upload"]


def module_of(array: Any) -> Any:
    """Return NumPy, or CuPy for an array on a device."""
    return runtime.cupy() if is_device_array(array) else np


def to_host(array: Any, out: NDArray[Any] | None = None, threads: int = 1) -> NDArray[Any]:
    """Return a host array as it is; copy a device array, into ``out`` where that has its form."""
    if not is_device_array(array):
        return array  # type: ignore[no-any-return]
    if not isinstance(array, runtime.cupy().ndarray):
        array = upload(array)
    same = out is not None and out.shape == array.shape and out.dtype == array.dtype
    fits = same and out is not None and out.flags.c_contiguous
    return landing.download(array, out if fits else None, threads)
