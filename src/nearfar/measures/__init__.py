"""What is computed from shortest paths."""

from __future__ import annotations

from typing import TYPE_CHECKING

from nearfar.system.lazy import lazy_names

if TYPE_CHECKING:
    from nearfar.measures.brandes import betweenness
    from nearfar.measures.describe_report import GraphStatistics, Reach
    from nearfar.measures.figures import describe

__all__ = [
    "GraphStatistics",
    "Reach",
    "betweenness",
    "describe",
]

_WHERE = {
    "GraphStatistics": "describe_report",
    "Reach": "describe_report",
    "betweenness": "brandes",
    "describe": "figures",
}

__getattr__, __dir__ = lazy_names(__name__, _WHERE)
