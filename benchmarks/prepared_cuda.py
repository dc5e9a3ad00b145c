"""Prepared graphs on a GPU: rows, columns, few sources, and where the time of a sweep goes.

``python benchmarks/prepared_cuda.py -o benchmarks/results/prepared_cuda.json`` prepares the graphs
of ``prepared_graphs.py`` (or reads ``NAME.nfp`` from ``--data``, and keeps there what it made)
and measures with everything on the device: distances as ``[source][vertex]`` and as
``[vertex][source]``, for many sources and for few. ``--explore`` tries shapes of cells and prints
the time of every launch. All samples are kept. Answers are compared with searches, and
``--repeats`` repeats each measurement that often and compares the bits.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

import nearfar
from nearfar import Prepared
from nearfar.lab.bench.environment import environment
from nearfar.lab.bench.report import write_json
from nearfar.prepared.cells import PassShape
from nearfar.prepared.device_sweep import Sweep, SweepPlan, default_shapes, padded
from nearfar.system.devices import launching, runtime
from prepared_graphs import GRAPHS, scaled

Shapes = tuple[PassShape, ...]


def load(name: str, folder: Path | None) -> Prepared:
    """The prepared graph of that name, read from the folder where it is there."""
    kept = None if folder is None else folder / f"{name}.nfp"
    if kept is not None and kept.exists():
        return nearfar.load(kept)
    made = nearfar.prepare(scaled(GRAPHS[name]()))
    if kept is not None:
        made.save(kept)
    return made


def parse_shapes(text: str) -> Shapes:
    """Shapes from ``members:slots:lanes:columns,...``, the bottom pass first."""
    return tuple(PassShape(*map(int, part.split(":"))) for part in text.split(","))


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


def plans(bench: Bench, sweep: Sweep, count: int) -> Iterator[tuple[str, SweepPlan, Any]]:
    """Name, plan and the rows it writes, as an array of shape (count, n)."""
    cp = runtime.cupy()
    dtype = bench.prepared.weight_dtype
    if sweep.can_gather:
        rows = cp.empty((count, bench.n), dtype)
        yield "rows gathered", sweep.gathered(rows), rows
        del rows
    values = cp.empty((bench.n, padded(count)), sweep.dtype)
    rows = cp.empty((count, bench.n), dtype)
    yield "rows transposed", sweep.transposed(values, sweep.tree.label, rows), rows
    del rows
    yield "columns", sweep.columns(values, True), values.T


def explore(bench: Bench, count: int, tried: list[Shapes], kinds: list[str]) -> list[Any]:
    """Times of whole sweeps and of their launches for each shape."""
    cp = runtime.cupy()
    found = []
    sources = bench.sources[:count]
    print(f"-- {bench.name}, {count} sources", flush=True)
    for shapes in tried:
        text = ",".join(f"{s.members}:{s.slots}:{s.lanes}:{s.columns}" for s in shapes)
        try:
            sweep = Sweep(bench.prepared, shapes, count)
            for kind, plan, rows in plans(bench, sweep, count):
                if kind not in kinds:
                    continue
                plan(sources)
                bench.check(rows, count, f"{kind} {text}")
                total = min(device_seconds(partial(plan, sources)) for _ in range(3)) / count * 1e6
                launches = by_launch(partial(plan, sources), count)
                each = " ".join(f"{t:.3f}" for _, t in launches)
                print(f"   {total:.3f} us  {kind:15} {text}  [{each}]", flush=True)
                made = {"sources": count, "shapes": text, "kind": kind, "us": total}
                found.append({**made, "launches": [t for _, t in launches]})
                del plan, rows
        except Exception as error:
            print(f"   {text}: {type(error).__name__} {error}", flush=True)
        cp.get_default_memory_pool().free_all_blocks()
    return found


def measure(bench: Bench, counts: list[int], rounds: int, repeats: int) -> dict[str, Any]:
    """Rows and columns for many sources and for few, and the bits of repeated runs."""
    cp = runtime.cupy()
    clock = Samples()
    wrong = 0
    parts = {}
    for count in counts:
        sources = bench.sources[:count]
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


def shapes_to_try(size: int, few: bool) -> list[Shapes]:
    """Shapes of the bottom pass times ways to share lanes out, with the default tops."""
    top = default_shapes(size, 8192)[-1:]
    if few:
        bottoms = ["64:48", "128:64", "256:64"]
        middles = ["", ",256:256:32:1", ",512:400:32:1"]
        return [parse_shapes(f"{b}:32:1{m}") + top for b in bottoms for m in middles]
    tried = [
        parse_shapes(f"{b}:{w}") + top
        for b in ("64:32", "256:32", "256:48", "256:64", "1024:64")
        for w in ("128:4", "64:2")
    ]
    tried += [parse_shapes(f"256:48:{w}") + top for w in ("64:1", "128:2", "32:1", "128:1")]
    tried += [parse_shapes(f"256:48:128:4,{t}") for t in ("1024:400:128:4", "4096:800:64:2")]
    tried += [parse_shapes("64:32:128:4,256:128:64:2,2048:1000:32:1")]
    return tried


def main() -> int:
    """Measure, print, write."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--graphs", nargs="+", default=["ny-roads"], choices=list(GRAPHS))
    parser.add_argument("--many", type=int, default=8192)
    parser.add_argument("--few", type=int, default=128)
    parser.add_argument("--rounds", type=int, default=7)
    parser.add_argument("--repeats", type=int, default=0)
    parser.add_argument("--data", type=Path, default=None, help="folder of .nfp files")
    parser.add_argument("--explore", nargs="*", metavar="SHAPES", default=None)
    parser.add_argument("-o", "--output", type=Path, default=None)
    given = parser.parse_args()
    results = []
    wrong = 0
    for name in given.graphs:
        prepared = load(name, given.data)
        bench = Bench(name, prepared, max(given.many, given.few))
        figures = prepared.preparation.figures
        print(f"== {name}: {figures}", flush=True)
        result: dict[str, Any] = {
            "graph": name,
            "n": bench.n,
            "m": prepared.n_edges,
            "arcs_needed": len(prepared.metric.down.weight),
            "height": figures.height,
        }
        result |= measure(bench, [given.many, given.few], given.rounds, given.repeats)
        if given.explore is not None:
            asked = [parse_shapes(text) for text in given.explore]
            size = prepared.metric.weights.dtype.itemsize
            many, few = (asked or shapes_to_try(size, is_few) for is_few in (False, True))
            result["explored"] = [
                *explore(bench, given.many, many, ["rows gathered", "columns"]),
                *explore(bench, given.few, few, ["rows gathered", "columns"]),
            ]
        wrong += bench.wrong + result["wrong_repeats"]
        results.append({**result, "wrong": bench.wrong})
        if given.output:
            write_json(given.output, {"environment": environment(), "results": results})
    print("all right" if not wrong else f"{wrong} WRONG")
    return int(wrong > 0)


if __name__ == "__main__":
    sys.exit(main())
