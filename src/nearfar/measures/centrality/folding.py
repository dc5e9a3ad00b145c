"""Folding of attached trees onto their roots, before betweenness on a GPU.

A vertex with one neighbour, and recursively a whole tree attached to one vertex, is entered and
left only through that vertex. Shares of paths inside the tree are products of numbers of sources
and targets; outside, the tree counts as further sources and targets at its root (Baglioni et al.
2012). This removes a third of a social network's vertices, and a third of the searches.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from nearfar.graph.graph import Graph
from nearfar.graph.saturation import may_saturate
from nearfar.graph.slots import Slot

_LEAST_SHARE = 0.1  # minimum share of folded vertices that repays a second graph


class Counts(NamedTuple):
    """Sources and targets of a request after folding."""

    sources: NDArray[np.int64]  # shape (k,); vertices of the core to search from
    weights: NDArray[np.float64]  # shape (k,); number of original sources per vertex
    # shape (core's n, 2); number of targets at each vertex of the core including those folded onto
    # it, and number of the folded ones
    ends: NDArray[np.float64]
    inside: NDArray[np.float64]  # shape (n,); shares of paths that the trees determine


class Core(NamedTuple):
    """Graph without the trees attached to it."""

    graph: Graph  # graph of the remaining vertices
    kept: NDArray[np.int64]  # indices of its vertices in the whole graph, ascending
    # folded vertices and their roots; a vertex follows all vertices that are folded onto it
    rounds: list[tuple[NDArray[np.int64], NDArray[np.int64]]]
    component: NDArray[Any]  # shape (n,); component of every vertex

    def counts(self, is_source: NDArray[np.float64], is_target: NDArray[np.float64]) -> Counts:
        """Fold a request, whose sources and targets are 1 and other vertices 0."""
        sources, targets = is_source.copy(), is_target.copy()
        pairs = np.zeros(len(sources))  # pairs of a source and a target in the same branch
        for leaves, roots in self.rounds:
            np.add.at(pairs, roots, sources[leaves] * targets[leaves])
            np.add.at(sources, roots, sources[leaves])
            np.add.at(targets, roots, targets[leaves])
        all_sources = np.bincount(self.component, weights=is_source)[self.component]
        all_targets = np.bincount(self.component, weights=is_target)[self.component]
        sources_below, targets_below = sources - is_source, targets - is_target
        # Paths between two branches, from a branch to the rest, and from the rest to a branch;
        # the last kind at a root is left to the searches, which pass the root.
        inside = sources_below * targets_below - pairs + sources_below * (all_targets - targets)
        folded = np.ones(len(sources), dtype=bool)
        folded[self.kept] = False
        inside[folded] += ((all_sources - sources) * targets_below)[folded]
        here = sources[self.kept]
        start = np.flatnonzero(here)
        ends = np.stack([targets[self.kept], targets_below[self.kept]], axis=1)
        return Counts(start, here[start], ends, inside)


_CORE: Slot[Core | None] = Slot("core")


def core_of(graph: Graph) -> Core | None:
    """Return the core of a graph with edges in both directions, cached; None if it is no smaller.

    Graphs with float weights are not folded, since their ties would change with the start of sums,
    nor are graphs with weights of zero, which form cycles.
    """
    if graph.is_weighted and (
        graph.weight_dtype.kind == "f" or graph.has_zero_weight or may_saturate(graph)
    ):
        return None
    return _CORE.of(graph, lambda: _cut(graph))


def _cut(graph: Graph) -> Core | None:
    from scipy.sparse import csr_array
    from scipy.sparse.csgraph import connected_components

    n = graph.n_vertices
    tails, heads = graph.tails(np.int64), graph.indices.astype(np.int64)
    degree = np.diff(graph.indptr).astype(np.int64)
    # sum of a vertex's neighbours: the neighbour itself if there is one
    others = np.zeros(n, dtype=np.int64)
    np.add.at(others, tails, heads)
    rounds = []
    leaves = np.flatnonzero(degree == 1)
    while len(leaves):
        roots = others[leaves]
        # of the last two vertices of a component one remains
        both = (degree[roots] == 1) & (roots > leaves)
        leaves, roots = leaves[~both], roots[~both]
        degree[leaves] = 0
        np.subtract.at(degree, roots, 1)
        np.subtract.at(others, roots, leaves)
        rounds.append((leaves, roots))
        leaves = np.unique(roots[degree[roots] == 1])
    is_folded = np.zeros(n, dtype=bool)
    for gone, _ in rounds:
        is_folded[gone] = True
    if is_folded.sum() < _LEAST_SHARE * n:
        return None
    kept = np.flatnonzero(~is_folded)
    label = np.full(n, -1, dtype=np.int64)
    label[kept] = np.arange(len(kept))
    stays = ~is_folded[tails] & ~is_folded[heads]
    indptr = np.zeros(len(kept) + 1, dtype=np.int64)
    np.cumsum(np.bincount(label[tails[stays]], minlength=len(kept)), out=indptr[1:])
    weights = None if graph.weights is None else graph.weights[stays]
    core = Graph.from_csr(indptr, label[heads[stays]], weights, directed=graph.directed, copy=False)
    matrix = csr_array((np.ones(len(heads), np.int8), graph.indices, graph.indptr), shape=(n, n))
    _, component = connected_components(matrix, directed=False)
    return Core(core, kept, rounds, component)
