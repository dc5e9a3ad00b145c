"""Correction of the estimates by measured searches of the same graph.

Estimates err by a factor of two on graphs and machines that they were not fitted to. So methods for
one source on CPU cores whose estimates are close to the least one are each run twice by later
searches of a graph, instead of it, and the fastest is used from then on. The first run of a method
may prepare the graph and does not count. Only searches of most of the graph are compared.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from nearfar.graph.slots import Slot
from nearfar.registry import Request, Variant

if TYPE_CHECKING:
    from nearfar.graph.graph import Graph

#: Close methods by the key of the choice, best estimate first, with the reasons for the estimates.
RIVALS: Slot[tuple[tuple[Variant, str], ...]] = Slot("methods to be compared")
_TIMES: Slot[_Times] = Slot("times of methods")  # by variant id and number of threads

CLOSE = 2.0  # estimate over the least one up to which a method is compared
MOST = 4  # methods compared
SHORT = 2e-5  # seconds of a search that is too short to compare
_GAIN = 0.97  # relative time below which another method is better
_RECENT = 0.25  # weight of the latest search in the mean


@dataclass(slots=True)
class _Times:
    """Searches of most of a graph by one method."""

    searches: int = 0
    seconds: float = 0.0  # recent mean, without the first search

    def add(self, seconds: float) -> None:
        self.searches += 1
        if self.searches > 2:
            seconds = self.seconds + _RECENT * (seconds - self.seconds)
        self.seconds = seconds


def comparable(request: Request) -> bool:
    """Return whether a request is a search of the whole graph that may be followed by others."""
    whole = request.limit is None and request.targets is None
    return request.problem == "sssp" and whole and not request.once and request.stats == "basic"


def record(graph: Graph, request: Request, variant: Variant, stats: dict[str, Any]) -> None:
    """Record the time of a search by a variant that ``auto`` chose."""
    if variant.device != "cpu" or stats["seconds"] < SHORT or not comparable(request):
        return
    edges, pushes = stats.get("edges_relaxed", 0), stats.get("pushes", 0)
    if 2 * edges < graph.n_edges and 2 * pushes < graph.n_vertices:
        return
    _TIMES.of(graph, _Times, (variant.id, request.threads)).add(stats["seconds"])


def fastest(
    graph: Graph, request: Request, rivals: tuple[tuple[Variant, str], ...]
) -> tuple[Variant, str]:
    """Return the fastest of the methods so far, or one that is still to be measured."""
    best, least = rivals[0], 0.0
    for variant, reason in rivals:
        times = _TIMES.get(graph, (variant.id, request.threads))
        if times is None or times.searches < 2:
            return variant, reason
        if not least or times.seconds < _GAIN * least:
            best, least = (variant, f"{reason}; the fastest measured"), times.seconds
    return best
