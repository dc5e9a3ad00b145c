"""Measure the automatic choice for many sources: ``auto`` against the alternatives.

    python benchmarks/choose_batches.py -o benchmarks/results/choose_batches.json

Whole rows of some sources on one core, for meshes, grids, roads and small worlds of 1,000 to
264,346 vertices and weights of three dtypes. ``auto`` and the three methods that it estimates as
the cheapest alternate, each on a new copy of the graph, so that no method uses data that another
one cached. A sample is processor time, since other programs may run, and the least of the rounds
counts. Rows are compared with each other. The file is written after each graph; rows of other
graphs are kept.

It also covers cases of former bad choices: weights over six and nine decades, 512 sources of
meshes, and rows of a prepared road network within a limit or to few targets, for which a search
that stops early may be faster than a sweep over all arcs. That graph is prepared once; cached
choices are dropped.
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
from nearfar.errors import VariantUnavailable
from nearfar.generators import generate
from nearfar.graph.graph import Graph
from nearfar.lab.bench.report import milliseconds, table
from nearfar.lab.bench.suite import load
from nearfar.prepared.prepare import prepare
from nearfar.prepared.prepared import Prepared
from nearfar.registry import CHOICES, Request
from nearfar.solve.many import distances
from result_file import Rows, add_output

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
    **{
        f"{kind}-{decades}-decades": lambda kind=kind, decades=decades: uneven(kind, decades)
        for kind in ("delaunay", "random", "kronecker")
        for decades in (6, 9)
    },
    "delaunay-20000-512": lambda: generate("delaunay", vertices=20_000),
    "cube-27-512": lambda: cube(27),
}
#: Requests on New York's roads, prepared: vertices within the limit of a source, or targets.
BOUNDED = {
    "prepared-within-2000": {"within": 2000},
    "prepared-within-40000": {"within": 40_000},
    "prepared-10-near-targets": {"targets": 10, "near": True},
    "prepared-10-far-targets": {"targets": 10, "near": False},
}


def uneven(kind: str, decades: int) -> Graph:
    """Return a graph with log-uniform weights over a number of decades, from 1 up."""
    graph = {
        "delaunay": lambda: generate("delaunay", vertices=20_000),
        "random": lambda: generate("uniform_random", vertices=20_000, degree=8),
        "kronecker": lambda: generate("kronecker", scale=13),
    }[kind]()
    weights = 10 ** (decades * np.random.default_rng(2).random(graph.n_edges))
    return Graph.from_csr(graph.indptr, graph.indices, np.ceil(weights))


def cube(side: int) -> Graph:
    """Return a mesh in three dimensions with weights from 1 to 1,000."""
    at = np.arange(side**3).reshape(side, side, side)
    ends = [(at.take(range(side - 1), axis), at.take(range(1, side), axis)) for axis in range(3)]
    tails, heads = (np.concatenate([end[i].ravel() for end in ends]) for i in (0, 1))
    weights = np.random.default_rng(2).integers(1, 1001, len(tails)).astype(np.float64)
    return Graph.from_edges(tails, heads, weights, directed=False)


def judge(graph: Graph, dtype: str, rounds: int, count: int) -> dict[str, Any]:
    """Measure ``auto`` and its three cheapest methods, in alternation."""
    weights = graph.effective_weights
    # scale to keep weights distinct
    if dtype == "int32" and weights.dtype.kind == "f" and weights.max() <= 1000:
        weights = np.ceil(weights * (1000 / weights.max()))
    graph = Graph.from_csr(graph.indptr, graph.indices, weights.astype(dtype))
    able = np.flatnonzero(graph.degrees)
    sources = np.random.default_rng(1).choice(able, count)
    request = Request(problem="batch", n_sources=count, device="cpu", threads=1)
    contenders = ["auto", *(choice.variant.id for choice in rank(graph, request)[:3])]
    out = np.empty((count, graph.n_vertices), graph.weight_dtype)

    def solve(who: str, stats: dict[str, Any]) -> Any:
        fresh = Graph.from_csr(graph.indptr, graph.indices, graph.weights)
        began = time.process_time()
        distances(fresh, sources, method=who, device="cpu", threads=1, out=out, stats=stats)
        return time.process_time() - began, out.sum(axis=1, dtype=np.float64)

    return in_turns(contenders, rounds, solve)


def judge_bounded(graph: Prepared, rounds: int, within: int = 0, targets: int = 0,
                  near: bool = False) -> dict[str, Any]:  # fmt: skip
    """Measure ``auto``, a sweep over all arcs and searches on a prepared graph, in alternation."""
    rng = np.random.default_rng(1)
    centre = int(rng.integers(graph.n_vertices))
    far = distances(graph, [centre], device="cpu")[0]
    order = np.argsort(far)
    given: dict[str, Any] = {}
    if within:
        given = {"limit": far[order[within]].item(), "reduce": "count"}
        sources = rng.choice(graph.n_vertices, SOURCES, replace=False)
    else:
        ends = order[: 20 * SOURCES] if near else order
        given = {"targets": rng.choice(ends, targets)}
        sources = rng.choice(ends, SOURCES, replace=False)

    def solve(who: str, stats: dict[str, Any]) -> Any:
        CHOICES.drop(graph)
        began = time.process_time()
        found = distances(graph, sources, method=who, device="cpu", threads=1, stats=stats, **given)
        took = time.process_time() - began
        return took, found if within else found.sum(axis=1, dtype=np.float64)

    searches = ["worker_per_source@cpu", "elimination_tree_rows@cpu"]
    return in_turns(["auto", *searches, *(["bounded@cpu"] if within else [])], rounds, solve)


def in_turns(contenders: list[str], rounds: int, solve: Callable[..., Any]) -> dict[str, Any]:
    """Return the seconds of each contender and the choice of ``auto``; compare their results."""
    samples: dict[str, list[float]] = {who: [] for who in contenders}
    seen, stats, wrong = None, {}, []
    for turn in range(rounds):
        shift = turn % len(contenders)
        for who in contenders[shift:] + contenders[:shift]:
            if who not in samples:
                continue
            try:
                took, found = solve(who, stats)
            except VariantUnavailable:  # found the graph unsuitable during the run
                del samples[who]
                continue
            samples[who].append(took)
            if who == "auto":
                chosen = stats["engine"]
            seen = found if seen is None else seen
            if not np.array_equal(seen, found):
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
    """Measure the chosen graphs, print and write."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    add_output(parser)
    names = [*GRAPHS, *BOUNDED]
    parser.add_argument("--graphs", nargs="+", choices=names, default=names)
    parser.add_argument("--rounds", type=int, default=3)
    args = parser.parse_args()
    rows = Rows(args.output, names)
    measured = []
    for name in args.graphs:
        if name in BOUNDED:
            graph = load("newyork")
            dtypes = {
                dtype: judge_bounded(prepare(graph.astype(dtype)), args.rounds, **BOUNDED[name])
                for dtype in DTYPES
            }
        else:
            graph, count = GRAPHS[name](), 512 if name.endswith("-512") else SOURCES
            dtypes = {dtype: judge(graph, dtype, args.rounds, count) for dtype in DTYPES}
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
