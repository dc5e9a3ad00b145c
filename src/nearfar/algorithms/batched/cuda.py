"""Many sources on CUDA: a thread block per source in two layouts, or sources in lanes of warps."""

from __future__ import annotations

import math
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from nearfar.algorithms.batched.slots import Values
from nearfar.algorithms.batched.team import NONE, Batch, BlockOptions, Search, solve_batch
from nearfar.cuda.device_rows import Rows
from nearfar.graph.dtypes import limit_in_dtype
from nearfar.graph.facts import Facts
from nearfar.graph.graph import Graph
from nearfar.options import NoOptions
from nearfar.registry import Answer, Estimate, Request, Workspace, variant
from nearfar.system.devices import runtime

BATCH = frozenset({"batch", "all_pairs"})
MOST_ENTRIES = 8192  # entries per queue in shared memory
# Shared layout: blocks per multiprocessor at most, threads per block at least.
MOST_BLOCKS, LEAST_THREADS = 8, 128
_GLOBAL_THREADS = 512  # threads per block if its distances are in global memory
RESIDENT = 1024  # threads per multiprocessor that 64 registers per thread permit
LISTS_FROM = 20_000  # vertices; smaller graphs have too few words to share
_SPARSE = 4.0  # edges per vertex below which frontiers remain thin
_LIST = 8  # bytes of lists per thread, if lists are used
_SHARED_STATIC = 1024  # upper bound on a block's static shared memory


def _bitmaps(n: int, count: int) -> int:
    return count * -(-n // 32) * 4


def _shared(n: int, bits: int) -> int:
    """Return the dynamic shared memory of a block without lists: slots, then three bitmaps."""
    return -(-n * bits // 32) * 4 + _bitmaps(n, 3)


def _room(here: runtime.Device, lists: bool = False) -> int:
    """Return the shared memory for slots and bitmaps if a multiprocessor runs a single block."""
    return here.shared_per_block - _SHARED_STATIC - (_LIST * RESIDENT if lists else 0)


def _blocks(here: runtime.Device, n: int, bits: int, lists: bool) -> int:
    """Return the number of blocks per multiprocessor."""
    room = _room(here, lists) + _SHARED_STATIC
    return max(1, min(MOST_BLOCKS, room // (_shared(n, bits) + _SHARED_STATIC)))


def _fits_shared(graph: Graph, request: Request) -> Literal[True] | str:
    bits = 16 if graph.weight_dtype.kind == "i" else 8 * graph.weight_dtype.itemsize
    needed, room = _shared(graph.n_vertices, bits), _room(runtime.device())
    if needed > room:
        return f"needs {needed} bytes of shared memory per block, of {room}: too many vertices"
    return _fits_narrow(graph, request)


def _fits_narrow(graph: Graph, request: Request) -> Literal[True] | str:
    if max(graph.n_vertices, graph.n_edges) > 2**31 - 2**16:
        return "needs 32-bit vertices and edge positions"
    return True


_FIXED = 4e-5  # seconds per batch in addition to a launch, its rows and the transfers


def _in_blocks(facts: Facts, request: Request, edge: float, vertex: float, times: float) -> float:
    """Estimate one block per source, limited by throughput or by the steps of a single block."""
    k, n, m = request.n_sources, facts.n, facts.m
    alone = times * (2e-5 + (n + m) * 4e-9)
    each = max(m * edge + n * vertex, alone / (2 * max(min(k, 132), 1)))
    steps = facts.hops * 1.6e-5 * max(k / 264, 1.0)
    return _FIXED + max(k * each, steps)


def _in_shared(facts: Facts, request: Request) -> Estimate:
    seconds = _in_blocks(facts, request, 1.6e-11, 2e-11, 1)
    least = 3e-5 + (facts.n + facts.m) * 6e-9  # with few sources
    return Estimate(max(seconds, least), "a thread block per source, all in shared memory")


def _in_global(facts: Facts, request: Request) -> Estimate:
    # With uneven weights edges are relaxed many times, as measured on six graphs of the zoo.
    again = max(1.0, min(facts.weight_spread, 64.0) ** 0.75)
    seconds = _in_blocks(facts, request, 1.5e-10 * again, 5e-11, 6 * again)
    return Estimate(seconds, "a thread block per source, queue in shared memory")


def _in_lanes(facts: Facts, request: Request) -> Estimate:
    # Fitted to 14 graphs of the zoo; with more hops edges are relaxed again in more rounds.
    together, again = 1 << _log_lanes(request.n_sources), max(2.0, facts.hops / 5)
    work = (facts.m * 2e-11 + facts.n * 1.9e-10) * (together + 4) * again
    seconds = -(-request.n_sources // 32) * (work + (3 * facts.hops + 4) * 1.2e-5)
    words = f"{together} sources in the lanes of each warp, about {facts.hops:,.0f} hops"
    return Estimate(_FIXED + seconds, words)


@variant(
    "block_per_source",
    device="cuda",
    problems=BATCH,
    options=BlockOptions,
    requires=_fits_shared,
    summary="a thread block solves one source with everything in shared memory",
    paper="davidson-2014",
    section="V.C, one block per source (beyond the paper)",
    complexity="O(k n m) at worst, a few scans per edge in practice",
    cost=_in_shared,
    devices={"device"},
)
def block_per_source(
    graph: Graph, sources: NDArray[np.int64], options: BlockOptions, workspace: Workspace
) -> Answer:
    """Run near-far in shared memory, one block per source; integers in 16 bits first."""
    rows = Rows(graph, sources, workspace, reduces=True)
    if rows.nothing is not None:
        return rows.nothing
    search = _SharedSearch(graph, options, workspace, rows)
    if not search.fits:
        return block_per_source_global(graph, sources, options, workspace)
    return solve_batch(search, slot_bits=search.bits)


class _SharedSearch(Search):
    """Shared layout of one batch: use of shared memory by its blocks, and launches."""

    def __init__(
        self, graph: Graph, options: BlockOptions, workspace: Workspace, rows: Rows
    ) -> None:
        super().__init__(graph, options, workspace, rows)
        self.here = runtime.device()
        n, self.full = rows.n, 8 * graph.weight_dtype.itemsize
        lists = options.lists
        if lists is None:
            lists = graph.weight_dtype == np.int32 and n >= LISTS_FROM
        least = 16 if self.integer else self.full
        self.lists = lists and _shared(n, least) <= _room(self.here, lists=True)
        self.room = _room(self.here, self.lists)
        # initial bits of a distance in shared memory
        self.bits = self._first_bits() if self.integer else self.full
        # whether the shared memory of a multiprocessor suffices for a block
        self.fits = _shared(n, self.bits) <= self.room

    def _first_bits(self) -> int:
        """Return the bits of an integer distance in the first launch: the option's, if they fit."""
        n = self.rows.n
        narrow = 2 * int(self.graph.max_weight) < 2**16
        same = _blocks(self.here, n, 32, self.lists) == _blocks(self.here, n, 16, self.lists)
        if narrow and same and _shared(n, 32) <= self.room:
            narrow = False  # wider slots have an atomic minimum and are never repeated
        bits = self.options.slot_bits or (16 if narrow else 32)
        fitting = (b for b in (bits, 32, 16) if b <= self.full and _shared(n, b) <= self.room)
        return next(fitting, 16)

    def solve(self, batch: Batch) -> NDArray[np.int64]:
        """Solve the rows of the sources; return those that were too wide and repeated."""
        sources, places, out = batch.sources, batch.places, batch.out
        overflow = self._launch(batch, self.bits)
        batch.launched()
        lost: NDArray[np.int64] = NONE if overflow is None else np.flatnonzero(overflow.get())
        if not len(lost):
            return NONE
        where = lost if places is None else places[lost]
        if _shared(self.rows.n, self.full) <= self.room:
            wide = Batch(sources[lost], where, out, figures=batch.figures)
            self._launch(wide, self.full)
        else:
            cp = runtime.cupy()
            plain = Workspace(limit=self.workspace.limit, columns=self.workspace.columns)
            fixed = block_per_source_global(self.graph, sources[lost], self.options, plain)
            out[cp.asarray(where)] = cp.asarray(fixed.distances)
            self.rows.figures = None
        return lost

    def _launch(self, batch: Batch, bits: int) -> Any:
        """Launch once; return one flag per source on the device, set for rows that did not fit."""
        cp = runtime.cupy()
        sources = batch.sources
        rows = self.rows
        values = Values(self.graph, self.workspace.limit, self.delta, bits)
        blocks_each = _blocks(self.here, rows.n, bits, self.lists)
        threads = self.options.block_threads or max(
            LEAST_THREADS, 2 ** int(math.log2(RESIDENT // blocks_each))
        )
        shared = _shared(rows.n, bits) + (_LIST * threads if self.lists else 0)
        macros = {
            **rows.device.macros,
            "SLOT_BITS": bits,
            "FLOATING": int(not self.integer),
            "BLOCK_THREADS": threads,
            "BLOCKS_EACH": max(1, min(blocks_each, RESIDENT // threads)),
            "THICK_WORDS": 16 if self.graph.mean_degree < _SPARSE else 8,
            "LISTS": int(self.lists),
            "FIGURES": int(batch.figures is not None),
        }
        program = runtime.program("algorithms/batched/block_per_source.cuh", macros)
        kernel = program.kernel("block_per_source")
        k = len(sources)
        check = bits < self.full and not values.limited
        overflow = cp.zeros(k if check else 1, dtype=np.int32)
        counter = cp.zeros(1, dtype=np.int32)
        arguments = {
            **_common(batch, rows, self.edges, values),
            "heaviest": values.heaviest,
            "check": np.int32(check),
            "counter": counter,
            "overflow": overflow,
        }
        blocks = min(max(kernel.resident_blocks(threads, shared), 1), k)
        kernel(blocks, threads, arguments, shared=shared)
        return overflow if check else None


def _common(batch: Batch, rows: Rows, edges: Any, values: Values) -> dict[str, Any]:
    """Return the arguments that both kernels with a block per source take."""
    sources, places = batch.on_device()
    return {
        "offsets": rows.device.offsets,
        "edges": edges,
        "sources": sources,
        "places": places,
        "first": np.int64(batch.sources[0]),
        "rows": np.int64(len(batch.sources)),
        "columns": rows.columns,
        "n_columns": np.int64(rows.width),
        "out": batch.out,
        "n": np.int32(rows.n),
        "delta": values.delta,
        "cap": values.cap,
        "stats": rows.counters,
        "told": batch.finished,
        "figures": batch.figures,
        "all_rows": np.int64(len(rows.sources)),
    }


class _GlobalSearch(Search):
    """Global layout of one batch: blocks per multiprocessor, and launches."""

    def __init__(
        self, graph: Graph, options: BlockOptions, workspace: Workspace, rows: Rows
    ) -> None:
        super().__init__(graph, options, workspace, rows)
        n, size = rows.n, graph.weight_dtype.itemsize
        self._values = Values(graph, workspace.limit, self.delta, 8 * size)
        self._threads = options.block_threads or _GLOBAL_THREADS
        entry = 4 * size  # bytes of both queues per entry
        room = runtime.device().shared_per_block - 2 * _SHARED_STATIC
        self._bitmap = _bitmaps(n, 1)
        self._far_shared = self._bitmap <= room // 2
        far = self._bitmap * self._far_shared
        blocks_each = 2 if 2 * (far + entry * 2048 + 2 * _SHARED_STATIC) <= room else 1
        blocks_each = max(1, min(blocks_each, 2048 // self._threads))
        capacity = (room // blocks_each - far - _SHARED_STATIC) // entry
        self._capacity = max(min(64, MOST_ENTRIES), min(capacity, MOST_ENTRIES))
        self._shared = entry * self._capacity + far
        macros = {
            **rows.device.macros,
            "SLOT_BITS": 8 * size,
            "FLOATING": int(self._values.floating),
            "BLOCK_THREADS": self._threads,
            "BLOCKS_EACH": blocks_each,
            "FIGURES": int(rows.figures is not None),
        }
        program = runtime.program("algorithms/batched/block_per_source_global.cuh", macros)
        self._kernel = program.kernel("block_per_source_global")
        resident = self._kernel.resident_blocks(self._threads, self._shared)
        self.blocks = min(max(resident, 1), len(rows.sources))
        self.scratch = self.blocks * (size * n + self._bitmap * (not self._far_shared))
        self._memory: tuple[Any, Any] | None = None

    def solve(self, batch: Batch) -> NDArray[np.int64]:
        """Solve the rows of the sources; none is ever repeated."""
        cp = runtime.cupy()
        sources = batch.sources
        rows, values = self.rows, self._values
        if self._memory is None:
            words = 0 if self._far_shared else self.blocks * self._bitmap // 4
            self._memory = (
                cp.empty(self.blocks * rows.n, dtype=values.scalar),
                cp.empty(words, dtype=np.uint32) if words else None,
            )
        scratch, far = self._memory
        arguments = {
            **_common(batch, rows, self.edges, values),
            "scratch": scratch,
            "far_global": far,
            "capacity": np.int32(self._capacity),
            "counter": cp.zeros(1, dtype=np.int32),
        }
        blocks = min(self.blocks, len(sources))
        self._kernel(blocks, self._threads, arguments, shared=self._shared)
        batch.launched()
        return NONE


@variant(
    "block_per_source_global",
    device="cuda",
    problems=BATCH,
    options=BlockOptions,
    requires=_fits_narrow,
    summary="a thread block solves one source, distances in global memory, queue in shared",
    paper="davidson-2014",
    section="V.C, one block per source (beyond the paper)",
    complexity="O(k n m) at worst, a few scans per edge in practice",
    cost=_in_global,
    devices={"device"},
)
def block_per_source_global(
    graph: Graph, sources: NDArray[np.int64], options: BlockOptions, workspace: Workspace
) -> Answer:
    """Run near-far in global memory with a compact queue in shared memory, for large graphs."""
    rows = Rows(graph, sources, workspace, reduces=True)
    if rows.nothing is not None:
        return rows.nothing
    search = _GlobalSearch(graph, options, workspace, rows)
    return solve_batch(search, blocks=search.blocks)


def _log_lanes(sources: int) -> int:
    """Return the logarithm of the number of lanes for some sources, at most 5."""
    return min(5, (sources - 1).bit_length())


def _long_rows(mean_degree: float) -> tuple[int, int]:
    """Return the edges from which all warps share a row, and the logarithm of those of a piece.

    One warp takes long for 100 edges, but if most rows are long, there are enough for all warps.
    """
    if mean_degree < 32:
        return (32, 4) if mean_degree < 16 else (64, 4)
    return 128, 5


@variant(
    "lanes",
    device="cuda",
    problems=BATCH,
    options=NoOptions,
    summary="32 sources in the lanes of each warp: an edge is read once for all of them",
    paper="then-2014",
    section="multi-source traversal with one lane per source",
    complexity="O(k n m / 32)",
    cost=_in_lanes,
)
def lanes(
    graph: Graph, sources: NDArray[np.int64], options: NoOptions, workspace: Workspace
) -> Answer:
    """Run rounds over a queue of vertices with masks of improved lanes; 32 sources per launch."""
    cp = runtime.cupy()
    rows = Rows(graph, sources, workspace)
    if rows.nothing is not None:
        return rows.nothing
    device, n, weight = rows.device, rows.n, graph.weight_dtype
    most = 1 << _log_lanes(len(sources))
    scratch = n * (most * weight.itemsize + 8 + 2 * device.vertex_dtype.itemsize)
    parts = rows.parts(scratch)
    distance = cp.empty(n * most, dtype=weight)
    mask = cp.empty(2 * n, dtype=np.uint32)
    queue = cp.empty(2 * n, dtype=device.vertex_dtype)
    sizes, barrier = cp.empty(5, dtype=np.uint32), cp.empty(1, dtype=np.uint32)
    pieces = None
    long_row, log_piece = _long_rows(graph.mean_degree)
    if graph.max_degree >= long_row:
        most_pieces = (graph.n_edges >> log_piece) + graph.n_edges // long_row
        pieces = cp.empty(3 * most_pieces, dtype=np.uint32)
    program = runtime.program("algorithms/batched/lanes.cuh", device.macros)
    solve, write = program.kernel("lanes"), program.kernel("lanes_rows")
    blocks = min(solve.resident_blocks(256), runtime.device().multiprocessors * 8)
    arguments: dict[str, Any] = {
        "offsets": device.offsets,
        "edges": device.edges,
        "n": np.int64(n),
        "limit": limit_in_dtype(workspace.limit, weight),
        "distance": distance,
        "mask": mask,
        "queue": queue,
        "sizes": sizes,
        "pieces": pieces,
        "long_row": np.int32(long_row),
        "log_piece": np.int32(log_piece),
        "barrier": barrier,
        "stats": rows.counters,
    }
    solved = []
    for first, last in parts:
        out = rows.memory(first, last)
        for row in range(first, last, 32):
            some = sources[row : min(row + 32, last)]
            listed = runtime.upload(some.astype(device.vertex_dtype))
            barrier.fill(0)
            used = {"count": np.int32(len(some)), "log_lanes": np.int32(_log_lanes(len(some)))}
            solve(blocks, 256, {**arguments, **used, "sources": listed}, cooperative=True)
            given = {"distance": distance, "columns": rows.columns, "width": np.int64(rows.width)}
            given |= used
            write(blocks, 256, {**given, "out": out[row - first : row - first + len(some)]})
        solved.append(rows.kept(out))
    rows.timer.stop()
    return rows.answer(solved, lanes=32)
