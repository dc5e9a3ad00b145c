"""What is computed from shortest paths."""

from __future__ import annotations

from typing import TYPE_CHECKING

from nearfar.system.lazy import lazy_names

if TYPE_CHECKING:
    from nearfar.measures.brandes import betweenness
    from nearfar.measures.describe_report import GraphStatistics, Reach
    from nearfar.measures.figures import describe
    from nearfar.measures.shortest_paths import (
        AllShortestPaths,
        PathCounts,
        ShortestPathDag,
        all_shortest_paths,
        path_counts,
        shortest_path_dag,
    )

__all__ = [
    "AllShortestPaths",
    "GraphStatistics",
    "PathCounts",
    "Reach",
    "ShortestPathDag",
    "all_shortest_paths",
    "betweenness",
    "describe",
    "path_counts",
    "shortest_path_dag",
]

_WHERE = {
    "AllShortestPaths": "shortest_paths",
    "PathCounts": "shortest_paths",
    "ShortestPathDag": "shortest_paths",
    "all_shortest_paths": "shortest_paths",
    "path_counts": "shortest_paths",
    "shortest_path_dag": "shortest_paths",
    "GraphStatistics": "describe_report",
    "Reach": "describe_report",
    "betweenness": "brandes",
    "describe": "figures",
}

__getattr__, __dir__ = lazy_names(__name__, _WHERE)
