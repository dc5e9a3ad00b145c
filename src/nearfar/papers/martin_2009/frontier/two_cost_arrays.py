"""Host loop of the method that Martin et al. (2009), section 4.3, refute.

It is not a compound frontier: it marks the vertices that improved and sweeps until none does, so it
has a separate loop. It is included so that the race can be observed and counted on a real device.
"""

from __future__ import annotations

import numpy as np

from nearfar.cuda.device_graph import device_graph
from nearfar.cuda.launch_shapes import resolve
from nearfar.cuda.loops.settle import COUNT_SLOTS
from nearfar.graph.graph import Graph
from nearfar.options import LaunchOptions
from nearfar.registry import Answer, Workspace
from nearfar.system.devices import runtime
from nearfar.system.devices.runtime import Launch


def solve_two_cost_arrays(
    graph: Graph, source: int, options: LaunchOptions, workspace: Workspace, idea: str
) -> Answer:
    """Sweep until no distance decreases; the answer may be wrong, as the paper shows."""
    cp = runtime.cupy()
    device = device_graph(graph)
    program = runtime.program("papers/martin_2009/frontier/two_cost_arrays.cuh", device.macros)
    threads = resolve(options, graph, idea, runtime.device().name).relax
    n = np.int64(device.n)
    blocks = max(1, -(-device.n // threads))
    distance = cp.empty(device.n, dtype=device.weight_dtype)
    updated = cp.empty(device.n, dtype=device.weight_dtype)
    marked = cp.empty(device.n, dtype=np.uint8)
    counts = cp.zeros((COUNT_SLOTS, 4), dtype=np.uint64)
    changed = cp.zeros(1, dtype=np.uint32)

    state = {"n": n, "distance": distance, "updated": updated, "marked": marked}

    def prepare(name: str, **own: object) -> Launch:
        return Launch(program.kernel(name), blocks, threads, {**state, **own})

    start = prepare("two_arrays_start", source=np.int64(source))
    relax = prepare("two_arrays_relax", offsets=device.offsets, edges=device.edges, counts=counts)
    update = prepare("two_arrays_update", any=changed)
    start()
    iterations = 0
    while True:
        relax()
        changed.fill(0)
        update()
        iterations += 1
        if not changed.get()[0]:
            break
    edges = int(counts.get()[:, 2].sum())
    return Answer(distance, {"iterations": iterations, "edges_relaxed": edges})
