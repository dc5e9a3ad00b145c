"""Compound frontiers on the GPU: the forms of Martin et al. (2009), and the method they refute.

The host loop is cuda/loops/settle.py; each variant here is a choice of relax kernel and minimum.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from nearfar.cuda.device_graph import C_NAMES, DeviceGraph, device_graph
from nearfar.cuda.loops.settle import Criterion, Settle, Steps, settle_loop
from nearfar.graph.slots import Slot
from nearfar.options import LaunchOptions
from nearfar.papers.martin_2009.frontier.dense import dense_matrix, fits_dense
from nearfar.papers.martin_2009.frontier.hybrid import hybrid_steps
from nearfar.papers.martin_2009.frontier.two_cost_arrays import solve_two_cost_arrays
from nearfar.registry import Answer, Workspace, variant
from nearfar.system.devices import runtime

if TYPE_CHECKING:
    from nearfar.graph.graph import Graph

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
    kernel: str,
    *,
    passes: int = 1,
    idea: str,
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
    graph: Graph, source: int, options: LaunchOptions, workspace: Workspace, which: int
) -> Answer:
    idea = f"frontier_predecessors_h{which}"
    run, device = _settle(graph, source, options, idea, transposed=True)
    return settle_loop(run, hybrid_steps(run, graph, device, which), workspace)


def _matrix(
    graph: Graph, source: int, options: LaunchOptions, workspace: Workspace, kernel: str, idea: str
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


@variant(
    "frontier_predecessors_h1",
    device="cuda",
    summary="compound frontier, hybrid: update on the GPU, relax and minimum on the CPU (U-H1)",
    options=LaunchOptions,
    paper="martin-2009",
    section="4.1, U-H1",
    complexity="O((n + m) * iterations)",
)
def frontier_predecessors_h1(
    graph: Graph, source: int, options: LaunchOptions, workspace: Workspace
) -> Answer:
    """Run U-H1: the update on the GPU, the rest on the host."""
    return _hybrid(graph, source, options, workspace, 1)


@variant(
    "frontier_predecessors_h2",
    device="cuda",
    summary="compound frontier, hybrid: relax on the GPU, minimum and update on the CPU (U-H2)",
    options=LaunchOptions,
    paper="martin-2009",
    section="4.1, U-H2",
    complexity="O((n + m) * iterations)",
)
def frontier_predecessors_h2(
    graph: Graph, source: int, options: LaunchOptions, workspace: Workspace
) -> Answer:
    """Run U-H2: the relax step on the GPU, the rest on the host."""
    return _hybrid(graph, source, options, workspace, 2)


@variant(
    "frontier_predecessors_h3",
    device="cuda",
    summary="compound frontier, hybrid: relax and update on the GPU, minimum on the CPU (U-H3)",
    options=LaunchOptions,
    paper="martin-2009",
    section="4.1, U-H3",
    complexity="O((n + m) * iterations)",
)
def frontier_predecessors_h3(
    graph: Graph, source: int, options: LaunchOptions, workspace: Workspace
) -> Answer:
    """Run U-H3: the minimum on the host, the rest on the GPU."""
    return _hybrid(graph, source, options, workspace, 3)


@variant(
    "frontier_predecessors",
    device="cuda",
    summary="compound frontier, unsettled vertices relax over their predecessors (U-GPU)",
    options=LaunchOptions,
    paper="martin-2009",
    section="4.1, U-GPU",
    complexity="O((n + m) * iterations)",
)
def frontier_predecessors(
    graph: Graph, source: int, options: LaunchOptions, workspace: Workspace
) -> Answer:
    """Run U-GPU: all steps on the GPU, one minimum pass."""
    return _lists(
        graph, source, options, workspace, "relax_predecessors", idea="frontier_predecessors"
    )


@variant(
    "frontier_predecessors_2min",
    device="cuda",
    summary="compound frontier over predecessors with two minimum passes (U-GPU+2min)",
    options=LaunchOptions,
    paper="martin-2009",
    section="4.1, U-GPU+2min",
    complexity="O((n + m) * iterations)",
)
def frontier_predecessors_2min(
    graph: Graph, source: int, options: LaunchOptions, workspace: Workspace
) -> Answer:
    """Run U-GPU+2min: a second reduction on the GPU before the host's."""
    return _lists(
        graph, source, options, workspace, "relax_predecessors",
        passes=2, idea="frontier_predecessors_2min",
    )  # fmt: skip


@variant(
    "frontier_predecessors_plus",
    device="cuda",
    summary="compound frontier over predecessors, row bounds in shared memory (U-GPU-PLUS)",
    options=LaunchOptions,
    paper="martin-2009",
    section="4.2, U-GPU-PLUS",
    complexity="O((n + m) * iterations)",
)
def frontier_predecessors_plus(
    graph: Graph, source: int, options: LaunchOptions, workspace: Workspace
) -> Answer:
    """Run U-GPU-PLUS: row bounds in shared memory, frontier flags on the read-only path."""
    return _lists(
        graph, source, options, workspace, "relax_predecessors_plus",
        idea="frontier_predecessors_plus",
    )  # fmt: skip


@variant(
    "frontier_successors",
    device="cuda",
    summary="compound frontier, frontier vertices relax their successors by atomicMin (F-GPU)",
    options=LaunchOptions,
    paper="martin-2009",
    section="4.1, F-GPU",
    complexity="O(n * iterations + m)",
    tune=True,
)
def frontier_successors(
    graph: Graph, source: int, options: LaunchOptions, workspace: Workspace
) -> Answer:
    """Run F-GPU: all steps on the GPU, concurrent minima by atomics."""
    return _lists(graph, source, options, workspace, "relax_successors", idea="frontier_successors")


@variant(
    "frontier_successors_no_atomics",
    device="cuda",
    summary="F-GPU without atomics: threads that share a successor overwrite each other",
    options=LaunchOptions,
    paper="martin-2009",
    section="4.1, F-GPU_no_Atomic",
    unsafe=True,
    complexity="O(n * iterations + m)",
)
def frontier_successors_no_atomics(
    graph: Graph, source: int, options: LaunchOptions, workspace: Workspace
) -> Answer:
    """Run F-GPU with a plain minimum, which shows the cost of atomics; answers may be wrong."""
    return _lists(
        graph, source, options, workspace, "relax_successors_no_atomics",
        idea="frontier_successors_no_atomics",
    )  # fmt: skip


@variant(
    "frontier_matrix_predecessors",
    device="cuda",
    summary="compound frontier on a matrix, threads walk columns, chunks in shared memory (U-GPU)",
    options=LaunchOptions,
    requires=fits_dense,
    paper="martin-2009",
    section="5, U-GPU",
    complexity="O(n**2 * iterations)",
)
def frontier_matrix_predecessors(
    graph: Graph, source: int, options: LaunchOptions, workspace: Workspace
) -> Answer:
    """Run U-GPU on a matrix, with flags and distances staged in shared memory."""
    return _matrix(
        graph, source, options, workspace, "relax_columns", "frontier_matrix_predecessors"
    )


@variant(
    "frontier_matrix_successors",
    device="cuda",
    summary="compound frontier on a matrix, threads walk rows by atomicMin (F-GPU)",
    options=LaunchOptions,
    requires=fits_dense,
    paper="martin-2009",
    section="5, F-GPU",
    complexity="O(n**2 + n * iterations)",
)
def frontier_matrix_successors(
    graph: Graph, source: int, options: LaunchOptions, workspace: Workspace
) -> Answer:
    """Run F-GPU on a matrix, with unsettled flags staged in shared memory."""
    return _matrix(graph, source, options, workspace, "relax_rows", "frontier_matrix_successors")


@variant(
    "frontier_matrix_successors_no_atomics",
    device="cuda",
    summary="F-GPU on a matrix without atomics: threads overwrite each other's distances",
    options=LaunchOptions,
    requires=fits_dense,
    paper="martin-2009",
    section="5, F-GPU_no_Atomic",
    unsafe=True,
    complexity="O(n**2 + n * iterations)",
)
def frontier_matrix_successors_no_atomics(
    graph: Graph, source: int, options: LaunchOptions, workspace: Workspace
) -> Answer:
    """Run F-GPU on a matrix with a plain minimum; answers may be wrong."""
    return _matrix(
        graph, source, options, workspace, "relax_rows_no_atomics",
        "frontier_matrix_successors_no_atomics",
    )  # fmt: skip


@variant(
    "two_cost_arrays",
    device="cuda",
    summary="Harish and Narayanan's two distance arrays without atomics, refuted in section 4.3",
    options=LaunchOptions,
    paper="martin-2009",
    section="4.3, the implementation of [10]",
    unsafe=True,
    complexity="O(n * m)",
)
def two_cost_arrays(
    graph: Graph, source: int, options: LaunchOptions, workspace: Workspace
) -> Answer:
    """Run the refuted method: concurrent plain stores to the second array lose minima."""
    return solve_two_cost_arrays(graph, source, options, workspace)
