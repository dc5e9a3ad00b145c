"""Number of threads, and calls on several threads that Ctrl-C interrupts."""

from __future__ import annotations

import os
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor, wait
from threading import Lock
from typing import TypeVar

import numpy as np

from nearfar.errors import OptionError, keyword, quoted
from nearfar.system.host import core_quota

T = TypeVar("T")

_MANY = 64  # workers that are allowed on any machine
_THREAD = 1 << 16  # vertices and edges whose search takes as long as starting a thread


def default_threads() -> int:
    """Return the number of cores that this process may use.

    Within a quota of processor time, more threads would all be stopped when they have spent it.
    """
    affinity = hasattr(os, "sched_getaffinity")
    cores = len(os.sched_getaffinity(0)) if affinity else os.cpu_count() or 1
    return max(int(min(cores, core_quota())), 1)


def check_threads(threads: int | None) -> int:
    """Return the number of workers, at least 1; None means all cores of this process.

    The number is at most 64 or four times the number of cores, whichever is greater: workers
    synchronise after every step, and a thousand of them on two cores would take minutes for a solve
    of milliseconds.
    """
    if threads is None:
        return default_threads()
    if isinstance(threads, bool) or not isinstance(threads, (int, np.integer)) or threads < 1:
        raise OptionError(
            f"{keyword('threads')} is {quoted(threads)}: give an integer of at least 1, or "
            "leave it out"
        )
    threads = int(threads)
    return threads if threads <= _MANY else min(threads, max(_MANY, 4 * default_threads()))


def on_threads(one: Callable[[int], T], count: int, threads: int, work: int = _THREAD) -> list[T]:
    """Return the results of one(0), one(1), ..., computed by up to ``threads`` threads.

    ``work``: number of vertices and edges that each of them visits; few are not worth a thread.

    Python reports Ctrl-C only to the main thread, so searches in other threads are stopped by a
    flag; an error in one thread also stops the others.
    """
    from nearfar import _cpu

    threads = min(threads, count, 1 + count * work // _THREAD)
    if threads <= 1:
        return [one(i) for i in range(count)]
    found: dict[int, T] = {}
    errors: list[BaseException] = []
    stop, lock, numbers = _cpu.StopFlag(), Lock(), iter(range(count))

    def take() -> int | None:
        with lock:
            return None if errors else next(numbers, None)

    def share() -> None:
        try:
            with stop:
                while (i := take()) is not None:
                    found[i] = one(i)
        except BaseException as error:
            errors.append(error)
            stop.set()

    with ThreadPoolExecutor(threads - 1) as pool:
        try:
            helpers = [pool.submit(share) for _ in range(threads - 1)]
            share()
            wait(helpers)
        except BaseException:
            stop.set()
            raise
    if errors:
        raise errors[0]  # others follow from it
    return [found[i] for i in range(count)]
