"""Prepared graphs on a GPU: rows, columns, few sources, and where the time of a sweep goes.

``python benchmarks/prepared_cuda.py -o benchmarks/results/prepared_cuda.json`` prepares the graphs
of ``prepared_graphs.py`` (or reads ``NAME.nfp`` from ``--data``, and keeps there what it made)
and measures with everything on the device: distances as ``[source][vertex]`` and as
``[vertex][source]``, for many sources and for few; ``--all-pairs`` also the mean distance from
every vertex as one call. ``--explore`` tries shapes of cells and prints the time of every launch.
``--profile`` runs one sweep and prints for each launch the ``ncu`` options that single it out: run
it once as it is, then put ``ncu`` with these options before the same command line. All samples are
kept. Answers are compared with searches, and ``--repeats`` repeats each measurement that often and
compares the bits.
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
from nearfar import Prepared
from nearfar.graph.dtypes import unreached_value
from nearfar.lab.bench.environment import environment
from nearfar.lab.bench.report import write_json
from nearfar.prepared.cells import PassShape
from nearfar.prepared.device_shapes import padded
from nearfar.prepared.device_sweep import Sweep
from nearfar.system.devices import launching, runtime
from prepared_graphs import GRAPHS, scaled

METHOD = "elimination_tree_rows@cuda"
MEAN = "mean distance per source of all pairs, the whole call"
Tried = tuple[int | None, tuple[PassShape, ...]]
Planned = tuple[str, Callable[[Any], None], Any]


def load(name: str, folder: Path | None) -> Prepared:
    """The prepared graph of that name, read from the folder where it is there."""
    kept = None if folder is None else folder / f"{name}.nfp"
    if kept is not None and kept.exists():
        return nearfar.load(kept)
    made = nearfar.prepare(scaled(GRAPHS[name]()))
    if kept is not None:
        made.save(kept)
    return made


def parse_shapes(text: str) -> Tried:
    """Labels of the top and shapes from ``top/members:slots:lanes:columns:parts,...``.

    The bottom pass first; parts may be left out, and so may the top, which is then chosen.
    """
    top, _, passes = text.rpartition("/")
    shapes = tuple(PassShape(*map(int, part.split(":"))) for part in passes.split(","))
    return (int(top) if top else None), shapes


def device_seconds(work: Callable[[], None]) -> float:
    """Seconds of the device from the first of the work to its end."""
    timer = runtime.Timer().start()
    work()
    return timer.stop().seconds


class Samples:
    """Device seconds of contenders by name."""

    def __init__(self) -> None:
        self.samples: dict[str, list[float]] = {}

    def time(self, name: str, work: Callable[[], None], units: int) -> None:
        """Run once and keep the time per unit."""
        self.samples.setdefault(name, []).append(device_seconds(work) / units)

    def print(self, unit: float = 1e6, word: str = "us") -> None:
        """Medians."""
        for name, samples in self.samples.items():
            middle, least = np.median(samples) * unit, min(samples) * unit
            print(f"   {middle:10.4f} {word} (least {least:.4f})  {name}", flush=True)


def by_launch(work: Callable[[], None], units: int) -> list[tuple[str, float]]:
    """Microseconds per unit of each launch of ``work``, in order; the least of three runs."""
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
    """One graph on the device, its sources, and a truth to compare with."""

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
        """Compare the sampled ones of the first ``count`` rows with the truth."""
        mine = [i for i, at in enumerate(self.sampled) if at < count]
        got = runtime.download(rows[runtime.cupy().asarray(self.sampled[mine])])
        if not np.array_equal(got, self.truth[mine].astype(got.dtype)):
            self.wrong += 1
            print(f"   WRONG: {self.name} {what}", flush=True)


def plans(
    bench: Bench, sweep: Sweep, count: int
) -> Iterator[tuple[str, Callable[[Any], None], Any]]:
    """Name, plan and the rows it writes, as an array of shape (count, n)."""
    cp = runtime.cupy()
    values = cp.empty((bench.n, padded(count)), sweep.dtype)
    rows = cp.empty((count, bench.n), bench.prepared.weight_dtype)
    yield "rows", sweep.transposed(values, sweep.tree.label, rows), rows
    yield "columns", sweep.columns(values, True), values.T


def explore(bench: Bench, count: int, tried: list[str]) -> list[Any]:
    """Times of whole sweeps and of their launches for each shape, distances as columns."""
    cp = runtime.cupy()
    found = []
    sources = cp.asarray(bench.sources[:count])
    print(f"-- {bench.name}, {count} sources", flush=True)
    for text in tried:
        try:
            top, shapes = parse_shapes(text)
            sweep = Sweep(bench.prepared, shapes, count, top=top)
            values = cp.empty((bench.n, padded(count)), sweep.dtype)
            plan = sweep.columns(values, True)
            plan(sources)
            bench.check(values.T, count, text)
            total = min(device_seconds(partial(plan, sources)) for _ in range(5)) / count * 1e6
            launches = by_launch(partial(plan, sources), count)
            each = " ".join(f"{t:.3f}" for _, t in launches)
            print(f"   {total:.3f} us  {text}  [{each}]", flush=True)
            made = {"sources": count, "shapes": text, "us": total}
            found.append({**made, "launches": [t for _, t in launches]})
            del plan, values, sweep
        except Exception as error:
            print(f"   {text}: {type(error).__name__} {error}", flush=True)
        cp.get_default_memory_pool().free_all_blocks()
    return found


def profile(prepared: Prepared, count: int) -> None:
    """One sweep that writes rows; what singles each launch out for Nsight Compute."""
    before: dict[str, int] = {}
    seen: list[str] = []

    def see(name: str, go: Callable[[], None]) -> None:
        skip = before.get(name, 0)
        before[name] = skip + 1
        seen.append(f"--kernel-name {name} --launch-skip {skip} --launch-count 1")
        go()

    launching.set_observer(see)
    cp = runtime.cupy()
    sweep = Sweep(prepared, None, count)
    values = cp.empty((prepared.n_vertices, padded(count)), sweep.dtype)
    rows = cp.empty((count, prepared.n_vertices), prepared.weight_dtype)
    plan = sweep.transposed(values, sweep.tree.label, rows)
    seen.clear()
    plan(np.random.default_rng(0).integers(0, prepared.n_vertices, count))
    launching.set_observer(None)
    runtime.synchronize()
    sections = ("SpeedOfLight", "MemoryWorkloadAnalysis", "Occupancy", "WarpStateStats")
    for options in seen:
        print("ncu", options, *(f"--section {name}" for name in sections), flush=True)


def measure(bench: Bench, counts: list[int], rounds: int, repeats: int) -> dict[str, Any]:
    """Rows and columns for many sources and for few, and the bits of repeated runs."""
    cp = runtime.cupy()
    clock = Samples()
    wrong = 0
    parts = {}
    for count in counts:
        sources = cp.asarray(bench.sources[:count])
        kept = None
        for kind, plan, rows in plans(bench, Sweep(bench.prepared, None, count), count):
            name = f"{kind}, {count} sources"
            for number in range(rounds + 2):
                if number < 2:
                    plan(sources)
                else:
                    clock.time(name, partial(plan, sources), count)
            bench.check(rows, count, name)
            parts[name] = by_launch(partial(plan, sources), count)
            if kind == "columns":
                del plan, rows
                continue
            if repeats and kept is None:
                kept = rows.copy()
            for _ in range(repeats):
                plan(sources)
                wrong += bool((rows != kept).any())
            del plan, rows
        del kept
        cp.get_default_memory_pool().free_all_blocks()
    clock.print()
    for name, launches in parts.items():
        print(f"   {name}:", " ".join(f"{k} {t:.3f}" for k, t in launches), flush=True)
    return {"samples": clock.samples, "parts": parts, "repeats": repeats, "wrong_repeats": wrong}


def mean_of_all(bench: Bench, rounds: int) -> list[float]:
    """Seconds of a whole call per source: the mean distance from every vertex to all others."""
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
    counts = (~np.isnan(rows)).sum(axis=1) - 1  # without the source itself
    wanted = np.nansum(rows, axis=1) / counts
    if not np.array_equal(means[bench.sources[bench.sampled]], wanted):
        bench.wrong += 1
        print(f"   WRONG: {bench.name} {MEAN}", flush=True)
    clock.print()
    return clock.samples[MEAN]


def shapes_to_try(tall: bool, few: bool) -> list[str]:
    """The usual shapes, and others that differ in the top, the bottom or the passes above it."""
    if few:
        tops = (2048, 1024, 4096) if tall else (512, 256, 1024)
        bottoms = ("64:48:64:2", "64:32:128:4", "32:32:64:2")
        above = [f"{m}:1600:32:1:8" for m in (128, 64, 96, 192)] + ["128:1600:32:1:4"]
    elif tall:
        tops, bottoms = (2048, 1024, 4096), ("256:64:64:2", "256:48:128:4")
        above = [
            f"{m}:1600:32:1:{p}" for m, p in ((512, 4), (256, 4), (384, 4), (512, 1), (512, 8))
        ]
    else:
        tops, bottoms = (512, 256, 1024, 0), ("256:32:128:4", "128:32:128:4")
        above = [f"{m}:1600:32:1:{p}" for m, p in ((1024, 1), (512, 1), (2048, 1), (1024, 4))]
    listed = [f"{tops[0]}/{bottoms[0]},{a}" for a in above]
    listed += [f"{tops[0]}/{b},{above[0]}" for b in bottoms[1:]]
    return [*listed, *(f"{top}/{bottoms[0]},{above[0]}" for top in tops[1:])]


def main() -> int:
    """Measure, print, write."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--graphs", nargs="+", default=["ny-roads"], choices=list(GRAPHS))
    parser.add_argument("--many", type=int, nargs="+", default=[8192])
    parser.add_argument("--few", type=int, default=128)
    parser.add_argument("--rounds", type=int, default=7)
    parser.add_argument("--repeats", type=int, default=0)
    parser.add_argument("--all-pairs", action="store_true", help="the mean distance from each")
    parser.add_argument("--data", type=Path, default=None, help="folder of .nfp files")
    parser.add_argument("--explore", nargs="*", metavar="SHAPES", default=None)
    parser.add_argument("--profile", action="store_true")
    parser.add_argument("-o", "--output", type=Path, default=None)
    given = parser.parse_args()
    results = []
    wrong = 0
    for name in given.graphs:
        prepared = load(name, given.data)
        if given.profile:
            profile(prepared, given.many[-1])
            continue
        bench = Bench(name, prepared, max(*given.many, given.few))
        figures = prepared.preparation.figures
        print(f"== {name}: {figures}", flush=True)
        result: dict[str, Any] = {
            "graph": name,
            "n": bench.n,
            "m": prepared.n_edges,
            "arcs_needed": len(prepared.metric.down.weight),
            "height": figures.height,
        }
        result |= measure(bench, [*given.many, given.few], given.rounds, given.repeats)
        if given.all_pairs:
            result["samples"][MEAN] = mean_of_all(bench, min(given.rounds, 3))
        if given.explore is not None:
            tall = figures.height > 512
            many, few = (given.explore or shapes_to_try(tall, is_few) for is_few in (False, True))
            result["explored"] = [
                *explore(bench, given.many[-1], many),
                *explore(bench, given.few, few),
            ]
        wrong += bench.wrong + result["wrong_repeats"]
        results.append({**result, "wrong": bench.wrong})
        if given.output:
            write_json(given.output, {"environment": environment(), "results": results})
    print("all right" if not wrong else f"{wrong} WRONG")
    return int(wrong > 0)


if __name__ == "__main__":
    sys.exit(main())
