"""Graph of device arrays on the (emulated) device: no copies to the host, same answers."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import nearfar
from nearfar import Graph
from nearfar.errors import GraphError
from nearfar.system.devices import runtime
from tests.zoo import ZOO, as_dtype

pytestmark = pytest.mark.usefixtures("emulated_gpu")
DTYPES = ("int32", "int64", "float32", "float64", "unweighted")
SCAN = ("n_negative", "first_negative", "has_zero_weight", "min_weight", "max_weight")


def there(graph: Graph, **changed: Any) -> Graph:
    """Return the same graph built from device arrays, some of them replaced."""
    arrays = {"indptr": graph.indptr, "indices": graph.indices, "weights": graph.weights} | changed
    uploaded = [None if a is None else runtime.upload(a) for a in arrays.values()]
    made: Graph = Graph.from_csr(*uploaded, directed=graph.directed)
    return made


def on_the_host(graph: Graph) -> set[str]:
    """Return the graph's arrays that were copied to the host."""
    return {"indptr", "indices", "weights"} & set(graph.__dict__)


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("name", ["grid", "skewed", "path", "no_edges", "one_vertex"])
def test_same_facts(name: str, dtype: str) -> None:
    graph = as_dtype(ZOO[name](), dtype)
    made = there(graph)
    assert made.device_arrays is not None
    assert made.on_device
    assert (made.n_vertices, made.n_edges) == (graph.n_vertices, graph.n_edges)
    assert (made.weight_dtype, made.index_dtype) == (graph.weight_dtype, graph.index_dtype)
    if graph.n_edges:
        assert [getattr(made, f) for f in SCAN] == [getattr(graph, f) for f in SCAN]
        assert made.mean_weight == pytest.approx(graph.mean_weight)
    assert (made.max_degree, made.widest_vertex) == (graph.max_degree, graph.widest_vertex)
    assert made.is_weighted == graph.is_weighted
    assert repr(made).startswith(repr(graph).rpartition(",")[0])
    assert not on_the_host(made)
    np.testing.assert_array_equal(made.indices, graph.indices)
    assert on_the_host(made) == {"indices"}
    assert made.digest() == graph.digest()


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("name", ["grid", "skewed"])
def test_one_search_stays_on_the_device(name: str, dtype: str) -> None:
    graph = as_dtype(ZOO[name](), dtype)
    made = there(graph)
    want = nearfar.sssp(graph, 0, device="cpu", predecessors=True)
    got = nearfar.sssp(made, 0, predecessors=True)
    assert got.engine.endswith("@cuda")
    assert runtime.is_device_array(got.distances)
    assert runtime.is_device_array(got._predecessors)
    assert not on_the_host(made)
    np.testing.assert_array_equal(runtime.download(got.distances), want.distances)
    np.testing.assert_array_equal(runtime.download(got._predecessors), want.predecessors)


@pytest.mark.parametrize("dtype", ["int32", "float64"])
def test_many_searches_stay_on_the_device(dtype: str) -> None:
    graph = as_dtype(ZOO["grid"](), dtype)
    made = there(graph)
    got = nearfar.distances(made, [0, 3, 5], method="block_per_source")
    assert runtime.is_device_array(got)
    assert not on_the_host(made)
    np.testing.assert_array_equal(
        runtime.download(got), nearfar.distances(graph, [0, 3, 5], device="cpu")
    )


def test_a_method_of_the_host_gets_host_arrays() -> None:
    graph = ZOO["grid"]()
    made = there(graph)
    got = nearfar.sssp(made, 0, method="dijkstra_binary_heap", device="cpu")
    np.testing.assert_array_equal(
        runtime.download(runtime.upload(got.distances)), nearfar.sssp(graph, 0).distances
    )
    assert on_the_host(made) == {"indptr", "indices", "weights"}
    assert not made.indices.flags.writeable


@pytest.mark.parametrize(
    ("changed", "message"),
    [
        ({"indptr": np.array([0, 2, 1, 3])}, r"indptr\[2\] is 1: it must be nondecreasing"),
        ({"indptr": np.array([1, 2, 2, 3])}, r"indptr\[0\] is 1: it must start at 0"),
        (
            {"indptr": np.array([0, 2, 2, 2])},
            r"indptr\[3\] is 2: it must be nondecreasing and end at 3",
        ),
        ({"indptr": np.array([], dtype=int)}, "indptr is empty"),
        ({"indptr": np.array([0.0, 1, 2, 3])}, "indptr has dtype float64: give integers"),
        ({"indices": np.array([1, 3, 0])}, "edge 1 goes to 3: vertices are 0 to 2"),
        ({"indices": np.array([1, 2, -1])}, "edge 2 goes to -1: vertices are 0 to 2"),
        ({"indices": np.array([[1, 2, 0]])}, "indices has 2 dimensions"),
        ({"indices": np.array([1, 2**40, 0])}, "edge 1 goes to 1099511627776"),
        ({"weights": np.array([1.0, np.nan, np.inf])}, r"weight of edge 1 is nan \(2 such edges\)"),
        ({"weights": np.array([1.0, 2.0])}, r"weights has shape \(2,\), but there are 3 edges"),
        ({"weights": np.array([1j, 2, 3])}, "weights have dtype complex128"),
    ],
)
def test_what_is_wrong_is_named(changed: dict[str, Any], message: str) -> None:
    graph = Graph.from_csr([0, 1, 2, 3], [1, 2, 0], [1.0, 2.0, 3.0])
    with pytest.raises(GraphError, match=message):
        there(graph, **changed)
    arrays = {"indptr": graph.indptr, "indices": graph.indices, "weights": graph.weights} | changed
    with pytest.raises(GraphError, match=message):
        Graph.from_csr(*arrays.values())


@pytest.mark.parametrize(
    ("given", "kept"),
    [
        (np.array([True, False, True]), np.int32),
        (np.array([1, 2, 3], dtype=np.uint8), np.int32),
        (np.array([1, 2, 3], dtype=np.uint32), np.int64),
        (np.array([1, 2, 3], dtype=np.float16), np.float32),
    ],
)
def test_weights_of_other_dtypes(given: np.ndarray, kept: type) -> None:
    made = there(Graph.from_csr([0, 1, 2, 3], [1, 2, 0]), weights=given)
    assert made.weight_dtype == kept
    assert made.max_weight == given.max()


def test_negative_zero_and_negative_weights() -> None:
    made = there(Graph.from_csr([0, 1, 2, 3], [1, 2, 0]), weights=np.array([-0.0, 2.0, -3.0]))
    assert not np.signbit(made.weights[0])
    assert (made.n_negative, made.first_negative, made.min_weight) == (1, 2, -3.0)
    assert made.has_zero_weight


def test_other_dtypes_of_one_graph_stay_there() -> None:
    graph = as_dtype(ZOO["grid"](), "int32")
    made = there(graph)
    wide, plain = made.astype(np.float64), made.without_weights()
    assert wide.weight_dtype == np.float64
    assert not plain.is_weighted
    assert made.astype(np.float64) is wide
    assert made.astype(np.int32) is made
    assert plain.without_weights() is plain
    assert not (on_the_host(made) | on_the_host(wide) | on_the_host(plain))
    np.testing.assert_array_equal(wide.weights, graph.weights)
    with pytest.raises(GraphError, match="do not fit int32 exactly"):
        there(graph, weights=graph.weights + 0.5).astype(np.int32)


@pytest.mark.parametrize("dtype", [None, "int32", "float64"])
@pytest.mark.parametrize("directed", [True, False])
def test_edges_are_sorted_where_they_lie(directed: bool, dtype: str | None) -> None:
    rng = np.random.default_rng(8)
    ends = rng.integers(0, 40, (2, 300))
    weights = None if dtype is None else rng.integers(1, 9, 300).astype(dtype)
    lists = [None if a is None else runtime.upload(a) for a in (ends, weights)]
    made = Graph.from_edge_index(*lists, n_vertices=50, directed=directed)
    assert made.on_device
    assert not on_the_host(made)
    want = Graph.from_edge_index(ends, weights, n_vertices=50, directed=directed)
    assert (made.n_vertices, made.n_edges) == (50, want.n_edges)
    assert (made.to_scipy() != want.to_scipy()).nnz == 0
    if directed:  # the same order among the edges of a vertex
        assert made.digest() == want.digest()


def test_what_is_no_edge_list_on_a_device_is_refused() -> None:
    def edges(*rows: Any, **call: Any) -> Graph:
        return Graph.from_edge_index(runtime.upload(np.array(rows)), **call)

    assert edges([0, 5], [2, 1]).n_vertices == 6
    for rows, call, text in (
        (([0, 5], [2, 1]), {"n_vertices": 5}, "source 5 of edge 1 is outside the graph: give 0 to"),
        (([0, 1], [2, -1]), {}, "target -1 of edge 1 is outside"),
        (([0.0, 1.0], [2.0, 1.0]), {}, "give integers"),
        (([0, 1],), {}, r"shape \(1, 2\)"),
        (([0], [1]), {"weights": runtime.upload(np.ones(3))}, "weights for 1 edges"),
    ):
        with pytest.raises(GraphError, match=text):
            edges(*rows, **call)
