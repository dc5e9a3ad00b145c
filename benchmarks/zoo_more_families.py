"""More families of graphs of the speed zoo, on which no change had been judged when they came.

Functions of the number of vertices and a random generator, as in ``zoo_families.py``.
"""

from __future__ import annotations

import numpy as np
from numpy.random import Generator

from zoo_families import Edges, _lattice, _lengths, _once


def districts(n: int, rng: Generator, size: int = 32) -> Edges:
    """Return a grid of districts, each with its own cost of a step, from 1 to 1,000."""
    side = max(2, round(n**0.5))
    s, t, count = _lattice((side, side), [(0, 1), (1, 0), (1, 1), (1, -1)])
    across = side // size + 1
    cost = 10 ** (3 * rng.random((across, across)))
    of = np.repeat(np.repeat(cost, size, axis=0), size, axis=1)[:side, :side].ravel()
    flat = np.where((abs(t - s) == 1) | (abs(t - s) == side), 1.0, 2**0.5)
    return s, t, flat * (of[s] + of[t]) / 2, False, count


def image(n: int, rng: Generator) -> Edges:
    """Return a box of voxels joined to all 26 around, at the mean of their intensities."""
    side = max(2, round(n ** (1 / 3)))
    around = [(i, j, k) for i in (0, 1) for j in (-1, 0, 1) for k in (-1, 0, 1)]
    steps = [step for step in around if step > (0, 0, 0)]
    s, t, count = _lattice((side, side, side), steps)
    bright = 1 + 254 * rng.random(count) ** 4
    points = np.stack(np.unravel_index(np.arange(count), (side, side, side)), axis=1)
    return s, t, _lengths(points, s, t) * (bright[s] + bright[t]) / 2, False, count


def knights(n: int, rng: Generator) -> Edges:
    """Return a raster of steps to eight cells around and to eight a knight's move away."""
    side = max(4, round(n**0.5))
    steps = [(0, 1), (1, 0), (1, 1), (1, -1), (1, 2), (2, 1), (1, -2), (2, -1)]
    s, t, count = _lattice((side, side), steps)
    cost = 1 + rng.exponential(1, count)
    points = np.stack(np.divmod(np.arange(count), side), axis=1)
    return s, t, _lengths(points, s, t) * (cost[s] + cost[t]) / 2, False, count


def radial(n: int, rng: Generator, spokes: int = 500) -> Edges:
    """Return a city of rings and spokes around one centre."""
    rings = max(2, n // spokes)
    ids = np.arange(rings * spokes).reshape(rings, spokes)
    s = np.concatenate([ids.ravel(), ids[:-1].ravel(), np.full(spokes, ids.size)])
    t = np.concatenate([np.roll(ids, -1, axis=1).ravel(), ids[1:].ravel(), ids[0]])
    around = 2 * np.pi * (1 + np.arange(rings)) / spokes
    lengths = np.concatenate([np.repeat(around, spokes), np.ones(ids.size)])
    return s, t, lengths * (1 + 0.2 * rng.random(len(s))), False, ids.size + 1


def refined(n: int, rng: Generator, levels: int = 6) -> Edges:
    """Return square cells halved repeatedly near a curve, joined to the cells they touch."""
    levels = levels if n > 5000 else 3
    side = 1 << levels
    base = max(2, round((n / (35 if n > 5000 else 8)) ** 0.5))
    fine = base * side  # the smallest cells along one side
    x, y = (part.ravel() for part in np.meshgrid(np.arange(base), np.arange(base), indexing="ij"))
    corners, sizes = [], []
    for level in range(levels + 1):
        size = side >> level
        middle = (np.stack([x, y]) + 0.5) * size / fine
        near = abs(middle[1] - 0.5 - 0.3 * np.sin(9 * middle[0])) < 0.08 / 2**level + size / fine
        kept = ~near if level < levels else np.ones(len(x), bool)
        corners.append(np.stack([x[kept], y[kept]], axis=1) * size)
        sizes.append(np.full(int(kept.sum()), size))
        x, y = x[~kept], y[~kept]
        x = (2 * x[:, None] + [0, 0, 1, 1]).ravel()
        y = (2 * y[:, None] + [0, 1, 0, 1]).ravel()
    corner, size = np.concatenate(corners), np.concatenate(sizes)
    owner = np.empty((fine, fine), np.int32)
    for width in np.unique(size):
        (cells,) = np.nonzero(size == width)
        rows = corner[cells, 0][:, None, None] + np.arange(width)[:, None]
        columns = corner[cells, 1][:, None, None] + np.arange(width)
        owner[rows, columns] = cells[:, None, None]
    s = np.concatenate([owner[:, :-1].ravel(), owner[:-1].ravel()])
    t = np.concatenate([owner[:, 1:].ravel(), owner[1:].ravel()])
    s, t = _once(s, t, len(size))
    return s, t, _lengths(corner + size[:, None] / 2, s, t), False, len(size)


def kleinberg(n: int, rng: Generator) -> Edges:
    """Return a grid in which every vertex has one distant friend, more often a near one."""
    side = max(4, round(n**0.5))
    s, t, count = _lattice((side, side), [(0, 1), (1, 0)])
    v = np.arange(count)
    away, angle = side ** rng.random(count), 2 * np.pi * rng.random(count)
    row = np.clip(v // side + np.rint(away * np.cos(angle)).astype(np.int64), 0, side - 1)
    column = np.clip(v % side + np.rint(away * np.sin(angle)).astype(np.int64), 0, side - 1)
    return np.append(s, v), np.append(t, row * side + column), None, False, count


def airline(n: int, rng: Generator, hubs: int = 50) -> Edges:
    """Return places joined to a near hub and to three near places; all hubs are joined."""
    from scipy.spatial import cKDTree

    points = rng.random((n, 2))
    near = cKDTree(points).query(points, 4)[1][:, 1:]
    hub = cKDTree(points[:hubs]).query(points)[1]
    i, j = np.triu_indices(hubs, 1)
    s = np.concatenate([np.repeat(np.arange(n), 3), np.arange(n), i])
    s, t = _once(s, np.concatenate([near.ravel(), hub, j]), n)
    flight = (s < hubs) | (t < hubs)
    return s, t, _lengths(points, s, t) * np.where(flight, 0.3, 1) + 0.05 * flight, False, n


def banded(n: int, rng: Generator, degree: int = 16, band: int = 500) -> Edges:
    """Return a banded matrix: every vertex joined to some of the next 500."""
    s = np.repeat(np.arange(n), degree // 2)
    t = np.minimum(s + 1 + rng.integers(0, band, len(s)), n - 1)
    return s[s != t], t[s != t], None, False, n


def pancakes(n: int, rng: Generator) -> Edges:
    """Return all orders of a stack, joined by turning over its top: states of a puzzle."""
    height, count = 3, 6
    while count * (height + 1) <= n:
        height += 1
        count *= height
    orders = np.zeros((1, 0), np.int8)
    for size in range(height):  # in the order of a mixed radix: the place of each item
        orders = np.concatenate(
            [np.insert(orders, place, size, axis=1) for place in range(size + 1)]
        )
    key = (orders.astype(np.int64) * height ** np.arange(height)).sum(axis=1)
    by_key = np.argsort(key)
    sources, targets = [], []
    for top in range(2, height + 1):
        turned = orders.copy()
        turned[:, :top] = orders[:, top - 1 :: -1] if top == height else orders[:, :top][:, ::-1]
        to = by_key[
            np.searchsorted(key[by_key], (turned * height ** np.arange(height)).sum(axis=1))
        ]
        sources.append(np.arange(count))
        targets.append(to)
    s, t = np.concatenate(sources), np.concatenate(targets)
    cost = np.repeat(np.arange(2, height + 1), count)
    return s[s < t], t[s < t], cost[s < t].astype(float), False, count


def space_time(n: int, rng: Generator, side: int = 60) -> Edges:
    """Return cells at successive times: a step goes to a cell around, or waits."""
    side = min(side, round((n / 30) ** 0.5))
    times = max(2, n // side**2)
    s, t, count = _lattice((times, side, side), [(1, 0, 0), (1, 0, 1), (1, 1, 0)])
    more = _lattice((times, side, side), [(1, 0, -1), (1, -1, 0)])
    return np.append(s, more[0]), np.append(t, more[1]), None, True, count


def cactus(n: int, rng: Generator, size: int = 20) -> Edges:
    """Return cycles, each attached to a vertex of an earlier one."""
    cycles = max(2, n // size)
    first = np.arange(cycles)[:, None] * size
    s = (first + np.arange(size)).ravel()
    t = (first + np.roll(np.arange(size), -1)).ravel()
    later = first.ravel()[1:]
    return (
        np.append(s, later),
        np.append(t, (later * rng.random(len(later))).astype(int)),
        None,
        False,
        cycles * size,
    )


def comb(n: int, rng: Generator) -> Edges:
    """Return as many chains as they are long, attached to a spine."""
    side = max(2, round(n**0.5))
    ids = np.arange(side * side).reshape(side, side)
    s = np.concatenate([ids[:, :-1].ravel(), ids[:-1, 0]])
    return s, np.concatenate([ids[:, 1:].ravel(), ids[1:, 0]]), None, False, ids.size


def corridor(n: int, rng: Generator, width: int = 5) -> Edges:
    """Return a raster with walls that leave one winding corridor of some cells' width."""
    side = max(4 * width, round(n**0.5))
    s, t, count = _lattice((side, side), [(0, 1), (1, 0), (1, 1), (1, -1)])
    row, column = np.divmod(np.arange(count), side)
    turn = row // (width + 1)
    gap = np.where(turn % 2 == 0, column >= side - width, column < width)
    free = (row % (width + 1) != width) | gap
    kept = free[s] & free[t]
    return s[kept], t[kept], None, False, count


def hyperbolic(n: int, rng: Generator, degree: float = 8.0, exponent: float = 2.7) -> Edges:
    """Return vertices on a circle with weights of a power law: near or heavy ones are joined."""
    weight = rng.random(n) ** (-1 / (exponent - 1))
    weight *= degree / weight.mean() / 2
    place = np.sort(rng.random(n))
    draws = np.repeat(np.arange(n), np.minimum(rng.poisson(weight), n // 10))
    heavy = np.searchsorted(np.cumsum(weight) / weight.sum(), rng.random(len(draws)))
    reach = weight[draws] * weight[heavy] / weight.mean() / n
    near = place[draws] + reach * (rng.random(len(draws)) - 0.5) * 4
    local = np.searchsorted(place, near % 1) % n
    s, t = _once(draws, np.where(rng.random(len(draws)) < 0.9, local, heavy), n)
    apart = abs(place[s] - place[t])
    return s, t, np.log1p(n * np.minimum(apart, 1 - apart)), False, n


def copied(n: int, rng: Generator, degree: int = 7) -> Edges:
    """Return pages with links copied from an earlier page, or to a random one."""
    m = n * degree
    targets = rng.integers(0, np.maximum(np.arange(m) // degree, 1))
    copies = (rng.random(m) < 0.7) & (np.arange(m) >= 10 * degree)
    page = np.arange(m) // degree
    model = np.repeat((page[::degree] * (1 - rng.random(n) ** 3 * 0.5)).astype(np.int64), degree)
    model = np.minimum(model, np.maximum(page - 1, 0))
    for low in range(0, m, max(degree, m // 64 // degree * degree)):
        high = min(m, low + max(degree, m // 64 // degree * degree))
        part = np.arange(low, high)[copies[low:high]]
        targets[part] = targets[model[part] * degree + part % degree]
    return page, targets, None, False, n


def automaton(n: int, rng: Generator, letters: int = 26) -> Edges:
    """Return a deterministic automaton with random moves, half of them back to a few states."""
    s = np.repeat(np.arange(n), 4)
    t = rng.integers(0, n, len(s))
    back = rng.random(len(s)) < 0.5
    t[back] = rng.integers(0, letters, int(back.sum()))
    return s, t, None, True, n


def skipped(n: int, rng: Generator, levels: int = 12) -> Edges:
    """Return a chain with express edges over 4, 16, 64 and more vertices, as in a skip list."""
    sources, targets, lengths = [], [], []
    for level in range(levels):
        step = 4**level
        if step >= n // 2:
            break
        v = np.arange(0, n - step, step)
        sources.append(v)
        targets.append(v + step)
        lengths.append(step**0.8 * (1 + 0.3 * rng.random(len(v))))
    return (
        np.concatenate(sources),
        np.concatenate(targets),
        np.concatenate(lengths),
        False,
        n,
    )


def powers(n: int, rng: Generator) -> Edges:
    """Return a ring with edges over every power of two, whose lengths grow with their span."""
    v = np.arange(n)
    spans = [1 << k for k in range(max(1, (n // 2).bit_length() - 1))]
    s = np.tile(v, len(spans))
    t = np.concatenate([(v + span) % n for span in spans])
    base = np.repeat(np.asarray(spans, float) ** 0.9, n)
    return s, t, base * (1 + rng.random(len(s))), False, n
