"""Tables on a CUDA device: distances between sources and targets as a product; see table.cuh."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from nearfar.prepared.cuda.pairs.pairs import device_walks
from nearfar.prepared.cuda.shapes import climb_form, padded
from nearfar.system.devices import runtime
from nearfar.system.devices.several import copy_to

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from nearfar.prepared.cuda.sinks.rows import RowForm
    from nearfar.prepared.prepared import Prepared

__all__ = ["DeviceTable", "TableRows", "sources_per_table", "table_pays"]

_ACROSS, _HIGH = 16, 64  # kAcross and kHigh of table.cuh
_SWEPT = 17  # what a vertex of a sweep costs besides its arcs, in arcs
_STATIC = 1024  # bytes of shared memory that a block takes besides
_MOST_TILES = 65_535  # of targets, the grid's y
_MOST = 8192  # sources per block: more do not pay
_FEW = 4096  # sources that the host sorts
_TILE, _NEAR = 64, 2  # kTile and kNear of rows.cuh


def table_pays(prepared: Prepared, width: int) -> bool:
    """Whether so many targets cost less by themselves than among all vertices.

    A product looks at the common ancestors of a source and a target, a few dozen of them where
    separators are small; a sweep looks at every arc.

    Parameters
    ----------
    prepared : Prepared
    width : int

    Returns
    -------
    bool
    """
    height = prepared.preparation.figures.height
    *_, shared = climb_form(height, prepared.metric.dtype.itemsize)
    climbs_fit = shared <= runtime.device().shared_per_block - _STATIC
    sweep = prepared.metric.n_swept + _SWEPT * prepared.n_vertices
    return climbs_fit and width <= _MOST_TILES * _HIGH and width * height / 2 < sweep


def sources_per_table(prepared: Prepared, width: int, sources: int) -> int:
    """As many sources as a third of the free memory has room for, and no more than pay.

    Parameters
    ----------
    prepared : Prepared
    width : int
    sources : int

    Returns
    -------
    int
    """
    free, _ = runtime.memory()
    each = (prepared.preparation.figures.height + 3 * width) * prepared.metric.dtype.itemsize + 40
    room = max(1, free // (3 * each) // 128) * 128
    return int(min(room, _MOST, max(sources, 1)))


class DeviceTable:
    """Distances between blocks of sources and the same targets, on the current device.

    Parameters
    ----------
    prepared : Prepared
    targets : int64 array, shape (width,)
        Vertices; one may be there twice.
    each : int
        Sources per block, at most.
    advice : str
        What to do when memory is short.

    Attributes
    ----------
    values : array, shape (width, padded(each))
        Distances, of the dtype of the arcs' weights, as [target][source] in the order of labels.
    place : int32 array, shape (width,)
        The row of ``values`` of each target.
    targets : int32 array, shape (width,)
        The vertex of each row of ``values``.
    back : int64 array, shape (k,)
        The column of ``values`` of each source of the last block.
    labels : int32 array, shape (padded(each),)
        Of the sources in the order of the columns, then -1.

    Raises
    ------
    OutOfMemoryError
        Before anything is allocated.

    Notes
    -----
    O(arcs of climbs + k width h) for h common ancestors of a source and a target.
    """

    def __init__(
        self, prepared: Prepared, targets: NDArray[np.int64], each: int, advice: str
    ) -> None:
        cp = runtime.cupy()
        self._walks = walks = device_walks(prepared)
        self._label = prepared.preparation.tree.label
        tree, dtype = walks.tree, prepared.metric.dtype
        width, self.pitch = len(targets), padded(each)
        high = max(tree.height, 1)
        target_pitch = padded(-(-width // _HIGH) * _HIGH)
        climbs = high * (self.pitch + target_pitch) * dtype.itemsize
        tables = width * self.pitch * dtype.itemsize + 40 * (self.pitch + target_pitch)
        runtime.require_memory(climbs + tables, advice)
        columns = 16 // dtype.itemsize
        self._program = runtime.program(
            "prepared/cuda/pairs/table.cuh", {**tree.macros, "COLUMNS": columns}
        )
        there = runtime.upload(targets)
        order = cp.argsort(tree.label[there])
        self.place = cp.empty(width, dtype=np.int32)
        self.place[order] = cp.arange(width, dtype=np.int32)
        self.targets = there[order].astype(np.int32)
        target_labels = cp.empty(target_pitch, dtype=np.int32)
        target_climbs = cp.zeros((high, target_pitch), dtype=dtype)
        climb = self._climb(walks.down, there[order], target_labels, target_climbs)
        climb.set(count=np.int32(width))
        climb()
        target_ends = self._ends(target_labels, width, _HIGH)
        self.labels = cp.empty(self.pitch, dtype=np.int32)
        self.sources = cp.zeros(self.pitch, dtype=np.int64)
        self.back = order[:0]
        self.values = cp.empty((width, self.pitch), dtype=dtype)
        space = cp.zeros((high, self.pitch), dtype=dtype)
        self._first = self._climb(walks.up, self.sources, self.labels, space)
        ends = (cp.empty(self.pitch, np.int32), cp.empty(self.pitch, np.int32))
        arguments = {
            "spine": walks.spine,
            "sources": self.labels,
            "from_start": ends[0],
            "to_end": ends[1],
            "targets": target_labels,
            "target_from_start": target_ends[0],
            "target_to_end": target_ends[1],
            "count": np.int32(width),
            "climbs": space,
            "pitch": np.int64(self.pitch),
            "target_climbs": target_climbs,
            "target_pitch": np.int64(target_pitch),
            "rows": self.values,
        }
        tiles = (self.pitch // (_ACROSS * columns), -(-width // _HIGH))
        self.launches = [
            self._depths(self.labels, self.pitch, _ACROSS * columns, ends),
            runtime.Launch(self._program.kernel("table"), tiles, 256, arguments),
        ]

    def _climb(self, side: Any, vertices: Any, labels: Any, space: Any) -> Any:
        tree = self._walks.tree
        form, warps, shared = climb_form(tree.height, space.dtype.itemsize)
        kernel = runtime.program("prepared/cuda/fronts/climb.cuh", {**tree.macros, **form}).kernel(
            "climb"
        )
        kernel.allow_shared(shared)
        node, head_depth, weight = side
        arguments = {
            "node": node,
            "jump": tree.jump,
            "head_depth": head_depth,
            "weight": weight,
            "label": tree.label,
            "sources": vertices,
            "count": np.int32(0),
            "unit": np.int32(0),
            "stop": None,
            "labels": labels,
            "space": space,
            "pitch": np.int64(len(labels)),
            "height": np.int32(tree.height),
        }
        return runtime.Launch(kernel, -(-len(labels) // warps), 32 * warps, arguments, shared)

    def _depths(self, labels: Any, some: int, size: int, ends: tuple[Any, Any]) -> Any:
        arguments = {
            "spine": self._walks.spine,
            "labels": labels,
            "some": np.int32(some),
            "size": np.int32(size),
            "from_start": ends[0],
            "to_end": ends[1],
        }
        return runtime.Launch(self._program.kernel("tile_depths"), -(-some // 256), 256, arguments)

    def _ends(self, labels: Any, some: int, size: int) -> tuple[Any, Any]:
        cp = runtime.cupy()
        ends = (cp.empty(some, np.int32), cp.empty(some, np.int32))
        if some:
            self._depths(labels, some, size, ends)()
        return ends

    def __call__(self, sources: Any) -> None:
        """Fill ``values`` for some sources.

        Parameters
        ----------
        sources : int64 array, shape (k,)
            Vertices; on the host or on the device.
        """
        cp = runtime.cupy()
        count = len(sources)
        if count <= _FEW and isinstance(sources, np.ndarray):  # many small steps there take longer
            order = np.argsort(self._label[sources], kind="stable")
            both = runtime.upload(np.stack([sources[order], np.argsort(order)]))
            self.sources[:count], self.back = both[0], both[1]
        else:
            given = runtime.upload(sources)
            order = cp.argsort(self._walks.tree.label[given])
            self.sources[:count], self.back = given[order], cp.argsort(order)
        self._first.set(count=np.int32(count))
        self._first()
        for launch in self.launches:
            launch()


class TableRows:
    """Blocks of a table on the current device, one after the other in the same scratch memory.

    Parameters
    ----------
    prepared : Prepared
    form : RowForm
        With columns; floats are the sums over shortcuts.
    each : int
        Sources per block, at most.

    Raises
    ------
    OutOfMemoryError
        Before anything is allocated.
    """

    def __init__(self, prepared: Prepared, form: RowForm, each: int) -> None:
        cp = runtime.cupy()
        self.form, dtype = form, prepared.answer_dtype
        width = len(form.columns)
        runtime.require_memory(2 * each * width * dtype.itemsize, form.advice)
        self.table = DeviceTable(prepared, form.columns, each, form.advice)
        self.rows = cp.empty((each, width), dtype=dtype)
        tree = device_walks(prepared).tree
        self._step = tree.step
        program = runtime.program("prepared/cuda/sinks/rows.cuh", tree.macros)
        self._to_rows = program.kernel("to_rows")

    def __call__(self, sources: NDArray[Any], out: Any) -> None:
        """Make some rows.

        Parameters
        ----------
        sources : int64 array, shape (k,)
        out : array, shape (k, width)
            On the host or on the device of the form: complete when the current stream is done.
        """
        table, home = self.table, self.form.home
        table(sources)
        rows = self.rows[: len(sources)]
        count, width = rows.shape
        grid = (-(-width // _TILE) * _NEAR, -(-count // (_TILE * _NEAR)))
        arguments = {
            "values": table.values,
            "pitch": np.int64(table.pitch),
            "place": table.place,
            "some": np.int32(width),
            "width": np.int64(width),
            "count": np.int32(count),
            "out": rows,
            "step": self._step,
        }
        self._to_rows(grid, 256, arguments)
        if home == runtime.device().ordinal:
            rows.take(table.back, axis=0, out=out)
        elif home is None:
            out[...] = runtime.download(rows[table.back])
        else:
            copy_to(out, home, rows[table.back])
