"""Measure what searches gain without the edges that are longer than another path.

``python benchmarks/backbone.py -o benchmarks/results/backbone.json``. Graphs of ``zoo_graphs.py``,
each with all edges and without the longer ones, in turns: whole calls by the wall clock with each
number of threads, from one source and from many, and with ``--cuda`` the device time of one source.
Medians of the last third of the rounds, when methods and widths have been compared; answers are
compared. ``seconds`` is the time of a first search and of leaving out edges by a pivot together,
with the most threads, and ``after`` the number of searches by ``auto`` before that. The same for
short searches from each vertex, where a sample shows that they find many edges.
"""

from __future__ import annotations

import argparse
import statistics
import sys
import time
from typing import Any

import numpy as np

import nearfar
from nearfar.cuda.graph import longer_edges
from nearfar.graph.graph import Graph
from nearfar.graph.same_distances import backbone
from nearfar.graph.same_distances.integer_weights import in_int32
from nearfar.lab.bench.suite import draw_sources
from nearfar.solve.steps.plan import search_once
from nearfar.system.devices import compiler, runtime
from result_file import Rows, add_output
from zoo_graphs import ZOO, add_graphs, made

GRAPHS = [
    *("power-2.1", "attached-5", "kronecker-floats", "bipartite-hubs", "random-log", "planar-8"),
    *("random-wide", "communities-small", "dense-half", "star-ring", "delaunay", "cliques"),
    *("geometric-small", "small-world-small"),
]
MANY = 4  # sources per thread
SEARCHES = 40  # by `auto`


def in_turns(graphs: dict[str, Graph], sources: Any, rounds: int, **how: Any) -> dict[str, float]:
    """Return median milliseconds of settled searches of each graph."""
    taken: dict[str, list[float]] = {name: [] for name in graphs}
    for _ in range(rounds):
        found = []
        for name, graph in graphs.items():
            began = time.perf_counter()
            if np.ndim(sources) == 0:
                paths = nearfar.sssp(graph, int(sources), **how)
                found.append(paths.distances)
            else:
                found.append(nearfar.distances(graph, sources, **how))
            seconds = time.perf_counter() - began
            if how["device"] == "cuda":
                seconds = paths.stats["device_seconds"]
                compiler.finish_background()
            taken[name].append(1e3 * seconds)
        if not all(np.array_equal(found[0], other) for other in found):
            raise SystemExit("the answers differ")
    return {name: statistics.median(ms[2 * rounds // 3 :]) for name, ms in taken.items()}


def fresh(graph: Graph) -> Graph:
    """Return a copy of a graph without anything that searches have learned."""
    return Graph(graph.indptr, graph.indices, graph.effective_weights, directed=graph.directed)


def as_solved(graph: Graph) -> Graph:
    """Return the graph with the weights that searches read."""
    return graph if graph.weight_dtype == np.int32 else in_int32(graph) or graph


def keep_edges(graph: Graph) -> Graph:
    """Let searches of a graph use all of its edges."""
    for one in (graph, as_solved(graph)):
        backbone.keep_all(one)
        if runtime.available() is True:
            longer_edges.keep_all(one)
    return graph


def measure(graph: Graph, args: argparse.Namespace) -> dict[str, Any]:
    """Return the figures of a graph."""
    (source,) = draw_sources(graph, 1)
    most = max(args.threads)
    learning, after = fresh(graph), None
    for turn in range(SEARCHES):
        reason = nearfar.sssp(learning, source, device="cpu", threads=most).reason
        if after is None and "longer than a path" in reason:
            after = turn
    seconds, shorter = {}, {}
    given = fresh(as_solved(graph))
    state = backbone._state(given)
    while state.step is not None:
        step, before = state.step, state.shorter
        began = time.perf_counter()
        backbone._advance(given, state, most, search_once)
        seconds[step] = time.perf_counter() - began
        if state.shorter is not before:
            shorter[step] = state.shorter
    size = {"n_vertices": graph.n_vertices, "n_edges": graph.n_edges}
    found = {**size, "directed": graph.directed, "dtype": str(graph.weight_dtype)}
    found |= {"seconds": seconds.get("pivot", 0.0), "after": after, "left": 1.0}
    found |= {"searches_seconds": seconds.get("searches"), "same_answer": True}
    graphs = {"all": keep_edges(fresh(graph))}
    for step, one in shorter.items():
        name = "left" if step == "pivot" else "left_by_searches"
        found[name] = one.n_edges / graph.n_edges
        same = one.weight_dtype == graph.weight_dtype
        graphs[step] = keep_edges(one if same else one.astype(graph.weight_dtype))
    if not shorter:
        return found
    how = [(f"{n} threads", {"device": "cpu", "threads": n}) for n in args.threads]
    if args.cuda:
        how.append(("GPU", {"device": "cuda"}))
    ms = {name: in_turns(graphs, source, args.rounds, **given) for name, given in how}
    many = (source + np.arange(MANY * most) * 7919) % graph.n_vertices
    ms["many sources"] = in_turns(graphs, many, 6, device="cpu", threads=most)
    for step, name in (("pivot", "relative"), ("searches", "relative_by_searches")):
        if step in shorter:
            found[name] = {kind: times[step] / times["all"] for kind, times in ms.items()}
    return {**found, "ms": ms}


def main() -> int:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    add_output(parser)
    add_graphs(parser, GRAPHS)
    parser.add_argument("--threads", type=int, nargs="+", default=[1, 4, 16])
    parser.add_argument("--rounds", type=int, default=45)
    parser.add_argument("--cuda", action="store_true", help="also on a GPU")
    args = parser.parse_args()
    rows = Rows(args.output, list(ZOO))
    for name, graph in made(args.only, args.most):
        row = {"graph": name, "half": ZOO[name].half, **measure(graph, args)}
        for name_of_left, times in (
            ("left", "relative"),
            ("left_by_searches", "relative_by_searches"),
        ):
            if name_of_left in row:
                gains = {k: round(v, 2) for k, v in row.get(times, {}).items()}
                print(name, name_of_left, f"{row[name_of_left]:.2f}", gains, flush=True)
        rows.add(row, schema="nearfar-backbone/1")
    return 0


if __name__ == "__main__":
    sys.exit(main())
