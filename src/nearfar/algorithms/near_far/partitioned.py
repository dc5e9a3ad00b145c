"""Near-far for one source over several devices: the host side of partitioned.cuh.

Each device owns a part of the rows, sorted by weight; the parts have about equally many edges. The
host launches steps on all devices, whose streams wait for each other; the devices decide the kind
of each step. Four steps, after which all rotating buffers are in their initial order, are captured
as one CUDA graph, which the host launches until the search has ended. The main purpose is graphs
that one device cannot hold.
"""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, Literal, TypeVar

import numpy as np
from numpy.typing import NDArray

from nearfar.algorithms.near_far.one_launch.driver import range_delta
from nearfar.algorithms.near_far.one_launch.host import STAGE, entry_bytes, most_steps
from nearfar.algorithms.near_far.one_launch.options import OneLaunchOptions
from nearfar.cuda.device_graph import Rows, upload_rows
from nearfar.cuda.graph.sorted_rows import SEGMENT, sort_in_place
from nearfar.errors import OptionError, VariantUnavailable, wrong_device
from nearfar.graph.dtypes import limit_in_dtype, unreached_value
from nearfar.graph.graph import Graph
from nearfar.graph.slots import Slot
from nearfar.options import DeltaOptions, Devices
from nearfar.registry import Answer, Request, Workspace
from nearfar.system.devices import runtime, several
from nearfar.system.devices.structs import enum_names, filled, struct_dtype

T = TypeVar("T")
_KERNELS = "algorithms/near_far/partitioned.cuh"
_PARTITIONED: Slot[Partitioned] = Slot("partitioned over devices")
_LINE = 32  # vertices per line, which one warp handles and no cut separates
_THREADS = 512
_MORE_DEVICES = "give more devices (devices='all')"
_STEPS_PER_LAUNCH = 4  # counters and tallies rotate by four
_ROOM = 1.5  # entries of a queue per own vertex
_MOST_PARTS = 16  # pointers in struct Others
#: Fields of struct Solve for blocks that advance on their own, as none does here.
_ALONE = ("heads", "local_capacity", "local_rounds", "local_leave")
#: Counters of struct Progress, and its values that are 0 before the first step.
_COUNTERS = ("low", "degrees", "looked_at", "steps", "splits", "pulls", "phase", "eager")


@dataclass(frozen=True, slots=True)
class PartitionedOptions(DeltaOptions):
    """Options of near-far over several devices.

    Parameters
    ----------
    delta : float or None
        Step of the threshold in units of the weights; None chooses it as ``near_far@cuda`` does
        over sorted rows.
    devices : "all", int, list of int or None
        Devices that share the graph; None is the current one.
    parts : int or None
        Number of parts of the graph, assigned to the devices in turn; None is one per device.
    pull_share : int
        On an undirected graph: open vertices scan their own edges once they have fewer than
        1 / ``pull_share`` of all edges; 0 means never.
    eager_growth : float
        Multiple of delta that is used from then on.
    """

    devices: Devices | int = "all"
    parts: int | None = None
    pull_share: int = 16
    eager_growth: float = 1000.0

    def __post_init__(self) -> None:
        DeltaOptions.__post_init__(self)
        if self.parts is not None and not 1 <= self.parts <= _MOST_PARTS:
            raise OptionError(f"parts is {self.parts}: give 1 to {_MOST_PARTS}, or None")
        if self.pull_share < 0:
            raise OptionError(f"pull_share is {self.pull_share}: give 0 or more")
        if not self.eager_growth >= 1:
            raise OptionError(f"eager_growth is {self.eager_growth}: give at least 1")


def splits(graph: Graph, _: Request) -> Literal[True] | str:
    """Return True if the vertices can be divided, which needs 32-bit ids, or the reason why not."""
    if graph.n_vertices > 2**31 - 2**16:
        return f"{graph.n_vertices:,} vertices do not fit 32-bit ids"
    return True


def bounds(indptr: NDArray[Any], parts: int) -> list[int]:
    """Cut the vertices at whole lines into parts with about equally many edges."""
    n, m = len(indptr) - 1, int(indptr[-1])
    wanted = [m * k // parts for k in range(1, parts)]
    cuts = [int(np.searchsorted(indptr, edges)) // _LINE * _LINE for edges in wanted]
    return [0, *np.minimum(cuts, n).tolist(), n]


class Partitioned:
    """Graph divided over devices, with the buffers and prepared launches of its solves."""

    def __init__(self, rows: Sequence[Rows], n: int, symmetric: bool) -> None:
        self.rows, self.n, self.symmetric = list(rows), n, symmetric
        self.dtype = rows[0].graph.weight_dtype
        self._m = sum(row.graph.m for row in rows)
        self._ahead = 1
        self._graph: Any = None
        for one in {row.device for row in rows}:
            for other in {row.device for row in rows}:
                with runtime.on_device(one):
                    if not several.open_way(one, other):
                        raise VariantUnavailable(
                            f"device {one} cannot read the memory of device {other}: give devices "
                            "that can (`nvidia-smi topo -p2p r` lists them)"
                        )
        self._macros: dict[str, str | int] = {
            **rows[0].graph.macros,
            "BLOCK_THREADS": _THREADS,
            "BLOCKS_EACH": 2 if self.dtype.itemsize <= 4 else 1,  # wide values need more registers
            "HEAVY_DEGREE": SEGMENT,
            "LONG_IN_FLIGHT": 2,
            "SEEN_FROM_L1": 0,
        }
        self._progress = struct_dtype(_KERNELS, "Progress", self._macros)
        self._entered = self._sort()
        self._n_entered = int(np.count_nonzero(self._entered)) if self._entered is not None else n
        self._buffers = self._on_each(self._make_buffers)
        self._parts = [self._describe(own) for own in range(len(rows))]
        self._launches = self._on_each(self._prepare)
        self._relaxed, self._fetched = self._make_events(), self._make_events()
        self._pinned = self._on_each(lambda own: runtime.Pinned(self._buffers[own]["state"].nbytes))
        self._phases = enum_names(_KERNELS, "Phase")
        self._streams: dict[int, Any] = {}
        for row in rows:
            with runtime.on_device(row.device):
                runtime.synchronize()  # solves use other streams
                if row.device not in self._streams:
                    stream = runtime.cupy().cuda.Stream(non_blocking=True)
                    self._streams[row.device] = stream
        with runtime.on_device(rows[0].device):
            self._ended = runtime.cupy().cuda.Event(disable_timing=True)

    def _on_each(self, make: Callable[[int], T]) -> list[T]:
        """Return the results of a function of each part's number, called on its device."""
        found = []
        for own, row in enumerate(self.rows):
            with runtime.on_device(row.device):
                found.append(make(own))
        return found

    def _sort(self) -> NDArray[np.bool_] | None:
        """Sort the rows by weight; return which vertices have in-edges, if that ends searches."""
        marks = []
        for row in self.rows:
            graph = row.graph
            if not (graph.weighted and graph.m):
                continue
            with runtime.on_device(row.device):
                runtime.require_memory(self.n, _MORE_DEVICES)
                entered = runtime.cupy().zeros(self.n, dtype=np.uint8)
                sort_in_place(graph, entered)
                if not self.symmetric:  # on an undirected graph pulling ends the search earlier
                    marks.append(runtime.download(entered))
        return np.logical_or.reduce(marks) if marks else None

    def _make_buffers(self, number: int) -> dict[str, Any]:
        cp, n, row = runtime.cupy(), self.n, self.rows[number]
        own = row.last - row.first
        size, entry = self.dtype.itemsize, entry_bytes(row.graph)
        sizes = {
            name: struct_dtype(_KERNELS, name, self._macros).itemsize
            for name in ("Chunk", "Control", "Tally")
        }
        capacity = max(math.ceil(own * _ROOM), 1)
        heavy = 2 * (row.graph.m // SEGMENT) + 1
        marks = 2 * -(-n // _LINE)
        progress = 2 * self._progress.itemsize
        needed = n * size + marks + 2 * capacity * entry + heavy * sizes["Chunk"]
        runtime.require_memory(needed, _MORE_DEVICES)
        state = cp.zeros(progress + 2 * 8, dtype=np.uint8)  # copied to the host
        return {
            "state": state,
            "progress": state[:progress],
            "totals": state[progress:],
            "capacity": capacity,
            "heavy_capacity": heavy,
            "distance": cp.empty(n, dtype=self.dtype),
            "dirty": cp.empty(marks, dtype=np.uint8),
            # Zeroed once: entries are read whole, including padding that is never written.
            "near_queue": [cp.zeros(capacity * entry, dtype=np.uint8) for _ in range(2)],
            "heavy": cp.zeros(heavy * sizes["Chunk"], dtype=np.uint8),
            "control": cp.zeros(sizes["Control"], dtype=np.uint8),
            "tallies": cp.zeros(4 * sizes["Tally"], dtype=np.uint8),
        }

    def _describe(self, own: int) -> NDArray[Any]:
        row, buffers = self.rows[own], self._buffers[own]
        solve_names = ("capacity", "heavy_capacity", "distance", "near_queue", "heavy", "control")
        kind = struct_dtype(_KERNELS, "Part", self._macros, Distances="u8")
        offsets = row.graph.offsets
        return filled(
            kind,
            solve=filled(
                kind["solve"],
                n=self.n,
                offsets=int(offsets.data.ptr) - row.first * offsets.itemsize,
                edges=row.graph.edges,
                far_pile=buffers["near_queue"],  # there is no far pile
                **dict.fromkeys(("row_lanes", "answer", *_ALONE), 0),
                **{name: buffers[name] for name in solve_names},
            ),
            first=row.first,
            last=row.last,
            **{name: buffers[name] for name in ("dirty", "tallies", "progress", "totals")},
        )

    def _program(self) -> runtime.Program:
        return runtime.program(_KERNELS, self._macros)

    def _prepare(self, own: int) -> dict[str, runtime.Launch]:
        row, part, count = self.rows[own], self._parts[own], len(self.rows)
        spare = [None] * (_MOST_PARTS - count)
        others = filled(
            struct_dtype(_KERNELS, "Others", self._macros),
            first=[*(row.first for row in self.rows), *[self.n] * (_MOST_PARTS + 1 - count)],
            **{
                name: [*(each[name] for each in self._buffers), *spare]
                for name in ("distance", "dirty", "tallies", "control")
            },
        )
        among: dict[str, Any] = {"others": others, "devices": np.int32(count), "own": np.int32(own)}
        shared = _THREADS // 32 * STAGE * entry_bytes(row.graph)
        program = self._program()
        blocks = runtime.device().multiprocessors * int(self._macros["BLOCKS_EACH"])
        source, progress = np.int64(0), np.zeros((), dtype=self._progress)
        kernel = program.kernel("partitioned_begin")
        grid = kernel.resident_blocks(_THREADS)
        given = {"part": part, "source": source, "progress": progress}
        found = {"begin": runtime.Launch(kernel, grid, _THREADS, given)}
        steps: dict[str, dict[str, Any]] = {
            "step": {"given": part, **among},
            "pieces": {"given": part},
            "fetch": {"part": part, **among},
        }
        for name, arguments in steps.items():
            kernel = program.kernel(f"partitioned_{name}")
            kernel.attribute("NUM_REGS")  # loads the kernel, which capturing forbids
            # The free resources of a multiprocessor depend on the phase: no more blocks fit.
            grid = blocks if name != "fetch" else kernel.resident_blocks(_THREADS, shared)
            for number in range(_STEPS_PER_LAUNCH):
                given = {**arguments, "step": np.int64(number)}
                launch = runtime.Launch(kernel, grid, _THREADS, given, shared=shared)
                found[f"{name} {number}"] = launch
        return found

    def _make_events(self) -> list[Any]:
        return self._on_each(lambda _: runtime.cupy().cuda.Event(disable_timing=True))

    def solve(
        self,
        source: int,
        delta: float,
        limit: float | None = None,
        pull_share: int = 16,
        eager_growth: float = 1000.0,
        full: bool = False,
    ) -> dict[str, Any]:
        """Compute all distances from a source; each part stays on its device."""
        start = self._first(source, delta, limit, pull_share, eager_growth)
        for launches in self._launches:
            launches["begin"].set(source=np.int64(source), progress=start)
        try:
            self._each(("begin",), self._relaxed, self._fetched)
            now, traced = self._in_single_steps() if full else self._in_captured_launches()
        except BaseException:
            self._wait()  # running kernels use memory that may be released
            raise
        size = 2 * self._progress.itemsize
        read = [np.frombuffer(pinned.read()[size:], dtype=np.uint64) for pinned in self._pinned]
        totals = np.sum(read, axis=0)
        return {
            "iterations": int(now["steps"]),
            "splits": int(now["splits"]),
            "pulls": int(now["pulls"]),
            "edges_relaxed": int(now["looked_at"]),
            "lines_fetched": int(totals[0]),
            "rescans": int(totals[1]),
            "delta": float(start["delta"]),
            **traced,
        }

    def _in_captured_launches(self) -> tuple[Any, dict[str, Any]]:
        """Launch four steps at a time until the search has ended."""
        home = self.rows[0].device
        if self._graph is None:
            self._graph = self._capture()
        with runtime.on_device(home), self._streams[home] as stream:
            for event in self._fetched:
                stream.wait_event(event)
            launched, ahead = 0, self._ahead
            while True:
                for _ in range(ahead):
                    self._graph.launch(stream)
                launched += ahead
                self._ended.record()
                runtime.wait(self._ended)
                now = self._now(_STEPS_PER_LAUNCH - 1)
                if self._phases[int(now["phase"])] == "end":
                    break
                self._check(launched * _STEPS_PER_LAUNCH)
                ahead = max(1, launched // 8)
        # One more step detects the end.
        self._ahead = -(-(int(now["steps"]) + 1) // _STEPS_PER_LAUNCH)
        return now, {}

    def _in_single_steps(self) -> tuple[Any, dict[str, Any]]:
        """Launch single steps and read the state after each."""
        kinds: list[str] = []
        seconds: list[float] = []
        step = 0
        while True:
            began = time.perf_counter()
            self._step(step % _STEPS_PER_LAUNCH, self._fetched, self._relaxed, self._fetched)
            self._copy_state(self._fetched)
            self._wait()
            now = self._now(step)
            phase = self._phases[int(now["phase"])]
            if phase == "end":
                return now, {"kind": kinds, "seconds_per_step": np.array(seconds)}
            kinds.append(phase)
            seconds.append(time.perf_counter() - began)
            step += 1
            self._check(step)

    def _capture(self) -> Any:
        """Capture four steps on all devices, and the copies to the host, as one launch."""
        home = self.rows[0].device
        relaxed, fetched, copied = (self._make_events() for _ in range(3))
        with runtime.on_device(home), self._streams[home] as stream:
            begun = runtime.cupy().cuda.Event(disable_timing=True)
            stream.begin_capture()
            begun.record()
            after = [begun] * len(self.rows)  # event by which the other streams join the capture
            for number in range(_STEPS_PER_LAUNCH):
                self._step(number, after, relaxed, fetched)
                after = fetched
            self._copy_state(copied)
            for event in copied:
                stream.wait_event(event)
            return stream.end_capture()

    def _check(self, steps: int) -> None:
        if steps > most_steps(self.n):
            raise wrong_device(f"{steps} steps for {self.n} vertices")

    def _first(
        self, source: int, delta: float, limit: float | None, pull_share: int, eager_growth: float
    ) -> NDArray[Any]:
        """Return ``struct Progress`` before the first step."""
        never = unreached_value(self.dtype)
        floating = self.dtype.kind == "f"
        wide = delta if floating else max(1, min(delta, never))
        reachable = self.n
        if self._entered is not None:
            reachable = self._n_entered + (not self._entered[source])
        return filled(
            self._progress,
            high=self.dtype.type(wide),
            pending=never,
            limit=limit_in_dtype(limit, self.dtype),
            delta=wide,
            eager_growth=eager_growth,
            edges=self._m,
            reachable=reachable,
            reached=1,
            pull_share=pull_share if self.symmetric else 0,
            **dict.fromkeys(_COUNTERS, 0),
        )

    def _each(self, names: Sequence[str], after: list[Any], marks: list[Any]) -> None:
        """Launch kernels on every device after the events ``after``, and record their end."""
        for row, launches, mark in zip(self.rows, self._launches, marks, strict=True):
            with runtime.on_device(row.device), self._streams[row.device] as stream:
                for other, event in zip(self.rows, after, strict=True):
                    if other.device != row.device:
                        stream.wait_event(event)
                for name in names:
                    launches[name]()
                mark.record()

    def _step(self, number: int, after: list[Any], relaxed: list[Any], fetched: list[Any]) -> None:
        self._each((f"step {number}", f"pieces {number}"), after, relaxed)
        self._each((f"fetch {number}",), relaxed, fetched)

    def _copy_state(self, marks: list[Any]) -> None:
        """Copy the state to the host and record events at the end."""
        for row, buffers, pinned, mark in zip(
            self.rows, self._buffers, self._pinned, marks, strict=True
        ):
            with runtime.on_device(row.device), self._streams[row.device]:
                pinned.queue(buffers["state"])
                mark.record()

    def _now(self, step: int) -> Any:
        """Return the copied progress of a step, which is the same on every device."""
        both = self._pinned[0].read()[: 2 * self._progress.itemsize]
        return np.frombuffer(both, dtype=self._progress)[step & 1]

    def _wait(self) -> None:
        for device, stream in self._streams.items():
            with runtime.on_device(device):
                stream.synchronize()

    @property
    def known(self) -> list[Any]:
        """Distances of own vertices and upper bounds of the others, one array per part."""
        return [each["distance"] for each in self._buffers]

    def distances(self) -> Any:
        """Return the distances of the last solve in one array of the current device, shape (n,)."""
        home = runtime.device().ordinal
        runtime.require_memory(
            self.n * self.dtype.itemsize, "select a current device with more free memory"
        )
        out = runtime.cupy().empty(self.n, dtype=self.dtype)
        self._gather(out, home)
        return out

    def _gather(self, out: Any, home: int) -> None:
        for row, buffers in zip(self.rows, self._buffers, strict=True):
            if row.last > row.first:
                with runtime.on_device(row.device):
                    own = slice(row.first, row.last)
                    several.copy_to(out[own], home, buffers["distance"][own])
                    runtime.synchronize()

    def prove(self, source: int) -> int:
        """Check the distances of the last solve on the devices, for weights greater than 0.

        Every device receives all distances and checks its edges: none may lower a distance, and
        each reached vertex needs an edge that gives its distance exactly.
        """
        self._on_each(lambda own: self._gather(self.known[own], self.rows[own].device))

        def prove_edges(own: int) -> tuple[Any, int]:
            cp = runtime.cupy()
            tight, count = cp.zeros(self.n, dtype=np.uint8), cp.zeros(1, dtype=np.uint64)
            kernel = self._program().kernel("partitioned_prove")
            grid = kernel.resident_blocks(_THREADS)
            kernel(grid, _THREADS, {"part": self._parts[own], "tight": tight, "wrong": count})
            return tight, int(count.get()[0])

        def without_edges(own: int) -> int:
            row = self.rows[own]
            mine = slice(row.first, row.last)
            without = self.known[own][mine] < unreached_value(self.dtype)
            for tight, _ in proven:
                without &= several.here(tight[mine]) == 0
            if row.first <= source < row.last:
                without[source - row.first] = False
            return int(without.sum())

        proven = self._on_each(prove_edges)
        return sum(count for _, count in proven) + sum(self._on_each(without_edges))


def solve_partitioned(
    graph: Graph, source: int, options: PartitionedOptions, workspace: Workspace
) -> Answer:
    """Cut the graph on first use, solve, and gather the distances on the current device."""
    devices = several.chosen(options.devices)
    count = options.parts or len(devices)
    owners = tuple(devices[k % len(devices)] for k in range(count))

    def make() -> Partitioned:
        indptr = runtime.download(graph.indptr) if graph.on_device else graph.indptr
        cuts = bounds(indptr, count)
        rows = []
        for device, first, last in zip(owners, cuts, cuts[1:], strict=False):
            with runtime.on_device(device):
                rows.append(Rows(device, first, last, upload_rows(graph, first, last)))
        return Partitioned(rows, graph.n_vertices, not graph.directed)

    parts = _PARTITIONED.of(graph, make, owners)
    delta = range_delta(graph, OneLaunchOptions(delta=options.delta))
    stats = parts.solve(
        source,
        delta,
        workspace.limit,
        options.pull_share,
        options.eager_growth,
        workspace.stats == "full",
    )
    return Answer(parts.distances(), {**stats, "devices": len(set(owners)), "parts": count})
