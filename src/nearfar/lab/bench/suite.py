"""Benchmark graphs by name, and the selection of their sources.

Five come from :mod:`nearfar.generators` with fixed parameters and seed 1, so they are the same on
every machine; two are real ones, read from the folder of public graphs that ``NEARFAR_DATA``
names.
"""

from __future__ import annotations

import os
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from nearfar.errors import MissingDependencyError, OptionError, by_name
from nearfar.generators import generate
from nearfar.generators.random import Stream
from nearfar.graph.graph import Graph
from nearfar.solve.one import sssp

_SEED = 1
_CANDIDATES = 64


@dataclass(frozen=True, slots=True)
class SuiteGraph:
    """Named benchmark graph."""

    name: str  # as given to `nearfar bench peers --graphs`
    summary: str  # one line: family, size, weights
    # `make(shrink)` gives the graph with about `1 / shrink` of the vertices; real graphs have one
    # size
    make: Callable[[int], Graph]
    file: str | None = None  # required file, relative to the data folder
    source: int | None = None  # a fixed source, if the literature has one

    def available(self) -> bool | str:
        """Return whether it can be built on this machine: True, or the reason in words."""
        if self.file is None:
            return True
        try:
            data_file(self.file)
        except MissingDependencyError as error:
            return str(error)
        return True


def data_folder() -> Path | None:
    """Return the folder of real graphs: ``NEARFAR_DATA``, or ``shared/data`` next to a checkout."""
    named = os.environ.get("NEARFAR_DATA")
    if named:
        return Path(named) if Path(named).is_dir() else None
    checkout = Path(__file__).resolve().parents[4]
    beside = checkout.parent / "shared" / "data"
    return beside if (checkout / "pyproject.toml").is_file() and beside.is_dir() else None


def data_file(name: str) -> Path:
    """Return a file of the folder of real graphs."""
    folder = data_folder()
    if folder is None or not (folder / name).is_file():
        raise MissingDependencyError(f"{name} is not in the data folder: set NEARFAR_DATA")
    return folder / name


def _make(name: str, **parameters: Any) -> Graph:
    return generate(name, seed=_SEED, **parameters)


def _grid(shrink: int) -> Graph:
    side = max(round(1500 / shrink**0.5), 2)
    return _make("grid", rows=side, columns=side, missing=0.1, low=1, high=1000)


def _kronecker(shrink: int) -> Graph:
    scale = max(20 - round(float(np.log2(shrink))), 4)
    return _make("kronecker", scale=scale, edge_factor=16, low=1, high=255)


def _martin(shrink: int) -> Graph:
    return _make("martin", vertices=max((1 << 20) // shrink, 16), predecessors=7, low=1, high=10)


def _random(shrink: int) -> Graph:
    n = max(98_304 // shrink, 16)
    return _make("uniform_random", vertices=n, degree=min(200, n - 1), low=1, high=100)


def _mesh(shrink: int) -> Graph:
    return _make("delaunay", vertices=max(500_000 // shrink, 16))


_GNUTELLA = "snap-johnson/p2p-Gnutella08.txt.xz"


def _small(shrink: int) -> Graph:
    """Return p2p-Gnutella08 with weights 1..100; without its file, as many random edges."""
    n, m = 6_301, 20_777
    folder = data_folder()
    weights = Stream(_SEED, "bench.small.weights").integers(1, 100, m, np.int32)
    if folder is not None and (folder / _GNUTELLA).is_file():
        from nearfar.formats import read

        bare = read(folder / _GNUTELLA)
        weights = Stream(_SEED, "bench.small.weights").integers(1, 100, bare.n_edges, np.int32)
        return Graph(bare.indptr, bare.indices, weights, attributes={"source": "p2p-Gnutella08"})
    n, m = max(n // shrink, 16), max(m // shrink, 52)
    sources = Stream(_SEED, "bench.small.sources").integers(0, n - 1, m, np.int32)
    targets = Stream(_SEED, "bench.small.targets").integers(0, n - 1, m, np.int32)
    stand_in: Graph = Graph.from_edges(
        sources, targets, weights[:m], n_vertices=n, attributes={"source": "random stand-in"}
    )
    return stand_in


_NEW_YORK = "dimacs9-road/USA-road-d.NY.gr.xz"


def _new_york(shrink: int) -> Graph:
    from nearfar.formats import read

    named = read(data_file(_NEW_YORK))
    # The file counts from 1; names are dropped so that all contenders use the same indices.
    return Graph(named.indptr, named.indices, named.weights, attributes={"source": "USA-road-d.NY"})


SUITE: dict[str, SuiteGraph] = {
    graph.name: graph
    for graph in (
        SuiteGraph("grid", "grid 1500 x 1500, a tenth missing, int32 weights 1..1000", _grid),
        SuiteGraph(
            "kronecker", "Kronecker scale 20, edge factor 16, both ways, 1..255", _kronecker
        ),
        SuiteGraph("martin", "Martin, 2^20 vertices, 7 predecessors each, 1..10", _martin),
        SuiteGraph("random", "random, 98,304 vertices, out-degree 200, 1..100", _random),
        SuiteGraph("mesh", "Delaunay mesh of 500,000 random points, float64 lengths", _mesh),
        SuiteGraph("small", "p2p-Gnutella08: 6,301 vertices, 20,777 edges, 1..100", _small),
        SuiteGraph(
            "newyork", "New York roads, 264,346 vertices", _new_york, _NEW_YORK, source=189_259
        ),
    )
}


def load(name: str, shrink: int = 1) -> Graph:
    """Make a graph of the suite."""
    if shrink < 1:
        raise OptionError(f"shrink is {shrink}: give 1 or more")
    return named(name).make(shrink)


def named(name: str) -> SuiteGraph:
    """Return the benchmark graph of a name, if it exists."""
    found = by_name(SUITE, name, "benchmark graph")
    here = found.available()
    if here is not True:
        raise MissingDependencyError(f"benchmark graph {name}: {here}")
    return found


def _reach(bare: Graph, source: int) -> int:
    """Return the number of vertices that a breadth-first search reaches. O(n + m)."""
    paths = sssp(bare, source, device="cpu", threads=1, predecessors=False)
    return int(np.count_nonzero(paths.reachable))


def draw_sources(graph: Graph, count: int = 3, fixed: int | None = None) -> list[int]:
    """Return the sources that reach most of the graph, the same on every machine.

    Vertices are drawn in an order that depends only on the seed, and accepted if they reach at
    least half of the vertices that have an edge. If 64 draws, or four per wanted source, do not
    give enough, the drawn vertices that reach most are added. O(n + m) per draw.
    """
    if fixed is not None:
        return [graph.index_of(fixed, "source")]
    n = graph.n_vertices
    touched = graph.degrees > 0
    touched[graph.indices] = True
    wanted = max(int(np.count_nonzero(touched)) // 2, 1)
    bare = graph.without_weights()
    limit = max(_CANDIDATES, 4 * count)
    draws: NDArray[np.int64] = Stream(_SEED, "bench.sources").permutation(n)
    candidates = [int(v) for v in draws[: 8 * limit] if touched[v]][:limit]
    taken: list[int] = []
    others: list[tuple[int, int]] = []
    for vertex in candidates or [int(v) for v in draws[:1]]:
        reach = _reach(bare, vertex)
        if reach >= wanted:
            taken.append(vertex)
            if len(taken) == count:
                return taken
        else:
            others.append((-reach, vertex))
    return taken + [vertex for _, vertex in sorted(others)[: count - len(taken)]]
