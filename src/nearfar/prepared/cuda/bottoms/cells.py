"""Cells as the bottom of a query: a sweep that stores each distance or passes it to a sink."""

from __future__ import annotations

from collections.abc import Mapping
from functools import partial
from typing import Any

import numpy as np

from nearfar.errors import OptionError
from nearfar.prepared.cuda.cut.cells import PassShape
from nearfar.prepared.cuda.device import DeviceCells, DeviceTree, device_cells, device_tree
from nearfar.prepared.cuda.fronts.above import Above
from nearfar.prepared.cuda.query import Query, to_rows
from nearfar.prepared.cuda.shapes import CHUNK, CHUNKS, UNIT, above_shape, default_shape
from nearfar.prepared.prepared import Prepared
from nearfar.system.devices import runtime

_STORE = "prepared/cuda/bottoms/sweep.cuh"


class Sweep:
    """Cells at the bottom of the tree, and the front above them."""

    def __init__(
        self,
        prepared: Prepared,
        shape: PassShape | None = None,
        sources: int = 1024,
        top: int | None = None,
    ) -> None:
        self.n = prepared.n_vertices
        self.dtype = prepared.metric.dtype
        height = prepared.preparation.figures.height
        self.shape = shape or default_shape(self.dtype.itemsize, sources, height)
        if self.shape.columns * self.dtype.itemsize not in (4, 8, 16) or UNIT % self.shape.lanes:
            raise OptionError(f"{self.shape} does not suit values of {self.dtype.itemsize} bytes")
        self.tree: DeviceTree = device_tree(prepared)
        above = above_shape(prepared, sources, top)
        self.cells: DeviceCells = device_cells(prepared, self.shape, above.top)
        self.above = Above(prepared, self.cells.host.upper, above, self.shape)

    most_sources = 2**31 - UNIT  # sources of a block, for any amount of memory

    @property
    def n_kept(self) -> int:
        """Number of rows of distances in :meth:`rows` and :meth:`columns`."""
        return self.n

    def columns(self, count: int, by_vertex: bool = False, **memory: Any) -> Query:
        """Store distances as [label][source], or as [vertex][source].

        Rows of labels that are not active are unchanged. ``memory`` is that of :class:`Query`.
        """
        query = Query(self.tree, self.dtype, count, self.n, **memory)
        place = self.tree.vertex if by_vertex else None
        return self.through(query, place, _STORE, "sweep", {"BY_VERTEX": int(by_vertex)})

    def rows(self, count: int, place: Any = None, **memory: Any) -> Query:
        """Write rows with a column for each label of ``place``, or for each vertex."""
        query = self.columns(count, **memory)
        query.writes = partial(_transposed, self.tree.label if place is None else place)
        return query

    def above_alone(self, count: int, **memory: Any) -> Query:
        """Begin a query that stores only distances above the cells, for :meth:`through`."""
        return Query(self.tree, self.dtype, count, len(self.above.held.labels), **memory)

    def through(
        self,
        query: Query,
        place: Any,
        file: str,
        kernel: str,
        macros: Mapping[str, str | int],
        **arguments: Any,
    ) -> Query:
        """Add the front and the pass over cells, whose sink takes each distance."""
        self.above.begin(query, place)
        host, shape = self.cells.host, self.shape
        if not len(host.cells):
            return query
        form = {"LANES": shape.lanes, "COLUMNS": shape.columns}
        slots = int(host.cells[:, 7].max())
        given = {
            "cells": self.cells.cells,
            "boundary": self.cells.boundary if place is None else place[self.cells.boundary],
            "stream": self.cells.stream,
            "outline": self.cells.outline,
            "space": query.space,
            "sources": query.labels,
            "rows": query.values,
            "pitch": np.int64(query.pitch),
        }
        query.add(
            runtime.program(file, {**self.tree.macros, **form, **macros}).kernel(kernel),
            len(host.cells) * (query.pitch // shape.lanes),
            shape.threads,
            {**given, **arguments},
            CHUNKS * CHUNK + slots * shape.lanes * self.dtype.itemsize,
        )
        return query


def _transposed(place: Any, query: Query, out: Any) -> list[runtime.Launch]:
    return [to_rows(query.tree, query.values, place, out)]
