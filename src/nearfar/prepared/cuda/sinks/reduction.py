"""Launches that reduce rows on a CUDA device without storing them; see reduce.cuh."""

from __future__ import annotations

import math
from collections.abc import Callable, Generator, Mapping, Sequence
from itertools import pairwise
from typing import Any

import numpy as np
from numpy.typing import NDArray

from nearfar.cuda.device_graph import far_value
from nearfar.errors import keyword
from nearfar.graph.saturation import FARTHEST, may_saturate
from nearfar.graph.slots import Slot
from nearfar.prepared.cuda.bottoms.cells import Sweep
from nearfar.prepared.cuda.bottoms.table import Table
from nearfar.prepared.cuda.device import device_tree
from nearfar.prepared.cuda.query import Query
from nearfar.prepared.cuda.shapes import padded, shared_room
from nearfar.prepared.prepared import Prepared
from nearfar.registry import FIGURES, Answer, Partial, RowReduction
from nearfar.system.devices import runtime, several
from nearfar.system.devices.arrays import as_dtype

_READY: Slot[DeviceReduction] = Slot("reduction that was used last on the device")
_ADDED = ("sum", "mean", "summary")
_LEVELS = 6  # kLevels of halves.cuh
_MOST_ROWS = 65_535  # maximum of a grid's y dimension
_KEPT = 32  # maximum number of nearest per source whose list fits registers
_ACROSS = 128  # kAcross of reduce.cuh
_WARPS = 8  # kReduceWarps
_SINK = "prepared/cuda/sinks/sweep_figures.cuh"
_BLOCKS = 2048  # number of blocks that fill a device
_LEAST_SLICE = 512  # minimum number of labels of a slice
_ADVICE = f"use fewer sources per block ({keyword('block', ...)}), or {keyword('device', 'cpu')}"
_BINS = 8192  # kBins of source_order.cuh
_STATUS = 16  # bytes: status of place_figures.cuh
# Kinds of reduction that place_figures.cuh writes.
_PLACED = {
    "count": ("counts",),
    "sum": ("totals",),
    "mean": ("counts", "totals"),
    "max": ("counts", "most"),
    "summary": ("counts", "totals", "most"),
    "harmonic": ("totals",),
}


def _shared_bytes(reduction: RowReduction, prepared: Prepared) -> int:
    dtype = prepared.metric.dtype
    edge = 8 if dtype.kind == "f" else dtype.itemsize
    bins = len(reduction.edges) - 1
    return -(-_span(bins) * edge // 16) * 16 + (bins + 2) * _ACROSS * 4


def _span(bins: int) -> int:
    """Return the padded length of a binary search among edges: a power of two above bins + 1."""
    return 1 << (bins + 1).bit_length()


class DeviceReduction:
    """Reduction of rows for blocks of sources, on the current device.

    One sweep computes the distances. If all vertices count, the figures of a row are joined during
    the sweep for most of them; bins, the nearest, and sums in the order of a row take one pass over
    the distances that the sweep stored.
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
        # A sum that does not fit appears as a missing distance, unless a limit excludes it.
        within = limit is not None and limit <= FARTHEST[prepared.weight_dtype]
        self.checks = not within and may_saturate(prepared)
        self.fixed, self.step = prepared.fixed, self.tree.step
        self.bound = _bound(prepared, limit if within else None)
        self.columns_each = 16 // self.dtype.itemsize
        self.macros: dict[str, str | int] = {
            **self.tree.macros,
            "WHOLE": int(self.dtype.kind != "f"),
        }
        self.zeroed: list[Any] = []
        self.counts = reduction.kind in FIGURES or self.checks
        self.form: Any = None  # key of its purpose in `reduced`
        bins = max(len(reduction.edges) - 1, 0)
        kept = 2 * self._slices(self.width) * reduction.k * 8
        halved = 8 * (self.width // 32 + 2) if self.halves else 0
        beside = self.pitch * (24 + 4 * bins + kept + halved)
        self._compose(prepared, each, table, {"advice": _ADVICE, "beside": beside})
        if reduction.kind == "histogram":
            self._add_histogram(_shared_bytes(reduction, prepared))
        if reduction.kind == "nearest":
            self._add_nearest()
        if self.halves:
            self._add_halves()
        self._make_places()

    @property
    def halves(self) -> bool:
        """Whether there are sums that depend on the order of the row."""
        floats = self.out_dtype.kind == "f" and self.reduction.kind in _ADDED
        return floats or self.reduction.kind == "harmonic"

    def _compose(
        self, prepared: Prepared, each: int, table: bool, memory: Mapping[str, Any]
    ) -> None:
        """Compose the query, possibly with a pass of this sink, and count its memory."""
        columns, tree = self.columns, self.tree
        sweep, self.on_the_way = None, False
        self.query: Query
        self.listed, self.names, self.in_order = None, tree.vertex, tree.label
        if table:
            assert columns is not None
            product = Table(prepared, columns, each, **memory)
            self.query, self.names, self.in_order = product, product.targets, product.place
        else:
            sweep = Sweep(prepared, None, each)
            # The bottom pass joins figures as it runs, unless it stores distances.
            self.on_the_way = columns is None and self.reduction.kind in FIGURES
            self.on_the_way &= not self.halves and len(sweep.cells.host.cells) > 0
            self.query = (sweep.above_alone if self.on_the_way else sweep.columns)(each, **memory)
        if columns is not None and sweep is not None:
            there = runtime.upload(columns)
            self.listed, self.names = tree.label[there], there.astype(np.int32)
            self.in_order = self.listed
        if self.counts:
            self._make_figures()
        if sweep is not None and self.on_the_way:
            whole, given = {"WHOLE": self.macros["WHOLE"]}, {"bound": self.bound, **self._figures}
            sweep.through(
                self.query, sweep.above.held.place, _SINK, "sweep_figures", whole, **given
            )
        if self.counts:
            self._add_figures(len(self.query.values) if self.on_the_way else self.width)

    def _make_figures(self) -> None:
        dtypes: list[Any] = [np.dtype(np.int64), np.dtype(np.uint32), self.dtype]
        ends = np.cumsum([0, *(self.pitch * dtype.itemsize for dtype in dtypes)])
        both = runtime.cupy().zeros(int(ends[-1]), dtype=np.uint8)
        self.sums, self.missed, self.most = (
            both[low:high].view(dtype)
            for (low, high), dtype in zip(pairwise(ends.tolist()), dtypes, strict=True)
        )
        self.zeroed.append(both)

    def _slices(self, some: int, across: int = _ACROSS) -> int:
        """Return the number of slices of the labels, which share the work of few sources."""
        wanted = -(-_BLOCKS // (self.pitch // across))
        return max(1, min(wanted, some // _LEAST_SLICE))

    def _kernel(self, name: str, **macros: int) -> Any:
        own = {"COLUMNS": self.columns_each, "KEEP": 1, "FOUND_NAMES": 0, "SPAN": 2, **macros}
        return runtime.program("prepared/cuda/sinks/reduce.cuh", {**self.macros, **own}).kernel(
            name
        )

    @property
    def _figures(self) -> dict[str, Any]:
        return {"sums": self.sums, "missed": self.missed, "greatest": self.most}

    def _listed(self, some: int) -> dict[str, Any]:
        return {
            "values": self.query.values,
            "pitch": np.int64(self.pitch),
            "listed": self.listed,
            "some": np.int32(some),
            "bound": self.bound,
        }

    def _add_figures(self, some: int) -> None:
        arguments = {**self._listed(some), **self._figures}
        across = 32 * self.columns_each
        grid = (self.pitch // across, self._slices(some, across))
        self.query.add(self._kernel("figures"), grid, 32 * _WARPS, arguments)

    def _add_histogram(self, shared: int) -> None:
        cp = runtime.cupy()
        edges, bins = self.reduction.edges, len(self.reduction.edges) - 1
        dtype, far = self.dtype, far_value(self.dtype)
        if dtype.kind == "f":
            there = np.array(edges, dtype=np.float64)
        else:  # exact beyond 2**53 too
            whole = [self._least(edge, far) for edge in edges]
            there = np.array(whole, dtype=dtype)
        self.host_edges = there
        most = np.inf if dtype.kind == "f" else np.iinfo(dtype).max
        searched = np.full(_span(bins), most, dtype=there.dtype)
        searched[: bins + 1] = there
        self.bins = cp.zeros((bins, self.pitch), dtype=np.uint32)
        self.zeroed.append(self.bins)
        kernel = self._kernel("histogram", SPAN=len(searched))
        arguments = {**self._listed(self.width), "edges": runtime.upload(searched)}
        arguments |= {"bins": np.int32(bins), "counts": self.bins}
        grid = (self.pitch // _ACROSS, self._slices(self.width))
        self.query.add(kernel, grid, _ACROSS, arguments, shared)

    def _least(self, edge: float, far: Any) -> int:
        """Return the least integer distance that is at least an edge, or the one for "no path"."""
        if self.fixed is not None:
            below = np.nextafter(edge, -np.inf) if edge > 0 else -1.0
            return min(self.fixed.steps_within(below, self.out_dtype) + 1, int(far))
        return int(far) if edge >= far else max(math.ceil(max(edge, 0.0)), 0)

    def _add_nearest(self) -> None:
        cp, vertex = runtime.cupy(), self.tree.vertex
        keep = min(self.reduction.k, self.width)
        slices = self._slices(self.width)
        but = self.query.labels if self.columns is None else None  # the source itself
        found = [
            tuple(cp.empty((some * keep, self.pitch), dtype) for dtype in (self.dtype, np.int32))
            for some in ((slices, 1) if slices > 1 else (1,))
        ]
        across = self.pitch // _ACROSS
        kernel = self._kernel("nearest", KEEP=keep)
        near, who = found[0]
        arguments = {**self._listed(self.width), "names": self.names, "but": but, "vertex": vertex}
        arguments |= {"near": near, "who": who}
        self.query.add(kernel, (across, slices), _ACROSS, arguments)
        if slices > 1:
            kernel = self._kernel("nearest", KEEP=keep, FOUND_NAMES=1)
            arguments |= {"values": near, "listed": None, "some": np.int32(slices * keep)}
            arguments |= {"names": who, "but": None, "near": found[1][0], "who": found[1][1]}
            self.query.add(kernel, (across, 1), _ACROSS, arguments)
        self.near, self.who = found[-1]

    def _add_halves(self) -> None:
        cp = runtime.cupy()
        kind, width = 2 if self.reduction.kind == "harmonic" else 1, self.width
        values = self.query.values
        listed, bound = self.in_order, self.bound
        but = self.query.labels if self.columns is None else None  # the source itself
        while kind or width > 1:
            after = -(-width // 2**_LEVELS)
            sums = cp.empty((after, self.pitch), dtype=np.float64)
            kernel = runtime.program(
                "prepared/cuda/sinks/halves.cuh", {**self.tree.macros, "KIND": kind}
            ).kernel("by_halves")
            arguments = {
                "values": values,
                "pitch": np.int64(self.pitch),
                "listed": listed,
                "width": np.int32(width),
                "bound": bound,
                "but": but,
                "vertex": self.tree.vertex,
                "sums": sums,
                "step": self.step,
            }
            grid = (self.pitch // _ACROSS, min(after, _MOST_ROWS))
            self.query.add(kernel, grid, _ACROSS, arguments)
            kind, values, width, listed, bound, but = 0, sums, after, None, np.float64(0), None
        self.halved = values

    def _make_places(self) -> None:
        """Prepare launches that order sources, and move figures to their places."""
        types: dict[str, str | int] = {"INDEX_T": "int", "OFFSET_T": "int", "WEIGHTED": 1}
        kernel = runtime.program(
            "prepared/cuda/sinks/source_order.cuh", {**types, "WEIGHT_T": "int"}
        ).kernel("source_order")
        shift = max((len(self.tree.label) - 1).bit_length() - (_BINS - 1).bit_length(), 0)
        arguments = {"sources": None, "label": self.tree.label, "count": np.int32(0)}
        arguments |= {"shift": np.int32(shift), "ordered": None, "order": None}
        self._order = runtime.Launch(kernel, 1, 1024, arguments)
        macros = {**self.macros, "DOUBLES": int(self.halves)}
        kernel = runtime.program("prepared/cuda/sinks/place_figures.cuh", macros).kernel(
            "place_figures"
        )
        whole, own = self.dtype.kind != "f", int(self.columns is None)
        top = -1.0  # with columns, missing distances prove nothing
        if not self.checks:
            top = np.iinfo(np.int64).max if whole else np.inf
        elif own:
            top = FARTHEST[self.out_dtype] - self.max_weight
        figures = self._figures if self.counts else dict.fromkeys(("sums", "missed", "greatest"))
        if self.halves:
            figures["sums"] = self.halved.view(np.uint64)
        absent = ("back", "order", "counts", "totals", "means", "most", "status")
        arguments = {
            **figures,
            **dict.fromkeys(absent),
            "count": np.int32(0),
            "every": np.int64(self.width - own),
            "top": np.int64(top) if whole else np.float64(top),
            "step": self.step,
        }
        grid = -(-self.pitch // 256)
        self._place = runtime.Launch(kernel, grid, 256, arguments)

    def steps(
        self, sources: NDArray[np.int64]
    ) -> Generator[None, None, tuple[Partial, dict[str, Any]] | None]:
        """Reduce the rows of some sources.

        Yields after the launches of the first sweep and after the last one, where another device
        may be given work.
        """
        cp, count = runtime.cupy(), len(sources)
        timer = runtime.Timer().start()
        given = runtime.upload(sources.astype(np.int32))
        # In tree order, vertices near one source are also near the next one.
        there, order = cp.empty(count, dtype=np.int64), cp.empty(count, dtype=np.int32)
        self._order.set(sources=given, count=np.int32(count), ordered=there, order=order)
        self._order()
        parts: list[tuple[Any, Any, Any]] = []
        found: Any = None
        fields: dict[str, tuple[int, int, Any]] = {}
        for low in range(0, count, self.pitch):
            for array in self.zeroed:
                array.fill(0)
            part = there[low : low + self.pitch]
            self.query(part)
            if found is None:
                yield
                found, fields = self._made_room(count)
            if fields or self.checks:
                places = order[low : low + self.pitch]
                self._place.set(back=self.query.back, order=places, count=np.int32(len(part)))
                self._place()
            parts.append(self._kept(len(part)))
        bins, vertices, distances = (
            None if column[0] is None else _in_places(column, order)
            for column in zip(*parts, strict=True)
        )
        timer.stop()
        landing = runtime.Pinned(found.nbytes)
        landing.copy_from(found)
        yield
        landed = landing.wait_for()
        farthest, lost = landed[:_STATUS].view(np.uint64).tolist()
        if lost or (self.out_dtype.kind == "i" and farthest * self.width >= 2**63):
            return None
        figures = {
            name: landed[low:high].view(dtype) for name, (low, high, dtype) in fields.items()
        }
        stats = {"sweeps": len(parts), "device_seconds": timer.seconds}
        return Partial(bins=bins, vertices=vertices, distances=distances, **figures), stats

    def __call__(self, sources: NDArray[np.int64]) -> tuple[Partial, dict[str, Any]] | None:
        """Reduce the rows of some sources, as :meth:`steps` does."""
        here = runtime.device().ordinal
        return several.in_turns([sources], [here], self.steps)[0][0]

    def _made_room(self, count: int) -> tuple[Any, dict[str, tuple[int, int, Any]]]:
        """Allocate memory for placed figures; return it with each field's layout."""
        names = _PLACED.get(self.reduction.kind, ())
        dtypes = {"counts": np.int64, "totals": np.float64}
        kinds = [np.dtype(dtypes.get(name, self.out_dtype)) for name in names]
        ends = np.cumsum([_STATUS, *(count * kind.itemsize for kind in kinds)]).tolist()
        found = runtime.cupy().empty(ends[-1], dtype=np.uint8)
        found[:_STATUS].fill(0)
        fields = dict(zip(names, zip(ends[:-1], ends[1:], kinds, strict=True), strict=True))
        placed = {name: found[low:high].view(kind) for name, (low, high, kind) in fields.items()}
        none = dict.fromkeys(("counts", "totals", "means", "most"))
        self._place.set(status=found[:_STATUS].view(np.uint64), **{**none, **placed})
        return found, fields

    def _kept(self, count: int) -> tuple[Any, Any, Any]:
        """Return copies of the bins, vertices and distances of one sweep."""
        cp, dtype = runtime.cupy(), self.out_dtype
        back = slice(count) if self.query.back is None else self.query.back
        bins = vertices = distances = None
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
            near = self.near[:, back].T.astype(dtype)
            if self.fixed is not None:
                near = as_dtype(near.astype(np.float64) * self.fixed.step, dtype)
            distances[:, :keep] = cp.where(none, dtype.type(far), near)
        return bins, vertices, distances


def _in_places(parts: Sequence[Any], places: Any) -> Any:
    """Return the rows of all parts in the order of their places."""
    cp = runtime.cupy()
    rows = cp.concatenate(parts)
    found = cp.empty_like(rows)
    found[places] = rows
    return found


def _bound(prepared: Prepared, limit: Any) -> Any:
    """Return the greatest distance of the arcs' dtype that counts."""
    dtype, fixed = prepared.metric.dtype, prepared.fixed
    if fixed is not None and limit is not None:
        return dtype.type(max(fixed.steps_within(float(limit), prepared.weight_dtype), 0))
    if dtype.kind == "f":
        return dtype.type(np.finfo(dtype).max if limit is None else limit)
    return dtype.type(int(far_value(dtype)) - 1 if limit is None else math.floor(limit))


def reduces(prepared: Prepared, reduction: RowReduction, width: int) -> bool:
    """Return whether a reduction does not need whole rows.

    Floats with the sums of a search need them: these are restored in whole rows. So do floats in
    fixed point that may be too large for their dtype.
    """
    if prepared.n_negative or not width or prepared.adds_floats:
        return False
    # steps do not show that a float overflows
    if prepared.fixed is not None and may_saturate(prepared):
        return False
    # The data of a row must fit a kernel's registers or shared memory.
    if reduction.kind == "nearest":
        return reduction.k <= _KEPT
    return reduction.kind != "histogram" or _shared_bytes(reduction, prepared) <= shared_room()


def reduced(
    prepared: Prepared,
    reduction: RowReduction,
    columns: NDArray[np.int64] | None,
    limit: Any,
    most: int,
    each: Callable[[int], int],
    table: bool,
    sources: NDArray[np.int64],
    devices: Sequence[int],
) -> Answer:
    """Reduce the rows of some sources on devices that share them.

    Planning the launches takes the host as long as some hundred sources take the device, so the
    last plan is cached if it holds little memory. A call removes it from the cache while it runs,
    since a plan's arrays serve one call at a time.
    """

    def steps(
        part: NDArray[np.int64],
    ) -> Generator[None, None, tuple[Partial, dict[str, Any]] | None]:
        here = runtime.device().ordinal
        wanted = -(-len(part) // -(-len(part) // most))  # sources per sweep, equal sizes
        form = (reduction, limit, padded(wanted))
        made = _READY.take(prepared, here) if columns is None else None
        if made is None or made.form != form or not made.query.restore():
            made = DeviceReduction(prepared, reduction, columns, limit, each(wanted), table)
            made.form = form
        found = yield from made.steps(part)
        if made.on_the_way:  # small once its distances are released
            made.query.release()
            _READY.put(prepared, made, here)
        return found

    share = -(-len(sources) // len(devices))
    parts = [sources[low : low + share] for low in range(0, len(sources), share)]
    shares, failed = several.in_turns(parts, devices, steps)
    found = [one for one in shares if one is not None]
    if len(found) < len(parts):
        return Answer(None)
    stats: dict[str, Any] = {"sweeps": sum(counted["sweeps"] for _, counted in found)}
    if len(devices) > 1:
        stats["devices"] = list(devices)
    else:
        stats["device_seconds"] = sum(counted["device_seconds"] for _, counted in found)
    if failed:
        stats["failed_devices"] = {at: str(error) for at, error in failed.items()}
    return Answer(None, stats, partials=[partial for partial, _ in found])
