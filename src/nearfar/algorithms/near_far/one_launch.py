"""The flagship on a GPU: Near-Far with the whole solve in one launch; see one_launch.cuh."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from nearfar.algorithms.near_far.one_launch_ranges import most_steps, solve_by_ranges
from nearfar.cuda import runtime
from nearfar.cuda.device_graph import device_graph
from nearfar.errors import OptionError, SolverError
from nearfar.graph import unreached_value
from nearfar.options import DeltaOptions
from nearfar.registry import Answer

if TYPE_CHECKING:
    from nearfar.cuda.device_graph import DeviceGraph
    from nearfar.graph import Graph
    from nearfar.registry import Workspace

__all__ = ["OneLaunchOptions", "solve_in_one_launch"]

_STAGE = 128  # kStage of one_launch_rows.cuh
_CHUNK, _HEAVY = 512, 1024  # kChunk and kHeavy there
_COUNTERS_AT = 128  # byte where the counters of struct Control begin
_CONTROL_BYTES = 1024
_MOST_RECORDS = 1 << 15
_SOLVE_FIELDS = 16  # of struct Solve, 8 bytes each
_FITS_L1 = 1 << 19  # bytes
_LOCAL = 8192  # entries' worth of shared memory for the local lists, at least
_ROOMY = 1 << 22  # entries
STEP_KINDS = ("split", "grid", "local", "rescan", "pull")  # enum StepKind there
# Compile-time constants of one_launch_rows.cuh to override, for measuring; see its head.
KNOBS: dict[str, int] = {}


@dataclass(frozen=True, slots=True)
class OneLaunchOptions(DeltaOptions):
    """Options of the one-launch form; the defaults were measured and suit most graphs.

    Parameters
    ----------
    delta : float or None
        First step of the threshold in units of the weights. None takes the paper's 32 * mean
        weight / mean degree, times 1/4 (sparse), 1/2 (dense) or 4 (skewed degrees).
    delta_growth : float or None
        While the near set is thin, delta grows up to so many times the first step, at least 1. None
        means 16 on road-like graphs (mean degree at most 5) and 1 on others.
    target_near : int or None
        Entries of the near set that delta aims at; None means 32 a multiprocessor.
    local_limit : int or None
        Up to so many entries, blocks advance on their own; 0 never. None means 256 a multiprocessor
        on graphs of mean degree 8 or less, and 0 on others.
    local_rounds : int
        Rounds that a block advances on its own.
    local_leave : int
        A block's list longer than this is handed back to the whole device.
    queue_factor : float
        Capacity of each queue over the number of vertices, at least 1.
    sort_rows : bool
        Sort the edges of each vertex by weight on the device, once a graph, so that an edge is
        looked at only when its sum is due. Needs weights; the sort is paid by the first solve.
    pull_share : int
        With sorted rows, on an undirected graph: open vertices look at their own edges once
        fewer than one edge in so many is left at them; 0 never.
    eager_growth : float
        What delta is multiplied by from then on.
    """

    delta_growth: float | None = None
    target_near: int | None = None
    local_limit: int | None = None
    local_rounds: int = 1000
    local_leave: int = 512
    queue_factor: float = 1.5
    sort_rows: bool = False
    pull_share: int = 16
    eager_growth: float = 16.0

    def __post_init__(self) -> None:
        DeltaOptions.__post_init__(self)
        for name in (
            "delta_growth",
            "local_rounds",
            "local_leave",
            "queue_factor",
            "eager_growth",
        ):
            value = getattr(self, name)
            if value is not None and not value >= 1:
                raise OptionError(f"{name} is {getattr(self, name)}: give at least 1")
        for name in ("target_near", "local_limit", "pull_share"):
            value = getattr(self, name)
            if value is not None and value < 0:
                raise OptionError(f"{name} is {value}: give 0 or more, or None")


_ROAD_LIKE, _DENSE, _SKEWED = 5.0, 16.0, 50.0  # mean degrees, and greatest over mean degree
_RANGE_SCALE = 0.125  # of the paper's delta


def sorts_rows(graph: Graph, options: OneLaunchOptions) -> bool:
    """Whether the solve runs over rows sorted by weight."""
    return options.sort_rows and graph.is_weighted


def range_delta(graph: Graph, options: OneLaunchOptions) -> float:
    """The step of the threshold over sorted rows, in units of the weights."""
    if options.delta is not None or not graph.n_edges:
        return first_delta(graph, options)
    value = _RANGE_SCALE * 32.0 * graph.mean_weight / graph.mean_degree
    return max(value, 1.0) if graph.weight_dtype.kind == "i" else value or 1.0


def first_delta(graph: Graph, options: OneLaunchOptions) -> float:
    """The step that the threshold starts with, in units of the weights."""
    if options.delta is not None:
        value = float(options.delta)
    elif graph.n_edges:
        mean = graph.mean_degree
        if graph.max_degree > _SKEWED * mean and mean > _ROAD_LIKE:
            scale = 4.0
        else:
            scale = 0.5 if mean > _DENSE else 0.25
        value = scale * 32.0 * graph.mean_weight / mean
    else:
        value = 1.0
    return max(value, 1.0) if graph.weight_dtype.kind == "i" else value or 1.0


class _Solver:
    """Arrays and the prepared launch that a graph's solves share; kept with the graph."""

    def __init__(self, device: DeviceGraph, factor: float) -> None:
        cp = runtime.cupy()
        here = runtime.device()
        n = max(device.n, 1)
        weight = device.weight_dtype
        size = max(device.vertex_dtype.itemsize, weight.itemsize)
        entry, local_entry = 2 * size, 4 * max(size, device.offset_dtype.itemsize)
        chunk = 16 if max(weight.itemsize, device.offset_dtype.itemsize) == 4 else 32
        self.device = device
        # Stale entries wait in the far pile too; a small dense graph can afford room for them.
        self.capacity = max(math.ceil(n * factor), min(device.m, _ROOMY) if factor > 1 else n)
        self.heavy_capacity = device.m // _CHUNK + device.m // _HEAVY + 1
        runtime.require_memory(
            n * weight.itemsize + 4 * self.capacity * entry + self.heavy_capacity * chunk,
            "use queue_factor=1, or a CPU method (device='cpu')",
        )
        # Zeroed once: records are read whole, with the padding that nobody writes.
        self.queues = [cp.zeros(self.capacity * entry, dtype=np.uint8) for _ in range(4)]
        self.heavy = cp.zeros(self.heavy_capacity * chunk, dtype=np.uint8)
        self.control = cp.empty(_CONTROL_BYTES, dtype=np.uint8)
        # A distance array that fits L1 is worth reading there; a large one only evicts other data.
        small = n * weight.itemsize <= _FITS_L1
        macros = {
            "SEEN_FROM_L1": int(small),
            "BLOCK_THREADS": 512,
            "BLOCKS_EACH": 1,
            **device.macros,
            **KNOBS,
        }
        block = int(macros["BLOCK_THREADS"])
        self.blocks = here.multiprocessors * int(macros["BLOCKS_EACH"])
        shared = max(block // 32 * 2 * _STAGE, _LOCAL) * entry
        self.local_capacity = shared // (2 * local_entry + entry)
        kernel = runtime.program("algorithms/near_far/one_launch.cuh", macros).kernel(
            "near_far_one_launch"
        )
        kernel.allow_shared(shared)
        self.timer = runtime.Timer()
        never = weight.type(unreached_value(weight))
        numbers = [np.int64(0), np.float64(0), np.float64(0), never, None]
        numbers += [np.int64(0)] * 4 + [None, np.int64(0)]
        self.launch = runtime.Launch(
            kernel,
            self.blocks,
            block,
            (np.zeros(_SOLVE_FIELDS, dtype=np.uint64), *numbers),
            shared=shared,
            cooperative=True,
        )

    def frame(self, distance: Any, options: OneLaunchOptions) -> Any:
        """``struct Solve`` of one_launch_rows.cuh."""
        device = self.device
        arrays = (
            *(device.offsets, device.edges, distance),
            *(*self.queues, self.heavy, self.control),
        )
        wanted = min(max(device.m / max(device.n, 1), 4.0), 32.0)
        return np.array(
            [
                device.n,
                *(int(array.data.ptr) for array in arrays),
                self.capacity,
                self.heavy_capacity,
                self.local_capacity,
                options.local_rounds,
                options.local_leave,
                2 ** math.ceil(math.log2(wanted)),
            ],
            dtype=np.uint64,
        )


def _solver(graph: Graph, device: DeviceGraph, factor: float) -> _Solver:
    held = graph.cache.setdefault("near_far_one_launch", {})
    key = (runtime.device().ordinal, device.vertex_dtype, device.offset_dtype, factor)
    if key not in held:
        held.clear()  # one set a graph: another capacity replaces it
        held[key] = _Solver(device, factor)
    return held[key]  # type: ignore[no-any-return]


def solve_in_one_launch(
    graph: Graph, source: int, options: OneLaunchOptions, workspace: Workspace
) -> Answer:
    """Launch once, read the counters, return the distances.

    Raises
    ------
    SolverError
        If the watchdog's bound on steps is reached.
    """
    if sorts_rows(graph, options):
        return solve_by_ranges(
            graph,
            source,
            delta=range_delta(graph, options),
            eager_growth=options.eager_growth,
            pull_share=options.pull_share,
            queue_factor=options.queue_factor,
            limit=_in_dtype(workspace.limit, graph.weight_dtype),
            targets=workspace.targets,
            stats=workspace.stats,
        )
    cp = runtime.cupy()
    device = device_graph(graph)
    weight = device.weight_dtype
    solver = _solver(graph, device, options.queue_factor)
    blocks = solver.blocks
    delta = first_delta(graph, options)
    growth = options.delta_growth or (16.0 if graph.mean_degree <= _ROAD_LIKE else 1.0)
    distance = cp.empty(device.n, dtype=weight)
    targets = records = None
    if workspace.targets is not None:
        targets = cp.asarray(np.ascontiguousarray(workspace.targets, dtype=device.vertex_dtype))
    if workspace.stats == "full":
        records = cp.zeros((_MOST_RECORDS, 4), dtype=np.uint64)
    local_limit = options.local_limit
    if local_limit is None:
        local_limit = 256 * blocks if graph.mean_degree <= 8 else 0
    values = (
        solver.frame(distance, options),
        np.int64(source),
        np.float64(delta),
        np.float64(delta * growth),
        _in_dtype(workspace.limit, weight),
        np.uint64(0 if targets is None else targets.data.ptr),
        np.int64(0 if targets is None else len(targets)),
        np.int64(min(local_limit, blocks * solver.local_capacity // 2)),
        np.int64(32 * blocks if options.target_near is None else options.target_near),
        np.int64(most_steps(device.n)),
        np.uint64(0 if records is None else records.data.ptr),
        np.int64(_MOST_RECORDS),
    )
    for place, value in enumerate(values):
        solver.launch.set(place, value)
    solver.timer.start()
    solver.control.fill(0)
    solver.launch()
    solver.timer.stop()
    counters = solver.control[_COUNTERS_AT : _COUNTERS_AT + 56].get()
    status, edges, steps, splits, local_steps, rescans = counters[:48].view(np.int64).tolist()
    if status:
        raise SolverError(
            f"near_far@cuda gave up after {steps} steps with delta {delta}: pass a larger delta"
        )
    stats: dict[str, Any] = {
        "iterations": steps,
        "edges_relaxed": edges,
        "splits": splits,
        "local_steps": local_steps,
        "rescans": rescans,
        "delta": delta,
        "last_delta": float(counters[48:].view(np.float64)[0]),
        "device_seconds": solver.timer.seconds,
    }
    if records is not None:
        kinds, near, far, times = records[: min(steps, _MOST_RECORDS)].get().astype(np.int64).T
        stats |= {
            "kind": [STEP_KINDS[kind] for kind in kinds],
            "near": near,
            "far": far,
            "frontier": near,
            "seconds_per_step": np.diff(times) * 1e-9,
        }
    return Answer(distance, stats)


def _in_dtype(limit: float | None, dtype: np.dtype[Any]) -> Any:
    """The limit in the weights' dtype, not below it: the caller masks exactly."""
    top = unreached_value(dtype)
    if limit is None or limit >= top:
        return top
    if dtype.kind == "f":
        return np.nextafter(dtype.type(limit), dtype.type(np.inf))
    return dtype.type(max(math.ceil(limit), -1))
