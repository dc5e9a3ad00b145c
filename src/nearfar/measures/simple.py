"""Common inputs of the measures: checked sources, and a graph with at most one edge per pair.

A path is a sequence of vertices, so parallel edges do not add paths: only the lightest of lowest id
counts, and self-loops are on no shortest path.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple, TypeVar

import numpy as np
from numpy.typing import NDArray

from nearfar import _cpu
from nearfar.choose.ranking import rank
from nearfar.errors import (
    OptionError,
    OutOfMemoryError,
    UnreachableError,
    ZeroCycleError,
    keyword,
    quoted,
)
from nearfar.graph.build import lightest
from nearfar.graph.graph import Graph, negative_weight
from nearfar.graph.saturation import may_saturate
from nearfar.graph.slots import Slot
from nearfar.graph.turns import TurnGraph
from nearfar.options import canonical_device
from nearfar.registry import Request
from nearfar.solve.many import distances
from nearfar.solve.steps.request import as_graph, as_graph_or_turns, vertex_indices
from nearfar.system.devices import runtime

Answer = TypeVar("Answer")

#: Sources times vertices and edges from which a GPU repays copies and compilation.
_WORTH_A_DEVICE = 1 << 28
#: Greatest number of vertices, and of edges, that the kernels of this folder support.
LARGEST_ON_DEVICE = 2**31 - 2**16

#: Number of sources below which searches are used without considering rows.
_FEW = 16


class Simple(NamedTuple):
    """Graph without parallel edges and self-loops."""

    graph: Graph  # graph without names; the given graph if it has no such edges
    # shape (m,), or None; position of each edge in the given graph; None if both are the same
    edges: NDArray[Any] | None


_SIMPLE: Slot[Simple] = Slot("without parallel edges")


def measured_turns(graph: Any, weight: Any) -> Graph | TurnGraph:
    """Return a graph with weights that are not negative; one with turns is returned unchanged."""
    found = as_graph_or_turns(graph, weight)
    if found.n_negative:
        raise negative_weight(found.original if isinstance(found, TurnGraph) else found)
    return found


def measured(graph: Any, weight: Any) -> Graph:
    """Return a Graph with weights that are not negative."""
    found = as_graph(graph, weight)
    measured_turns(found, weight)
    return found


def simple(graph: Graph) -> Simple:
    """Return the graph with only the lightest edge per pair and no self-loops, cached.

    O(n + m).
    """
    return _SIMPLE.of(graph, lambda: _simplified(graph))


def _simplified(graph: Graph) -> Simple:
    loops, parallel, _, _ = _cpu.edge_counts(graph.view)
    plain = graph.without_names()
    if not loops and not parallel:
        return Simple(plain, None)
    indptr, edges = lightest(graph.view, graph.indptr, loops=False)
    weights = None if graph.weights is None else graph.weights[edges]
    heads = graph.indices[edges]
    made: Graph = Graph.from_csr(indptr, heads, weights, directed=graph.directed, copy=False)
    return Simple(made, edges.astype(graph.index_dtype))


def many_rows(
    graph: Graph, sources: int, threads: int
) -> Callable[[NDArray[np.int64]], NDArray[Any]] | None:
    """Return a function from sources to their rows of distances, if that is faster than searches.

    This holds for prepared graphs, graphs worth preparing for that number of sources, and graphs in
    which searches share their work, such as peer-to-peer networks.
    """
    if not graph.is_weighted or sources < _FEW or may_saturate(graph):
        return None
    together = rank(graph, Request(problem="batch", n_sources=sources, device="cpu"))[0]
    alone = rank(graph, Request(device="cpu"))[0]
    if 2 * together.seconds > sources * alone.seconds:
        return None
    plain, method = graph.without_names(), together.variant.id
    # Tight edges in floats require the sums of a search.
    searched = graph.weight_dtype.kind == "f" and together.variant.family == "prepared"
    form: Any = {"sums": "search"} if searched else {}

    def rows(vertices: NDArray[np.int64]) -> NDArray[Any]:
        found: NDArray[Any] = distances(plain, vertices, method=method, threads=threads, **form)
        return np.ascontiguousarray(found, dtype=graph.weight_dtype)

    return rows


def refuse_unreached(graph: Graph | TurnGraph, rows: Any, count: Any, what: str) -> None:
    """Refuse rows (None for all) if one of them does not reach every other vertex."""
    others = graph.n_vertices - 1
    short = np.flatnonzero(count < others)
    if len(short):
        name = graph.name_of(int(short[0] if rows is None else rows[short[0]]))
        raise UnreachableError(
            f"vertex {name!r} reaches {int(count[short[0]]):,} of {others:,} others, so {what}"
        )


def source_indices(
    graph: Graph | TurnGraph, vertices: Any, what: str = "source"
) -> NDArray[np.int64]:
    """Return the indices of some vertices, distinct and sorted; None means every vertex."""
    if vertices is None:
        return np.arange(graph.n_vertices, dtype=np.int64)
    return np.unique(vertex_indices(graph, vertices, what))


def check_tolerance(graph: Graph, tolerance: Any) -> float:
    """Return the relative tolerance of ties; None is 0."""
    if tolerance is None:
        return 0.0
    number = isinstance(tolerance, (int, float, np.number)) and not isinstance(tolerance, bool)
    if not number or not 0 <= tolerance < 1:
        raise OptionError(
            f"{keyword('tolerance')} is {quoted(tolerance)}: give a number from 0 up to 1"
        )
    if tolerance and graph.weight_dtype.kind == "i":
        raise OptionError(
            f"{keyword('tolerance')} is for float weights: sums of integers are exact"
        )
    return float(tolerance)


def takes_device(device: Any, graph: Graph, sources: int, tolerance: float = 0.0) -> bool:
    """Return whether a measure that is a sum over shortest paths runs on a GPU."""
    chosen = canonical_device(device) if isinstance(device, str) else device
    if chosen not in ("auto", "cpu", "cuda"):
        raise OptionError(f"{keyword('device')} is {quoted(device)}: use 'auto', 'cpu' or 'cuda'")
    if chosen == "cuda":
        if tolerance:
            raise OptionError(
                f"{keyword('tolerance')} needs {keyword('device', 'cpu')}: on a GPU only equal "
                "sums are ties"
            )
        runtime.device()
        return True
    if chosen == "cpu" or tolerance or max(graph.n_vertices, graph.n_edges) > LARGEST_ON_DEVICE:
        return False
    work = sources * (graph.n_vertices + graph.n_edges)
    return work >= _WORTH_A_DEVICE and runtime.available() is True


def require_device_size(graph: Graph) -> None:
    """Refuse a graph that the kernels do not support."""
    if (most := max(graph.n_vertices, graph.n_edges)) > LARGEST_ON_DEVICE:
        raise OptionError(
            f"{keyword('device', 'cuda')} takes up to {LARGEST_ON_DEVICE} vertices and edges, and "
            f"this graph has {most}: use {keyword('device', 'cpu')}"
        )


def on_device_or_cores(
    device: Any, on_device: Callable[[], Answer], on_cores: Callable[[], Answer]
) -> Answer:
    """Return the result of the chosen GPU, or of the CPU if GPU memory is short."""
    try:
        return on_device()
    except OutOfMemoryError:
        if device != "auto":
            raise
    return on_cores()


def refuse_cycle(graph: Graph, cycle: NDArray[np.int64]) -> None:
    """Raise an error for a cycle of weight 0 that a kernel found."""
    if len(cycle):
        raise ZeroCycleError([graph.name_of(int(v)) for v in cycle])
