"""Execution of a plan for some sources, up to their finished distances.

The steps are the same for one source and for many: run the variant, check that every sum fits, mask
distances beyond the limit or the last target, and repeat in 64 bits the rows in which a sum does
not fit. Only the shape differs: one source yields a vector and may stop at its targets; many yield
a block of rows, and targets are its columns. A method for one source can serve many by running
source by source.
"""

from __future__ import annotations

import time
from threading import Thread
from typing import Any

import numpy as np

from nearfar import _cpu
from nearfar.choose import measured
from nearfar.choose.ranking import best
from nearfar.cpu.distances.predecessors import tight_predecessors
from nearfar.cpu.potentials import refuse_reached_cycle
from nearfar.cuda.graph import longer_edges
from nearfar.errors import NegativeCycleError, does_not_fit, quoted
from nearfar.graph.dtypes import unreached_value
from nearfar.graph.graph import Graph
from nearfar.graph.same_distances import backbone, renumbered
from nearfar.graph.same_distances.integer_weights import AGREES_UP_TO
from nearfar.graph.saturation import FARTHEST, may_saturate, narrowed, widened
from nearfar.graph.slots import Slot
from nearfar.registry import Answer, Declined, Request, Workspace
from nearfar.solve.arrays import clear_unreached, entries, mask_beyond, reach
from nearfar.solve.matrix.fresh import UNCHECKED, size
from nearfar.solve.steps.plan import Plan, kind_of
from nearfar.system.devices import runtime
from nearfar.system.devices.arrays import is_device_array, to_host
from nearfar.system.threads import on_threads

#: Threads that compile what searches of a graph on a GPU need next, by variant id.
_COMPILERS: Slot[Thread] = Slot("compilers")
#: Counters that bound the distances, and the edges that a search follows at once beyond them.
_BOUNDS = {"last_threshold": 8, "farthest": 1}
_NEARLY = 1 - 1e-12  # these bounds are rounded


def solve(plan: Plan, rows: Any, out: Any = None) -> Answer:
    """Solve some sources by a plan, or by the plans that replace it.

    The distances are a vector for one source, and a block of rows for many.
    """
    found = attempt(plan, rows, out)
    while isinstance(found, Plan):
        found = attempt(found, rows, out)
    if found.plan.given is not None:
        return _as_given(found, rows, out)
    if found.lost:
        found = _joined(found, solve(found.plan.wider(), [rows[i] for i in found.lost]))
    if found.distances.dtype != plan.dtype:
        found.distances = narrowed(found.distances, plan.dtype)
        if found.distances.dtype != plan.dtype:
            found.stats["repeated_in_64_bits"] = True
    return found


def _as_given(found: Answer, rows: Any, out: Any) -> Answer:
    """Convert distances in int32 to the dtype of the weights; repeat rows beyond its bound."""
    plan, lost, stats = found.plan, found.lost, found.stats
    if len(lost) == len(rows) > 0:
        return solve(plan.as_given(), rows, out)
    began = time.perf_counter()
    if found.converted is None:
        fits = out is not None and out.dtype == plan.dtype
        threads = plan.request.threads
        found.converted = widened(found.distances, plan.dtype, out if fits else None, threads)
    found.distances = found.converted
    if plan.single:
        stats["seconds"] += time.perf_counter() - began
    if lost:
        again = solve(plan.as_given(), [rows[i] for i in lost])
        found.distances = widened(found.distances, np.dtype(again.distances.dtype))
        found.distances[np.array(lost)] = again.distances
        found.wide = tuple(lost[i] for i in again.wide)
        found.plan, found.lost, found.predecessors = again.plan, (), None
        found.stats = add_counters(stats, again.stats)
    return found


def attempt(plan: Plan, rows: Any, out: Any) -> Answer | Plan:
    """Run a plan; return its answer, or the plan to try instead."""
    graph, request = plan.graph, plan.request
    try:
        on_gpu = plan.variant.device == "cuda"
        if on_gpu and plan.method == "auto" and plan.waits_on_cores:
            answer = _or_compiling(plan, rows, out)
        elif plan.single:
            answer = _search(plan, rows[0])
        else:
            answer = (_source_by_source if plan.by_source else _batch)(plan, rows, out)
    except Declined as declined:
        return plan.without(declined)
    except runtime.Compiling as compiling:
        if not plan.waits_on_cores:
            raise
        _COMPILERS.put(graph, compiling.thread, plan.variant.id)
        alive = {name for name, thread in _COMPILERS.held(graph).items() if thread.is_alive()}
        return plan.meanwhile({*alive, plan.variant.id})
    except NegativeCycleError:
        if plan.method != "auto" or plan.by_source:
            raise
        # Batch methods refuse any negative cycle, but only rows that reach it are affected.
        return plan.searched("a negative cycle somewhere")
    found, before, stats = answer.distances, answer.predecessors, answer.stats
    saturated = answer.lost or stats.get("saturated", False)
    last = None if request.targets is None else _last_target(plan, found)
    lost = _lost(plan, rows, found, saturated, last, stats)
    if lost and graph.weight_dtype.itemsize == 8:
        if saturated is not True or plan.by_source:
            _refuse_lost(graph, [int(rows[i]) for i in lost])
        # Batch methods reserve some of the 64 bits; searches use all of them.
        return plan.searched("sums near the limit of 64 bits", device="cpu", threads=1)
    bound = request.limit
    wanted = before is None and (plan.single or request.predecessors)
    if bound is not None and wanted and plan.signed:
        before = _predecessors(plan, rows, found, stats)
    if last is not None:
        bound = last if bound is None else min(bound, last)
    if plan.single and request.targets is not None and not plan.signed:
        stats["proof_limit"] = bound
    if bound is not None and (last is not None or not answer.masked):
        found = mask_beyond(graph, found, bound, request.threads)
    if before is not None and not plan.signed:
        before = clear_unreached(before, found)
    if before is None and plan.given is not None and request.predecessors and not lost:
        # The graph in int32 is shorter, and where the variant left it.
        before = _predecessors(plan, rows, found, stats)
    answer.plan, answer.distances, answer.predecessors = plan, found, before
    answer.lost, answer.certain = lost, bool(saturated)
    return answer


def _predecessors(plan: Plan, rows: Any, found: Any, stats: dict[str, Any]) -> Any:
    """Compute predecessors by the pass over tight edges."""
    began = time.perf_counter()
    by_device, threads = plan.on_device, plan.request.threads
    tree = tight_predecessors(
        plan.graph, rows, found, by_device=by_device, threads=threads, stats=stats
    )
    stats["predecessor_seconds"] = time.perf_counter() - began
    return tree


# ---- run ----------------------------------------------------------------------------------------


def _search(plan: Plan, source: int) -> Answer:
    request, variant = plan.request, plan.variant
    work = Workspace(
        request.threads,
        request.limit,
        request.targets,
        request.stats,
        answer_dtype=None if plan.given is None else plan.dtype,
        predecessors=request.predecessors,
    )
    near = plan.near
    graph = plan.to_search if near is None else near.graph
    began = time.perf_counter()
    if near is None and plan.in_turns:
        answer = _in_turns(plan, source, work)
    elif near is None:
        answer = variant.run(graph, source, plan.settings, work)
    else:
        answer = variant.run(graph, int(near.place[source]), plan.settings, work)
        answer.distances = near.as_given(answer.distances, request.threads)
        answer.predecessors = None  # of several equal ones, the first by the given numbers counts
    answer.stats.setdefault("seconds", time.perf_counter() - began)
    if variant.device == "cpu" and not variant.parallel:
        answer.stats["workers"] = 1
    if plan.spends:
        found = answer.distances if measured.whole(request) else None
        backbone.record(plan.graph, answer.stats["seconds"], found)
    compared = plan.method == "auto" and measured.record(plan.timed, request, variant, answer.stats)
    if compared and near is not None:  # which has a choice of its own
        measured.record(near.graph, request, variant, answer.stats)
    if compared and plan.compares:
        seconds = answer.stats["seconds"]
        renumbered.record(plan.to_search, kind_of(request), near is not None, seconds)
    return answer


def _or_compiling(plan: Plan, rows: Any, out: Any) -> Answer:
    """Run on a GPU, or raise Compiling if another variant is to search meanwhile."""
    compiler = _COMPILERS.get(plan.graph, plan.variant.id)
    if compiler is not None and compiler.is_alive():
        raise runtime.Compiling(compiler)
    with runtime.compiling_in_background():
        if plan.single:
            return _search(plan, rows[0])
        return (_source_by_source if plan.by_source else _batch)(plan, rows, out)


def _in_turns(plan: Plan, sources: Any, work: Workspace) -> Answer:
    """Search on a GPU, with all edges while kernels for fewer are compiled."""
    graph, run = plan.to_search, plan.variant.run
    try:
        with runtime.compiling_in_background(graph is not plan.graph):
            answer = run(graph, sources, plan.settings, work)
    except runtime.Compiling:
        graph = plan.graph
        answer = run(graph, sources, plan.settings, work)
    if "device_seconds" in answer.stats:
        seconds = answer.stats["device_seconds"]
        longer_edges.record(plan.graph, graph, seconds, np.size(sources))
    return answer


def _batch(plan: Plan, rows: Any, out: Any) -> Answer:
    request = plan.request
    work = Workspace(
        request.threads,
        request.limit,
        columns=plan.columns,
        out=_part_of(out, plan),
        on_device=plan.keep,
        predecessors=request.predecessors,
        devices=plan.devices,  # None if the caller divides the rows
        reduction=None if plan.variant.reduces else plan.reduction,
    )
    near, sources = plan.near, np.asarray(rows, np.int64)
    began = time.perf_counter()
    if near is None and plan.in_turns:
        answer = _in_turns(plan, sources, work)
    elif near is None:
        answer = plan.variant.run(plan.to_search, sources, plan.settings, work)
    else:
        answer = plan.variant.run(near.graph, near.place[sources], plan.settings, work)
        answer.distances = near.as_given(answer.distances, request.threads)
        answer.predecessors = None
    rounds = -(-len(sources) // request.threads)
    if plan.spends:
        backbone.record(plan.graph, time.perf_counter() - began)
    if rounds and plan.compares:
        seconds = time.perf_counter() - began
        renumbered.record(plan.to_search, kind_of(request), near is not None, seconds, rounds)
    if plan.keep:
        answer.distances = runtime.upload(answer.distances)
    else:
        answer.distances = to_host(answer.distances, work.out, request.threads)
    return answer


def _part_of(out: Any, plan: Plan) -> Any:
    """Return memory of `out` for rows in the dtype of the computation, or None.

    Numbers in int32 use the last part, from which they are converted in place.
    """
    dtype = plan.graph.weight_dtype
    if out is None or out.dtype == dtype:
        return out
    if plan.given is None or out.dtype != plan.dtype or is_device_array(out):
        return None
    last = out.size * (out.itemsize // dtype.itemsize - 1)
    return out.reshape(-1).view(dtype)[last:].reshape(out.shape)


def _source_by_source(plan: Plan, rows: Any, out: Any) -> Answer:
    graph, variant, columns, limit = plan.graph, plan.variant, plan.columns, plan.request.limit
    shape = (len(rows), graph.n_vertices if columns is None else len(columns))
    out = _part_of(out, plan)
    usable = out is not None and out.shape == shape and not is_device_array(out)
    matrix = out if usable else np.empty(shape, dtype=graph.weight_dtype)
    work = Workspace(1, limit, columns)

    def one(i: int) -> dict[str, Any]:
        answer = variant.run(plan.to_search, int(rows[i]), plan.settings, work)
        row = to_host(answer.distances)
        matrix[i] = row if columns is None else row[columns]
        if columns is not None and plan.signed and may_saturate(graph):
            # The path to a column may lead over a vertex whose distance does not fit.
            lost = bool(_lost_rows(graph, [rows[i]], row, limit))
            answer.stats["saturated"] = answer.stats.get("saturated") or lost
        return answer.stats

    threads = plan.request.threads if variant.device == "cpu" else 1
    parts = on_threads(one, len(rows), threads, size(plan.to_search))
    total = {
        name: sum(int(part.get(name, 0)) for part in parts)
        for name in ("iterations", "edges_relaxed", "vertices_processed")
    }
    saturated = [i for i, part in enumerate(parts) if part.get("saturated")]
    return Answer(runtime.upload(matrix) if plan.keep else matrix, total, lost=saturated)


def add_counters(total: dict[str, Any], stats: dict[str, Any]) -> dict[str, Any]:
    """Add the counters of a block to those of a run."""
    for name, value in stats.items():
        counts = isinstance(value, (int, np.integer)) and not isinstance(value, bool)
        add = (counts and name not in ("lanes", "lane_bits")) or name == "predecessor_seconds"
        total[name] = total.get(name, 0) + value if add else value
    return total


# ---- sums that do not fit -----------------------------------------------------------------------
#
# Variants add with saturation: a sum beyond the dtype's range becomes "unreached". With every
# method, an answer has the dtype of the weights if all of its distances fit, and 64 bits otherwise.
# Distances beyond the limit or the last target are not part of the answer and are ignored.


def _last_target(plan: Plan, found: Any) -> Any:
    """Return the distance of the farthest target if a search may have stopped at it, or None."""
    # With negative weights a path may visit vertices farther than its end: no search stops early.
    if not plan.single or plan.signed:
        return None
    farthest = np.maximum.reduce(entries(found, plan.request.targets))
    return None if farthest == unreached_value(farthest.dtype) else farthest.item()


def _lost(
    plan: Plan, rows: Any, found: Any, saturated: Any, last: Any, stats: dict[str, Any]
) -> list[int]:
    """Find the rows in which a distance of the answer may be missing because it does not fit."""
    if plan.variant.unsafe or plan.variant is UNCHECKED:  # UNCHECKED checks for saturation itself
        return []
    if saturated is True:
        return list(range(len(rows)))
    known: list[int] = saturated or []  # not all, if only some of the rows' methods notice
    if last is not None:
        return known  # the search stopped early: unsettled vertices are no evidence of saturation
    request, graph = plan.request, plan.graph
    if found.dtype != graph.weight_dtype:
        return known  # the variant computes in 64 bits
    top = FARTHEST[graph.weight_dtype] if plan.given is None else AGREES_UP_TO[plan.dtype]
    if not may_saturate(graph, top):
        return known
    if not plan.signed:
        heaviest = float(graph.max_weight)
        for name, edges in _BOUNDS.items():
            if stats.get(name, np.inf) + edges * heaviest < _NEARLY * float(top):
                return known
    threads = request.threads
    lost = _lost_rows(graph, rows, found, request.limit, plan.columns, top, threads=threads)
    return sorted({*known, *lost}) if known else lost


def _refuse_lost(graph: Graph, sources: list[int]) -> None:
    """Raise for sums that do not fit 64 bits, or for a negative cycle that these hid."""
    for source in sources:
        refuse_reached_cycle(graph, source)
    name = quoted(graph.name_of(sources[0]))
    raise does_not_fit(graph.weight_dtype, f"a distance from {name}")


def _joined(found: Answer, wide: Answer) -> Answer:
    """Replace lost rows by their 64-bit repetitions if these reach more or the loss is certain."""
    plan, lost = found.plan, found.lost
    before = found.distances.reshape(-1, found.distances.shape[-1])
    k, before = len(before), before[lost]
    after = wide.distances.reshape(before.shape)
    none, none_wide = (unreached_value(np.dtype(a.dtype)) for a in (before, after))
    wrong = (before == none) & (after != none_wide)
    if plan.signed and (low := _below(before)) is not None:
        wrong |= low
    more = to_host(wrong.any(axis=1)) | found.certain
    stats = wide.stats if plan.single else add_counters(found.stats, wide.stats)
    found.stats, found.partials, found.lost = stats, None, ()
    if not more.any():
        return found
    found.wide = tuple(lost[i] for i in np.flatnonzero(more).tolist())
    if plan.single:
        reason = f"{wide.plan.reason}; repeated in 64 bits because a 32-bit sum saturated"
        found.plan = wide.plan._replace(reason=reason)
    elif after.dtype.kind == "i" and after.dtype != plan.dtype:
        found.plan = wide.plan  # later rows begin in 64 bits
    if len(found.wide) == k:
        found.distances, found.predecessors = wide.distances, wide.predecessors
        return found
    places = np.array(found.wide)
    found.distances = widened(found.distances, np.dtype(after.dtype))
    found.distances[places] = after[more]
    if found.predecessors is not None and wide.predecessors is not None:
        found.predecessors[places] = wide.predecessors[more]
    else:
        found.predecessors = None
    return found


def _lost_rows(
    graph: Graph,
    sources: Any,
    found: Any,
    limit: Any,
    columns: Any = None,
    top: float | None = None,
    *,
    threads: int = 1,
) -> list[int]:
    """Return the rows in which a distance within the limit may be missing because it does not fit.

    ``top`` is the greatest distance that fits, by default that of the dtype.

    The result is exact for whole rows without negative weights and for 64 bits. Otherwise it may
    include rows without a loss, which a repetition in 64 bits reveals.
    """
    if found.size == 0:
        return []
    dtype, signed = graph.weight_dtype, graph.n_negative > 0
    top = FARTHEST[dtype] if top is None else top
    if limit is not None and not signed and limit <= top:
        return []
    rows = found.reshape(len(sources), -1)
    low = _below(rows) if signed else None
    if columns is not None:
        missing = to_host(rows == unreached_value(dtype))
        if top < FARTHEST[dtype]:
            missing |= to_host(rows > top)
        if low is not None:
            missing |= to_host(low)
        short = np.flatnonzero(missing.any(axis=1)).tolist()
        if dtype.itemsize == 4 or not short:
            return short
        hops = graph.without_weights()
        return [i for i in short if _walks_to(hops, int(sources[i]), columns[missing[i]])]
    counts, farthest = reach(rows, threads)
    n, heaviest = graph.n_vertices, graph.max_weight
    fell = np.zeros(len(rows), np.bool_) if low is None else to_host(low.any(axis=1))
    lost = []
    for i, (count, far) in enumerate(zip(counts, farthest, strict=True)):
        if fell[i] or far > top:
            lost.append(i)
            continue
        if count == n or (far + heaviest <= FARTHEST[dtype] and not signed):
            continue
        row = np.ascontiguousarray(to_host(rows[i]))
        if _cpu.first_saturated_edge(graph.view, row) >= 0:
            lost.append(i)
    return lost


def _below(rows: Any) -> Any:
    """Return a mask of float sums below the range, or None for integers, which have no mark."""
    if rows.dtype.kind != "f":
        return None
    return ~(rows >= -FARTHEST[np.dtype(rows.dtype)])  # also true for NaN


def _walks_to(hops: Graph, source: int, targets: Any) -> bool:
    """Return whether any of the targets can be reached; O(n + m)."""
    variant, _ = best(hops, Request(device="cpu"))
    row = variant.run(hops, source, variant.options(), Workspace()).distances
    return bool((row[targets] != unreached_value(row.dtype)).any())
