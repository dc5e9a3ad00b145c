"""Graphs over a SciPy matrix, which are validated only if more than one search needs them.

A call of a shortest-path function with a matrix often runs one search and drops the graph.
Validating the matrix and packing its edges would take as long as that search. Therefore the matrix
is validated only when more than its size is needed, and
:mod:`nearfar.algorithms.delta_stepping.bare` searches the unchecked arrays.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, cast

import numpy as np

from nearfar.algorithms.delta_stepping.bare import UNCHECKED
from nearfar.graph.build import HostArrays
from nearfar.graph.graph import Graph
from nearfar.registry import Request
from nearfar.system.devices import runtime

__all__ = ["UNCHECKED", "MatrixGraph", "fresh_matrix", "is_fresh", "size", "takes"]

#: Number of sources from which validating and packing first is faster.
_MANY = 4

#: Edges scanned by all searches below which they take less time than the chooser.
_TINY = 1 << 14

#: Edges per vertex from which several searches benefit from packed rows.
_LONG_ROWS = 16

#: Number of edges above which a GPU is considered, since importing CuPy takes a second.
_LARGE = 1 << 24

#: Number of integer weights up to which one search in float64 takes less time than validation.
_CONVERTED = 1 << 20

_Rows = tuple[Any, Any, Any]


class MatrixArrays:
    """Rows of a matrix as the arrays of a Graph, validated on first use."""

    device_arrays = None

    def __init__(self, rows: _Rows, make: Callable[[Any, Any, Any], Graph]) -> None:
        #: The arrays until they are validated, then None.
        self.bare: _Rows | None = rows
        self.make = make
        self._checked: Any = None

    def checked(self) -> Any:
        """Return the arrays, which are validated by the first call."""
        if self.bare is not None:
            self._checked = self.make(*self.bare)._arrays
            self.bare = None
        return self._checked

    def __getattr__(self, name: str) -> Any:
        """Return an attribute of the validated arrays."""
        if name.startswith("_"):
            raise AttributeError(name)
        return getattr(self.checked(), name)


class MatrixGraph(Graph):
    """Graph over the rows of a matrix, which are validated on first use."""

    def __init__(
        self, rows: _Rows, make: Callable[[Any, Any, Any], Graph], skips_nan: bool
    ) -> None:
        self._matrix, self.skips_nan = MatrixArrays(rows, make), skips_nan
        # These are known without validation.
        self.n_vertices = len(rows[0]) - 1
        self.weight_dtype, self.index_dtype = rows[2].dtype, np.dtype(np.int32)
        self._fill(cast("HostArrays", self._matrix))

    @property
    def bare(self) -> _Rows | None:
        """Arrays until they are validated, then None."""
        return self._matrix.bare

    def joined(self, indptr: Any, indices: Any, weights: Any) -> MatrixGraph | None:
        """Return a graph over longer rows that are validated as these; None for too many edges."""
        if len(indices) > np.iinfo(np.int32).max:
            return None
        return MatrixGraph(
            (indptr.astype(np.int32), indices, weights), self._matrix.make, self.skips_nan
        )

    def check(self) -> None:
        """Validate the rows, if this has not been done."""
        self._matrix.checked()


def fresh_matrix(
    arrays: _Rows,
    make: Callable[[Any, Any, Any], Graph],
    *,
    skips_nan: bool = False,
    integers: bool = False,
) -> MatrixGraph | None:
    """Return a graph that is validated later, or None if the dtypes of the rows prevent it.

    ``integers``: weights may be integers.
    """
    usual = all(isinstance(a, np.ndarray) and a.flags.c_contiguous and a.ndim == 1 for a in arrays)
    if not usual or [a.dtype for a in arrays[:2]] != [np.int32, np.int32]:
        return None
    starts, targets, weights = arrays
    if len(starts) < 2 or len(targets) != len(weights):
        return None
    if weights.dtype != np.float64:
        whole = integers and weights.dtype in (np.int32, np.int64)
        if not whole or len(weights) > _CONVERTED:
            return None
    return MatrixGraph(arrays, make, skips_nan)


def is_fresh(graph: Graph) -> bool:
    """Return whether the edges of the graph have not been validated."""
    return isinstance(graph, MatrixGraph) and graph.bare is not None


def size(graph: Graph) -> int:
    """Return the number of vertices and edges; of rows that are not validated, of their entries."""
    bare = graph.bare if isinstance(graph, MatrixGraph) else None
    return graph.n_vertices + (graph.n_edges if bare is None else len(bare[1]))


def takes(graph: Graph, request: Request) -> bool:
    """Return whether a graph is unchecked, and a search of its rows can serve a request."""
    if not isinstance(graph, MatrixGraph) or graph.bare is None:
        return False
    if request.device == "cuda" or request.stats == "full" or request.targets is not None:
        return False
    k, m = request.n_sources, len(graph.bare[1])
    if request.problem != "sssp":
        if request.predecessors:
            return False
        # Searches of the unchecked graph cost less than validating and packing it.
        short = m < _LONG_ROWS * graph.n_vertices
        if k != 1 and not (short and (k < _MANY or k * m < _TINY)):
            return False
    return m <= _LARGE or request.device == "cpu" or runtime.available() is not True
