"""Correction of the estimates by measured searches of the same graph.

Estimates err by a factor of two on graphs and machines that they were not fitted to. So methods for
one source whose estimates are close to the least one are each run twice by later searches of a
graph, instead of it, and the fastest is used from then on. The first run of a method may prepare
the graph and does not count. Methods that become faster over the searches of a graph are run until
they have, while they are close to the fastest. Only searches of most of the graph are compared.

Estimates for cores and for a GPU err independently. A method of the other kind of device is
therefore tried if its estimate is close to the measured time, once the searches have taken as long
as copying the graph and trying it. A run of many sources may take minutes, so all its other methods
are tried under this condition only. Runs are compared if they have the same number of sources.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from nearfar.graph.compared import Compared
from nearfar.graph.slots import Slot
from nearfar.registry import Chosen, Request, Variant
from nearfar.system.devices import runtime

if TYPE_CHECKING:
    from nearfar.graph.graph import Graph

_TIMES: Slot[_Times] = Slot("times of methods")  # by the kind of the request

CLOSE = 2.0  # estimate over the least one up to which a method is compared
MOST = 4  # methods compared on one kind of device
RUNS = 2  # of a method that is tried
SETTLED = 32  # runs after which a method hardly becomes faster
AHEAD = 1.3  # least time over that of the fastest up to which a method is run so often
SHORT = 2e-5  # seconds of a search that is too short to compare
#: Least share of the edges that a search of most of a graph looks at; few in sorted rows.
_LOOKED_AT = {"cpu": 1 / 2, "cuda": 1 / 64}


@dataclass(slots=True)
class _Times(Compared[str]):
    """Searches of most of a graph, or runs, by variant id, without the first of each."""

    started: set[str] = field(default_factory=set)
    quickest: dict[str, float] = field(default_factory=dict)
    spent: float = 0.0  # seconds of these searches
    download: float = 0.0  # seconds to copy the last answer of a GPU
    programs: int = 0  # compiled when a GPU was last used
    chosen: tuple[tuple[Chosen, ...], Chosen] | None = None  # of which methods, as long as it holds

    def changed(self) -> None:
        """Let the next search choose again."""
        Compared.changed(self)
        self.chosen = None

    def note(self, variant: Variant, seconds: float) -> None:
        """Record the time of a variant, unless kernels were compiled in it."""
        name, compiled = variant.id, False
        if variant.device == "cuda":
            seconds += self.download
            compiled, self.programs = self.programs != runtime.n_programs(), runtime.n_programs()
        if name in self.started and not compiled:
            self.quickest[name] = min(self.quickest.get(name, math.inf), seconds)
            self.spent += seconds
            self.add(name, seconds)
        self.started.add(name)


def _kind(request: Request) -> Any:
    """Return a key of the requests whose times are compared with each other."""
    if request.problem == "sssp":
        return request.threads
    many = request.n_sources, request.comes_back, request.sparse, request.predecessors
    return request.threads, *many


def whole(request: Request) -> bool:
    """Return whether a request is a search of the whole graph from one source."""
    return request.problem == "sssp" and request.limit is None and request.targets is None


def comparable(request: Request) -> bool:
    """Return whether a request for whole rows may be followed by others that are like it."""
    if request.once or request.limit is not None or request.targets is not None:
        return False
    return request.stats == "basic"


def downloaded(graph: Graph, threads: int, seconds: float) -> None:
    """Record the time to copy the answer of a search on a GPU, which its own time does not have."""
    times = _TIMES.get(graph, threads)
    if times is not None:
        times.download = seconds


def record(graph: Graph, request: Request, variant: Variant, stats: dict[str, Any]) -> bool:
    """Record the time of a search that ``auto`` chose; return whether it is one to compare."""
    if request.device == "cuda" or stats["seconds"] < SHORT or not comparable(request):
        return False
    edges, pushes = stats.get("edges_relaxed", 0), stats.get("pushes", 0)
    if edges < _LOOKED_AT[variant.device] * graph.n_edges and 2 * pushes < graph.n_vertices:
        return False
    times = _TIMES.get(graph, _kind(request))
    if times is not None:
        times.note(variant, stats["seconds"])
    return True


def record_run(graph: Graph, request: Request, variant: Variant, seconds: float) -> None:
    """Record the time of a run of many sources that ``auto`` chose."""
    if seconds < SHORT or not comparable(request):
        return
    times = _TIMES.get(graph, _kind(request))
    if times is not None:
        times.note(variant, seconds)


def by_time(graph: Graph, request: Request) -> list[str]:
    """Return the ids of the methods that were measured, the fastest first."""
    times = _TIMES.get(graph, _kind(request))
    if times is None:
        return []
    usual = {name: seconds for name, (_, seconds) in times.times.copy().items()}
    return sorted(usual, key=lambda name: usual[name])


def fastest(graph: Graph, request: Request, rivals: tuple[Chosen, ...]) -> Chosen:
    """Return the fastest of the methods so far, or one that is still to be measured."""
    times = _TIMES.of(graph, _Times, _kind(request))
    held = times.chosen
    if held is not None and held[0] is rivals:
        return held[1]
    part = tuple(rival for rival in rivals if _takes_part(rival, rivals, times))
    found = _chosen(times, part)
    if len(part) == len(rivals):
        times.chosen = rivals, found
    return found


def _chosen(times: _Times, rivals: tuple[Chosen, ...]) -> Chosen:
    """Return the fastest of some methods, or one that is to be measured."""
    ids = [rival.variant.id for rival in rivals]
    chosen = rivals[ids.index(times.choose(ids[0], lambda _: ids))]
    if any(other not in times.times for other in ids):
        return chosen
    close = AHEAD * min(times.quickest[name] for name in ids)
    for other in rivals:
        name = other.variant.id
        unsettled = other.variant.learns and times.solves(name) < SETTLED
        if unsettled and other is not chosen and times.quickest[name] < close:
            return other
    return chosen._replace(reason=f"{chosen.reason}; the fastest measured")


def _takes_part(rival: Chosen, rivals: tuple[Chosen, ...], times: _Times) -> bool:
    """Return whether a method is compared by now."""
    if not rival.after or rival.variant.id in times.started:
        return True
    if times.spent < rival.after:
        return False
    # Estimates for one kind of device err alike, by the load of the machine for example.
    error = min(
        (
            times.quickest[other.variant.id] / other.later
            for other in rivals
            if other.variant.device == rival.variant.device
            and other.variant.id in times.quickest
            and other.later > 0
        ),
        default=1.0,
    )
    return max(1.0, error) * rival.later <= CLOSE * times.least()
