"""Rasters larger than a GPU's memory, solved part by part until no distance changes."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

import numpy as np

from nearfar.errors import OutOfMemoryError
from nearfar.raster import cuda
from nearfar.system.devices import runtime

if TYPE_CHECKING:
    from collections.abc import Callable

    from numpy.typing import NDArray

    from nearfar.raster.raster import Raster

__all__ = ["search"]

_SPARE = 0.9  # share of the free memory for parts; masks of barriers and small arrays use the rest


def search(
    grid: Raster,
    starts: NDArray[np.int64],
    initial: NDArray[Any] | None,
    limit: float | None,
    ends: NDArray[np.int64],
    memory: int | None,
    place: Callable[[], NDArray[Any]],
    progress: Callable[[float, float], None] | None,
    threads: int,
) -> tuple[NDArray[Any], dict[str, Any]]:
    """Return distances and counters; by parts where the raster does not fit the device.

    ``place`` makes the array of the distances on the host, which is needed for parts only.
    """
    engine = cuda.Engine(grid)
    begin = np.zeros(len(starts), dtype=grid.dtype) if initial is None else initial
    room = int(_SPARE * runtime.memory()[0])
    room = room if memory is None else min(memory, room)
    tiles = int(np.prod(engine.tiles(engine.given["shape"])))
    if engine.bytes_of(grid.shape[0]) <= room or grid.device_cost is not None:
        distances = cuda.search(engine, starts, begin, limit, ends, threads)
        counters = {"parts": 1, "part_visits": 1}
        if progress is not None:
            progress(tiles, tiles)
    else:
        parts = _Parts(engine, room, place(), starts, begin)
        visits = parts.solve(limit, ends, progress)
        distances = parts.distances
        counters = {"parts": len(parts.first), "part_visits": visits}
    return distances, {**engine.stats(), "tiles": tiles, **counters}


class _Parts:
    """Parts of some lines each; those at the border belong to both neighbours.

    Every step lies within a part, so the distances are those of the raster once each part is at
    its fixed point. A part waits while lines that it shares have fallen since its last visit.
    """

    def __init__(
        self,
        engine: cuda.Engine,
        room: int,
        distances: NDArray[Any],
        starts: NDArray[np.int64],
        initial: NDArray[Any],
    ) -> None:
        self.engine, self.distances = engine, distances
        lines, halo = engine.grid.shape[0], engine.macro["HALO"]
        own = lines  # lines per part that fit, without those shared with other parts
        while own > 2 * halo and engine.bytes_of(min(lines, own + 2 * halo)) > room:
            own -= max(1, own // 64)
        count, least = math.ceil(lines / own), engine.bytes_of(min(lines, own + 2 * halo))
        if least > room or lines // count < 2 * halo:
            raise OutOfMemoryError(least, room, "use device='cpu', or a GPU with more memory")
        self.first = [lines * i // count for i in range(count)]
        #: Lines of each part, including the lines shared with its neighbours.
        self.lines = [
            slice(max(0, a - halo), min(lines, b + halo))
            for a, b in zip(self.first, [*self.first[1:], lines], strict=True)
        ]
        #: Shared lines of each part, and their distances at its last visit.
        self.shared = [
            [slice(a - halo, a + halo) for a in self.first[max(i, 1) : i + 2]] for i in range(count)
        ]
        unreached = engine.unreached
        distances.fill(unreached)
        flat = distances.reshape(-1)
        np.minimum.at(flat, starts, initial)
        self.seen = [
            [np.full_like(distances[lines], unreached) for lines in shared]
            for shared in self.shared
        ]
        self.sources = [
            np.unique(starts[(starts >= at.start * self.line) & (starts < at.stop * self.line)])
            for at in self.lines
        ]
        self.keys = [self._key(i) for i in range(count)]

    @property
    def line(self) -> int:
        """Return the cells of a line."""
        return self.distances.size // len(self.distances)

    def solve(
        self,
        limit: float | None,
        ends: NDArray[np.int64],
        progress: Callable[[float, float], None] | None,
    ) -> int:
        """Visit the part with the least waiting distance until none waits; return the visits."""
        visits, visited = 0, set()
        tiles = [
            int(np.prod(self.engine.tiles(self.engine.shape(lines.stop - lines.start))))
            for lines in self.lines
        ]
        while True:
            bound = self._bound(limit, ends)
            i = int(np.argmin(self.keys))
            if self.keys[i] == self.engine.unreached or self.keys[i] > bound:
                break
            self._visit(i, limit)
            for j in range(max(0, i - 1), min(len(self.keys), i + 2)):
                self.keys[j] = self._key(j)
            visits += 1
            visited.add(i)
            if progress is not None:
                progress(sum(tiles[j] for j in visited), sum(tiles))
        if bound < self.engine.unreached:
            for lines in self.lines:
                part = self.distances[lines]
                part[part > bound] = self.engine.unreached
        if progress is not None:
            progress(sum(tiles), sum(tiles))
        return visits

    def _bound(self, limit: float | None, ends: NDArray[np.int64]) -> Any:
        """Return the greatest distance that still matters."""
        bound = self.engine.unreached if limit is None else limit
        return min(bound, self.distances.reshape(-1)[ends].max()) if ends.size else bound

    def _fallen(self, i: int) -> tuple[NDArray[np.int64], NDArray[Any]]:
        """Return cells lowered since a part's last visit, by position in it, and distances."""
        origin = self.lines[i].start * self.line
        cells = [self.sources[i] - origin]
        for lines, seen in zip(self.shared[i], self.seen[i], strict=True):
            fell = np.flatnonzero(self.distances[lines] < seen)
            cells.append(fell + lines.start * self.line - origin)
        found = np.concatenate(cells)
        return found, self.distances[self.lines[i]].reshape(-1)[found]

    def _key(self, i: int) -> Any:
        """Return the least lowered distance of a part, or unreached."""
        values = self._fallen(i)[1]
        return values.min() if values.size else self.engine.unreached

    def _visit(self, i: int, limit: float | None) -> None:
        """Bring a part to its fixed point."""
        engine, lines = self.engine, self.lines[i]
        shape = engine.shape(lines.stop - lines.start)
        waiting = engine.waiting(shape, *self._fallen(i))
        part = self.distances[lines]
        there = runtime.upload(part).reshape(-1)
        heights = engine.grid.elevation
        heights = None if heights is None else heights[lines]
        engine.relax(engine.grid.cost[lines], heights, there, shape, waiting, limit)
        runtime.download(there.reshape(part.shape), out=part)
        self.sources[i] = self.sources[i][:0]
        self.seen[i] = [self.distances[shared].copy() for shared in self.shared[i]]
