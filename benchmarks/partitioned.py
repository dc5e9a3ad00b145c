"""Measure one source over several GPUs, on Kronecker graphs that are generated on the devices.

``python benchmarks/partitioned.py -o benchmarks/results/partitioned.json`` solves each scale on one
device with ``near_far@cuda`` and with ``near_far_partitioned@cuda`` on 1, 2, 4, ... devices, if the
graph fits them. Sources are drawn among vertices with edges. A sample is the time from the launch
of a solve until the counters show that no vertex waits, with distances left on their devices. Every
source's distances are proven on the devices; ``--repeats`` solves again and compares bits. GTEPS
are counted as in Graph500: undirected edges of the source's component, self-loops and repetitions
included, over the time of the solve. ``--profile`` adds one solve in which every kernel is timed:
by phase, on every device. The file is written after each number of devices; other rows are kept,
each with its environment.
"""

from __future__ import annotations

import argparse
import statistics
import sys
import time
from collections.abc import Callable
from typing import Any

import numpy as np

import nearfar
from nearfar.algorithms.near_far.partitioned import Partitioned
from nearfar.cuda.device_graph import Rows as GraphRows
from nearfar.cuda.graph.kronecker_rows import kronecker_rows
from nearfar.errors import OutOfMemoryError
from nearfar.registry import Workspace, find
from nearfar.system.devices import launching, runtime
from result_file import Rows, add_output

SETTLING = 6  # solves after which near_far@cuda has chosen a form for the graph
MEAN_WEIGHT, MEAN_DEGREE, RANGE_SCALE = 128.0, 32.0, 0.125


def finish(devices: list[int]) -> None:
    """Wait for the devices."""
    for ordinal in devices:
        with runtime.on_device(ordinal):
            runtime.synchronize()


def free() -> None:
    """Release cached device memory."""
    for ordinal in range(runtime.device_count()):
        with runtime.on_device(ordinal):
            runtime.cupy().get_default_memory_pool().free_all_blocks()


def drawn(rows: list[GraphRows], count: int, seed: int) -> list[int]:
    """Return random vertices with edges."""
    rng = np.random.default_rng(seed)
    found: list[int] = []
    while len(found) < count:
        v = int(rng.integers(rows[-1].last))
        row = next(row for row in rows if v < row.last)
        with runtime.on_device(row.device):
            at = v - row.first
            begin, end = runtime.download(row.graph.offsets[at : at + 2])
        if end > begin:
            found.append(v)
    return found


def own_distances(parts: Partitioned) -> list[Any]:
    """Return the distances that each part computed for its vertices, copied to the host."""
    found = []
    for row, known in zip(parts.rows, parts.known, strict=True):
        with runtime.on_device(row.device):
            found.append(known[row.first : row.last].copy())
    return found


def edges_of_component(parts: Partitioned) -> int:
    """Return the number of undirected edges between reached vertices."""
    total = 0
    for row, known in zip(parts.rows, parts.known, strict=True):
        with runtime.on_device(row.device):
            reached = known[row.first : row.last] < 2**31 - 1
            total += int((runtime.cupy().diff(row.graph.offsets) * reached).sum())
    return total // 2


def differ(parts: Partitioned, before: list[Any]) -> int:
    """Return the number of vertices whose distance differs from the earlier one."""
    count = 0
    for row, known, was in zip(parts.rows, parts.known, before, strict=True):
        with runtime.on_device(row.device):
            count += int((known[row.first : row.last] != was).sum())
    return count


def with_one(rows: list[GraphRows], sources: list[int], rounds: int) -> list[float]:
    """Return the seconds of `near_far@cuda` on the same rows, on one device."""
    (variant,) = find("near_far@cuda")
    (only,) = rows
    pairs = only.graph.edges.view(np.int32).reshape(-1, 2)
    indices, weights = pairs[:, 0].copy(), pairs[:, 1].copy()
    graph = nearfar.Graph.from_csr(only.graph.offsets, indices, weights, directed=False)
    samples = []
    for turn in range(SETTLING + rounds):
        source = sources[turn % len(sources)]
        answer = variant.run(graph, source, variant.options(), Workspace())
        if turn >= SETTLING:
            samples.append(answer.stats["device_seconds"])
    return samples


def profiled(parts: Partitioned, source: int, delta: float) -> list[dict[str, Any]]:
    """Return the steps of one solve: kind, and milliseconds of each kernel on each device."""
    marks: list[tuple[str, Any, Any]] = []

    def see(name: str, go: Callable[[], None]) -> None:
        event = runtime.cupy().cuda.Event
        begin, end = event(), event()
        begin.record()
        go()
        end.record()
        marks.append((name.removeprefix("partitioned_"), begin, end))

    before = launching.set_observer(see)
    try:
        stats = parts.solve(source, delta, full=True)
    finally:
        launching.set_observer(before)
    finish([row.device for row in parts.rows])
    elapsed = runtime.cupy().cuda.get_elapsed_time
    times: dict[str, list[float]] = {}
    for name, begin, end in marks:
        times.setdefault(name, []).append(round(float(elapsed(begin, end)), 4))
    count = len(parts.rows)
    return [
        {"kind": kind}
        | {name: times[name][k * count : (k + 1) * count] for name in ("step", "pieces", "fetch")}
        for k, kind in enumerate(stats["kind"])
    ]


def told(steps: list[dict[str, Any]]) -> str:
    """Return one line of text per step."""
    lines = []
    for k, row in enumerate(steps):
        cells = [
            f"{name} {' '.join(f'{ms:.3f}' for ms in row[name])}" for name in row if name != "kind"
        ]
        lines.append(f"      {k:2} {row['kind']:10} {', '.join(cells)}")
    return "\n".join(lines)


def measure(scale: int, count: int, args: argparse.Namespace) -> dict[str, Any]:
    """Solve and prove one scale on a number of devices."""
    devices = list(range(count))
    began = time.perf_counter()
    rows = kronecker_rows(scale, devices)
    finish(devices)
    found: dict[str, Any] = {
        "scale": scale,
        "devices": count,
        "vertices": 1 << scale,
        "edges": sum(row.graph.m for row in rows),
        "made_s": time.perf_counter() - began,
    }
    sources = drawn(rows, args.sources, scale)
    began = time.perf_counter()
    parts = Partitioned(rows, 1 << scale, symmetric=True)
    finish(devices)
    found["sorted_s"] = time.perf_counter() - began
    base = RANGE_SCALE * 32.0 * MEAN_WEIGHT / MEAN_DEGREE
    found["solves"], found["wrong"] = [], 0
    for scaled in args.delta:
        for source in sources:
            samples = []
            for _ in range(args.rounds + 1):
                finish(devices)
                began = time.perf_counter()
                stats = parts.solve(source, base * scaled)
                samples.append(time.perf_counter() - began)
            middle = statistics.median(samples[1:])
            component = edges_of_component(parts)
            before = own_distances(parts)
            found["wrong"] += parts.prove(source)
            for _ in range(args.repeats):
                parts.solve(source, base * scaled)
                found["wrong"] += differ(parts, before)
            del before
            row = {"source": source, "delta": base * scaled, "samples_s": samples[1:], **stats}
            row |= {"gteps": component / middle / 1e9, "edges_of_component": component}
            found["solves"].append(row)
            print(
                f"scale {scale}, {count} devices, delta {base * scaled:.0f}: {middle * 1e3:.2f} ms,"
                f" {row['gteps']:.1f} GTEPS, {stats['iterations']} steps, work "
                f"{stats['edges_relaxed'] / found['edges']:.2f}, wrong {found['wrong']}",
                flush=True,
            )
        if args.profile:
            found["profile"] = profiled(parts, sources[0], base * scaled)
            print(told(found["profile"]), flush=True)
    del parts
    if count == 1 and scale <= args.compared:
        found["near_far_s"] = with_one(rows, sources, args.rounds)
        print(f"   near_far@cuda {statistics.median(found['near_far_s']) * 1e3:.2f} ms", flush=True)
    return found


def main() -> int:
    """Measure, print, write."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    add_output(parser)
    parser.add_argument("--scales", type=int, nargs="+", default=[22, 24, 26, 28, 29])
    parser.add_argument(
        "--devices", type=int, nargs="+", help="numbers of devices (default: 1, 2, 4, ...)"
    )
    parser.add_argument("--compared", type=int, default=26, help="largest scale for near_far@cuda")
    parser.add_argument("--sources", type=int, default=3)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--repeats", type=int, default=0)
    parser.add_argument(
        "--delta", type=float, nargs="+", default=[1.0], help="factors of the default delta"
    )
    parser.add_argument("--profile", action="store_true", help="time every kernel of one solve")
    args = parser.parse_args()
    most = runtime.device_count()
    counts = args.devices or [1 << k for k in range(most.bit_length()) if 1 << k <= most]
    rows, wrong = Rows(args.output, [], by="what"), False
    for scale in args.scales:
        for count in counts:
            what = f"scale {scale}, {count} devices"
            try:
                found = measure(scale, count, args)
                wrong |= bool(found["wrong"])
            except OutOfMemoryError as error:
                found = {"scale": scale, "devices": count, "why": str(error)}
                print(f"{what}: {error}", flush=True)
            free()
            rows.add({"what": what, **found})
    return int(wrong)


if __name__ == "__main__":
    sys.exit(main())
