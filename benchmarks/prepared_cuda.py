"""Measure prepared graphs on a GPU: rows, columns, few sources, and the launches of a sweep.

``python benchmarks/prepared_cuda.py -o benchmarks/results/prepared_cuda.json`` prepares graphs of
``prepared_graphs.py`` and measures with all data on the device: distances as ``[source][vertex]``
and as ``[vertex][source]``, for the numbers of sources of ``COUNTS``, and the time of writing
alone; on road maps also new weights, and the mean distance from every vertex as one call.
``--data`` is a folder with orders, ``NAME.order.npz`` (written by ``--write-orders``), since an
order takes longer than all measurements.

``--explore`` tries shapes of cells and of leaves and prints the time of every launch.
``--profile`` runs one sweep and prints for each launch the ``ncu`` options that select it: run the
command once without ``ncu``, then again with ``ncu`` and these options. All samples are kept.
Answers are compared with searches, and ``--repeats`` repeats each measurement of rows and compares
the bits. The file is written after every measurement.
"""

from __future__ import annotations

import argparse
import sys
import time
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

import nearfar
from nearfar import Graph, Prepared
from nearfar.graph.dtypes import unreached_value
from nearfar.lab.bench.environment import environment
from nearfar.prepared.cuda.bottoms.cells import Sweep
from nearfar.prepared.cuda.bottoms.leaves import TileSweep, row_sweep
from nearfar.prepared.cuda.cut.cells import PassShape
from nearfar.prepared.cuda.cut.tiles import LeafShape
from nearfar.prepared.cuda.metric.arcs import device_arcs
from nearfar.prepared.cuda.metric.customize import customized_on_device
from nearfar.system.devices import launching, runtime
from prepared_graphs import GRAPHS, SMALL, scaled
from result_file import add_output, write_result

METHOD = "elimination_tree_rows@cuda"
MEAN = "mean distance per source of all pairs, the whole call"
Tried = tuple[int | None, PassShape | LeafShape]
# Numbers of sources by graph; other graphs use the last one.
COUNTS = {
    "ny-roads": [8192, 2048, 128],
    "colorado": [2048],
    "road-like-1m": [2048],
    "delaunay-200k": [8192],
    "grid-500": [8192],
}
Planned = tuple[str, Callable[[Any], None], Any]


def load(name: str, folder: Path | None) -> Prepared:
    """Return the prepared graph of that name, with the order in the folder, or with a new one."""
    order = None if folder is None else folder / f"{name}.order.npz"
    known = order is not None and order.exists()
    found = np.load(order)["order"] if known else "auto"
    return nearfar.prepare(scaled(GRAPHS[name]()), order=found)


def write_speed() -> float:
    """Return the bytes per second that the device writes, a bound for all rows."""
    cp = runtime.cupy()
    block = cp.empty(2**32, dtype=np.uint8)

    def fill() -> None:
        block.data.memset_async(1, block.nbytes)  # CuPy's fill is far slower than the memory

    fill()
    return float(block.nbytes / min(device_seconds(fill) for _ in range(7)))


def parse_shape(text: str) -> Tried:
    """Return the number of labels of the top, and the shape of cells or of leaves.

    Cells are ``top/members:slots:lanes:columns``, leaves of rows are ``top/members:bound``. Without
    a top, its size is chosen.
    """
    top, _, shape = text.rpartition("/")
    numbers = list(map(int, shape.split(":")))
    made: Any = LeafShape(*numbers) if len(numbers) == 2 else PassShape(*numbers)
    return (int(top) if top else None), made


def device_seconds(work: Callable[[], Any]) -> float:
    """Return the device seconds from the start of the work to its end."""
    timer = runtime.Timer().start()
    work()
    return timer.stop().seconds


class Samples:
    """Device seconds of contenders by name."""

    def __init__(self) -> None:
        self.samples: dict[str, list[float]] = {}

    def time(self, name: str, work: Callable[[], Any], units: int) -> None:
        """Run once and store the time per unit."""
        self.samples.setdefault(name, []).append(device_seconds(work) / units)

    def print(self, unit: float = 1e6, word: str = "us") -> None:
        """Print the medians."""
        for name, samples in self.samples.items():
            middle, least = np.median(samples) * unit, min(samples) * unit
            print(f"   {middle:10.4f} {word} (least {least:.4f})  {name}", flush=True)


def by_launch(work: Callable[[], None], units: int) -> list[tuple[str, float]]:
    """Return microseconds per unit of each launch of ``work``, in order: least of three runs."""
    cp = runtime.cupy()
    runs = []
    for _ in range(3):
        marks: list[tuple[str, Any, Any]] = []

        def see(name: str, go: Callable[[], None], marks: Any = marks) -> None:
            begin, end = cp.cuda.Event(), cp.cuda.Event()
            begin.record()
            go()
            end.record()
            marks.append((name, begin, end))

        before = launching.set_observer(see)
        work()
        launching.set_observer(before)
        runtime.synchronize()
        runs.append([(n, cp.cuda.get_elapsed_time(b, e) * 1e3 / units) for n, b, e in marks])
    return [(runs[0][i][0], min(run[i][1] for run in runs)) for i in range(len(runs[0]))]


class Bench:
    """Graph on the device, its sources, and proven distances."""

    def __init__(self, name: str, prepared: Prepared, most: int) -> None:
        self.name, self.prepared, self.n = name, prepared, prepared.n_vertices
        rng = np.random.default_rng(0)
        reached = np.flatnonzero(nearfar.sssp(prepared, prepared.widest_vertex).reachable)
        self.sources = rng.choice(reached, most)
        self.sampled = np.sort(rng.choice(most, 8, replace=False))
        self.sampled[0] = 0
        self.truth = nearfar.distances(prepared, self.sources[self.sampled], device="cpu")
        self.wrong = 0

    def check(self, rows: Any, count: int, what: str) -> None:
        """Compare the sampled rows among the first ``count`` ones with the proven distances."""
        mine = [i for i, at in enumerate(self.sampled) if at < count]
        got = runtime.download(rows[runtime.cupy().asarray(self.sampled[mine])])
        if not np.array_equal(got, self.truth[mine].astype(got.dtype)):
            self.wrong += 1
            print(f"   WRONG: {self.name} {what}", flush=True)


def plans(bench: Bench, count: int) -> Iterator[tuple[str, Callable[[Any], None], Any]]:
    """Yield name, plan and its rows, as an array of shape (count, n)."""
    cp = runtime.cupy()
    rows = cp.empty((count, bench.n), bench.prepared.weight_dtype)
    yield "rows", partial(row_sweep(bench.prepared, count).rows(count), out=rows), rows
    del rows
    query = Sweep(bench.prepared, None, count).columns(count, True)
    yield "columns", query, query.values.T


def explore(bench: Bench, count: int, tried: list[str]) -> list[Any]:
    """Print times of whole sweeps and of their launches for each shape, distances as columns."""
    cp = runtime.cupy()
    found = []
    sources = cp.asarray(bench.sources[:count])
    print(f"-- {bench.name}, {count} sources", flush=True)
    for text in tried:
        try:
            top, shape = parse_shape(text)
            if isinstance(shape, LeafShape):
                tiles = TileSweep(bench.prepared, shape, count, top)
                found_rows = cp.empty((count, bench.n), bench.prepared.weight_dtype)
                plan: Any = partial(tiles.rows(count), out=found_rows)
            else:
                sweep = Sweep(bench.prepared, shape, count, top=top)
                plan = sweep.columns(count, True)
                found_rows = plan.values.T
            plan(sources)
            bench.check(found_rows, count, text)
            total = min(device_seconds(partial(plan, sources)) for _ in range(5)) / count * 1e6
            launches = by_launch(partial(plan, sources), count)
            each = " ".join(f"{t:.3f}" for _, t in launches)
            print(f"   {total:.3f} us  {text}  [{each}]", flush=True)
            made = {"sources": count, "shapes": text, "us": total}
            found.append({**made, "launches": [t for _, t in launches]})
            del plan, found_rows
        except Exception as error:
            print(f"   {text}: {type(error).__name__} {error}", flush=True)
        cp.get_default_memory_pool().free_all_blocks()
    return found


def profile(prepared: Prepared, count: int) -> None:
    """Run one sweep that writes rows; print options that select each launch in Nsight Compute."""
    before: dict[str, int] = {}
    seen: list[str] = []

    def see(name: str, go: Callable[[], None]) -> None:
        skip = before.get(name, 0)
        before[name] = skip + 1
        seen.append(f"--kernel-name {name} --launch-skip {skip} --launch-count 1")
        go()

    launching.set_observer(see)
    cp = runtime.cupy()
    rows = cp.empty((count, prepared.n_vertices), prepared.weight_dtype)
    query = row_sweep(prepared, count).rows(count)
    seen.clear()
    query(np.random.default_rng(0).integers(0, prepared.n_vertices, count), rows)
    launching.set_observer(None)
    runtime.synchronize()
    sections = ("SpeedOfLight", "MemoryWorkloadAnalysis", "Occupancy", "WarpStateStats")
    for options in seen:
        print("ncu", options, *(f"--section {name}" for name in sections), flush=True)


def measure(
    bench: Bench, counts: list[int], rounds: int, repeats: int, keep: Callable[[Any], None]
) -> dict[str, Any]:
    """Measure rows and columns for many sources and for few, and compare the bits of repeated runs.

    ``keep`` is called with the results so far after each of them.
    """
    cp = runtime.cupy()
    clock = Samples()
    wrong, done = 0, 0
    parts = {}

    def so_far() -> dict[str, Any]:
        found = {"samples": clock.samples, "parts": parts}
        return {**found, "repeats": done, "wrong_repeats": wrong}

    for count in counts:
        sources = cp.asarray(bench.sources[:count])
        kept = None
        for kind, plan, rows in plans(bench, count):
            name = f"{kind}, {count} sources"
            for number in range(rounds + 2):
                if number < 2:
                    plan(sources)
                else:
                    clock.time(name, partial(plan, sources), count)
            bench.check(rows, count, name)
            parts[name] = by_launch(partial(plan, sources), count)
            keep(so_far())
            if kind == "columns":
                del plan, rows
                continue
            if repeats and kept is None:
                kept = rows.copy()
            for _ in range(repeats):
                plan(sources)
                wrong += bool((rows != kept).any())
            done = repeats
            keep(so_far())
            del plan, rows
        del kept
        cp.get_default_memory_pool().free_all_blocks()
    clock.print()
    for name, launches in parts.items():
        print(f"   {name}:", " ".join(f"{k} {t:.3f}" for k, t in launches), flush=True)
    return so_far()


def mean_of_all(bench: Bench, rounds: int) -> list[float]:
    """Return seconds per source of a whole call: the mean distance from every vertex."""
    clock = Samples()
    means: Any = None
    for number in range(rounds + 1):
        began = time.perf_counter()
        means = nearfar.all_pairs(bench.prepared, method=METHOD, reduce="mean")
        if number > 0:
            seconds = time.perf_counter() - began
            clock.samples.setdefault(MEAN, []).append(seconds / bench.n)
    rows = bench.truth.astype(np.float64)
    rows[bench.truth == unreached_value(bench.truth.dtype)] = np.nan
    counts = (~np.isnan(rows)).sum(axis=1) - 1  # without the source
    wanted = np.nansum(rows, axis=1) / counts
    if not np.array_equal(means[bench.sources[bench.sampled]], wanted):
        bench.wrong += 1
        print(f"   WRONG: {bench.name} {MEAN}", flush=True)
    clock.print()
    return clock.samples[MEAN]


def new_weights(bench: Bench, rounds: int) -> dict[str, list[float]]:
    """Return seconds of customization for weights on the device that differ by direction."""
    cp = runtime.cupy()
    prepared, clock = bench.prepared, Samples()
    factors = np.random.default_rng(3).uniform(0.5, 1.5, prepared.n_edges)
    weights = (prepared.effective_weights * factors).astype(np.int32) + 1
    structure = device_arcs(prepared, prepared.preparation)
    graph = Graph(structure.indptr, structure.indices, cp.asarray(weights), copy=False)
    found: Any = None
    for perfect in (False, True):
        name = "customization, basic" + (" and perfect" if perfect else "")
        work = partial(customized_on_device, structure, [graph], perfect)
        for _ in range(2):
            found = work()[0]
        for _ in range(rounds):
            clock.time(name, work, 1)
    if not np.array_equal(found.weights, prepared.reweight(weights).metric.weights):
        bench.wrong += 1
        print(f"   WRONG: {bench.name} customization", flush=True)
    clock.print(1e3, "ms")
    return clock.samples


def shapes_to_try(tall: bool, few: bool) -> list[str]:
    """Return the default shapes, and others that differ in the top or in the cells."""
    leaves = ["64:8", "64:12", "128:12", "256:16", "512:16"]
    if few:
        tops, cells = (512, 256), ["64:48:64:2", "64:32:128:4", "32:32:64:2", "128:48:32:1"]
    elif tall:
        tops = (512, 256)
        cells = ["256:64:64:2", "128:48:64:2", "128:32:128:4", "64:32:128:4", "512:96:64:2"]
    else:
        tops = (256, 128)
        cells = ["512:48:128:4", "256:32:128:4", "256:24:128:4", "256:40:128:4", "512:48:64:2"]
    cells += leaves
    return [f"{tops[0]}/{c}" for c in cells] + [f"{tops[1]}/{cells[0]}"]


def main() -> int:
    """Measure, print, write."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--graphs", nargs="+", default=list(COUNTS), choices=list(GRAPHS))
    parser.add_argument("--counts", type=int, nargs="+", default=None, help="numbers of sources")
    parser.add_argument("--rounds", type=int, default=7)
    parser.add_argument("--repeats", type=int, default=0)
    parser.add_argument("--data", type=Path, default=None, help="folder of orders")
    parser.add_argument(
        "--write-orders", action="store_true", help="write orders to --data, and end"
    )
    parser.add_argument("--explore", nargs="*", metavar="SHAPES", default=None)
    parser.add_argument("--profile", action="store_true")
    add_output(parser)
    given = parser.parse_args()
    results: list[dict[str, Any]] = []
    wrong, where = 0, environment()
    if given.write_orders:
        for name in given.graphs:
            made = nearfar.prepare(scaled(GRAPHS[name]()))
            np.savez_compressed(
                given.data / f"{name}.order.npz", order=made.preparation.tree.vertex
            )
        return 0
    speed = write_speed()
    print(f"writes {speed / 1e9:,.0f} GB per second", flush=True)
    for name in given.graphs:
        prepared = load(name, given.data)
        counts = given.counts or COUNTS.get(name, [2048])
        if given.profile:
            profile(prepared, counts[0])
            continue
        bench = Bench(name, prepared, max(counts))
        figures = prepared.preparation.figures
        print(f"== {name}: {figures}", flush=True)
        floor = 4e6 * bench.n / speed
        print(f"   {floor:10.4f} us per source for writing only", flush=True)
        result: dict[str, Any] = {
            "graph": name,
            "n": bench.n,
            "m": prepared.n_edges,
            "arcs_needed": len(prepared.metric.down.weight),
            "height": figures.height,
            "memset_bytes_per_second": speed,
        }
        results.append(result)

        def keep(found: dict[str, Any], result: Any = result, bench: Any = bench) -> None:
            """Add to the file; an interrupted run keeps its measurements."""
            result |= {**found, "wrong": bench.wrong}
            write_result(given.output, {"environment": where, "results": results})

        keep(measure(bench, counts, given.rounds, given.repeats, keep))
        if name in ("ny-roads", SMALL):
            result["samples"][MEAN] = mean_of_all(bench, min(given.rounds, 3))
            keep({})
            keep({"other_samples": new_weights(bench, given.rounds)})
        if given.explore is not None:
            for count in counts:
                tried = given.explore or shapes_to_try(figures.height > 512, count <= 512)
                result.setdefault("explored", []).extend(explore(bench, count, tried))
        keep({})
        wrong += bench.wrong + result["wrong_repeats"]
    print("all right" if not wrong else f"{wrong} WRONG")
    return int(wrong > 0)


if __name__ == "__main__":
    sys.exit(main())
