"""Crauser's criteria on the GPU: Ortega-Arranz et al. (2015) and the criteria it leaves out.

The host loop is cuda/loops/settle.py, which the frontier family uses as well; a
criterion is a pair of kernels and the arrays of lightest edges that they read.
"""

from __future__ import annotations

from nearfar.cuda.device_graph import device_graph
from nearfar.cuda.loops.settle import Criterion, Settle, Steps, settle_loop
from nearfar.graph.graph import Graph
from nearfar.options import LaunchOptions
from nearfar.papers.ortega_arranz_2015.crauser.fused import FusedOptions, solve_fused
from nearfar.papers.ortega_arranz_2015.crauser.lightest import KERNELS, device_lightest
from nearfar.registry import Answer, Workspace, variant
from nearfar.system.devices import runtime


def _run(
    graph: Graph,
    source: int,
    options: LaunchOptions,
    workspace: Workspace,
    idea: str,
    *,
    out: bool = False,
    into: bool = False,
    predecessors: bool = False,
) -> Answer:
    device = device_graph(graph.transpose() if predecessors else graph)
    program = runtime.program(KERNELS, device.macros)
    run = Settle(program, graph, source, options, idea)
    name = "in_out" if out and into else "in" if into else "out"
    criterion = Criterion(
        minimum=f"minimum_{name}",
        update=f"update_{name}",
        values=2 if out and into else 1,
        extra={
            "lightest_out": device_lightest(graph) if out else None,
            "lightest_in": device_lightest(graph.transpose()) if into else None,
        },
    )
    kernel = "relax_predecessors" if predecessors else "relax_successors"
    relax = run.relax(kernel, offsets=device.offsets, edges=device.edges)
    steps = Steps(relax, run.minimum(criterion), run.update(criterion))
    return settle_loop(run, steps, workspace)


def _form(
    idea: str, origin: tuple[str, str], summary: str, *, tune: bool = False, **by: bool
) -> None:
    """Register a form: criteria by lightest out-edges or in-edges, and the relax kernel."""
    paper, section = origin

    @variant(
        idea,
        device="cuda",
        summary=summary,
        options=LaunchOptions,
        paper=paper,
        section=section,
        complexity="O((n + m) * iterations)" if "predecessors" in by else "O(n * iterations + m)",
        tune=tune,
    )
    def run(graph: Graph, source: int, options: LaunchOptions, workspace: Workspace) -> Answer:
        return _run(graph, source, options, workspace, idea, **by)


_form(
    "crauser_successors",
    ("ortega-arranz-2015", "3.2, GPU Crauser Successors"),
    "settle up to min(distance + lightest out-edge), relax successors (GPU Crauser)",
    out=True,
    tune=True,
)
_form(
    "crauser_predecessors",
    ("ortega-arranz-2015", "3.3, GPU Crauser Predecessors"),
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


@variant(
    "crauser_fused",
    device="cuda",
    summary="Crauser's loop in one cooperative launch: no host between relax, minimum and update",
    options=FusedOptions,
    paper="ortega-arranz-2015",
    section="3.2, in one launch (beyond the paper)",
    complexity="O(n * iterations + m)",
)
def crauser_fused(graph: Graph, source: int, options: FusedOptions, workspace: Workspace) -> Answer:
    """Run the iterations of crauser_successors or crauser_in_out in one launch."""
    return solve_fused(graph, source, options, workspace)
