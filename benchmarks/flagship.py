"""Measure the one-launch engine on one GPU: solve times on eight graphs, and its options.

``python benchmarks/flagship.py -o benchmarks/results/flagship.json`` measures the defaults;
``--sweep`` tries options on every graph. A time is the device time of one solve (buffers allocated,
graph on the device, initialisation included) by CUDA events, median of 10, after the engine has
chosen a form for the graph. The first solves, which choose it, are recorded separately in
``first_ms`` and ``forms``, and a sort of the rows in ``sort_seconds``. The answer of every
configuration is compared bit for bit with the CPU engine's, which is proven. ``--repeats 300``
repeats the defaults and compares each answer on the device; ``--set sort_rows=true`` changes
options of the defaults. Other graphs in the output are kept, each with its environment.
``--peers adds doublegraph cugraph`` runs these on the same graphs and sources, if they are
available; their distances are compared with the same proven ones. Of each peer the fastest row is
kept, also of earlier runs, with its date.
``--cores 1 16`` times the CPU engine with these numbers of threads, by the wall clock after a first
solve; ``--cores-only`` adds only that to a file. ``--folder`` is one of ``graphs_on_disk.py``.
"""

from __future__ import annotations

import argparse
import itertools
import json
import os
import statistics
import sys
import time
from pathlib import Path
from typing import Any

import numpy as np

import nearfar
from gpu_peers import GPU_PEERS
from graphs_on_disk import load, proven, source_of
from nearfar.graph.graph import Graph
from nearfar.lab.bench.environment import environment
from nearfar.registry import Request, Workspace, find
from nearfar.solve.steps.plan import in_int32_if_faster
from nearfar.system.devices import compiler, runtime
from result_file import Rows, add_output

GRAPHS = (
    *("random-200", "kronecker-20", "ny-roads", "grid-2000"),
    *("martin-11", "kronecker-22", "grid-4000", "kronecker-24"),
)
CORES_S = 2.0  # seconds of the samples per number of threads
SETTLING = 60  # solves after which the engine has settled on a form and a width
SWEEP: dict[str, list[Any]] = {
    "delta_scale": [0.25, 1, 4, 8],
    "delta_growth": [1, 8],
    "local_rounds": [64, 1000],
    "local_limit": [16 * 132, 64 * 132, 256 * 132],
}


def as_solved(graph: Graph, source: int) -> tuple[Graph, Workspace]:
    """Return the graph that ``sssp`` solves, and a workspace that asks for the answer's dtype.

    Integer weights are solved in int32 if the distances fit, which a search on the CPU decides.
    """
    nearfar.distances(graph, list({source, *range(8)}), device="cpu")
    solved = in_int32_if_faster(graph, Request(device="cuda"))
    return solved, Workspace(answer_dtype=None if solved is graph else graph.weight_dtype)


def time_solve(
    graph: Graph, source: int, options: Any, rounds: int, method: str = "near_far@cuda"
) -> tuple[list[float], list[tuple[str, float]], Any]:
    """Return device milliseconds of each round, those of the first solves, and the answer."""
    (variant,) = find(method)
    early, samples = [], []
    solved, workspace = as_solved(graph, source)
    for turn in range(SETTLING + rounds):
        answer = variant.run(solved, source, options, workspace)
        took = answer.stats["device_seconds"] * 1e3
        compiler.finish_background()  # compilation of the next form to try
        if turn < SETTLING:
            early.append((answer.stats.get("form", method), took))
        else:
            samples.append(took)
    if answer.converted is not None:
        answer.distances = answer.converted
    return samples, early, answer


def where_time_goes(graph: Graph, source: int, options: Any) -> dict[str, Any]:
    """Return steps, entries and milliseconds of each kind of step, from one recorded run."""
    (variant,) = find("near_far@cuda")
    stats = variant.run(graph, source, options, Workspace(stats="full")).stats
    table: dict[str, Any] = {}
    for kind, near, far, seconds in zip(
        stats["kind"], stats["near"], stats["far"], [*stats["seconds_per_step"], 0.0], strict=True
    ):
        row = table.setdefault(kind, {"steps": 0, "near": 0, "far": 0, "ms": 0.0})
        row["steps"] += 1
        row["near"] += int(near)
        row["far"] += int(far)
        row["ms"] += float(seconds) * 1e3
    return table


def configurations(sweep: bool) -> list[dict[str, Any]]:
    """Return the options to try; the defaults first."""
    if not sweep:
        return [{}]
    found: list[dict[str, Any]] = [{}]
    for values in itertools.product(*SWEEP.values()):
        found.append(dict(zip(SWEEP, values, strict=True)))
    return found


def wrong_answers(graph: Graph, source: int, options: Any, want: Any, repeats: int) -> int:
    """Return the number of solves that differ from the proven distances, compared on the device."""
    (variant,) = find("near_far@cuda")
    right = runtime.upload(want)
    answers = (variant.run(graph, source, options, Workspace()) for _ in range(repeats))
    return sum(not bool((answer.distances == right).all()) for answer in answers)


def as_floats(distances: Any) -> Any:
    """Convert integer distances to the peers' form, infinite for unreached vertices."""
    unreached = distances == np.iinfo(distances.dtype).max
    return np.where(unreached, np.inf, distances.astype(np.float64))


def time_cores(graph: Graph, source: int, want: Any, threads: int, budget: float) -> dict[str, Any]:
    """Return the milliseconds of the CPU engine with a number of threads, and the chosen method."""
    samples: list[float] = []
    begun = time.perf_counter()
    while len(samples) < 3 or (len(samples) < 9 and time.perf_counter() - begun < budget):
        began = time.perf_counter()
        found = nearfar.sssp(graph, source, device="cpu", threads=threads)
        samples.append((time.perf_counter() - began) * 1e3)
        if not np.array_equal(found.distances, want):
            raise SystemExit(f"{found.engine} with {threads} threads is wrong")
    return {
        "threads": threads,
        "engine": found.engine,
        "date": environment()["date"],
        "load_average": os.getloadavg()[0],
        "first_ms": samples[0],
        "median_ms": statistics.median(samples[1:]),
        "samples_ms": samples[1:],
    }


def time_peers(names: list[str], graph: Graph, source: int, want: Any) -> list[dict[str, Any]]:
    """Return the time and correctness of each program, or why it did not run."""
    found = []
    for name in names:
        peer = GPU_PEERS[name]()
        row: dict[str, Any] = {"peer": name, "ms": None, "right": False, "skipped": ""}
        row["date"] = environment()["date"]
        found.append(row)
        for answer in (peer.available(), peer.takes(graph)):
            if answer is not True:
                row["skipped"] = row["skipped"] or answer
        if row["skipped"]:
            continue
        row["version"] = peer.version()
        try:
            peer.prepare(graph)
            distances = peer.distances(peer.solve(source))
        except RuntimeError as problem:
            row["skipped"] = str(problem)
        else:
            row["ms"] = (peer.reported_seconds or 0.0) * 1e3
            row["right"] = bool(np.array_equal(distances, as_floats(want)))
            row["forms"] = getattr(peer, "forms", {})
        finally:
            peer.close()
    return found


def fastest(rows: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """Return the row of each peer with the least time, of those with right answers if any."""
    found: dict[str, dict[str, Any]] = {}
    for row in sorted(rows, key=lambda row: (not row["right"], row["ms"] or 0.0)):
        found.setdefault(row["peer"], row)
    return list(found.values())


def best_of(peers: list[dict[str, Any]]) -> float | None:
    """Return the milliseconds of the fastest peer with right answers."""
    return min((row["ms"] for row in peers if row["right"]), default=None)


def measure(
    name: str,
    sweep: bool,
    rounds: int,
    repeats: int,
    chosen: dict[str, Any],
    peers: list[str],
    folder: Path | None,
) -> dict[str, Any]:
    """Measure all configurations on one graph; `chosen` are options that all of them share."""
    from nearfar.algorithms.near_far.one_launch.options import OneLaunchOptions

    began = time.perf_counter()
    graph = load(name, folder)
    built = time.perf_counter() - began
    source = source_of(name, graph)
    want = proven(name, graph, folder)
    unit = 32.0 * graph.mean_weight / graph.mean_degree
    rows = []
    for options in configurations(sweep):
        given = {**chosen, **options}
        if "delta_scale" in given:
            given["delta"] = max(1.0, unit * given.pop("delta_scale"))
        samples, early, answer = time_solve(graph, source, OneLaunchOptions(**given), rounds)
        right = bool((runtime.download(answer.distances) == want).all())
        rows.append(
            {
                "options": options,
                "median_ms": statistics.median(samples),
                "samples_ms": samples,
                "forms": [form for form, _ in early] + [answer.stats["form"]],
                "first_ms": [took for _, took in early],
                "right": right,
                "stats": {k: v for k, v in answer.stats.items() if isinstance(v, (int, float))},
            }
        )
    beside = time_peers(peers, graph, source, want)
    defaults = where_time_goes(graph, source, OneLaunchOptions(**chosen))
    wrong = wrong_answers(graph, source, OneLaunchOptions(**chosen), want, repeats)
    return {
        "chosen": chosen,
        "repeats": repeats,
        "wrong_of_repeats": wrong,
        "steps_of_defaults": defaults,
        "graph": name,
        "n": graph.n_vertices,
        "m": graph.n_edges,
        "source": source,
        "reached": int((want != np.iinfo(want.dtype).max).sum()),
        "peers": beside,
        "best_peer_ms": best_of(beside),
        "load_s": built,
        "rows": rows,
    }


def measure_cores(name: str, counts: list[int], folder: Path | None) -> dict[str, Any]:
    """Measure the CPU engine on one graph with each number of threads."""
    graph = load(name, folder)
    source, want = source_of(name, graph), proven(name, graph, folder)
    return {
        "graph": name,
        "n": graph.n_vertices,
        "m": graph.n_edges,
        "cores": [time_cores(graph, source, want, count, CORES_S) for count in counts],
    }


def show(result: dict[str, Any], most: int) -> None:
    """Print the best rows of one graph."""
    rows = result["rows"]
    wrong = sum(not row["right"] for row in rows)
    print(
        f"== {result['graph']} n={result['n']:,} m={result['m']:,} reached={result['reached']:,} "
        f"peer {result['best_peer_ms']} ms, wrong answers {wrong}, of "
        f"{result['repeats']} repeats {result['wrong_of_repeats']}"
    )
    print(f"   default {rows[0]['median_ms']:.3f} ms {rows[0]['forms']} {rows[0]['stats']}")
    for row in result["peers"]:
        print(f"     {row['peer']}: {row['ms']} ms, right {row['right']} {row['skipped']}")
    for kind, row in result["steps_of_defaults"].items():
        print(
            f"     {kind}: {row['steps']} steps, near {row['near']:,}, far {row['far']:,}, "
            f"{row['ms']:.3f} ms"
        )
    for row in sorted(rows[1:], key=lambda r: r["median_ms"])[:most]:
        stats = row["stats"]
        brief = f"it {stats['iterations']} sp {stats['splits']} lo {stats['local_steps']}"
        work = stats["edges_relaxed"] / max(result["m"], 1)
        print(f"   {row['median_ms']:.3f} ms {row['options']} {brief} work {work:.2f}", flush=True)


def main() -> int:
    """Measure, print, write."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--graphs", nargs="+", default=list(GRAPHS), choices=list(GRAPHS))
    parser.add_argument("--sweep", action="store_true")
    parser.add_argument("--rounds", type=int, default=10)
    parser.add_argument("--most", type=int, default=6)
    add_output(parser)
    parser.add_argument("--repeats", type=int, default=0)
    parser.add_argument("--set", nargs="*", default=[], metavar="OPTION=JSON", dest="chosen")
    parser.add_argument("--peers", nargs="*", default=[], choices=list(GPU_PEERS))
    parser.add_argument("--cores", nargs="*", type=int, default=[], metavar="THREADS")
    parser.add_argument("--cores-only", action="store_true", help="measure only --cores")
    parser.add_argument("--folder", type=Path, help="of graphs_on_disk.py")
    args = parser.parse_args()
    chosen = {key: json.loads(value) for key, value in (text.split("=") for text in args.chosen)}
    results: list[dict[str, Any]] = []
    rows = Rows(args.output, GRAPHS)
    before = {row["graph"]: row for row in rows.rows}
    for name in args.graphs:
        found = dict(before.get(name, {}))
        if not args.cores_only:
            measured = measure(
                name, args.sweep, args.rounds, args.repeats, chosen, args.peers, args.folder
            )
            results.append(measured)
            show(measured, args.most)
            peers = fastest([*measured["peers"], *found.get("peers", [])])
            found |= {"environment": environment(), **measured, "peers": peers}
            found["best_peer_ms"] = best_of(peers)
        if args.cores:
            found |= measure_cores(name, args.cores, args.folder)
            for row in found["cores"]:
                took = f"{row['median_ms']:.2f} ms"
                print(f"{name}, {row['threads']} threads: {took}, {row['engine']}", flush=True)
        rows.add(found, device=runtime.device()._asdict())
    wrong = any(not row["right"] for result in results for row in result["rows"])
    return int(wrong or any(result["wrong_of_repeats"] for result in results))


if __name__ == "__main__":
    sys.exit(main())
