"""What the CUDA variants would take on a graph: a cost model from a few of its statistics.

Fitted to ``benchmarks/flagship.py`` on an H100. Like the model of the CPU variants it need not be
exact: it has to say when a graph is worth bringing to the device, and in which order the variants
come there.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from nearfar.graph import Graph
    from nearfar.registry import Request

__all__ = ["cuda_ranking"]

_TRANSFER = 12e9  # bytes a second from host memory to the device
_LAUNCH = 60e-6  # seconds of a call that launches once and reads counters back


def cuda_ranking(graph: Graph, request: Request) -> list[tuple[str, float, str]]:
    """Variants on CUDA with estimated seconds and the reason in words, cheapest first.

    Parameters
    ----------
    graph : Graph
    request : Request

    Returns
    -------
    list of (variant id, seconds, reason)
        Only variants that auto would consider, whether or not they fit the request.
    """
    if request.problem != "sssp":
        from nearfar.choose_batch import cuda_batch_ranking

        return cuda_batch_ranking(graph, request)
    n, m = graph.n_vertices, graph.n_edges
    there = graph.on_device or "cuda" in graph.cache
    bring = 0.0 if there else (8 * m + 8 * n) / _TRANSFER
    back = 0.0 if graph.on_device else n * graph.weight_dtype.itemsize / _TRANSFER
    place = "the graph is on the device" if there else "transfer to the device counted in"
    fixed = _LAUNCH + bring + back
    if graph.n_negative:
        sweeps = 2 + math.log2(n + 2)
        return [
            (
                "bellman_ford_persistent@cuda",
                fixed + sweeps * m * 1e-10,
                f"negative weights; {place}",
            ),
            ("bellman_ford_queue@cuda", fixed + sweeps * m * 2e-10, f"negative weights; {place}"),
        ]
    # A road-like graph is a chain of about sqrt(n) hops, each bound by latency.
    hops = 2.0 * math.sqrt(n) if graph.mean_degree <= 5 else 4.0 * math.log2(n + 2)
    solve = m * 5e-11 + n * 1e-10 + hops * 1.5e-6
    return [
        ("near_far@cuda", fixed + solve, f"near set and far pile in one launch; {place}"),
        ("near_far_host_loop@cuda", fixed + 2 * solve + hops * 20e-6, f"launch by launch; {place}"),
    ]
