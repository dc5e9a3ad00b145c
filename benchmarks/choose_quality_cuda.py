"""Measure the automatic choice on a GPU: ``auto`` against the best of all CUDA variants.

    python benchmarks/choose_quality_cuda.py -o benchmarks/results/choose_quality_cuda.json

The graph is on the device. The kernels of every suitable CUDA variant are compiled in separate
processes on a tiny graph. Each variant then has two tries under a time limit. The fastest six that
take at most four times as long as the fastest one, and ``auto``, alternate for several rounds in a
random order per round, because caches favour an engine that runs after itself. A sample is wall
time from the call to the end of the work on the device, with distances left on the device; for
``auto`` it includes the choice. Each sample follows an untimed run of the same variant. Every
answer is compared bit for bit with that of the CPU engine, which is proven. Reported are ``auto /
best`` per graph, the geometric mean and the worst value. Writes choose_quality_cuda.json after
every graph; rows of other graphs are kept, each with its environment.
"""

from __future__ import annotations

import argparse
import math
import os
import random
import signal
import statistics
import subprocess
import sys
import time
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

import nearfar
from graphs_on_disk import load as load_kept
from nearfar.choose.ranking import best
from nearfar.cuda.device_graph import device_graph
from nearfar.errors import NearfarError
from nearfar.generators import generate
from nearfar.lab.bench.report import milliseconds, table
from nearfar.lab.bench.suite import SUITE, data_folder, draw_sources
from nearfar.lab.bench.suite import load as load_suite
from nearfar.options import build_options
from nearfar.registry import Request, Variant, Workspace, registered, variants
from nearfar.system.devices import runtime
from result_file import Rows, add_output

if TYPE_CHECKING:
    from nearfar.graph.graph import Graph

FINALISTS, WITHIN = 6, 4.0  # maximum number of finalists; maximum ratio to the fastest try
KEPT = ("kronecker-22", "martin-11", "grid-2000")  # large graphs, shared through a folder
NAMES = [
    *("small", "newyork", "mesh", "grid", "random", "martin", "kronecker"),
    *("tiny", "sparse", "unweighted-roads", "unweighted-kronecker", "negative", *KEPT),
]


def make(name: str, folder: Path | None) -> Graph:
    """Return a graph by name: one of the suite, one stored in a folder, or one generated here."""
    if name in KEPT:
        return load_kept(name, folder)
    if name in SUITE:
        return load_suite(name)
    if name == "tiny":
        return generate("uniform_random", vertices=1000, degree=8)
    if name == "sparse":
        return generate("uniform_random", vertices=98_304, degree=2)
    if name == "unweighted-roads":
        return load_suite("newyork").without_weights()
    if name == "unweighted-kronecker":
        return load_suite("kronecker").without_weights()
    # Potentials make a fifth of the weights negative without a negative cycle.
    plain = generate("uniform_random", vertices=200_000, degree=8)
    shift = np.random.default_rng(1).integers(0, 60, plain.n_vertices)
    tails = plain.tails(np.int64)
    weights = plain.weights + shift[tails] - shift[plain.indices]
    return nearfar.Graph(plain.indptr, plain.indices, weights.astype(np.int32))


def reference(graph: Graph, source: int) -> Any:
    """Return proven distances on the device."""
    paths = nearfar.sssp(graph, source, device="cpu")
    nearfar.verify(graph, paths)
    return runtime.upload(paths.distances)


def solve(graph: Graph, variant: Variant, source: int) -> tuple[float, Any]:
    """Return the seconds of one solve with default options, and the distances."""
    runtime.synchronize()
    began = time.perf_counter()
    options = build_options(variant.options, {}, variant.id)
    answer = variant.run(graph, source, options, Workspace())
    runtime.synchronize()
    return time.perf_counter() - began, answer.distances


def solve_auto(graph: Graph, request: Request, source: int) -> tuple[float, Any, str]:
    """Return the seconds of ``auto``, including the choice, and the distances."""
    runtime.synchronize()
    began = time.perf_counter()
    chosen = best(graph, request)[0]
    options = build_options(chosen.options, {}, chosen.id)
    answer = chosen.run(graph, source, options, Workspace())
    runtime.synchronize()
    return time.perf_counter() - began, answer.distances, chosen.id


def right(found: Any, expected: Any) -> bool:
    """Return whether distances are equal bit for bit."""
    return bool((found == expected).all())


def try_out(
    graph: Graph, variant: Variant, source: int, expected: Any, limit: float
) -> float | str:
    """Return the seconds of the faster of two solves, or the reason why there is no time."""

    def stop(*_: object) -> None:
        raise TimeoutError

    taken = []
    before = signal.signal(signal.SIGALRM, stop)
    try:
        for _ in range(2):
            signal.setitimer(signal.ITIMER_REAL, limit)
            seconds, found = solve(graph, variant, source)
            signal.setitimer(signal.ITIMER_REAL, 0.0)
            if not right(found, expected):
                return "WRONG"
            taken.append(seconds)
            if seconds > limit / 4:  # too slow to be a finalist: one try is enough
                break
    except TimeoutError:
        return f"stopped after {limit:g} s"
    except NearfarError as error:
        return f"{type(error).__name__}: {error}"
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0.0)
        signal.signal(signal.SIGALRM, before)
        runtime.synchronize()
    return min(taken)


def judge(name: str, graph: Graph, rounds: int, limit: float) -> dict[str, Any]:
    """Try all variants, then measure the fastest ones and ``auto`` in alternation."""
    fixed = SUITE[name].source if name in SUITE else None
    source = draw_sources(graph, 1, fixed)[0]
    expected = reference(graph, source)
    device_graph(graph)
    request = Request(device="cuda", sources=(source,))
    fitting = [v for v in variants(device="cuda", problem="sssp") if v.fits(graph, request) is True]
    tried: dict[str, float | str] = {}
    for variant in fitting:
        tried[variant.id] = try_out(graph, variant, source, expected, limit)
    tries = {v: taken for v, taken in tried.items() if not isinstance(taken, str)}
    finalists = sorted(tries, key=lambda v: tries[v])[:FINALISTS]
    finalists = [v for v in finalists if tries[v] <= WITHIN * tries[finalists[0]]]
    chosen = best(graph, request)[0].id
    if chosen not in finalists:
        finalists.append(chosen)
    samples: dict[str, list[float]] = {"auto": [], **{v: [] for v in finalists}}
    wrong = [v for v, taken in tried.items() if taken == "WRONG"]
    order, drawn = list(samples), random.Random(1)
    for _ in range(rounds):
        drawn.shuffle(order)
        for who in order:
            for _ in range(2):  # the second run counts
                if who == "auto":
                    seconds, found, _ = solve_auto(graph, request, source)
                else:
                    variant = registered(who)
                    assert variant is not None
                    seconds, found = solve(graph, variant, source)
            samples[who].append(seconds)
            if not right(found, expected):
                wrong.append(who)
    medians = {who: statistics.median(times) for who, times in samples.items()}
    auto = medians.pop("auto")
    winner = min(medians, key=lambda v: medians[v])
    return {
        "graph": name,
        "n": graph.n_vertices,
        "m": graph.n_edges,
        "source": source,
        "chosen": chosen,
        "auto_seconds": auto,
        "best": winner,
        "best_seconds": medians[winner],
        "auto_over_best": auto / medians[winner],
        "finalists": medians,
        "tried": tried,
        "wrong": wrong,
        "samples": samples,
    }


def compile_all(jobs: int) -> None:
    """Fill the kernel cache: solve tiny graphs with every variant, in several processes."""
    script = f"import choose_quality_cuda as c, sys; c.compile_share(int(sys.argv[1]), {jobs})"
    folder = Path(__file__).resolve().parent
    path = os.pathsep.join([str(folder), os.environ.get("PYTHONPATH", "")])
    running = [
        subprocess.Popen(
            [sys.executable, "-c", script, str(i)], env={**os.environ, "PYTHONPATH": path}
        )
        for i in range(jobs)
    ]
    if any([process.wait() for process in running]):
        raise SystemExit("a process that compiles kernels ended with an error; see above")


def compile_share(which: int, of: int) -> None:
    """Solve tiny graphs with every ``of``-th variant."""
    tiny = generate("uniform_random", vertices=64, degree=3)
    floats = nearfar.Graph(tiny.indptr, tiny.indices, tiny.weights.astype(np.float64))
    dense = generate("uniform_random", vertices=64, degree=20)
    fitting = variants(device="cuda", problem="sssp")[which::of]
    for graph in (tiny, floats, tiny.without_weights(), dense, dense.without_weights()):
        for variant in fitting:
            if variant.fits(graph, Request(device="cuda")) is True:
                solve(graph, variant, 0)


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    add_output(parser)
    parser.add_argument("--graphs", nargs="+", metavar="NAME", default=NAMES, choices=NAMES)
    parser.add_argument("--folder", type=Path, help="folder of the large graphs")
    parser.add_argument("--rounds", type=int, default=15)
    parser.add_argument("--limit", type=float, default=0.5, help="seconds per try (default: 0.5)")
    parser.add_argument("--budget", type=float, default=math.inf, help="start no graph after this")
    parser.add_argument("--jobs", type=int, default=min(12, os.cpu_count() or 1))
    args = parser.parse_args()
    began = time.perf_counter()
    compile_all(args.jobs)
    print(f"kernels compiled after {time.perf_counter() - began:.1f} s", file=sys.stderr)
    judged: list[dict[str, Any]] = []
    rows = Rows(args.output, NAMES, under="graphs")
    for name in args.graphs:
        if time.perf_counter() - began > args.budget:
            print(f"{name}: no time left", file=sys.stderr)
            continue
        if name in ("newyork", "unweighted-roads") and data_folder() is None:
            print(f"{name}: set NEARFAR_DATA", file=sys.stderr)
            continue
        judged.append(judge(name, make(name, args.folder), args.rounds, args.limit))
        found = judged[-1]
        print(
            f"{name}: {found['auto_over_best']:.3f} {found['chosen']} {found['wrong']} "
            f"at {time.perf_counter() - began:.0f} s; "
            + ", ".join(f"{v} {s * 1e3:.3f}" for v, s in found["finalists"].items()),
            file=sys.stderr,
            flush=True,
        )
        rows.add(found)
    print("\n".join(_lines(judged)))
    return int(any(found["wrong"] for found in judged))


def _lines(judged: list[dict[str, Any]]) -> list[str]:
    rows = [
        [
            f["graph"],
            f"{f['chosen']} {milliseconds(f['auto_seconds'])}",
            f"{f['best']} {milliseconds(f['best_seconds'])}",
            f"{f['auto_over_best']:.3f}",
        ]
        for f in judged
    ]
    mean = math.exp(sum(math.log(f["auto_over_best"]) for f in judged) / len(judged))
    worst = max(judged, key=lambda found: found["auto_over_best"])
    last = f"Geometric mean {mean:.3f}, worst {worst['auto_over_best']:.3f} ({worst['graph']})."
    return [*table(["graph", "auto, ms", "best, ms", "auto / best"], rows), "", last]


if __name__ == "__main__":
    sys.exit(main())
