"""Reductions of rows on a CUDA device that never are in memory; see reduce.cuh."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

import numpy as np

from nearfar.errors import OutOfMemoryError
from nearfar.graph.saturation import FARTHEST, may_saturate
from nearfar.graph.slots import Slot
from nearfar.prepared.device import device_tree, far_value
from nearfar.prepared.device_shapes import padded
from nearfar.prepared.device_sweep import Sweep
from nearfar.prepared.device_table import DeviceTable
from nearfar.registry import Figures
from nearfar.system.devices import runtime

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from numpy.typing import NDArray

    from nearfar.prepared.prepared import Prepared
    from nearfar.registry import RowReduction

__all__ = ["DeviceReduction", "reduced", "reduces"]

_READY: Slot[DeviceReduction] = Slot("reduction that was used last on the device")
_FIGURES = ("count", "sum", "mean", "max", "summary")
_ADDED = ("sum", "mean", "summary")
_LEVELS = 6  # kLevels of halves.cuh
_MOST_ROWS = 65_535  # of a grid's y
_KEPT = 32  # nearest per source whose list has room in registers
_ACROSS = 128  # kAcross of reduce.cuh
_WARPS = 8  # kReduceWarps
_SINK = "prepared/sweep_figures.cuh"
_BLOCKS = 2048  # that fill a device
_LEAST_SLICE = 512  # labels
_STATIC = 1024  # bytes of shared memory that a block takes besides
_ADVICE = "use fewer sources per block (block=), or device='cpu'"


def reduces(prepared: Prepared, reduction: RowReduction, exact: bool, width: int) -> bool:
    """Whether a reduction needs no rows.

    Floats with the sums of a search do: these are restored in whole rows.

    Parameters
    ----------
    prepared : Prepared
    reduction : RowReduction
    exact : bool
        Whether floats are to be the sums that a search makes.
    width : int
        Columns of a row.

    Returns
    -------
    bool
    """
    if prepared.n_negative or not width or (exact and prepared.weight_dtype.kind == "f"):
        return False
    if reduction.kind == "nearest":
        return reduction.k <= _KEPT
    if reduction.kind == "histogram":
        return _shared_bytes(reduction, prepared) <= runtime.device().shared_per_block - _STATIC
    return True


def _shared_bytes(reduction: RowReduction, prepared: Prepared) -> int:
    edge = 8 if prepared.weight_dtype.kind == "f" else prepared.weight_dtype.itemsize
    bins = len(reduction.edges) - 1
    return -(-_span(bins) * edge // 16) * 16 + (bins + 2) * _ACROSS * 4


def _span(bins: int) -> int:
    """The power of two that a search among the edges halves: it tells bins + 2 places apart."""
    return 1 << (bins + 1).bit_length()


class DeviceReduction:
    """What rows come to, for blocks of sources, on the current device.

    Parameters
    ----------
    prepared : Prepared
    reduction : RowReduction
        One of which :func:`reduces` says that it needs no rows.
    columns : int64 array or None
        Vertices that count; None means all but the source.
    limit : number or None
        Distances that count, at most.
    each : int
        Sources per sweep, at most.
    table : bool
        Whether the distances of the columns come from a product, not from a sweep.

    Raises
    ------
    OutOfMemoryError
        Before anything is allocated.

    Notes
    -----
    One sweep. Where all vertices count, the figures of a row cost no pass of their own over
    most of them; bins, the nearest and sums in the order of a row are one pass over what the
    sweep wrote.
    """

    def __init__(
        self,
        prepared: Prepared,
        reduction: RowReduction,
        columns: NDArray[np.int64] | None,
        limit: Any,
        each: int,
        table: bool = False,
    ) -> None:
        self.reduction, self.columns = reduction, columns
        self.width = prepared.n_vertices if columns is None else len(columns)
        self.pitch, self.dtype = padded(each), prepared.metric.dtype
        self.out_dtype, self.max_weight = prepared.weight_dtype, prepared.max_weight
        self.tree = device_tree(prepared)
        # A sum that does not fit shows as a distance that is missing, unless a limit is nearer.
        within = limit is not None and limit <= FARTHEST[prepared.weight_dtype]
        self.checks = not within and may_saturate(prepared)
        self.bound = _bound(self.dtype, limit if within else None)
        self.columns_each = 16 // self.dtype.itemsize
        self.macros: dict[str, str | int] = {
            **self.tree.macros,
            "WHOLE": int(self.dtype.kind != "f"),
        }
        self.zeroed: list[Any] = []
        self.counts = reduction.kind in _FIGURES or self.checks
        self._held: list[tuple[Any, int]] = []  # launches, and where they name `values`
        self.plan: Any
        self.values: Any
        self.form: Any = None  # what it was made for, in `reduced`
        bins = max(len(reduction.edges) - 1, 0)
        kept = 2 * self._slices(self.width) * reduction.k * 8
        halved = 8 * (self.width // 32 + 2) if self.halves else 0
        self.scratch = self.pitch * (24 + 4 * bins + kept + halved)
        if table:
            assert columns is not None
            self._over_table(prepared, columns, each)
        else:
            self._over_sweep(prepared, columns, each)
        if reduction.kind == "histogram":
            self._plan_histogram(_shared_bytes(reduction, prepared))
        if reduction.kind == "nearest":
            self._plan_nearest()
        if self.halves:
            self._plan_halves()

    @property
    def halves(self) -> bool:
        """Whether there are sums whose order counts, which is that of a row."""
        floats = self.dtype.kind == "f" and self.reduction.kind in _ADDED
        return floats or self.reduction.kind == "harmonic"

    def _over_table(self, prepared: Prepared, columns: NDArray[np.int64], each: int) -> None:
        runtime.require_memory(self.scratch, _ADVICE)
        self.plan = DeviceTable(prepared, columns, each, _ADVICE)
        self.values, self.listed, self.names = self.plan.values, None, self.plan.targets
        self.in_order = self.plan.place
        self._make_figures()
        if self.zeroed:
            self._plan_figures(self.width)

    def _over_sweep(self, prepared: Prepared, columns: NDArray[np.int64] | None, each: int) -> None:
        sweep = Sweep(prepared, None, each)
        cells = sweep.cells.host
        # Figures of the bottom pass are joined as it goes, unless it keeps its distances in memory.
        on_the_way = columns is None and self.reduction.kind in _FIGURES and not self.halves
        on_the_way &= len(cells.cells) > 0
        kept_rows = sweep.n_upper if on_the_way else prepared.n_vertices
        self._make_values(kept_rows, sweep.scratch_bytes(each) + self.scratch)
        self.listed, self.names = None, self.tree.vertex
        if columns is not None:
            there = runtime.upload(columns)
            self.listed, self.names = self.tree.label[there], there.astype(np.int32)
        self.in_order = self.tree.label if columns is None else self.listed
        self._make_figures()
        if on_the_way:
            figures = (self.bound, self.sums, self.missed, self.most)
            whole = {"WHOLE": self.macros["WHOLE"]}
            self.plan = sweep.ending(self.values, _SINK, "sweep_figures", whole, figures)
            self._plan_figures(kept_rows)
            launches = self.plan.launches
            self._held = [(each, at) for each in launches for at in each.places(self.values)]
        else:
            self.plan = sweep.columns(self.values)
            if self.zeroed:
                self._plan_figures(self.width)

    def _make_values(self, rows: int, more: int) -> None:
        """Memory for the distances of one sweep; `more` bytes are wanted besides."""
        held = rows * self.pitch * self.dtype.itemsize
        runtime.require_memory(held + more, _ADVICE)
        self.values = runtime.cupy().empty((rows, self.pitch), dtype=self.dtype)
        self.kept_rows = rows

    @property
    def may_rest(self) -> bool:
        """Whether it can do without the memory of its distances between two calls."""
        return bool(self._held)

    def rest(self) -> None:
        """Give the memory of the distances back until the next call."""
        for launch, at in self._held:
            launch.point(at, None)
        self.values = None

    def wake(self) -> bool:
        """Make memory for the distances, after a rest; whether there was enough."""
        try:
            self._make_values(self.kept_rows, 0)
        except OutOfMemoryError:
            return False
        for launch, at in self._held:
            launch.point(at, self.values)
        return True

    def _make_figures(self) -> None:
        cp = runtime.cupy()
        if self.counts:
            self.sums = cp.zeros(self.pitch, dtype=np.int64)
            self.missed = cp.zeros(self.pitch, dtype=np.uint32)
            self.most = cp.zeros(self.pitch, dtype=self.dtype)
            self.zeroed += [self.sums, self.missed, self.most]

    def _slices(self, some: int, across: int = _ACROSS) -> int:
        """How many slices of the labels share out the work where sources alone are too few."""
        wanted = -(-_BLOCKS // (self.pitch // across))
        return max(1, min(wanted, some // _LEAST_SLICE))

    def _kernel(self, name: str, **macros: int) -> Any:
        own = {"COLUMNS": self.columns_each, "KEEP": 1, "FOUND_NAMES": 0, "SPAN": 2, **macros}
        return runtime.program("prepared/reduce.cuh", {**self.macros, **own}).kernel(name)

    def _listed(self, some: int) -> tuple[Any, ...]:
        return self.values, np.int64(self.pitch), self.listed, np.int32(some), self.bound

    def _plan_figures(self, some: int) -> None:
        arguments = (*self._listed(some), self.sums, self.missed, self.most)
        across = 32 * self.columns_each
        grid = (self.pitch // across, self._slices(some, across))
        kernel = self._kernel("figures")
        self.plan.launches.append(runtime.Launch(kernel, grid, 32 * _WARPS, arguments))

    def _plan_histogram(self, shared: int) -> None:
        cp = runtime.cupy()
        edges, bins = self.reduction.edges, len(self.reduction.edges) - 1
        dtype, far = self.dtype, far_value(self.dtype)
        if dtype.kind == "f":
            there = np.array(edges, dtype=np.float64)
        else:  # exact beyond 2**53 too
            whole = [far if edge >= far else max(math.ceil(max(edge, 0.0)), 0) for edge in edges]
            there = np.array(whole, dtype=dtype)
        self.host_edges = there
        most = np.inf if dtype.kind == "f" else np.iinfo(dtype).max
        searched = np.full(_span(bins), most, dtype=there.dtype)
        searched[: bins + 1] = there
        self.bins = cp.zeros((bins, self.pitch), dtype=np.uint32)
        self.zeroed.append(self.bins)
        kernel = self._kernel("histogram", SPAN=len(searched))
        kernel.allow_shared(shared)
        arguments = (*self._listed(self.width), runtime.upload(searched), np.int32(bins), self.bins)
        grid = (self.pitch // _ACROSS, self._slices(self.width))
        self.plan.launches.append(runtime.Launch(kernel, grid, _ACROSS, arguments, shared))

    def _plan_nearest(self) -> None:
        cp, vertex = runtime.cupy(), self.tree.vertex
        keep = min(self.reduction.k, self.width)
        slices = self._slices(self.width)
        but = self.plan.labels if self.columns is None else None  # the source itself
        found = [
            tuple(cp.empty((some * keep, self.pitch), dtype) for dtype in (self.dtype, np.int32))
            for some in ((slices, 1) if slices > 1 else (1,))
        ]
        across = self.pitch // _ACROSS
        kernel = self._kernel("nearest", KEEP=keep)
        arguments = (*self._listed(self.width), self.names, but, vertex, *found[0])
        self.plan.launches.append(runtime.Launch(kernel, (across, slices), _ACROSS, arguments))
        if slices > 1:
            kernel = self._kernel("nearest", KEEP=keep, FOUND_NAMES=1)
            near, who = found[0]
            some = np.int32(slices * keep)
            arguments = (near, np.int64(self.pitch), None, some, self.bound, who, None, vertex)
            self.plan.launches.append(
                runtime.Launch(kernel, (across, 1), _ACROSS, (*arguments, *found[1]))
            )
        self.near, self.who = found[-1]

    def _plan_halves(self) -> None:
        cp = runtime.cupy()
        kind, values, width = 2 if self.reduction.kind == "harmonic" else 1, self.values, self.width
        listed, bound = self.in_order, self.bound
        but = self.plan.labels if self.columns is None else None  # the source itself
        while kind or width > 1:
            after = -(-width // 2**_LEVELS)
            sums = cp.empty((after, self.pitch), dtype=np.float64)
            kernel = runtime.program(
                "prepared/halves.cuh", {**self.tree.macros, "KIND": kind}
            ).kernel("by_halves")
            arguments = (
                *(values, np.int64(self.pitch), listed, np.int32(width), bound, but),
                *(self.tree.vertex, sums),
            )
            grid = (self.pitch // _ACROSS, min(after, _MOST_ROWS))
            self.plan.launches.append(runtime.Launch(kernel, grid, _ACROSS, arguments))
            kind, values, width, listed, bound, but = 0, sums, after, None, np.float64(0), None
        self.halved = values

    def __call__(self, sources: NDArray[np.int64]) -> Figures | None:
        """What the rows of some sources come to.

        Parameters
        ----------
        sources : int64 array, shape (k,)

        Returns
        -------
        Figures or None
            On the device; None where a sum may not fit, so that rows are needed.
        """
        cp = runtime.cupy()
        there = runtime.upload(np.asarray(sources))
        # In the order of the tree: what is near a source is then near those beside it, too.
        order = cp.argsort(self.tree.label[there])
        there = there[order]
        floats = self.dtype.kind == "f"
        figures = cp.zeros((3, len(there)), np.float64 if floats else np.int64)
        parts = []
        timer = runtime.Timer().start()
        for low in range(0, len(there), self.pitch):
            for array in self.zeroed:
                array.fill(0)
            part = there[low : low + self.pitch]
            self.plan(part)
            parts.append(self._kept(figures[:, low : low + len(part)]))
        found = cp.empty_like(figures)
        found[:, order] = figures
        bins, vertices, distances = (
            None if column[0] is None else _in_places(column, order)
            for column in zip(*parts, strict=True)
        )
        seconds = timer.stop().seconds  # waits in Python: a signal is seen
        counts, sums, most = self._read(found)
        if self._may_be_lost(counts, most):
            return None
        stats = {"sweeps": len(parts), "device_seconds": seconds}
        return Figures(counts, sums, most, bins, vertices, distances, stats)

    def _kept(self, figures: Any) -> tuple[Any, Any, Any]:
        """Of one sweep: bins, vertices and distances, copies; the rest goes to ``figures``."""
        cp, dtype, count = runtime.cupy(), self.out_dtype, figures.shape[1]
        back = self.plan.back if isinstance(self.plan, DeviceTable) else slice(count)
        bins = vertices = distances = None
        if self.counts:
            figures[0], figures[2] = self.missed[back], self.most[back]
            if self.dtype.kind != "f":
                figures[1] = self.sums[back]
        if self.halves:  # of whole numbers the bits
            figures[1].view(np.float64)[...] = self.halved[0][back]
        if self.reduction.kind == "histogram":
            bins = self.bins[:, back].T.astype(np.int64)
            at = int(np.searchsorted(self.host_edges, 0, side="right")) - 1
            if self.columns is None and 0 <= at < bins.shape[1]:
                bins[:, at] -= 1  # the source does not count
        if self.reduction.kind == "nearest":
            k, keep = self.reduction.k, len(self.near)
            none = self.who[:, back].T < 0
            vertices = cp.full((count, k), -1, dtype=np.int64)
            vertices[:, :keep] = self.who[:, back].T
            far = np.inf if dtype.kind == "f" else np.iinfo(dtype).max
            distances = cp.full((count, k), far, dtype=dtype)
            distances[:, :keep] = cp.where(
                none, dtype.type(far), self.near[:, back].T.astype(dtype)
            )
        return bins, vertices, distances

    def _read(self, figures: Any) -> tuple[Any, Any, Any]:
        """Counts, sums and greatest distances, on the host."""
        if not (self.counts or self.halves):
            return None, None, None
        missed, sums, farthest = runtime.download(figures)
        sums = sums.view(np.float64) if self.halves else sums.astype(np.int64, copy=False)
        if not self.counts:
            return None, sums, None
        every = self.width - int(self.columns is None)
        counts = every - missed.astype(np.int64, copy=False)
        most = np.where(counts > 0, farthest, -1).astype(self.out_dtype, copy=False)
        return counts, sums, most

    def _may_be_lost(self, counts: Any, most: Any) -> bool:
        """Whether a distance or a sum of distances may be missing because it does not fit."""
        if counts is None or not len(counts):
            return False
        if self.out_dtype.kind == "i" and int(most.max()) * self.width >= 2**63:
            return True
        if not self.checks:
            return False
        short = counts < self.width - int(self.columns is None)
        if self.columns is None:
            top = FARTHEST[self.out_dtype] - self.max_weight
            short &= np.maximum(most, 0) > top
        return bool(short.any())


def reduced(
    prepared: Prepared,
    reduction: RowReduction,
    columns: NDArray[np.int64] | None,
    limit: Any,
    wanted: int,
    each: Callable[[], int],
    table: bool,
    sources: NDArray[np.int64],
) -> Figures | None:
    """What the rows of some sources come to, on the current device.

    Parameters
    ----------
    prepared, reduction, columns, limit, table
        As for :class:`DeviceReduction`.
    wanted : int
        Sources per sweep where memory is no matter.
    each : callable
        How many there is memory for; called for a new plan.
    sources : int64 array, shape (k,)

    Returns
    -------
    Figures or None
        As calling a :class:`DeviceReduction`.

    Notes
    -----
    To plan the launches takes the host as long as some hundred sources take the device. So the
    plan that was used last is kept where it holds little memory; a caller takes it away, since its
    arrays are for one call at a time.
    """
    here = runtime.device().ordinal
    form = (reduction, limit, padded(wanted))
    made = _READY.take(prepared, here) if columns is None else None
    if made is None or made.form != form or not made.wake():
        made = DeviceReduction(prepared, reduction, columns, limit, each(), table)
        made.form = form
    found = made(sources)
    if made.may_rest:
        made.rest()
        _READY.put(prepared, made, here)
    return found


def _in_places(parts: Sequence[Any], places: Any) -> Any:
    """Rows of all parts, each in its place."""
    cp = runtime.cupy()
    rows = cp.concatenate(parts)
    found = cp.empty_like(rows)
    found[places] = rows
    return found


def _bound(dtype: np.dtype[Any], limit: Any) -> Any:
    """The greatest distance of the arcs' dtype that counts."""
    if dtype.kind == "f":
        return dtype.type(np.finfo(dtype).max if limit is None else limit)
    return dtype.type(int(far_value(dtype)) - 1 if limit is None else math.floor(limit))
