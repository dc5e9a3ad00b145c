"""Widths of the buckets of several workers, compared from search to search of a graph.

Within a search each worker adapts the width of its buckets by counts of entries and repeats, which
say nothing about what a repeat, a bucket or a theft costs on this machine. So later searches of a
graph also try fixed widths, half or twice the fastest so far, until neither is faster.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, field

#: The width adapts during the search. Other widths are powers of two times its mean.
ADAPTED = None
_FARTHEST = 5  # greatest power
_GAIN = 0.97  # relative time below which another width is better
_CLOSE = 1.1  # relative time up to which a width is tried twice


@dataclass(slots=True)
class Widths:
    """Times of the searches of a graph with one number of workers."""

    adapted: float | None = None  # mean width of the latest search that adapted it
    # Number of searches and their seconds, by power. The first search of a graph, which may prepare
    # it and begins with a guess, does not count.
    times: dict[int | None, tuple[int, float]] = field(default_factory=dict)

    def width(self, power: int) -> float:
        """Return a fixed width."""
        assert self.adapted is not None
        return math.ldexp(self.adapted, power)

    def next_power(self) -> int | None:
        """Return the power of the next search: the fastest so far, or one that is not tried yet."""
        if ADAPTED not in self.times:
            return ADAPTED
        best = min(self.times, key=self._mean)
        at = 0 if best is ADAPTED else best
        near = (at - 1, at + 1) if at <= 0 else (at + 1, at - 1)
        for power in near:
            if power == 0 or abs(power) > _FARTHEST:
                continue
            if power not in self.times:
                return power
            if self.times[power][0] == 1 and self._mean(power) < _CLOSE * self._mean(best):
                return power  # the search may have been unlucky
        return best

    def learn(self, power: int | None, seconds: float, width: float) -> None:
        """Record a search of most of the graph, and its mean width if it adapted."""
        first = self.adapted is None
        if power is ADAPTED:
            self.adapted = width
        if not first:
            searches, total = self.times.get(power, (0, 0.0))
            self.times[power] = searches + 1, total + seconds

    def _mean(self, power: int | None) -> float:
        """Return the mean seconds; a fixed width must be faster than an adapted one by a margin."""
        searches, seconds = self.times[power]
        return seconds / searches * (_GAIN if power is ADAPTED else 1.0)
