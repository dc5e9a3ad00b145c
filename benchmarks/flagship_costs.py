"""What types and predecessors cost `near_far@cuda`.

``python benchmarks/flagship_costs.py -o benchmarks/results/flagship_costs.json``. Medians of 10
device times by CUDA events, types interleaved, once the engine has settled on a form for each;
predecessors are found on the device from the distances there. Every answer is compared with the
CPU engine's, predecessors entry by entry.
"""

from __future__ import annotations

import argparse
import statistics
import sys
import time
from pathlib import Path
from typing import Any

import numpy as np

import nearfar
from nearfar.cuda.predecessors import device_predecessors
from nearfar.generators import generate
from nearfar.graph.graph import Graph
from nearfar.lab.bench.environment import environment
from nearfar.lab.bench.report import write_json
from nearfar.registry import Workspace, find
from nearfar.system.devices import runtime

GRAPHS: dict[str, Any] = {
    "random-200": lambda: generate("uniform_random", vertices=98_304, degree=200),
    "kronecker-20": lambda: generate("kronecker", scale=20),
    "grid-2000": lambda: generate("grid", rows=2000, columns=2000),
}
SETTLING = 12  # solves after which the engine has chosen the graph's form
TYPES = ("int32", "float32", "int64", "float64")


def with_weights(graph: Graph, dtype: str) -> Graph:
    """The same graph with weights of another type."""
    weights = np.asarray(graph.weights).astype(dtype)
    return Graph.from_csr(graph.indptr, graph.indices, weights, directed=graph.directed)


def types_of(name: str, rounds: int) -> dict[str, Any]:
    """Milliseconds of each type, and of each type's predecessors."""
    (variant,) = find("near_far@cuda")
    options = variant.options()
    graph = GRAPHS[name]()
    source = int(np.argmax(graph.degrees))
    graphs = {dtype: with_weights(graph, dtype) for dtype in TYPES}
    wanted = {t: nearfar.sssp(g, source, device="cpu").distances for t, g in graphs.items()}
    samples: dict[str, list[float]] = {dtype: [] for dtype in TYPES}
    trees: dict[str, list[float]] = {dtype: [] for dtype in TYPES}
    forms = {}
    tree = nearfar.sssp(graphs["int32"], source, device="cpu", predecessors=True).predecessors
    right = True
    for turn in range(SETTLING + rounds):
        for dtype, typed in graphs.items():
            answer = variant.run(typed, source, options, Workspace())
            found, stats = device_predecessors(typed, [source], answer.distances)
            forms[dtype] = answer.stats["form"]
            if turn < SETTLING:
                right &= bool((runtime.download(found) == tree).all())
            else:
                right &= bool((runtime.download(answer.distances) == wanted[dtype]).all())
                samples[dtype].append(answer.stats["device_seconds"] * 1e3)
                trees[dtype].append(stats["device_seconds"] * 1e3)
    return {
        "graph": name,
        "right": right,
        "median_ms": {dtype: statistics.median(times) for dtype, times in samples.items()},
        "samples_ms": samples,
        "forms": forms,
        "predecessor_ms": {dtype: statistics.median(times) for dtype, times in trees.items()},
        "predecessor_samples_ms": trees,
    }


def main() -> int:
    """Measure, print, write."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rounds", type=int, default=10)
    parser.add_argument("-o", "--output", type=Path, default=None)
    args = parser.parse_args()
    began = time.perf_counter()
    facts: dict[str, Any] = {"environment": environment(), "device": runtime.device()._asdict()}
    facts["types"] = []

    def keep() -> None:
        if args.output:
            write_json(args.output, facts)

    for name in GRAPHS:
        row = types_of(name, args.rounds)
        facts["types"].append(row)
        keep()
        times, base = row["median_ms"], row["median_ms"]["int32"]
        text = ", ".join(f"{dtype} {ms:.3f} ({ms / base:.2f}x)" for dtype, ms in times.items())
        more = ", ".join(
            f"{dtype} {(times[dtype] + ms) / times[dtype]:.2f}x"
            for dtype, ms in row["predecessor_ms"].items()
        )
        print(f"{row['graph']}: {text}; {row['forms']}", flush=True)
        print(f"   with predecessors {more}; right {row['right']}", flush=True)
    print(f"{time.perf_counter() - began:.0f} s in all")
    return int(not all(row["right"] for row in facts["types"]))


if __name__ == "__main__":
    sys.exit(main())
