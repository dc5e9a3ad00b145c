"""Weighted shortest paths of NetworkX: the Dijkstra and the Bellman-Ford family.

Parameters, results and exceptions are those of the NetworkX functions of the same name. ``weight``
is an edge attribute (or None); a function is refused.
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial
from typing import Any

import numpy as np

import networkx as nx
from nearfar.cpu.potentials import refuse_negative_cycle
from nearfar.errors import NegativeCycleError
from nearfar.networkx.graph import BackendGraph
from nearfar.networkx.search import (
    LazyPaths,
    between,
    each_row,
    require_vertex,
    search,
    tight_lists,
    to_dict,
)
from nearfar.solve.one import sssp

# ---- Dijkstra -----------------------------------------------------------------------------------


def dijkstra_path(G: BackendGraph, source: Any, target: Any, weight: Any = "weight") -> list[Any]:
    """Return a shortest path between two vertices."""
    path: list[Any] = single_source_dijkstra(G, source, target=target, weight=weight)[1]
    return path


def dijkstra_path_length(G: BackendGraph, source: Any, target: Any, weight: Any = "weight") -> Any:
    """Return the distance between two vertices."""
    return between(G, [source], target, weight)[0]


def bidirectional_dijkstra(
    G: BackendGraph, source: Any, target: Any, weight: Any = "weight"
) -> tuple[Any, list[Any]]:
    """Return distance and shortest path between two vertices."""
    require_vertex(G, source)
    require_vertex(G, target)
    return between(G, [source], target, weight)


def single_source_dijkstra(
    G: BackendGraph, source: Any, target: Any = None, cutoff: Any = None, weight: Any = "weight"
) -> tuple[Any, Any]:
    """Return distances and paths from a vertex, to all or to one."""
    return multi_source_dijkstra(G, [source], target, cutoff, weight)


def single_source_dijkstra_path(
    G: BackendGraph, source: Any, cutoff: Any = None, weight: Any = "weight"
) -> LazyPaths:
    """Return the paths from a vertex."""
    return search(G, [source], weight, cutoff=cutoff).paths()


def single_source_dijkstra_path_length(
    G: BackendGraph, source: Any, cutoff: Any = None, weight: Any = "weight"
) -> dict[Any, Any]:
    """Return the distances from a vertex."""
    return search(G, [source], weight, cutoff=cutoff).lengths()


def multi_source_dijkstra(
    G: BackendGraph, sources: Any, target: Any = None, cutoff: Any = None, weight: Any = "weight"
) -> tuple[Any, Any]:
    """Return distances and paths from the nearest of some vertices."""
    listed = _source_list(G, sources)
    if target is not None:
        return between(G, listed, target, weight, cutoff=cutoff)
    found = search(G, listed, weight, cutoff=cutoff)
    return found.lengths(), found.paths()


def multi_source_dijkstra_path(
    G: BackendGraph, sources: Any, cutoff: Any = None, weight: Any = "weight"
) -> LazyPaths:
    """Return the paths from the nearest of some vertices."""
    return search(G, _source_list(G, sources), weight, cutoff=cutoff).paths()


def multi_source_dijkstra_path_length(
    G: BackendGraph, sources: Any, cutoff: Any = None, weight: Any = "weight"
) -> dict[Any, Any]:
    """Return the distances from the nearest of some vertices."""
    return search(G, _source_list(G, sources), weight, cutoff=cutoff).lengths()


def _source_list(G: BackendGraph, sources: Any) -> list[Any]:
    if not sources:
        raise ValueError("sources must not be empty")
    listed = list(sources)
    for source in listed:
        require_vertex(G, source)
    return listed


def dijkstra_predecessor_and_distance(
    G: BackendGraph, source: Any, cutoff: Any = None, weight: Any = "weight"
) -> tuple[dict[Any, list[Any]], dict[Any, Any]]:
    """Return all predecessors on shortest paths, and distances."""
    found = search(G, [source], weight, cutoff=cutoff)
    lists = tight_lists(found, G.weighted(weight), G.places[source])
    return lists, found.lengths()


def all_pairs_dijkstra(
    G: BackendGraph, cutoff: Any = None, weight: Any = "weight"
) -> Iterator[tuple[Any, tuple[dict[Any, Any], LazyPaths]]]:
    """Return distances and paths from every vertex."""

    def both(row: Any, before: Any) -> tuple[dict[Any, Any], LazyPaths]:
        return to_dict(G, row), LazyPaths(G, row, before)

    return each_row(G, G.weighted(weight), both, cutoff=cutoff, predecessors=True)


def all_pairs_dijkstra_path(
    G: BackendGraph, cutoff: Any = None, weight: Any = "weight"
) -> Iterator[tuple[Any, LazyPaths]]:
    """Return the paths from every vertex."""
    return each_row(G, G.weighted(weight), partial(LazyPaths, G), cutoff=cutoff, predecessors=True)


def all_pairs_dijkstra_path_length(
    G: BackendGraph, cutoff: Any = None, weight: Any = "weight"
) -> Iterator[tuple[Any, dict[Any, Any]]]:
    """Return the distances from every vertex."""
    return each_row(G, G.weighted(weight), lambda row, before: to_dict(G, row), cutoff=cutoff)


# ---- Bellman-Ford -------------------------------------------------------------------------------


def bellman_ford_path(
    G: BackendGraph, source: Any, target: Any, weight: Any = "weight"
) -> list[Any]:
    """Return a shortest path between two vertices; weights of either sign."""
    path: list[Any] = single_source_bellman_ford(G, source, target, weight)[1]
    return path


def bellman_ford_path_length(
    G: BackendGraph, source: Any, target: Any, weight: Any = "weight"
) -> Any:
    """Return the distance between two vertices; weights of either sign."""
    return between(G, [source], target, weight, negative=True)[0]


def single_source_bellman_ford(
    G: BackendGraph, source: Any, target: Any = None, weight: Any = "weight"
) -> tuple[Any, Any]:
    """Return distances and paths from a vertex; weights of either sign."""
    if target is not None:
        return between(G, [source], target, weight, negative=True)
    found = search(G, [source], weight, negative=True)
    return found.lengths(), found.paths()


def single_source_bellman_ford_path(
    G: BackendGraph, source: Any, weight: Any = "weight"
) -> LazyPaths:
    """Return the paths from a vertex; weights of either sign."""
    return search(G, [source], weight, negative=True).paths()


def single_source_bellman_ford_path_length(
    G: BackendGraph, source: Any, weight: Any = "weight"
) -> dict[Any, Any]:
    """Return the distances from a vertex; weights of either sign."""
    return search(G, [source], weight, negative=True).lengths()


def all_pairs_bellman_ford_path(
    G: BackendGraph, weight: Any = "weight"
) -> Iterator[tuple[Any, LazyPaths]]:
    """Return the paths from every vertex; weights of either sign."""
    solved = G.weighted(weight)
    if solved.n_negative:  # one source at a time: only cycles that it reaches matter
        return ((v, single_source_bellman_ford_path(G, v, weight)) for v in G.names)
    return each_row(G, solved, partial(LazyPaths, G), predecessors=True)


def all_pairs_bellman_ford_path_length(
    G: BackendGraph, weight: Any = "weight"
) -> Iterator[tuple[Any, dict[Any, Any]]]:
    """Return the distances from every vertex; weights of either sign."""
    solved = G.weighted(weight)
    if solved.n_negative:
        return ((v, single_source_bellman_ford_path_length(G, v, weight)) for v in G.names)
    return each_row(G, solved, lambda row, before: to_dict(G, row))


def bellman_ford_predecessor_and_distance(
    G: BackendGraph,
    source: Any,
    target: Any = None,
    weight: Any = "weight",
    heuristic: bool = False,
) -> tuple[dict[Any, list[Any]], dict[Any, Any]]:
    """Return all predecessors on shortest paths, and distances; weights of either sign."""
    require_vertex(G, source)
    _refuse_negative_loops(G, weight)
    found = search(G, [source], weight, negative=True)
    lists = tight_lists(found, G.weighted(weight), G.places[source])
    return lists, found.lengths()


def _refuse_negative_loops(G: BackendGraph, weight: Any) -> None:
    """Refuse a negative self-loop anywhere, as NetworkX does in these two functions."""
    solved = G.weighted(weight)
    if solved.n_negative:
        tails = solved.tails(np.int64)
        if ((tails == solved.indices) & (solved.effective_weights < 0)).any():
            raise nx.NetworkXUnbounded("Negative cycle detected.")


def goldberg_radzik(
    G: BackendGraph, source: Any, weight: Any = "weight"
) -> tuple[dict[Any, Any], dict[Any, Any]]:
    """Return one predecessor per vertex, and distances; weights of either sign."""
    require_vertex(G, source)
    _refuse_negative_loops(G, weight)
    found = search(G, [source], weight, negative=True)
    lengths = found.lengths()
    before, names = found.before, G.names
    return {v: names[at] if (at := before[G.places[v]]) >= 0 else None for v in lengths}, lengths


def negative_edge_cycle(G: BackendGraph, weight: Any = "weight", heuristic: bool = True) -> bool:
    """Return whether the graph has a negative cycle anywhere."""
    from nearfar.solve.negative_cycles import find_negative_cycle as find

    return find(G.weighted(weight)) is not None


def find_negative_cycle(G: BackendGraph, source: Any, weight: Any = "weight") -> list[Any]:
    """Return a negative cycle that the source reaches, its first vertex repeated at the end."""
    require_vertex(G, source)
    try:
        sssp(G.weighted(weight), G.places[source])
    except NegativeCycleError as found:
        cycle = [G.names[at] for at in found.cycle]
        return [*cycle, cycle[0]]
    raise nx.NetworkXError("No negative cycles detected.")


def johnson(G: BackendGraph, weight: Any = "weight") -> dict[Any, LazyPaths]:
    """Return the paths from every vertex; weights of either sign."""
    solved = G.weighted(weight)
    try:
        refuse_negative_cycle(solved)
    except NegativeCycleError:
        raise nx.NetworkXUnbounded("Negative cycle detected.") from None
    return dict(each_row(G, solved, partial(LazyPaths, G), predecessors=True, negative=True))
