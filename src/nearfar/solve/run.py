"""The run step: a checked request on its way into a sink, block by block.

:mod:`nearfar.solve.solving` answers the sources of a block; here blocks are shared out over
devices, reduced where their rows are not wanted, and joined with their predecessors.
"""

from __future__ import annotations

import copy
from typing import TYPE_CHECKING, Any

import numpy as np

from nearfar.graph.saturation import widest
from nearfar.registry import Declined, Workspace
from nearfar.solve.arrays import module_of, once, repeated, to_host
from nearfar.solve.reductions import ReducingSink
from nearfar.solve.sinks import CsrSink
from nearfar.solve.solving import Solving
from nearfar.system.devices import runtime, several

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from nearfar.registry import Partial
    from nearfar.solve.sinks import Sink

__all__ = ["Run"]


class Run(Solving):
    """One checked request on its way; as :class:`Solving`."""

    def into(self, sink: Sink, progress: Callable[[float, float], None] | None = None) -> Any:
        """Run block by block into the sink and return what it makes of the distinct sources."""
        self.keep = sink.on_device and self.on_device
        self.reduction = sink.reduction if isinstance(sink, ReducingSink) else None
        try:
            sink.start(self.shape, self._narrow)
            count = len(self.rows)
            # start may have changed the block
            blocks = list(enumerate(range(0, max(count, 1), self.block)))
            waiting = [block for block in blocks if not sink.has(block[0])]
            there = len(blocks) - len(waiting)

            def told(done: int) -> None:
                if progress is not None:
                    progress(min((there + done) * self.block, count), count)

            if waiting and progress is not None:
                told(0)  # the pace counts from here
            if self.devices is not None and isinstance(sink, ReducingSink):
                waiting = self._reduced_together(self.devices, sink, waiting, told)
            if self.devices is None or (len(blocks) == 1 and self.shares_itself(self.keep)):
                for done, (number, first) in enumerate(waiting, start=1):
                    self._one_block(sink, number, first)
                    told(done)
            elif waiting:
                self._on_devices(self.devices, sink, waiting, told)
            if not waiting:
                told(0)
            return sink.finish()
        finally:
            sink.close()

    def shares_itself(self, keep: bool) -> bool:
        """Whether the variant shares one block of all rows over the devices, not this class.

        Parameters
        ----------
        keep : bool
            Whether the rows stay on a device.
        """
        if ("device" if keep else "host") not in self.variant.devices or self.devices is None:
            return False
        return not keep or several.joined(self.devices)

    def _one_block(self, sink: Sink, number: int, first: int) -> None:
        self._first = first
        part = self.rows[first : first + self.block]
        if isinstance(sink, ReducingSink):
            self._reduce_into(sink, number, first, part)
            return
        in_sparse_rows = None if self.columns is not None else self.variant.sparse
        if isinstance(sink, CsrSink) and in_sparse_rows is not None and self._exact_limit():
            work = Workspace(self.request.threads, self.limit)
            sources = np.asarray(part, np.int64)
            sparse = in_sparse_rows(self.graph, sources, self._checked, work)
            if sparse is not None:
                self._count(sparse[3])
                sink.put_sparse(number, *sparse[:3])
                return
        part, places = once(part) if sink.in_order else (part, None)
        found, tree = self.solve(part, sink.memory(first, len(part)))
        self._trees[number] = tree if tree is None or self.keep else to_host(tree)
        sink.put(number, first, found if places is None else repeated(found, places))

    def _exact_limit(self) -> bool:
        """Whether searches keep to the limit exactly: theirs is a float64, which rounds up."""
        integers = self.graph.weight_dtype.kind == "i"
        return self.limit is None or not integers or self.limit < 2**53

    def _reduced_together(
        self,
        devices: Sequence[int],
        sink: ReducingSink,
        blocks: list[tuple[int, int]],
        progress: Callable[[int], None],
    ) -> list[tuple[int, int]]:
        """Blocks left after those of which a variant whose devices share them made no rows.

        It has a block of each device at a time.
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
        """Each device solves blocks and hands them to the sink, in a thread of its own."""
        parts: list[Run] = []

        def begin() -> Callable[[tuple[int, int]], None]:
            part = copy.copy(self)  # counts for itself, and may have to change the variant
            part.devices, part.stats, part._wide_rows = None, {}, []
            parts.append(part)
            return lambda block: part._one_block(sink, *block)

        failed = several.each_block(devices, blocks, begin, progress)
        for part in parts:
            self.variant, self.reason = part.variant, part.reason
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
                found, _ = self.solve(rows[low : low + self.rows_at_once])
                partials += self._partials or sink.of_rows(first + low, found)
        sink.keep(number, partials)

    def _partials_alone(self, rows: Any) -> list[Partial] | None:
        """Reduce a block by a variant that needs no rows for that."""
        if not self.variant.reduces or self._solved is not self.graph:
            return None
        if not self._exact_limit():
            return None
        work = Workspace(
            self.request.threads,
            self.limit,
            columns=self.columns,
            on_device=True,
            devices=self.devices,
            reduction=self.reduction,
        )
        sources = np.asarray(rows, np.int64)
        try:
            answer = self.variant.run(self.graph, sources, self._checked, work)
        except Declined:
            return None  # as it will for rows
        if answer.partials is not None:
            self._count({**answer.stats, "rows_never_made": len(sources)})
        return answer.partials

    def predecessors(self, matrix: Any) -> Any:
        """Predecessors of the rows, where the rows are: the variant's own, else one pass per row.

        The pass is that over tight edges, as for a single source: on the device for a variant of
        the device, so that a matrix on the host goes there and back a block at a time.
        """
        matrix, xp = matrix[: len(self.rows)], module_of(matrix)
        trees = [self._trees[number] for number in sorted(self._trees)]
        if trees and all(tree is not None for tree in trees):
            if xp is np:
                return xp.concatenate([to_host(tree) for tree in trees])
            return xp.concatenate([several.here(runtime.upload(tree)) for tree in trees])
        graph, rows = self.graph, np.asarray(self.rows)
        if matrix.dtype == self._narrow or matrix.dtype.kind == "i":
            solved = graph if matrix.dtype == self._narrow else graph.astype(matrix.dtype)
            return self._pass(solved, rows, matrix)
        # Sums of floats are tight in the dtype in which they were made.
        found = xp.empty(matrix.shape, dtype=graph.index_dtype)
        wide = np.zeros(len(rows), dtype=bool)
        wide[self._wide_rows] = True
        for some, solved in ((~wide, graph), (wide, widest(graph))):
            if some.any():
                places = xp.asarray(np.flatnonzero(some))
                part = matrix[places].astype(solved.weight_dtype)
                found[places] = self._pass(solved, rows[some], part)
        return found
