"""Import of CuPy, which happens only in this module, and of the compiler that it loads."""

from __future__ import annotations

import ctypes
import functools
import importlib.util
import sys
import threading
import warnings
from collections.abc import Sequence
from typing import Any

from nearfar.errors import MissingDependencyError
from nearfar.system.devices import nvrtc
from nearfar.system.devices.nvrtc import Compiler

_cupy: Any = None  # the module, once imported
HOW = "pip install 'nearfar[cuda13]' (driver 580 or newer) or 'nearfar[cuda12]'"


def import_cupy() -> Any:
    """Return CuPy, or None if it is not installed or cannot be imported."""
    global _cupy
    # Skipped after the first import, since catching warnings takes microseconds.
    if _cupy is None or sys.modules.get("cupy") is not _cupy:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # CuPy warns on import without a driver
            try:
                import cupy
            except ImportError:
                return None
        _cupy = cupy
    return _cupy


def import_and_open() -> None:
    """Import CuPy while the driver opens the first device, which take equally long.

    For calls that name the device, which later report problems of CuPy or the driver. Does nothing
    if CuPy is already imported. The first use of the driver waits until the device is open;
    imports before that take no additional time.
    """
    if "cupy" in sys.modules or importlib.util.find_spec("cupy") is None:
        return
    threading.Thread(target=_open_device, name="nearfar opens a device").start()
    import_cupy()


def _open_device() -> None:
    """Create the context of the first device, which the CUDA runtime then uses."""
    try:
        driver = ctypes.CDLL("libcuda.so.1")
    except OSError:
        return
    device, context = ctypes.c_int(), ctypes.c_void_p()
    if driver.cuInit(0) == 0 and driver.cuDeviceGet(ctypes.byref(device), 0) == 0:
        driver.cuDevicePrimaryCtxRetain(ctypes.byref(context), device)


@functools.cache
def cupy() -> Any:
    """Return the CuPy module."""
    module = import_cupy()
    if module is None:
        raise MissingDependencyError(f"CuPy is not installed: {HOW}")
    return module


class _CupyCompiler:
    """NVRTC loaded by CuPy."""

    def __init__(self) -> None:
        from cupy_backends.cuda.libs import nvrtc as library

        self._nvrtc = library
        self.version = ".".join(map(str, library.getVersion()))

    def compile(self, source: str, options: Sequence[str], /) -> nvrtc.Result:
        lib = self._nvrtc
        handle = lib.createProgram(source, "kernel.cu", (), ())
        try:
            try:
                lib.compileProgram(handle, list(options))
            except lib.NVRTCError:
                return nvrtc.Result(None, lib.getProgramLog(handle))
            return nvrtc.Result(lib.getCUBIN(handle), lib.getProgramLog(handle))
        finally:
            lib.destroyProgram(handle)


def cupy_nvrtc() -> Compiler | None:
    """Return the compiler that CuPy uses, or None without CuPy or if its NVRTC does not load."""
    if import_cupy() is None:
        return None
    try:
        return _CupyCompiler()
    except Exception:
        return None


@functools.cache
def load() -> Compiler:
    """Return the compiler: that of CuPy if it is installed, so that versions agree."""
    return cupy_nvrtc() or nvrtc.load_library()
