"""Graphs of the speed zoo: families and weights on which the engine was not tuned.

Every entry of :data:`ZOO` belongs to one half: changes of the engine are judged on ``"tuned"``, and
``"reported"`` shows their effect on graphs that no change was judged on. The assignment is fixed.
Graphs are the same in every run with one NumPy and SciPy version.
"""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
import zlib
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.random import Generator
from numpy.typing import NDArray

from nearfar.graph.graph import Graph

__all__ = ["ZOO", "Entry", "made", "make"]

Array = NDArray[Any]
#: Sources, targets, lengths if the family has them, whether directed, number of vertices.
Edges = tuple[Array, Array, Array | None, bool, int]


# Families, with about n vertices each. Undirected ones list every edge once.


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


def delaunay(n: int, rng: Generator, dimensions: int = 2) -> Edges:
    from scipy.spatial import Delaunay

    points = rng.random((n, dimensions))
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


def geometric(n: int, rng: Generator, degree: int = 8) -> Edges:
    from scipy.spatial import cKDTree

    points = rng.random((n, 2))
    pairs = cKDTree(points).query_pairs((degree / (np.pi * n)) ** 0.5, output_type="ndarray")
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


def bipartite(n: int, rng: Generator, degree: int = 8, few: int | None = None) -> Edges:
    left = n // 2 if few is None else n - few
    s = np.repeat(np.arange(left), degree // 2)
    return s, rng.integers(left, n, len(s)), None, False, n


def dense(n: int, rng: Generator, share: float = 1.0) -> Edges:
    n = min(n, 3000)
    s, t = np.nonzero(rng.random((n, n)) < share)
    return s, t, None, True, n


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


# Weights: integers from 1 (0 if most are zero); floats are these over 1,000.

WEIGHTS: dict[str, Callable[[int, Generator], Array]] = {
    "uniform": lambda m, rng: rng.integers(1, 1001, m).astype(np.float64),
    "small": lambda m, rng: rng.integers(1, 11, m).astype(np.float64),
    "exponential": lambda m, rng: np.ceil(rng.exponential(1000, m)),
    "log-uniform": lambda m, rng: np.ceil(10 ** (6 * rng.random(m))),
    "wide": lambda m, rng: rng.integers(1, 2**30, m).astype(np.float64),
    "constant": lambda m, rng: np.full(m, 7.0),
    "nearly constant": lambda m, rng: rng.integers(1000, 1004, m).astype(np.float64),
    "mostly zero": lambda m, rng: np.where(rng.random(m) < 0.9, 0, rng.integers(1, 1001, m)),
}


@dataclass(frozen=True)
class Entry:
    """One graph of the zoo."""

    half: str
    family: Callable[..., Edges]
    vertices: int
    weights: str  # a key of WEIGHTS, or "lengths"
    dtype: str
    options: dict[str, Any]


def _entry(
    half: str,
    family: Callable[..., Edges],
    vertices: float,
    weights: str,
    dtype: str,
    **options: Any,
) -> Entry:
    return Entry(half, family, int(vertices), weights, dtype, options)


_T, _R = "tuned", "reported"
ZOO: dict[str, Entry] = {
    "delaunay": _entry(_T, delaunay, 1e6, "lengths", "int32"),
    "delaunay-floats": _entry(_R, delaunay, 3e5, "lengths", "float32"),
    "planar-4": _entry(_T, planar, 1e6, "mostly zero", "int32"),
    "planar-4-even": _entry(_R, planar, 1e6, "nearly constant", "int32"),
    "planar-6": _entry(_R, planar, 1e6, "exponential", "int64", degree=6),
    "planar-8": _entry(_T, planar, 1e6, "log-uniform", "float32", degree=8),
    "planar-8-ties": _entry(_R, planar, 1e6, "constant", "int32", degree=8),
    "solid-6": _entry(_T, solid, 1e6, "uniform", "int32"),
    "solid-6-large": _entry(_R, solid, 1e7, "exponential", "int32"),
    "solid-14": _entry(_R, solid, 5e5, "uniform", "float64", degree=14),
    "solid-delaunay": _entry(_T, delaunay, 2e5, "lengths", "float32", dimensions=3),
    "strip-10": _entry(_R, strip, 1e6, "uniform", "int32"),
    "neighbours-2d": _entry(_R, neighbours, 1e6, "lengths", "int32"),
    "neighbours-3d": _entry(_T, neighbours, 5e5, "lengths", "float32", dimensions=3, k=10),
    "neighbours-16d": _entry(_R, neighbours, 3e4, "lengths", "int32", dimensions=16, k=12),
    "neighbours-64d": _entry(_T, neighbours, 2e4, "lengths", "float64", dimensions=64, k=15),
    "neighbours-small": _entry(_R, neighbours, 1e3, "lengths", "float64"),
    "small-world-4": _entry(_T, small_world, 1e6, "uniform", "int32"),
    "small-world-10": _entry(_R, small_world, 1e6, "log-uniform", "int32", degree=10),
    "small-world-small": _entry(_T, small_world, 1e4, "uniform", "int32", degree=6),
    "power-2.1": _entry(_T, power_law, 1e6, "uniform", "int32", exponent=2.1, degree=16),
    "power-2.5": _entry(_R, power_law, 1e6, "exponential", "float32"),
    "power-3": _entry(_R, power_law, 5e5, "wide", "int64", exponent=3.0, degree=10),
    "power-2.1-small": _entry(_R, power_law, 1e4, "uniform", "int32", exponent=2.1),
    "attached-5": _entry(_T, attached, 1e6, "constant", "int32"),
    "attached-12": _entry(_R, attached, 3e5, "uniform", "int32", degree=12),
    "geometric-8": _entry(_R, geometric, 1e6, "lengths", "int32"),
    "geometric-20": _entry(_T, geometric, 5e5, "lengths", "float64", degree=20),
    "geometric-small": _entry(_T, geometric, 1e4, "uniform", "int32"),
    "bipartite-8": _entry(_R, bipartite, 1e6, "uniform", "int32"),
    "bipartite-hubs": _entry(_T, bipartite, 1e6, "exponential", "int32", few=1000),
    "dense": _entry(_R, dense, 3000, "uniform", "int32"),
    "dense-half": _entry(_T, dense, 2000, "exponential", "float32", share=0.5),
    "tree": _entry(_T, tree, 1e6, "uniform", "int32"),
    "tree-deep": _entry(_R, tree, 1e6, "uniform", "int32", last=100),
    "tree-heap": _entry(_R, heap_tree, 1e6, "constant", "int32"),
    "path": _entry(_T, path, 1e6, "uniform", "int32"),
    "path-both-ways": _entry(_R, path, 1e6, "exponential", "float64", directed=False),
    "cycle": _entry(_R, cycle, 1e6, "uniform", "float32"),
    "caterpillar": _entry(_R, caterpillar, 1e6, "uniform", "int32"),
    "broom": _entry(_T, broom, 1e6, "uniform", "int32"),
    "star-ring": _entry(_T, star_ring, 1e6, "uniform", "int32"),
    "star-ring-floats": _entry(_R, star_ring, 1e6, "exponential", "float32"),
    "star-rings": _entry(_R, star_ring, 1e6, "small", "int32", hubs=1000),
    "layered-wide": _entry(_T, layered, 1e6, "uniform", "int32"),
    "layered-deep": _entry(_R, layered, 1e6, "uniform", "int32", width=10, degree=3),
    "maze": _entry(_R, maze, 1e6, "nearly constant", "int32"),
    "maze-open": _entry(_T, maze, 1e6, "uniform", "int32", opened=0.1),
    "random-zero": _entry(_R, uniform, 5e5, "mostly zero", "int32"),
    "random-ties": _entry(_T, uniform, 5e5, "constant", "int32"),
    "random-6": _entry(_R, uniform, 1e6, "exponential", "float64", degree=6),
    "random-wide": _entry(_T, uniform, 3e5, "wide", "int64", degree=16),
    "random-log": _entry(_T, uniform, 5e5, "log-uniform", "int32", degree=16),
    "random-large": _entry(_T, uniform, 1e7, "uniform", "int32", degree=4),
}


def make(name: str, most: int | None = None) -> Graph:
    """Make a graph of the zoo, with a maximum number of vertices."""
    entry = ZOO[name]
    rng = np.random.default_rng(zlib.crc32(name.encode()))
    n = entry.vertices if most is None else min(entry.vertices, most)
    s, t, lengths, directed, n = entry.family(n, rng, **entry.options)
    dtype = np.dtype(entry.dtype)
    if entry.weights == "lengths":
        assert lengths is not None
        weights = np.ceil(lengths * (1000 / lengths.mean())) if dtype.kind == "i" else lengths
    else:
        weights = WEIGHTS[entry.weights](len(s), rng)
        weights = weights / 1000 if dtype.kind == "f" else weights
    return Graph.from_edges(s, t, weights.astype(dtype), n_vertices=n, directed=directed)


def made(names: list[str], most: int | None) -> Iterator[tuple[str, Graph]]:
    """Yield all graphs, which worker processes build before the first one is returned."""
    with tempfile.TemporaryDirectory(prefix="nearfar-zoo-") as folder:
        files = [Path(folder, f"{name}.npz") for name in names]

        def store(name: str, file: Path) -> None:
            words = [name, str(file), *([] if most is None else [str(most)])]
            subprocess.run([sys.executable, __file__, *words], check=True)

        with ThreadPoolExecutor(len(os.sched_getaffinity(0))) as pool:
            list(pool.map(store, names, files))
        for name, file in zip(names, files, strict=True):
            with np.load(file) as parts:
                rows = [parts[key] for key in ("indptr", "indices", "weights")]
                yield name, Graph(*rows, directed=bool(parts["directed"]))
            file.unlink()


def _store(name: str, file: str, most: str | None = None) -> None:
    """Make a graph and write it."""
    graph = make(name, None if most is None else int(most))
    rows = {"indptr": graph.indptr, "indices": graph.indices, "weights": graph.effective_weights}
    np.savez(file, directed=graph.directed, **rows)


if __name__ == "__main__":
    _store(*sys.argv[1:])
