"""The flagship on a GPU: Near-Far with the whole solve in one launch; see one_launch.cuh."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

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

_BLOCK = 1024
_STAGE = 128  # kStage of one_launch_rows.cuh
_CHUNK, _HEAVY = 512, 1024  # kChunk and kHeavy there
_COUNTERS_AT = 128  # byte where the counters of struct Control begin
_CONTROL_BYTES = 1024


@dataclass(frozen=True, slots=True)
class OneLaunchOptions(DeltaOptions):
    """Options of the one-launch form; the defaults were measured and suit most graphs.

    Parameters
    ----------
    delta : float or None
        First step of the threshold in units of the weights. None takes a quarter of 32 * mean weight /
        mean degree. It grows while the near set is thin.
    delta_growth : float
        How many times the first step delta may grow to, at least 1.
    target_near : int or None
        Entries of the near set that delta aims at; None means 32 a multiprocessor.
    local_limit : int or None
        Up to so many entries, blocks advance on their own; None means 64 a multiprocessor, 0 never.
    local_rounds : int
        Rounds that a block advances on its own.
    queue_factor : float
        Capacity of each queue over the number of vertices, at least 1.
    """

    delta_growth: float = 64.0
    target_near: int | None = None
    local_limit: int | None = None
    local_rounds: int = 16
    queue_factor: float = 1.5

    def __post_init__(self) -> None:
        DeltaOptions.__post_init__(self)
        for name in ("delta_growth", "local_rounds", "queue_factor"):
            if not getattr(self, name) >= 1:
                raise OptionError(f"{name} is {getattr(self, name)}: give at least 1")
        for name in ("target_near", "local_limit"):
            value = getattr(self, name)
            if value is not None and value < 0:
                raise OptionError(f"{name} is {value}: give 0 or more, or None")


def first_delta(graph: Graph, options: OneLaunchOptions) -> float:
    """The step that the threshold starts with, in units of the weights."""
    if options.delta is not None:
        value = float(options.delta)
    elif graph.n_edges:
        value = 8.0 * graph.mean_weight / graph.mean_degree
    else:
        value = 1.0
    return max(value, 1.0) if graph.weight_dtype.kind == "i" else value or 1.0


class _Buffers:
    """Device arrays that a graph's solves share; made on first use and kept with the device graph."""

    def __init__(self, device: DeviceGraph, capacity: int) -> None:
        cp = runtime.cupy()
        n = max(device.n, 1)
        entry = 2 * max(device.vertex_dtype.itemsize, device.weight_dtype.itemsize)
        wide = device.offset_dtype.itemsize > 4
        chunk = 32 if wide and device.weight_dtype.itemsize > 4 else 24 if wide else 16
        chunk = -(-chunk // 16) * 16
        self.capacity = max(capacity, n, 1)
        self.heavy_capacity = device.m // _CHUNK + device.m // _HEAVY + 1
        self.entry = entry
        runtime.require_memory(
            n * device.weight_dtype.itemsize
            + 4 * self.capacity * entry
            + self.heavy_capacity * chunk,
            "use queue_factor=1, or a CPU method (device='cpu')",
        )
        self.queues = [cp.empty(self.capacity * entry, dtype=np.uint8) for _ in range(4)]
        self.heavy = cp.empty(self.heavy_capacity * chunk, dtype=np.uint8)
        self.control = cp.empty(_CONTROL_BYTES, dtype=np.uint8)


def _buffers(graph: Graph, device: DeviceGraph, factor: float) -> _Buffers:
    held = graph.cache.setdefault("near_far_one_launch", {})
    capacity = math.ceil(device.n * factor) + 4096
    key = (runtime.device().ordinal, device.vertex_dtype, device.offset_dtype, capacity)
    if key not in held:
        held.clear()  # one set a graph: another capacity replaces it
        held[key] = _Buffers(device, capacity)
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
    cp = runtime.cupy()
    device = device_graph(graph)
    here = runtime.device()
    weight = device.weight_dtype
    held = _buffers(graph, device, options.queue_factor)
    kernel = runtime.program("algorithms/near_far/one_launch.cuh", device.macros).kernel(
        "near_far_one_launch"
    )
    blocks = here.multiprocessors
    local_capacity = (_BLOCK // 32) * 2 * _STAGE // 3
    shared = max((_BLOCK // 32) * 2 * _STAGE, 3 * local_capacity) * held.entry
    kernel.allow_shared(shared)
    distance = cp.empty(device.n, dtype=weight)
    held.control.fill(0)
    pointers = [device.offsets, device.edges, distance, *held.queues, held.heavy, held.control]
    solve = np.array(
        [
            device.n,
            *(int(array.data.ptr) for array in pointers),
            held.capacity,
            held.heavy_capacity,
            local_capacity,
            options.local_rounds,
        ],
        dtype=np.uint64,
    )
    delta = first_delta(graph, options)
    limit = _in_dtype(workspace.limit, weight)
    targets = None
    if workspace.targets is not None:
        targets = cp.asarray(np.ascontiguousarray(workspace.targets, dtype=device.vertex_dtype))
    local_limit = 64 * blocks if options.local_limit is None else options.local_limit
    kernel(
        blocks,
        _BLOCK,
        (
            solve,
            np.int64(source),
            np.float64(delta),
            np.float64(delta * options.delta_growth),
            limit,
            targets,
            np.int64(0 if targets is None else len(targets)),
            np.int64(min(local_limit, blocks * local_capacity // 2)),
            np.int64(32 * blocks if options.target_near is None else options.target_near),
            np.int64(8 * device.n + 1_000_000),
        ),
        shared=shared,
        cooperative=True,
    )
    counters = held.control[_COUNTERS_AT : _COUNTERS_AT + 56].get()
    status, edges, steps, splits, local_steps, rescans = counters[:48].view(np.int64).tolist()
    if status:
        raise SolverError(
            f"near_far@cuda gave up after {steps} steps with delta {delta}: pass a larger delta"
        )
    return Answer(
        distance,
        {
            "iterations": steps,
            "edges_relaxed": edges,
            "splits": splits,
            "local_steps": local_steps,
            "rescans": rescans,
            "delta": delta,
            "last_delta": float(counters[48:].view(np.float64)[0]),
        },
    )


def _in_dtype(limit: float | None, dtype: np.dtype[Any]) -> Any:
    """The limit in the weights' dtype, not below it: the caller masks exactly."""
    top = unreached_value(dtype)
    if limit is None or limit >= top:
        return top
    if dtype.kind == "f":
        return np.nextafter(dtype.type(limit), dtype.type(np.inf))
    return dtype.type(max(math.ceil(limit), -1))
