"""Measure the automatic choice for many sources on a machine with a GPU: ``auto`` against methods.

    python benchmarks/choose_batches_cuda.py -o benchmarks/results/choose_batches_cuda.json

Rows of 8 sources, and sums over the distances of 64, of graphs of the zoo on the host, as calls
from the start to the numbers on the host. Each method has a graph of its own, on which it is called
several times; the least time after the first call counts. ``auto`` is called until it has compared
methods: its first call, made after the kernels were compiled, and the median of its last five.
Answers are compared with those of the CPU. The file is written after each graph; rows of other
graphs are kept. The costs of ``lanes@cuda`` were fitted to the graphs of ``--half fitted``.
"""

from __future__ import annotations

import argparse
import statistics
import sys
import time
from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np

import nearfar
from nearfar.errors import VariantUnavailable
from nearfar.graph.graph import Graph
from nearfar.lab.bench.report import table
from nearfar.system.devices import compiler
from result_file import Rows, add_output
from zoo_graphs import made

FITTED = (
    *("communities-small", "around-small", "neighbours-16d", "geometric-small", "dense-half"),
    *("hyperbolic-small", "siblings", "modules", "power-2.1-small", "delaunay-floats"),
)
OTHERS = (
    *("burdened", "two-scales", "acyclic", "coins", "shuffled-small", "modules-small"),
    *("small-world-small", "regular-small", "two-sided", "knights-small", "timetable-small"),
    *("blobs-8d", "image-small", "attached-12", "banded-small", "bipartite-8"),
)
HALVES = {"fitted": FITTED, "reported": OTHERS}
ASKED: dict[str, tuple[int, dict[str, Any]]] = {
    "rows of 8 sources": (8, {}),
    "sums of 64 sources": (64, {"reduce": "sum"}),
}
BATCH = ("block_per_source", "block_per_source_global", "lanes", "near_far_per_source")
METHODS: dict[str, dict[str, Any]] = {
    "cores": {"device": "cpu"},
    **{name: {"method": f"{name}@cuda"} for name in BATCH},
}
CALLS, SECONDS = 7, 0.4  # of a method, after which it is not called again
SETTLED, SETTLING = 40, 1.0  # the same for auto
MOST = 300_000  # vertices


def fresh(graph: Graph) -> Graph:
    """Return a graph without cached data."""
    return Graph(graph.indptr, graph.indices, graph.effective_weights, directed=graph.directed)


def called(
    call: Callable[[Graph], Any],
    check: Callable[[Any], None],
    graph: Graph,
    most: int,
    seconds: float,
) -> list[float]:
    """Return the seconds of calls on a graph of their own, at least three, without the checks."""
    graph, taken = fresh(graph), list[float]()
    while len(taken) < most and (sum(taken) < seconds or len(taken) < 3):
        start = time.perf_counter()
        found = call(graph)
        taken.append(time.perf_counter() - start)
        check(found)
        compiler.finish_background()  # what later calls use
    return taken


def measure(graph: Graph, what: str) -> dict[str, Any]:
    """Measure all methods and ``auto`` for one kind of request."""
    count, more = ASKED[what]
    sources = np.random.default_rng(3).choice(graph.n_vertices, count, replace=False)
    wanted = nearfar.distances(graph, sources, device="cpu", **more)
    stats: dict[str, Any] = {}
    wrong: list[str] = []

    def call(graph: Graph, **how: Any) -> Any:
        return nearfar.distances(graph, sources, stats=stats, **more, **how)

    def check(found: Any) -> None:
        if not np.allclose(found, wanted, rtol=1e-9):  # sums are added in another order
            wrong.append(stats["engine"])

    least: dict[str, float] = {}
    for name, how in METHODS.items():
        try:
            taken = called(partial(call, **how), check, graph, CALLS, SECONDS)
        except VariantUnavailable:
            continue
        least[name] = min(taken[1:])
    for _ in range(9):  # compiles the kernels of auto's choice
        call(fresh(graph))
        compiler.finish_background()
    taken = called(call, check, graph, SETTLED, SETTLING)
    best = min(least, key=lambda name: least[name])
    later = statistics.median(taken[-5:])
    return {
        "what": what,
        "least_seconds": least,
        "first_seconds": taken[0],
        "later_seconds": later,
        "calls": len(taken),
        "chosen": stats["engine"],
        "best": best,
        "first_over_best": taken[0] / least[best],
        "later_over_best": later / least[best],
        "wrong": wrong,
    }


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    add_output(parser)
    parser.add_argument("--half", choices=HALVES, help="only these graphs")
    parser.add_argument("--only", nargs="+", metavar="GRAPH", choices=FITTED + OTHERS)
    args = parser.parse_args()
    names = args.only or (HALVES[args.half] if args.half else FITTED + OTHERS)
    rows, lines, wrong = Rows(args.output, FITTED + OTHERS), [], 0
    for name, graph in made(list(names), MOST):
        parts = [measure(graph, what) for what in ASKED]
        wrong += sum(len(part["wrong"]) for part in parts)
        rows.add(
            {
                "graph": name,
                "half": "fitted" if name in FITTED else "reported",
                "n": graph.n_vertices,
                "m": graph.n_edges,
                "dtype": str(graph.weight_dtype),
                "rows": parts,
            }
        )
        for part in parts:
            ratios = (f"{part[f'{when}_over_best']:.2f}" for when in ("first", "later"))
            lines.append([name, part["what"], part["chosen"], part["best"], *ratios])
            print(*lines[-1], part["wrong"], part["least_seconds"], file=sys.stderr, flush=True)
    print("\n".join(table(["graph", "asked", "chosen", "best", "first", "later"], lines)))
    return int(wrong > 0)


if __name__ == "__main__":
    sys.exit(main())
