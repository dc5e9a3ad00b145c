"""Breadth-first search on one core, for graphs without weights."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from nearfar import _cpu
from nearfar.registry import Answer, Estimate, variant

if TYPE_CHECKING:
    from nearfar.graph.facts import Facts
    from nearfar.graph.graph import Graph
    from nearfar.options import NoOptions
    from nearfar.registry import Request, Workspace


def _cost(facts: Facts, request: Request) -> Estimate:
    return Estimate(1e-6 + facts.n * 8e-9 + facts.m * 1.5e-9, "no weights: level by level")


@variant(
    "breadth_first",
    device="cpu",
    summary="breadth-first search that pushes or pulls, whichever looks at fewer edges",
    weights="unweighted",
    paper="beamer-2012",
    section="direction-optimizing BFS",
    complexity="O(n + m) pushing; pulling levels O(n + m) each at worst",
    cost=_cost,
)
def breadth_first(graph: Graph, source: int, options: NoOptions, workspace: Workspace) -> Answer:
    """Level by level; pulls only where the edges into a vertex are at hand without work."""
    distances = np.empty(graph.n_vertices, dtype=np.int32)
    reverse = graph.transpose() if graph.has_transpose else None
    stats = _cpu.breadth_first(
        graph.view,
        None if reverse is None else reverse.view,
        source,
        distances,
        workspace.limit,
        workspace.targets,
    )
    return Answer(distances, stats)
