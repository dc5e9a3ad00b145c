"""Rows on the device, for the CUDA variants that solve many sources."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import AbstractContextManager, nullcontext
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from nearfar.cuda.device_graph import device_graph
from nearfar.errors import wrong_device
from nearfar.graph.graph import Graph
from nearfar.registry import FIGURES, UNADDED, Answer, Partial, Workspace
from nearfar.system.devices import runtime
from nearfar.system.devices.landing import LARGE, Landing
from nearfar.system.memory import empty


def steps_allowed(n: int) -> int:
    """Return the watchdog's bound on the steps of a row, which no correct run reaches."""
    return 8 * n + 1_000_000


class Rows:
    """Batch on the device: graph, answer rows in parts that fit memory, and counters."""

    def __init__(
        self, graph: Graph, sources: NDArray[np.int64], workspace: Workspace, reduces: bool = False
    ) -> None:
        self.device = device_graph(graph)
        self.n = graph.n_vertices
        self.sources, self.on_device = sources, workspace.on_device
        listed = workspace.columns
        self.columns = None if listed is None else runtime.upload(listed)
        self.width = self.n if listed is None else len(listed)
        self.dtype = graph.weight_dtype
        out, shape = workspace.out, (len(sources), self.width)
        fits = out is not None and out.shape == shape and out.dtype == self.dtype
        self.given = out if fits else None
        self.into_device = fits and runtime.is_device_array(out)
        self.threads = workspace.threads
        self.figures: Any = None  # RowFigures of block_distance.cuh, if the kernels compute them
        self.reduction = workspace.reduction
        figures = reduces and self.reduction is not None and self.reduction.kind in FIGURES
        if figures and self.on_device and self.dtype.kind == "i" and listed is None:
            self.figures = runtime.cupy().empty((3, len(sources)), np.int64)
            self._landing = runtime.Pinned(self.figures.nbytes)
        self.counters = runtime.upload(np.array([0, 0, 0, steps_allowed(self.n)], np.uint64))
        self.timer = runtime.Timer().start()

    @property
    def nothing(self) -> Answer | None:
        """Answer if there is nothing to solve, otherwise None."""
        if self.n and len(self.sources):
            return None
        empty = runtime.cupy().empty((len(self.sources), self.width), self.dtype)
        return Answer(empty, {"iterations": 0})

    def parts(self, scratch: int) -> list[tuple[int, int]]:
        """Return the ranges of rows whose answers fit in memory together with the scratch."""
        free, _ = runtime.memory()
        row = max(self.width * self.dtype.itemsize + 16, 1)
        k = len(self.sources)
        if self.into_device:
            runtime.require_memory(scratch)
            return [(0, k)]
        if self.on_device:
            runtime.require_memory(scratch + row * k, "ask for fewer rows, targets or a reduction")
            return [(0, k)]
        runtime.require_memory(scratch + row)
        each = max(1, int(0.9 * (free - scratch) // row))
        return [(first, min(first + each, k)) for first in range(0, max(k, 1), each)]

    def memory(self, first: int, last: int) -> Any:
        """Return device memory for rows ``first`` to ``last``, the caller's if it has any."""
        if self.into_device:
            return self.given
        return runtime.cupy().empty((last - first, self.width), dtype=self.dtype)

    def landing(self) -> AbstractContextManager[Landing | None]:
        """Return a copier of finished rows to the host during the solve; None if not faster."""
        size = len(self.sources) * self.width * self.dtype.itemsize
        if self.on_device or self.into_device or self.threads == 1 or size < LARGE:
            return nullcontext()
        return Landing(self.threads)

    @cached_property
    def host(self) -> Any:
        """Host memory for all rows."""
        if self.given is not None:
            return self.given
        return empty((len(self.sources), self.width), self.dtype, self.threads)

    def kept(self, part: Any) -> Any:
        """Return a solved part: unchanged if it is the only one, else copied to the host."""
        return part if len(part) == len(self.sources) else part.get()

    def gather(self, solved: list[Any]) -> Any:
        """Return one array: on the device if there is one part, else on the host."""
        if len(solved) == 1:
            return solved[0]
        return np.concatenate(solved, out=self.host)

    def answer(self, solved: list[Any], others: Sequence[Rows] = (), **more: Any) -> Answer:
        """Return rows and counters, including the counters of ``others`` on other devices."""
        counted = [rows.counters.get() for rows in (self, *others)]
        edges, steps, vertices = (sum(int(each[i]) for each in counted) for i in range(3))
        if not all(int(each[3]) for each in counted):
            raise wrong_device(f"a row took more than {steps_allowed(self.n)} steps")
        stats = {
            "iterations": steps,
            "edges_relaxed": edges,
            "vertices_processed": vertices,
            "device_seconds": self.timer.seconds,
            **more,
        }
        counted_all = all(rows.figures is not None for rows in (self, *others))
        partials = self._partials() if counted_all else None
        return Answer(self.gather(solved), stats, partials=partials)

    def _partials(self) -> list[Partial] | None:
        """Return the partial results of the kernels, or None if a sum may not fit 64 bits."""
        self._landing.copy_from(self.figures)
        counts, totals, most = self._landing.wait_for().view(np.int64).reshape(3, -1)
        assert self.reduction is not None
        farthest = int(most.max()) if len(most) else 0
        if farthest * self.n >= 2**63 and self.reduction.kind not in UNADDED:
            return None
        return [Partial(counts - 1, totals.astype(np.float64), most.astype(self.dtype))]
