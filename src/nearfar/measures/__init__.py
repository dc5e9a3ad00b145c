"""Measures that are computed from shortest paths."""

from __future__ import annotations

from typing import TYPE_CHECKING

from nearfar.system.lazy import lazy_names

if TYPE_CHECKING:
    from nearfar.measures.brandes import betweenness
    from nearfar.measures.centralities import average_length, closeness, efficiency, harmonic
    from nearfar.measures.describe_report import GraphStatistics, Reach
    from nearfar.measures.equilibrium import Assignment, AssignmentStep, UserClass, assign
    from nearfar.measures.extent import center, diameter, eccentricity, periphery, radius
    from nearfar.measures.figures import describe
    from nearfar.measures.link_costs import Bpr, LinkCosts
    from nearfar.measures.shortest_paths import (
        AllShortestPaths,
        PathCounts,
        ShortestPathDag,
        all_shortest_paths,
        path_counts,
        shortest_path_dag,
    )
    from nearfar.measures.tables import table
    from nearfar.measures.traffic import EdgeLoads, Skims, edge_loads, skims

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

_WHERE = {
    "AllShortestPaths": "shortest_paths",
    "Assignment": "equilibrium",
    "AssignmentStep": "equilibrium",
    "Bpr": "link_costs",
    "EdgeLoads": "traffic",
    "GraphStatistics": "describe_report",
    "LinkCosts": "link_costs",
    "PathCounts": "shortest_paths",
    "Reach": "describe_report",
    "ShortestPathDag": "shortest_paths",
    "Skims": "traffic",
    "UserClass": "equilibrium",
    "all_shortest_paths": "shortest_paths",
    "assign": "equilibrium",
    "average_length": "centralities",
    "betweenness": "brandes",
    "center": "extent",
    "closeness": "centralities",
    "describe": "figures",
    "diameter": "extent",
    "eccentricity": "extent",
    "edge_loads": "traffic",
    "efficiency": "centralities",
    "harmonic": "centralities",
    "path_counts": "shortest_paths",
    "periphery": "extent",
    "radius": "extent",
    "shortest_path_dag": "shortest_paths",
    "skims": "traffic",
    "table": "tables",
}

__getattr__, __dir__ = lazy_names(__name__, _WHERE)
