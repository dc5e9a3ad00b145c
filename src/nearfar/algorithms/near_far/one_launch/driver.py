"""Main GPU variant: Near-Far with the whole solve in one launch; see one_launch.cuh."""

from __future__ import annotations

import math
from dataclasses import replace
from typing import Any, NamedTuple

import numpy as np

from nearfar.algorithms.near_far.one_launch.forms import (
    LOCAL_HEAVY,
    NEVER,
    Fallback,
    Form,
    History,
    Width,
    fallback_of,
    form_of,
    give_up,
    history_of,
    is_compiling,
    is_skewed,
    learn,
    local_entries,
    may_grow,
    meanwhile,
    too_narrow,
)
from nearfar.algorithms.near_far.one_launch.host import (
    PLAIN_ENGINE,
    STAGE,
    STATIC,
    Engine,
    Shape,
    TooNarrow,
    entry_bytes,
    local_bytes,
)
from nearfar.algorithms.near_far.one_launch.options import OneLaunchOptions
from nearfar.algorithms.near_far.one_launch.ranges import solve_by_ranges
from nearfar.cuda.device_graph import DeviceGraph, device_graph
from nearfar.cuda.graph.row_heads import (
    ENOUGH_OUT,
    SHORTCUT_DEGREE,
    RowHeads,
    row_heads,
)
from nearfar.cuda.loops.whole_solve import row_lanes
from nearfar.errors import OutOfMemoryError
from nearfar.graph.facts import usual_weight
from nearfar.graph.graph import Graph
from nearfar.registry import Answer, Workspace
from nearfar.system.devices import runtime

_CHUNK = 512  # kChunk of one_launch_rows.cuh
_LOCAL = 8192  # shared memory for the local lists, at least, in entries
_HEADED = 1024  # entries of a local list that carry their rows, if there is memory
_ROOMY = 1 << 22  # entries of a queue that are always affordable
_HEAD, _SHORTCUT_HEAD = 4, 8  # edges of a row stored with its vertex
_MOST_DEGREE = 8.0  # mean degree above which most rows are longer
_DEPTH = 2  # rounds of removing vertices of few edges
_FEW_LONG = 0.05  # share of longer rows up to which the width of the others suits a graph
_DENSE = 16.0  # mean degree
_HOPS = 8.0  # first delta over the least weight, at least: order among equal weights is no loss
# Multiples of the paper's delta: sorted rows of skewed and of even graphs, and rows read whole.
_RANGE_SCALE, _EVEN_RANGE_SCALE, _SIFT_SCALE = 0.125, 0.75, 0.0625


def range_delta(graph: Graph, options: OneLaunchOptions, *, whole: bool = False) -> float:
    """Return the threshold's step for sorted rows or rows read whole, in units of the weights."""
    if options.delta is not None or not graph.n_edges:
        return first_delta(graph, options)
    scale = _RANGE_SCALE if is_skewed(graph) else _EVEN_RANGE_SCALE
    scale = _SIFT_SCALE if whole else scale
    value = scale * 32.0 * usual_weight(graph) / graph.mean_degree
    return max(value, 1.0) if graph.weight_dtype.kind == "i" else value or 1.0


def first_delta(graph: Graph, options: OneLaunchOptions, *, packed: bool = False) -> float:
    """Return the initial step of the threshold, in units of the weights."""
    if options.delta is not None:
        value = float(options.delta)
    elif graph.n_edges:
        mean = graph.mean_degree
        scale = 0.5 if mean > _DENSE else 0.2 if packed else 0.25
        value = scale * 32.0 * usual_weight(graph) / mean
        value = max(value, _HOPS * float(graph.min_weight))
    else:
        value = 1.0
    return max(value, 1.0) if graph.weight_dtype.kind == "i" else value or 1.0


def _heads(graph: Graph, device: DeviceGraph, shortcuts: bool | None) -> RowHeads | None:
    """Return rows at fixed positions if most are short, with requested or useful shortcuts."""
    if not 0 < graph.mean_degree <= _MOST_DEGREE:
        return None
    enough = 0.0 if shortcuts else ENOUGH_OUT
    if shortcuts is None:
        shortcuts = graph.mean_degree <= SHORTCUT_DEGREE
    for width, depth in ((_SHORTCUT_HEAD, _DEPTH), (_HEAD, 0), (_SHORTCUT_HEAD, 0)):
        if depth and not (shortcuts and device.weighted):
            continue
        try:
            heads = row_heads(graph, device, width, depth=depth)
        except OutOfMemoryError:
            continue
        if heads.out >= enough if depth else heads.long <= _FEW_LONG:
            return heads
    return None  # rows are then located by their offsets


def _engine(graph: Graph, options: OneLaunchOptions, form: Form) -> Engine:
    device, factor, shortcuts = device_graph(graph), options.queue_factor, options.shortcuts
    alone = form.alone if options.local_limit is None else options.local_limit > 0
    if shortcuts is None and not form.past:
        shortcuts = False

    def make() -> Engine:
        n, room = max(device.n, 1), min(device.m, _ROOMY) if factor > 1 else device.n
        # The far pile also holds stale entries, for which a small dense graph has memory.
        capacity = max(math.ceil(n * factor), room)
        heavy = device.m // _CHUNK + device.m // LOCAL_HEAVY + 1
        # Packed distances have two blocks per multiprocessor, which leave no room for rows.
        alone_with_rows = alone and not form.bits
        heads = _heads(graph, device, shortcuts) if alone_with_rows else None
        local = _LOCAL // 2 if form.bits else _LOCAL  # for two blocks per multiprocessor
        if heads is not None:
            most = runtime.device().shared_per_block - STATIC
            local = min(_HEADED * local_bytes(device, heads), most) // entry_bytes(device)
        return Engine(
            device,
            "algorithms/near_far/one_launch/one_launch.cuh",
            "near_far_one_launch",
            Shape(2 if form.scan else 4, capacity, heavy, form.bits),
            {"FAR_BY_SCAN": int(form.scan), **_launch_shape(form, entry_bytes(device), heads)},
            (2 * STAGE, local),
            _own(0.0, 0.0, 0.0, NEVER, 0, 0),
            heads,
        )

    key = (*device.key, factor, form.bits, form.scan, alone, shortcuts)
    return PLAIN_ENGINE.of(graph, make, key, alone=True)  # a new key replaces the old engine


def _launch_shape(form: Form, entry: int, heads: RowHeads | None) -> dict[str, int]:
    """Return threads per block, and blocks; threads that carry wide rows need more registers."""
    threads = 512
    if heads is not None and entry > 8:
        threads = 256
    elif form.bits or (heads is not None and heads.chains):
        threads = 384
    return {"BLOCK_THREADS": threads, "BLOCKS_EACH": 2 if form.bits else 1}


def _own(
    base_delta: float,
    free_delta: float,
    largest_delta: float,
    fallback: Fallback,
    local_limit: int,
    target_near: int,
) -> dict[str, Any]:
    """Return the kernel's own arguments."""
    return {
        "base_delta": np.float64(base_delta),
        "free_delta": np.float64(free_delta),
        "largest_delta": np.float64(largest_delta),
        "most_cycles": np.uint64(fallback.cycles),
        "fallback_delta": np.float64(fallback.delta),
        "fallback_rounds": np.int64(fallback.rounds),
        "local_limit": np.int64(local_limit),
        "target_near": np.int64(target_near),
    }


class _Call(NamedTuple):
    """Arguments of a solve, and the history of its graph."""

    graph: Graph
    source: int
    options: OneLaunchOptions
    workspace: Workspace
    history: History


def solve_in_one_launch(
    graph: Graph, source: int, options: OneLaunchOptions, workspace: Workspace
) -> Answer:
    """Choose a form, launch it once, read the counters and return the distances."""
    history = history_of(graph)
    call = _Call(graph, source, options, workspace, history)
    form = form_of(graph, history, options)
    before = meanwhile(history, form, options)
    if before is not None and is_compiling(history, form):
        form, before = before, None
    try:
        with runtime.compiling_in_background(before is not None):
            answer, form = _solve(call, form)
    except runtime.Compiling as compiling:
        is_compiling(history, form, compiling.thread)
        if before is None:
            raise  # the caller does not wait for any form
        answer, form = _solve(call, before)
    if workspace.whole and not options.tuned:
        learn(graph, history, form, answer.stats, width=options.delta_growth is None)
    answer.stats["form"] = form.kind
    return answer


def _solve(call: _Call, form: Form) -> tuple[Answer, Form]:
    """Solve with a form, or with the plain one if the form does not fit."""
    options = call.options
    try:
        return _FORMS[form.kind](call, form), form
    except (TooNarrow, OutOfMemoryError) as error:
        if isinstance(error, TooNarrow):
            too_narrow(call.history, form)
        elif form.kind == "plain" or options.sort_rows or options.distance_bits:
            raise
        else:  # the form was not requested explicitly, so the plain one replaces it
            give_up(call.history, form)
    form = replace(form, kind="plain", bits=0)
    return _plain(call, form), form


def _plain(call: _Call, form: Form) -> Answer:
    graph, source, options, workspace, history = call
    engine = _engine(graph, options, form)
    delta = first_delta(graph, options, packed=form.bits > 0)
    delta, growth, rounds, _ = _adapted(call, form, delta)
    local_limit, local_rounds = options.local_limit, options.local_rounds
    if local_limit is None:
        local_limit = local_entries(graph)
    if local_rounds is None:
        local_rounds = rounds
    room, target_near = engine.local_room, options.target_near
    if target_near is None:
        target_near = 32 * runtime.device().multiprocessors
    most = 0.0 if options.delta_growth else may_grow(history, form)
    fallback = fallback_of(history, form) if workspace.whole and not options.tuned else NEVER
    deltas = delta, delta * growth, delta * most
    return engine.solve(
        source,
        delta,
        workspace,
        _own(*deltas, fallback, min(local_limit, engine.blocks * room // 2), target_near),
        (room, local_rounds, options.local_leave, row_lanes(engine.device)),
    )


def _adapted(call: _Call, form: Form, delta: float) -> Width:
    """Return delta, its largest growth and the local rounds that earlier solves suggest.

    A solve with a limit or targets may end where its threshold moves, so it moves as often.
    """
    width, options = call.history.width_of(form), call.options
    if options.delta is None:
        delta *= width.first if call.workspace.whole else min(width.first, 1.0)
        delta = max(delta, 1.0) if call.graph.weight_dtype.kind == "i" else delta
    return Width(delta, options.delta_growth or width.growth, width.rounds)


def _by_ranges(call: _Call, form: Form) -> Answer:
    graph, source, options, workspace, _ = call
    delta = range_delta(graph, options, whole=form.kind == "sifted")
    return solve_by_ranges(
        graph,
        source,
        workspace,
        sort=form.kind == "sorted",
        delta=_adapted(call, form, delta).first,
        eager_growth=options.eager_growth,
        pull_share=options.pull_share,
        queue_factor=options.queue_factor,
    )


_FORMS = {"plain": _plain, "packed": _plain, "sifted": _by_ranges, "sorted": _by_ranges}
