"""Solve more than 2^31 edges on one GPU: memory predicted, solved, proven on the device.

``python benchmarks/two_billion_edges.py -o benchmarks/results/two_billion_edges.json`` draws a
random graph with CuPy (11 million vertices of 200 out-edges, weights 1 to 100: positions need 64
bits), predicts the memory of the solve, shows that a pool too small for it is refused before any
allocation, solves by ``near_far@cuda`` and ``breadth_first@cuda``, and proves both answers from the
drawn arrays only: no edge can be relaxed, and a tight edge leads to every reached vertex (weights
are positive, so tight edges form no cycle). Needs 60 GB on the device and 50 GB of host memory.
"""

from __future__ import annotations

import argparse
import resource
import sys
import time
from typing import Any

import numpy as np

import nearfar
from nearfar.cuda.device_graph import upload_bytes
from nearfar.errors import OutOfMemoryError
from nearfar.graph.graph import Graph
from nearfar.lab.bench.environment import environment
from nearfar.system.devices import runtime
from result_file import add_output, write_result

CHUNK_VERTICES = 400_000
GIB = 2**30


def draw(vertices: int, degree: int) -> tuple[Any, Any, Any]:
    """Return row bounds (int64), indices (int32) and weights (int32) on the device."""
    cupy, m = runtime.cupy(), vertices * degree
    cupy.random.seed(1)
    indices, weights = cupy.empty(m, dtype=cupy.int32), cupy.empty(m, dtype=cupy.int32)
    step = CHUNK_VERTICES * degree
    for first in range(0, m, step):
        part = slice(first, min(first + step, m))
        size = part.stop - first
        indices[part] = cupy.random.randint(0, vertices, size, dtype=cupy.int32)
        weights[part] = cupy.random.randint(1, 101, size, dtype=cupy.int32)
    return cupy.arange(vertices + 1, dtype=cupy.int64) * degree, indices, weights


def prove(distances: Any, source: int, degree: int, indices: Any, weights: Any | None) -> bool:
    """Return whether these are the distances, by the drawn arrays; in chunks on the device."""
    cupy, n = runtime.cupy(), len(distances)
    never = np.iinfo(np.int32).max
    tight = cupy.zeros(n, dtype=cupy.bool_)
    slack = True
    for first in range(0, n, CHUNK_VERTICES):
        last = min(first + CHUNK_VERTICES, n)
        edges = slice(first * degree, last * degree)
        target = indices[edges]
        start = cupy.repeat(distances[first:last], degree).astype(cupy.int64)
        end = start + (1 if weights is None else weights[edges])
        there = distances[target].astype(cupy.int64)
        from_reached = start != never
        slack &= bool(((there <= end) | ~from_reached).all())
        tight[target[from_reached & (there == end)]] = True
    reached = distances != never
    reached[source] = False
    return slack and int(distances[source]) == 0 and bool(tight[reached].all())


def refused(graph: Graph, needed: int) -> dict[str, Any]:
    """Check that a pool of half the size is refused with its numbers before any allocation."""
    pool = runtime.cupy().get_default_memory_pool()
    pool.free_all_blocks()
    used = pool.used_bytes()
    pool.set_limit(size=used + needed // 2)
    try:
        nearfar.sssp(graph, 0, method="near_far@cuda")
    except OutOfMemoryError as error:
        return {
            "message": str(error),
            "needed": error.needed,
            "free": error.free,
            "allocated": pool.used_bytes() - used,
        }
    finally:
        pool.set_limit(size=0)
    raise SystemExit("a pool too small was not refused")


def solve(
    graph: Graph, method: str, degree: int, indices: Any, weights: Any | None, rounds: int
) -> dict[str, Any]:
    """Predict the memory, solve, and prove."""
    pool = runtime.cupy().get_default_memory_pool()
    pool.free_all_blocks()
    before = pool.used_bytes()
    stated = upload_bytes(graph)
    free, total = runtime.memory()
    print(f"{method}: the graph needs {stated / GIB:.2f} GiB, {free / GIB:.2f} free", flush=True)
    began = time.perf_counter()
    paths = nearfar.sssp(graph, 0, method=method)
    first = time.perf_counter() - began
    samples = [
        nearfar.sssp(graph, 0, method=method).stats["device_seconds"] * 1e3 for _ in range(rounds)
    ]
    right = prove(paths.distances, 0, degree, indices, weights)
    row = {
        "method": method,
        "stated_graph_bytes": stated,
        "free_bytes": free,
        "device_bytes": total,
        "held_bytes": pool.used_bytes() - before,
        "pool_bytes": pool.total_bytes(),
        "first_call_s": first,
        "samples_ms": samples,
        "median_ms": float(np.median(samples)),
        "reached": int((paths.distances != np.iinfo(np.int32).max).sum()),
        "edges_relaxed": paths.stats["edges_relaxed"],
        "proven": right,
    }
    print(row, flush=True)
    return row


def main() -> int:
    """Draw, check the refusal, solve twice, write."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--vertices", type=int, default=11_000_000)
    parser.add_argument("--degree", type=int, default=200)
    parser.add_argument("--rounds", type=int, default=5)
    add_output(parser)
    given = parser.parse_args()
    began = time.perf_counter()
    indptr, indices, weights = draw(given.vertices, given.degree)
    print(f"drawn {len(indices):,} edges in {time.perf_counter() - began:.1f} s", flush=True)
    began = time.perf_counter()
    graph = Graph.from_csr(indptr, indices, weights, copy=False)
    validated = time.perf_counter() - began
    print(f"checked on the device in {validated:.2f} s: {graph}", flush=True)
    refusal = refused(graph, upload_bytes(graph))
    print(refusal, flush=True)
    rows = [solve(graph, "near_far@cuda", given.degree, indices, weights, given.rounds)]
    plain = graph.without_weights()
    graph.forget()
    rows.append(solve(plain, "breadth_first@cuda", given.degree, indices, None, given.rounds))
    result = {
        "environment": environment(),
        "device": runtime.device()._asdict(),
        "n": graph.n_vertices,
        "m": graph.n_edges,
        "validation_s": validated,
        "host_bytes": resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024,
        "refusal": refusal,
        "rows": rows,
    }
    write_result(given.output, result)
    allocated = refusal["allocated"]
    return int(not all(row["proven"] for row in rows) or allocated != 0)


if __name__ == "__main__":
    sys.exit(main())
