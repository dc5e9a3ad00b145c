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

_WHERE = {
    "AllShortestPaths": "paths.shortest_paths",
    "Assignment": "traffic.equilibrium",
    "AssignmentStep": "traffic.equilibrium",
    "Bpr": "traffic.link_costs",
    "EdgeLoads": "traffic.edge_loads",
    "GraphStatistics": "describe_report",
    "LinkCosts": "traffic.link_costs",
    "PathCounts": "paths.shortest_paths",
    "Reach": "describe_report",
    "ShortestPathDag": "paths.shortest_paths",
    "Skims": "traffic.edge_loads",
    "UserClass": "traffic.equilibrium",
    "all_shortest_paths": "paths.shortest_paths",
    "assign": "traffic.equilibrium",
    "average_length": "centrality.centralities",
    "betweenness": "centrality.brandes",
    "center": "extent",
    "closeness": "centrality.centralities",
    "describe": "figures",
    "diameter": "extent",
    "eccentricity": "extent",
    "edge_loads": "traffic.edge_loads",
    "efficiency": "centrality.centralities",
    "harmonic": "centrality.centralities",
    "path_counts": "paths.shortest_paths",
    "periphery": "extent",
    "radius": "extent",
    "shortest_path_dag": "paths.shortest_paths",
    "skims": "traffic.edge_loads",
    "table": "tables",
}

__getattr__, __dir__ = lazy_names(__name__, _WHERE)
