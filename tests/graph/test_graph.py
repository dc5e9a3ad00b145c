"""Graph and its constructors: accepted input, refused input, and messages."""

from __future__ import annotations

import copy
import pickle

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
import scipy.sparse as sp

import nearfar
import networkx as nx
from nearfar import Graph, NearfarError
from nearfar.errors import GraphError, VertexError
from tests.zoo import ZOO


def test_counting_sort_keeps_order_within_a_source() -> None:
    g = Graph.from_edges([2, 0, 2, 1], [0, 1, 1, 2], [5, 6, 7, 8])
    assert g.indptr.tolist() == [0, 1, 2, 4]
    assert g.indices.tolist() == [1, 2, 0, 1]
    assert g.weights.tolist() == [6, 8, 5, 7]
    assert g.indices.dtype == np.int32


def test_undirected_enters_both_directions_and_a_loop_once() -> None:
    g = Graph.from_edges([0, 1], [1, 1], [3.0, 4.0], directed=False)
    assert g.n_edges == 3
    assert g.indices.tolist() == [1, 0, 1]
    assert g.weights.tolist() == [3, 3, 4]
    assert g.transpose() is g


@pytest.mark.parametrize(
    ("indptr", "indices", "weights", "edge"),
    [
        ([0, 1, 2], [1, 0], [1.0, 2.0], "edge 0 from 0 to 1 has no edge of weight 1.0"),
        ([0, 2, 2], [0, 1], None, "edge 1 from 0 to 1 has no edge of weight 1"),
        ([0, 2, 4], [1, 1, 0, 0], [1, 2, 2, 3], "edge 0 from 0 to 1 has no edge of weight 1"),
        ([0, 2, 4], [1, 1, 0, 0], [2, 2, 1, 2], "edge 2 from 1 to 0 has no edge of weight 1"),
    ],
)
def test_an_undirected_graph_needs_both_directions(
    indptr: list[int], indices: list[int], weights: list[float] | None, edge: str
) -> None:
    with pytest.raises(GraphError, match=f"{edge} in the other direction: give both"):
        Graph(indptr, indices, weights, directed=False)
    assert Graph(indptr, indices, weights).directed


def test_parallel_edges_of_both_directions_may_differ_in_order() -> None:
    g = Graph([0, 2, 4], [1, 1, 0, 0], [1, 2, 2, 1], directed=False)
    assert not g.directed
    assert not g.with_weights([5, 6, 6, 5]).directed
    assert g.with_weights([5, 6, 6, 4]).directed
    assert not Graph([0, 1], [0], [5], directed=False).directed  # a loop is its own reverse
    assert Graph([0], [], directed=False).n_edges == 0


@pytest.mark.parametrize("name", ZOO)
def test_transpose_twice_is_the_same_graph(name: str) -> None:
    g = ZOO[name]()
    t = Graph.from_csr(g.indptr, g.indices, g.weights).transpose()
    assert t.n_edges == g.n_edges
    back = t.transpose().to_scipy().toarray()
    np.testing.assert_array_equal(back, g.to_scipy().toarray())


def test_arrays_changed_afterwards_do_not_reach_the_graph() -> None:
    """Regression: the graph shared the caller's arrays, and an index out of range crashed."""
    indptr, indices = np.array([0, 1, 2, 2], np.int32), np.array([1, 2], np.int32)
    weights, xy, names = np.array([3.0, 4.0]), np.zeros((3, 2)), np.array([7, 8, 9])
    matrix = sp.csr_array((weights, indices, indptr), shape=(3, 3))
    graphs = [
        Graph(indptr, indices, weights, vertex_names=names, coordinates=xy),
        Graph.from_csr(indptr[:], indices, weights),
        Graph.from_csr(indptr.view(), indices, weights),
        Graph.from_scipy(matrix),
    ]
    locked = indices.view()
    locked.flags.writeable = False  # but not its owner
    graphs.append(Graph.from_csr(indptr, locked, weights))
    graphs.append(Graph.from_csr(memoryview(indptr), memoryview(indices), memoryview(weights)))
    before = nearfar.sssp(graphs[1], 0)
    indices[:], weights[:], indptr[:] = 10**9, -5, 10**9
    xy[:], names[:] = 1, 0
    for graph in graphs:
        start = graph.name_of(0)
        paths = nearfar.sssp(graph, start, predecessors=True)
        assert paths.distances.tolist() == [0, 3, 7]
        assert paths.predecessors.tolist() == [-1, 0, 1]
        assert graph.min_weight == 3
    assert before.predecessors.tolist() == [-1, 0, 1]
    assert graphs[0].name_of(2) == 9
    assert not graphs[0].coordinates.any()
    assert indices.flags.writeable


def test_arrays_are_shared_where_their_owner_gives_them_up() -> None:
    m = sp.random(50, 50, 0.1, format="csr", dtype=np.float64, rng=1)
    g = Graph.from_scipy(m, copy=False)
    assert np.shares_memory(g.indices, m.indices)
    assert np.shares_memory(g.weights, m.data)
    assert m.data.flags.writeable
    with pytest.raises(ValueError, match="read-only"):
        g.weights[0] = 1
    own = Graph.from_scipy(m)
    again = Graph.from_csr(own.indptr, own.indices, own.weights * 2)
    assert again.indices is not m.indices
    assert np.shares_memory(own.indices, again.indices)
    constant = np.frombuffer(np.arange(3, dtype=np.int32).tobytes(), np.int32)
    assert np.shares_memory(Graph.from_csr(constant, [0, 1]).indptr, constant)


def test_parallel_edges_reach_scipy_by_their_minimum() -> None:
    """SciPy sums duplicate entries of a matrix."""
    g = Graph.from_edges([0, 0, 1, 0, 2], [1, 1, 2, 1, 0], [7, 2, 3, 5, 0])
    matrix = g.to_scipy()
    assert matrix.nnz == 3
    theirs = sp.csgraph.dijkstra(matrix)
    np.testing.assert_array_equal(theirs, nearfar.distances(g.astype(np.float64)))
    np.testing.assert_array_equal(matrix.toarray(), [[0, 2, 0], [0, 0, 3], [0, 0, 0]])
    rng = np.random.default_rng(3)
    ends = rng.integers(0, 20, (2, 300))
    g = Graph.from_edges(*ends, rng.random(300), n_vertices=21)
    theirs = sp.csgraph.dijkstra(g.to_scipy())
    np.testing.assert_array_equal(theirs, nearfar.distances(g))
    plain = Graph.from_edges([0, 1, 0], [2, 0, 1], [1, 2, 3])
    assert np.shares_memory(plain.to_scipy().data, plain.weights)


def test_scipy_duplicates_stay_parallel_edges_and_zeros_stay_edges() -> None:
    m = sp.coo_array(([3, 1, 0], ([0, 0, 1], [1, 1, 0])), shape=(2, 2))
    g = Graph.from_scipy(m)
    assert (g.n_edges, g.min_weight, g.has_zero_weight) == (3, 0, True)


def test_networkx_names_and_defaults() -> None:
    h = nx.Graph()
    h.add_edge("a", "b", weight=3)
    h.add_edge("b", "c")
    g = Graph.from_networkx(h)
    assert not g.directed
    assert g.weights.dtype == np.int64
    assert sorted(g.weights.tolist()) == [1, 1, 3, 3]
    assert g.name_of(g.index_of("c")) == "c"
    assert Graph.from_networkx(nx.path_graph(4)).weights is None


@pytest.mark.parametrize("make", [pd.DataFrame, pl.DataFrame, pa.table])
def test_tables(make) -> None:
    g = Graph.from_dataframe(
        make({"source": ["x", "y"], "target": ["y", "z"], "km": [1.5, 2.0]}), weight="km"
    )
    assert g.vertex_names.tolist() == ["x", "y", "z"]
    assert g.weights.tolist() == [1.5, 2.0]
    plain = Graph.from_dataframe(make({"source": [0, 1], "target": [1, 2]}))
    assert plain.vertex_names is None
    with pytest.raises(GraphError, match="no column 'w'; weight=None counts edges"):
        Graph.from_dataframe(make({"source": [0], "target": [1]}), weight="w")
    with pytest.raises(GraphError, match="no column 'from': the table has source, target"):
        Graph.from_dataframe(make({"source": [0], "target": [1]}), "from")


@pytest.mark.parametrize("make", [pd.DataFrame, pl.DataFrame, pa.table])
def test_no_column_of_numbers_is_dropped_silently(make) -> None:
    """Regression: columns such as weight were ignored."""
    ends = {"source": ["x", "y"], "target": ["y", "z"]}
    assert Graph.from_dataframe(make({**ends, "weight": [1, 2]})).weights.tolist() == [1, 2]
    table = make({**ends, "km": [1.5, 2.0], "note": ["p", "q"]})
    with pytest.raises(GraphError, match="numbers in km: choose with weight='km'"):
        Graph.from_dataframe(table)
    with pytest.raises(GraphError, match=r"no column 'kms'; did you mean 'km'\?"):
        Graph.from_dataframe(table, weight="kms")
    assert not Graph.from_dataframe(table, weight=None).is_weighted
    assert not Graph.from_dataframe(make({**ends, "note": ["p", "q"]})).is_weighted


def test_no_attribute_of_numbers_is_dropped_silently() -> None:
    """Regression: a NetworkX graph whose edges have `length` was solved in hops."""
    h = nx.Graph()
    h.add_edge("a", "b", length=3.5, kind="road")
    h.add_edge("b", "c", length=1.5, kind="path")
    with pytest.raises(GraphError, match="numbers in length: choose with weight='length'"):
        Graph.from_networkx(h)
    with pytest.raises(GraphError, match=r"no edge attribute 'lenght'; did you mean 'length'\?"):
        Graph.from_networkx(h, weight="lenght")
    assert not Graph.from_networkx(h, weight=None).is_weighted
    g = Graph.from_any(h, weight="length")
    assert nearfar.sssp(g, "a").distance_to("c") == 5
    with pytest.raises(GraphError, match="edge attribute 'kind' is not a number everywhere"):
        Graph.from_networkx(h, weight="kind")


@pytest.mark.parametrize("kind", [nx.Graph, nx.DiGraph, nx.MultiGraph, nx.MultiDiGraph])
def test_a_function_as_weight(kind) -> None:
    """Regression: a function gave an unweighted graph."""
    h = kind()
    for u, v, metres, speed in (("a", "b", 100, 10), ("b", "c", 60, 20), ("a", "c", 900, 10)):
        h.add_edge(u, v, metres=metres, speed=speed)

    def seconds(u, v, data):
        if h.is_multigraph():
            data = min(data.values(), key=lambda one: one["metres"])
        return None if data["metres"] > 500 else data["metres"] / data["speed"]

    g = Graph.from_networkx(h, weight=seconds)
    assert g.directed == h.is_directed()
    want = nx.single_source_dijkstra_path_length(h, "a", weight=seconds)
    paths = nearfar.sssp(g, "a")
    assert {v: paths.distance_to(v) for v in h} == want == {"a": 0, "b": 10, "c": 13}
    uphill = Graph.from_networkx(h, weight=lambda u, v, data: 1 + (u > v))
    want = nx.single_source_dijkstra_path_length(h, "c", weight=lambda u, v, _: 1 + (u > v))
    paths = nearfar.sssp(uphill, "c")
    assert uphill.directed
    assert {v: paths.distance_to(v) for v in want} == want
    with pytest.raises(GraphError, match="the weight function is not a number everywhere"):
        Graph.from_networkx(h, weight=lambda u, v, data: "far")


def test_weights_of_anything_that_is_accepted() -> None:
    g = Graph.from_edges([0, 1], [1, 2], [3, 4])
    assert Graph.from_any(g) is g
    assert not Graph.from_any(g, weight=None).is_weighted
    matrix = g.to_scipy()
    assert Graph.from_any(matrix).weights.tolist() == [3, 4]
    assert not Graph.from_any(matrix, weight=None).is_weighted
    for one in (g, matrix):
        with pytest.raises(GraphError, match="has one weight per edge"):
            Graph.from_any(one, weight="length")
    with pytest.raises(GraphError, match="cannot convert list to a graph"):
        Graph.from_any([[0, 1]])


def test_a_gap_in_a_table_is_named() -> None:
    with pytest.raises(GraphError, match="column 'target' is empty in row 1"):
        Graph.from_dataframe(pd.DataFrame({"source": ["a", "b"], "target": ["b", None]}))
    with pytest.raises(GraphError, match="expected a table of pandas, polars or Arrow, got dict"):
        Graph.from_dataframe({"source": [0], "target": [1]})


def test_a_lazy_frame_is_told_to_collect() -> None:
    polars = pytest.importorskip("polars")
    with pytest.raises(GraphError, match=r"got LazyFrame: call its collect\(\) first"):
        Graph.from_dataframe(polars.LazyFrame({"source": [0], "target": [1]}))


def test_masked_entries_are_refused() -> None:
    masked = np.ma.masked_array([5, 7], [True, False])
    with pytest.raises(GraphError, match="weights has 1 masked entries: omit these edges"):
        Graph.from_edges([0, 0], [1, 2], masked)
    with pytest.raises(GraphError, match="targets has 1 masked entries"):
        Graph.from_edges([0, 0], np.ma.masked_array([1, 2], [False, True]))
    assert Graph.from_edges([0, 0], [1, 2], masked[1:].repeat(2)).weights.tolist() == [7, 7]


def test_dense_zero_is_an_edge_and_missing_is_not() -> None:
    g = Graph.from_dense(np.array([[0, 0.0], [np.inf, 0]]))
    assert (g.n_edges, g.has_zero_weight) == (1, True)
    g = Graph.from_dense([[0, -1], [7, 0]], missing=-1)
    assert (g.n_edges, g.indices.tolist()) == (1, [0])
    masked = np.ma.masked_equal([[0, 5], [9, 0]], 5)
    assert Graph.from_dense(masked).n_edges == 1
    with pytest.warns(PendingDeprecationWarning):
        matrix = np.matrix([[0, 5], [9, 0]])
    assert Graph.from_dense(matrix).weights.tolist() == [5, 9]


def test_zeros_of_a_dense_matrix_that_could_mean_either() -> None:
    """Regression: all distances of NetworkX's adjacency matrix were 0."""
    matrix = np.array([[0.0, 3, 0], [0, 0, 1], [2, 0, 0]])
    with pytest.raises(GraphError, match=r"3 entries off the diagonal are 0.*give missing=0"):
        Graph.from_dense(matrix)
    assert Graph.from_dense(matrix, missing=0).weights.tolist() == [3, 1, 2]
    assert Graph.from_dense(matrix, missing=np.nan).n_edges == 6
    assert Graph.from_dense(matrix.astype(int), missing=np.nan).n_edges == 6


def test_dlpack_tensor() -> None:
    class Tensor:
        def __init__(self, array: np.ndarray) -> None:
            self.array = array

        def __dlpack__(self, **kw):
            return self.array.__dlpack__(**kw)

        def __dlpack_device__(self):
            return self.array.__dlpack_device__()

    g = Graph.from_csr(Tensor(np.array([0, 1, 1])), Tensor(np.array([1])), Tensor(np.array([2.0])))
    assert g.weights.tolist() == [2.0]


@pytest.mark.parametrize(
    ("args", "message"),
    [
        (([0, 2, 1, 3], [0, 1, 2]), r"indptr\[2\] is 1"),
        (([1, 2], [0, 0]), r"indptr\[0\] is 1: it must start at 0"),
        (([0, 2], [0]), r"indptr\[1\] is 2: it must be nondecreasing and end at 1"),
        (([0, 1], [1]), "edge 0 goes to 1: vertices are 0 to 0"),
        (([0, 1], [-1]), "edge 0 goes to -1"),
        (([0, 1], [2**40]), "edge 0 goes to 1099511627776"),
        (([], []), "indptr is empty"),
        (([0, 1], [0.5]), "indices has dtype float64: give integers"),
        (([0, 1], [0], [np.nan]), r"weight of edge 0 is nan \(1 such edges\)"),
        (([0, 2], [0, 0], [1.0, np.inf]), "weight of edge 1 is inf"),
        (([0, 1], [0], [1 + 2j]), "weights have dtype complex128"),
        (([0, 1], [0], [1.0, 2.0]), r"weights has shape \(2,\), but there are 1 edges"),
        (([0, 1], [0], ["a"]), "weights have dtype"),
    ],
)
def test_bad_arrays_name_the_entry(args, message: str) -> None:
    with pytest.raises(GraphError, match=message):
        Graph.from_csr(*(np.array(a) if len(a) else np.array(a, dtype=int) for a in args))


def test_bad_edge_lists() -> None:
    with pytest.raises(GraphError, match="2 sources and 1 targets"):
        Graph.from_edges([0, 1], [1])
    with pytest.raises(GraphError, match="target of edge 1 is 7, but n_vertices is 3"):
        Graph.from_edges([0, 1], [1, 7], n_vertices=3)
    with pytest.raises(GraphError, match="source of edge 1 is -4"):
        Graph.from_edges([0, -4], [1, 1])
    with pytest.raises(GraphError, match="square"):
        Graph.from_scipy(sp.csr_array((2, 3)))
    with pytest.raises(GraphError, match=r"Graph\.from_dense"):
        Graph.from_scipy(np.zeros((2, 2)))
    assert issubclass(GraphError, NearfarError)


def test_negative_zero_becomes_zero() -> None:
    g = Graph.from_edges([0], [1], np.array([-0.0]))
    assert not np.signbit(g.weights[0])
    assert g.n_negative == 0


def test_strided_and_read_only_arrays() -> None:
    weights = np.arange(10, dtype=np.float64)[::2]
    weights.flags.writeable = False
    g = Graph.from_csr(np.array([0, 5])[:], np.zeros(10, dtype=np.int32)[::2], weights)
    assert g.weights.tolist() == [0, 2, 4, 6, 8]


def test_big_endian_and_small_integers() -> None:
    g = Graph.from_edges([0], [1], np.array([3], dtype=">i4"))
    assert g.weights.dtype == np.int32
    assert Graph.from_edges([0], [1], np.array([3], dtype=np.int8)).weights.dtype == np.int32
    for half in ("<f2", ">f2"):
        made = Graph.from_edges([0], [1], np.array([3], dtype=half))
        assert (made.weights.dtype, made.weights[0]) == (np.float32, 3)
    with pytest.raises(GraphError, match="weights cannot be read as an array"):
        Graph.from_edges([0, 1], [1, 0], [[1], [2, 3]])
    with pytest.raises(GraphError, match="above"):
        Graph.from_edges([0], [1], np.array([2**64 - 1], dtype=np.uint64))


def test_astype_refuses_loss() -> None:
    g = Graph.from_edges([0], [1], [2.5])
    with pytest.raises(GraphError, match="do not fit int32 exactly"):
        g.astype("int32")
    for wrong, said in (("uint8", "uint8"), (np.uint8, "uint8"), ("12 3", "12 3"), (None, "None")):
        with pytest.raises(GraphError, match=f"weights cannot be {said}: use int32"):
            g.astype(wrong)
    assert g.astype("float32").weights.dtype == np.float32
    assert g.astype("float32") is g.astype("float32")


def test_vertex_lookup() -> None:
    g = Graph.from_edges([0], [1], vertex_names=["s", "t"], names=False)
    assert g.index_of("t") == 1
    with pytest.raises(VertexError, match="'u' is not a vertex name"):
        g.index_of("u")
    plain = Graph.from_edges([0], [1])
    for bad in (2, -1, 1.0, "1", None, True, np.float64(0)):
        with pytest.raises(VertexError):
            plain.index_of(bad)
    assert plain.index_of(np.int64(1)) == 1
    with pytest.raises(VertexError, match=r"source is several vertices, \[0, 1\]: give one"):
        plain.index_of([0, 1], "source")


def test_a_name_of_several_vertices_is_not_guessed() -> None:
    """Regression: the last such vertex was used, and dicts contained only one."""
    g = Graph.from_edges([0, 1], [1, 2], vertex_names=["s", "t", "t"], names=False)
    paths = nearfar.sssp(g, "s")
    with pytest.raises(
        VertexError, match="'t' is the name of several vertices: make names distinct"
    ):
        g.index_of("t")
    with pytest.raises(GraphError, match="3 vertices have 2 names"):
        paths.to_dict()
    assert paths.distances.tolist() == [0, 1, 2]


def test_names_and_coordinates_have_the_right_length() -> None:
    with pytest.raises(GraphError, match="vertex_names has shape"):
        Graph.from_edges([0], [1], vertex_names=["s"], names=False)
    with pytest.raises(GraphError, match="coordinates have shape"):
        Graph.from_edges([0], [1], coordinates=[[0.0, 0.0]])
    with pytest.raises(GraphError, match=r"coordinates of vertex 1 are nan, 2\.0: give finite"):
        Graph.from_edges([0], [1], coordinates=[[0.0, 0.0], [np.nan, 2.0]])
    with pytest.raises(GraphError, match="coordinates have dtype <U3: give numbers"):
        Graph.from_edges([0], [1], coordinates=[["0.0", "0.0"], ["1.0", "2.0"]])


def test_repr_and_digest() -> None:
    g = Graph.from_edges([0, 1], [1, 0], [3, 4])
    assert repr(g) == "Graph(n=2, m=2, directed, int64 weights 3..4, 0.0 MiB)"
    assert g.digest() == Graph.from_edges([0, 1], [1, 0], [3, 4]).digest()
    assert g.digest() != Graph.from_edges([0, 1], [1, 0], [3, 5]).digest()


def test_weight_scan_across_blocks_and_threads() -> None:
    rng = np.random.default_rng(3)
    for dtype in (np.int32, np.int64, np.float32, np.float64):
        w = rng.integers(-50, 1000, 1_200_001).astype(dtype)
        g = Graph.from_csr(np.array([0, len(w)]), np.zeros(len(w), dtype=np.int32), w, copy=False)
        assert g.n_negative == int((w < 0).sum())
        assert g.first_negative == int(np.argmax(w < 0))
        assert (g.min_weight, g.max_weight) == (w.min(), w.max())
        assert g.mean_weight == pytest.approx(w.astype(np.float64).mean(), rel=1e-9)


@pytest.mark.parametrize("dtype", [np.int32, np.int64, np.float32, np.float64])
def test_what_is_checked_in_parts_is_copied_whole(dtype: type) -> None:
    """Large arrays are copied while they are checked, a part per worker."""
    rng = np.random.default_rng(4)
    n, m = 1000, 300_007
    indptr = np.sort(rng.integers(0, m + 1, n + 1))
    indptr[0], indptr[-1] = 0, m
    indices = rng.integers(0, n, m).astype(np.int32)
    weights = rng.integers(1, 100, m).astype(dtype)
    graph = Graph.from_csr(indptr, indices, weights)
    given = indices.copy(), weights.copy()
    indices[:], weights[:] = 0, 0
    assert np.array_equal(graph.indices, given[0])
    assert np.array_equal(graph.weights, given[1])
    assert (graph.min_weight, graph.max_weight) == (given[1].min(), given[1].max())
    assert not graph.indices.flags.writeable
    assert not graph.weights.flags.writeable
    assert indices.flags.writeable
    assert weights.flags.writeable
    indices[m - 5] = n
    with pytest.raises(GraphError, match=f"edge {m - 5} goes to {n}"):
        Graph.from_csr(indptr, indices, weights)
    if np.dtype(dtype).kind == "f":
        weights[m - 3] = np.nan
        with pytest.raises(GraphError, match=f"weight of edge {m - 3} is nan"):
            Graph.from_csr(indptr, given[0], weights)


def test_empty_arrays_of_the_caller_stay_writable() -> None:
    indices, weights = np.empty(0, dtype=np.int32), np.empty(0)
    Graph.from_csr(np.zeros(1, dtype=np.int32), indices, weights)
    assert indices.flags.writeable
    assert weights.flags.writeable


@pytest.mark.parametrize(
    "again", [copy.copy, copy.deepcopy, lambda g: pickle.loads(pickle.dumps(g))]
)
@pytest.mark.parametrize("dtype", [None, np.int32, np.float64])
def test_a_graph_that_solved_can_be_copied_and_pickled(again, dtype) -> None:
    """As multiprocessing and joblib do with arguments and answers."""
    weights = None if dtype is None else np.array([4, 3, 9], dtype=dtype)
    names = np.array(["a", 7, None, "d"], dtype=object)
    names[2] = (1, 2)
    graph = Graph.from_edges(
        [0, 1, 0],
        [1, 2, 2],
        weights,
        n_vertices=4,
        vertex_names=names,
        names=False,
        coordinates=np.arange(8.0).reshape(4, 2),
        attributes={"unit": "m"},
    )
    paths = nearfar.sssp(graph, "a", predecessors=True)
    found = again(graph)
    assert found.digest() == graph.digest()
    assert found.vertex_names.tolist() == names.tolist()
    assert (found.directed, found.attributes) == (True, {"unit": "m"})
    np.testing.assert_array_equal(found.coordinates, graph.coordinates)
    assert not found.indices.flags.writeable
    answer = again(paths)
    assert answer.path_to(7) == ["a", 7]
    nearfar.verify(found, answer)


def test_new_weights_have_no_unit_unless_one_is_given() -> None:
    """Regression: seconds divided by 60 were drawn as minutes from 0 to 0.04."""
    g = Graph.from_edges([0, 1], [1, 2], [60, 120], attributes={"unit": "s", "mode": "walk"})
    assert g.with_weights(g.weights / 60).attributes == {"mode": "walk"}
    assert g.with_weights([1, 2], unit="min").attributes == {"mode": "walk", "unit": "min"}
    turns = g.with_turns(closed=[0])
    assert "unit" not in turns.with_weights([1, 2]).original.attributes
    assert turns.with_weights([1, 2], unit="min").original.attributes["unit"] == "min"
    prepared = nearfar.prepare(g, force=True)
    assert prepared.attributes["unit"] == "s"
    assert "unit" not in prepared.reweight([1, 2]).attributes
    assert prepared.reweight_each([[1, 2]], unit="min")[0].attributes["unit"] == "min"
    assert prepared.update([0], [7]).attributes["unit"] == "s"  # one edge's weight, in its unit
