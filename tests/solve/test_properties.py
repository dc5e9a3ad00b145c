"""Properties of correct solvers: effects of changes of the graph."""

from __future__ import annotations

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

import nearfar
from nearfar import Graph
from tests.strategies import graphs

EXACT = ("int32", "int64", "float32", "float64")


def distances(graph: Graph, source: int) -> np.ndarray:
    return nearfar.sssp(graph, source).distances


@given(graph=graphs(dtypes=EXACT), seed=st.integers(0, 2**32 - 1))
def test_permuting_vertices_permutes_distances(graph: Graph, seed: int) -> None:
    order = np.random.default_rng(seed).permutation(graph.n_vertices)
    sources = graph.tails(np.int64)
    moved = Graph.from_edges(
        order[sources], order[graph.indices], graph.weights, n_vertices=graph.n_vertices
    )
    np.testing.assert_array_equal(distances(moved, int(order[0]))[order], distances(graph, 0))


@given(graph=graphs(dtypes=EXACT), power=st.integers(0, 6))
def test_scaling_by_a_power_of_two_scales_distances(graph: Graph, power: int) -> None:
    graph = graph.astype("float64" if graph.weight_dtype.kind == "f" else "int64")
    factor = graph.weight_dtype.type(2**power)
    scaled = Graph.from_csr(graph.indptr, graph.indices, graph.weights * factor)
    before, after = nearfar.sssp(graph, 0), nearfar.sssp(scaled, 0)
    np.testing.assert_array_equal(after.reachable, before.reachable)
    np.testing.assert_array_equal(
        after.distances[after.reachable], before.distances[before.reachable] * factor
    )


@given(graph=graphs(dtypes=EXACT), data=st.data())
def test_a_parallel_edge_that_is_no_better_changes_nothing(graph: Graph, data) -> None:
    if not graph.n_edges:
        return
    e = data.draw(st.integers(0, graph.n_edges - 1))
    sources = graph.tails(np.int64)
    again = Graph.from_edges(
        np.append(sources, sources[e]),
        np.append(graph.indices, graph.indices[e]),
        np.append(graph.weights, graph.weights[e]).astype(graph.weight_dtype),
        n_vertices=graph.n_vertices,
    )
    np.testing.assert_array_equal(distances(again, 0), distances(graph, 0))


@given(graph=graphs(dtypes=EXACT))
def test_triangle_inequality_over_every_edge(graph: Graph) -> None:
    paths = nearfar.sssp(graph, 0)
    solved = graph.astype(paths.distances.dtype)
    for u in np.flatnonzero(paths.reachable):
        row = slice(graph.indptr[u], graph.indptr[u + 1])
        through = paths.distances[u] + solved.effective_weights[row]
        assert (paths.distances[graph.indices[row]] <= through).all()


@settings(max_examples=60)
@given(graph=graphs(dtypes=("int64", "unweighted")))
def test_undirected_distances_are_symmetric(graph: Graph) -> None:
    both = Graph.from_edges(
        graph.tails(np.int64),
        graph.indices,
        graph.weights,
        n_vertices=graph.n_vertices,
        directed=False,
    )
    matrix = np.array([distances(both, s) for s in range(both.n_vertices)])
    np.testing.assert_array_equal(matrix, matrix.T)
