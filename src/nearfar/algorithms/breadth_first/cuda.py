"""Breadth-first search on a GPU, one launch per search; see breadth_first.cuh."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from nearfar.cuda.costs import one_launch
from nearfar.cuda.device_graph import device_graph
from nearfar.cuda.whole_solve import WholeSolve, row_lanes
from nearfar.errors import OptionError, SolverError
from nearfar.graph.slots import Slot
from nearfar.registry import Answer, Estimate, variant
from nearfar.system.devices import runtime
from nearfar.system.devices.structs import enum_names, filled, struct_dtype

if TYPE_CHECKING:
    from nearfar.cuda.device_graph import DeviceGraph
    from nearfar.graph.facts import Facts
    from nearfar.graph.graph import Graph
    from nearfar.registry import Request, Workspace

__all__ = ["BreadthFirstOptions", "breadth_first"]

_STATE = "algorithms/breadth_first/search_state.cuh"
_STAGE, _HEAVY, _CHUNK = 128, 2048, 1024  # of that file
_THIN = "algorithms/breadth_first/thin.cuh"
# Counters of struct Control that a solve reports.
_REPORTED = ("steps", "pushes", "pulls", "thin_levels", "ahead_steps", "rescans", "sweeps")
_THIN_CAPACITY = 2048  # entries of a thin step's list, per block
_MOST_SHARED = 200 << 10  # bytes per block
_SPARE = 4096  # entries
_ROAD_LIKE = 5.0  # mean degree
_SWEPT_FROM, _SWEPT_DEGREE = 1 << 20, 32.0  # vertices, mean degree
_AHEAD_SHARE = 256  # entries of the queue per block, at most
_AHEAD_LEAVE = 1024  # kAheadLeave of ahead.cuh
STEPS_BEYOND = 2  # the watchdog: a step finds at least one vertex
QUEUE_SHARE = 2  # vertices over the entries of a queue when running ahead
# Compile-time constants to override, for measuring.
KNOBS: dict[str, int] = {}
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
    transpose : bool
        Make the transpose of a directed graph, which pulling needs, when there is none yet. It is
        kept with the graph: worth it for many searches, not for one.
    thin_limit : int or None
        Frontiers of up to so many vertices are advanced by a few blocks, many levels at a time.
        None means 64 per multiprocessor on graphs of mean degree 5 or less, else 0: never.
    ahead_rounds : int
        On graphs of mean degree 5 or less, once 16 levels were thin: so many levels that blocks run
        ahead of each other before the frontier is dealt anew; 0 never runs ahead.
    sweep : bool or None
        On directed graphs without a transpose: take a frontier of more than a sixteenth of the
        vertices in their order. None means from a million vertices on and up to a mean degree of
        32: smaller graphs give the warps too few words of 32 vertices to share.
    """

    alpha: float = 14.0
    beta: float = 24.0
    transpose: bool = False
    thin_limit: int | None = None
    ahead_rounds: int = 64
    sweep: bool | None = None

    def __post_init__(self) -> None:
        for name in ("alpha", "beta", "thin_limit", "ahead_rounds"):
            value = getattr(self, name)
            if value is not None and not value >= 0:
                raise OptionError(f"{name} is {value}: give 0 or more")


class _Searcher:
    """Arrays and the prepared launch that a graph's searches share; kept with the graph."""

    def __init__(
        self, device: DeviceGraph, reverse: DeviceGraph | None, directed: bool, row_width: int
    ) -> None:
        cp = runtime.cupy()
        n, m = device.n, device.m
        vertex = device.vertex_dtype.itemsize
        words = (n + 31) // 32
        self.chunk_capacity = m // _CHUNK + m // _HEAVY + 1
        chunk = struct_dtype(_STATE, "Chunk", device.macros).itemsize
        control = struct_dtype(_STATE, "Control", device.macros)
        self._kind = struct_dtype(_STATE, "Search", device.macros)
        pair = struct_dtype(_STATE, "AheadEntry", device.macros).itemsize
        runtime.require_memory(
            n * (4 + vertex)
            + 12 * words
            + self.chunk_capacity * chunk
            + control.itemsize
            + row_width * n * vertex
            + (2 * (n // QUEUE_SHARE + _SPARE) + m // _HEAVY + 1) * pair * bool(row_width),
            "use a CPU method (device='cpu') or a GPU with more memory",
        )
        self.device, self.reverse, self.directed = device, reverse, directed
        self.queue = cp.empty(n, dtype=device.vertex_dtype)
        # Bitmaps: visited, of pulling or of a swept frontier, and of what was visited before that.
        self.bits = cp.empty((2 if reverse is not None else 3, words), dtype=np.uint32)
        self.chunks = cp.empty(self.chunk_capacity * chunk, dtype=np.uint8)
        macros = {
            # Running ahead, and 64-bit vertices, want more registers than 1024 threads leave.
            "BLOCK_THREADS": 512 if row_width or vertex > 4 else 1024,
            "BLOCKS_EACH": 1,
            "RUNS_AHEAD": int(row_width > 0),
            "ROW_WIDTH": row_width or 4,
            **device.macros,
            **KNOBS,
        }
        block = int(macros["BLOCK_THREADS"])
        program = runtime.program("algorithms/breadth_first/breadth_first.cuh", macros)
        kernel = program.kernel("breadth_first")
        self.blocks = runtime.device().multiprocessors * int(macros["BLOCKS_EACH"])
        entry = struct_dtype(_THIN, "ThinEntry", device.macros).itemsize
        shared = max(block // 32 * _STAGE * vertex, 2 * _THIN_CAPACITY * entry)
        self.rows = self.heavy = None
        self.ahead_queues: list[Any] = []
        self.ahead_room = self.ahead_capacity = 0
        if row_width:
            self.ahead_room = min(_AHEAD_LEAVE * row_width, _MOST_SHARED // (2 * pair))
            self.ahead_capacity = n // QUEUE_SHARE + _SPARE
            shared = max(shared, 2 * self.ahead_room * pair)
            self.ahead_queues = [
                cp.empty(self.ahead_capacity * pair, dtype=np.uint8) for _ in range(2)
            ]
            self.heavy = cp.empty((m // _HEAVY + 1) * pair, dtype=np.uint8)
            self.rows = cp.empty(n * row_width, dtype=device.vertex_dtype)
            program.kernel("fill_rows")(
                self.blocks * 4, 256, (device.offsets, device.edges, np.int64(n), self.rows)
            )
        zero, real = np.int64(0), np.float64(0)
        first = (np.zeros((), dtype=self._kind), zero, zero, real, real)
        kinds = control, struct_dtype(_STATE, "Record")
        self.solve = WholeSolve(kernel, self.blocks, block, first, [zero], shared, *kinds)

    def frame(
        self, distance: Any, options: BreadthFirstOptions, thin: int, road: bool, sweeps: bool
    ) -> Any:
        """``struct Search`` of search_state.cuh."""
        device = self.device
        reverse = self.reverse if options.alpha > 0 else None
        ahead_rounds = options.ahead_rounds if road else 0
        return filled(
            self._kind,
            n=device.n,
            m=device.m,
            offsets=device.offsets,
            edges=device.edges,
            in_offsets=None if reverse is None else reverse.offsets,
            in_edges=None if reverse is None else reverse.edges,
            distance=distance,
            queue=self.queue,
            visited=[self.bits, self.bits[1]],
            chunks=self.chunks,
            control=self.solve.control,
            chunk_capacity=self.chunk_capacity,
            thin_capacity=_THIN_CAPACITY,
            row_lanes=row_lanes(device),
            undirected=not self.directed,
            rows=self.rows if ahead_rounds else None,
            ahead_queue=self.ahead_queues or [None, None],
            heavy=self.heavy,
            ahead_capacity=self.ahead_capacity,
            ahead_room=self.ahead_room,
            ahead_limit=_AHEAD_SHARE * self.blocks,
            ahead_rounds=ahead_rounds,
            before=self.bits[2] if sweeps and len(self.bits) > 2 else None,
            counts_edges=reverse is not None or thin > 0,
        )


def _sweeps(graph: Graph, options: BreadthFirstOptions) -> bool:
    """Whether dense frontiers are swept where they cannot be pulled."""
    if options.sweep is not None:
        return options.sweep
    return graph.n_vertices >= _SWEPT_FROM and graph.mean_degree <= _SWEPT_DEGREE


def _searcher(
    graph: Graph, device: DeviceGraph, reverse: DeviceGraph | None, ahead: bool
) -> _Searcher:
    def make() -> _Searcher:
        width = (4 if graph.max_degree <= 4 else 8) if ahead else 0
        return _Searcher(device, reverse, graph.directed, width)

    where = (runtime.device().ordinal, device.vertex_dtype, device.offset_dtype)
    return _SEARCHER.of(graph, make, (*where, reverse is None, ahead), alone=True)


def _cost(facts: Facts, request: Request) -> Estimate:
    # Running ahead on roads gains less than pulling and sweeping do elsewhere.
    share = 0.75 if facts.degree <= _ROAD_LIKE else 0.5
    return Estimate(share * one_launch(facts), "no weights: level by level")


@variant(
    "breadth_first",
    device="cuda",
    summary="breadth-first search in one launch that pushes, pulls or stays in a few blocks",
    weights="unweighted",
    options=BreadthFirstOptions,
    paper="beamer-2012",
    section="direction-optimizing BFS",
    complexity="O(n + m) pushing; pulling levels O(n + m) each at worst",
    cost=_cost,
)
def breadth_first(
    graph: Graph, sources: Any, options: BreadthFirstOptions, workspace: Workspace
) -> Answer:
    """Launch once, read the counters, return the distances.

    Raises
    ------
    SolverError
        If the watchdog's bound on steps is reached.
    """
    cp = runtime.cupy()
    device = device_graph(graph)
    if not graph.directed:
        reverse: DeviceGraph | None = device
    elif options.transpose or graph.has_transpose:
        reverse = device_graph(graph.transpose())
    else:
        reverse = None
    road = graph.mean_degree <= _ROAD_LIKE and options.ahead_rounds > 0 and options.thin_limit != 0
    searcher = _searcher(graph, device, reverse, road)
    distance = cp.empty(device.n, dtype=np.int32)
    limit = device.n if workspace.limit is None else min(workspace.limit, device.n)
    thin = options.thin_limit
    if thin is None:
        thin = 64 * searcher.blocks if graph.mean_degree <= _ROAD_LIKE else 0
    first = (
        searcher.frame(distance, options, thin, road, _sweeps(graph, options)),
        np.int64(sources),
        np.int64(max(math.floor(limit), 0)),
        np.float64(options.alpha),
        np.float64(options.beta),
    )
    own = [np.int64(min(thin, searcher.blocks * _THIN_CAPACITY // 4))]
    most_steps = (2 if road else 1) * device.n + STEPS_BEYOND
    control, records = searcher.solve.run(first, own, most_steps, workspace, device.vertex_dtype)
    steps = int(control["steps"])
    if control["status"]:
        raise SolverError(
            f"breadth_first@cuda gave up after {steps} steps: check the device with "
            "`nearfar doctor`"
        )
    stats: dict[str, Any] = {
        "iterations": int(control["deepest"] + 1 if control["ahead_steps"] else control["levels"]),
        "edges_relaxed": int(control["edges"]),
        **{name: int(control[name]) for name in _REPORTED},
        "device_seconds": searcher.solve.seconds,
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
