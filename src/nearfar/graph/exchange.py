"""Constructors of :class:`nearfar.Graph` from other libraries' graphs, and conversions to them.

:class:`Exchange` is the part of :class:`nearfar.Graph` that documents them; they are implemented
in :mod:`nearfar.graph.convert`, :mod:`nearfar.graph.libraries` and
:mod:`nearfar.graph.geography`.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any, Literal, cast

from numpy.typing import ArrayLike

from nearfar.errors import GraphError, quoted
from nearfar.graph import build, convert, frames, geography, libraries
from nearfar.graph.snapping import snap

if TYPE_CHECKING:
    from nearfar.graph.graph import Graph

#: What to use for an object of another library, by the first part of its module.
_DOORS = {
    "igraph": "Graph.from_igraph",
    "rustworkx": "Graph.from_rustworkx",
    "pandas": "Graph.from_dataframe",
    "polars": "Graph.from_dataframe",
    "pyarrow": "Graph.from_dataframe",
    "geopandas": "Graph.from_geodataframe",
    "numpy": "Graph.from_dense(matrix, missing=0), or Graph.from_edges for lists of edges",
    "networkit": "Graph.from_networkx(networkit.nxadapter.nk2nx(graph))",
    "torch": "Graph.from_edge_index",
    "torch_geometric": "Graph.from_edge_index(data.edge_index, data.edge_weight)",
    "graph_tool": "graph.save('name.gt') and nearfar.read('name.gt')",
    "builtins": "Graph.from_edges for lists of edges, nearfar.read for the name of a file",
    "pathlib": "nearfar.read",
}


def not_a_graph(given: Any) -> str:
    """Return advice for an object that is not a supported graph."""
    library = type(given).__module__.split(".")[0]
    if type(given).__name__ == "TurnGraph":
        return (
            "expected a graph, got a TurnGraph, which this does not take: use its .original, "
            "without turns, or its .graph, by other numbers"
        )
    name = type(given).__name__ if library == "builtins" else f"{library}.{type(given).__name__}"
    door = _DOORS.get(library, "nearfar.read or one of the Graph.from_* functions")
    return f"cannot convert {name} to a graph: use {door}"


class Exchange:
    """Constructors from other libraries' graphs, and conversions to them."""

    if TYPE_CHECKING:

        @classmethod
        def from_checked(cls, arrays: Any, **kept: Any) -> Graph:
            """Make a graph of validated arrays, as :class:`nearfar.Graph` does."""
            ...

    # ---- constructors --------------------------------------------------------------------------

    @classmethod
    def from_scipy(cls, matrix: Any, *, directed: bool = True, copy: bool = True) -> Graph:
        """Make a graph from a SciPy sparse matrix or array.

        Parameters
        ----------
        matrix : scipy.sparse matrix or array, shape (n, n)
            Entry (i, j) is the weight of the edge from i to j. Stored zeros are edges of weight 0;
            duplicates in COO stay parallel edges.
        directed : bool
            False adds the reverse of every entry, as SciPy's ``directed=False`` does.
        copy : bool
            False shares the arrays of a CSR matrix, which must not change afterwards.

        Returns
        -------
        Graph

        Raises
        ------
        GraphError
            If it is not square or not sparse.
        """
        arrays = build.from_scipy(matrix, directed=directed, copy=copy)
        return cls.from_checked(arrays, directed=directed)

    @classmethod
    def from_networkx(
        cls, graph: Any, weight: str | Callable[[Any, Any, Any], Any] | None = "weight"
    ) -> Graph:
        """Make a graph from a NetworkX graph; its vertices become ``vertex_names``.

        Parameters
        ----------
        graph : networkx.Graph, DiGraph, MultiGraph or MultiDiGraph
            Vertex attributes ``x`` and ``y`` become ``coordinates`` where every vertex has both;
            the attributes of the graph become ``attributes``.
        weight : str, callable or None
            Edge attribute; edges that lack it count 1, as in NetworkX. A function ``weight(u, v,
            data)`` hides an edge by returning None. None counts edges.

        Returns
        -------
        Graph
            int64 weights when all are integers, else float64. Unweighted for None, and by default
            when no edge has a numeric attribute.

        Raises
        ------
        GraphError
            If no edge has the named attribute, if none is named and there are numeric ones, or if
            a weight is not a number.
        """
        arrays, kept = convert.from_networkx(graph, weight)
        return cls.from_checked(arrays, **kept)

    @classmethod
    def from_dataframe(
        cls,
        table: Any,
        source: str = "source",
        target: str = "target",
        weight: str | None = "weight",
        *,
        directed: bool = True,
    ) -> Graph:
        """Make a graph from a table of edges of pandas, polars, Arrow or a similar library.

        Parameters
        ----------
        table : DataFrame or Table
        source, target : str
            Columns of the ends, factorised into ``vertex_names``; integers that are already 0 to n
            - 1 are kept.
        weight : str or None
            Column of the weights. None counts edges, and so does the default in a table without
            this column and without other numbers.
        directed : bool
            False enters every edge in both directions.

        Returns
        -------
        Graph

        Raises
        ------
        GraphError
            For a column that is missing or holds empty entries, and for numbers that could be
            weights when none are named.
        """
        arrays, kept = convert.from_dataframe(table, source, target, weight, directed=directed)
        return cls.from_checked(arrays, **kept)

    @classmethod
    def from_any(
        cls, graph: Any, weight: str | Callable[[Any, Any, Any], Any] | None = "weight"
    ) -> Graph:
        """Make a graph from any object that the library's functions accept as a graph.

        Parameters
        ----------
        graph : Graph, SciPy sparse matrix or NetworkX graph
        weight : str, callable or None
            As for :meth:`from_networkx`. A Graph and a matrix have one weight, the default; None
            counts their edges. For other weights make another graph,
            ``Graph.from_csr(graph.indptr, graph.indices, weights)``.

        Returns
        -------
        Graph
            The argument itself if it is a Graph.

        Raises
        ------
        GraphError
            For an unsupported object or a missing weight.
        """
        convert.check_weight(weight)
        if hasattr(graph, "number_of_edges") and hasattr(graph, "is_directed"):
            return cls.from_networkx(graph, weight)
        if isinstance(graph, Exchange):
            made = cast("Graph", graph)
        elif hasattr(graph, "tocsr"):
            made = cls.from_scipy(graph)
        else:
            raise GraphError(not_a_graph(graph))
        if weight is not None and weight != "weight":
            raise GraphError(
                f"weight is {quoted(weight)}: a Graph or a matrix has one weight per edge; leave "
                "it out, or give None to count edges"
            )
        return made.without_weights() if weight is None else made

    @classmethod
    def from_dense(
        cls, matrix: ArrayLike, *, missing: float | None = None, directed: bool = True
    ) -> Graph:
        """Make a graph from a dense matrix in which a missing edge is not a zero.

        Parameters
        ----------
        matrix : array or masked array, shape (n, n)
            Entry (i, j) is the weight of the edge from i to j. NaN, infinities, None, masked
            entries and entries equal to ``missing`` mean no edge; other zeros off the diagonal are
            edges of weight 0.
        missing : number or None
            A further value that means no edge: 0 for an adjacency matrix of SciPy or NetworkX.
            Required for a matrix with zeros off the diagonal and no missing entries; NaN makes all
            zeros edges.
        directed : bool
            False adds the reverse of every entry.

        Returns
        -------
        Graph

        Raises
        ------
        GraphError
            If the matrix is not square, or its zeros are ambiguous.
        """
        arrays = convert.from_dense(matrix, missing=missing, directed=directed)
        return cls.from_checked(arrays, directed=directed)

    @classmethod
    def from_igraph(cls, graph: Any, weight: str | None = "weight") -> Graph:
        """Make a graph from an igraph graph.

        Parameters
        ----------
        graph : igraph.Graph
            The vertex attribute ``name`` becomes ``vertex_names``; ``x`` and ``y`` together become
            ``coordinates``.
        weight : str or None
            Edge attribute. None counts edges, and so does the default where edges have no numbers.

        Returns
        -------
        Graph

        Raises
        ------
        GraphError
            If no edge has the named attribute, if none is named and there are numeric ones, or
            if a weight is not a number.
        """
        arrays, kept = libraries.from_igraph(graph, weight)
        return cls.from_checked(arrays, **kept)

    @classmethod
    def from_rustworkx(
        cls, graph: Any, weight: str | Callable[[Any], Any] | None = "weight"
    ) -> Graph:
        """Make a graph from a rustworkx graph; its vertices keep their indices.

        Parameters
        ----------
        graph : rustworkx.PyGraph or PyDiGraph
        weight : str, callable or None
            Function from an edge's data to a number, or the key of a number in data that are dicts.
            Data that are numbers are the weights. None counts edges, as does the default if all
            data are None.

        Returns
        -------
        Graph
            If vertices were removed, the names of the others are their indices.

        Raises
        ------
        GraphError
            If the data of an edge give no number.
        """
        arrays, kept = libraries.from_rustworkx(graph, weight)
        return cls.from_checked(arrays, **kept)

    @classmethod
    def from_edge_index(
        cls,
        edge_index: Any,
        weights: Any = None,
        *,
        n_vertices: int | None = None,
        directed: bool = True,
    ) -> Graph:
        """Make a graph from PyTorch Geometric's ``edge_index``.

        Parameters
        ----------
        edge_index : integer tensor or array, shape (2, m)
            Sources and targets. Arrays on a GPU are sorted by source on the GPU, and stay on it.
        weights : tensor or array, shape (m,) or (m, 1), or None
            ``edge_weight``, or an ``edge_attr`` of one column.
        n_vertices : int or None
            ``data.num_nodes``; None takes the largest end plus one.
        directed : bool
            True takes the edges unchanged: PyTorch Geometric keeps both directions of an
            undirected graph. False adds the reverse of every edge.

        Returns
        -------
        Graph

        Raises
        ------
        GraphError
            For another shape, or ends that are not integers.
        """
        arrays = libraries.from_edge_index(edge_index, weights, n_vertices, directed)
        return cls.from_checked(arrays, directed=directed)

    @classmethod
    def from_geodataframe(
        cls,
        table: Any,
        weight: str | None = "length",
        *,
        directed: bool = False,
        digits: int | None = None,
    ) -> Graph:
        """Make a graph from a geographic table of lines, such as streets.

        Parameters
        ----------
        table : geopandas.GeoDataFrame
            Its geometry holds lines (``LineString``), whose ends are vertices. Lines that end in
            the same point share a vertex; lines that only cross share none.
        weight : str or None
            Column of the weights; ``"length"`` without such a column measures the lines in the
            units of the table's projection. None counts edges.
        directed : bool
            True for streets that can be used only in the direction of the line.
        digits : int or None
            Ends that agree after rounding to this number of digits are one vertex; None does not
            round.

        Returns
        -------
        Graph
            Edges of one vertex in the order of the table; ``attributes`` hold ``crs``, ``unit``
            for measured lines, and the points of lines that bend.

        Raises
        ------
        GraphError
            For other geometry, a column that is missing or not numeric, or lengths in degrees.
        MissingDependencyError
            Without shapely.
        """
        arrays, kept = geography.from_geodataframe(table, weight, directed, digits)
        return cls.from_checked(arrays, **kept)

    @classmethod
    def from_osmnx(
        cls, graph: Any, weight: str | Callable[[Any, Any, Any], Any] | None = "length"
    ) -> Graph:
        """Make a graph from OSMnx's, with coordinates and keys.

        Parameters
        ----------
        graph : networkx.MultiDiGraph
            A graph as from ``osmnx.graph_from_place``.
        weight : str, callable or None
            As for :meth:`from_networkx`: ``"length"`` in metres, ``"travel_time"`` in seconds.

        Returns
        -------
        Graph
            OpenStreetMap's numbers are ``vertex_names``. ``attributes`` hold ``unit``, ``crs``,
            ``attribution``, the lines of streets that bend, and ``edge_keys``: OSMnx's key of
            every edge in the order of ``indices``.

        Raises
        ------
        GraphError
            If a vertex has no x or y, and as :meth:`from_networkx`.
        """
        arrays, kept = geography.from_osmnx(graph, weight)
        return cls.from_checked(arrays, **kept)

    @classmethod
    def from_frames(
        cls,
        nodes: Any,
        edges: Any,
        weight: str | None = "length",
        *,
        ends: tuple[str, str] | None = None,
        ids: str | None = None,
        columns: Sequence[str] = (),
        directed: bool = True,
    ) -> Graph:
        """Make a graph from frames of nodes and edges, as OSMnx, momepy and pandana have them.

        Parameters
        ----------
        nodes : pandas.DataFrame or geopandas.GeoDataFrame
            Columns ``x`` and ``y`` (or ``lon`` and ``lat``), or points, become coordinates. Ids
            are the index, or a column ``nodeID``, ``node_id`` or ``id`` where the edges name
            those.
        edges : pandas.DataFrame or geopandas.GeoDataFrame
            Ends in the levels ``u`` and ``v`` of the index, or in columns ``u`` and ``v``,
            ``from`` and ``to``, ``source`` and ``target``, or ``node_start`` and ``node_end``.
            Places are snapped to the lines of its geometry, and routes follow them.
        weight : str or None
            Column of the weights; None counts edges.
        ends : pair of str, optional
            Columns of the ends, if they have other names.
        ids : str, optional
            Column of ``nodes`` that holds the ids.
        columns : sequence of str
            Further columns of numbers, kept in ``attributes["edge_columns"]`` for ``with_weights``
            and ``Route.total``.
        directed : bool
            False enters every edge in both directions, as is right for momepy and pandana.

        Returns
        -------
        Graph
            The ids are ``vertex_names``. ``attributes["edge_rows"]`` has the row of each edge in
            ``edges``; ``attributes`` also hold ``crs`` and OSMnx's ``edge_keys``.

        Raises
        ------
        GraphError
            For columns that are missing or not numeric, ids that occur twice, or ends that are not
            ids.
        OptionError
            If ``ends`` or ``ids`` do not name columns.

        Examples
        --------
        >>> import nearfar, pandas
        >>> nodes = pandas.DataFrame({"x": [0, 3, 3], "y": [0, 0, 4]}, index=[11, 12, 13])
        >>> edges = pandas.DataFrame({"from": [11, 12], "to": [12, 13], "length": [3, 4]})
        >>> g = nearfar.Graph.from_frames(nodes, edges, directed=False)
        >>> nearfar.shortest_path(g, 13, 11)
        ([13, 12, 11], 7)
        """
        arrays, kept = frames.from_frames(nodes, edges, weight, ends, ids, columns, directed)
        return cls.from_checked(arrays, **kept)

    # ---- conversions --------------------------------------------------------------------------

    def to_scipy(self) -> Any:
        """Return the graph as a SciPy matrix, with which SciPy computes the same distances.

        Returns
        -------
        scipy.sparse.csr_array, shape (n, n)
            A matrix over the graph's own read-only arrays; without weights every entry is 1. Of
            parallel edges, which SciPy would add up, only the lightest is kept, in new arrays with
            sorted columns.
        """
        from scipy.sparse import csr_array

        graph = cast("Graph", self)
        n = graph.n_vertices
        parts = convert.lightest(graph.indptr, graph.indices, graph.effective_weights)
        return csr_array(parts, shape=(n, n))

    def to_networkx(self, weight: str = "weight") -> Any:
        """Return the graph as a NetworkX graph.

        Parameters
        ----------
        weight : str
            Edge attribute for the weights; a graph without weights has none.

        Returns
        -------
        networkx.DiGraph or Graph
            A multigraph if there are parallel edges. Vertices are the external names, with ``x``
            and ``y`` if there are coordinates; the graph has the ``attributes``.

        Raises
        ------
        GraphError
            If several vertices have the same name.
        MissingDependencyError
            Without NetworkX.

        Notes
        -----
        NetworkX stores dicts of dicts, some 400 bytes per edge.
        """
        return libraries.to_networkx(cast("Graph", self), weight)

    def to_igraph(self, weight: str = "weight") -> Any:
        """Return the graph as an igraph graph.

        Parameters
        ----------
        weight : str
            Edge attribute for the weights; a graph without weights has none.

        Returns
        -------
        igraph.Graph
            A graph with the vertex attributes ``name``, ``x`` and ``y`` if there are names and
            coordinates.

        Raises
        ------
        MissingDependencyError
            Without igraph.
        """
        return libraries.to_igraph(cast("Graph", self), weight)

    def to_pandas(self) -> Any:
        """Return the edges as a table, which :meth:`from_dataframe` reads back.

        Returns
        -------
        pandas.DataFrame
            Columns ``source`` and ``target`` in external names and, with weights, ``weight``; a
            row per edge, with one row for both directions of an undirected edge. Isolated
            vertices are not in it.

        Raises
        ------
        GraphError
            If several vertices have the same name.
        MissingDependencyError
            Without pandas.
        """
        return libraries.to_pandas(cast("Graph", self))

    def nearest_vertex(self, x: float | ArrayLike, y: float | ArrayLike) -> Any:
        """Return the vertex nearest to a point, by coordinates.

        Parameters
        ----------
        x, y : number, or arrays of one length
            Longitude and latitude in degrees, in this order, if the graph's coordinates are
            geographic; else in units of the coordinates.

        Returns
        -------
        vertex name, or array of names
            The nearest in a straight line, or along the sphere for longitudes and latitudes. One
            name if x and y are numbers.

        Raises
        ------
        GraphError
            If the graph has no coordinates.
        VertexError
            For a point that is not two numbers, or not on the Earth.

        Notes
        -----
        A tree of all coordinates is built on first use in O(n log n) and kept; a point then
        takes O(log n).
        """
        graph = cast("Graph", self)
        found, _ = geography.nearest_vertices(graph, x, y)
        several: bool = getattr(x, "ndim", 0) > 0 or isinstance(x, (list, tuple))
        return graph.name_of(found) if several else graph.name_of(int(found[0]))

    def snap(
        self,
        x: ArrayLike,
        y: ArrayLike,
        *,
        to: Literal["edge", "vertex"] = "edge",
        parts: Literal["largest", "all"] = "largest",
        max_distance: float | None = None,
        threads: int | None = None,
    ) -> snap.Snapped:
        """Find the nearest point on an edge, or the nearest vertex, for many places.

        Parameters
        ----------
        x, y : number, or arrays of one length
            Longitude and latitude in degrees if the graph's coordinates are geographic; else in
            units of the coordinates.
        to : {"edge", "vertex"}
            Element to snap to. Edges follow the lines that the graph keeps from OSMnx and
            geographic tables, and are straight otherwise.
        parts : {"largest", "all"}
            ``"largest"`` leaves out vertices and edges outside the largest strongly connected
            part; a UserWarning says how many.
        max_distance : float or None
            Farther places are snapped to nothing; in metres on the Earth, else in units of the
            coordinates. None refuses a place farther from the network than the network is wide (at
            least 10 km on the Earth).
        threads : int or None
            None uses all cores.

        Returns
        -------
        Snapped
            ``edge``, ``back``, ``share`` and ``offset`` along the edge, ``distance`` to it, and
            the point, for each place.

        Raises
        ------
        GraphError
            If the graph has no coordinates, or no edges.
        VertexError
            For a place that is not finite, not on the Earth, far from the network, or whose
            longitude and latitude are swapped.
        OptionError
            For another value of an option.

        Notes
        -----
        The index takes O(m log m) once and is kept; each place then takes O(log m). On the Earth
        streets are projected to the tangent plane of each place: with the nearest point d metres
        away, the returned point is at most ``1 + d / R * tan(latitude)`` times as far (0.03 % for
        1 km at 60 degrees), R being the Earth's radius. ``distance`` is that of the great circle.

        Examples
        --------
        >>> import nearfar
        >>> g = nearfar.Graph.from_edges(
        ...     [0, 1], [1, 2], [4, 3], directed=False, coordinates=[[0, 0], [400, 0], [400, 300]]
        ... )
        >>> found = g.snap([100, 420], [30, 150])
        >>> found.edge.tolist(), found.share.tolist(), found.distance.tolist()
        ([0, 2], [0.25, 0.5], [30.0, 20.0])
        """
        graph = cast("Graph", self)
        return snap.snap(
            graph, x, y, to=to, parts=parts, max_distance=max_distance, threads=threads
        )
