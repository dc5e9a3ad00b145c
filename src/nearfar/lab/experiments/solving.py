"""Shared steps of the papers' experiments: weights, depth, means, timing by the settings."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from nearfar.graph.graph import Graph
from nearfar.lab.experiments.experiment import Input
from nearfar.solve.one import sssp

if TYPE_CHECKING:
    from nearfar.lab.bench.cases import Case
    from nearfar.lab.experiments.experiment import Settings


def weighted(graph: Graph, low: int, high: int, stream: str) -> Graph:
    """Return the same edges with uniform random int32 weights in ``low .. high``; seed 1."""
    from nearfar.generators.random import Stream

    weights = Stream(1, stream).integers(low, high, graph.n_edges, np.int32)
    return Graph(graph.indptr, graph.indices, weights, attributes=graph.attributes)


def hub(graph: Graph) -> int:
    """Return a vertex with the most out-edges, which reaches most of the graph."""
    return int(np.argmax(graph.degrees))


def from_one(graph: Graph, source: int) -> Input:
    """Return the input of a task with one source and its proven distances."""
    from nearfar.lab.bench.cases import proven

    return Input(graph, [source], proven(graph, [source]))


def hops(graph: Graph, source: int) -> int:
    """Return a lower bound of the diameter in hops, by two breadth-first searches.

    The second starts at the vertex that the first reached last. O(n + m).
    """
    bare = Graph(graph.indptr, graph.indices, None)
    depth = 0
    for _ in range(2):
        paths = sssp(bare, source, device="cpu", predecessors=False)
        levels = np.where(paths.reachable, paths.distances, 0)
        depth = max(depth, int(levels.max()))
        source = int(levels.argmax())
    return depth


def timed(
    made: Input,
    cases: Sequence[Case],
    settings: Settings,
    progress: Callable[[float], None],
    *,
    with_counters: bool = True,
) -> dict[str, Any]:
    """Time methods on a task's graph by the settings; see :func:`time_cases`."""
    from nearfar.lab.bench.cases import time_cases

    return time_cases(
        made.graph,
        cases,
        made.sources,
        rounds=settings.rounds,
        patience=settings.patience,
        per_method=settings.per_method,
        truth=made.truth,
        with_counters=with_counters,
        progress=progress,
    )


def geometric(values: Iterable[float]) -> float | None:
    """Return the geometric mean, or None without values."""
    found = list(values)
    return float(np.exp(np.mean(np.log(found)))) if found else None
