"""Tables on a CUDA device: distances between sources and targets as a product; see table.cuh."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from nearfar.prepared.cuda.fronts.above import add_climb, climb_arguments
from nearfar.prepared.cuda.pairs.pairs import device_walks
from nearfar.prepared.cuda.query import Query, query_bytes, to_rows
from nearfar.prepared.cuda.shapes import climb_form, padded, shared_room
from nearfar.prepared.prepared import Prepared
from nearfar.system.devices import runtime

_ACROSS, _HIGH = 16, 64  # kAcross and kHigh of table.cuh
_SWEPT = 17  # cost of a vertex of a sweep besides its arcs, in arcs
_MOST_TILES = 65_535  # maximum number of tiles of targets, the grid's y dimension
_MOST = 8192  # sources per block: more are not faster
_FEW = 4096  # sources up to which the host sorts them


def table_pays(prepared: Prepared, width: int) -> bool:
    """Return whether a product with the targets is faster than a sweep over all vertices.

    A product reads the common ancestors of a source and a target, a few dozen if
    separators are small; a sweep reads every arc.
    """
    height = prepared.preparation.figures.height
    *_, shared = climb_form(height, prepared.metric.dtype.itemsize)
    climbs_fit = shared <= shared_room()
    sweep = prepared.metric.n_swept + _SWEPT * prepared.n_vertices
    return climbs_fit and width <= _MOST_TILES * _HIGH and width * height / 2 < sweep


def sources_per_table(prepared: Prepared, width: int, sources: int) -> int:
    """Return the number of sources per block that fits a third of the free memory."""
    free, _ = runtime.memory()
    each = (prepared.preparation.figures.height + 3 * width) * prepared.metric.dtype.itemsize + 40
    room = max(1, free // (3 * each) // 128) * 128
    return int(min(room, _MOST, max(sources, 1)))


class Table(Query):
    """Distances between blocks of sources and fixed targets, with a product as the bottom.

    Attributes
    ----------
    values : array, shape (width, pitch)
        Distances as [target][source], in the order of labels.
    place : int32 array, shape (width,)
        The row of ``values`` of each target.
    targets : int32 array, shape (width,)
        The vertex of each row of ``values``.

    Notes
    -----
    O(arcs of climbs + k width h) for h common ancestors of a source and a target.
    """

    def __init__(
        self,
        prepared: Prepared,
        targets: NDArray[np.int64],
        count: int,
        advice: str = "",
        beside: int = 0,
    ) -> None:
        cp, walks = runtime.cupy(), device_walks(prepared)
        tree, dtype, width = walks.tree, prepared.metric.dtype, len(targets)
        across = -(-width // _HIGH) * _HIGH
        needed = beside + query_bytes(tree, dtype, across, 0) + 28 * (padded(count) + across)
        super().__init__(tree, dtype, count, width, advice, needed)
        self._label = prepared.preparation.tree.label
        columns = 16 // dtype.itemsize
        program = runtime.program(
            "prepared/cuda/pairs/table.cuh", {**tree.macros, "COLUMNS": columns}
        )
        depths, table = program.kernel("tile_depths"), program.kernel("table")

        def add_depths(query: Query, some: int, size: int) -> dict[str, Any]:
            ends = {name: cp.empty(some, np.int32) for name in ("from_start", "to_end")}
            given = {"spine": walks.spine, "labels": query.labels, **ends}
            given |= {"some": np.int32(some), "size": np.int32(size)}
            if some:
                query.add(depths, -(-some // 256), 256, given)
            return ends

        there = runtime.upload(targets)
        order = cp.argsort(tree.label[there])
        self.place = cp.empty(width, dtype=np.int32)
        self.place[order] = cp.arange(width, dtype=np.int32)
        self.targets = there[order].astype(np.int32)
        ends = Query(tree, dtype, across, 0)
        add_climb(ends, climb_arguments(ends, walks.down))
        target_ends = add_depths(ends, width, _HIGH)
        ends(there[order])
        add_climb(self, climb_arguments(self, walks.up))
        arguments = {
            "spine": walks.spine,
            "sources": self.labels,
            **add_depths(self, self.pitch, _ACROSS * columns),
            "targets": ends.labels,
            **{f"target_{name}": array for name, array in target_ends.items()},
            "count": np.int32(width),
            "climbs": self.space,
            "pitch": np.int64(self.pitch),
            "target_climbs": ends.space,
            "target_pitch": np.int64(ends.pitch),
            "rows": self.values,
        }
        tiles = (self.pitch // (_ACROSS * columns), -(-width // _HIGH))
        self.add(table, tiles, 256, arguments)

    @staticmethod
    def writes(query: Query, out: Any) -> list[runtime.Launch]:
        """Write rows in the order of ``back``."""
        assert isinstance(query, Table)
        return [to_rows(query.tree, query.values, query.place, out)]

    def __call__(self, sources: Any, out: Any = None) -> None:
        """Fill ``values`` for some sources, in the order of labels; write rows in that order."""
        cp = runtime.cupy()
        if len(sources) <= _FEW and isinstance(sources, np.ndarray):
            # Sorting on the device would take many small launches.
            order = np.argsort(self._label[sources], kind="stable")
            given, self.back = runtime.upload(np.stack([sources[order], np.argsort(order)]))
        else:
            given = runtime.upload(sources)
            order = cp.argsort(self.tree.label[given])
            given, self.back = given[order], cp.argsort(order)
        super().__call__(given, out)
