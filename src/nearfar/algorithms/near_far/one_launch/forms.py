"""Choice of the form of a one-launch solve, from the options and earlier solves of the graph.

The first solve uses only sizes and degrees. It records its time, its farthest distance and its
number of splits; later solves of the same graph may then use a form that pays only for repeated
solves (docs/explanation/gpu-engine.md has the measurements):

- *sifted*: rows are read whole, but the distance of a target only if its sum is due, and open
  vertices scan their own edges at the end: for skewed undirected graphs;
- *sorted*: the same over rows sorted by weight once, also for dense even graphs. The rows are
  sorted once earlier solves have together taken as long as the sort, so it never doubles the
  time;
- *packed*: distances in 8 or 16 bits while solving, for large sparse graphs whose distances fit:
  those of earlier solves, or before the first solve those of a random graph. If they do not fit,
  the solve stops at its next split and is repeated with whole distances.

A form that is slower than the previous one over three solves is not used again.

The plain form's delta grows while its near set is thinner than the device wants, and shrinks
while it is fatter (one_launch.cuh). The growth that is allowed is learned, too: the first solve
allows 12 times the first step (skewed degrees: 1), later ones twice as much or a fourth of it, as
long as that is faster.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from nearfar.graph.graph import Graph
from nearfar.graph.slots import Slot
from nearfar.system.devices import runtime

if TYPE_CHECKING:
    from nearfar.algorithms.near_far.one_launch.options import OneLaunchOptions

_HISTORY: Slot[_History] = Slot("forms tried")

ROAD_LIKE, _DENSE, _SKEWED = 5.0, 16.0, 50.0  # mean degrees, and greatest over mean degree
_SORT_SECONDS = 75e-12  # seconds per edge of 8 bytes; measured 65 to 86 on an H100
_EVEN, _EVEN_DEGREE = 4.0, 128.0  # greatest over mean degree, and mean, of dense even graphs
_FEW_SPLITS = 8  # share of a plain solve, up to which scanning all vertices at each split is cheap
_LARGE = 1 << 24  # bytes of distances beyond which packing them pays
_HEADROOM = 2  # factor of the farthest distance so far
_TRIALS = 3
_GROWTH, _GROWTHS = 12.0, 256.0  # of the first solve, and the most
_GAIN = 0.97  # of time, above which another growth is no better
_KINDS = ("plain", "sifted", "sorted", "packed")
_UNPREPARED = _KINDS[:2]  # kinds that need no preparation
_SIFT_SHARED = 100_000  # bytes of shared memory that a block of the sifted form takes at most


@dataclass(frozen=True, slots=True)
class Form:
    """Form of a solve."""

    kind: str  # "plain", "sifted", "sorted" or "packed"
    bits: int = 0  # bits per distance in the packed form, else 0
    scan: bool = False  # whether a split scans all vertices instead of keeping a far pile


@dataclass(slots=True)
class _History:
    """History of one graph on one device."""

    reach: float = 0.0  # past the farthest distance of whole solves; 0 before one
    splits: int = 0  # maximum over whole solves
    least_bits: int = 8
    refused: set[str] = field(default_factory=set)  # kinds that do not fit memory
    # Whole solves and their seconds, by kind; the first of a kind may compile or prepare.
    solves: dict[str, int] = field(default_factory=dict)
    seconds: dict[str, float] = field(default_factory=dict)
    first_growth: float = _GROWTH
    growths: dict[str, dict[float, float]] = field(default_factory=dict)  # least seconds, by kind

    def growth(self, kind: str) -> float:
        """Return the fastest bound on delta's growth, or a neighbour that is not measured yet."""
        seconds = self.growths.get(kind)
        if not seconds:
            return self.first_growth
        best = min(seconds, key=lambda growth: seconds[growth])
        if seconds[best] > _GAIN * seconds[self.first_growth]:
            best = self.first_growth
        near = min(2 * best, _GROWTHS), max(best / 4, 1.0)
        return next((growth for growth in near if growth not in seconds), best)

    def mean(self, kind: str) -> float:
        return self.seconds[kind] / self.solves[kind]

    def lost(self, kind: str) -> bool:
        """Return whether a kind did not fit memory, or was often slower than a simpler one."""
        if kind in self.refused:
            return True
        less = _KINDS[: _KINDS.index(kind)]
        means = [self.mean(other) for other in less if other in self.solves]
        tried = self.solves.get(kind, 0) >= _TRIALS
        return tried and bool(means) and self.mean(kind) > min(means)


def _history(graph: Graph) -> _History:
    def make() -> _History:
        return _History(first_growth=1.0 if is_skewed(graph) else _GROWTH)

    return _HISTORY.of(graph, make, runtime.device().ordinal)


def growth_of(graph: Graph, form: Form) -> float:
    """Return the factor of the first step up to which delta may grow in the next solve."""
    return _history(graph).growth(form.kind)


def is_skewed(graph: Graph) -> bool:
    """Return whether a few vertices have far more edges than the rest."""
    mean = graph.mean_degree
    return mean > ROAD_LIKE and graph.max_degree > _SKEWED * mean


def form_of(graph: Graph, options: OneLaunchOptions) -> Form:
    """Return the form that the options request, or that pays according to the history."""
    history = _history(graph)
    # Scanning a vertex costs about as much as eight edges.
    few = history.splits * graph.n_vertices <= 2 * graph.n_edges
    plain = Form("plain", scan=few and graph.mean_degree > ROAD_LIKE)
    if not graph.is_weighted:
        return plain
    if options.sort_rows:
        return Form("sorted")
    whole = graph.weight_dtype.kind == "i"
    if options.distance_bits:
        return Form("packed", options.distance_bits, scan=True) if whole else plain
    if options.tuned:
        return plain
    if options.sort_rows is None:
        skewed = is_skewed(graph) and graph.mean_degree >= _DENSE and not graph.directed
        roomy = skewed and runtime.device().shared_per_block >= _SIFT_SHARED
        if _sorting_pays(graph, history, skewed):
            return Form("sorted")
        if roomy and history.splits <= _FEW_SPLITS and not history.lost("sifted"):
            return Form("sifted")
    if options.distance_bits is None and whole and plain.scan:
        bits = _bits(graph, history)
        if bits:
            return Form("packed", bits, scan=True)
    return plain


def _sorting_pays(graph: Graph, history: _History, skewed: bool) -> bool:
    even = graph.mean_degree >= _EVEN_DEGREE and graph.max_degree <= _EVEN * graph.mean_degree
    if not (skewed or even) or history.splits > _FEW_SPLITS or history.lost("sorted"):
        return False
    sort = _SORT_SECONDS * graph.n_edges * graph.weight_dtype.itemsize / 4
    return sum(history.seconds.get(kind, 0.0) for kind in _UNPREPARED) >= sort


def _bits(graph: Graph, history: _History) -> int:
    large = graph.n_vertices * graph.weight_dtype.itemsize >= _LARGE
    if not large or graph.mean_degree >= _DENSE or history.lost("packed"):
        return 0
    reach = history.reach
    if not reach:  # as many hops as the depth of a random graph of that degree
        reach = graph.mean_weight * math.log(graph.n_vertices) / math.log(graph.mean_degree)
    for bits in (8, 16):
        if bits >= history.least_bits and _HEADROOM * reach < 2**bits - 1:
            return bits
    return 0


def learn(graph: Graph, form: Form, stats: dict[str, Any], *, growing: bool = False) -> None:
    """Record the results of a whole solve with the usual options; ``growing``: learn growth."""
    history = _history(graph)
    if growing and history.solves.get(form.kind):  # the first of a kind may wait for the device
        seconds = history.growths.setdefault(form.kind, {})
        growth, took = history.growth(form.kind), stats["device_seconds"]
        seconds[growth] = min(took, seconds.get(growth, took))
    history.solves[form.kind] = history.solves.get(form.kind, 0) + 1
    total = history.seconds.get(form.kind, 0.0) + stats["device_seconds"]
    history.seconds[form.kind] = total
    if form.kind in ("plain", "packed"):
        history.reach = max(history.reach, stats["last_threshold"])
    if form.kind != "sorted":
        history.splits = max(history.splits, stats["splits"])


def too_narrow(graph: Graph, form: Form) -> None:
    """Record that distances of this graph do not fit the form's bits."""
    _history(graph).least_bits = 2 * form.bits if form.bits < 16 else 64


def give_up(graph: Graph, form: Form) -> None:
    """Record that this form of the graph does not fit the device's memory."""
    _history(graph).refused.add(form.kind)
