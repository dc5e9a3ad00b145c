"""Road networks of a country, with settlements, few crossings of rivers, and long highways.

A lattice of junctions is bisected recursively, down to pieces of a few hundred junctions, as
rivers, ridges and railways divide a country at every scale. Only few roads cross a cut: about two
thirds of the fourth root of the piece's vertices. The separators of real maps grow like that: those
of the 9th DIMACS challenge have 8 to 11 vertices for pieces of 4,000 to 8,000 and 35 for Florida's
million. Motorways and arterials cross first. Wide cuts are water: their junctions are removed and
each crossing is a bridge. Between the cuts a smooth random field gives the density of population:
streets are dense in settlements; elsewhere only through roads with side roads and dead ends remain.
Junctions are moved towards the settlements along the gradient of the field.

These properties affect prepared graphs, partitions and hierarchies. ``road_like`` has none of them:
its separators grow with the square root of the number of vertices, to ten times those of a map.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from nearfar.generators import common
from nearfar.generators.catalogue import generator
from nearfar.generators.random import Stream
from nearfar.generators.roads import SPEEDS, Streets, network
from nearfar.graph.build import runs
from nearfar.graph.graph import Graph

_SPACING = 150.0  # metres between junctions, on average
_ARTERIAL, _MOTORWAY = 12, 48  # distance between them, in lines of the lattice
_DENSITY = 0.36, 0.88  # share of the streets that exist where density is lowest, highest
_ACCESS = 0.3  # the same factor for streets that end at a motorway
_DEAD_ENDS = 0.4  # share of the bends at which a dead end starts
_BLOCK = 4  # junctions along a side of the field's cells
_LEAST_PIECE = 300  # junctions of a piece that is not cut
# junctions under water on either side: share of the cut's length; maximum
_WATER, _WIDEST = 1 / 150, 4
_PULL = 0.15  # shift towards settlements; a tenth of the streets are below half the mean length
_VERTICES_PER_JUNCTION = 0.86  # measured with the shares above; sizes the lattice


@generator("country_roads", "roads of a country: settlements, few crossings, small separators")
def country_roads(
    vertices: int = 1_000_000,
    weight: str = "time",
    one_way: float = 0.05,
    strongly_connected: bool = True,
    weight_dtype: str | None = "int32",
    seed: int = 1,
) -> Graph:
    """Generate a road network whose separators are as small as those of real maps.

    Mean degree about 2.6; a fifth of the vertices are dead ends, a sixth have degree two.
    Separators, elimination tree and shortcuts are like those of real maps of the same size.
    O(n log n) time.

    Parameters
    ----------
    vertices : int
        Approximate number of vertices, at least 4; the result is within a few per cent (large
        graphs), because it depends on which streets exist.
    weight : str
        ``"time"``: milliseconds for integers, seconds for floats; ``"length"``: centimetres for
        integers, metres for floats.
    one_way : float
        Share of the minor streets between junctions that are open in one direction only, 0 .. 1.
        With 0 the graph is undirected.
    strongly_connected : bool
        Keep only the largest strongly connected part, so that every vertex reaches every other.

    Returns
    -------
    Graph
        With coordinates in metres, and ``attributes["unit"]``.
    """
    wished = common.check_int("vertices", vertices, 4)
    common.check_choice("weight", weight, ("time", "length"))
    share = common.check_fraction("one_way", one_way)
    dtype = common.weight_type(weight_dtype)
    rows = max(2, int(np.sqrt(wished / _VERTICES_PER_JUNCTION)))
    columns = max(2, round(wished / _VERTICES_PER_JUNCTION / rows))
    n = rows * columns

    field = _Field(rows, columns, seed)
    exists, level = _lattice(rows, columns, field.density, seed)
    bridges = _cut(rows, columns, exists, level, seed)
    kept = np.flatnonzero(exists)
    sources = np.concatenate([kept >> 1, bridges[:, 0]])
    targets = np.concatenate([(kept >> 1) + np.where(kept & 1, columns, 1), bridges[:, 1]])
    speeds = np.concatenate([level[kept], bridges[:, 2]])
    minor = speeds < 2
    minor[len(kept) :] = False  # a bridge is open both ways
    order = np.argsort(sources, kind="stable")
    sources, targets, speeds, minor = (a[order] for a in (sources, targets, speeds, minor))

    # A dead end follows its junction, so ids stay local.
    degree = np.bincount(sources, minlength=n) + np.bincount(targets, minlength=n)
    ended = Stream(seed, "country_roads.dead_end").below(_DEAD_ENDS, n)
    ended &= degree == 2
    junction = np.arange(n) + np.cumsum(ended) - ended
    minor &= (degree[sources] > 2) & (degree[targets] > 2)
    owner = np.flatnonzero(ended)
    points = np.empty((n + len(owner), 2))
    points[junction] = field.places
    turn = Stream(seed, "country_roads.turn").unit(2 * len(owner)).reshape(-1, 2) - 0.5
    points[junction[owner] + 1] = field.places[owner] + turn * _SPACING
    sources = np.concatenate([junction[sources], junction[owner]])
    targets = np.concatenate([junction[targets], junction[owner] + 1])
    speeds = np.concatenate([speeds, np.zeros(len(owner), speeds.dtype)])
    minor = np.concatenate([minor, np.zeros(len(owner), bool)])

    closed = minor & Stream(seed, "country_roads.one_way").below(share, len(sources))
    backward = Stream(seed, "country_roads.direction").below(0.5, len(sources))
    speed = np.array(SPEEDS)[speeds]
    return network(
        Streets(sources, targets, np.arange(len(sources)), speed, closed, backward, points),
        "country_roads",
        weight,
        dtype,
        directed=share > 0.0,
        strongly_connected=strongly_connected,
        seed=seed,
    )


class _Field:
    """Population density: the number of streets at each junction, and the junctions."""

    def __init__(self, rows: int, columns: int, seed: int) -> None:
        shape = -(-rows // _BLOCK), -(-columns // _BLOCK)
        total, pull = np.zeros(shape), np.zeros((2, *shape))
        scale, height, octave = max(shape) // 4 + 1, 1.0, 0
        while octave == 0 or scale >= 3:
            noise = _smooth_noise(Stream(seed, f"country_roads.field{octave}"), *shape, scale)
            total += height * noise
            for axis in (0, 1):
                slope = np.zeros(shape) if shape[axis] < 2 else np.gradient(noise, axis=axis)
                pull[axis] += slope * (height * _PULL * scale * scale * _BLOCK)
            scale, height, octave = scale // 2, 0.7 * height, octave + 1
        # Ranks instead of heights give every seed the same number of dense places.
        rank = np.empty(total.size)
        rank[np.argsort(total, axis=None, kind="stable")] = np.arange(total.size) / total.size
        least, most = _DENSITY
        density = least + (most - least) * (rank * rank * (3.0 - 2.0 * rank)).reshape(shape)
        r, c = np.arange(rows), np.arange(columns)
        # float array, shape (rows * columns,); probability of a street
        self.density = density[(r // _BLOCK)[:, None], c // _BLOCK].reshape(-1)
        jitter = 0.6 * Stream(seed, "country_roads.junction").unit(2 * rows * columns) - 0.3
        places = jitter.reshape(rows, columns, 2)
        places[:, :, 0] += c + _stretched(pull[1], rows, columns)
        places[:, :, 1] += r[:, None] + _stretched(pull[0], rows, columns)
        places *= _SPACING
        self.places = places.reshape(-1, 2)  # float array, shape (rows * columns, 2); in metres


def _smooth_noise(stream: Stream, rows: int, columns: int, scale: int) -> NDArray[np.float64]:
    """Return random heights at every ``scale``-th cell, interpolated smoothly; in [0, 1)."""
    knots = (rows - 1) // scale + 2, (columns - 1) // scale + 2
    height = stream.unit(knots[0] * knots[1]).reshape(knots)
    i, u = np.divmod(np.arange(rows), scale)
    j, v = np.divmod(np.arange(columns), scale)
    a, b = (t / scale for t in (u, v))
    a, b = (t * t * (3.0 - 2.0 * t) for t in (a, b))
    along = height[i] * (1.0 - a)[:, None] + height[i + 1] * a[:, None]
    smooth: NDArray[np.float64] = along[:, j] * (1.0 - b) + along[:, j + 1] * b
    return smooth


def _stretched(cells: NDArray[np.float64], rows: int, columns: int) -> NDArray[np.float64]:
    """Interpolate a field of blocks linearly at every junction."""
    i, u = np.divmod(np.arange(rows), _BLOCK)
    j, v = np.divmod(np.arange(columns), _BLOCK)
    below = np.minimum(i + 1, len(cells) - 1)
    right = np.minimum(j + 1, cells.shape[1] - 1)
    a, b = (u / _BLOCK)[:, None], v / _BLOCK
    along = cells[i] * (1.0 - a) + cells[below] * a
    spread: NDArray[np.float64] = along[:, j] * (1.0 - b) + along[:, right] * b
    return spread


def _lattice(
    rows: int, columns: int, density: NDArray[np.float64], seed: int
) -> tuple[NDArray[np.bool_], NDArray[np.int8]]:
    """Return existing streets and their levels: 2 v is the street right of v, 2 v + 1 below v."""
    n = rows * columns
    r, c = np.arange(rows)[:, None], np.arange(columns)
    level = (Stream(seed, "country_roads.wider").below(0.3, 2 * n)).astype(np.int8)
    exists = np.empty(2 * n, bool)
    drawn = Stream(seed, "country_roads.street").unit(2 * n).reshape(rows, columns, 2)
    here = density.reshape(rows, columns)
    levels, there = level.reshape(rows, columns, 2), exists.reshape(rows, columns, 2)
    for way, line, across, last in ((0, r, c, columns - 1), (1, c, r, rows - 1)):
        arterial = line % _ARTERIAL == _ARTERIAL // 2
        motorway = line % _MOTORWAY == _ARTERIAL // 2
        joins = (across % _MOTORWAY == _ARTERIAL // 2) | (
            (across + 1) % _MOTORWAY == _ARTERIAL // 2
        )
        likely = here * np.where(joins, _ACCESS, 1.0)
        there[:, :, way] = (across < last) & (arterial | (drawn[:, :, way] < likely))
        levels[:, :, way] = np.where(motorway, 3, np.where(arterial, 2, levels[:, :, way]))
    return exists, level


@dataclass(frozen=True, slots=True)
class _Pieces:
    """Rectangles of the lattice; ends are not included."""

    left: NDArray[np.int64]
    right: NDArray[np.int64]
    top: NDArray[np.int64]
    bottom: NDArray[np.int64]

    def where(self, kept: NDArray[np.bool_]) -> _Pieces:
        """Return the rectangles that a mask selects."""
        return _Pieces(self.left[kept], self.right[kept], self.top[kept], self.bottom[kept])


def _cut(
    rows: int, columns: int, exists: NDArray[np.bool_], level: NDArray[np.int8], seed: int
) -> NDArray[np.int64]:
    """Cut the lattice down to small pieces; remove streets over cuts, list the bridges instead.

    Bridges: their two junctions and level, shape (k, 3).
    """
    one = np.zeros(1, np.int64)
    pieces = _Pieces(one, one + columns, one, one + rows)
    bridges, wet = [np.empty((0, 3), np.int64)], np.zeros(rows * columns, bool)
    for depth in range(64):
        area = (pieces.right - pieces.left) * (pieces.bottom - pieces.top)
        pieces = pieces.where(area > _LEAST_PIECE)
        k = len(pieces.left)
        if k == 0:
            break
        draw = Stream(seed, f"country_roads.cut{depth}").unit(2 * k)
        width, height = pieces.right - pieces.left, pieces.bottom - pieces.top
        upright = width >= height
        length = np.where(upright, height, width)
        extent = np.where(upright, width, height)
        start = np.where(upright, pieces.top, pieces.left)
        near = np.where(upright, pieces.left, pieces.top)
        middle = near + np.rint(extent * (0.46 + 0.08 * draw[:k])).astype(np.int64)
        water = np.minimum(np.rint(length * _WATER).astype(np.int64), _WIDEST)
        # A square root is correctly rounded on every machine, unlike a power.
        root = np.sqrt(np.sqrt(width * height * _VERTICES_PER_JUNCTION))
        allowed = 2 + (root * (0.25 + 0.8 * draw[k:])).astype(np.int64)

        # Every line across every cut, from its near bank; the far bank is 2 water + 1 steps away.
        step, along = np.where(upright, 1, columns), np.where(upright, columns, 1)
        piece, position = runs(length, start)
        bank = position * along[piece]
        bank += (middle - 1 - water)[piece] * step[piece]
        way = np.where(upright, 0, 1)[piece]
        open_ = exists[2 * bank + way]
        bridges.append(
            _bridges(bank[open_], piece[open_], allowed, water, step, way[open_], level,
                     Stream(seed, f"country_roads.bridge{depth}"))
        )  # fmt: skip
        exists[2 * bank + way] = False
        for off in range(1, 2 * int(water.max()) + 1):
            wet[(bank + off * step[piece])[off <= 2 * water[piece]]] = True
        first = middle - water, middle + water
        pieces = _Pieces(
            np.concatenate([pieces.left, np.where(upright, first[1], pieces.left)]),
            np.concatenate([np.where(upright, first[0], pieces.right), pieces.right]),
            np.concatenate([pieces.top, np.where(upright, pieces.top, first[1])]),
            np.concatenate([np.where(upright, pieces.bottom, first[0]), pieces.bottom]),
        )
    for direction, ahead in ((0, 1), (1, columns)):
        exists[direction::2] &= ~wet
        exists[direction : -2 * ahead : 2] &= ~wet[ahead:]
    found = np.concatenate(bridges)
    return found[~(wet[found[:, 0]] | wet[found[:, 1]])]


def _bridges(
    bank: NDArray[np.int64],
    piece: NDArray[np.int64],
    allowed: NDArray[np.int64],
    water: NDArray[np.int64],
    step: NDArray[np.int64],
    way: NDArray[np.int64],
    level: NDArray[np.int8],
    stream: Stream,
) -> NDArray[np.int64]:
    """Choose the crossings of each cut: the highest levels first, ties at random."""
    high = level[2 * bank + way].astype(np.int64)
    order = np.lexsort((stream.unit(len(bank)) - high, piece))
    _, rank = runs(np.bincount(piece, minlength=len(allowed)))
    chosen = order[rank < allowed[piece[order]]]
    over = (2 * water + 1) * step
    return np.column_stack([bank[chosen], (bank + over[piece])[chosen], high[chosen]])
