"""Measure Python threads that solve on one graph at the same time: ``python_threads.py -o FILE``.

Each thread takes sources from one counter and solves with ``threads=1``; a sample is the wall time
until all are solved, by 1, 2, 4, 8, ... Python threads in alternation. Every distance array is
compared with that of a single thread, some of which are proven. The small graph shows the fixed
cost of a call, during which the interpreter lock admits one thread at a time.

For comparison, the same number of processes, each with one thread and its own graph, run at the
same time and share nothing.
"""

from __future__ import annotations

import argparse
import itertools
import json
import statistics
import subprocess
import sys
import sysconfig
import tempfile
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

import nearfar
from nearfar.system.threads import default_threads
from result_file import Rows, add_output
from turns import line, take_turns

if TYPE_CHECKING:
    from collections.abc import Callable

ROUNDS = 3
#: Name -> graph, whether it is prepared, and the number of solves in a sample.
CASES: dict[str, tuple[tuple[str, dict[str, Any]], bool, int]] = {
    "roads": (("road_like", {"vertices": 200_000}), False, 128),
    "random": (("uniform_random", {"vertices": 100_000, "degree": 8}), False, 128),
    "small": (("road_like", {"vertices": 3_000}), False, 4096),
    "prepared": (("road_like", {"vertices": 50_000}), True, 1024),
}


def solver(graph: nearfar.Graph, prepared: bool) -> Callable[[int], Any]:
    """Return the function that a thread calls with a source."""
    if prepared:
        made = nearfar.prepare(graph)
        return lambda source: nearfar.distances(made, [source], device="cpu", threads=1)[0]
    return lambda source: nearfar.sssp(graph, source, device="cpu", threads=1).distances


def together(solve: Callable[[int], Any], sources: list[int], threads: int) -> list[Any]:
    """Return the results of threads that start at the same time and share all sources."""
    found: list[Any] = [None] * len(sources)
    counter = itertools.count()

    def work() -> None:
        while (at := next(counter)) < len(sources):
            found[at] = solve(sources[at])

    with ThreadPoolExecutor(threads) as pool:
        for done in [pool.submit(work) for _ in range(threads)]:
            done.result()
    return found


def same(first: list[Any], found: list[Any]) -> bool:
    """Return whether two lists of rows are equal."""
    return all(np.array_equal(one, other) for one, other in zip(first, found, strict=True))


def processes(name: str, count: int) -> float:
    """Return median seconds of one thread, mean over processes that run at the same time."""
    with tempfile.TemporaryDirectory() as folder:
        files = [Path(folder) / f"{i}.json" for i in range(count)]
        command = [sys.executable, __file__, "--cases", name, "--most", "1", "--no-processes", "-o"]
        running = [
            subprocess.Popen([*command, str(file)], stdout=subprocess.DEVNULL) for file in files
        ]
        if any(process.wait() for process in running):
            raise SystemExit(f"{name}: a process failed")
        rows = [json.loads(file.read_text())["results"][0] for file in files]
    return statistics.mean(row["median_seconds"]["1"] for row in rows)


def measured(name: str, most: int) -> dict[str, Any]:
    """Measure one case with all numbers of threads."""
    (family, size), prepared, solves = CASES[name]
    graph = nearfar.generate(family, **size)
    solve = solver(graph, prepared)
    sources = np.random.default_rng(16).integers(0, graph.n_vertices, solves).tolist()
    for source in sources[:4]:
        paths = nearfar.sssp(graph, source)
        nearfar.verify(graph, paths)
        if not np.array_equal(paths.distances, solve(source)):
            raise SystemExit(f"{name}: distances from {source} are wrong")
    counts = [1 << power for power in range(most.bit_length())]
    ways = {
        str(threads): (lambda threads=threads: together(solve, sources, threads))
        for threads in counts
    }
    size = {"vertices": graph.n_vertices, "edges": graph.n_edges, "solves": solves}
    return line(name, "1", take_turns(ways, ROUNDS, same), **size, proven=True)


def main() -> int:
    """Measure the chosen cases and write them."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    add_output(parser)
    parser.add_argument("--cases", nargs="+", choices=list(CASES), default=list(CASES))
    parser.add_argument(
        "--most", type=int, default=default_threads(), help="maximum number of threads"
    )
    parser.add_argument("--no-processes", action="store_true", help="threads alone")
    args = parser.parse_args()
    free = bool(sysconfig.get_config_var("Py_GIL_DISABLED"))
    lock = getattr(sys, "_is_gil_enabled", lambda: True)()
    python = {"free_threaded": free, "interpreter_lock": lock}
    # Rows of a Python with the interpreter lock and of one without have different names.
    named = {name: name if lock else f"{name}, without the lock" for name in CASES}
    rows = Rows(args.output, [*CASES, *named.values()], by="what")
    for name in args.cases:
        row = {**measured(name, args.most), **python, "what": named[name]}
        if not args.no_processes:
            row["processes"] = args.most
            row["process_seconds"] = processes(name, args.most)
            # Work of all processes over the work of one process in the same time.
            row["processes_times"] = args.most * row["median_seconds"]["1"] / row["process_seconds"]
            print(f"{name}: {args.most} processes {row['processes_times']:.2f} times one")
        rows.add(row)
    return 0


if __name__ == "__main__":
    sys.exit(main())
