"""Execution of a planned request, block by block into a sink.

:mod:`nearfar.solve.steps.attempt` solves the sources of a block; this module distributes blocks
over devices, reduces them if rows are not requested, and adds predecessors.
"""

from __future__ import annotations

import contextlib
import copy
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from nearfar.cpu.distances.predecessors import tight_predecessors
from nearfar.graph.graph import Graph
from nearfar.graph.saturation import widest
from nearfar.registry import Answer, Declined, Partial, Workspace
from nearfar.solve.arrays import distinct_sources, repeat_rows
from nearfar.solve.rows.reductions import ReducingSink
from nearfar.solve.rows.sinks import CsrSink, Sink
from nearfar.solve.steps.attempt import add_counters, solve
from nearfar.solve.steps.plan import Plan
from nearfar.system.devices import runtime, several
from nearfar.system.devices.arrays import as_dtype, module_of, to_host, upload


class Run:
    """Run of many sources in blocks; each block begins with the final plan of the previous one."""

    def __init__(
        self, plan: Plan, rows: NDArray[np.int64], places: NDArray[np.int64] | None = None
    ) -> None:
        self.plan, self.rows, self.columns = plan, rows, plan.columns
        self.graph = plan.graph if plan.given is None else plan.given
        self.devices = plan.devices  # devices that share the rows; None means the current one
        self.places = places  # position of the source of each row, if sources are repeated
        self.block = max(len(rows), 1)  # rows solved at a time
        self.rows_at_once = self.block  # rows materialised at a time to reduce a block
        self.stats: dict[str, Any] = {}
        self.table: Any = None  # all rows, if they are known before the run
        self._wide_rows: list[int] = []  # rows solved in 64 bits
        self._trees: dict[int, Any] = {}  # predecessors by block; None if the pass computes them

    @property
    def limit(self) -> Any:
        """Inclusive limit, or None."""
        return self.plan.request.limit

    @property
    def engine(self) -> str:
        """Id of the variant."""
        return self.plan.variant.id

    @property
    def shape(self) -> tuple[int, int]:
        """Numbers of rows and columns of the answer."""
        width = self.graph.n_vertices if self.columns is None else len(self.columns)
        return len(self.rows if self.places is None else self.places), width

    def into(self, sink: Sink, progress: Callable[[float, float], None] | None = None) -> Any:
        """Run block by block into the sink, and return the result for the distinct sources."""
        keep = sink.on_device and self.plan.on_device
        reduction = sink.reduction if isinstance(sink, ReducingSink) else None
        if keep or reduction is not None:
            self.plan = self.plan._replace(keep=keep, reduction=reduction)
        try:
            sink.start(self.shape, self.plan.dtype)
            count = len(self.rows)
            # Computed here, since ``start`` may change the block size.
            blocks = list(enumerate(range(0, max(count, 1), self.block)))
            waiting = [block for block in blocks if not sink.has(block[0])]
            before = len(blocks) - len(waiting)

            def report(done: int) -> None:
                if progress is not None:
                    progress(min((before + done) * self.block, count), count)

            if waiting and progress is not None:
                report(0)  # progress is measured from this row on
            if self.devices is not None and isinstance(sink, ReducingSink):
                waiting = self._reduced_together(self.devices, sink, waiting, report)
            if self.devices is None or (len(blocks) == 1 and self.shares_itself(self.plan.keep)):
                for done, (number, first) in enumerate(waiting, start=1):
                    self._one_block(sink, number, first)
                    report(done)
            elif waiting:
                self._on_devices(self.devices, sink, waiting, report)
            if not waiting:
                report(0)
            return sink.finish()
        finally:
            sink.close()

    def shares_itself(self, keep: bool) -> bool:
        """Return whether the variant, and not this class, divides a block over the devices."""
        if ("device" if keep else "host") not in self.plan.variant.devices or self.devices is None:
            return False
        return not keep or several.joined(self.devices)

    def _solve(self, first: int, rows: Any, out: Any = None) -> Answer:
        """Solve some rows of a block from the given one on; adopt their plan and counters."""
        found = solve(self.plan, rows, out)
        self.plan = found.plan
        self._count(found.stats)
        if found.wide:
            self._wide_rows += [first + i for i in found.wide]
        return found

    def _count(self, stats: dict[str, Any]) -> None:
        add_counters(self.stats, stats)
        self.stats["engine"] = self.plan.variant.id

    def _one_block(self, sink: Sink, number: int, first: int) -> None:
        if self.table is not None:
            sink.put(number, first, self.table[first : first + self.block])
            return
        part = self.rows[first : first + self.block]
        if isinstance(sink, ReducingSink):
            self._reduce_into(sink, number, first, part)
            return
        plan = self.plan
        make_sparse = plan.variant.sparse if self.columns is None else None
        if isinstance(sink, CsrSink) and make_sparse is not None and self._exact_limit():
            work = Workspace(plan.request.threads, self.limit)
            sources = np.asarray(part, np.int64)
            sparse = make_sparse(self.graph, sources, plan.settings, work)
            if sparse is not None:
                self._count(sparse[3])
                sink.put_sparse(number, *sparse[:3])
                return
        part, places = distinct_sources(part) if sink.in_order else (part, None)
        found = self._solve(first, part, sink.memory(first, len(part)))
        tree, rows = found.predecessors, found.distances
        self._trees[number] = tree if tree is None or plan.keep else to_host(tree)
        sink.put(number, first, rows if places is None else repeat_rows(rows, places))

    def _exact_limit(self) -> bool:
        """Return whether searches apply the limit exactly, which they read as a float64."""
        integers = self.graph.weight_dtype.kind == "i"
        return self.limit is None or not integers or self.limit < 2**53

    def _reduced_together(
        self,
        devices: Sequence[int],
        sink: ReducingSink,
        blocks: list[tuple[int, int]],
        progress: Callable[[int], None],
    ) -> list[tuple[int, int]]:
        """Reduce blocks by a variant that divides them over devices; return the remaining blocks.

        The variant receives one block per device at a time.
        """
        count = len(devices)
        for done in range(0, len(blocks), count):
            number, first = blocks[done]
            partials = self._partials_alone(self.rows[first : first + count * self.block])
            if partials is None:
                return blocks[done:]
            sink.keep(number, partials)
            progress(min(done + count, len(blocks)))
        return []

    def _on_devices(
        self,
        devices: Sequence[int],
        sink: Sink,
        blocks: Sequence[tuple[int, int]],
        progress: Callable[[int], None],
    ) -> None:
        """Solve blocks on all devices, with one thread per device, and put them into the sink."""
        parts: list[Run] = []

        def begin() -> Callable[[tuple[int, int]], None]:
            part = copy.copy(self)  # separate counters and plan per device
            part.plan = self.plan._replace(devices=None)
            part.devices, part.stats, part._wide_rows = None, {}, []
            parts.append(part)
            return lambda block: part._one_block(sink, *block)

        failed = several.each_block(devices, blocks, begin, progress)
        for part in parts:
            self.plan = part.plan._replace(devices=self.devices)
            self._count(part.stats)
            self._wide_rows += part._wide_rows
        self.stats["devices"] = list(devices)
        if failed:
            self.stats["failed_devices"] = {at: str(error) for at, error in failed.items()}

    def _reduce_into(self, sink: ReducingSink, number: int, first: int, rows: Any) -> None:
        partials = self._partials_alone(rows)
        if partials is None:
            partials = []
            for low in range(0, max(len(rows), 1), self.rows_at_once):
                found = self._solve(first + low, rows[low : low + self.rows_at_once])
                partials += found.partials or sink.of_rows(first + low, found.distances)
        sink.keep(number, partials)

    def _partials_alone(self, rows: Any) -> list[Partial] | None:
        """Reduce a block without materialising its rows, or return None if this is impossible."""
        plan = self.plan
        if not plan.variant.reduces or plan.graph is not self.graph:
            return None
        if not self._exact_limit():
            return None
        work = Workspace(
            plan.request.threads,
            self.limit,
            columns=self.columns,
            on_device=True,
            devices=self.devices,
            reduction=plan.reduction,
        )
        sources = np.asarray(rows, np.int64)
        waits = plan.method == "auto" and plan.waits_on_cores
        try:
            with runtime.compiling_in_background() if waits else contextlib.nullcontext():
                answer = plan.variant.run(plan.to_search, sources, plan.settings, work)
        except (Declined, runtime.Compiling):
            return None  # as does solving the rows, which then chooses another variant
        if answer.partials is not None:
            self._count({**answer.stats, "rows_never_made": len(sources)})
        return answer.partials

    def predecessors(self, matrix: Any) -> Any:
        """Return predecessors on the device of the rows, from the variant or by a pass per row.

        The pass finds tight edges, as for a single source. After a CUDA variant it runs on the
        device, so a matrix on the host is copied to the device and back block by block.
        """
        matrix, xp = matrix[: len(self.rows)], module_of(matrix)
        trees = [self._trees[number] for number in sorted(self._trees)]
        if trees and all(tree is not None for tree in trees):
            if xp is np:
                return xp.concatenate([to_host(tree) for tree in trees])
            return xp.concatenate([several.here(upload(tree)) for tree in trees])
        graph, rows, narrow = self.graph, np.asarray(self.rows), self.plan.dtype
        if matrix.dtype == narrow or matrix.dtype.kind == "i":
            solved = graph if matrix.dtype == narrow else graph.astype(matrix.dtype)
            return self._pass(solved, rows, matrix)
        # Float sums are tight only in the dtype of their computation.
        found = xp.empty(matrix.shape, dtype=graph.vertex_dtype)
        wide = np.zeros(len(rows), dtype=bool)
        wide[self._wide_rows] = True
        for some, solved in ((~wide, graph), (wide, widest(graph))):
            if some.any():
                places = xp.asarray(np.flatnonzero(some))
                part = as_dtype(matrix[places], solved.weight_dtype)
                found[places] = self._pass(solved, rows[some], part)
        return found

    def _pass(self, graph: Graph, rows: Any, matrix: Any) -> Any:
        """Return predecessors by the pass over tight edges, for rows in the weights' dtype."""
        plan = self.plan
        return tight_predecessors(
            graph,
            rows,
            matrix,
            by_device=plan.on_device,
            threads=plan.request.threads,
            stats=self.stats,
        )
