"""Measure all pairs, many sources and Floyd-Warshall, compared with SciPy and single heap searches.

``python benchmarks/all_pairs.py cpu -o benchmarks/results/all_pairs_cpu.json`` measures the CPU
variants on p2p-Gnutella08 (all pairs, weights 1..100) and New York's roads (2,048 sources), and
Floyd-Warshall on a dense graph of 2,000 vertices. ``cuda`` measures the graphs of the Johnson paper
and the roads on a GPU, into device memory, without transfers (``device_seconds``); dense matrices
on a GPU are measured by ``floyd_warshall.py``. Contenders alternate within a round; all samples are
kept; sampled rows of each answer are compared bit for bit with single searches by a binary heap,
outside the timed part. The heap on one core and the Johnson paper's three forms, which solve one
source after the other, solve sampled sources, and their times are scaled to all. The file of
``cuda`` is written after every graph; rows of other graphs are kept, each with its environment.
"""

from __future__ import annotations

import argparse
import contextlib
import json
import statistics
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

import nearfar
from nearfar.graph.graph import Graph
from nearfar.lab.bench.environment import environment
from nearfar.lab.bench.suite import data_file, load
from nearfar.solve.many import all_pairs, distances
from result_file import Rows, add_output, write_result

SNAP = ["p2p-Gnutella08", "p2p-Gnutella30", "p2p-Gnutella31"]
HEAPS = ("worker_per_source", "dijkstra_binary_heap", "dijkstra_dary_heap", "dijkstra_radix_heap")
SNAP += ["loc-brightkite", "soc-Epinions1", "soc-Slashdot0902"]
ROADS = "New York roads"


def snap(name: str) -> Graph:
    """Return a graph of the Johnson paper with seeded weights 1..100."""
    graph = nearfar.read(data_file(f"snap-johnson/{name}.txt.xz")).without_names()
    if name == "loc-brightkite" and graph.n_edges < 300_000:  # each edge is listed once
        tails = graph.tails(np.int64)
        both = np.concatenate([tails, graph.indices]), np.concatenate([graph.indices, tails])
        graph = Graph.from_edges(*both, n_vertices=graph.n_vertices)
    weights = np.random.default_rng(1).integers(1, 101, graph.n_edges).astype(np.int32)
    return Graph.from_csr(graph.indptr, graph.indices, weights)


def check(graph: Graph, sources: np.ndarray, rows: Any, count: int = 40) -> None:
    """Compare sampled rows with searches by a binary heap."""
    picked = np.random.default_rng(2).choice(len(sources), min(count, len(sources)), replace=False)
    for i in picked:
        method = "dijkstra_binary_heap@cpu"
        truth = nearfar.sssp(graph, int(sources[i]), method=method).distances
        row = rows[int(i)]
        row = row if isinstance(row, np.ndarray) else row.get()
        if not np.array_equal(np.where(np.isinf(row), truth.max(), row), truth):
            raise SystemExit(f"row {i} is wrong")


def rounds(contenders: dict[str, Callable[[], float]], count: int) -> dict[str, Any]:
    """Return the seconds of each contender, which alternate after one warm-up."""
    samples: dict[str, list[float]] = {name: [] for name in contenders}
    for turn in range(count + 1):
        for name, run in contenders.items():
            seconds = run()
            if turn:
                samples[name].append(seconds)
    return {
        name: {"median": statistics.median(s), "min": min(s), "samples": s}
        for name, s in samples.items()
    }


def timed(run: Callable[[], Any]) -> Callable[[], float]:
    def go() -> float:
        began = time.perf_counter()
        run()
        return time.perf_counter() - began

    return go


def peer_runs(graph: Graph) -> dict[str, Callable[[], float]]:
    """Return all-pairs calls of the installed peers on graphs that are built before."""
    found: dict[str, Callable[[], float]] = {}
    tails = graph.tails(np.int64)
    weights = graph.weights.astype(np.float64)
    with contextlib.suppress(ImportError):
        import igraph

        pairs = np.column_stack([tails, graph.indices])
        net = igraph.Graph(n=graph.n_vertices, edges=pairs.tolist(), directed=True)
        listed = weights.tolist()
        found["igraph"] = timed(lambda: net.distances(weights=listed, algorithm="dijkstra"))
    with contextlib.suppress(ImportError):
        import rustworkx

        rust = rustworkx.PyDiGraph()
        rust.add_nodes_from(range(graph.n_vertices))
        edges = zip(tails.tolist(), graph.indices.tolist(), weights.tolist(), strict=True)
        rust.add_edges_from(list(edges))
        found["rustworkx, all threads"] = timed(
            lambda: rustworkx.all_pairs_dijkstra_path_lengths(rust, float)
        )
    with contextlib.suppress(ImportError):
        import networkit

        coo = networkit.GraphFromCoo(
            (weights, (tails.astype(np.uint64), graph.indices.astype(np.uint64))),
            graph.n_vertices,
            weighted=True,
            directed=True,
        )
        for threads in (1, 2):

            def run(t: int = threads) -> None:
                networkit.setNumberOfThreads(t)
                networkit.distance.APSP(coo).run()

            found[f"networkit, {threads} threads"] = timed(run)
    return found


def cpu_results(count: int) -> dict[str, Any]:
    from scipy.sparse.csgraph import dijkstra, floyd_warshall

    results: dict[str, Any] = {}
    graph = snap("p2p-Gnutella08")
    matrix = graph.to_scipy().astype(np.float64)
    every = np.arange(graph.n_vertices)
    for method in ("lanes@cpu", "worker_per_source@cpu"):
        check(graph, every, all_pairs(graph, method=method))
    contenders = {"scipy": timed(lambda: dijkstra(matrix))}
    for threads in (1, 2):
        for method in ("auto", "lanes", "worker_per_source"):
            contenders[f"{method}, {threads} threads"] = timed(
                lambda m=method, t=threads: all_pairs(graph, method=m, device="cpu", threads=t)
            )
    contenders |= peer_runs(graph)
    results["p2p-Gnutella08 all pairs"] = rounds(contenders, count)

    dense = np.random.default_rng(0).integers(1, 1000, (2000, 2000))
    np.fill_diagonal(dense, 0)
    graph = Graph.from_dense(dense.astype(np.int32))
    check(graph, np.arange(2000), all_pairs(graph, method="floyd_warshall", device="cpu"))
    contenders = {"scipy": timed(lambda: floyd_warshall(dense.astype(np.float64)))}
    for threads in (1, 2):
        contenders[f"floyd_warshall int32, {threads} threads"] = timed(
            lambda t=threads: all_pairs(graph, method="floyd_warshall", device="cpu", threads=t)
        )
    results["dense 2,000 Floyd-Warshall"] = rounds(contenders, max(2, count // 2))

    costs = dense.astype(np.float64)
    contenders = {"scipy": timed(lambda: floyd_warshall(costs, return_predecessors=True))}
    for threads in (1, 2):
        contenders[f"floyd_warshall int32, {threads} threads"] = timed(
            lambda t=threads: all_pairs(
                graph, predecessors=True, method="floyd_warshall", device="cpu", threads=t
            )
        )
    results["dense 2,000 Floyd-Warshall with predecessors"] = rounds(contenders, 1)

    roads = load("newyork")
    sources = np.random.default_rng(3).choice(roads.n_vertices, 2048, replace=False)
    out = np.empty((256, roads.n_vertices), dtype=np.int32)
    contenders = {}
    for method in ("auto", "worker_per_source", "delta_stepping"):
        for threads in (1, 2):
            contenders[f"{method}, {threads} threads, 256 of 2,048 sources"] = timed(
                lambda m=method, t=threads: distances(
                    roads, sources[:256], method=m, device="cpu", threads=t, out=out
                )
            )
    results["New York roads"] = rounds(contenders, max(1, count // 2))
    check(roads, sources[:256], out)
    return results


def device_run(graph: Graph, sources: np.ndarray, method: str, **options: Any) -> tuple[Any, float]:
    """Compute rows that stay on the device; return them with the seconds of the device."""
    from nearfar.options import build_options
    from nearfar.registry import Workspace, registered

    variant = registered(method)
    answer = variant.run(
        graph, sources, build_options(variant.options, options, method), Workspace()
    )
    return answer.distances, answer.stats["device_seconds"]


def batch_entry(graph: Graph, count: int) -> dict[str, Any]:
    """Measure all pairs of one graph: the batch with and without lists, and its peers."""
    n = graph.n_vertices
    every = np.arange(n, dtype=np.int64)
    entry: dict[str, Any] = {"vertices": n, "edges": graph.n_edges, "sources": n}
    for key, lists in (("block_per_source", False), ("block_per_source lists", True)):
        options = {"lists": lists}
        samples = []
        for turn in range(count + 1):
            rows, seconds = device_run(graph, every, "block_per_source@cuda", **options)
            if turn:
                samples.append(seconds)
            else:
                check(graph, every, rows, 20)
            del rows
        entry[key] = {"samples": samples, "all_pairs_seconds": statistics.median(samples)}
    best = entry["block_per_source"]["all_pairs_seconds"]
    # Fastest heap of nearfar on one core of this host.
    some = np.random.default_rng(5).choice(n, min(n, 48), replace=False).astype(np.int64)
    heaps = {}
    for method in HEAPS:
        one = timed(lambda m=method: distances(graph, some, method=m, device="cpu", threads=1))
        heaps[method] = min(one() for _ in range(2)) * n / len(some)
    entry["heap_sampled_sources"] = len(some)
    entry["heaps_one_core_all_pairs_seconds"] = heaps
    entry["times_best_heap"] = min(heaps.values()) / best
    few = some[:24]
    for form in ("flag", "queue", "prefix"):
        device_run(graph, few[:1], f"johnson_{form}@cuda")
        rows, seconds = device_run(graph, few, f"johnson_{form}@cuda")
        check(graph, few, rows, 6)
        scaled = seconds * n / len(few)
        entry[f"johnson_{form}"] = {
            "sampled_sources": len(few),
            "all_pairs_seconds": scaled,
            "times_slower_than_block_per_source": scaled / best,
        }
    return entry


def road_entry() -> dict[str, Any]:
    """Measure 2,048 sources on New York's roads."""
    roads = load("newyork")
    sources = np.random.default_rng(3).choice(roads.n_vertices, 2048, replace=False)
    methods: dict[str, dict[str, list[float]]] = {}
    for factor in (4.0, 16.0, 64.0):
        options = {"delta": factor * roads.mean_weight}
        for _ in range(3):
            rows, seconds = device_run(roads, sources, "block_per_source_global@cuda", **options)
            name = f"block_per_source_global delta={factor}"
            found = methods.setdefault(name, {"ms_per_source": []})
            found["ms_per_source"].append(1e3 * seconds / len(sources))
        check(roads, sources, rows, 6)
        del rows
    rows, seconds = device_run(roads, sources[:256], "lanes@cuda")
    check(roads, sources[:256], rows, 6)
    methods["lanes"] = {"ms_per_source": [1e3 * seconds / 256]}
    return {"methods": methods}


def on_gpu(file: Path | None, names: list[str], count: int) -> None:
    """Measure the requested graphs, and keep rows that were measured before on this GPU."""
    from nearfar.system.devices import runtime

    rows = Rows(file, [*SNAP, ROADS])
    for name in names:
        found = road_entry() if name == ROADS else batch_entry(snap(name), count)
        print(name, json.dumps(found), flush=True)
        rows.add({"graph": name, **found}, device=runtime.device()._asdict(), rounds=count)


def on_cpu(file: Path | None, count: int) -> None:
    """Measure every task, and print the speed of each contender relative to SciPy."""
    where = environment()
    results = cpu_results(count)
    if file:
        write_result(file, {"environment": where, "rounds": count, "results": results})
    for task, lines in results.items():
        print(task)
        for name, value in lines.items():
            base = lines.get("scipy", {}).get("min")
            times = f", x{base / value['min']:.1f} of SciPy" if base else ""
            best = f"{value['median'] * 1e3:.1f} ms (best {value['min'] * 1e3:.1f})"
            print(f"  {name}: {best}{times}")


def main() -> None:
    """Measure, print and write."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("part", choices=["cpu", "cuda"])
    add_output(parser)
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--only", nargs="+", choices=[*SNAP, ROADS], default=[*SNAP, ROADS])
    given = parser.parse_args()
    file = given.output
    if given.part == "cpu":
        on_cpu(file, given.rounds)
    else:
        on_gpu(file, given.only, given.rounds)


if __name__ == "__main__":
    main()
