"""Measure preparing inside a call: sources from which it pays, and the choice of `auto`.

``python benchmarks/prepare_first.py -o benchmarks/results/prepare_first.json`` uses the graphs of
``prepared.py`` and, for increasing numbers of sources, alternates one search per source,
``prepare_first`` on a fresh graph and ``auto`` on a fresh graph, with one worker and with all
cores. Rows are reduced to their maximum, block by block, so that memory does not limit the number
of sources. The seconds estimated by the cost functions are recorded as well, and ``nearest(k=)`` on
the prepared and on the plain graph is measured. Answers are compared outside the timed part.
"""

from __future__ import annotations

import argparse
import sys
import time
from typing import Any

import numpy as np

import nearfar
from nearfar import Graph
from nearfar.choose.ranking import explain
from nearfar.lab.bench.environment import environment
from nearfar.system.threads import default_threads
from prepared import GRAPHS, scaled
from result_file import add_output, write_result

COUNTS = (64, 128, 256, 512, 1024, 2048, 4096, 8192)
SEARCH, FIRST = "worker_per_source", "prepare_first"


def fresh(graph: Graph) -> Graph:
    """Return the same graph without cached data except for the packed edges."""
    graph.forget()
    return graph


def timed(graph: Graph, sources: Any, threads: int, method: str) -> tuple[float, Any, str]:
    """Return seconds, answer and engine of one call."""
    stats: dict[str, Any] = {}
    began = time.perf_counter()
    found = nearfar.distances(
        graph, sources, method=method, device="cpu", threads=threads, stats=stats, reduce="max"
    )
    return time.perf_counter() - began, found, stats["engine"]


def stated(graph: Graph, count: int, threads: int) -> dict[str, float]:
    """Return the estimated seconds of the search and of preparing."""
    found = explain(graph, problem="batch", n_sources=count, device="cpu", threads=threads)
    ids = (f"{SEARCH}@cpu", f"{FIRST}@cpu")
    return {c.variant.id: c.seconds for c in found.ranking if c.variant.id in ids}


def sweep(graph: Graph, threads: int, rounds: int, most: float) -> list[dict[str, Any]]:
    """Return a row per number of sources, until a search takes longer than ``most`` seconds."""
    found: list[dict[str, Any]] = []
    rng = np.random.default_rng(0)
    timed(graph, rng.integers(0, graph.n_vertices, 16), threads, SEARCH)  # packs the edges
    for count in COUNTS:
        sources = rng.integers(0, graph.n_vertices, count)
        samples: dict[str, list[float]] = {SEARCH: [], FIRST: [], "auto": []}
        answers, engine = {}, ""
        for _ in range(rounds):
            for method, list_ in samples.items():
                seconds, answers[method], ran = timed(fresh(graph), sources, threads, method)
                list_.append(seconds)
                engine = ran if method == "auto" else engine
        assert (answers[FIRST] == answers[SEARCH]).all()
        assert (answers["auto"] == answers[SEARCH]).all()
        best = min(min(samples[SEARCH]), min(samples[FIRST]))
        row = {
            "sources": count,
            "seconds": samples,
            "stated": stated(fresh(graph), count, threads),
            "auto_takes": engine,
            "auto_over_best": min(samples["auto"]) / best,
        }
        found.append(row)
        print(
            f"  {count:5} sources, {threads} workers: search {min(samples[SEARCH]):.2f} s, "
            f"prepare {min(samples[FIRST]):.2f} s, auto {min(samples['auto']):.2f} s ({engine}); "
            f"stated {', '.join(f'{s:.2f}' for s in row['stated'].values())}",
            flush=True,
        )
        if min(samples[SEARCH]) > most:
            break
    return found


def nearest(graph: Graph, rounds: int) -> list[dict[str, Any]]:
    """Return the seconds of the k nearest of some places, on the prepared and the plain graph."""
    ready = nearfar.prepare(graph)
    rng = np.random.default_rng(1)
    found: list[dict[str, Any]] = []
    for count in (10, 1000, 10_000):
        places = rng.integers(0, graph.n_vertices, count)
        for k in (1, 5):
            samples: dict[str, list[float]] = {"prepared": [], "plain": []}
            for _ in range(rounds):
                for name, served in (("prepared", ready), ("plain", graph)):
                    began = time.perf_counter()
                    nearfar.nearest(served, places, k=k)
                    samples[name].append(time.perf_counter() - began)
            found.append({"places": count, "k": k, "seconds": samples})
            shown = ", ".join(f"{name} {min(s) * 1e3:.0f} ms" for name, s in samples.items())
            print(f"  {k} nearest of {count}: {shown}", flush=True)
    return found


def main() -> int:
    """Measure and write."""
    parser = argparse.ArgumentParser(description=__doc__)
    add_output(parser)
    parser.add_argument("--graphs", nargs="+", choices=list(GRAPHS), default=list(GRAPHS))
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--most", type=float, default=20.0, help="seconds of a search to stop at")
    args = parser.parse_args()
    results: dict[str, Any] = {}
    for name in args.graphs:
        graph = scaled(GRAPHS[name]())
        print(f"{name}: {graph}", flush=True)
        results[name] = {
            str(threads): sweep(graph, threads, args.rounds, args.most)
            for threads in sorted({1, default_threads()})
        }
        results[name]["nearest"] = nearest(fresh(graph), args.rounds)
    if args.output is not None:
        write_result(args.output, {"environment": environment(), "graphs": results})
    return 0


if __name__ == "__main__":
    sys.exit(main())
