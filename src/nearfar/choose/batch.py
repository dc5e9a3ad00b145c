"""What the variants for many sources would take on a graph: a cost model.

On the CPU fitted to ``benchmarks/all_pairs.py`` and to ratios on 16 graphs of 225 to 264,346
vertices. What decides there between lanes and a worker a source is whether searches from
different sources run alike, which the number of hops across the graph tells: small-world graphs
need few, road networks hundreds.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

from nearfar.choose.cpu import search_seconds
from nearfar.choose.facts import estimated_hops
from nearfar.choose.machine import machine
from nearfar.cuda.device_graph import at_hand

if TYPE_CHECKING:
    from nearfar.graph.graph import Graph
    from nearfar.registry import Request

__all__ = ["batch_ranking", "cuda_batch_ranking"]

_SHARED_CACHE = 2**25  # bytes


def _one_source(graph: Graph) -> float:
    """Seconds of one search of ``worker_per_source@cpu``, over the queue that it takes."""
    from nearfar.algorithms.batched.options import WorkerOptions

    buckets, heap = search_seconds(graph)
    # On roads and grids 1.5 times what the model of a single search says, elsewhere about that.
    return 1.5 * buckets if WorkerOptions().buckets(graph) else heap


def _sweep(graph: Graph, width: int) -> tuple[float, float]:
    """Seconds of one sweep of ``lanes@cpu``, and the hops that it was judged by.

    An edge is looked at again as distances along different paths come in, the more often the
    longer the ways are; where the lanes of all vertices exceed the caches, each look waits.
    """
    hops = estimated_hops(graph)
    beyond = min(1.0, 128 * graph.n_vertices / _SHARED_CACHE)
    look = 7.2e-8 * max(1.0, hops / 10) + 5e-7 * beyond
    return graph.n_edges * look + graph.n_vertices * width * 0.7e-9, hops


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
    alone = k * _one_source(graph) / workers
    found = []
    if graph.n_negative == 0:
        found.append(("worker_per_source@cpu", alone, "searches that have little in common"))
        if k >= 8:
            width = 64 if graph.weight_dtype.kind == "i" else 128 // graph.weight_dtype.itemsize
            batches = -(-k // width)
            sweep, hops = _sweep(graph, width)
            found.append(
                (
                    "lanes@cpu",
                    1e-5 + batches * sweep / min(workers, batches),
                    f"{width} sources a sweep, about {hops:,.0f} hops",
                )
            )
    else:
        found.append(
            (
                "johnson@cpu",
                3 * (n + m) * 1e-8 * math.sqrt(n + 1) + alone,
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
    there = at_hand(graph)
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
