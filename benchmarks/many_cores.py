"""Measure one source on 1, 2, 4, 8 and 16 threads, compared with GAP, Wasp and PASGAL.

    NEARFAR_DATA=... python benchmarks/many_cores.py -o benchmarks/results/many_cores.json

Rewrites many_cores.json after nearfar's rows of a graph and after each peer's, so that an
interrupted run keeps its results; without ``-o`` it only prints. With ``--only``, other graphs of
an existing file are kept if they have the same commit and processor, so that two runs can make one
file; each graph has the date of its measurement.

The peers are separate programs, found as described by their adapters in
``nearfar.lab.bench.peers``. GAP and Wasp use the best of six deltas with the most threads, and with
fewer threads the best of ``--deltas`` around it. A delta with a wrong answer is rejected, and a
peer without a right answer is "wrong" in the table. The Delaunay graph has float32 lengths, which
GAP does not support. Engines alternate within a round: every engine and number of threads solves
one source, then the next. Every answer of nearfar is compared with a proven one; GAP and Wasp
verify their own for the first source; PASGAL's distances are compared (to the six digits that it
writes for floats).

``--engines`` names the engines of nearfar: a method, and after a colon its options, such as
``auto delta_stepping_parallel:delta=500``.
"""

from __future__ import annotations

import argparse
import os
import statistics
import sys
import time
from typing import TYPE_CHECKING, Any

import numpy as np

import nearfar
from nearfar.generators import generate
from nearfar.lab.bench.measure import compare
from nearfar.lab.bench.peers import PEERS
from nearfar.lab.bench.peers.gap import Gap, WrongAnswer
from nearfar.lab.bench.report import table
from nearfar.lab.bench.suite import data_folder, draw_sources, load
from result_file import Rows, add_output

if TYPE_CHECKING:
    from collections.abc import Callable

    from nearfar.graph.graph import Graph
    from nearfar.lab.bench.peers.base import Peer

GRAPHS: dict[str, Callable[[], Graph]] = {
    "newyork": lambda: load("newyork"),
    "road_like": lambda: generate("road_like", vertices=1_000_000, seed=1),
    "grid": lambda: load("grid"),
    "martin": lambda: load("martin"),
    "kronecker": lambda: load("kronecker"),
    "delaunay": lambda: generate("delaunay", vertices=1_000_000, seed=1).astype(np.float32),
    "random": lambda: load("random"),
    "mesh": lambda: load("mesh"),
    "small": lambda: load("small"),
}


def engine(spec: str) -> tuple[str, dict[str, Any], dict[str, str]]:
    """Return method, options, and environment variables (in capitals) of a specification."""
    method, _, rest = spec.partition(":")
    pairs = dict(pair.split("=", 1) for pair in rest.split(",") if pair)
    options = {key: float(value) for key, value in pairs.items() if not key.isupper()}
    return method, options, {key: value for key, value in pairs.items() if key.isupper()}


def ours(
    graph: Graph, specs: list[str], threads: list[int], sources: list[int], rounds: int
) -> list[dict[str, Any]]:
    """Return all samples in milliseconds for each engine and number of threads."""
    truth = {}
    for source in sources:
        proven = nearfar.sssp(graph, source, device="cpu", method="delta_stepping", threads=1)
        nearfar.verify(graph, proven)
        truth[source] = proven.distances
    rows: list[dict[str, Any]] = [
        {"engine": spec, "threads": count, "samples_ms": [], "processor_ms": [], "stats": {}}
        for spec in specs
        for count in threads
    ]
    for turn in range(rounds + 1):
        for row in rows:
            method, options, variables = engine(row["engine"])
            os.environ.update(variables)
            for source in sources:
                began, used = time.perf_counter(), time.process_time()
                paths = nearfar.sssp(
                    graph, source, device="cpu", method=method, threads=row["threads"], **options
                )
                taken = 1e3 * (time.perf_counter() - began)
                used = 1e3 * (time.process_time() - used)
                if not np.array_equal(paths.distances, truth[source]):
                    raise SystemExit(f"{row['engine']}, {row['threads']} threads: wrong answer")
                if turn:  # the first round warms up
                    row["samples_ms"].append(taken)
                    row["processor_ms"].append(used)
                row["stats"] = {
                    key: value for key, value in paths.stats.items() if np.isscalar(value)
                }
                row["ran"] = paths.engine
            for key in variables:
                del os.environ[key]
    return rows


def peer(
    name: str, graph: Graph, counts: list[int], sources: list[int], rounds: int, deltas: int
) -> list[dict[str, Any]]:
    """Return the same samples of a peer, or nothing if it cannot run.

    A row whose answer was wrong has no samples and says so in ``wrong``.
    """
    program = PEERS[name](max(counts))
    for answer in (program.available(), program.takes(graph)):
        if answer is not True:
            print(f"  {name}: {answer}", flush=True)
            return []
    program.prepare(graph)
    rows: list[dict[str, Any]] = []
    try:
        for count in sorted(counts, reverse=True):
            if isinstance(program, Gap):
                if rows:
                    program.fewer_threads(count, deltas)
            else:
                program.threads = count
            row: dict[str, Any] = {"engine": name, "threads": count, "samples_ms": [], "stats": {}}
            rows.append(row)
            try:
                row["samples_ms"] = peer_samples(program, graph, sources, rounds)
            except WrongAnswer as error:
                row["wrong"] = str(error)
                print(f"  {name}, {count} threads: {error}", flush=True)
            if isinstance(program, Gap):
                row["stats"] = {"delta": program.delta, "deltas_failed": program.failed}
    finally:
        program.close()
    return rows[::-1]


def peer_samples(program: Peer, graph: Graph, sources: list[int], rounds: int) -> list[float]:
    """Return milliseconds of the sources, round by round; compare written distances once."""
    samples: list[float] = []
    for turn in range(rounds):
        for source in sources:
            answer = program.solve(source)
            samples.append(1e3 * float(program.reported_seconds or 0))
            found = program.distances(answer)
            if turn == 0 and found is not None:
                proven = nearfar.sssp(graph, source, device="cpu", threads=1)
                wanted = np.where(proven.reachable, proven.distances, np.inf)
                if compare(found, wanted.astype(np.float64), graph.weight_dtype) == "wrong":
                    raise WrongAnswer(f"distances from {source} are wrong")
    return samples


def show(found: dict[str, Any], threads: list[int]) -> None:
    """Print a graph's medians."""
    rows, n = found["rows"], found["n_vertices"]
    by = {(row["engine"], row["threads"]): row for row in rows}
    lines = []
    for who in dict.fromkeys(row["engine"] for row in rows):
        line = [who]
        for count in threads:
            row = by.get((who, count))
            if row is None or "wrong" in row:
                line.append("-" if row is None else "wrong")
                continue
            again = row["stats"].get("vertices_processed")
            line.append(
                f"{row['median_ms']:.2f}" + ("" if again is None else f" ({again / n:.2f})")
            )
        lines.append(line)
    print(f"\n{found['graph']}: {n:,} vertices, {found['n_edges']:,} edges; ms per solve")
    head = ["(rows relaxed / vertices)", *(f"{count} thr" for count in threads)]
    print("\n".join(table(head, lines)), f"\n{found['seconds']:.0f} s", flush=True)


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    add_output(parser)
    parser.add_argument("--only", nargs="+", choices=list(GRAPHS), help="graphs")
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--sources", type=int, default=3)
    parser.add_argument("--threads", type=int, nargs="+", default=[1, 2, 4, 8, 16])
    parser.add_argument("--engines", nargs="+", default=["delta_stepping_parallel", "auto"])
    parser.add_argument("--peers", nargs="*", default=["gap", "wasp", "pasgal"])
    parser.add_argument("--deltas", type=int, default=6, help="of a peer, with fewer threads")
    args = parser.parse_args()
    names = args.only or list(GRAPHS)
    kept = Rows(args.output, list(GRAPHS), under="graphs")
    for name in names:
        if name in ("newyork", "small") and data_folder() is None:
            print(f"{name}: the file is not here: set NEARFAR_DATA")
            continue
        began = time.perf_counter()
        graph = GRAPHS[name]()
        sources = draw_sources(graph, args.sources)
        one: dict[str, Any] = {
            "graph": name,
            "n_vertices": graph.n_vertices,
            "n_edges": graph.n_edges,
            "dtype": graph.weight_dtype.name,
            "sources": [int(source) for source in sources],
            "rows": [],
        }
        for other in [None, *args.peers]:
            if other is None:
                rows = ours(graph, args.engines, args.threads, sources, args.rounds)
            else:
                turns = max(1, args.rounds // 3)
                rows = peer(other, graph, args.threads, sources, turns, args.deltas)
            for row in rows:
                if "wrong" not in row:
                    row["median_ms"] = statistics.median(row["samples_ms"])
                    row["min_ms"] = min(row["samples_ms"])
            one["rows"] += rows
            one["seconds"] = round(time.perf_counter() - began, 1)
            kept.add(one)
        show(one, args.threads)
    return 0


if __name__ == "__main__":
    sys.exit(main())
