"""Test graphs small enough for the oracle, each with a shape that has broken a solver."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from nearfar import Graph

DTYPES = ("int32", "int64", "float32", "float64", "unweighted")


def _edges(n: int, pairs: list[tuple[int, int, float]], directed: bool = True) -> Graph:
    s, t, w = (np.array(column) for column in zip(*pairs, strict=True)) if pairs else ([], [], [])
    return Graph.from_edges(
        np.asarray(s, dtype=np.int64),
        np.asarray(t, dtype=np.int64),
        np.asarray(w, dtype=np.int64),
        n_vertices=n,
        directed=directed,
    )


def one_vertex() -> Graph:
    return _edges(1, [])


def no_edges() -> Graph:
    return _edges(5, [])


def source_without_out_edges() -> Graph:
    return _edges(4, [(1, 0, 3), (1, 2, 1), (2, 3, 1)])


def self_loops() -> Graph:
    return _edges(4, [(0, 0, 0), (0, 1, 2), (1, 1, 5), (1, 2, 0), (2, 2, 0), (2, 3, 1)])


def parallel_edges() -> Graph:
    return _edges(3, [(0, 1, 9), (0, 1, 2), (0, 1, 7), (1, 2, 4), (1, 2, 3), (0, 2, 5)])


def zero_cycle() -> Graph:
    """Return two vertices joined by zero-weight edges, which may be predecessors of each other."""
    return _edges(
        7,
        [(0, 1, 4), (1, 2, 0), (2, 3, 0), (3, 1, 0), (3, 4, 1), (4, 5, 0), (5, 4, 0), (6, 5, 0)],
    )


def all_zero() -> Graph:
    return _edges(6, [(u, (u + k) % 6, 0) for u in range(6) for k in (1, 2)])


def disconnected() -> Graph:
    return _edges(8, [(0, 1, 1), (1, 2, 2), (4, 5, 1), (5, 6, 1), (6, 4, 1)])


def path() -> Graph:
    return _edges(300, [(v, v + 1, 1 + v % 7) for v in range(299)])


def ring() -> Graph:
    return _edges(64, [(v, (v + 1) % 64, 3) for v in range(64)], directed=False)


def star() -> Graph:
    return _edges(400, [(0, v, 1 + v % 50) for v in range(1, 400)], directed=False)


def complete() -> Graph:
    rng = np.random.default_rng(5)
    n = 40
    return _edges(n, [(u, v, int(rng.integers(0, 60))) for u in range(n) for v in range(n)])


def grid() -> Graph:
    rng = np.random.default_rng(6)
    side = 18
    pairs = []
    for r in range(side):
        for c in range(side):
            for other in ((r, c + 1), (r + 1, c)):
                if max(other) < side and rng.random() > 0.1:
                    pairs.append(
                        (r * side + c, other[0] * side + other[1], int(rng.integers(1, 1000)))
                    )
    return _edges(side * side, pairs, directed=False)


def skewed() -> Graph:
    """Return a few hubs and many leaves with a wide range of weights."""
    rng = np.random.default_rng(7)
    n, m = 350, 3000
    s = (n * rng.random(m) ** 3).astype(int)
    t = (n * rng.random(m) ** 2).astype(int)
    w = rng.integers(0, 255, m)
    return _edges(n, list(zip(s.tolist(), t.tolist(), w.tolist(), strict=True)))


def wide_weights() -> Graph:
    """Return weights over six orders of magnitude, for which no single delta suits."""
    rng = np.random.default_rng(8)
    n, m = 250, 1500
    w = (10 ** (6 * rng.random(m))).astype(int)
    return _edges(
        n,
        list(
            zip(
                rng.integers(0, n, m).tolist(),
                rng.integers(0, n, m).tolist(),
                w.tolist(),
                strict=True,
            )
        ),
    )


def dag_with_long_detours() -> Graph:
    """Return a graph whose direct edges are the longest paths, so that vertices improve often."""
    n = 60
    pairs = [(u, v, (v - u) ** 2) for u in range(n) for v in range(u + 1, min(n, u + 12))]
    return _edges(n, pairs)


def _fresh(build: Callable[[], Graph]) -> Callable[[], Graph]:
    """Build once, and return a function that makes new graphs of the same arrays."""
    graph = build()

    def again() -> Graph:
        return Graph.from_csr(graph.indptr, graph.indices, graph.weights, directed=graph.directed)

    return again


ZOO: dict[str, Callable[[], Graph]] = {
    build.__name__: _fresh(build)
    for build in (
        one_vertex,
        no_edges,
        source_without_out_edges,
        self_loops,
        parallel_edges,
        zero_cycle,
        all_zero,
        disconnected,
        path,
        ring,
        star,
        complete,
        grid,
        skewed,
        wide_weights,
        dag_with_long_detours,
    )
}


def as_dtype(graph: Graph, dtype: str) -> Graph:
    """Return the zoo graph in one of DTYPES; float weights are perturbed so that sums round."""
    if dtype == "unweighted":
        return graph.without_weights()
    if np.dtype(dtype).kind == "i":
        return graph.astype(dtype)
    weights = graph.effective_weights.astype(dtype)
    spoilt = (weights * np.dtype(dtype).type(1.1)).astype(dtype)
    return Graph.from_csr(graph.indptr, graph.indices, spoilt, directed=graph.directed)
