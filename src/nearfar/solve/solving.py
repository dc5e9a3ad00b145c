"""A variant's answer for some sources, with everything that all variants share.

One source and many go the same way: choose a variant, run it, repeat in 64 bits the rows in which a
sum did not fit, mask what is beyond the limit or the last target. What differs is the shape: one
source gives a vector and may stop at its targets; many give a block of rows, and targets are its
columns. A method for one source serves many by running source by source.
"""

from __future__ import annotations

import time
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np

from nearfar.choose import ranking
from nearfar.cpu.potentials import refuse_reached_cycle
from nearfar.errors import (
    DistanceOverflowError,
    NegativeCycleError,
    NegativeWeightError,
    VariantUnavailable,
    quoted,
)
from nearfar.graph.dtypes import unreached_value
from nearfar.graph.saturation import widest
from nearfar.options import build_options
from nearfar.prepared import is_prepared
from nearfar.registry import (
    Declined,
    Partial,
    Request,
    RowReduction,
    Variant,
    Workspace,
    find,
    having,
)
from nearfar.solve.arrays import (
    cleared,
    entries,
    masked,
    narrowed,
    on_device,
    to_host,
    widened,
)
from nearfar.solve.fresh import UNCHECKED, MatrixGraph, takes
from nearfar.solve.saturation import below, lost_rows
from nearfar.solve.select import select
from nearfar.solve.trees import tight_trees
from nearfar.system.devices import runtime
from nearfar.system.threads import on_threads

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    from nearfar.graph.graph import Graph

__all__ = ["Solving"]


class Solving:
    """One checked request, solved for some of its sources at a time.

    Parameters
    ----------
    graph : Graph
    rows : sequence of int
        Vertex indices of the sources, in the order of the answer; an array for many.
    request : Request
    method : str
    options : dict
        Of the variant, as the caller gave them.
    allow_unsafe : bool
        Whether a variant may run that is wrong by design.
    devices : sequence of int or None
        CUDA devices that share the rows of many sources; None for the current one.
    places : int64 array or None
        For each row of the answer the number of its source, as :func:`nearfar.solve.arrays.once`
        gives them; None where every source has one row.

    Attributes
    ----------
    variant : Variant
        The one that runs.
    reason : str
        Why, in words.
    stats : dict
        Counters and seconds of the run so far.
    block : int
        Rows solved at a time.
    rows_at_once : int
        Of a block of which a reduction is kept, where they have to be made.
    """

    keep = False  # rows stay on the device
    reduction: RowReduction | None = None  # all that is kept of them
    _first = 0  # of the block under way
    _partials: list[Partial] | None = None  # of the rows solved last

    def __init__(
        self,
        graph: Graph,
        rows: Any,
        request: Request,
        method: str,
        options: dict[str, Any],
        *,
        allow_unsafe: bool = False,
        devices: Sequence[int] | None = None,
        places: NDArray[np.int64] | None = None,
    ) -> None:
        self.devices, self.places = devices, places
        self.graph, self.rows, self.request = graph, rows, request
        self.single = request.problem == "sssp"
        self.columns = None if self.single else request.targets
        self.block = self.rows_at_once = max(len(rows), 1)
        self.stats: dict[str, Any] = {}
        self._method, self._options, self._allow_unsafe = method, options, allow_unsafe
        self._narrow = graph.weight_dtype
        self._solved = graph  # of 64-bit integers once a row needed them
        self._wide_rows: list[int] = []  # solved in 64 bits
        self._trees: dict[int, Any] = {}  # of each block, None where they are left to the pass
        if method == "auto" and not options and takes(graph, request):
            self._use(UNCHECKED, "one search of a matrix: its rows are read as they are")
        else:
            self._use(*self._choose())

    @property
    def limit(self) -> Any:
        """The inclusive limit, or None."""
        return self.request.limit

    @property
    def engine(self) -> str:
        """The id of the variant."""
        return self.variant.id

    @property
    def shape(self) -> tuple[int, int]:
        """Rows and columns of the answer."""
        width = self.graph.n_vertices if self.columns is None else len(self.columns)
        return len(self.rows if self.places is None else self.places), width

    @property
    def on_device(self) -> bool:
        """Whether the variant solves a batch on the device."""
        return self.variant.device == "cuda" and "sssp" not in self.variant.problems

    # ---- choose -------------------------------------------------------------------------------

    def _use(self, variant: Variant, reason: str) -> None:
        self.variant, self.reason = variant, reason
        self._checked = build_options(variant.options, self._options, variant.id, having)

    def _choose(self) -> tuple[Variant, str]:
        """A variant for the request; for a batch also a single-source one, run source by source."""
        method = self._method
        if self.single:
            return select(self.graph, self.request, method, allow_unsafe=self._allow_unsafe)
        try:
            return select(self.graph, self.request, method)
        except (VariantUnavailable, NegativeWeightError):
            single = replace(self.request, problem="sssp")
            if method == "auto":  # methods for batches have less than the whole range for sums
                if ranking.cheapest(self.graph, single) is None:
                    raise
                return select(self.graph, single, method)
        tried = find(method, self.request.device)
        if not any("sssp" in v.problems for v in tried):
            return select(self.graph, self.request, method)
        return select(self.graph, single, method)

    def scratch_bytes(self) -> int:
        """What the variant needs besides the rows, roughly and not too little."""
        return self.variant.scratch_bytes(self.graph, self.request)

    def within(self, memory: int, folder: str | None) -> None:
        """Keep to so many bytes: a method and workers that have room, and edges in a file.

        Parameters
        ----------
        memory : int
        folder : str or None
            For the file; None is that for temporary files.

        Raises
        ------
        OSError
            If the folder has no room.
        """
        if self.variant.device != "cpu" or is_prepared(self.graph):
            return
        if self._method == "auto" and self.scratch_bytes() > memory // 2:
            for choice in ranking.rank(self.graph, self.request):
                if choice.variant.scratch_bytes(self.graph, self.request) <= memory // 2:
                    self._use(choice.variant, f"{choice.reason}; others need more memory")
                    break
        while self.request.threads > 1 and self.scratch_bytes() > memory // 2:
            self.request = replace(self.request, threads=self.request.threads // 2)
            self.reason += f"; more than {self.request.threads} workers have no room"
        graph = self.graph
        size = graph.index_dtype.itemsize + graph.weight_dtype.itemsize
        if graph.n_edges * size > memory // 2 and not (graph.has_view and graph.view.packed_bytes):
            if not folder:
                import tempfile

                folder = tempfile.gettempdir()
            graph.view.pack(self.request.threads, folder)
            self.stats["edges_in"] = folder

    # ---- run, widen, mask ---------------------------------------------------------------------

    def solve(self, rows: Any, out: Any = None) -> tuple[Any, Any]:
        """The finished distances of some sources, and the variant's own predecessors or None.

        Parameters
        ----------
        rows : sequence of int
            Vertex indices; the one source, or some of the rows.
        out : array or None
            Memory that the answer may be written to.

        Returns
        -------
        distances : array, shape (n,) for one source, else (len(rows), width)
        predecessors : array of that shape, or None
            With negative weights and a limit always there if the caller wants predecessors, for a
            path may lead over vertices that the mask takes away; for one source in any case.

        Raises
        ------
        DistanceOverflowError
            If a distance of the answer does not fit 64 bits.
        """
        self._partials = None
        found, tree = self._exact(self._solved, rows, out)
        found = narrowed(found, self._narrow)
        if found.dtype != self._narrow:
            self.stats["repeated_in_64_bits"] = True
            if found.dtype.kind == "i" and self._solved is self.graph:
                self._solved = widest(self.graph)  # what follows need not be tried in 32 bits
        return found, tree

    def _exact(self, graph: Graph, rows: Any, out: Any) -> tuple[Any, Any]:
        found, tree, flagged = self._attempt(graph, rows, out)
        lost: list[int] = []
        last = self._last_target(found)
        if self.variant is not UNCHECKED:  # which looked itself
            lost = self._lost(graph, rows, found, flagged, last)
            if lost and graph.weight_dtype.itemsize == 8:
                if flagged is not True or "sssp" in self.variant.problems:
                    for i in lost:  # sums that did not fit may have hidden a negative cycle
                        refuse_reached_cycle(graph, int(rows[i]))
                    raise DistanceOverflowError(
                        f"a distance from {quoted(graph.name_of(int(rows[lost[0]])))} does not fit "
                        f"{graph.weight_dtype}: scale the weights down"
                    )
                # The batch method has less than 64 bits for a sum; searches use all of them.
                single = replace(self.request, problem="sssp", device="cpu", threads=1)
                chosen, why = select(graph, single, "auto")
                self._options = {}
                self._use(chosen, f"{self.reason}; sums near the end of 64 bits: {why}")
                return self._exact(graph, rows, out)
            if tree is None and self.limit is not None and self._signed and self._wants_trees:
                tree = self._pass(graph, rows, found)
        found = self._masked(graph, found, last)
        if tree is not None and not self._signed:
            tree = cleared(tree, found)
        if lost:
            wide = self._exact(widest(graph), [rows[i] for i in lost], None)
            self._partials = None
            return self._joined(found, tree, lost, bool(flagged), *wide)
        return found, tree

    @property
    def _signed(self) -> bool:
        return self.variant.weights == "any" and self.graph.n_negative > 0

    @property
    def _wants_trees(self) -> bool:
        return self.single or self.request.predecessors

    def _attempt(self, graph: Graph, rows: Any, out: Any) -> tuple[Any, Any, Any]:
        """Distances as the variant gives them, its predecessors, and whether a sum saturated.

        The last may be a list of rows instead of a truth value.
        """
        try:
            if self.single:
                return self._search(graph, rows)
            if "sssp" in self.variant.problems:
                return self._source_by_source(graph, rows, out)
            return self._batch(graph, rows, out)
        except Declined as declined:
            if self._method != "auto":
                raise VariantUnavailable(f"{self.variant.id}: {declined}") from declined
            if isinstance(graph, MatrixGraph):
                graph.check()  # says what is wrong with it, if anything is
            self._use(*self._choose())
            return self._attempt(graph, rows, out)
        except NegativeCycleError:
            if self._method != "auto" or self.single or "sssp" in self.variant.problems:
                raise
            # Methods for batches refuse a cycle anywhere; it spoils only rows that reach it.
            single = replace(self.request, problem="sssp")
            chosen, why = select(graph, single, "auto")
            self._options = {}
            self._use(chosen, f"{self.reason}; a negative cycle somewhere: {why}")
            return self._attempt(graph, rows, out)

    def _search(self, graph: Graph, rows: Any) -> tuple[Any, Any, Any]:
        request = self.request
        work = Workspace(
            request.threads,
            request.limit,
            request.targets,
            request.stats,
            predecessors=request.predecessors,
        )
        began = time.perf_counter()
        answer = self.variant.run(graph, rows[0], self._checked, work)
        self.stats = answer.stats
        self.stats.setdefault("seconds", time.perf_counter() - began)
        if self.variant.device == "cpu" and not self.variant.parallel:
            self.stats["workers"] = 1
        return answer.distances, answer.predecessors, answer.stats.get("saturated", False)

    def _batch(self, graph: Graph, rows: Any, out: Any) -> tuple[Any, Any, Any]:
        work = Workspace(
            self.request.threads,
            self.limit,
            columns=self.columns,
            out=out if out is not None and out.dtype == graph.weight_dtype else None,
            on_device=self.keep,
            predecessors=self.request.predecessors,
            devices=self.devices,  # None while this class cuts the rows
            reduction=None if self.variant.reduces else self.reduction,
        )
        answer = self.variant.run(graph, np.asarray(rows, np.int64), self._checked, work)
        self._partials = answer.partials
        if self.keep:
            found = runtime.upload(answer.distances)
        else:
            found = to_host(answer.distances, work.out, self.request.threads)
        self._count(answer.stats)
        return found, answer.predecessors, answer.stats.get("saturated", False)

    def _source_by_source(self, graph: Graph, rows: Any, out: Any) -> tuple[Any, Any, Any]:
        variant, columns = self.variant, self.columns
        shape = (len(rows), self.shape[1])
        fits = out is not None and out.shape == shape and out.dtype == graph.weight_dtype
        matrix = out if fits and not on_device(out) else np.empty(shape, dtype=graph.weight_dtype)
        work = Workspace(1, self.limit, columns)

        def one(i: int) -> dict[str, Any]:
            answer = variant.run(graph, int(rows[i]), self._checked, work)
            row = to_host(answer.distances)
            matrix[i] = row if columns is None else row[columns]
            if columns is not None and self._signed:
                # A column's path may lead over a vertex whose own distance does not fit.
                lost = bool(lost_rows(graph, [rows[i]], row, self.limit))
                answer.stats["saturated"] = answer.stats.get("saturated") or lost
            return answer.stats

        parts = on_threads(one, len(rows), self.request.threads if variant.device == "cpu" else 1)
        total = {
            name: sum(int(part.get(name, 0)) for part in parts)
            for name in ("iterations", "edges_relaxed", "vertices_processed")
        }
        self._count(total)
        flagged = [i for i, part in enumerate(parts) if part.get("saturated")]
        return (runtime.upload(matrix) if self.keep else matrix), None, flagged

    def _count(self, stats: dict[str, Any]) -> None:
        """Add a block's counters to those of the run."""
        for name, value in stats.items():
            counts = isinstance(value, (int, np.integer)) and not isinstance(value, bool)
            add = counts and name not in ("lanes", "lane_bits")
            self.stats[name] = self.stats.get(name, 0) + value if add else value
        self.stats["engine"] = self.variant.id

    def _last_target(self, found: Any) -> Any:
        """The distance of the farthest target, if a search may have stopped there; else None."""
        ends = self.request.targets
        # A path of negative weights may lead over vertices farther than its end: no search stops.
        if not self.single or ends is None or self._signed:
            return None
        farthest = entries(found, ends).max()
        return None if farthest == unreached_value(farthest.dtype) else farthest.item()

    def _lost(self, graph: Graph, rows: Any, found: Any, flagged: Any, last: Any) -> list[int]:
        """The rows in which a distance of the answer may be missing because it does not fit."""
        if self.variant.unsafe:
            return []
        if flagged:
            return list(range(len(rows))) if flagged is True else flagged
        if found.dtype != graph.weight_dtype:
            return []  # the variant computes in 64 bits
        if last is not None:
            return []  # the search stopped there: what it did not settle proves nothing
        threads = self.request.threads
        return lost_rows(graph, rows, found, self.limit, self.columns, threads=threads)

    def _masked(self, graph: Graph, found: Any, last: Any) -> Any:
        """Leave unreached what is beyond the limit or the last target, alike for every variant."""
        bound = self.limit
        if last is not None:
            bound = last if bound is None else min(bound, last)
        if self.single and self.request.targets is not None and not self._signed:
            self.stats["proof_limit"] = bound
        return masked(graph, found, bound, self.request.threads)

    def _joined(
        self, found: Any, tree: Any, lost: list[int], certain: bool, wide: Any, wide_tree: Any
    ) -> tuple[Any, Any]:
        """The rows with those in place that reach more in 64 bits, or that are certainly wrong."""
        before = found.reshape(-1, found.shape[-1])[lost]
        after = wide.reshape(before.shape)
        none, none_wide = (unreached_value(np.dtype(a.dtype)) for a in (before, after))
        wrong = (before == none) & (after != none_wide)
        if self._signed and (low := below(before)) is not None:
            wrong |= low
        more = to_host(wrong.any(axis=1)) | certain
        if not more.any():
            return found, tree
        self._wide_rows += [self._first + lost[i] for i in np.flatnonzero(more)]
        if len(lost) == len(found.reshape(-1, found.shape[-1])) and more.all():
            if self.single:
                self.reason += "; repeated in 64 bits because a 32-bit sum saturated"
            return wide, wide_tree
        places = np.array(lost)[more]
        joined = widened(found, np.dtype(wide.dtype))
        joined[places] = wide[more]
        if tree is not None and wide_tree is not None:
            tree[places] = wide_tree[more]
            return joined, tree
        return joined, None

    def _pass(self, graph: Graph, rows: Any, matrix: Any) -> Any:
        """The pass over tight edges for distances in the dtype of the graph's weights."""
        found, seconds = tight_trees(graph, rows, matrix, self.on_device, self.request.threads)
        if seconds is not None:
            name = "predecessor_device_seconds"
            self.stats[name] = self.stats.get(name, 0.0) + seconds
        return found
