"""What lies around each vertex, for searches on a GPU that run ahead; see balls.cuh."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from nearfar.errors import OutOfMemoryError
from nearfar.graph.slots import Slot
from nearfar.system.devices import runtime

if TYPE_CHECKING:
    from nearfar.cuda.device_graph import DeviceGraph
    from nearfar.graph.graph import Graph

__all__ = [
    "BALL_WIDTH",
    "Balls",
    "balls",
    "balls_at_hand",
    "balls_pay",
    "does_without",
    "give_up",
    "may_have_balls",
]

BALL_WIDTH = 64  # words per vertex: measured, see the page on breadth-first search
_SECONDS = 4e-9  # per vertex, measured on an H200
_MOST_VERTICES = 1 << 27  # kVertexBits of balls.cuh
_THREADS = 32  # kFillThreads of fill_balls.cuh
_BLOCKS_EACH = 18  # by shared memory
_MOST_HOPS = 14  # kMostHops of balls.cuh
_FEWEST_HOPS = 2  # of balls that are worth having
_FALL_SHORT = 0.03  # of the vertices may have smaller balls
_BALLS: Slot[Balls | None] = Slot("balls")
_SPENT: Slot[list[float]] = Slot("searches that would have used balls")


@dataclass(frozen=True)
class Balls:
    """The balls of a graph.

    Attributes
    ----------
    words : cupy array of uint32, shape (n * BALL_WIDTH,)
    hops : int
        That nearly all of them reach.
    regular : bool
        Whether most of them reach no farther, as on a grid.
    seconds : float
        Device time that making them took.
    """

    words: Any
    hops: int
    regular: bool
    seconds: float


def may_have_balls(graph: Graph, device: DeviceGraph) -> bool:
    """Whether words can name the graph's vertices, and balls were not refused or given up."""
    given_up = _BALLS.filled(graph, _key(device)) and balls_at_hand(graph, device) is None
    return device.vertex_dtype.itemsize == 4 and device.n <= _MOST_VERTICES and not given_up


def balls_at_hand(graph: Graph, device: DeviceGraph) -> Balls | None:
    """The balls of a graph if they have been made."""
    return _BALLS.get(graph, _key(device))


def balls(graph: Graph, device: DeviceGraph) -> Balls | None:
    """The balls of a graph, made on first use and kept with it.

    Returns
    -------
    Balls or None
        None, then and later, where the device's memory has no room for them, or where a hop is all
        that they reach.
    """

    def make() -> Balls | None:
        try:
            runtime.require_memory(device.n * BALL_WIDTH * 4)
        except OutOfMemoryError:
            return None
        words = runtime.cupy().empty(device.n * BALL_WIDTH, dtype=np.uint32)
        radii = runtime.cupy().zeros(_MOST_HOPS + 1, dtype=np.uint32)
        macros = {**device.macros, "BALL_WIDTH": BALL_WIDTH}
        program = runtime.program("algorithms/breadth_first/fill_balls.cuh", macros)
        blocks = min(runtime.device().multiprocessors * _BLOCKS_EACH, -(-device.n // _THREADS))
        timer = runtime.Timer().start()
        given = (device.offsets, device.edges, np.int64(device.n), words, radii)
        program.kernel("fill_balls")(blocks, _THREADS, given)
        seconds = timer.stop().seconds
        having = radii.get()
        short = np.cumsum(having)  # vertices of radius h or less
        hops = int(np.searchsorted(short, _FALL_SHORT * device.n, side="right"))
        hops = min(hops, _MOST_HOPS)
        if hops < _FEWEST_HOPS:
            return None
        return Balls(words, hops, 2 * int(having[hops]) > device.n, seconds)

    return _BALLS.of(graph, make, _key(device))


def does_without(graph: Graph, device: DeviceGraph) -> bool:
    """Whether a search would have used balls that are not made, so that the next one will too."""
    return _SPENT.filled(graph, _key(device)) and not _BALLS.filled(graph, _key(device))


def balls_pay(graph: Graph, device: DeviceGraph, seconds: float = 0.0) -> bool:
    """Whether searches that would have used balls took as long as it takes to make them.

    Parameters
    ----------
    graph : Graph
    device : DeviceGraph
    seconds : float
        Of one more such search.
    """
    if seconds:
        _SPENT.of(graph, lambda: [0.0], _key(device))[0] += seconds
    return sum(_SPENT.get(graph, _key(device)) or ()) >= _SECONDS * device.n


def give_up(graph: Graph, device: DeviceGraph) -> None:
    """Drop the balls of a graph for good: its frontiers grow beyond what running ahead is for."""
    _BALLS.put(graph, None, _key(device))


def _key(device: DeviceGraph) -> tuple[Any, ...]:
    return runtime.device().ordinal, device.vertex_dtype, device.offset_dtype
