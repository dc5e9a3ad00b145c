"""Copies of many rows from a device to host memory while the device computes more rows.

The driver copies to pageable host memory through small page-locked buffers, with one thread for
the second copy. This module uses larger buffers and several threads, so that the speed is limited
only by the link between device and host or by the kernels.
"""

from __future__ import annotations

import queue
import threading
import time
from collections import deque
from concurrent.futures import Future, ThreadPoolExecutor
from typing import Any

import numpy as np
from numpy.typing import NDArray

from nearfar.system.devices import runtime
from nearfar.system.memory import empty

#: Bytes from which a copy is worth separate threads.
LARGE = 1 << 27
_BUFFER, _BUFFERS = 1 << 23, 8  # best of 4 to 32 MB, 8 and 16, with one GPU and with two
_POLL = 3e-4  # seconds between checks for finished rows
_JOIN = 0.05  # seconds between checks for Ctrl-C
_TO_HOST = 2  # cudaMemcpyDeviceToHost


class Following:
    """Rows that are copied while others are computed.

    Attributes
    ----------
    rows : device array, shape (k, width)
        Rows to copy.
    out : uint8 array
        Bytes of the destination rows.
    flags : uint8 array or None
        Flags of finished rows; None if all rows are finished at ``made``.
    made : event or None
        Event after the launches that compute the rows; None before these.
    """

    def __init__(
        self,
        rows: Any,
        out: NDArray[np.uint8],
        flags: NDArray[np.uint8] | None,
    ) -> None:
        self.rows, self.out, self.flags = rows, out, flags
        self.made: Any = None

    def launched(self) -> None:
        """Record that all launches that compute the rows are on the current stream."""
        made = runtime.cupy().cuda.Event(disable_timing=True)
        made.record()
        self.made = made

    def finished(self, before: int) -> int:
        """Return the number of leading finished rows, of which ``before`` are known."""
        if self.flags is None or (self.made is not None and self.made.done):
            return len(self.rows)
        rest = self.flags[before:]
        return before + int(rest.argmin()) if not rest.all() else len(self.flags)


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
        self._held: list[Any] = []  # memory to which running kernels write
        self._error: BaseException | None = None
        self._stop = False
        self._waiting = 0
        self._changed = threading.Condition()
        self._thread = threading.Thread(target=self._run, daemon=True)
        self._thread.start()

    def flags(self, count: int) -> tuple[Any, NDArray[np.uint8]]:
        """Return host memory in which kernels flag the finished rows of ``count``."""
        held = runtime.cupy().cuda.alloc_pinned_memory(max(count, 1))
        self._held.append(held)
        found = np.frombuffer(held, dtype=np.uint8, count=count)
        found.flags.writeable = True
        found[:] = 0
        return np.uint64(held.ptr), found

    def send(self, rows: Any, out: NDArray[Any]) -> None:
        """Copy rows that are complete when the work on the current stream ends."""
        self.follow(rows, out, None).launched()

    def follow(
        self,
        rows: Any,
        out: NDArray[Any],
        flags: NDArray[np.uint8] | None,
    ) -> Following:
        """Copy rows as they are finished, after all rows of earlier calls."""
        following = Following(rows, out.view(np.uint8).reshape(len(out), -1), flags)
        with self._changed:
            self._waiting += 1
        self._jobs.put(following)
        return following

    def wait(self) -> None:
        """Wait until all rows are copied."""
        with self._changed:
            while self._waiting and self._error is None:
                self._changed.wait(_JOIN)  # returns regularly, so that Ctrl-C is handled
        while self._copies:
            self._copies.popleft().result()
        if self._error is not None:
            raise self._error

    def __enter__(self) -> Landing:
        return self

    def __exit__(self, kind: object, error: BaseException | None, trace: object) -> None:
        try:
            if error is None:
                self.wait()
        finally:
            self._stop = True
            self._jobs.put(None)
            self._thread.join()
            self._pool.shutdown()
            if self._held and error is not None:
                runtime.synchronize()  # running kernels write to held memory
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
        """Start the copies of rows when they are finished."""
        count, wide = len(job.rows), job.out.shape[1]
        ready = sent = 0  # rows, bytes
        while job.made is None and job.flags is None and not self._stop:
            time.sleep(_POLL)
        if job.flags is None and not self._stop:
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
        """Copy bytes of the rows to a buffer, from which another thread copies them."""
        module = runtime.cupy()
        buffer = self._free.get()
        source = job.rows.data.ptr + begin
        module.cuda.runtime.memcpyAsync(buffer.ptr, source, end - begin, _TO_HOST, self._stream.ptr)
        arrived = module.cuda.Event(disable_timing=True)
        arrived.record(self._stream)
        self._copies.append(self._pool.submit(self._put, buffer, arrived, job, begin, end))
        while self._copies and self._copies[0].done():
            self._copies.popleft().result()

    def _put(self, buffer: Any, arrived: Any, job: Following, begin: int, end: int) -> None:
        try:
            arrived.synchronize()
            found = np.frombuffer(buffer, dtype=np.uint8, count=end - begin)
            job.out.reshape(-1)[begin:end] = found
        finally:
            self._free.put(buffer)


def download(array: Any, out: NDArray[Any] | None = None, threads: int = 1) -> NDArray[Any]:
    """Copy a device array to the host, with several threads if it is large."""
    if threads == 1 or array.nbytes < LARGE or array.ndim != 2 or not array.flags.c_contiguous:
        return runtime.download(array, out)
    found = empty(array.shape, array.dtype, threads) if out is None else out
    with Landing(threads) as landing:
        landing.send(array, found)
    return found
