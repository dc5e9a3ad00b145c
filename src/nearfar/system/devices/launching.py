"""Loaded programs, their kernels and launches, through CuPy's driver interface.

A launch prepared once marshals its arguments once, where CuPy's own call does it each time. CuPy
itself comes from :mod:`nearfar.system.devices.runtime`, which alone imports it.
"""

from __future__ import annotations

import contextlib
import ctypes
import threading
from typing import TYPE_CHECKING, Any

from nearfar.system.devices.early import early_launch

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

__all__ = ["Kernel", "Launch", "Program", "first_cooperative", "set_observer"]

_observer: Callable[[str, Callable[[], None]], None] | None = None
_VECTOR = 16  # bytes of the widest load from shared memory


def set_observer(
    observer: Callable[[str, Callable[[], None]], None] | None,
) -> Callable[[str, Callable[[], None]], None] | None:
    """Hand every launch to ``observer(kernel's name, launch)``, which has to make it; None: no one.

    Returns the one before. :mod:`nearfar.cuda.kernel_times` measures launches this way.
    """
    global _observer
    before, _observer = _observer, observer
    return before


_cooperative: set[int] = set()  # devices that have had a cooperative launch


@contextlib.contextmanager
def first_cooperative(kernel: Kernel, args: tuple[Any, ...], ordinal: int) -> Iterator[None]:
    """Meanwhile, have another thread make the process's first cooperative launch on a device.

    It takes the driver 0.1 to 0.5 ms, whatever is launched. From the second time on nothing is
    launched.

    Parameters
    ----------
    kernel : Kernel
    args : tuple
        With which it has nothing to do.
    ordinal : int
        The current device.
    """
    if ordinal in _cooperative:
        yield
        return
    _cooperative.add(ordinal)
    launch = Launch(kernel, 1, 32, args, cooperative=True)

    def go() -> None:
        # What is wrong the launch of a solve will say.
        with contextlib.suppress(Exception):
            kernel.cupy.cuda.runtime.setDevice(ordinal)
            launch.launch()

    beside = threading.Thread(target=go, name="nearfar's first cooperative launch")
    beside.start()
    try:
        yield
    finally:
        beside.join()


class Launch:
    """A kernel with its launch shape and arguments fixed, for loops that launch it many times.

    A parameter that changes from one launch to the next is written with :meth:`set`; the driver
    copies the parameters when the launch is called, so the next value may be set at once.

    ``early``: where the device can, it begins before the launch before it is over, for which its
    kernel waits itself (``cuda/early_launch.cuh``).
    """

    def __init__(
        self,
        kernel: Kernel,
        grid: int | tuple[int, ...],
        block: int | tuple[int, ...],
        args: tuple[Any, ...],
        shared: int = 0,
        cooperative: bool = False,
        early: bool = False,
    ) -> None:
        self.kernel = kernel
        self._keep = args  # arrays stay alive as long as the pointers to them
        self._values = [_parameter(kernel.name, place, arg) for place, arg in enumerate(args)]
        addresses = [ctypes.addressof(value) for value in self._values]
        self._pointers = (ctypes.c_void_p * max(len(args), 1))(*addresses)
        driver = kernel.cupy.cuda.driver
        shape = (*_three(grid), *_three(block), _vectors(shared))
        pointers = ctypes.addressof(self._pointers)
        function = kernel.function.ptr
        current = kernel.cupy.cuda.get_current_stream
        self._go: Callable[[], None]
        begin = None
        if early and kernel.overlaps:
            begin = early_launch(driver, function, shape, pointers)
        if begin is not None:
            launch = begin
            self._go = lambda: launch(current().ptr)
        elif cooperative:
            self._go = lambda: driver.launchCooperativeKernel(
                function, *shape, current().ptr, pointers
            )
        else:
            self._go = lambda: driver.launchKernel(function, *shape, current().ptr, pointers, 0)

    def set(self, place: int, value: Any) -> None:
        """Replace a scalar parameter by another of the same dtype."""
        raw = value.tobytes()
        if len(raw) != len(self._values[place]):
            raise TypeError(
                f"parameter {place} of kernel {self.kernel.name} has {len(self._values[place])} "
                f"bytes, not {len(raw)}"
            )
        ctypes.memmove(self._values[place], raw, len(raw))

    def places(self, array: Any) -> list[int]:
        """Which parameters are this array."""
        return [place for place, arg in enumerate(self._keep) if arg is array]

    def point(self, place: int, array: Any) -> None:
        """Replace an array parameter by another, or by None, which keeps no array alive."""
        ctypes.memmove(self._values[place], _pointer(array), 8)
        self._keep = (*self._keep[:place], array, *self._keep[place + 1 :])

    def __call__(self) -> None:
        """Launch on the current stream."""
        if _observer is None:
            self._go()
        else:
            _observer(self.kernel.name, self._go)

    def launch(self) -> None:
        """Launch on the current stream, seen by nobody."""
        self._go()


def _vectors(shared: int) -> int:
    """Whole vectors of shared memory: of the last one the compiler may load what no code asks for.

    It does where a loop has one to three values left to read: they are one load of four.
    """
    return -(-int(shared) // _VECTOR) * _VECTOR


def _three(size: int | tuple[int, ...]) -> tuple[int, int, int]:
    given = (size,) if isinstance(size, int) else tuple(size)
    x, y, z = (*given, 1, 1)[:3]
    return int(x), int(y), int(z)


def _pointer(array: Any) -> bytes:
    return bytes(8) if array is None else int(array.data.ptr).to_bytes(8, "little")


def _parameter(kernel: str, place: int, arg: Any) -> Any:
    """Bytes of one kernel parameter: an array's address, or a NumPy value as it is."""
    # Of the array, the interface would be made first.
    if arg is None or hasattr(type(arg), "__cuda_array_interface__"):
        raw = _pointer(arg)
    elif hasattr(arg, "tobytes") and hasattr(arg, "dtype"):
        raw = arg.tobytes()
    else:
        raise TypeError(
            f"parameter {place} of kernel {kernel} is a {type(arg).__name__}: "
            "pass device arrays, None, or NumPy scalars of the parameter's exact dtype"
        )
    return (ctypes.c_char * len(raw)).from_buffer_copy(raw)


class Kernel:
    """One entry point of a compiled program; calling it launches it on the current stream.

    Arguments are device arrays (passed by address), None (a null pointer), NumPy scalars whose
    dtypes are exactly the kernel's parameter types, and NumPy structured scalars (passed by
    value). A plain Python number is refused, since its width would be a guess.
    """

    def __init__(
        self,
        cupy: Any,
        function: Any,
        name: str,
        multiprocessors: int,
        files: tuple[str, ...],
        overlaps: bool,
    ) -> None:
        self.cupy = cupy
        self.files = files
        self.overlaps = overlaps  # whether launches may begin before the one before is over
        self._multiprocessors = multiprocessors
        self.function = function
        self.name = name
        self._shared = 0  # bytes of dynamic shared memory that a block may have, once asked for

    def __call__(
        self,
        grid: int | tuple[int, ...],
        block: int | tuple[int, ...],
        args: tuple[Any, ...],
        *,
        shared: int = 0,
        cooperative: bool = False,
    ) -> None:
        """Launch ``grid`` blocks of ``block`` threads with ``shared`` bytes of dynamic memory."""
        Launch(self, grid, block, args, shared, cooperative)()

    def attribute(self, name: str) -> int:
        """A value such as ``NUM_REGS`` or ``LOCAL_SIZE_BYTES`` of the loaded function."""
        driver = self.cupy.cuda.driver
        enum = {"SHARED_SIZE_BYTES": 1, "LOCAL_SIZE_BYTES": 3, "NUM_REGS": 4}[name]
        return int(driver.funcGetAttribute(enum, self.function.ptr))

    def allow_shared(self, size: int) -> None:
        """Let a block have more than 48 KiB of dynamic shared memory.

        The largest size asked for stays: launches of one kernel may differ in what they need.
        """
        whole = _vectors(size)
        if whole > self._shared:
            self.cupy.cuda.driver.funcSetAttribute(self.function.ptr, 8, whole)
            self._shared = whole

    def prefer_shared(self, percent: int) -> None:
        """Split on-chip memory: percent for shared memory, the rest L1; -1 asks the driver."""
        self.cupy.cuda.driver.funcSetAttribute(self.function.ptr, 9, int(percent))

    def resident_blocks(self, block: int, shared: int = 0) -> int:
        """Blocks of that shape that the whole device holds at once."""
        per_multiprocessor = self.cupy.cuda.driver.occupancyMaxActiveBlocksPerMultiprocessor(
            self.function.ptr, block, _vectors(shared)
        )
        return int(per_multiprocessor) * self._multiprocessors


class Program:
    """A loaded cubin, made of some kernel files; kernels are looked up once."""

    def __init__(
        self,
        cupy: Any,
        code: bytes,
        multiprocessors: int,
        files: tuple[str, ...],
        overlaps: bool = False,
    ) -> None:
        self._cupy = cupy
        self._files = files
        self._overlaps = overlaps
        self._multiprocessors = multiprocessors
        self._module = cupy.cuda.function.Module()
        self._module.load(code)
        self._kernels: dict[str, Kernel] = {}

    def kernel(self, name: str) -> Kernel:
        """The entry point of that name."""
        found = self._kernels.get(name)
        if found is None:
            function = self._module.get_function(name)
            about = (self._multiprocessors, self._files, self._overlaps)
            found = Kernel(self._cupy, function, name, *about)
            self._kernels[name] = found
        return found
