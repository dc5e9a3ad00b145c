"""Shared rasters of tests, and the explicit graph of a raster."""

from __future__ import annotations

from typing import Any

import numpy as np

from nearfar import Graph
from nearfar.raster import Raster


def explicit(raster: Raster) -> Graph:
    """Return the raster's graph with every edge stored, its weights computed in NumPy."""
    given = raster._describe()
    cost = given["cost"].reshape(-1)
    index = np.arange(raster.n_vertices).reshape(raster.shape)
    blocked = ~raster._may_enter(np.arange(raster.n_vertices))
    sources, targets, weights = [], [], []
    for k, step in enumerate(raster.steps.tolist()):
        # `step` leads from a cell to the start of its edge.
        to = tuple(
            slice(max(0, -d), n - max(0, d)) for d, n in zip(step, raster.shape, strict=True)
        )
        by = tuple(
            slice(max(0, d), n - max(0, -d)) for d, n in zip(step, raster.shape, strict=True)
        )
        u, v = index[by].reshape(-1), index[to].reshape(-1)
        open_ = ~(blocked[u] | blocked[v])
        if not raster.cut_corners:
            beside = v + step[1]  # in the row of v and the column of u
            open_ &= ~(blocked[beside] | blocked[u + v - beside])
        u, v = u[open_], v[open_]
        factor = given["factors"][k]
        w = factor * cost[v] if given["rule"] == 1 else factor * (cost[u] + cost[v])
        if raster.slope is not None:
            heights = raster.elevation.reshape(-1)
            w = w * interpolated(given["table"], (heights[v] - heights[u]) * given["inverses"][k])
        sources.append(u), targets.append(v), weights.append(w.astype(raster.dtype))
    u, v, w = map(np.concatenate, (sources, targets, weights))
    fits = np.isfinite(w)
    return Graph.from_edges(u[fits], v[fits], w[fits], n_vertices=raster.n_vertices)


def interpolated(table: Any, slope: np.ndarray) -> np.ndarray:
    """Return the slope table as documented: linear, constant beyond the ends, rounded once each."""
    values, low, scale = table
    last = slope.dtype.type(len(values) - 2)
    place = np.clip((slope - low) * scale, 0, last)
    i = place.astype(int)
    part = place - i.astype(slope.dtype)
    with np.errstate(invalid="ignore"):
        return np.where(part > 0, values[i] + part * (values[i + 1] - values[i]), values[i])


def noise(shape: tuple[int, ...], dtype: Any, seed: int = 0, holes: float = 0.3) -> np.ndarray:
    """Return random costs with barriers, none in the middle."""
    rng = np.random.default_rng(seed)
    cost = (1 + rng.random(shape) * 50).astype(dtype)
    if cost.dtype.kind == "f":
        cost[rng.random(shape) < holes] = np.nan
        cost[rng.random(shape) < 0.02] = np.inf
    cost[tuple(n // 2 for n in shape)] = 1
    return cost


def serpentine(n: int) -> np.ndarray:
    """Return one passage that winds through all rows."""
    cost = np.full((n, n), np.inf, dtype=np.float32)
    cost[::2] = 1
    cost[1::4, -1] = 1
    cost[3::4, 0] = 1
    return cost


def maze(n: int, seed: int = 0) -> np.ndarray:
    """Return a perfect maze of n x n cells, with one path between any two cells."""
    rng = np.random.default_rng(seed)
    cost = np.full((2 * n + 1, 2 * n + 1), np.inf, dtype=np.float32)
    seen, stack = {(0, 0)}, [(0, 0)]
    cost[1, 1] = 1
    while stack:
        y, x = stack[-1]
        around = [(y, x + 1), (y + 1, x), (y, x - 1), (y - 1, x)]
        free = [(a, b) for a, b in around if 0 <= a < n and 0 <= b < n and (a, b) not in seen]
        if not free:
            stack.pop()
            continue
        a, b = free[rng.integers(len(free))]
        cost[2 * a + 1, 2 * b + 1] = cost[y + a + 1, x + b + 1] = 1
        seen.add((a, b))
        stack.append((a, b))
    return cost
