"""Measure the speed of generating graphs: about 100 million edges of every large family.

``python benchmarks/generate_speed.py -o benchmarks/results/generate_speed.json``. Each family runs
in a separate process, so that peak memory is its own, and is timed from the call to the finished
Graph: random numbers, counting sort into rows, and validation. CPU seconds of all threads are
recorded with wall seconds, because only the latter depend on other load; ``load_before`` is the
number of other processes that were running. The file is written after every family; other families
are kept, each with its environment.
"""

from __future__ import annotations

import argparse
import multiprocessing
import os
import resource
import time
from typing import Any

from result_file import Rows, add_output

# Sizes for 100 million stored edges; Qhull bounds the mesh, which is therefore smaller.
FAMILIES: list[tuple[str, dict[str, Any]]] = [
    ("martin", {"vertices": 14_285_715}),
    ("uniform_random", {"vertices": 98_304, "degree": 1018}),
    ("kronecker", {"scale": 22, "edge_factor": 12}),
    ("grid", {"rows": 5268, "columns": 5268}),
    ("small_world", {"vertices": 12_500_000}),
    ("preferential_attachment", {"vertices": 6_250_001}),
    ("spgrid", {"vertices": 33_334_000, "weight_dtype": "int32"}),
    ("sprand", {"vertices": 25_000_000, "edges": 100_000_000, "weight_dtype": "int32"}),
    ("spacyc", {"vertices": 10_000_000, "edges": 100_000_000, "weight_dtype": "int32"}),
    ("road_like", {"vertices": 41_000_000}),
    ("country_roads", {"vertices": 40_000_000}),
    ("delaunay", {"vertices": 500_000}),
]


def measure(name: str, given: dict[str, Any]) -> dict[str, Any]:
    from nearfar.generators import generate

    generate("path", vertices=10)  # imports and loads everything once
    load = os.getloadavg()[0]
    began, worked = time.perf_counter(), time.process_time()
    graph = generate(name, **given)
    seconds, worked = time.perf_counter() - began, time.process_time() - worked
    return {
        "generator": name,
        "parameters": given,
        "vertices": graph.n_vertices,
        "edges": graph.n_edges,
        "seconds": round(seconds, 3),
        "cpu_seconds": round(worked, 3),
        "load_before": round(load, 2),
        "million_edges_per_second": round(graph.n_edges / seconds / 1e6, 2),
        "graph_gib": round(graph.nbytes / 2**30, 3),
        "peak_gib": round(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 2**20, 3),
    }


def main() -> None:
    """Measure, print, write."""
    from nearfar.generators.random import threads

    names = [name for name, _ in FAMILIES]
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--only", nargs="+", choices=names, default=names, metavar="FAMILY")
    add_output(parser)
    given = parser.parse_args()
    rows = Rows(given.output, names, by="generator")
    context = multiprocessing.get_context("spawn")
    for name, parameters in FAMILIES:
        if name in given.only:
            with context.Pool(1) as pool:
                found = pool.apply(measure, (name, parameters))
            print(f"{name}: {found}", flush=True)
            rows.add(found, threads=threads())


if __name__ == "__main__":
    main()
