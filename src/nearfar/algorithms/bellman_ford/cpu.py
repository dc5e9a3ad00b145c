"""Single-threaded CPU variants of Bellman-Ford; the loops are in the headers of this folder."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from nearfar import _cpu
from nearfar.cpu.potentials import proof_wanted, refuse_found_cycle
from nearfar.graph.facts import Facts
from nearfar.graph.graph import Graph
from nearfar.options import NoOptions
from nearfar.registry import Answer, Estimate, Request, Workspace, variant


def solve(
    graph: Graph,
    source: int,
    workspace: Workspace,
    form: Callable[[_cpu.GraphView, int, NDArray[Any], bool, bool], dict[str, Any]],
) -> Answer:
    """Run one variant; if rounding may explain its negative cycle, the subtree method decides."""
    distances = np.empty(graph.n_vertices, dtype=graph.weight_dtype)
    full, proof = workspace.stats == "full", proof_wanted(graph, int(source))
    stats = form(graph.view, int(source), distances, proof, full)
    if stats.pop("undecided"):
        stats = _cpu.bellman_ford_subtree(graph.view, int(source), distances, proof, full)
        del stats["undecided"]
        stats["decided_by"] = "tarjan_subtree"
    refuse_found_cycle(graph, distances, stats)
    return Answer(distances, stats)


@variant(
    "tarjan_subtree",
    device="cpu",
    weights="any",
    paper="cherkassky-goldberg-1999",
    section="BFCT",
    summary="a queue without the subtree of an improved vertex; detects a cycle when it closes",
    complexity="O(n m)",
)
def subtree(graph: Graph, source: int, options: NoOptions, workspace: Workspace) -> Answer:
    """Run Tarjan's subtree disassembly."""
    return solve(graph, source, workspace, _cpu.bellman_ford_subtree)


def _in_topological_order(facts: Facts, request: Request) -> Estimate | None:
    """Estimate negative weights: a few scans per edge, while other variants may need many."""
    if not facts.negative:
        return None
    return Estimate(2e-6 + facts.m * 150e-9, "negative weights: in topological order")


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
    """Run Goldberg and Radzik's scan in topological order."""
    return solve(graph, source, workspace, _cpu.bellman_ford_goldberg_radzik)
