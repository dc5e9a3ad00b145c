"""GPU runtime of the CUDA variants.

It covers discovery, memory, programs, launches and timing. It can be imported on a machine without
a GPU; :func:`available` then returns the missing part and how to install it. CuPy provides the
memory pool, streams and launches; :mod:`nearfar.system.devices.compiler` compiles kernels.
"""

from __future__ import annotations

import contextlib
import ctypes
import functools
import importlib.util
import sys
import threading
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any, Literal, NamedTuple, ParamSpec, TypeVar

import numpy as np
from numpy.typing import NDArray

from nearfar.errors import MissingDependencyError, OutOfMemoryError, VariantUnavailable, keyword
from nearfar.system.devices.cupy_module import HOW, import_cupy, load
from nearfar.system.devices.cupy_module import cupy as cupy
from nearfar.system.devices.cupy_module import cupy_nvrtc as cupy_nvrtc
from nearfar.system.devices.cupy_module import import_and_open as import_and_open
from nearfar.system.devices.launching import Kernel as Kernel
from nearfar.system.devices.launching import Launch as Launch
from nearfar.system.devices.launching import Program as Program
from nearfar.system.devices.launching import first_cooperative as first_cooperative

P = ParamSpec("P")
T = TypeVar("T")


def can_link() -> Literal[True] | str:
    """Return True if kernels that launch kernels can be linked, or else the missing part."""
    module = import_cupy()
    if module is None or not hasattr(module.cuda.driver, "linkCreate"):
        return "device-side launches cannot be linked: this CuPy has no linker"
    from nearfar.system.devices import linking

    try:
        linking.device_runtime()
    except VariantUnavailable as error:
        return str(error)
    return True


@functools.cache
def available() -> Literal[True] | str:
    """Return True if a CUDA device can be used, or else the missing part and how to install it."""
    module = import_cupy()
    if module is None:
        return f"no CUDA device can be used: CuPy is not installed; {HOW}"
    try:
        count = module.cuda.runtime.getDeviceCount()
    except Exception as error:
        text = str(error).partition(":")[0] or type(error).__name__
        return f"no CUDA device can be used: the NVIDIA driver does not respond ({text})"
    if count == 0:
        return "no CUDA device: the driver shows no GPU (is CUDA_VISIBLE_DEVICES empty?)"
    try:
        load()
    except MissingDependencyError as error:
        return f"kernels cannot be compiled: {error}"
    return True


opened = 0  # whether a thread has opened the device; what was chosen before is chosen again
_opening: threading.Thread | None = None
_opening_lock = threading.Lock()


def opening() -> bool:
    """Return whether a thread loads CuPy and opens the device, which the first call starts.

    It is not a daemon, since the driver must not be opened while the process exits.
    """
    global _opening
    with _opening_lock:
        if _opening is None:
            if "cupy" in sys.modules or importlib.util.find_spec("cupy") is None:
                return False
            _opening = threading.Thread(target=_open, name="nearfar loads CuPy")
            _opening.start()
        return _opening.is_alive()


def _open() -> None:
    """Load CuPy, open the device and let later calls choose again."""
    global opened
    import_and_open()
    available()
    opened = 1


_LARGE = 1 << 20  # bytes that are uploaded without staging


class Device(NamedTuple):
    """Properties of the current device; sizes in bytes."""

    ordinal: int
    name: str
    compute_capability: tuple[int, int]
    multiprocessors: int
    threads_per_multiprocessor: int
    shared_per_block: int
    l2_cache: int
    memory: int
    driver: str
    cupy: str

    @property
    def arch(self) -> str:
        """Name of the architecture for the compiler, such as ``sm_90``."""
        return f"sm_{self.compute_capability[0]}{self.compute_capability[1]}"

    @property
    def overlaps(self) -> bool:
        """Whether a launch may begin before the previous one has ended."""
        return self.compute_capability >= (9, 0)

    @property
    def resident_threads(self) -> int:
        """Number of threads that can be resident on the device."""
        return self.multiprocessors * self.threads_per_multiprocessor


_of_thread = threading.local()


def device() -> Device:
    """Return the current CUDA device."""
    here = available()
    if here is not True:
        raise VariantUnavailable(here)
    runtime = cupy().cuda.runtime
    ordinal = int(runtime.getDevice())
    if not getattr(_of_thread, "has_context", False):
        # Launches call the driver, for which a new thread needs a context from the runtime.
        runtime.setDevice(ordinal)
        _of_thread.has_context = True
    return _device(ordinal)


_turns: dict[int, threading.RLock] = {}


def in_turn(function: Callable[P, T]) -> Callable[P, T]:
    """Decorate a function to be run by one thread at a time per device.

    Solves change arrays and launches that are cached on a graph, and threads may share graphs.
    """

    @functools.wraps(function)
    def run(*given: P.args, **named: P.kwargs) -> T:
        with _turns.setdefault(device().ordinal, threading.RLock()):
            return function(*given, **named)

    return run


def device_count() -> int:
    """Return the number of CUDA devices."""
    return int(cupy().cuda.runtime.getDeviceCount())


def on_device(ordinal: int) -> Any:
    """Return a context manager that makes a device the current one of this thread."""
    return cupy().cuda.Device(ordinal)


@functools.cache
def _device(index: int) -> Device:
    module = cupy()
    found = module.cuda.runtime.getDeviceProperties(index)
    version = int(module.cuda.runtime.driverGetVersion())
    return Device(
        ordinal=index,
        name=found["name"].decode(),
        compute_capability=(int(found["major"]), int(found["minor"])),
        multiprocessors=int(found["multiProcessorCount"]),
        threads_per_multiprocessor=int(found["maxThreadsPerMultiProcessor"]),
        shared_per_block=int(found["sharedMemPerBlockOptin"]),
        l2_cache=int(found["l2CacheSize"]),
        memory=int(found["totalGlobalMem"]),
        driver=f"{version // 1000}.{version % 1000 // 10}",
        cupy=str(module.__version__),
    )


# ---- memory ----------------------------------------------------------------------------


def memory() -> tuple[int, int]:
    """Return the bytes available for allocation, including free ones of the pool, and the total."""
    module = cupy()
    free, total = module.cuda.runtime.memGetInfo()
    pool = module.get_default_memory_pool()
    limit = int(pool.get_limit())
    room = int(free) + int(pool.free_bytes())
    if limit:
        room = min(room, limit - int(pool.used_bytes()))
    return room, int(total)


def require_memory(needed: int, advice: str = "") -> None:
    """Refuse a run that does not fit, before anything is allocated."""
    if needed <= cupy().get_default_memory_pool().free_bytes():
        return  # without a query of the driver
    free, _ = memory()
    if needed > free:
        cupy().get_default_memory_pool().free_all_blocks()  # the pool may be fragmented
        free, _ = memory()
        if needed > free:
            raise OutOfMemoryError(
                needed, free, advice or f"use {keyword('device', 'cpu')}, or a GPU with more memory"
            )


def is_device_array(array: Any) -> bool:
    """Return whether an array of CuPy or another library (by DLPack) is on a CUDA device."""
    if type(array) is np.ndarray or array is None:
        return False
    if hasattr(array, "__cuda_array_interface__"):
        return True
    kind = getattr(array, "__dlpack_device__", None)
    return kind is not None and int(kind()[0]) == 2


def upload(array: Any) -> Any:
    """Return a contiguous CuPy array with the data, without a copy if it is on the device.

    CuPy copies host memory through page-locked memory. For a graph the allocation of this memory
    takes several times as long as the copy, and in a thread other than the main thread it waits for
    the kernels of all devices. In both cases the driver therefore copies directly from the data.
    """
    module = cupy()
    beside = threading.current_thread() is not threading.main_thread()
    if not is_device_array(array) and (beside or getattr(array, "nbytes", 0) >= _LARGE):
        here = np.asarray(array)
        made = module.empty(here.shape, here.dtype)
        made.set(here)
        return made
    if not isinstance(array, module.ndarray) and is_device_array(array):
        array = module.from_dlpack(array)
    return module.ascontiguousarray(module.asarray(array))


def copied(array: Any) -> Any:
    """Copy a contiguous device array without a CuPy kernel, which would have to be compiled."""
    made = cupy().empty(array.shape, array.dtype)
    made.data.copy_from_device_async(array.data, array.nbytes)
    return made


def download(array: Any, out: NDArray[Any] | None = None) -> NDArray[Any]:
    """Copy to a NumPy array: ``out`` if given, contiguous and of the same shape and dtype."""
    return cupy().asnumpy(array, out=out)  # type: ignore[no-any-return]


# ---- programs --------------------------------------------------------------------------


_programs: dict[tuple[Any, ...], Program] = {}
_compiling: dict[tuple[Any, ...], threading.Thread] = {}
_programs_lock = threading.Lock()


class Compiling(Exception):
    """Exception within `compiling_in_background` while a thread compiles the program."""

    def __init__(self, thread: threading.Thread) -> None:
        super().__init__(thread.name)
        self.thread = thread


@contextlib.contextmanager
def compiling_in_background(active: bool = True) -> Iterator[None]:
    """Make `program` raise `Compiling` in this thread instead of waiting for the compiler."""
    before = getattr(_of_thread, "in_background", False)
    _of_thread.in_background = active or before
    try:
        yield
    finally:
        _of_thread.in_background = before


def in_use() -> bool:
    """Return whether this process has run kernels, so that CuPy and a device are open."""
    return bool(_programs)


def n_programs() -> int:
    """Return the number of programs compiled or read so far."""
    return len(_programs)


def program(files: str | Sequence[str], macros: Mapping[str, str | int]) -> Program:
    """Return the program of kernel files and macros on the current device, compiled once."""
    names = (files,) if isinstance(files, str) else tuple(files)
    here = device()
    key = (here.ordinal, names, tuple(sorted(macros.items())))
    found = _programs.get(key)
    if found is None:
        # Imported only here, since CPU runs never compile kernels.
        from nearfar.system.devices import compiler, linking

        in_background = getattr(_of_thread, "in_background", False)
        if in_background and key in _compiling and _compiling[key].is_alive():
            raise Compiling(_compiling[key])  # assembling the source takes milliseconds
        source = compiler.assemble(names)
        options = compiler.options_for(here.arch, macros, source)
        if in_background:
            thread = compiler.background(names[-1], source, options)
            if thread is not None and thread.is_alive():
                _compiling[key] = thread
                raise Compiling(thread)
        with _programs_lock:
            found = _programs.get(key)
            if found is None:
                code = compiler.compile_kernel(names[-1], source, options)
                if compiler.is_relocatable(source):
                    code = linking.link(cupy(), names[-1], code)
                about = (here.multiprocessors, names, macros, here.overlaps)
                found = Program(cupy(), code, *about)
                _programs[key] = found
    return found


# ---- time and waiting -------------------------------------------------------------------


def wait(event: Any) -> None:
    """Wait for a CUDA event, in the main thread by a Python loop that handles Ctrl-C.

    Other threads do not handle Ctrl-C, and a Python loop in them would delay the threads of other
    devices.
    """
    if threading.current_thread() is not threading.main_thread():
        event.synchronize()
        return
    while not event.done:
        pass


def synchronize() -> None:
    """Wait until all work queued on the current stream is done."""
    cupy().cuda.get_current_stream().synchronize()


class Pinned:
    """Small page-locked host buffer for asynchronous copies from device memory."""

    def __init__(self, size: int) -> None:
        module = cupy()
        self._memory = module.cuda.alloc_pinned_memory(size)
        self._event = module.cuda.Event(disable_timing=True)
        self.size = size

    def copy_from(self, array: Any) -> None:
        """Queue a copy from a device array, of the size of the buffer, and record its end."""
        self.queue(array)
        self._event.record()

    def queue(self, array: Any) -> None:
        """Queue only the copy, for captured launches whose end the caller records."""
        module = cupy()
        to_host = 2  # cudaMemcpyDeviceToHost
        stream = module.cuda.get_current_stream().ptr
        module.cuda.runtime.memcpyAsync(
            self._memory.ptr, array.data.ptr, self.size, to_host, stream
        )

    def wait(self) -> bytes:
        """Wait for the copy and return the bytes."""
        wait(self._event)
        return self.read()

    def wait_for(self) -> NDArray[np.uint8]:
        """Wait for the copy and return a view of the buffer."""
        wait(self._event)
        return np.frombuffer(self._memory, dtype=np.uint8, count=self.size)

    def read(self) -> bytes:
        """Return the current bytes without waiting."""
        return ctypes.string_at(self._memory.ptr, self.size)


class Timer:
    """Timer for device time between :meth:`start` and :meth:`stop` on the current stream."""

    def __init__(self) -> None:
        event = cupy().cuda.Event
        self._begin, self._end = event(), event()

    def start(self) -> Timer:
        """Record the start."""
        self._begin.record()
        return self

    def stop(self) -> Timer:
        """Record the end."""
        self._end.record()
        return self

    @property
    def seconds(self) -> float:
        """Time between start and end, after waiting for the end."""
        wait(self._end)
        return float(cupy().cuda.get_elapsed_time(self._begin, self._end)) * 1e-3
