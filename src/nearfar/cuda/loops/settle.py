"""Loop of the compound-frontier families on the device: relax, minimum, update.

The loop corresponds to cpu/search/settle_loop.hpp; the host controls its steps, each of which is a
launch (or, in the hybrids, a host function): Martin et al. (2009), Fig. 2; Ortega-Arranz et al.
(2015), Alg. 1. The minimum kernel writes one value per block, and the host reduces these values, as
in both papers; that copy is the only synchronisation in an iteration. A family provides a
:class:`Criterion` (kernels and extra arrays) and a relax step. Iterations equal those of the CPU
loop exactly, since every step is deterministic.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from nearfar.cuda.launch_shapes import LaunchShape, resolve
from nearfar.errors import wrong_device
from nearfar.graph.dtypes import unreached_value
from nearfar.graph.graph import Graph
from nearfar.options import LaunchOptions
from nearfar.registry import Answer, Workspace
from nearfar.system.devices import runtime
from nearfar.system.devices.runtime import Launch, Program

COUNT_SLOTS = 64  # kCountSlots of settle.cuh
_SETTLED, _WORKING, _EDGES = 0, 1, 2  # fields of SettleCounts


@dataclass(frozen=True, slots=True)
class Criterion:
    """Kernels that decide which vertices settle."""

    # entry points of the kernels
    minimum: str = "minimum"
    update: str = "update"
    # number of minima; the first is a lower bound on all open distances, and ends the loop if it is
    # "unreached"
    values: int = 1
    # arguments of both kernels in addition to the common ones
    extra: Mapping[str, Any] = field(default_factory=dict)
    passes: int = 1  # reductions on the device before the one on the host: 1, or 2 (U-GPU+2min)


@dataclass(slots=True)
class Steps:
    """Steps of the loop; ``minimum`` returns the criterion's values.

    ``finish`` runs once, after the loop: it writes the distances to the run's device array.
    """

    relax: Callable[[], None]
    minimum: Callable[[], tuple[Any, ...]]
    update: Callable[[tuple[Any, ...]], None]
    finish: Callable[[], None] = lambda: None


def pinned_like(array: Any) -> NDArray[Any]:
    """Return a page-locked NumPy array of the same shape and dtype, for direct copies."""
    memory = runtime.cupy().cuda.alloc_pinned_memory(max(array.nbytes, 1))
    flat = np.frombuffer(memory, dtype=array.dtype, count=array.size)
    return flat.reshape(array.shape)


class Settle:
    """Device arrays of one run, and the launches of its three steps."""

    def __init__(
        self, program: Program, graph: Graph, source: int, options: LaunchOptions, idea: str
    ) -> None:
        cp = runtime.cupy()
        self.program = program
        self.n = graph.n_vertices
        self.dtype = graph.weight_dtype
        self.shape: LaunchShape = resolve(options, graph, idea, runtime.device().name)
        needed = self.n * (self.dtype.itemsize * 2 + 2)
        runtime.require_memory(needed)
        self.distance = cp.empty(self.n, dtype=self.dtype)
        self.frontier = cp.empty(self.n, dtype=np.uint8)
        self.unsettled = cp.empty(self.n, dtype=np.uint8)
        self.counts = cp.zeros((COUNT_SLOTS, 4), dtype=np.uint64)
        self._counts_pinned = pinned_like(self.counts)
        self._host_counts = np.zeros(3, dtype=np.int64)
        threads = self.shape.update
        self._state = {
            "n": np.int64(self.n),
            "distance": self.distance,
            "frontier": self.frontier,
            "unsettled": self.unsettled,
        }
        start = {**self._state, "source": np.int64(source)}
        self._prepare("settle_start", self._blocks(threads), threads, start)()

    def _blocks(self, threads: int, per_thread: int = 1) -> int:
        return max(1, -(-self.n // (threads * per_thread)))

    def _prepare(
        self, name: str, blocks: int, threads: int, arguments: Mapping[str, Any], shared: int = 0
    ) -> Launch:
        kernel = self.program.kernel(name)
        kernel.prefer_shared(self.shape.carveout)
        return Launch(kernel, blocks, threads, arguments, shared)

    def relax(
        self, kernel: str, *, shared_per_thread: int = 0, shared: int = 0, **structure: Any
    ) -> Launch:
        """Prepare a relax kernel over the arrays of the graph (lists or matrix)."""
        threads = self.shape.relax
        arguments = {**self._state, **structure, "counts": self.counts}
        shared += threads * shared_per_thread
        return self._prepare(kernel, self._blocks(threads), threads, arguments, shared)

    @property
    def relax_threads(self) -> int:
        """Number of threads in a relax launch."""
        return self._blocks(self.shape.relax) * self.shape.relax

    def minimum(self, criterion: Criterion) -> Callable[[], tuple[Any, ...]]:
        """Return a function that computes the minima: per block on the device, then on the host."""
        cp = runtime.cupy()
        threads = self.shape.minimum
        blocks = self._blocks(threads, 2)
        partial = cp.empty(criterion.values * blocks, dtype=self.dtype)
        arguments = {**self._state, **criterion.extra, "partial": partial}
        del arguments["frontier"]
        launches = [self._prepare(criterion.minimum, blocks, threads, arguments)]
        if criterion.passes == 2:
            count, blocks = blocks, -(-blocks // (2 * threads))
            again = cp.empty(blocks, dtype=self.dtype)
            further = {"count": np.int64(count), "values": partial, "partial": again}
            launches.append(self._prepare("minimum_again", blocks, threads, further))
            partial = again
        host = pinned_like(partial)
        by_value = host.reshape(criterion.values, blocks)

        def run() -> tuple[Any, ...]:
            for launch in launches:
                launch()
            partial.get(out=host)
            return tuple(by_value.min(axis=1))

        return run

    def update(self, criterion: Criterion) -> Callable[[tuple[Any, ...]], None]:
        """Return a function that settles the criterion's vertices and makes them the frontier."""
        threads = self.shape.update
        zero = self.dtype.type(0)
        arguments = {**self._state, **criterion.extra, "counts": self.counts}
        arguments |= {"first": zero, "second": zero}
        launch = self._prepare(criterion.update, self._blocks(threads), threads, arguments)

        def run(values: tuple[Any, ...]) -> None:
            launch.set(first=values[0], second=values[-1])
            launch()

        return run

    def add_counts(self, settled: int, working: int, edges: int) -> None:
        """Add the counts of a step that ran on the host."""
        self._host_counts += (settled, working, edges)

    def read_counts(self) -> NDArray[np.int64]:
        """Wait for the device and return the counts of settled, working and edges so far."""
        self.counts.get(out=self._counts_pinned)
        on_device = self._counts_pinned.sum(axis=0, dtype=np.int64)[:3]
        return np.asarray(on_device + self._host_counts)


def settle_loop(run: Settle, steps: Steps, workspace: Workspace) -> Answer:
    """Repeat relax, minimum and update until no unsettled vertex can improve another."""
    top = unreached_value(run.dtype)
    full = workspace.stats == "full"
    iterations, frontier = 0, 1
    before = np.zeros(3, dtype=np.int64)
    rows: list[tuple[int, int, int, float]] = []
    while True:
        began = time.perf_counter()
        steps.relax()
        iterations += 1
        values = steps.minimum()
        done = bool(values[0] == top)
        if not done:
            steps.update(values)
        if full:
            now = run.read_counts()
            settled, working, edges = (now - before).tolist()
            rows.append((frontier, working, edges, time.perf_counter() - began))
            before, frontier = now, settled
        if iterations > run.n:
            raise wrong_device(
                f"{iterations} iterations for {run.n} vertices, but each settles one"
            )
        if done or (workspace.limit is not None and float(values[0]) > workspace.limit):
            break
    steps.finish()
    totals = run.read_counts()
    stats: dict[str, Any] = {
        "iterations": iterations,
        "edges_relaxed": int(totals[_EDGES]),
        "vertices_settled": 1 + int(totals[_SETTLED]),
    }
    if full:
        total = run.relax_threads * iterations
        working = int(totals[_WORKING])
        stats |= {
            "total_threads": total,
            "working_threads": working,
            "idle_share": 1.0 - working / total,
            "frontier": np.array([row[0] for row in rows], dtype=np.int64),
            "working": np.array([row[1] for row in rows], dtype=np.int64),
            "edges": np.array([row[2] for row in rows], dtype=np.int64),
            "iteration_seconds": np.array([row[3] for row in rows]),
            "launch_shape": run.shape,
        }
    return Answer(run.distance, stats)
