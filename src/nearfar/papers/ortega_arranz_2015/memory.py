"""Measure the memory of a solve in addition to the graph, on the host or on the device."""

from __future__ import annotations

import ctypes
import gc
from typing import TYPE_CHECKING

from nearfar.registry import Workspace
from nearfar.system.devices import runtime

if TYPE_CHECKING:
    from nearfar.graph.graph import Graph
    from nearfar.lab.bench.cases import Case


def graph_bytes(graph: Graph) -> int:
    """Return the bytes of the rows: offsets, targets and weights."""
    weights = 0 if graph.weights is None else graph.weights.nbytes
    return int(graph.indptr.nbytes + graph.indices.nbytes + weights)


def solve_bytes(one: Case, graph: Graph, source: int) -> int | None:
    """Return the peak memory of one solve above the memory in use before it.

    A preceding solve builds the transpose and other arrays that are cached for later solves.
    On the device this is the size of a separate memory pool; on the host the high-water mark of
    resident memory, which a process can reset on Linux; None on other systems.
    """
    warm = one.variant.run(graph, source, one.options, Workspace(threads=one.threads))
    del warm
    gc.collect()
    if one.variant.device == "cuda":
        cp = runtime.cupy()
        # In the default pool, free blocks would hide allocations.
        pool = cp.cuda.MemoryPool()
        with cp.cuda.using_allocator(pool.malloc):
            answer = one.variant.run(graph, source, one.options, Workspace())
            runtime.synchronize()
            taken = int(pool.total_bytes())
            del answer
        return taken
    if not _reset_peak():
        return None
    before = _status("VmRSS")
    answer = one.variant.run(graph, source, one.options, Workspace(threads=one.threads))
    grown = _status("VmHWM") - before
    del answer
    return max(grown, 0)


def _reset_peak() -> bool:
    """Release free heap pages and reset the high-water mark; return False if impossible."""
    try:
        ctypes.CDLL(None).malloc_trim(0)
        with open("/proc/self/clear_refs", "w") as file:
            file.write("5")
    except (OSError, AttributeError):
        return False
    return True


def _status(name: str) -> int:
    """Return the bytes of a line of /proc/self/status."""
    with open("/proc/self/status") as lines:
        for line in lines:
            if line.startswith(name + ":"):
                return int(line.split()[1]) * 1024
    return 0
