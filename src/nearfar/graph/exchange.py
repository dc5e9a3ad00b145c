"""Constructors of :class:`nearfar.Graph` from other libraries' graphs, and conversions to them.

:class:`Exchange` declares and documents them for :class:`nearfar.Graph`; they are implemented in
:mod:`nearfar.graph.convert`, :mod:`nearfar.graph.libraries` and :mod:`nearfar.graph.geography`.
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

#: Function to use for an object of another library, by the first part of its module.
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
            "expected a graph, got a TurnGraph, which this function does not support: use its "
            ".original, without turns, or its .graph, which has other vertex numbers"
        )
    name = type(given).__name__ if library == "builtins" else f"{library}.{type(given).__name__}"
    door = _DOORS.get(library, "nearfar.read or one of the Graph.from_* functions")
    return f"cannot convert {name} to a graph: use {door}"


class Exchange:
    """Constructors from other libraries' graphs, and conversions to them."""

    @classmethod
    def from_checked(cls, arrays: Any, **kept: Any) -> Graph:
        """Make a graph from validated arrays and other arguments of the constructor."""
        graph: Any = cls.__new__(cls)
        graph._fill(arrays, arrays.device_arrays is not None, **kept)
        return cast("Graph", graph)

    # ---- constructors --------------------------------------------------------------------------

    @classmethod
    def from_scipy(cls, matrix: Any, *, directed: bool = True, copy: bool = True) -> Graph:
        """Make a graph from a SciPy sparse matrix or array.

        Parameters
        ----------
        matrix : scipy.sparse matrix or array, shape (n, n)
            Entry (i, j) is the weight of the edge from i to j. Stored zeros are edges of weight 0;
            duplicates of a COO matrix are parallel edges.
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
            If the matrix is not square or not sparse.
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
            Vertex attributes ``x`` and ``y`` become ``coordinates`` if every vertex has both;
            the attributes of the graph become ``attributes``.
        weight : str, callable or None
            Edge attribute; edges without it have weight 1, as in NetworkX. A function ``weight(u,
            v, data)`` hides an edge by returning None. None counts edges.

        Returns
        -------
        Graph
            Graph with int64 weights if all are integers, otherwise float64. It has no weights if
            ``weight`` is None, or by default if no edge has a numeric attribute.

        Raises
        ------
        GraphError
            If no edge has the named attribute, if none is named and there are numeric ones, or if
            a weight is not a number.
        """
        return cls.from_checked(**convert.from_networkx(graph, weight))

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
        """Make a graph from a pandas, polars, Arrow or similar table of edges.

        Parameters
        ----------
        table : DataFrame or Table
        source, target : str
            Columns of the ends, factorised into ``vertex_names``; integers from 0 to n - 1 are used
            as indices.
        weight : str or None
            Column of the weights. None counts edges, as does the default for a table without this
            column and other numeric columns.
        directed : bool
            False adds the reverse of every edge.

        Returns
        -------
        Graph

        Raises
        ------
        GraphError
            For a column that is missing or has empty entries, or if no weights are named but a
            column could be weights.
        """
        return cls.from_checked(**convert.from_dataframe(table, source, target, weight, directed))

    @classmethod
    def from_any(
        cls, graph: Any, weight: str | Callable[[Any, Any, Any], Any] | None = "weight"
    ) -> Graph:
        """Make a graph from any object that the library's functions accept as a graph.

        Parameters
        ----------
        graph : Graph, SciPy sparse matrix or NetworkX graph
        weight : str, callable or None
            As for :meth:`from_networkx`. A Graph or a matrix has only one weight per edge, the
            default; None counts its edges. For other weights use
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
                f"weight is {quoted(weight)}: a Graph or a matrix has one weight per edge; omit "
                "it, or give None to count edges"
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
            Additional value that means no edge, such as 0 for an adjacency matrix of SciPy or
            NetworkX. Required if a matrix has zeros off the diagonal and no missing entries; NaN
            makes all zeros edges.
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
        arrays = convert.from_dense(matrix, missing, directed)
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
            Edge attribute. None counts edges, as does the default if edges have no numeric
            attributes.

        Returns
        -------
        Graph

        Raises
        ------
        GraphError
            As for :meth:`from_networkx`.
        """
        return cls.from_checked(**libraries.from_igraph(graph, weight))

    @classmethod
    def from_rustworkx(
        cls, graph: Any, weight: str | Callable[[Any], Any] | None = "weight"
    ) -> Graph:
        """Make a graph from a rustworkx graph; its vertices keep their indices.

        Parameters
        ----------
        graph : rustworkx.PyGraph or PyDiGraph
        weight : str, callable or None
            Function from an edge's data to a number, or the key of a number if the data are dicts.
            Numeric data are used as weights. None counts edges, as does the default if all data
            are None.

        Returns
        -------
        Graph
            Graph with the same indices; if vertices were removed, the remaining vertices have
            their indices as names.

        Raises
        ------
        GraphError
            If the data of an edge provide no number.
        """
        return cls.from_checked(**libraries.from_rustworkx(graph, weight))

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
            Sources and targets. Arrays on a GPU are sorted by source on that GPU, and the graph
            remains on it.
        weights : tensor or array, shape (m,) or (m, 1), or None
            ``edge_weight``, or an ``edge_attr`` of one column.
        n_vertices : int or None
            ``data.num_nodes``; None takes the largest end plus one.
        directed : bool
            True uses the edges unchanged, since PyTorch Geometric stores both directions of an
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
            Table with a geometry of lines (``LineString``), whose ends are vertices. Lines that end
            at the same point share a vertex; lines that only cross do not.
        weight : str or None
            Column of the weights. If the table has no column ``"length"``, this name means the
            lengths of the lines in units of the table's projection. None counts edges.
        directed : bool
            Whether streets can be used only in the direction of the line.
        digits : int or None
            Decimal digits to which ends are rounded; ends that then agree are one vertex. None
            does not round.

        Returns
        -------
        Graph
            Graph whose edges at a vertex have the order of the table; ``attributes`` contain
            ``crs``, ``unit`` for measured lines, and the points of lines that bend.

        Raises
        ------
        GraphError
            For other geometry, a column that is missing or not numeric, or lengths in degrees.
        MissingDependencyError
            Without shapely.
        """
        return cls.from_checked(**geography.from_geodataframe(table, weight, directed, digits))

    @classmethod
    def from_osmnx(
        cls, graph: Any, weight: str | Callable[[Any, Any, Any], Any] | None = "length"
    ) -> Graph:
        """Make a graph from an OSMnx graph, with coordinates and keys.

        Parameters
        ----------
        graph : networkx.MultiDiGraph
            Graph such as ``osmnx.graph_from_place`` returns.
        weight : str, callable or None
            As for :meth:`from_networkx`: ``"length"`` in metres, ``"travel_time"`` in seconds.

        Returns
        -------
        Graph
            Graph with OpenStreetMap's ids as ``vertex_names``. ``attributes`` contain ``unit``,
            ``crs``, ``attribution``, the lines of streets that bend, and ``edge_keys``: OSMnx's key
            of each edge in the order of ``indices``.

        Raises
        ------
        GraphError
            If a vertex has no x or y, and as for :meth:`from_networkx`.
        """
        return cls.from_checked(**geography.from_osmnx(graph, weight))

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
        """Make a graph from tables of nodes and edges, as used by OSMnx, momepy and pandana.

        Parameters
        ----------
        nodes : pandas.DataFrame or geopandas.GeoDataFrame
            Table of nodes. Columns ``x`` and ``y`` (or ``lon`` and ``lat``), or points, become
            coordinates. Ids are the index, or a column ``nodeID``, ``node_id`` or ``id`` if the
            edges refer to it.
        edges : pandas.DataFrame or geopandas.GeoDataFrame
            Table of edges. Ends are the index levels ``u`` and ``v``, or columns ``u`` and ``v``,
            ``from`` and ``to``, ``source`` and ``target``, or ``node_start`` and ``node_end``.
            Places are snapped to the lines of its geometry, and routes follow them.
        weight : str or None
            Column of the weights; None counts edges.
        ends : pair of str, optional
            Columns of the ends, if they have other names.
        ids : str, optional
            Column of ``nodes`` that holds the ids.
        columns : sequence of str
            Further numeric columns, stored in ``attributes["edge_columns"]`` for ``with_weights``
            and ``Route.total``.
        directed : bool
            False adds the reverse of every edge, as needed for momepy and pandana.

        Returns
        -------
        Graph
            Graph with the ids as ``vertex_names``. ``attributes["edge_rows"]`` has the row of each
            edge in ``edges``; ``attributes`` also contain ``crs`` and OSMnx's ``edge_keys``.

        Raises
        ------
        GraphError
            For columns that are missing or not numeric, repeated ids, or ends that are not ids.
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
        return cls.from_checked(
            **frames.from_frames(nodes, edges, weight, ends, ids, columns, directed)
        )

    # ---- conversions --------------------------------------------------------------------------

    def to_scipy(self) -> Any:
        """Return the graph as a SciPy matrix, from which SciPy computes the same distances.

        Returns
        -------
        scipy.sparse.csr_array, shape (n, n)
            Matrix that shares the graph's read-only arrays; without weights every entry is 1. A
            graph with parallel edges, which SciPy would sum, is copied with only the lightest of
            them and with sorted columns.
        """
        from scipy.sparse import csr_array

        from nearfar import _cpu

        graph = cast("Graph", self)
        n = graph.n_vertices
        parts = graph.effective_weights, graph.indices, graph.indptr
        parallel = _cpu.edge_counts(graph.view)[1]
        if parallel:
            indptr, edges = build.lightest(graph.view, graph.indptr, loops=True)
            parts = graph.effective_weights[edges], graph.indices[edges], indptr
        matrix = csr_array(parts, shape=(n, n))
        if parallel:
            matrix.sort_indices()
        return matrix

    def to_networkx(self, weight: str = "weight") -> Any:
        """Return the graph as a NetworkX graph.

        Parameters
        ----------
        weight : str
            Edge attribute for the weights, if the graph has weights.

        Returns
        -------
        networkx.DiGraph or Graph
            NetworkX graph; a multigraph if there are parallel edges. Vertices are the external
            names, with ``x`` and ``y`` if the graph has coordinates; ``attributes`` are copied.

        Raises
        ------
        GraphError
            If several vertices have the same name.
        MissingDependencyError
            Without NetworkX.

        Notes
        -----
        NetworkX stores dicts of dicts, about 400 bytes per edge.
        """
        return libraries.to_networkx(cast("Graph", self), weight)

    def to_igraph(self, weight: str = "weight") -> Any:
        """Return the graph as an igraph graph.

        Parameters
        ----------
        weight : str
            Edge attribute for the weights, if the graph has weights.

        Returns
        -------
        igraph.Graph
            igraph graph with the vertex attributes ``name``, ``x`` and ``y`` if the graph has names
            and coordinates.

        Raises
        ------
        MissingDependencyError
            Without igraph.
        """
        return libraries.to_igraph(cast("Graph", self), weight)

    def to_pandas(self) -> Any:
        """Return the edges as a table that :meth:`from_dataframe` accepts.

        Returns
        -------
        pandas.DataFrame
            Table with the columns ``source`` and ``target`` (external names) and, if the graph has
            weights, ``weight``. It has one row per edge, or one for both directions of an
            undirected edge. Isolated vertices do not appear.

        Raises
        ------
        GraphError
            If several vertices have the same name.
        MissingDependencyError
            Without pandas.
        """
        return libraries.to_pandas(cast("Graph", self))

    def nearest_vertex(self, x: float | ArrayLike, y: float | ArrayLike | None = None) -> Any:
        """Return the vertex nearest to a point.

        Parameters
        ----------
        x, y : number, or arrays of equal length
            Longitude and latitude in degrees if the graph's coordinates are geographic; otherwise
            in units of the coordinates. An array x of shape (k, 2) has both.

        Returns
        -------
        vertex name, or array of names
            Name of the vertex that is nearest in a straight line, or on the sphere for longitudes
            and latitudes. A single name if x and y are numbers.

        Raises
        ------
        GraphError
            If the graph has no coordinates.
        VertexError
            For a point that is not two numbers, or not on the Earth.

        Notes
        -----
        A tree of all coordinates is built in O(n log n) on first use and cached; each point then
        takes O(log n).
        """
        graph = cast("Graph", self)
        found, _ = geography.nearest_vertices(graph, x, y)
        several: bool = getattr(x, "ndim", 0) > 0 or isinstance(x, (list, tuple))
        return graph.name_of(found) if several else graph.name_of(int(found[0]))

    def snap(
        self,
        x: ArrayLike,
        y: ArrayLike | None = None,
        *,
        to: Literal["edge", "vertex"] = "edge",
        parts: Literal["largest", "all"] = "largest",
        max_distance: float | None = None,
        threads: int | None = None,
    ) -> snap.Snapped:
        """Find the nearest point on an edge, or the nearest vertex, for many places.

        Parameters
        ----------
        x, y : number, or arrays of equal length
            Longitude and latitude in degrees if the graph's coordinates are geographic; otherwise
            in units of the coordinates. An array x of shape (k, 2) has both.
        to : {"edge", "vertex"}
            Element to snap to. Edges follow the lines stored in graphs from OSMnx and geographic
            tables, and are straight otherwise.
        parts : {"largest", "all"}
            ``"largest"`` excludes vertices and edges outside the largest strongly connected
            component; a UserWarning states their number.
        max_distance : float or None
            Maximum distance, in metres on the Earth, otherwise in units of the coordinates; farther
            places are not snapped. None raises an error for a place farther from the network than
            the network is wide (at least 10 km on the Earth).
        threads : int or None
            Number of threads; None uses all cores.

        Returns
        -------
        Snapped
            For each place: ``edge``, ``back``, ``share`` and ``offset`` along the edge,
            ``distance`` to it, and the nearest point.

        Raises
        ------
        GraphError
            If the graph has no coordinates, or no edges.
        VertexError
            For a place that is not finite, not on the Earth or far from the network, or whose
            longitude and latitude are swapped.
        OptionError
            For an invalid option.

        Notes
        -----
        The index is built in O(m log m) on first use and cached; each place then takes O(log m). On
        the Earth streets are projected to the tangent plane of each place. If the nearest point is
        d metres away, the returned point is at most ``1 + d / R * tan(latitude)`` times as far
        (0.03 % for 1 km at 60 degrees), where R is the Earth's radius. ``distance`` is the
        great-circle distance.

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
