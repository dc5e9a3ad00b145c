"""Distribution of independent blocks of work over several CUDA devices, with a thread per device.

The caller divides rows into blocks. Each device takes the next block as soon as it has finished
one, so slower devices take fewer blocks. If a device fails, for lack of memory or another reason,
another device takes its block; the run fails, with the first error, only if no device is left. An
error of the request or of the disk would recur on every device, and ends the run.
"""

from __future__ import annotations

import functools
import threading
import warnings
from collections import deque
from collections.abc import Callable, Generator, Iterable, Sequence
from typing import Any, TypeVar

from nearfar.errors import NearfarError, OptionError, OutOfMemoryError, SolverError, quoted
from nearfar.system.devices import runtime

B = TypeVar("B")
R = TypeVar("R")

_OPEN_ALREADY = 704  # cudaErrorPeerAccessAlreadyEnabled
_POLL = 0.05  # seconds between checks for Ctrl-C


def chosen(devices: Any) -> list[int]:
    """Return the ordinals of the devices that the argument ``devices`` means."""
    current, count = runtime.device().ordinal, runtime.device_count()
    if devices is None:
        return [current]
    if isinstance(devices, str) and devices == "all":
        return list(range(count))
    given: Any = devices.split(",") if isinstance(devices, str) else devices
    listed: list[Any] = list(given) if hasattr(given, "__iter__") else [given]
    try:
        found = [int(one) for one in listed]
    except (TypeError, ValueError):
        found = []
    if not found or len(set(found)) < len(found) or any(isinstance(one, bool) for one in listed):
        raise OptionError(
            f'devices is {quoted(devices)}: use "all", or distinct numbers of devices'
        )
    for one in found:
        if not 0 <= one < count:
            raise OptionError(f"devices names {one}: there are {count} devices, counted from 0")
    return found


class _Blocks:
    """Queue of waiting blocks, shared by the threads of the devices."""

    def __init__(self, blocks: Iterable[Any], devices: int) -> None:
        self.waiting = deque(blocks)
        self.working = 0
        self.free = devices  # number of devices without a block
        self.stopped = False
        self.done_ones = 0
        self.changed = threading.Condition()

    def take(self, first: bool) -> Any:
        """Return the next block, or None if there is none for this device.

        With ``first``, for a device without a block, this waits until all blocks are done, since a
        failing device may give one back. A device with a block leaves one for each device without:
        launches return at once, so it would otherwise take blocks before other threads have
        started.
        """
        with self.changed:
            while first and not self.waiting and self.working and not self.stopped:
                self.changed.wait()
            if self.stopped or len(self.waiting) <= (0 if first else self.free):
                return None
            self.working += 1
            self.free -= first
            return self.waiting.popleft()

    def done(self, last: bool) -> None:
        """Record that a device has finished a block, with ``last`` if it has no other."""
        with self.changed:
            self.working -= 1
            self.free += last
            self.done_ones += 1
            self.changed.notify_all()

    def give_back(self, block: Any) -> None:
        """Put back the block of a device that has failed, which takes no more blocks."""
        with self.changed:
            self.working -= 1
            self.waiting.appendleft(block)
            self.changed.notify_all()

    def stop(self) -> None:
        """Stop distributing blocks."""
        with self.changed:
            self.stopped = True
            self.changed.notify_all()


def _ends_all(error: Exception) -> bool:
    """Return whether an error concerns the request or the disk, and not the device."""
    of_device = isinstance(error, (OutOfMemoryError, SolverError))
    return isinstance(error, (NearfarError, OSError)) and not of_device


def each_block(
    devices: Sequence[int],
    blocks: Sequence[B],
    begin: Callable[[], Callable[[B], None]],
    progress: Callable[[int], None] | None = None,
) -> dict[int, Exception]:
    """Process blocks on several devices; return the errors of those that failed."""
    if len(devices) == 1:
        with runtime.on_device(devices[0]):
            work = begin() if len(blocks) else None
            for done, block in enumerate(blocks, start=1):
                assert work is not None
                work(block)
                if progress is not None:
                    progress(done)
        return {}
    queue = _Blocks(blocks, len(devices))
    failed: dict[int, Exception] = {}
    fatal: list[Exception] = []

    def run(device: int) -> None:
        under_way: deque[B] = deque()  # at most two blocks, so that the device is never idle
        launched: deque[Any] = deque()  # events after these blocks
        try:
            with runtime.on_device(device):
                work = None
                while True:
                    block = queue.take(first=not under_way)
                    if block is not None:
                        under_way.append(block)
                        work = work or begin()
                        work(block)
                        launched.append(runtime.cupy().cuda.Event(disable_timing=True))
                        launched[-1].record()
                    elif not under_way:
                        return
                    if block is None or len(under_way) > 1:
                        launched.popleft().synchronize()  # errors may occur after the launches
                        under_way.popleft()
                        queue.done(last=not under_way)
        except Exception as error:
            failed[device] = error
            for block in under_way:
                queue.give_back(block)
            if _ends_all(error):
                fatal.append(error)
                queue.stop()

    threads = [threading.Thread(target=run, args=(device,), daemon=True) for device in devices]
    for thread in threads:
        thread.start()
    reported = 0
    try:
        for thread in threads:
            while thread.is_alive():
                thread.join(_POLL)
                if progress is not None and queue.done_ones > reported:
                    reported = queue.done_ones
                    progress(reported)
    except BaseException:
        queue.stop()
        for thread in threads:
            thread.join()
        raise
    if queue.waiting:
        raise (fatal or list(failed.values()))[0]
    return failed


def in_turns(
    blocks: Sequence[B], devices: Sequence[int], work: Callable[[B], Generator[None, None, R]]
) -> tuple[list[R], dict[int, Exception]]:
    """Process blocks from this thread, which launches on all devices before waiting for any.

    For work whose launches take the host little time: threads would compete for the interpreter.
    """
    results: dict[int, R] = {}
    failed: dict[int, Exception] = {}
    waiting = list(range(len(blocks)))
    while waiting:
        able = [device for device in devices if device not in failed]
        if not able:
            raise next(iter(failed.values()))
        turns = deque(
            (device, at, work(blocks[at])) for device, at in zip(able, waiting, strict=False)
        )
        while turns:
            device, at, steps = turns.popleft()
            try:
                with runtime.on_device(device):
                    next(steps)
                turns.append((device, at, steps))
            except StopIteration as done:
                results[at] = done.value
            except Exception as error:
                if _ends_all(error):
                    raise
                failed[device] = error
        waiting = [at for at in waiting if at not in results]
    return [results[at] for at in range(len(blocks))], failed


def warn_of(failed: dict[int, Exception]) -> None:
    """Warn of devices that failed, for calls without ``stats``."""
    for device, error in failed.items():
        warnings.warn(
            f"CUDA device {device} failed, and other devices took its blocks: {error}",
            RuntimeWarning,
            stacklevel=3,
        )


def copy_to(target: Any, home: int, array: Any) -> None:
    """Copy an array of the current device to memory of any device."""
    current = runtime.device().ordinal
    if current == home:
        target[...] = array
        return
    open_way(current, home)
    _copy(target, home, array, current)


def here(array: Any) -> Any:
    """Return an array if it is on the current device, otherwise a copy on this device."""
    current, source = runtime.device().ordinal, int(array.device.id)
    if source == current:
        return array
    module = runtime.cupy()
    with runtime.on_device(source):
        array = module.ascontiguousarray(array)
        module.cuda.runtime.deviceSynchronize()
    copied = module.empty(array.shape, array.dtype)
    _copy(copied, current, array, source)
    runtime.synchronize()
    return copied


def _copy(target: Any, home: int, array: Any, source: int) -> None:
    module = runtime.cupy()
    stream = module.cuda.get_current_stream().ptr
    module.cuda.runtime.memcpyPeerAsync(
        target.data.ptr, home, array.data.ptr, source, array.nbytes, stream
    )


def joined(devices: Sequence[int]) -> bool:
    """Return whether each device can access the memory of the current one."""
    home = runtime.device().ordinal
    for device in devices:
        with runtime.on_device(device):
            if not open_way(device, home):
                return False
    return True


@functools.cache
def open_way(current: int, home: int) -> bool:
    """Enable access of the current device to another's memory; return whether it is possible."""
    if current == home:
        return True
    module = runtime.cupy().cuda.runtime
    if not module.deviceCanAccessPeer(current, home):
        return False
    try:
        module.deviceEnablePeerAccess(home)
    except module.CUDARuntimeError as error:
        if error.status != _OPEN_ALREADY:
            raise
    return True
