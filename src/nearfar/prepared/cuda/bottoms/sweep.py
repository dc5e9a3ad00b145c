"""Sweeps over the cells of a tree on a CUDA device, and rows transposed from what they wrote."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from nearfar.errors import OptionError
from nearfar.prepared.cuda.device import DeviceCells, DeviceTree, device_cells, device_tree
from nearfar.prepared.cuda.fronts.above import Above, SweepPlan
from nearfar.prepared.cuda.shapes import (
    CHUNK,
    CHUNKS,
    UNIT,
    above_shape,
    default_shape,
    padded,
)
from nearfar.system.devices import runtime

if TYPE_CHECKING:
    from nearfar.prepared.cuda.cut.cells import PassShape
    from nearfar.prepared.prepared import Prepared
    from nearfar.system.devices.launching import Launch

__all__ = ["Sweep"]

_STORE = "prepared/cuda/bottoms/sweep.cuh"
Sink = tuple[str, str, "dict[str, str | int]", "dict[str, Any]"]  # file, kernel, macros, arguments
_TILE, _NEAR = 64, 2  # kTile and kNear of rows.cuh


class Sweep:
    """The launches that give distances from a block of sources.

    Parameters
    ----------
    prepared : Prepared
    shape : PassShape or None
        Of the cells at the bottom of the tree; None chooses by the number of sources.
    sources : int
        How many there will be in a block, for the choice.
    top : int or None
        Of how many labels at the top of the tree all distances are kept; None chooses.
    """

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

    def scratch_bytes(self, count: int) -> int:
        """Device memory of a block of so many sources besides its rows of values."""
        return self.above.scratch_bytes(count)

    def values_bytes(self, count: int) -> int:
        """Device memory of the distances of so many sources that a sweep keeps besides rows."""
        return padded(count) * self.n * self.dtype.itemsize

    @property
    def most_sources(self) -> int:
        """Sources of a block at most, whatever the memory."""
        return 2**31 - UNIT

    @property
    def n_kept(self) -> int:
        """Rows of the scratch memory of :meth:`rows`."""
        return self.n

    def rows(self, values: Any, out: Any) -> SweepPlan:
        """A sweep that writes whole rows, transposed from columns.

        Parameters
        ----------
        values : array, shape (n_kept, padded(k))
        out : array, shape (k, n)

        Returns
        -------
        SweepPlan
        """
        return self.transposed(values, self.tree.label, out)

    def columns(self, values: Any, by_vertex: bool = False) -> SweepPlan:
        """A sweep that writes distances as [label][source] or [vertex][source].

        Parameters
        ----------
        values : array, shape (n, padded(k))
            Of the dtype of the arcs' weights. Rows of labels that are not active stay as they are.
        by_vertex : bool
            One row per vertex instead of one per label.

        Returns
        -------
        SweepPlan
        """
        place = self.tree.vertex if by_vertex else None
        plan = self.above.plan(values, place)
        self._bottom(plan, values, place, (_STORE, "sweep", {"BY_VERTEX": int(by_vertex)}, {}))
        return plan

    def ending(
        self,
        values: Any,
        file: str,
        kernel: str,
        macros: dict[str, str | int],
        arguments: dict[str, Any],
    ) -> SweepPlan:
        """A sweep whose last pass hands each distance to a sink instead of storing it.

        Parameters
        ----------
        values : array, shape (n_upper, padded(k))
            Scratch memory: distances of labels that are in no cell, in the order of
            ``cells.host.upper``. They do not come to the sink.
        file, kernel : str
            A kernel file that requires ``sweep_cells.cuh``, and its kernel. That takes the
            arguments of ``sweep`` and then some of its own, and is launched for all cells of
            the bottom pass.
        macros : dict
            Of that file.
        arguments : dict
            Its own.

        Returns
        -------
        SweepPlan
        """
        place = self.above.held.place
        plan = self.above.plan(values, place)
        self._bottom(plan, values, place, (file, kernel, macros, arguments))
        return plan

    @property
    def n_upper(self) -> int:
        """Labels whose distances :meth:`ending` keeps."""
        return len(self.above.held.labels)

    def transposed(self, values: Any, place: Any, out: Any) -> SweepPlan:
        """A sweep over labels and a pass that transposes what it wrote.

        Parameters
        ----------
        values : array, shape (n, padded(k))
            Scratch memory of the dtype of the arcs' weights.
        place : int32 array, shape (width,)
            Labels of the columns.
        out : array, shape (k, width)

        Returns
        -------
        SweepPlan
        """
        plan = self.columns(values)
        plan.launches.append(self.to_rows(values, place, out))
        return plan

    def _bottom(self, plan: SweepPlan, values: Any, place: Any, sink: Sink) -> None:
        """The pass over cells."""
        host, shape = self.cells.host, self.shape
        if not len(host.cells):
            return
        slots = int(host.cells[:, 7].max())
        file, name, own, more = sink
        macros = {
            **self.tree.macros,
            "LANES": shape.lanes,
            "COLUMNS": shape.columns,
            **own,
        }
        shared = CHUNKS * CHUNK + slots * shape.lanes * self.dtype.itemsize
        kernel = runtime.program(file, macros).kernel(name)
        kernel.allow_shared(shared)
        boundary = self.cells.boundary if place is None else place[self.cells.boundary]
        arguments = {
            "cells": self.cells.cells,
            "boundary": boundary,
            "stream": self.cells.stream,
            "outline": self.cells.outline,
            "space": plan.space,
            "sources": plan.labels,
            "rows": values,
            "pitch": np.int64(plan.pitch),
            **more,
        }
        grid = len(host.cells) * (plan.pitch // shape.lanes)
        plan.launches.append(runtime.Launch(kernel, grid, shape.threads, arguments, shared))

    def to_rows(self, values: Any, place: Any, out: Any) -> Launch:
        """The launch that writes distances of labels as rows.

        Parameters
        ----------
        values : array, shape (n, pitch)
        place : int32 array, shape (width,)
            Labels of the columns.
        out : array, shape (k, width)

        Returns
        -------
        Launch
        """
        count, width = out.shape
        kernel = runtime.program("prepared/cuda/sinks/rows.cuh", self.tree.macros).kernel("to_rows")
        some = len(place)
        arguments = {
            "values": values,
            "pitch": np.int64(values.shape[1]),
            "place": place,
            "some": np.int32(some),
            "width": np.int64(width),
            "count": np.int32(count),
            "out": out,
            "step": self.tree.step,
        }
        grid = (-(-some // _TILE) * _NEAR, -(-count // (_TILE * _NEAR)))
        return runtime.Launch(kernel, grid, 256, arguments)
