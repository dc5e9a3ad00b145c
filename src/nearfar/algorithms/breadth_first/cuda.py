"""Breadth-first search on a GPU, one launch a search; see breadth_first.cuh."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from nearfar.cuda import runtime
from nearfar.cuda.device_graph import device_graph
from nearfar.errors import OptionError, SolverError
from nearfar.registry import Answer, variant

if TYPE_CHECKING:
    from nearfar.cuda.device_graph import DeviceGraph
    from nearfar.graph import Graph
    from nearfar.registry import Workspace

__all__ = ["BreadthFirstOptions", "breadth_first"]

_STAGE, _HEAVY, _CHUNK = 128, 2048, 1024  # of search_state.cuh
_COUNTERS_AT = 128  # byte where the counters of struct Control begin
_CONTROL_BYTES = 2048
_SEARCH_FIELDS = 16  # of struct Search, 8 bytes each
_THIN_CAPACITY = 2048  # entries of a thin step's list, a block
_MOST_RECORDS = 1 << 15
_ROAD_LIKE = 8.0  # mean degree
STEP_KINDS = ("push", "pull", "thin")  # enum StepKind there
STEPS_BEYOND = 2  # the watchdog: a step finds at least one vertex
# Compile-time constants to override, for measuring.
KNOBS: dict[str, int] = {}


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
        None means 64 a multiprocessor on graphs of mean degree 8 or less, else 0: never.
    """

    alpha: float = 14.0
    beta: float = 24.0
    transpose: bool = False
    thin_limit: int | None = None

    def __post_init__(self) -> None:
        for name in ("alpha", "beta", "thin_limit"):
            value = getattr(self, name)
            if value is not None and not value >= 0:
                raise OptionError(f"{name} is {value}: give 0 or more")


class _Searcher:
    """Arrays and the prepared launch that a graph's searches share; kept with the graph."""

    def __init__(self, device: DeviceGraph, reverse: DeviceGraph | None, directed: bool) -> None:
        cp = runtime.cupy()
        n, m = device.n, device.m
        vertex, offset = device.vertex_dtype.itemsize, device.offset_dtype.itemsize
        words = (n + 31) // 32
        self.chunk_capacity = m // _CHUNK + m // _HEAVY + 1
        chunk = 8 if offset == 4 else 16
        runtime.require_memory(
            n * (4 + vertex) + 8 * words + self.chunk_capacity * chunk + _CONTROL_BYTES,
            "use a CPU method (device='cpu') or a GPU with more memory",
        )
        self.device, self.reverse, self.directed = device, reverse, directed
        self.queue = cp.empty(n, dtype=device.vertex_dtype)
        self.visited = cp.empty((2, words), dtype=np.uint32)
        self.chunks = cp.empty(self.chunk_capacity * chunk, dtype=np.uint8)
        self.control = cp.empty(_CONTROL_BYTES, dtype=np.uint8)
        macros = {"BLOCK_THREADS": 1024, "BLOCKS_EACH": 1, **device.macros, **KNOBS}
        block = int(macros["BLOCK_THREADS"])
        kernel = runtime.program("algorithms/breadth_first/breadth_first.cuh", macros).kernel(
            "breadth_first"
        )
        self.blocks = runtime.device().multiprocessors * int(macros["BLOCKS_EACH"])
        entry = 12 if offset == 4 and vertex == 4 else 24
        shared = max(block // 32 * _STAGE * vertex, 2 * _THIN_CAPACITY * entry)
        kernel.allow_shared(shared)
        self.timer = runtime.Timer()
        zero, real = np.int64(0), np.float64(0)
        self.launch = runtime.Launch(
            kernel,
            self.blocks,
            block,
            (
                *(np.zeros(_SEARCH_FIELDS, dtype=np.uint64), zero, zero, real, real),
                *(None, zero, zero, zero, None, zero),
            ),
            shared=shared,
            cooperative=True,
        )

    def frame(self, distance: Any, pulls: bool) -> Any:
        """``struct Search`` of search_state.cuh."""
        device, reverse = self.device, self.reverse

        def at(array: Any) -> int:
            return int(array.data.ptr)

        lanes = 2 ** math.ceil(math.log2(min(max(device.m / max(device.n, 1), 4.0), 32.0)))
        pulls = pulls and reverse is not None
        return np.array(
            [
                *(device.n, device.m, at(device.offsets), at(device.edges)),
                at(reverse.offsets) if reverse is not None and pulls else 0,
                at(reverse.edges) if reverse is not None and pulls else 0,
                *(at(distance), at(self.queue)),
                *(at(self.visited), at(self.visited) + self.visited.nbytes // 2),
                *(at(self.chunks), at(self.control)),
                *(self.chunk_capacity, _THIN_CAPACITY, lanes, int(not self.directed)),
            ],
            dtype=np.uint64,
        )


def _searcher(graph: Graph, device: DeviceGraph, reverse: DeviceGraph | None) -> _Searcher:
    held = graph.cache.setdefault("breadth_first_cuda", {})
    key = (runtime.device().ordinal, device.vertex_dtype, device.offset_dtype, reverse is None)
    if key not in held:
        held.clear()  # one set a graph
        held[key] = _Searcher(device, reverse, graph.directed)
    return held[key]  # type: ignore[no-any-return]


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
    elif options.transpose or "transpose" in graph.cache:
        reverse = device_graph(graph.transpose())
    else:
        reverse = None
    searcher = _searcher(graph, device, reverse)
    distance = cp.empty(device.n, dtype=np.int32)
    targets = records = None
    if workspace.targets is not None:
        targets = cp.asarray(np.ascontiguousarray(workspace.targets, dtype=device.vertex_dtype))
    if workspace.stats == "full":
        records = cp.zeros((_MOST_RECORDS, 4), dtype=np.uint64)
    limit = device.n if workspace.limit is None else min(workspace.limit, device.n)
    thin = options.thin_limit
    if thin is None:
        thin = 64 * searcher.blocks if graph.mean_degree <= _ROAD_LIKE else 0
    values = (
        searcher.frame(distance, options.alpha > 0),
        np.int64(sources),
        np.int64(max(math.floor(limit), 0)),
        np.float64(options.alpha),
        np.float64(options.beta),
        np.uint64(0 if targets is None else targets.data.ptr),
        np.int64(0 if targets is None else len(targets)),
        np.int64(min(thin, searcher.blocks * _THIN_CAPACITY // 4)),
        np.int64(device.n + STEPS_BEYOND),
        np.uint64(0 if records is None else records.data.ptr),
        np.int64(_MOST_RECORDS),
    )
    for place, value in enumerate(values):
        searcher.launch.set(place, value)
    searcher.timer.start()
    searcher.control.fill(0)
    searcher.launch()
    searcher.timer.stop()
    counters = searcher.control[_COUNTERS_AT : _COUNTERS_AT + 56].get().view(np.int64).tolist()
    status, edges, steps, levels, pushes, pulls, thin_levels = counters
    if status:
        raise SolverError(
            f"breadth_first@cuda gave up after {steps} steps: check the device with "
            "`nearfar doctor`"
        )
    stats: dict[str, Any] = {
        "iterations": levels,
        "edges_relaxed": edges,
        "steps": steps,
        "pushes": pushes,
        "pulls": pulls,
        "thin_levels": thin_levels,
        "device_seconds": searcher.timer.seconds,
    }
    if records is not None:
        kinds, sizes, ahead, times = records[: min(steps, _MOST_RECORDS)].get().astype(np.int64).T
        stats |= {
            "kind": [STEP_KINDS[kind] for kind in kinds],
            "frontier": sizes,
            "frontier_edges": ahead,
            "seconds_per_step": np.diff(times) * 1e-9,
        }
    return Answer(distance, stats)
