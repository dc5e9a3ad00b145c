"""A SciPy matrix on its way to a Graph: validated when somebody looks, searched before that.

A program that calls a shortest-path function with a matrix has one search made and drops the graph,
and to validate the matrix and to pack its edges costs as much as that search. So such a matrix
stays as it is until something needs more than its size, and the pipe gives the searches that need
no more to :mod:`nearfar.algorithms.delta_stepping.bare`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, cast

import numpy as np

from nearfar.algorithms.delta_stepping.bare import UNCHECKED
from nearfar.graph.graph import Graph
from nearfar.system.devices import runtime

if TYPE_CHECKING:
    from collections.abc import Callable

    from nearfar.graph.build import HostArrays
    from nearfar.registry import Request

__all__ = ["UNCHECKED", "MatrixGraph", "fresh_matrix", "is_fresh", "pays", "takes"]

#: From so many sources on it pays to validate and to pack first.
_MANY = 4

#: Fewer edges than this in all searches together cost less than the chooser's first look.
_TINY = 1 << 14

#: From so many edges per vertex on, searches from several sources share the reading of rows.
_LONG_ROWS = 16

#: With more edges than this a GPU is looked for first: importing CuPy costs a second.
_LARGE = 1 << 24


class MatrixArrays:
    """Rows of a matrix as a Graph's arrays, checked when more than their size is needed."""

    there = None
    weight_dtype = np.dtype(np.float64)
    index_dtype = np.dtype(np.int32)

    def __init__(
        self, indptr: Any, indices: Any, weights: Any, make: Callable[[Any, Any, Any], Graph]
    ) -> None:
        #: The arrays until they are checked, then None.
        self.bare: tuple[Any, Any, Any] | None = (indptr, indices, weights)
        self.n_vertices = len(indptr) - 1
        self._make = make
        self._checked: Any = None

    def checked(self) -> Any:
        """The arrays after the check, which is made now if it was not before."""
        if self.bare is not None:
            self._checked = self._make(*self.bare)._arrays
            self.bare = None
        return self._checked

    def __getattr__(self, name: str) -> Any:
        """What only checked arrays have."""
        if name.startswith("_"):
            raise AttributeError(name)
        return getattr(self.checked(), name)


class MatrixGraph(Graph):
    """A graph over the rows of a matrix, which are checked on first use."""

    def __init__(self, arrays: MatrixArrays, *, skips_nan: bool = False) -> None:
        self._fill(cast("HostArrays", arrays))
        self._matrix, self.skips_nan = arrays, skips_nan

    @property
    def bare(self) -> tuple[Any, Any, Any] | None:
        """The arrays until they are checked, then None."""
        return self._matrix.bare

    def check(self) -> None:
        """Validate the rows now."""
        self._matrix.checked()


def fresh_matrix(
    arrays: tuple[Any, Any, Any],
    make: Callable[[Any, Any, Any], Graph],
    *,
    skips_nan: bool = False,
) -> MatrixGraph | None:
    """A graph that is checked later, or None where rows are not of the dtypes that allow it."""
    usual = all(isinstance(a, np.ndarray) and a.flags.c_contiguous and a.ndim == 1 for a in arrays)
    if not usual or [a.dtype for a in arrays] != [np.int32, np.int32, np.float64]:
        return None
    if len(arrays[0]) < 2 or len(arrays[1]) != len(arrays[2]):
        return None
    return MatrixGraph(MatrixArrays(*arrays, make), skips_nan=skips_nan)


def is_fresh(graph: Graph) -> bool:
    """Whether nobody has looked at the graph's edges yet."""
    return isinstance(graph, MatrixGraph) and graph.bare is not None


def pays(graph: Graph, k: int, predecessors: bool) -> bool:
    """Whether to search an unchecked graph from k sources costs less than to check and pack it."""
    if not isinstance(graph, MatrixGraph) or graph.bare is None:
        return False
    m = len(graph.bare[1])
    if k == 1:
        return True
    if predecessors or m >= _LONG_ROWS * graph.n_vertices:
        return False
    return k < _MANY or k * m < _TINY


def takes(graph: Graph, request: Request) -> bool:
    """Whether a graph was not checked yet and a search on its bare rows can serve a request."""
    if not isinstance(graph, MatrixGraph) or graph.bare is None:
        return False
    if request.device == "cuda" or request.stats == "full" or request.targets is not None:
        return False
    if request.problem != "sssp" and (
        request.predecessors or not pays(graph, request.n_sources, False)
    ):
        return False
    small = len(graph.bare[1]) <= _LARGE
    return small or request.device == "cpu" or runtime.available() is not True
