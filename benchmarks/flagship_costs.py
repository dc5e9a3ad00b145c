"""Measure the cost of dtypes and of predecessors with `near_far@cuda`.

``python benchmarks/flagship_costs.py -o benchmarks/results/flagship_costs.json``. Medians of 10
device times by CUDA events, dtypes interleaved, after the engine has chosen a form for each.
Integer weights are solved in int32 as by ``sssp``, and converting the answer is included; floats
with fractions (weights times 1.2345) are solved as given. Predecessors are computed on the device
from distances on the device. Then whole calls of ``sssp`` with and without predecessors alternate,
in wall time with the answer left on the device. Every answer is compared with the CPU engine's,
predecessors entry by entry. ``above_kernel_ms`` is the time of a call beyond its device time. The
file is written after each graph; other graphs keep their rows.
"""

from __future__ import annotations

import argparse
import statistics
import sys
import time
from typing import Any

import numpy as np

import nearfar
from flagship import as_solved
from nearfar.cuda.distances.predecessors import device_predecessors
from nearfar.generators import generate
from nearfar.graph.graph import Graph
from nearfar.registry import find
from nearfar.system.devices import compiler, runtime
from prepared_graphs import scaled
from result_file import Rows, add_output

GRAPHS: dict[str, Any] = {
    "random-200": lambda: generate("uniform_random", vertices=98_304, degree=200),
    "kronecker-20": lambda: generate("kronecker", scale=20),
    "grid-2000": lambda: generate("grid", rows=2000, columns=2000),
    "road-like-1m": lambda: generate("road_like", vertices=1_000_000),
    "delaunay-1m": lambda: scaled(generate("delaunay", vertices=1_000_000)),
}
SETTLING = 30  # solves after which the engine has chosen a form and a width for the graph
FRACTIONS = " with fractions"
TYPES = ("int32", "float32", "int64", "float64", "float32" + FRACTIONS, "float64" + FRACTIONS)


def with_weights(graph: Graph, kind: str) -> Graph:
    """Return the same graph with weights of another dtype, with or without fractions."""
    scale = 1.2345 if kind.endswith(FRACTIONS) else 1
    weights = (np.asarray(graph.weights) * scale).astype(kind.split()[0])
    return Graph.from_csr(graph.indptr, graph.indices, weights, directed=graph.directed)


def types_of(name: str, rounds: int) -> dict[str, Any]:
    """Return milliseconds of each dtype, and of each dtype's predecessors."""
    (variant,) = find("near_far@cuda")
    options = variant.options()
    graph = GRAPHS[name]()
    source = int(np.argmax(graph.degrees))
    graphs = {dtype: with_weights(graph, dtype) for dtype in TYPES}
    solved = {kind: as_solved(g, source) for kind, g in graphs.items()}
    wanted = {
        kind: nearfar.sssp(g, source, device="cpu", predecessors=True) for kind, g in graphs.items()
    }
    samples: dict[str, list[float]] = {dtype: [] for dtype in TYPES}
    trees: dict[str, list[float]] = {dtype: [] for dtype in TYPES}
    forms = {}
    right = True
    for turn in range(SETTLING + rounds):
        for dtype, (in_whole, workspace) in solved.items():
            answer = variant.run(in_whole, source, options, workspace)
            distances = answer.distances if answer.converted is None else answer.converted
            found, stats = device_predecessors(in_whole, [source], answer.distances)
            forms[dtype] = answer.stats["form"]
            compiler.finish_background()  # compilation of the next form to try
            if turn < SETTLING:
                right &= bool((runtime.download(found) == wanted[dtype].predecessors).all())
            else:
                right &= bool((runtime.download(distances) == wanted[dtype].distances).all())
                samples[dtype].append(answer.stats["device_seconds"] * 1e3)
                trees[dtype].append(stats["device_seconds"] * 1e3)
    walls, above = calls(graphs["int32"], source, rounds)
    return {
        "graph": name,
        "right": right,
        "median_ms": {dtype: statistics.median(times) for dtype, times in samples.items()},
        "samples_ms": samples,
        "forms": forms,
        "predecessor_ms": {dtype: statistics.median(times) for dtype, times in trees.items()},
        "predecessor_samples_ms": trees,
        "call_ms": {kind: statistics.median(times) for kind, times in walls.items()},
        "call_samples_ms": walls,
        "above_kernel_ms": statistics.median(above),
        "above_kernel_samples_ms": above,
    }


def calls(graph: Graph, source: int, rounds: int) -> tuple[dict[str, list[float]], list[float]]:
    """Return milliseconds of ``sssp`` on a graph of device arrays, without and with predecessors.

    For calls without predecessors the time beyond the device time is returned as well.
    """
    arrays = map(runtime.upload, (graph.indptr, graph.indices, graph.weights))
    there = Graph.from_csr(*arrays, directed=graph.directed)
    found: dict[str, list[float]] = {"distances": [], "and predecessors": []}
    above = []
    for turn in range(SETTLING + rounds):
        for kind, samples in found.items():
            runtime.synchronize()
            began = time.perf_counter()
            paths = nearfar.sssp(there, source, predecessors=kind != "distances")
            runtime.synchronize()
            wall = time.perf_counter() - began
            if turn < SETTLING:
                continue
            samples.append(wall * 1e3)
            if kind == "distances":
                above.append((wall - paths.stats["device_seconds"]) * 1e3)
    return found, above


def main() -> int:
    """Measure, print, write."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rounds", type=int, default=10)
    parser.add_argument("--graphs", nargs="+", choices=GRAPHS, default=list(GRAPHS))
    add_output(parser)
    args = parser.parse_args()
    began = time.perf_counter()
    rows = Rows(args.output, list(GRAPHS), under="types")
    right = True
    for name in args.graphs:
        row = types_of(name, args.rounds)
        rows.add(row, device=runtime.device()._asdict())
        right &= row["right"]
        times, base = row["median_ms"], row["median_ms"]["int32"]
        text = ", ".join(f"{dtype} {ms:.3f} ({ms / base:.2f}x)" for dtype, ms in times.items())
        more = ", ".join(
            f"{dtype} {(times[dtype] + ms) / times[dtype]:.2f}x"
            for dtype, ms in row["predecessor_ms"].items()
        )
        print(f"{row['graph']}: {text}; {row['forms']}", flush=True)
        print(
            f"   with predecessors {more}; right {row['right']}; calls {row['call_ms']}", flush=True
        )
    print(f"{time.perf_counter() - began:.0f} s in all")
    return int(not right)


if __name__ == "__main__":
    sys.exit(main())
