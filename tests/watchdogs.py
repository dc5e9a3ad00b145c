"""Step bounds of every kernel with a loop of its own, and ways to lower them for a test.

On the emulated device (test_watchdogs.py) and on a GPU (gpu/test_watchdogs_gpu.py): a bound that is
too low for the graph must raise a SolverError, and the next solve of the same process must give the
right distances.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import pytest

import nearfar
from nearfar import Graph
from nearfar.algorithms.bellman_ford import cuda as queue_cuda
from nearfar.algorithms.breadth_first import cuda as breadth_first
from nearfar.algorithms.near_far import partitioned
from nearfar.algorithms.near_far.one_launch import host as one_launch_host
from nearfar.cuda import device_rows
from nearfar.cuda.distances import predecessors
from nearfar.errors import SolverError
from nearfar.papers.ortega_arranz_2015.crauser import fused
from tests import oracle

__all__ = ["CASES", "check"]

N = 60  # vertices of a path


@dataclass(frozen=True)
class Case:
    """Method, with the bound to lower and its value."""

    method: str
    where: Any
    name: str
    value: Any
    options: dict[str, Any]
    kind: str = "weights"  # or "none", "zeros", "batch"
    also: tuple[tuple[str, Any], ...] = ()  # names of the same module, and what to set them to


def few(n: int) -> int:
    """Return a bound on steps that no path of N vertices satisfies."""
    return 3


_NEAR_FAR = {"delta": 1, "local_limit": 0}
CASES = {
    "near_far": Case("near_far@cuda", one_launch_host, "most_steps", few, _NEAR_FAR),
    "near_far over sorted rows": Case(
        "near_far@cuda", one_launch_host, "most_steps", few, {"delta": 1, "sort_rows": True}
    ),
    "near_far over devices": Case(
        "near_far_partitioned@cuda", partitioned, "most_steps", few, {"delta": 1}
    ),
    "crauser": Case("crauser_fused@cuda", fused, "ITERATIONS_BEYOND", 5 - N, {}),
    "bellman_ford": Case("bellman_ford_persistent@cuda", queue_cuda, "ROUNDS_BEYOND", 5 - N, {}),
    "bellman_ford, a launch per round": Case(
        "bellman_ford_queue@cuda", queue_cuda, "ROUNDS_BEYOND", 5 - N, {}
    ),
    "breadth_first": Case(
        "breadth_first@cuda", breadth_first, "STEPS_BEYOND", 5 - N, {"thin_limit": 0}, "none"
    ),
    "breadth_first, running ahead": Case(
        "breadth_first@cuda",
        breadth_first,
        "STEPS_BEYOND",
        -2 * N,  # balls over rows with shortcuts need a step or two
        {"ahead_rounds": 1, "balls": True},
        "none",
        (("PATIENCE", 0),),
    ),
    "predecessors": Case("near_far@cuda", predecessors, "ROUNDS_BEYOND", 5 - N, {}, "zeros"),
    "block_per_source": Case(
        "block_per_source@cuda", device_rows, "steps_allowed", few, {}, "batch"
    ),
    "block_per_source_global": Case(
        "block_per_source_global@cuda", device_rows, "steps_allowed", few, {}, "batch"
    ),
    "lanes": Case("lanes@cuda", device_rows, "steps_allowed", few, {}, "batch"),
}


def check(case: Case, patch: pytest.MonkeyPatch) -> None:
    """Check the error under the low bound, and the right answer without it."""
    weights = {
        "none": None,
        "zeros": np.zeros(N - 1, np.int32),
    }.get(case.kind, np.full(N - 1, 2, np.int32))
    graph = Graph.from_edges(np.arange(N - 1), np.arange(1, N), weights)

    def solve() -> Any:
        if case.kind == "batch":
            return nearfar.distances(graph, [0, 3], method=case.method, **case.options)[0]
        asked = {"predecessors": case.kind == "zeros", **case.options}
        return nearfar.sssp(graph, 0, method=case.method, **asked).distances

    with patch.context() as lowered:
        for name, value in ((case.name, case.value), *case.also):
            lowered.setattr(case.where, name, value)
        with pytest.raises(SolverError):
            solve()
    for _ in range(2):
        np.testing.assert_array_equal(solve(), oracle.dijkstra(graph, 0))
