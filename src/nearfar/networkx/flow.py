"""Measures of NetworkX over the vertices on shortest paths, and the paths themselves.

Parameters, results and exceptions are those of the NetworkX functions of the same name. NetworkX
handles graphs with cycles of weight zero itself, since its counts of paths then depend on the
order of its search.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any

import numpy as np
from numpy.typing import NDArray

import networkx as nx
from nearfar.errors import UnreachableError, ZeroCycleError
from nearfar.graph.graph import Graph
from nearfar.measures.centrality.brandes import raw_betweenness, scales
from nearfar.measures.paths.shortest_paths import all_shortest_paths as every_path
from nearfar.networkx.graph import BackendGraph
from nearfar.networkx.search import require_nonnegative
from nearfar.solve.many import distances


def _weighted(G: BackendGraph, weight: Any) -> Graph:
    solved = G.weighted(weight)
    require_nonnegative(solved)
    return solved


def _raw(G: BackendGraph, weight: Any, sources: Any, **how: Any) -> NDArray[np.float64]:
    try:
        return raw_betweenness(_weighted(G, weight), sources, **how)
    except ZeroCycleError as found:
        raise NotImplementedError(f"{found}: NetworkX decides") from None


def _places(G: BackendGraph, vertices: Iterable[Any]) -> NDArray[np.int64]:
    """Return vertex indices; NetworkX handles repeated vertices, which count repeatedly."""
    listed = list(vertices)
    for vertex in listed:
        if not G.has(vertex):
            raise nx.NodeNotFound(f"Node {vertex} is not in the graph")
    if len(set(listed)) < len(listed):
        raise NotImplementedError("a vertex is given twice: NetworkX decides")
    return np.array([G.places[vertex] for vertex in listed], dtype=np.int64)


def _sources(G: BackendGraph, k: Any, seed: Any) -> NDArray[np.int64]:
    """Return all vertices, or those that NetworkX draws."""
    if k is None:
        return np.arange(len(G), dtype=np.int64)
    if k == 0:
        raise ZeroDivisionError("k is 0: there is nothing to scale")
    drawn = nx.utils.create_py_random_state(seed).sample(G.names, k)
    return np.array([G.places[vertex] for vertex in drawn], dtype=np.int64)


def _scaled(
    G: BackendGraph,
    values: NDArray[np.float64],
    normalized: bool,
    *,
    inside: bool = False,
    drawn: NDArray[np.int64] | None = None,
) -> NDArray[np.float64]:
    own, other = scales(
        len(G), G.is_directed(), inside, normalized, None if drawn is None else len(drawn)
    )
    found = values * other
    if drawn is not None and inside:
        found[drawn] = values[drawn] * own
    return found


def betweenness_centrality(
    G: BackendGraph,
    k: Any = None,
    normalized: bool = True,
    weight: Any = None,
    endpoints: bool = False,
    seed: Any = None,
) -> dict[Any, float]:
    """Return the share of shortest paths through each vertex."""
    sources = _sources(G, k, seed)
    values = _raw(G, weight, sources, endpoints=bool(endpoints))
    drawn = None if k is None else sources
    values = _scaled(G, values, normalized, inside=not endpoints, drawn=drawn)
    return dict(zip(G.names, values.tolist(), strict=True))


def betweenness_centrality_subset(
    G: BackendGraph, sources: Any, targets: Any, normalized: bool = False, weight: Any = None
) -> dict[Any, float]:
    """Return the share of shortest paths from sources to targets through each vertex."""
    values = _raw(G, weight, _places(G, sources), targets=_places(G, targets))
    values = _scaled(G, values, normalized, inside=True)
    return dict(zip(G.names, values.tolist(), strict=True))


def edge_betweenness_centrality(
    G: BackendGraph, k: Any = None, normalized: bool = True, weight: Any = None, seed: Any = None
) -> dict[Any, float]:
    """Return the share of shortest paths through each edge."""
    sources = _sources(G, k, seed)
    values = _raw(G, weight, sources, edges=True)
    values = _scaled(G, values, normalized, drawn=None if k is None else sources)
    return _per_edge(G, weight, values)


def edge_betweenness_centrality_subset(
    G: BackendGraph, sources: Any, targets: Any, normalized: bool = False, weight: Any = None
) -> dict[Any, float]:
    """Return the share of shortest paths from sources to targets through each edge."""
    ends = _places(G, targets)
    if len(ends) < len(G):
        # Unless a vertex is a target, NetworkX divides its share equally among its predecessors
        # instead of by their numbers of paths, which gives other values.
        raise NotImplementedError("targets are not all vertices: NetworkX decides")
    values = _raw(G, weight, _places(G, sources), targets=ends, edges=True)
    return _per_edge(G, weight, _scaled(G, values, normalized))


def _per_edge(G: BackendGraph, weight: Any, values: NDArray[np.float64]) -> dict[Any, float]:
    """Return values by edge; parallel edges of least weight share a value, as in NetworkX."""
    solved = G.weighted(weight)
    carrying = np.flatnonzero(values)
    tails, heads = solved.tails()[carrying].tolist(), solved.indices[carrying].tolist()
    pairs = dict(zip(zip(tails, heads, strict=True), values[carrying].tolist(), strict=True))
    places, original = G.places, G.original
    if not original.is_multigraph():
        return {(u, v): pairs.get((places[u], places[v]), 0.0) for u, v in original.edges()}
    found = {}
    for u, v in dict.fromkeys(original.edges()):
        parallel = original[u][v]
        weights = {
            key: 1 if weight is None else data.get(weight, 1) for key, data in parallel.items()
        }
        least = min(weights.values())
        lightest = [key for key, w in weights.items() if w == least]
        for key in parallel:
            share = pairs.get((places[u], places[v]), 0.0) / len(lightest)
            found[u, v, key] = share if key in lightest else 0.0
    return found


def harmonic_centrality(
    G: BackendGraph, nbunch: Any = None, distance: Any = None, sources: Any = None
) -> dict[Any, float]:
    """Return the sum of the reciprocals of the distances to each vertex."""
    names = list(dict.fromkeys(G.original.nbunch_iter(nbunch)))
    if not names:
        return {}
    begin = None
    if sources is not None:
        begin = np.array(
            [G.places[v] for v in dict.fromkeys(G.original.nbunch_iter(sources))], dtype=np.int64
        )
    solved = _weighted(G, distance).transpose()
    found = distances(solved, [G.places[v] for v in names], targets=begin, reduce="harmonic")
    return dict(zip(names, found.tolist(), strict=True))


def global_efficiency(G: BackendGraph) -> float:
    """Return the mean of the reciprocals of all distances in edges."""
    n = len(G)
    if n < 2:
        return 0
    if G.is_directed():
        raise NotImplementedError("the graph is directed: NetworkX refuses it")
    found = distances(G.weighted(None), reduce="harmonic")
    return float(found.sum()) / (n * (n - 1))


def all_shortest_paths(
    G: BackendGraph, source: Any, target: Any, weight: Any = None, method: str = "dijkstra"
) -> Iterator[list[Any]]:
    """Yield every shortest path between two vertices."""
    if method not in ("dijkstra", "bellman-ford", "unweighted"):
        raise ValueError(f"method not supported: {method}")
    solved = _weighted(G, None if method == "unweighted" else weight)
    if not G.has(source):
        raise nx.NodeNotFound(f"Source {source} not in G")
    if not G.has(target):
        return _no_path(target)
    try:
        paths = every_path(solved, G.places[source], G.places[target])
    except UnreachableError:
        return _no_path(target)
    except ZeroCycleError as found:
        raise NotImplementedError(f"{found}: NetworkX decides") from None
    names = G.names
    return ([names[at] for at in path] for path in paths)


def _no_path(target: Any) -> Iterator[list[Any]]:
    """Raise an error when the first path is requested, as NetworkX's generator does."""
    raise nx.NetworkXNoPath(f"Target {target} cannot be reached from given sources")
    yield []
