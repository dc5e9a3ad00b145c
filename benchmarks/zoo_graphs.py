"""Graphs of the speed zoo: families and weights on which the engine was not tuned.

Every entry of :data:`ZOO` belongs to one half: changes of the engine are judged on ``"tuned"``, and
``"reported"`` shows their effect on graphs that no change was judged on. The assignment is fixed.
Graphs are the same in every run with one NumPy and SciPy version.
"""

from __future__ import annotations

import argparse
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

import zoo_families as fam
import zoo_late_families as late
import zoo_more_families as more
from nearfar.graph.graph import Graph
from zoo_families import Array, Edges

__all__ = ["ZOO", "Entry", "made", "make"]

# Weights: integers from 1 (0 if most are zero); floats are these over 1,000.

WEIGHTS: dict[str, Callable[[int, Generator], Array]] = {
    "uniform": lambda m, rng: rng.integers(1, 1001, m).astype(np.float64),
    "small": lambda m, rng: rng.integers(1, 11, m).astype(np.float64),
    "exponential": lambda m, rng: np.ceil(rng.exponential(1000, m)),
    "log-uniform": lambda m, rng: np.ceil(10 ** (6 * rng.random(m))),
    "wide": lambda m, rng: rng.integers(1, 2**30, m).astype(np.float64),
    "constant": lambda m, rng: np.full(m, 7.0),
    "nearly constant": lambda m, rng: rng.integers(1000, 1004, m).astype(np.float64),
    "pareto": lambda m, rng: np.ceil(np.minimum(100 * rng.random(m) ** (-1 / 1.1), 2**28)),
    "lognormal": lambda m, rng: np.ceil(rng.lognormal(6, 1.5, m)),
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
    "delaunay": _entry(_T, fam.delaunay, 1e6, "lengths", "int32"),
    "delaunay-floats": _entry(_R, fam.delaunay, 3e5, "lengths", "float32"),
    "planar-4": _entry(_T, fam.planar, 1e6, "mostly zero", "int32"),
    "planar-4-even": _entry(_R, fam.planar, 1e6, "nearly constant", "int32"),
    "planar-6": _entry(_R, fam.planar, 1e6, "exponential", "int64", degree=6),
    "planar-8": _entry(_T, fam.planar, 1e6, "log-uniform", "float32", degree=8),
    "planar-8-ties": _entry(_R, fam.planar, 1e6, "constant", "int32", degree=8),
    "solid-6": _entry(_T, fam.solid, 1e6, "uniform", "int32"),
    "solid-6-large": _entry(_R, fam.solid, 1e7, "exponential", "int32"),
    "solid-14": _entry(_R, fam.solid, 5e5, "uniform", "float64", degree=14),
    "solid-delaunay": _entry(_T, fam.delaunay, 2e5, "lengths", "float32", dimensions=3),
    "strip-10": _entry(_R, fam.strip, 1e6, "uniform", "int32"),
    "neighbours-2d": _entry(_R, fam.neighbours, 1e6, "lengths", "int32"),
    "neighbours-3d": _entry(_T, fam.neighbours, 5e5, "lengths", "float32", dimensions=3, k=10),
    "neighbours-16d": _entry(_R, fam.neighbours, 3e4, "lengths", "int32", dimensions=16, k=12),
    "neighbours-64d": _entry(_T, fam.neighbours, 2e4, "lengths", "float64", dimensions=64, k=15),
    "neighbours-small": _entry(_R, fam.neighbours, 1e3, "lengths", "float64"),
    "small-world-4": _entry(_T, fam.small_world, 1e6, "uniform", "int32"),
    "small-world-10": _entry(_R, fam.small_world, 1e6, "log-uniform", "int32", degree=10),
    "small-world-small": _entry(_T, fam.small_world, 1e4, "uniform", "int32", degree=6),
    "power-2.1": _entry(_T, fam.power_law, 1e6, "uniform", "int32", exponent=2.1, degree=16),
    "power-2.5": _entry(_R, fam.power_law, 1e6, "exponential", "float32"),
    "power-3": _entry(_R, fam.power_law, 5e5, "wide", "int64", exponent=3.0, degree=10),
    "power-2.1-small": _entry(_R, fam.power_law, 1e4, "uniform", "int32", exponent=2.1),
    "attached-5": _entry(_T, fam.attached, 1e6, "constant", "int32"),
    "attached-12": _entry(_R, fam.attached, 3e5, "uniform", "int32", degree=12),
    "geometric-8": _entry(_R, fam.geometric, 1e6, "lengths", "int32"),
    "geometric-20": _entry(_T, fam.geometric, 5e5, "lengths", "float64", degree=20),
    "geometric-small": _entry(_T, fam.geometric, 1e4, "uniform", "int32"),
    "bipartite-8": _entry(_R, fam.bipartite, 1e6, "uniform", "int32"),
    "bipartite-hubs": _entry(_T, fam.bipartite, 1e6, "exponential", "int32", few=1000),
    "dense": _entry(_R, fam.dense, 3000, "uniform", "int32"),
    "dense-half": _entry(_T, fam.dense, 2000, "exponential", "float32", share=0.5),
    "tree": _entry(_T, fam.tree, 1e6, "uniform", "int32"),
    "tree-deep": _entry(_R, fam.tree, 1e6, "uniform", "int32", last=100),
    "tree-heap": _entry(_R, fam.heap_tree, 1e6, "constant", "int32"),
    "path": _entry(_T, fam.path, 1e6, "uniform", "int32"),
    "path-both-ways": _entry(_R, fam.path, 1e6, "exponential", "float64", directed=False),
    "cycle": _entry(_R, fam.cycle, 1e6, "uniform", "float32"),
    "caterpillar": _entry(_R, fam.caterpillar, 1e6, "uniform", "int32"),
    "broom": _entry(_T, fam.broom, 1e6, "uniform", "int32"),
    "star-ring": _entry(_T, fam.star_ring, 1e6, "uniform", "int32"),
    "star-ring-floats": _entry(_R, fam.star_ring, 1e6, "exponential", "float32"),
    "star-rings": _entry(_R, fam.star_ring, 1e6, "small", "int32", hubs=1000),
    "layered-wide": _entry(_T, fam.layered, 1e6, "uniform", "int32"),
    "layered-deep": _entry(_R, fam.layered, 1e6, "uniform", "int32", width=10, degree=3),
    "maze": _entry(_R, fam.maze, 1e6, "nearly constant", "int32"),
    "maze-open": _entry(_T, fam.maze, 1e6, "uniform", "int32", opened=0.1),
    "random-zero": _entry(_R, fam.uniform, 5e5, "mostly zero", "int32"),
    "random-ties": _entry(_T, fam.uniform, 5e5, "constant", "int32"),
    "random-6": _entry(_R, fam.uniform, 1e6, "exponential", "float64", degree=6),
    "random-wide": _entry(_T, fam.uniform, 3e5, "wide", "int64", degree=16),
    "random-log": _entry(_T, fam.uniform, 5e5, "log-uniform", "int32", degree=16),
    "random-large": _entry(_T, fam.uniform, 1e7, "uniform", "int32", degree=4),
    "honeycomb": _entry(_T, fam.honeycomb, 1e6, "uniform", "int32"),
    "percolated": _entry(_R, fam.percolated, 1e6, "uniform", "int32"),
    "terrain": _entry(_T, fam.terrain, 5e5, "lengths", "float32"),
    "terrain-int": _entry(_R, fam.terrain, 1e6, "lengths", "int32"),
    "timetable": _entry(_R, fam.timetable, 5e5, "lengths", "int32"),
    "timetable-small": _entry(_T, fam.timetable, 3e4, "lengths", "int32", lines=50, stops=20),
    "blobs": _entry(_R, fam.blobs, 3e5, "lengths", "float32"),
    "blobs-8d": _entry(_T, fam.blobs, 3e4, "lengths", "float64", dimensions=8, k=10),
    "communities": _entry(_R, fam.communities, 5e5, "uniform", "int32"),
    "communities-small": _entry(_T, fam.communities, 6e3, "lognormal", "float64", size=100),
    "express": _entry(_R, fam.express, 1e6, "lengths", "int32"),
    "cliques": _entry(_T, fam.cliques, 1e5, "uniform", "int32"),
    "cliques-ties": _entry(_R, fam.cliques, 1e5, "constant", "float64", size=60),
    "diamonds": _entry(_R, fam.diamonds, 1e6, "uniform", "int32"),
    "hypercube": _entry(_T, fam.hypercube, 2**18, "uniform", "int32"),
    "shifts": _entry(_R, fam.shifts, 1e6, "exponential", "int32"),
    "regular-3": _entry(_T, fam.regular, 1e6, "pareto", "int32"),
    "regular-small": _entry(_R, fam.regular, 3000, "uniform", "int32", degree=6),
    "kronecker-pareto": _entry(_R, fam.kronecker, 2**18, "pareto", "int32"),
    "kronecker-floats": _entry(_T, fam.kronecker, 2**17, "lognormal", "float32", degree=32),
    "cited": _entry(_R, fam.cited, 5e5, "lognormal", "float32"),
    "turns": _entry(_T, fam.turns, 1e6, "uniform", "int32"),
    "circulant": _entry(_R, fam.circulant, 5e5, "uniform", "int32"),
    "lollipop": _entry(_T, fam.lollipop, 5e5, "uniform", "int32"),
    "chorded": _entry(_R, fam.chorded, 1e6, "uniform", "float32"),
    "two-sided": _entry(_R, fam.two_sided, 5e3, "exponential", "int32"),
    "planar-small": _entry(_R, fam.planar, 2500, "uniform", "int32"),
    "strip-100": _entry(_R, fam.strip, 1e6, "pareto", "int32", width=100),
    "solid-pareto": _entry(_T, fam.solid, 5e5, "pareto", "int64"),
    "items": _entry(_R, fam.bipartite, 5e5, "lognormal", "float32", few=25_000, exponent=1.3),
    "items-ties": _entry(_T, fam.bipartite, 5e5, "constant", "int32", few=25_000, exponent=1.3),
    "clustered": _entry(_T, fam.delaunay, 5e5, "lengths", "int32", clusters=200),
    "porous": _entry(_R, fam.percolated, 1e6, "uniform", "float64", share=0.35, lattice=fam.solid),
    "layered-full": _entry(_T, fam.layered, 1e5, "exponential", "float32", width=100, degree=100),
    "metric": _entry(_T, fam.metric, 2500, "lengths", "float32"),
    "tree-floats": _entry(_R, fam.tree, 1e6, "exponential", "float64"),
    "alignment": _entry(_R, fam.alignment, 1e6, "exponential", "float32"),
    "alignment-zero": _entry(_T, fam.alignment, 1e6, "mostly zero", "int32"),
    "districts": _entry(_T, more.districts, 1e6, "lengths", "float32"),
    "districts-int": _entry(_R, more.districts, 5e5, "lengths", "int32"),
    "image": _entry(_R, more.image, 5e5, "lengths", "float32"),
    "image-small": _entry(_T, more.image, 8000, "lengths", "int32"),
    "knights": _entry(_T, more.knights, 5e5, "lengths", "float64"),
    "knights-small": _entry(_R, more.knights, 1e4, "lengths", "float32"),
    "radial": _entry(_R, more.radial, 1e6, "lengths", "float64"),
    "refined": _entry(_T, more.refined, 5e5, "lengths", "int32"),
    "kleinberg": _entry(_R, more.kleinberg, 1e6, "uniform", "int32"),
    "kleinberg-zero": _entry(_T, more.kleinberg, 1e6, "mostly zero", "int64"),
    "airline": _entry(_T, more.airline, 5e5, "lengths", "float32"),
    "banded": _entry(_T, more.banded, 5e5, "exponential", "int32"),
    "banded-small": _entry(_T, more.banded, 5000, "uniform", "int32", degree=8, band=50),
    "pancakes": _entry(_R, more.pancakes, 4e5, "lengths", "int32"),
    "space-time": _entry(_T, more.space_time, 1e6, "lognormal", "float32"),
    "cactus": _entry(_R, more.cactus, 1e6, "pareto", "int64"),
    "comb": _entry(_R, more.comb, 1e6, "uniform", "float32"),
    "corridor": _entry(_T, more.corridor, 1e6, "uniform", "int32"),
    "hyperbolic": _entry(_R, more.hyperbolic, 5e5, "lengths", "float32"),
    "hyperbolic-small": _entry(_R, more.hyperbolic, 2e4, "lengths", "float64"),
    "copied": _entry(_T, more.copied, 5e5, "wide", "int32"),
    "automaton": _entry(_R, more.automaton, 1e6, "exponential", "float64"),
    "skipped": _entry(_T, more.skipped, 1e6, "lengths", "int32"),
    "powers": _entry(_R, more.powers, 2e5, "lengths", "float32"),
    "barbell": _entry(_R, late.barbell, 3e5, "uniform", "int32"),
    "siblings": _entry(_R, late.siblings, 3e5, "uniform", "float64"),
    "islands": _entry(_R, late.islands, 1e6, "uniform", "int32"),
    "burdened": _entry(_R, late.burdened, 3e5, "lengths", "float32"),
    "burdened-int": _entry(_R, late.burdened, 3e5, "lengths", "int32"),
    "two-scales": _entry(_R, late.two_scales, 3e5, "lengths", "float64"),
    "acyclic": _entry(_R, late.acyclic, 3e5, "exponential", "int32"),
    "acyclic-small": _entry(_R, late.acyclic, 5e3, "uniform", "float64"),
    "forward": _entry(_R, late.forward, 3e5, "uniform", "float32"),
    "sinks": _entry(_R, late.sinks, 5e5, "exponential", "float32"),
    "one-way": _entry(_R, late.one_way, 3e5, "uniform", "int32"),
    "coins": _entry(_R, late.coins, 3e5, "lengths", "float32"),
    "around": _entry(_R, fam.geometric, 1e5, "lengths", "float32", degree=50, dimensions=3),
    "around-small": _entry(_R, fam.geometric, 5e3, "lengths", "float64", degree=50, dimensions=3),
    "modules": _entry(_R, late.modules, 1e5, "lengths", "float64"),
    "modules-small": _entry(_R, late.modules, 4e3, "lengths", "float32"),
    "spiral": _entry(_R, late.spiral, 3e5, "uniform", "int32"),
    "rising": _entry(_R, late.rising, 3e5, "lengths", "float64"),
    "shuffled": _entry(_R, late.shuffled, 3e5, "uniform", "float64"),
    "shuffled-small": _entry(_R, late.shuffled, 5e3, "uniform", "float64"),
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


def add_graphs(parser: argparse.ArgumentParser, default: list[str] | None = None) -> None:
    """Add options that choose graphs of the zoo and their size."""
    names = list(ZOO)
    parser.add_argument("--only", nargs="+", choices=names, default=default, metavar="GRAPH")
    parser.add_argument("--most", type=int, help="maximum number of vertices (default: no maximum)")


def _store(name: str, file: str, most: str | None = None) -> None:
    """Make a graph and write it."""
    graph = make(name, None if most is None else int(most))
    rows = {"indptr": graph.indptr, "indices": graph.indices, "weights": graph.effective_weights}
    np.savez(file, directed=graph.directed, **rows)


if __name__ == "__main__":
    _store(*sys.argv[1:])
