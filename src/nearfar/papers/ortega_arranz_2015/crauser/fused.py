"""Whole Crauser loop in one cooperative launch; see fused.cuh."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Literal

import numpy as np

from nearfar.cuda.device_graph import device_graph
from nearfar.errors import OptionError, quoted, wrong_device
from nearfar.graph.dtypes import limit_in_dtype
from nearfar.graph.graph import Graph
from nearfar.papers.ortega_arranz_2015.crauser.lightest import device_lightest
from nearfar.registry import Answer, Workspace
from nearfar.system.devices import runtime

ITERATIONS_BEYOND = 2  # bound of the watchdog beyond the number of vertices


@dataclass(frozen=True, slots=True)
class FusedOptions:
    """Options of the one-launch form.

    Parameters
    ----------
    criterion : {"out", "in_out"}
        The paper's criterion, or its union with the in-criterion.
    block_threads : int
        Threads per block: a multiple of 32, from 32 to 1024.
    """

    criterion: Literal["out", "in_out"] = "out"
    block_threads: int = 256

    def __post_init__(self) -> None:
        if self.criterion not in ("out", "in_out"):
            raise OptionError(f"criterion is {quoted(self.criterion)}: use 'out' or 'in_out'")
        if self.block_threads % 32 or not 32 <= self.block_threads <= 1024:
            raise OptionError(
                f"block_threads is {self.block_threads}: give a multiple of 32 from 32 to 1024"
            )


def solve_fused(graph: Graph, source: int, options: FusedOptions, workspace: Workspace) -> Answer:
    """Launch once, read the counters, return the distances."""
    cp = runtime.cupy()
    device = device_graph(graph)
    n, dtype = device.n, device.weight_dtype
    full = workspace.stats == "full"
    trace_size = n if full else 0  # every iteration but the last settles a vertex
    runtime.require_memory(n * (dtype.itemsize + 1) + 16 * trace_size)
    both = options.criterion == "in_out"
    lightest_out = device_lightest(graph)
    lightest_in = device_lightest(graph.transpose()) if both else None
    program = runtime.program("papers/ortega_arranz_2015/crauser/fused.cuh", device.macros)
    kernel = program.kernel(f"fused_{options.criterion}")
    distance = cp.empty(n, dtype=dtype)
    flags = cp.empty(n, dtype=np.uint8)
    thresholds = cp.empty(6, dtype=dtype)
    arrivals = cp.zeros(1, dtype=np.uint32)
    counts = cp.zeros(5, dtype=np.uint64)
    trace = cp.zeros((2, trace_size), dtype=np.uint64) if full else None
    # More blocks than vertices would only make barriers slower.
    blocks = min(kernel.resident_blocks(options.block_threads), -(-n // options.block_threads))
    arguments = {
        "n": np.int64(n),
        "source": np.int64(source),
        "offsets": device.offsets,
        "edges": device.edges,
        "lightest_out": lightest_out,
        "lightest_in": lightest_in,
        "distance": distance,
        "flags": flags,
        "thresholds": thresholds,
        "arrivals": arrivals,
        "counts": counts,
        "limit": limit_in_dtype(workspace.limit, dtype),
        "trace": trace,
        "trace_size": np.int64(trace_size),
        "max_iterations": np.int64(n + ITERATIONS_BEYOND),
    }
    kernel(blocks, options.block_threads, arguments, cooperative=True)
    iterations, settled, working, edges, stuck = (int(value) for value in counts.get())
    if stuck:
        raise wrong_device(f"{iterations} iterations for {n} vertices, but each settles one")
    stats: dict[str, Any] = {
        "iterations": iterations,
        "edges_relaxed": edges,
        "vertices_settled": 1 + settled,
    }
    if trace is not None:
        rows = trace[:, :iterations].get().astype(np.int64)
        # A thread that processes several vertices counts once per vertex.
        grid = blocks * options.block_threads
        total = -(-n // grid) * grid * iterations
        stats |= {
            "total_threads": total,
            "working_threads": working,
            "idle_share": 1.0 - working / total,
            "frontier": rows[0],
            "working": rows[0],
            "edges": rows[1],
        }
    return Answer(distance, stats)
