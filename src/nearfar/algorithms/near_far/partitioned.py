"""One source over several devices: the host's side of partitioned.cuh.

The rows of the graph lie on the devices that own them, cut so that each has as many edges. The host
launches a step on all of them and lets their streams wait for each other; it looks at their states
only every few steps. What this is for first is a graph that one device cannot hold.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal

import numpy as np

from nearfar.cuda.device_graph import Rows, upload_rows
from nearfar.cuda.sorted_rows import SEGMENT
from nearfar.errors import OptionError, SolverError, VariantUnavailable
from nearfar.graph.dtypes import unreached_value
from nearfar.graph.slots import Slot
from nearfar.options import DeltaOptions
from nearfar.registry import Answer
from nearfar.system.devices import runtime, several
from nearfar.system.devices.structs import filled, struct_dtype

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    from nearfar.graph.graph import Graph
    from nearfar.registry import Request, Workspace

__all__ = ["Partitioned", "PartitionedOptions", "bounds", "solve_partitioned", "splits"]

_KERNELS = "algorithms/near_far/partitioned.cuh"
_PARTITIONED: Slot[Partitioned] = Slot("partitioned over devices")
_LINE = 32  # vertices that travel together: a warp's
_THREADS = 256  # kSortThreads of sort_rows.cuh, too
_MORE_DEVICES = "give more devices (devices='all')"
_STEPS = 2  # launched before the host looks whether anything waits
_WIDTH = 8.0  # delta over mean weight / mean degree
_MOST_PARTS = 16  # pointers in struct Others
_PULL = 0.3  # then a twentieth of a Kronecker graph's edges is with the vertices that are left


@dataclass(frozen=True, slots=True)
class PartitionedOptions(DeltaOptions):
    """Options of near-far over several devices.

    Parameters
    ----------
    delta : float or None
        How far beyond the least waiting distance vertices are relaxed, in units of the weights.
        None means 8 * mean weight / mean degree.
    devices : "all", int, list of int or None
        Devices that share the graph; None is the current one.
    parts : int or None
        Parts that the graph is cut into, dealt out to the devices in turn; None is one per device.
    pull : float
        Share of the vertices below which those that are not final take their distances from their
        neighbours, on undirected graphs; 0 is never.
    """

    devices: Any = "all"
    parts: int | None = None
    pull: float = _PULL

    def __post_init__(self) -> None:
        DeltaOptions.__post_init__(self)
        if self.parts is not None and not 1 <= self.parts <= _MOST_PARTS:
            raise OptionError(f"parts is {self.parts}: give 1 to {_MOST_PARTS}, or None")
        if not 0 <= self.pull <= 1:
            raise OptionError(f"pull is {self.pull}: give a share from 0 to 1")


def splits(graph: Graph, _: Request) -> Literal[True] | str:
    """Whether the vertices can be cut: their ids must fit 32 bits."""
    if graph.n_vertices > 2**31 - 2**16:
        return f"{graph.n_vertices:,} vertices do not fit its 32-bit ids"
    return True


def bounds(indptr: NDArray[Any], parts: int) -> list[int]:
    """Where to cut the vertices, in whole lines, so that parts have about as many edges.

    Returns
    -------
    list of int
        ``parts + 1`` of them, ascending, from 0 to n; a part may be empty.
    """
    n, m = len(indptr) - 1, int(indptr[-1])
    wanted = [m * k // parts for k in range(1, parts)]
    cuts = [int(np.searchsorted(indptr, edges)) // _LINE * _LINE for edges in wanted]
    return [0, *np.minimum(cuts, n).tolist(), n]


class Partitioned:
    """A graph over devices with the buffers and prepared launches of its solves.

    Parameters
    ----------
    rows : sequence of Rows
        Ascending, without gaps, from vertex 0 to ``n - 1``; bounds inside are multiples of 32.
        Their edges are sorted in place.
    n : int
        Vertices of the whole graph.
    symmetric : bool
        Whether both directions of every edge are there.

    Raises
    ------
    OutOfMemoryError
        Before the buffers of a device are allocated.
    VariantUnavailable
        If a device cannot read another's memory.
    """

    def __init__(self, rows: Sequence[Rows], n: int, symmetric: bool) -> None:
        self.rows, self.n, self.symmetric = list(rows), n, symmetric
        self.dtype = rows[0].graph.weight_dtype
        for one in {row.device for row in rows}:
            for other in {row.device for row in rows}:
                with runtime.on_device(one):
                    if not several.open_way(one, other):
                        raise VariantUnavailable(
                            f"device {one} cannot read the memory of device {other}: give devices "
                            "that can (`nvidia-smi topo -p2p r` lists them)"
                        )
        self._buffers = [self._make_buffers(row) for row in rows]
        self._parts = [self._describe(own) for own in range(len(rows))]
        self._launches = [self._prepare(own) for own in range(len(rows))]
        self._each("owners")

    def _make_buffers(self, row: Rows) -> dict[str, Any]:
        n, own = self.n, row.last - row.first
        lines, size = -(-n // _LINE), self.dtype.itemsize
        with runtime.on_device(row.device):
            cp = runtime.cupy()
            runtime.require_memory(
                (n + own) * size + 2 * lines + 4 * own + max(8 * own, n), _MORE_DEVICES
            )
            self._sort(row)
            each = (cp.diff(row.graph.offsets) + (SEGMENT - 1)) // SEGMENT
            pieces = cp.zeros(own + 1, dtype=np.uint32)
            pieces[1:] = cp.cumsum(each)
            del each
            count = int(pieces[-1])
            runtime.require_memory(count * (10 + size), _MORE_DEVICES)
            state = struct_dtype(_KERNELS, "State", row.graph.macros)
            return {
                "count": count,
                "known": cp.empty(n, dtype=self.dtype),
                "relaxed": cp.empty(own, dtype=self.dtype),
                "dirty": cp.empty(2 * lines, dtype=np.uint8),
                "pieces": pieces,
                "owner": cp.empty(count, dtype=np.uint32),
                "cursor": cp.empty(count, dtype=np.uint16),
                "due": cp.empty(count, dtype=self.dtype),
                "chosen": cp.empty(count, dtype=np.uint32),
                "states": cp.empty(3 * state.itemsize, dtype=np.uint8),
                "totals": cp.zeros(2, dtype=np.uint64),
            }

    def _sort(self, row: Rows) -> None:
        graph = row.graph
        if not (graph.weighted and graph.m):
            return
        entered = runtime.cupy().empty(self.n, dtype=np.uint8)  # it says more than is asked here
        program = runtime.program("cuda/sort_rows.cuh", {**graph.macros, "SEGMENT": SEGMENT})
        counts = np.int64(graph.n), np.int64(graph.m)
        grid = -(-graph.m // SEGMENT)
        kernel = program.kernel("sort_rows")
        kernel(grid, _THREADS, (graph.offsets, graph.edges, *counts, entered))

    def _describe(self, own: int) -> NDArray[Any]:
        row = self.rows[own]
        return filled(
            struct_dtype(_KERNELS, "Part", row.graph.macros),
            n=self.n,
            first=row.first,
            last=row.last,
            offsets=row.graph.offsets,
            edges=row.graph.edges,
            **self._buffers[own],
        )

    def _prepare(self, own: int) -> dict[str, runtime.Launch]:
        row, part = self.rows[own], self._parts[own]
        macros = row.graph.macros
        spare = [None] * (_MOST_PARTS - len(self.rows))
        others = filled(
            struct_dtype(_KERNELS, "Others", macros),
            **{
                name: [*(each[name] for each in self._buffers), *spare]
                for name in ("known", "dirty", "states")
            },
        )
        number, devices, me = np.int64(0), np.int32(len(self.rows)), np.int32(own)
        value = self.dtype.type(1)
        with runtime.on_device(row.device):
            cuts = runtime.upload(np.array([row.first for row in self.rows], dtype=np.int64))
            # A parameter that changes from launch to launch comes second or last.
            arguments: dict[str, tuple[Any, ...]] = {
                "owners": (part,),
                "begin": (part, number),
                "relax": (part, number),
                "fetch": (part, others, number, devices, me),
                "choose": (part, others, number, devices, value),
                "next": (part, number),
                "pull": (part, number, value),
                "learn": (part, others, number, devices, me, cuts),
            }
            program = runtime.program(_KERNELS, macros)
            found = {}
            for name, given in arguments.items():
                kernel = program.kernel(f"partitioned_{name}")
                blocks = kernel.resident_blocks(_THREADS)
                found[name] = runtime.Launch(kernel, blocks, _THREADS, given)
            return found

    def _each(self, name: str, **values: tuple[int, Any]) -> None:
        """Launch a kernel on every device; ``values`` are parameters: place and value."""
        for row, launches in zip(self.rows, self._launches, strict=True):
            for place, value in values.values():
                launches[name].set(place, value)
            with runtime.on_device(row.device):
                launches[name]()

    def solve(
        self, source: int, delta: float, limit: float | None = None, pull: float = _PULL
    ) -> dict[str, Any]:
        """Find all distances from a source; they stay with their owners.

        Parameters
        ----------
        source : int
        delta : float
            In units of the weights.
        limit : float or None
            Vertices farther than this may be left with a greater distance, or unreached.
        pull : float
            As in :class:`PartitionedOptions`.

        Returns
        -------
        dict
            ``iterations``, ``pull_rounds``, ``edges_relaxed`` (those of pull are not counted) and
            ``lines_fetched``, the lines of 32 distances that owners read from other devices.

        Raises
        ------
        SolverError
            If it takes more steps than a right device can.
        """
        wide = delta if self.dtype.kind == "f" else max(1, min(delta, unreached_value(self.dtype)))
        delta = self.dtype.type(wide)
        self._each("begin", source=(1, np.int64(source)))
        events = []
        for row in self.rows:
            with runtime.on_device(row.device):
                events.append(runtime.cupy().cuda.Event(disable_timing=True))
        step, rounds = 0, 0
        while True:
            for _ in range(_STEPS):
                self._step(step, delta, events)
                step += 1
            states = self._states(step - 1)
            least = min(state["least"] for state in states)
            if least == unreached_value(self.dtype) or (limit is not None and float(least) > limit):
                break
            if self.symmetric and sum(int(state["open"]) for state in states) < pull * self.n:
                rounds = self._pull(least)
                break
            if step > 8 * self.n + 64:  # each vertex comes to be the least that waits, and goes
                raise SolverError(
                    f"{step} steps for {self.n} vertices: check the device with `nearfar doctor`"
                )
        totals = np.sum([runtime.download(each["totals"]) for each in self._buffers], axis=0)
        return {
            "iterations": step,
            "pull_rounds": rounds,
            "edges_relaxed": int(totals[0]),
            "lines_fetched": int(totals[1]),
            "delta": float(wide),
        }

    def _step(self, step: int, delta: Any, events: list[Any]) -> None:
        number = np.int64(step)
        for row, launches, event in zip(self.rows, self._launches, events, strict=True):
            launches["relax"].set(1, number)
            with runtime.on_device(row.device):
                launches["relax"]()
                event.record()
        for row, launches in zip(self.rows, self._launches, strict=True):
            launches["fetch"].set(2, number)
            launches["choose"].set(2, number)
            launches["choose"].set(4, delta)
            with runtime.on_device(row.device):
                stream = runtime.cupy().cuda.get_current_stream()
                for other, event in zip(self.rows, events, strict=True):
                    if other.device != row.device:
                        stream.wait_event(event)
                launches["fetch"]()
                launches["choose"]()

    def _pull(self, final_below: Any) -> int:
        """End the search from the vertices that are left; the number of rounds that it took."""
        self._wait()
        self._each("learn", round=(2, np.int64(0)))
        rounds, changed = 0, True
        while changed:
            rounds += 1
            number = np.int64(rounds)
            self._each("next", round=(1, number))
            self._each("pull", round=(1, number), below=(2, final_below))
            self._wait()
            self._each("learn", round=(2, number))
            changed = any(int(state["chosen"]) for state in self._states(rounds))
        return rounds

    def _wait(self) -> None:
        for device in {row.device for row in self.rows}:
            with runtime.on_device(device):
                runtime.synchronize()

    def _states(self, step: int) -> list[Any]:
        found = []
        for row, buffers in zip(self.rows, self._buffers, strict=True):
            kind = struct_dtype(_KERNELS, "State", row.graph.macros)
            with runtime.on_device(row.device):
                found.append(runtime.download(buffers["states"]).view(kind)[step % 3])
        return found

    @property
    def known(self) -> list[Any]:
        """Per part what it knows of every vertex: distances of its own ones, bounds of others."""
        return [each["known"] for each in self._buffers]

    def distances(self) -> Any:
        """Distances of the last solve in one array of the current device, shape (n,)."""
        home = runtime.device().ordinal
        out = runtime.cupy().empty(self.n, dtype=self.dtype)
        self._gather(out, home)
        return out

    def _gather(self, out: Any, home: int) -> None:
        for row, buffers in zip(self.rows, self._buffers, strict=True):
            if row.last > row.first:
                with runtime.on_device(row.device):
                    own = slice(row.first, row.last)
                    several.copy_to(out[own], home, buffers["known"][own])
                    runtime.synchronize()

    def prove(self, source: int) -> int:
        """Check the distances of the last solve where they lie, for weights greater than 0.

        Every device gets all distances, looks at its edges for one that would lower a distance, and
        for those that give a distance exactly.

        Returns
        -------
        int
            Edges that would lower a distance, and reached vertices other than the source that no
            edge gives: 0 if the distances are shortest.
        """
        wrong, given = 0, []
        for row, known in zip(self.rows, self.known, strict=True):
            with runtime.on_device(row.device):
                self._gather(known, row.device)
        for own, row in enumerate(self.rows):
            with runtime.on_device(row.device):
                cp = runtime.cupy()
                tight, count = cp.zeros(self.n, dtype=np.uint8), cp.zeros(1, dtype=np.uint64)
                kernel = runtime.program(_KERNELS, row.graph.macros).kernel("partitioned_prove")
                grid = kernel.resident_blocks(_THREADS)
                kernel(grid, _THREADS, (self._parts[own], tight, count))
                wrong += int(count.get()[0])
                given.append(tight)
        for row, known in zip(self.rows, self.known, strict=True):
            own_ones = slice(row.first, row.last)
            with runtime.on_device(row.device):
                without = known[own_ones] < unreached_value(self.dtype)
                for tight in given:
                    without &= several.here(tight[own_ones]) == 0
                wrong += int(without.sum())
                if row.first <= source < row.last:
                    wrong -= int(without[source - row.first])
        return wrong


def solve_partitioned(
    graph: Graph, source: int, options: PartitionedOptions, workspace: Workspace
) -> Answer:
    """Cut the graph on first use, solve, gather the distances on the current device."""
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
    delta = options.delta or _WIDTH * graph.mean_weight / max(graph.mean_degree, 1.0)
    stats = parts.solve(source, delta or 1.0, workspace.limit, options.pull)
    return Answer(parts.distances(), {**stats, "devices": len(set(owners)), "parts": count})
