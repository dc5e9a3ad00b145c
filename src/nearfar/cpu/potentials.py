"""Potentials by Bellman-Ford, and the sum and the error of a negative cycle that forbids them."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

import numpy as np

from nearfar.errors import GraphError, NegativeCycleError, SolverError

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    from nearfar.graph.graph import Graph

__all__ = ["cycle_total", "negative_cycle_error", "potentials"]


def potentials(graph: Graph) -> NDArray[Any]:
    """Distances from a virtual source joined to every vertex by weight 0: Johnson's first step.

    Parameters
    ----------
    graph : Graph

    Returns
    -------
    array, shape (n,)
        ``h`` with ``h <= 0`` and ``weight + h[u] - h[v] >= 0`` on every edge (up to rounding for
        floats). Dtype of the weights; int64 when 32 bits are too few.

    Raises
    ------
    NegativeCycleError
        If the graph has a negative cycle.
    """
    from nearfar import _cpu

    h = np.zeros(graph.n_vertices, dtype=graph.weight_dtype)
    if graph.n_negative == 0:
        return h
    stats = _cpu.bellman_ford_subtree(graph.view, -1, h)
    if not stats["cycle"] and stats["saturated"]:
        if graph.weight_dtype != np.int32:
            raise SolverError("a sum of weights does not fit 64 bits: scale the weights down")
        return potentials(graph.astype(np.int64))
    cycle = stats["cycle"]
    if cycle:
        first = cycle.index(min(cycle))
        raise negative_cycle_error(graph, cycle[first:] + cycle[:first])
    return h


def cycle_total(graph: Graph, cycle: Sequence[int]) -> int | float:
    """Sum of the weights around a cycle, the lightest of parallel edges each time.

    Parameters
    ----------
    graph : Graph
        The graph.
    cycle : sequence of int
        Vertices in order; the edge from the last to the first closes it. One vertex means a
        self-loop.

    Returns
    -------
    int or float
        Exact for integers; for floats the exact sum, rounded once (``math.fsum``), so its sign is
        right.

    Raises
    ------
    GraphError
        If two neighbours of the sequence are not joined by an edge.
    """
    weights = graph.effective_weights
    parts = []
    for position, u in enumerate(cycle):
        v = cycle[(position + 1) % len(cycle)]
        row = slice(int(graph.indptr[u]), int(graph.indptr[u + 1]))
        found = weights[row][graph.indices[row] == v]
        if not len(found):
            raise GraphError(f"no edge leads from vertex {u} to vertex {v}: this is not a cycle")
        parts.append(np.min(found).item())
    return sum(parts) if graph.weight_dtype.kind == "i" else math.fsum(parts)


def negative_cycle_error(graph: Graph, cycle: Sequence[int]) -> NegativeCycleError:
    """The error for a cycle of indices that a solver found, after summing its edges.

    It carries external names: what a solver knows as an index stays inside.

    Raises
    ------
    SolverError
        If the cycle is not negative, which would be a bug of the solver.
    """
    total = cycle_total(graph, cycle)
    if not total < 0:
        raise SolverError(
            f"a cycle reported as negative has weight {total}: this is a bug in nearfar, report it"
        )
    return NegativeCycleError([graph.name_of(v) for v in cycle], total)
