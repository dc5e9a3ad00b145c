"""Calls on several threads of Python that Ctrl-C ends together."""

from __future__ import annotations

from typing import TYPE_CHECKING, TypeVar

if TYPE_CHECKING:
    from collections.abc import Callable

__all__ = ["on_threads"]

T = TypeVar("T")


def on_threads(one: Callable[[int], T], count: int, threads: int) -> list[T]:
    """The results of one(0), one(1), ..., ``threads`` of them at a time.

    Python shows Ctrl-C to the main thread alone, so the searches of the others are told here; they
    end within their next look, and so does all after an error in one of them.

    Parameters
    ----------
    one : callable
        Takes a number below ``count``; should spend its time in C++ code that releases the GIL.
    count : int
    threads : int
        1 makes the calls here.

    Returns
    -------
    list
    """
    from nearfar import _cpu

    if threads == 1:
        return [one(i) for i in range(count)]
    from concurrent.futures import ThreadPoolExecutor

    stop = _cpu.StopFlag()

    def watched(i: int) -> T:
        with stop:
            return one(i)

    with ThreadPoolExecutor(threads) as pool:
        try:
            return list(pool.map(watched, range(count)))
        except BaseException:
            stop.set()
            raise
