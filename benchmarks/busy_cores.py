"""Measure solves on several cores while other programs keep the cores busy.

    NEARFAR_DATA=... python benchmarks/busy_cores.py -o benchmarks/results/busy_cores.json

Rewrites busy_cores.json after each graph. Delta-stepping with one thread and with one thread per
core alternate, without load, with one busy loop, and with one busy loop per core; the loops are
processes of this script. A sample is the mean of consecutive solves, so that slow ones count; the
slowest solve of each sample is recorded as well. Every answer is compared with a proven one. The
machine should be idle otherwise.
"""

from __future__ import annotations

import argparse
import contextlib
import statistics
import subprocess
import sys
import time
from typing import TYPE_CHECKING, Any

import numpy as np

import nearfar
from nearfar.generators import generate
from nearfar.lab.bench.environment import environment
from nearfar.lab.bench.report import table
from nearfar.lab.bench.suite import data_folder, load
from nearfar.system.threads import default_threads
from result_file import add_output, write_result

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from nearfar.graph.graph import Graph


def graphs(names: list[str] | None) -> Iterator[tuple[str, Graph]]:
    """Return graphs with many short rounds, roads if available and a grid, and with few rounds."""
    makers: dict[str, Callable[[], Graph]] = {
        "random, 2^14 vertices": lambda: generate("uniform_random", vertices=1 << 14, degree=8),
        "grid, 128 x 128": lambda: generate("grid", rows=128, columns=128),
        "random, 2^20 vertices": lambda: generate("uniform_random", vertices=1 << 20, degree=8),
    }
    if data_folder() is not None:
        makers = {"newyork": lambda: load("newyork"), **makers}
    for name, make in makers.items():
        if not names or any(name.startswith(wanted) for wanted in names):
            yield name, make()


@contextlib.contextmanager
def busy(loops: int) -> Iterator[None]:
    """Run a number of busy loops while the block runs."""
    started = [subprocess.Popen([sys.executable, "-c", "while True: pass"]) for _ in range(loops)]
    try:
        if started:
            time.sleep(0.3)
        yield
    finally:
        for one in started:
            one.kill()
            one.wait()


def stretch(graph: Graph, truth: Any, threads: int, seconds: float) -> dict[str, Any]:
    """Solve repeatedly for a number of seconds, at least twice."""
    method = "delta_stepping" if threads == 1 else "delta_stepping_parallel"
    taken: list[float] = []
    while len(taken) < 2 or sum(taken) < seconds:
        began = time.perf_counter()
        paths = nearfar.sssp(graph, 0, device="cpu", method=method, threads=threads)
        taken.append(time.perf_counter() - began)
        if not np.array_equal(paths.distances, truth):
            raise SystemExit(f"{method} with {threads} threads gave a wrong answer")
    return {
        "solves": len(taken),
        "mean_ms": 1e3 * statistics.fmean(taken),
        "worst_ms": 1e3 * max(taken),
    }


def measure(name: str, graph: Graph, threads: int, rounds: int, seconds: float) -> dict[str, Any]:
    """Measure all loads with both numbers of threads, in alternation."""
    proven = nearfar.sssp(graph, 0, device="cpu", method="delta_stepping", threads=1)
    nearfar.verify(graph, proven)
    loads = sorted({0, 1, threads})
    rows: list[dict[str, Any]] = [
        {"busy_loops": loops, "threads": workers, "samples": []}
        for loops in loads
        for workers in (1, threads)
    ]
    for turn in range(rounds):
        for loops in loads:
            with busy(loops):
                here = [row for row in rows if row["busy_loops"] == loops]
                for row in here if turn % 2 == 0 else here[::-1]:
                    row["samples"].append(stretch(graph, proven.distances, row["threads"], seconds))
    for row in rows:
        row["mean_ms"] = statistics.median(sample["mean_ms"] for sample in row["samples"])
        row["worst_ms"] = max(sample["worst_ms"] for sample in row["samples"])
    return {
        "graph": name,
        "n_vertices": graph.n_vertices,
        "n_edges": graph.n_edges,
        "rounds_of_a_solve": int(proven.stats["iterations"]),
        "rows": rows,
    }


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    add_output(parser)
    parser.add_argument("--rounds", type=int, default=7)
    parser.add_argument("--seconds", type=float, default=0.5, help="of a stretch of solves")
    parser.add_argument("--threads", type=int, default=default_threads())
    parser.add_argument("--graphs", nargs="+", help="beginnings of their names")
    args = parser.parse_args()
    if args.threads < 2:
        raise SystemExit("one thread waits for no other: give --threads 2 or more")
    around = environment()
    found = []
    for name, graph in graphs(args.graphs):
        found.append(measure(name, graph, args.threads, args.rounds, args.seconds))
        lines = [
            [
                f"{name}, {row['busy_loops']} busy loops, {row['threads']} threads",
                f"{row['mean_ms']:.2f}",
                f"{row['worst_ms']:.1f}",
            ]
            for row in found[-1]["rows"]
        ]
        print("\n".join(table(["", "mean ms", "worst ms"], lines)), flush=True)
        if args.output:
            data = {"schema": "nearfar-busy-cores/1", "environment": around, "graphs": found}
            write_result(args.output, data)
    return 0


if __name__ == "__main__":
    sys.exit(main())
