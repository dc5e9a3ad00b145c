"""Measures that are computed from shortest paths."""

from __future__ import annotations

from typing import TYPE_CHECKING

from nearfar.system.lazy import lazy_names

if TYPE_CHECKING:
    from nearfar.measures.centrality.brandes import betweenness
    from nearfar.measures.centrality.centralities import (
        average_length,
        closeness,
        efficiency,
        harmonic,
    )
    from nearfar.measures.describe_report import GraphStatistics, Reach
    from nearfar.measures.extent import center, diameter, eccentricity, periphery, radius
    from nearfar.measures.figures import describe
    from nearfar.measures.paths.shortest_paths import (
        AllShortestPaths,
        PathCounts,
        ShortestPathDag,
        all_shortest_paths,
        path_counts,
        shortest_path_dag,
    )
    from nearfar.measures.tables import table
    from nearfar.measures.traffic.edge_loads import EdgeLoads, Skims, edge_loads, skims
    from nearfar.measures.traffic.equilibrium import Assignment, AssignmentStep, UserClass, assign
    from nearfar.measures.traffic.link_costs import Bpr, LinkCosts

__all__ = [
    "AllShortestPaths",
    "Assignment",
    "AssignmentStep",
    "Bpr",
    "EdgeLoads",
    "GraphStatistics",
    "LinkCosts",
    "PathCounts",
    "Reach",
    "ShortestPathDag",
    "Skims",
    "UserClass",
    "all_shortest_paths",
    "assign",
    "average_length",
    "betweenness",
    "center",
    "closeness",
    "describe",
    "diameter",
    "eccentricity",
    "edge_loads",
    "efficiency",
    "harmonic",
    "path_counts",
    "periphery",
    "radius",
    "shortest_path_dag",
    "skims",
    "table",
]

_NAMES = {
    "paths.shortest_paths": (
        "AllShortestPaths",
        "PathCounts",
        "ShortestPathDag",
        "all_shortest_paths",
        "path_counts",
        "shortest_path_dag",
    ),
    "traffic.equilibrium": ("Assignment", "AssignmentStep", "UserClass", "assign"),
    "traffic.link_costs": ("Bpr", "LinkCosts"),
    "traffic.edge_loads": ("EdgeLoads", "Skims", "edge_loads", "skims"),
    "describe_report": ("GraphStatistics", "Reach"),
    "centrality.centralities": ("average_length", "closeness", "efficiency", "harmonic"),
    "centrality.brandes": ("betweenness",),
    "extent": ("center", "diameter", "eccentricity", "periphery", "radius"),
    "figures": ("describe",),
    "tables": ("table",),
}

__getattr__, __dir__ = lazy_names(__name__, _NAMES)
