"""Breadth-first search on a GPU, one launch per search; see breadth_first.cuh."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import numpy as np

from nearfar.algorithms.breadth_first.balls import (
    BALL_WIDTH,
    SHORTCUT_DEPTH,
    Balls,
    History,
    balls,
    balls_at_hand,
    give_up,
    history_of,
    may_have_balls,
)
from nearfar.algorithms.breadth_first.equal_weights import also_equal_weights, has_declined
from nearfar.algorithms.breadth_first.reverse import reverse_of, reversing_pays
from nearfar.cuda.costs import one_launch
from nearfar.cuda.device_graph import DeviceGraph, device_graph
from nearfar.cuda.loops.whole_solve import WholeSolve
from nearfar.errors import OptionError, OutOfMemoryError, wrong_device
from nearfar.graph.facts import Facts
from nearfar.graph.graph import Graph
from nearfar.graph.slots import Slot
from nearfar.registry import Answer, Estimate, Request, Workspace, find, variant
from nearfar.system.devices import runtime
from nearfar.system.devices.structs import enum_names, filled, struct_dtype

_STATE = "algorithms/breadth_first/search_state.cuh"
_STAGE, _LONG, _CHUNK, _HEAVY = 128, 256, 256, 2048  # constants of that file
# Counters of struct Control, and of struct Tally, that a solve reports.
_REPORTED = ("steps", "ahead_steps", "rescans")
_TALLY = ("pushes", "pulls", "sweeps")
_SPARE = 4096  # additional entries of a queue
_ROAD_LIKE, _SPARSE = 8.0, 4.0  # mean degree
_WITHOUT_BALLS = "near_far@cuda"
PATIENCE = 16  # thin levels before the first search of a graph runs ahead
_PATIENCE_SECONDS = 1e-4  # time of these levels on an H200
_WANTS_BALLS = 2  # kWantsBalls of search_state.cuh
_SWEPT_FROM, _SWEPT_DEGREE = 1 << 20, 32.0  # vertices, mean degree
_IN_A_CROWD = 4  # hops, in radii of the balls, that an entry may be ahead of the nearest one
_WITHOUT_CUTS = 1 << 30  # hops; no search reaches this, so none is cut
_AHEAD_SHARE = 256  # entries of the queue per block, at most
_AHEAD_ROOM = 4096  # kAheadRoom of ahead.cuh
STEPS_BEYOND = 2  # watchdog: every step finds at least one vertex
QUEUE_SHARE = 2  # vertices per entry of a queue when running ahead
_BLOCK_THREADS = 1024
_SEARCHER: Slot[_Searcher] = Slot("breadth-first search")


@dataclass(frozen=True, slots=True)
class BreadthFirstOptions:
    """Options of the search on a GPU; the defaults were measured and suit most graphs.

    Parameters
    ----------
    alpha : float
        Pull once the frontier's edges times alpha exceed the unexplored ones; 0 never pulls.
    beta : float
        Push again once the frontier's vertices times beta are fewer than all vertices.
    transpose : bool or None
        Whether to pull over the transpose of a directed graph, which is cached on the graph. None
        builds it once the searches that would have pulled have taken as long as building it; True
        builds it at once, False never.
    thin_limit : int or None
        Number of vertices up to which a frontier is thin. After 16 thin levels the search runs
        ahead, and later searches do so from their start. None means 64 per multiprocessor up to a
        mean degree of 8, and 0 (never run ahead) above.
    balls : bool or None
        Whether to run ahead with balls: the targets within several hops of each vertex, cached on
        the graph. None computes them once searches have taken as long as computing them, if they
        are faster than near-far; True computes them at once, False never.
    ahead_rounds : int or None
        Rounds of several hops each before the frontier is redistributed; 0 never runs ahead. None
        means 16 if most balls have the same radius, as on grids, otherwise 2.
    sweep : bool or None
        On directed graphs without a transpose: whether to scan a frontier of more than a sixteenth
        of the vertices in vertex order. None means True for at least 2**20 vertices and a mean
        degree of at most 32.
    """

    alpha: float = 14.0
    beta: float = 24.0
    transpose: bool | None = None
    thin_limit: int | None = None
    balls: bool | None = None
    ahead_rounds: int | None = None
    sweep: bool | None = None

    def __post_init__(self) -> None:
        for name in ("alpha", "beta", "thin_limit", "ahead_rounds"):
            value = getattr(self, name)
            if value is not None and not value >= 0:
                raise OptionError(f"{name} is {value}: give 0 or more")


_WHOLE = ("source", "limit", "thin_limit", "patience")  # int64 arguments of the kernel
# Fields of struct Search that differ between searches of a graph.
_OF_SEARCH = (
    *("in_offsets", "in_edges", "distance", "before"),
    *("balls", "ball_hops", "heads", "ahead_of_least", "ahead_rounds"),
)


class _Searcher:
    """Arrays and prepared launch that a graph's searches share, cached on the graph."""

    def __init__(
        self, device: DeviceGraph, reverse: DeviceGraph | None, directed: bool, ahead: bool
    ) -> None:
        cp = runtime.cupy()
        n, m = device.n, device.m
        vertex = device.vertex_dtype.itemsize
        words = (n + 31) // 32
        self.chunk_capacity = m // _CHUNK + m // _LONG + 1
        chunk = struct_dtype(_STATE, "Chunk", device.macros).itemsize
        control = struct_dtype(_STATE, "Control", device.macros)
        kind = struct_dtype(_STATE, "Search", device.macros)
        pair = struct_dtype(_STATE, "AheadEntry", device.macros).itemsize
        runtime.require_memory(
            n * (4 + vertex)
            + 12 * words
            + self.chunk_capacity * chunk
            + control.itemsize
            + (2 * (n // QUEUE_SHARE + _SPARE) + m // _HEAVY + 1) * pair * ahead
        )
        self.device, self.reverse, self.directed = device, reverse, directed
        self.queue = cp.empty(n, dtype=device.vertex_dtype)
        # Bitmaps of visited vertices, of pulled or swept frontiers, and of previously visited ones.
        self.bits = cp.empty((2 if reverse is not None else 3, words), dtype=np.uint32)
        self.chunks = cp.empty(self.chunk_capacity * chunk, dtype=np.uint8)
        macros = {
            # 64-bit vertices need more registers than 1024 threads leave.
            "BLOCK_THREADS": min(_BLOCK_THREADS, 512 if vertex > 4 else 1024),
            "BLOCKS_EACH": 1,
            "RUNS_AHEAD": int(ahead),
            "BALL_WIDTH": BALL_WIDTH,
            "SHORTCUT_DEPTH": SHORTCUT_DEPTH,
            **device.macros,
        }
        block = int(macros["BLOCK_THREADS"])
        program = runtime.program("algorithms/breadth_first/breadth_first.cuh", macros)
        kernel = program.kernel("breadth_first")
        self.blocks = runtime.device().multiprocessors * int(macros["BLOCKS_EACH"])
        shared = block // 32 * _STAGE * vertex
        self.heavy = None
        self.ahead_queues: list[Any] = []
        self.ahead_capacity = 0
        if ahead:
            self.ahead_capacity = n // QUEUE_SHARE + _SPARE
            shared = max(shared, 2 * _AHEAD_ROOM * pair)
            self.ahead_queues = [
                cp.empty(self.ahead_capacity * pair, dtype=np.uint8) for _ in range(2)
            ]
            self.heavy = cp.empty((m // _HEAVY + 1) * pair, dtype=np.uint8)
        given = {"given": np.zeros((), dtype=kind), **dict.fromkeys(_WHOLE, np.int64(0))}
        given |= {"alpha": np.float64(0), "beta": np.float64(0)}
        kinds = control, struct_dtype(_STATE, "Record")
        self.solve = WholeSolve(kernel, self.blocks, block, given, shared, *kinds)
        self._frame = filled(
            kind,
            n=n,
            m=m,
            offsets=device.offsets,
            edges=device.edges,
            queue=self.queue,
            visited=[self.bits, self.bits[1]],
            chunks=self.chunks,
            control=self.solve.control,
            chunk_capacity=self.chunk_capacity,
            undirected=not directed,
            ahead_queue=self.ahead_queues or [None, None],
            heavy=self.heavy,
            ahead_capacity=self.ahead_capacity,
            ahead_limit=_AHEAD_SHARE * self.blocks,
            **dict.fromkeys(_OF_SEARCH, 0),
        )

    def frame(
        self, distance: Any, options: BreadthFirstOptions, around: Balls | None, sweeps: bool
    ) -> Any:
        """Return ``struct Search`` of search_state.cuh."""
        reverse = self.reverse if options.alpha > 0 else None
        frame = self._frame  # only fields that differ are set: filling all of them takes 10 us
        frame["distance"] = distance.data.ptr
        frame["in_offsets"] = 0 if reverse is None else reverse.offsets.data.ptr
        frame["in_edges"] = 0 if reverse is None else reverse.edges.data.ptr
        frame["balls"] = frame["heads"] = 0
        if around is not None:
            frame["balls"] = around.words.data.ptr
            frame["heads"] = 0 if around.heads is None else around.heads.edges.data.ptr
            frame["ball_hops"] = around.hops if around.regular else _WITHOUT_CUTS
            frame["ahead_of_least"] = _IN_A_CROWD * around.hops
        regular = around is not None and around.regular
        rounds = options.ahead_rounds
        frame["ahead_rounds"] = (16 if regular else 2) if rounds is None else rounds
        frame["before"] = self.bits[2].data.ptr if sweeps and len(self.bits) > 2 else 0
        return frame


def _sweeps(graph: Graph, options: BreadthFirstOptions) -> bool:
    """Return whether to sweep dense frontiers that cannot be pulled."""
    if options.sweep is not None:
        return options.sweep
    return graph.n_vertices >= _SWEPT_FROM and graph.mean_degree <= _SWEPT_DEGREE


def _cost(facts: Facts, request: Request) -> Estimate | None:
    if has_declined(facts.graph):
        return None
    seconds = 0.4 * one_launch(facts)
    if request.once and facts.degree <= _ROAD_LIKE and facts.hops > PATIENCE:
        seconds = one_launch(facts) + _PATIENCE_SECONDS  # near-far continues
    return Estimate(seconds, "equal weights: level by level")


@variant(
    "breadth_first",
    device="cuda",
    summary="breadth-first search in one launch that pushes, pulls or runs ahead in a few blocks",
    weights="equal",
    options=BreadthFirstOptions,
    paper="beamer-2012",
    section="direction-optimizing BFS",
    complexity="O(n + m) pushing; pulling levels O(n + m) each at worst",
    cost=_cost,
)
@also_equal_weights
def breadth_first(
    graph: Graph, sources: Any, options: BreadthFirstOptions, workspace: Workspace
) -> Answer:
    """Launch one search, read its counters and return the distances."""
    cp = runtime.cupy()
    device = device_graph(graph)
    reverse: DeviceGraph | None = device
    kept = None
    if graph.directed:
        make = options.transpose or (options.transpose is None and reversing_pays(graph, device))
        kept = reverse_of(graph, device, make=make)
        reverse = None if kept is None or options.transpose is False else kept.device
    thin_limit = options.thin_limit
    if thin_limit is None:
        road_like = graph.mean_degree <= _ROAD_LIKE
        thin_limit = 64 * runtime.device().multiprocessors * road_like
    runs_ahead = options.ahead_rounds != 0 and thin_limit > 0 and may_have_balls(device)
    around = balls_at_hand(graph, device) if runs_ahead else None
    history = history_of(graph, device)
    if runs_ahead and around is None and (history.thin or _is_sparse(graph, history)):
        # Sparse graphs run ahead without observing levels first.
        around, answer = _balls_or_answer(graph, device, sources, options, history, workspace)
        if answer is not None:
            return answer
        runs_ahead = around is not None
    searcher = _SEARCHER.of(
        graph,
        lambda: _Searcher(device, reverse, graph.directed, runs_ahead),
        (*device.key, reverse is None, runs_ahead),
        alone=True,
    )
    distance = cp.empty(device.n, dtype=np.int32)
    limit = device.n if workspace.limit is None else min(workspace.limit, device.n)
    most_steps = (2 if runs_ahead else 1) * device.n + STEPS_BEYOND
    seconds = 0.0

    def search(around: Balls | None, runs_ahead: bool) -> tuple[np.void, Any]:
        nonlocal seconds
        arguments = {
            "given": searcher.frame(distance, options, around, _sweeps(graph, options)),
            "source": np.int64(sources),
            "limit": np.int64(max(math.floor(limit), 0)),
            "alpha": np.float64(options.alpha),
            "beta": np.float64(options.beta),
            "thin_limit": np.int64(thin_limit if runs_ahead else 0),
            "patience": np.int64(PATIENCE if around is None else 0),
        }
        found = searcher.solve.run(arguments, most_steps, workspace, device.vertex_dtype)
        seconds += searcher.solve.seconds
        return found

    control, records = search(around, runs_ahead)
    if control["status"] == _WANTS_BALLS:
        history.thin = True
        around, answer = _balls_or_answer(graph, device, sources, options, history, workspace)
        if answer is not None:
            answer.stats["device_seconds"] += seconds
            return answer
        control, records = search(around, around is not None)
    steps = int(control["steps"])
    if control["status"]:
        raise wrong_device(f"breadth_first@cuda gave up after {steps} steps")
    if around is not None and workspace.whole:
        history.by_balls.add(seconds)
    if control["wide"] or history.slower:
        give_up(graph, device)
    tally = control["tally"]
    if tally["missed"]:
        reversing_pays(graph, device, seconds)
    stats: dict[str, Any] = {
        "iterations": int(control["deepest"] + 1 if control["ahead_steps"] else control["levels"]),
        "edges_relaxed": int(control["edges"]),
        **{name: int(control[name]) for name in _REPORTED},
        **{name: int(tally[name]) for name in _TALLY},
        "device_seconds": seconds,
        "transpose_seconds": 0.0 if kept is None else kept.seconds,
        "ball_hops": 0 if around is None else around.hops,
        "ball_seconds": 0.0 if around is None else around.seconds,
    }
    if records is not None:
        found, kinds = searcher.solve.records(records, steps), enum_names(_STATE, "StepKind")
        stats |= {
            "kind": [kinds[kind] for kind in found["kind"]],
            "frontier": found["frontier"],
            "frontier_edges": found["edges"],
            "seconds_per_step": np.diff(found["nanoseconds"]) * 1e-9,
        }
    return Answer(distance, stats)


def _is_sparse(graph: Graph, history: History) -> bool:
    """Return whether near-far is as fast as levels even if frontiers grow."""
    if graph.mean_degree >= _SPARSE:
        return False
    # Finding the longest row takes as long as a search, so it waits for the second search.
    return history.without.searches == 0 or graph.max_degree <= _LONG


def _balls_or_answer(
    graph: Graph,
    device: DeviceGraph,
    source: int,
    options: BreadthFirstOptions,
    history: History,
    workspace: Workspace,
) -> tuple[Balls | None, Answer | None]:
    """Return balls to run ahead with, or the answer of near-far, which needs no balls."""
    around = None
    if options.balls or (options.balls is None and history.pays(device.n)):
        around = balls(graph, device)
    if around is not None:
        return around, None
    (near_far,) = find(_WITHOUT_BALLS)
    try:
        found = near_far.run(graph, source, near_far.options(), workspace)
    except OutOfMemoryError:
        return None, None
    if workspace.whole:
        history.without.add(found.stats["device_seconds"])
    found.stats |= {"ahead_steps": 0, "ball_hops": 0, "ball_seconds": 0.0}
    return None, found
