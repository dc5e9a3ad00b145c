"""Unweighted shortest paths of NetworkX, and its functions with optional weights.

Parameters, results and exceptions are those of the NetworkX functions of the same name.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import Any

import networkx as nx
from nearfar.networkx import weighted
from nearfar.networkx.graph import BackendGraph
from nearfar.networkx.search import LazyPaths, between, search


def _levels(cutoff: Any) -> Any:
    """Round a cutoff up: NetworkX's search continues while the level is below the cutoff."""
    return cutoff if cutoff is None or not math.isfinite(cutoff) else math.ceil(cutoff)


def single_source_shortest_path(G: BackendGraph, source: Any, cutoff: Any = None) -> LazyPaths:
    """Return the paths of fewest edges from a vertex."""
    return search(G, [source], None, cutoff=_levels(cutoff)).paths()


def single_source_shortest_path_length(
    G: BackendGraph, source: Any, cutoff: Any = None
) -> dict[Any, int]:
    """Return the fewest edges from a vertex to each other."""
    return search(G, [source], None, cutoff=_levels(cutoff)).lengths()


def single_target_shortest_path(G: BackendGraph, target: Any, cutoff: Any = None) -> LazyPaths:
    """Return the paths of fewest edges to a vertex."""
    if not G.has(target):
        raise nx.NodeNotFound(f"Target {target} not in G")
    return search(G, [target], None, cutoff=_levels(cutoff), towards=True).paths()


def single_target_shortest_path_length(
    G: BackendGraph, target: Any, cutoff: Any = None
) -> dict[Any, int]:
    """Return the fewest edges from each vertex to one."""
    if not G.has(target):
        raise nx.NodeNotFound(f"Target {target} is not in G")
    return search(G, [target], None, cutoff=_levels(cutoff), towards=True).lengths()


def all_pairs_shortest_path(G: BackendGraph, cutoff: Any = None) -> Iterator[tuple[Any, LazyPaths]]:
    """Return the paths of fewest edges from every vertex."""
    return weighted.all_pairs_dijkstra_path(G, _levels(cutoff), None)


def all_pairs_shortest_path_length(
    G: BackendGraph, cutoff: Any = None
) -> Iterator[tuple[Any, dict[Any, int]]]:
    """Return the fewest edges between all pairs of vertices."""
    return weighted.all_pairs_dijkstra_path_length(G, _levels(cutoff), None)


def has_path(G: BackendGraph, source: Any, target: Any) -> bool:
    """Return whether the target can be reached."""
    for vertex in (source, target):
        if not G.has(vertex):
            raise nx.NodeNotFound(f"Node {vertex} is not in G")
    try:
        between(G, [source], target, None)
    except nx.NetworkXNoPath:
        return False
    return True


def _check_method(method: str) -> bool:
    """Return whether the method accepts negative weights."""
    if method not in ("dijkstra", "bellman-ford"):
        raise ValueError(f"method not supported: {method}")
    return method == "bellman-ford"


def shortest_path(
    G: BackendGraph,
    source: Any = None,
    target: Any = None,
    weight: Any = None,
    method: str = "dijkstra",
) -> Any:
    """Return the paths between two vertices, from one, to one, or from every vertex."""
    negative = _check_method(method) and weight is not None
    if source is None and target is None:
        if negative:
            return weighted.all_pairs_bellman_ford_path(G, weight)
        return weighted.all_pairs_dijkstra_path(G, weight=weight)
    if source is None:
        return search(G, [target], weight, negative=negative, towards=True).paths()
    if target is None:
        return search(G, [source], weight, negative=negative).paths()
    for vertex in (source, target):
        if not G.has(vertex):
            if negative and vertex is target and source != target:
                raise nx.NetworkXNoPath(f"No path to {target}.")
            raise nx.NodeNotFound(f"Node {vertex} is not in G")
    return between(G, [source], target, weight, negative=negative)[1]


def shortest_path_length(
    G: BackendGraph,
    source: Any = None,
    target: Any = None,
    weight: Any = None,
    method: str = "dijkstra",
) -> Any:
    """Return the distances between two vertices, from one, to one, or from every vertex."""
    negative = _check_method(method) and weight is not None
    if source is None and target is None:
        if negative:
            return weighted.all_pairs_bellman_ford_path_length(G, weight)
        return weighted.all_pairs_dijkstra_path_length(G, weight=weight)
    if source is None:
        return search(G, [target], weight, negative=negative, towards=True).lengths()
    if target is None:
        return search(G, [source], weight, negative=negative).lengths()
    if weight is None and not G.has(target):
        raise nx.NodeNotFound(f"Node {target} is not in G")
    return between(G, [source], target, weight, negative=negative)[0]
