"""Graphs that replace those of Davidson et al. (2014), Table II, one of the same kind for each.

The paper's files are not available. Every replacement is generated with seed 1 and has the paper's
number of vertices and edges at scale ``paper``; its depth in hops is measured and shown next to
the paper's, because not every family can match it.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np

from nearfar.graph.graph import Graph
from nearfar.lab.experiments.solving import weighted


@dataclass(frozen=True, slots=True)
class PaperGraph:
    """Row of Table II.

    Attributes
    ----------
    name, kind : str
        As in the paper.
    vertices, edges, diameter : int
        As in the paper.
    stand_in : str
        Description of the graph that replaces it.
    make : callable
        ``make(n)`` gives about n vertices.
    """

    name: str
    kind: str
    vertices: int
    edges: int
    diameter: int
    stand_in: str
    make: Callable[[int], Graph]


def _generate(name: str, **parameters: Any) -> Graph:
    from nearfar.generators import generate

    return generate(name, seed=1, **parameters)


def _road(n: int) -> Graph:
    return _generate("road_like", vertices=n, weight="length", weight_dtype="int32")


def _delaunay(n: int) -> Graph:
    return weighted(_generate("delaunay", vertices=n), 1, 1000, "experiments.delaunay")


def _box(n: int) -> Graph:
    """Return a box of cells with 17% of the edges missing: mean degree about 5, like msdoor."""
    from nearfar.generators.random import Stream

    side = max(round(n ** (1 / 3)), 2)
    number = np.arange(side**3, dtype=np.int32).reshape(side, side, side)
    pairs = [
        (number.take(range(side - 1), axis).ravel(), number.take(range(1, side), axis).ravel())
        for axis in range(3)
    ]
    tails, heads = (np.concatenate(part) for part in zip(*pairs, strict=True))
    kept = Stream(1, "experiments.box").integers(1, 100, len(tails), np.int32) > 17
    tails, heads = tails[kept], heads[kept]
    length = Stream(1, "experiments.box.weights").integers(1, 1000, len(tails), np.int32)
    both = np.concatenate([tails, heads]), np.concatenate([heads, tails])
    made: Graph = Graph.from_edges(*both, np.concatenate([length, length]), n_vertices=side**3)
    return made


def _circuit(n: int) -> Graph:
    return _generate("small_world", vertices=n, neighbours=6, rewire=0.02, low=1, high=1000)


def _social(n: int) -> Graph:
    return _generate("preferential_attachment", vertices=n, attach=2, low=1, high=1000)


def _rmat(n: int, edge_factor: int) -> Graph:
    scale = max(round(float(np.log2(n))), 4)
    return _generate(
        "kronecker", scale=scale, edge_factor=edge_factor, symmetrize=False, low=1, high=1000
    )


_ROAD = "generated road-like network, lengths in centimetres"
_MESH = "Delaunay mesh of random points in the plane (the paper's own family), weights 1..1000"
_BOX = "three-dimensional box of cells, 17% of the edges missing, weights 1..1000"
_RING = "ring of six neighbours, 2% of the edges rewired, weights 1..1000"
_ATTACHED = "preferential attachment, two edges per vertex, both ways, weights 1..1000"
_KRONECKER = "Kronecker, directed, edge factor {}, weights 1..1000"
_FIVE, _NINE = ((_KRONECKER.format(k), partial(_rmat, edge_factor=k)) for k in (5, 9))
_ROWS = (
    PaperGraph("road-asia", "road", 11_000_000, 25_000_000, 38_576, _ROAD, _road),
    PaperGraph("road-cal", "road", 1_900_000, 4_600_000, 2_575, _ROAD, _road),
    PaperGraph("delaunay", "mesh", 1_000_000, 6_300_000, 380, _MESH, _delaunay),
    PaperGraph("msdoor", "mesh", 4_150_000, 20_650_000, 167, _BOX, _box),
    PaperGraph("circuit", "circuit", 3_500_000, 19_000_000, 135, _RING, _circuit),
    PaperGraph("yahoo-social", "social", 1_200_000, 4_000_000, 16, _ATTACHED, _social),
    PaperGraph("rmat", "power law", 3_000_000, 20_000_000, 15, *_FIVE),
    PaperGraph("flickr", "power law", 820_000, 9_800_000, 12, *_NINE),
)
GRAPHS: dict[str, PaperGraph] = {row.name: row for row in _ROWS}
#: Not in Table II: a graph of the size at which section V compares throughput with CPU libraries.
LARGE = PaperGraph("rmat-17m", "power law", 16_777_216, 90_000_000, 0, *_FIVE)
