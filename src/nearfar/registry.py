"""The variants: what each can do, and where to find them all.

Tests, docs tables, command-line choices and benchmarks iterate over this registry. Adding a variant
touches its family's folder and nothing else: the folder's ``cpu.py`` and ``cuda.py`` are imported
on first use and register with the decorator.
"""

from __future__ import annotations

import importlib
import pkgutil
import sys
import threading
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Literal, NamedTuple, Protocol

from nearfar.errors import OptionError, VariantUnavailable, did_you_mean, keyword, quoted
from nearfar.graph.slots import Slot
from nearfar.options import NoOptions, canonical_device

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from nearfar.graph.facts import Facts
    from nearfar.graph.graph import Graph

__all__ = [
    "CHOICES",
    "FIGURES",
    "UNADDED",
    "Answer",
    "Declined",
    "Estimate",
    "Partial",
    "Request",
    "RowReduction",
    "SparseRows",
    "Variant",
    "Workspace",
    "canonical_method",
    "find",
    "having",
    "ideas",
    "is_family",
    "priced",
    "variant",
    "variants",
]

_EVERY_DTYPE = frozenset({"int32", "int64", "float32", "float64"})
#: Problems in words.
_PROBLEMS = {"sssp": "one source", "batch": "several sources", "all_pairs": "all pairs"}
#: What the chooser took for a graph, and why, by what was asked for. A variant that lays out
#: something on a graph which makes other choices better drops them.
CHOICES: Slot[tuple[Variant, str]] = Slot("choices")
#: Kinds of reductions that need no sums of distances, and with these all that read nothing else of
#: a row than how many distances count, their sum and the greatest.
UNADDED = ("count", "max")
FIGURES = (*UNADDED, "sum", "mean", "summary")
Problem = Literal["sssp", "batch", "all_pairs"]
WeightSupport = Literal["nonnegative", "any", "unweighted"]


class Declined(Exception):
    """A variant sees while it runs that it should not serve this graph: another one is taken.

    Raised before anything is written, with the reason; from then on its cost is infinite.
    """


@dataclass(slots=True)
class Answer:
    """What a variant returns.

    Attributes
    ----------
    distances : array
        Shape ``(n,)`` for one source, ``(k, n)`` for several; dtype of the weights (int32 when
        there are none); unreached is inf or the dtype's maximum. Sums saturate at that value.
    stats : dict
        Counters of the run (``iterations``, ``edges_relaxed``, ``delta``, ...) and, with
        ``stats="full"``, arrays with one entry per iteration.
    predecessors : array or None
        Only from variants whose registration says ``predecessors=True``; the others leave it to the
        one pass over tight edges in :mod:`nearfar.answer.paths`.
    partials : list of Partial, or None
        Of the reduction that the workspace asks for, of consecutive rows. The rows themselves may
        be there too, or None.
    masked : bool
        Whether what lies beyond the workspace's limit is unreached already.
    """

    distances: Any
    stats: dict[str, Any] = field(default_factory=dict)
    predecessors: Any = None
    partials: list[Partial] | None = None
    masked: bool = False


@dataclass(frozen=True, slots=True)
class Partial:
    """A reduction of some columns of consecutive rows, one entry per row.

    :class:`nearfar.solve.reductions.Reduction` joins those of other columns, and finishes them. It
    reads the first three, the bins, or the last two. Counts and what goes with them are on the
    host, the others where they were made.

    Attributes
    ----------
    counts : int64 array, shape (k,), or None
        Distances that count.
    totals : float64 array, shape (k,), or None
        Their sums, or those of their inverses; integers are added exactly. The order in which
        floats are added is that of whole rows, so that sums of parts are not added.
    most : array, shape (k,), or None
        The greatest distance; anything where none counts.
    bins : int64 array, shape (k, bins), or None
        Of a histogram.
    vertices : int64 array, shape (k, nearest), or None
        The nearest, then -1.
    distances : array of that shape, or None
        Theirs, then unreached.
    """

    counts: Any = None
    totals: Any = None
    most: Any = None
    bins: Any = None
    vertices: Any = None
    distances: Any = None


#: Rows of which the reached entries alone are kept: int64 offsets of each row and the end, vertices
#: and distances in order of distance, then of the vertex, and counters of the run.
SparseRows = tuple[Any, Any, Any, dict[str, Any]]


class RowReduction(Protocol):
    """What to keep of a row: :class:`nearfar.solve.Reduction` as variants see it."""

    @property
    def kind(self) -> str:
        """Its name."""

    @property
    def k(self) -> int:
        """How many of the nearest; 0 for other kinds."""

    @property
    def edges(self) -> tuple[float, ...]:
        """Of the bins of a histogram; empty for other kinds."""


@dataclass(frozen=True, slots=True)
class Request:
    """One checked request, as ``can_run``, the costs and the chooser see it.

    ``once`` says that the graph was made for this request alone: no later one repays what a variant
    lays out for itself. ``comes_back`` says that rows made on a device are wanted on the host,
    ``sparse`` that of each row only what is reached is kept.
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
    """What a run may use besides graph, source and options.

    Attributes
    ----------
    threads : int
        Workers that a CPU variant may use, at least 1.
    limit : float or None
        Inclusive: vertices farther than this may be left unreached (the caller masks them anyway).
    targets : int array or None
        The run may stop once all of these are settled; the caller masks what is farther.
    stats : {"basic", "full"}
        Whether to record arrays with one entry per iteration.
    columns : int64 array or None
        Only for ``batch`` and ``all_pairs``: the answer has these columns, in this order, instead
        of one for every vertex; a search may stop once all of them are settled.
    out : array or None
        Only for ``batch`` and ``all_pairs``: C-contiguous memory of the answer's shape and dtype
        that the variant may write to and return.
    on_device : bool
        Only for ``batch`` and ``all_pairs`` on CUDA: the answer is to stay on the device whole.
    predecessors : bool
        Only for ``batch`` and ``all_pairs``: the caller wants them. A variant registered with
        ``predecessors=True`` may return them; one that does not leaves them to the pass over tight
        edges.
    devices : sequence of int or None
        Only for ``batch`` and ``all_pairs``, of variants registered with ``devices=``: the CUDA
        devices that share the rows. None: the current one.
    reduction : RowReduction or None
        Only for ``batch`` and ``all_pairs``: all that is kept of the rows. A variant registered
        with ``reduces=True`` then answers with partial results and without rows, or with neither
        where it needs rows; any other may answer with partial results beside its rows.
    """

    threads: int = 1
    limit: float | None = None
    targets: Any = None
    stats: Literal["basic", "full"] = "basic"
    columns: Any = None
    out: Any = None
    on_device: bool = False
    predecessors: bool = False
    devices: Sequence[int] | None = None
    reduction: RowReduction | None = None


class Estimate(NamedTuple):
    """What a variant would take for a request.

    Attributes
    ----------
    seconds : float
        On the machine that its formula was fitted on, the graph lying where the variant wants it:
        the chooser adds the way to a device and back, and scales by what was measured here.
        Infinite where the variant is never the one to take, for a reason worth telling.
    reason : str
        In words, for ``--explain``.
    """

    seconds: float
    reason: str


class Solver(Protocol):
    """Signature of a variant's function."""

    def __call__(
        self, graph: Graph, sources: Any, options: Any, workspace: Workspace, /
    ) -> Answer: ...


class Sparse(Protocol):
    """Signature of a variant's sparse rows, without rows of n entries; None: make dense ones."""

    def __call__(
        self, graph: Graph, sources: Any, options: Any, workspace: Workspace, /
    ) -> SparseRows | None: ...


class Cost(Protocol):
    """Signature of a variant's cost."""

    def __call__(self, facts: Facts, request: Request, /) -> Estimate | None: ...


@dataclass(frozen=True, slots=True)
class Variant:
    """One selectable algorithm on one kind of device.

    Attributes
    ----------
    id : str
        ``idea@device``.
    family : str
        Folder under ``algorithms/``, or ``prepared``.
    problems : frozenset of str
        ``sssp`` (one source), ``batch`` (several), ``all_pairs``.
    weights : {"nonnegative", "any", "unweighted"}
        ``any`` accepts negative weights; ``unweighted`` runs only on graphs without weights.
    options : type
        Frozen dataclass of what it accepts.
    paper, section : str
        Where it comes from: a key of ``CITATION.cff`` and the paper's own section or algorithm
        name.
    summary : str
        One line for tables.
    unsafe : bool
        Wrong by design (a paper shows its race); runs only when asked for by name with
        ``allow_unsafe=True``.
    requires : callable or None
        ``(graph, request) -> True or reason`` for limits of its own.
    predecessors : bool
        Whether it can return predecessors itself.
    dtypes : frozenset of str
        Weight dtypes it accepts (an unweighted graph counts as int32).
    complexity : str
        Worst-case work, for the reference.
    cost : callable or None
        ``(facts, request) -> Estimate``, or None where the variant is never the one to take. It is
        called for graphs whose weights the variant accepts. A variant without a cost runs only when
        named: ``auto`` does not rank it.
    scratch : callable or None
        ``(graph, request) -> bytes`` of host memory that a batch takes besides its rows.
    reduces : bool
        Whether it can reduce the rows of a batch without making them.
    sparse : callable or None
        Returns the reached entries of each row without making the row.
    parallel : bool
        Whether several workers share the solve from one source.
    tune : bool
        Whether ``nearfar tune GRAPH`` measures launch shapes of this one when no method is named.
    devices : frozenset of {"host", "device"}
        Where the rows may lie of a batch that it shares over several devices itself. On ``device``
        each can write to the memory of the one that holds them. Otherwise the pipe cuts the rows.
    """

    id: str
    idea: str
    device: Literal["cpu", "cuda"]
    family: str
    run: Solver
    problems: frozenset[str]
    weights: WeightSupport
    options: type[Any]
    paper: str
    section: str
    summary: str
    unsafe: bool = False
    requires: Callable[[Graph, Request], Literal[True] | str] | None = None
    predecessors: bool = False
    dtypes: frozenset[str] = _EVERY_DTYPE
    complexity: str = ""
    cost: Cost | None = None
    scratch: Callable[[Graph, Request], int] | None = None
    reduces: bool = False
    sparse: Sparse | None = None
    parallel: bool = False
    tune: bool = False
    devices: frozenset[str] = frozenset()

    def available(self) -> Literal[True] | str:
        """Whether this machine can run it at all: True, or the reason in words."""
        if self.device == "cuda":
            from nearfar.system.devices import runtime

            return runtime.available()
        return True

    def can_run(self, graph: Graph, request: Request) -> Literal[True] | str:
        """Whether it can serve this request: True, or the reason in words."""
        here = self.available()
        return here if here is not True else self.fits(graph, request)

    def fits(self, graph: Graph, request: Request) -> Literal[True] | str:
        """Like :meth:`can_run`, without asking whether the device is there."""
        if request.problem not in self.problems:
            can = " and ".join(words for name, words in _PROBLEMS.items() if name in self.problems)
            return f"solves {can}, not {_PROBLEMS[request.problem]}"
        if self.weights == "unweighted" and graph.is_weighted:
            return "needs a graph without weights"
        if self.dtypes != _EVERY_DTYPE and graph.weight_dtype.name not in self.dtypes:
            return f"does not take {graph.weight_dtype} weights"
        if self.weights == "nonnegative" and graph.n_negative:
            return f"negative weight on edge {graph.first_negative}"
        return True if self.requires is None else self.requires(graph, request)

    def estimate(self, facts: Facts, request: Request) -> Estimate | None:
        """What it would take on a graph whose weights it accepts; None where it is never chosen."""
        return None if self.cost is None else self.cost(facts, request)

    def scratch_bytes(self, graph: Graph, request: Request) -> int:
        """Host memory that a batch takes besides its rows, roughly and not too little."""
        if self.scratch is not None:
            return self.scratch(graph, request)
        if self.device == "cuda":
            return 0  # the device's memory is asked for where it is taken
        return 24 * graph.n_vertices * request.threads  # a queue and marks for each worker


_DEVICES = ("cpu", "cuda")
#: Which part of a module's name is the family of its variants, by the folder that they lie in.
_FAMILY_AT = {"algorithms": 2, "papers": 3, "prepared": 1}
_priced: dict[tuple[str, str, bool], tuple[Variant, ...]] = {}
_registry: dict[str, Variant] = {}
_families: set[str] = set()
_discovered: set[tuple[str, str]] = set()  # folder and device
_discovering = threading.RLock()  # one thread imports, the others wait until all is registered


def variant(
    idea: str,
    *,
    device: Literal["cpu", "cuda"],
    summary: str,
    problems: set[str] | frozenset[str] = frozenset({"sssp"}),
    weights: WeightSupport = "nonnegative",
    options: type[Any] = NoOptions,
    paper: str = "",
    section: str = "",
    unsafe: bool = False,
    requires: Callable[[Graph, Request], Literal[True] | str] | None = None,
    predecessors: bool = False,
    dtypes: set[str] | frozenset[str] = _EVERY_DTYPE,
    complexity: str = "",
    cost: Cost | None = None,
    scratch: Callable[[Graph, Request], int] | None = None,
    reduces: bool = False,
    sparse: Sparse | None = None,
    parallel: bool = False,
    tune: bool = False,
    devices: set[str] | frozenset[str] = frozenset(),
) -> Callable[[Solver], Solver]:
    """Register the decorated function as a variant; see :class:`Variant` for the fields."""

    def register(run: Solver) -> Solver:
        identity = f"{idea}@{device}"
        if identity in _registry:
            raise ValueError(f"variant {identity} is registered twice")
        module = getattr(run, "__module__", "")
        parts = module.split(".")
        family = module
        if parts[0] == "nearfar" and parts[1] in _FAMILY_AT:
            family = parts[_FAMILY_AT[parts[1]]]
        _registry[identity] = Variant(
            id=identity,
            idea=idea,
            device=device,
            family=family,
            run=run,
            problems=frozenset(problems),
            weights=weights,
            options=options,
            paper=paper,
            section=section,
            summary=summary,
            unsafe=unsafe,
            requires=requires,
            predecessors=predecessors,
            dtypes=frozenset(dtypes),
            complexity=complexity,
            cost=cost,
            scratch=scratch,
            reduces=reduces,
            sparse=sparse,
            parallel=parallel,
            tune=tune,
            devices=frozenset(devices),
        )
        _families.add(family)
        _priced.clear()
        return run

    return register


def _discover(
    device: str | None = None,
    folders: Sequence[str] = tuple(_FAMILY_AT),
) -> None:
    """Register the variants of one kind of device, or of both: a run on the other needs none.

    Those of folders that a request has no use for can be left out.
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
    """The packages in a package, sorted."""
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
    """All registered variants, sorted by family and id; unsafe ones only when asked for."""
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
    """The variant with this id, or None."""
    _discover()
    return _registry.get(identity)


def priced(device: str, problem: str) -> tuple[Variant, ...]:
    """The variants of a device that ``auto`` ranks for a problem: safe ones that state a cost.

    For one source those of prepared graphs are left out until there is such a graph.
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
    """Ids of the variants that have an option."""
    return [v.id for v in variants() if option in v.options.__dataclass_fields__]


def ideas() -> list[str]:
    """Names accepted as ``method``, without the device part."""
    return sorted({v.idea for v in variants(unsafe=True)})


def canonical_method(method: str) -> str:
    """A method's name as it is registered: ``"Bellman-Ford"`` is ``"bellman_ford"``."""
    return method.strip().lower().replace("-", "_").replace(" ", "_")


def is_family(method: str) -> bool:
    """Whether a name is a family's and no idea's: its forms are then ranked for the graph."""
    _discover()
    name = canonical_method(method)
    if "@" in name or any(f"{name}@{device}" in _registry for device in _DEVICES):
        return False
    return name in _families


def find(method: str, device: str = "auto", *, allow_unsafe: bool = False) -> list[Variant]:
    """Variants that a user's ``method`` and ``device`` mean: ``idea@device``, ``idea`` or a family.

    Upper case is lower case, and hyphens are underscores.

    Raises
    ------
    OptionError
        For a name that is not registered; the message offers the nearest.
    VariantUnavailable
        For an unsafe variant without ``allow_unsafe``.
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
        known = _registry if "@" in method else {*_families, *ideas()}
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
