"""Betweenness and numbers of paths on CUDA, with a thread block per source.

``breadth_first_shares.cuh`` searches itself; ``tight_shares.cuh`` starts from distances that the
batch methods of :func:`nearfar.distances` computed. Sources are assigned to blocks by their
positions, and each block has its own sums, so a run is reproducible bit for bit on one kind of
device.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any, NamedTuple, TypeVar

import numpy as np
from numpy.typing import NDArray

from nearfar.cuda.device_graph import DeviceGraph, device_graph
from nearfar.errors import DistanceOverflowError, does_not_fit
from nearfar.graph.graph import Graph
from nearfar.graph.saturation import may_saturate, widest
from nearfar.graph.slots import Slot
from nearfar.measures.centrality.folding import core_of
from nearfar.measures.simple import require_device_size
from nearfar.options import Devices, check_limit
from nearfar.solve.many import distances
from nearfar.system.devices import runtime, several
from nearfar.system.devices.structs import filled, struct_dtype
from nearfar.system.progress import Finished

Solved = TypeVar("Solved")

_FILES = {
    False: "measures/centrality/breadth_first_shares.cuh",
    True: "measures/centrality/tight_shares.cuh",
}
TOO_MANY_PATHS, ZERO_CYCLE, SATURATED = 1, 2, 4  # status bits of a source in path_shares.cuh
_THREADS, _BLOCKS_EACH = 512, 2
_SHARED_STATIC = 1024
_EDGES_PER_LAUNCH = 1 << 27  # bounds a launch, so that Ctrl-C interrupts
_WORTH_FOLDING = 1024  # sources; folding takes as long as some hundred searches

#: Edges that enter each vertex, or None if rows hold both directions of every edge.
_ENTERING: Slot[Graph | None] = Slot("entering rows")


class ZeroCycleFrom(Exception):
    """Error for a source that reaches a cycle of weight 0; the caller finds and names the cycle."""

    def __init__(self, source: int) -> None:
        super().__init__(source)
        self.source = source


class _Request(NamedTuple):
    """Request for shares of paths on devices."""

    sources: NDArray[np.int64]  # shape (k,)
    # shape (k,), or None; number of original sources per source; None means one each
    weights: NDArray[np.float64] | None = None
    # shape (n, 2), or None; number of targets at each vertex including those folded onto it, and
    # number of folded ones; None means one target per vertex
    ends: NDArray[np.float64] | None = None
    # limit, edges, endpoints: as for device_shares
    limit: Any = None
    edges: bool = False
    endpoints: bool = False
    forward_only: bool = False  # compute only the numbers of paths
    rows_of: Graph | None = None  # as for device_shares
    # called with the numbers of finished sources and of all sources
    progress: Callable[[float, float], None] | None = None


class _Shape(NamedTuple):
    """Compile-time parameters of a program, and its launches."""

    edges: bool
    threads: int
    blocks_each: int
    shared: int  # bytes of bitmaps in shared memory, 0 if they are in global memory


def device_shares(
    graph: Graph,
    sources: NDArray[np.int64],
    *,
    targets: NDArray[np.int64] | None = None,
    limit: Any = None,
    edges: bool = False,
    endpoints: bool = False,
    devices: Devices = None,
    rows_of: Graph | None = None,
    progress: Callable[[float, float], None] | None = None,
) -> NDArray[np.float64]:
    """Return unscaled sums over the sources, per vertex or per edge."""
    width = graph.n_edges if edges else graph.n_vertices
    if not width or not len(sources):
        return np.zeros(width)

    is_target = np.ones(graph.n_vertices)
    if targets is not None:
        is_target[:] = 0
        is_target[targets] = 1
    plain = limit is None and not edges and not endpoints
    core = None
    if plain and rows_of is None and len(sources) >= _WORTH_FOLDING and _rows_into(graph) is None:
        core = core_of(graph)
    if core is None:
        ends = None if targets is None else np.stack([is_target, np.zeros_like(is_target)], axis=1)
        asked = _Request(
            sources, None, ends, limit, edges, endpoints, rows_of=rows_of, progress=progress
        )
        return in_a_width_that_fits(graph, lambda solved: _shared(solved, asked, devices))
    is_source = np.zeros(graph.n_vertices)
    is_source[sources] = 1
    folded = core.counts(is_source, is_target)
    found = folded.inside
    if len(folded.sources):
        asked = _Request(folded.sources, folded.weights, folded.ends, progress=progress)
        found[core.kept] += _shared(core.graph, asked, devices)
    return found


def _shared(graph: Graph, asked: _Request, devices: Devices) -> NDArray[np.float64]:
    """Return the sums of shares over devices, added in their order."""
    sharing = several.chosen(devices)[: len(asked.sources)]
    totals: dict[int, NDArray[np.float64]] = {}
    finished = Finished(asked.progress, len(asked.sources))

    def work(number: int) -> None:
        part = slice(number, None, len(sharing))
        weights = None if asked.weights is None else asked.weights[part]
        run = _Run(graph, asked)
        run.add(asked.sources[part], weights, finished)
        totals[number] = run.total()

    several.warn_of(several.each_block(sharing, range(len(sharing)), lambda: work))
    found = totals[0]
    for i in range(1, len(sharing)):
        found += totals[i]
    return found


def device_path_counts(
    graph: Graph, source: int, limit: Any = None
) -> tuple[NDArray[np.float64], NDArray[np.int64]]:
    """Return mantissas and exponents of the numbers of shortest paths from one source."""
    asked = _Request(np.array([source], dtype=np.int64), limit=limit, forward_only=True)
    return in_a_width_that_fits(graph, lambda solved: _Run(solved, asked).numbers())


def in_a_width_that_fits(graph: Graph, solve: Callable[[Graph], Solved]) -> Solved:
    """Return the result of ``solve``, after widening the graph to 64 bits if sums may not fit.

    Integers have the same ties in either width, so they are widened first if sums may not fit;
    floats may have other ties, and are widened only after a sum did not fit.
    """
    if graph.is_weighted and graph.weight_dtype == np.int32 and may_saturate(graph):
        return solve(widest(graph))
    try:
        return solve(graph)
    except DistanceOverflowError:
        if widest(graph) is graph:
            raise
    return solve(widest(graph))


def _rows_into(graph: Graph) -> Graph | None:
    return _ENTERING.of(graph, lambda: _entering(graph))


def _entering(graph: Graph) -> Graph | None:
    """Return the reversed graph, or None if every edge is stored both ways with one weight."""
    arrays = graph.indptr, graph.indices, graph.weights
    forth = Graph.from_csr(*arrays, directed=True, copy=False)
    back = forth.transpose()  # rows of a transpose are sorted
    same = bool(np.array_equal(back.indptr, graph.indptr))
    if same:
        by_head = np.lexsort((graph.indices, graph.tails()))
        same = bool(np.array_equal(back.indices, graph.indices[by_head]))
        if same and graph.weights is not None and back.weights is not None:
            same = bool(np.array_equal(back.weights, graph.weights[by_head]))
    return None if same else back


class _Run:
    """Graph on a device, and the sums of its blocks."""

    def __init__(self, graph: Graph, asked: _Request) -> None:
        n, m = graph.n_vertices, graph.n_edges
        require_device_size(graph)
        self.graph, self.n, self.m = graph, n, m
        self.weighted = graph.is_weighted
        self.asked = asked
        self.within = check_limit(asked.limit, graph.weight_dtype)
        self.width = m if asked.edges else n
        self.device: DeviceGraph = device_graph(graph)
        reverse = _rows_into(graph)
        self.symmetric = reverse is None
        self.reverse = self.device if reverse is None else device_graph(reverse)
        self.ends = None if asked.ends is None else runtime.upload(asked.ends)
        other = asked.rows_of
        fits = other is not None and other.weight_dtype == graph.weight_dtype
        self.rows_of: Graph = other if other is not None and fits else graph
        self.sum: Any = None
        self.shape = self._shape()

    # ---- shape and memory ---------------------------------------------------------------------

    def _shape(self) -> _Shape:
        here = runtime.device()
        words = 8 * -(-self.n // 32)
        room = here.shared_per_block + _SHARED_STATIC
        blocks_each = _BLOCKS_EACH
        if self.weighted:
            return _Shape(self.asked.edges, _THREADS, blocks_each, 0)
        while blocks_each > 1 and blocks_each * (words + 2 * _SHARED_STATIC) > room:
            blocks_each -= 1
        fits = words + 2 * _SHARED_STATIC <= room
        return _Shape(self.asked.edges, _THREADS, blocks_each, words if fits else 0)

    def _program(self, scaled: bool) -> Any:
        shape = self.shape
        macros = {
            **self.device.macros,
            "SCALED": int(scaled),
            "EDGES": int(shape.edges),
            "SYMMETRIC": int(self.symmetric),
            "BLOCK_THREADS": shape.threads,
            "BLOCKS_EACH": shape.blocks_each,
        }
        if not self.weighted:
            macros["BITS_SHARED"] = int(shape.shared > 0)
        return macros, runtime.program(_FILES[self.weighted], macros)

    def _bytes_per_block(self, scaled: bool) -> int:
        each = 4 * (2 * self.n + 2) + (16 if scaled else 8) * self.n
        if not self.asked.forward_only:
            each += 8 * self.width
        if self.weighted:
            return each + 8 * self.m + 12 * self.n
        return each + (0 if self.shape.shared else 8 * -(-self.n // 32))

    def _blocks(self, kernel: Any, scaled: bool, count: int) -> int:
        """Return the number of blocks of a launch: the resident ones that fit half of the memory.

        The total memory counts instead of the free memory, so that results do not depend on other
        programs.
        """
        here = runtime.device()
        resident = kernel.resident_blocks(self.shape.threads, self.shape.shared)
        fitting = here.memory // 2 // self._bytes_per_block(scaled)
        return int(max(1, min(resident, fitting, count)))

    # ---- runs ---------------------------------------------------------------------------------

    def add(
        self, sources: NDArray[np.int64], weights: NDArray[np.float64] | None, finished: Finished
    ) -> None:
        """Add the shares of all paths from these sources."""
        status = self._pass(sources, weights, scaled=False, finished=finished)
        many = status == TOO_MANY_PATHS
        if many.any():
            self._pass(sources[many], None if weights is None else weights[many], scaled=True)

    def total(self) -> NDArray[np.float64]:
        """Return the sums so far."""
        return np.asarray(runtime.download(self.sum))

    def numbers(self) -> tuple[NDArray[np.float64], NDArray[np.int64]]:
        """Return mantissas and exponents of the numbers of paths from a single source."""
        mantissas, exponents = np.zeros(self.n), np.zeros(self.n, dtype=np.int64)
        launch = _Launch(self, scaled=True, count=1)
        status, reached = launch(self.asked.sources, None)
        self._refuse(self.asked.sources, status)
        order = runtime.download(launch.order[: int(reached[0])])
        values = runtime.download(launch.values).view(np.float64).reshape(-1, 2)[order]
        mantissas[order] = values[:, 0]
        exponents[order] = np.ascontiguousarray(values[:, 1]).view(np.int64)
        return mantissas, exponents

    def _pass(
        self,
        sources: NDArray[np.int64],
        weights: NDArray[np.float64] | None,
        scaled: bool,
        finished: Finished | None = None,
    ) -> NDArray[np.uint8]:
        launch = _Launch(self, scaled, len(sources))
        status = np.zeros(len(sources), dtype=np.uint8)
        for part in launch.parts(len(sources)):
            status[part], _ = launch(sources[part], None if weights is None else weights[part])
            self._refuse(sources[part], status[part])
            if finished is not None:
                finished.add(part.stop - part.start)
        self.sum = launch.added_to(self.sum)
        return status

    def _refuse(self, sources: NDArray[np.int64], status: NDArray[np.uint8]) -> None:
        looped = np.flatnonzero(status & ZERO_CYCLE)
        if len(looped):
            raise ZeroCycleFrom(int(sources[looped[0]]))
        if (status & SATURATED).any():
            raise does_not_fit(self.graph.weight_dtype)


class _Launch:
    """Memory of all blocks, and launches that use it for some sources at a time."""

    def __init__(self, run: _Run, scaled: bool, count: int) -> None:
        cp = runtime.cupy()
        self.run = run
        macros, self.program = run._program(scaled)
        name = "tight_shares" if run.weighted else "breadth_first_shares"
        self.kernel = self.program.kernel(name)
        n, m = run.n, run.m
        self.blocks = blocks = run._blocks(self.kernel, scaled, count)
        self.row = n * run.graph.weight_dtype.itemsize if run.weighted else 0
        needed = blocks * run._bytes_per_block(scaled) + blocks * self.row + run.width * 8
        runtime.require_memory(needed)
        self.count_bytes = 16 if scaled else 8
        self.order = cp.empty(blocks * n, dtype=np.int32)
        self.bounds = cp.empty(blocks * (n + 2), dtype=np.int32)
        # Lanes without a vertex read the entry of vertex 0, which may not be reached.
        self.values = cp.zeros(blocks * n * self.count_bytes // 8, dtype=np.uint64)
        self.sums = (
            None if run.asked.forward_only else cp.zeros(blocks * run.width, dtype=np.float64)
        )
        if run.weighted:
            self.lists = [cp.empty(blocks * max(m, 1), dtype=np.int32) for _ in range(2)]
            self.counts = cp.empty(blocks * 3 * n, dtype=np.int32)
        words = 0 if run.weighted or run.shape.shared else 2 * -(-n // 32)
        self.bits = cp.empty(blocks * words, dtype=np.uint32) if words else None
        self.arguments = struct_dtype("measures/centrality/path_shares.cuh", "PathSums", macros)

    def parts(self, count: int) -> Iterator[slice]:
        """Yield the range of sources of each launch."""
        run = self.run
        each = max(1, _EDGES_PER_LAUNCH // (run.n + run.m))
        if run.weighted:  # rows of distances need memory as well
            free, _ = runtime.memory()
            each = max(1, min(each, free // 4 // (self.blocks * self.row)))
        step = self.blocks * each
        for first in range(0, count, step):
            yield slice(first, min(first + step, count))

    def __call__(
        self, sources: NDArray[np.int64], weights: NDArray[np.float64] | None
    ) -> tuple[NDArray[np.uint8], NDArray[np.int32]]:
        """Return the status of each source, and the number of vertices it reached."""
        cp = runtime.cupy()
        run, k = self.run, len(sources)
        status = cp.zeros(k, dtype=np.uint8)
        reached = cp.zeros(k, dtype=np.int32)
        # Both arrays must exist until the launch ends.
        stand_for = None if weights is None else runtime.upload(weights)
        listed = runtime.upload(sources.astype(np.int32))
        sums = filled(
            self.arguments,
            ends=run.ends,
            weights=stand_for,
            order=self.order,
            bounds=self.bounds,
            values=self.values,
            sums=self.sums,
            width=run.width,
            reached=reached,
            status=status,
            n=run.n,
            sources=k,
            endpoints=int(run.asked.endpoints),
            forward_only=int(run.asked.forward_only),
        )
        graph, reverse = run.device, run.reverse
        arguments = {
            "offsets": graph.offsets,
            "edges": graph.edges,
            "entering_offsets": reverse.offsets,
            "entering_edges": reverse.edges,
            "sources": listed,
            "all": sums,
        }
        if run.weighted:
            found = cp.empty((k, run.n), dtype=run.graph.weight_dtype)
            distances(run.rows_of, sources, device="cuda", limit=run.within, out=found)
            endless = np.int64(run.within is None)
            arguments |= {"distances": found, "endless": endless, "m": np.int64(run.m)}
            arguments |= {"next": self.lists[0], "before": self.lists[1], "counts": self.counts}
        else:
            far = np.iinfo(np.int64).max
            hops = far if run.within is None else int(min(run.within, far))
            arguments |= {"limit": np.int64(hops), "bits": self.bits}
        shape = run.shape
        blocks = min(self.blocks, k)
        self.kernel(blocks, shape.threads, arguments, shared=shape.shared)
        return runtime.download(status), runtime.download(reached)

    def added_to(self, total: Any) -> Any:
        """Return the sums of all blocks, added in their order to a total."""
        cp = runtime.cupy()
        run = self.run
        if total is None:
            total = cp.zeros(run.width, dtype=np.float64)
        blocks = min(runtime.device().multiprocessors * 8, -(-run.width // 256))
        add = self.program.kernel("add_block_sums")
        sizes = {"width": np.int64(run.width), "blocks": np.int32(self.blocks)}
        add(blocks, 256, {"sums": self.sums, "total": total, **sizes})
        return total
