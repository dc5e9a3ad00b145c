"""Many rows on their way from a device to the host's memory, while the device makes more of them.

The driver brings what is copied to ordinary memory there through small page-locked buffers, with
one thread that copies on. Here are larger buffers and several threads, so that the link between
device and host is what takes the time, or the kernels are, while rows follow that are finished.
"""

from __future__ import annotations

import queue
import threading
import time
from collections import deque
from concurrent.futures import Future, ThreadPoolExecutor
from typing import TYPE_CHECKING, Any

import numpy as np

from nearfar.system.devices import runtime
from nearfar.system.memory import empty

if TYPE_CHECKING:
    from types import TracebackType

    from numpy.typing import NDArray

__all__ = ["LARGE", "Following", "Landing", "download"]

#: Bytes from which a copy is worth threads of its own.
LARGE = 1 << 27
_BUFFER, _BUFFERS = 1 << 23, 8  # best of 4 to 32 MB, 8 and 16, with one GPU and with two
_POLL = 3e-4  # seconds between looks at which rows are finished
_JOIN = 0.05  # and for Ctrl-C
_TO_HOST = 2  # cudaMemcpyDeviceToHost


class Following:
    """Rows that are to come.

    Attributes
    ----------
    rows : device array, shape (k, width)
    out : uint8 array
        The bytes of the rows that they belong to.
    places : int64 array or None
        Which of these.
    told : uint8 array or None
        Which rows are finished; None: all are when ``made`` has come.
    made : event or None
        After the launches that make them; None before these.
    """

    def __init__(
        self,
        rows: Any,
        out: NDArray[np.uint8],
        places: NDArray[np.int64] | None,
        told: NDArray[np.uint8] | None,
    ) -> None:
        self.rows, self.out, self.places, self.told = rows, out, places, told
        self.made: Any = None

    def launched(self) -> None:
        """All launches that make the rows are on the current stream."""
        made = runtime.cupy().cuda.Event(disable_timing=True)
        made.record()
        self.made = made

    def finished(self, before: int) -> int:
        """How many rows from the first on are there, of which so many were before."""
        if self.told is None or (self.made is not None and self.made.done):
            return len(self.rows)
        rest = self.told[before:]
        return before + int(rest.argmin()) if not rest.all() else len(self.told)


class Landing:
    """Copies of rows from the current device to the host, in the background.

    To be used in a ``with`` statement, which waits for the copies.
    """

    def __init__(self, threads: int) -> None:
        module = runtime.cupy()
        self._device = runtime.device().ordinal
        self._free: queue.SimpleQueue[Any] = queue.SimpleQueue()
        for _ in range(_BUFFERS):
            self._free.put(module.cuda.alloc_pinned_memory(_BUFFER))
        self._stream = module.cuda.Stream(non_blocking=True)
        self._jobs: queue.SimpleQueue[Following | None] = queue.SimpleQueue()
        self._pool = ThreadPoolExecutor(max(1, min(threads, _BUFFERS)))
        self._copies: deque[Future[None]] = deque()
        self._held: list[Any] = []  # what kernels write to until they end
        self._error: BaseException | None = None
        self._stop = False
        self._waiting = 0
        self._changed = threading.Condition()
        self._thread = threading.Thread(target=self._run, daemon=True)
        self._thread.start()

    def flags(self, count: int) -> tuple[Any, NDArray[np.uint8]]:
        """Memory of the host that kernels write to, to tell which of so many rows are finished."""
        held = runtime.cupy().cuda.alloc_pinned_memory(max(count, 1))
        self._held.append(held)
        found = np.frombuffer(held, dtype=np.uint8, count=count)
        found.flags.writeable = True
        found[:] = 0
        return np.uint64(held.ptr), found

    def send(self, rows: Any, out: NDArray[Any], places: NDArray[np.int64] | None = None) -> None:
        """Let rows follow that are complete when the current stream is done."""
        self.follow(rows, out, places, None).launched()

    def follow(
        self,
        rows: Any,
        out: NDArray[Any],
        places: NDArray[np.int64] | None,
        told: NDArray[np.uint8] | None,
    ) -> Following:
        """Let rows follow as they are finished: what is sent later comes later."""
        following = Following(rows, out.view(np.uint8).reshape(len(out), -1), places, told)
        with self._changed:
            self._waiting += 1
        self._jobs.put(following)
        return following

    def wait(self) -> None:
        """Wait until all rows are where they belong."""
        with self._changed:
            while self._waiting and self._error is None:
                self._changed.wait(_JOIN)  # Ctrl-C is seen in between
        while self._copies:
            self._copies.popleft().result()
        if self._error is not None:
            raise self._error

    def __enter__(self) -> Landing:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        try:
            if error is None:
                self.wait()
        finally:
            self._stop = True
            self._jobs.put(None)
            self._thread.join()
            self._pool.shutdown()
            if self._held and error is not None:
                runtime.synchronize()  # kernels write there
            self._held.clear()

    def _run(self) -> None:
        try:
            with runtime.on_device(self._device):
                while (job := self._jobs.get()) is not None and not self._stop:
                    self._bring(job)
                    with self._changed:
                        self._waiting -= 1
                        self._changed.notify_all()
        except BaseException as error:
            with self._changed:
                self._error = error
                self._changed.notify_all()

    def _bring(self, job: Following) -> None:
        """Start the copies of rows as they come."""
        count, wide = len(job.rows), job.out.shape[1]
        ready = sent = 0  # rows, bytes
        while job.made is None and job.told is None and not self._stop:
            time.sleep(_POLL)
        if job.told is None and not self._stop:
            self._stream.wait_event(job.made)
        while sent < count * wide and not self._stop:
            ready = job.finished(ready) if ready < count else ready
            last, end = ready == count, ready * wide
            while sent < end and (last or end - sent >= _BUFFER) and not self._stop:
                upto = min(end, sent + _BUFFER)
                self._copy(job, sent, upto)
                sent = upto
            if not last:
                time.sleep(_POLL)

    def _copy(self, job: Following, begin: int, end: int) -> None:
        """Bytes of the rows into a buffer, and on from there by another thread."""
        module = runtime.cupy()
        buffer = self._free.get()
        source = job.rows.data.ptr + begin
        module.cuda.runtime.memcpyAsync(buffer.ptr, source, end - begin, _TO_HOST, self._stream.ptr)
        there = module.cuda.Event(disable_timing=True)
        there.record(self._stream)
        self._copies.append(self._pool.submit(self._put, buffer, there, job, begin, end))
        while self._copies and self._copies[0].done():
            self._copies.popleft().result()

    def _put(self, buffer: Any, there: Any, job: Following, begin: int, end: int) -> None:
        try:
            there.synchronize()
            found = np.frombuffer(buffer, dtype=np.uint8, count=end - begin)
            wide = job.out.shape[1]
            if job.places is None:
                job.out.reshape(-1)[begin:end] = found
                return
            for row in range(begin // wide, -(-end // wide)):
                low, high = max(begin, row * wide), min(end, (row + 1) * wide)
                to = job.out[job.places[row]]
                to[low - row * wide : high - row * wide] = found[low - begin : high - begin]
        finally:
            self._free.put(buffer)


def download(array: Any, out: NDArray[Any] | None = None, threads: int = 1) -> NDArray[Any]:
    """A NumPy array with the data of a device array, which many threads copy where it is large."""
    if threads == 1 or array.nbytes < LARGE or array.ndim != 2 or not array.flags.c_contiguous:
        return runtime.download(array, out)
    found = empty(array.shape, array.dtype, threads) if out is None else out
    with Landing(threads) as landing:
        landing.send(array, found)
    return found
