"""The proof of a negative cycle: its edges exist, and their exact weights sum below zero."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import numpy as np

from nearfar.errors import GraphError, NegativeCycleError, SolverError

if TYPE_CHECKING:
    from collections.abc import Sequence

    from nearfar.graph import Graph

__all__ = ["cycle_total", "negative_cycle_error"]


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
    """The error for a cycle that a solver found, after summing its edges.

    Raises
    ------
    SolverError
        If the cycle is not negative, which would be a bug of the solver.
    """
    total = cycle_total(graph, cycle)
    if not total < 0:
        raise SolverError(f"a cycle reported as negative has weight {total}: please report this")
    return NegativeCycleError(cycle, total)
