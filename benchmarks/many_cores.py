"""One source on 1, 2, 4, 8 and 16 threads, beside GAP, Wasp and PASGAL.

    NEARFAR_DATA=... python benchmarks/many_cores.py -o benchmarks/results

Writes many_cores.json; without ``-o`` it only prints. The peers are programs of their own, found as
their adapters in ``nearfar.lab.bench.peers`` say. GAP and Wasp are given the best of six deltas
with the most threads, and with fewer the best of ``--deltas`` around it; a delta whose answer is
wrong is not taken, and a peer without a right answer is "wrong" in the table. The engines take
turns within a round: every engine and number of threads solves one source, then the next. Every
answer of ours is compared with one that was proven; GAP and Wasp verify their own for the first
source, PASGAL's distances are compared.

``--engines`` names what is measured of this library: a method, and behind a colon options of it,
such as ``auto delta_stepping_parallel:delta=500``.
"""

from __future__ import annotations

import argparse
import os
import statistics
import sys
import time
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

import nearfar
from nearfar.generators import generate
from nearfar.lab.bench.environment import environment
from nearfar.lab.bench.peers import PEERS
from nearfar.lab.bench.peers.gap import Gap, WrongAnswer
from nearfar.lab.bench.report import table, write_json
from nearfar.lab.bench.suite import data_folder, draw_sources, load

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
    "delaunay": lambda: generate("delaunay", vertices=1_000_000, seed=1),
    "random": lambda: load("random"),
    "mesh": lambda: load("mesh"),
    "small": lambda: load("small"),
}


def engine(spec: str) -> tuple[str, dict[str, Any], dict[str, str]]:
    """Method, its options, and variables of the environment (in capitals)."""
    method, _, rest = spec.partition(":")
    pairs = dict(pair.split("=", 1) for pair in rest.split(",") if pair)
    options = {key: float(value) for key, value in pairs.items() if not key.isupper()}
    return method, options, {key: value for key, value in pairs.items() if key.isupper()}


def ours(
    graph: Graph, specs: list[str], threads: list[int], sources: list[int], rounds: int
) -> list[dict[str, Any]]:
    """Milliseconds of each engine and number of threads; all samples."""
    truth = {}
    for source in sources:
        proven = nearfar.sssp(graph, source, device="cpu", method="delta_stepping", threads=1)
        nearfar.verify(graph, proven)
        truth[source] = proven.distances
    rows: list[dict[str, Any]] = [
        {"engine": spec, "threads": count, "samples_ms": [], "stats": {}}
        for spec in specs
        for count in threads
    ]
    for turn in range(rounds + 1):
        for row in rows:
            method, options, variables = engine(row["engine"])
            os.environ.update(variables)
            for source in sources:
                began = time.perf_counter()
                paths = nearfar.sssp(
                    graph, source, device="cpu", method=method, threads=row["threads"], **options
                )
                taken = 1e3 * (time.perf_counter() - began)
                if not np.array_equal(paths.distances, truth[source]):
                    raise SystemExit(f"{row['engine']}, {row['threads']} threads: wrong answer")
                if turn:  # the first round warms up
                    row["samples_ms"].append(taken)
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
    """The same of a program of others; nothing where it cannot run.

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
    """Milliseconds of the sources, round by round; what shows its distances is compared once."""
    samples: list[float] = []
    for turn in range(rounds):
        for source in sources:
            answer = program.solve(source)
            samples.append(1e3 * float(program.reported_seconds or 0))
            found = program.distances(answer)
            if turn == 0 and found is not None:
                proven = nearfar.sssp(graph, source, device="cpu", threads=1)
                wanted = np.where(proven.reachable, proven.distances, np.inf)
                if not np.array_equal(found, wanted.astype(np.float64)):
                    raise WrongAnswer(f"distances from {source} are wrong")
    return samples


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("-o", "--output", type=Path, metavar="DIR")
    parser.add_argument("--only", nargs="+", choices=list(GRAPHS), help="graphs")
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--sources", type=int, default=3)
    parser.add_argument("--threads", type=int, nargs="+", default=[1, 2, 4, 8, 16])
    parser.add_argument("--engines", nargs="+", default=["delta_stepping_parallel", "auto"])
    parser.add_argument("--peers", nargs="*", default=["gap", "wasp", "pasgal"])
    parser.add_argument("--deltas", type=int, default=6, help="of a peer, with fewer threads")
    args = parser.parse_args()
    around = environment()
    found: list[dict[str, Any]] = []
    for name in args.only or GRAPHS:
        if name in ("newyork", "small") and data_folder() is None:
            print(f"{name}: the file is not here: set NEARFAR_DATA")
            continue
        graph = GRAPHS[name]()
        sources = draw_sources(graph, args.sources)
        rows = ours(graph, args.engines, args.threads, sources, args.rounds)
        for other in args.peers:
            turns = max(1, args.rounds // 3)
            rows += peer(other, graph, args.threads, sources, turns, args.deltas)
        for row in rows:
            if "wrong" in row:
                continue
            row["median_ms"] = statistics.median(row["samples_ms"])
            row["min_ms"] = min(row["samples_ms"])
        found.append(
            {
                "graph": name,
                "n_vertices": graph.n_vertices,
                "n_edges": graph.n_edges,
                "dtype": graph.weight_dtype.name,
                "sources": [int(source) for source in sources],
                "rows": rows,
            }
        )
        by = {(row["engine"], row["threads"]): row for row in rows}
        lines = []
        for who in dict.fromkeys(row["engine"] for row in rows):
            line = [who]
            for count in args.threads:
                row = by.get((who, count))
                if row is None:
                    line.append("-")
                    continue
                if "wrong" in row:
                    line.append("wrong")
                    continue
                again = row["stats"].get("vertices_processed")
                more = "" if again is None else f" ({again / graph.n_vertices:.2f})"
                line.append(f"{row['median_ms']:.2f}{more}")
            lines.append(line)
        print(f"\n{name}: {graph.n_vertices:,} vertices, {graph.n_edges:,} edges; ms per solve")
        head = ["(rows relaxed / vertices)", *(f"{count} thr" for count in args.threads)]
        print("\n".join(table(head, lines)), flush=True)
    if args.output:
        args.output.mkdir(parents=True, exist_ok=True)
        data = {"schema": "nearfar-many-cores/1", "environment": around, "graphs": found}
        write_json(args.output / "many_cores.json", data)
    return 0


if __name__ == "__main__":
    sys.exit(main())
