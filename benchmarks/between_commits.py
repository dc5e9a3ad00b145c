"""Compare two builds of nearfar, such as those of a commit and of an earlier one.

    python benchmarks/between_commits.py --before DIR COMMIT --after DIR COMMIT -o FILE

A DIR is the ``src`` folder of a checkout with its C++ module built in place. Writes
between_commits.json. Each build runs in a separate process that holds the benchmark graphs. The
processes alternate solve by solve through one public call: ``sssp`` of a Graph that is reused,
``sssp`` of a SciPy matrix, or ``dijkstra`` of :mod:`nearfar.csgraph` on such a matrix; the last two
convert the matrix in every call. Both builds must give the same bits.
The ratio of a graph is that of the medians of its rounds, each the mean of consecutive solves.
"""

from __future__ import annotations

import argparse
import json
import os
import statistics
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

import numpy as np

from nearfar.lab.bench.environment import environment
from nearfar.lab.bench.report import table
from nearfar.lab.bench.suite import SUITE, draw_sources, load, named
from result_file import add_output, write_result

_STRETCH = 0.05  # minimum seconds of consecutive solves; a sample is their mean


# Program of the process of one build: it solves the requests on its standard input, and uses only
# functions that both builds have.
_SERVER = f"""
import hashlib, json, sys, time
import numpy as np
import nearfar

def of_graph(graph, source, threads):
    return nearfar.sssp(graph, source, device="cpu", threads=threads).distances

def of_matrix(matrix, source, threads):
    return nearfar.sssp(matrix, source, device="cpu", threads=threads).distances

def of_csgraph(matrix, source, threads):
    from nearfar.csgraph import dijkstra
    return dijkstra(matrix, indices=source, threads=threads)

call = globals()["of_" + sys.argv[2]]
graphs = {{}}
for line in sys.stdin:
    order = json.loads(line)
    name, source, threads = order["graph"], order["source"], order["threads"]
    if name not in graphs:
        held = np.load(sys.argv[1] + "/" + name + ".npz")
        arrays = held["indptr"], held["indices"], held["weights"]
        if call is of_graph:
            graphs[name] = nearfar.Graph(*arrays)
        else:
            from scipy.sparse import csr_array
            n = len(arrays[0]) - 1
            weights = arrays[2].astype(np.float64)
            graphs[name] = csr_array((weights, arrays[1], arrays[0]), shape=(n, n))
    began, calls = time.perf_counter(), 0
    while calls == 0 or time.perf_counter() - began < {_STRETCH}:
        distances = call(graphs[name], source, threads)
        calls += 1
    seconds = (time.perf_counter() - began) / calls
    digest = hashlib.sha256(np.ascontiguousarray(distances).tobytes()).hexdigest()
    print(json.dumps({{"seconds": seconds, "digest": digest}}), flush=True)
"""


class Build:
    """Process of one build."""

    def __init__(self, source: str, graphs: Path, call: str) -> None:
        variables = {**os.environ, "PYTHONPATH": str(Path(source).resolve())}
        self._process = subprocess.Popen(
            [sys.executable, "-c", _SERVER, str(graphs), call],
            env=variables,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
        )

    def solve(self, graph: str, source: int, threads: int) -> tuple[float, str]:
        """Return the seconds per solve, and a digest of the distances."""
        order = {"graph": graph, "source": source, "threads": threads}
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        self._process.stdin.write(json.dumps(order) + "\n")
        self._process.stdin.flush()
        answer = self._process.stdout.readline()
        if not answer:
            raise SystemExit(f"the build on {graph} ended with code {self._process.wait()}")
        found = json.loads(answer)
        return found["seconds"], found["digest"]

    def close(self) -> None:
        """End the process."""
        self._process.communicate()


def keep(name: str, shrink: int, folder: Path) -> list[int]:
    """Write a benchmark graph for both builds; return its sources."""
    graph = load(name, shrink)
    np.savez(
        folder / f"{name}.npz",
        indptr=graph.indptr,
        indices=graph.indices,
        weights=graph.effective_weights,
    )
    return draw_sources(graph, 3, named(name).source)


def measure(given: argparse.Namespace, folder: Path) -> list[dict[str, Any]]:
    """Run all rounds on all graphs."""
    rows = []
    builds = {
        "before": Build(given.before[0], folder, given.call),
        "after": Build(given.after[0], folder, given.call),
    }
    for name in given.graphs:
        sources = keep(name, given.shrink, folder)
        for threads in given.threads:
            samples: dict[str, list[float]] = {label: [] for label in builds}
            for turn in range(-1, given.rounds):  # the first round warms up
                source = sources[turn % len(sources)]
                digests = set()
                order = list(builds) if turn % 2 else list(reversed(builds))
                for label in order:
                    seconds, digest = builds[label].solve(name, source, threads)
                    digests.add(digest)
                    if turn >= 0:
                        samples[label].append(seconds)
                if len(digests) != 1:
                    raise SystemExit(f"{name} from {source}: the two builds differ")
            row = {"graph": name, "threads": threads, "seconds": samples}
            before, after = (statistics.median(samples[label]) for label in builds)
            rows.append({**row, "ratio": after / before})
            print(f"{name}, {threads}: {before * 1e3:.3f} {after * 1e3:.3f} ms", flush=True)
    for build in builds.values():
        build.close()
    return rows


def main() -> None:
    """Measure, print and write."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--before", nargs=2, metavar=("DIR", "COMMIT"), required=True)
    parser.add_argument("--after", nargs=2, metavar=("DIR", "COMMIT"), required=True)
    parser.add_argument("--graphs", nargs="+", default=list(SUITE), choices=list(SUITE))
    parser.add_argument("--call", default="graph", choices=["graph", "matrix", "csgraph"])
    parser.add_argument("--threads", nargs="+", type=int, default=[1, 2])
    parser.add_argument("--rounds", type=int, default=15)
    parser.add_argument("--shrink", type=int, default=1)
    add_output(parser)
    given = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        rows = measure(given, Path(folder))
    cells = [
        [f"{row['graph']}, {row['threads']} thr"]
        + [f"{statistics.median(row['seconds'][label]) * 1e3:.3g}" for label in ("before", "after")]
        + [f"{row['ratio']:.3f}"]
        for row in rows
    ]
    print("\n".join(table(["graph", "before, ms", "after, ms", "after / before"], cells)))
    if given.output is not None:
        result = {
            "environment": environment(),
            "call": given.call,
            "before": given.before[1],
            "after": given.after[1],
            "rows": rows,
        }
        write_result(given.output, result)


if __name__ == "__main__":
    main()
