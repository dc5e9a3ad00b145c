"""Measure the scaling of many sources, and of one, over several GPUs of one process.

``python benchmarks/scale_gpus.py -o benchmarks/results/scale_gpus.json`` measures 1, 2, 4, ... and
all available devices: all pairs of soc-Slashdot0902 (weights 1..100) into device memory and as a
reduction of each row; 8,192 sources of New York's roads into device memory, into host memory and
reduced; 65,536 sources of the prepared roads reduced; betweenness of the social graph from 4,096
sources; and one source of Kronecker graphs that are partitioned over the devices, as large as fits.
A sample is one whole call, with the graph on the devices, until the last row is in place; numbers
of devices alternate within a round, and all samples are kept. Every number of devices has to give
the same bits: a checksum of every row is compared, and sampled rows with single searches on the
CPU. Betweenness, whose sums are divided among devices, is compared to 12 digits, and with the
CPU's. Every distance of a partitioned search is proven (``partitioned.py`` defines its samples and
GTEPS). ``--repeats`` calls again on all devices and compares each answer. ``--blocks`` also tries
other numbers of blocks per device. The file is written after every case; other cases are kept, each
with its environment.
"""

from __future__ import annotations

import argparse
import statistics
import sys
import time
from collections.abc import Iterator
from typing import Any

import numpy as np

import nearfar
import partitioned
from all_pairs import snap
from nearfar.errors import OutOfMemoryError
from nearfar.graph.graph import Graph
from nearfar.lab.bench.report import link_share
from nearfar.lab.bench.suite import load
from nearfar.measures import betweenness
from nearfar.system.devices import runtime
from result_file import Rows, add_output

SOURCES, MANY, SHARED = 8192, 65_536, 4096
SOLVED = 2  # number of sources of a partitioned graph
CHECKED = 4  # number of rows compared with searches on the CPU


class Case:
    """Measured case: distances of a graph from some sources.

    Parameters
    ----------
    name : str
    graph : Graph
    sources : int array or None
    **call
        Arguments of :func:`nearfar.distances`.
    """

    def __init__(self, name: str, graph: Graph, sources: Any, **call: Any) -> None:
        self.name, self.graph, self.sources, self.call = name, graph, sources, call
        self.count = graph.n_vertices if sources is None else len(sources)

    def run(self, devices: list[int], each: int) -> Any:
        """Solve on devices with a number of blocks per device; 0 chooses it."""
        block = -(-self.count // (each * len(devices))) if each else None
        how = {"device": "cuda", "devices": devices, "block": block}
        with runtime.on_device(devices[0]):
            return nearfar.distances(self.graph, self.sources, **how, **self.call)

    def right(self, found: Any) -> bool:
        """Return whether some rows equal those of searches on the CPU."""
        at = np.random.default_rng(2).choice(self.count, CHECKED, replace=False)
        some = at if self.sources is None else self.sources[at]
        reduce = self.call.get("reduce")
        truth = nearfar.distances(Graph.from_any(self.graph), some, reduce=reduce, device="cpu")
        pairs = zip(parts_of(found), parts_of(truth), strict=True)
        return all(np.array_equal(taken(part, at), right) for part, right in pairs)

    def same(self, found: list[np.ndarray], truth: list[np.ndarray]) -> bool:
        """Return whether two numbers of devices gave equal rows."""
        return all(np.array_equal(a, b) for a, b in zip(found, truth, strict=True))


class Shares(Case):
    """Betweenness from some sources, whose sums are divided among devices."""

    def run(self, devices: list[int], each: int) -> Any:
        """Solve on devices; the number of blocks cannot be chosen."""
        with runtime.on_device(devices[0]):
            return betweenness(self.graph, self.sources, device="cuda", devices=devices)

    def right(self, found: Any) -> bool:
        """Return whether sums agree with the CPU's, which are added in another order."""
        truth = betweenness(self.graph, self.sources, device="cpu")
        return bool(np.allclose(found, truth, rtol=1e-9, atol=0))

    def same(self, found: list[np.ndarray], truth: list[np.ndarray]) -> bool:
        """Return whether two numbers of devices gave nearly equal sums."""
        return bool(np.allclose(found[0], truth[0], rtol=1e-12, atol=0))


def drawn(graph: Graph, count: int) -> np.ndarray:
    """Return sources that reach most of the graph, drawn once."""
    reached = np.flatnonzero(nearfar.sssp(graph, graph.widest_vertex).reachable)
    return np.random.default_rng(0).choice(reached, count)


def slashdot() -> Iterator[Case]:
    """Yield cases of all pairs of a social graph."""
    graph = snap("soc-Slashdot0902")
    how = {"method": "block_per_source"}
    yield Case("Slashdot, summary of each row", graph, None, reduce="summary", **how)
    out = runtime.cupy().empty((graph.n_vertices, graph.n_vertices), np.int32)
    yield Case("Slashdot, rows on a device", graph, None, out=out, **how)


def new_york() -> Graph:
    return load("newyork")


def roads() -> Iterator[Case]:
    """Yield cases of many sources of a road network."""
    graph = new_york()
    some, how = drawn(graph, SOURCES), {"method": "block_per_source_global"}
    yield Case("New York, summary of each row", graph, some, reduce="summary", **how)
    out = runtime.cupy().empty((SOURCES, graph.n_vertices), np.int32)
    yield Case("New York, rows on a device", graph, some, out=out, **how)


def host() -> Iterator[Case]:
    """Yield the same rows in host memory, whose bandwidth limits them."""
    graph = new_york()
    some, how = drawn(graph, SOURCES), {"method": "block_per_source_global"}
    out = np.empty((SOURCES, graph.n_vertices), np.int32)
    yield Case("New York, rows on the host", graph, some, out=out, **how)


def prepared() -> Iterator[Case]:
    """Yield very many sources of the same roads, prepared."""
    graph = new_york()
    some = drawn(graph, MANY)
    yield Case("New York prepared, mean of each row", nearfar.prepare(graph), some, reduce="mean")


def measures() -> Iterator[Case]:
    """Yield betweenness of a social graph."""
    graph = snap("soc-Slashdot0902").without_weights()
    yield Shares("Slashdot, betweenness", graph, np.arange(SHARED) * (graph.n_vertices // SHARED))


CASES = {
    "slashdot": slashdot,
    "roads": roads,
    "host": host,
    "prepared": prepared,
    "measures": measures,
}
ONE_SOURCE = "partitioned"
ORDER = (
    *("Slashdot, summary of each row", "Slashdot, rows on a device"),
    *("New York, summary of each row", "New York, rows on a device", "New York, rows on the host"),
    *("New York prepared, mean of each row", "Slashdot, betweenness"),
    *(f"Kronecker {scale}, one source" for scale in range(20, 31)),
)


def parts_of(found: Any) -> tuple[Any, ...]:
    return found if isinstance(found, tuple) else (found,)


def taken(part: Any, at: np.ndarray) -> np.ndarray:
    """Return some rows in host memory."""
    if isinstance(part, np.ndarray):
        return part[at]
    return np.stack([runtime.download(part[int(row)]) for row in at])


def digest(found: Any) -> list[np.ndarray]:
    """Return a few numbers per row that detect different rows; on the host, of one row in 64."""
    if isinstance(found, tuple) or found.ndim == 1:
        return [np.asarray(part).copy() for part in parts_of(found)]
    on_device = runtime.is_device_array(found)
    xp: Any = runtime.cupy() if on_device else np
    rows = found if on_device else found[::64]
    factors = xp.arange(rows.shape[1], dtype=np.int32) * 2 + 1
    sums = [(rows[i : i + 1024] * factors).sum(axis=1) for i in range(0, len(rows), 1024)]
    return [runtime.download(xp.concatenate(sums)) if on_device else np.concatenate(sums)]


def finish() -> None:
    """Wait for every device."""
    for ordinal in range(runtime.device_count()):
        with runtime.on_device(ordinal):
            runtime.cupy().cuda.runtime.deviceSynchronize()


def measure(
    case: Case, counts: list[int], each: list[int], rounds: int, repeats: int
) -> dict[str, Any]:
    """Return samples of each number of devices and of blocks, in alternation after a warm-up."""
    print(case.name, flush=True)
    samples: dict[str, list[float]] = {}
    truth: list[np.ndarray] | None = None
    wrong = 0
    for turn in range(rounds + 1):
        for count in counts:
            for blocks in each:
                finish()
                began = time.perf_counter()
                found = case.run(list(range(count)), blocks)
                finish()
                seconds = time.perf_counter() - began
                key = f"{count}" if not blocks else f"{count}, {blocks} blocks per device"
                if turn:
                    samples.setdefault(key, []).append(seconds)
                    continue
                mine = digest(found)
                truth = truth or mine
                same = case.same(mine, truth) and case.right(found)
                wrong += not same
                if not same:
                    print(f"   {key}: WRONG", flush=True)
    assert truth is not None
    for _ in range(repeats):
        found = case.run(list(range(max(counts))), 0)
        finish()
        wrong += not case.same(digest(found), truth)
    speedups = faster(samples)
    for key, seconds in samples.items():
        middle, by = statistics.median(seconds), speedups.get(key, 1.0)
        print(f"   {key:>28} devices {middle * 1e3:9.2f} ms  x{by:.2f}", flush=True)
    row = {"sources": case.count, "rounds": rounds, "samples": samples, "speedups": speedups}
    return row | {"repeats": repeats, "wrong": wrong}


def faster(samples: dict[str, list[float]]) -> dict[str, float]:
    """Return the speed-up of each number of devices over one, or nothing without one."""
    if "1" not in samples:
        return {}
    one = statistics.median(samples["1"])
    return {key: one / statistics.median(seconds) for key, seconds in samples.items()}


def one_source(scale: int, counts: list[int], rounds: int, repeats: int) -> dict[str, Any]:
    """Return medians of some sources of a Kronecker graph, by number of devices."""
    asked = argparse.Namespace(sources=SOLVED, rounds=rounds, delta=[1.0], profile=True, compared=0)
    found: dict[str, Any] = {"sources": 1, "rounds": rounds, "repeats": repeats, "wrong": 0}
    for name in ("samples", "gteps", "link", "does_not_fit"):
        found[name] = {}
    for count in counts:
        key, asked.repeats = f"{count}", repeats * (count == max(counts))
        try:
            row = partitioned.measure(scale, count, asked)
        except OutOfMemoryError as error:
            print(f"scale {scale}, {count} devices: {error}", flush=True)
            found["does_not_fit"][key] = str(error)
            continue
        finally:
            partitioned.free()
        found |= {name: row[name] for name in ("vertices", "edges")}
        found["wrong"] += row["wrong"]
        found["samples"][key] = [statistics.median(one["samples_s"]) for one in row["solves"]]
        found["gteps"][key] = [one["gteps"] for one in row["solves"]]
        if count > 1:
            found["link"][key] = link_share(row)
    return found | {"speedups": faster(found["samples"])}


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    add_output(parser)
    every = [*CASES, ONE_SOURCE]
    parser.add_argument("--cases", nargs="+", choices=every, default=every)
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--repeats", type=int, default=0)
    parser.add_argument("--blocks", nargs="+", type=int, default=[0], metavar="N")
    parser.add_argument("--scales", nargs="+", type=int, default=[26, 28, 29, 30], metavar="N")
    arguments = parser.parse_args()
    most = runtime.device_count()
    counts = sorted({1 << k for k in range(most.bit_length()) if 1 << k <= most} | {most})
    rows, wrong = Rows(arguments.output, ORDER, by="what"), 0

    def keep(name: str, found: dict[str, Any]) -> None:
        nonlocal wrong
        rows.add({"what": name, **found})
        wrong += found["wrong"]

    again = arguments.rounds, arguments.repeats
    for part in arguments.cases:
        if part == ONE_SOURCE:
            for scale in arguments.scales:
                keep(f"Kronecker {scale}, one source", one_source(scale, counts, *again))
            continue
        cases = CASES[part]()
        for case in cases:
            keep(case.name, measure(case, counts, arguments.blocks, *again))
        del cases, case
        partitioned.free()
    if wrong:
        print("numbers of devices gave different rows", file=sys.stderr)
    return int(wrong > 0)


if __name__ == "__main__":
    sys.exit(main())
