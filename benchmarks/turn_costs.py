"""Measure turn costs: preparing a road map with turns, and queries compared with searches.

``python benchmarks/turn_costs.py USA-road-d.NY.gr.xz -o benchmarks/results/turn_costs.json`` uses
New York's roads and gives every turn a cost drawn once: 0 to 3,000, u-turns 20,000, and one turn in
fifty at a vertex of more than two edges is forbidden. It measures, with one worker, preparing
without and with turns, in the order by groups and in that of the original vertices; memory; new
weights; pairs, by walking and by a search that stops at its target; and a table. Contenders
alternate within a round; answers are compared with searches outside the timed part.
"""

from __future__ import annotations

import argparse
import time
from typing import Any

import numpy as np

import nearfar
from nearfar import Graph
from nearfar.graph.turns import TurnGraph
from nearfar.lab.bench.environment import environment
from nearfar.prepared.order.elimination import elimination_order, structure_of
from result_file import add_output, write_result
from turns import line, take_turns

PAIRS, SEARCHED, TABLE = 10_000, 20, 500


def with_drawn_turns(graph: Graph, seed: int = 1) -> TurnGraph:
    """Return costs of all turns; one in fifty is forbidden at vertices of more than two edges."""
    rng = np.random.default_rng(seed)
    tails, heads = graph.tails(np.int64), graph.indices.astype(np.int64)
    degrees = graph.degrees.astype(np.int64)[heads]
    into = np.repeat(np.arange(graph.n_edges), degrees)
    shift = np.arange(len(into)) - np.repeat(np.cumsum(degrees) - degrees, degrees)
    out = graph.indptr.astype(np.int64)[heads[into]] + shift
    back = heads[out] == tails[into]
    costs = np.where(back, 20_000, rng.integers(0, 3_001, len(into)))
    banned = (rng.random(len(into)) < 0.02) & (degrees[into] > 2)
    turns = list(zip(into.tolist(), out.tolist(), strict=True))
    return graph.with_turns(
        forbidden=[turns[i] for i in np.flatnonzero(banned)],
        costs={turns[i]: int(costs[i]) for i in np.flatnonzero(~banned)},
    )


def seconds(run: Any) -> tuple[float, Any]:
    """Run once; return the seconds and the result."""
    began = time.perf_counter()
    found = run()
    return time.perf_counter() - began, found


def main() -> None:
    """Measure and write."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("graph", help="road map, such as USA-road-d.NY.gr.xz")
    parser.add_argument(
        "--orders", action="store_true", help="also measure the order of the original vertices"
    )
    parser.add_argument("--rounds", type=int, default=5)
    add_output(parser)
    args = parser.parse_args()
    graph = nearfar.read(args.graph).without_names()
    made, turns = seconds(lambda: with_drawn_turns(graph))
    rng = np.random.default_rng(2)
    pairs = rng.integers(0, graph.n_vertices, (PAIRS, 2))
    results: list[dict[str, Any]] = []
    order, _ = elimination_order(structure_of(graph))
    given = {"without turns": (graph, "auto"), "with turns": (turns, "auto")}
    if args.orders:
        given["with turns, order of the original vertices"] = (turns, order)
    ready: dict[str, Any] = {}
    for name, (what, how) in given.items():
        took, prepared = seconds(lambda w=what, h=how: nearfar.prepare(w, h, threads=1, force=True))
        ready[name] = prepared
        inner = prepared.graph if isinstance(prepared, TurnGraph) else prepared
        figures = inner.preparation.figures
        row = {
            "what": f"prepare {name}",
            "seconds": took,
            "steps": inner.seconds,
            "n_vertices": inner.n_vertices,
            "n_edges": inner.n_edges,
            "n_arcs": figures.n_arcs,
            "n_triangles": figures.n_triangles,
            "height": figures.height,
            "nbytes": inner.nbytes,
        }
        print(row, flush=True)
        results.append(row)
    plain, prepared = ready["without turns"], ready["with turns"]

    def walked(p: Any) -> Any:
        return p.distances_of_pairs(pairs, 1)

    few = pairs[:SEARCHED].tolist()

    def searched() -> Any:
        return [nearfar.sssp(turns, s, targets=[t], threads=1).distance_to(t) for s, t in few]

    def walks() -> Any:
        return [prepared.distance(s, t) for s, t in few]

    same = lambda a, b: list(a) == list(b)  # noqa: E731
    anything = lambda a, b: True  # noqa: E731
    results.append(
        line(
            f"{SEARCHED} pairs one by one",
            "prepared",
            take_turns({"prepared": walks, "search": searched}, args.rounds, same),
        )
    )
    results.append(
        line(
            f"{PAIRS} pairs",
            "with turns",
            take_turns(
                {n: (lambda p=p: walked(p)) for n, p in ready.items()}, args.rounds, anything
            ),
        )
    )
    sources, targets = pairs[:TABLE, 0], pairs[:TABLE, 1]
    tables = {
        name: (lambda p=p: nearfar.distances(p, sources, targets=targets, threads=1))
        for name, p in {"with turns": prepared, "without turns": plain}.items()
    }
    results.append(
        line(
            f"table {TABLE}^2",
            "with turns",
            take_turns(tables, args.rounds, anything),
        )
    )
    rows = sources[:5]
    took, want = seconds(lambda: nearfar.distances(turns, rows, targets=targets, threads=1))
    found = nearfar.distances(prepared, rows, targets=targets, threads=1)
    if not np.array_equal(found, want):
        raise SystemExit("the table differs from searches")
    results.append({"what": "5 rows of the table by search", "seconds": took})
    weights = graph.effective_weights
    results.append(
        line(
            "new weights",
            "with turns",
            take_turns(
                {
                    "with turns": lambda: prepared.reweight(weights, 1),
                    "without turns": lambda: plain.reweight(weights, 1),
                },
                args.rounds,
                anything,
            ),
        )
    )
    about = {
        "turn_graph_seconds": made,
        "turns": {"n_vertices": turns.graph.n_vertices, "n_edges": turns.graph.n_edges},
    }
    write_result(args.output, {"environment": environment(), **about, "results": results})


if __name__ == "__main__":
    main()
