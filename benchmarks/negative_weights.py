"""Measure searches with negative weights: first and later calls, each method, igraph and SciPy.

    python benchmarks/negative_weights.py -o benchmarks/results/negative_weights.json

``search`` is one source: the default call on a graph that was never searched and on one that was,
and each method. ``potentials`` are what searches from many sources and
:func:`nearfar.find_negative_cycle` begin with, also by each method. Contenders alternate in one
process, on one thread, and every answer is compared. ``--scale tiny`` tests the script.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import igraph
import numpy as np
import scipy.sparse as sp
import scipy.sparse.csgraph

import nearfar
import zoo_families as fam
from in_parts import Rows, answer
from nearfar import Graph, _cpu
from nearfar.cpu.potentials import potentials
from turns import line, take_turns

ROUNDS, WARM = 7, 8
METHODS = ("goldberg_radzik", "tarjan_subtree", "bellman_ford_queue")
SCIPY = 2e9  # vertices times edges that SciPy's method, which always takes all rounds, may take
Array = Any


def shifted(edges: fam.Edges, rng: np.random.Generator, whole: bool) -> Graph:
    """Return a graph without negative cycles: weights 1 to 1,000 plus differences of potentials."""
    tails, heads, _, directed, n = edges
    if not directed:
        tails, heads = np.r_[tails, heads], np.r_[heads, tails]
    lift = rng.integers(0, 5000, n)
    weights = rng.integers(1, 1001, len(tails)) + lift[tails] - lift[heads]
    return joined(tails, heads, weights if whole else weights / 1000, n)


def joined(tails: Array, heads: Array, weights: Array, n: int) -> Graph:
    """Return the directed graph of these edges."""
    return Graph.from_edges(tails, heads, weights, n_vertices=n)


def acyclic(n: int, rng: np.random.Generator, chain: bool) -> Graph:
    """Return tasks with durations: each waits for earlier ones, if ``chain`` for the last one."""
    heads = np.repeat(np.arange(1, n), 5)
    back = rng.integers(1, 50, len(heads))
    if chain:
        back[::5] = 1
    names = np.r_[0, 1 + rng.permutation(n - 1)]  # the order of the names is no order of the tasks
    tails = names[np.maximum(heads - back, 0)]
    return joined(tails, names[heads], -rng.integers(1, 100, len(heads)), n)


def exchange(n: int, rng: np.random.Generator) -> Graph:
    """Return logarithms of rates between currencies, with small differences of bid and ask."""
    values, ends = rng.normal(0, 2, n), np.arange(n)
    tails, heads = (part.ravel() for part in np.meshgrid(ends, ends, indexing="ij"))
    keep = tails != heads
    tails, heads = tails[keep], heads[keep]
    spread = rng.uniform(1e-4, 1e-2, len(tails))
    return joined(tails, heads, values[tails] - values[heads] + spread, n)


def level(n: int, rng: np.random.Generator) -> Graph:
    """Return a long path with an edge of weight 0 back along every edge."""
    at = np.arange(n - 1)
    lift = rng.integers(-1000, 1000, n)
    there = lift[at] - lift[at + 1]
    return joined(np.r_[at, at + 1], np.r_[at + 1, at], np.r_[there, -there], n)


def graphs(scale: str) -> dict[str, Callable[[np.random.Generator], Graph]]:
    """Return the graphs by name; each is made from a generator."""
    some = 300 if scale == "tiny" else 1
    n = lambda vertices: max(vertices // some, 50)  # noqa: E731
    return {
        "uniform, 30,000 vertices": lambda r: shifted(fam.uniform(n(30_000), r), r, True),
        "triangulation, 100,000": lambda r: shifted(fam.delaunay(n(100_000), r), r, True),
        "triangulation, float64": lambda r: shifted(fam.delaunay(n(100_000), r), r, False),
        "maze, 200,000": lambda r: shifted(fam.maze(n(200_000), r, 0.2), r, True),
        "power law, 60,000": lambda r: shifted(fam.power_law(n(60_000), r), r, True),
        "neighbours in 3 dimensions, 50,000": lambda r: shifted(
            fam.neighbours(n(50_000), r, 3), r, False
        ),
        "dense, 1,000": lambda r: shifted(fam.dense(n(1000), r), r, True),
        "currencies, 500, float64": lambda r: exchange(n(500), r),
        "tasks, 100,000": lambda r: acyclic(n(100_000), r, False),
        "tasks in a chain, 20,000": lambda r: acyclic(n(20_000), r, True),
        "cycles of weight 0, 20,000": lambda r: level(n(20_000), r),
    }


def fresh(graph: Graph) -> Graph:
    """Return the graph without what searches have learned."""
    return graph.with_weights(graph.weights.copy())


def searched(graph: Graph, method: str) -> Array:
    """Return the distances from vertex 0 on one thread."""
    return nearfar.sssp(graph, 0, method=method, device="cpu", threads=1).distances


def of_igraph(graph: Graph) -> Callable[[], Array]:
    """Return igraph's search by Bellman and Ford's method on a converted graph."""
    tails = np.repeat(np.arange(graph.n_vertices), np.diff(graph.indptr))
    ends = np.stack([tails, graph.indices], 1).tolist()
    theirs = igraph.Graph(n=graph.n_vertices, edges=ends, directed=True)
    weights = graph.weights.astype(float).tolist()
    return lambda: np.array(theirs.distances(0, weights=weights, algorithm="bellman_ford")[0])


def of_scipy(graph: Graph) -> Callable[[], Array]:
    """Return SciPy's search on a converted graph."""
    arrays = graph.weights.astype(float), graph.indices, graph.indptr
    matrix = sp.csr_array(arrays, shape=(graph.n_vertices,) * 2)
    return lambda: scipy.sparse.csgraph.bellman_ford(matrix, indices=0)


def same(one: Array, other: Array) -> bool:
    """Return whether distances agree; other programs add floats in another order."""
    one, other = (
        np.where(a >= np.iinfo(a.dtype).max, np.inf, a) if a.dtype.kind == "i" else a
        for a in (one, other)
    )
    return bool(np.allclose(one, other, rtol=1e-9, atol=1e-9))


def search(scale: str) -> Rows:
    """Measure one source."""
    for name, make in graphs(scale).items():
        graph = make(np.random.default_rng(5))
        used, unused = fresh(graph), [fresh(graph) for _ in range(ROUNDS + 1)]
        for _ in range(WARM):
            searched(used, "auto")
        contenders: dict[str, Callable[[], Array]] = {
            "later": lambda used=used: searched(used, "auto"),
            "first": lambda unused=unused: searched(unused.pop(), "auto"),
        }
        for method in METHODS:
            contenders[method] = lambda graph=graph, method=method: searched(graph, method)
        contenders["igraph"] = of_igraph(graph)
        if float(graph.n_vertices) * graph.n_edges < SCIPY:
            contenders["scipy"] = of_scipy(graph)
        samples = take_turns(contenders, ROUNDS, same, patience=2)
        yield line(name, "later", samples, n=graph.n_vertices, m=graph.n_edges,
                   negative=graph.n_negative, dtype=graph.weight_dtype.name)  # fmt: skip


def of_potentials(scale: str) -> Rows:
    """Measure distances from a virtual source."""
    for name, make in graphs(scale).items():
        graph = make(np.random.default_rng(5))

        def form(run: Callable[..., Any], graph: Graph = graph) -> Array:
            found = np.zeros(graph.n_vertices, graph.weight_dtype)
            run(graph.view, -1, found, False)
            return found

        contenders = {
            "nearfar": lambda graph=graph: potentials(graph),
            "tarjan_subtree": lambda form=form: form(_cpu.bellman_ford_subtree),
            "goldberg_radzik": lambda form=form: form(_cpu.bellman_ford_goldberg_radzik),
        }
        samples = take_turns(contenders, ROUNDS, same, patience=2)
        yield line(name, "nearfar", samples, n=graph.n_vertices, m=graph.n_edges)


if __name__ == "__main__":
    parts = {"search": search, "potentials": of_potentials}
    answer((__doc__ or "").splitlines()[0], parts, lambda part, row: None)
