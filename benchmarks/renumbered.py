"""Measure what other numbers for the vertices gain, which bring neighbours close in memory.

``python benchmarks/renumbered.py -o benchmarks/results/renumbered.json``. Graphs of
``zoo_graphs.py``, each as given and renumbered whatever it gains, in turns by the wall clock, least
of the rounds: one source by number of threads, and many sources. Times include the conversion of
the answer to the given order; answers are compared. ``auto`` says after how many searches with the
most threads the numbers were sought, how long that search took, and whether they were kept.
"""

from __future__ import annotations

import argparse
import sys
import time
from collections.abc import Callable
from typing import Any

import numpy as np

import nearfar
from nearfar.graph.graph import Graph
from nearfar.graph.same_distances import renumbered
from nearfar.lab.bench.suite import draw_sources
from result_file import Rows, add_output
from zoo_graphs import add_graphs, made

GRAPHS = [
    *("delaunay", "neighbours-2d", "neighbours-3d", "geometric-8", "solid-delaunay", "tree"),
    *("tree-heap", "maze", "planar-6", "solid-14", "star-rings", "power-2.1", "random-6"),
]
MANY = 4  # sources per thread
SEARCHES = 50  # by `auto`


def in_turns(
    graph: Graph, other: renumbered.Renumbered, sources: Any, threads: int, rounds: int
) -> dict[str, float]:
    """Return least milliseconds with the given and with the other numbers."""
    how: dict[str, Any] = {"device": "cpu", "threads": threads}
    one = np.ndim(sources) == 0

    def search(searched: Graph, sources: Any) -> Any:
        if one:
            return nearfar.sssp(searched, int(sources), **how).distances
        return nearfar.distances(searched, sources, method="worker_per_source", **how)

    calls: dict[str, Callable[[], Any]] = {
        "given": lambda: search(graph, sources),
        "renumbered": lambda: other.as_given(search(other.graph, other.place[sources]), threads),
    }
    best = dict.fromkeys(calls, float("inf"))
    for _ in range(rounds):
        found = []
        for name, call in calls.items():
            began = time.perf_counter()
            found.append(call())
            best[name] = min(best[name], 1e3 * (time.perf_counter() - began))
        if not np.array_equal(*found):
            raise SystemExit("the answers differ")
    return best


def automatic(graph: Graph, sources: list[int], threads: int) -> dict[str, Any]:
    """Return when repeated searches of a graph sought numbers, and whether they kept them."""
    times, seen = [], []
    for turn in range(SEARCHES):
        began = time.perf_counter()
        paths = nearfar.sssp(graph, sources[turn % 2], device="cpu", threads=threads)
        times.append(1e3 * (time.perf_counter() - began))
        seen.append("vertices renumbered" in paths.reason)
    sought = seen.index(True) if any(seen) else None
    took = None if sought is None else times[sought]
    return {"sought_after": sought, "seeking_ms": took, "kept": seen[-1], "least_ms": min(times)}


def measure(graph: Graph, threads: list[int], rounds: int) -> dict[str, Any]:
    """Return the figures of a graph."""
    sources = draw_sources(graph, 2)
    fresh = Graph(graph.indptr, graph.indices, graph.effective_weights, directed=graph.directed)
    auto = automatic(fresh, sources, max(threads))
    limits = renumbered.MANY_EDGES, renumbered._CLOSE, renumbered._CLOSER
    renumbered._CLOSE, renumbered._CLOSER = -1.0, 99.0
    found = renumbered._renumbered(graph, max(threads))
    renumbered.MANY_EDGES = 1 << 62  # the given graph keeps its numbers
    one = {str(n): in_turns(graph, found, np.int64(sources[0]), n, rounds) for n in threads}
    many = np.resize(np.asarray(sources), MANY * max(threads))
    many = (many + np.arange(len(many)) * 7919) % graph.n_vertices
    rows = in_turns(graph, found, many, max(threads), 2)
    renumbered.MANY_EDGES, renumbered._CLOSE, renumbered._CLOSER = limits
    apart = {
        name: renumbered._apart(g.tails(), g.indices)
        for name, g in (("given", graph), ("renumbered", found.graph))
    }
    gain = {f"{n} threads": ms["renumbered"] / ms["given"] for n, ms in one.items()}
    size = {"n_vertices": graph.n_vertices, "n_edges": graph.n_edges, "apart": apart}
    ratio = {"relative": gain | {"many sources": rows["renumbered"] / rows["given"]}}
    return {**size, **ratio, "ms": one, "many_ms": rows, "auto": auto, "same_answer": True}


def main() -> int:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    add_output(parser)
    add_graphs(parser, GRAPHS)
    parser.add_argument("--threads", type=int, nargs="+", default=[1, 4, 16])
    parser.add_argument("--rounds", type=int, default=25)
    args = parser.parse_args()
    rows = Rows(args.output, GRAPHS)
    for name, graph in made(args.only, args.most):
        row = {"graph": name, **measure(graph, args.threads, args.rounds)}
        print(name, {k: round(v, 2) for k, v in row["relative"].items()}, row["auto"], flush=True)
        rows.add(row, schema="nearfar-renumbered/1")
    return 0


if __name__ == "__main__":
    sys.exit(main())
