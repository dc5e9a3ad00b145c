"""Registry of the variants and their capabilities.

Tests, docs tables, command-line choices and benchmarks iterate over this registry. Adding a
variant changes only the folder of its family: the folder's ``cpu.py`` and ``cuda.py`` are
imported on first use and register with the decorator.
"""

from __future__ import annotations

import functools
import importlib
import pkgutil
import sys
import threading
from collections.abc import Callable, Sequence, Set
from dataclasses import KW_ONLY, dataclass, field, replace
from typing import Any, Literal, NamedTuple, ParamSpec, Protocol

from nearfar.errors import OptionError, VariantUnavailable, did_you_mean, keyword, quoted
from nearfar.graph.facts import Facts
from nearfar.graph.graph import Graph
from nearfar.graph.slots import Slot
from nearfar.options import NoOptions, canonical_device
from nearfar.system.devices import runtime

P = ParamSpec("P")
_EVERY_DTYPE = frozenset({"int32", "int64", "float32", "float64"})
#: Description of each problem.
_PROBLEMS = {"sssp": "one source", "batch": "several sources", "all_pairs": "all pairs"}
#: Variants chosen for a graph by request: the cheapest one, and those that later searches compare
#: with it. A variant clears them when it stores data with the graph that may change the choice.
CHOICES: Slot[tuple[Chosen, ...]] = Slot("choices")
#: Kinds of reductions that need no sums of distances, and all kinds that read only the count, sum
#: and maximum of a row's distances.
UNADDED = ("count", "max")
FIGURES = (*UNADDED, "sum", "mean", "summary")
Problem = Literal["sssp", "batch", "all_pairs"]
WeightSupport = Literal["nonnegative", "any", "equal"]


class Declined(Exception):
    """Exception with which a running variant declines a graph, so that another one is chosen.

    It is raised with a reason before anything is written. Later requests on the graph treat the
    variant's cost as infinite.
    """


@dataclass(slots=True)
class Answer:
    """Result of a variant."""

    # shape `(n,)` for one source, `(k, n)` for several; dtype of the weights (int32 without
    # weights); unreached is inf or the dtype's maximum, at which sums saturate
    distances: Any
    # counters of the run (`iterations`, `edges_relaxed`, `delta`, ...) and, with `stats="full"`,
    # arrays with one entry per iteration
    stats: dict[str, Any] = field(default_factory=dict)
    # predecessors, from variants registered with `predecessors=True`; for other variants
    # nearfar.answer.paths computes them by a pass over tight edges
    predecessors: Any = None
    # partial results of the workspace's reduction for consecutive rows; `distances` may then be
    # None
    partials: list[Partial] | None = None
    converted: Any = None  # the same distances in the workspace's answer_dtype, or None
    masked: bool = False  # whether vertices beyond the workspace's limit are marked unreached

    # The following fields are set by :mod:`nearfar.solve.steps.attempt`.

    plan: Any = None  # plan that produced the answer, with which later sources begin
    lost: Sequence[int] = ()  # rows in which a distance may be missing because it does not fit
    certain: bool = False  # whether the lost rows are certainly wrong, as reported by the variant
    wide: tuple[int, ...] = ()  # rows that were repeated in 64 bits


@dataclass(frozen=True, slots=True)
class Partial:
    """Reduction of some columns of consecutive rows, one entry per row.

    :class:`nearfar.solve.rows.reductions.Reduction` combines the parts of all columns and computes
    the result from them. It reads the first three fields, the bins, or the last two fields. Counts,
    totals and maxima are on the host, the others on the device that computed them.
    """

    counts: Any = None  # int64 array, shape (k,), or None; number of distances included
    # float64 array, shape (k,), or None; sums of distances or of their inverses. Integer sums are
    # exact; floats are added in the order of whole rows, so sums of parts are never combined
    totals: Any = None
    most: Any = None  # array, shape (k,), or None; greatest distance; undefined where counts is 0
    bins: Any = None  # int64 array, shape (k, bins); bins of a histogram
    # int64 array, shape (k, nearest), or None; nearest vertices, padded with -1
    vertices: Any = None
    distances: Any = None  # their distances, padded with unreached


#: Reached entries of each row: int64 offsets of the rows and of the end, vertices and distances
#: ordered by distance and then by vertex, and counters of the run.
SparseRows = tuple[Any, Any, Any, dict[str, Any]]


class RowReduction(Protocol):
    """Protocol of a reduction: the part of :class:`nearfar.solve.Reduction` that variants use."""

    @property
    def kind(self) -> str:
        """Name of the reduction."""

    @property
    def k(self) -> int:
        """Number of nearest vertices; 0 for other kinds."""

    @property
    def edges(self) -> tuple[float, ...]:
        """Edges of the bins of a histogram; empty for other kinds."""


class Request(NamedTuple):
    """Checked request, the input of ``can_run``, the costs and the chooser.

    ``once``: the graph was built for this request only, so that no later request benefits from
    data that a variant builds. ``comes_back``: rows are copied from the device to the host.
    ``sparse``: only the reached entries of each row are kept.
    """

    problem: Problem = "sssp"
    sources: tuple[int, ...] = (0,)
    n_sources: int = 1
    device: str = "auto"
    predecessors: bool = False
    limit: float | None = None
    targets: Any = None
    threads: int = 1
    stats: Literal["basic", "full"] = "basic"
    once: bool = False
    comes_back: bool = True
    sparse: bool = False


@dataclass(slots=True)
class Workspace:
    """Resources and settings of a run besides graph, source and options."""

    threads: int = 1  # workers that a CPU variant may use, at least 1
    # inclusive limit; farther vertices may be left unreached, and the caller masks the rest
    limit: float | None = None
    # int array or None; the run may stop once all targets are settled, and the caller masks
    # farther vertices
    targets: Any = None
    # {"basic", "full"}; whether to record arrays with one entry per iteration
    stats: Literal["basic", "full"] = "basic"
    # NumPy dtype in which the caller wants the distances, for variants that can convert them while
    # they wait; others ignore it
    answer_dtype: Any = None

    # The following fields apply only to `batch` and `all_pairs`.

    # int64 array or None; vertices of the answer's columns, in order; None means all vertices. A
    # search may stop once all of them are settled
    columns: Any = None
    # C-contiguous array of the answer's shape and dtype that the variant may fill and return
    out: Any = None
    on_device: bool = False  # on CUDA: whether the whole answer stays on the device
    # whether predecessors are requested. A variant with `predecessors=True` may return them;
    # otherwise the pass over tight edges computes them
    predecessors: bool = False
    # CUDA devices that share the rows, for variants with `devices=`; None is the current one
    devices: Sequence[int] | None = None
    # reduction of the rows. A variant with `reduces=True` then returns partial results without
    # rows, or nothing if it cannot; any other variant may return both
    reduction: RowReduction | None = None

    @property
    def whole(self) -> bool:
        """Whether a search from one source goes through the whole graph."""
        return self.limit is None and self.targets is None


class Estimate(NamedTuple):
    """Estimated time of a variant for a request."""

    # seconds on the machine of the fit, without transfers, which the chooser adds; infinite if the
    # variant must not be chosen but the reason is worth showing
    seconds: float
    reason: str  # reason as text, for `--explain`


class Chosen(NamedTuple):
    """Variant for a request, or one that later searches of the graph compare with it."""

    variant: Variant
    reason: str
    later: float = 0.0  # estimated seconds, without those that only a first search takes
    after: float = 0.0  # seconds of searches after which it may be tried


#: Signatures of a variant's solver, of its solver for sparse rows (which returns None to request
#: dense rows), and of its cost.
Solver = Callable[["Graph", Any, Any, Workspace], Answer]
Sparse = Callable[["Graph", Any, Any, Workspace], "SparseRows | None"]
Cost = Callable[["Facts", Request], Estimate | None]


def _unset(*_: Any) -> Any:
    raise NotImplementedError("a variant is registered with its function")


@dataclass(frozen=True, slots=True)
class Variant:
    """Selectable algorithm for one kind of device."""

    idea: str
    _: KW_ONLY
    device: Literal["cpu", "cuda"]
    summary: str  # one line for tables
    id: str = ""  # `idea@device`
    family: str = ""  # folder under `algorithms/`, or `prepared`
    run: Solver = field(default=_unset, repr=False)
    # `sssp` (one source), `batch` (several), `all_pairs`
    problems: Set[str] = frozenset({"sssp"})
    # {"nonnegative", "any", "equal"}; `any` accepts negative weights; `equal` runs only on graphs
    # without weights, or whose weights are all the same
    weights: WeightSupport = "nonnegative"
    options: type[Any] = NoOptions  # frozen dataclass of the options it accepts
    # origin: a key of `CITATION.cff`, and the section or algorithm name in the paper
    paper: str = ""
    section: str = ""
    # wrong by design (a paper shows its race); runs only when named, with `allow_unsafe=True`
    unsafe: bool = False
    # `(graph, request) -> True or reason`, for further restrictions
    requires: Callable[[Graph, Request], Literal[True] | str] | None = None
    predecessors: bool = False  # whether it can return predecessors
    # weight dtypes it accepts (an unweighted graph counts as int32)
    dtypes: Set[str] = _EVERY_DTYPE
    complexity: str = ""  # worst-case work, for the reference
    # `(facts, request) -> Estimate`, or None if the variant should not be chosen; called only for
    # graphs with accepted weights. A variant without a cost runs only when named
    cost: Cost | None = None
    # `(graph, request) -> bytes` of host memory that a batch needs in addition to its rows
    scratch: Callable[[Graph, Request], int] | None = None
    reduces: bool = False  # whether it can reduce the rows of a batch without materialising them
    # solver that returns only the reached entries of each row
    sparse: Sparse | None = None
    parallel: bool = False  # whether several workers share the solve from one source
    learns: bool = False  # whether it becomes faster over the searches of a graph
    one_by_one: bool = False  # whether each worker searches from one source of a batch at a time
    # whether `nearfar tune GRAPH` measures launch shapes of this variant when no method is named
    tune: bool = False
    # subset of {"host", "device"}: locations of the rows for which the variant itself divides a
    # batch over several devices. For other locations the caller divides the batch
    devices: Set[str] = frozenset()

    def available(self) -> Literal[True] | str:
        """Return True if this machine can run the variant, or the reason why not."""
        if self.device == "cuda":
            from nearfar.system.devices import runtime

            return runtime.available()
        return True

    def can_run(self, graph: Graph, request: Request) -> Literal[True] | str:
        """Return True if the variant can serve a request, or the reason why not."""
        here = self.available()
        return here if here is not True else self.fits(graph, request)

    def fits(self, graph: Graph, request: Request) -> Literal[True] | str:
        """Return the result of :meth:`can_run` without checking whether the device is available."""
        if request.problem not in self.problems:
            can = " and ".join(words for name, words in _PROBLEMS.items() if name in self.problems)
            return f"solves {can}, not {_PROBLEMS[request.problem]}"
        if self.weights == "equal" and not graph.has_equal_weights:
            return "needs a graph without weights or with equal ones"
        if self.dtypes != _EVERY_DTYPE and graph.weight_dtype.name not in self.dtypes:
            return f"does not accept {graph.weight_dtype} weights"
        if self.weights == "nonnegative" and graph.n_negative:
            return f"negative weight on edge {graph.first_negative}"
        return True if self.requires is None else self.requires(graph, request)

    def estimate(self, facts: Facts, request: Request) -> Estimate | None:
        """Estimate the time on a graph of accepted weights; None if the variant is never chosen."""
        return None if self.cost is None else self.cost(facts, request)

    def scratch_bytes(self, graph: Graph, request: Request) -> int:
        """Return an upper bound on the host memory that a batch needs in addition to its rows."""
        if self.scratch is not None:
            return self.scratch(graph, request)
        if self.device == "cuda":
            return 0  # device memory is checked when it is allocated
        return 24 * graph.n_vertices * request.threads  # queue and marks of each worker


_DEVICES = ("cpu", "cuda")
#: Index of the family in a module's name, by the folder of the module.
_FAMILY_AT = {"algorithms": 2, "papers": 3, "prepared": 1}
_priced: dict[tuple[str, str, bool], tuple[Variant, ...]] = {}
_registry: dict[str, Variant] = {}
_families: set[str] = set()
_discovered: set[tuple[str, str]] = set()  # folder and device
_discovering = threading.RLock()  # other threads wait until all variants are registered


def _registering(make: Callable[P, Variant]) -> Callable[P, Callable[[Solver], Solver]]:
    def variant(*args: P.args, **fields: P.kwargs) -> Callable[[Solver], Solver]:
        """Register the decorated function as a variant; see :class:`Variant` for the fields."""
        given = make(*args, **fields)

        def register(run: Solver) -> Solver:
            identity = f"{given.idea}@{given.device}"
            if identity in _registry:
                raise ValueError(f"variant {identity} is registered twice")
            family = getattr(run, "__module__", "")
            parts = family.split(".")
            if parts[0] == "nearfar" and parts[1] in _FAMILY_AT:
                family = parts[_FAMILY_AT[parts[1]]]
            _registry[identity] = replace(
                given,
                id=identity,
                family=family,
                run=runtime.in_turn(run) if given.device == "cuda" else run,
                problems=frozenset(given.problems),
                dtypes=frozenset(given.dtypes),
                devices=frozenset(given.devices),
            )
            _families.add(family)
            _priced.clear()
            return run

        return register

    return variant


variant = _registering(Variant)


def _discover(
    device: str | None = None,
    folders: Sequence[str] = tuple(_FAMILY_AT),
) -> None:
    """Register the variants of one kind of device, or of both.

    Folders whose variants a request does not need can be left out.
    """
    for place in _DEVICES if device is None else (device,):
        for folder in folders:
            if (folder, place) not in _discovered:
                with _discovering:
                    _import_all(folder, place)
                    _discovered.add((folder, place))


def _import_all(folder: str, place: str) -> None:
    """Import the modules of a folder that register variants of one kind of device."""
    if folder == "prepared":
        importlib.import_module(f"nearfar.prepared.variants_{place}")
    elif folder == "algorithms":
        _import_families("nearfar.algorithms", place)
    else:
        for paper in _packages("nearfar.papers"):
            _import_families(paper, place)


def _packages(name: str) -> list[str]:
    """Return the packages in a package, sorted."""
    parent = importlib.import_module(name)
    return sorted(f"{name}.{i.name}" for i in pkgutil.iter_modules(parent.__path__) if i.ispkg)


def _import_families(parent: str, place: str) -> None:
    for family in _packages(parent):
        package = importlib.import_module(family)
        if place in {info.name for info in pkgutil.iter_modules(package.__path__)}:
            importlib.import_module(f"{family}.{place}")


def variants(
    *, device: str | None = None, problem: str | None = None, unsafe: bool = False
) -> list[Variant]:
    """Return all registered variants, sorted by family and id; unsafe ones only on request."""
    _discover(device)
    return _registered(device, problem, unsafe)


def _registered(device: str | None, problem: str | None, unsafe: bool) -> list[Variant]:
    found = [
        v
        for v in tuple(_registry.values())
        if (unsafe or not v.unsafe)
        and (device is None or v.device == device)
        and (problem is None or problem in v.problems)
    ]
    return sorted(found, key=lambda v: (v.family, v.id))


def registered(identity: str) -> Variant | None:
    """Return the variant with this id, or None."""
    _discover()
    return _registry.get(identity)


def priced(device: str, problem: str) -> tuple[Variant, ...]:
    """Return the variants of a device that ``auto`` ranks for a problem: safe ones with a cost.

    For one source, variants for prepared graphs are left out until there is such a graph.
    """
    prepared = problem != "sssp" or "nearfar.prepared.prepared" in sys.modules
    key = device, problem, prepared
    found = _priced.get(key)
    if found is None:
        _discover(device, ("algorithms", "prepared") if prepared else ("algorithms",))
        known = _registered(device, problem, unsafe=False)
        _priced[key] = found = tuple(v for v in known if v.cost is not None)
    return found


def having(option: str) -> list[str]:
    """Return the ids of the variants that have an option."""
    return [v.id for v in variants() if option in v.options.__dataclass_fields__]


def ideas() -> list[str]:
    """Return the names accepted as ``method``, without the device part."""
    return sorted({v.idea for v in variants(unsafe=True)})


@functools.lru_cache(256)
def canonical_method(method: str) -> str:
    """Return the registered name of a method: ``"Bellman-Ford"`` is ``"bellman_ford"``."""
    return method.strip().lower().replace("-", "_").replace(" ", "_")


def family_of(method: str) -> str | None:
    """Return the family that ``family`` or ``family@device`` names, None for one variant."""
    _discover()
    name, _, at = canonical_method(method).partition("@")
    at = "cuda" if at == "gpu" else at
    if any(f"{name}@{device}" in _registry for device in ((at,) if at else _DEVICES)):
        return None
    return name if name in _families else None


def find(method: str, device: str = "auto", *, allow_unsafe: bool = False) -> list[Variant]:
    """Return the variants of ``method`` and ``device``: ``idea@device``, ``idea`` or a family.

    Case is ignored, and hyphens are read as underscores.
    """
    idea, _, at = canonical_method(method).partition("@")
    at, device = "cuda" if at == "gpu" else at, canonical_device(device)
    if at and device not in ("auto", at):
        raise OptionError(f"method {quoted(method)} names {at}, but device is {quoted(device)}")
    wanted = at or device
    places = _DEVICES if wanted == "auto" else (wanted,)
    ids = [f"{idea}@{place}" for place in places]
    _discover(wanted if wanted in _DEVICES else None, ("algorithms",))
    if not all(identity in _registry for identity in ids):
        _discover()
    found = [_registry[identity] for identity in ids if identity in _registry]
    if not found:
        found = [
            v
            for v in _registry.values()
            if v.family == idea and not v.unsafe and v.device in places
        ]
    if not found:
        known = _registry if "@" in method else {"auto", *_families, *ideas()}
        hint = did_you_mean(canonical_method(method), sorted(known), 3, 0.5)
        raise OptionError(
            f"no method {quoted(method)}{hint or ':'} `nearfar methods` lists them all"
        )
    if not allow_unsafe and all(v.unsafe for v in found):
        raise VariantUnavailable(
            f"{found[0].id} is wrong by design ({found[0].summary}): "
            f"pass {keyword('allow_unsafe', True)} to run it"
        )
    return sorted((v for v in found if allow_unsafe or not v.unsafe), key=lambda v: v.device)
