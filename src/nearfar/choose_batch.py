"""What the CPU variants for many sources would take on a graph: a cost model.

Fitted to ``benchmarks/all_pairs.py``. The one thing that decides between lanes and a worker per
source is whether searches from different sources run alike, which the number of hops to the
farthest vertex tells: small-world graphs need few, road networks hundreds.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import numpy as np

from nearfar.choose_machine import machine

if TYPE_CHECKING:
    from nearfar.graph import Graph
    from nearfar.registry import Request

__all__ = ["batch_ranking", "cuda_batch_ranking", "hops"]


def hops(graph: Graph) -> int:
    """Rounds of a breadth-first search from a vertex of greatest degree; cached. O(n + m)."""
    found = graph.cache.get("hops")
    if found is None:
        from nearfar import _cpu

        found = 0
        if graph.n_edges:
            plain = graph.without_weights()
            distances = np.empty(graph.n_vertices, dtype=np.int32)
            start = int(np.argmax(graph.degrees))
            found = int(_cpu.bellman_ford_queue(plain.view, start, distances)["iterations"])
        graph.cache["hops"] = found
    return int(found)


def batch_ranking(graph: Graph, request: Request) -> list[tuple[str, float, str]]:
    """Variants on the CPU with estimated seconds and the reason in words, cheapest first.

    Parameters
    ----------
    graph : Graph
    request : Request
        Its problem, number of sources and number of threads count.

    Returns
    -------
    list of (variant id, seconds, reason)
    """
    n, m, k = graph.n_vertices, graph.n_edges, request.n_sources
    workers = max(1, min(request.threads, k))
    heap = n * (25e-9 + 9e-9 * math.log2(n + 2)) + m * 8e-9
    found = []
    if graph.n_negative == 0:
        found.append(
            ("worker_per_source@cpu", k * heap / workers, "searches that have little in common")
        )
        if k >= 8:
            width = 64 if graph.weight_dtype.kind == "i" else 128 // graph.weight_dtype.itemsize
            batches = -(-k // width)
            depth = hops(graph)
            scans = 4 if depth <= 30 else 4 * (depth / 30) ** 2
            sweep = scans * m * 18e-9 + n * width * 0.7e-9
            found.append(
                (
                    "lanes@cpu",
                    1e-5 + batches * sweep / min(workers, batches),
                    f"{width} sources a sweep: no vertex is farther than {depth} hops",
                )
            )
    else:
        found.append(
            (
                "johnson@cpu",
                3 * (n + m) * 1e-8 * math.sqrt(n + 1) + k * heap / workers,
                "negative weights: potentials, then non-negative searches",
            )
        )
    if request.problem == "all_pairs" and graph.weight_dtype.kind == "i" and n <= 50_000:
        found.append(
            (
                "floyd_warshall@cpu",
                1e-5 + (-(-n // 64) * 64) ** 3 * 4e-11 / workers,
                f"{m / max(n * n, 1):.0%} of the matrix are edges",
            )
        )
    return sorted(found, key=lambda line: line[1])


def cuda_batch_ranking(graph: Graph, request: Request) -> list[tuple[str, float, str]]:
    """The same for variants on CUDA; transfer of the graph and of the rows counted in.

    Parameters
    ----------
    graph : Graph
    request : Request

    Returns
    -------
    list of (variant id, seconds, reason)
    """
    n, m, k = graph.n_vertices, graph.n_edges, request.n_sources
    width = n if request.targets is None else len(request.targets)
    there = graph.on_device or "cuda" in graph.cache
    moved = 0 if there else 8 * m + 8 * n
    moved += 0 if graph.on_device else k * width * graph.weight_dtype.itemsize
    fixed = 1e-4 + moved / machine("cuda").transfer
    # A block alone does a source in about a microsecond a step and 4 ns a vertex and edge.
    blocks = min(k, 132)
    alone = 2e-5 + (n + m) * 4e-9
    shared = fixed + k * max(m * 1.6e-11 + n * 2e-11, alone / (2 * blocks))
    wide = fixed + k * max(m * 1.5e-10 + n * 5e-11, 4 * alone / (2 * blocks))
    found = []
    if graph.n_negative == 0:
        found += [
            ("block_per_source@cuda", shared, "a thread block a source, all in shared memory"),
            (
                "block_per_source_global@cuda",
                wide,
                "a thread block a source, queue in shared memory",
            ),
            ("lanes@cuda", fixed + k * (m + n) * 6e-10, "32 sources in the lanes of each warp"),
        ]
    else:
        first = 3 * (n + m) * 1e-8 * math.sqrt(n + 1)
        found.append(("johnson@cuda", first + 1.5 * wide, "negative weights: potentials first"))
    if request.problem == "all_pairs" and graph.weight_dtype.kind == "i" and n <= 100_000:
        side = -(-n // 128) * 128
        cube = fixed + side**3 * 2e-13 + side / 64 * 3e-5
        found.append(
            ("floyd_warshall@cuda", cube, f"{m / max(n * n, 1):.0%} of the matrix are edges")
        )
    return sorted(found, key=lambda line: line[1])
