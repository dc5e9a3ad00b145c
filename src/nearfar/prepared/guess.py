"""Estimate the cost of preparing a graph from samples, before an order is known.

The estimate is fitted to roads, grids and triangulations; :mod:`nearfar.prepared.order.tree`
computes exact figures for a given order. A graph without small separators is recognised by its
diameter in edges, which grows with the logarithm of the number of vertices instead of its root.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from nearfar.graph.facts import Facts
from nearfar.graph.graph import Graph
from nearfar.graph.slots import Slot
from nearfar.prepared.order.tree import weighing_seconds

_ARC = 3.3e-10  # seconds per arc and source, in vector lanes
_WRITTEN = 1.5e-9  # seconds per distance that is written
#: Seconds per vertex for the left-to-right sums of a row of floats.
POLISH = 3.5e-8
_MOST_DEGREE = 8  # a triangulation has 6
# Sampled vertices; edges per vertex that are looked up in the reverse direction; edges compared.
_SAMPLE, _EDGES, _ROW = 64, 8, 64
_DEGREE: Slot[float] = Slot("undirected degree")


@dataclass(frozen=True, slots=True)
class Guess:
    """Estimated cost of preparing."""

    # n_arcs, n_triangles: edges and shortcuts together; steps of a customization
    n_arcs: float
    n_triangles: float
    order: float  # seconds for the order on one core
    # seconds on one core for the other steps: analysis, arcs, and their weights with pruning
    weights: float


def guess(facts: Facts) -> Guess | str:
    """Estimate the cost of preparing, or return why the graph has no small separators."""
    n, hops = facts.n, facts.hops
    few = max(16.0, 0.12 * math.sqrt(n))
    if hops < few and n > 256:
        return f"no small separators: about {hops:.0f} hops lead everywhere"
    degree = undirected_degree(facts.graph)
    if degree > _MOST_DEGREE:
        return f"no small separators: {degree:.0f} edges per vertex"
    beyond = max(degree - 2, 0.0)  # chains are removed before the order
    arcs = n * (1.5 + 0.5 * min(beyond, 2) ** 1.4 * math.log2(n + 2))
    triangles = 2 * arcs * arcs / max(n, 1)
    return Guess(
        n_arcs=arcs,
        n_triangles=triangles,
        order=n * 1e-5 * min(1.0, beyond / 1.6) + facts.m * 5e-8,
        weights=weighing_seconds(n, arcs, triangles),
    )


def row_seconds(
    facts: Facts, n_arcs: float, width: int | None = None, restored: bool = False
) -> float:
    """Return the seconds per row on one core, if there are many sources."""
    exact = POLISH * facts.n if restored else 0.0
    return _ARC * n_arcs + _WRITTEN * (facts.n if width is None else width) + exact


def undirected_degree(graph: Graph) -> float:
    """Estimate the mean number of neighbours in either direction from a sample; cached."""

    def make() -> float:
        if not (graph.directed and graph.n_vertices):
            return graph.mean_degree
        tails = np.arange(0, graph.n_vertices, max(1, graph.n_vertices // _SAMPLE))
        heads = graph.rows_of(tails, _EDGES)
        if not len(heads):
            return 2 * graph.mean_degree
        tails = np.repeat(tails, np.minimum(graph.degrees[tails], _EDGES))
        beyond = graph.rows_of(heads, _ROW)
        edge = np.repeat(np.arange(len(heads)), np.minimum(graph.degrees[heads], _ROW))
        back = np.zeros(len(heads), dtype=np.bool_)  # whether the reverse edge exists
        back[edge[beyond == tails[edge]]] = True
        return graph.mean_degree * (2 - float(back.mean()))

    return _DEGREE.of(graph, make)
