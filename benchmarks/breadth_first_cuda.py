"""Compare breadth-first search on one GPU with the weighted engine on weights of 1.

``python benchmarks/breadth_first_cuda.py -o benchmarks/results/breadth_first_cuda.json`` times
``breadth_first@cuda`` on graphs without weights and ``near_far@cuda`` on the same edges with
weights of 1, interleaved: device time of a solve by CUDA events, graph on the device,
initialisation included, median of 10 after each engine has built its cached data. Every answer is
compared with the CPU's breadth-first search. The first search of a fresh graph by each engine is
recorded separately, as is the time to build data that later searches reuse: balls on roads, and the
transpose of a directed graph, which is built after the first search.
``--peers cugraph`` also measures cuGraph's search if it is installed.
The file is written after every graph; rows of other graphs are kept, each with its environment.
"""

from __future__ import annotations

import argparse
import json
import statistics
import sys
from pathlib import Path
from typing import Any

import numpy as np

import graphs_on_disk
import nearfar
from flagship import time_peers
from nearfar.algorithms.breadth_first.cuda import BreadthFirstOptions
from nearfar.algorithms.near_far.one_launch.options import OneLaunchOptions
from nearfar.graph.graph import Graph
from nearfar.lab.bench.suite import data_folder
from nearfar.registry import Workspace, find
from nearfar.system.devices import runtime
from result_file import Rows, add_output

SETTLING = 6  # untimed searches of a graph before the timed ones
# name: (whether both directions of every edge are stored, source or None for the largest degree)
GRAPHS: dict[str, tuple[bool, int | None]] = {
    "random-200": (False, None),
    "kronecker-20": (True, None),
    "kronecker-22": (True, None),
    "martin-11": (False, None),
    "grid-2000": (True, None),
    "ny-roads": (True, 189_259),
    "kronecker-20-directed": (False, None),
    "colorado": (True, 1000),
    "slashdot": (False, None),
    "gnutella": (False, None),
}
#: Files in the folder of real graphs.
FILES = {
    "colorado": "dimacs9-topology/USA-road-topo.COL.tw.gr.xz",
    "slashdot": "snap-johnson/soc-Slashdot0902.txt.xz",
    "gnutella": "snap-johnson/p2p-Gnutella31.txt.xz",
}


def load(name: str, folder: Path | None) -> Graph:
    """Return the graph of that name."""
    if name not in FILES:
        return graphs_on_disk.load(name.removesuffix("-directed"), folder)
    real = data_folder()
    if real is None:
        raise FileNotFoundError("set NEARFAR_DATA to the folder of real graphs")
    return nearfar.read(real / FILES[name]).without_names()


def solve(graph: Graph, method: str, source: int, options: Any) -> Any:
    """Solve once with a variant and return its answer."""
    (variant,) = find(method)
    return variant.run(graph, source, options, Workspace())


def steps_of(graph: Graph, source: int, options: Any) -> dict[str, Any]:
    """Return steps, vertices and milliseconds of each kind of step, from one recorded run."""
    (variant,) = find("breadth_first@cuda")
    stats = variant.run(graph, source, options, Workspace(stats="full")).stats
    table: dict[str, Any] = {}
    for kind, size, seconds in zip(
        stats["kind"], stats["frontier"], [*stats["seconds_per_step"], 0.0], strict=True
    ):
        row = table.setdefault(kind, {"steps": 0, "vertices": 0, "ms": 0.0})
        row["steps"] += 1
        row["vertices"] += int(size)
        row["ms"] += float(seconds) * 1e3
    return table


def measure(
    name: str, folder: Path | None, rounds: int, options: list[dict[str, Any]], peers: list[str]
) -> dict[str, Any]:
    """Measure both engines and the peers on one graph."""
    both, source = GRAPHS[name]
    weighted = load(name, folder)
    graph = Graph.from_csr(weighted.indptr, weighted.indices, directed=not both)
    ones = Graph.from_csr(graph.indptr, graph.indices, np.ones(graph.n_edges, np.int32))
    source = int(np.argmax(graph.degrees)) if source is None else source
    want = nearfar.sssp(graph, source, method="breadth_first@cpu").distances
    engines: list[tuple[str, Graph, str, Any, dict[str, Any]]] = [
        ("weights of 1", ones, "near_far@cuda", OneLaunchOptions(), {})
    ]
    forms = [{}, *([{"transpose": False}] if graph.directed else []), *options]
    for form in forms:
        own = Graph.from_csr(graph.indptr, graph.indices, directed=graph.directed)
        label = "breadth-first" + "".join(f", {k} {v}" for k, v in form.items())
        engines.append((label, own, "breadth_first@cuda", BreadthFirstOptions(**form), form))
    rows: list[dict[str, Any]] = [
        {"engine": label, "options": form, "samples_ms": [], "right": True}
        for label, _, _, _, form in engines
    ]
    for turn in range(SETTLING + rounds):
        for row, (_, own, method, chosen, _) in zip(rows, engines, strict=True):
            answer = solve(own, method, source, chosen)
            row["right"] &= bool((runtime.download(answer.distances) == want).all())
            milliseconds = answer.stats["device_seconds"] * 1e3
            if answer.stats.get("ball_seconds"):
                row["balls_ms"] = answer.stats["ball_seconds"] * 1e3
            if turn >= SETTLING:
                row["samples_ms"].append(milliseconds)
            if turn == 0:
                row["first_ms"] = milliseconds
                if own.directed and method == "breadth_first@cuda" and not row["options"]:
                    made = solve(own, method, source, BreadthFirstOptions(transpose=True))
                    if made.stats.get("transpose_seconds"):  # absent if near-far searched
                        row["transpose_ms"] = made.stats["transpose_seconds"] * 1e3
            row["stats"] = {k: v for k, v in answer.stats.items() if isinstance(v, (int, float))}
    for row, (_, own, method, chosen, _) in zip(rows, engines, strict=True):
        row["median_ms"] = statistics.median(row["samples_ms"])
        row["times_faster"] = rows[0]["median_ms"] / row["median_ms"]
        if method == "breadth_first@cuda":
            row["kinds"] = steps_of(own, source, chosen)
    reached = int((want != np.iinfo(want.dtype).max).sum())
    return {
        "graph": name,
        "n": graph.n_vertices,
        "m": graph.n_edges,
        "source": source,
        "reached": reached,
        "levels": int(want[want != np.iinfo(want.dtype).max].max()),
        "rows": rows,
        "peers": time_peers(peers, graph, source, want),
    }


def main() -> int:
    """Measure, print, write."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--graphs", nargs="+", default=list(GRAPHS), choices=list(GRAPHS))
    parser.add_argument("--folder", type=Path, default=None, help="of graphs_on_disk.py")
    parser.add_argument("--rounds", type=int, default=10)
    parser.add_argument("--options", type=json.loads, nargs="*", default=[], help="more forms")
    parser.add_argument("--peers", nargs="*", default=[], choices=["cugraph"])
    add_output(parser)
    given = parser.parse_args()
    results = []
    kept = Rows(given.output, list(GRAPHS))
    for name in given.graphs:
        result = measure(name, given.folder, given.rounds, given.options, given.peers)
        results.append(result)
        print(f"== {name} n={result['n']:,} m={result['m']:,} levels {result['levels']}")
        for row in result["rows"]:
            kinds = {k: (v["steps"], round(v["ms"], 3)) for k, v in row.get("kinds", {}).items()}
            print(
                f"   {row['median_ms']:8.3f} ms {row['times_faster']:5.2f}x "
                f"{'right' if row['right'] else 'WRONG'} {row['engine']} {kinds} "
                f"edges {row['stats']['edges_relaxed'] / result['m']:.2f} m, first "
                f"{row['first_ms']:.3f}, balls {row.get('balls_ms', 0.0):.3f}, "
                f"transpose {row.get('transpose_ms', 0.0):.3f}",
                flush=True,
            )
        for peer in result["peers"]:
            print(f"   {peer['ms']} ms {peer['peer']}, right {peer['right']} {peer['skipped']}")
        kept.add(result, device=runtime.device()._asdict())
    return int(any(not row["right"] for result in results for row in result["rows"]))


if __name__ == "__main__":
    sys.exit(main())
