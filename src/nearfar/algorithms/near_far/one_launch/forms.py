"""Choice of the form of a one-launch solve, from the options and earlier solves of the graph.

The first solve uses only sizes and degrees. It records its time, its farthest distance and its
number of splits; later solves of the same graph may then use a form that pays only for repeated
solves (docs/explanation/gpu-engine.md has the measurements):

- *sifted*: rows are read whole, but a target's distance is read only if the sum is due, and open
  vertices scan their own edges at the end: for skewed undirected graphs;
- *sorted*: as sifted, but over rows sorted by weight, if a plain solve has few splits. The rows
  are sorted once earlier solves have taken as long in total as the sort;
- *packed*: distances have 8 or 16 bits during the solve, for large sparse graphs whose distances
  fit, judged by earlier solves or, before the first one, by a random graph. If they do not fit,
  the solve stops at its next split and is repeated with whole distances.

Only plain solves let blocks advance on their own. So after a sifted or sorted solve of very many
steps, which were most of its time, as with hubs at the end of a long path, one solve is plain.

A form is abandoned if a solve takes twice as long as with another form, or if three solves take
longer on average. While a form is compiled for the first time, solves use the previous form.

The delta of the plain form grows while the near set is too small to fill the device, up to 12-fold,
and shrinks while it is too large; a first solve also tries wider and narrower ranges and keeps
those that cover more distance per time (one_launch.cuh). It begins with the greatest growth if the
graph is small, or if it has fewer edges than vertices. Its first value and the limit of its growth
begin with the mean width of the first solve, and then depend on all earlier solves: each later one
compares one other width with the fastest so far, and returns to that one if it takes longer, until
none of its neighbours is faster. A narrower first delta is compared if edges are relaxed many
times, a wider one if they are not, at last one far from it, also with fewer rounds of local steps
or none, and one range where there are few. Fewer rounds are compared where their barriers would
take less time than a solve; with none, rows are found by their offsets. Rows that lead past
vertices of few edges are compared with rows that do not. The delta of sorted and sifted rows is
doubled or halved in the same way.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from threading import Thread
from typing import TYPE_CHECKING, Any, NamedTuple

from nearfar.graph.compared import Compared
from nearfar.graph.graph import Graph
from nearfar.graph.slots import Slot
from nearfar.system.devices import runtime

if TYPE_CHECKING:
    from nearfar.algorithms.near_far.one_launch.options import OneLaunchOptions

_HISTORY: Slot[History] = Slot("forms tried")
_SKEW: Slot[bool] = Slot("whether hubs have many of the edges")

ROAD_LIKE, _DENSE, _SKEWED = 5.0, 16.0, 50.0  # two mean degrees; maximum over mean degree
_HUB, _HUB_SHARE = 8.0, 0.02  # edges of a hub over the mean degree; least share of all edges
_SIFTED = 7.0  # mean degree from which sifting pays in a first solve of a skewed graph
_SORT_SECONDS = 75e-12  # seconds per edge of 8 bytes; measured 65 to 86 on an H100
_LONG_DIRECTED = 128.0  # mean degree from which sorted rows pay although no vertex can pull
_FEW_SPLITS = 8  # splits of a plain solve up to which scanning all vertices at each is cheap
_UNDIVIDED = 2  # splits up to which the first delta, and not its growth, determines the time
# Splits up to which a solve without any takes a few times as long at most, and their mean width
# says little.
_FEW_RANGES = 16
_LARGE = 1 << 24  # bytes of distances beyond which packing them pays
_HEADROOM = 2  # required range over the farthest distance so far
# A form is abandoned after so many slower solves, or after one that takes this multiple.
_TRIALS, _HOPELESS = 3, 2.0
_GROWTH, GROWTHS = 12.0, 256.0  # growth that need not show a gain, and greatest growth
#: Rounds of a local step that are compared; the first one hardly limits it.
ROUNDS = (1000, 8, 2, 0)
_STEP_SECONDS = 4e-6  # by which a step of the whole device exceeds a round of one block
_MANY_STEPS = 1000  # of a solve, from which blocks that advance on their own may save time
_LITTLE = 0.25  # part of a solve that such steps may take for other rounds to be tried first
_FAR, _FAR_ROUNDS = 8, (8, 0)  # factor between widths far from each other, rounds of a wide one
# Entries and edges per multiprocessor up to which blocks advance on their own.
_LOCAL_ENTRIES, _LOCAL_EDGES = 256, 1024
_FEW_EDGES = 2048  # edges per multiprocessor, of all vertices, that one range is fast enough for
LOCAL_HEAVY = 64  # least kLocalHeavy of the kernels
_LATE = 1.25  # time over the fastest width's after which another one has lost
_REPEATED = 4.0  # edges relaxed over all edges above which a narrower delta may pay
_KINDS = ("plain", "sifted", "sorted", "packed")
_GROWING = ("plain", "packed")  # kinds whose delta grows while they run
_UNPREPARED = _KINDS[:2]  # kinds that need no preparation
_SIFT_SHARED = 100_000  # upper bound on the shared memory of a block of the sifted form, in bytes


@dataclass(frozen=True, slots=True)
class Form:
    """Form of a solve."""

    kind: str  # "plain", "sifted", "sorted" or "packed"
    bits: int = 0  # bits per distance in the packed form, else 0
    scan: bool = False  # whether a split scans all vertices instead of keeping a far pile
    alone: bool = True  # whether blocks may advance on their own, over rows prepared for that
    past: bool = True  # whether these rows may lead past vertices of few edges

    def serves(self, width: Width) -> bool:
        """Return whether solves of this form can have a width."""
        return self.kind != "plain" or (self.alone, self.past) == (width.rounds > 0, width.past)


class Width(NamedTuple):
    """Parameters that determine the steps of a solve."""

    first: float  # multiple of the first delta
    growth: float  # limit of its growth
    rounds: int = ROUNDS[0]  # rounds for which blocks advance on their own; 0: never
    past: bool = True  # whether rows may lead past vertices of few edges


class Fallback(NamedTuple):
    """Delta and rounds of a solve once it has taken a number of cycles."""

    cycles: int
    delta: float
    rounds: int


NEVER = Fallback(2**64 - 1, 0.0, 0)
_USUAL = Width(1.0, _GROWTH)  # of the first solve, which tries others
_AT_ONCE = Width(GROWTHS, _GROWTH)  # the same of a small graph


@dataclass(slots=True)
class _Latest:
    """Figures of the latest solve of a width."""

    seconds: float
    splits: int
    work: float  # edges that it relaxed, over those of the graph
    block_rounds: int  # of local steps, in the block with the most
    shortcuts: bool  # whether rows led past vertices of few edges
    cycles: int = 0
    mean: float = 0.0  # width of a range


def _neighbours(width: Width, found: _Latest, *, grows: bool, initial: bool) -> list[Width]:
    """Return the widths to compare with a measured one."""
    first, growth = width[:2]
    wider, narrower = width._replace(first=2 * first), width._replace(first=first / 4)
    if not grows:
        return [wider, width._replace(first=first / 2)]
    near: list[Width] = []
    repeats = found.work > _REPEATED
    if found.splits <= _UNDIVIDED:  # growth hardly matters
        near += [wider, narrower] if found.splits else [narrower]
    else:
        if repeats:
            near.append(narrower._replace(growth=max(growth / 4, 1.0)))
        else:
            near += [width._replace(growth=min(2 * growth, GROWTHS)), wider]
        if growth > 1:
            less = max(growth / 4, 1.0)
            near += [width._replace(growth=less), width._replace(growth=1.0)]
            near.append(wider._replace(growth=less))
        # The fastest width may be far away, behind slower ones, and a jump may have passed it.
        if first > 1:
            near.append(width._replace(first=first / 2))
        if not repeats:
            far = width._replace(first=_FAR * first)
            fewer = _FAR_ROUNDS if found.block_rounds else ()
            near += [far, *(far._replace(rounds=rounds) for rounds in fewer)]
        near.append(width._replace(first=first / _FAR, growth=GROWTHS))
        if found.splits <= _FEW_RANGES:  # one range may be fastest, behind slower widths
            near.append(width._replace(first=GROWTHS, growth=1.0))
    others = _other_rounds(width, found)
    if initial and found.block_rounds * _STEP_SECONDS < _LITTLE * found.seconds:
        return others + near
    # Rounds come last: other rounds with the usual delta would hide the gain of another.
    return near + others


def _other_rounds(width: Width, known: _Latest) -> list[Width]:
    """Return the same width with more rounds, and with fewer that cannot take much longer."""
    at = ROUNDS.index(width.rounds)
    found = [width._replace(rounds=rounds) for rounds in ROUNDS[max(at - 1, 0) : at]]
    for rounds in ROUNDS[at + 1 :]:
        barriers = known.block_rounds / max(rounds, 1)
        if known.block_rounds and barriers * _STEP_SECONDS < known.seconds:
            found.append(width._replace(rounds=rounds))
    return found


@dataclass(slots=True)
class History:
    """History of one graph on one device."""

    first: Width  # of a kind whose delta grows
    splits: int = 0  # maximum over whole plain solves
    # Of whole solves with the first width, since others may have many splits or a range far too
    # wide: a bound on the farthest distance, 0 before the first solve, and the most splits.
    reach: float = 0.0
    first_splits: int = 0
    least_bits: int = 8
    thin: bool = False  # whether a solve without local steps took most of its time for steps
    refused: set[str] = field(default_factory=set)  # kinds that do not fit memory
    last: Form | None = None  # form of the latest whole solve
    compiled_by: dict[Form, Thread] = field(default_factory=dict)
    # Whole solves and their seconds, by kind; the first of a kind may compile or prepare.
    solves: dict[str, int] = field(default_factory=dict)
    seconds: dict[str, float] = field(default_factory=dict)
    grown: dict[str, Width] = field(default_factory=dict)  # with the mean width of the first solve
    widths: dict[str, Compared[Width]] = field(default_factory=dict)  # by kind
    latest: dict[tuple[str, Width], _Latest] = field(default_factory=dict)

    def width(self, kind: str) -> Width:
        """Return the width of the next solve of a kind."""
        grows = kind in _GROWING
        first = self.grown.get(kind, self.first) if grows else _USUAL

        def near(width: Width) -> list[Width]:
            found, initial = self.latest[kind, width], width[:2] == first[:2]
            others = _neighbours(width, found, grows=grows, initial=initial)
            if width[:2] == _AT_ONCE[:2]:
                others.append(width._replace(first=_USUAL.first))
            if width.rounds and (found.shortcuts or not width.past):
                others.append(width._replace(past=not width.past))
            return others

        return self.widths[kind].next_way(first, near) if kind in self.widths else first

    def width_of(self, form: Form) -> Width:
        """Return the width of a solve: the next one, or the fastest while its form is compiled."""
        width = self.width(form.kind)
        if form.serves(width):
            return width
        compared = self.widths.get(form.kind)
        times = {} if compared is None else compared.times.copy()  # other threads may add to it
        return min(filter(form.serves, times), key=lambda width: times[width][1], default=width)

    def mean(self, kind: str) -> float:
        """Return the usual seconds of a kind with its fastest width."""
        if kind in self.widths:
            return self.widths[kind].least()
        return self.seconds[kind] / self.solves[kind]

    def lost(self, kind: str) -> bool:
        """Return whether a kind does not fit memory or was too slow compared with a simpler one."""
        if kind in self.refused:
            return True
        less = _KINDS[: _KINDS.index(kind)]
        means = [self.mean(other) for other in less if other in self.solves]
        solves = self.solves.get(kind, 0)
        if not (means and solves):
            return False
        return self.mean(kind) > min(means) * (1.0 if solves >= _TRIALS else _HOPELESS)


def local_entries(graph: Graph) -> int:
    """Return the size of a near set up to which blocks advance on their own.

    None do where most edges are in rows that they may leave to the whole device.
    """
    if graph.mean_degree > LOCAL_HEAVY:
        return 0
    return _entries_with(graph, _LOCAL_EDGES)


def _entries_with(graph: Graph, edges: int) -> int:
    """Return the entries that have so many edges per multiprocessor, up to a maximum."""
    each = min(_LOCAL_ENTRIES, int(edges / max(graph.mean_degree, 1.0)))
    return each * runtime.device().multiprocessors


def history_of(graph: Graph) -> History:
    """Return the history of a graph on the current device."""
    device = runtime.device()

    def make() -> History:
        few = graph.n_vertices <= _entries_with(graph, _FEW_EDGES)
        # A forest has one path to a vertex, so that no order repeats work.
        forest = graph.n_edges < (1 if graph.directed else 2) * graph.n_vertices
        return History(_AT_ONCE if few or forest else _USUAL)

    return _HISTORY.of(graph, make, device.ordinal)


def fallback_of(history: History, form: Form) -> Fallback:
    """Return the fastest width, for a solve that compares another one with it."""
    compared = history.widths.get(form.kind)
    if compared is None or compared.solves(history.width_of(form)) > 1:
        return NEVER
    width = compared.fastest()
    usual = history.latest[form.kind, width]
    return Fallback(int(_LATE * usual.cycles), usual.mean, width.rounds)


def may_grow(history: History, form: Form) -> float:
    """Return the growth up to which a solve may try other deltas, or 0: only a first one does."""
    return 0.0 if form.kind in history.solves else GROWTHS


def is_skewed(graph: Graph) -> bool:
    """Return whether a few vertices have far more edges than the rest, and many together."""
    mean = graph.mean_degree
    if not (mean > ROAD_LIKE and graph.max_degree > _SKEWED * mean):
        return False

    def make() -> bool:
        lengths = graph.degrees  # on the host: CuPy would compile a dozen kernels, for seconds
        return bool(lengths[lengths > _HUB * mean].sum() > _HUB_SHARE * graph.n_edges)

    return _SKEW.of(graph, make)


def form_of(graph: Graph, history: History, options: OneLaunchOptions) -> Form:
    """Return the form that the options request, or else the best according to the history."""
    # Scanning a vertex costs about as much as eight edges.
    cheap = 2 * graph.n_edges / graph.n_vertices if graph.mean_degree > ROAD_LIKE else -1
    width = history.width("plain")
    scan = history.splits <= cheap
    plain = Form("plain", scan=scan, alone=width.rounds > 0, past=width.past)
    if not graph.is_weighted:
        return plain
    if options.sort_rows:
        return Form("sorted")
    whole = graph.weight_dtype.kind == "i"
    if options.distance_bits:
        return Form("packed", options.distance_bits, scan=True) if whole else plain
    if options.tuned:
        return plain
    if history.thin and "plain" not in history.solves:
        return plain
    if options.sort_rows is None:
        if _sorting_pays(graph, history):
            return Form("sorted")
        least = _DENSE if history.first == _AT_ONCE else _SIFTED
        skewed = is_skewed(graph) and graph.mean_degree >= least and not graph.directed
        roomy = skewed and runtime.device().shared_per_block >= _SIFT_SHARED
        if roomy and not history.lost("sifted"):
            return Form("sifted")
    if options.distance_bits is None and whole and history.first_splits <= cheap:
        bits = _bits(graph, history)
        if bits:
            return Form("packed", bits, scan=True)
    return plain


def meanwhile(history: History, form: Form, options: OneLaunchOptions) -> Form | None:
    """Return the previous form for use while this one is compiled, or None to wait."""
    explicit = options.sort_rows or options.distance_bits or options.tuned
    return None if explicit or history.last == form else history.last


def is_compiling(history: History, form: Form, thread: Thread | None = None) -> bool:
    """Return whether a form is compiled in the background; record ``thread`` if given."""
    threads = history.compiled_by
    if thread is not None:
        threads[form] = thread
    return form in threads and threads[form].is_alive()


def _sorting_pays(graph: Graph, history: History) -> bool:
    """Return whether sorting long rows would save time, judging by the solves so far."""
    long = graph.mean_degree > (_LONG_DIRECTED if graph.directed else ROAD_LIKE)
    if not long or history.splits > _FEW_SPLITS or history.lost("sorted"):
        return False
    sort = _SORT_SECONDS * graph.n_edges * graph.weight_dtype.itemsize / 4
    return sum(history.seconds.get(kind, 0.0) for kind in _UNPREPARED) >= sort


def _bits(graph: Graph, history: History) -> int:
    large = graph.n_vertices * graph.weight_dtype.itemsize >= _LARGE
    if not large or graph.mean_degree >= _DENSE or history.lost("packed"):
        return 0
    reach = history.reach
    if not reach:  # the depth of a random graph of that degree, in mean weights
        reach = graph.mean_weight * math.log(graph.n_vertices) / math.log(graph.mean_degree)
    for bits in (8, 16):
        if bits >= history.least_bits and _HEADROOM * reach < 2**bits - 1:
            return bits
    return 0


def learn(
    graph: Graph, history: History, form: Form, stats: dict[str, Any], *, width: bool
) -> None:
    """Record a whole solve with default options; with ``width``, also that of its delta."""
    history.last = form
    used = history.width_of(form)
    initial = used == history.grown.get(form.kind, history.first)
    width &= form.serves(used)
    if width and history.solves.get(form.kind):  # the first solve of a kind may include waiting
        seconds, work = stats["device_seconds"], stats["edges_relaxed"] / max(graph.n_edges, 1)
        shortcuts = stats.get("shortcuts", False)
        latest = _Latest(seconds, stats["splits"], work, stats["block_rounds"], shortcuts)
        if form.kind in _GROWING:
            latest.cycles = stats["cycles"]
            latest.mean = stats["last_threshold"] / (stats["splits"] + 1)
        history.latest[form.kind, used] = latest
        history.widths.setdefault(form.kind, Compared()).add(used, seconds)
    solves = history.solves.get(form.kind, 0)
    if not solves and form.kind in _GROWING and stats["splits"] > _FEW_RANGES:
        mean = stats["last_threshold"] / stats["splits"]
        growth = min(mean / stats["delta"], GROWTHS)
        narrower = history.first.first * min(growth, 1.0)
        history.grown[form.kind] = Width(narrower, max(growth, 1.0))
    history.solves[form.kind] = solves + 1
    steps = stats["iterations"]
    if form.kind not in _GROWING and steps > _MANY_STEPS:
        history.thin |= steps * _STEP_SECONDS > stats["device_seconds"] / 2
    total = history.seconds.get(form.kind, 0.0) + stats["device_seconds"]
    history.seconds[form.kind] = total
    if form.kind in _GROWING:
        if form.kind == "plain" and solves == 1:  # the first one also tried narrower widths
            history.splits = history.first_splits = 0
        history.splits = max(history.splits, stats["splits"])
        if initial:
            history.reach = max(history.reach, stats["last_threshold"])
            history.first_splits = max(history.first_splits, stats["splits"])


def too_narrow(history: History, form: Form) -> None:
    """Record that distances of this graph do not fit the form's bits."""
    history.least_bits = 2 * form.bits if form.bits < 16 else 64


def give_up(history: History, form: Form) -> None:
    """Record that this form does not fit the device's memory."""
    history.refused.add(form.kind)
