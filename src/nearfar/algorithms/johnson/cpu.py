"""Johnson's method on CPU cores."""

from __future__ import annotations

import contextlib
import math
import time
from dataclasses import dataclass, replace
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from nearfar import _cpu
from nearfar.cpu.distances.float_rows import exact_rows, rows_in_32_bits
from nearfar.cpu.potentials import in_few_rounds, potentials
from nearfar.errors import NegativeCycleError, OptionError, quoted
from nearfar.graph.compared import Compared
from nearfar.graph.facts import Facts
from nearfar.graph.graph import Graph
from nearfar.graph.saturation import heaviest_path, narrowed, widest
from nearfar.graph.slots import Slot
from nearfar.options import NoOptions
from nearfar.registry import CHOICES, Answer, Estimate, Request, Variant, Workspace, find, variant

_SHIFTED: Slot[Shifted] = Slot("reweighted graph")
_IMPOSSIBLE: Slot[bool] = Slot("no potentials")
_WAYS: Slot[Compared[str]] = Slot("ways to search with negative weights")
_BOTH = "rounds", "potentials"
_ROUNDS = 6  # edges read, over all edges, before potentials; an acyclic graph takes twice all edges


@dataclass(frozen=True, slots=True)
class JohnsonOptions:
    """Options of ``johnson@cpu``.

    Parameters
    ----------
    inner : {"lanes", "worker_per_source"}
        Method for the reweighted graph.
    """

    inner: Literal["lanes", "worker_per_source"] = "worker_per_source"

    def __post_init__(self) -> None:
        if self.inner not in ("lanes", "worker_per_source"):
            raise OptionError(f"inner is {quoted(self.inner)}: use 'lanes' or 'worker_per_source'")


@dataclass(frozen=True, slots=True)
class Shifted:
    """Reweighted graph without negative weights, and the potentials that invert the shift."""

    graph: Graph  # graph with weights `w + h[u] - h[v]`
    given: Graph  # original graph
    base: Graph  # original graph in the dtype of the potentials, which holds sums of four paths
    potentials: NDArray[Any]  # shape (n,)


def shifted(graph: Graph) -> Shifted:
    """Return the potentials and the reweighted graph, computed once and cached on the graph."""

    def make() -> Shifted:
        base = graph
        bits = {"int32": 28, "float32": 124}.get(graph.weight_dtype.name)
        if bits is not None and heaviest_path(graph) >= 2**bits:
            base = widest(graph)
        h = potentials(base)
        weights = np.empty(base.n_edges, dtype=base.weight_dtype)
        _cpu.johnson_reweight(base.view, h, weights)
        moved = Graph(base.indptr, base.indices, weights, directed=True, copy=False)
        return Shifted(moved, graph, base, h)

    return _SHIFTED.of(graph, make)


def fits_shifted(graph: Graph, request: Request | None = None) -> Literal[True] | str:
    """Return True if shifted weights cannot overflow, or the reason why not."""
    bits = {"int64": 60, "float64": 1020}.get(graph.weight_dtype.name)
    if bits is not None and heaviest_path(graph) >= 2**bits:
        return f"Johnson's method needs path weights below 2^{bits}"
    return True


def potentials_seconds(facts: Facts) -> float:
    """Return the seconds of the first step: several rounds over all edges on one core."""
    return 3e-8 * (facts.n + facts.m) * math.sqrt(facts.n + 1)


def _cost(facts: Facts, request: Request) -> Estimate | None:
    """Estimate negative weights; without any, the inner method suffices."""
    inner = find(JohnsonOptions().inner, "cpu")[0].estimate(facts, request)
    if not facts.negative or inner is None:
        return None
    words = "negative weights: potentials, then non-negative searches"
    return Estimate(potentials_seconds(facts) + inner.seconds, words)


@variant(
    "johnson",
    device="cpu",
    problems={"batch", "all_pairs"},
    weights="any",
    options=JohnsonOptions,
    requires=fits_shifted,
    paper="johnson-cuda",
    section="4",
    summary="potentials by Bellman-Ford, then non-negative searches on the reweighted graph",
    complexity="O(n m + k (n + m) log n)",
    cost=_cost,
)
def johnson(
    graph: Graph, sources: NDArray[np.int64], options: JohnsonOptions, workspace: Workspace
) -> Answer:
    """Run Johnson's method; the caller applies the limit, which shifted searches cannot."""
    return solve_shifted(graph, sources, find(options.inner, "cpu")[0], workspace)


def _shifted_if_possible(graph: Graph) -> Shifted | None:
    """Return the reweighted graph; None with a negative cycle, large weights or little memory."""
    if not _IMPOSSIBLE.filled(graph):
        with contextlib.suppress(NegativeCycleError, MemoryError):
            if fits_shifted(graph) is True:
                return shifted(graph)
        _IMPOSSIBLE.put(graph, True)
        CHOICES.drop(graph)
    return None


def _in_topological_order(graph: Graph, source: int, workspace: Workspace) -> Answer:
    """Search without potentials, or raise for a negative cycle that the source reaches."""
    return find("goldberg_radzik", "cpu")[0].run(graph, source, NoOptions(), workspace)


def _search_cost(facts: Facts, request: Request) -> Estimate | None:
    """Estimate one search, at first in topological order."""
    if not facts.negative or _IMPOSSIBLE.filled(facts.graph):
        return None
    return Estimate(2e-6 + facts.m * 70e-9, "negative weights: few rounds, or potentials")


@variant(
    "johnson_search",
    device="cpu",
    weights="any",
    paper="johnson-cuda",
    section="4, one source",
    summary="a few rounds of goldberg_radzik, or kept potentials and buckets, whichever is faster",
    complexity="O(n m) once, then O((n + m) log n)",
    cost=_search_cost,
    learns=True,
)
def johnson_search(graph: Graph, source: int, options: NoOptions, workspace: Workspace) -> Answer:
    """Search in topological order, or with potentials from the second search on, if faster.

    An acyclic graph takes two rounds in topological order, others many.
    """
    ways = _WAYS.of(graph, Compared)
    if _IMPOSSIBLE.filled(graph):
        return _in_topological_order(graph, source, workspace)
    began = time.perf_counter()
    if ways.choose("rounds", lambda _: _BOTH) == "rounds":
        full = workspace.stats == "full"
        soon = in_few_rounds(graph, int(source), _ROUNDS * graph.n_edges, full)
        ways.add("rounds", math.inf if soon is None else time.perf_counter() - began)
        if soon is not None:
            return Answer(*soon)
    plan = _shifted_if_possible(graph)
    if plan is None:  # the source may not reach a negative cycle
        return _in_topological_order(graph, source, workspace)
    began = time.perf_counter()
    inner = find("delta_stepping", "cpu")[0]
    alone = Workspace(stats=workspace.stats)
    answer = inner.run(plan.graph, source, inner.options(), alone)
    stats = {**answer.stats, "inner": inner.id, "saturated": False}
    (row,) = shift_rows(plan, answer.distances[None], np.array([source]), alone, stats)
    row, dtype = narrowed(row, graph.weight_dtype), graph.weight_dtype
    stats["saturated"] = bool(stats["saturated"]) or row.dtype != dtype
    ways.add("potentials", time.perf_counter() - began)
    return Answer(row.astype(dtype, copy=False), stats)


def solve_shifted(
    graph: Graph,
    sources: NDArray[np.int64],
    inner: Variant,
    workspace: Workspace,
    inside: Graph | None = None,
) -> Answer:
    """Reweight, run a batch variant for non-negative weights, shift back, and polish float rows.

    ``inside``: the reweighted graph, or one of the same distances.
    """
    plan = shifted(graph)
    floating = graph.weight_dtype.kind == "f"
    # Polishing needs whole rows, so floats keep every column until then.
    columns = None if floating else workspace.columns
    same = plan.base.weight_dtype == graph.weight_dtype
    out = workspace.out if same and columns is workspace.columns else None
    request = replace(workspace, limit=None, columns=columns, out=out)
    answer = inner.run(inside or plan.graph, sources, inner.options(), request)
    rows = answer.distances
    rows = rows if isinstance(rows, np.ndarray) else rows.get()
    stats = {**answer.stats, "inner": inner.id}
    stats["saturated"] = bool(stats.get("saturated", False))
    return Answer(shift_rows(plan, rows, sources, workspace, stats), stats)


def shift_rows(
    plan: Shifted,
    rows: NDArray[Any],
    sources: NDArray[np.int64],
    workspace: Workspace,
    stats: dict[str, Any],
) -> NDArray[Any]:
    """Convert shifted rows to true distances; float rows, which must be whole, are polished."""
    floating = rows.dtype.kind == "f"
    n = plan.base.n_vertices
    picked = None if floating else workspace.columns
    every = np.arange(n, dtype=np.int64) if picked is None else picked
    h, threads = plan.potentials, workspace.threads
    overflow = _cpu.johnson_shift_back(rows, sources, every, h, threads)
    stats["saturated"] = stats["saturated"] or overflow
    if floating:
        stats["repeated_rows"] = exact_rows(plan.base, sources, rows, h, threads)
        if rows.dtype != plan.given.weight_dtype:
            rows, stats["saturated"] = rows_in_32_bits(plan.given, sources, rows, threads)
        if workspace.columns is not None:
            rows = np.ascontiguousarray(rows[:, workspace.columns])
    return rows
