"""NetworkX graphs converted to nearfar's, once per graph and cached on it by NetworkX.

NetworkX stores what :func:`convert_from_nx` returns in the graph's cache and drops it when the
graph changes through its methods; a weight written into ``G[u][v]`` directly is not noticed, as
in every NetworkX backend.
"""

from __future__ import annotations

from collections.abc import Hashable
from typing import Any

import numpy as np

from nearfar import _cpu
from nearfar.graph.graph import Graph
from nearfar.graph.saturation import FARTHEST, may_saturate


class BackendGraph:
    """Vertices, their positions, and a :class:`nearfar.Graph` per weight attribute."""

    __networkx_backend__ = "nearfar"

    def __init__(self, original: Any) -> None:
        self.original = original
        self.names: list[Any] = list(original)
        self.places: dict[Any, int] = {name: i for i, name in enumerate(self.names)}
        self._graphs: dict[Any, Graph] = {}
        #: Numbers of the last distance dict, kept so that the next one reuses their memory.
        self.kept: list[Any] = []

    def __len__(self) -> int:
        return len(self.names)

    def is_directed(self) -> bool:
        """Return whether the NetworkX graph is directed."""
        return bool(self.original.is_directed())

    def is_multigraph(self) -> bool:
        """Return whether the NetworkX graph is a multigraph."""
        return bool(self.original.is_multigraph())

    def has(self, vertex: Hashable) -> bool:
        """Return whether a vertex is in the graph; unhashable objects are not."""
        try:
            return vertex in self.places
        except TypeError:
            return False

    def weighted(self, weight: Any) -> Graph:
        """Return the graph with an edge attribute as weights; None counts edges."""
        if callable(weight):
            raise NotImplementedError("weight is a function: only NetworkX can call it")
        found = self._graphs.get(weight)
        if found is None:
            if weight is None and self._graphs:
                found = next(iter(self._graphs.values())).without_weights()
            else:
                found = self._convert(weight)
            self._graphs[weight] = found
        return found

    def _convert(self, weight: Any) -> Graph:
        adjacency, multigraph = self.original._adj, self.is_multigraph()
        arrays = None
        if type(adjacency) is dict:
            arrays = _cpu.dicts_to_csr(adjacency, self.places, weight, multigraph)
        if arrays is None:  # a view, or a mapping of a user-defined factory
            arrays = _cpu.dicts_to_csr(_plain(adjacency), self.places, weight, multigraph)
        if arrays is None:
            raise NotImplementedError("the adjacency of this graph is not a mapping of mappings")
        indptr, indices, weights = arrays
        graph: Graph = Graph.from_csr(
            indptr, indices, _narrow(weights), directed=self.is_directed(), copy=False
        )
        wide = np.float64 if graph.weight_dtype.kind == "f" else np.int64
        if may_saturate(graph, FARTHEST[np.dtype(wide)]):
            raise NotImplementedError(
                "a sum of weights may not fit 64 bits, but NetworkX's integers are unbounded"
            )
        return graph


def _narrow(weights: Any) -> Any:
    """Return integers as int32 if they fit; solves whose sums do not are repeated in 64 bits."""
    if weights is None or weights.dtype.kind == "f" or not len(weights):
        return weights
    bounds = np.iinfo(np.int32)
    fits = bounds.min < weights.min() and weights.max() < bounds.max
    return weights.astype(np.int32) if fits else weights


def _plain(adjacency: Any) -> dict[Any, dict[Any, Any]]:
    """Return the dicts of dicts from a view, such as that of a subgraph or of a reversed graph."""

    def edge(data: Any) -> Any:
        if type(data) is dict:
            return data
        return {
            key: dict(inner) if hasattr(inner, "items") else inner for key, inner in data.items()
        }

    return {
        v: {u: edge(data) for u, data in neighbours.items()} for v, neighbours in adjacency.items()
    }


def convert_from_nx(
    graph: Any, *, edge_attrs: dict[str, Any] | None = None, **others: Any
) -> BackendGraph:
    """Convert a NetworkX graph; NetworkX calls this before a function of the backend.

    The other keywords are about attributes of vertices and graphs, which no function reads.
    """
    if isinstance(graph, BackendGraph):
        return graph
    converted = BackendGraph(graph)
    for weight in edge_attrs or (None,):
        converted.weighted(weight)
    return converted


def convert_to_nx(result: Any, *, name: str | None = None) -> Any:
    """Return the original NetworkX graph; other results are plain Python objects already."""
    return result.original if isinstance(result, BackendGraph) else result
