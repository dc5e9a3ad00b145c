"""Correction of the estimates by measured searches of the same graph.

Estimates err by a factor of two on graphs and machines that they were not fitted to. So methods for
one source whose estimates are close to the least one, at most one of them on a GPU, are each run
twice by later searches of a graph, instead of it, and the fastest is used from then on. The first
run of a method may prepare the graph and does not count. Methods that become faster over the
searches of a graph are run until they have, while they are close to the fastest. Only searches of
most of the graph are compared.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from nearfar.graph.compared import Compared
from nearfar.graph.slots import Slot
from nearfar.registry import Request, Variant

if TYPE_CHECKING:
    from nearfar.graph.graph import Graph

_TIMES: Slot[_Times] = Slot("times of methods")  # by number of threads

CLOSE = 2.0  # estimate over the least one up to which a method is compared
MOST = 4  # methods compared
SETTLED = 32  # runs after which a method hardly becomes faster
AHEAD = 1.3  # least time over that of the fastest up to which a method is run so often
SHORT = 2e-5  # seconds of a search that is too short to compare


@dataclass(slots=True)
class _Times(Compared[str]):
    """Searches of most of a graph by variant id, without the first of each."""

    started: set[str] = field(default_factory=set)
    quickest: dict[str, float] = field(default_factory=dict)


def whole(request: Request) -> bool:
    """Return whether a request is a search of the whole graph from one source."""
    return request.problem == "sssp" and request.limit is None and request.targets is None


def comparable(request: Request) -> bool:
    """Return whether such a request may be followed by others that are like it."""
    return whole(request) and not request.once and request.stats == "basic"


def record(graph: Graph, request: Request, variant: Variant, stats: dict[str, Any]) -> bool:
    """Record the time of a search that ``auto`` chose; return whether it is one to compare."""
    if request.device == "cuda" or stats["seconds"] < SHORT or not comparable(request):
        return False
    edges, pushes = stats.get("edges_relaxed", 0), stats.get("pushes", 0)
    if 2 * edges < graph.n_edges and 2 * pushes < graph.n_vertices:
        return False
    times = _TIMES.get(graph, request.threads)
    if times is not None:
        if variant.id in times.started:
            before = times.quickest.get(variant.id, math.inf)
            times.quickest[variant.id] = min(before, stats["seconds"])
            times.add(variant.id, stats["seconds"])
        times.started.add(variant.id)
    return True


def fastest(
    graph: Graph, request: Request, rivals: tuple[tuple[Variant, str], ...]
) -> tuple[Variant, str]:
    """Return the fastest of the methods so far, or one that is still to be measured."""
    times = _TIMES.of(graph, _Times, request.threads)
    ids = [variant.id for variant, _ in rivals]
    variant, reason = rivals[ids.index(times.choose(ids[0], lambda _: ids))]
    if any(other not in times.times for other in ids):
        return variant, reason
    close = AHEAD * min(times.quickest[name] for name in ids)
    for other, words in rivals:
        unsettled = other.learns and times.times[other.id][0] < SETTLED
        if unsettled and other is not variant and times.quickest[other.id] < close:
            return other, words
    return variant, f"{reason}; the fastest measured"
