"""Bucket width from the mean weight and mean degree of a graph."""

from __future__ import annotations

from nearfar.graph.graph import Graph


def paper_delta(graph: Graph, delta: float | None = None) -> float | int:
    """Return the given delta, or c * w / d (section IV.C) with the warp size c = 32.

    w is the mean weight and d the mean degree. Delta is at least 1 for integer weights and never
    0.
    """
    value = delta
    if value is None:
        value = 32.0 * graph.mean_weight / graph.mean_degree if graph.n_edges else 1.0
    if graph.weight_dtype.kind == "i":
        return max(1, min(round(value), 2**62))
    return float(value) if value > 0 else 1.0
