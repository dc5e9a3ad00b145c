"""Widths of buckets and ways of sharing work, compared from search to search of a graph.

Within a search the width adapts by counts of entries and repeats, which do not measure the cost of
a repeat, a bucket or a theft on this machine. So the next searches of a graph begin with the
mean width of the last one, and others try widths around it, until none is faster. Workers that
find little to do repeat the work of others, so half of them are tried too, down to one, and one at
once where half of them take little longer. Whether workers should claim distances ahead
(``relax.hpp``) depends on the graph and on the machine's caches.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from typing import NamedTuple

from nearfar.graph.compared import Compared

#: The width that adapts during the search, from its mean in the last one. Other widths are powers
#: of two times that mean.
ADAPTED = None
_STEPS = (-2, 2, -1, 1)  # powers from the fastest width to those that are compared with it
_FARTHEST = 5  # greatest power
_CLOSE = 2.0  # relative time of one worker, extrapolated from half of them, up to which it is tried
_LOST = 1.1  # relative time above which a change is not tried again with another width


class Way(NamedTuple):
    """Parameters of a search that are compared."""

    power: int | None = ADAPTED  # of two: width
    halved: int = 0  # how often the number of workers is halved
    claim: bool = False  # whether workers claim distances ahead


_FIRST = Way()


@dataclass(slots=True)
class Widths:
    """Times of the searches of a graph with a maximum number of workers."""

    threads: int
    adapted: float | None = None  # mean width of the latest search that adapted it
    # The first search of a graph, which may prepare it and begins with a guess, does not count.
    compared: Compared[Way] = field(default_factory=Compared)

    def width(self, way: Way) -> float | None:
        """Return a width, or None before the first search."""
        if way.power is ADAPTED or self.adapted is None:
            return self.adapted
        return math.ldexp(self.adapted, way.power)

    def workers(self, way: Way) -> int:
        """Return a number of workers."""
        return self.threads >> way.halved

    def next_way(self) -> Way:
        """Return the way of the next search: the fastest so far, or one that is not tried yet."""
        return self.compared.next_way(_FIRST, self._near)

    def learn(self, way: Way, seconds: float, width: float) -> None:
        """Record a search of most of the graph, and its mean width if it adapted."""
        if self.adapted is not None:
            self.compared.add(way, seconds)
        if way == _FIRST:
            self.adapted = width

    def _lost(self, other: Way) -> bool:
        """Return whether as many workers, or claims, were clearly slower with another width."""
        usual = {way: seconds for way, (_, seconds) in self.compared.times.copy().items()}
        plain = {way.power: seconds for way, seconds in usual.items() if way[1:] == _FIRST[1:]}
        return other not in usual and any(
            way[1:] == other[1:] and seconds > _LOST * plain.get(way.power, seconds)
            for way, seconds in usual.items()
        )

    def _near(self, way: Way) -> list[Way]:
        found = [way._replace(halved=way.halved - 1)] if way.halved else []
        if self.workers(way) > 1:
            half = way._replace(halved=way.halved + 1)
            found += [half, way._replace(claim=not way.claim)]
            halvings = self.workers(way).bit_length() - 1  # down to one
            _, usual = self.compared.times.get(half, (0, math.inf))
            if (usual / self.compared.times[way][1]) ** halvings < _CLOSE:
                found.append(way._replace(halved=way.halved + halvings, claim=False))
        found = [other for other in found if not self._lost(other)]
        powers = (step + (way.power or 0) for step in _STEPS)
        return found + [way._replace(power=k) for k in powers if k and abs(k) <= _FARTHEST]
