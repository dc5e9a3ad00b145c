"""Balls around each vertex, for searches that run ahead on a GPU; see balls.cuh."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import numpy as np

from nearfar.cuda.device_graph import DeviceGraph
from nearfar.cuda.graph.row_heads import ENOUGH_OUT, SHORTCUT_DEGREE, RowHeads, row_heads
from nearfar.errors import OutOfMemoryError
from nearfar.graph.graph import Graph
from nearfar.graph.slots import Slot
from nearfar.system.devices import runtime

BALL_WIDTH = 64  # words per vertex: measured, see the page on breadth-first search
SHORTCUT_DEPTH = 3  # rounds of removing vertices of few edges
_ROW_EDGES = 8  # kRowEdges of balls.cuh
_SECONDS = 4e-9  # seconds per vertex, measured on an H200
_MOST_VERTICES = 1 << 26  # kVertexBits of balls.cuh
_THREADS = 128  # kFillThreads of fill_balls.cuh
_BLOCKS_EACH = 16
_MOST_HOPS = 30  # kMostHops of balls.cuh
_FEWEST_HOPS = 2  # least radius of useful balls
_FALL_SHORT = 0.03  # share of the vertices that may have smaller balls
_TRIED = 3  # searches with balls before times are compared
_BALLS: Slot[Balls | None] = Slot("balls")
_HISTORY: Slot[History] = Slot("searches that run ahead")


@dataclass(frozen=True)
class Balls:
    """Balls around the vertices of a graph."""

    words: Any  # cupy array of uint32, shape (n * BALL_WIDTH,)
    hops: int  # radius that nearly all balls reach
    # whether most balls have exactly that radius, as on a grid, and rows have no shortcuts
    regular: bool
    heads: RowHeads | None  # rows that bypass vertices of few edges, from which the balls are built
    seconds: float  # device time for building them


@dataclass
class Spent:
    """Number and total device seconds of whole searches of a graph."""

    searches: int = 0
    seconds: float = 0.0

    def add(self, seconds: float) -> None:
        """Add one search."""
        self.searches += 1
        self.seconds += seconds


@dataclass
class History:
    """Times of a graph's searches without and with balls."""

    without: Spent = field(default_factory=Spent)
    by_balls: Spent = field(default_factory=Spent)
    thin: bool = False  # whether a search by levels had only thin levels
    # whether balls are useless on this graph: too little memory, a radius of one hop, growing
    # frontiers or slower searches
    given_up: bool = False

    def pays(self, n: int) -> bool:
        """Return whether searches without balls have taken as long as building n balls."""
        return not self.given_up and self.without.seconds >= _SECONDS * n

    @property
    def slower(self) -> bool:
        """Whether the first searches with balls took longer than those without."""
        found, before = self.by_balls, self.without
        if found.searches != _TRIED or not before.searches:
            return False
        return found.seconds / found.searches > before.seconds / before.searches


def history_of(graph: Graph, device: DeviceGraph) -> History:
    """Return the history of a graph's searches on a device."""
    return _HISTORY.of(graph, History, device.key)


def may_have_balls(device: DeviceGraph) -> bool:
    """Return whether vertex indices fit the words of the balls."""
    return device.vertex_dtype.itemsize == 4 and device.n <= _MOST_VERTICES


def balls_at_hand(graph: Graph, device: DeviceGraph) -> Balls | None:
    """Return the balls of a graph if they exist."""
    return _BALLS.get(graph, device.key)


def balls(graph: Graph, device: DeviceGraph) -> Balls | None:
    """Return the balls of a graph, built on first use and kept with it."""

    def make() -> Balls | None:
        try:
            runtime.require_memory(device.n * BALL_WIDTH * 4)
        except OutOfMemoryError:
            return None
        heads = _shortcuts(graph, device)
        words = runtime.cupy().empty(device.n * BALL_WIDTH, dtype=np.uint32)
        radii = runtime.cupy().zeros(_MOST_HOPS + 1, dtype=np.uint32)
        macros = {**device.macros, "BALL_WIDTH": BALL_WIDTH}
        program = runtime.program("algorithms/breadth_first/fill_balls.cuh", macros)
        blocks = min(runtime.device().multiprocessors * _BLOCKS_EACH, -(-device.n // _THREADS))
        timer = runtime.Timer().start()
        arguments = {"offsets": device.offsets, "edges": device.edges, "n": np.int64(device.n)}
        arguments |= {"heads": None if heads is None else heads.edges}
        arguments |= {"balls": words, "radii": radii}
        program.kernel("fill_balls")(blocks, _THREADS, arguments)
        seconds = timer.stop().seconds + (0.0 if heads is None else heads.seconds)
        having = radii.get()
        short = np.cumsum(having)  # vertices of radius h or less
        hops = int(np.searchsorted(short, _FALL_SHORT * short[-1], side="right"))
        hops = min(hops, _MOST_HOPS)
        if hops < _FEWEST_HOPS:
            return None
        # Cuts at multiples of the radius need edges of one hop: no shortcuts.
        regular = heads is None and 2 * int(having[hops]) > short[-1]
        return Balls(words, hops, regular, heads, seconds)

    found = _BALLS.of(graph, make, device.key)
    if found is None:
        give_up(graph, device)
    return found


def _shortcuts(graph: Graph, device: DeviceGraph) -> RowHeads | None:
    """Return rows that bypass vertices of few edges, if enough of them can be removed."""
    if graph.mean_degree > SHORTCUT_DEGREE:
        return None
    try:
        heads = row_heads(graph, device, _ROW_EDGES, depth=SHORTCUT_DEPTH)
    except OutOfMemoryError:
        return None
    return heads if heads.out >= ENOUGH_OUT else None


def give_up(graph: Graph, device: DeviceGraph) -> None:
    """Drop the balls of a graph permanently, so that searches run without them."""
    _BALLS.put(graph, None, device.key)
    history_of(graph, device).given_up = True
