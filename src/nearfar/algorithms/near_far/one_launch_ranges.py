"""The flagship on graphs with many edges: rows sorted by weight; see one_launch_ranges.cuh."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from nearfar.cuda import runtime
from nearfar.cuda.sorted_rows import SEGMENT, sorted_rows
from nearfar.errors import SolverError
from nearfar.graph import unreached_value
from nearfar.registry import Answer

if TYPE_CHECKING:
    from nearfar.cuda.sorted_rows import SortedRows
    from nearfar.graph import Graph

__all__ = ["KNOBS", "most_steps", "solve_by_ranges"]

_STAGE = 128  # kStage of one_launch_rows.cuh
_COUNTERS_AT = 128  # byte where the counters of struct Control begin
_CONTROL_BYTES = 1024
_MOST_RECORDS = 1 << 15
_SOLVE_FIELDS = 16  # of struct Solve, 8 bytes each
_TALLIES_BYTES = 4 * 128
_FITS_L1 = 1 << 19  # bytes
# Compile-time constants of the kernels to override, for measuring.
KNOBS: dict[str, int] = {}
STEP_KINDS = ("split", "grid", "local", "rescan", "pull")  # enum StepKind


def most_steps(n: int) -> int:
    """The watchdog's bound: a solve that takes more steps is stuck."""
    return 8 * n + 1_000_000


class _Solver:
    """Arrays and the prepared launch that a graph's solves share; kept with the graph."""

    def __init__(self, rows: SortedRows, factor: float) -> None:
        cp = runtime.cupy()
        here = runtime.device()
        device = rows.device
        n = max(device.n, 1)
        weight = device.weight_dtype
        entry = 2 * max(device.vertex_dtype.itemsize, weight.itemsize)
        chunk = 16 if max(weight.itemsize, device.offset_dtype.itemsize) == 4 else 32
        self.rows = rows
        self.capacity = int(np.ceil(n * factor))
        self.heavy_capacity = 2 * (device.m // SEGMENT) + 1
        runtime.require_memory(
            n * weight.itemsize + 2 * self.capacity * entry + self.heavy_capacity * chunk,
            "use queue_factor=1, or a CPU method (device='cpu')",
        )
        # Zeroed once: records are read whole, with the padding that nobody writes.
        self.queues = [cp.zeros(self.capacity * entry, dtype=np.uint8) for _ in range(2)]
        self.heavy = cp.zeros(self.heavy_capacity * chunk, dtype=np.uint8)
        self.control = cp.empty(_CONTROL_BYTES, dtype=np.uint8)
        self.tallies = cp.zeros(_TALLIES_BYTES, dtype=np.uint8)
        macros = {
            "SEEN_FROM_L1": int(n * weight.itemsize <= _FITS_L1),
            "HEAVY_DEGREE": SEGMENT,
            "BLOCK_THREADS": 512,
            "BLOCKS_EACH": 1,
            **device.macros,
            **KNOBS,
        }
        block = int(macros["BLOCK_THREADS"])
        self.blocks = here.multiprocessors * int(macros["BLOCKS_EACH"])
        shared = block // 32 * _STAGE * entry
        kernel = runtime.program("algorithms/near_far/one_launch_ranges.cuh", macros).kernel(
            "near_far_ranges"
        )
        kernel.allow_shared(shared)
        self.timer = runtime.Timer()
        whole = np.int64(0)
        never = weight.type(unreached_value(weight))
        numbers = [whole, np.float64(0), np.float64(0), never, None, whole, whole, whole]
        numbers += [rows.entered, whole, self.tallies, whole, None, whole]
        self.launch = runtime.Launch(
            kernel,
            self.blocks,
            block,
            (np.zeros(_SOLVE_FIELDS, dtype=np.uint64), *numbers),
            shared=shared,
            cooperative=True,
        )

    def frame(self, distance: Any) -> Any:
        """``struct Solve`` of one_launch_rows.cuh; there is no far pile and no local step."""
        device = self.rows.device
        near, after = (int(queue.data.ptr) for queue in self.queues)
        arrays = (device.offsets, device.edges, distance)
        values = [device.n, *(int(array.data.ptr) for array in arrays), near, after, 0, 0]
        values += [int(self.heavy.data.ptr), int(self.control.data.ptr)]
        values += [self.capacity, self.heavy_capacity, 0, 0, 0, 0]
        return np.array(values, dtype=np.uint64)


def solve_by_ranges(
    graph: Graph,
    source: int,
    *,
    delta: float,
    eager_growth: float,
    pull_share: int,
    queue_factor: float,
    limit: Any,
    targets: Any,
    stats: str,
) -> Answer:
    """Launch once, read the counters, return the distances.

    Raises
    ------
    SolverError
        If the watchdog's bound on steps is reached.
    """
    cp = runtime.cupy()
    rows = sorted_rows(graph)
    device = rows.device
    held = graph.cache.setdefault("near_far_ranges", {})
    key = (runtime.device().ordinal, device.vertex_dtype, device.offset_dtype, queue_factor)
    if key not in held:
        held.clear()  # one set a graph: another capacity replaces it
        held[key] = _Solver(rows, queue_factor)
    solver = held[key]
    distance = cp.empty(device.n, dtype=device.weight_dtype)
    wanted = records = None
    if targets is not None:
        wanted = cp.asarray(np.ascontiguousarray(targets, dtype=device.vertex_dtype))
    if stats == "full":
        records = cp.zeros((_MOST_RECORDS, 4), dtype=np.uint64)
    values = (
        solver.frame(distance),
        np.int64(source),
        np.float64(delta),
        np.float64(eager_growth),
        limit,
        np.uint64(0 if wanted is None else wanted.data.ptr),
        np.int64(0 if wanted is None else len(wanted)),
        np.int64(device.m),
        np.int64(0 if graph.directed else pull_share),
        np.uint64(rows.entered.data.ptr),
        np.int64(rows.n_entered),
        np.uint64(solver.tallies.data.ptr),
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
    status, edges, steps, splits, pulls, rescans = counters[:48].view(np.int64).tolist()
    if status:
        raise SolverError(
            f"near_far@cuda gave up after {steps} steps with delta {delta}: pass a larger delta"
        )
    found: dict[str, Any] = {
        "iterations": steps,
        "edges_relaxed": edges,
        "splits": splits,
        "pulls": pulls,
        "local_steps": 0,
        "rescans": rescans,
        "delta": delta,
        "last_delta": float(counters[48:].view(np.float64)[0]),
        "device_seconds": solver.timer.seconds,
        "sort_seconds": rows.seconds,
    }
    if records is not None:
        kinds, near, far, times = records[: min(steps, _MOST_RECORDS)].get().astype(np.int64).T
        found |= {
            "kind": [STEP_KINDS[kind] for kind in kinds],
            "near": near,
            "far": far,
            "frontier": near,
            "seconds_per_step": np.diff(times) * 1e-9,
        }
    return Answer(distance, found)
