"""The search for the fastest of several ways to solve a graph, one solve at a time.

A model of a machine or a graph is wrong on the next one. So each solve of a graph tries a neighbour
of the fastest way so far, until none of its neighbours is faster.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable
from dataclasses import dataclass, field
from typing import Generic, TypeVar

Way = TypeVar("Way", bound=Hashable)

_GAIN = 0.97  # relative time below which another way is better
_CLOSE = 1.1  # relative time up to which a single solve may have been unlucky
_UNLUCKY = 4.0  # the same on a machine that is busy with other work
_BUSY = 0.04  # share of repeated solves that take more than 1.1 times as long as before, if busy
_SURE = 4  # solves of a way after which others are rarely compared again
_RARELY = 16  # number of its solves between two comparisons
_LATELY = 7  # latest solves of a way that count


@dataclass(slots=True)
class Compared(Generic[Way]):
    """Number of solves and usual seconds by way.

    The usual time is the median of the latest solves, the lower one of an even number, since a
    solve may be interrupted. If that happens often, ways up to four times as slow are tried twice.
    """

    times: dict[Way, tuple[int, float]] = field(default_factory=dict)
    repeated: int = 0  # solves of ways with earlier solves
    late: int = 0  # those that took longer than usual
    _latest: dict[Way, tuple[float, ...]] = field(default_factory=dict)
    _next: dict[Way, Way] = field(default_factory=dict)  # by the way to begin with

    def add(self, way: Way, seconds: float) -> None:
        """Record a solve."""
        solves, usual = self.times.get(way, (0, seconds))
        self.repeated += solves > 0
        self.late += seconds > _CLOSE * usual
        latest = (*self._latest.get(way, ()), seconds)[-_LATELY:]
        self._latest[way] = latest
        self.times[way] = solves + 1, sorted(latest)[(len(latest) - 1) // 2]
        if solves < _SURE or not (solves + 1) % _RARELY:  # choosing takes up to 0.1 ms
            self.changed()

    def changed(self) -> None:
        """Let the next solve choose again, after solves that may change the choice."""
        self._next.clear()

    def least(self) -> float:
        """Return the usual seconds of the fastest way."""
        return self.times[self.fastest()][1]

    def solves(self, way: Way) -> int:
        """Return the number of solves of a way."""
        return self.times.get(way, (0, 0.0))[0]

    def fastest(self) -> Way:
        """Return the way with the least usual time."""
        times = self.times.copy()  # other threads may add to it
        return min(times, key=lambda way: times[way][1])

    def next_way(self, first: Way, near: Callable[[Way], Iterable[Way]]) -> Way:
        """Return :meth:`choose`, which is called again only after solves that may change it."""
        if first not in self._next:
            self._next[first] = self.choose(first, near)
        return self._next[first]

    def choose(self, first: Way, near: Callable[[Way], Iterable[Way]]) -> Way:
        """Return the fastest way from `first` over ways near each other, or one to try next."""
        best, times = first, self.times.copy()  # other threads may add to it
        while best in times:
            others, least = list(near(best)), times[best][1]
            faster = [way for way in others if way in times and times[way][1] < _GAIN * least]
            if not faster:
                busy = self.late > 1 + _BUSY * self.repeated
                close = least * (_UNLUCKY if busy else _CLOSE)
                unlucky = (way for way, (solves, s) in times.items() if solves == 1 and s < close)
                untried = (way for way in others if way not in times)
                return next(untried, next(unlucky, best))
            best = min(faster, key=lambda way: times[way][1])
        return best
