"""How good the automatic choice is for many sources: ``auto`` against what else might be taken.

    python benchmarks/choose_batches.py -o benchmarks/results/choose_batches.json

Whole rows of some sources on one core, for meshes, grids, roads and small worlds of 1,000 to
264,346 vertices and weights of three dtypes. ``auto`` and the three methods that it holds to be the
cheapest take turns, each on a graph made anew, so that nobody finds what another left. A sample is
processor time, since other programs may be at work, and the least of the rounds counts. Rows are
compared with one another. Written graph by graph; a graph that is not run keeps its row.
"""

from __future__ import annotations

import argparse
import math
import sys
import time
from collections.abc import Callable
from typing import Any

import numpy as np

from all_pairs import snap
from nearfar.choose.ranking import rank
from nearfar.generators import generate
from nearfar.graph.graph import Graph
from nearfar.lab.bench.report import milliseconds, table
from nearfar.lab.bench.suite import load
from nearfar.registry import Request
from nearfar.solve.many import distances
from result_file import add_output
from row_by_row import Rows

DTYPES = ("int32", "float32", "float64")
SOURCES = 128
GRAPHS: dict[str, Callable[[], Graph]] = {
    **{
        f"delaunay-{n}": lambda n=n: generate("delaunay", vertices=n)
        for n in (1000, 5000, 20_000, 80_000)
    },
    **{f"grid-{r}": lambda r=r: generate("grid", rows=r, columns=r) for r in (40, 100, 200, 400)},
    **{
        f"roads-{n}": lambda n=n: generate("road_like", vertices=n) for n in (2000, 20_000, 100_000)
    },
    **{
        f"random-{n}": lambda n=n: generate("uniform_random", vertices=n, degree=8)
        for n in (2000, 20_000, 60_000)
    },
    "random-20000-thin": lambda: generate("uniform_random", vertices=20_000, degree=3),
    **{f"kronecker-{s}": lambda s=s: generate("kronecker", scale=s) for s in (10, 13, 15)},
    **{
        name: lambda name=name: snap(name)
        for name in ("p2p-Gnutella08", "p2p-Gnutella30", "loc-brightkite")
    },
    "newyork": lambda: load("newyork"),
}


def judge(graph: Graph, dtype: str, rounds: int) -> dict[str, Any]:
    """``auto`` and its three cheapest in turns."""
    weights = graph.effective_weights
    if dtype == "int32" and weights.dtype.kind == "f":  # so that they differ when they are whole
        weights = np.ceil(weights * (1000 / weights.max()))
    graph = Graph.from_csr(graph.indptr, graph.indices, weights.astype(dtype))
    able = np.flatnonzero(graph.degrees)
    sources = np.random.default_rng(1).choice(able, SOURCES)
    request = Request(problem="batch", n_sources=SOURCES, device="cpu", threads=1)
    contenders = ["auto", *(choice.variant.id for choice in rank(graph, request)[:3])]
    out = np.empty((SOURCES, graph.n_vertices), graph.weight_dtype)
    samples: dict[str, list[float]] = {who: [] for who in contenders}
    seen, stats, wrong = None, {}, []
    for turn in range(rounds):
        shift = turn % len(contenders)
        for who in contenders[shift:] + contenders[:shift]:
            fresh = Graph.from_csr(graph.indptr, graph.indices, graph.weights)
            began = time.process_time()
            distances(fresh, sources, method=who, device="cpu", threads=1, out=out, stats=stats)
            samples[who].append(time.process_time() - began)
            if who == "auto":
                chosen = stats["engine"]
            seen = out.sum(axis=1, dtype=np.float64) if seen is None else seen
            if not np.array_equal(seen, out.sum(axis=1, dtype=np.float64)):
                wrong.append(who)
    least = {who: min(times) for who, times in samples.items() if who != "auto"}
    best = min(least, key=lambda who: least[who])
    return {
        "chosen": chosen,
        "best": best,
        "chosen_over_best": least.get(chosen, min(samples["auto"])) / least[best],
        "auto_over_best": min(samples["auto"]) / least[best],
        "wrong": wrong,
        "samples": samples,
    }


def main() -> int:
    """Judge the chosen graphs, print, write."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    add_output(parser)
    parser.add_argument("--graphs", nargs="+", choices=GRAPHS, default=list(GRAPHS))
    parser.add_argument("--rounds", type=int, default=3)
    args = parser.parse_args()
    rows = Rows(args.output, list(GRAPHS))
    measured = []
    for name in args.graphs:
        graph = GRAPHS[name]()
        dtypes = {dtype: judge(graph, dtype, args.rounds) for dtype in DTYPES}
        row = {"graph": name, "n": graph.n_vertices, "m": graph.n_edges, "dtypes": dtypes}
        rows.add(row, settings={"sources": SOURCES, "threads": 1, "rounds": args.rounds})
        measured.append(row)
        words = "; ".join(f"{d} {one['auto_over_best']:.2f}" for d, one in dtypes.items())
        print(f"{name}: {words}", flush=True)
    lines = [
        [row["graph"], dtype, one["chosen"], one["best"], f"{one['auto_over_best']:.3f}",
         milliseconds(min(one["samples"]["auto"]))]
        for row in measured
        for dtype, one in row["dtypes"].items()
    ]  # fmt: skip
    head = ["graph", "weights", "auto takes", "fastest", "auto / fastest", "ms"]
    print("\n".join(table(head, lines)))
    ratios = [one["auto_over_best"] for row in measured for one in row["dtypes"].values()]
    mean = math.exp(sum(map(math.log, ratios)) / len(ratios))
    print(f"\nGeometric mean {mean:.3f}, worst {max(ratios):.3f}.")
    return int(any(one["wrong"] for row in measured for one in row["dtypes"].values()))


if __name__ == "__main__":
    sys.exit(main())
