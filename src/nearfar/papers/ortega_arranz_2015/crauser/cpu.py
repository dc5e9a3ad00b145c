"""Crauser's criteria on one core: the sequential forms of Ortega-Arranz et al. (2015), and more."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from nearfar.papers.ortega_arranz_2015.crauser.lightest import lightest_in, lightest_out
from nearfar.registry import Answer, Workspace, variant

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from nearfar.graph.graph import Graph
    from nearfar.options import NoOptions


def _run(
    graph: Graph,
    source: int,
    workspace: Workspace,
    *,
    out: NDArray[Any] | None = None,
    into: NDArray[Any] | None = None,
    predecessors: bool = False,
) -> Answer:
    from nearfar import _cpu

    view = graph.transpose().view if predecessors else graph.view
    distances = np.empty(graph.n_vertices, dtype=graph.weight_dtype)
    full = workspace.stats == "full"
    stats = _cpu.crauser_lists(
        view, predecessors, out, into, source, distances, workspace.limit, workspace.targets, full
    )
    return Answer(distances, stats)


@variant(
    "crauser_successors",
    device="cpu",
    summary="settle up to min(distance + lightest out-edge), relax successors (CPU Crauser)",
    paper="ortega-arranz-2015",
    section="3.2, Successors variant",
    complexity="O(n * iterations + m)",
)
def crauser_successors(
    graph: Graph, source: int, options: NoOptions, workspace: Workspace
) -> Answer:
    """Settle by Crauser's out-criterion; settled vertices relax their successors."""
    return _run(graph, source, workspace, out=lightest_out(graph))


@variant(
    "crauser_predecessors",
    device="cpu",
    summary="settle up to min(distance + lightest out-edge), relax over predecessors",
    paper="ortega-arranz-2015",
    section="3.3, Predecessors variant",
    complexity="O((n + m) * iterations)",
)
def crauser_predecessors(
    graph: Graph, source: int, options: NoOptions, workspace: Workspace
) -> Answer:
    """Settle by Crauser's out-criterion; unsettled vertices look for frontier predecessors."""
    return _run(graph, source, workspace, out=lightest_out(graph), predecessors=True)


@variant(
    "crauser_in",
    device="cpu",
    summary="settle v up to min(distance) + v's lightest in-edge (in-criterion), relax successors",
    paper="crauser-1998",
    section="IN-criterion",
    complexity="O(n * iterations + m)",
)
def crauser_in(graph: Graph, source: int, options: NoOptions, workspace: Workspace) -> Answer:
    """Settle by Crauser's in-criterion; settled vertices relax their successors."""
    return _run(graph, source, workspace, into=lightest_in(graph))


@variant(
    "crauser_in_out",
    device="cpu",
    summary="settle by the out-criterion or the in-criterion, relax successors",
    paper="crauser-1998",
    section="OUT- and IN-criterion",
    complexity="O(n * iterations + m)",
)
def crauser_in_out(graph: Graph, source: int, options: NoOptions, workspace: Workspace) -> Answer:
    """Settle by either criterion; settled vertices relax their successors."""
    return _run(graph, source, workspace, out=lightest_out(graph), into=lightest_in(graph))
