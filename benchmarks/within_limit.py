"""What lies within a limit of each vertex: bounded searches, rows, pandana and SciPy.

    python benchmarks/within_limit.py -o benchmarks/results/within_limit.json [--parts catchment]

One process; contenders take turns; every answer is compared. ``catchment`` counts what lies within
five minutes of every vertex of New York (float minutes) and needs pandana; ``reach`` gives the time
per source from limits that reach nothing to 10^5 vertices; ``csgraph`` compares dense rows with
SciPy's on one thread. ``--scale tiny`` shows whether it runs.
"""

from __future__ import annotations

import os
from typing import Any

import numpy as np

import nearfar
import nearfar.csgraph
from in_parts import Rows, answer
from nearfar import Graph
from nearfar.lab.bench.suite import SUITE, load
from turns import line, take_turns

ROUNDS = 5
PER_MINUTE = 2670.0  # units of length per minute: 182 vertices lie within five
LIMITS = (1e-6, 0.5, 1.0, 2.0, 5.0, 10.0, 20.0, 40.0, 80.0)


def streets(scale: str) -> Graph | None:
    """New York in minutes, or a generated network for the tiny scale."""
    if scale == "tiny":
        graph = nearfar.generate("road_like", vertices=2000, seed=1)
        return graph.with_weights(graph.weights / (graph.mean_weight * 3))
    here = SUITE["newyork"].available()
    if here is not True:
        print(f"newyork: {here}")
        return None
    graph = load("newyork", 1)
    return graph.with_weights(graph.weights / PER_MINUTE)


def thread_counts() -> list[int]:
    """One, two, four, ... up to the processors there are."""
    cores = len(os.sched_getaffinity(0))
    return [k for k in (1, 2, 4, 8, 16, 32) if k <= cores]


def catchment(scale: str) -> Rows:
    """Count what lies within five minutes of every vertex."""
    graph = streets(scale)
    if graph is None:
        return
    ones = np.ones(graph.n_vertices)
    contenders: dict[str, Any] = {}
    for threads in thread_counts():
        word = f"{threads} thread{'s' * (threads > 1)}"
        contenders[f"count, {word}"] = lambda threads=threads: (
            nearfar.distances(graph, limit=5.0, reduce="count", threads=threads) + 1
        )
        contenders[f"catchment, {word}"] = lambda threads=threads: nearfar.catchment(
            graph, ones, limit=5.0, threads=threads
        )
    try:
        contenders["pandana, all threads"] = of_pandana(graph)
    except ImportError:
        print("pandana is not installed: left out")
    samples = take_turns(contenders, ROUNDS, same)
    count = nearfar.distances(graph, limit=5.0, reduce="count")
    base = "pandana, all threads" if "pandana, all threads" in samples else "count, 1 thread"
    yield line(
        "within five minutes of every vertex", base, samples,
        n=graph.n_vertices, reached=float(np.mean(count)),
    )  # fmt: skip


def of_pandana(graph: Graph) -> Any:
    """Pandana's aggregation over the same network; its threads are OpenMP's."""
    import pandana
    import pandas

    n = graph.n_vertices
    heads = np.repeat(np.arange(n), np.diff(graph.indptr))
    nodes = pandas.Series(np.arange(n, dtype=float))
    frame = pandas.DataFrame({"minutes": np.asarray(graph.weights, float)})
    ends = pandas.Series(heads), pandas.Series(np.asarray(graph.indices, np.int64))
    network = pandana.Network(nodes, nodes, *ends, frame, twoway=False)
    network.set(pandas.Series(np.arange(n)), pandas.Series(np.ones(n)), name="ones")

    def run() -> Any:
        return network.aggregate(5.0, type="sum", decay="flat", name="ones").to_numpy()

    return run


def same(one: Any, other: Any) -> bool:
    """Whether counts agree; pandana rounds weights to thousandths, which moves some vertices."""
    one, other = np.asarray(one, float), np.asarray(other, float)
    return bool(np.abs(one - other).sum() < 0.01 * one.sum())


def reach(scale: str) -> Rows:
    """Time per source, on one thread, from limits that reach nothing to most of the graph."""
    graph = streets(scale)
    if graph is None:
        return
    rng = np.random.default_rng(1)
    for limit in LIMITS:
        sample = rng.integers(0, graph.n_vertices, 64)
        reached = float(
            np.mean(nearfar.distances(graph, sample, limit=limit, reduce="count", method="bounded"))
        )
        k = int(np.clip(3e6 / (reached + 1), 8, graph.n_vertices))
        sources = rng.choice(graph.n_vertices, k, replace=False)
        contenders = {
            method: lambda method=method, sources=sources, limit=limit: nearfar.distances(
                graph, sources[: len(sources) if method == "bounded" else 64], limit=limit,
                reduce="count", threads=1, method=method,
            )
            for method in ("bounded", "worker_per_source")
        }  # fmt: skip
        samples = take_turns(contenders, ROUNDS, lambda a, b: bool((a[:64] == b[:64]).all()))
        per = {"bounded": k, "worker_per_source": min(k, 64)}
        shown = {name: [t / per[name] for t in times] for name, times in samples.items()}
        yield line(
            f"{reached:,.1f} within {limit:g}", "bounded", shown, limit=limit, reached=reached
        )


def csgraph(scale: str) -> Rows:
    """Dense rows within a limit beside SciPy's, on one thread."""
    import scipy.sparse as sp
    import scipy.sparse.csgraph as theirs

    graph = streets(scale)
    if graph is None:
        return
    matrix = sp.csr_array(
        (graph.weights, graph.indices, graph.indptr), shape=(graph.n_vertices,) * 2
    )
    rows = np.random.default_rng(2).integers(0, graph.n_vertices, 100)
    for limit in LIMITS:
        contenders = {
            "scipy": lambda limit=limit: theirs.dijkstra(matrix, indices=rows, limit=limit),
            "nearfar": lambda limit=limit: nearfar.csgraph.dijkstra(
                matrix, indices=rows, limit=limit
            ),
        }
        samples = take_turns(contenders, 3, lambda a, b: bool((a == b).all()), patience=5)
        yield line(f"100 rows within {limit:g}", "nearfar", samples, limit=limit)


if __name__ == "__main__":
    answer(
        __doc__ or "", {"catchment": catchment, "reach": reach, "csgraph": csgraph},
        lambda part, row: None,
    )  # fmt: skip
