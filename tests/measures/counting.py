"""Numbers of shortest paths and derived measures, by definition and in integers."""

from __future__ import annotations

from fractions import Fraction
from functools import lru_cache
from typing import Any

import numpy as np

from nearfar import Graph
from nearfar.measures.paths.order_free import in_steps
from tests.oracle import dijkstra

__all__ = ["Dag", "ZeroCycle", "betweenness", "lightest"]


class ZeroCycle(Exception):
    """Error for a cycle of weight 0, with which the number of paths is infinite."""


def lightest(graph: Graph) -> dict[tuple[int, int], tuple[Any, int]]:
    """Return weight and id of the lightest edge, the first of equals, per pair of vertices."""
    found: dict[tuple[int, int], tuple[Any, int]] = {}
    for e, (u, v) in enumerate(zip(graph.tails().tolist(), graph.indices.tolist(), strict=True)):
        w = graph.effective_weights[e]
        if u != v and ((u, v) not in found or w < found[u, v][0]):
            found[u, v] = (w, e)
    return found


class Dag:
    """Tight edges of one source, and numbers of paths on them.

    Distances come from the oracle: of float weights in fixed point, where they fit, as documented
    for ``tolerance``, since a sum of floats can lose a small weight, which closes a cycle.
    """

    def __init__(self, graph: Graph, source: int, limit: float = np.inf) -> None:
        dtype = graph.weight_dtype
        graph, fixed = in_steps(graph)
        if fixed is not None and np.isfinite(limit):
            limit = fixed.steps_within(limit, dtype)
        d = dijkstra(graph, source)
        far = np.inf if d.dtype.kind == "f" else np.iinfo(d.dtype).max
        number = d.dtype.type if d.dtype.kind == "f" else int
        self.source = source
        self.reached = [v for v in range(graph.n_vertices) if d[v] != far and d[v] <= limit]
        inside = set(self.reached)
        self.after: dict[int, dict[int, int]] = {v: {} for v in self.reached}
        for (u, v), (w, e) in lightest(graph).items():
            if {u, v} <= inside and number(d[u]) + number(w) == number(d[v]):
                self.after[u][v] = e
        self._refuse_cycles()
        self.between = lru_cache(None)(self._between)

    def _refuse_cycles(self) -> None:
        entering = dict.fromkeys(self.reached, 0)
        for row in self.after.values():
            for v in row:
                entering[v] += 1
        free = [v for v in self.reached if not entering[v]]
        for u in free:
            for v in self.after[u]:
                entering[v] -= 1
                if not entering[v]:
                    free.append(v)
        if len(free) < len(self.reached):
            raise ZeroCycle

    def _between(self, u: int, v: int) -> int:
        """Return the number of paths on tight edges from one vertex to another."""
        return 1 if u == v else sum(self.between(w, v) for w in self.after[u])


def betweenness(
    graph: Graph, sources: Any = None, targets: Any = None, limit: float = np.inf
) -> tuple[list[Fraction], list[Fraction]]:
    """Return unscaled values of vertices without ends, and of edges, per direction."""
    vertices = [Fraction(0)] * graph.n_vertices
    edges = [Fraction(0)] * graph.n_edges
    for s in range(graph.n_vertices) if sources is None else sources:
        dag = Dag(graph, s, limit)
        for t in dag.reached:
            if t == s or (targets is not None and t not in targets):
                continue
            all_paths = dag.between(s, t)
            for v in dag.reached:
                if v not in (s, t):
                    vertices[v] += Fraction(dag.between(s, v) * dag.between(v, t), all_paths)
                for w, e in dag.after[v].items():
                    edges[e] += Fraction(dag.between(s, v) * dag.between(w, t), all_paths)
    return vertices, edges
