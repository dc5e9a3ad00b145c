"""Compare Floyd-Warshall on a GPU with the add-min ceiling measured in the same run.

``python benchmarks/floyd_warshall.py -o benchmarks/results/floyd_warshall_cuda.json`` closes a
dense matrix of 16,384 vertices with int32 and float32 weights in device memory (4,096 with 64
bits). The ceiling is ``add_min_ceiling``: additions with minimum per second without any other work.
Sampled rows are proven to be the fixed point that rounds of relaxation reach. The product that
finds the predecessors from the closed matrix is timed separately; sampled rows of it are compared
with the smallest tight edge.
"""

from __future__ import annotations

import argparse
from typing import Any

import numpy as np

from nearfar.algorithms.floyd_warshall.cuda import add_min_ceiling, solve_matrix, tight_stops
from nearfar.cuda.device_graph import far_value
from nearfar.lab.bench.environment import environment
from nearfar.system.devices import runtime
from result_file import add_output, write_result


def plain_row(matrix: Any, source: int) -> Any:
    """Return the distances from one source by rounds over the whole matrix."""
    cp = runtime.cupy()
    row, n = matrix[source].copy(), len(matrix)
    while True:
        better = row.copy()
        for k in range(0, n, 2048):
            better = cp.minimum(
                better, (row[k : k + 2048, None] + matrix[k : k + 2048]).min(axis=0)
            )
        if bool((better == row).all()):
            return row
        row = better


def plain_predecessors(matrix: Any, row: Any) -> Any:
    """Return the smallest strictly nearer vertex with a tight edge; weights are positive."""
    cp = runtime.cupy()
    n = len(row)
    found = cp.full(n, n, dtype=np.int64)
    for k in range(0, n, 2048):
        tight = (row[k : k + 2048, None] + matrix[k : k + 2048] == row) & (
            row[k : k + 2048, None] < row
        )
        first = cp.where(tight.any(axis=0), k + tight.argmax(axis=0), n)
        found = cp.minimum(found, first)
    found[found == n] = -1
    return found


def predecessors(matrix: Any, closed: Any, rounds: int) -> list[float]:
    """Return the seconds of every round of the product that finds predecessors."""
    cp = runtime.cupy()
    direct = matrix.copy()
    direct.reshape(-1)[:: len(direct) + 1] = far_value(np.dtype(direct.dtype))
    samples = []
    for turn in range(rounds + 1):
        before = cp.full(closed.shape, -1, dtype=np.int32)
        timer = runtime.Timer().start()
        tight_stops(closed, direct, before)
        seconds = timer.stop().seconds
        if turn:
            samples.append(seconds)
    for source in (0, 77, len(closed) - 1):
        truth = plain_predecessors(direct, closed[source])
        if not bool((truth == before[source]).all()):
            raise SystemExit(f"predecessors of row {source} of {closed.dtype} are wrong")
    return samples


def measure(dtype: Any, n: int, rounds: int) -> dict[str, Any]:
    """Return the seconds of every round, and the share of the ceiling reached by the fastest."""
    cp = runtime.cupy()
    matrix = cp.random.RandomState(5).randint(1, 1000, (n, n)).astype(dtype)
    matrix[cp.arange(n), cp.arange(n)] = 0
    samples = []
    for turn in range(rounds + 1):
        closed = matrix.copy()
        timer = runtime.Timer().start()
        solve_matrix(closed)
        seconds = timer.stop().seconds
        if turn:
            samples.append(seconds)
    for source in (0, 77, n // 2 + 3, n - 1):
        if not bool((plain_row(matrix, source) == closed[source]).all()):
            raise SystemExit(f"row {source} of {np.dtype(dtype)} is wrong")
    ceiling, rate = add_min_ceiling(np.dtype(dtype), 4000), n**3 / min(samples)
    return {
        "vertices": n,
        "samples": samples,
        "add_min_per_second": rate,
        "ceiling": ceiling,
        "share_of_ceiling": rate / ceiling,
        "predecessor_samples": predecessors(matrix, closed, rounds),
    }


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    add_output(parser)
    parser.add_argument("--rounds", type=int, default=5)
    arguments = parser.parse_args()
    where = environment()
    file = arguments.output
    results: dict[str, Any] = {}
    for dtype in (np.int32, np.float32, np.int64, np.float64):
        n = 16_384 if np.dtype(dtype).itemsize == 4 else 4096
        results[np.dtype(dtype).name] = entry = measure(dtype, n, arguments.rounds)
        share = entry["share_of_ceiling"]
        print(
            f"{np.dtype(dtype).name} n={n}: {min(entry['samples']):.4f} s, {share:.1%} of ceiling; "
            f"predecessors {min(entry['predecessor_samples']):.4f} s more",
            flush=True,
        )
        if file:
            write_result(file, {"environment": where, "results": results})


if __name__ == "__main__":
    main()
