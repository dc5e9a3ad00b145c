"""Types that every function with a graph argument accepts, for type checkers."""

from __future__ import annotations

from typing import Any, Protocol, TypeAlias

from nearfar.graph.graph import Graph
from nearfar.graph.turns import TurnGraph


class _Matrix(Protocol):
    """SciPy sparse matrix."""

    def tocsr(self) -> Any:
        """Return the matrix in compressed rows."""


class _NetworkX(Protocol):
    """NetworkX graph."""

    def number_of_edges(self) -> int:
        """Return the number of edges, counting parallel ones."""

    def is_directed(self) -> bool:
        """Return whether edges have a direction."""


class _Raster(Protocol):
    """Raster, as :class:`nearfar.raster.Raster`."""

    def is_barrier(self, cell: int) -> bool:
        """Return whether no path enters a cell."""


#: Types that every function with a graph argument accepts.
GraphLike: TypeAlias = Graph | TurnGraph | _Matrix | _NetworkX | _Raster
