"""Prepared graphs with turn costs: the searched graph in an order derived from the original.

The vertices of a :class:`nearfar.TurnGraph` are ordered in groups: the copies for the two
directions of an edge, an unsplit vertex, and the start and end of any other vertex each form a
group. The graph of these groups is similar to the line graph, so a small cut through the edges
of the original graph is a small separator of it (Buchhold, Wagner, Zeitz and Zündorf 2020,
"Customizable contraction hierarchies with turn costs").
"""

from __future__ import annotations

import os
from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from nearfar.errors import GraphFormatError, UnreachableError, not_reached
from nearfar.graph.graph import Graph
from nearfar.graph.snapping.edge_arrays import edge_arrays
from nearfar.graph.turns import TurnGraph, real_edges
from nearfar.prepared.cpu.pairs import pair_indices
from nearfar.prepared.files.file import write_arrays
from nearfar.prepared.files.stored import (
    check_kinds,
    graph_of,
    graph_values,
    kept_arrays,
    kept_values,
)
from nearfar.prepared.order.elimination import checked_order, elimination_order, structure_of
from nearfar.prepared.prepared import Prepared, Sums, changed_weights

_ARRAYS = ("starts", "ends", "vertices", "edges", "extra")
_GRAPH = ("indptr", "indices", "weights", "vertex_names", "coordinates")


class PreparedTurns(TurnGraph):
    """Graph with turn costs that answers queries from an elimination tree.

    :func:`nearfar.prepare` returns it for a :class:`nearfar.TurnGraph`, and it can be used as
    one. Its own methods answer point queries in microseconds.

    Attributes
    ----------
    graph : Prepared
        Prepared graph that answers, without names.
    """

    graph: Prepared

    def distance(self, source: Any, target: Any, *, sums: Sums = "fixed") -> Any:
        """Return the distance between two vertices, as :meth:`nearfar.Prepared.distance` does.

        Parameters
        ----------
        source, target, sums
            As for :meth:`nearfar.Prepared.distance`.

        Returns
        -------
        int or float

        Raises
        ------
        VertexError, DistanceOverflowError
            As :meth:`nearfar.Prepared.distance`.
        """
        return self.graph.distance(*self._ends(source, target), sums=sums)

    def path(self, source: Any, target: Any) -> tuple[list[Any], Any]:
        """Return a shortest path and its length, as :meth:`nearfar.Prepared.path` does.

        Parameters
        ----------
        source, target : int or vertex name

        Returns
        -------
        path : list
            Vertices, source first, in external names.
        length : int or float
            Length, including the costs of turns.

        Raises
        ------
        VertexError, UnreachableError
            As :meth:`nearfar.Prepared.path`.
        """
        searched = self._searched_path(source, target)
        edges = real_edges(self, searched)
        steps = [self.original.index_of(source, "source"), *self.original.indices[edges].tolist()]
        names: list[Any] = self.original.name_of(np.array(steps, dtype=np.int64)).tolist()
        return names, self.graph.lengths(searched)[-1]

    def path_edges(self, source: Any, target: Any) -> NDArray[np.int64]:
        """Return the edges of a shortest path.

        Parameters
        ----------
        source, target : int or vertex name

        Returns
        -------
        int64 array
            Positions in :attr:`nearfar.Graph.indices` of the original graph, from the source on.

        Raises
        ------
        VertexError, UnreachableError
            As :meth:`nearfar.Prepared.path`.
        """
        return real_edges(self, self._searched_path(source, target))

    def lengths(self, edges: NDArray[Any]) -> list[Any]:
        """Return the distance from the source of every vertex of a path, costs of turns included.

        Parameters
        ----------
        edges : int array, shape (k,)
            As of :meth:`path_edges`.

        Returns
        -------
        list of int or float, length k + 1
        """
        rows, at, places = self.graph.indptr, -1, []
        for e in np.asarray(edges).tolist():
            if at < 0:
                at = int(self.starts[self.original.tails(np.int64)[e]])
            row = slice(int(rows[at]), int(rows[at + 1]))
            places.append(row.start + int(np.argmax(self.edges[row] == e)))
            at = int(self.graph.indices[places[-1]])
        return self.graph.lengths(np.array(places, dtype=np.int64))

    def distances_of_pairs(self, pairs: Any, threads: int | None = None, **how: Any) -> Any:
        """Return distances of pairs, as :meth:`nearfar.Prepared.distances_of_pairs` does.

        Parameters
        ----------
        pairs, threads, **how
            As for :meth:`nearfar.Prepared.distances_of_pairs`.

        Returns
        -------
        array, shape (k,)

        Raises
        ------
        VertexError, OptionError
            As :meth:`nearfar.Prepared.distances_of_pairs`.
        """
        sources, targets = pair_indices(self.original, pairs)
        ways = np.stack([self.starts[sources], self.ends[targets]], axis=1)
        return self.graph.distances_of_pairs(ways, threads, **how)

    def reweight(self, weights: ArrayLike, threads: int | None = None) -> PreparedTurns:
        """Return a graph with the same turns, order and arcs for other weights.

        Parameters
        ----------
        weights : array, shape (m,)
            In the order of :attr:`nearfar.Graph.indices` of the original graph.
        threads : int or None
            None uses all cores.

        Returns
        -------
        PreparedTurns

        Raises
        ------
        GraphError, NegativeCycleError
            As :meth:`nearfar.Prepared.reweight`.
        """
        original = self.original.with_weights(weights)
        searched = self.searched_weights(original.effective_weights)
        return self._with(original, self.graph.reweight(searched, threads))

    def update(
        self, edges: ArrayLike, weights: ArrayLike, threads: int | None = None
    ) -> PreparedTurns:
        """Return a graph with the same turns, order and arcs after changes of some original edges.

        Parameters
        ----------
        edges, weights, threads
            As for :meth:`nearfar.Prepared.update`, in positions of the original graph.

        Returns
        -------
        PreparedTurns

        Raises
        ------
        GraphError, NegativeCycleError
            As :meth:`nearfar.Prepared.update`.
        """
        at, changed = changed_weights(self.original, edges, weights)
        touched = np.zeros(self.original.n_edges + 1, dtype=bool)
        touched[at] = True
        # -1, a link without an edge, reads the last entry
        places = np.flatnonzero(touched[self.edges])
        unit = self.original.attributes.get("unit")
        original = self.original.with_weights(changed, unit=unit)
        searched = self.searched_weights(original.effective_weights)
        return self._with(original, self.graph.update(places, searched[places], threads))

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write the graph to a file that ``nearfar.load(path, turns=True)`` maps into memory.

        Parameters
        ----------
        path : str or path
            Ends in ``.nfp``. The file appears complete or not at all.

        Raises
        ------
        OptionError
            For another suffix.
        OSError
            If the file cannot be written.
        """
        original = self.original
        named = {name: getattr(original, name) for name in _GRAPH} | edge_arrays(original)
        arrays = {f"turns.{name}": getattr(self, name) for name in _ARRAYS}
        arrays |= {f"original.{k}": array for k, array in named.items() if array is not None}
        about = {**kept_values(self.graph), "turns": graph_values(original)}
        write_arrays(path, about, {**kept_arrays(self.graph), **arrays})

    def _ends(self, source: Any, target: Any) -> tuple[int, int]:
        begin = self.original.index_of(source, "source")
        return int(self.starts[begin]), int(self.ends[self.original.index_of(target, "target")])

    def _searched_path(self, source: Any, target: Any) -> NDArray[np.int32]:
        try:
            return self.graph.path_edges(*self._ends(source, target))
        except UnreachableError:  # its message names vertices of the searched graph
            raise not_reached(source, target) from None

    def _with(self, original: Graph, prepared: Prepared) -> PreparedTurns:
        return prepared_turns(self._over(original, prepared), prepared)


def prepared_turns(turns: TurnGraph, prepared: Prepared) -> PreparedTurns:
    """Return the turns over a prepared graph in place of the plain one."""
    return PreparedTurns(turns.original, prepared, *(getattr(turns, name) for name in _ARRAYS))


def turn_order(
    turns: TurnGraph, order: Any, seed: int, threads: int
) -> tuple[NDArray[np.int32], str]:
    """Return an elimination order of all vertices of the searched graph.

    An array orders the original vertices: the copies for an edge then follow the later of its ends.
    """
    original, searched, n = turns.original, turns.graph, turns.n_vertices
    other = turns.vertices.copy()  # the other end of each copy's edge
    copy = np.ones(len(other), dtype=bool)
    copy[turns.starts] = copy[turns.ends] = False
    heads, real = searched.indices, turns.edges >= 0
    into = np.flatnonzero(real & copy[heads])
    other[heads[into]] = original.tails(np.int64)[turns.edges[into]]
    low, high = np.minimum(turns.vertices, other), np.maximum(turns.vertices, other)
    if not isinstance(order, str):
        rank = np.empty(n, dtype=np.int64)
        rank[checked_order(order, n)] = np.arange(n)
        place = np.maximum(rank[low], rank[high])
        return np.lexsort((low, ~copy, place)).astype(np.int32), "given"
    keys, group = np.unique(np.where(copy, low * n + high + n, turns.vertices), return_inverse=True)
    groups = Graph.from_edges(group[searched.tails(np.int64)], group[heads], n_vertices=len(keys))
    found, method = elimination_order(structure_of(groups), order, seed, threads)
    place = np.empty(len(keys), dtype=np.int64)
    place[found] = np.arange(len(keys))
    return np.argsort(place[group], kind="stable").astype(np.int32), method


def turns_of(
    about: Mapping[str, Any], arrays: Mapping[str, NDArray[Any]], prepared: Prepared
) -> PreparedTurns:
    """Return the prepared graph with the turns stored in its file."""
    check_kinds(about["turns"], {"directed": (bool,), "attributes": (dict,)})
    named = {name.removeprefix("original."): array for name, array in arrays.items()
             if name.startswith("original.")}  # fmt: skip
    original = graph_of(about["turns"], named, named.get("vertex_names"))
    listed = [arrays[f"turns.{name}"] for name in _ARRAYS]
    starts, ends, vertices, edges, _ = listed
    n, m, states = original.n_vertices, original.n_edges, prepared.n_vertices
    for array, size, low, high in (
        (starts, n, 0, states),
        (ends, n, 0, states),
        (vertices, states, 0, n),
        (edges, prepared.n_edges, -1, m),
    ):
        wrong = array.shape != (size,) or array.dtype != np.int64
        if wrong or (size and not low <= array.min() <= array.max() < high):
            raise GraphFormatError("the turns do not belong to the graph")
    turns = PreparedTurns(original, prepared, *listed)
    weights = turns.searched_weights(original.effective_weights)
    if not np.array_equal(weights, prepared.effective_weights):
        raise GraphFormatError("the costs of turns do not belong to the weights")
    return turns
