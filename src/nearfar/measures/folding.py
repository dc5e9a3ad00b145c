"""Trees that hang on a graph, folded onto their roots before betweenness searches it on a GPU.

A vertex with one neighbour, and then a whole tree that hangs on one vertex, is entered and left by
that vertex alone. What paths do inside is a product of numbers of sources and targets; outside, the
tree counts as further sources and targets at its root (Baglioni et al. 2012). A third of a social
network's vertices go, and with them a third of the searches.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from nearfar.graph.graph import Graph
from nearfar.graph.saturation import may_saturate
from nearfar.graph.slots import Slot

if TYPE_CHECKING:
    from numpy.typing import NDArray

__all__ = ["Core", "Counts", "core_of"]

_LEAST_SHARE = 0.1  # of the vertices; fewer are not worth a second graph


class Counts(NamedTuple):
    """Sources and targets of a request, folded.

    Attributes
    ----------
    sources : int64 array, shape (k,)
        Vertices of the core to search from.
    weights : float64 array, shape (k,)
        How many sources each stands for.
    ends : float64 array, shape (core's n, 2)
        Targets at each vertex of the core with what is folded onto it, and those of the latter.
    inside : float64 array, shape (n,)
        What paths add up to that trees alone decide.
    """

    sources: NDArray[np.int64]
    weights: NDArray[np.float64]
    ends: NDArray[np.float64]
    inside: NDArray[np.float64]


class Core(NamedTuple):
    """A graph without the trees that hang on it.

    Attributes
    ----------
    graph : Graph
        Of the vertices that are left.
    kept : int64 array
        Their numbers in the whole graph, ascending.
    rounds : list of pairs of int64 arrays
        Vertices that are folded and what onto, each after all that is folded onto it.
    component : int array, shape (n,)
        Of every vertex.
    """

    graph: Graph
    kept: NDArray[np.int64]
    rounds: list[tuple[NDArray[np.int64], NDArray[np.int64]]]
    component: NDArray[Any]

    def counts(self, is_source: NDArray[np.float64], is_target: NDArray[np.float64]) -> Counts:
        """Fold a request, whose sources and targets are 1 and other vertices 0."""
        sources, targets = is_source.copy(), is_target.copy()
        pairs = np.zeros(len(sources))  # of a source and a target in one branch below
        for leaves, roots in self.rounds:
            np.add.at(pairs, roots, sources[leaves] * targets[leaves])
            np.add.at(sources, roots, sources[leaves])
            np.add.at(targets, roots, targets[leaves])
        all_sources = np.bincount(self.component, weights=is_source)[self.component]
        all_targets = np.bincount(self.component, weights=is_target)[self.component]
        sources_below, targets_below = sources - is_source, targets - is_target
        # From below to below in another branch, from below to elsewhere, from elsewhere to below;
        # the last at a root is left to the searches, which come by.
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
    """The core of a graph with every edge in both directions, cached; None where it is no smaller.

    Sums of floats that begin elsewhere tie elsewhere, and weights of zero make cycles: such graphs
    stay whole.
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
    others = np.zeros(n, dtype=np.int64)  # the sum of a vertex's neighbours: with one, itself
    np.add.at(others, tails, heads)
    rounds = []
    leaves = np.flatnonzero(degree == 1)
    while len(leaves):
        roots = others[leaves]
        both = (degree[roots] == 1) & (roots > leaves)  # the last two of a component: one is left
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
