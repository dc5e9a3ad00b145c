"""Shared checks of the frontier and Crauser families, on an emulated or a real GPU."""

from __future__ import annotations

from typing import Any

import numpy as np

import nearfar
from nearfar import Graph
from nearfar.registry import Variant, variants
from tests import oracle

# CPU variants with the loop of a CUDA variant, if they have different names.
CPU_FORM = {
    "frontier_predecessors_h1": "frontier_predecessors",
    "frontier_predecessors_h2": "frontier_predecessors",
    "frontier_predecessors_h3": "frontier_predecessors",
    "frontier_predecessors_2min": "frontier_predecessors",
    "frontier_predecessors_plus": "frontier_predecessors",
    "crauser_fused": "crauser_successors",
}
COUNTERS = ("iterations", "edges_relaxed", "vertices_settled", "working_threads")
PER_ITERATION = ("frontier", "working", "edges")


def family(name: str, *, unsafe: bool = False) -> list[Variant]:
    """Return the CUDA variants of a family, either the safe or the unsafe ones."""
    found = variants(device="cuda", unsafe=True)
    return [v for v in found if v.family == name and v.unsafe is unsafe]


def check_same_as_cpu(variant: Variant, graph: Graph, source: int = 0, **options: Any) -> None:
    """Check distances against the oracle, and every counter against the CPU form's."""
    idea = CPU_FORM.get(variant.idea, variant.idea)
    if options.get("criterion") == "in_out":
        idea = "crauser_in_out"
    device = nearfar.sssp(graph, source, method=variant.id, trace=True, **options)
    host = nearfar.sssp(graph, source, method=f"{idea}@cpu", trace=True)
    np.testing.assert_array_equal(device.distances, oracle.dijkstra(graph, source))
    for name in COUNTERS:
        assert device.stats[name] == host.stats[name], (variant.id, name)
    for name in PER_ITERATION:
        np.testing.assert_array_equal(device.stats[name], host.stats[name], err_msg=name)
    assert device.stats["total_threads"] >= device.stats["working_threads"]


def count_wrong(graph: Graph, method: str, runs: int, *, stop_at_first: bool = False) -> int:
    """Return the number of runs of an unsafe method with a wrong distance."""
    want = oracle.dijkstra(graph, 0)
    wrong = 0
    for _ in range(runs):
        got = nearfar.sssp(graph, 0, method=method, allow_unsafe=True)
        wrong += not np.array_equal(got.distances, want)
        if wrong and stop_at_first:
            break
    return wrong
