"""Plans of a solve as immutable values: the graph in one dtype, a variant and its options.

An attempt that cannot answer returns the plan to try next, with the reason.
"""

from __future__ import annotations

from collections.abc import Container, Sequence
from typing import Any, Literal, NamedTuple

import numpy as np
from numpy.typing import NDArray

from nearfar.choose import measured, ranking
from nearfar.cpu.distances.predecessors import tight_predecessors
from nearfar.cuda.graph import longer_edges
from nearfar.errors import NegativeWeightError, VariantUnavailable
from nearfar.graph.facts import Facts
from nearfar.graph.graph import Graph, negative_weight
from nearfar.graph.same_distances import backbone, renumbered
from nearfar.graph.same_distances.integer_weights import INT32, MANY_EDGES, in_int32, keep_dtype
from nearfar.graph.same_distances.renumbered import Renumbered
from nearfar.graph.saturation import widest
from nearfar.options import build_options
from nearfar.prepared import is_prepared
from nearfar.registry import (
    CHOICES,
    Declined,
    Request,
    RowReduction,
    Variant,
    Workspace,
    family_of,
    find,
    having,
    variants,
)
from nearfar.solve.matrix.fresh import UNCHECKED, MatrixGraph, takes

_SEVERAL = 4  # sources from which converting the weights for them saves time
_COMPILED = 1 << 25  # edges of a search on cores that takes about as long as compiling kernels


class Plan(NamedTuple):
    """Graph, variant and options for solving a request."""

    graph: Graph  # graph with weights in the dtype of the computation
    to_search: Graph  # the graph itself, or the same without edges that are longer than a path
    timed: Graph  # the graph with which the times of searches are stored that decide on the variant
    request: Request
    method: str  # method named by the caller
    options: dict[str, Any]  # options given by the caller
    allow_unsafe: bool
    devices: Sequence[int] | None  # devices over which the variant shares the rows of a block
    single: bool  # whether the request has one source; its search may stop at the targets
    columns: NDArray[np.int64] | None  # targets of many sources; None means every vertex
    dtype: np.dtype[Any]  # dtype of the answer, if every distance in it fits
    variant: Variant
    reason: str  # reason for the choice of the variant
    settings: Any  # options object of the variant
    given: Graph | None = None  # the graph as given, if `graph` has its weights in int32
    near: Renumbered | None = None  # the graph to search with other numbers
    compares: bool = False  # whether times of searches decide about the numbers
    spends: bool = False  # whether they decide when to look for longer edges, on the CPU
    in_turns: bool = False  # whether they decide about these edges on a GPU
    keep: bool = False  # whether rows stay on the device
    reduction: RowReduction | None = None  # quantity kept of each row
    memory: int | None = None  # bytes that the caller allows

    @property
    def by_source(self) -> bool:
        """Whether the variant is for a single source, so that several are solved one by one."""
        return "sssp" in self.variant.problems

    @property
    def on_device(self) -> bool:
        """Whether the variant solves a batch on the device."""
        return self.variant.device == "cuda" and not self.by_source

    @property
    def waits_on_cores(self) -> bool:
        """Whether cores search while kernels of the variant are compiled."""
        asked = self.request.device == "auto" == self.method and not self.options
        if not asked or self.variant.device != "cuda" or self.graph.on_device:
            return False
        rounds = 1.0 if self.single else self.request.n_sources / self.request.threads
        return self.graph.n_edges * rounds < _COMPILED

    @property
    def signed(self) -> bool:
        """Whether an additional edge can shorten a path."""
        return self.variant.weights == "any" and self.graph.n_negative > 0

    def scratch_bytes(self) -> int:
        """Return an upper bound on the bytes that the variant needs in addition to the rows."""
        return self.variant.scratch_bytes(self.graph, self.request)

    def using(self, variant: Variant, reason: str, options: dict[str, Any] | None = None) -> Plan:
        """Return a plan with another variant, by default with the caller's options."""
        given = self.options if options is None else options
        settings = build_options(variant.options, given, variant.id, having)
        plan = self._replace(variant=variant, reason=reason, options=given, settings=settings)
        if self.in_turns:
            plan = plan._replace(to_search=self.graph, in_turns=False)
        compares = _compares_numbers(plan.to_search, plan.request, plan.method, variant)
        spends = self.spends and variant.device == "cpu"
        return plan._replace(near=None, compares=compares, spends=spends)

    def wider(self) -> Plan:
        """Return a plan that computes in 64 bits."""
        graph = widest(self.graph)
        plan = self._replace(graph=graph, to_search=graph, timed=graph, near=None)
        return plan._replace(spends=False, in_turns=False)

    def as_given(self) -> Plan:
        """Return a plan that computes with the weights as given, from now on."""
        assert self.given is not None
        graph = self.given
        keep_dtype(graph)
        plan = self._replace(graph=graph, to_search=graph, timed=graph, given=None)
        plan = plan._replace(spends=False, in_turns=False)
        return plan.using(*_choice(graph, self.request, self.method, self.allow_unsafe))

    def searched(self, why: str, **request: Any) -> Plan:
        """Return a plan that searches source by source, with ``why`` as the reason."""
        single = self.request._replace(problem="sssp", **request)
        chosen, reason = select(self.graph, single, "auto")
        return self.using(chosen, f"{self.reason}; {why}: {reason}", {})

    def meanwhile(self, compiling: Container[object]) -> Plan:
        """Return a plan while kernels of some variants are compiled.

        It is for cores, unless runs of the graph found another variant for a GPU to be faster.
        """
        known = (v for v in measured.by_time(self.timed, self.request) if v not in compiling)
        if (name := next(known, None)) is not None and (fastest := find(name)[0]).device == "cuda":
            reason = f"the fastest measured; kernels of {self.variant.id} are compiled meanwhile"
            return self.using(fastest, reason)
        here = self.request._replace(device="cpu")
        chosen, reason = _choice(self.graph, here, "auto", self.allow_unsafe)
        plan = self.using(chosen, f"{reason}; kernels for a GPU are compiled meanwhile")
        return plan if self.memory is None else plan.within(self.memory)

    def without(self, declined: Declined) -> Plan:
        """Return a plan with another variant, after the current one declined."""
        if self.method != "auto":
            raise VariantUnavailable(f"{self.variant.id}: {declined}") from declined
        if isinstance(self.graph, MatrixGraph):
            self.graph.check()  # raises if the method is unknown
        for key, found in CHOICES.held(self.timed).items():
            CHOICES.put(self.timed, found[:1], key)  # it would be compared again
        return self.using(*_choice(self.graph, self.request, "auto", self.allow_unsafe))

    def within(self, memory: int) -> Plan:
        """Return a plan whose variant and number of workers need at most half of the memory."""
        plan = self._replace(memory=memory)
        if plan.variant.device != "cpu" or is_prepared(plan.graph):
            return plan
        if plan.method == "auto" and plan.scratch_bytes() > memory // 2:
            for choice in ranking.rank(plan.graph, plan.request):
                if choice.variant.scratch_bytes(plan.graph, plan.request) <= memory // 2:
                    plan = plan.using(choice.variant, f"{choice.reason}; others need more memory")
                    break
        while plan.request.threads > 1 and plan.scratch_bytes() > memory // 2:
            request = plan.request._replace(threads=plan.request.threads // 2)
            reason = f"{plan.reason}; memory suffices for {request.threads} workers"
            plan = plan._replace(request=request, reason=reason)
        return plan


def first_plan(
    graph: Graph,
    request: Request,
    method: str,
    options: dict[str, Any],
    *,
    allow_unsafe: bool = False,
    devices: Sequence[int] | None = None,
    narrow: bool = True,
    shorter: bool = True,
) -> Plan:
    """Return the initial plan of a request.

    ``narrow``: it may be solved in int32 and with other numbers. ``shorter``: longer edges may be
    left out.
    """
    dtype, given, near, compares = graph.weight_dtype, None, None, False
    in_turns = False
    plain = method == "auto" and not options
    bare = plain and isinstance(graph, MatrixGraph) and takes(graph, request)
    if plain and narrow and not bare and graph.n_edges >= MANY_EDGES:
        before = graph
        graph = in_int32_if_faster(graph, request)
        given = None if graph is before else before
    to_search, spends = graph, False
    shorter = plain and shorter and not bare and graph.n_edges >= backbone.MANY_EDGES
    if shorter and request.device != "cuda":
        to_search, spends = _without_longer_edges(graph, request)
    timed = to_search
    if bare:
        variant, reason = UNCHECKED, "one search of a matrix, whose edges are checked on the way"
    else:
        variant, reason = _choice(to_search, request, method, allow_unsafe)
        there = variant.device == "cuda"
        if there and to_search is not graph and variant.can_run(graph, request) is not True:
            here = request._replace(device="cpu")  # all edges do not fit
            variant, reason = _choice(to_search, here, method, allow_unsafe)
        if variant.device == "cuda":
            to_search, spends = graph, False  # a device leaves out edges by itself
            in_turns = shorter and _whole_rows(request) and not is_prepared(graph)
            if in_turns:
                to_search = _without_longer_on_device(graph, request, variant)
        compares = _compares_numbers(to_search, request, method, variant)
        if compares and plain and narrow:
            near = renumbered.for_next(to_search, kind_of(request), request.threads)
    if to_search is not graph:
        reason += "; without edges that are longer than a path"
    if near is not None:
        if request.problem == "sssp":
            here = request._replace(device="cpu")
            variant, reason = _choice(near.graph, here, method, allow_unsafe)
        reason += "; vertices renumbered, neighbours close to each other"
    if given is not None:
        reason += "; integer weights, solved in int32"
    settings = build_options(variant.options, options, variant.id, having)
    single = request.problem == "sssp"
    return Plan(
        graph=graph,
        to_search=to_search,
        timed=timed,
        request=request,
        method=method,
        options=options,
        allow_unsafe=allow_unsafe,
        devices=devices,
        single=single,
        columns=None if single else request.targets,
        dtype=dtype,
        variant=variant,
        reason=reason,
        settings=settings,
        given=given,
        near=near,
        compares=compares,
        spends=spends,
        in_turns=in_turns,
    )


def _whole_rows(request: Request) -> bool:
    """Return whether a request searches the whole graph, and may not be the only one."""
    if request.problem == "sssp":
        return measured.comparable(request)
    return request.limit is None


def _without_longer_edges(graph: Graph, request: Request) -> tuple[Graph, bool]:
    """Return the graph in which to search, and whether times of searches decide about others."""
    several = 0 if request.problem == "sssp" else request.n_sources
    if (request.once and not several) or is_prepared(graph):
        return graph, False
    found = backbone.for_next(graph, several, request.threads, search_once)
    return found, backbone.waits(graph)


def _without_longer_on_device(graph: Graph, request: Request, variant: Variant) -> Graph:
    """Return the graph in which a GPU searches."""
    if request.problem == "sssp":
        return longer_edges.for_next(graph, search_on_device)
    estimate = variant.estimate(Facts(graph), request)
    seconds = 0.0 if estimate is None else estimate.seconds
    return longer_edges.for_next(graph, search_on_device, seconds)


def graph_to_search(graph: Graph, threads: int) -> Graph:
    """Return a graph with the same distances for a search without a plan."""
    if graph.n_edges < backbone.MANY_EDGES or is_prepared(graph):
        return graph
    return backbone.for_next(graph, 0, threads, search_once)


def search_once(graph: Graph, source: int, threads: int, tree: bool) -> backbone.Tree:
    """Search a graph on cores from one source, which does not count among those of a caller."""
    distances = _searched(graph, source, "cpu", threads)
    if not tree:
        return distances, None
    return distances, tight_predecessors(graph, [source], distances, threads=threads)


def search_on_device(graph: Graph, source: int) -> Any:
    """Search a graph on a GPU from one source, and leave the distances on it."""
    return _searched(graph, source, "cuda", 1)


def _searched(graph: Graph, source: int, device: Literal["cpu", "cuda"], threads: int) -> Any:
    """Return the distances that the best variant of a device finds."""
    request = Request(sources=(source,), device=device, threads=threads)
    variant, _ = ranking.best(graph, request)
    settings = build_options(variant.options, {}, variant.id, having)
    return variant.run(graph, source, settings, Workspace(threads)).distances


def _compares_numbers(graph: Graph, request: Request, method: str, variant: Variant) -> bool:
    """Return whether searches for a request compare the numbers of the vertices."""
    if method != "auto" or variant.device != "cpu" or not renumbered.takes(graph):
        return False
    if request.problem != "sssp":
        whole = request.limit is None and request.targets is None and not request.once
        if not whole or not variant.one_by_one:
            return False
    elif not measured.comparable(request):
        return False
    return not is_prepared(graph)


def kind_of(request: Request) -> tuple[int, bool]:
    """Return a key of the searches whose times are compared."""
    return request.threads, request.problem == "sssp"


def in_int32_if_faster(graph: Graph, request: Request) -> Graph:
    """Return the graph in int32 if that is faster from now on, else the graph itself."""
    single = request.problem == "sssp"
    # Searches that end early would take less time than the conversion of their rows.
    early = request.limit is not None or (single and request.targets is not None)
    if early or request.once or graph.weight_dtype == INT32 or is_prepared(graph):
        return graph
    if not single and request.n_sources < _SEVERAL:
        return graph
    # Cores search float32 as fast. On a GPU integers have longer shortcuts.
    here = request.device != "cuda" and not graph.on_device
    if here and single and graph.weight_dtype.itemsize == 4:
        return graph
    return in_int32(graph) or graph


def _choice(graph: Graph, request: Request, method: str, allow_unsafe: bool) -> tuple[Variant, str]:
    """Choose a variant for the request; for a batch it may be one for a single source."""
    if request.problem == "sssp":
        return select(graph, request, method, allow_unsafe=allow_unsafe)
    try:
        return select(graph, request, method)
    except (VariantUnavailable, NegativeWeightError):
        single = request._replace(problem="sssp")
        if method == "auto":  # batch methods use less than the whole range for sums
            searches = ranking.cheapest(graph, single) is not None
        else:
            searches = any("sssp" in v.problems for v in find(method, request.device))
        if not searches:
            raise
    return select(graph, single, method)


def select(
    graph: Graph, request: Request, method: str, *, allow_unsafe: bool = False
) -> tuple[Variant, str]:
    """Return the named variant or the one that ranks first, and the reason."""
    if method == "auto":
        return ranking.best(graph, request)
    if family := family_of(method):
        wanted = request
        if "@" in method:  # a device, which find() compares with that of the request
            wanted = request._replace(device=find(method, request.device)[0].device)
        found = ranking.cheapest(graph, wanted, family)
        if found is not None:
            return found.variant, f"the cheapest of {family}: {found.reason}"
    reasons = []
    for candidate in find(method, request.device, allow_unsafe=allow_unsafe):
        answer = candidate.can_run(graph, request)
        if answer is True:
            return candidate, "requested by name"
        negative = candidate.weights == "nonnegative" and graph.n_negative
        if negative and candidate.available() is True:
            known = (v for v in variants(problem=request.problem) if v.weights == "any")
            accepting = [v.id for v in known if v.can_run(graph, request) is True]
            raise negative_weight(graph, accepting)
        reasons.append(f"{candidate.id}: {answer}")
    raise VariantUnavailable("; ".join(reasons))
