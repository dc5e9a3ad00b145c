"""Independent blocks of work over several CUDA devices: one host thread per device, one counter.

Whoever has rows to make cuts them into blocks. Each device takes the next block as soon as it is
done with one, so a slower device takes fewer. A block of a device that fails, for want of memory or
otherwise, goes to another; only when no device is left the run fails, with the first error.
"""

from __future__ import annotations

import functools
import threading
from collections import deque
from typing import TYPE_CHECKING, Any, TypeVar

from nearfar.errors import OptionError, quoted
from nearfar.system.devices import runtime

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence

__all__ = ["chosen", "copy_to", "each_block"]

B = TypeVar("B")

_OPEN_ALREADY = 704  # cudaErrorPeerAccessAlreadyEnabled
_POLL = 0.05  # seconds between looks for Ctrl-C


def chosen(devices: Any) -> list[int]:
    """Ordinals of devices.

    Parameters
    ----------
    devices : None, "all", int, list of int, or such a list as text, "0,1"
        None is the current device.

    Returns
    -------
    list of int
        At least one, none twice.

    Raises
    ------
    OptionError
        If one does not exist or is named twice, or there is none.
    """
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
            f'devices is {quoted(devices)}: use "all", or numbers of devices, each once'
        )
    for one in found:
        if not 0 <= one < count:
            raise OptionError(f"devices names {one}: there are {count}, counted from 0")
    return found


class _Blocks:
    """Blocks that wait, and who still works on one."""

    def __init__(self, blocks: Iterable[Any]) -> None:
        self.waiting = deque(blocks)
        self.working = 0
        self.stopped = False
        self.changed = threading.Condition()

    def take(self) -> Any:
        """The next block; None when all are done. Waits while one may still be given back."""
        with self.changed:
            while not self.waiting and self.working and not self.stopped:
                self.changed.wait()
            if self.stopped or not self.waiting:
                return None
            self.working += 1
            return self.waiting.popleft()

    def done(self, block: Any = None) -> None:
        """Whoever took a block is done with it; or was not, and gives it back."""
        with self.changed:
            self.working -= 1
            if block is not None:
                self.waiting.appendleft(block)
            self.changed.notify_all()

    def stop(self) -> None:
        """Hand out no more."""
        with self.changed:
            self.stopped = True
            self.changed.notify_all()


def each_block(
    devices: Sequence[int], blocks: Sequence[B], begin: Callable[[], Callable[[B], None]]
) -> dict[int, Exception]:
    """Work on blocks on several devices.

    Parameters
    ----------
    devices : sequence of int
    blocks : sequence
        None of them None.
    begin : callable
        Called once per device, with that device the current one, when its first block is there:
        returns what works on a block and ends when its results are where they belong. A block
        whose device fails is worked on again from its beginning.

    Returns
    -------
    dict of int to Exception
        Devices that failed while others did their blocks.

    Raises
    ------
    Exception
        The first error, if a block is left that no device could do.
    KeyboardInterrupt
        After Ctrl-C, once each device has finished the block it has.
    """
    if len(devices) == 1:
        with runtime.on_device(devices[0]):
            work = begin() if len(blocks) else None
            for block in blocks:
                assert work is not None
                work(block)
        return {}
    queue = _Blocks(blocks)
    failed: dict[int, Exception] = {}

    def run(device: int) -> None:
        with runtime.on_device(device):
            work = None
            while (block := queue.take()) is not None:
                try:
                    work = work or begin()
                    work(block)
                    runtime.synchronize()  # a device may fail after its launches
                except Exception as error:
                    failed[device] = error
                    queue.done(block)
                    return
                queue.done()

    threads = [threading.Thread(target=run, args=(device,), daemon=True) for device in devices]
    for thread in threads:
        thread.start()
    try:
        for thread in threads:
            while thread.is_alive():
                thread.join(_POLL)
    except BaseException:
        queue.stop()
        for thread in threads:
            thread.join()
        raise
    if queue.waiting:
        raise next(iter(failed.values()))
    return failed


def copy_to(target: Any, home: int, array: Any) -> None:
    """Copy an array of the current device to memory of another, or of the same.

    Parameters
    ----------
    target : array
        Contiguous, of the array's shape and dtype, on device ``home``.
    home : int
    array : array
        Contiguous, on the current device, which has to wait for the copy.
    """
    here = runtime.device().ordinal
    if here == home:
        target[...] = array
        return
    module = runtime.cupy()
    _open_way(here, home)
    stream = module.cuda.get_current_stream().ptr
    module.cuda.runtime.memcpyPeerAsync(
        target.data.ptr, home, array.data.ptr, here, array.nbytes, stream
    )


@functools.cache
def _open_way(here: int, home: int) -> None:
    """Let the current device write to another's memory itself, where their link can do that."""
    module = runtime.cupy().cuda.runtime
    if not module.deviceCanAccessPeer(here, home):
        return  # the driver copies by way of the host
    try:
        module.deviceEnablePeerAccess(home)
    except module.CUDARuntimeError as error:
        if error.status != _OPEN_ALREADY:
            raise
