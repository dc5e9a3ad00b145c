"""Launches that begin before the previous launch on their stream has ended.

CUDA calls these programmatic dependent launches. Such a kernel first does work that does not depend
on the previous kernel, and then waits for that kernel (``cuda/primitives/early_launch.cuh``). CuPy
does not support them, so the driver is called directly.
"""

from __future__ import annotations

import ctypes
import functools
from collections.abc import Callable
from types import ModuleType
from typing import Any

_SERIALIZATION = 6  # CU_LAUNCH_ATTRIBUTE_PROGRAMMATIC_STREAM_SERIALIZATION


class _Attribute(ctypes.Structure):
    _fields_ = (("id", ctypes.c_int), ("padding", ctypes.c_int), ("value", ctypes.c_int * 16))


class _Config(ctypes.Structure):
    _fields_ = (
        ("grid", ctypes.c_uint * 3),
        ("block", ctypes.c_uint * 3),
        ("shared", ctypes.c_uint),
        ("stream", ctypes.c_void_p),
        ("attributes", ctypes.c_void_p),
        ("n_attributes", ctypes.c_uint),
    )


@functools.cache
def _driver_call() -> Any:
    """Return ``cuLaunchKernelEx``, or None if the driver does not have it."""
    try:
        call = ctypes.CDLL("libcuda.so.1").cuLaunchKernelEx
    except (OSError, AttributeError):
        return None
    call.argtypes = (ctypes.c_void_p,) * 4
    return call


def early_launch(
    driver: Any, function: int, shape: tuple[int, ...], parameters: int
) -> Callable[[int], None] | None:
    """Return a function that launches early on a stream, or None without driver support."""
    call = _driver_call() if isinstance(driver, ModuleType) else None
    if call is None:
        return None
    attribute = _Attribute(_SERIALIZATION)
    attribute.value[0] = 1
    config = _Config(shape[:3], shape[3:6], shape[6], None, ctypes.addressof(attribute), 1)

    def launch(stream: int, kept: Any = attribute) -> None:
        config.stream = stream
        status = call(ctypes.addressof(config), function, parameters, None)
        if status != 0:
            raise driver.CUDADriverError(status)

    return launch
