"""The CPU forms of Bellman-Ford, one thread each; the loops are in the headers of this folder."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from nearfar import _cpu
from nearfar.cpu.potentials import negative_cycle_error
from nearfar.graph.slots import Slot
from nearfar.registry import Answer, Estimate, Workspace, variant

if TYPE_CHECKING:
    from collections.abc import Callable

    from numpy.typing import NDArray

    from nearfar.graph.facts import Facts
    from nearfar.graph.graph import Graph
    from nearfar.options import NoOptions
    from nearfar.registry import Request

__all__ = ["edge_classes", "goldberg_radzik", "queue", "subtree", "textbook"]

_EDGE_CLASSES: Slot[_cpu.EdgeClasses] = Slot("edge classes")


def _solve(
    graph: Graph,
    source: int,
    workspace: Workspace,
    form: Callable[[_cpu.GraphView, int, NDArray[Any], bool], dict[str, Any]],
) -> Answer:
    """Run one form; where only rounding explains its find, let the subtree method decide."""
    distances = np.empty(graph.n_vertices, dtype=graph.weight_dtype)
    full = workspace.stats == "full"
    stats = form(graph.view, int(source), distances, full)
    if stats.pop("undecided"):
        stats = _cpu.bellman_ford_subtree(graph.view, int(source), distances, full)
        del stats["undecided"]
        stats["decided_by"] = "tarjan_subtree"
    cycle = stats.pop("cycle")
    if cycle:
        raise negative_cycle_error(graph, cycle)
    return Answer(distances, stats)


@variant(
    "bellman_ford",
    device="cpu",
    weights="any",
    paper="johnson-cuda",
    section="4.1",
    summary="every edge in every round, until nothing improves",
    complexity="O(n m)",
)
def textbook(graph: Graph, source: int, options: NoOptions, workspace: Workspace) -> Answer:
    """Bellman-Ford as in textbooks."""
    return _solve(graph, source, workspace, _cpu.bellman_ford_textbook)


@variant(
    "bellman_ford_queue",
    device="cpu",
    weights="any",
    paper="johnson-cuda",
    section="4.1",
    summary="only edges of vertices that improved in the last round",
    complexity="O(n m)",
)
def queue(graph: Graph, source: int, options: NoOptions, workspace: Workspace) -> Answer:
    """Bellman-Ford with the paper's queue of active vertices."""
    return _solve(graph, source, workspace, _cpu.bellman_ford_queue)


@variant(
    "bellman_ford_edge_classes",
    device="cpu",
    weights="any",
    paper="johnson-cuda",
    section="4.1, Algorithm 1",
    summary="the queue with self-loop, source, in-degree 1 and out-degree 0 edges treated apart",
    complexity="O(n m)",
)
def edge_classes(graph: Graph, source: int, options: NoOptions, workspace: Workspace) -> Answer:
    """The queue with the paper's four edge classes, built once per graph in O(n + m)."""
    classes = _EDGE_CLASSES.of(graph, lambda: _cpu.EdgeClasses(graph.view))

    def form(
        view: _cpu.GraphView, start: int, distances: NDArray[Any], full: bool
    ) -> dict[str, Any]:
        stats: dict[str, Any] = _cpu.bellman_ford_edge_classes(
            view, classes, start, distances, full
        )
        return stats

    return _solve(graph, source, workspace, form)


@variant(
    "tarjan_subtree",
    device="cpu",
    weights="any",
    paper="cherkassky-goldberg-1999",
    section="BFCT",
    summary="the queue, cutting off the subtree of an improved vertex; sees a cycle when it closes",
    complexity="O(n m)",
)
def subtree(graph: Graph, source: int, options: NoOptions, workspace: Workspace) -> Answer:
    """Tarjan's subtree disassembly."""
    return _solve(graph, source, workspace, _cpu.bellman_ford_subtree)


def _in_topological_order(facts: Facts, request: Request) -> Estimate | None:
    """For negative weights; stays near one look per edge on acyclic and on hard negative graphs.

    The other forms look at edges many times there, how often depends on the weights and not on
    counts: none of them is ever the one to take unseen.
    """
    if not facts.negative:
        return None
    return Estimate(2e-6 + facts.m * 70e-9, "negative weights: in topological order")


@variant(
    "goldberg_radzik",
    device="cpu",
    weights="any",
    paper="goldberg-radzik-1993",
    section="Section 3",
    summary="improved vertices in topological order; one round on acyclic graphs",
    complexity="O(n m)",
    cost=_in_topological_order,
)
def goldberg_radzik(graph: Graph, source: int, options: NoOptions, workspace: Workspace) -> Answer:
    """Goldberg and Radzik's scan in topological order."""
    return _solve(graph, source, workspace, _cpu.bellman_ford_goldberg_radzik)
