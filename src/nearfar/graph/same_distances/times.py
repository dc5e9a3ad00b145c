"""Times of the searches of a graph, by which two ways to search it are compared."""

from __future__ import annotations

import math
from collections.abc import Hashable
from dataclasses import dataclass, field


@dataclass(slots=True)
class SearchTimes:
    """Seconds of all searches of a graph together, and of each way."""

    spent: float = 0.0
    #: Number of searches and least seconds of one.
    ways: dict[Hashable, tuple[int, float]] = field(default_factory=dict)

    def of(self, way: Hashable) -> tuple[int, float]:
        """Return the number of searches and the least seconds, without those of a first one."""
        return self.ways.get(way, (0, math.inf))

    def add(self, way: Hashable, seconds: float, searches: int = 1) -> None:
        """Record some searches."""
        count, least = self.of(way)
        if count + searches > 1:  # the first one may prepare the graph
            least = min(seconds / searches, least)
        self.ways[way] = count + searches, least
