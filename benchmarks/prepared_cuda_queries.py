"""Measure prepared graphs on a GPU: pairs, labels, exact floats, reductions, several GPUs.

``python benchmarks/prepared_cuda_queries.py -o benchmarks/results/prepared_cuda_queries.json`` uses
the graphs of ``prepared_graphs.py`` (with the orders of ``--data``, as in ``prepared_cuda.py``) and
measures with arrays on the device: nanoseconds per pair by walking and by labels; tables, as a
product and as columns of a sweep; microseconds per source for float rows with and without the sums
of a search, and for reductions without stored rows; milliseconds per customization, basic and
perfect, of one metric and of several; and rows on one device and on all. All samples are kept.
Answers are compared with the CPU's, and ``--repeats`` repeats each measurement and compares bits.
The file is written after every measurement, and ``--add`` keeps the results of an earlier run with
other ``--parts``.
"""

from __future__ import annotations

import argparse
import json
import sys
import time
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

import nearfar
from nearfar import Graph, Prepared
from nearfar.lab.bench.environment import environment
from nearfar.prepared.cuda.bottoms.cells import Sweep
from nearfar.prepared.cuda.metric.arcs import device_arcs
from nearfar.prepared.cuda.metric.customize import customized_on_device
from nearfar.prepared.cuda.sinks.reduction import DeviceReduction
from nearfar.prepared.cuda.sinks.rows import DeviceRows, Restoration, RowForm
from nearfar.solve import Reduction
from nearfar.system.devices import runtime
from nearfar.system.devices.several import chosen, each_block
from prepared_cuda import by_launch, load
from prepared_graphs import GRAPHS
from result_file import add_output, write_result

PARTS = ("pairs", "tables", "floats", "reductions", "customization", "devices")
METHOD = "elimination_tree_rows@cuda"


class Meter:
    """Samples by name, and the number of wrong answers."""

    def __init__(
        self, rounds: int, repeats: int, result: dict[str, Any], save: Callable[[], None]
    ) -> None:
        self.rounds, self.repeats, self.wrong = rounds, repeats, 0
        self.samples: dict[str, list[float]] = result.setdefault("samples", {})
        self._before = result.get("wrong", 0)
        self._result, self._save = result, save

    def keep(self, name: str, samples: list[float], unit: float, word: str) -> None:
        """Store, print and write samples, in seconds per unit."""
        self.samples[name] = samples
        middle, least = np.median(samples) * unit, min(samples) * unit
        print(f"   {middle:10.4f} {word} (least {least:.4f})  {name}", flush=True)
        self.save()

    def save(self) -> None:
        """Write the results so far."""
        self._result["wrong"] = self._before + self.wrong
        self._save()

    def time(self, name: str, work: Callable[[], Any], units: int, unit: float, word: str) -> Any:
        """Time ``work`` per unit, after two untimed runs, and return the last answer."""
        kept, answer = [], None
        for number in range(self.rounds + 2):
            runtime.synchronize()
            timer = runtime.Timer().start()
            answer = work()
            seconds = timer.stop().seconds
            if number > 1:
                kept.append(seconds / units)
        self.keep(name, kept, unit, word)
        return answer

    def check(self, found: Any, wanted: Any, what: str) -> None:
        """Count and report a wrong answer."""
        if not np.array_equal(runtime.download(found), wanted):
            self.wrong += 1
            print(f"   WRONG: {what}", flush=True)

    def repeat(self, work: Callable[[], Any], what: str) -> None:
        """Compare the bits of repeated runs."""
        first = work().copy()
        wrong = sum(bool((work() != first).any()) for _ in range(self.repeats))
        if wrong:
            self.wrong += wrong
            print(f"   WRONG: {wrong} of {self.repeats} repeats of {what}", flush=True)


def write_speed() -> float:
    """Return the bytes per second that the device writes, a bound for all rows."""
    block = runtime.cupy().empty(2**28, dtype=np.int32)
    samples = []
    for _ in range(5):
        timer = runtime.Timer().start()
        block.data.memset_async(1, block.nbytes)  # CuPy's fill is far slower than the memory
        samples.append(timer.stop().seconds)
    return float(block.nbytes / max(min(samples), 1e-9))


def pairs(prepared: Prepared, meter: Meter, count: int) -> dict[str, Any]:
    """Measure point queries in batches."""
    rng = np.random.default_rng(1)
    host = rng.integers(0, prepared.n_vertices, (count, 2))
    there = runtime.cupy().asarray(host)
    sample = slice(0, min(count, 20_000))
    truth = prepared.distances_of_pairs(host[sample], device="cpu")
    labels = meter.time("making labels, ms", lambda: prepared.label(device="cuda"), 1, 1e3, "ms")
    for name, asked in (("walks", prepared), ("labels", labels)):

        def work(asked: Any = asked) -> Any:
            return asked.distances_of_pairs(there)

        found = meter.time(f"{name}, {count} pairs", work, count, 1e9, "ns")
        if prepared.weight_dtype.kind == "i":
            meter.check(found[sample], truth, name)
        meter.repeat(work, name)
    some = there[: count // 10]

    def edges() -> Any:
        return prepared.paths_of_pairs(some).edges

    opened = meter.time(f"paths, {len(some)} pairs", edges, len(some), 1e9, "ns")
    wanted = prepared.paths_of_pairs(host[:1000], device="cpu").edges
    meter.check(opened[: len(wanted)], wanted, "paths")
    meter.repeat(edges, "paths")
    return {"label_bytes": prepared.label_bytes, "edges_of_paths": len(opened)}


def tables(prepared: Prepared, meter: Meter) -> None:
    """Measure tables as a product over common ancestors, and as columns of whole rows."""
    cp = runtime.cupy()
    n, home = prepared.n_vertices, runtime.device().ordinal
    rng = np.random.default_rng(6)
    for count, width in ((1000, 1000), (8192, 8192), (8192, 100)):
        sources, targets = rng.integers(0, n, count), rng.integers(0, n, width)
        out = cp.empty((count, width), prepared.weight_dtype)
        form = RowForm(targets, home, "", 1)
        wanted = prepared.distances_of_pairs(
            np.stack([np.repeat(sources[:100], width), np.tile(targets, 100)], axis=1),
            device="cpu",
        ).reshape(100, width)
        for name, product in (("product", True), ("sweep", False)):
            made = DeviceRows(prepared, form, count, table=product)

            def work(made: Any = made, sources: Any = sources, out: Any = out) -> Any:
                made(sources, out)
                return out

            what = f"table {count} x {width}, {name}"
            meter.time(what, work, 1, 1e3, "ms")
            meter.check(out[:100], wanted, what)
            if name == "product":
                launches = by_launch(work, 1)
                print("      ", " ".join(f"{k} {t:.1f}" for k, t in launches), "us", flush=True)
                meter.repeat(work, what)
            del made
        start = partial(DeviceRows, prepared, form, count, table=True)
        meter.time(f"climbs of {width} targets", start, 1, 1e3, "ms")
    sources, targets = np.arange(n), rng.choice(n, min(n, 1000), replace=False)
    reduction = Reduction.parse("nearest:5")
    near = DeviceReduction(prepared, reduction, targets, None, 8192, table=True)
    meter.time("nearest 5 of 1000, per vertex", partial(near, sources), n, 1e9, "ns")


def floats(prepared: Prepared, meter: Meter, count: int) -> None:
    """Measure rows of integers and floats, and of floats with the pass for the sums of a search."""
    cp = runtime.cupy()
    rng = np.random.default_rng(2)
    for dtype in (np.int32, np.int64, np.float32, np.float64):
        drawn = prepared.effective_weights * rng.uniform(0.5, 1.5, prepared.n_edges)
        weights = np.maximum(drawn, 1).astype(dtype)
        one = prepared.reweight(weights)
        sources = rng.integers(0, one.n_vertices, count)
        rows = cp.empty((count, one.n_vertices), dtype=dtype)
        form = RowForm(None, runtime.device().ordinal, "", 1)
        made = DeviceRows(one, form, count)
        restore = Restoration(one, count) if weights.dtype.kind == "f" else None
        there = cp.asarray(sources)

        def nearly(made: Any = made, sources: Any = sources, rows: Any = rows) -> Any:
            made(sources, rows)
            return rows

        name = f"{np.dtype(dtype).name}, {count} sources"
        meter.time(f"rows, {name}", nearly, count, 1e6, "us")
        if restore is None:
            del rows, made
            continue

        def both(
            nearly: Any = nearly, restore: Any = restore, there: Any = there, rows: Any = rows
        ) -> Any:
            nearly()
            restore(there, rows)
            return rows

        found = meter.time(f"rows and sums of a search, {name}", both, count, 1e6, "us")
        graph = Graph(one.indptr, one.indices, weights, copy=False)
        wanted = nearfar.distances(graph, sources[:8], device="cpu")
        meter.check(found[:8], wanted, name)
        meter.repeat(both, name)
        del rows, made, restore, found
        cp.get_default_memory_pool().free_all_blocks()


def reductions(prepared: Prepared, meter: Meter, count: int) -> None:
    """Measure reductions without rows: a block of sources, launch by launch, and all pairs."""
    rng = np.random.default_rng(5)
    sources = rng.integers(0, prepared.n_vertices, count)
    sampled = sources[:64]
    limit = int(np.median(nearfar.distances(prepared, sampled[:1], device="cpu")))
    edges = tuple(float(limit * k) for k in range(11))
    kinds: list[tuple[str, Any, dict[str, Any]]] = [
        ("mean", "mean", {}),
        ("count within a limit", "count", {"limit": limit}),
        ("harmonic", "harmonic", {}),
        ("nearest:5", "nearest:5", {}),
        ("10 bins", ("histogram", edges), {}),
    ]
    for name, kind, given in kinds:
        reduction = Reduction.parse(kind)
        made = DeviceReduction(prepared, reduction, None, given.get("limit"), min(count, 8192))
        meter.time(f"{name}, {count} sources", partial(made, sources), count, 1e6, "us")
        launches = by_launch(partial(made.query, sources[: made.pitch]), made.pitch)
        print("      ", " ".join(f"{k} {t:.3f}" for k, t in launches), flush=True)
        wanted = nearfar.distances(prepared, sampled, reduce=kind, device="cpu", **given)
        found = nearfar.distances(prepared, sampled, reduce=kind, method=METHOD, **given)
        both = (found, wanted) if isinstance(wanted, tuple) else ((found,), (wanted,))
        if not all(np.array_equal(a, b, equal_nan=True) for a, b in zip(*both, strict=True)):
            meter.wrong += 1  # a mean of nothing is NaN
            print(f"   WRONG: {name}", flush=True)

        def bits(made: Any = made) -> Any:
            found = made(sources)
            assert found is not None
            partial, _ = found
            parts = (partial.counts, partial.totals, partial.most, partial.bins)
            parts += (partial.vertices, partial.distances)
            # only some parts have results
            kept = [runtime.download(part) for part in parts if part is not None]
            rows = [np.ascontiguousarray(part.reshape(len(sources), -1)) for part in kept]
            return np.concatenate([row.view(np.uint8) for row in rows], axis=1)

        meter.repeat(bits, name)
        del made
    samples = []
    for number in range(3):
        began = time.perf_counter()
        nearfar.all_pairs(prepared, reduce="mean", method=METHOD)
        if number:
            samples.append((time.perf_counter() - began) / prepared.n_vertices)
    meter.keep("mean distance per source of all pairs, the whole call", samples, 1e6, "us")


def customization(prepared: Prepared, meter: Meter, metrics: int) -> None:
    """Measure new weights for the same structure."""
    cp = runtime.cupy()
    rng = np.random.default_rng(3)
    shape = (metrics, prepared.n_edges)
    weights = (prepared.effective_weights * rng.uniform(0.5, 1.5, shape)).astype(np.int32) + 1
    there = cp.asarray(weights)
    structure = device_arcs(prepared, prepared.preparation)
    graphs = [Graph(structure.indptr, structure.indices, w, copy=False) for w in there]
    for perfect in (False, True):
        what = "customization, " + ("basic and perfect" if perfect else "basic")

        def once(perfect: bool = perfect) -> Any:
            return customized_on_device(structure, graphs[:1], perfect)[0].there

        def each(perfect: bool = perfect) -> Any:
            return customized_on_device(structure, graphs, perfect)[-1].there

        meter.time(f"{what}, one metric", once, 1, 1e3, "ms")
        last = meter.time(
            f"{what} customization, per metric of {metrics}", each, metrics, 1e3, "ms"
        )
        meter.repeat(once, what)
        wanted = prepared.reweight(weights[-1]).metric.weights
        meter.check(last, wanted, what)
    meter.time("reweight, checks of the weights included", lambda: prepared.reweight(there[0]), 1,
               1e3, "ms")  # fmt: skip

    def swept() -> Any:
        return Sweep(prepared.reweight(there[0]), None, 2048)

    meter.time("reweight and streams for a sweep", swept, 1, 1e3, "ms")


def devices(prepared: Prepared, meter: Meter, count: int) -> None:
    """Measure rows on one device and on all, left on each device or copied to the first."""
    cp = runtime.cupy()
    rng = np.random.default_rng(4)
    sources = rng.integers(0, prepared.n_vertices, count)
    each = min(4096, count)  # blocks small enough that devices end at the same time
    blocks = [slice(k, min(k + each, count)) for k in range(0, count, each)]
    every = chosen("all")
    for some in sorted({1, min(2, len(every)), len(every)}):
        used = every[:some]
        kept: dict[int, tuple[DeviceRows, Any]] = {}

        def begin(kept: Any = kept) -> Callable[[slice], None]:
            here = runtime.device().ordinal
            if here not in kept:
                form = RowForm(None, here, "", 1)
                rows = cp.empty((each, prepared.n_vertices), dtype=prepared.weight_dtype)
                kept[here] = DeviceRows(prepared, form, each), rows
            made, rows = kept[here]

            def work(block: slice) -> None:
                made(sources[block], rows[: block.stop - block.start])

            return work

        samples = []
        for number in range(meter.rounds + 2):
            began = time.perf_counter()
            failed = each_block(used, blocks, begin)
            for device in used:
                with runtime.on_device(device):
                    runtime.synchronize()
            if number > 1:
                samples.append((time.perf_counter() - began) / count)
            if failed:
                meter.wrong += 1
                print(f"   WRONG: {failed}", flush=True)
        name = f"{count} sources on {some} devices, rows left there"
        meter.keep(name, samples, 1e6, "us")
        few = sources[: 8 * each]
        out = cp.empty((len(few), prepared.n_vertices), dtype=prepared.weight_dtype)
        samples = []
        for number in range(meter.rounds + 2):
            began = time.perf_counter()
            nearfar.distances(prepared, few, method=METHOD, devices=used, out=out)
            runtime.synchronize()
            if number > 1:
                samples.append((time.perf_counter() - began) / len(few))
        name = f"{len(few)} sources on {some} devices, rows brought to the first"
        meter.keep(name, samples, 1e6, "us")
        at = rng.choice(len(few), 8, replace=False)
        wanted = nearfar.distances(prepared, few[at], device="cpu")
        meter.check(out[cp.asarray(at)], wanted, name)
        asked: dict[str, Any] = {"method": METHOD, "devices": used}
        whole = {**asked, "reduce": "mean"}
        table = partial(nearfar.distances, prepared, sources, targets=sources[:1000], **asked)
        mean = partial(nearfar.all_pairs, prepared, **whole)
        for name, units, call in (
            ("mean of all pairs", prepared.n_vertices, mean),
            ("table of 1,000 targets", count, table),
        ):
            samples = []
            for number in range(3):
                began = time.perf_counter()
                call()
                if number > 0:
                    samples.append((time.perf_counter() - began) / units)
            name = f"{name} on {some} devices, the whole call"
            meter.keep(name, samples, 1e6, "us")
        some_out = out[:2048]

        def again(asked: Any = asked, out: Any = some_out) -> Any:
            return nearfar.distances(prepared, sources[: len(out)], sweep=256, out=out, **asked)

        meter.repeat(again, f"2,048 rows on {some} devices")
        del out, some_out, kept
        cp.get_default_memory_pool().free_all_blocks()


def main() -> int:
    """Measure, print, write."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--graphs", nargs="+", default=["ny-roads"], choices=list(GRAPHS))
    parser.add_argument("--parts", nargs="+", default=list(PARTS), choices=PARTS)
    parser.add_argument("--pairs", type=int, default=10**6)
    parser.add_argument("--floats", type=int, default=1024)
    parser.add_argument("--reduced", type=int, default=65_536, help="sources of reductions")
    parser.add_argument("--metrics", type=int, default=16)
    parser.add_argument("--sources", type=int, default=65_536)
    parser.add_argument("--rounds", type=int, default=7)
    parser.add_argument("--repeats", type=int, default=0)
    parser.add_argument("--data", type=Path, default=None, help="folder of orders")
    parser.add_argument("--add", action="store_true", help="add to the output file")
    add_output(parser)
    given = parser.parse_args()
    results: list[dict[str, Any]] = []
    if given.add and given.output and given.output.exists():
        results = json.loads(given.output.read_text())["results"]
    wrong, where = 0, environment()

    def save() -> None:
        """Write all results; an interrupted run keeps its measurements."""
        write_result(given.output, {"environment": where, "results": results})

    speed = write_speed()
    print(f"writes {speed / 1e9:,.0f} GB per second", flush=True)
    for name in given.graphs:
        prepared = load(name, given.data)
        print(f"== {name}: {prepared.preparation.figures}", flush=True)
        known = [result for result in results if result["graph"] == name]
        result: dict[str, Any] = known[0] if known else {"graph": name}
        result |= {"n": prepared.n_vertices, "m": prepared.n_edges}
        result |= {"memset_bytes_per_second": speed, "repeats": given.repeats}
        if not known:
            results.append(result)
        meter = Meter(given.rounds, given.repeats, result, save)
        if "pairs" in given.parts:
            result |= pairs(prepared, meter, given.pairs)
        if "tables" in given.parts:
            tables(prepared, meter)
        if "floats" in given.parts:
            floats(prepared, meter, given.floats)
        if "reductions" in given.parts:
            reductions(prepared, meter, given.reduced)
        if "customization" in given.parts:
            customization(prepared, meter, given.metrics)
        if "devices" in given.parts:
            devices(prepared, meter, given.sources)
        wrong += meter.wrong
        meter.save()
    print("all right" if not wrong else f"{wrong} WRONG")
    return int(wrong > 0)


if __name__ == "__main__":
    sys.exit(main())
