"""Dijkstra's method on one core, one variant per queue."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from nearfar import _cpu
from nearfar.cpu.costs import heap_search
from nearfar.errors import OptionError
from nearfar.graph.facts import Facts
from nearfar.graph.graph import Graph
from nearfar.options import NoOptions
from nearfar.registry import Answer, Estimate, Request, Workspace, variant


@dataclass(frozen=True, slots=True)
class DaryOptions:
    """Options of the d-ary heap.

    Parameters
    ----------
    arity : {2, 4, 8}
        Children per node of the heap.
    """

    arity: int = 4

    def __post_init__(self) -> None:
        if self.arity not in (2, 4, 8):
            raise OptionError(f"arity is {self.arity}: use 2, 4 or 8")


def _run(
    solver: Callable[..., dict[str, Any]], graph: Graph, source: int, workspace: Workspace
) -> Answer:
    distances = np.empty(graph.n_vertices, graph.weight_dtype)
    stats = solver(graph.view, source, distances, workspace.limit, workspace.targets)
    return Answer(distances, stats)


def _by_scanning(facts: Facts, request: Request) -> Estimate:
    seconds = 1e-6 + facts.n * facts.n * 5e-10 + facts.m * 1.5e-9
    return Estimate(seconds, "scans all vertices for each minimum")


def _by_heap(facts: Facts, request: Request) -> Estimate:
    what = f"{facts.n:,} vertices, {facts.degree:.1f} edges per vertex"
    return Estimate(1e-6 + heap_search(facts), f"a heap, without preparation: {what}")


def _by_radix_heap(facts: Facts, request: Request) -> Estimate:
    """Estimate the radix heap; a distance decreases about log(degree) times."""
    n, degree = facts.n, max(facts.degree, 1.0)
    vertex = 25e-9 + 9e-9 * math.log2(n + 2) + 64e-9 * math.log(degree)
    words = f"a radix heap, edges read in place: {degree:.1f} edges per vertex"
    return Estimate(1e-6 + n * vertex + facts.m * 1.6e-9, words)


def _register(queue: str, summary: str, **fields: Any) -> None:
    """Register Dijkstra's method with a queue that has no options."""
    solver = getattr(_cpu, f"dijkstra_{queue}")

    @variant(f"dijkstra_{queue}", device="cpu", summary=f"Dijkstra with {summary}", **fields)
    def run(graph: Graph, source: int, options: NoOptions, workspace: Workspace) -> Answer:
        return _run(solver, graph, source, workspace)


_register(
    "array",
    "a plain array as queue, the papers' first baseline",
    paper="martin-2009",
    section="Fig. 1",
    complexity="O(n^2 + m)",
    cost=_by_scanning,
)
_register(
    "binary_heap",
    "a binary heap and decrease-key",
    paper="dijkstra-1959",
    section="binary heap with position table",
    complexity="O((n + m) log n)",
)
_register(
    "radix_heap",
    "a radix heap: buckets by the highest bit in which keys differ",
    paper="ahuja-1990",
    section="one-level radix heap",
    complexity="O(m + n log C), C the greatest weight",
    cost=_by_radix_heap,
)
_register(
    "pairing_heap",
    "a two-pass pairing heap",
    paper="fredman-1986",
    section="two-pass pairing heap",
    complexity="O((n + m) log n)",
)
_register(
    "fibonacci_heap",
    "a Fibonacci heap, the first two papers' baseline",
    paper="fredman-tarjan-1987",
    section="F-heaps",
    complexity="O(m + n log n)",
)
_register(
    "relaxed_heap",
    "a rank-relaxed heap, the queue of the Boost baseline",
    paper="driscoll-1988",
    section="rank-relaxed heaps",
    complexity="O(m + n log n)",
)


@variant(
    "dijkstra_dary_heap",
    device="cpu",
    summary="Dijkstra with a lazy heap of packed (distance, vertex) keys, four children per node",
    options=DaryOptions,
    paper="dijkstra-1959",
    section="lazy d-ary heap",
    complexity="O((n + m) log m)",
    cost=_by_heap,
)
def dijkstra_dary_heap(
    graph: Graph, source: int, options: DaryOptions, workspace: Workspace
) -> Answer:
    """Use a d-ary heap without decrease-key: vertices are pushed again, stale entries skipped."""
    return _run(getattr(_cpu, f"dijkstra_dary_heap_{options.arity}"), graph, source, workspace)
