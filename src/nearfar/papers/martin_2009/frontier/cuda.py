"""Compound frontiers on the GPU: the forms of Martin et al. (2009), and the method they refute.

The host loop is cuda/loops/settle.py; each variant here is a choice of relax kernel and minimum.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from nearfar.cuda.device_graph import C_NAMES, DeviceGraph, device_graph
from nearfar.cuda.loops.settle import Criterion, Settle, Steps, settle_loop
from nearfar.graph.graph import Graph
from nearfar.graph.slots import Slot
from nearfar.options import LaunchOptions
from nearfar.papers.martin_2009.frontier.dense import dense_matrix, fits_dense
from nearfar.papers.martin_2009.frontier.hybrid import hybrid_steps
from nearfar.papers.martin_2009.frontier.two_cost_arrays import solve_two_cost_arrays
from nearfar.registry import Answer, Workspace, variant
from nearfar.system.devices import runtime

_LISTS = "papers/martin_2009/frontier/frontier.cuh"
_MATRIX = ("papers/martin_2009/frontier/frontier.cuh", "papers/martin_2009/frontier/matrix.cuh")
_DEVICE_MATRIX: Slot[Any] = Slot("matrix on the device")


def _settle(
    graph: Graph, source: int, options: LaunchOptions, idea: str, *, transposed: bool
) -> tuple[Settle, DeviceGraph]:
    device = device_graph(graph.transpose() if transposed else graph)
    program = runtime.program(_LISTS, device.macros)
    return Settle(program, graph, source, options, idea), device


def _lists(
    graph: Graph,
    source: int,
    options: LaunchOptions,
    workspace: Workspace,
    idea: str,
    kernel: str,
    passes: int = 1,
) -> Answer:
    """Run a relax kernel on lists; its name determines whether it reads successors."""
    run, device = _settle(graph, source, options, idea, transposed="predecessors" in kernel)
    criterion = Criterion(passes=passes)
    # U-GPU-PLUS stages the bounds of its rows: one per thread, plus one.
    item = device.offset_dtype.itemsize if kernel.endswith("plus") else 0
    lists = {"offsets": device.offsets, "edges": device.edges}
    relax = run.relax(kernel, shared_per_thread=item, shared=item, **lists)
    steps = Steps(relax, run.minimum(criterion), run.update(criterion))
    return settle_loop(run, steps, workspace)


def _hybrid(
    graph: Graph, source: int, options: LaunchOptions, workspace: Workspace, idea: str, which: int
) -> Answer:
    run, device = _settle(graph, source, options, idea, transposed=True)
    return settle_loop(run, hybrid_steps(run, graph, device, which), workspace)


def _matrix(
    graph: Graph, source: int, options: LaunchOptions, workspace: Workspace, idea: str, kernel: str
) -> Answer:
    matrix = _device_matrix(graph)
    dtype = graph.weight_dtype
    macros = {"INDEX_T": "int", "OFFSET_T": "long long", "WEIGHT_T": C_NAMES[dtype.name]}
    program = runtime.program(_MATRIX, {**macros, "WEIGHTED": 1})
    run = Settle(program, graph, source, options, idea)
    criterion = Criterion()
    # Bytes staged per thread: a flag, and for columns a distance.
    staged = 1 + (dtype.itemsize if kernel == "relax_columns" else 0)
    relax = run.relax(kernel, matrix=matrix, shared_per_thread=staged)
    steps = Steps(relax, run.minimum(criterion), run.update(criterion))
    return settle_loop(run, steps, workspace)


def _device_matrix(graph: Graph) -> Any:
    """Return the graph's matrix on the current device, uploaded once and cached on the graph."""

    def make() -> Any:
        matrix = dense_matrix(graph)
        runtime.require_memory(matrix.nbytes, "use a method on lists")
        return runtime.upload(matrix)

    return _DEVICE_MATRIX.of(graph, make, runtime.device().ordinal)


def _form(
    idea: str,
    section: str,
    summary: str,
    complexity: str,
    solve: Callable[..., Answer],
    *given: Any,
    **more: Any,
) -> None:
    """Register a form: a solver, with what it is given besides the request."""

    @variant(
        idea,
        device="cuda",
        summary=summary,
        options=LaunchOptions,
        paper="martin-2009",
        section=section,
        complexity=complexity,
        **more,
    )
    def run(graph: Graph, source: int, options: LaunchOptions, workspace: Workspace) -> Answer:
        return solve(graph, source, options, workspace, idea, *given)


_BY_PREDECESSORS, _BY_SUCCESSORS = "O((n + m) * iterations)", "O(n * iterations + m)"
for _which, _steps in enumerate(
    (
        "update on the GPU, relax and minimum on the CPU",
        "relax on the GPU, minimum and update on the CPU",
        "relax and update on the GPU, minimum on the CPU",
    ),
    start=1,
):
    _form(
        f"frontier_predecessors_h{_which}",
        f"4.1, U-H{_which}",
        f"compound frontier, hybrid: {_steps} (U-H{_which})",
        _BY_PREDECESSORS,
        _hybrid,
        _which,
    )
_form(
    "frontier_predecessors",
    "4.1, U-GPU",
    "compound frontier, unsettled vertices relax over their predecessors (U-GPU)",
    _BY_PREDECESSORS,
    *(_lists, "relax_predecessors"),
)
_form(  # a second reduction on the GPU before the host's
    "frontier_predecessors_2min",
    "4.1, U-GPU+2min",
    "compound frontier over predecessors with two minimum passes (U-GPU+2min)",
    _BY_PREDECESSORS,
    *(_lists, "relax_predecessors", 2),
)
_form(  # frontier flags are read on the read-only path
    "frontier_predecessors_plus",
    "4.2, U-GPU-PLUS",
    "compound frontier over predecessors, row bounds in shared memory (U-GPU-PLUS)",
    _BY_PREDECESSORS,
    *(_lists, "relax_predecessors_plus"),
)
_form(
    "frontier_successors",
    "4.1, F-GPU",
    "compound frontier, frontier vertices relax their successors by atomicMin (F-GPU)",
    _BY_SUCCESSORS,
    *(_lists, "relax_successors"),
    tune=True,
)
_form(  # shows the cost of atomics
    "frontier_successors_no_atomics",
    "4.1, F-GPU_no_Atomic",
    "F-GPU without atomics: threads that share a successor overwrite each other",
    _BY_SUCCESSORS,
    *(_lists, "relax_successors_no_atomics"),
    unsafe=True,
)
_form(  # flags and distances are staged in shared memory
    "frontier_matrix_predecessors",
    "5, U-GPU",
    "compound frontier on a matrix, threads walk columns, chunks in shared memory (U-GPU)",
    "O(n**2 * iterations)",
    *(_matrix, "relax_columns"),
    requires=fits_dense,
)
_form(  # unsettled flags are staged in shared memory
    "frontier_matrix_successors",
    "5, F-GPU",
    "compound frontier on a matrix, threads walk rows by atomicMin (F-GPU)",
    "O(n**2 + n * iterations)",
    *(_matrix, "relax_rows"),
    requires=fits_dense,
)
_form(
    "frontier_matrix_successors_no_atomics",
    "5, F-GPU_no_Atomic",
    "F-GPU on a matrix without atomics: threads overwrite each other's distances",
    "O(n**2 + n * iterations)",
    *(_matrix, "relax_rows_no_atomics"),
    requires=fits_dense,
    unsafe=True,
)
_form(  # concurrent plain stores to the second array lose minima
    "two_cost_arrays",
    "4.3, the implementation of [10]",
    "Harish and Narayanan's two distance arrays without atomics, refuted in section 4.3",
    "O(n * m)",
    solve_two_cost_arrays,
    unsafe=True,
)
