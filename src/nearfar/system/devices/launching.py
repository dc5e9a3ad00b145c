"""Loaded programs, their kernels and launches, through CuPy's driver interface.

A prepared launch marshals its arguments once, whereas CuPy does so in every call.
"""

from __future__ import annotations

import contextlib
import ctypes
import functools
import struct
import threading
from collections.abc import Callable, Iterator, Mapping
from typing import Any

from nearfar.system.devices.early import early_launch
from nearfar.system.devices.signatures import Parameter, parameters, raw_bytes

_observer: Callable[[str, Callable[[], None]], None] | None = None
_VECTOR = 16  # bytes of the widest load from shared memory
_PADDING = bytes(8)


def set_observer(
    observer: Callable[[str, Callable[[], None]], None] | None,
) -> Callable[[str, Callable[[], None]], None] | None:
    """Set a function ``observer(kernel's name, launch)``, or None, and return the previous one.

    It is called for every launch and must run it. :mod:`nearfar.cuda.kernel_times` measures
    launches in this way.
    """
    global _observer
    before, _observer = _observer, observer
    return before


_cooperative: set[int] = set()  # devices that have had a cooperative launch


@contextlib.contextmanager
def first_cooperative(kernel: Kernel, arguments: Mapping[str, Any], ordinal: int) -> Iterator[None]:
    """Run the first cooperative launch of the process on a device in another thread.

    The first one takes the driver 0.1 to 0.5 ms for any kernel. Later calls do nothing.
    """
    if ordinal in _cooperative:
        yield
        return
    _cooperative.add(ordinal)
    launch = Launch(kernel, 1, 32, arguments, cooperative=True)

    def go() -> None:
        # Errors are reported by the launch of the solve.
        with contextlib.suppress(Exception):
            kernel.cupy.cuda.runtime.setDevice(ordinal)
            launch.launch()

    thread = threading.Thread(target=go, name="nearfar's first cooperative launch")
    thread.start()
    try:
        yield
    finally:
        thread.join()


class Launch:
    """Kernel with fixed launch shape and arguments, for repeated launches.

    ``arguments`` has a value for each of the kernel's parameters, by name. Arguments that change
    between launches are written with :meth:`set`; the driver copies the arguments when the launch
    is called, so that they may be changed immediately afterwards.

    With ``early``, if the device supports it, the launch begins before the previous one has ended;
    the kernel itself waits for it (``cuda/primitives/early_launch.cuh``).
    """

    def __init__(
        self,
        kernel: Kernel,
        grid: int | tuple[int, ...],
        block: int | tuple[int, ...],
        arguments: Mapping[str, Any],
        shared: int = 0,
        cooperative: bool = False,
        early: bool = False,
    ) -> None:
        self.kernel = kernel
        kernel._allow_shared(shared)
        declared = kernel.parameters
        raws = raw_bytes(kernel.name, declared, arguments)
        # Keeps arrays alive as long as pointers to them are used.
        self._held = {name: arguments[name] for name, one in declared.items() if one.pointer}
        self._at: dict[str, int] = {}  # position of each argument in the block
        self._sizes: dict[str, int] = {}  # length of each argument in bytes
        # One block of memory: addresses of the arguments for the driver, then the arguments.
        parts, end = [], 8 * len(declared)
        for name, raw in zip(declared, raws, strict=True):
            self._at[name], self._sizes[name] = end, len(raw)
            whole = raw + _PADDING[over:] if (over := len(raw) % 8) else raw
            parts.append(whole)
            end += len(whole)
        self._block = bytearray(max(end, 8))
        pointers = ctypes.addressof(ctypes.c_char.from_buffer(self._block))
        addresses = [pointers + at for at in self._at.values()]
        self._block[:end] = b"".join([struct.pack(f"{len(addresses)}Q", *addresses), *parts])
        driver = kernel.cupy.cuda.driver
        shape = (*_three(grid), *_three(block), _vectors(shared))
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

    def set(self, **arguments: Any) -> None:
        """Replace arguments by others of the same dtypes; the caller keeps new arrays alive."""
        every = self.kernel.parameters
        declared = {name: every[name] for name in arguments if name in every}
        raws = raw_bytes(self.kernel.name, declared, arguments)
        for (name, parameter), raw in zip(declared.items(), raws, strict=True):
            at = self._at[name]
            if len(raw) != self._sizes[name]:  # possible only for structs
                raise TypeError(f"{parameter} of kernel {self.kernel.name}: {len(raw)} bytes")
            self._block[at : at + len(raw)] = raw
            if parameter.pointer:
                self._held[name] = arguments[name]

    def holds(self, array: Any) -> list[str]:
        """Return the names of the arguments that are this array."""
        return [name for name, held in self._held.items() if held is array]

    def __call__(self) -> None:
        """Launch on the current stream."""
        if _observer is None:
            self._go()
        else:
            _observer(self.kernel.name, self._go)

    def launch(self) -> None:
        """Launch on the current stream without calling the observer."""
        self._go()


def _vectors(shared: int) -> int:
    """Round shared memory up to whole vectors, since the compiler may load the last one whole.

    If a loop has one to three values left to read, the compiler may load four of them at once.
    """
    return -(-int(shared) // _VECTOR) * _VECTOR


def _three(size: int | tuple[int, ...]) -> tuple[int, int, int]:
    given = (size,) if isinstance(size, int) else tuple(size)
    x, y, z = (*given, 1, 1)[:3]
    return int(x), int(y), int(z)


class Kernel:
    """Entry point of a compiled program; calling it launches it on the current stream.

    Arguments are passed by the names of the kernel's parameters: device arrays (by address), None
    (a null pointer), NumPy scalars of exactly the parameters' types, and NumPy structured scalars
    (by value). Python numbers are refused, since their width is undefined, and so are arrays whose
    entries do not have the width that the kernel reads.
    """

    def __init__(
        self,
        cupy: Any,
        function: Any,
        name: str,
        multiprocessors: int,
        files: tuple[str, ...],
        macros: Mapping[str, str | int],
        overlaps: bool,
    ) -> None:
        self.cupy = cupy
        self.files = files
        self.macros = macros
        self.overlaps = overlaps  # whether launches may begin before the previous one has ended
        self._multiprocessors = multiprocessors
        self.function = function
        self.name = name
        self._shared = 0  # bytes of dynamic shared memory allowed per block

    def __call__(
        self,
        grid: int | tuple[int, ...],
        block: int | tuple[int, ...],
        arguments: Mapping[str, Any],
        *,
        shared: int = 0,
        cooperative: bool = False,
    ) -> None:
        """Launch ``grid`` blocks of ``block`` threads with ``shared`` bytes of dynamic memory."""
        Launch(self, grid, block, arguments, shared, cooperative)()

    @functools.cached_property
    def parameters(self) -> dict[str, Parameter]:
        """Parameters of the kernel by name, in order."""
        return parameters(self.files, self.name, self.macros)

    def attribute(self, name: str) -> int:
        """Return an attribute of the loaded function, such as ``NUM_REGS``."""
        driver = self.cupy.cuda.driver
        enum = {"SHARED_SIZE_BYTES": 1, "LOCAL_SIZE_BYTES": 3, "NUM_REGS": 4}[name]
        return int(driver.funcGetAttribute(enum, self.function.ptr))

    def _allow_shared(self, size: int) -> None:
        """Allow blocks more than 48 KiB of dynamic shared memory.

        The maximum over all calls applies, since launches of a kernel may need different sizes.
        """
        whole = _vectors(size)
        if whole > self._shared:
            self.cupy.cuda.driver.funcSetAttribute(self.function.ptr, 8, whole)
            self._shared = whole

    def prefer_shared(self, percent: int) -> None:
        """Set the percentage of on-chip memory for shared memory; -1 leaves it to the driver."""
        self.cupy.cuda.driver.funcSetAttribute(self.function.ptr, 9, int(percent))

    def resident_blocks(self, block: int, shared: int = 0) -> int:
        """Return the number of blocks of this size that can be resident on the device."""
        self._allow_shared(shared)
        per_multiprocessor = self.cupy.cuda.driver.occupancyMaxActiveBlocksPerMultiprocessor(
            self.function.ptr, block, _vectors(shared)
        )
        return int(per_multiprocessor) * self._multiprocessors


class Program:
    """Loaded cubin of one or more kernel files; each kernel is looked up once."""

    def __init__(
        self,
        cupy: Any,
        code: bytes,
        multiprocessors: int,
        files: tuple[str, ...],
        macros: Mapping[str, str | int],
        overlaps: bool = False,
    ) -> None:
        self._cupy = cupy
        self._about = (multiprocessors, files, dict(macros), overlaps)
        self._module = cupy.cuda.function.Module()
        self._module.load(code)
        self._kernels: dict[str, Kernel] = {}

    def kernel(self, name: str) -> Kernel:
        """Return the entry point with a name."""
        found = self._kernels.get(name)
        if found is None:
            function = self._module.get_function(name)
            found = Kernel(self._cupy, function, name, *self._about)
            self._kernels[name] = found
        return found
