"""Families of graphs of the speed zoo: functions of the number of vertices and a random generator.

Each returns edges, and lengths if the family has them; ``zoo_graphs.py`` chooses sizes and weights.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.random import Generator
from numpy.typing import NDArray

Array = NDArray[Any]
#: Sources, targets, lengths if the family has them, whether directed, number of vertices.
Edges = tuple[Array, Array, Array | None, bool, int]

# About n vertices each. Undirected families list every edge once.


def _lengths(points: Array, s: Array, t: Array) -> Array:
    return np.sqrt(((points[s] - points[t]) ** 2).sum(axis=1))


def _once(s: Array, t: Array, n: int) -> tuple[Array, Array]:
    """Return every undirected edge once, without loops."""
    low, high = np.minimum(s, t), np.maximum(s, t)
    keys = np.unique((low.astype(np.int64) * n + high)[low != high])
    return keys // n, keys % n


def _lattice(sides: tuple[int, ...], steps: list[tuple[int, ...]]) -> tuple[Array, Array, int]:
    """Return the edges of a box of points along some steps."""
    ids = np.arange(int(np.prod(sides))).reshape(sides)
    sources, targets = [], []
    for step in steps:
        here = tuple(
            slice(max(0, -d), side - max(0, d)) for d, side in zip(step, sides, strict=True)
        )
        there = tuple(
            slice(max(0, d), side - max(0, -d)) for d, side in zip(step, sides, strict=True)
        )
        sources.append(ids[here].ravel())
        targets.append(ids[there].ravel())
    return np.concatenate(sources), np.concatenate(targets), ids.size


def delaunay(n: int, rng: Generator, dimensions: int = 2, clusters: int = 0) -> Edges:
    """Return a Delaunay mesh of random points, or of points in clusters of very different sizes."""
    from scipy.spatial import Delaunay

    points = rng.random((n, dimensions))
    if clusters:
        spread = 10 ** (-1 - 3 * rng.random((n, 1)))
        points = points[rng.integers(0, clusters, n)] + spread * rng.standard_normal(points.shape)
    corners = Delaunay(points).simplices.astype(np.int64)
    pairs = [(i, j) for i in range(dimensions + 1) for j in range(i)]
    s = np.concatenate([corners[:, i] for i, _ in pairs])
    t = np.concatenate([corners[:, j] for _, j in pairs])
    s, t = _once(s, t, n)
    return s, t, _lengths(points, s, t), False, n


def planar(n: int, rng: Generator, degree: int = 4) -> Edges:
    side = max(2, round(n**0.5))
    steps = [(0, 1), (1, 0), (1, 1), (1, -1)][: degree // 2]
    s, t, count = _lattice((side, side), steps)
    return s, t, None, False, count


def solid(n: int, rng: Generator, degree: int = 6) -> Edges:
    """Return a box of cells joined over faces (6), or also over diagonals (14)."""
    side = max(2, round(n ** (1 / 3)))
    steps: list[tuple[int, ...]] = [(0, 0, 1), (0, 1, 0), (1, 0, 0)]
    steps += [(1, 1, 1), (1, 1, -1), (1, -1, 1), (1, -1, -1)] if degree == 14 else []
    s, t, count = _lattice((side, side, side), steps)
    return s, t, None, False, count


def alignment(n: int, rng: Generator) -> Edges:
    """Return the table in which two sequences are aligned: steps right, down and diagonally."""
    side = max(2, round(n**0.5))
    s, t, count = _lattice((side, side), [(0, 1), (1, 0), (1, 1)])
    return s, t, None, True, count


def strip(n: int, rng: Generator, width: int = 10) -> Edges:
    s, t, count = _lattice((max(2, n // width), width), [(0, 1), (1, 0)])
    return s, t, None, False, count


def neighbours(n: int, rng: Generator, dimensions: int = 2, k: int = 6) -> Edges:
    from scipy.spatial import cKDTree

    points = rng.random((n, dimensions)).astype(np.float32 if dimensions > 4 else np.float64)
    if dimensions <= 4:
        near = cKDTree(points).query(points, k + 1)[1][:, 1:]
    else:  # k-d trees do not help in high dimensions
        near = np.empty((n, k), np.int64)
        squares = (points**2).sum(axis=1)
        for begin in range(0, n, 2048):
            block = points[begin : begin + 2048]
            away = squares - 2 * block @ points.T
            near[begin : begin + 2048] = np.argpartition(away, k + 1, axis=1)[:, : k + 1][:, :k]
    s, t = _once(np.repeat(np.arange(n), k), near.ravel().astype(np.int64), n)
    return s, t, _lengths(points, s, t), False, n


def geometric(n: int, rng: Generator, degree: int = 8, dimensions: int = 2) -> Edges:
    from scipy.spatial import cKDTree

    points, ball = rng.random((n, dimensions)), {2: np.pi, 3: 4 * np.pi / 3}[dimensions]
    radius = (degree / (ball * n)) ** (1 / dimensions)
    pairs = cKDTree(points).query_pairs(radius, output_type="ndarray")
    s, t = pairs[:, 0], pairs[:, 1]
    return s, t, _lengths(points, s, t), False, n


def small_world(n: int, rng: Generator, degree: int = 4, rewired: float = 0.1) -> Edges:
    s = np.tile(np.arange(n), degree // 2)
    t = (s + np.repeat(np.arange(1, degree // 2 + 1), n)) % n
    t = np.where(rng.random(len(t)) < rewired, rng.integers(0, n, len(t)), t)
    return s, t, None, False, n


def uniform(n: int, rng: Generator, degree: int = 8) -> Edges:
    m = n * degree
    return rng.integers(0, n, m), rng.integers(0, n, m), None, True, n


def power_law(n: int, rng: Generator, exponent: float = 2.5, degree: int = 8) -> Edges:
    """Return edges whose ends have weights i^(-1 / (exponent - 1)), as in Chung and Lu's model."""
    m, power = n * degree // 2, 1 / (exponent - 1)
    names = rng.permutation(n)
    ends = (n * rng.random((2, m)) ** (1 / (1 - power))).astype(np.int64)
    return names[ends[0]], names[ends[1]], None, False, n


def attached(n: int, rng: Generator, degree: int = 5) -> Edges:
    """Return preferential attachment: each vertex joins uniformly drawn ends of earlier edges."""
    s = np.repeat(np.arange(1, n), degree)
    t = (s * rng.random(len(s)) ** 2).astype(np.int64)
    return s, t, None, False, n


def bipartite(
    n: int, rng: Generator, degree: int = 8, few: int | None = None, exponent: float | None = None
) -> Edges:
    """Return two sides, one of a few vertices if given, whose popularity may be a power law."""
    left = n // 2 if few is None else n - min(few, n // 20)
    s = np.repeat(np.arange(left), degree // 2)
    if exponent is None:
        return s, rng.integers(left, n, len(s)), None, False, n
    return s, left + np.minimum(rng.zipf(exponent, len(s)), n - left) - 1, None, False, n


def dense(n: int, rng: Generator, share: float = 1.0) -> Edges:
    n = min(n, 3000)
    s, t = np.nonzero(rng.random((n, n)) < share)
    return s, t, None, True, n


def metric(n: int, rng: Generator) -> Edges:
    """Return a complete graph of points in the unit square: every edge is a shortest path."""
    n = min(n, 2500)
    s, t = np.triu_indices(n, 1)
    return s, t, _lengths(rng.random((n, 2)), s, t), False, n


def tree(n: int, rng: Generator, last: int | None = None) -> Edges:
    """Return a tree with parents drawn among all earlier vertices, or among the last ones."""
    child = np.arange(1, n)
    back = child if last is None else np.minimum(child, last)
    return child, child - 1 - (back * rng.random(n - 1)).astype(np.int64), None, False, n


def heap_tree(n: int, rng: Generator) -> Edges:
    child = np.arange(1, n)
    return child, (child - 1) // 2, None, False, n


def path(n: int, rng: Generator, directed: bool = True) -> Edges:
    return np.arange(n - 1), np.arange(1, n), None, directed, n


def cycle(n: int, rng: Generator) -> Edges:
    return np.arange(n), np.roll(np.arange(n), -1), None, False, n


def caterpillar(n: int, rng: Generator) -> Edges:
    spine = n // 2
    legs = np.arange(spine, n)
    s = np.concatenate([np.arange(spine - 1), legs - spine])
    return s, np.concatenate([np.arange(1, spine), legs]), None, False, n


def broom(n: int, rng: Generator) -> Edges:
    """Return a thousand chains attached to one vertex."""
    chains = min(1000, n // 4)
    v = np.arange(1, n)
    return np.maximum(v - chains, 0), v, None, False, n


def star_ring(n: int, rng: Generator, hubs: int = 1) -> Edges:
    """Return a ring of leaves joined to hubs in turn; the hubs form a ring as well."""
    leaves = np.arange(hubs, n)
    around = np.arange(hubs) if hubs > 1 else np.empty(0, np.int64)
    s = np.concatenate([leaves, leaves, around])
    t = np.concatenate([np.roll(leaves, -1), leaves * hubs // n, np.roll(around, -1)])
    return s, t, None, False, n


def layered(n: int, rng: Generator, width: int = 10_000, degree: int = 8) -> Edges:
    width = min(width, n // 10)
    layers = n // width
    s = np.repeat(np.arange((layers - 1) * width), degree)
    t = (s // width + 1) * width + rng.integers(0, width, len(s))
    return s, t, None, True, layers * width


def maze(n: int, rng: Generator, opened: float = 0.0) -> Edges:
    """Return a random spanning tree of a square grid, with a share of the other walls opened."""
    from scipy.sparse import coo_array
    from scipy.sparse.csgraph import minimum_spanning_tree

    s, t, _, directed, count = planar(n, rng)
    walls = coo_array((1 + rng.random(len(s)), (s, t)), shape=(count, count))
    kept = minimum_spanning_tree(walls.tocsr()).tocoo()
    more = rng.random(len(s)) < opened
    s, t = _once(np.concatenate([kept.row, s[more]]), np.concatenate([kept.col, t[more]]), count)
    return s, t, None, directed, count


def honeycomb(n: int, rng: Generator) -> Edges:
    """Return hexagonal cells, as in coverage maps: a brick wall of vertices of degree 3."""
    side = max(2, round(n**0.5))
    s, t, count = _lattice((side, side), [(0, 1), (1, 0)])
    down = t - s == side
    kept = ~down | ((s // side + s) % 2 == 0)
    return s[kept], t[kept], None, False, count


def percolated(
    n: int, rng: Generator, share: float = 0.6, lattice: Callable[..., Edges] = planar
) -> Edges:
    """Return a lattice with a share of its edges, just above where it falls apart."""
    s, t, _, directed, count = lattice(n, rng)
    kept = rng.random(len(s)) < share
    return s[kept], t[kept], None, directed, count


def terrain(n: int, rng: Generator) -> Edges:
    """Return a height field on a sheared grid, with one short diagonal; climbing costs more."""
    side = max(4, round(n**0.5))
    height, size = np.zeros((side, side)), 2
    while size < 2 * side:  # bilinear noise of every octave
        coarse = rng.random((size + 1, size + 1))
        at = np.linspace(0, size - 1e-9, side)
        low, part = at.astype(int), at % 1
        rows = coarse[low] * (1 - part)[:, None] + coarse[low + 1] * part[:, None]
        height += (rows[:, low] * (1 - part) + rows[:, low + 1] * part) / size
        size *= 2
    steps = [(0, 1), (1, 0), (1, 1), (1, -1)]
    s, t, count = _lattice((side, side), steps + [(-i, -j) for i, j in steps])
    flat, h = np.where(abs(t - s) == side - 1, 2**0.5, 1.0), height.ravel()
    climb = side * (h[t] - h[s])
    return s, t, flat + np.where(climb > 0, 4 * climb, -climb), True, count


def timetable(n: int, rng: Generator, lines: int = 300, stops: int = 25) -> Edges:
    """Return departures of public transport: rides, waits at a station, and transfers."""
    lines = min(lines, max(2, n // (20 * stops)))
    trips = max(2, n // (lines * stops))
    station = rng.integers(0, lines * stops // 3, (lines, stops))
    ride = rng.integers(2, 9, (lines, stops))
    start = np.sort(rng.integers(0, 1440, (lines, trips)), axis=1)
    hours = start[:, :, None] + np.cumsum(ride, axis=1)[:, None, :]
    place = np.broadcast_to(station[:, None, :], hours.shape)
    ids = np.arange(hours.size).reshape(hours.shape)
    order = np.lexsort((ids.ravel(), hours.ravel(), place.ravel()))
    same = place.ravel()[order][1:] == place.ravel()[order][:-1]
    s = np.concatenate([ids[:, :, :-1].ravel(), order[:-1][same]])
    t = np.concatenate([ids[:, :, 1:].ravel(), order[1:][same]])
    return s, t, (hours.ravel()[t] - hours.ravel()[s]).astype(np.float64), True, hours.size


def blobs(n: int, rng: Generator, dimensions: int = 3, k: int = 8, centres: int = 40) -> Edges:
    """Return nearest neighbours of points in clusters of different density, which a path joins."""
    from scipy.spatial import cKDTree

    of = rng.integers(0, centres, n)
    spread = 0.02 * 4 ** rng.random((centres, 1))
    points = rng.random((centres, dimensions))[of] + spread[of] * rng.normal(size=(n, dimensions))
    near = cKDTree(points).query(points, k + 1)[1][:, 1:]
    first = np.unique(of, return_index=True)[1]
    s = np.concatenate([np.repeat(np.arange(n), k), first[:-1]])
    s, t = _once(s, np.concatenate([near.ravel(), first[1:]]), n)
    return s, t, _lengths(points, s, t), False, n


def communities(n: int, rng: Generator, size: int = 300, inside: int = 8) -> Edges:
    """Return groups of equal size with many edges inside and one per vertex outside."""
    v = np.arange(n)
    s = np.repeat(v, inside // 2)
    near = s // size * size + rng.integers(0, size, len(s))
    far = rng.integers(0, n, n // 2)
    return np.append(s, v[: n // 2]), np.append(np.minimum(near, n - 1), far), None, False, n


def express(n: int, rng: Generator, lines: int = 40) -> Edges:
    """Return a grid of streets with fast lines, whose stops are eight blocks apart."""
    s, t, _, _, count = planar(n, rng)
    side = round(count**0.5)
    block = np.arange(0, side - 8, 8)
    rows = rng.integers(0, side, lines)[:, None] * side + block
    columns = rng.integers(0, side, lines)[:, None] + block * side
    fast = np.concatenate([rows.ravel(), columns.ravel()])
    ends = np.concatenate([(rows + 8).ravel(), (columns + 8 * side).ravel()])
    lengths = np.concatenate([50 + 20 * rng.random(len(s)), 60 + 10 * rng.random(len(fast))])
    return np.concatenate([s, fast]), np.concatenate([t, ends]), lengths, False, count


def cliques(n: int, rng: Generator, size: int = 40) -> Edges:
    """Return complete graphs in a ring, each joined to the next by one edge."""
    groups = max(3, n // size)
    i, j = np.triu_indices(size, 1)
    first = np.arange(groups)[:, None] * size
    s, t = (first + i).ravel(), (first + j).ravel()
    bridge = first.ravel()
    s = np.append(s, bridge)
    return s, np.append(t, np.roll(bridge, -1) + size - 1), None, False, groups * size


def diamonds(n: int, rng: Generator) -> Edges:
    """Return a chain of rhombi: two ways from each joint to the next."""
    joint = 3 * np.arange((n - 1) // 3)
    s = np.concatenate([joint, joint, joint + 1, joint + 2])
    t = np.concatenate([joint + 1, joint + 2, joint + 3, joint + 3])
    return s, t, None, False, 3 * len(joint) + 1


def hypercube(n: int, rng: Generator) -> Edges:
    bits = n.bit_length() - 1
    v = np.arange(1 << bits)
    s = np.tile(v, bits)
    t = s ^ np.repeat(1 << np.arange(bits), len(v))
    return s[s < t], t[s < t], None, False, len(v)


def shifts(n: int, rng: Generator) -> Edges:
    """Return De Bruijn's graph: from every number to its double and the next, modulo n."""
    v = np.arange(n)
    return np.tile(v, 2), np.append(2 * v % n, (2 * v + 1) % n), None, True, n


def regular(n: int, rng: Generator, degree: int = 3) -> Edges:
    """Return the union of random matchings."""
    ends = [rng.permutation(n - n % 2).reshape(2, -1) for _ in range(degree)]
    s, t = np.concatenate(ends, axis=1)
    return s, t, None, False, n


def kronecker(n: int, rng: Generator, degree: int = 16) -> Edges:
    """Return Graph500's edges."""
    bits, m = n.bit_length() - 1, n * degree // 2
    s, t = np.zeros((2, m), np.int64)
    for _ in range(bits):
        down = rng.random(m) > 0.76
        right = rng.random(m) > np.where(down, 0.05 / 0.24, 0.57 / 0.76)
        s, t = 2 * s + down, 2 * t + right
    names = rng.permutation(1 << bits)
    return names[s], names[t], None, False, 1 << bits


def cited(n: int, rng: Generator, degree: int = 6) -> Edges:
    """Return links between documents: mostly to recent ones, some to any earlier one."""
    s = np.repeat(np.arange(1, n), degree)
    back = np.where(
        rng.random(len(s)) < 0.8, rng.exponential(n / 200, len(s)), rng.random(len(s)) * s
    )
    return s, np.maximum(s - 1 - back.astype(np.int64), 0), None, False, n


def turns(n: int, rng: Generator) -> Edges:
    """Return movements at crossings: vertices are directed edges of a grid with missing streets."""
    s, t, _, _, count = percolated(n // 4, rng, 0.8)
    tail, head = np.append(s, t), np.append(t, s)
    order = np.argsort(tail, kind="stable")
    begin = np.searchsorted(tail[order], np.arange(count + 1))
    many = np.diff(begin)[head]
    arc = np.repeat(np.arange(len(tail)), many)
    place = np.arange(len(arc)) - np.repeat(np.cumsum(many) - many, many)
    after = order[begin[head[arc]] + place]
    back = head[after] == tail[arc]
    return arc[~back], after[~back], None, True, len(tail)


def circulant(n: int, rng: Generator, steps: tuple[int, ...] = (1, 37, 1009)) -> Edges:
    v = np.arange(n)
    ends = [(v + step) % n for step in steps]
    return np.tile(v, len(steps)), np.concatenate(ends), None, False, n


def lollipop(n: int, rng: Generator, share: float = 0.002) -> Edges:
    """Return a complete graph with a path attached."""
    size = max(4, int(n * share))
    i, j = np.triu_indices(size, 1)
    v = np.arange(size, n)
    return np.append(i, v - 1), np.append(j, v), None, False, n


def chorded(n: int, rng: Generator, chords: float = 0.05) -> Edges:
    """Return a random recursive tree with some edges between any two vertices."""
    s, t, _, _, _ = tree(n, rng, 1000)
    more = rng.integers(0, n, (2, int(n * chords)))
    return np.append(s, more[0]), np.append(t, more[1]), None, False, n


def two_sided(n: int, rng: Generator, few: int = 1000) -> Edges:
    """Return a complete bipartite graph."""
    few = min(few, n // 2)
    s, t = np.divmod(np.arange(few * (n - few)), n - few)
    return s, few + t, None, False, n
