"""Many sources on CUDA: a thread block per source in two layouts, or sources in lanes of warps."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal

import numpy as np

from nearfar.cuda import runtime
from nearfar.cuda.device_graph import device_graph
from nearfar.errors import OptionError
from nearfar.graph import unreached_value
from nearfar.options import DeltaOptions, NoOptions
from nearfar.registry import Answer, Request, Workspace, variant

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from nearfar.graph import Graph

__all__ = ["BlockOptions", "block_per_source", "block_per_source_global", "lanes"]

BATCH = frozenset({"batch", "all_pairs"})
MOST_ENTRIES = 8192  # of each queue in shared memory
_SHARED_STATIC = 1024  # what a block takes besides its dynamic shared memory, at most


@dataclass(frozen=True, slots=True)
class BlockOptions(DeltaOptions):
    """Options of ``block_per_source@cuda`` and ``block_per_source_global@cuda``.

    Parameters
    ----------
    delta : float or None
        Step of the threshold in units of the weights; None takes twice the mean weight in the
        shared layout and 16 times it in the global one, whose steps cost more than repeated
        work.
    slot_bits : {16, 32} or None
        Bits of a distance in shared memory; None tries 16 for integers (rows that do not fit are
        repeated with 32).
    threads : {128, 256, 512, 1024} or None
        Threads a block; None fills the multiprocessor with as many blocks as their memory allows.
    """

    slot_bits: int | None = None
    threads: int | None = None

    def __post_init__(self) -> None:
        DeltaOptions.__post_init__(self)
        if self.slot_bits not in (None, 16, 32):
            raise OptionError(f"slot_bits is {self.slot_bits!r}: give 16 or 32, or None")
        if self.threads not in (None, 128, 256, 512, 1024):
            raise OptionError(f"threads is {self.threads!r}: give 128, 256, 512 or 1024, or None")


def _bitmaps(n: int, count: int) -> int:
    return count * -(-n // 32) * 4


def _shared(n: int, bits: int) -> int:
    """Dynamic shared memory of a block: slots, then three bitmaps."""
    return -(-n * bits // 32) * 4 + _bitmaps(n, 3)


def _fits_shared(graph: Graph, request: Request) -> Literal[True] | str:
    bits = 16 if graph.weight_dtype.kind == "i" else 32
    needed, room = _shared(graph.n_vertices, bits), runtime.device().shared_per_block
    if needed + _SHARED_STATIC > room:
        return f"{needed} bytes of shared memory a block needed, {room} there: too many vertices"
    return _fits_narrow(graph, request)


def _fits_narrow(graph: Graph, request: Request) -> Literal[True] | str:
    if max(graph.n_vertices, graph.n_edges) > 2**31 - 2**16:
        return "needs 32-bit vertices and edge positions"
    return True


class _Values:
    """Delta, cap and heaviest weight as the kernels' 32-bit slots have them."""

    def __init__(self, graph: Graph, limit: Any, delta: float, bits: int) -> None:
        self.floating = graph.weight_dtype.kind == "f"
        if self.floating:
            top = np.float32(np.inf)
            if limit is not None and limit < np.inf:
                top = np.nextafter(np.float32(limit), top) if limit >= 0 else np.float32(0)
            self.cap = int(np.float32(top).view(np.uint32))
            self.delta = int(np.float32(delta).view(np.uint32))
            self.heaviest = 0
            self.limited = True  # floats never need the check for cut-off paths
            return
        full = 2**16 - 1 if bits == 16 else 2**31 - 1
        asked = full if limit is None else max(int(limit) + 1, 0)
        self.cap, self.limited = min(full, asked), asked <= full and limit is not None
        self.delta = max(1, min(round(delta), 2**31 - 1))
        self.heaviest = min(int(graph.max_weight), 2**31 - 1)


class _Rows:
    """Answer rows on the device, in as many parts as its memory asks for."""

    def __init__(self, graph: Graph, sources: NDArray[np.int64], workspace: Workspace) -> None:
        self.n = graph.n_vertices
        self.sources, self.columns = sources, workspace.columns
        self.width = self.n if self.columns is None else len(self.columns)
        self.dtype, self.given = graph.weight_dtype, workspace.out

    def parts(self, scratch: int) -> list[tuple[int, int]]:
        """Ranges of rows whose answers fit beside the scratch memory."""
        free, _ = runtime.memory()
        row = max(self.width * self.dtype.itemsize + 16, 1)
        runtime.require_memory(scratch + row)
        each = max(1, int(0.9 * (free - scratch) // row))
        k = len(self.sources)
        return [(first, min(first + each, k)) for first in range(0, max(k, 1), each)]

    def gather(self, solved: list[Any]) -> Any:
        """One array: on the device if it was one part, else on the host."""
        if len(solved) == 1:
            return solved[0]
        shape = (len(self.sources), self.width)
        fits = self.given is not None and self.given.shape == shape
        out = self.given if fits else np.empty(shape, self.dtype)
        first = 0
        for part in solved:
            out[first : first + len(part)] = part
            first += len(part)
        return out


def _stats(counters: Any, timer: runtime.Timer, **more: Any) -> dict[str, Any]:
    edges, steps, vertices = (int(x) for x in counters.get()[:3])
    return {
        "iterations": steps,
        "edges_relaxed": edges,
        "vertices_processed": vertices,
        "device_seconds": timer.seconds,
        **more,
    }


@variant(
    "block_per_source",
    device="cuda",
    problems=BATCH,
    options=BlockOptions,
    requires=_fits_shared,
    dtypes={"int32", "float32"},
    summary="a thread block solves one source with everything in shared memory",
    paper="davidson-2014",
    section="V.C, one block a source (beyond the paper)",
    complexity="O(k n m) at worst, a few looks an edge in practice",
)
def block_per_source(
    graph: Graph, sources: NDArray[np.int64], options: BlockOptions, workspace: Workspace
) -> Answer:
    """Near-far in shared memory, block by block; 16-bit distances first for integers."""
    cp = runtime.cupy()
    device = device_graph(graph)
    here = runtime.device()
    n = device.n
    rows = _Rows(graph, sources, workspace)
    if n == 0 or len(sources) == 0:
        return Answer(np.empty((len(sources), rows.width), graph.weight_dtype), {"iterations": 0})
    delta = options.delta if options.delta is not None else 2.0 * graph.mean_weight
    room = here.shared_per_block - _SHARED_STATIC
    integer = graph.weight_dtype.kind == "i"
    narrow = integer and options.slot_bits != 32 and 2 * int(graph.max_weight) < 2**16
    wide_fits = _shared(n, 32) <= room
    bits = 16 if narrow else 32
    if bits == 32 and not wide_fits:
        return block_per_source_global(graph, sources, options, workspace)
    counters = cp.zeros(4, dtype=np.uint64)
    columns = None if rows.columns is None else cp.asarray(rows.columns)
    timer = runtime.Timer().start()

    def launch(chosen: NDArray[np.int64], bits: int, out: Any) -> Any:
        values = _Values(graph, workspace.limit, delta, bits)
        shared = _shared(n, bits)
        blocks_each = max(1, min(8, (here.shared_per_block) // (shared + _SHARED_STATIC)))
        threads = options.threads or max(128, min(1024, 2 ** int(math.log2(2048 // blocks_each))))
        blocks_each = max(1, min(blocks_each, 1024 // threads))
        program = runtime.program(
            "algorithms/batched/block_per_source.cuh",
            {
                **device.macros,
                "SLOT_BITS": bits,
                "FLOATING": int(not integer),
                "BLOCK_THREADS": threads,
                "BLOCKS_EACH": blocks_each,
            },
        )
        kernel = program.kernel("block_per_source")
        kernel.allow_shared(shared)
        k = len(chosen)
        check = bits == 16 and not values.limited
        overflow = cp.zeros(k if check else 1, dtype=np.int32)
        counter = cp.zeros(1, dtype=np.int32)
        first = int(chosen[0])
        in_order = bool((chosen == np.arange(first, first + k)).all())
        listed = None if in_order else cp.asarray(chosen)
        blocks = min(max(kernel.resident_blocks(threads, shared), 1), k)
        kernel(
            blocks,
            threads,
            (
                *(device.offsets, device.edges, listed, np.int64(first), np.int64(k)),
                *(columns, np.int64(rows.width), out, np.int32(n), np.uint32(values.delta)),
                *(np.uint32(values.cap), np.uint32(values.heaviest), np.int32(check)),
                *(counter, overflow, counters),
            ),
            shared=shared,
        )
        return overflow if check else None

    solved, repeated = [], 0
    for first, last in rows.parts(64 * 1024):
        chosen = sources[first:last]
        out = cp.empty((last - first, rows.width), dtype=graph.weight_dtype)
        overflow = launch(chosen, bits, out)
        lost: Any = [] if overflow is None else np.flatnonzero(overflow.get())
        if len(lost):
            repeated += len(lost)
            again = chosen[lost]
            if wide_fits:
                fixed = cp.empty((len(lost), rows.width), dtype=graph.weight_dtype)
                launch(again, 32, fixed)
            else:
                some = Workspace(limit=workspace.limit, columns=workspace.columns)
                fixed = block_per_source_global(graph, again, options, some).distances
            out[cp.asarray(lost)] = cp.asarray(fixed)
        solved.append(out if len(sources) == last - first else out.get())
    timer.stop()
    stats = _stats(counters, timer, delta=delta, slot_bits=bits, repeated_rows=repeated)
    return Answer(rows.gather(solved), stats)


@variant(
    "block_per_source_global",
    device="cuda",
    problems=BATCH,
    options=BlockOptions,
    requires=_fits_narrow,
    dtypes={"int32", "float32"},
    summary="a thread block solves one source, distances in global memory, queue in shared",
    paper="davidson-2014",
    section="V.C, one block a source (beyond the paper)",
    complexity="O(k n m) at worst, a few looks an edge in practice",
)
def block_per_source_global(
    graph: Graph, sources: NDArray[np.int64], options: BlockOptions, workspace: Workspace
) -> Answer:
    """Near-far with a compact queue in shared memory; for graphs beyond shared memory."""
    cp = runtime.cupy()
    device = device_graph(graph)
    here = runtime.device()
    n = device.n
    rows = _Rows(graph, sources, workspace)
    if n == 0 or len(sources) == 0:
        return Answer(np.empty((len(sources), rows.width), graph.weight_dtype), {"iterations": 0})
    delta = options.delta if options.delta is not None else 16.0 * graph.mean_weight
    values = _Values(graph, workspace.limit, delta, 32)
    threads = options.threads or 512
    room = here.shared_per_block - 2 * _SHARED_STATIC
    bitmap = _bitmaps(n, 1)
    far_shared = bitmap <= room // 2
    blocks_each = 2 if 2 * (bitmap * far_shared + 16 * 2048 + 2 * _SHARED_STATIC) <= room else 1
    blocks_each = max(1, min(blocks_each, 2048 // threads))
    capacity = (room // blocks_each - bitmap * far_shared - _SHARED_STATIC) // 16
    capacity = max(min(64, MOST_ENTRIES), min(capacity, MOST_ENTRIES))
    shared = 16 * capacity + bitmap * far_shared
    program = runtime.program(
        "algorithms/batched/block_per_source_global.cuh",
        {
            **device.macros,
            "SLOT_BITS": 32,
            "FLOATING": int(values.floating),
            "BLOCK_THREADS": threads,
            "BLOCKS_EACH": blocks_each,
        },
    )
    kernel = program.kernel("block_per_source_global")
    kernel.allow_shared(shared)
    blocks = min(max(kernel.resident_blocks(threads, shared), 1), len(sources))
    scratch_bytes = blocks * (4 * n + (0 if far_shared else bitmap))
    counters = cp.zeros(4, dtype=np.uint64)
    columns = None if rows.columns is None else cp.asarray(rows.columns)
    timer = runtime.Timer().start()
    solved = []
    parts = rows.parts(scratch_bytes)
    scratch = cp.empty(blocks * n, dtype=np.uint32)
    far = None if far_shared else cp.empty(blocks * bitmap // 4, dtype=np.uint32)
    for first, last in parts:
        out = cp.empty((last - first, rows.width), dtype=graph.weight_dtype)
        listed = cp.asarray(sources[first:last])
        counter = cp.zeros(1, dtype=np.int32)
        kernel(
            blocks,
            threads,
            (
                *(device.offsets, device.edges, listed, np.int64(0), np.int64(last - first)),
                *(columns, np.int64(rows.width), out, np.int32(n), np.uint32(values.delta)),
                *(np.uint32(values.cap), scratch, far, np.int32(capacity), counter, counters),
            ),
            shared=shared,
        )
        solved.append(out if len(parts) == 1 else out.get())
    timer.stop()
    return Answer(rows.gather(solved), _stats(counters, timer, delta=delta, blocks=blocks))


@variant(
    "lanes",
    device="cuda",
    problems=BATCH,
    options=NoOptions,
    summary="32 sources in the lanes of each warp: an edge is read once for all of them",
    paper="then-2014",
    section="multi-source traversal with one lane a source",
    complexity="O(k n m / 32)",
)
def lanes(
    graph: Graph, sources: NDArray[np.int64], options: NoOptions, workspace: Workspace
) -> Answer:
    """Rounds over a queue of vertices with masks of improved lanes; 32 sources a launch."""
    cp = runtime.cupy()
    device = device_graph(graph)
    n, weight = device.n, device.weight_dtype
    rows = _Rows(graph, sources, workspace)
    if n == 0 or len(sources) == 0:
        return Answer(np.empty((len(sources), rows.width), weight), {"iterations": 0})
    scratch = n * (32 * weight.itemsize + 8 + 2 * device.vertex_dtype.itemsize)
    parts = rows.parts(scratch)
    distance = cp.empty((n, 32), dtype=weight)
    mask = cp.empty(2 * n, dtype=np.uint32)
    queue = cp.empty(2 * n, dtype=device.vertex_dtype)
    sizes, barrier = cp.empty(4, dtype=np.uint32), cp.empty(1, dtype=np.uint32)
    counters = cp.zeros(4, dtype=np.uint64)
    columns = None if rows.columns is None else cp.asarray(rows.columns)
    program = runtime.program("algorithms/batched/lanes.cuh", device.macros)
    solve, write = program.kernel("lanes"), program.kernel("lanes_rows")
    blocks = min(solve.resident_blocks(256), runtime.device().multiprocessors * 8)
    top = weight.type(unreached_value(weight))
    limit = top
    if workspace.limit is not None and workspace.limit < top:
        limit = weight.type(workspace.limit)
        if weight.kind == "f":
            limit = np.nextafter(limit, top)
    timer = runtime.Timer().start()
    solved = []
    for first, last in parts:
        out = cp.empty((last - first, rows.width), dtype=weight)
        for row in range(first, last, 32):
            some = sources[row : min(row + 32, last)]
            listed = cp.asarray(some.astype(device.vertex_dtype))
            barrier.fill(0)
            solve(
                blocks,
                256,
                (
                    *(device.offsets, device.edges, listed, np.int32(len(some)), np.int64(n)),
                    *(limit, distance, mask, queue, sizes, barrier, counters),
                ),
                cooperative=True,
            )
            arrays = (distance, columns, np.int64(rows.width), np.int32(len(some)))
            write(blocks, 256, (*arrays, out[row - first : row - first + len(some)]))
        solved.append(out if len(parts) == 1 else out.get())
    timer.stop()
    return Answer(rows.gather(solved), _stats(counters, timer, lanes=32))
