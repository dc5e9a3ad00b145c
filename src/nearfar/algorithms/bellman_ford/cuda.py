"""Bellman-Ford on CUDA with a queue of active vertices, for weights of either sign; see queue.cuh.

Negative cycles: a run on a graph with negative weights stops after some thousands of rounds, and
the subtree method on the CPU either raises the error with the cycle or returns the distances.
With floats, rounding may hide a cycle: the CPU checks the part of a graph that its first search
reaches, and later searches from that part run only on the GPU.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from numpy.typing import NDArray

from nearfar import _cpu
from nearfar.algorithms.bellman_ford.cpu import solve
from nearfar.cpu.potentials import proof_wanted
from nearfar.cuda.device_graph import device_graph
from nearfar.cuda.distances.predecessors import device_predecessors
from nearfar.errors import wrong_device
from nearfar.graph.dtypes import limit_in_dtype, unreached_value
from nearfar.graph.facts import Facts
from nearfar.graph.graph import Graph
from nearfar.options import NoOptions
from nearfar.registry import Answer, Estimate, Request, Workspace, variant
from nearfar.system.devices import runtime

KERNELS = "algorithms/bellman_ford/queue.cuh"
BLOCK = 256
_PATIENCE = 4096  # rounds on a graph with negative weights before the CPU decides
ROUNDS_BEYOND = 2  # watchdog without negative weights: shortest paths have at most n - 1 edges


class QueueRun:
    """Device arrays of one solve and the arguments that the kernels share.

    ``lanes`` is the number of lanes per vertex. ``parts`` are the positions in each row where the
    class of the edges changes, for kernels that treat classes separately.
    """

    def __init__(
        self,
        graph: Graph,
        source: int,
        workspace: Workspace,
        lanes: int,
        parts: tuple[NDArray[Any], NDArray[Any]] | None = None,
        kernels: str = KERNELS,
    ) -> None:
        cp, device = runtime.cupy(), device_graph(graph)
        n, weight, vertex = device.n, device.weight_dtype, device.vertex_dtype
        runtime.require_memory(n * (weight.itemsize + 4 + 2 * vertex.itemsize))
        self.distance = cp.empty(max(n, 1), dtype=weight)
        self.sizes = cp.zeros(4, dtype=np.uint32)
        self.stats = cp.zeros(4, dtype=np.uint64)
        once, sinks = (
            None if part is None else cp.asarray(part.astype(device.offset_dtype))
            for part in parts or (None, None)
        )
        macros = {**device.macros, "LANES_EACH": lanes, "CLASSES": int(parts is not None)}
        self.program = runtime.program(kernels, macros)
        # A search cannot stop at the limit if later edges may be negative.
        limit = workspace.limit if graph.n_negative == 0 else None
        self.grid = runtime.device().multiprocessors * 8
        self.timer = runtime.Timer().start()
        start = {
            "distance": self.distance,
            "stamp": cp.empty(max(n, 1), dtype=np.uint32),
            "queue": cp.empty(2 * max(n, 1), dtype=vertex),
            "sizes": self.sizes,
            "n": np.int64(n),
            "source": np.int64(source),
            "stats": self.stats,
        }
        self.program.kernel("start_queue")(self.grid, BLOCK, start)
        self.arguments = {
            **start,
            "offsets": device.offsets,
            "once": once,
            "sinks": sinks,
            "edges": device.edges,
            "limit": limit_in_dtype(limit, weight),
            "round": np.uint32(0),
        }

    def most_rounds(self, graph: Graph) -> int:
        """Return the number of rounds after which the CPU decides."""
        if graph.n_negative:
            return _PATIENCE
        return min(graph.n_vertices + ROUNDS_BEYOND, 2**31 - 2)

    def in_one_launch(self, most: int) -> bool:
        """Run all rounds in one cooperative launch; return whether the queue ran empty."""
        cp = runtime.cupy()
        kernel = self.program.kernel("one_launch")
        barrier = cp.zeros(1, dtype=np.uint32)
        blocks = min(kernel.resident_blocks(BLOCK), self.grid)
        arguments = {**self.arguments, "most": np.uint32(most), "barrier": barrier}
        kernel(blocks, BLOCK, arguments, cooperative=True)
        done = int(self.stats.get()[1])
        return int(self.sizes.get()[done % 3]) == 0

    def answer(self) -> Answer:
        """Return distances and counters."""
        self.timer.stop()
        edges, rounds, vertices = (int(x) for x in self.stats.get()[:3])
        stats = {
            "iterations": rounds,
            "edges_relaxed": edges,
            "vertices_processed": vertices,
            "device_seconds": self.timer.seconds,
        }
        return Answer(self.distance, stats)


def decide(graph: Graph, source: int, answer: Answer) -> Answer:
    """Run the subtree method on the CPU, which raises the cycle or returns the distances."""
    found = solve(graph, source, Workspace(), _cpu.bellman_ford_subtree)
    stats = {"saturated": found.stats["saturated"], "decided_by": "tarjan_subtree@cpu"}
    return Answer(found.distances, {**answer.stats, **stats})


def circular(graph: Graph, source: int, distances: Any) -> bool:
    """Return whether rounding improved sums of floats around a cycle: no path has such a sum."""
    if not graph.n_negative or graph.weight_dtype.kind == "i":
        return False
    before, _ = device_predecessors(graph, [int(source)], distances)
    unreached = unreached_value(graph.weight_dtype)
    lost = (before < 0) & (distances < unreached)
    lost[source] = distances[source] != 0
    return bool(lost.any())


def finish(graph: Graph, source: int, run: QueueRun, finished: bool) -> Answer:
    """Return the answer after the rounds, decided on the CPU if necessary, with its counters."""
    if not finished and not graph.n_negative:
        raise wrong_device(
            f"Bellman-Ford on CUDA did not end within {run.most_rounds(graph)} rounds"
        )
    if not finished or proof_wanted(graph, int(source)) or circular(graph, source, run.distance):
        return decide(graph, source, run.answer())
    answer = run.answer()
    if graph.n_negative:
        lowest, dtype = run.distance.min().item(), graph.weight_dtype
        least = -np.inf if dtype.kind == "f" else -int(np.iinfo(dtype).max)
        answer.stats["saturated"] = lowest <= least
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
    summary="a queue of active vertices, one warp per vertex, all rounds in one launch",
    paper="johnson-cuda",
    section="5.1, in one launch (beyond the paper)",
    complexity="O(n m)",
    cost=_cost,
)
def one_launch(graph: Graph, source: int, options: NoOptions, workspace: Workspace) -> Answer:
    """Run all rounds in one launch: the default for negative weights on a GPU."""
    run = QueueRun(graph, source, workspace, 32)
    return finish(graph, source, run, run.in_one_launch(run.most_rounds(graph)))
