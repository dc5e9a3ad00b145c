"""Road-like networks: planar, of low degree, with long chains and a hierarchy of speeds.

Junctions are a jittered lattice. The share of existing streets between neighbouring junctions
varies between districts; every twelfth line is an arterial road and every forty-eighth a motorway,
which are complete and faster, so long shortest paths climb the hierarchy as they do on real roads.
A fifth of the streets are subdivided into chains of degree-two vertices along a bend. The
properties of a road network that affect shortest-path methods are kept: degree near 2.5, a diameter
of the order of sqrt(n), travel times over two orders of magnitude, local ids. Rivers, bridges and
real city plans are not modelled.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from nearfar.generators import common
from nearfar.generators.catalogue import generator
from nearfar.generators.random import Stream
from nearfar.generators.roads import SPEEDS, Streets, network
from nearfar.graph.build import runs
from nearfar.graph.graph import Graph

_SPACING = 150.0  # metres between junctions
_ARTERIAL, _MOTORWAY = 12, 48  # distance between them, in lines of the lattice
_DISTRICT = 16  # junctions along a side
_VERTICES_PER_JUNCTION = 2.11  # measured with the shares below; sizes the lattice


@generator("road_like", "planar network with long chains and a hierarchy of speeds, like roads")
def road_like(
    vertices: int = 1_000_000,
    weight: str = "time",
    one_way: float = 0.05,
    strongly_connected: bool = True,
    weight_dtype: str | None = "int32",
    seed: int = 1,
) -> Graph:
    """Generate a network on which shortest-path methods behave as on roads.

    Mean out-degree about 2.4; half of the vertices have degree two. O(n) time.

    Parameters
    ----------
    vertices : int
        Approximate number of vertices, at least 4; the result is within a few per cent (large
        graphs), because it depends on which streets exist.
    weight : str
        ``"time"``: milliseconds for integers, seconds for floats; ``"length"``: centimetres for
        integers, metres for floats.
    one_way : float
        Share of the streets that are open in one direction only, 0 .. 1. With 0 the graph is
        undirected.
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

    ends, speeds = _streets(rows, columns, seed)
    junctions = _junctions(rows, columns, seed)
    chain = _chain_lengths(len(ends), seed)
    sources, targets, street, points = _subdivide(ends, chain, junctions, seed)

    closed = np.zeros(len(ends), bool)
    backward = closed
    if share > 0.0:
        closed = Stream(seed, "road_like.one_way").below(share, len(ends))
        backward = Stream(seed, "road_like.direction").below(0.5, len(ends))
    return network(
        Streets(sources, targets, street, speeds, closed, backward, points),
        "road_like",
        weight,
        dtype,
        directed=share > 0.0,
        strongly_connected=strongly_connected,
        seed=seed,
    )


def _streets(rows: int, columns: int, seed: int) -> tuple[NDArray[Any], NDArray[np.float64]]:
    """Choose the streets that exist: their end junctions, shape (e, 2), and speeds in km/h."""
    n = rows * columns
    ids = np.arange(n)
    r, c = np.divmod(ids, columns)
    across = (columns + _DISTRICT - 1) // _DISTRICT
    districts = across * ((rows + _DISTRICT - 1) // _DISTRICT)
    density = 0.55 + 0.4 * Stream(seed, "road_like.district").unit(districts)
    here = density[r // _DISTRICT * across + c // _DISTRICT]
    wider = Stream(seed, "road_like.wider").below(0.3, 2 * n)
    drawn = Stream(seed, "road_like.street").unit(2 * n)
    parts = []
    for direction, line, inside in ((0, r, c + 1 < columns), (1, c, r + 1 < rows)):
        arterial = line % _ARTERIAL == _ARTERIAL // 2
        motorway = line % _MOTORWAY == _ARTERIAL // 2
        exists = inside & (arterial | (drawn[direction::2] < here))
        level = np.where(motorway, 3, np.where(arterial, 2, wider[direction::2]))
        step = 1 if direction == 0 else columns
        parts.append((ids[exists], ids[exists] + step, level[exists]))
    first = np.concatenate([p[0] for p in parts])
    order = np.argsort(first, kind="stable")  # streets by their first junction: near ids stay near
    ends = np.column_stack([first, np.concatenate([p[1] for p in parts])])[order]
    speeds = np.array(SPEEDS)[np.concatenate([p[2] for p in parts])[order]]
    return ends, speeds


def _junctions(rows: int, columns: int, seed: int) -> NDArray[np.float64]:
    """Place the junctions, in metres, each up to 0.3 of the spacing off its lattice point."""
    r, c = np.divmod(np.arange(rows * columns), columns)
    off = 0.6 * Stream(seed, "road_like.junction").unit(2 * rows * columns).reshape(-1, 2) - 0.3
    return (np.column_stack([c, r]) + off) * _SPACING


def _chain_lengths(count: int, seed: int) -> NDArray[np.int64]:
    """Draw the number of degree-two vertices of each street: mostly none, up to a dozen."""
    stream = Stream(seed, "road_like.chain")
    kind = stream.unit(count)
    short = stream.integers(1, 4, count, start=count)
    long = stream.integers(5, 12, count, start=2 * count)
    return np.where(kind < 0.80, 0, np.where(kind < 0.96, short, long))


def _subdivide(
    ends: NDArray[Any], chain: NDArray[np.int64], junctions: NDArray[np.float64], seed: int
) -> tuple[NDArray[Any], NDArray[Any], NDArray[Any], NDArray[np.float64]]:
    """Split streets into segments; return source, target, street, and vertex coordinates.

    A junction is followed by the chains of the streets that start at it, so ids stay local.
    """
    n = len(junctions)
    before = np.cumsum(chain) - chain  # chain vertices of earlier streets
    owned = np.bincount(ends[:, 0], weights=chain, minlength=n).astype(np.int64)
    junction_id = np.arange(n) + np.cumsum(owned) - owned
    first_id = before + ends[:, 0] + 1  # id of a street's first chain vertex

    street, position = runs(chain + 1)
    chained = first_id[street] + position
    sources = np.where(position == 0, junction_id[ends[street, 0]], chained - 1)
    targets = np.where(position == chain[street], junction_id[ends[street, 1]], chained)

    points = np.empty((n + int(chain.sum()), 2))
    points[junction_id] = junctions
    inner = position < chain[street]
    road, step = street[inner], position[inner] + 1
    a, b = junctions[ends[road, 0]], junctions[ends[road, 1]]
    t = step / (chain[road] + 1)
    bend = 0.8 * (Stream(seed, "road_like.bend").unit(len(ends))[road] - 0.5) * t * (1.0 - t)
    along = b - a
    points[chained[inner]] = (
        a + along * t[:, None] + np.column_stack([-along[:, 1], along[:, 0]]) * bend[:, None]
    )
    return sources, targets, street, points
