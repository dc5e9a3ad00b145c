"""Compare the CPU engine's variants with each other and with SciPy, and different values of delta.

    python benchmarks/cpu_variants.py -o FILE [--graphs grid,mesh] [--rounds 7]

All contenders alternate within a round, and all samples are kept: wall time, and processor time of
the whole process, which is meaningful even if other programs share the machine. Answers are
compared with SciPy's outside the timed region. Writes cpu_variants.json, which the page on the CPU
engine in docs/explanation quotes.
"""

from __future__ import annotations

import argparse
import json
import statistics
import time
from typing import TYPE_CHECKING, Any

import numpy as np

from nearfar import sssp
from nearfar.lab.bench.environment import environment
from nearfar.lab.bench.suite import SUITE, draw_sources, load
from result_file import add_output, write_result

if TYPE_CHECKING:
    from collections.abc import Callable

    from nearfar.graph.graph import Graph

FAST = [
    "delta_stepping",
    "dijkstra_dary_heap",
    "dijkstra_binary_heap",
    "dijkstra_radix_heap",
]
SLOW = ["dijkstra_pairing_heap", "dijkstra_fibonacci_heap", "dijkstra_relaxed_heap"]
FACTORS = [0.125, 0.25, 0.5, 1, 2, 4, 8, 16, 64]


def contenders(graph: Graph, source: int, slow: bool) -> dict[str, Callable[[], Any]]:
    """Return the contenders by name, each a function that solves once."""
    from scipy.sparse import csr_array
    from scipy.sparse.csgraph import dijkstra

    n = graph.n_vertices
    # astype() of a sparse array would sum parallel edges.
    data = graph.effective_weights.astype(np.float64)
    matrix = csr_array((data, graph.indices, graph.indptr), shape=(n, n))

    def ours(method: str, threads: int, **options: Any) -> Callable[[], Any]:
        return lambda: sssp(graph, source, method=method, threads=threads, **options).distances

    found: dict[str, Callable[[], Any]] = {"scipy": lambda: dijkstra(matrix, indices=source)}
    for method in FAST + (SLOW if slow else []):
        found[method] = ours(method, 1)
    for arity in (2, 8):
        found[f"dijkstra_dary_heap, arity {arity}"] = ours("dijkstra_dary_heap", 1, arity=arity)
    for threads in (1, 2):
        found[f"delta_stepping_parallel, {threads} threads"] = ours(
            "delta_stepping_parallel", threads
        )
        found[f"auto, {threads} threads"] = ours("auto", threads)
    return found


def deltas(graph: Graph, source: int) -> dict[str, Callable[[], Any]]:
    """Return delta-stepping with fixed widths around mean weight / mean degree."""
    base = graph.mean_weight / max(graph.mean_degree, 1.0)

    def fixed(width: float) -> Callable[[], Any]:
        return lambda: (
            sssp(graph, source, method="delta_stepping", delta=width, threads=1).distances
        )

    found = {f"delta x {factor:g}": fixed(base * factor) for factor in FACTORS}
    found["delta chosen"] = lambda: sssp(graph, source, method="delta_stepping").distances
    return found


def take_turns(solves: dict[str, Callable[[], Any]], rounds: int) -> dict[str, Any]:
    """Return milliseconds of each contender: ``rounds`` samples of wall and processor time."""
    wall: dict[str, list[float]] = {name: [] for name in solves}
    processor: dict[str, list[float]] = {name: [] for name in solves}
    for turn in range(rounds + 1):
        for name, solve in solves.items():
            began, used = time.perf_counter(), time.process_time()
            solve()
            if turn:  # the first round warms up
                wall[name].append(1e3 * (time.perf_counter() - began))
                processor[name].append(1e3 * (time.process_time() - used))
    return {
        name: {
            "median_ms": statistics.median(wall[name]),
            "min_ms": min(wall[name]),
            "processor_median_ms": statistics.median(processor[name]),
            "processor_min_ms": min(processor[name]),
            "wall_samples_ms": wall[name],
        }
        for name in solves
    }


def check(solves: dict[str, Callable[[], Any]]) -> None:
    """Raise an error unless all answers agree with SciPy's."""
    truth = solves["scipy"]()
    for name, solve in solves.items():
        got = np.asarray(solve())
        top = np.inf if got.dtype.kind == "f" else np.iinfo(got.dtype).max
        got = np.where(got == top, np.inf, got.astype(np.float64))
        if not np.allclose(got, truth, rtol=1e-12, atol=0):
            raise SystemExit(f"{name} disagrees with SciPy")


def main() -> None:
    """Run the suite and write the JSON."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    add_output(parser)
    parser.add_argument("--graphs", default=",".join(SUITE))
    parser.add_argument("--rounds", type=int, default=7)
    parser.add_argument("--no-slow", action="store_true", help="leave out the linked heaps")
    parser.add_argument("--no-deltas", action="store_true")
    given = parser.parse_args()
    path = given.output
    # Graphs measured by an earlier call stay, each with the environment it was measured in.
    kept = json.loads(path.read_text()) if path and path.is_file() else {"graphs": {}}
    results: dict[str, Any] = kept["graphs"]
    for name in given.graphs.split(","):
        graph = load(name)
        source = draw_sources(graph, 1, SUITE[name].source)[0]
        solves = contenders(graph, source, not given.no_slow)
        check(solves)
        entry = {
            "vertices": graph.n_vertices,
            "edges": graph.n_edges,
            "dtype": graph.weight_dtype.name,
            "source": source,
            "environment": environment(),
            "variants": take_turns(solves, given.rounds),
        }
        if not given.no_deltas:
            entry["deltas"] = take_turns(deltas(graph, source), max(3, given.rounds // 2))
        results[name] = entry
        base = entry["variants"]["scipy"]
        print(f"{name}: scipy {base['median_ms']:.2f} ms")
        for part in ("variants", "deltas"):
            for who, row in entry.get(part, {}).items():
                print(
                    f"  {who:36s} {row['median_ms']:9.2f} ms (min {row['min_ms']:.2f}, processor "
                    f"{row['processor_min_ms']:.2f})  scipy / this: median "
                    f"{base['median_ms'] / row['median_ms']:.2f}, min "
                    f"{base['min_ms'] / row['min_ms']:.2f}",
                    flush=True,
                )
        if path:
            write_result(path, {"graphs": results})


if __name__ == "__main__":
    main()
