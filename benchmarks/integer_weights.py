"""Measure the gain of solving integer weights in int32 on the CPU, by dtype of the weights.

``python benchmarks/integer_weights.py -o benchmarks/results/integer_weights.json``. One source and
64 sources on one thread, in processor time, least of rounds in turns. ``auto`` solves integer
weights of other dtypes in int32; the same variant, requested by name, solves them as given. Both
answers are compared. ``first_ms`` is the first search of a graph, which converts and packs.
"""

from __future__ import annotations

import argparse
import sys
import time
from collections.abc import Callable
from typing import Any

import numpy as np

import nearfar
from nearfar.generators import generate
from nearfar.graph.graph import Graph
from result_file import Rows, add_output

GRAPHS: dict[str, Callable[[], Graph]] = {
    "road_like": lambda: generate("road_like", vertices=300_000),
    "grid": lambda: generate("grid", rows=700, columns=700),
    "kronecker": lambda: generate("kronecker", scale=16),
    "random": lambda: generate("uniform_random", vertices=1 << 17, degree=16),
}
TYPES = ("int32", "int64", "float32", "float64")
MANY = 64  # sources of a batch
SETTLING = 6  # searches after which methods and widths have mostly been compared


def with_weights(graph: Graph, dtype: str) -> Graph:
    """Return a new graph of the same edges with weights of a dtype."""
    weights = np.asarray(graph.weights).astype(dtype)
    return Graph.from_csr(graph.indptr, graph.indices, weights, directed=graph.directed)


def least(calls: dict[str, Callable[[], Any]], rounds: int) -> tuple[dict[str, float], Any]:
    """Return the least milliseconds of each call, and the last answers."""
    best = dict.fromkeys(calls, float("inf"))
    answers = {}
    for _ in range(rounds):
        for name, call in calls.items():
            began = time.process_time()
            answers[name] = call()
            best[name] = min(best[name], 1e3 * (time.process_time() - began))
    return best, answers


def of_dtype(graph: Graph, rounds: int) -> dict[str, Any]:
    """Return milliseconds of one and of many sources, as `auto` solves them and as given."""
    source, how = int(np.argmax(graph.degrees)), {"device": "cpu", "threads": 1}
    sources = np.arange(MANY) * (graph.n_vertices // MANY)
    began = time.process_time()
    method = nearfar.sssp(graph, source, **how).engine
    first = 1e3 * (time.process_time() - began)
    for _ in range(SETTLING):
        method = nearfar.sssp(graph, source, **how).engine
    stats: dict[str, Any] = {}
    nearfar.distances(graph, sources, **how, stats=stats)
    batch = stats["engine"]

    def one(**more: Any) -> Any:
        return nearfar.sssp(graph, source, **how, **more).distances

    def many(**more: Any) -> Any:
        return nearfar.distances(graph, sources, **how, **more)

    ms, found = least({"auto": one, "as given": lambda: one(method=method)}, rounds)
    more, rows = least({"auto": many, "as given": lambda: many(method=batch)}, rounds // 3 + 1)
    same = all(np.array_equal(*both.values()) for both in (found, rows))
    return {"first_ms": first, "ms": ms, "many_ms": more, "same_answer": same}


def measure(graph: Graph, rounds: int) -> dict[str, Any]:
    """Return the figures of every dtype."""
    found = {dtype: of_dtype(with_weights(graph, dtype), rounds) for dtype in TYPES}
    return {"dtypes": found, "same_answer": all(one["same_answer"] for one in found.values())}


def main() -> int:
    """Measure, print, write."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--rounds", type=int, default=9)
    parser.add_argument("--graphs", nargs="+", choices=GRAPHS, default=list(GRAPHS))
    add_output(parser)
    args = parser.parse_args()
    rows = Rows(args.output, list(GRAPHS))
    same = True
    for name in args.graphs:
        row = {"graph": name, **measure(GRAPHS[name](), args.rounds)}
        rows.add(row)
        same &= row["same_answer"]
        for dtype, one in row["dtypes"].items():
            text = ", ".join(
                f"{key} {one[key]['auto']:.2f} ({one[key]['as given']:.2f} as given)"
                for key in ("ms", "many_ms")
            )
            print(f"{name}, {dtype}: {text}", flush=True)
    return int(not same)


if __name__ == "__main__":
    sys.exit(main())
