"""Count iterations of the minimum and of Crauser's criteria against the range of the weights.

``python benchmarks/crauser_weight_range.py -o results.json``. Ortega-Arranz et al. (2015), Table
2, reports ratios of times. With equal kernels an iteration of both methods takes nearly the same
time, so the gain of the criterion is the ratio of iterations. It depends on the number of different
distances, and therefore on the range of the weights. The counts are the same on every machine and
device.
"""

from __future__ import annotations

import argparse
import sys
from typing import Any

import numpy as np

import nearfar
from nearfar.generators import generate
from nearfar.lab.bench.environment import environment
from result_file import add_output, write_result

IDEAS = ("frontier_successors", "crauser_successors", "crauser_in", "crauser_in_out")
PAPER = {2: (21.62, 24.66), 20: (11.04, 12.11), 200: (2.39, 2.50)}  # 24k vertices, three boards


def count(degree: int, high: int) -> dict[str, Any]:
    """Return the iterations of each criterion on one graph of the uniform random family."""
    graph = generate("uniform_random", vertices=24_576, degree=degree, high=high)
    source = int(np.argmax(np.diff(graph.transpose().indptr)))
    found = {
        idea: int(nearfar.sssp(graph, source, method=f"{idea}@cpu").stats["iterations"])
        for idea in IDEAS
    }
    return {
        "degree": degree,
        "high": high,
        "iterations": found,
        "ratio": found["frontier_successors"] / found["crauser_successors"],
        "paper_time_ratio": PAPER[degree],
    }


def main() -> int:
    """Count, print, write."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--degrees", nargs="+", type=int, default=sorted(PAPER), choices=PAPER)
    parser.add_argument("--high", nargs="+", type=int, default=[10, 100, 1000, 10_000, 100_000])
    add_output(parser)
    args = parser.parse_args()
    rows = []
    for degree in args.degrees:
        for high in args.high:
            row = count(degree, high)
            rows.append(row)
            counts = " ".join(f"{value:7d}" for value in row["iterations"].values())
            print(
                f"degree {degree:4} weights 1..{high:<7}{counts}  ratio {row['ratio']:.2f}",
                flush=True,
            )
    if args.output:
        record = {"environment": environment(), "results": rows}
        write_result(args.output, record)
    return 0


if __name__ == "__main__":
    sys.exit(main())
