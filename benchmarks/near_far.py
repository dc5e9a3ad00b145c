"""Compare the near-far family on one GPU with a heap Dijkstra on one host core.

Every method runs with every traversal: ``python benchmarks/near_far.py -o
benchmarks/results/near_far.json`` on a machine with a GPU. Times of the GPU methods are device
times by CUDA events, from the first write of the distances to the last launch, graph on the device,
median of the rounds after one warm-up; methods are interleaved within a round. Every answer is
compared bit for bit with a proven one. TEPS counts the edges that Dijkstra touches (paper, Figure
5). The file is written after every graph; other graphs are kept, each with its environment.
"""

from __future__ import annotations

import argparse
import statistics
import sys
import time
from pathlib import Path
from typing import Any

import nearfar
from graphs_on_disk import GRAPHS, load, proven, source_of
from nearfar.cuda.device_graph import device_graph
from nearfar.errors import MissingDependencyError
from nearfar.graph.delta import paper_delta
from nearfar.graph.graph import Graph
from nearfar.lab.profile import dijkstra_edges
from nearfar.options import build_options
from nearfar.papers.davidson_2014.near_far.options import TRAVERSALS
from nearfar.registry import Workspace, find
from nearfar.system.devices import runtime
from result_file import Rows, add_output

NAMES = ("random-200", "martin-11", "kronecker-22", "grid-1000", "ny-roads")
ROADS = ("grid-1000", "ny-roads")  # the host loop is slow on roads: fewer methods and rounds
HOST = "dijkstra_dary_heap@cpu"  # four children per heap entry


def configurations(name: str, graph: Graph) -> list[tuple[str, dict[str, Any]]]:
    """Return methods with options; for Near-Far also a quarter and four times the delta."""
    found: list[tuple[str, dict[str, Any]]] = []
    delta = float(paper_delta(graph))
    traversals = TRAVERSALS if name not in ROADS else ("thread", "load_balanced")
    for traversal in traversals:
        for duplicates in ("owners", "claim") if name not in ROADS else ("claim",):
            found.append(
                ("workfront_sweep@cuda", {"traversal": traversal, "duplicates": duplicates})
            )
        for scale in (0.25, 1.0, 4.0, 16.0):
            value = max(1.0, round(delta * scale))
            found.append(("near_far_host_loop@cuda", {"traversal": traversal, "delta": value}))
        found.append(("hybrid_sweep@cuda", {"traversal": traversal}))
        if name not in ROADS:
            found.append(("bucketing@cuda", {"traversal": traversal}))
    if name not in ROADS:
        found.append(("bellman_ford@cuda", {}))
    unique = {(m, tuple(o.items())): (m, o) for m, o in found}
    return list(unique.values())


def time_host(graph: Graph, source: int, rounds: int) -> tuple[list[float], Any]:
    """Return the seconds of the heap Dijkstra, and its answer."""
    samples = []
    for _ in range(rounds):
        begun = time.perf_counter()
        paths = nearfar.sssp(graph, source, method=HOST, threads=1)
        samples.append(time.perf_counter() - begun)
    return samples, paths


def measure(name: str, folder: Path | None, rounds: int, budget: float) -> dict[str, Any]:
    """Measure all configurations on one graph; start no round after `budget` seconds."""
    begun = time.perf_counter()
    graph = load(name, folder)
    source = source_of(name, graph)
    made = time.perf_counter() - begun
    host, paths = time_host(graph, source, 2)
    want = proven(name, graph, folder)
    if not (paths.distances == want).all():
        raise SystemExit(f"{HOST} is wrong on {name}")
    touched = dijkstra_edges(graph, want)
    begun = time.perf_counter()
    device_graph(graph)
    runtime.synchronize()
    upload = time.perf_counter() - begun
    expected = runtime.upload(want)
    rows: list[dict[str, Any]] = []
    for method, options in configurations(name, graph):
        rows.append({"method": method, "options": options, "ms": []})
    until = time.perf_counter() + budget
    for turn in range(rounds + 1):
        for row in rows:
            if turn > 1 and time.perf_counter() > until:
                break
            (variant,) = find(row["method"])
            checked = build_options(variant.options, row["options"], variant.id)
            answer = variant.run(graph, source, checked, Workspace())
            row["right"] = row.get("right", True) and bool((answer.distances == expected).all())
            stats = {k: v for k, v in answer.stats.items() if isinstance(v, (int, float))}
            if turn:
                row["ms"].append(stats["device_seconds"] * 1e3)
            row["stats"] = stats
    best = statistics.median(host)
    for row in rows:
        row["median_ms"] = statistics.median(row["ms"])
        row["over_dijkstra"] = best * 1e3 / row["median_ms"]
        row["gteps"] = touched / row["median_ms"] * 1e-6
        row["work"] = row["stats"]["edges_relaxed"] / max(touched, 1)
    return {
        "graph": name,
        "n": graph.n_vertices,
        "m": graph.n_edges,
        "source": source,
        "reached": paths.n_reached,
        "edges_of_dijkstra": touched,
        "host_method": HOST,
        "host_seconds": host,
        "load_seconds": made,
        "upload_seconds": upload,
        "rows": rows,
    }


def show(result: dict[str, Any], most: int) -> None:
    """Print the best rows, and the best row of each method."""
    print(
        f"== {result['graph']} n={result['n']:,} m={result['m']:,} "
        f"Dijkstra {statistics.median(result['host_seconds']) * 1e3:.0f} ms"
    )
    seen: dict[str, int] = {}
    for row in sorted(result["rows"], key=lambda r: r["median_ms"]):
        seen[row["method"]] = seen.get(row["method"], 0) + 1
        if seen[row["method"]] <= most:
            print(
                f"  {row['median_ms']:9.3f} ms {row['over_dijkstra']:7.1f}x "
                f"{row['gteps']:6.2f} GTEPS work {row['work']:.2f} it {row['stats']['iterations']} "
                f"{row['method']} {row['options']} {'' if row['right'] else 'WRONG'}",
                flush=True,
            )


def main() -> int:
    """Measure, print and write; return 1 if an answer was wrong."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--graphs", nargs="+", default=list(NAMES), choices=list(GRAPHS))
    parser.add_argument("--folder", type=Path, default=None, help="folder of generated graphs")
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--budget", type=float, default=30.0, help="seconds of rounds per graph")
    parser.add_argument("--most", type=int, default=2, help="rows shown per method")
    add_output(parser)
    given = parser.parse_args()
    rows = Rows(given.output, [*NAMES, *GRAPHS])
    results = []
    for name in given.graphs:
        try:
            results.append(measure(name, given.folder, given.rounds, given.budget))
        except MissingDependencyError as error:
            print(f"{name} left out: {error}")
            continue
        show(results[-1], given.most)
        rows.add(results[-1], device=runtime.device()._asdict())
    return int(any(not row["right"] for result in results for row in result["rows"]))


if __name__ == "__main__":
    sys.exit(main())
