"""Compound frontiers on one core: F-CPU and U-CPU of Martin et al. (2009), lists and matrices."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from nearfar.graph.graph import Graph
from nearfar.options import NoOptions
from nearfar.papers.martin_2009.frontier.dense import dense_matrix, fits_dense
from nearfar.registry import Answer, Workspace, variant


def _lists(graph: Graph, source: int, workspace: Workspace, predecessors: bool) -> Answer:
    from nearfar import _cpu

    view = graph.transpose().view if predecessors else graph.view
    distances = np.empty(graph.n_vertices, dtype=graph.weight_dtype)
    stats = _cpu.frontier_lists(view, predecessors, source, distances, *_stop(workspace))
    return Answer(distances, stats)


def _matrix(graph: Graph, source: int, workspace: Workspace, predecessors: bool) -> Answer:
    from nearfar import _cpu

    matrix = dense_matrix(graph)
    distances = np.empty(graph.n_vertices, dtype=graph.weight_dtype)
    stats = _cpu.frontier_matrix(matrix, predecessors, source, distances, *_stop(workspace))
    return Answer(distances, stats)


def _stop(workspace: Workspace) -> tuple[float | None, Any, bool]:
    return workspace.limit, workspace.targets, workspace.stats == "full"


def _form(
    idea: str,
    section: str,
    summary: str,
    complexity: str,
    solve: Callable[[Graph, int, Workspace, bool], Answer],
    predecessors: bool,
    **more: Any,
) -> None:
    """Register a form: all vertices at the minimum are settled, then edges are relaxed."""

    @variant(
        idea,
        device="cpu",
        summary=summary,
        paper="martin-2009",
        section=section,
        complexity=complexity,
        **more,
    )
    def run(graph: Graph, source: int, options: NoOptions, workspace: Workspace) -> Answer:
        return solve(graph, source, workspace, predecessors)


_form(
    "frontier_successors",
    "3, relax_F; F-CPU",
    "compound frontier, frontier vertices relax their successors (F-CPU)",
    "O(n * iterations + m)",
    *(_lists, False),
)
_form(
    "frontier_predecessors",
    "3, relax_U; U-CPU",
    "compound frontier, unsettled vertices relax over their predecessors (U-CPU)",
    "O((n + m) * iterations)",
    *(_lists, True),
)
_form(
    "frontier_matrix_successors",
    "5, F-CPU",
    "compound frontier on a matrix, frontier vertices walk their rows (F-CPU)",
    "O(n**2 + n * iterations)",
    *(_matrix, False),
    requires=fits_dense,
)
_form(
    "frontier_matrix_predecessors",
    "5, U-CPU",
    "compound frontier on a matrix, unsettled vertices walk their columns (U-CPU)",
    "O(n**2 * iterations)",
    *(_matrix, True),
    requires=fits_dense,
)
