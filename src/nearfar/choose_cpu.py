"""What the CPU variants would take on a graph: a cost model from a few of its statistics.

Fitted to ``benchmarks/cpu_variants.py``; docs/explanation/cpu-engine.md has the numbers. It need
not be exact: it only has to put the variants in the right order.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from nearfar.graph import Graph
    from nearfar.registry import Request

__all__ = ["cpu_ranking"]


def cpu_ranking(graph: Graph, request: Request) -> list[tuple[str, float, str]]:
    """Variants on the CPU with estimated seconds and the reason in words, cheapest first.

    Parameters
    ----------
    graph : Graph
    request : Request
        Only its problem and number of threads count.

    Returns
    -------
    list of (variant id, seconds, reason)
        Only variants that auto would consider, whether or not they fit the request.
    """
    if request.problem != "sssp":
        from nearfar.choose_batch import batch_ranking

        return batch_ranking(graph, request)
    n, m = graph.n_vertices, graph.n_edges
    if graph.n_negative:
        return _negative(m)
    degree = m / max(n, 1)
    # Beyond the second-level cache a vertex costs a few more misses, half of which are hidden.
    vertex = 25e-9 + 15e-9 * min(1.0, n / 2**20)
    delta = n * vertex + m * 2.6e-9
    heap = n * (25e-9 + 9e-9 * math.log2(n + 2)) + m * 4e-9
    found = [
        (
            "delta_stepping@cpu",
            2e-6 + delta,
            f"buckets with prefetch: {n:,} vertices, {degree:.1f} edges a vertex, one worker",
        ),
        (
            "dijkstra_dary_heap@cpu",
            1e-6 + heap,
            f"a heap, nothing to set up: only {n:,} vertices",
        ),
        ("dijkstra_binary_heap@cpu", 1e-6 + 1.2 * heap, "a heap with decrease-key"),
    ]
    if not graph.is_weighted:
        found.append(
            ("breadth_first@cpu", 1e-6 + n * 8e-9 + m * 1.5e-9, "no weights: level by level")
        )
    if request.threads > 1:
        # benchmarks/results/peers.json: two workers gave 1.0 (Kronecker) to 1.8 times (Martin) one.
        gain = 1.0 + 0.5 * (request.threads - 1)
        found.append(
            (
                "delta_stepping_parallel@cpu",
                1e-4 + delta / min(gain, 4.0),
                f"buckets shared by {request.threads} workers: {m:,} edges",
            )
        )
    return sorted(found, key=lambda line: line[1])


def _negative(m: int) -> list[tuple[str, float, str]]:
    """Ranking with negative weights.

    How often edges are looked at again depends on weights, not on counts, so the order is fixed:
    Goldberg-Radzik stays near one look an edge on acyclic and on hard negative graphs, where the
    plain queue needs many.
    """
    return [
        ("goldberg_radzik@cpu", 2e-6 + m * 70e-9, "negative weights: in topological order"),
        ("tarjan_subtree@cpu", 2e-6 + m * 4e-7, "negative weights: sees a cycle when it closes"),
        ("bellman_ford_queue@cpu", 2e-6 + m * 2e-6, "negative weights: a queue"),
    ]
