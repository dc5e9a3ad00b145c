"""Measure one source on graphs outside the tuning set, compared with CPU or GPU peers.

    python benchmarks/zoo_speed.py --most 1000000 --threads 1 2 -o benchmarks/results/zoo_speed.json
    python benchmarks/zoo_speed.py --device cuda -o benchmarks/results/zoo_speed_cuda.json

Graphs are those of ``zoo_graphs.py``, divided into two halves: ``--half tuned`` for changes of the
engine, ``--half reported`` for reports. ``--most`` bounds the number of vertices. A run adds to its
file graph by graph and skips graphs that were measured with the same threads, vertices and samples,
so that an interrupted run can be resumed; ``--again`` measures anew.

On the CPU the peers are GAP and Wasp, as in ``many_cores.py``, each with its best delta for the
number of threads. Nearfar first solves up to 80 times, while it compares methods and widths
(``early_ms``). Then all programs alternate, round by round, with two solves each, of which the
second counts. If one takes less than two milliseconds it is repeated twenty times, and the least
time after the first counts, since refilling caches after another program takes longer than such a
solve. Peers report their own times; nearfar is timed by the wall clock around a whole call. GAP and
Wasp support only int32: other weights, and weights whose sums do not fit, are scaled and rounded
for them so that the greatest distance is at most 2^29 (2^24 for doubleGraph, whose sums are
float32). Every answer of nearfar is compared with a proven one; the peers verify their own.

Graphs are built beforehand by as many processes as there are cores. Peers search for their best
delta with the most threads, and with fewer threads among the three deltas around it.

``--clock processor`` measures the processor time of one thread, for nearfar directly and for the
peers by ``processor_clock.c``, on machines where other programs keep the cores busy.

On a GPU the times are those of one solve on the device, the first and a later one of
``nearfar.sssp``, compared with ADDS, doubleGraph and one core of the host.
"""

from __future__ import annotations

import argparse
import contextlib
import os
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

import nearfar
from flagship import time_cores, time_peers
from gpu_peers import GPU_PEERS
from nearfar.answer.paths import Paths
from nearfar.graph.graph import Graph
from nearfar.lab.bench.peers import PEERS
from nearfar.lab.bench.peers.base import TookTooLong
from nearfar.lab.bench.peers.gap import Gap, WrongAnswer
from nearfar.lab.bench.report import table
from nearfar.lab.bench.suite import draw_sources
from nearfar.system.devices import compiler
from result_file import Rows, add_output
from zoo_graphs import ZOO, add_graphs, made

if TYPE_CHECKING:
    from collections.abc import Iterator

FARTHEST = 2**29  # maximum distance for the peers' sums
HOPELESS = 3.0  # ratio to the time of a peer's best delta from which smaller ones are not tried
NEAR = 3  # number of deltas tried with fewer threads, around the best with more
SHORT, OFTEN = 2e-3, 20  # seconds below which a solve is repeated, and number of repeats
SETTLING = 80  # searches, or seconds of them, after which methods and widths have been compared
SETTLING_SECONDS = 3.0
LIMIT = 4.0  # maximum seconds of a peer's program, which reads the graph and solves twice
CLOCKS = {"wall": time.perf_counter, "processor": time.process_time}


@contextlib.contextmanager
def peers_clock(name: str) -> Iterator[None]:
    """Let peers report processor time if that is the clock."""
    if name != "processor":
        yield
        return
    with tempfile.TemporaryDirectory(prefix="nearfar-clock-") as folder:
        shim = f"{folder}/processor_clock.so"
        source = Path(__file__).with_name("processor_clock.c")
        subprocess.run(["cc", "-O2", "-shared", "-fPIC", source, "-o", shim], check=True)
        os.environ["LD_PRELOAD"] = shim
        try:
            yield
        finally:
            del os.environ["LD_PRELOAD"]


def for_peers(graph: Graph, farthest: float, most: int = FARTHEST) -> tuple[Graph, bool]:
    """Return the graph with int32 weights and distances up to `most`, and whether it was scaled."""
    fits = graph.weight_dtype.kind == "i" and farthest <= most
    # A path has fewer than n edges, each rounded by less than one.
    scale = 1.0 if fits else max(most - graph.n_vertices, most // 2) / farthest
    weights = np.rint(graph.effective_weights.astype(np.float64) * scale)
    weights = np.minimum(weights, most).astype(np.int32)
    return (
        Graph(graph.indptr, graph.indices, weights, directed=graph.directed),
        not fits,
    )


def wide_weights(graph: Graph) -> bool:
    """Return whether the greatest weight is far above the median, which suits small deltas."""
    weights = graph.effective_weights
    return bool(graph.max_weight > 64 * max(1, np.median(weights[:: max(1, len(weights) >> 16)])))


def peer_programs(
    names: list[str], threads: list[int], graph: Graph, source: int
) -> tuple[dict[tuple[str, int], Gap], dict[str, str]]:
    """Return programs with the graph and their best delta, and why others do not run."""
    found: dict[tuple[str, int], Gap] = {}
    skipped: dict[str, str] = {}
    for name in names:
        wider: Gap | None = None
        for count in sorted(threads, reverse=True):
            program = PEERS[name](count)
            assert isinstance(program, Gap)
            program.limit, program.hopeless = LIMIT, HOPELESS
            if wide_weights(graph):
                program.widths = range(-8, 2)
            problem = next(
                (p for p in (program.available(), program.takes(graph)) if p is not True), ""
            )
            if not problem:
                if wider is None:
                    program.prepare(graph)
                else:
                    program.borrow(wider)
                    program.take_deltas(wider, NEAR)
                found[name, count] = wider = program
                try:
                    program.solve(source)
                    continue
                except (WrongAnswer, RuntimeError) as error:
                    found.pop((name, count)).close()
                    wider = None
                    problem = str(error)
            skipped[f"{name}, {count} threads"] = problem
    return found, skipped


def on_cores(name: str, graph: Graph, args: argparse.Namespace) -> dict[str, Any]:
    """Return samples of every engine and number of threads."""
    sources = draw_sources(graph, args.sources)
    truth = {}
    for source in sources:
        proven = nearfar.sssp(graph, source, device="cpu", method="delta_stepping", threads=1)
        nearfar.verify(graph, proven)
        truth[source] = proven

    def search(source: int, count: int) -> tuple[float, Paths]:
        began = CLOCKS[args.clock]()
        paths = nearfar.sssp(graph, source, device="cpu", threads=count, method=args.method)
        return CLOCKS[args.clock]() - began, paths

    in_a_row = 2 if max(p.stats["seconds"] for p in truth.values()) > SHORT else OFTEN
    farthest = max(float(p.distances[p.reachable].max()) for p in truth.values())
    given, scaled = for_peers(graph, farthest)
    programs, skipped = peer_programs(args.peers, args.threads, given, sources[0])
    for program in programs.values():
        program.trials = in_a_row
    rows: dict[tuple[str, int], dict[str, Any]] = {}
    for count in args.threads:
        early: list[float] = []
        while len(early) < SETTLING and sum(early) < 1e3 * SETTLING_SECONDS:
            early.append(1e3 * search(sources[len(early) % len(sources)], count)[0])
        rows["nearfar", count] = {"samples_ms": [], "early_ms": early}
    for _ in range(args.rounds):
        for count in args.threads:
            row = rows["nearfar", count]
            for source in sources:
                taken = []
                for _ in range(in_a_row):
                    seconds, paths = search(source, count)
                    taken.append(1e3 * seconds)
                if not np.array_equal(paths.distances, truth[source].distances):
                    raise SystemExit(f"{name}, {count} threads: wrong answer")
                row["samples_ms"].append(min(taken[1:]))  # as for the peers
            row["ran"] = paths.engine
            row["stats"] = {k: v for k, v in paths.stats.items() if np.isscalar(v)}
        for key, program in programs.items():
            row = rows.setdefault(key, {"samples_ms": [], "delta": program.delta})
            for source in sources:
                with contextlib.suppress(TookTooLong):  # some runs hang on busy cores
                    program.solve(source)
                    row["samples_ms"].append(1e3 * float(program.reported_seconds or 0))
    for program in programs.values():
        program.close()
    entries = []
    for (engine, count), row in rows.items():
        if not row["samples_ms"]:
            skipped[f"{engine}, {count} threads"] = f"no run took less than {LIMIT:g} s"
            continue
        least, median = min(row["samples_ms"]), statistics.median(row["samples_ms"])
        more = {"min_ms": least, "median_ms": median}
        entries.append({"engine": engine, "threads": count, **more, **row})
    about = {"scaled_for_peers": scaled, "skipped": skipped, "solves_in_a_row": in_a_row}
    return {**about, "sources": sources, "rows": entries}


def on_gpu(name: str, graph: Graph, args: argparse.Namespace) -> dict[str, Any]:
    """Return device times of a first and of a later solve, of the peers, and of one host core."""
    (source,) = draw_sources(graph, 1)
    proven = nearfar.sssp(graph, source, device="cpu", method="delta_stepping", threads=1)
    nearfar.verify(graph, proven)
    early: list[float] = []
    samples: list[float] = []
    for turn in range(SETTLING + args.rounds):
        paths = nearfar.sssp(graph, source, device="cuda", method=args.method, **args.options)
        taken = samples if turn >= SETTLING else early
        taken.append(1e3 * paths.stats["device_seconds"])
        compiler.finish_background()  # compilation of the next form to try
        if turn in (0, SETTLING) and not np.array_equal(paths.distances, proven.distances):
            raise SystemExit(f"{name}: wrong answer")
    own = {"engine": "nearfar", "ran": paths.engine, "samples_ms": samples, "early_ms": early}
    own |= {"min_ms": min(samples), "median_ms": statistics.median(samples)}
    own |= {"first_ms": early[0], "why": paths.reason, "steps": int(paths.stats["iterations"])}
    rows: list[dict[str, Any]] = [own]
    farthest = float(proven.distances[proven.reachable].max())
    skipped, scaled = {}, {}
    for peer in args.peers:
        most = min(FARTHEST, GPU_PEERS[peer].farthest)
        given, scaled[peer] = for_peers(graph, farthest, most)
        truth = nearfar.sssp(given, source, device="cpu", threads=1).distances
        (row,) = time_peers([peer], given, source, truth)
        if row["right"]:
            rows.append({"engine": peer, "min_ms": row["ms"], "median_ms": row["ms"]})
        else:
            skipped[peer] = row["skipped"] or "wrong answer"
    core = time_cores(graph, source, proven.distances, 1, 1.0)
    core |= {"ran": core["engine"], "engine": "one core", "min_ms": min(core["samples_ms"])}
    rows.append(core)
    return {"scaled_for_peers": scaled, "skipped": skipped, "sources": [source], "rows": rows}


def complete(row: dict[str, Any], name: str, args: argparse.Namespace) -> bool:
    """Return whether a row of the file is what this run would measure."""
    return bool(row["asked"] == asked(name, args))


def asked(name: str, args: argparse.Namespace) -> dict[str, Any]:
    """Return the settings on which a row depends, apart from the code."""
    most = ZOO[name].vertices if args.most is None else min(ZOO[name].vertices, args.most)
    counts = args.threads if args.device == "cpu" else []
    peers, rounds = list(args.peers), args.rounds
    settings = {"peers": peers, "rounds": rounds, "sources": args.sources, "clock": args.clock}
    return {"most": most, "threads": counts, **settings}


def beside(rows: list[dict[str, Any]]) -> None:
    """Add to nearfar's least time the best peer's with as many threads, and their ratio."""
    for own in (row for row in rows if row["engine"] == "nearfar"):
        peers = [
            row
            for row in rows
            if row["engine"] not in ("nearfar", "one core")
            and row.get("threads") == own.get("threads")
        ]
        if peers:
            best = min(peers, key=lambda row: row["min_ms"])
            own["best_peer"], own["best_peer_ms"] = best["engine"], best["min_ms"]
            own["ratio"] = best["min_ms"] / own["min_ms"]


def show(row: dict[str, Any]) -> str:
    """Return one line per number of threads: nearfar, the best peer, and the ratio."""
    lines = []
    for own in (one for one in row["rows"] if one["engine"] == "nearfar"):
        count = f"{own['threads']} thr " if "threads" in own else ""
        best = "no peer"
        if "ratio" in own:
            best = f"{own['best_peer']} {own['best_peer_ms']:.2f}, {own['ratio']:.2f}x"
        lines.append(f"{count}{own['min_ms']:.3f}, {best}")
    return "; ".join(lines)


def main() -> int:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    add_output(parser)
    parser.add_argument("--device", choices=("cpu", "cuda"), default="cpu")
    parser.add_argument("--half", choices=("tuned", "reported"), help="default: both")
    add_graphs(parser)
    parser.add_argument("--threads", type=int, nargs="+", default=[1, 4, 16])
    parser.add_argument("--clock", choices=CLOCKS, default="wall", help="processor: one thread")
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--sources", type=int, default=2)
    parser.add_argument("--peers", nargs="*", help="gap wasp, or adds doublegraph")
    parser.add_argument("--method", default="auto")
    parser.add_argument("--set", nargs="*", default=[], metavar="OPTION=VALUE", help="on a GPU")
    parser.add_argument(
        "--again", action="store_true", help="measure graphs again that the file has"
    )
    parser.add_argument("--list", action="store_true", help="print the graphs and end")
    args = parser.parse_args()
    if args.list:
        head = ["graph", "half", "vertices", "weights", "dtype"]
        lines = [[n, e.half, f"{e.vertices:,}", e.weights, e.dtype] for n, e in ZOO.items()]
        print("\n".join(table(head, lines)))
        return 0
    if args.clock == "processor" and args.threads != [1]:
        parser.error("--clock processor compares one thread: give --threads 1")
    if args.peers is None:
        args.peers = ["gap", "wasp"] if args.device == "cpu" else ["adds", "doublegraph"]
    if args.device == "cuda":
        pairs = dict(pair.split("=", 1) for pair in args.set)
        args.options = {key: float(value) for key, value in pairs.items()}
    rows = Rows(args.output, list(ZOO))
    names = [n for n in args.only or ZOO if args.half in (None, ZOO[n].half)]
    there = {row["graph"]: row for row in rows.rows}
    if not args.again:
        names = [n for n in names if n not in there or not complete(there[n], n, args)]
    for name, graph in made(names, args.most):
        began = time.perf_counter()
        entry = ZOO[name]
        measure = on_cores if args.device == "cpu" else on_gpu
        with peers_clock(args.clock):
            measured = measure(name, graph, args)
        about = {"half": entry.half, "weights": entry.weights, "dtype": entry.dtype}
        size = {"n_vertices": graph.n_vertices, "n_edges": graph.n_edges}
        seconds = round(time.perf_counter() - began, 1)
        row = {"graph": name, **about, **size, "asked": asked(name, args), "seconds": seconds}
        row |= measured
        beside(row["rows"])
        print(f"{name} ({entry.half}, {graph.n_vertices:,}): {show(row)}; {seconds} s", flush=True)
        rows.add(row, schema="nearfar-zoo-speed/1")
    return 0


if __name__ == "__main__":
    sys.exit(main())
