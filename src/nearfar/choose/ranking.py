"""Ranking of the variants that can serve a request on a graph, and its explanation.

Each variant is registered with a cost function (``cost=``) of cheap statistics of the graph
(:mod:`nearfar.graph.facts`). The estimate is scaled by the speeds that ``nearfar tune`` measured on
this machine; for a GPU the transfers of the graph and of the answer are added. The cheapest variant
that can serve the request is chosen. :func:`explain` returns the whole ranking.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from typing import Any

from nearfar.choose import machine as choose_machine
from nearfar.choose import measured
from nearfar.choose.machine import Machine
from nearfar.cpu.costs import bucket_search
from nearfar.cuda.device_graph import at_hand
from nearfar.errors import VariantUnavailable
from nearfar.graph.facts import Facts, NotMeasuredError, degree_spread, share_of_edges, within
from nearfar.graph.graph import Graph
from nearfar.graph.slots import Slot
from nearfar.prepared import is_prepared
from nearfar.registry import CHOICES, Chosen, Estimate, Request, Variant, priced, variants
from nearfar.system.devices import runtime
from nearfar.system.html import table
from nearfar.system.threads import default_threads

_WORTH = 2e-3  # seconds on the CPU below which no GPU is considered, unless one is in use
_CALL = 2e-4  # the same if one is in use
_OPENING = 1.0  # the same while CuPy is loaded and the device opened
_FRESH = 1.5e-3, 6e-9  # seconds that later searches on a device save, and of these per vertex
_NEAR = 1024  # vertices within a limit that cores reach before a GPU has answered
_SPARSE = 2.5e-9  # seconds to look at an entry of a row that becomes sparse
_LARGE = 20_000  # vertices of graphs on which a call from Python per source takes little
#: Sample searches that estimate how early a request's searches stop, and their largest share of the
#: run's time.
_PROBES, _PROBED = 4, 0.05
_MEASURING = 2e-4  # seconds to measure the number of hops of a small graph
_PUT_OFF: Slot[bool] = Slot("hops not measured yet")
_CHOICES_HELD = 256  # choices cached per graph, for different requests


@dataclass(frozen=True, slots=True)
class Choice:
    """Entry of the ranking.

    Attributes
    ----------
    variant : Variant
    seconds : float
        Estimated time from the variant's cost.
    reason : str
        Reason for the estimate.
    once : float
        Part of it that only the first search of a graph on a device takes.
    """

    variant: Variant
    seconds: float
    reason: str
    once: float = 0.0


@dataclass(frozen=True, slots=True)
class Explanation:
    """Ranking of the variants for a request, and reasons for the excluded ones.

    Attributes
    ----------
    ranking : list of Choice
        Variants that can serve the request, cheapest first; ``auto`` runs the first.
    others : dict of str to str
        Reason why each of the other variants is excluded.
    elsewhere : dict of str to str
        Estimated time on the GPU of the cost models, for variants that would run if there were a
        GPU.
    statistics : dict
        Statistics that the models use; for a prepared graph also its components.
    machines : dict
        ``cpu`` and, with a GPU, ``cuda``: ``"defaults"`` or the date of the measurement.
    """

    ranking: list[Choice]
    others: dict[str, str]
    statistics: dict[str, Any]
    machines: dict[str, str]
    elsewhere: dict[str, str] = field(default_factory=dict)

    def reason(self, name: str) -> str:
        """Return the reason why a variant is excluded, with its estimated time on a GPU."""
        return " - ".join(filter(None, (self.others[name], self.elsewhere.get(name))))

    @property
    def made_of(self) -> str | None:
        """Description of the components of a prepared graph; None for other graphs."""
        made = self.statistics.get("prepared")
        if made is None:
            return None
        up, down = made["n_query_arcs"]
        graph = made["nbytes"]["graph"]
        besides = sum(made["nbytes"].values()) - graph
        return (
            f"prepared by order {made['order']!r}: {made['n_arcs']:,} arcs, of which queries "
            f"follow {up:,} up and {down:,} down, height {made['height']:,}, "
            f"{besides / 2**20:,.1f} MiB in addition to the graph's {graph / 2**20:,.1f}"
        )

    def __str__(self) -> str:
        width = max((len(c.variant.id) for c in self.ranking), default=0)
        lines = [
            f"{place:3}. {c.variant.id:<{width}}  {c.seconds * 1e3:10.3f} ms  {c.reason}"
            for place, c in enumerate(self.ranking, start=1)
        ]
        return "\n".join(lines if self.made_of is None else [*lines, self.made_of])

    def _repr_html_(self) -> str:
        ranked = [(c.variant.id, f"{c.seconds * 1e3:.3f}", c.reason) for c in self.ranking]
        others = [(name, "", self.reason(name)) for name in self.others]
        return table("Ranking of methods", ("method", "ms", "reason"), [*ranked, *others])


def estimates(
    graph: Graph,
    request: Request,
    device: str,
    reach: float | None = None,
    *,
    every: bool = True,
) -> list[Choice]:
    """Return estimates for all variants of a device, whether or not they can run.

    Unless ``every``, omit variants whose cost needs a measurement that takes as long as the
    cheapest of the others, or, in the first choice for a graph, longer than it may save.
    """
    speeds = choose_machine.machine(device)
    facts = Facts(graph, speeds.gain, reach)
    once, moving, words = 0.0, 0.0, ""
    if device == "cuda":
        once, moving, words = _moving(graph, request, speeds)

    def listed(facts: Facts) -> list[Choice]:
        found = []
        for v in _accepting(graph, device, request.problem):
            cost = _estimate(v, facts, request)
            if cost is not None:
                seconds = once + moving + cost.seconds * speeds.factor(v.id)
                if request.sparse and v.sparse is None:
                    seconds += _SPARSE * request.n_sources * facts.n
                found.append(Choice(v, seconds, cost.reason + words, once))
        if device == "cpu" and request.problem != "sssp":
            found += _source_by_source(facts, request, speeds)
        return sorted(found, key=lambda choice: choice.seconds)

    def stated(facts: Facts) -> list[Choice]:
        if device == "cpu" and not every:
            found = listed(replace(facts, measures=False))
            if found and found[0].seconds < _MEASURING:
                return found
            if found and reach is None and not _PUT_OFF.filled(graph):
                lowest = listed(replace(facts, reach=1.0))
                if len(lowest) == len(found):  # no cost needs the measurement
                    return found
                if found[0].seconds - lowest[0].seconds < _MEASURING:
                    _PUT_OFF.put(graph, True)
                    return found
        return listed(facts)

    share = _share_within(facts, request) if device == "cpu" else None
    if share is not None:
        return stated(replace(facts, share=share))
    found = stated(facts)
    if device == "cpu" and found and (probes := _probes(facts, request, found[0].seconds)):
        share = share_of_edges(graph, probes, request.limit, request.targets)
        if share < 1:
            found = stated(replace(facts, share=share))
    return found


def _estimate(variant: Variant, facts: Facts, request: Request) -> Estimate | None:
    """Return the finite estimate of a variant, or None."""
    try:
        cost = variant.estimate(facts, request)
    except NotMeasuredError:
        return None
    return cost if cost is not None and cost.seconds < math.inf else None


def _share_within(facts: Facts, request: Request) -> float | None:
    """Return the share of the edges within the limit, if sample searches are small."""
    if request.problem == "sssp" or request.limit is None:
        return None
    if facts.graph.n_negative or not facts.m:
        return None
    reach = facts.within(request.limit, request.sources, request.n_sources)
    return None if reach is None else min(1.0, reach[1] / facts.m)


def _probes(facts: Facts, request: Request, seconds: float) -> tuple[int, ...]:
    """Return sources to sample for early stops, if the samples are a small part of the run.

    ``seconds`` is the lowest estimate for searches that do not stop early.
    """
    if request.problem == "sssp" or (request.limit is None and request.targets is None):
        return ()
    step = -(-len(request.sources) // _PROBES)
    sources = request.sources[step // 2 :: step]
    whole = len(sources) * bucket_search(facts)
    return sources if whole < _PROBED * seconds else ()


def _accepting(graph: Graph, device: str, problem: str) -> Iterator[Variant]:
    """Yield the variants with a cost that accept the graph's weights."""
    negative, equal = graph.n_negative > 0, graph.has_equal_weights
    for v in priced(device, problem):
        if not ((negative and v.weights == "nonnegative") or (v.weights == "equal" and not equal)):
            yield v


def _moving(graph: Graph, request: Request, speeds: Machine) -> tuple[float, float, str]:
    """Return the seconds to copy the graph, those of a call and its answer, and a description."""
    n, size = graph.n_vertices, 8 * graph.n_edges + 8 * graph.n_vertices
    bring = 0.0
    if not at_hand(graph):
        bring = size / speeds.transfer
        if request.problem == "sssp" or request.once:  # others are not compared later
            bring += _FRESH[0] + _FRESH[1] * graph.n_vertices
    single = request.problem == "sssp"
    width = n if single or request.targets is None else len(request.targets)
    stays = graph.on_device or not request.comes_back
    rows = 0 if stays else (1 if single else request.n_sources) * width
    back = rows * graph.weight_dtype.itemsize / speeds.transfer
    upload = f"{size / 1e6:,.0f} MB to upload, {bring * 1e3:.2f} ms the first time"
    words = upload if bring else "the graph is on the device"
    return bring, speeds.launch + back, f"; {words}"


def _source_by_source(facts: Facts, request: Request, speeds: Machine) -> Iterator[Choice]:
    """Yield single-source variants that workers can run source by source, for whole rows.

    None for columns, since batch variants stop early and reuse their memory. None for negative
    weights: batch methods refuse a negative cycle anywhere in the graph and a search only one that
    it reaches, but the result of a call must not depend on costs.
    """
    if request.targets is not None or facts.negative or facts.n <= _LARGE:
        return
    alone = request._replace(problem="sssp", n_sources=1, threads=1)
    each = request.n_sources / max(1, min(request.threads, request.n_sources))
    for v in _accepting(facts.graph, "cpu", "sssp"):
        cost = _estimate(v, facts, alone)
        if cost is not None:
            seconds = each * cost.seconds * speeds.factor(v.id)
            yield Choice(v, seconds, f"source by source: {cost.reason}")


def _can_serve(variant: Variant, graph: Graph, request: Request) -> bool:
    """Return whether a variant can run for the request, possibly source by source."""
    if request.problem not in variant.problems:
        request = request._replace(problem="sssp")
    return variant.can_run(graph, request) is True


def _candidates(graph: Graph, request: Request, every: bool = False) -> Iterator[Choice]:
    """Yield the variants that can serve the request, cheapest first, checked lazily for speed."""
    found = []
    if request.device in ("auto", "cpu"):
        found = estimates(graph, request, "cpu", every=every)
    if request.device == "cuda" or (
        request.device == "auto" and _gpu_is_worth(graph, found, every)
    ):
        on_gpu = estimates(graph, request, "cuda")
        found = sorted([*found, *on_gpu], key=lambda choice: choice.seconds)
    return (choice for choice in found if _can_serve(choice.variant, graph, request))


def _gpu_is_worth(graph: Graph, here: list[Choice], wait: bool = True) -> bool:
    """Return whether a GPU is available and possibly faster.

    Importing CuPy takes about a second and small graphs never gain, so it is not imported for them,
    and for others meanwhile, unless the caller waits. Without a device the graph's reach is not
    estimated either.
    """
    least = _CALL if runtime.in_use() else _WORTH
    if not graph.on_device and here:
        if here[0].seconds <= least:
            return False
        if not wait and here[0].seconds < _OPENING and runtime.opening():
            return False
    if runtime.available() is not True:
        return False
    # Bytes of arrays, packed edges and queues; a graph that does not fit is solved on the host.
    needed = 16 * graph.n_edges + 48 * graph.n_vertices
    return graph.on_device or needed < runtime.device().memory


def _whatever_the_reach(
    graph: Graph, request: Request, family: str | None
) -> tuple[Variant, str] | None:
    """Return the device's method that is cheapest for one hop and for a long path, or None.

    Estimating the hops of a graph on a device takes longer than most solves on it.
    """
    if request.device != "cuda":
        return None
    found = []
    for reach in (1.0, float(graph.n_vertices)):
        ranked = (choice.variant for choice in estimates(graph, request, "cuda", reach))
        fitting = (v for v in ranked if family in (None, v.family))
        found.append(next((v for v in fitting if _can_serve(v, graph, request)), None))
    if found[0] is None or found[0] is not found[1]:
        return None
    return found[0], "the cheapest on that device, for any number of hops"


def rank(graph: Graph, request: Request) -> list[Choice]:
    """Return all variants that can serve the request, cheapest first.

    Parameters
    ----------
    graph : Graph
    request : Request

    Returns
    -------
    list of Choice
    """
    return list(_candidates(graph, request, every=True))


def cheapest(graph: Graph, request: Request, family: str | None = None) -> Chosen | None:
    """Return the cheapest variant for a request, optionally of one family; cached on the graph."""
    key = (
        request.problem,
        request.device,
        request.n_sources,
        request.threads,
        _bounds(request) if request.problem != "sssp" else request.targets is None,
        request.once and not graph.has_view,
        request.comes_back,
        request.sparse,
        choose_machine.generation,
        runtime.opened,
        family,
    )
    found = CHOICES.get(graph, key)
    # Only the `requires` of a variant may depend on more of the request than the key does.
    if not found or (
        found[0].variant.requires and not _can_serve(found[0].variant, graph, request)
    ):
        if len(CHOICES.held(graph)) >= _CHOICES_HELD:
            CHOICES.drop(graph)
        again = _PUT_OFF.filled(graph)
        found = _close(graph, request, family)
        if not found:
            return None
        if _PUT_OFF.filled(graph) and not again:
            return found[0]  # the next search measures
        CHOICES.put(graph, found, key)
    if len(found) > 1 and measured.comparable(request):
        return measured.fastest(graph, request, found)
    if found[0].variant.device == "cuda" and _ends_early(graph, request):
        return cheapest(graph, request._replace(device="cpu"), family) or found[0]
    return found[0]


def _ends_early(graph: Graph, request: Request) -> bool:
    """Return whether the search of a request reaches few vertices, within a limit."""
    if request.problem != "sssp" or request.limit is None or request.device != "auto":
        return False
    if graph.n_negative:
        return False
    return within(graph, request.limit, request.sources, useful=_NEAR) is not None


def _close(graph: Graph, request: Request, family: str | None) -> tuple[Chosen, ...]:
    """Return the cheapest variant, if any, and those that later searches may compare with it."""
    found = _whatever_the_reach(graph, request, family)
    if found is not None:
        return (Chosen(*found),)
    every = family is not None  # the cheapest may be of another family
    fitting = (c for c in _candidates(graph, request, every) if family in (None, c.variant.family))
    first = next(fitting, None)
    if first is None:
        return ()
    return _rivals(request, first, iter(()) if graph.on_device else fitting)


def _rivals(request: Request, first: Choice, others: Iterator[Choice]) -> tuple[Chosen, ...]:
    """Return the first method, those close to it, and those of the other kind of device.

    The latter, and all others for many sources, are tried once searches have taken as long as
    trying them will, if they are close to the measured time.
    """
    many = request.problem != "sssp"
    if (request.device == "cuda" and not many) or first.seconds < measured.SHORT:
        return (Chosen(first.variant, first.reason),)
    found: dict[str, list[Chosen]] = {}
    for choice in (first, *others):
        there, later = choice.variant.device, choice.seconds - choice.once
        on_it = found.setdefault(there, [])
        fits = request.threads > 1 or not choice.variant.parallel or choice is first
        if on_it and not many:
            fits = fits and there == "cpu" and later <= measured.CLOSE * on_it[0].later
        if fits and len(on_it) < measured.MOST:
            waits = choice is not first if many else there != first.variant.device
            after = choice.once + measured.RUNS * later if waits else 0.0
            on_it.append(Chosen(choice.variant, choice.reason, later, after))
    return tuple(chosen for on_it in found.values() for chosen in on_it)


def _bounds(request: Request) -> Any:
    """Return a key of the limit and targets of many sources; None for whole rows."""
    targets = request.targets
    if request.limit is None and targets is None:
        return None
    if targets is None:
        return request.limit, request.sources
    some = tuple(targets[:: max(1, len(targets) // _PROBES)].tolist())
    return request.limit, request.sources, len(targets), some


def best(graph: Graph, request: Request) -> tuple[Variant, str]:
    """Return the cheapest variant for a request.

    Parameters
    ----------
    graph : Graph
    request : Request

    Returns
    -------
    variant : Variant
    reason : str
        Reason for the choice.

    Raises
    ------
    VariantUnavailable
        If none can serve the request, with the reason of each.
    """
    found = cheapest(graph, request)
    if found is not None:
        return found.variant, found.reason
    if request.device == "cuda":
        missing = runtime.available()
        if missing is not True:  # the same reason for all variants
            raise VariantUnavailable(missing)
    refused = [
        f"{v.id}: {v.can_run(graph, request)}"
        for v in variants(problem=request.problem)
        if request.device in ("auto", v.device)
    ]
    raise VariantUnavailable("no method can serve this request: " + "; ".join(refused[:5]))


def _without_device(graph: Graph, request: Request, names: set[str]) -> dict[str, str]:
    """Return estimates on the models' GPU for the CUDA variants that lack only a GPU."""
    missing = runtime.available()
    if missing is True:
        return {}
    found = {}
    for choice in estimates(graph, request, "cuda"):
        name, would = choice.variant.id, f"an H200 would take about {choice.seconds * 1e3:.3g} ms"
        try:
            fits = choice.variant.fits(graph, request)
        except VariantUnavailable:  # whether the graph fits depends on the device
            continue
        if name in names and fits is True:
            found[name] = f"{would}: {choice.reason}"
    return found


def _statistics(graph: Graph) -> dict[str, Any]:
    """Return the statistics that the costs use, as plain data."""
    facts = Facts(graph)
    made = {"prepared": graph.describe_preparation()} if is_prepared(graph) else {}
    return {
        **made,
        "vertices": facts.n,
        "edges": facts.m,
        "mean_degree": facts.degree,
        "degree_spread": degree_spread(graph),
        "weight_spread": facts.weight_spread,
        "estimated_hops": facts.hops,
        "negative_edges": graph.n_negative,
        "weights": graph.weight_dtype.name if graph.is_weighted else "none",
        "on_device": at_hand(graph),
    }


def explain(graph: Graph, request: Request | None = None, **fields: Any) -> Explanation:
    """Rank the variants for a request, with the reasons why others are excluded.

    Parameters
    ----------
    graph : Graph
    request : Request or None
        None builds one from the fields.
    **fields
        Fields of :class:`nearfar.registry.Request`: ``problem`` (``"sssp"``, ``"batch"``,
        ``"all_pairs"``), ``n_sources``, ``device``, ``threads`` (all cores of this process), ...

    Returns
    -------
    Explanation

    Examples
    --------
    >>> from nearfar import Graph
    >>> found = explain(Graph.from_edges([0, 1], [1, 2], [4, 5]), device="cpu", threads=1)
    >>> found.ranking[0].variant.device
    'cpu'
    >>> found.others["breadth_first@cpu"]
    'needs a graph without weights or with equal ones'
    """
    if request is None:
        request = Request(**{"threads": default_threads(), **fields})
    ranking = rank(graph, request)
    ranked = {choice.variant.id for choice in ranking}
    gpu = any(choice.variant.device == "cuda" for choice in ranking)
    facts = Facts(graph, choose_machine.machine("cpu").gain)
    others = {}
    for v in variants(problem=request.problem):
        if v.id in ranked:
            continue
        answer = v.can_run(graph, request)
        if request.device not in ("auto", v.device):
            answer = f"the request is for device {request.device}"
        elif answer is True and v.cost is None:
            answer = "never chosen: a research variant"
        elif answer is True and v.device == "cuda" and not gpu:
            answer = f"the CPU takes less than {_WORTH * 1e3:.0f} ms: no GPU was considered"
        elif answer is True:
            cost = v.estimate(facts, request)
            answer = "never chosen for such a graph and request" if cost is None else cost.reason
        others[v.id] = str(answer)
    elsewhere = {} if request.device == "cpu" else _without_device(graph, request, set(others))
    used = {choice.variant.device for choice in ranking}
    machines = {str(d): choose_machine.machine(d).measured or "defaults" for d in sorted(used)}
    return Explanation(ranking, others, _statistics(graph), machines, elsewhere)
