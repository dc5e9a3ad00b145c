"""Types that every function with a graph argument accepts, for type checkers."""

from __future__ import annotations

from typing import Any, Protocol, TypeAlias

from nearfar.graph.graph import Graph
from nearfar.graph.turns import TurnGraph


class _Matrix(Protocol):
    """SciPy sparse matrix."""

    def tocsr(self) -> Any: ...


class _NetworkX(Protocol):
    """NetworkX graph."""

    def number_of_edges(self) -> int: ...
    def is_directed(self) -> bool: ...


class _Raster(Protocol):
    """Raster, as :class:`nearfar.raster.Raster`."""

    def is_barrier(self, cell: int) -> bool: ...


#: Types that every function with a graph argument accepts.
GraphLike: TypeAlias = Graph | TurnGraph | _Matrix | _NetworkX | _Raster
