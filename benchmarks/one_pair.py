"""Paths between two vertices of graphs that the engine was not tuned on, beside other libraries.

    python benchmarks/one_pair.py -o benchmarks/results/one_pair.json

``paths``: a path at a time between random vertices of the zoo's reported half, on one thread; a
search from the source that stops at the target shows what the search from both ends gains.
``pairs``: distances of many pairs in one call, on all cores. Contenders take turns and lengths are
compared. ``--scale tiny`` shows whether it runs.
"""

from __future__ import annotations

import contextlib
from functools import partial
from typing import Any

import numpy as np

import nearfar
from in_parts import Rows, answer
from nearfar.algorithms.bidirectional.cpu import REASON
from turns import line, take_turns
from zoo_graphs import made

GRAPHS = [
    "delaunay-floats", "planar-6", "solid-14", "neighbours-2d", "neighbours-16d", "small-world-10",
    "power-2.5", "power-2.1-small", "attached-12", "geometric-8", "bipartite-8", "tree-deep",
    "maze", "random-6",
]  # fmt: skip
MOST, PAIRS, PATIENCE = 300_000, 12, 1.5


def paths(scale: str) -> Rows:
    """Time paths one by one."""
    for name, graph in made(GRAPHS, 2000 if scale == "tiny" else MOST):
        ends = np.random.default_rng(1).integers(0, graph.n_vertices, (PAIRS, 2)).tolist()
        if graph.directed:
            graph.transpose()  # which the second pair makes
        contenders: dict[str, Any] = {
            "nearfar": partial(_lengths, graph, ends),
            "search from the source": partial(_lengths, graph, ends, method="delta_stepping"),
        }
        contenders.update(_peers(graph, ends))
        samples = take_turns(contenders, 3, _close, PATIENCE)
        by_both = _by_both_ends(graph, ends)
        yield line(
            name, "nearfar", samples, n=graph.n_vertices, m=graph.n_edges, pairs=PAIRS,
            dtype=str(graph.weight_dtype), from_both_ends=by_both,
        )  # fmt: skip


def pairs(scale: str) -> Rows:
    """Time the distances of many pairs in one call."""
    for name, graph in made(GRAPHS, 2000 if scale == "tiny" else MOST):
        ends = np.random.default_rng(2).integers(0, graph.n_vertices, (256, 2))
        contenders = {
            "nearfar": partial(nearfar.distances, graph, pairs=ends, device="cpu"),
            "a search per source": partial(
                nearfar.distances, graph, pairs=ends, method="worker_per_source"
            ),
        }
        stats: dict[str, Any] = {}
        nearfar.distances(graph, pairs=ends, device="cpu", stats=stats)
        samples = take_turns(contenders, 2, np.array_equal, PATIENCE)
        yield line(
            name, "nearfar", samples, n=graph.n_vertices, m=graph.n_edges, pairs=len(ends),
            dtype=str(graph.weight_dtype), pairs_by=stats["pairs_by"],
        )  # fmt: skip


def _lengths(graph: nearfar.Graph, ends: list[list[int]], **options: Any) -> list[float]:
    found = []
    for source, target in ends:
        try:
            _, length = nearfar.shortest_path(
                graph, source, target, device="cpu", threads=1, **options
            )
        except nearfar.UnreachableError:
            length = np.inf
        found.append(float(length))
    return found


def _by_both_ends(graph: nearfar.Graph, ends: list[list[int]]) -> int:
    """Count the pairs that the search from both ends answered."""
    count = 0
    for source, target in ends:
        stats: dict[str, Any] = {}
        with contextlib.suppress(nearfar.UnreachableError):
            nearfar.shortest_path(graph, source, target, device="cpu", threads=1, stats=stats)
        count += stats["reason"] == REASON
    return count


def _peers(graph: nearfar.Graph, ends: list[list[int]]) -> dict[str, Any]:
    """Return NetworKit's bidirectional Dijkstra and igraph's Dijkstra, with paths."""
    import igraph
    import networkit

    networkit.setNumberOfThreads(1)
    tails, heads = graph.tails(np.int64), graph.indices.astype(np.int64)
    weights = graph.effective_weights.astype(np.float64)
    kit = networkit.GraphFromCoo(
        (weights, (tails, heads)), n=graph.n_vertices, weighted=True, directed=True
    )
    other = igraph.Graph(n=graph.n_vertices, edges=np.c_[tails, heads], directed=True)

    def by_networkit() -> list[float]:
        found = []
        for source, target in ends:
            search = networkit.distance.BidirectionalDijkstra(kit, source, target, True)
            found.append(search.run().getDistance())
        return [x if x < 1e300 else np.inf for x in found]

    def by_igraph() -> list[float]:
        found = []
        for source, target in ends:
            steps = other.get_shortest_path(source, target, weights=weights, output="epath")
            reached = bool(steps) or source == target
            found.append(float(weights[steps].sum()) if reached else np.inf)
        return found

    return {"NetworKit, both ends": by_networkit, "igraph": by_igraph}


def _close(a: list[float], b: list[float]) -> bool:
    return bool(np.allclose(a, b, rtol=1e-5))


if __name__ == "__main__":
    answer(__doc__ or "", {"paths": paths, "pairs": pairs}, lambda part, row: None)
