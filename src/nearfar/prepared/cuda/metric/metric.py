"""Weights of the arcs on a CUDA device, and cells for sweeps that share all other data."""

from __future__ import annotations

from collections.abc import Callable, Hashable
from dataclasses import replace
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from nearfar.prepared.cuda.device import DeviceCells
from nearfar.prepared.cuda.metric.arcs import DeviceArcs
from nearfar.prepared.metric.arc_weights import Metric, QueryArcs
from nearfar.system.devices import runtime

_NEEDED = 4  # kNeeded of customize.hpp


class DeviceMetric:
    """Weights of the arcs on a device, with the interface of :class:`Metric`.

    A sweep relaxes all arcs, so that new weights need no new cells. The arcs that queries on the
    host follow are downloaded on first use.
    """

    def __init__(self, structure: DeviceArcs, there: Any, flags: Any, sides: int) -> None:
        self.structure, self.there, self.flags, self.sides = structure, there, flags, sides

    def __reduce__(self) -> tuple[Any, ...]:
        return Metric, (self.weights, self.up, self.down, self.sides)

    def on_host(self) -> Metric:
        """Return a copy in host memory."""
        return Metric(self.weights, self.up, self.down, self.sides)

    @property
    def dtype(self) -> np.dtype[Any]:
        """Dtype of the weights."""
        dtype: np.dtype[Any] = self.there.dtype
        return dtype

    @property
    def swept(self) -> tuple[QueryArcs, QueryArcs]:
        """Upward and downward arcs that a GPU follows; their weights are device arrays."""
        arcs = self.structure.preparation.arcs
        up, down = (
            QueryArcs(arcs.first, arcs.head_depth, self._side(i)) for i in (0, self.sides - 1)
        )
        return up, (up if self.sides == 1 else down)

    @property
    def n_swept(self) -> int:
        """Number of arcs that a downward pass follows."""
        return self.structure.n_arcs

    @property
    def nbytes(self) -> int:
        """Bytes on the device."""
        return int(self.there.nbytes) + (0 if self.flags is None else int(self.flags.nbytes))

    @cached_property
    def weights(self) -> NDArray[Any]:
        """Weights of all arcs, on the host."""
        return runtime.download(self.there)

    @cached_property
    def up(self) -> QueryArcs:
        """Arcs that queries on the host follow upwards."""
        return self._needed(0)

    @cached_property
    def down(self) -> QueryArcs:
        """Arcs that queries on the host follow downwards."""
        return self.up if self.sides == 1 else self._needed(1)

    def _needed(self, side: int) -> QueryArcs:
        arcs = self.structure.preparation.arcs
        weights = self.weights[side :: self.sides]
        if self.flags is None:
            return QueryArcs(arcs.first, arcs.head_depth, np.ascontiguousarray(weights))
        wanted = (runtime.download(self.flags) & (_NEEDED << side)) != 0
        first = np.zeros(len(wanted) + 1, dtype=np.int64)
        np.cumsum(wanted, out=first[1:])
        return QueryArcs(first[arcs.first], arcs.head_depth[wanted], weights[wanted])

    def _side(self, side: int) -> Any:
        if self.sides == 1:
            return self.there
        return runtime.cupy().ascontiguousarray(self.there[side :: self.sides])

    def cells(self, key: Hashable, make: Callable[[], DeviceCells]) -> DeviceCells:
        """Return cells with these weights in their streams, cut on first use."""
        cp = runtime.cupy()
        kept = self.structure.cells
        whole_key = (key, self.dtype)
        if whole_key not in kept:
            made = make()
            used = np.flatnonzero(made.host.weight_at >= 0)
            kept[whole_key] = made, cp.asarray(used), cp.asarray(made.host.weight_at[used])
            return made
        base, used, places = kept[whole_key]
        stream = base.stream.copy()
        if len(places):
            stream.view(self.dtype)[places] = self._side(self.sides - 1)[used]
        return replace(base, stream=stream)
