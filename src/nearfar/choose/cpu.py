"""What the CPU variants would take on a graph: a cost model from a few of its statistics.

Fitted to ``benchmarks/cpu_variants.py`` and ``benchmarks/choose_quality.py``;
docs/explanation/choosing.md has the story. It need not be exact: it only has to put the variants in
the right order, and the fastest first above all.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

from nearfar.choose.facts import weight_spread
from nearfar.choose.machine import machine

if TYPE_CHECKING:
    from nearfar.graph.graph import Graph
    from nearfar.registry import Request

__all__ = ["cpu_ranking", "search_seconds"]

# Heaps as multiples of the lazy 4-ary one, and frontier methods whose work is near delta-stepping's
# as multiples of it: rough figures from few, noisy runs; `nearfar tune` scales them.
_HEAPS = {
    "dijkstra_binary_heap@cpu": (1.1, "a heap with decrease-key"),
    "dijkstra_radix_heap@cpu": (1.05, "a radix heap: no comparisons, wide steps are free"),
    "dijkstra_pairing_heap@cpu": (2.3, "a pairing heap: pointers, one miss each"),
    "dijkstra_relaxed_heap@cpu": (3.0, "a relaxed heap: the papers' baseline"),
    "dijkstra_fibonacci_heap@cpu": (4.0, "a Fibonacci heap: the papers' baseline"),
}
_PILES = {
    "near_far@cpu": (1.8, "the near set and the far pile, without prefetch"),
    "bucketing@cpu": (2.2, "ten buckets, without prefetch"),
}
# Rounds a vertex is looked at again: methods that relax without an order.
_UNORDERED = {
    "workfront_sweep@cpu": (2.0, "relaxes whatever changed, in no order"),
    "bellman_ford_queue@cpu": (2.2, "a queue in no order"),
    "tarjan_subtree@cpu": (3.0, "a queue that drops subtrees"),
    "bellman_ford_edge_classes@cpu": (4.0, "edges by class, in no order"),
    "bellman_ford@cpu": (5.0, "every edge of every round"),
    "goldberg_radzik@cpu": (6.0, "in topological order of what improved"),
}


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
        Whether or not they fit the request.
    """
    if request.problem != "sssp":
        from nearfar.choose.batch import batch_ranking

        found = batch_ranking(graph, request)
    elif graph.n_negative:
        found = _negative(graph.n_edges)
    else:
        found = _nonnegative(graph, request)
    factors = machine("cpu").factors
    if factors:
        found = [(name, cost * factors.get(name, 1.0), why) for name, cost, why in found]
    return sorted(found, key=lambda line: line[1])


def search_seconds(graph: Graph) -> tuple[float, float]:
    """What one search takes over the buckets of delta-stepping, and over a 4-ary heap.

    Parameters
    ----------
    graph : Graph
        Non-negative weights.

    Returns
    -------
    buckets, heap : float
        Seconds.
    """
    n, m, degree = graph.n_vertices, graph.n_edges, graph.mean_degree
    # Beyond the second-level cache a vertex costs a few more misses, half of which are hidden.
    vertex = 25e-9 + 15e-9 * min(1.0, n / 2**20)
    delta = n * vertex + m * 2.6e-9
    spread = weight_spread(graph)
    if spread > 32:  # no one width suits weights that differ so much
        delta *= 1 + min(math.log2(spread) - 5, 20)
    # A queue never grows on a path or a tree of paths: nothing to sink through.
    grows = 9e-9 * math.log2(n + 2) if degree > 1.2 else 0.0
    heap = n * (25e-9 + grows) + m * 4e-9 if degree > 1.2 else n * 12e-9
    return delta, heap


def _nonnegative(graph: Graph, request: Request) -> list[tuple[str, float, str]]:
    n, m, degree = graph.n_vertices, graph.n_edges, graph.mean_degree
    delta, heap = search_seconds(graph)
    spread = weight_spread(graph)
    what = f"{n:,} vertices, {degree:.1f} edges a vertex"
    uneven = f", weights uneven (mean/median {spread:.0f})" if spread > 32 else ""
    found = [
        ("delta_stepping@cpu", 2e-6 + delta, f"buckets with prefetch: {what}{uneven}, one worker"),
        ("dijkstra_dary_heap@cpu", 1e-6 + heap, f"a heap, nothing to set up: {what}"),
        ("dijkstra_array@cpu", 1e-6 + n * n * 5e-10, "scans all vertices for each minimum"),
    ]
    found += [(v, 1e-6 + times * heap, why) for v, (times, why) in _HEAPS.items()]
    found += [(v, 3e-6 + times * delta, why) for v, (times, why) in _PILES.items()]
    # The longer the way, the more often an early guess is corrected.
    again = 1 + math.sqrt(n) / 64 if degree <= 5 else 1 + math.log2(n + 2) / 8
    found += [(v, 3e-6 + times * again * delta, why) for v, (times, why) in _UNORDERED.items()]
    # One pass over all vertices for each settled level.
    levels = min(float(n), 20 * math.log2(n + 2) + (4 * math.sqrt(n) if degree <= 5 else 0.0))
    for name, share in (("successors", 1.0), ("predecessors", 2.0)):
        sweep = levels * n * 1e-9 * share + m * 4e-9
        found.append((f"crauser_{name}@cpu", 1e-5 + sweep, "sweeps all vertices every level"))
        found.append((f"frontier_{name}@cpu", 1e-5 + 3 * sweep, "one distance a sweep"))
        matrix = levels * n * 1e-9 + n * n * 2e-9 * share
        found.append((f"frontier_matrix_{name}@cpu", 1e-5 + 3 * matrix, "rows of a full matrix"))
    for name in ("crauser_in@cpu", "crauser_in_out@cpu"):
        found.append((name, 1e-5 + levels * n * 1.1e-9 + m * 6e-9, "sweeps all vertices a level"))
    if not graph.is_weighted:
        flat = n * 8e-9 + m * 1.5e-9
        found.append(("breadth_first@cpu", 1e-6 + flat, "no weights: level by level"))
    # Workers meet at a barrier for every bucket: benchmarks/results/peers.json has two of them from
    # level with one (Kronecker) to 1.8 times as fast (Martin), once a solve lasts milliseconds.
    gain = 1.0 + (machine("cpu").gain - 1.0) * (request.threads - 1)
    shared = 8e-4 + delta / max(min(gain, 4.0), 0.5)
    words = f"buckets shared by {request.threads} workers: {m:,} edges"
    if request.threads == 1:
        shared, words = 1e-5 + 1.1 * delta, "made for several workers, and there is one"
    found.append(("delta_stepping_parallel@cpu", shared, words))
    return found


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
        ("bellman_ford_edge_classes@cpu", 2e-6 + m * 4e-6, "negative weights: edges by class"),
        ("bellman_ford@cpu", 2e-6 + m * 6e-6, "negative weights: every edge of every round"),
    ]
