"""Graph: immutable compressed sparse rows, validated once, with derived data cached on it.

All other code assumes a valid graph: sorted ``indptr``, indices in range, finite weights, no
negative zero. The arrays are in an object on the host (:mod:`nearfar.graph.build`) or on a GPU
(:mod:`nearfar.graph.on_device`) with the same interface.
"""

from __future__ import annotations

import warnings
from collections.abc import Iterable, Mapping
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from nearfar.errors import GraphError, NegativeWeightError, OptionError, listed, quoted
from nearfar.graph import build, on_device
from nearfar.graph.build import places_among, row_edges, row_starts
from nearfar.graph.dtypes import weight_dtype_of
from nearfar.graph.exchange import Exchange
from nearfar.graph.geography import check_degrees
from nearfar.graph.given import as_direction, frozen, kept
from nearfar.graph.names import are_names, as_names, distinct, numbered_columns
from nearfar.graph.slots import Kept, Slot
from nearfar.graph.snapping.lines import OF_EDGES, closed_edges
from nearfar.graph.snapping.snap import strong_parts
from nearfar.graph.vertices import Vertices
from nearfar.system.devices.arrays import is_device_array
from nearfar.system.html import facts_table

if TYPE_CHECKING:
    from nearfar._cpu import GraphView, NarrowView
    from nearfar.graph.turns import TurnGraph

_TRANSPOSE: Slot[Graph] = Slot("transpose")
_NAMELESS: Slot[Graph] = Slot("without names")
#: Graphs with weights of other dtypes, by dtype.
AS_TYPE: Slot[Graph] = Slot("other dtypes")
#: View with weights in one or two bytes next to the targets; None if they do not fit.
NARROW_VIEW: Slot[NarrowView | None] = Slot("narrow view")

#: Ratio of all vertices to those with an edge above which integer ends are probably names.
_GAPS = 10

#: Edges into each vertex, which depend only on the rows.
ENTERING: Slot[tuple[NDArray[np.int64], NDArray[np.int64], NDArray[np.int64]]] = Slot("entering")


class Graph(Vertices, Exchange):
    """Weighted directed graph in compressed sparse rows.

    Use :func:`nearfar.read` or one of the ``from_*`` constructors. Arrays are read-only and not
    shared with writable ones, so solvers read them without checks. Of parallel edges the lightest
    counts, self-loops have no effect, and an explicit zero is an edge of weight 0. An undirected
    graph stores every edge in both directions.

    Parameters
    ----------
    indptr : int32 or int64 array, shape (n + 1,)
        Row starts: the edges of vertex ``v`` are ``indptr[v]`` to ``indptr[v + 1]``.
    indices : same dtype, shape (m,)
        Edge targets.
    weights : int32, int64, float32 or float64 array, shape (m,), or None
        Weights; None means that every edge has weight 1.
    directed : bool
        False if the arrays contain every edge in both directions with the same weight.
    vertex_names : array, shape (n,), a range of n numbers, or None
        External names, which answers use. A range, such as ``range(1, n + 1)`` for a file with
        1-based vertices, takes no memory.
    coordinates : float64 array, shape (n, 2), or None
        Finite x (longitude) and y (latitude) of the vertices.
    attributes : mapping
        Information on the origin: ``source``, ``unit``, ``attribution``, ...
    copy : bool
        True copies writable arrays and shares read-only ones. False shares all arrays of suitable
        dtypes: changing them afterwards could crash the process.

    Raises
    ------
    GraphError
        If the arrays do not describe a graph; the message names the invalid entry.

    Notes
    -----
    Validation takes one pass over the arrays, O(n + m).
    """

    def __init__(
        self,
        indptr: ArrayLike,
        indices: ArrayLike,
        weights: ArrayLike | None = None,
        *,
        directed: bool = True,
        vertex_names: ArrayLike | range | None = None,
        coordinates: ArrayLike | None = None,
        attributes: Mapping[str, Any] | None = None,
        copy: bool = True,
    ) -> None:
        given = [array for array in (indptr, indices, weights) if array is not None]
        are_on_device = [is_device_array(array) for array in given]
        check = on_device.validate if all(are_on_device) else build.validate
        arrays = check(indptr, indices, weights, copy=copy)
        besides = directed, vertex_names, coordinates, attributes, copy
        self._fill(arrays, any(are_on_device), *besides)
        one_way = None if directed else self._arrays.one_way_edge()
        if one_way is not None:
            tail = int(np.searchsorted(self.indptr, one_way, side="right")) - 1
            weight = 1 if self.weights is None else self.weights[one_way]
            raise GraphError(
                f"edge {one_way} from {tail} to {self.indices[one_way]} has no edge of weight "
                f"{weight} in the other direction: give both directions of every edge, or "
                "directed=True"
            )

    def _fill(
        self,
        arrays: build.HostArrays | on_device.DeviceArrays,
        came_from_device: bool = False,
        directed: bool = True,
        vertex_names: ArrayLike | range | None = None,
        coordinates: ArrayLike | None = None,
        attributes: Mapping[str, Any] | None = None,
        copy: bool = True,
    ) -> None:
        self._arrays = arrays
        #: Whether the arrays came from a GPU; answers then stay on that GPU.
        self.on_device = came_from_device
        self.directed = as_direction(directed)
        self.attributes: dict[str, Any] = dict(attributes or {})
        self._kept: Kept = {}  # accessed only by slots
        self._name(vertex_names, copy)
        self.coordinates: NDArray[np.float64] | None = None
        if coordinates is not None:
            given = np.asarray(coordinates)
            if given.dtype.kind not in "iuf":
                raise GraphError(f"coordinates have dtype {given.dtype}: give numbers")
            xy = kept(np.ascontiguousarray(given, dtype=np.float64), given, copy)
            if xy.shape != (self.n_vertices, 2):
                raise GraphError(f"coordinates have shape {xy.shape}: give ({self.n_vertices}, 2)")
            if not np.isfinite(xy).all():
                wrong = int(np.argmin(np.isfinite(xy).all(axis=1)))
                x, y = xy[wrong]
                raise GraphError(f"coordinates of vertex {wrong} are {x}, {y}: give finite numbers")
            if self.attributes.get("geographic") is True:
                check_degrees(xy)
            self.coordinates = xy

    def _fill_like(
        self, graph: Graph, arrays: build.HostArrays | on_device.DeviceArrays, **other: Any
    ) -> None:
        """Initialise with other arrays and the checked names and coordinates of a graph."""
        self._arrays = arrays
        self.on_device = other.get("on_device", arrays.device_arrays is not None)
        self.directed = other.get("directed", graph.directed)
        self.attributes = dict(other.get("attributes", graph.attributes))
        self._kept = {}
        self.vertex_names, self.vertex_numbers = graph.vertex_names, graph.vertex_numbers
        self.coordinates = graph.coordinates

    def _with_arrays(
        self, arrays: build.HostArrays | on_device.DeviceArrays, **other: Any
    ) -> Graph:
        """Return a graph with the same vertices and other checked arrays."""
        graph = Graph.__new__(Graph)
        graph._fill_like(self, arrays, **other)
        return graph

    def _metadata(self) -> dict[str, Any]:
        """Return the keyword arguments of ``from_checked`` for this graph."""
        return {
            "directed": self.directed,
            "vertex_names": self.vertex_names,
            "coordinates": self.coordinates,
            "attributes": self.attributes,
        }

    def _metadata_with(self, unit: str | None) -> dict[str, Any]:
        """Return the keyword arguments for a graph with the same rows and other weights."""
        attributes = {k: v for k, v in self.attributes.items() if k != "unit"}
        if unit is not None:
            attributes["unit"] = unit
        return {**self._metadata(), "attributes": attributes}

    def __reduce__(self) -> tuple[Any, ...]:
        """Return the arrays without derived data, for :mod:`pickle` and :mod:`copy`.

        The graph is restored on the host, and its arrays are validated again.
        """
        arrays = self.indptr, self.indices, self.weights
        return _rebuilt, (*arrays, self._metadata())

    # ---- constructors -------------------------------------------------------------------------

    @classmethod
    def from_csr(
        cls,
        indptr: ArrayLike,
        indices: ArrayLike,
        weights: ArrayLike | None = None,
        *,
        directed: bool = True,
        vertex_names: ArrayLike | range | None = None,
        coordinates: ArrayLike | None = None,
        attributes: Mapping[str, Any] | None = None,
        copy: bool = True,
    ) -> Graph:
        """Make a graph from compressed sparse rows.

        Parameters
        ----------
        indptr, indices, weights
            As in :class:`Graph`, of any integer or float dtype, from NumPy or a library that
            supports DLPack.
        directed, vertex_names, coordinates, attributes, copy
            As in :class:`Graph`.

        Returns
        -------
        Graph
            Graph. Device arrays are validated and kept on their device, and answers are on the
            same device; host copies are made on first use.
        """
        return cls(
            indptr,
            indices,
            weights,
            directed=directed,
            vertex_names=vertex_names,
            coordinates=coordinates,
            attributes=attributes,
            copy=copy,
        )

    @classmethod
    def from_edges(
        cls,
        sources: ArrayLike,
        targets: ArrayLike,
        weights: ArrayLike | None = None,
        *,
        n_vertices: int | None = None,
        directed: bool = True,
        vertex_names: ArrayLike | range | None = None,
        coordinates: ArrayLike | None = None,
        attributes: Mapping[str, Any] | None = None,
        names: bool | None = None,
    ) -> Graph:
        """Make a graph from an edge list, in O(n + m) by counting sort.

        Parameters
        ----------
        sources, targets : integer or name array, shape (k,)
            Ends of each edge: indices, or hashable names, which become ``vertex_names``, sorted if
            they can be compared, otherwise in order of appearance.
        weights : array, shape (k,), or a number, or None
            One weight per edge, one for all edges, or none.
        n_vertices : int or None
            Number of vertices; None means the largest end plus one, or the number of names.
        directed : bool
            False adds the reverse of every edge (except self-loops).
        vertex_names, coordinates, attributes
            As in :class:`Graph`. If ``vertex_names`` is given, ends are looked up in it.
        names : bool or None
            Whether the ends are names. None treats them as names if ``vertex_names`` is given or
            they are not integers. Pass True for integers such as OpenStreetMap ids, and False for
            indices in combination with ``vertex_names``.

        Returns
        -------
        Graph
            Graph in which the edges of a source have the order of the list.

        Raises
        ------
        GraphError
            If lengths differ, or if an end is negative, not below ``n_vertices`` or an unknown
            name.
        OutOfMemoryError
            If the vertices do not fit in main memory; the message explains how to number them.

        Warns
        -----
        UserWarning
            If more than nine in ten vertices have no edge because integer ends have gaps.

        Examples
        --------
        >>> import nearfar
        >>> g = nearfar.Graph.from_edges([101, 205], [205, 309], [1.0, 2.0], names=True)
        >>> nearfar.shortest_path(g, 101, 309)
        ([101, 205, 309], 3.0)
        """
        indices_said = names is False or n_vertices is not None
        if names is None:
            names = vertex_names is not None or are_names(sources) or are_names(targets)
        if names:
            known = vertex_names
            if known is not None and not isinstance(known, range):
                known = as_names(known)
            both, vertex_names = numbered_columns([distinct(sources), distinct(targets)], known)
            sources, targets = both
            if n_vertices is not None and n_vertices != len(vertex_names):
                raise GraphError(
                    f"n_vertices is {n_vertices}, but there are {len(vertex_names)} names: omit "
                    "it, or name all vertices with vertex_names"
                )
            n_vertices = len(vertex_names)
        arrays = build.from_edges(
            sources, targets, weights, n_vertices=n_vertices, directed=directed
        )
        if not names and not indices_said:
            _warn_of_gaps(arrays)
        return cls.from_checked(
            arrays,
            directed=directed,
            vertex_names=vertex_names,
            coordinates=coordinates,
            attributes=attributes,
        )

    # ---- size and weights ---------------------------------------------------------------------

    @cached_property
    def indptr(self) -> NDArray[Any]:
        """Row starts, shape (n + 1,); copied to the host on first use if on a device."""
        return self._arrays.indptr

    @cached_property
    def indices(self) -> NDArray[Any]:
        """Edge targets, shape (m,); copied to the host on first use if on a device."""
        return self._arrays.indices

    @cached_property
    def weights(self) -> NDArray[Any] | None:
        """Weights, shape (m,), or None; copied to the host on first use if on a device."""
        return self._arrays.weights

    @property
    def device_arrays(self) -> Any:
        """(indptr, indices, weights) on the device, or None for a graph on the host."""
        return self._arrays.device_arrays

    @property
    def _parts(self) -> tuple[Any, Any, Any]:
        """Row starts, targets and weights (or None) without a copy from a device."""
        arrays = self._arrays
        return arrays.device_arrays or (arrays.indptr, arrays.indices, arrays.weights)

    @cached_property
    def n_vertices(self) -> int:
        """Number of vertices."""
        return len(self._parts[0]) - 1

    @cached_property
    def n_edges(self) -> int:
        """Number of stored edges; an undirected edge counts twice."""
        return len(self._parts[1])

    @property
    def is_weighted(self) -> bool:
        """Whether edges have weights; otherwise every edge has weight 1."""
        return self._parts[2] is not None

    @cached_property
    def weight_dtype(self) -> np.dtype[Any]:
        """Dtype of weights and distances; int32 without weights."""
        weights = self._parts[2]
        return np.dtype(np.int32 if weights is None else weights.dtype)

    @cached_property
    def index_dtype(self) -> np.dtype[Any]:
        """Dtype of ``indptr`` and ``indices``."""
        dtype: np.dtype[Any] = np.dtype(self._parts[0].dtype)
        return dtype

    @property
    def vertex_dtype(self) -> np.dtype[Any]:
        """Dtype of vertices in answers, such as predecessors: int32 below 2^31 vertices."""
        return np.dtype(np.int32 if self.n_vertices < 2**31 else np.int64)

    @property
    def _scan(self) -> dict[str, Any]:
        """Statistics of the weights from one pass: counts, minimum, maximum, mean."""
        return self._arrays.scan

    @cached_property
    def effective_weights(self) -> NDArray[Any]:
        """Weights, shape (m,); int32 ones without weights."""
        if self.weights is not None:
            return self.weights
        return frozen(np.ones(self.n_edges, dtype=np.int32))

    @cached_property
    def n_negative(self) -> int:
        """Number of edges with a negative weight."""
        return int(self._scan["n_negative"])

    @property
    def first_negative(self) -> int:
        """Position of the first edge with a negative weight, or -1."""
        return int(self._scan["first_negative"])

    @property
    def has_zero_weight(self) -> bool:
        """Whether an edge of weight 0 exists."""
        return bool(self._scan["n_zero"])

    @property
    def has_equal_weights(self) -> bool:
        """Whether all weights are the same and at least 0; true without weights."""
        return not self.is_weighted or 0 <= self.min_weight == self.max_weight

    @cached_property
    def min_weight(self) -> Any:
        """Minimum weight (1 without weights, 0 without edges)."""
        return self._scan["min"]

    @cached_property
    def max_weight(self) -> Any:
        """Maximum weight (1 without weights, 0 without edges)."""
        return self._scan["max"]

    @property
    def mean_weight(self) -> float:
        """Mean weight (1 without weights, 0 without edges)."""
        return float(self._scan["mean"])

    @cached_property
    def _path_bound(self) -> int | float:
        """Bound on the magnitude of a simple path's weight: fewer than n edges, all distinct."""
        bound: int | float = max(self.max_weight, -self.min_weight) * self.n_vertices
        # The factor allows for rounding of the mean.
        total = self.mean_weight * self.n_edges * 1.01
        return bound if self.n_negative else min(bound, total)

    @cached_property
    def mean_degree(self) -> float:
        """Mean number of edges per vertex; 0 for the empty graph."""
        return self.n_edges / self.n_vertices if self.n_vertices else 0.0

    @cached_property
    def degrees(self) -> NDArray[Any]:
        """Out-degree of every vertex, shape (n,)."""
        return np.diff(self.indptr)

    @cached_property
    def max_degree(self) -> int:
        """Largest out-degree; 0 for the empty graph."""
        return self._arrays.max_degree()

    @cached_property
    def widest_vertex(self) -> int:
        """Index of the first vertex of largest out-degree; 0 for the empty graph."""
        return self._arrays.widest_vertex()

    def tails(self, dtype: Any = None) -> NDArray[Any]:
        """Return the tail of each edge, in the order of ``indices``; not cached.

        Parameters
        ----------
        dtype : dtype, optional
            Dtype of the result; the default is ``index_dtype``.

        Returns
        -------
        array, shape (m,)
        """
        vertices = np.arange(self.n_vertices, dtype=self.index_dtype if dtype is None else dtype)
        return np.repeat(vertices, self.degrees)

    def weight_sample(self) -> NDArray[Any]:
        """Return evenly spaced weights on the host; ones without weights."""
        return self._arrays.weight_sample()

    def rows_of(self, vertices: NDArray[Any], most: int) -> NDArray[Any]:
        """Return the targets of the first edges of some vertices, at most ``most`` per vertex."""
        return self._arrays.rows_of(vertices, most)

    @property
    def nbytes(self) -> int:
        """Size in bytes of the arrays, packed edges and distances that searches have kept."""
        own = sum(int(array.nbytes) for array in self._parts if array is not None)
        narrow = NARROW_VIEW.get(self)
        own += narrow.bytes if narrow is not None else 0
        if self.has_view:
            own += self.view.packed_bytes + self.view.copied_bytes + self.view.cleared_bytes
        return own

    # ---- derived data -------------------------------------------------------------------------

    @cached_property
    def view(self) -> GraphView:
        """View of these arrays for the C++ module, which packs edges on first use."""
        from nearfar._cpu import GraphView

        try:
            return GraphView(self.indptr, self.indices, self.effective_weights)
        except ValueError as error:  # too large
            raise GraphError(str(error)) from None

    @property
    def has_view(self) -> bool:
        """Whether :attr:`view` has been built."""
        return "view" in self.__dict__

    def forget(self) -> None:
        """Drop data cached by earlier calls: packed edges, transposes, other copies, choices."""
        self._kept.clear()
        self.__dict__.pop("view", None)

    def transpose(self) -> Graph:
        """Return the graph with every edge reversed, cached; O(n + m).

        Returns
        -------
        Graph
            The graph itself if it is undirected.
        """
        if not self.directed:
            return self
        found = _TRANSPOSE.get(self)
        if found is None:
            here = build.HostArrays(self.indptr, self.indices, self.weights, self._scan)
            dropped = (*OF_EDGES, "forbidden_turns")  # they refer to the original edges
            kept = {k: v for k, v in self.attributes.items() if k not in dropped}
            found = self._with_arrays(here.transposed(self.view), attributes=kept)
            join_transposes(self, found)
        return found

    @property
    def has_transpose(self) -> bool:
        """Whether :meth:`transpose` returns immediately."""
        return not self.directed or _TRANSPOSE.filled(self)

    def astype(self, dtype: Any) -> Graph:
        """Return the graph with weights of another dtype, cached per dtype; O(m).

        Parameters
        ----------
        dtype : dtype
            int32, int64, float32 or float64.

        Returns
        -------
        Graph
            The graph itself if its weights have the dtype.

        Raises
        ------
        GraphError
            If a weight would overflow, lose its fraction, or is an integer that a float cannot
            represent (floats may be rounded to shorter floats), or for any other dtype.
        """
        given, dtype = dtype, weight_dtype_of(dtype)
        if dtype is None:
            wrong = listed([getattr(given, "__name__", given)])
            raise GraphError(f"weights cannot be {wrong}: use int32, int64, float32 or float64")
        if self.is_weighted and dtype == self.weight_dtype:
            return self
        return AS_TYPE.of(self, lambda: self._with_arrays(self._arrays.astype(dtype)), dtype)

    def tight_form(self, sources: Any, rows: Any) -> tuple[Graph, Any]:
        """Return graph and distances in the arithmetic in which shortest paths are exactly tight.

        The graph has weights in the dtype of the distances, which stay on their device.
        """
        return (self if rows.dtype == self.weight_dtype else self.astype(rows.dtype)), rows

    def with_weights(self, weights: ArrayLike, *, unit: str | None = None) -> Graph:
        """Return a graph with the same edges and other weights.

        Parameters
        ----------
        weights : array, shape (m,)
            One weight per edge, in the order of :attr:`indices`, of any dtype that a graph accepts.
        unit : str or None
            Unit of the new weights, for ``attributes["unit"]``. The unit of the old weights is
            dropped.

        Returns
        -------
        Graph
            Graph that shares the rows. For an undirected graph ``weights`` contains both directions
            of each edge; if they differ, the result is directed.

        Raises
        ------
        GraphError
            If the number of weights is not that of the edges, or a weight is not a finite number.
        """
        kept = {**self._metadata_with(unit), "directed": True}
        made = Graph(self.indptr, self.indices, weights, **kept)
        made.directed = self.directed or made._arrays.one_way_edge() is not None
        entering = ENTERING.get(self)
        if entering is not None:
            ENTERING.put(made, entering)
        return made

    def entering(self) -> tuple[NDArray[np.int64], NDArray[np.int64], NDArray[np.int64]]:
        """Return the edges that enter each vertex, cached also for results of :meth:`with_weights`.

        Returns
        -------
        first : int64 array, shape (n + 1,)
            The edges into ``v`` are ``edges[first[v]]`` up to ``edges[first[v + 1]]``.
        edges : int64 array, shape (m,)
            Positions in :attr:`indices`, ascending for each vertex.
        tails : int64 array, shape (m,)
            Tail of each edge.
        """

        def make() -> tuple[NDArray[np.int64], NDArray[np.int64], NDArray[np.int64]]:
            first = row_starts(np.bincount(self.indices, minlength=self.n_vertices))
            edges = np.argsort(self.indices, kind="stable").astype(np.int64, copy=False)
            return first, edges, self.tails(np.int64)

        return ENTERING.of(self, make)

    @property
    def forbidden_turns(self) -> list[Any]:
        """Forbidden turns of an OpenStreetMap extract, for :meth:`with_turns`.

        Triples ``[from, via, to]`` of vertices from ``attributes["forbidden_turns"]``.
        """
        return list(self.attributes.get("forbidden_turns", ()))

    def with_turns(
        self,
        *,
        forbidden: Iterable[Any] = (),
        costs: Mapping[Any, Any] | None = None,
        closed: Iterable[Any] = (),
    ) -> TurnGraph:
        """Return the graph with forbidden turns, costs of turns, and closed vertices.

        Parameters
        ----------
        forbidden : turns
            Turns that no path may take, such as ``forbidden_turns``. A turn is a pair of edges,
            as positions in ``indices``, or a triple of vertices ``(from, via, to)``, which covers
            all parallel edges.
        costs : mapping of turn to number
            Cost that each turn adds to a path, in units of the weights, at least 0.
        closed : vertices
            Vertices at which paths may begin or end, but which no path may pass through.

        Returns
        -------
        TurnGraph
            Graph whose answers have vertices and edges of this graph.

        Raises
        ------
        GraphError
            For a turn that does not exist, or a cost that is not a number of at least 0.
        VertexError
            For a vertex that is not in the graph.

        Notes
        -----
        O(n + m), plus in-degree times out-degree of the vertices that have turns.

        Examples
        --------
        >>> import nearfar
        >>> g = nearfar.Graph.from_edges([0, 1, 0], [1, 2, 2], [1, 1, 5])
        >>> nearfar.shortest_path(g.with_turns(forbidden=[(0, 1, 2)]), 0, 2)
        ([0, 2], 5)
        """
        from nearfar.graph.turns import with_turns

        plain = self
        if type(self) is not Graph:  # the arcs of a prepared graph ignore turns
            plain = self._with_arrays(self._arrays)
        return with_turns(plain, forbidden, costs or {}, closed)

    def without_weights(self) -> Graph:
        """Return the same edges with weight 1 each.

        Returns
        -------
        Graph
            The graph itself if it has no weights. ``attributes["unit"]`` is dropped.
        """
        if not self.is_weighted:
            return self
        return self._with_arrays(self._arrays.without_weights(), **self._metadata_with(None))

    def digest(self) -> str:
        """Return the SHA-256 digest of the arrays, for caches and manifests; cached, O(n + m).

        Returns
        -------
        str
            64 hexadecimal digits.
        """
        return self._digest

    @cached_property
    def _digest(self) -> str:
        import hashlib  # the import takes longer than solving a small graph

        state = hashlib.sha256()
        for array in (self.indptr, self.indices, self.weights):
            if array is not None:
                state.update(f"{array.dtype.str}{array.shape}".encode())
                state.update(np.ascontiguousarray(array).data.cast("B"))
        return state.hexdigest()

    # ---- vertices and names -------------------------------------------------------------------

    def __len__(self) -> int:
        return self.n_vertices

    def __bool__(self) -> bool:  # an empty graph is true, unlike None
        return True

    def neighbors(self, vertex: Any) -> NDArray[Any]:
        """Return the distinct targets of a vertex's edges.

        Parameters
        ----------
        vertex : int or vertex name

        Returns
        -------
        array
            External names in the order of the edges.

        Raises
        ------
        VertexError
            If there is no such vertex.
        """
        at = self.index_of(vertex, "vertex")
        ends = self.indices[self.indptr[at] : self.indptr[at + 1]]
        _, first = np.unique(ends, return_index=True)
        return self.name_of(ends[np.sort(first)])

    def edges_between(self, u: Any, v: Any) -> NDArray[np.int64]:
        """Find the edges from one vertex to another.

        Parameters
        ----------
        u, v : int or vertex name, or sequences of equal length
            Tails and heads of the edges.

        Returns
        -------
        int64 array
            Positions in :attr:`Graph.indices` of all edges, including parallel ones, pair by pair.
            For both directions concatenate the results for ``(u, v)`` and ``(v, u)``.

        Raises
        ------
        VertexError
            If ``u`` or ``v`` contains an invalid vertex.
        GraphError
            If there is no edge between the vertices of a pair.
        OptionError
            If the sequences have different lengths.

        Notes
        -----
        O(edges of the vertices ``u``).

        Examples
        --------
        >>> import nearfar
        >>> g = nearfar.Graph.from_edges([0, 0, 1], [1, 1, 2], [4, 5, 9])
        >>> g.edges_between(0, 1).tolist()
        [0, 1]
        """
        several = isinstance(u, (list, range)) or getattr(u, "ndim", 0) > 0
        starts, ends = (self.indices_of(w if several else [w]) for w in (u, v))
        if len(starts) != len(ends):
            raise OptionError(f"{len(starts)} vertices u and {len(ends)} vertices v: give pairs")
        found = []
        for begin, end in zip(starts.tolist(), ends.tolist(), strict=True):
            row = slice(int(self.indptr[begin]), int(self.indptr[begin + 1]))
            edges = row.start + np.flatnonzero(self.indices[row] == end)
            if not len(edges):
                names = quoted(self.name_of(begin)), quoted(self.name_of(end))
                raise GraphError(f"there is no edge from {names[0]} to {names[1]}")
            found.append(edges)
        return np.concatenate([np.empty(0, np.int64), *found])

    def without_edges(self, edges: ArrayLike) -> Graph:
        """Return the graph with some edges closed, without changing the positions of edges.

        Parameters
        ----------
        edges : int array, shape (k,)
            Positions in :attr:`indices`, as returned by :meth:`edges_between`. A two-way street is
            two edges.

        Returns
        -------
        Graph
            Graph in which closed edges are self-loops, listed in ``attributes["closed_edges"]``.
            Places snapped to a closed edge stay on it, but no path uses it.

        Raises
        ------
        GraphError
            If an edge does not exist.

        Notes
        -----
        O(n + m); weights are shared, unless a closed edge has a negative one, which becomes 0.

        Examples
        --------
        >>> import nearfar
        >>> g = nearfar.Graph.from_edges([0, 1, 0], [1, 2, 2], [4, 3, 9])
        >>> closed = g.without_edges(g.edges_between(0, 1))
        >>> nearfar.shortest_path(closed, 0, 2)
        ([0, 2], 9)
        """
        indices, weights, attributes, symmetric = closed_edges(self, edges)
        kept = {**self._metadata(), "attributes": attributes, "directed": not symmetric}
        return Graph(self.indptr, indices, weights, copy=False, **kept)

    def subgraph(self, vertices: Iterable[Any]) -> Graph:
        """Return the subgraph induced by some vertices.

        Parameters
        ----------
        vertices : iterable of int or vertex name

        Returns
        -------
        Graph
            Graph of the vertices in the given order, with their names and coordinates. The order of
            each vertex's edges is preserved.

        Raises
        ------
        VertexError
            For the first entry that is not a vertex.
        GraphError
            If a vertex is given twice.

        Notes
        -----
        O(n + edges of the vertices) at most.
        """
        return self._induced(self.indices_of(vertices))

    def _induced(self, kept: NDArray[np.int64]) -> Graph:
        """Return the subgraph of the vertices with some indices."""
        rows, edges = row_edges(self.indptr, kept)
        place = places_among(kept, self.indices[edges], self.n_vertices)
        twice = np.flatnonzero(places_among(kept, kept, self.n_vertices) != np.arange(len(kept)))
        if len(twice):
            raise GraphError(f"vertex {quoted(self.name_of(int(kept[twice[0]])))} is given twice")
        inside = place >= 0
        edges = edges[inside]
        names = self.name_of(kept)
        return Graph(
            row_starts(np.bincount(rows[inside], minlength=len(kept))),
            place[inside],
            None if self.weights is None else self.weights[edges],
            directed=self.directed,
            vertex_names=names,
            coordinates=None if self.coordinates is None else self.coordinates[kept],
            attributes=self._attributes_among(names),
            copy=False,
        )

    def largest_component(self, *, strong: bool = True) -> Graph:
        """Return the largest connected component.

        Parameters
        ----------
        strong : bool
            True respects the direction of edges, so that every vertex of the component reaches
            every other; False ignores it. The results agree if all edges have both directions.

        Returns
        -------
        Graph
            Induced subgraph with the vertices in their original order; see :meth:`subgraph`. Of
            components of equal size it is the one with the first vertex.

        Notes
        -----
        O(n + m).

        Examples
        --------
        >>> import nearfar
        >>> g = nearfar.Graph.from_edges([0, 2, 3], [1, 3, 2], [5, 1, 1])
        >>> part = g.largest_component()
        >>> part.vertex_names.tolist(), nearfar.measures.diameter(part)
        ([2, 3], 1)
        """
        label: NDArray[Any]
        if strong and self.directed:
            label = strong_parts(self)[0]  # SciPy's search does not end with parallel edges
        else:
            from scipy.sparse import csr_array
            from scipy.sparse.csgraph import connected_components

            n = self.n_vertices
            ones = np.ones(self.n_edges, dtype=np.int8)
            matrix = csr_array((ones, self.indices, self.indptr), shape=(n, n))
            _, label = connected_components(matrix, connection="weak")
        if not len(label):
            return self.subgraph([])
        largest = label[np.argmax(np.bincount(label)[label])]
        return self._induced(np.flatnonzero(label == largest))

    def _attributes_among(self, names: NDArray[Any]) -> dict[str, Any]:
        """Return the attributes of the subgraph of these vertices."""
        kept = {k: v for k, v in self.attributes.items() if k not in OF_EDGES}
        if self.forbidden_turns:
            inside = set(names.tolist())
            kept["forbidden_turns"] = [t for t in self.forbidden_turns if inside.issuperset(t)]
        return kept

    def without_names(self) -> Graph:
        """Return the same graph with vertices named by their indices; cached.

        Returns
        -------
        Graph
            The graph itself if it has no names.
        """
        if self.vertex_names is None:
            return self

        def make() -> Graph:
            made = self._with_arrays(self._arrays, on_device=self.on_device)
            made.attributes.pop("forbidden_turns", None)  # they refer to names
            made.vertex_names, made.vertex_numbers = None, range(self.n_vertices)
            return made

        return _NAMELESS.of(self, make)

    def _weights_text(self) -> str:
        if not self.is_weighted:
            return "unweighted"
        to = ".6g" if self.weight_dtype.kind == "f" else ""
        return f"{self.weight_dtype} weights {self.min_weight:{to}}..{self.max_weight:{to}}"

    def __repr__(self) -> str:
        kind = "directed" if self.directed else "undirected"
        size = f"{self.nbytes / 2**20:.1f} MiB"
        sizes = f"n={self.n_vertices:,}, m={self.n_edges:,}"
        return f"{type(self).__name__}({sizes}, {kind}, {self._weights_text()}, {size})"

    def _facts(self) -> list[tuple[str, object]]:
        """Return labels and values for the display in notebooks."""
        facts: list[tuple[str, object]] = [
            ("vertices", f"{self.n_vertices:,}"),
            ("edges", f"{self.n_edges:,}, {'directed' if self.directed else 'both directions'}"),
            ("weights", self._weights_text()),
            ("memory", f"{self.nbytes / 2**20:.1f} MiB"),
        ]
        if self.vertex_names is not None and self.n_vertices:
            facts.append(("names", f"{self.name_of(0)} to {self.name_of(self.n_vertices - 1)}"))
        if self.coordinates is not None:
            facts.append(("coordinates", "x and y of every vertex"))
        return facts + [(key, self.attributes[key]) for key in ("unit", "attribution")
                        if key in self.attributes]  # fmt: skip

    def _repr_html_(self) -> str:
        return facts_table(type(self).__name__, self._facts())


def _warn_of_gaps(arrays: build.HostArrays) -> None:
    """Warn of indices with so many gaps that they are probably names."""
    n = len(arrays.indptr) - 1
    if n <= _GAPS * np.count_nonzero(np.diff(arrays.indptr)):
        return
    with_edge = np.diff(arrays.indptr) > 0
    with_edge[arrays.indices] = True
    count = int(np.count_nonzero(with_edge))
    if n > _GAPS * count:
        warnings.warn(
            f"{n:,} vertices, of which {count:,} have an edge: if the integers are names, such as "
            "ids in a file, pass names=True; if they are indices, pass names=False",
            stacklevel=3,
        )


def join_transposes(one: Graph, other: Graph) -> None:
    """Cache two graphs as each other's transpose, without a check."""
    _TRANSPOSE.put(one, other)
    _TRANSPOSE.put(other, one)


def _rebuilt(indptr: Any, indices: Any, weights: Any, kept: dict[str, Any]) -> Graph:
    return Graph(indptr, indices, weights, copy=False, **kept)


def negative_weight(graph: Graph, accepted_by: Iterable[str] = ()) -> NegativeWeightError:
    """Return the error for the first negative weight of a graph."""
    at = graph.first_negative
    tail = int(np.searchsorted(graph.indptr, at, side="right")) - 1
    ends = graph.name_of(tail), graph.name_of(int(graph.indices[at]))
    return NegativeWeightError(at, graph.n_negative, accepted_by, ends)
