"""One checked request for many sources: who solves a block of rows, and the checks after."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np

from nearfar.cpu.predecessors import tight_predecessors
from nearfar.cuda.predecessors import device_predecessors
from nearfar.errors import DistanceOverflowError, NegativeWeightError, VariantUnavailable
from nearfar.graph.dtypes import unreached_value
from nearfar.options import build_options
from nearfar.registry import Request, Variant, Workspace, find
from nearfar.solve.one import greatest, may_saturate, select, sssp, widest
from nearfar.system.devices import runtime
from nearfar.system.threads import on_threads

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from nearfar.graph.graph import Graph
    from nearfar.solve.sinks import Sink

__all__ = ["BatchRun"]


class BatchRun:
    """One checked request: which variant solves a block, and what is repeated in 64 bits."""

    def __init__(
        self,
        graph: Graph,
        rows: NDArray[np.int64],
        columns: NDArray[np.int64] | None,
        limit: Any,
        device: str,
        method: str,
        threads: int,
        options: dict[str, Any],
        predecessors: bool = False,
    ) -> None:
        self.graph, self.rows, self.columns, self.limit = graph, rows, columns, limit
        n = graph.n_vertices
        every = len(rows) == n and bool((rows == np.arange(n)).all())
        self.request = Request(
            problem="all_pairs" if every else "batch",
            n_sources=len(rows),
            device=device,
            limit=limit,
            targets=columns,
            threads=threads,
            predecessors=predecessors,
        )
        self.options, self.block = options, max(len(rows), 1)
        self.stats: dict[str, Any] = {}
        self.keep = False  # rows stay on the device
        self.variant, self.reason = self._choose(method)
        self.checked = build_options(self.variant.options, options, self.variant.id)
        self.wide: Graph | None = None
        self._trees: list[Any] = []  # of each block, None where the variant left them to us

    @property
    def shape(self) -> tuple[int, int]:
        """Rows and columns of the answer."""
        width = self.graph.n_vertices if self.columns is None else len(self.columns)
        return len(self.rows), width

    def _choose(self, method: str) -> tuple[Variant, str]:
        """A variant for the batch, or a single-source one to run source by source."""
        try:
            return select(self.graph, self.request, method)
        except (VariantUnavailable, NegativeWeightError):
            if method == "auto":
                raise
        single = replace(self.request, problem="sssp")
        tried = find(method, self.request.device)
        if not any("sssp" in v.problems for v in tried):
            return select(self.graph, self.request, method)
        return select(self.graph, single, method)

    def scratch_bytes(self) -> int:
        """What the variant needs besides the rows, roughly and not too little."""
        return self.variant.scratch_bytes(self.graph, self.request)

    def solve(self, rows: NDArray[np.int64], out: NDArray[Any] | None) -> NDArray[Any]:
        """Distances of some of the rows, masked by the limit, in 64 bits where 32 are too few."""
        if self.wide is None:
            found, lost = self._attempt(self.graph, rows, out)
            if lost:
                self._trees.pop()
            else:
                return found
            if self.graph.weight_dtype.itemsize == 8:
                raise DistanceOverflowError(
                    f"a distance does not fit {self.graph.weight_dtype}: scale the weights down"
                )
            self.wide = widest(self.graph)
            self.stats["repeated_in_64_bits"] = True
        found, lost = self._attempt(self.wide, rows, None)
        if lost:
            raise DistanceOverflowError(
                f"a distance does not fit {self.wide.weight_dtype}: scale the weights down"
            )
        return found

    def _attempt(
        self, graph: Graph, rows: NDArray[np.int64], out: NDArray[Any] | None
    ) -> tuple[NDArray[Any], bool]:
        from nearfar import _cpu

        found, stats = self._batch(graph, rows, out)
        for name, value in stats.items():
            counts = isinstance(value, (int, np.integer)) and not isinstance(value, bool)
            add = counts and name not in ("lanes", "lane_bits")
            self.stats[name] = self.stats.get(name, 0) + value if add else value
        self.stats["engine"] = self.variant.id
        if self.limit is not None and self.keep:
            none = unreached_value(np.dtype(found.dtype))
            if self.limit < none:  # else nothing can be farther
                beyond = found > found.dtype.type(max(self.limit, -none))
                found = runtime.cupy().where(beyond, none, found)
        elif self.limit is not None:
            found = np.ascontiguousarray(found)
            _cpu.mask_above(found, self.limit)
        return found, bool(stats.get("saturated")) or self._saturated(graph, rows, found)

    def _batch(
        self, graph: Graph, rows: NDArray[np.int64], out: NDArray[Any] | None
    ) -> tuple[NDArray[Any], dict[str, Any]]:
        variant = self.variant
        if "sssp" not in variant.problems:
            work = Workspace(
                self.request.threads,
                self.limit,
                columns=self.columns,
                out=out,
                on_device=self.keep,
                predecessors=self.request.predecessors,
            )
            answer = variant.run(graph, rows, self.checked, work)
            found = answer.distances
            self._trees.append(answer.predecessors)
            if self.keep:
                found = runtime.upload(found)
            elif runtime.is_device_array(found):
                found = runtime.download(found)
            return found, answer.stats
        self._trees.append(None)
        return self._source_by_source(graph, rows, out)

    def _source_by_source(
        self, graph: Graph, rows: NDArray[np.int64], out: NDArray[Any] | None
    ) -> tuple[NDArray[Any], dict[str, Any]]:
        variant = self.variant
        shape = (len(rows), self.shape[1])
        fits = out is not None and out.shape == shape and out.dtype == graph.weight_dtype
        matrix = out if fits and out is not None else np.empty(shape, dtype=graph.weight_dtype)
        work = Workspace(1, self.limit, self.columns)

        def one(i: int) -> dict[str, Any]:
            answer = variant.run(graph, int(rows[i]), self.checked, work)
            row = answer.distances
            row = runtime.download(row) if runtime.is_device_array(row) else row
            matrix[i] = row if self.columns is None else row[self.columns]
            return answer.stats

        parts = on_threads(one, len(rows), self.request.threads if variant.device == "cpu" else 1)
        total: dict[str, Any] = {}
        for part in parts:
            for name in ("iterations", "edges_relaxed", "vertices_processed"):
                total[name] = total.get(name, 0) + int(part.get(name, 0))
            total["saturated"] = total.get("saturated", False) or bool(part.get("saturated"))
        return (runtime.upload(matrix) if self.keep else matrix), total

    def _saturated(self, graph: Graph, rows: NDArray[np.int64], found: NDArray[Any]) -> bool:
        """Whether a finite distance may have been lost because it does not fit the dtype.

        Sound and cheap: false alarms only cost a repetition in 64 bits, and need distances within
        one weight of the end of the range.
        """
        from nearfar import _cpu

        if not may_saturate(graph):
            return False
        dtype = graph.weight_dtype
        top = greatest(dtype)
        if self.limit is not None and self.limit + graph.max_weight < top:
            return False
        none = unreached_value(dtype)
        if self.columns is not None:  # unseen columns may hide the path
            return dtype.itemsize == 4 or self._lost_in_columns(graph, rows, found)
        if self.keep and not graph.n_negative and found.size:
            missing = found == none
            if not bool(missing.any()):
                return False
            if runtime.cupy().where(missing, -none, found).max().item() + graph.max_weight < top:
                return False
        for row in found:
            if self.keep:
                row = runtime.download(row)  # rare: weights near the end of the dtype's range
            if (row == none).any() and _cpu.first_saturated_edge(
                graph.view, np.ascontiguousarray(row)
            ) >= 0:
                return True
        return False

    def _lost_in_columns(self, graph: Graph, rows: NDArray[np.int64], found: NDArray[Any]) -> bool:
        """Whether a column that a path reaches is unreached; a search over edges tells, per row."""
        none = unreached_value(graph.weight_dtype)
        if self.limit is not None and not graph.n_negative and self.limit < none:
            return False  # what does not fit is beyond the limit
        missing = runtime.download(found == none) if self.keep else found == none
        hops = graph.without_weights()
        for source, gone in zip(rows.tolist(), missing, strict=True):
            if gone.any() and self.columns is not None:
                reachable = sssp(hops, hops.name_of(source), device="cpu").reachable
                if reachable[self.columns[gone]].any():
                    return True
        return False

    @property
    def on_device(self) -> bool:
        """Whether the variant solves a batch on the device."""
        return self.variant.device == "cuda" and "sssp" not in self.variant.problems

    def into(self, sink: Sink) -> Any:
        """Run block by block into the sink and return what it makes."""
        self.keep = sink.on_device and self.on_device
        sink.start(self.shape, self.graph.weight_dtype)
        blocks = range(0, max(len(self.rows), 1), self.block)  # start may have changed the block
        for number, first in enumerate(blocks):
            if sink.has(number):
                continue
            part = self.rows[first : first + self.block]
            found = self.solve(part, sink.memory(first, len(part)))
            sink.put(number, first, found)
        return sink.finish()

    def predecessors(self, matrix: Any) -> Any:
        """Predecessors of the rows, where the rows are: the variant's own, else one pass a row.

        The pass is that over tight edges, as for a single source: on the device for a variant of
        the device, so that a matrix on the host goes there and back a block at a time.
        """
        on_device = runtime.is_device_array(matrix)
        if self._trees and all(tree is not None for tree in self._trees):
            found = self._own_trees(matrix, on_device)
            if found is not None:
                return found
        if on_device:
            return self._device_pass(runtime.upload(matrix), self.rows)
        found = np.empty(matrix.shape, dtype=self.graph.index_dtype)
        if self.on_device and matrix.size:
            row = matrix.shape[1] * (2 * matrix.dtype.itemsize + 2 * found.dtype.itemsize)
            some = max(1, int(0.5 * runtime.memory()[0] // row))
            for first in range(0, len(self.rows), some):
                part = slice(first, first + some)
                there = runtime.upload(np.ascontiguousarray(matrix[part]))
                found[part] = runtime.download(self._device_pass(there, self.rows[part]))
            return found

        def one(i: int) -> None:
            row = np.ascontiguousarray(matrix[i])
            found[i] = tight_predecessors(self.graph, int(self.rows[i]), row)

        if matrix.dtype != self.graph.weight_dtype:
            self.graph.astype(matrix.dtype)  # cached before the workers ask for it
        on_threads(one, len(self.rows), self.request.threads)
        return found

    def _own_trees(self, matrix: Any, on_device: bool) -> Any:
        """The variant's predecessors as one array without what the limit took away."""
        here = np if not on_device else runtime.cupy()
        move = runtime.upload if on_device else _to_host
        found = here.concatenate([move(tree) for tree in self._trees])
        if self.limit is not None:
            found[matrix == unreached_value(np.dtype(matrix.dtype))] = -1
        return found

    def _device_pass(self, matrix: Any, rows: NDArray[np.int64]) -> Any:
        graph = self.graph
        solved = graph if matrix.dtype == graph.weight_dtype else graph.astype(matrix.dtype)
        found, stats = device_predecessors(solved, rows.tolist(), matrix)
        name = "predecessor_device_seconds"
        self.stats[name] = self.stats.get(name, 0.0) + stats["device_seconds"]
        return found


def _to_host(array: Any) -> NDArray[Any]:
    return runtime.download(array) if runtime.is_device_array(array) else array
