"""Graphs of ``prepared.py``, and the predicted cost of preparing others.

Maps are read from the folder of real graphs (``NEARFAR_DATA``); a missing one is left out with a
message.
"""

from __future__ import annotations

import dataclasses
import lzma
import time
from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray

import nearfar
from nearfar import Graph, _cpu
from nearfar.generators import generate
from nearfar.lab.bench.suite import data_file
from nearfar.prepared.order.elimination import Structure, elimination_order, structure_of
from nearfar.prepared.order.tree import analyse

__all__ = ["FORESEEN", "GRAPHS", "LARGE", "SMALL", "foresee", "metis_order", "scaled"]

DATA = "dimacs9-topology"
SMALL = "country-roads-5k"  # for testing the script; measured only if named
LARGE = "country-roads-5m"  # takes minutes and about 20 GB; measured only if named


def topology(name: str) -> Graph:
    """Return roads of the 9th DIMACS challenge with weights 1..10,000 instead of lengths."""
    with lzma.open(data_file(f"{DATA}/USA-road-topo.{name}.tw.gr.xz"), "rt") as lines:
        listed = [line.split() for line in lines if line[:1] not in ("c", "p")]
    ends = np.array(listed, dtype=np.int64) - 1
    weights = np.random.default_rng(3).integers(1, 10_001, len(ends)).astype(np.int32)
    return Graph.from_edges(ends[:, 0], ends[:, 1], weights, directed=False)


def new_york() -> Graph:
    """Return New York's roads with their travel distances and coordinates."""
    return nearfar.read(data_file("dimacs9-road/USA-road-d.NY.gr.xz"))


def scaled(graph: Graph) -> Graph:
    """Return the graph with integer weights, so that all packages compute equal numbers."""
    if graph.weight_dtype == np.int32:
        return graph.without_names()
    weights = np.maximum(1, np.rint(graph.effective_weights * 1e4)).astype(np.int32)
    kept: dict[str, Any] = {"directed": graph.directed, "coordinates": graph.coordinates}
    return Graph(graph.indptr, graph.indices, weights, **kept)


GRAPHS: dict[str, Callable[[], Graph]] = {
    "ny-roads": new_york,
    "colorado": lambda: topology("COL"),
    "florida": lambda: topology("FLA"),
    "country-roads-1m": lambda: generate("country_roads", vertices=1_000_000),
    "road-like-1m": lambda: generate("road_like", vertices=1_000_000),
    "delaunay-200k": lambda: generate("delaunay", vertices=200_000),
    "grid-500": lambda: generate("grid", rows=500, columns=500),
    SMALL: lambda: generate("country_roads", vertices=5_000),
    LARGE: lambda: generate("country_roads", vertices=5_000_000),
}


def gnutella() -> Graph:
    """Return the hosts of a peer-to-peer network."""
    return nearfar.read(data_file("snap-johnson/p2p-Gnutella31.txt.xz"))


FORESEEN: dict[str, tuple[Callable[[], Graph], tuple[str, ...]]] = {
    "ny-roads": (new_york, ("multilevel", "metis")),
    "country-roads-250k": (lambda: generate("country_roads", vertices=250_000), ("multilevel",)),
    "road-like-250k": (lambda: generate("road_like", vertices=250_000), ("multilevel",)),
    "kronecker-14": (lambda: generate("kronecker", scale=14), ("multilevel",)),
    "small-world-20k": (lambda: generate("small_world", vertices=20_000), ("multilevel",)),
    "p2p-Gnutella31": (gnutella, ("multilevel",)),
    SMALL: (GRAPHS[SMALL], ("multilevel", "metis")),
}


def metis_order(structure: Structure) -> NDArray[np.int32]:
    """Return METIS's order after the reductions, as a peer of nearfar's dissection; one core."""
    import pymetis

    first, kept, begin, neighbour = _cpu.prepared_reduce(structure.first, structure.neighbour)
    adjacency = pymetis.CSRAdjacency(begin.astype(np.int32), neighbour)
    # The best of three separators per cut saves 8 % of the triangles on roads, for half a second.
    options = pymetis.Options(seed=0, nseps=3)
    inner, _ = pymetis.nested_dissection(adjacency=adjacency, options=options)
    return np.concatenate([first, kept[np.asarray(inner, dtype=np.int32)]])


def foresee(name: str) -> list[dict[str, Any]]:
    """Predict the cost of preparing a graph, for each order: figures and seconds."""
    make, orders = FORESEEN[name]
    graph, found = make(), []
    for method in orders:
        began = time.perf_counter()
        structure = structure_of(graph)
        order = metis_order(structure) if method == "metis" else elimination_order(structure)[0]
        ordered = time.perf_counter()
        figures = analyse(graph, structure, order)[1]
        found.append({
            "graph": name,
            "order": method,
            "order_seconds": ordered - began,
            "analysis_seconds": time.perf_counter() - ordered,
            "worth": figures.worth,
            **dataclasses.asdict(figures),
        })  # fmt: skip
    return found
