"""Batches with a block per source, on one or several devices."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from nearfar.algorithms.batched.dead_ends import marked_edges
from nearfar.cuda.device_rows import Rows
from nearfar.errors import OptionError, quoted
from nearfar.graph.facts import usual_weight
from nearfar.graph.graph import Graph
from nearfar.options import DeltaOptions
from nearfar.registry import Answer, Workspace
from nearfar.system.devices import runtime, several
from nearfar.system.devices.landing import Following, Landing

_WIDTH = 32.0  # delta times mean degree over the mean weight
#: Empty array of rows.
NONE = np.empty(0, dtype=np.int64)


@dataclass(frozen=True, slots=True)
class BlockOptions(DeltaOptions):
    """Options of ``block_per_source@cuda`` and ``block_per_source_global@cuda``.

    Parameters
    ----------
    delta : float or None
        Step of the threshold in units of the weights. None means the mean weight, or twice the
        median if less, times 32 / mean degree or 1.
    slot_bits : {16, 32, 64} or None
        Bits per distance in shared memory. None tries 16 for integers if more blocks then fit; rows
        that do not fit are repeated. Floats always have the bits of the weights.
    block_threads : {128, 256, 512, 1024} or None
        Threads per block; None fills the multiprocessor with as many blocks as their memory allows.
    lists : bool or None
        Whether a warp lists the vertices of its words before relaxing them, in 8 bytes of shared
        memory per thread. None means True for int32 weights and at least 20,000 vertices.
    """

    slot_bits: int | None = None
    block_threads: int | None = None
    lists: bool | None = None

    def __post_init__(self) -> None:
        DeltaOptions.__post_init__(self)
        if self.slot_bits not in (None, 16, 32, 64):
            raise OptionError(f"slot_bits is {quoted(self.slot_bits)}: give 16, 32 or 64, or None")
        if self.block_threads not in (None, 128, 256, 512, 1024):
            raise OptionError(
                f"block_threads is {quoted(self.block_threads)}: give 128, 256, 512 or 1024, or "
                "None"
            )


@dataclass(slots=True)
class Batch:
    """Sources whose rows one launch solves."""

    sources: NDArray[np.int64]  # shape (k,)
    places: NDArray[np.int64] | None  # shape (k,), or None; rows of `out`; None means the first k
    out: Any  # device array
    # uint64 or None; address of one byte per row, in which a kernel marks finished rows
    finished: Any = None
    following: Following | None = None  # copier of the rows to the host
    # int64 array or None; memory for figures of the rows, in addition to those in `out`
    figures: Any = None

    def on_device(self) -> tuple[Any, Any]:
        """Return sources and places on the current device; None for consecutive sources."""
        begin, k = int(self.sources[0]), len(self.sources)
        in_order = bool((self.sources == np.arange(begin, begin + k)).all())
        listed = None if in_order else runtime.upload(self.sources)
        return listed, None if self.places is None else runtime.upload(self.places)

    def launched(self) -> None:
        """Record that all launches that mark finished rows are on the current stream."""
        if self.following is not None:
            self.following.launched()


class Search(ABC):
    """Launches of a batch on one device; subclasses determine how a block stores distances."""

    scratch = 64 * 1024  # bytes that the launches use in addition to rows and edges

    def __init__(
        self, graph: Graph, options: BlockOptions, workspace: Workspace, rows: Rows
    ) -> None:
        self.graph, self.options, self.workspace, self.rows = graph, options, workspace, rows
        if options.delta is not None:
            self.delta = options.delta
        else:  # thin frontiers need fewer steps
            self.delta = max(1.0, _WIDTH / max(graph.mean_degree, 1.0)) * usual_weight(graph)
        self.integer = graph.weight_dtype.kind == "i"  # whether weights are integers
        self.edges = marked_edges(graph, rows.device)

    @abstractmethod
    def solve(self, batch: Batch) -> NDArray[np.int64]:
        """Solve the rows of the sources; return those that were too wide and repeated."""


def solve_batch(search: Search, **stats: Any) -> Answer:
    """Solve the rows in parts that fit in memory, on the devices of the search's workspace."""
    rows, team, solved = search.rows, _Team(search), []
    with rows.landing() as landing:
        for first, last in rows.parts(search.scratch):
            out = rows.memory(first, last)
            batch = Batch(rows.sources[first:last], None, out, figures=rows.figures)
            if landing is None:
                team.solve(batch)
                solved.append(rows.kept(out))
                continue
            _solve_and_send(team, landing, batch, rows.host[first:last])
            if last < len(rows.sources):  # the next part reuses the memory
                landing.wait()
        rows.timer.stop()
    solved = solved or [rows.host]
    others = [one.rows for one in team.searches.values() if one is not search]
    stats["repeated_rows"] = team.repeated
    return rows.answer(solved, others, delta=search.delta, **stats, **team.stats)


def _solve_and_send(team: _Team, landing: Landing, batch: Batch, host: NDArray[Any]) -> None:
    """Solve rows, and copy finished ones to the host meanwhile."""
    batch.finished, finished = landing.flags(len(batch.sources))
    batch.following = landing.follow(batch.out, host, finished)
    if team.solve(batch):
        landing.wait()
        landing.send(batch.out, host)


class _Team:
    """Devices that share a batch."""

    def __init__(self, search: Search) -> None:
        home = runtime.device().ordinal
        self.devices = list(search.workspace.devices or [home])
        self.searches = {home: search}  # searches by device
        self.repeated = 0  # number of rows that were too wide
        self.failed: dict[int, str] = {}
        self._first = search

    def solve(self, batch: Batch) -> int:
        """Solve the rows of the sources; return the number of those that were too wide."""
        pieces, count = [batch], len(self.devices)
        if count > 1:  # interleaved, so that each device gets sources of every degree
            at = np.arange(len(batch.sources))
            pieces = [
                replace(batch, sources=batch.sources[i::count].copy(), places=at[i::count].copy())
                for i in range(count)
            ]
        pieces = [piece for piece in pieces if len(piece.sources)]
        repeated: list[int] = []

        def begin() -> Callable[[Batch], None]:
            search = self._here()
            return lambda piece: repeated.append(len(search.solve(piece)))

        failed = several.each_block(self.devices, pieces, begin)
        self.repeated += sum(repeated)
        self.failed |= {device: str(error) for device, error in failed.items()}
        self.devices = [device for device in self.devices if device not in failed]
        return sum(repeated)

    def _here(self) -> Search:
        """Return the current device's search."""
        at = runtime.device().ordinal
        if at not in self.searches:
            first = self._first
            rows = Rows(first.graph, first.rows.sources, first.workspace, reduces=True)
            self.searches[at] = type(first)(first.graph, first.options, first.workspace, rows)
        return self.searches[at]

    @property
    def stats(self) -> dict[str, Any]:
        """Statistics of several devices."""
        given = self._first.workspace.devices
        found: dict[str, Any] = {} if given is None else {"devices": list(given)}
        return found | ({"failed_devices": self.failed} if self.failed else {})
