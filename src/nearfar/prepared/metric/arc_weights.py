"""Weights of the arcs of an elimination tree: customization, pruning, and updates."""

from __future__ import annotations

from collections.abc import Callable, Hashable
from dataclasses import dataclass
from typing import Any, NamedTuple, TypeVar

import numpy as np
from numpy.typing import NDArray

from nearfar import _cpu
from nearfar.graph.graph import Graph

T = TypeVar("T")


class QueryArcs(NamedTuple):
    """Arcs that queries follow in one direction."""

    # shape (n + 1,); the arcs of label `v` are `first[v]` to `first[v + 1]`
    first: NDArray[np.int64]
    head_depth: NDArray[np.int32]  # depth of the ancestor, ascending within each label
    weight: NDArray[Any]


@dataclass(frozen=True, slots=True)
class Metric:
    """Weights of the arcs."""

    # shape (n_arcs * sides,); weights up and down, next to each other; one value for both if every
    # edge has a reverse of the same weight
    weights: NDArray[Any]
    # up, down: arcs up and down; the same object if `sides` is 1
    up: QueryArcs
    down: QueryArcs
    sides: int

    @property
    def dtype(self) -> np.dtype[Any]:
        """Dtype of the weights."""
        return self.weights.dtype

    @property
    def swept(self) -> tuple[QueryArcs, QueryArcs]:
        """Arcs up and down that a GPU follows."""
        return self.up, self.down

    @property
    def n_swept(self) -> int:
        """Number of arcs that a downward pass follows."""
        return len(self.down.head_depth)

    def on_host(self) -> Metric:
        """Return the metric itself, which is in host memory."""
        return self

    def cells(self, key: Hashable, make: Callable[[], T]) -> T:
        """Build the cells of a GPU with these weights; other metrics have their own."""
        return make()

    @property
    def nbytes(self) -> int:
        """Bytes of the weights and of the arcs that queries read, each memory counted once."""
        held = (self.weights, *self.up, *self.down)
        return sum({array.ctypes.data: array.nbytes for array in held}.values())


def value_dtype(graph: Graph) -> np.dtype[Any]:
    """Return the dtype of arc weights: unsigned integers, int64 for negative weights, or floats."""
    dtype = graph.weight_dtype
    if dtype.kind == "f":
        return dtype
    return np.dtype(np.int64 if graph.n_negative else f"u{dtype.itemsize}")


def customized(view: Any, graph: Graph, perfect: bool, threads: int) -> Metric:
    """Return the weights of all arcs from the weights of a graph."""
    edge_weights = graph.effective_weights
    sides = 1 if _cpu.prepared_symmetric(view, edge_weights, None, threads) else 2
    weights = np.empty(len(view.head_depth) * sides, dtype=value_dtype(graph))
    _cpu.prepared_customize(view, edge_weights, weights, sides, threads)
    return _with_queries(view, weights, sides, graph if perfect else None, threads)


def renewed(
    view: Any, metric: Metric, graph: Graph, labels: NDArray[np.int32], perfect: bool, threads: int
) -> tuple[Metric, int]:
    """Return the metric after changes of weights, and the number of recomputed labels."""
    # the first negative weight appeared, or the last one disappeared
    if metric.weights.dtype != value_dtype(graph):
        return customized(view, graph, perfect, threads), len(metric.up.first) - 1
    edge_weights, sides = graph.effective_weights, metric.sides
    if sides == 1 and not _cpu.prepared_symmetric(view, edge_weights, labels, threads):
        sides = 2  # directions may differ now
    weights = np.empty(len(view.head_depth) * sides, metric.weights.dtype)
    _cpu.prepared_copied(metric.weights, weights, threads)
    count = _cpu.prepared_update(view, edge_weights, weights, labels, threads)
    made = _with_queries(view, weights, sides, graph if perfect else None, threads)
    return made, int(count)


def _with_queries(
    view: Any, weights: NDArray[Any], sides: int, perfect: Graph | None, threads: int
) -> Metric:
    n_arcs = len(view.head_depth)
    if perfect is not None:
        flags = np.empty(n_arcs, dtype=np.uint8)
        first = np.empty((sides, view.n_vertices + 1), dtype=np.int64)
        distances = np.empty_like(weights)
        ties = detours_are_longer(perfect, weights)
        _cpu.prepared_perfect(view, weights, distances, flags, first, ties, threads)
        up = _needed(view, weights, flags, first, 0, threads)
        down = up if sides == 1 else _needed(view, weights, flags, first, 1, threads)
    else:
        # Queries follow all arcs: the arrays of the structure are used unchanged.
        ups = downs = weights
        if sides == 2:
            ups, downs = (np.empty(n_arcs, weights.dtype) for _ in range(2))
            _cpu.prepared_apart(weights, ups, downs, threads)
        up = QueryArcs(view.first, view.head_depth, ups)
        down = up if sides == 1 else QueryArcs(view.first, view.head_depth, downs)
    return Metric(weights, up, down, sides)


def detours_are_longer(graph: Graph, weights: Any) -> bool:
    """Return whether two consecutive arcs always weigh more than either of them.

    If an edge weighs 0, or so little that rounding removes it from a sum, two arcs
    may each be the detour of the other, and queries must not omit both.
    """
    least = 0 if graph.n_edges == 0 else float(graph.min_weight)
    if least <= 0 or weights.dtype.kind != "f":
        return least > 0
    finite = weights[np.isfinite(weights)]
    heaviest = float(finite.max()) if len(finite) else 0.0
    return least > heaviest * float(np.finfo(weights.dtype).eps)


def _needed(
    view: Any,
    weights: NDArray[Any],
    flags: NDArray[np.uint8],
    first: NDArray[np.int64],
    side: int,
    threads: int,
) -> QueryArcs:
    count = int(first[side, -1])
    depths = np.empty(count, dtype=np.int32)
    values = np.empty(count, dtype=weights.dtype)
    _cpu.prepared_needed(view, weights, flags, side, first[side], depths, values, threads)
    return QueryArcs(first[side], depths, values)
