"""Device time of each kernel of a run.

Events around a short launch also measure the time that the host takes to submit it, which exceeds
the time of many kernels. Therefore a waiting kernel keeps the device busy while the host submits
event, kernel, event; the events then enclose only the kernel, and the gap between two adjacent
events is measured separately and subtracted. This slows the run down, so its total time must be
measured separately. Launches by CuPy (sorts, prefix sums, copies) are not measured.
"""

from __future__ import annotations

import statistics
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

import numpy as np

from nearfar.system.devices import launching, runtime

__all__ = ["KernelTime", "KernelTimes", "kernel_times"]

_PAUSE = "cuda/primitives/pause.cuh"
_NANOSECONDS = 40_000  # longer than the host needs to submit two events and a launch
_HELD = 4_000  # pending events before they are read


@dataclass(slots=True)
class KernelTime:
    """Number of launches of a kernel, and their total seconds."""

    launches: int = 0
    seconds: float = 0.0


class KernelTimes:
    """Times of the kernels; :attr:`found` is complete when the block has ended.

    Attributes
    ----------
    found : dict of str to KernelTime
        Times by kernel, in the order of their first launches.
    gap : float
        Seconds between two adjacent events, subtracted from each launch.
    """

    def __init__(self) -> None:
        self._event = runtime.cupy().cuda.Event
        kernel = runtime.program(_PAUSE, {}).kernel("pause_for")
        self._pause = launching.Launch(kernel, 1, 1, {"nanoseconds": np.uint64(_NANOSECONDS)})
        self._marks: list[tuple[str, Any, Any]] = []
        self.found: dict[str, KernelTime] = {}
        self.gap = 0.0
        empty = [self._between(lambda: None) for _ in range(21)]
        self.gap = statistics.median(self._seconds(*pair) for pair in empty)

    def _between(self, go: Callable[[], None]) -> tuple[Any, Any]:
        begin, end = self._event(), self._event()
        self._pause.launch()
        begin.record()
        go()
        end.record()
        return begin, end

    def _seconds(self, begin: Any, end: Any) -> float:
        runtime.wait(end)
        elapsed = float(runtime.cupy().cuda.get_elapsed_time(begin, end)) * 1e-3
        return max(elapsed - self.gap, 0.0)

    def see(self, name: str, go: Callable[[], None]) -> None:
        """Launch a kernel between two events."""
        self._marks.append((name, *self._between(go)))
        if len(self._marks) >= _HELD:
            self.read()

    def read(self) -> None:
        """Wait for the pending launches and add them to :attr:`found`."""
        for name, begin, end in self._marks:
            entry = self.found.setdefault(name, KernelTime())
            entry.launches += 1
            entry.seconds += self._seconds(begin, end)
        self._marks.clear()


@contextmanager
def kernel_times() -> Iterator[KernelTimes]:
    """Measure every launch of nearfar's kernels, by any thread, inside the block.

    Yields
    ------
    KernelTimes
        Complete when the block has ended.

    Examples
    --------
    >>> with kernel_times() as times:                                   # doctest: +SKIP
    ...     nearfar.sssp(graph, 0, device="cuda")
    >>> {name: one.seconds for name, one in times.found.items()}        # doctest: +SKIP
    """
    times = KernelTimes()
    before = launching.set_observer(times.see)
    try:
        yield times
    finally:
        launching.set_observer(before)
        times.read()
