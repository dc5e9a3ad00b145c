"""Compute the elimination order: reductions, then nested dissection of the rest."""

from __future__ import annotations

import importlib.util
import signal
import threading
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from nearfar import _cpu
from nearfar.errors import (
    GraphError,
    MissingDependencyError,
    OptionError,
    SolverError,
    did_you_mean,
    keyword,
    quoted,
)
from nearfar.graph.graph import Graph

#: Ways to dissect the reduced graph.
ORDERS = ("auto", "multilevel", "metis")

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
    method = _method(order)
    first, kept, begin, neighbour = _cpu.prepared_reduce(structure.first, structure.neighbour)
    if len(kept) == 0:
        return first, method
    if method == "metis":
        inner = _by_metis(begin, neighbour, int(seed))
    else:
        inner = _cpu.prepared_dissect(begin, neighbour, int(seed), threads)
    return np.concatenate([first, kept[inner]]), method


def _method(order: str) -> str:
    if order not in ORDERS:
        hint = did_you_mean(order, ORDERS)
        raise OptionError(
            f"{keyword('order')} is {quoted(order)}: use one of {', '.join(ORDERS)}, or an "
            f"array{hint}"
        )
    if order == "metis" and importlib.util.find_spec("pymetis") is None:
        raise MissingDependencyError(
            f"{keyword('order', 'metis')} needs the package pymetis: pip install 'nearfar[prepare]'"
        )
    return "multilevel" if order == "auto" else order


def _by_metis(first: NDArray[np.int64], neighbour: NDArray[np.int32], seed: int) -> NDArray[Any]:
    import pymetis

    if len(neighbour) > _MOST:
        raise GraphError(
            f"{len(neighbour) // 2} edges are too many for METIS: "
            f"use {keyword('order', 'multilevel')}"
        )
    adjacency = pymetis.CSRAdjacency(first.astype(np.int32), neighbour)
    # The best of three separators at every cut: 8 % fewer triangles on roads for half a second.
    options = pymetis.Options(seed=seed, nseps=3)
    try:
        order, _ = pymetis.nested_dissection(adjacency=adjacency, options=options)
    except RuntimeError:
        # METIS takes SIGTERM for an error of its own, and the signal is lost to the process.
        raise SolverError(
            "METIS ended without an order, as it does on SIGTERM or without memory: run it again, "
            f"or use {keyword('order', 'multilevel')}"
        ) from None
    finally:
        _restore_handlers()
    return np.asarray(order, dtype=np.int32)


def _restore_handlers() -> None:
    """Restore Python's handlers of the signals that METIS replaces."""
    if threading.current_thread() is not threading.main_thread():
        return
    for number in (signal.SIGTERM, signal.SIGABRT):
        handler = signal.getsignal(number)
        if handler is not None:  # None: not installed by Python
            signal.signal(number, handler)


def checked_order(order: Any, n: int) -> NDArray[np.int32]:
    """Return an order that was given, if it names each vertex once."""
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
