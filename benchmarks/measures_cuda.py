"""Compare betweenness on a GPU with nearfar on CPU cores.

    python benchmarks/measures_cuda.py -o benchmarks/results/measures_cuda.json [--rounds 5]

The graphs are those of measures.py; contenders alternate in one process, and every answer is
compared. Cores and the GPU solve the same sources; then the GPU solves all sources of the graph
(4,096 of New York's roads), which fill it. Times are those of a whole call with the graph on the
device; the first call, which compiles and copies, is recorded separately. Writes measures_cuda.json
with all samples after every graph; other rows are kept, each with its environment.
"""

from __future__ import annotations

import argparse
import sys
import time
from typing import TYPE_CHECKING, Any

import numpy as np

from measures import GRAPHS, PATIENCE, ROUNDS, weighted
from nearfar.measures import betweenness
from nearfar.system.threads import default_threads
from result_file import Rows, add_output
from turns import line, take_turns

if TYPE_CHECKING:
    from collections.abc import Callable

    from nearfar import Graph

#: Number of sources in the comparison, large enough that fixed costs of a call hardly matter.
SOURCES = {"p2p-Gnutella08": 1024, "loc-brightkite": 256, "New York roads": 64}
MOST = 60_000  # maximum number of vertices for which all sources are solved
LARGE = 4096  # number of sources of larger graphs


def close(a: Any, b: Any) -> bool:
    return bool(np.allclose(a, b, rtol=1e-12, atol=0))


def rows_of(name: str, kind: str, graph: Graph, rounds: int, edges: bool) -> list[dict[str, Any]]:
    """Measure some sources on one core, all cores and the GPU; then many on the GPU."""
    n = graph.n_vertices
    order = np.random.default_rng(1).permutation(n)
    some = np.sort(order[: SOURCES.get(name, 128)])
    many = np.sort(order[: n if n <= MOST else LARGE])
    how: dict[str, Any] = {"normalized": False, "edges": edges}
    began = time.perf_counter()
    betweenness(graph, some, device="cuda", **how)
    first_call = time.perf_counter() - began
    threads = default_threads()
    contenders: dict[str, Callable[[], Any]] = {
        "cuda": lambda: betweenness(graph, some, device="cuda", **how),
        "one core": lambda: betweenness(graph, some, device="cpu", threads=1, **how),
        f"{threads} cores": lambda: betweenness(graph, some, device="cpu", threads=threads, **how),
    }
    what = f"{name}, {kind}{', of edges' if edges else ''}"
    facts = {"vertices": n, "edges": graph.n_edges, "first_call_seconds": first_call}
    samples = take_turns(contenders, rounds, close, PATIENCE)
    found = [line(what, "cuda", samples, sources=len(some), **facts)]
    alone = {"cuda": lambda: betweenness(graph, many, device="cuda", **how)}
    first = alone["cuda"]()
    repeated = take_turns(alone, rounds, close, PATIENCE)
    if not (alone["cuda"]() == first).all():
        raise SystemExit(f"{what}: two runs differ")
    whole = line(f"{what}, {len(many)} sources", "cuda", repeated, sources=len(many), **facts)
    per_core = found[0]["median_seconds"]["one core"] / len(some)
    whole["core_seconds_per_source"] = per_core
    whole["times_of_one_core"] = per_core * len(many) / whole["median_seconds"]["cuda"]
    print(f"    one core takes {whole['times_of_one_core']:.0f} times as long per source")
    return [*found, whole]


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    add_output(parser)
    parser.add_argument("--rounds", type=int, default=ROUNDS)
    parser.add_argument("--only", nargs="+", choices=[name for name, _, _ in GRAPHS])
    options = parser.parse_args()
    file = options.output
    kept = Rows(file, [], by="what", under="rows")
    for name, make, _ in GRAPHS:
        if options.only and name not in options.only:
            continue
        graph = make().without_names()
        for kind, solved in (
            ("unweighted", graph.without_weights()),
            ("weighted", weighted(graph)),
        ):
            social = name == "loc-brightkite" and kind == "unweighted"
            for edges in (False, True) if social else (False,):
                for row in rows_of(name, kind, solved, options.rounds, edges):
                    kept.add(row)
    return 0


if __name__ == "__main__":
    sys.exit(main())
