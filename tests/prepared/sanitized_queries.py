"""Every form of query on small graphs, without solvers, for runs under sanitizers.

``python sanitized_queries.py`` prints the number of answers compared with a table made by NumPy.
"""

from __future__ import annotations

import sys

import numpy as np

from nearfar import _cpu
from nearfar.graph.graph import Graph
from nearfar.prepared.cpu.pairs import pair_distances
from nearfar.prepared.order.elimination import structure_of
from nearfar.prepared.prepare import prepare


def mesh(side: int, dtype: str, directed: bool, rng: np.random.Generator) -> Graph:
    """Return a grid with a few gaps, so that there are several components."""
    vertex = np.arange(side * side).reshape(side, side)
    tails = np.concatenate([vertex[:, :-1].ravel(), vertex[:-1].ravel()])
    heads = np.concatenate([vertex[:, 1:].ravel(), vertex[1:].ravel()])
    keep = rng.random(len(tails)) < 0.9
    tails, heads = tails[keep], heads[keep]
    if directed:
        tails, heads = np.concatenate([tails, heads]), np.concatenate([heads, tails])
    weights = rng.integers(0, 50, len(tails)).astype(dtype)
    return Graph.from_edges(tails, heads, weights, n_vertices=side * side, directed=directed)


def table(graph: Graph) -> np.ndarray:
    """Return all distances by the Floyd-Warshall algorithm."""
    n = graph.n_vertices
    far = np.full((n, n), np.inf)
    np.minimum.at(far, (graph.tails(), graph.indices), graph.effective_weights.astype(np.float64))
    np.fill_diagonal(far, 0)
    for k in range(n):
        np.minimum(far, far[:, k : k + 1] + far[k], out=far)
    return far


def compare(graph: Graph, threads: int) -> int:
    """Run every query and compare it; return the number of answers."""
    want, n = table(graph), graph.n_vertices
    # An order from another package would run foreign code under the sanitizer.
    order = np.argsort(np.diff(structure_of(graph).first), kind="stable").astype(np.int32)
    count = 0

    def same(found: np.ndarray, wanted: np.ndarray) -> None:
        nonlocal count
        none = np.inf if found.dtype.kind == "f" else np.iinfo(found.dtype).max
        np.testing.assert_array_equal(np.where(found == none, np.inf, found), wanted)
        count += found.size

    everything = np.stack([a.ravel() for a in np.divmod(np.arange(n * n), n)], axis=1)
    starts, ends = (np.ascontiguousarray(a) for a in everything.T)
    for perfect in (True, False):
        for given in (order, "multilevel"):
            prepared = prepare(graph, given, perfect=perfect, force=True, threads=threads)
            same(pair_distances(prepared, starts, ends, threads), want.ravel())
            for compact in (0, 4):
                labels = prepared.label(threads=threads, compact=compact)
                same(labels.distances_of_pairs(everything), want.ravel())
            view, sources = prepared.metric_view, np.arange(n)
            for columns in (None, np.arange(0, n, 3)):
                wanted = want if columns is None else want[:, columns]
                for lanes in (0, 32 if graph.weight_dtype.itemsize == 4 else 16):
                    out = np.empty(wanted.shape, graph.weight_dtype)
                    _cpu.prepared_distances(view, sources, columns, out, lanes, threads)
                    same(out, wanted)
            one = np.empty(n, graph.weight_dtype)
            _cpu.prepared_distances(view, sources[:1], None, one, 0, 1)
            same(one, want[0])
            for target in np.flatnonzero(np.isfinite(want[1]))[:40]:
                edges = prepared.path_edges(1, int(target))
                assert graph.effective_weights[edges].sum() == want[1, target]
            some = np.arange(0, graph.n_edges, 7)
            changed = prepared.update(some, np.zeros(len(some), graph.weight_dtype))
            same(pair_distances(changed, starts, ends, 1), table(changed).ravel())
    return count


def main() -> int:
    """Run all kinds of weights, both kinds of metric, one worker and several."""
    rng = np.random.default_rng(int(sys.argv[1]) if len(sys.argv) > 1 else 0)
    count = 0
    for dtype in ("int32", "int64", "float32", "float64"):
        for directed in (False, True):
            count += compare(mesh(9, dtype, directed, rng), 1)
            count += compare(mesh(12, dtype, directed, rng), 3)
    print("answers", count)
    return 0


if __name__ == "__main__":
    sys.exit(main())
