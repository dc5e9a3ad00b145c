"""Crauser's criteria on one core: the sequential forms of Ortega-Arranz et al. (2015), and more."""

from __future__ import annotations

import numpy as np

from nearfar.graph.graph import Graph
from nearfar.options import NoOptions
from nearfar.papers.ortega_arranz_2015.crauser.lightest import lightest_in, lightest_out
from nearfar.registry import Answer, Workspace, variant


def _form(
    idea: str,
    origin: tuple[str, str],
    summary: str,
    *,
    out: bool = False,
    into: bool = False,
    predecessors: bool = False,
) -> None:
    """Register a form: criteria by lightest out-edges or in-edges, and the side that relaxes."""
    paper, section = origin

    @variant(
        idea,
        device="cpu",
        summary=summary,
        paper=paper,
        section=section,
        complexity="O((n + m) * iterations)" if predecessors else "O(n * iterations + m)",
    )
    def run(graph: Graph, source: int, options: NoOptions, workspace: Workspace) -> Answer:
        from nearfar import _cpu

        view = graph.transpose().view if predecessors else graph.view
        lightest = lightest_out(graph) if out else None, lightest_in(graph) if into else None
        distances = np.empty(graph.n_vertices, dtype=graph.weight_dtype)
        limit, targets, full = workspace.limit, workspace.targets, workspace.stats == "full"
        stats = _cpu.crauser_lists(
            view, predecessors, *lightest, source, distances, limit, targets, full
        )
        return Answer(distances, stats)


_form(
    "crauser_successors",
    ("ortega-arranz-2015", "3.2, Successors variant"),
    "settle up to min(distance + lightest out-edge), relax successors (CPU Crauser)",
    out=True,
)
_form(
    "crauser_predecessors",
    ("ortega-arranz-2015", "3.3, Predecessors variant"),
    "settle up to min(distance + lightest out-edge), relax over predecessors",
    out=True,
    predecessors=True,
)
_form(
    "crauser_in",
    ("crauser-1998", "IN-criterion"),
    "settle v up to min(distance) + v's lightest in-edge (in-criterion), relax successors",
    into=True,
)
_form(
    "crauser_in_out",
    ("crauser-1998", "OUT- and IN-criterion"),
    "settle by the out-criterion or the in-criterion, relax successors",
    out=True,
    into=True,
)
