"""Compute the elimination order: reductions, then nested dissection of the rest."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from nearfar import _cpu
from nearfar.errors import GraphError, OptionError, did_you_mean, keyword, quoted
from nearfar.graph.graph import Graph

#: Names of orders; "auto" is "multilevel", the only method so far.
ORDERS = ("auto", "multilevel")

#: Vertices and arcs are numbered with 32 bits.
_MOST = 2**31 - 1


@dataclass(frozen=True, slots=True)
class Structure:
    """Undirected graph without self-loops and parallel edges, in compressed rows."""

    first: NDArray[np.int64]  # shape (n + 1,)
    neighbour: NDArray[np.int32]  # shape (first[-1],); sorted in each row

    @property
    def n_vertices(self) -> int:
        """Number of vertices."""
        return len(self.first) - 1

    @property
    def n_edges(self) -> int:
        """Number of edges, each counted once."""
        return len(self.neighbour) // 2


def structure_of(graph: Graph) -> Structure:
    """Return the undirected structure of a graph; O(m log m)."""
    if graph.n_vertices > _MOST or graph.n_edges > _MOST:
        raise GraphError(
            f"{graph.n_vertices} vertices and {graph.n_edges} edges: "
            "a prepared graph has fewer than 2^31 of each"
        )
    return Structure(*_cpu.prepared_structure(graph.view))


def elimination_order(
    structure: Structure, order: Any = "auto", seed: int = 0, threads: int = 1
) -> tuple[NDArray[np.int32], str]:
    """Return all vertices in the order of their elimination, and the name of the method used.

    Vertices of degree 0, 1 and 2 are eliminated first, repeatedly, since that adds no arcs to
    the rest. The rest is dissected. The order does not depend on the threads.
    """
    if not isinstance(order, str):
        return checked_order(order, structure.n_vertices), "given"
    if isinstance(seed, bool) or not isinstance(seed, (int, np.integer)) or not 0 <= seed < 2**31:
        raise OptionError(
            f"{keyword('seed')} is {quoted(seed)}: give an integer from 0 to 2147483647"
        )
    if order not in ORDERS:
        raise OptionError(
            f"{keyword('order')} is {quoted(order)}: use one of {', '.join(ORDERS)}, or an "
            f"array{did_you_mean(order, ORDERS)}"
        )
    first, kept, begin, neighbour = _cpu.prepared_reduce(structure.first, structure.neighbour)
    if len(kept):
        inner = _cpu.prepared_dissect(begin, neighbour, int(seed), threads)
        first = np.concatenate([first, kept[inner]])
    return first, "multilevel"


def checked_order(order: Any, n: int) -> NDArray[np.int32]:
    """Return a given order after checking that it names each vertex once."""
    given = np.asarray(order)
    if given.shape != (n,) or given.dtype.kind not in "iu":
        raise OptionError(
            f"order has shape {given.shape} and dtype {given.dtype}: "
            f"give all {n} vertices as integers, the first to be eliminated first"
        )
    inside = n == 0 or (given.min() >= 0 and given.max() < n)
    if not inside or (np.bincount(given.astype(np.int64), minlength=n) != 1).any():
        raise OptionError(f"order does not name each of the {n} vertices exactly once")
    return np.ascontiguousarray(given, dtype=np.int32)
