"""Widths of buckets, compared from search to search of a graph.

Within a search the width adapts by counts of entries and repeats, which do not measure the cost of
a repeat, a bucket or a theft on this machine. So the next searches of a graph begin with the
mean width of the last one, and others try widths around it, until none is faster.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, field

from nearfar.graph.compared import Compared

#: The width that adapts during the search, from its mean in the last one. Other widths are powers
#: of two times that mean.
ADAPTED = None
_STEPS = (-2, 2, -1, 1)  # powers from the fastest width to those that are compared with it
_FARTHEST = 5  # greatest power


@dataclass(slots=True)
class Widths:
    """Times of the searches of a graph with one number of workers."""

    adapted: float | None = None  # mean width of the latest search that adapted it
    # By power. The first search of a graph, which may prepare it and begins with a guess, does not
    # count.
    compared: Compared[int | None] = field(default_factory=Compared)

    def width(self, power: int | None) -> float | None:
        """Return a width, or None before the first search."""
        if power is ADAPTED or self.adapted is None:
            return self.adapted
        return math.ldexp(self.adapted, power)

    def next_power(self) -> int | None:
        """Return the power of the next search: the fastest so far, or one that is not tried yet."""
        return self.compared.next_way(ADAPTED, _near)

    def learn(self, power: int | None, seconds: float, width: float) -> None:
        """Record a search of most of the graph, and its mean width if it adapted."""
        if self.adapted is not None:
            self.compared.add(power, seconds)
        if power is ADAPTED:
            self.adapted = width


def _near(power: int | None) -> list[int | None]:
    powers = (step + (power or 0) for step in _STEPS)
    return [power for power in powers if power and abs(power) <= _FARTHEST]
