"""Widths of buckets, compared from search to search of a graph.

Within a search the width adapts by counts of entries and repeats, which say nothing about what a
repeat, a bucket or a theft costs on this machine. So the next searches of a graph begin with the
mean width of the last one, and others try widths around it, until none is faster.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, field

#: The width that adapts during the search, from its mean in the last one. Other widths are powers
#: of two times that mean.
ADAPTED = None
_STEPS = (-2, 2, -1, 1)  # powers from the fastest width to those that are compared with it
_FARTHEST = 5  # greatest power
_GAIN = 0.97  # relative time below which another width is better
_CLOSE = 1.1  # relative time up to which a width is tried twice
_SETTLED = 16  # searches with a width after which others are rarely compared again


@dataclass(slots=True)
class Widths:
    """Times of the searches of a graph with one number of workers."""

    adapted: float | None = None  # mean width of the latest search that adapted it
    # Number of searches and their seconds, by power. The first search of a graph, which may prepare
    # it and begins with a guess, does not count.
    times: dict[int | None, tuple[int, float]] = field(default_factory=dict)
    _power: int | None = ADAPTED  # of the next search

    def width(self, power: int | None) -> float | None:
        """Return a width, or None before the first search."""
        if power is ADAPTED or self.adapted is None:
            return self.adapted
        return math.ldexp(self.adapted, power)

    def next_power(self) -> int | None:
        """Return the power of the next search: the fastest so far, or one that is not tried yet."""
        return self._power

    def learn(self, power: int | None, seconds: float, width: float) -> None:
        """Record a search of most of the graph, and its mean width if it adapted."""
        first = self.adapted is None
        if power is ADAPTED:
            self.adapted = width
        if first:
            return
        searches, total = self.times.get(power, (0, 0.0))
        self.times[power] = searches + 1, total + seconds
        if searches < _SETTLED or searches % _SETTLED == 0:
            self._power = self._choose()

    def _choose(self) -> int | None:
        if ADAPTED not in self.times:
            return ADAPTED
        best = min(list(self.times), key=self._mean)  # a copy: other threads may add to it
        for step in _STEPS:
            power = step + (0 if best is ADAPTED else best)
            if power == 0 or abs(power) > _FARTHEST:
                continue
            if power not in self.times:
                return power
            if self.times[power][0] == 1 and self._mean(power) < _CLOSE * self._mean(best):
                return power  # the search may have been unlucky
        return best

    def _mean(self, power: int | None) -> float:
        """Return the mean seconds; others must be faster than the adapted width by a margin."""
        searches, seconds = self.times[power]
        return seconds / searches * (_GAIN if power is ADAPTED else 1.0)
