"""The graph: immutable compressed sparse rows, validated once, with derived data cached on it.

Everything behind this boundary assumes a valid graph: sorted ``indptr``, indices in range, finite
weights, no negative zero. The constructors are in :mod:`nearfar.graph.build`; they are re-exported
here as class methods because that is where people look.
"""

from __future__ import annotations

import hashlib
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np

from nearfar.errors import GraphError, VertexError
from nearfar.graph import build, convert
from nearfar.graph.dtypes import WEIGHT_DTYPES
from nearfar.graph.slots import Slot

if TYPE_CHECKING:
    from collections.abc import Mapping

    from numpy.typing import ArrayLike, NDArray

    from nearfar._cpu import GraphView, NarrowView
    from nearfar.graph.slots import Kept

__all__ = ["AS_TYPE", "NARROW_VIEW", "Graph", "join_transposes", "trusted"]

_TRANSPOSE: Slot[Graph] = Slot("transpose")
#: The graph in other dtypes, by dtype.
AS_TYPE: Slot[Graph] = Slot("other dtypes")
#: Weights of a byte or two beside the targets; None where they do not fit.
NARROW_VIEW: Slot[NarrowView | None] = Slot("narrow view")


class Graph:
    """A weighted directed graph in compressed sparse rows.

    Use :func:`nearfar.read` or one of the ``from_*`` constructors. Arrays are read-only. Parallel
    edges count by their minimum, self-loops are harmless, and an explicit zero is an edge of weight
    0. An undirected graph holds every edge in both directions.

    Parameters
    ----------
    indptr : int32 or int64 array, shape (n + 1,)
        Row starts: the edges of vertex ``v`` are ``indptr[v]`` to ``indptr[v + 1]``.
    indices : same dtype, shape (m,)
        Edge targets.
    weights : int32, int64, float32 or float64 array, shape (m,), or None
        None means that every edge counts 1.
    directed : bool
        False when the arrays hold every edge in both directions.
    vertex_names : array, shape (n,), or None
        External names; answers come back in them.
    coordinates : float64 array, shape (n, 2), or None
        x (longitude) and y (latitude) of the vertices.
    attributes : mapping
        What is known of the origin: ``source``, ``unit``, ``attribution``, ...

    Raises
    ------
    GraphError
        If the arrays do not describe a graph; says which entry is wrong.

    Notes
    -----
    Validation is one pass over the arrays, O(n + m).
    """

    def __init__(
        self,
        indptr: NDArray[Any],
        indices: NDArray[Any],
        weights: NDArray[Any] | None = None,
        *,
        directed: bool = True,
        vertex_names: NDArray[Any] | None = None,
        coordinates: NDArray[Any] | None = None,
        attributes: Mapping[str, Any] | None = None,
    ) -> None:
        from nearfar.graph.build import validate

        indptr, indices, weights, scan = validate(indptr, indices, weights)
        self._hold(indptr, indices, weights, scan, directed, vertex_names, coordinates, attributes)

    def _hold(
        self,
        indptr: NDArray[Any],
        indices: NDArray[Any],
        weights: NDArray[Any] | None,
        scan: dict[str, Any],
        directed: bool,
        vertex_names: NDArray[Any] | None,
        coordinates: NDArray[Any] | None,
        attributes: Mapping[str, Any] | None,
    ) -> None:
        """Take arrays that have been checked."""
        self.indptr, self.indices, self.weights, self._scan = indptr, indices, weights, scan
        self.directed = bool(directed)
        # True when the arrays came from a GPU: answers then stay there.
        self.on_device = False
        self.attributes: dict[str, Any] = dict(attributes or {})
        self._kept: Kept = {}  # read and written by slots alone
        self.vertex_names = self._per_vertex(vertex_names, "vertex_names")
        if coordinates is not None:
            coordinates = np.ascontiguousarray(coordinates, dtype=np.float64)
            if coordinates.shape != (self.n_vertices, 2):
                raise GraphError(
                    f"coordinates have shape {coordinates.shape}: give ({self.n_vertices}, 2)"
                )
        self.coordinates: NDArray[np.float64] | None = coordinates

    def _per_vertex(self, values: ArrayLike | None, what: str) -> NDArray[Any] | None:
        if values is None:
            return None
        array = np.asarray(values)
        if array.shape != (self.n_vertices,):
            raise GraphError(f"{what} has shape {array.shape}: give ({self.n_vertices},)")
        return array

    # ---- constructors -------------------------------------------------------------------------

    from_csr = classmethod(build.from_csr)
    from_edges = classmethod(build.from_edges)
    from_scipy = classmethod(build.from_scipy)
    from_networkx = classmethod(convert.from_networkx)
    from_dataframe = classmethod(convert.from_dataframe)
    from_dense = classmethod(convert.from_dense)
    __reduce__ = build.reduced

    # ---- size and weights ---------------------------------------------------------------------

    @property
    def n_vertices(self) -> int:
        """Number of vertices."""
        return len(self.indptr) - 1

    @property
    def n_edges(self) -> int:
        """Number of stored edges; an undirected edge counts twice."""
        return len(self.indices)

    @property
    def is_weighted(self) -> bool:
        """Whether edges carry weights; without, every edge counts 1."""
        return self.weights is not None

    @property
    def weight_dtype(self) -> np.dtype[Any]:
        """Dtype of weights and distances; int32 when there are no weights."""
        return np.dtype(np.int32) if self.weights is None else self.weights.dtype

    @property
    def index_dtype(self) -> np.dtype[Any]:
        """Dtype of ``indptr`` and ``indices``."""
        return self.indptr.dtype

    #: (indptr, indices, weights) on the device, for a graph that was made of such arrays.
    device_arrays: Any = None

    @cached_property
    def effective_weights(self) -> NDArray[Any]:
        """The weights, or int32 ones, shape (m,)."""
        if self.weights is not None:
            return self.weights
        ones = np.ones(self.n_edges, dtype=np.int32)
        ones.flags.writeable = False
        return ones

    @property
    def n_negative(self) -> int:
        """How many edges have a negative weight."""
        return int(self._scan["n_negative"])

    @property
    def first_negative(self) -> int:
        """Position of the first edge with a negative weight; -1 when there is none."""
        return int(self._scan["first_negative"])

    @property
    def has_zero_weight(self) -> bool:
        """Whether an edge of weight 0 exists."""
        return bool(self._scan["n_zero"])

    @property
    def min_weight(self) -> Any:
        """The least weight (1 without weights, 0 without edges)."""
        return self._scan["min"]

    @property
    def max_weight(self) -> Any:
        """The greatest weight (1 without weights, 0 without edges)."""
        return self._scan["max"]

    @property
    def mean_weight(self) -> float:
        """Mean weight (1 without weights, 0 without edges)."""
        return float(self._scan["mean"])

    @property
    def mean_degree(self) -> float:
        """Edges over vertices; 0 for the empty graph."""
        return self.n_edges / self.n_vertices if self.n_vertices else 0.0

    @cached_property
    def degrees(self) -> NDArray[Any]:
        """Out-degree of every vertex, shape (n,)."""
        return np.diff(self.indptr)

    @cached_property
    def max_degree(self) -> int:
        """Largest out-degree; 0 for the empty graph."""
        return int(self.degrees.max()) if self.n_vertices else 0

    @cached_property
    def widest_vertex(self) -> int:
        """The vertex of largest out-degree, the smallest such; 0 for the empty graph."""
        return int(np.argmax(self.degrees)) if self.n_vertices else 0

    def tails(self, dtype: Any = None) -> NDArray[Any]:
        """Where each edge begins, as ``indices`` says where it ends; not kept.

        Parameters
        ----------
        dtype : dtype, optional
            Of the result; default ``index_dtype``.

        Returns
        -------
        array, shape (m,)
        """
        vertices = np.arange(self.n_vertices, dtype=self.index_dtype if dtype is None else dtype)
        return np.repeat(vertices, self.degrees)

    def weight_sample(self, step: int) -> NDArray[Any]:
        """A regular sample of the weights.

        Parameters
        ----------
        step : int
            Distance between two weights taken, from the first on.

        Returns
        -------
        array
            A view, dtype of the weights; ones without weights.
        """
        return self.effective_weights[::step]

    def rows_of(self, vertices: NDArray[Any], most: int) -> NDArray[Any]:
        """Targets of some vertices' first edges, joined; O(edges returned).

        Parameters
        ----------
        vertices : int array
            At least one vertex index.
        most : int
            At most so many edges of each.

        Returns
        -------
        int array
        """
        begin = self.indptr[vertices]
        counts = np.minimum(self.indptr[vertices + 1] - begin, most)
        ends = np.cumsum(counts)
        places = np.repeat(begin - (ends - counts), counts) + np.arange(int(ends[-1]))
        return self.indices[places]

    @property
    def nbytes(self) -> int:
        """Bytes of the arrays, with the packed edges once a solver has made them."""
        own = self.indptr.nbytes + self.indices.nbytes
        own += 0 if self.weights is None else self.weights.nbytes
        narrow = NARROW_VIEW.get(self)
        own += narrow.bytes if narrow is not None else 0
        return own + (self.view.packed_bytes if self.has_view else 0)

    # ---- derived data -------------------------------------------------------------------------

    @cached_property
    def view(self) -> GraphView:
        """The C++ side's typed pointers into these arrays; packs edges on first use."""
        from nearfar._cpu import GraphView

        return GraphView(self.indptr, self.indices, self.effective_weights)

    @property
    def has_view(self) -> bool:
        """Whether :attr:`view` has been made."""
        return "view" in self.__dict__

    def forget(self) -> None:
        """Drop what is kept of earlier calls: transposes, copies on devices, choices."""
        self._kept.clear()

    def transpose(self) -> Graph:
        """The graph with every edge reversed, cached; O(n + m).

        Returns
        -------
        Graph
            Itself if undirected.
        """
        if not self.directed:
            return self
        found = _TRANSPOSE.get(self)
        if found is None:
            from nearfar import _cpu

            indptr, indices = np.empty_like(self.indptr), np.empty_like(self.indices)
            weights = None if self.weights is None else np.empty_like(self.weights)
            _cpu.transpose(self.view, indptr, indices, weights)
            found = self._derived(indptr, indices, weights)
            join_transposes(self, found)
        return found

    @property
    def has_transpose(self) -> bool:
        """Whether :meth:`transpose` returns without work."""
        return not self.directed or _TRANSPOSE.filled(self)

    def astype(self, dtype: Any) -> Graph:
        """The graph with weights of another dtype, cached per dtype; O(m).

        Parameters
        ----------
        dtype : dtype
            int32, int64, float32 or float64.

        Returns
        -------
        Graph
            Itself if that is its dtype.

        Raises
        ------
        GraphError
            If a weight does not survive the change: overflow, a fraction cut off, or a whole number
            that a float cannot hold. Floats are rounded to shorter floats.
        """
        dtype = np.dtype(dtype)
        if dtype not in WEIGHT_DTYPES:
            raise GraphError(f"weights cannot be {dtype}: use int32, int64, float32 or float64")
        if self.weights is not None and dtype == self.weights.dtype:
            return self

        def make() -> Graph:
            with np.errstate(over="ignore", invalid="ignore"):
                weights = self.effective_weights.astype(dtype)
                back = weights.astype(self.weight_dtype)
            cut = dtype.kind == "i" or self.weight_dtype.kind == "i"  # floats may be rounded
            if cut and not np.array_equal(back, self.effective_weights):
                raise GraphError(
                    f"the weights do not fit {dtype} exactly: round or scale them first"
                )
            return self._derived(self.indptr, self.indices, weights)

        return AS_TYPE.of(self, make, dtype)

    def without_weights(self) -> Graph:
        """The same edges, each counting 1.

        Returns
        -------
        Graph
            Itself if it has no weights.
        """
        return self if self.weights is None else self._derived(self.indptr, self.indices, None)

    def _derived(
        self, indptr: NDArray[Any], indices: NDArray[Any], weights: NDArray[Any] | None
    ) -> Graph:
        return Graph(
            indptr,
            indices,
            weights,
            directed=self.directed,
            vertex_names=self.vertex_names,
            coordinates=self.coordinates,
            attributes=self.attributes,
        )

    def to_scipy(self) -> Any:
        """The graph as a SciPy matrix over the same arrays, which are read-only.

        Returns
        -------
        scipy.sparse.csr_array, shape (n, n)
            Without weights every stored entry is 1. SciPy's functions take it as it is; ``.copy()``
            gives one that can be changed.
        """
        from scipy.sparse import csr_array

        n = self.n_vertices
        return csr_array((self.effective_weights, self.indices, self.indptr), shape=(n, n))

    def digest(self) -> str:
        """SHA-256 of the arrays, cached: names a graph in caches and manifests; O(n + m).

        Returns
        -------
        str
            64 hexadecimal digits.
        """
        return self._digest

    @cached_property
    def _digest(self) -> str:
        state = hashlib.sha256()
        for array in (self.indptr, self.indices, self.weights):
            if array is not None:
                state.update(f"{array.dtype.str}{array.shape}".encode())
                state.update(np.ascontiguousarray(array).data.cast("B"))
        return state.hexdigest()

    # ---- vertices and names -------------------------------------------------------------------

    def index_of(self, vertex: Any, what: str = "vertex") -> int:
        """Index of a vertex given by external name, or by index when the graph has no names.

        Parameters
        ----------
        vertex : int or name
        what : str
            The vertex's role, for the message.

        Returns
        -------
        int

        Raises
        ------
        VertexError
            If there is no such vertex.
        """
        if self.vertex_names is not None:
            key = vertex.item() if isinstance(vertex, np.generic) else vertex
            try:
                return self._index_by_name[key]
            except (KeyError, TypeError):
                raise VertexError(f"{what} {vertex!r} is not a vertex name of this graph") from None
        if isinstance(vertex, (bool, np.bool_)) or not isinstance(vertex, (int, np.integer)):
            raise VertexError(
                f"{what} {vertex!r} is not an integer: give 0 to {self.n_vertices - 1}"
            )
        if not 0 <= vertex < self.n_vertices:
            valid = f"give 0 to {self.n_vertices - 1}" if self.n_vertices else "the graph is empty"
            raise VertexError(f"{what} {vertex} is outside the graph: {valid}")
        return int(vertex)

    @cached_property
    def _index_by_name(self) -> dict[Any, int]:
        names = [] if self.vertex_names is None else self.vertex_names.tolist()
        return {name: i for i, name in enumerate(names)}

    def name_of(self, index: int) -> Any:
        """External name of a vertex.

        Parameters
        ----------
        index : int

        Returns
        -------
        object
            The index itself when there are no names.
        """
        if self.vertex_names is None:
            return int(index)
        name = self.vertex_names[index]
        return name.item() if isinstance(name, np.generic) else name

    def __repr__(self) -> str:
        if not self.is_weighted:
            weights = "unweighted"
        else:
            to = ".6g" if self.weight_dtype.kind == "f" else ""
            weights = f"{self.weight_dtype} weights {self.min_weight:{to}}..{self.max_weight:{to}}"
        kind = "directed" if self.directed else "undirected"
        size = f"{self.nbytes / 2**20:.1f} MiB"
        return f"Graph(n={self.n_vertices:,}, m={self.n_edges:,}, {kind}, {weights}, {size})"


def trusted(
    indptr: NDArray[Any],
    indices: NDArray[Any],
    weights: NDArray[Any] | None,
    scan: dict[str, Any],
    *,
    directed: bool = True,
    vertex_names: NDArray[Any] | None = None,
    coordinates: NDArray[Any] | None = None,
    attributes: Mapping[str, Any] | None = None,
) -> Graph:
    """A graph over arrays that were checked before, none of which is touched.

    Parameters
    ----------
    indptr, indices, weights, directed, vertex_names, coordinates, attributes
        As for :class:`Graph`; indices in the dtype that the size of the graph calls for.
    scan : dict
        What the check found, as :func:`nearfar.graph.build.validate` returns it.

    Returns
    -------
    Graph
    """
    graph = Graph.__new__(Graph)
    graph._hold(indptr, indices, weights, scan, directed, vertex_names, coordinates, attributes)
    return graph


def join_transposes(one: Graph, other: Graph) -> None:
    """Make two graphs each other's transpose; believed.

    Parameters
    ----------
    one, other : Graph
        The same edges in opposite directions.
    """
    _TRANSPOSE.put(one, other)
    _TRANSPOSE.put(other, one)
