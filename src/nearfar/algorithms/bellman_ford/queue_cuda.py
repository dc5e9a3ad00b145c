"""Bellman-Ford on CUDA over a queue of active vertices, weights of either sign; see queue.cuh.

Negative cycles: a run on a graph with negative weights gives up after some thousands of rounds,
and the subtree method on the CPU decides: it raises the error with the cycle, or returns the
distances.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal, NamedTuple

import numpy as np

from nearfar import _cpu
from nearfar.cpu.potentials import negative_cycle_error
from nearfar.cuda.device_graph import DeviceGraph, device_graph
from nearfar.errors import OptionError, SolverError
from nearfar.graph.dtypes import unreached_value
from nearfar.graph.graph import Graph
from nearfar.graph.slots import Slot
from nearfar.options import NoOptions
from nearfar.registry import Answer, Estimate, variant
from nearfar.system.devices import runtime

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from nearfar.graph.facts import Facts
    from nearfar.registry import Request, Workspace

__all__ = ["ChildOptions", "child_launches", "edge_classes", "one_launch", "queue", "warps"]

_KERNELS = "algorithms/bellman_ford/queue.cuh"
_CHILDREN = "algorithms/bellman_ford/child_launches.cuh"
_BLOCK = 256
_PENDING = 2048  # child launches that may wait at once: the device runtime's default
_PATIENCE = 4096  # rounds, on a graph with negative weights
ROUNDS_BEYOND = 2  # the watchdog without: shortest paths have at most n - 1 edges
_CLASSES: Slot[Classes] = Slot("edges by class")


class Classes(NamedTuple):
    """The edges sorted by class within each row, and where the classes part."""

    graph: Graph
    once: NDArray[Any]
    sinks: NDArray[Any]
    negative_loops: NDArray[Any]


def sort_into_classes(graph: Graph) -> Classes:
    """Edge classes of the paper: in-degree 1, then the others, then out-degree 0; no loops."""

    def make() -> Classes:
        n = graph.n_vertices
        tails = graph.tails(np.int64)
        heads, weights = graph.indices, graph.effective_weights
        loop = tails == heads
        bad = np.unique(tails[loop & (weights < 0)])
        tails, heads, weights = tails[~loop], heads[~loop], weights[~loop]
        out, into = np.bincount(tails, minlength=n), np.bincount(heads, minlength=n)
        kind = np.where(out[heads] == 0, 2, np.where(into[heads] == 1, 0, 1))
        order = np.lexsort((kind, tails))
        counts = np.zeros((3, n), dtype=np.int64)
        for which in range(3):
            counts[which] = np.bincount(tails[kind == which], minlength=n)
        indptr = np.concatenate([[0], np.cumsum(counts.sum(axis=0))]).astype(graph.indptr.dtype)
        ordered = Graph(
            indptr, heads[order], weights[order] if graph.is_weighted else None, copy=False
        )
        once = indptr[:-1] + counts[0]
        return Classes(ordered, once, once + counts[1], bad)

    return _CLASSES.of(graph, make)


def _limit(limit: float | None, dtype: np.dtype[Any]) -> Any:
    """The limit in the weights' dtype, not below it."""
    top = unreached_value(dtype)
    if limit is None or limit >= top:
        return dtype.type(top)
    if dtype.kind == "f":
        return np.nextafter(dtype.type(limit), dtype.type(np.inf))
    return dtype.type(max(int(limit), int(np.iinfo(dtype).min)))


class _Run:
    """Device arrays of one solve and the arguments that the kernels share."""

    def __init__(
        self,
        graph: Graph,
        source: int,
        workspace: Workspace,
        lanes: int,
        classes: Classes | None,
        kernels: str = _KERNELS,
    ) -> None:
        cp = runtime.cupy()
        used = graph if classes is None else classes.graph
        self.device: DeviceGraph = device_graph(used)
        n, weight = self.device.n, self.device.weight_dtype
        vertex = self.device.vertex_dtype
        runtime.require_memory(n * (weight.itemsize + 4 + 2 * vertex.itemsize))
        self.distance = cp.empty(max(n, 1), dtype=weight)
        self.stamp = cp.empty(max(n, 1), dtype=np.uint32)
        self.active = cp.empty(2 * max(n, 1), dtype=vertex)
        self.sizes = cp.zeros(4, dtype=np.uint32)
        self.stats = cp.zeros(4, dtype=np.uint64)
        offset = self.device.offset_dtype
        self.parts: tuple[Any, Any] = (None, None)
        if classes is not None:
            once, sinks = classes.once.astype(offset), classes.sinks.astype(offset)
            self.parts = (cp.asarray(once), cp.asarray(sinks))
        macros = {**self.device.macros, "LANES_EACH": lanes, "CLASSES": int(classes is not None)}
        self.program = runtime.program(kernels, macros)
        # A limit below zero is not an early stop where later edges may be negative.
        limit = workspace.limit if graph.n_negative == 0 else None
        self.limit = _limit(limit, weight)
        self.grid = runtime.device().multiprocessors * 8
        self.timer = runtime.Timer().start()
        self.program.kernel("start_queue")(
            self.grid,
            _BLOCK,
            (
                *(self.distance, self.stamp, self.active, self.sizes),
                *(np.int64(n), np.int64(source), self.stats),
            ),
        )
        self.arguments = (
            *(self.device.offsets, *self.parts, self.device.edges, self.distance, self.stamp),
            *(self.active, self.sizes, np.int64(n), self.limit, np.int64(source), self.stats),
        )

    def most_rounds(self, graph: Graph) -> int:
        """Rounds after which the CPU decides; without negative weights, that no run takes."""
        if graph.n_negative:
            return _PATIENCE
        return min(graph.n_vertices + ROUNDS_BEYOND, 2**31 - 2)

    def rounds(self, most: int) -> bool:
        """A launch per round, the host in between; whether the queue ran empty."""
        kernel = self.program.kernel("relax_active")
        launch = runtime.Launch(kernel, self.grid, _BLOCK, (*self.arguments, np.uint32(0)))
        place = len(self.arguments)
        seen = runtime.Pinned(12)  # three queue sizes
        for number in range(most):
            launch.set(place, np.uint32(number))
            launch()
            seen.copy_from(self.sizes)
            if np.frombuffer(seen.wait(), np.uint32)[(number + 1) % 3] == 0:
                return True
        return False

    def child_rounds(self, most: int, least: int) -> bool:
        """A child launch per vertex, so many vertices at a time; whether the queue ran empty."""
        kernel, place = self.program.kernel("relax_by_children"), len(self.arguments)
        arguments = (*self.arguments, *(np.uint32(x) for x in (0, least, 0, 0)))
        launch = runtime.Launch(kernel, _PENDING // _BLOCK, _BLOCK, arguments)
        seen, entries = runtime.Pinned(12), 1
        for number in range(most):
            launch.set(place, np.uint32(number))
            for first in range(0, entries, _PENDING):
                launch.set(place + 2, np.uint32(first))
                launch.set(place + 3, np.uint32(min(entries - first, _PENDING)))
                launch()
            seen.copy_from(self.sizes)
            entries = int(np.frombuffer(seen.wait(), np.uint32)[(number + 1) % 3])
            if entries == 0:
                return True
        return False

    def in_one_launch(self, most: int) -> bool:
        """All rounds in one cooperative launch; whether the queue ran empty."""
        cp = runtime.cupy()
        kernel = self.program.kernel("one_launch")
        barrier = cp.zeros(1, dtype=np.uint32)
        blocks = min(kernel.resident_blocks(_BLOCK), self.grid)
        kernel(
            blocks,
            _BLOCK,
            (*self.arguments, np.uint32(0), np.uint32(most), barrier),
            cooperative=True,
        )
        done = int(self.stats.get()[1])
        return int(self.sizes.get()[done % 3]) == 0

    def sinks(self) -> None:
        """The last class, once."""
        self.program.kernel("relax_sinks")(
            self.grid,
            _BLOCK,
            (
                *(self.device.offsets, self.parts[1], self.device.edges, self.distance),
                *(np.int64(self.device.n), self.limit),
            ),
        )

    def answer(self) -> Answer:
        """Distances and counters."""
        self.timer.stop()
        edges, rounds, vertices = (int(x) for x in self.stats.get()[:3])
        stats = {
            "iterations": rounds,
            "edges_relaxed": edges,
            "vertices_processed": vertices,
            "device_seconds": self.timer.seconds,
        }
        return Answer(self.distance, stats)


def _decide(graph: Graph, source: int, answer: Answer | None) -> Answer:
    """Let the subtree method on the CPU raise the cycle or give the distances."""
    distances = np.empty(graph.n_vertices, dtype=graph.weight_dtype)
    found = _cpu.bellman_ford_subtree(graph.view, int(source), distances)
    if found["cycle"]:
        raise negative_cycle_error(graph, found["cycle"])
    stats = dict(answer.stats) if answer is not None else {}
    return Answer(distances, {**stats, "decided_by": "tarjan_subtree@cpu"})


def _solve(
    graph: Graph, source: int, workspace: Workspace, lanes: int, classes: bool, one: bool
) -> Answer:
    sorted_edges = sort_into_classes(graph) if classes else None
    run = _Run(graph, source, workspace, lanes, sorted_edges)
    most = run.most_rounds(graph)
    finished = run.in_one_launch(most) if one else run.rounds(most)
    return _finish(graph, source, run, finished, sorted_edges)


def _finish(
    graph: Graph, source: int, run: _Run, finished: bool, sorted_edges: Classes | None = None
) -> Answer:
    """What follows the rounds: the last edge class, the decision on the CPU, the counters."""
    if not finished and not graph.n_negative:
        raise SolverError(
            f"Bellman-Ford on CUDA did not end within {run.most_rounds(graph)} rounds: check the "
            "device with `nearfar doctor`"
        )
    if not finished:
        return _decide(graph, source, run.answer())
    if sorted_edges is not None:
        run.sinks()
    answer = run.answer()
    if sorted_edges is not None and len(sorted_edges.negative_loops):
        at = runtime.download(run.distance)[sorted_edges.negative_loops]
        if (at != unreached_value(graph.weight_dtype)).any():
            return _decide(graph, source, answer)
    if graph.n_negative and graph.weight_dtype.kind == "i":
        lowest = int(run.distance.min())
        answer.stats["saturated"] = lowest <= -int(np.iinfo(graph.weight_dtype).max)
    return answer


def _cost(facts: Facts, request: Request) -> Estimate | None:
    if not facts.negative:
        return None
    sweeps = 2 + math.log2(facts.n + 2)
    seconds = sweeps * facts.m * 3e-11 + facts.hops * 7e-6 + 1e-4  # on an H200
    return Estimate(seconds, "negative weights, one launch")


@variant(
    "bellman_ford_persistent",
    device="cuda",
    weights="any",
    summary="a queue of active vertices, a warp each, all rounds in one launch",
    paper="johnson-cuda",
    section="5.1, in one launch (beyond the paper)",
    complexity="O(n m)",
    cost=_cost,
)
def one_launch(graph: Graph, source: int, options: NoOptions, workspace: Workspace) -> Answer:
    """The default for negative weights on a GPU."""
    return _solve(graph, source, workspace, 32, classes=False, one=True)


@variant(
    "bellman_ford_queue",
    device="cuda",
    weights="any",
    summary="a queue of active vertices filled by atomics, a thread each, a launch per round",
    paper="johnson-cuda",
    section="5.1, Algorithms 2 and 4",
    complexity="O(n m)",
)
def queue(graph: Graph, source: int, options: NoOptions, workspace: Workspace) -> Answer:
    """The paper's form without child launches: a thread walks its vertex's edges."""
    return _solve(graph, source, workspace, 1, classes=False, one=False)


@variant(
    "bellman_ford_edge_classes",
    device="cuda",
    weights="any",
    summary="the queue with self-loop, in-degree 1 and out-degree 0 edges treated apart",
    paper="johnson-cuda",
    section="4.1 and 5.1",
    complexity="O(n m)",
)
def edge_classes(graph: Graph, source: int, options: NoOptions, workspace: Workspace) -> Answer:
    """Edge classes; the source's edges are the queue's first round, where nothing can collide."""
    return _solve(graph, source, workspace, 1, classes=True, one=False)


@variant(
    "bellman_ford_warps",
    device="cuda",
    weights="any",
    summary="the queue with a warp per vertex, for the balance that child launches would give",
    paper="johnson-cuda",
    section="5.1, dynamic parallelism replaced",
    complexity="O(n m)",
)
def warps(graph: Graph, source: int, options: NoOptions, workspace: Workspace) -> Answer:
    """Warp-cooperative form of the paper's dynamic parallelism."""
    return _solve(graph, source, workspace, 32, classes=False, one=False)


@dataclass(frozen=True, slots=True)
class ChildOptions:
    """Options of ``bellman_ford_child_launches@cuda``.

    Parameters
    ----------
    child_edges : int
        Least number of edges for which a vertex gets a child launch; a vertex with fewer is walked
        by its thread. 1, the default, is the paper's form.
    """

    child_edges: int = 1

    def __post_init__(self) -> None:
        if not 1 <= self.child_edges < 2**31:
            raise OptionError(
                f"child_edges is {self.child_edges}: give a number from 1 to 2^31 - 1"
            )


def _links(graph: Graph, request: Request) -> Literal[True] | str:
    return runtime.can_link()


@variant(
    "bellman_ford_child_launches",
    device="cuda",
    weights="any",
    options=ChildOptions,
    requires=_links,
    summary="the queue with a child launch per vertex: the paper's dynamic parallelism",
    paper="johnson-cuda",
    section="5.1, dynamic parallelism",
    complexity="O(n m)",
)
def child_launches(
    graph: Graph, source: int, options: ChildOptions, workspace: Workspace
) -> Answer:
    """The paper's form; measured beside the others to show what a launch per vertex costs."""
    run = _Run(graph, source, workspace, 1, None, _CHILDREN)
    finished = run.child_rounds(run.most_rounds(graph), options.child_edges)
    launched = int(run.stats.get()[3])
    answer = _finish(graph, source, run, finished)
    answer.stats["child_launches"] = launched
    return answer
