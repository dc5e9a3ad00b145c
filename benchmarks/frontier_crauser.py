"""Measure every variant of the frontier and Crauser families on the papers' graph families.

The base of all ratios is nearfar's Fibonacci-heap Dijkstra on one host core.

``python benchmarks/frontier_crauser.py -o results.json`` needs a GPU for the CUDA variants; the CPU
variants run on any machine. The graph is on the device before timing starts; a sample is one solve,
timed by CUDA events (host steps and waits included) or by the wall clock on the CPU. Variants
alternate within a round. Every answer is compared bit for bit with the CPU engine's, which is
proven; unsafe variants report the number of wrong vertices. Counters come from a separate run. The
file is written after every graph; other graphs are kept, each with its environment, and
``--resume`` skips graphs that the file already contains.
"""

from __future__ import annotations

import argparse
import statistics
import sys
import time
from typing import Any

import numpy as np

import nearfar
from nearfar.generators import generate
from nearfar.graph.graph import Graph
from nearfar.lab.bench.cases import Case, case, counters, proven, time_once
from nearfar.registry import Answer, Request, variants
from nearfar.system.devices import runtime
from result_file import Rows, add_output

M = 2**20
BASE = "dijkstra_fibonacci_heap@cpu"
DEGREES = (2, 20, 200, 1000, 2000)
COMPILE = 2.0  # maximum seconds of compiling a variant's kernels


def _families() -> dict[str, Any]:
    graphs: dict[str, Any] = {
        f"martin-{k}": lambda k=k: generate("martin", vertices=k * M) for k in (1, 4, 11)
    }
    for k in (1, 4, 8, 15):
        graphs[f"matrix-{k}"] = lambda k=k: generate("martin_matrix", vertices=k * 1024)
    for n in (24_576, 49_152, 98_304):
        for d in DEGREES:
            name = f"random-{n // 1000}k-{d}"
            graphs[name] = lambda n=n, d=d: generate("uniform_random", vertices=n, degree=d)
    graphs["kronecker-20"] = lambda: generate("kronecker", scale=20)
    graphs["social-20"] = lambda: generate("preferential_attachment", vertices=M)
    graphs["small-world-17"] = lambda: generate("small_world", vertices=1 << 17)
    graphs["mesh-17"] = lambda: generate("delaunay", vertices=1 << 17)
    graphs["grid-512"] = lambda: generate("grid", rows=512, columns=512)
    return graphs


GRAPHS = _families()
DEFAULT = [name for name in GRAPHS if not name.endswith("-2000")]

# Ortega-Arranz et al. (2015), Tables 2 and 3: GPU Crauser over GPU Martin (Fermi, Kepler, Titan).
PAPER_OVER_MARTIN = {
    "random-24k-2": (24.61, 24.66, 21.62),
    "random-24k-20": (11.04, 11.23, 12.11),
    "random-24k-200": (2.50, 2.39, 2.40),
    "random-24k-1000": (1.43, 1.40, 1.48),
    "random-24k-2000": (1.22, 1.21, 1.25),
    "random-49k-2": (29.97, 29.20, 29.62),
    "random-49k-20": (9.66, 9.62, 9.40),
    "random-49k-200": (2.18, 2.10, 2.30),
    "random-49k-1000": (1.35, 1.32, 1.40),
    "random-49k-2000": (1.20, 1.18, 1.19),
    "random-98k-2": (31.85, 31.70, 32.20),
    "random-98k-20": (7.75, 7.73, 8.55),
    "random-98k-200": (1.87, 1.86, 2.07),
    "random-98k-1000": (1.27, 1.24, 1.31),
    "random-98k-2000": (1.13, 1.13, 1.16),
    "mesh-17": (27.99, 28.00, 29.20),  # walshaw: best of the family
    "kronecker-20": (3.78, 4.05, 5.21),
    "social-20": (129.71, 130.25, 125.99),  # best of the family
}


def contenders(
    graph: Graph, name: str, devices: list[str], only: list[str] | None = None
) -> list[Case]:
    """Return the base and all variants that fit this graph, or those of them that are named."""
    found = [case(BASE, BASE)]
    for variant in variants(unsafe=True):
        if variant.device not in devices or variant.family not in ("frontier", "crauser"):
            continue
        # Matrix forms run only on the paper's matrices, where lists run as well.
        if "matrix" in variant.id and not name.startswith("matrix"):
            continue
        if variant.fits(graph, Request(device=variant.device)) is not True:
            continue
        if only and variant.id not in only:
            continue
        found.append(case(variant.id, variant.id))
        if variant.idea == "crauser_fused":
            found.append(case(f"{variant.id} in_out", variant.id, criterion="in_out"))
    return found


def sources(graph: Graph, count: int) -> list[int]:
    """Return vertices that reach at least half of the graph (or most found), by a fixed seed."""
    drawn = np.random.default_rng(7).permutation(np.flatnonzero(graph.degrees))[:12].tolist()
    drawn.append(int(np.argmax(graph.degrees)))
    reach = {v: nearfar.sssp(graph, v, device="cpu").n_reached for v in drawn}
    best = max(reach.values())
    return [v for v in drawn if 2 * reach[v] >= best][:count]


def wrong(answer: Answer, want: Any) -> int:
    """Return the number of vertices whose distance is not the proven one, compared on the host."""
    found = answer.distances
    host = found if isinstance(found, np.ndarray) else runtime.download(found)
    return int(np.count_nonzero(host != want))


def first_run(
    one: Case, graph: Graph, source: int, want: Any, limit: float
) -> tuple[dict[str, Any], bool]:
    """Return a row with the warm-up solve, and whether a solve exceeds the time limit.

    A variant that exceeds it is not measured again: its row has these seconds and counters.
    """
    warm, answer = time_once(one, graph, source)
    row = {
        "id": one.variant.id,
        "unsafe": one.variant.unsafe,
        "section": one.variant.section,
        "wrong_vertices": wrong(answer, want),
        "warm_up_s": warm,
        "samples_s": [],
    }
    seconds = warm
    if limit < warm < limit + COMPILE and one.variant.device == "cuda":
        # The first solve may include compilation, so the second one decides.
        seconds, answer = time_once(one, graph, source)
    if seconds <= limit:
        return row, False
    numbers = {k: value for k, value in answer.stats.items() if isinstance(value, (int, float))}
    return row | {"samples_s": [seconds], "counters": numbers}, True


def measure(name: str, args: argparse.Namespace) -> dict[str, Any]:
    """Measure all contenders on one graph."""
    began = time.perf_counter()
    graph = GRAPHS[name]()
    graph.transpose()
    built = time.perf_counter() - began
    starts = sources(graph, args.sources)
    want = proven(graph, starts)
    everyone = contenders(graph, name, args.devices, args.only)
    rows: dict[str, dict[str, Any]] = {}
    live = []
    for one in everyone:
        rows[one.label], slow = first_run(one, graph, starts[0], want[starts[0]], args.slow)
        if not slow:
            live.append(one)
    for _ in range(args.rounds):
        for source in starts:
            for one in live:
                row = rows[one.label]
                seconds, answer = time_once(one, graph, source)
                row["samples_s"].append(seconds)
                # Download and compare outside the timed region.
                if len(row["samples_s"]) <= len(starts):
                    row["wrong_vertices"] += wrong(answer, want[source])
    for one in everyone:
        row = rows[one.label]
        row["median_s"] = statistics.median(row["samples_s"])
        row["min_s"] = min(row["samples_s"])
        if one.label != BASE and row["median_s"] < args.slow:
            row["counters"] = counters(one, graph, starts[0])
    fibonacci = rows[BASE]["median_s"]
    for row in rows.values():
        row["over_fibonacci_heap"] = fibonacci / row["median_s"]
    return {
        "graph": name,
        "n": graph.n_vertices,
        "m": graph.n_edges,
        "sources": starts,
        "build_s": built,
        "rows": rows,
        "paper_crauser_over_martin": PAPER_OVER_MARTIN.get(name),
    }


def ratio(rows: dict[str, Any], slow: str, fast: str) -> float | None:
    """Return the speed-up of ``fast`` over ``slow``."""
    if slow not in rows or fast not in rows:
        return None
    return float(rows[slow]["median_s"] / rows[fast]["median_s"])


def show(result: dict[str, Any]) -> None:
    """Print a table of one graph."""
    print(f"\n== {result['graph']}: n={result['n']:,} m={result['m']:,}")
    columns = f"{'median ms':>11}{'x FH':>9}{'iterations':>11}{'idle':>7}{'frontier':>10}"
    print(f"{'variant':42}{columns}  wrong")
    for label, row in sorted(result["rows"].items(), key=lambda item: item[1]["median_s"]):
        stats = row.get("counters", {})
        idle = f"{stats['idle_share']:.0%}" if "idle_share" in stats else ""
        frontier = f"{stats['frontier_mean']:,.0f}" if "frontier_mean" in stats else ""
        print(
            f"{label:42}{row['median_s'] * 1e3:11.3f}{row['over_fibonacci_heap']:9.1f}"
            f"{stats.get('iterations', ''):>11}{idle:>7}{frontier:>10}"
            f"  {row['wrong_vertices'] or ''}"
        )
    over = ratio(result["rows"], "frontier_successors@cuda", "crauser_successors@cuda")
    gain = ratio(result["rows"], "crauser_successors@cuda", "crauser_fused@cuda")
    if over is not None and gain is not None:
        paper = result["paper_crauser_over_martin"]
        said = "" if paper is None else f" (paper: {min(paper)} to {max(paper)})"
        print(f"Crauser over F-GPU {over:.2f}x{said}; one launch over three kernels {gain:.2f}x")
    sys.stdout.flush()


def main() -> int:
    """Measure, print, write."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument(
        "--graphs", nargs="+", default=DEFAULT, choices=list(GRAPHS), metavar="NAME"
    )
    parser.add_argument("--devices", nargs="+", default=["cpu", "cuda"], choices=["cpu", "cuda"])
    parser.add_argument(
        "--only", nargs="+", metavar="ID", help="these variants instead of all (ids)"
    )
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--sources", type=int, default=1)
    parser.add_argument(
        "--slow", type=float, default=1.0, help="solves longer than this (seconds) run once"
    )
    parser.add_argument(
        "--budget", type=float, default=float("inf"), help="start no graph after this"
    )
    parser.add_argument("--resume", action="store_true", help="skip graphs that the output holds")
    add_output(parser)
    args = parser.parse_args()
    here = runtime.available()
    if "cuda" in args.devices and here is not True:
        parser.error(f"{here}; give --devices cpu")
    on_gpu = "cuda" in args.devices
    device = runtime.device()._asdict() if on_gpu else None
    rows = Rows(args.output, list(GRAPHS))
    done = rows.names if args.resume else set()
    began, failed = time.perf_counter(), False
    for name in args.graphs:
        if name in done or time.perf_counter() - began > args.budget:
            continue
        result = measure(name, args)
        show(result)
        failed |= any(
            row["wrong_vertices"] and not row["unsafe"] for row in result["rows"].values()
        )
        rows.add(result, device=device)
    return int(failed)


if __name__ == "__main__":
    sys.exit(main())
