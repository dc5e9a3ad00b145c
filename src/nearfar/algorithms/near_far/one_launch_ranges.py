"""The flagship on graphs with many edges: rows sorted by weight; see one_launch_ranges.cuh."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import numpy as np

from nearfar.algorithms.near_far.one_launch_host import PLAIN_ENGINE, STAGE, Engine, Shape
from nearfar.cuda.sorted_rows import SEGMENT, sorted_rows
from nearfar.graph.slots import Slot
from nearfar.registry import Answer
from nearfar.system.devices import runtime

if TYPE_CHECKING:
    from nearfar.cuda.sorted_rows import SortedRows
    from nearfar.graph.graph import Graph
    from nearfar.registry import Workspace

__all__ = ["KNOBS", "solve_by_ranges"]

_TALLIES_BYTES = 4 * 128
_SORTED: Slot[_Sorted] = Slot("near-far over sorted rows")
# Compile-time constants of the kernels to override, for measuring.
KNOBS: dict[str, int] = {}


class _Sorted:
    """An engine over sorted rows; kept with the graph."""

    def __init__(self, rows: SortedRows, factor: float) -> None:
        device = rows.device
        self.rows = rows
        self.tallies = runtime.cupy().zeros(_TALLIES_BYTES, dtype=np.uint8)
        whole = np.int64(0)
        self.engine = Engine(
            device,
            "algorithms/near_far/one_launch_ranges.cuh",
            "near_far_ranges",
            Shape(2, math.ceil(max(device.n, 1) * factor), 2 * (device.m // SEGMENT) + 1),
            {"HEAVY_DEGREE": SEGMENT, "LONG_IN_FLIGHT": 4, **KNOBS},
            (STAGE, 0),
            (whole, whole, rows.entered, whole, self.tallies),
        )

    def own(self, pull_share: int) -> tuple[object, ...]:
        """The kernel's own parameters."""
        return (
            np.int64(self.rows.device.m),
            np.int64(pull_share),
            np.uint64(self.rows.entered.data.ptr),
            np.int64(self.rows.n_entered),
            np.uint64(self.tallies.data.ptr),
        )


def solve_by_ranges(
    graph: Graph,
    source: int,
    workspace: Workspace,
    *,
    delta: float,
    eager_growth: float,
    pull_share: int,
    queue_factor: float,
) -> Answer:
    """Launch once, read the counters, return the distances.

    Raises
    ------
    SolverError
        If the watchdog's bound on steps is reached.
    """
    rows = sorted_rows(graph)
    device = rows.device

    def make() -> _Sorted:
        PLAIN_ENGINE.drop(graph)
        return _Sorted(rows, queue_factor)

    key = (runtime.device().ordinal, device.vertex_dtype, device.offset_dtype, queue_factor)
    found = _SORTED.of(graph, make, key, alone=True)  # another capacity replaces it
    own = found.own(0 if graph.directed else pull_share)
    distance, stats = found.engine.solve(source, delta, eager_growth, workspace, own)
    stats["pulls"], stats["local_steps"] = stats["local_steps"], 0
    stats["sort_seconds"] = rows.seconds
    return Answer(distance, stats)
