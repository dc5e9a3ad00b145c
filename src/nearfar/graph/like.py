"""What every function that takes a graph accepts, for type checkers."""

from __future__ import annotations

from typing import Any, Protocol, TypeAlias

from nearfar.graph.graph import Graph
from nearfar.graph.turns import TurnGraph

__all__ = ["GraphLike"]


class _Matrix(Protocol):
    """A SciPy sparse matrix."""

    def tocsr(self) -> Any:
        """The matrix in compressed rows."""


class _NetworkX(Protocol):
    """A NetworkX graph."""

    def number_of_edges(self) -> int:
        """Edges, parallel ones each."""

    def is_directed(self) -> bool:
        """Whether an edge has a direction."""


class _Raster(Protocol):
    """A :class:`nearfar.raster.Raster`."""

    def is_barrier(self, cell: int) -> bool:
        """Whether no path enters a cell."""


#: What every function that takes a graph accepts.
GraphLike: TypeAlias = Graph | TurnGraph | _Matrix | _NetworkX | _Raster
