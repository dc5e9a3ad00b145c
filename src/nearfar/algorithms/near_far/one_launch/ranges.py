"""Near-Far in one launch for many edges, relaxed when due; see one_launch_ranges.cuh."""

from __future__ import annotations

import math

import numpy as np

from nearfar.algorithms.near_far.one_launch.host import PLAIN_ENGINE, STAGE, Engine, Shape
from nearfar.cuda.device_graph import DeviceGraph, device_graph
from nearfar.cuda.graph.sorted_rows import SEGMENT, SortedRows, sorted_rows
from nearfar.graph.graph import Graph
from nearfar.graph.slots import Slot
from nearfar.registry import Answer, Workspace
from nearfar.system.devices import runtime

_TALLIES_BYTES = 4 * 128
_SIFT = 256  # kSiftRoom of one_launch_due.cuh
_RANGES: Slot[_Ranges] = Slot("near-far by ranges")


def _launch_shape(device: DeviceGraph, *, sort: bool) -> dict[str, int]:
    """Return threads per block and blocks, a trade of registers against resident threads."""
    wide = device.weight_dtype.itemsize > 4
    if device.vertex_dtype.itemsize > 4 or (wide and not sort):
        return {"BLOCK_THREADS": 512, "BLOCKS_EACH": 1}
    return {"BLOCK_THREADS": 448 if sort and not wide else 384, "BLOCKS_EACH": 2}


class _Ranges:
    """Engine over sorted or unsorted rows, cached on the graph."""

    def __init__(self, device: DeviceGraph, rows: SortedRows | None, factor: float) -> None:
        self.device, self.rows = device, rows
        self.tallies = runtime.cupy().zeros(_TALLIES_BYTES, dtype=np.uint8)
        self.engine = Engine(
            device,
            "algorithms/near_far/one_launch/one_launch_ranges.cuh",
            "near_far_ranges",
            Shape(2, math.ceil(max(device.n, 1) * factor), 2 * (device.m // SEGMENT) + 1),
            {
                "SORTED_ROWS": int(rows is not None),
                **_launch_shape(device, sort=rows is not None),
                "HEAVY_DEGREE": SEGMENT,
            },
            (STAGE if rows else STAGE + _SIFT, 0),
            self.own(0.0, 0.0, 0),
        )

    def own(self, delta: float, eager_growth: float, pull_share: int) -> dict[str, object]:
        """Return the kernel's own arguments."""
        rows = self.rows
        return {
            "delta": np.float64(delta),
            "eager_growth": np.float64(eager_growth),
            "m": np.int64(self.device.m),
            "pull_share": np.int64(pull_share),
            "entered": np.uint64(0 if rows is None else rows.entered.data.ptr),
            "n_entered": np.int64(0 if rows is None else rows.n_entered),
            "tallies": np.uint64(self.tallies.data.ptr),
        }


def solve_by_ranges(
    graph: Graph,
    source: int,
    workspace: Workspace,
    *,
    sort: bool,
    delta: float,
    eager_growth: float,
    pull_share: int,
    queue_factor: float,
) -> Answer:
    """Launch once, read the counters and return the distances."""
    rows = sorted_rows(graph) if sort else None
    device = rows.device if rows else device_graph(graph)

    def make() -> _Ranges:
        PLAIN_ENGINE.drop(graph)
        return _Ranges(device, rows, queue_factor)

    key = (*device.key, queue_factor, sort)
    found = _RANGES.of(graph, make, key, alone=True)  # a new key replaces the old engine
    own = found.own(delta, eager_growth, 0 if graph.directed else pull_share)
    answer = found.engine.solve(source, delta, workspace, own)
    stats = answer.stats
    stats["pulls"], stats["local_steps"] = stats["local_steps"], 0
    del stats["last_threshold"]  # pulls and eager rows go beyond it
    if rows:
        stats["sort_seconds"] = rows.seconds
    return answer
