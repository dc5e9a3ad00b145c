"""Rows from many sources in parts: one part is written as rows while the next is swept."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from nearfar.prepared.device_sweep import Sweep, Tile, padded
from nearfar.system.devices import runtime

if TYPE_CHECKING:
    from numpy.typing import NDArray

__all__ = ["RowsInParts"]


class RowsInParts:
    """Sweeps and transpositions that overlap.

    A sweep waits for instructions and shared memory, a transposition for memory. Two buffers hold
    the columns of two parts; a stream of higher priority writes rows, so that its blocks start as
    those of the sweep end.

    Parameters
    ----------
    sweep : Sweep
    place : int32 array, shape (width,)
        Labels of the columns of ``out``.
    out : array, shape (k, width)
    each : int
        Sources per part.
    tile : Tile or None
        As for :meth:`Sweep.to_rows`.
    """

    def __init__(
        self, sweep: Sweep, place: Any, out: Any, each: int, tile: Tile | None = None
    ) -> None:
        cp = runtime.cupy()
        count = min(2, -(-len(out) // each))
        values = [cp.empty((sweep.n, padded(each)), dtype=sweep.dtype) for _ in range(count)]
        self.plans = [sweep.columns(buffer) for buffer in values]
        self.each = each
        self.turns = [
            sweep.to_rows(values[number % 2], place, out[first : first + each], tile)
            for number, first in enumerate(range(0, len(out), each))
        ]
        self.stream = cp.cuda.Stream(non_blocking=True, priority=-1)
        self.swept = [cp.cuda.Event(disable_timing=True) for _ in values]
        self.written = [cp.cuda.Event(disable_timing=True) for _ in values]

    def __call__(self, sources: NDArray[Any]) -> None:
        """Write the rows of some sources, as many as ``out`` has rows."""
        cp = runtime.cupy()
        main = cp.cuda.get_current_stream()
        sources = cp.asarray(sources)
        for number, turn in enumerate(self.turns):
            buffer = number % 2
            if number >= 2:
                main.wait_event(self.written[buffer])
            self.plans[buffer](sources[number * self.each : (number + 1) * self.each])
            self.swept[buffer].record(main)
            self.stream.wait_event(self.swept[buffer])
            with self.stream:
                turn()
            self.written[buffer].record(self.stream)
        for event in self.written:
            main.wait_event(event)
