"""Measure costs besides solving: import, conversion from SciPy, memory of a run, one tiny call.

    python benchmarks/overheads.py -o benchmarks/results/overheads.json

Rewrites overheads.json with every sample after each graph, and prints a table with the limit of
each number:

- ``import nearfar`` in a new interpreter: below 0.15 s, without importing any optional package;
- ``Graph.from_scipy`` of a CSR matrix: below a tenth of one SciPy Dijkstra run on that matrix;
- peak memory of a run: the graph (with its packed edges) plus at most 24 bytes per vertex and the
  heap;
- ``sssp`` on a graph of two vertices, the fixed cost of a call: at most 25 us; also calls that name
  a method or a target, ask for a path or for two rows (no limit);
- all pairs of a graph of 6,301 vertices in float64, 317 MB, which the system allocates anew in
  every call: the first call of a process, the third, and calls into memory that was written to
  before (no limit). If a virtual machine gets its memory on first use, the first process that
  touches a page is slower.

Each graph is built once and stored in a folder for the processes that measure memory. If SciPy's
Dijkstra takes more than half a second, there are three rounds.
"""

from __future__ import annotations

import argparse
import gc
import json
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

import nearfar
from nearfar.generators import generate
from nearfar.lab.bench.environment import environment
from nearfar.lab.bench.report import table
from nearfar.lab.bench.suite import SUITE, draw_sources, load
from nearfar.system.threads import default_threads
from result_file import add_output, write_result

if TYPE_CHECKING:
    from collections.abc import Callable

HEAVY = ("scipy", "cupy", "networkx", "matplotlib", "pyarrow", "dask", "pandas")

_IMPORT = """
import sys, time, json
began = time.perf_counter()
import nearfar
taken = time.perf_counter() - began
heavy = [name for name in json.loads(sys.argv[1]) if name in sys.modules]
print(json.dumps({"seconds": taken, "heavy": heavy}))
"""


def child(*arguments: str) -> Any:
    """Run this interpreter and return the JSON that it prints."""
    done = subprocess.run([sys.executable, *arguments], capture_output=True, text=True, check=True)
    return json.loads(done.stdout.splitlines()[-1])


def line(what: str, value: float, limit: float | None, unit: str, **more: Any) -> dict[str, Any]:
    """Return one line of the result."""
    kept = None if limit is None else value <= limit
    return {"what": what, "value": value, "limit": limit, "unit": unit, "kept": kept, **more}


def import_time(rounds: int) -> list[dict[str, Any]]:
    runs = [child("-c", _IMPORT, json.dumps(HEAVY)) for _ in range(rounds + 1)][1:]
    seconds = [run["seconds"] for run in runs]
    return [
        line("import nearfar", statistics.median(seconds), 0.15, "s", samples=seconds),
        line("optional packages imported", len(runs[0]["heavy"]), 0, "", names=runs[0]["heavy"]),
    ]


def clock(work: Callable[[], Any]) -> float:
    began = time.perf_counter()
    kept = work()
    taken = time.perf_counter() - began
    del kept
    return taken


def keep(name: str, shrink: int, folder: Path) -> tuple[nearfar.Graph, int]:
    """Make a graph of the suite and draw its source; write both to the folder as well."""
    graph = load(name, shrink)
    source = draw_sources(graph, 1, SUITE[name].source)[0]
    for part in ("indptr", "indices", "weights"):
        np.save(folder / f"{name}-{part}.npy", getattr(graph, part))
    about = {"source": source, "directed": graph.directed}
    (folder / f"{name}.json").write_text(json.dumps(about))
    return graph, source


def kept(name: str, folder: Path) -> tuple[nearfar.Graph, int]:
    """Read the graph and its source from the folder."""
    about = json.loads((folder / f"{name}.json").read_text())
    arrays = [np.load(folder / f"{name}-{part}.npy") for part in ("indptr", "indices", "weights")]
    return nearfar.Graph.from_csr(*arrays, directed=about["directed"]), about["source"]


def conversion(name: str, graph: nearfar.Graph, source: int, rounds: int) -> dict[str, Any]:
    """Return the conversion time over one Dijkstra run: medians, in alternation."""
    from scipy.sparse import csr_matrix
    from scipy.sparse.csgraph import dijkstra

    n = graph.n_vertices
    data = graph.effective_weights.astype("float64")
    matrix = csr_matrix((data, graph.indices, graph.indptr), shape=(n, n))
    del graph
    gc.collect()
    convert: list[float] = []
    solve: list[float] = []
    for turn in range(rounds + 1):
        samples = (
            clock(lambda: nearfar.Graph.from_scipy(matrix)),
            clock(lambda: dijkstra(matrix, directed=True, indices=source)),
        )
        if turn:
            convert.append(samples[0])
            solve.append(samples[1])
            if turn >= 3 and sum(solve) > 0.5 * turn:
                break
    ratio = statistics.median(convert) / statistics.median(solve)
    return line(
        f"from_scipy / Dijkstra, {name}", ratio, 0.1, "", convert=convert, scipy_dijkstra=solve
    )


def _memory(field: str) -> int:
    for text in Path("/proc/self/status").read_text().splitlines():
        if text.startswith(field):
            return int(text.split()[1]) * 1024
    raise RuntimeError(f"no {field} in /proc/self/status")


def _trim() -> None:
    """Return freed memory to the system, so that it does not hide the memory of a run."""
    import ctypes

    gc.collect()
    ctypes.CDLL(None).malloc_trim(0)


def peak_of_run(name: str, folder: Path, threads: int) -> dict[str, Any]:
    """Return bytes per vertex added at the peak of the first and of a later run (Linux)."""
    graph, source = kept(name, folder)
    # A first run excludes the library's code and thread stacks, which do not depend on the graph.
    other = generate("uniform_random", vertices=1 << 12, degree=8, seed=1)
    for method in ("auto", "delta_stepping", "delta_stepping_parallel"):
        nearfar.sssp(other, 0, device="cpu", method=method, threads=threads)
    extra, grown = [], []
    engine, queue = "", 0
    for _ in range(3):
        _trim()
        bytes_before, before = graph.nbytes, _memory("VmRSS")
        Path("/proc/self/clear_refs").write_text("5")  # restarts the high-water mark
        paths = nearfar.sssp(graph, source, device="cpu", threads=threads)
        extra.append(_memory("VmHWM") - before)
        grown.append(graph.nbytes - bytes_before)
        engine, queue = paths.engine, 8 * int(paths.stats.get("pushes", 0))
        del paths
    n = graph.n_vertices
    return {
        "n_vertices": n,
        "graph_bytes": graph.nbytes,
        "engine": engine,
        "threads": threads,
        "packed_bytes": grown[0],
        "queue_allowance": queue / n,
        "first": (extra[0] - grown[0]) / n,
        "later": max((e - g) / n for e, g in zip(extra[1:], grown[1:], strict=True)),
    }


def memory(name: str, folder: Path, threads: int) -> dict[str, Any]:
    """Return the peak memory of a run, measured in a separate process."""
    found = child(str(Path(__file__)), "--peak", name, str(folder), str(threads))
    worst = max(found["first"], found["later"])
    allowed = 24.0 + found["queue_allowance"]
    what = f"bytes per vertex above the graph, {name}, {threads} thr"
    return line(what, worst, allowed, "B", **found)


def tiny_call(rounds: int) -> list[dict[str, Any]]:
    """Return microseconds of calls on a graph of two vertices, in alternation."""
    from scipy.sparse import csr_matrix
    from scipy.sparse.csgraph import dijkstra

    graph = nearfar.Graph.from_edges([0], [1], [1.0])
    matrix: Any = csr_matrix(([1.0], ([0], [1])), shape=(2, 2))
    one: dict[str, Any] = {"device": "cpu", "threads": 1}
    ways: dict[str, tuple[float | None, Callable[[], Any]]] = {
        "sssp on two vertices": (25.0, lambda: nearfar.sssp(graph, 0, **one)),
        "the same, a method named": (
            None,
            lambda: nearfar.sssp(graph, 0, method="delta_stepping", **one),
        ),
        "the same, to a target": (None, lambda: nearfar.sssp(graph, 0, targets=[1], **one)),
        "shortest_path there": (None, lambda: nearfar.shortest_path(graph, 0, 1, **one)),
        "distances of two rows there": (None, lambda: nearfar.distances(graph, [0, 1], **one)),
        "SciPy's dijkstra on two vertices": (None, lambda: dijkstra(matrix, indices=0)),
    }
    calls = 1_000
    samples: dict[str, list[float]] = {what: [] for what in ways}
    for turn in range(rounds + 1):
        for what, (_, way) in ways.items():
            began = time.perf_counter()
            for _ in range(calls):
                way()
            taken = time.perf_counter() - began
            if turn:
                samples[what].append(taken / calls * 1e6)
    return [
        line(what, statistics.median(samples[what]), limit, "us", samples=samples[what])
        for what, (limit, _) in ways.items()
    ]


def rows_in_fresh_memory(threads: int) -> dict[str, Any]:
    """Return milliseconds of successive calls; must be called in a separate process."""
    graph = load("small").astype(np.float64)
    n = graph.n_vertices
    nearfar.distances(graph, [0, 1, 2], device="cpu", threads=threads)
    fresh = [
        1e3 * clock(lambda: nearfar.distances(graph, device="cpu", threads=threads))
        for _ in range(4)
    ]
    out = np.ones((n, n))
    again = [
        1e3 * clock(lambda: nearfar.distances(graph, device="cpu", threads=threads, out=out))
        for _ in range(3)
    ]
    return {"bytes": out.nbytes, "fresh": fresh, "again": again}


def fresh_memory(rounds: int) -> list[dict[str, Any]]:
    """Measure first and third calls for a large result, on one thread and on all."""
    lines = []
    for threads in sorted({1, default_threads()}):
        found = [child(str(Path(__file__)), "--fresh", str(threads)) for _ in range(rounds)]
        what = f"all pairs, {found[0]['bytes'] / 1e6:.0f} MB, {threads} thr"
        for name, kind, call in (
            ("first call", "fresh", 0),
            ("third call", "fresh", 2),
            ("into memory in use", "again", 1),
        ):
            samples = [one[kind][call] for one in found]
            lines.append(
                line(f"{what}, {name}", statistics.median(samples), None, "ms", samples=samples)
            )
    return lines


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    add_output(parser)
    parser.add_argument("--rounds", type=int, default=7)
    parser.add_argument("--shrink", type=int, default=1)
    parser.add_argument(
        "--graphs", nargs="+", default=["grid", "kronecker", "martin", "random", "mesh"]
    )
    parser.add_argument(
        "--peak", nargs=3, metavar=("GRAPH", "FOLDER", "THREADS"), help=argparse.SUPPRESS
    )
    parser.add_argument("--fresh", type=int, metavar="THREADS", help=argparse.SUPPRESS)
    args = parser.parse_args()
    if args.fresh:
        print(json.dumps(rows_in_fresh_memory(args.fresh)))
        return 0
    if args.peak:
        print(json.dumps(peak_of_run(args.peak[0], Path(args.peak[1]), int(args.peak[2]))))
        return 0
    around = environment()
    lines = import_time(args.rounds) + tiny_call(args.rounds) + fresh_memory(args.rounds)
    with tempfile.TemporaryDirectory() as made:
        for name in args.graphs:
            lines.append(conversion(name, *keep(name, args.shrink, Path(made)), args.rounds))
            lines += [memory(name, Path(made), threads) for threads in (1, 2)]
            if args.output:
                data = {"schema": "nearfar-overheads/1", "environment": around, "lines": lines}
                write_result(args.output, data | {"shrink": args.shrink})
    shown = [
        [
            f["what"],
            f"{f['value']:.4g} {f['unit']}".strip(),
            "-" if f["limit"] is None else f"{f['limit']:.3g}",
            {True: "kept", False: "BROKEN", None: ""}[f["kept"]],
        ]
        for f in lines
    ]
    print("\n".join(table(["what", "value", "limit", ""], shown)))
    return 0 if all(f["kept"] is not False for f in lines) else 1


if __name__ == "__main__":
    sys.exit(main())
