"""The part of CuPy that nearfar uses, over NumPy and the emulated kernels."""

from __future__ import annotations

import ctypes
import threading
import time
import types
from typing import Any

import numpy as np


class _Memory:
    def __init__(self, ptr: int) -> None:
        self.ptr = ptr

    def copy_from_device_async(self, other: _Memory, size: int, stream: Any = None) -> None:
        ctypes.memmove(self.ptr, other.ptr, size)


class ndarray(np.ndarray):
    """A "device" array: a NumPy array that code must not mistake for one on the host."""

    def __array_finalize__(self, other: Any) -> None:
        self.ordinal = getattr(other, "ordinal", getattr(_here, "ordinal", 0))

    def __array_ufunc__(self, ufunc: Any, method: str, *inputs: Any, **keywords: Any) -> Any:
        """Compute as CuPy's kernels do, which are compiled with -ftz=true."""
        out = keywords.get("out")
        if out is not None:
            keywords["out"] = tuple(_plain(part) for part in out)
        made = getattr(ufunc, method)(*(_flushed(_plain(a)) for a in inputs), **keywords)
        if out is not None:
            for part in keywords["out"]:
                _flushed(part, part)
            return out[0] if len(out) == 1 else out
        with _Device(self.ordinal):
            if isinstance(made, tuple):
                return tuple(_wrap(_flushed(np.asarray(part))) for part in made)
            return made if made is None else _wrap(_flushed(np.asarray(made)))

    def astype(self, dtype: Any, *args: Any, **keywords: Any) -> Any:
        """Convert; denormal numbers of 32 bits become 0, as they do in CuPy's kernels."""
        wanted = np.dtype(dtype)
        if wanted == self.dtype:
            return super().astype(dtype, *args, **keywords)
        with _Device(self.ordinal):
            plain = _flushed(_plain(self)).astype(wanted, *args, **keywords)
            return _wrap(_flushed(plain))

    @property
    def device(self) -> _Device:
        return _Device(self.ordinal)

    @property
    def data(self) -> _Memory:  # type: ignore[override]
        return _Memory(self.ctypes.data)

    @property
    def __cuda_array_interface__(self) -> dict[str, Any]:
        return dict(self.__array_interface__)

    def get(self, stream: Any = None, order: str = "C", out: Any = None) -> np.ndarray:
        if out is None:
            return np.array(self, copy=True).view(np.ndarray)
        if out.shape != self.shape or out.dtype != self.dtype:
            raise ValueError("out has another shape or dtype")
        out[...] = self.view(np.ndarray)
        return out

    def set(self, values: Any) -> None:
        self[...] = values


def _plain(array: Any) -> Any:
    return array.view(np.ndarray) if isinstance(array, ndarray) else array


def _flushed(array: Any, out: Any = None) -> Any:
    """The array with 0 in place of denormal numbers of 32 bits."""
    if getattr(array, "dtype", None) != np.float32:
        return array
    tiny = np.abs(array) < np.finfo(np.float32).tiny
    if not tiny.any():
        return array
    if out is None:
        return np.where(tiny, np.float32(0), array)
    out[tiny] = 0
    return out


def _wrap(array: Any) -> Any:
    return np.asarray(array).view(ndarray) if isinstance(array, np.ndarray) else array


def _same(function: Any) -> Any:
    """Of asarray and its like: an array that is what they make stays itself, on its device."""

    def lifted(a: Any, dtype: Any = None, **keywords: Any) -> Any:
        if isinstance(a, ndarray) and dtype in (None, a.dtype) and a.flags.c_contiguous:
            return a
        return _wrap(function(a, dtype, **keywords))

    return lifted


def _lift(function: Any) -> Any:
    return lambda *args, **keywords: _wrap(function(*args, **keywords))


def _empty(shape: Any, dtype: Any = float, **_: Any) -> Any:
    array = np.empty(shape, dtype)
    array.view(np.uint8).reshape(-1)[:] = 0xA5  # what was never written must not look right
    return _wrap(array)


class _Event:
    def __init__(self, *_: Any, **__: Any) -> None:
        self.at = 0.0

    def record(self, *_: Any) -> None:
        self.at = time.perf_counter()

    def synchronize(self) -> None:
        """Nothing is ever in flight."""

    done = True


_here = threading.local()  # the current device of each thread


class _Device:
    def __init__(self, ordinal: int = 0) -> None:
        self.id = ordinal
        self.before: list[int] = []

    def synchronize(self) -> None:
        """Nothing is ever in flight."""

    def __enter__(self) -> _Device:
        self.before.append(getattr(_here, "ordinal", 0))
        _here.ordinal = self.id
        return self

    def __exit__(self, *_: Any) -> None:
        _here.ordinal = self.before.pop()


_captured: list[Any] | None = None  # calls of a graph that is being captured


def _captures(function: Any) -> Any:
    """Of what goes to a stream: kept for the graph that is being captured, or done at once."""

    def call(*args: Any, **keywords: Any) -> None:
        if _captured is None:
            function(*args, **keywords)
        else:
            _captured.append(lambda: function(*args, **keywords))

    return call


class _Graph:
    def __init__(self, calls: list[Any]) -> None:
        self.calls = calls

    def launch(self, _: Any) -> None:
        for call in self.calls:
            call()


class _Stream:
    ptr = 0
    null: Any = None

    def __init__(self, *_: Any, **__: Any) -> None:
        """All work is done when a call returns."""

    def synchronize(self) -> None:
        """Nothing is ever in flight."""

    def wait_event(self, event: Any) -> None:
        """Nothing is ever in flight."""

    def begin_capture(self) -> None:
        global _captured
        _captured = []

    def end_capture(self) -> _Graph:
        global _captured
        calls, _captured = _captured, None
        return _Graph(calls or [])

    def __enter__(self) -> _Stream:
        return self

    def __exit__(self, *_: Any) -> None:
        """Leave the stream."""


class _Pool:
    def get_limit(self) -> int:
        return 0

    def free_bytes(self) -> int:
        return 0

    def used_bytes(self) -> int:
        return 0

    def free_all_blocks(self) -> None:
        """There is no pool."""


class _Function:
    def __init__(self, library: ctypes.CDLL, name: str) -> None:
        self.launch = getattr(library, f"emulation_launch_{name}")
        self.name, self.unwritten = name, library.emulation_unwritten
        self.unwritten.restype = ctypes.c_long
        self.ptr = id(self)
        _functions[self.ptr] = self

    def __call__(self, *_: Any) -> None:
        raise TypeError("launch through nearfar.system.devices.runtime")


_functions: dict[int, _Function] = {}


class _Module:
    def load(self, code: bytes) -> None:
        self.loaded = ctypes.CDLL(code.decode())

    def get_function(self, name: str) -> _Function:
        return _Function(self.loaded, name)


@_captures
def _launch(pointer: int, *rest: Any, cooperative: int) -> None:
    if rest[6] % 16:  # no kernel's text reads beyond its end, but NVIDIA's compiler does
        raise AssertionError(f"{rest[6]} bytes of shared memory are not whole vectors of 16")
    shape = (ctypes.c_uint * 6)(*rest[:6])
    function = _functions[pointer]
    function.launch(shape, rest[6], cooperative, ctypes.c_void_p(rest[8]))
    if loads := function.unwritten():
        raise AssertionError(f"{function.name}: {loads} loads of what nobody has written")


def _pinned(size: int) -> Any:
    class Pinned(bytearray):
        @property
        def ptr(self) -> int:
            return ctypes.addressof(ctypes.c_char.from_buffer(self))

    return Pinned(size)


@_captures
def _copy(to: int, source: int, size: int, *_: Any) -> None:
    ctypes.memmove(to, source, size)


def make(multiprocessors: int = 2, free: int = 1 << 32) -> types.ModuleType:
    """A module to stand for ``cupy`` on a device of that many multiprocessors and free bytes."""
    cupy = types.ModuleType("cupy")
    cupy.__version__ = "emulated"
    cupy.ndarray = ndarray
    cupy.empty = _empty
    cupy.empty_like = lambda a, *_, **__: _empty(a.shape, a.dtype)
    for name in (
        *(
            "zeros",
            "ones",
            "full",
            "array",
            "arange",
            "sort",
            "concatenate",
            "from_dlpack",
        ),
        *("searchsorted", "cumsum", "minimum", "maximum", "where", "argsort"),
        *(
            "flatnonzero",
            "nonzero",
            "isfinite",
            "diff",
            "unique",
            "repeat",
            "zeros_like",
            "full_like",
        ),
        *("argmin", "argmax", "bincount", "tile", "stack", "take", "take_along_axis"),
        *("abs", "isinf", "logical_and"),
    ):
        setattr(cupy, name, _lift(getattr(np, name)))
    for name in (
        "int32",
        "int64",
        "uint8",
        "uint16",
        "uint32",
        "uint64",
        "float32",
        "float64",
        "bool_",
    ):
        setattr(cupy, name, getattr(np, name))
    for name in ("asarray", "ascontiguousarray"):
        setattr(cupy, name, _same(getattr(np, name)))
    cupy.dtype, cupy.inf, cupy.iinfo, cupy.finfo = np.dtype, np.inf, np.iinfo, np.finfo
    cupy.sum, cupy.any, cupy.all, cupy.count_nonzero = np.sum, np.any, np.all, np.count_nonzero
    cupy.asnumpy = lambda a, *_, out=None, **__: _wrap(a).get(out=out)
    cupy.get_default_memory_pool = lambda: _Pool()

    properties = {
        "name": b"emulated GPU",
        "major": 9,
        "minor": 0,
        "multiProcessorCount": multiprocessors,
        "maxThreadsPerMultiProcessor": 512,
        "sharedMemPerBlockOptin": 232448,
        "l2CacheSize": 1 << 20,
        "totalGlobalMem": free,
    }
    runtime = types.SimpleNamespace(
        getDeviceCount=lambda: 1,
        getDevice=lambda: getattr(_here, "ordinal", 0),
        setDevice=lambda ordinal: setattr(_here, "ordinal", ordinal),
        getDeviceProperties=lambda _: properties,
        driverGetVersion=lambda: 13000,
        runtimeGetVersion=lambda: 13000,
        deviceGetAttribute=lambda *_: 1,
        memGetInfo=lambda: (free, free),
        memcpyAsync=_copy,
        deviceCanAccessPeer=lambda *_: 1,
        deviceEnablePeerAccess=lambda *_: None,
        memcpyPeerAsync=lambda to, _, source, __, size, *___: _copy(to, source, size),
        memcpy=_copy,
        memsetAsync=lambda p, v, size, *_: ctypes.memset(p, v, size),
        deviceSynchronize=lambda: None,
    )
    driver = types.SimpleNamespace(
        launchKernel=lambda *a: _launch(*a, cooperative=0),
        launchCooperativeKernel=lambda *a: _launch(*a, cooperative=1),
        occupancyMaxActiveBlocksPerMultiprocessor=lambda *_: 2,
        funcGetAttribute=lambda *_: 0,
        funcSetAttribute=lambda *_: None,
    )
    cupy.cuda = types.SimpleNamespace(
        runtime=runtime,
        driver=driver,
        Event=_Event,
        Stream=_Stream,
        get_current_stream=lambda: _Stream(),
        get_elapsed_time=lambda a, b: (b.at - a.at) * 1e3,
        alloc_pinned_memory=_pinned,
        set_allocator=lambda _: None,
        function=types.SimpleNamespace(Module=_Module),
        Device=_Device,
    )
    return cupy
