"""Batches with a block per source, in stages that drop edges, on one or several devices."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray

from nearfar.algorithms.batched.essential import Solved, essential, stages
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
    # function that this thread calls while the device solves
    meanwhile: Callable[[], None] | None = None
    _uploaded: tuple[Any, Any] | None = None

    def on_device(self) -> tuple[Any, Any]:
        """Return sources and places on the current device; None for consecutive sources."""
        if self._uploaded is None:
            begin, k = int(self.sources[0]), len(self.sources)
            in_order = bool((self.sources == np.arange(begin, begin + k)).all())
            listed = None if in_order else runtime.upload(self.sources)
            where = None if self.places is None else runtime.upload(self.places)
            self._uploaded = listed, where
        return self._uploaded

    def launched(self) -> None:
        """Record that all launches that mark finished rows are on the current stream."""
        if self.following is not None:
            self.following.launched()
        if self.meanwhile is not None:
            self.meanwhile()


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
        self.edges = essential(graph, rows.device)  # remaining edges of the graph

    @abstractmethod
    def solve(self, batch: Batch) -> NDArray[np.int64]:
        """Solve the rows of the sources; return those that were too wide and repeated."""

    def drop(self, solved: Solved, out: Any) -> None:
        """Drop the edges that the rows of these sources prove non-essential."""
        self.edges = self.edges.without(self.graph, self.rows.device, solved, out)


def in_stages(search: Search, **stats: Any) -> Answer:
    """Solve the batch in stages, dropping edges that the rows prove non-essential.

    Only whole rows of integers allow dropping: rounded sums are not associative.
    """
    rows, graph = search.rows, search.graph
    team = _Team(search)
    solved = []
    whole = search.integer and rows.columns is None
    packing = search.edges.edges.nbytes + 24 * rows.n  # bytes for packing the remaining edges
    with rows.landing() as landing:
        for first, last in rows.parts(search.scratch + packing):
            out = rows.memory(first, last)
            chosen = rows.sources[first:last]
            # None: rows in the given order, so that no indices are uploaded
            launches: list[tuple[Any, bool]] = [(None, False)]
            if whole:
                launches = stages(graph, chosen, search.edges.decided)
            at = 0
            batches = []
            for places, _ in launches:
                some = chosen if places is None else chosen[places]
                batches.append(Batch(some, places, out, figures=rows.figures))
                if landing is not None:  # rows in the order of solving
                    batches[-1].out, batches[-1].places = out[at : at + len(some)], None
                at += len(some)
            at = 0
            for (places, drop), batch, later in zip(
                launches, batches, [*batches[1:], None], strict=True
            ):
                count = len(batch.sources)
                side = places if landing is None else np.arange(at, at + count)
                at += count
                dropped = Solved(rows.n, batch.sources, side) if drop else None
                batch.meanwhile = partial(_make_ready, team, later, dropped)
                if landing is None:
                    team.solve(batch)
                else:
                    _solve_and_send(team, landing, batch, rows.host[first:last], places)
                if dropped is not None:
                    team.drop(dropped, out)
            if landing is None:
                solved.append(rows.kept(out))
            elif last < len(rows.sources):  # the next part reuses the memory
                landing.wait()
        rows.timer.stop()
    solved = solved or [rows.host]
    stats |= {"repeated_rows": team.repeated, "edges_kept": team.edges_kept}
    others = [one.rows for one in team.searches.values() if one is not search]
    return rows.answer(solved, others, delta=search.delta, **stats, **team.stats)


def _make_ready(team: _Team, later: Batch | None, dropped: Solved | None) -> None:
    """Copy the next inputs in advance, if one device solves, so that it does not wait for them."""
    if team.shared:
        return
    if dropped is not None:
        dropped.on_device()
    if later is not None:
        later.on_device()


def _solve_and_send(
    team: _Team,
    landing: Landing,
    batch: Batch,
    host: NDArray[Any],
    places: NDArray[np.int64] | None,
) -> None:
    """Solve into consecutive rows, and copy finished ones to their places on the host."""
    batch.finished, finished = landing.flags(len(batch.sources))
    batch.following = landing.follow(batch.out, host, places, finished)
    if team.solve(batch):
        landing.wait()
        landing.send(batch.out, host, places)


class _Team:
    """Devices that share a batch; each drops the edges that all rows of a stage decide."""

    def __init__(self, search: Search) -> None:
        home = runtime.device().ordinal
        self.devices = list(search.workspace.devices or [home])
        self.searches = {home: search}  # searches by device
        self.repeated = 0  # number of rows that were too wide
        self.failed: dict[int, str] = {}
        self._first = search
        self._drops: list[tuple[Solved, Any]] = []
        self._dropped = dict.fromkeys([home, *self.devices], 0)

    def solve(self, batch: Batch) -> int:
        """Solve the rows of the sources; return the number of those that were too wide."""
        pieces, count = [batch], len(self.devices)
        if count > 1:  # interleaved, so that each device gets sources of every degree
            at = np.arange(len(batch.sources)) if batch.places is None else batch.places
            pieces = [
                replace(
                    batch,
                    sources=batch.sources[i::count].copy(),
                    places=at[i::count].copy(),
                    meanwhile=None,
                    _uploaded=None,
                )
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
        """Return the current device's search, after dropping the decided edges."""
        at = runtime.device().ordinal
        if at not in self.searches:
            first = self._first
            rows = Rows(first.graph, first.rows.sources, first.workspace, reduces=True)
            self.searches[at] = type(first)(first.graph, first.options, first.workspace, rows)
        search = self.searches[at]
        for drop in self._drops[self._dropped[at] :]:
            search.drop(*drop)
        self._dropped[at] = len(self._drops)
        return search

    @property
    def shared(self) -> bool:
        """Whether several devices may share the batch."""
        return self._first.workspace.devices is not None

    def drop(self, solved: Solved, out: Any) -> None:
        """Drop on every device the edges that the rows of these sources prove non-essential."""
        if self.shared:
            self._drops.append((solved, out))
        else:
            self._first.drop(solved, out)

    @property
    def edges_kept(self) -> int:
        """Number of edges that remain at the end."""
        return min(search.edges.count for search in self.searches.values())

    @property
    def stats(self) -> dict[str, Any]:
        """Statistics of several devices."""
        given = self._first.workspace.devices
        found: dict[str, Any] = {} if given is None else {"devices": list(given)}
        return found | ({"failed_devices": self.failed} if self.failed else {})
