"""What the CUDA variants would take on a graph: a cost model from a few of its statistics.

Fitted to ``benchmarks/flagship.py``, ``near_far.py``, ``frontier_crauser.py`` and
``choose_quality_cuda.py`` on an H100. Like the model of the CPU variants it need not be exact: it
has to say when a graph is worth bringing to the device, and in which order the variants come there.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

from nearfar.choose.facts import estimated_hops
from nearfar.choose.machine import machine
from nearfar.cuda.device_graph import at_hand

if TYPE_CHECKING:
    from nearfar.graph.graph import Graph
    from nearfar.registry import Request

__all__ = ["cuda_ranking"]


def cuda_ranking(graph: Graph, request: Request) -> list[tuple[str, float, str]]:
    """Variants on CUDA with estimated seconds and the reason in words, cheapest first.

    Parameters
    ----------
    graph : Graph
    request : Request

    Returns
    -------
    list of (variant id, seconds, reason)
        Whether or not they fit the request.
    """
    speeds = machine("cuda")
    if request.problem != "sssp":
        from nearfar.choose.batch import cuda_batch_ranking

        found = cuda_batch_ranking(graph, request)
        return sorted(
            ((name, cost * speeds.factor(name), why) for name, cost, why in found),
            key=lambda line: line[1],
        )
    n, m = graph.n_vertices, graph.n_edges
    there = at_hand(graph)
    bring = 0.0 if there else (8 * m + 8 * n) / speeds.transfer
    back = 0.0 if graph.on_device else n * graph.weight_dtype.itemsize / speeds.transfer
    place = (
        "the graph is on the device"
        if there
        else f"{(8 * m + 8 * n) / 1e6:,.0f} MB to bring there, {bring * 1e3:.2f} ms"
    )
    moved = bring + back
    models = _negative(graph) if graph.n_negative else _nonnegative(graph)
    found = [
        (name, speeds.launch + moved + seconds * speeds.factor(name), f"{why}; {place}")
        for name, seconds, why in models
    ]
    return sorted(found, key=lambda line: line[1])


def _negative(graph: Graph) -> list[tuple[str, float, str]]:
    n, m = graph.n_vertices, graph.n_edges
    sweeps = 2 + math.log2(n + 2)
    work = sweeps * m * 3e-11 + estimated_hops(graph) * 3e-6
    return [
        ("bellman_ford_persistent@cuda", work, "negative weights, one launch"),
        ("bellman_ford_queue@cuda", 5e-4 + 1.2 * work, "negative weights, a queue"),
        ("bellman_ford_warps@cuda", 5e-4 + 1.3 * work, "negative weights, a warp a vertex"),
        ("bellman_ford_edge_classes@cuda", 1e-3 + 1.5 * work, "negative weights, edges by class"),
        ("bellman_ford_child_launches@cuda", 2e-3 + 4 * work, "negative weights, launches below"),
        ("bellman_ford@cuda", 5e-4 + 2 * work, "negative weights, every vertex of every round"),
    ]


def _nonnegative(graph: Graph) -> list[tuple[str, float, str]]:
    n, m = graph.n_vertices, graph.n_edges
    hops = max(estimated_hops(graph), 4.0 * math.log2(n + 2) / 4)
    # A long graph is a chain of steps, each bound by the latency of a few dependent reads.
    solve = m * 2.5e-11 + n * 1e-10 + hops * 3e-6 + 1e-4
    step = 2.0e-5  # a launch and the host's look at a counter
    # Vertices are settled in fewer, larger sets by Crauser's rule than by equal distances.
    levels = 30 + 2 * hops
    touched = (n * 1.5e-11 + 1e-6) * levels + m * 6e-11
    found = [
        ("near_far@cuda", solve, f"near set and far pile in one launch, about {hops:,.0f} hops"),
        ("near_far_host_loop@cuda", 1.1 * solve + 2 * hops * step + 4e-4, "launch by launch"),
        ("workfront_sweep@cuda", 1.3 * solve + 1.5 * hops * step + 4e-4, "all that changed"),
        ("hybrid_sweep@cuda", 1.4 * solve + 2 * hops * step + 4e-4, "sweep, then near and far"),
        ("bucketing@cuda", 3 * solve + 2 * hops * step + 1e-3, "ten buckets, sorted"),
        ("crauser_fused@cuda", 3e-4 + touched + levels * 5e-6, "Crauser's rule in one launch"),
        ("bellman_ford_persistent@cuda", 2e-4 + 2.5 * solve + hops * m * 3e-12, "no order"),
        ("bellman_ford_queue@cuda", 7e-4 + 3 * solve + hops * step, "a queue in no order"),
        ("bellman_ford_warps@cuda", 5e-4 + 3 * solve + hops * (step + m * 4e-12), "no order"),
        ("bellman_ford_child_launches@cuda", 2e-3 + 5 * solve + hops * 5e-5, "no order"),
        ("bellman_ford@cuda", 3e-4 + 3 * solve + hops * (step + m * 4e-12), "no order"),
        (
            "bellman_ford_edge_classes@cuda",
            1e-3 + 3 * solve + hops * (step + m * 4e-12),
            "no order",
        ),
    ]
    for idea in ("crauser_successors", "crauser_in", "crauser_in_out"):
        found.append((f"{idea}@cuda", 1e-3 + touched + levels * 3e-5, "three kernels a level"))
    found.append(
        ("crauser_predecessors@cuda", 1e-3 + 2 * touched + levels * 3e-5, "three kernels a level")
    )
    many = 2 * levels  # levels of one distance each
    found.append(("frontier_successors@cuda", 1e-3 + touched + many * 3e-5, "one distance a level"))
    for idea in ("", "_2min", "_plus"):
        name = f"frontier_predecessors{idea}@cuda"
        found.append((name, 1e-3 + 3 * touched + many * 3e-5, "one distance a level"))
    for idea in ("_h1", "_h2", "_h3"):
        name = f"frontier_predecessors{idea}@cuda"
        crossing = many * (3e-5 + n * 4 / 12e9)
        found.append((name, 1e-3 + 3 * touched + crossing, "parts of a level on the host"))
    for idea in ("successors", "predecessors"):
        name = f"frontier_matrix_{idea}@cuda"
        found.append((name, 1e-3 + n * n * 1e-11 + many * 4e-5, "rows of a full matrix"))
    if not graph.is_weighted:
        # Running ahead on roads gains less than pulling and sweeping do elsewhere.
        share = 0.75 if graph.mean_degree <= 5 else 0.5
        found.append(("breadth_first@cuda", solve * share, "no weights: level by level"))
    return found
