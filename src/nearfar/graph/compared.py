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
_SURE = 4  # solves of a way after which others are rarely compared again
_LATELY = 16  # solves that the mean of a way is about


@dataclass(slots=True)
class Compared(Generic[Way]):
    """Solves and mean seconds by way."""

    times: dict[Way, tuple[int, float]] = field(default_factory=dict)
    _next: dict[Way, Way] = field(default_factory=dict)  # by the way to begin with

    def add(self, way: Way, seconds: float) -> None:
        """Record a solve."""
        solves, mean = self.times.get(way, (0, 0.0))
        # Older solves count less and less, as the machine may have been busy.
        mean += (seconds - mean) / min(solves + 1, _LATELY)
        self.times[way] = solves + 1, mean
        if solves < _SURE or not (solves + 1) % _LATELY:  # choosing takes up to 0.1 ms
            self._next.clear()

    def least(self) -> float:
        """Return the mean seconds of the fastest way."""
        return min(mean for _, mean in list(self.times.values()))

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
                tried = times.items()
                unlucky = (way for way, (solves, s) in tried if solves == 1 and s < _CLOSE * least)
                untried = (way for way in others if way not in times)
                return next(untried, next(unlucky, best))
            best = min(faster, key=lambda way: times[way][1])
        return best
