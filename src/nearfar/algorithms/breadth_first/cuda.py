"""Breadth-first search on a GPU, one launch a search; see breadth_first.cuh."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from nearfar.cuda.device_graph import device_graph
from nearfar.cuda.whole_solve import WholeSolve, read_records, row_lanes
from nearfar.errors import OptionError, SolverError
from nearfar.graph.slots import Slot
from nearfar.registry import Answer, variant
from nearfar.system.devices import runtime

if TYPE_CHECKING:
    from nearfar.cuda.device_graph import DeviceGraph
    from nearfar.graph.graph import Graph
    from nearfar.registry import Workspace

__all__ = ["BreadthFirstOptions", "breadth_first"]

_STAGE, _HEAVY, _CHUNK = 128, 2048, 1024  # of search_state.cuh
_COUNTERS = 11  # of struct Control
_CONTROL_BYTES = 2048
_SEARCH_FIELDS = 26  # of struct Search, 8 bytes each
_THIN_CAPACITY = 2048  # entries of a thin step's list, a block
_MOST_SHARED = 200 << 10  # bytes a block
_SPARE = 4096  # entries
_ROAD_LIKE = 5.0  # mean degree
_SWEPT_FROM, _SWEPT_DEGREE = 1 << 20, 32.0  # vertices, mean degree
_AHEAD_SHARE = 256  # entries of the queue a block, at most
_AHEAD_LEAVE = 1024  # kAheadLeave of ahead.cuh
STEP_KINDS = ("push", "pull", "thin", "ahead", "relax", "rescan", "sweep")  # enum StepKind there
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
        None means 64 a multiprocessor on graphs of mean degree 5 or less, else 0: never.
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
        vertex, offset = device.vertex_dtype.itemsize, device.offset_dtype.itemsize
        words = (n + 31) // 32
        self.chunk_capacity = m // _CHUNK + m // _HEAVY + 1
        chunk = 8 if offset == 4 else 16
        runtime.require_memory(
            n * (4 + vertex)
            + 12 * words
            + self.chunk_capacity * chunk
            + _CONTROL_BYTES
            + row_width * n * vertex
            + (2 * (n // QUEUE_SHARE + _SPARE) + m // _HEAVY + 1) * 2 * vertex * bool(row_width),
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
        entry = 12 if offset == 4 and vertex == 4 else 24
        shared = max(block // 32 * _STAGE * vertex, 2 * _THIN_CAPACITY * entry)
        self.rows = self.heavy = None
        self.ahead_queues: list[Any] = []
        self.ahead_room = self.ahead_capacity = 0
        if row_width:
            pair = 2 * vertex
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
        first = (np.zeros(_SEARCH_FIELDS, dtype=np.uint64), zero, zero, real, real)
        self.solve = WholeSolve(kernel, self.blocks, block, first, [zero], shared, _CONTROL_BYTES)

    def frame(
        self, distance: Any, options: BreadthFirstOptions, thin: int, road: bool, sweeps: bool
    ) -> Any:
        """``struct Search`` of search_state.cuh."""
        device, reverse = self.device, self.reverse

        def at(array: Any) -> int:
            return 0 if array is None else int(array.data.ptr)

        queues = self.ahead_queues or [None, None]
        pulls = options.alpha > 0 and reverse is not None
        ahead_rounds = options.ahead_rounds if road else 0
        return np.array(
            [
                *(device.n, device.m, at(device.offsets), at(device.edges)),
                at(reverse.offsets) if reverse is not None and pulls else 0,
                at(reverse.edges) if reverse is not None and pulls else 0,
                *(at(distance), at(self.queue)),
                *(at(self.bits), at(self.bits[1])),
                *(at(self.chunks), at(self.solve.control)),
                *(self.chunk_capacity, _THIN_CAPACITY, row_lanes(device), int(not self.directed)),
                *(at(self.rows) if ahead_rounds else 0, *map(at, queues), at(self.heavy)),
                *(self.ahead_capacity, self.ahead_room, _AHEAD_SHARE * self.blocks, ahead_rounds),
                at(self.bits[2]) if sweeps and len(self.bits) > 2 else 0,
                int(pulls or thin > 0),
            ],
            dtype=np.uint64,
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


@variant(
    "breadth_first",
    device="cuda",
    summary="breadth-first search in one launch that pushes, pulls or stays in a few blocks",
    weights="unweighted",
    options=BreadthFirstOptions,
    paper="beamer-2012",
    section="direction-optimizing BFS",
    complexity="O(n + m) pushing; pulling levels O(n + m) each at worst",
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
    raw, records = searcher.solve.run(
        first, own, most_steps, workspace, device.vertex_dtype, _COUNTERS
    )
    counters = raw.view(np.int64).tolist()
    status, edges, steps, levels, pushes, pulls, thin_levels, ahead_steps = counters[:8]
    if status:
        raise SolverError(
            f"breadth_first@cuda gave up after {steps} steps: check the device with "
            "`nearfar doctor`"
        )
    stats: dict[str, Any] = {
        "iterations": counters[9] + 1 if ahead_steps else levels,
        "edges_relaxed": edges,
        "steps": steps,
        "pushes": pushes,
        "pulls": pulls,
        "thin_levels": thin_levels,
        "ahead_steps": ahead_steps,
        "rescans": counters[8],
        "sweeps": counters[10],
        "device_seconds": searcher.solve.seconds,
    }
    if records is not None:
        kinds, sizes, ahead, times = read_records(records, steps)
        stats |= {
            "kind": [STEP_KINDS[kind] for kind in kinds],
            "frontier": sizes,
            "frontier_edges": ahead,
            "seconds_per_step": np.diff(times) * 1e-9,
        }
    return Answer(distance, stats)
