"""Johnson's method on CPU cores."""

from __future__ import annotations

import math
import time
from dataclasses import dataclass, replace
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from nearfar import _cpu
from nearfar.cpu.distances.float_rows import exact_rows, rows_in_32_bits
from nearfar.cpu.potentials import forms, in_little_work, potentials
from nearfar.errors import NegativeCycleError, OptionError, quoted
from nearfar.graph.compared import Compared
from nearfar.graph.facts import Facts
from nearfar.graph.graph import Graph
from nearfar.graph.saturation import heaviest_path, narrowed, widest
from nearfar.graph.slots import Slot
from nearfar.options import NoOptions
from nearfar.registry import Answer, Estimate, Request, Variant, Workspace, find, variant

_SHIFTED: Slot[Shifted] = Slot("reweighted graph")
_WAYS: Slot[Compared[str]] = Slot("ways to search with negative weights")


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


def _by_potentials(graph: Graph, source: int, workspace: Workspace) -> Answer | None:
    """Search the reweighted graph; None with a negative cycle, large weights or little memory."""
    if fits_shifted(graph) is not True:
        return None
    try:
        plan = shifted(graph)
    except (NegativeCycleError, MemoryError):  # the source may not reach the cycle
        return None
    inner = find("delta_stepping", "cpu")[0]
    alone = Workspace(stats=workspace.stats)
    answer = inner.run(plan.graph, source, inner.options(), alone)
    stats = {**answer.stats, "inner": inner.id, "saturated": False}
    (row,) = shift_rows(plan, answer.distances[None], np.array([source]), alone, stats)
    row, dtype = narrowed(row, graph.weight_dtype), graph.weight_dtype
    stats["saturated"] = bool(stats["saturated"]) or row.dtype != dtype
    return Answer(row.astype(dtype, copy=False), stats)


def _search_cost(facts: Facts, request: Request) -> Estimate | None:
    """Estimate one search, at first by trees."""
    if not facts.negative:
        return None
    return Estimate(2e-6 + facts.m * 70e-9, "negative weights: by trees, rounds or potentials")


@variant(
    "johnson_search",
    device="cpu",
    weights="any",
    paper="johnson-cuda",
    section="4, one source",
    summary="tarjan_subtree, goldberg_radzik, or kept potentials and buckets, whichever is faster",
    complexity="O(n m) once, then O((n + m) log n)",
    cost=_search_cost,
    learns=True,
)
def johnson_search(graph: Graph, source: int, options: NoOptions, workspace: Workspace) -> Answer:
    """Search by forms of Bellman-Ford and with kept potentials, once each, then by the fastest."""
    ways = _WAYS.of(graph, Compared)
    every = [*forms(graph), "potentials"]
    for _ in every:
        way = ways.choose(every[0], lambda _: every)
        if ways.times.get(way, (0, 0.0))[1] == math.inf:  # each took too much work
            break
        counts = way != "potentials" or _SHIFTED.filled(graph)  # not while making them
        began = time.perf_counter()
        if way == "potentials":
            found = _by_potentials(graph, source, workspace)
        else:
            found = in_little_work(way, graph, int(source), workspace.stats == "full")
        if found is None:
            ways.add(way, math.inf)
            continue
        if counts:
            ways.add(way, time.perf_counter() - began)
        return found
    return find("goldberg_radzik", "cpu")[0].run(graph, source, NoOptions(), workspace)


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
