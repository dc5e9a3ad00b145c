"""Metadata of the nearfar backend, which NetworkX reads before it imports the backend.

NetworkX loads this module while its own algorithms are still being defined. The module must not
import NetworkX or nearfar, not even through a parent package: no function would be registered, and
no error raised.
"""

from __future__ import annotations

from typing import Any

__all__ = ["FUNCTIONS", "get_info"]

_LAZY = "Path dictionaries are read-only mappings that build a path on access."
_NEGATIVE = "Graphs with negative weights are left to NetworkX."
_ZERO = "Graphs with cycles of weight zero are left to NetworkX."
_ANY = "Any of the tied shortest paths may be returned."

#: Function -> a note for users of NetworkX.
FUNCTIONS: dict[str, str] = {
    "all_pairs_bellman_ford_path": _LAZY,
    "all_pairs_bellman_ford_path_length": "",
    "all_pairs_dijkstra": f"{_LAZY} {_NEGATIVE}",
    "all_pairs_dijkstra_path": f"{_LAZY} {_NEGATIVE}",
    "all_pairs_dijkstra_path_length": _NEGATIVE,
    "all_pairs_shortest_path": _LAZY,
    "all_pairs_shortest_path_length": "",
    "all_shortest_paths": f"{_ZERO} {_NEGATIVE}",
    "average_shortest_path_length": "",
    "bellman_ford_path": _ANY,
    "bellman_ford_path_length": "",
    "bellman_ford_predecessor_and_distance": "`heuristic` makes no difference.",
    "betweenness_centrality": f"{_ZERO} {_NEGATIVE}",
    "betweenness_centrality_subset": f"{_ZERO} {_NEGATIVE}",
    "bidirectional_dijkstra": f"{_ANY} {_NEGATIVE}",
    "center": "A given `e` is left to NetworkX.",
    "closeness_centrality": "",
    "diameter": "A given `e` is left to NetworkX.",
    "dijkstra_path": f"{_ANY} {_NEGATIVE}",
    "dijkstra_path_length": _NEGATIVE,
    "dijkstra_predecessor_and_distance": _NEGATIVE,
    "eccentricity": "A given `sp` is left to NetworkX.",
    "edge_betweenness_centrality": f"{_ZERO} {_NEGATIVE}",
    "edge_betweenness_centrality_subset": "Targets that are not all vertices are left to NetworkX. "
    f"{_ZERO} {_NEGATIVE}",
    "find_negative_cycle": "Any of the negative cycles may be returned.",
    "floyd_warshall": "Graphs with negative cycles are left to NetworkX.",
    "floyd_warshall_numpy": "Graphs with negative cycles are left to NetworkX.",
    "floyd_warshall_predecessor_and_distance": "Graphs with negative cycles are left to NetworkX.",
    "global_efficiency": "",
    "goldberg_radzik": _ANY,
    "harmonic_centrality": _NEGATIVE,
    "has_path": "",
    "johnson": _LAZY,
    "multi_source_dijkstra": f"{_LAZY} {_NEGATIVE}",
    "multi_source_dijkstra_path": f"{_LAZY} {_NEGATIVE}",
    "multi_source_dijkstra_path_length": _NEGATIVE,
    "negative_edge_cycle": "`heuristic` makes no difference.",
    "periphery": "A given `e` is left to NetworkX.",
    "radius": "A given `e` is left to NetworkX.",
    "shortest_path": f"{_LAZY} {_ANY}",
    "shortest_path_length": "",
    "single_source_bellman_ford": _LAZY,
    "single_source_bellman_ford_path": _LAZY,
    "single_source_bellman_ford_path_length": "",
    "single_source_dijkstra": f"{_LAZY} {_NEGATIVE}",
    "single_source_dijkstra_path": f"{_LAZY} {_NEGATIVE}",
    "single_source_dijkstra_path_length": _NEGATIVE,
    "single_source_shortest_path": _LAZY,
    "single_source_shortest_path_length": "",
    "single_target_shortest_path": _LAZY,
    "single_target_shortest_path_length": "",
    "wiener_index": "",
}


def get_info() -> dict[str, Any]:
    """Return the backend's entry for ``networkx.backend_info``."""
    return {
        "backend_name": "nearfar",
        "project": "nearfar",
        "package": "nearfar",
        "short_summary": "Exact shortest paths on CPU cores and NVIDIA GPUs.",
        "description": "Weights must be numbers in edge attributes; functions as weights and "
        "small graphs are left to NetworkX.",
        "functions": {
            name: {"additional_docs": text} if text else {} for name, text in FUNCTIONS.items()
        },
    }
