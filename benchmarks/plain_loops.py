"""Compare the CPU forms of the frontier and Crauser families with plain C++ loops.

``python benchmarks/plain_loops.py -o results.json`` compiles plain_loops.cpp with g++ -O3, runs
nearfar and the plain loops in alternation, compares iterations and the sum of distances, and
reports the ratio of medians (nearfar over plain loop).
"""

from __future__ import annotations

import argparse
import shutil
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

import numpy as np

from nearfar.generators import generate
from nearfar.graph.graph import Graph
from nearfar.lab.bench.environment import environment
from nearfar.registry import Workspace, find
from result_file import add_output, write_result

HERE = Path(__file__).resolve().parent
GRAPHS: dict[str, Any] = {
    "martin-1": lambda: generate("martin", vertices=2**20),
    "random-24k-20": lambda: generate("uniform_random", vertices=24_576, degree=20),
    "random-24k-200": lambda: generate("uniform_random", vertices=24_576, degree=200),
}


def write(graph: Graph, path: Path) -> None:
    """Write the graph and its transpose in the form that plain_loops.cpp reads."""
    with path.open("wb") as file:
        np.array([graph.n_vertices, graph.n_edges], dtype=np.int64).tofile(file)
        for side in (graph, graph.transpose()):
            for array in (side.indptr, side.indices, side.effective_weights):
                array.astype(np.int32).tofile(file)


def measure(name: str, program: Path, rounds: int) -> list[dict[str, Any]]:
    """Measure every form on one graph, in nearfar and as a plain loop."""
    graph = GRAPHS[name]()
    source = int(np.argmax(graph.degrees))
    plain: dict[str, list[tuple[int, int, float]]] = {}
    own: dict[str, list[float]] = {}
    answers: dict[str, tuple[int, int]] = {}
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / "graph.bin"
        write(graph, file)
        for _ in range(rounds):
            command = [str(program), str(file), str(source), "1"]
            done = subprocess.run(command, capture_output=True, text=True, check=True)
            for line in done.stdout.splitlines():
                form, iterations, total, seconds = line.split()
                plain.setdefault(form, []).append((int(iterations), int(total), float(seconds)))
            for form in plain:
                (variant,) = find(f"{form}@cpu")
                began = time.perf_counter()
                answer = variant.run(graph, source, None, Workspace())
                own.setdefault(form, []).append(time.perf_counter() - began)
                reached = answer.distances[answer.distances != np.iinfo(np.int32).max]
                answers[form] = (answer.stats["iterations"], int(reached.sum(dtype=np.int64)))
    rows = []
    for form, samples in plain.items():
        theirs = [seconds for _, _, seconds in samples]
        row = {
            "graph": name,
            "form": form,
            "iterations": samples[0][0],
            "same_answer": answers[form] == samples[0][:2],
            "plain_s": theirs,
            "nearfar_s": own[form],
            "ratio": statistics.median(own[form]) / statistics.median(theirs),
        }
        print(
            f"{name:16}{form:24}{row['ratio']:7.2f}  same answer: {row['same_answer']}", flush=True
        )
        rows.append(row)
    return rows


def main() -> int:
    """Measure, print, write."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--graphs", nargs="+", default=list(GRAPHS), choices=list(GRAPHS))
    parser.add_argument("--rounds", type=int, default=7)
    add_output(parser)
    args = parser.parse_args()
    if shutil.which("g++") is None:
        parser.error("g++ is needed to compile the plain loops")
    with tempfile.TemporaryDirectory() as folder:
        program = Path(folder) / "plain_loops"
        flags = ["-O3", "-std=c++20"]
        subprocess.run(
            ["g++", *flags, "-o", str(program), str(HERE / "plain_loops.cpp")], check=True
        )
        rows = [row for name in args.graphs for row in measure(name, program, args.rounds)]
    if args.output:
        record = {"environment": environment(), "results": rows}
        write_result(args.output, record)
    return int(not all(row["same_answer"] for row in rows))


if __name__ == "__main__":
    sys.exit(main())
