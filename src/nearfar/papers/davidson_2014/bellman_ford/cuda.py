"""Bellman-Ford on CUDA in its plainest form: the baseline of the near-far paper."""

from __future__ import annotations

import numpy as np

from nearfar.cuda.device_graph import device_graph
from nearfar.graph.dtypes import limit_in_dtype
from nearfar.graph.graph import Graph
from nearfar.options import NoOptions
from nearfar.registry import Answer, Workspace, variant
from nearfar.system.devices import runtime

_BLOCK = 256
_LOOK_EVERY = 4  # iterations between two reads of the state


@variant(
    "bellman_ford",
    device="cuda",
    summary="every edge of every reached vertex in every round, one thread per vertex",
    options=NoOptions,
    paper="davidson-2014",
    section="II.B, as in LonestarGPU",
    complexity="O(n m)",
)
def all_vertices(graph: Graph, source: int, options: NoOptions, workspace: Workspace) -> Answer:
    """Relax all edges until nothing improves; non-negative weights."""
    on_device = device_graph(graph)
    n, weight = on_device.n, on_device.weight_dtype
    runtime.require_memory(n * weight.itemsize + 64)
    cp = runtime.cupy()
    distance = cp.empty(max(n, 1), dtype=weight)
    state = cp.zeros(32, dtype=np.uint8)  # three counters and `last`, read by one copy
    counters, last = state[:24].view(np.uint64), state[24:28].view(np.uint32)
    program = runtime.program("papers/davidson_2014/bellman_ford/sweep_all.cuh", on_device.macros)
    grid = runtime.device().multiprocessors * 8

    timer = runtime.Timer().start()
    given = {"distance": distance, "n": np.int64(n), "last": last, "counters": counters}
    program.kernel("start_all")(grid, _BLOCK, {**given, "source": np.int64(source)})
    rows = {"offsets": on_device.offsets, "edges": on_device.edges}
    further = {"limit": limit_in_dtype(workspace.limit, weight), "iteration": np.uint32(0)}
    kernel = program.kernel("sweep_all")
    sweep = runtime.Launch(kernel, grid, _BLOCK, {**given, **rows, **further})
    turns = [runtime.Pinned(32), runtime.Pinned(32)]
    iteration = 0
    before: tuple[runtime.Pinned, int] | None = None
    while True:
        for _ in range(_LOOK_EVERY):
            sweep.set(iteration=np.uint32(iteration))
            sweep()
            iteration += 1
        now = turns[iteration // _LOOK_EVERY & 1]
        now.copy_from(state)
        if before is not None:
            # Read the state of the preceding batch, so that the GPU never waits for the host.
            seen, launched = before
            if np.frombuffer(seen.wait()[24:28], np.uint32)[0] < launched:
                break
        before = now, iteration
    timer.stop()
    iterations, edges, vertices = map(int, np.frombuffer(now.wait()[:24], np.uint64))
    stats = {
        "iterations": iterations,
        "edges_relaxed": edges,
        "vertices_processed": vertices,
        "average_parallelism": vertices / max(iterations, 1),
        "device_seconds": timer.seconds,
    }
    return Answer(distance, stats)
