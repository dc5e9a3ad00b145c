"""Sequential forms of Bellman-Ford from the paper, one thread each; sweeps.hpp has the loops."""

from __future__ import annotations

from nearfar import _cpu
from nearfar.algorithms.bellman_ford.cpu import solve
from nearfar.graph.graph import Graph
from nearfar.graph.slots import Slot
from nearfar.options import NoOptions
from nearfar.registry import Answer, Workspace, variant

_EDGE_CLASSES: Slot[_cpu.EdgeClasses] = Slot("edge classes")


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
    """Relax every edge in every round."""
    return solve(graph, source, workspace, _cpu.bellman_ford_textbook)


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
    """Relax the edges of the paper's queue of active vertices."""
    return solve(graph, source, workspace, _cpu.bellman_ford_queue)


@variant(
    "bellman_ford_edge_classes",
    device="cpu",
    weights="any",
    paper="johnson-cuda",
    section="4.1, Algorithm 1",
    summary="the queue; self-loop, source, in-degree 1 and out-degree 0 edges treated separately",
    complexity="O(n m)",
)
def edge_classes(graph: Graph, source: int, options: NoOptions, workspace: Workspace) -> Answer:
    """Use the queue with the paper's four edge classes, built once per graph in O(n + m)."""
    classes = _EDGE_CLASSES.of(graph, lambda: _cpu.EdgeClasses(graph.view))
    return solve(
        graph,
        source,
        workspace,
        lambda view, *call: _cpu.bellman_ford_edge_classes(view, classes, *call),
    )
