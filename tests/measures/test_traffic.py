"""Loads of edges and skims, compared with the paths of single searches."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import sparse

import nearfar
from nearfar import Graph
from nearfar.errors import (
    DistanceOverflowError,
    NegativeWeightError,
    OptionError,
    VertexError,
)
from nearfar.measures import edge_loads, skims
from tests.strategies import graphs
from tests.zoo import ZOO, as_dtype


def walked(graph: Any, demand: list[tuple[int, int, Any]], m: int) -> np.ndarray:
    """Return loads by following the path of each pair."""
    loads = np.zeros(m)
    for s, t, q in demand:
        paths = nearfar.sssp(graph, s)
        if paths.distance_to(t) != float("inf"):
            loads[paths.edges_to(t)] += q
    return loads


def assert_walked(graph: Any, demand: list[tuple[int, int, int]]) -> None:
    original = getattr(graph, "original", graph)
    found = edge_loads(graph, demand)
    assert (found.loads == walked(graph, demand, original.n_edges)).all()
    distance = {(s, t): nearfar.sssp(graph, s).distance_to(t) for s, t, _ in demand}
    lost = [(s, t, q) for s, t, q in demand if distance[s, t] == float("inf")]
    assert found.unreached == sum(q for _, _, q in lost)
    assert found.carried + found.unreached == sum(q for _, _, q in demand)
    pairs = zip(found.unreached_sources.tolist(), found.unreached_targets.tolist(), strict=True)
    assert set(pairs) == {(s, t) for s, t, q in lost if q}
    # Loads times lengths are the demand times its distances.
    carried = sum(q * distance[s, t] for s, t, q in demand if (s, t, q) not in lost)
    assert found.total_length == pytest.approx(carried, rel=1e-6)
    if original is graph and graph.weight_dtype.kind == "i":
        assert (found.loads * graph.effective_weights).sum() == carried


@given(graphs(max_vertices=9, max_edges=30), st.data())
def test_loads_of_any_graph(graph: Graph, data: Any) -> None:
    vertex = st.integers(0, graph.n_vertices - 1)
    demand = data.draw(st.lists(st.tuples(vertex, vertex, st.integers(0, 9)), max_size=20))
    assert_walked(graph, demand)


@settings(max_examples=60)
@given(graphs(max_vertices=7, max_edges=18, dtypes=("int32", "float64")), st.data())
def test_loads_and_skims_with_closed_vertices(graph: Graph, data: Any) -> None:
    vertex = st.integers(0, graph.n_vertices - 1)
    demand = data.draw(st.lists(st.tuples(vertex, vertex, st.integers(1, 9)), max_size=12))
    turns = graph.with_turns(closed=data.draw(st.sets(vertex, max_size=3)))
    assert_walked(turns, demand)
    metres = np.arange(graph.n_edges) * 7
    found = skims(turns, range(graph.n_vertices), range(graph.n_vertices), quantities=[metres])
    for s in range(graph.n_vertices):
        paths = nearfar.sssp(turns, s)
        for t in range(graph.n_vertices):
            if paths.reachable[t]:
                assert found.totals[0][s, t] == metres[paths.edges_to(t)].sum()
                assert found.distances[s, t] == paths.distances[t]


@pytest.mark.parametrize("dtype", ["int32", "float32", "float64", "unweighted"])
@pytest.mark.parametrize("name", ZOO)
def test_zoo_skims_and_loads(name: str, dtype: str) -> None:
    graph = as_dtype(ZOO[name](), dtype)
    n, m = graph.n_vertices, graph.n_edges
    rng = np.random.default_rng(3)
    sources = rng.integers(0, n, 4).tolist()
    targets = [*rng.integers(0, n, 5).tolist(), sources[0]]
    whole, half = rng.integers(0, 99, m), rng.random(m)
    found = skims(graph, sources, targets, quantities={"toll": whole, "metres": half})
    assert (found.distances == nearfar.distances(graph, sources, targets=targets)).all()
    for i, s in enumerate(sources):
        paths = nearfar.sssp(graph, s)
        for j, t in enumerate(targets):
            if not paths.reachable[t]:
                assert found.totals["toll"][i, j] == np.iinfo(np.int64).max
                assert found.totals["metres"][i, j] == np.inf
                continue
            edges = paths.edges_to(t)
            assert found.totals["toll"][i, j] == whole[edges].sum()
            # Unlike sum() of Python 3.12, one after the other.
            assert found.totals["metres"][i, j] == np.add.accumulate([0.0, *half[edges]])[-1]
    assert_walked(graph, [(s, t, 3) for s in set(sources) for t in set(targets)])


def test_demand_in_every_form() -> None:
    import pandas
    import polars

    graph = ZOO["grid"]()
    triples = [(0, 5, 2.5), (0, 9, 1.0), (7, 0, 4.0), (0, 5, 0.5)]
    want = edge_loads(graph, triples)
    assert want.carried == 8.0
    columns = dict(zip(("source", "target", "demand"), zip(*triples, strict=True), strict=True))
    matrix = np.zeros((graph.n_vertices, graph.n_vertices))
    for s, t, q in triples:
        matrix[s, t] += q
    small = np.zeros((4, 4))
    zones = [0, 5, 9, 7]
    for s, t, q in triples:
        small[zones.index(s), zones.index(t)] += q
    for demand, more in (
        (np.array(triples), {}),
        (tuple(np.array(c) for c in columns.values()), {}),
        (pandas.DataFrame(columns), {}),
        (polars.DataFrame(columns), {}),
        (sparse.csr_array(matrix), {}),
        (sparse.coo_matrix(small), {"zones": zones}),
        (iter(triples), {}),
    ):
        found = edge_loads(graph, demand, **more)
        assert (found.loads == want.loads).all()
        assert found.carried == want.carried
    assert edge_loads(graph, []).loads.tolist() == [0] * graph.n_edges
    assert edge_loads(graph, np.zeros((0, 3))).carried == 0
    assert edge_loads(graph, [(3, 3, 7)]).carried == 7


def test_names() -> None:
    graph = Graph.from_edges(
        [0, 1, 3], [1, 2, 3], [2, 3, 1], vertex_names=np.array(["a", "b", "c", "d"]), names=False
    )
    found = edge_loads(graph, [("a", "c", 5), ("a", "d", 2), ("c", "a", 1), ("b", "c", 1)])
    assert found.loads.tolist() == [5, 6, 0]
    assert found.loads.dtype == np.int64
    assert (found.unreached, found.carried) == (3, 6)
    assert found.unreached_sources.tolist() == ["a", "c"]
    assert found.unreached_targets.tolist() == ["d", "a"]
    assert found.unreached_amounts.tolist() == [2, 1]
    with pytest.raises(VertexError, match="target 'x'"):
        edge_loads(graph, [("a", "x", 1)])


@pytest.mark.parametrize("amounts", ["whole", "float"])
def test_threads_make_no_difference(amounts: str) -> None:
    graph = nearfar.generate("road_like", vertices=2000, seed=4)
    rng = np.random.default_rng(1)
    k, n = 4000, graph.n_vertices
    q = rng.integers(1, 99, k) if amounts == "whole" else rng.random(k)
    demand = (rng.integers(0, n, k), rng.integers(0, n, k), q)
    first = edge_loads(graph, demand, threads=1)
    for threads in (2, 5):
        again = edge_loads(graph, demand, threads=threads)
        assert (again.loads == first.loads).all()
        assert again.total_length == first.total_length


def test_parallel_edges_load_the_lightest_of_lowest_id() -> None:
    graph = Graph.from_edges([0, 0, 0, 1], [1, 1, 1, 1], [5, 3, 3, 0])
    assert edge_loads(graph, [(0, 1, 4)]).loads.tolist() == [0, 4, 0, 0]
    assert skims(graph, [0], [1], quantities=[[1, 2, 4, 8]]).totals[0].tolist() == [[2]]


def test_a_hub() -> None:
    n = 3000
    spokes = np.arange(1, n)
    graph = Graph.from_edges(np.zeros(n - 1, np.int64), spokes, 1, directed=False)
    demand = [(int(v), int(v) + 1, 1) for v in range(1, n - 1)]
    loads = edge_loads(graph, demand).loads
    assert loads.sum() == 2 * len(demand)
    assert loads.max() == 1


def test_distances_beyond_32_and_64_bits() -> None:
    top = 2**31 - 2
    graph = Graph.from_edges([0, 1], [1, 2], np.array([top, top], np.int32), n_vertices=4)
    found = edge_loads(graph, [(0, 2, 1), (0, 3, 1)])
    assert (found.loads.tolist(), found.unreached) == ([1, 1], 1)
    assert skims(graph, [0], [2]).distances.tolist() == [[2 * top]]
    huge = Graph.from_edges([0, 1], [1, 2], np.array([2**62, 2**62]))
    with pytest.raises(DistanceOverflowError):
        edge_loads(huge, [(0, 2, 1)])
    apart = Graph.from_edges([0, 1], [1, 2], np.array([2**62, 2**62]), n_vertices=4)
    assert edge_loads(apart, [(0, 1, 2), (0, 3, 1)]).unreached == 1


def test_errors() -> None:
    graph = ZOO["grid"]()
    n = graph.n_vertices
    for demand, message in (
        ([(0, 1, -1)], "at least 0"),
        ([(0, 1, float("nan"))], "finite"),
        ([(0, 1)], "give a sparse matrix"),
        (np.zeros((2, 2)), "3 columns"),
        (7, "give a sparse matrix"),
        ("abc", "give a sparse matrix"),
        ([(0, 1, "x")], "numbers"),
        (([0, 1], [1], [2]), "2 sources, 1 targets"),
        (sparse.eye_array(3), f"there are {n} vertices: give zones="),
        ([(0, 1, 2**63 - 1), (0, 2, 1)], "64 bits"),
    ):
        with pytest.raises(OptionError, match=message):
            edge_loads(graph, demand)
    with pytest.raises(OptionError, match="one row per zone"):
        edge_loads(graph, sparse.eye_array(3), zones=[1, 2])
    with pytest.raises(OptionError, match="leave it out"):
        edge_loads(graph, [(0, 1, 1)], zones=[1])
    with pytest.raises(NegativeWeightError):
        edge_loads(Graph.from_edges([0], [1], [-1]), [(0, 1, 1)])
    for quantity, message in (
        ([1, 2], "a number per edge"),
        (np.full(graph.n_edges, np.nan), "not finite at edge 0"),
        (np.full(graph.n_edges, 2**60), "64 bits"),
        (np.array(["a"] * graph.n_edges), "a number per edge"),
    ):
        with pytest.raises(OptionError, match=message):
            skims(graph, [0], [1], quantities=[quantity])


def test_a_table_without_a_column() -> None:
    import pandas

    with pytest.raises(OptionError, match="no column 'demand'"):
        edge_loads(ZOO["grid"](), pandas.DataFrame({"source": [0], "target": [1]}))
