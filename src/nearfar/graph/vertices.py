"""Names of vertices, used in arguments and answers, and their indices, used in searches."""

from __future__ import annotations

import contextlib
from collections.abc import Hashable, Iterable, Sequence
from functools import cached_property
from typing import Any, overload

import numpy as np
from numpy.typing import ArrayLike, NDArray

from nearfar.errors import GraphError, VertexError, quoted
from nearfar.graph.given import kept
from nearfar.graph.names import as_names, in_microseconds, positions

_FEW = 16  # vertices up to which looking each of them up is faster than array operations
_SEVERAL = (list, tuple, set, frozenset, range, np.ndarray)


class Vertices:
    """Names and indices of the vertices of :class:`nearfar.Graph`."""

    n_vertices: Any
    vertex_names: NDArray[Any] | range | None
    #: Names of the vertices if they are consecutive numbers: the indices, or a range of names.
    #: None for an array of names.
    vertex_numbers: range | None

    def _name(self, names: ArrayLike | range | None, copy: bool) -> None:
        """Set the names; None means the indices, and consecutive numbers remain a range."""
        n = self.n_vertices
        if names is None:
            self.vertex_names, self.vertex_numbers = None, range(n)
            return
        if isinstance(names, range) and names.step == 1:
            if len(names) != n:
                raise GraphError(f"vertex_names has length {len(names)}: give {n} names")
            self.vertex_names = self.vertex_numbers = names
            return
        table = as_names(names)
        if table.shape != (n,):
            raise GraphError(f"vertex_names has shape {table.shape}: give ({n},)")
        self.vertex_names, self.vertex_numbers = kept(table, table, copy), None

    @overload
    def index_of(self, vertex: Any, what: str) -> int: ...

    @overload
    def index_of(  # type: ignore[overload-overlap]  # ranges and frozensets can be hashed
        self, vertex: list[Any] | range | set[Any] | frozenset[Any] | NDArray[Any]
    ) -> NDArray[np.int64]: ...

    @overload
    def index_of(self, vertex: Hashable) -> int: ...

    def index_of(self, vertex: Any, what: str | None = None) -> Any:
        """Return the index of a vertex given by external name, or by index if there are no names.

        Parameters
        ----------
        vertex : int or name, or a list, tuple, set, range or array of them
            Vertex or vertices; a tuple that is a name is one vertex.
        what : str or None
            Role of a single vertex, for error messages; None allows several vertices.

        Returns
        -------
        int, or int64 array
            Index, or array of indices for several vertices. O(1) per vertex; unless names are
            consecutive numbers or absent, a dictionary of names is built on first use.

        Raises
        ------
        VertexError
            If there is no such vertex; the message names the first one.
        """
        if type(vertex) is int:  # fast path, since a query takes only microseconds
            numbers = self.vertex_numbers
            if numbers is not None and vertex in numbers:
                return vertex - numbers.start
        if isinstance(vertex, np.ndarray) and vertex.ndim == 0:
            vertex = vertex[()]
        if what is None and isinstance(vertex, _SEVERAL):
            if not isinstance(vertex, tuple) or self.vertex_numbers is not None:
                return self.indices_of(vertex)
            try:
                return self._index_of(vertex, "vertex")
            except VertexError:
                return self.indices_of(vertex)
        return self._index_of(vertex, what or "vertex")

    def _index_of(self, vertex: Any, what: str) -> int:
        numbers = self.vertex_numbers
        if numbers is None:
            key = vertex
            if isinstance(vertex, np.generic):
                key = in_microseconds(np.asarray(vertex)).item()
            table = self._index_by_name
            try:
                index = table[key] if key in table else table[vertex]
            except (KeyError, TypeError):
                raise VertexError(
                    f"{what} {quoted(vertex)} is not a vertex name of this graph"
                ) from None
            if index < 0:
                raise VertexError(
                    f"{what} {quoted(vertex)} is the name of several vertices: make names "
                    "distinct, or use graph.without_names()"
                )
            return index
        if isinstance(vertex, (bool, np.bool_)) or not isinstance(vertex, (int, np.integer)):
            valid = f"give {numbers.start} to {numbers.stop - 1}"
            if isinstance(vertex, _SEVERAL):
                raise VertexError(f"{what} is several vertices, {quoted(vertex)}: give one")
            raise VertexError(f"{what} {quoted(vertex)} is not an integer: {valid}")
        if not numbers.start <= vertex < numbers.stop:
            valid = f"give {numbers.start} to {numbers.stop - 1}"
            valid = valid if numbers else "the graph is empty"
            raise VertexError(f"{what} {quoted(vertex)} is outside the graph: {valid}")
        return int(vertex) - numbers.start

    def _are_names(self, given: Any) -> bool:
        """Return whether vertices have names, and these are one or several of them."""
        if self.vertex_numbers is not None:
            return False
        try:
            self.index_of(given)
        except VertexError:
            return False
        return True

    @cached_property
    def _index_by_name(self) -> dict[Any, int]:
        """Dict from names to indices; -1 for a name of several vertices."""
        return positions(self.vertex_names.tolist())  # type: ignore[union-attr]

    def _check_distinct_names(self, what: str) -> None:
        """Refuse a conversion that identifies vertices by name if names repeat."""
        if self.vertex_numbers is not None:
            return
        for name, at in self._index_by_name.items():
            if at < 0:
                raise GraphError(
                    f"{quoted(name)} is the name of several vertices, which {what} would merge: "
                    "make names distinct, or use graph.without_names()"
                )

    def indices_of(self, vertices: Iterable[Any], what: str = "vertex") -> NDArray[np.int64]:
        """Return the indices of several vertices.

        Parameters
        ----------
        vertices : iterable or one-dimensional array of int or names, or one vertex
        what : str
            Role of the vertices, for error messages.

        Returns
        -------
        int64 array
            Indices in the given order, computed in one vectorised pass for numbers.

        Raises
        ------
        VertexError
            For the first entry that is not a vertex.
        """
        given: Any = vertices
        if isinstance(given, (str, bytes)) or not hasattr(given, "__iter__"):
            given = [given]
        if not isinstance(given, np.ndarray):
            # As objects, since NumPy would convert 1 and "a" to two strings.
            if hasattr(given, "to_pylist"):  # Arrow lists scalars of its own
                given = given.to_pylist()
            given = given if isinstance(given, range) else list(given)
            many = len(given) > _FEW
            if isinstance(given, range) or (many and all(type(v) is int for v in given)):
                given = np.array(given)  # still objects if one does not fit 64 bits
        if isinstance(given, np.ndarray):
            if given.ndim != 1:
                raise VertexError(f"{what} has {given.ndim} dimensions: give one vertex or a list")
            numbers = self.vertex_numbers
            if numbers is not None and (given.dtype.kind in "iu" or not given.size):
                places = given.astype(np.int64) - numbers.start
                wrong = places.view(np.uint64) >= len(numbers)  # negative indices wrap to huge ones
                if wrong.any():
                    self._index_of(int(given[wrong][0]), what)
                return places
            given = in_microseconds(given).tolist()
        if self.vertex_numbers is None:
            with contextlib.suppress(TypeError):  # one is unknown, or cannot be hashed
                found = np.array(list(map(self._index_by_name.get, given)), dtype=np.int64)
                if (found >= 0).all():
                    return found
        return np.array([self.index_of(v, what) for v in given], dtype=np.int64)

    @overload
    def name_of(self, index: int) -> Any: ...

    @overload
    def name_of(self, index: Sequence[int] | NDArray[Any]) -> NDArray[Any]: ...

    def name_of(self, index: Any) -> Any:
        """Return the external name of a vertex, or of several.

        Parameters
        ----------
        index : int, or a sequence or array of int

        Returns
        -------
        object, or array
            Name, or array of names for several vertices; the index itself if the graph has no
            names.
        """
        if isinstance(index, (int, np.integer)):
            if self.vertex_numbers is not None:
                return int(index) + self.vertex_numbers.start
            name: Any = self.vertex_names[index]  # type: ignore[index]
            return name.item() if isinstance(name, np.generic) else name
        places = np.asarray(index)
        if self.vertex_numbers is not None:
            return places.astype(np.int64) + self.vertex_numbers.start
        return self.vertex_names[places]  # type: ignore[index]
