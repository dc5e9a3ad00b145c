"""Measure many sources on 1, 2, 4, 8 and 16 threads, and the limits set by cores and memory.

    NEARFAR_DATA=... python benchmarks/batches.py -o benchmarks/results/batches.json

Rewrites batches.json after each case; without ``-o`` it only prints. A case is a graph, a method
and a number of sources per thread (or all pairs for any number of threads), so that the time per
source of one thread is compared with that of many threads, and the last rows have equal weight.
Rows go to memory that was written to before (``overheads.py`` measures fresh memory). Numbers of
threads alternate within a round. In addition to wall time the processor time of the process per
source is recorded, which with ideal scaling does not grow with the number of threads. If it grows,
threads hinder each other in cores, caches and memory; any further loss is idle time. Before each
sample the same number of threads do arithmetic in registers for a moment, which shows the speed of
cores without memory accesses; cores may be hardware threads or shared with other programs. Sampled
rows are compared bit for bit with single searches, outside the timed part.

The limits are measured first: arithmetic and, with separate memory per thread, writing, copying,
and reading single words in random order from as many bytes as the distances of a search take.
"""

from __future__ import annotations

import argparse
import ctypes
import hashlib
import statistics
import sys
import threading
import time
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

import nearfar
from nearfar.generators import generate
from nearfar.graph.graph import Graph
from nearfar.lab.bench.environment import environment
from nearfar.lab.bench.report import table
from nearfar.lab.bench.suite import data_folder, load
from result_file import add_output, write_result

if TYPE_CHECKING:
    from collections.abc import Callable


class Case(NamedTuple):
    """Measured case, with a number of sources per thread; None for all pairs."""

    graph: Callable[[], Graph]
    method: str
    each: int | None
    file: str | None = None


def _snap(name: str, dtype: str = "int32") -> Graph:
    """Return a graph of the data folder with seeded weights 1..100."""
    folder = data_folder()
    assert folder is not None  # checked by the caller
    bare = nearfar.read(folder / f"snap-johnson/{name}.txt.xz").without_names()
    weights = np.random.default_rng(1).integers(1, 101, bare.n_edges).astype(dtype)
    return Graph.from_csr(bare.indptr, bare.indices, weights)


def _random(scale: int) -> Graph:
    return generate("uniform_random", vertices=1 << scale, degree=8, seed=1)


_GNU = "p2p-Gnutella08"
_SMALL, _SOCIAL = "snap-johnson/p2p-Gnutella08.txt.xz", "snap-johnson/soc-Slashdot0902.txt.xz"
_ROADS = "dimacs9-road/USA-road-d.NY.gr.xz"
_ONE, _LANES = "worker_per_source", "lanes"
CASES: dict[str, Case] = {
    "small, one per worker": Case(lambda: _snap(_GNU), _ONE, None, _SMALL),
    "small, lanes": Case(lambda: _snap(_GNU), _LANES, None, _SMALL),
    "small in floats, one per worker": Case(lambda: _snap(_GNU, "float64"), _ONE, None, _SMALL),
    "small in floats, lanes": Case(lambda: _snap(_GNU, "float64"), _LANES, None, _SMALL),
    "social, one per worker": Case(lambda: _snap("soc-Slashdot0902"), _ONE, 16, _SOCIAL),
    "social, lanes": Case(lambda: _snap("soc-Slashdot0902"), _LANES, 512, _SOCIAL),
    "random 2^14, lanes": Case(lambda: _random(14), _LANES, 512),
    "newyork, one per worker": Case(lambda: load("newyork"), _ONE, 16, _ROADS),
    "newyork, prepared": Case(lambda: nearfar.prepare(load("newyork")), "auto", 256, _ROADS),
    "grid, one per worker": Case(lambda: load("grid"), _ONE, 8),
    "martin, one per worker": Case(lambda: load("martin"), _ONE, 8),
    "kronecker, one per worker": Case(lambda: load("kronecker"), _ONE, 8),
    "random, one per worker": Case(lambda: load("random"), _ONE, 8),
}


def together(work: Callable[[int], Any], threads: int, seconds: float) -> float:
    """Return the calls per second of work(0), work(1), ..., each repeated on a separate thread."""
    counts = [0] * threads
    gate = threading.Barrier(threads)
    times = [0.0] * threads

    def one(i: int) -> None:
        work(i)
        gate.wait()
        began = time.perf_counter()
        while times[i] < seconds:
            work(i)
            counts[i] += 1
            times[i] = time.perf_counter() - began

    started = [threading.Thread(target=one, args=(i,)) for i in range(threads)]
    for thread in started:
        thread.start()
    for thread in started:
        thread.join()
    return sum(count / took for count, took in zip(counts, times, strict=True))


def arithmetic(i: int) -> Any:
    """Compute in registers for some hundred microseconds."""
    return hashlib.pbkdf2_hmac("sha256", b"a", b"b", 1_000)


def limits(threads: list[int], megabytes: float, seconds: float) -> list[dict[str, Any]]:
    """Measure the machine's limits for a number of threads, per second, summed over threads."""
    size, most = 1 << 25, max(threads)
    words = int(megabytes * 2**20) // 4
    blocks = [np.ones(size, dtype=np.uint8) for _ in range(most)]
    tables = [np.ones(words, dtype=np.int32) for _ in range(most)]
    order = np.random.default_rng(4).integers(0, words, 1 << 19)
    found = [np.empty(len(order), dtype=np.int32) for _ in range(most)]

    def write(i: int) -> None:
        ctypes.memset(blocks[i].ctypes.data, 1, size)

    def copy(i: int) -> None:
        half = size // 2
        np.copyto(blocks[i][:half], blocks[i][half:])

    def gather(i: int) -> None:
        np.take(tables[i], order, out=found[i], mode="clip")

    kinds: dict[str, tuple[Callable[[int], Any], float, str]] = {
        "arithmetic": (arithmetic, 1, "hashes"),
        "writing": (write, size / 1e9, "GB"),
        "copying": (copy, size / 1e9, "GB read and written"),
        f"random reads of {megabytes:g} MB": (gather, len(order) / 1e9, "G words"),
    }
    lines = []
    for what, (work, amount, unit) in kinds.items():
        speeds = [amount * together(work, count, seconds) for count in threads]
        lines.append(
            {"what": what, "unit": f"{unit} per second", "threads": threads, "speeds": speeds}
        )
    return lines


def check(graph: Graph, sources: np.ndarray, rows: np.ndarray) -> None:
    """Compare sampled rows with single searches."""
    for i in np.random.default_rng(2).choice(len(sources), min(3, len(sources)), replace=False):
        method = "dijkstra_dary_heap"
        truth = nearfar.sssp(graph, int(sources[i]), device="cpu", method=method).distances
        if not np.array_equal(rows[i], truth):
            raise SystemExit(f"the row of source {sources[i]} is wrong")


def measure(case: Case, graph: Graph, threads: list[int], rounds: int) -> dict[str, Any]:
    """Return samples by number of threads: wall and processor seconds, arithmetic per second."""
    n = graph.n_vertices
    counts = {number: n if case.each is None else case.each * number for number in threads}
    sources = np.random.default_rng(3).integers(0, n, max(counts.values()))
    if case.each is None:
        sources = np.arange(n)
    out = np.ones((len(sources), n), dtype=graph.weight_dtype)
    samples: dict[int, list[list[float]]] = {number: [] for number in threads}
    stats: dict[str, Any] = {}
    for turn in range(rounds + 1):
        for number in threads if turn else threads[-1:]:
            some = sources[: counts[number]]
            hashes = together(arithmetic, number, 0.03)
            began, used = time.perf_counter(), time.process_time()
            nearfar.distances(
                graph,
                some,
                method=case.method,
                device="cpu",
                threads=number,
                out=out[: len(some)],
                stats=stats,
            )
            taken = [time.perf_counter() - began, time.process_time() - used, hashes]
            if turn:
                samples[number].append(taken)
    check(graph, sources, out)
    rows = []
    for number, held in samples.items():
        wall, used, hashes = (statistics.median(one[i] for one in held) for i in range(3))
        rows.append(
            {
                "threads": number,
                "sources": counts[number],
                "seconds_per_source": wall / counts[number],
                "processor_seconds_per_source": used / counts[number],
                "idle": 1 - used / (wall * number),
                "hashes_per_second": hashes,
                "samples": held,
            }
        )
    return {
        "n_vertices": n,
        "n_edges": graph.n_edges,
        "dtype": graph.weight_dtype.name,
        "engine": stats["engine"],
        "rows": rows,
    }


def ratios(one: dict[str, Any], row: dict[str, Any]) -> tuple[float, float, float]:
    """Return speed, processor time and arithmetic relative to one thread."""
    return (
        one["seconds_per_source"] / row["seconds_per_source"],
        row["processor_seconds_per_source"] / one["processor_seconds_per_source"],
        row["hashes_per_second"] / one["hashes_per_second"],
    )


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    add_output(parser)
    parser.add_argument("--only", nargs="+", help="cases that contain one of these words")
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--threads", type=int, nargs="+", default=[1, 2, 4, 8, 16])
    parser.add_argument("--seconds", type=float, default=0.3, help="of a limit")
    parser.add_argument("--table-megabytes", type=float, default=8.0, help="of the random reads")
    args = parser.parse_args()
    data: dict[str, Any] = {"schema": "nearfar-batches/1", "environment": environment()}
    data["limits"] = limits(args.threads, args.table_megabytes, args.seconds)
    head = ["", *(f"{count} thr" for count in args.threads), ""]
    lines = [
        [
            one["what"],
            *(f"{s:.3g} ({s / one['speeds'][0]:.1f}x)" for s in one["speeds"]),
            one["unit"],
        ]
        for one in data["limits"]
    ]
    print("\n".join(table(head, lines)), flush=True)
    data["cases"] = []
    folder = data_folder()
    for name, case in CASES.items():
        if args.only and not any(word in name for word in args.only):
            continue
        if case.file is not None and (folder is None or not (folder / case.file).is_file()):
            print(f"{name}: {case.file} is not here: set NEARFAR_DATA", flush=True)
            continue
        found = {"case": name, **measure(case, case.graph(), args.threads, args.rounds)}
        data["cases"].append(found)
        cells = []
        for row in found["rows"]:
            faster, more, cores = ratios(found["rows"][0], row)
            cells.append(
                f"{1e3 * row['seconds_per_source']:.3g} ({faster:.1f}x, processor {more:.2f}, "
                f"idle {row['idle']:.0%}, arithmetic {cores:.1f}x)"
            )
        print("\n".join(table(head, [[name, *cells, "ms per source"]])), flush=True)
        write_result(args.output, data)
    return 0


if __name__ == "__main__":
    sys.exit(main())
