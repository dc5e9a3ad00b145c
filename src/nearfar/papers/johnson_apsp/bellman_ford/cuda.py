"""Forms of Bellman-Ford on CUDA from the paper: queue, edge classes, child launches, warps."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Literal, NamedTuple

import numpy as np
from numpy.typing import NDArray

from nearfar.algorithms.bellman_ford.cuda import BLOCK, QueueRun, decide, finish
from nearfar.errors import OptionError
from nearfar.graph.dtypes import unreached_value
from nearfar.graph.graph import Graph
from nearfar.graph.slots import Slot
from nearfar.options import NoOptions
from nearfar.registry import Answer, Request, Workspace, variant
from nearfar.system.devices import runtime

_CHILDREN = "papers/johnson_apsp/bellman_ford/child_launches.cuh"
_PENDING = 2048  # maximum number of pending child launches, the device runtime's default
_CLASSES: Slot[Classes] = Slot("edges by class")


class Classes(NamedTuple):
    """Edges sorted by class within each row, and the boundaries of the classes."""

    graph: Graph
    once: NDArray[Any]
    sinks: NDArray[Any]
    negative_loops: NDArray[Any]


def sort_into_classes(graph: Graph) -> Classes:
    """Sort edges by the paper's classes: in-degree 1, others, out-degree 0; no self-loops."""

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


class _Run(QueueRun):
    """Run of the queue with a launch per round, or with launches from the device."""

    def rounds(self, most: int) -> bool:
        """Launch once per round; return whether the queue ran empty."""
        kernel = self.program.kernel("relax_active")
        launch = runtime.Launch(kernel, self.grid, BLOCK, self.arguments)
        seen = runtime.Pinned(12)  # three queue sizes
        for number in range(most):
            launch.set(round=np.uint32(number))
            launch()
            seen.copy_from(self.sizes)
            if np.frombuffer(seen.wait(), np.uint32)[(number + 1) % 3] == 0:
                return True
        return False

    def child_rounds(self, most: int, least: int) -> bool:
        """Run a round with a child launch per vertex; return whether the queue ran empty."""
        kernel, none = self.program.kernel("relax_by_children"), np.uint32(0)
        arguments = {**self.arguments, "least": np.uint32(least), "first": none, "count": none}
        launch = runtime.Launch(kernel, _PENDING // BLOCK, BLOCK, arguments)
        seen, entries = runtime.Pinned(12), 1
        for number in range(most):
            launch.set(round=np.uint32(number))
            for first in range(0, entries, _PENDING):
                some = min(entries - first, _PENDING)
                launch.set(first=np.uint32(first), count=np.uint32(some))
                launch()
            seen.copy_from(self.sizes)
            entries = int(np.frombuffer(seen.wait(), np.uint32)[(number + 1) % 3])
            if entries == 0:
                return True
        return False

    def sinks(self) -> None:
        """Relax the last class, the sinks, once."""
        names = ("offsets", "sinks", "edges", "distance", "n", "limit")
        arguments = {name: self.arguments[name] for name in names}
        self.program.kernel("relax_sinks")(self.grid, BLOCK, arguments)


def _solve(graph: Graph, source: int, workspace: Workspace, lanes: int) -> Answer:
    run = _Run(graph, source, workspace, lanes)
    return finish(graph, source, run, run.rounds(run.most_rounds(graph)))


@variant(
    "bellman_ford_queue",
    device="cuda",
    weights="any",
    summary="a queue of active vertices filled by atomics, a thread per vertex, a launch per round",
    paper="johnson-cuda",
    section="5.1, Algorithms 2 and 4",
    complexity="O(n m)",
)
def queue(graph: Graph, source: int, options: NoOptions, workspace: Workspace) -> Answer:
    """Run the paper's form without child launches: a thread reads its vertex's edges."""
    return _solve(graph, source, workspace, 1)


@variant(
    "bellman_ford_edge_classes",
    device="cuda",
    weights="any",
    summary="the queue with self-loop, in-degree 1 and out-degree 0 edges treated separately",
    paper="johnson-cuda",
    section="4.1 and 5.1",
    complexity="O(n m)",
)
def edge_classes(graph: Graph, source: int, options: NoOptions, workspace: Workspace) -> Answer:
    """Solve with edge classes; the first round takes the source's edges without atomics."""
    edges = sort_into_classes(graph)
    run = _Run(edges.graph, source, workspace, 1, (edges.once, edges.sinks))
    finished = run.rounds(run.most_rounds(graph))
    if finished:
        run.sinks()
    answer = finish(graph, source, run, finished)
    if finished and len(edges.negative_loops):
        at = runtime.download(run.distance)[edges.negative_loops]
        if (at != unreached_value(graph.weight_dtype)).any():
            answer.stats.pop("saturated", None)
            return decide(graph, source, answer)
    return answer


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
    """Solve with a warp per vertex in place of child launches."""
    return _solve(graph, source, workspace, 32)


@dataclass(frozen=True, slots=True)
class ChildOptions:
    """Options of ``bellman_ford_child_launches@cuda``.

    Parameters
    ----------
    child_edges : int
        Least number of edges for which a vertex gets a child launch; the edges of other vertices
        are relaxed by their thread. 1, the default, is the paper's method.
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
    """Solve with a child launch per vertex, as the paper does."""
    run = _Run(graph, source, workspace, 1, kernels=_CHILDREN)
    finished = run.child_rounds(run.most_rounds(graph), options.child_edges)
    launched = int(run.stats.get()[3])
    answer = finish(graph, source, run, finished)
    answer.stats["child_launches"] = launched
    return answer
