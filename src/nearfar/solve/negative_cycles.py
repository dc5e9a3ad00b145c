"""Search for a negative cycle in a graph."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

from nearfar.cpu.potentials import potentials, refuse_negative_cycle
from nearfar.errors import NegativeCycleError
from nearfar.solve.steps.request import as_graph

__all__ = ["NegativeCycle", "find_negative_cycle", "potentials"]


class NegativeCycle(NamedTuple):
    """Cycle of negative total weight.

    Attributes
    ----------
    vertices : list
        External names in order; the edge from the last to the first closes the cycle.
    total : int or float
        Sum of the weights, exact for integers and rounded once for floats; an integer if it is
        beyond the range of floats.
    """

    vertices: list[Any]
    total: int | float


def find_negative_cycle(
    graph: Any, *, weight: str | Callable[[Any, Any, Any], Any] | None = "weight"
) -> NegativeCycle | None:
    """Find a cycle of negative total weight anywhere in the graph.

    Parameters
    ----------
    graph : graph_like
        Graph with any weights. In an undirected graph every negative edge is a negative cycle, back
        and forth.
    weight : str, callable or None
        As for :func:`nearfar.sssp`.

    Returns
    -------
    NegativeCycle or None
        A simple cycle, or None if the graph has no negative cycle.

    Raises
    ------
    GraphError
        For an unsupported graph or a missing weight.

    Notes
    -----
    Goldberg and Radzik's method, then Tarjan's subtree disassembly if there is a cycle, O(n m) at
    worst. Sums of floats are compared exactly.

    Examples
    --------
    >>> import nearfar
    >>> g = nearfar.Graph.from_edges([0, 1, 2], [1, 2, 0], [1, -3, 1])
    >>> nearfar.find_negative_cycle(g)
    NegativeCycle(vertices=[0, 1, 2], total=-1)
    """
    try:
        refuse_negative_cycle(as_graph(graph, weight))
    except NegativeCycleError as found:
        return NegativeCycle(found.cycle, found.total)
    return None
