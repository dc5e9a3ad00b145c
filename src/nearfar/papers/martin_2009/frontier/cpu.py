"""Compound frontiers on one core: F-CPU and U-CPU of Martin et al. (2009), lists and matrices."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from nearfar.papers.martin_2009.frontier.dense import dense_matrix, fits_dense
from nearfar.registry import Answer, Workspace, variant

if TYPE_CHECKING:
    from nearfar.graph.graph import Graph
    from nearfar.options import NoOptions


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


@variant(
    "frontier_successors",
    device="cpu",
    summary="compound frontier, frontier vertices relax their successors (F-CPU)",
    paper="martin-2009",
    section="3, relax_F; F-CPU",
    complexity="O(n * iterations + m)",
)
def frontier_successors(
    graph: Graph, source: int, options: NoOptions, workspace: Workspace
) -> Answer:
    """Settle all vertices at the minimum, then relax their successors."""
    return _lists(graph, source, workspace, predecessors=False)


@variant(
    "frontier_predecessors",
    device="cpu",
    summary="compound frontier, unsettled vertices relax over their predecessors (U-CPU)",
    paper="martin-2009",
    section="3, relax_U; U-CPU",
    complexity="O((n + m) * iterations)",
)
def frontier_predecessors(
    graph: Graph, source: int, options: NoOptions, workspace: Workspace
) -> Answer:
    """Settle all vertices at the minimum; unsettled vertices look for frontier predecessors."""
    return _lists(graph, source, workspace, predecessors=True)


@variant(
    "frontier_matrix_successors",
    device="cpu",
    summary="compound frontier on a matrix, frontier vertices walk their rows (F-CPU)",
    requires=fits_dense,
    paper="martin-2009",
    section="5, F-CPU",
    complexity="O(n**2 + n * iterations)",
)
def frontier_matrix_successors(
    graph: Graph, source: int, options: NoOptions, workspace: Workspace
) -> Answer:
    """Settle all vertices at the minimum, then walk their matrix rows."""
    return _matrix(graph, source, workspace, predecessors=False)


@variant(
    "frontier_matrix_predecessors",
    device="cpu",
    summary="compound frontier on a matrix, unsettled vertices walk their columns (U-CPU)",
    requires=fits_dense,
    paper="martin-2009",
    section="5, U-CPU",
    complexity="O(n**2 * iterations)",
)
def frontier_matrix_predecessors(
    graph: Graph, source: int, options: NoOptions, workspace: Workspace
) -> Answer:
    """Settle all vertices at the minimum; every unsettled vertex walks its matrix column."""
    return _matrix(graph, source, workspace, predecessors=True)
