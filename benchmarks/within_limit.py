"""Measure searches within a limit: bounded searches, rows, pandana, igraph and SciPy.

    python benchmarks/within_limit.py -o benchmarks/results/within_limit.json [--parts catchment]

Contenders alternate in one process, and every answer is compared. ``catchment`` counts the vertices
within five minutes of every vertex of New York (float minutes), also on a GPU and by pandana if
available; ``reach`` gives the time per source for limits that reach from no vertex to 10^5
vertices; ``harmonic`` compares sums within a limit with igraph's; ``csgraph`` compares dense rows
with SciPy's on one thread, on roads, on the nearest neighbours of points and on a social network;
``nearest`` compares one search from many places with SciPy's; ``reach_expected`` compares with the
times that ``auto`` predicts; ``reach_few`` measures calls that reach some hundred vertices of grids
with up to nine million, beside a search of the whole grid. ``--scale tiny`` tests the script.
"""

from __future__ import annotations

import functools
import os
import time
from typing import Any

import numpy as np

import nearfar
import nearfar.csgraph
import nearfar.measures
from in_parts import Rows, answer
from nearfar import Graph
from nearfar.graph.dtypes import unreached_value
from nearfar.lab.bench.suite import SUITE, data_file, load
from nearfar.system.devices import runtime
from turns import line, take_turns

ROUNDS = 3
SOCIAL = "snap-johnson/loc-brightkite.txt.xz"
REACHES = (0, 10, 100, 1000, 10_000)  # numbers of vertices within the limits for dense rows
PER_MINUTE = 2670.0  # units of length per minute; 182 vertices are within five minutes
LIMITS = (1e-6, 0.5, 1.0, 2.0, 5.0, 10.0, 20.0, 40.0, 80.0)


def streets(scale: str) -> Graph | None:
    """Return New York in minutes, or a generated network for the tiny scale."""
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
    """Return one, two, four, ... up to the number of processors."""
    cores = len(os.sched_getaffinity(0))
    return [k for k in (1, 2, 4, 8, 16, 32) if k <= cores]


def catchment(scale: str) -> Rows:
    """Count the vertices within five minutes of every vertex."""
    graph = streets(scale)
    if graph is None:
        return
    ones = np.ones(graph.n_vertices)
    contenders: dict[str, Any] = {}
    for threads in thread_counts():
        word = f"{threads} thread{'s' * (threads > 1)}"
        contenders[f"count, {word}"] = lambda threads=threads: (
            nearfar.distances(graph, limit=5.0, reduce="count", device="cpu", threads=threads) + 1
        )
        contenders[f"catchment, {word}"] = lambda threads=threads: nearfar.catchment(
            graph, ones, limit=5.0, device="cpu", threads=threads
        )
    if runtime.available() is True:
        contenders["count, GPU"] = lambda: (
            nearfar.distances(graph, limit=5.0, reduce="count", device="cuda") + 1
        )
        contenders["catchment, GPU"] = lambda: nearfar.catchment(
            graph, ones, limit=5.0, device="cuda"
        )
    try:
        contenders["pandana, all threads"] = of_pandana(graph)
    except ImportError:
        print("pandana is not installed: left out")
    dense = graph.n_vertices if scale == "tiny" else 512
    contenders[f"rows, 1 thread, {dense:,} sources"] = lambda: nearfar.distances(
        graph, range(dense), limit=5.0, reduce="count", threads=1, method="worker_per_source"
    )
    samples = take_turns(contenders, 2, same)
    count = nearfar.distances(graph, limit=5.0, reduce="count")
    processor = {name: processor_seconds(run) for name, run in contenders.items()}
    print({name: round(seconds, 2) for name, seconds in processor.items()}, flush=True)
    base = "pandana, all threads" if "pandana, all threads" in samples else "count, 1 thread"
    yield line(
        "within five minutes of every vertex", base, samples,
        n=graph.n_vertices, reached=float(np.mean(count)), processor_seconds=processor,
    )  # fmt: skip


def processor_seconds(run: Any) -> float:
    """Return the processor seconds of all threads of a run."""
    began = time.process_time()
    run()
    return time.process_time() - began


def of_pandana(graph: Graph) -> Any:
    """Return pandana's aggregation over the same network; its threads are OpenMP's."""
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
    """Return whether counts agree; pandana rounds weights, which moves some vertices."""
    one, other = np.asarray(one, float), np.asarray(other, float)
    if len(one) != len(other):  # rows of some sources, without the source
        few = min(len(one), len(other))
        shorter, longer = (one, other) if len(one) == few else (other, one)
        return bool((shorter + 1 == longer[:few]).all())
    return bool(np.abs(one - other).sum() < 0.01 * one.sum())


def reach(scale: str) -> Rows:
    """Measure time per source on one thread, for limits from none to most of the graph."""
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


def harmonic(scale: str) -> Rows:
    """Compare sums of 1 / distance within a limit with igraph's, on one thread."""
    import igraph

    graph = streets(scale)
    if graph is None:
        return
    tails = np.repeat(np.arange(graph.n_vertices), np.diff(graph.indptr))
    theirs = igraph.Graph(n=graph.n_vertices, edges=np.stack([tails, graph.indices], 1).tolist(),
                          directed=True)  # fmt: skip
    weights = graph.weights.tolist()
    some = np.random.default_rng(3).integers(0, graph.n_vertices, 200)
    for limit in (1e-6, 1.0, 5.0, 20.0):
        contenders = {
            "nearfar": lambda limit=limit: nearfar.measures.harmonic(
                graph, some, limit=limit, outward=True, threads=1
            ),
            "igraph": lambda limit=limit: theirs.harmonic_centrality(
                some.tolist(), mode="out", cutoff=limit, weights=weights, normalized=False
            ),
        }
        # igraph omits some vertices exactly at the limit.
        close = functools.partial(np.allclose, rtol=1e-3)
        samples = take_turns(contenders, ROUNDS, close, patience=5)
        yield line(f"harmonic of 200 within {limit:g}", "nearfar", samples, limit=limit)


def matrices(scale: str) -> dict[str, Any]:
    """Return roads, the eight nearest neighbours of points in space, and a social network."""
    import scipy.sparse as sp
    from scipy.spatial import cKDTree

    def matrix(graph: Graph) -> Any:
        arrays = graph.effective_weights.astype(float), graph.indices, graph.indptr
        return sp.csr_array(arrays, shape=(graph.n_vertices,) * 2)

    found = {}
    if (graph := streets(scale)) is not None:
        found["roads"] = matrix(graph)
    n = 2000 if scale == "tiny" else 100_000
    points = np.random.default_rng(4).random((n, 3))
    far, near = cKDTree(points).query(points, 9)
    starts = np.arange(0, 8 * n + 1, 8)
    found["neighbours"] = sp.csr_array((far[:, 1:].ravel(), near[:, 1:].ravel(), starts))
    if scale != "tiny" and data_file(SOCIAL).is_file():
        social = nearfar.read(data_file(SOCIAL), directed=False)
        drawn = np.random.default_rng(5).random(social.n_edges)
        found["social network"] = matrix(social.with_weights(drawn))
    return found


def csgraph(scale: str) -> Rows:
    """Compare dense rows within a limit with SciPy's, on one thread, for several limits."""
    import scipy.sparse.csgraph as theirs

    for name, matrix in matrices(scale).items():
        n = matrix.shape[0]
        rows = np.random.default_rng(2).integers(0, n, 100)
        whole = np.sort(theirs.dijkstra(matrix, indices=rows[:8]), axis=1)
        for reached in (k for k in REACHES if k < n):
            limit = float(np.median(whole[:, reached])) if reached else 1e-9
            contenders = {
                "scipy": lambda limit=limit, matrix=matrix, rows=rows: theirs.dijkstra(
                    matrix, indices=rows, limit=limit
                ),
                "nearfar": lambda limit=limit, matrix=matrix, rows=rows: nearfar.csgraph.dijkstra(
                    matrix, indices=rows, limit=limit, threads=1
                ),
            }
            equal = lambda a, b: bool((a == b).all())  # noqa: E731
            samples = take_turns(contenders, ROUNDS, equal, patience=5)
            what = f"{name}: 100 rows, about {reached:,} reached each"
            yield line(what, "nearfar", samples, limit=limit, reached=reached)


def nearest(scale: str) -> Rows:
    """Compare distances from the nearest of 100 places with SciPy's ``min_only``."""
    import scipy.sparse.csgraph as theirs

    matrix = matrices(scale).get("roads")
    if matrix is None:
        return
    places = np.random.default_rng(2).integers(0, matrix.shape[0], 100)
    for limit in LIMITS:
        contenders = {
            "scipy": lambda limit=limit: theirs.dijkstra(
                matrix, indices=places, limit=limit, min_only=True
            ),
            "nearfar": lambda limit=limit: nearfar.csgraph.dijkstra(
                matrix, indices=places, limit=limit, min_only=True, threads=1
            ),
        }
        samples = take_turns(contenders, ROUNDS, lambda a, b: bool((a == b).all()), patience=5)
        yield line(f"nearest of 100 within {limit:g}", "nearfar", samples, limit=limit)


def reach_expected(scale: str) -> Rows:
    """Compare counts from a share of the vertices with the times that `auto` predicts."""
    graph = streets(scale)
    if graph is None:
        return
    rng = np.random.default_rng(6)
    order = rng.permutation(graph.n_vertices)
    kinds = [("bounded@cpu", "cpu")]
    if runtime.available() is True:
        kinds.append(("bounded@cuda", "cuda"))
    for limit in (1e-6, 1.0, 2.0, 5.0, 10.0):
        for share in (1, 4, 16, 64, 256):
            sources = np.sort(order[: graph.n_vertices // share])
            call: dict[str, Any] = {"limit": limit, "reduce": "count", "threads": 1}
            contenders = {
                name: lambda device=device, call=call, sources=sources: nearfar.distances(
                    graph, sources, method="bounded", device=device, **call
                )
                for name, device in kinds
            }
            samples = take_turns(contenders, ROUNDS, lambda a, b: bool((a == b).all()))
            reached = float(np.mean(contenders["bounded@cpu"]()))
            expected = {}
            for name, device in kinds:
                ranking = nearfar.explain(graph, sources, device=device, **call).ranking
                expected[name] = next(c.seconds for c in ranking if c.variant.id == name)
            least = {name: min(times) / len(sources) * 1e9 for name, times in samples.items()}
            each = {name: seconds / len(sources) * 1e9 for name, seconds in expected.items()}
            print({name: f"{least[name]:,.0f} ns, expected {each[name]:,.0f}" for name in least})
            yield line(
                f"{len(sources):,} sources, {reached:,.0f} within {limit:g}", "bounded@cpu",
                samples, limit=limit, sources=len(sources), reached=reached,
                expected_seconds=expected,
            )  # fmt: skip


def local_calls(graph: Graph, s: int, whole: Any, limit: float) -> dict[str, tuple[Any, Any]]:
    """Return calls whose answers depend on few vertices around ``s``, with the answers."""
    within = np.where(whole > limit, unreached_value(whole.dtype), whole)
    two = [s + 3, s + 5]
    return {
        "sssp(limit=)": (lambda: nearfar.sssp(graph, s, limit=limit).distances, within),
        "distances(targets=)": (
            lambda: nearfar.distances(graph, [s], targets=two)[0],
            whole[two],
        ),
        "distances(pairs=)": (
            lambda: nearfar.distances(graph, pairs=[(s, t) for t in two]),
            whole[two],
        ),
        "distances(limit=, reduce='count')": (
            lambda: nearfar.distances(graph, [s], limit=limit, reduce="count"),
            [np.count_nonzero(whole <= limit) - 1],
        ),
        "nearest(limit=)": (lambda: nearfar.nearest(graph, [s], limit=limit).distances, within),
        "shortest_path": (lambda: [nearfar.shortest_path(graph, s, s + 5)[1]], whole[[s + 5]]),
        "k_shortest_paths(k=3)": (
            lambda: [nearfar.k_shortest_paths(graph, s, s + 5, 3)[0][1]],
            whole[[s + 5]],
        ),
        "sssp": (lambda: nearfar.sssp(graph, s, device="cpu").distances, whole),
    }


def reach_few(scale: str) -> Rows:
    """Measure such calls on grids of several sizes."""
    for side in (20, 60) if scale == "tiny" else (500, 1500, 3000):
        graph = nearfar.generate("grid", rows=side, columns=side)
        s = side * (side // 2) + side // 2
        whole = nearfar.sssp(graph, s, device="cpu").distances
        limit = float(np.sort(whole)[min(300, len(whole) // 4)])
        calls = local_calls(graph, s, whole, limit)
        samples: dict[str, list[float]] = {name: [] for name in calls}
        for _ in range(3 * ROUNDS):
            for name, (call, want) in calls.items():
                call()  # others may have emptied the caches
                began = time.perf_counter()
                found = call()
                samples[name].append(time.perf_counter() - began)
                if not np.array_equal(found, want):
                    raise SystemExit(f"{name} gave a wrong answer")
        yield line(f"{graph.n_vertices:,} vertices", "sssp(limit=)", samples, limit=limit)


PARTS = {
    "catchment": catchment,
    "reach": reach,
    "harmonic": harmonic,
    "csgraph": csgraph,
    "nearest": nearest,
    "reach_expected": reach_expected,
    "reach_few": reach_few,
}

if __name__ == "__main__":
    answer(__doc__ or "", PARTS, lambda part, row: None)
