"""Customization, compared with elimination by hand and with distances of a search."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import nearfar
from nearfar import Graph, _cpu, all_pairs, find_negative_cycle
from nearfar.graph.dtypes import unreached_value
from nearfar.prepared.metric.arc_weights import Metric, customized, renewed
from nearfar.prepared.order.elimination import elimination_order, structure_of
from nearfar.prepared.order.tree import Arcs, Preparation, Tree, analyse, build_arcs
from tests.strategies import graphs


def made(graph: Graph, order: Any = "multilevel") -> tuple[Tree, Arcs, Any]:
    structure = structure_of(graph)
    found, method = elimination_order(structure, order)
    tree, figures = analyse(graph, structure, found)
    arcs = build_arcs(graph, structure, tree)
    return tree, arcs, Preparation(tree, arcs, figures, method).view


def ends(tree: Tree, arcs: Arcs) -> list[tuple[int, int]]:
    """Return the (lower, upper) vertices of every arc."""
    found = []
    for v in range(tree.n_vertices):
        path = []
        a = v
        while a >= 0:
            path.append(a)
            a = int(tree.parent[a])
        path.reverse()
        mine = range(int(arcs.first[v]), int(arcs.first[v + 1]))
        found += [(v, path[arcs.head_depth[j]]) for j in mine]
    return [(int(tree.vertex[x]), int(tree.vertex[y])) for x, y in found]


def as_distance(graph: Graph, values: np.ndarray) -> np.ndarray:
    """Return weights of arcs in the dtype of distances, with "no path" as unreached."""
    none = unreached_value(graph.weight_dtype)
    if values.dtype == np.int64:
        wide = np.where(values >= 2**61, none, values)
        return np.minimum(wide, none).astype(graph.weight_dtype)
    return values.astype(graph.weight_dtype)


def check(graph: Graph, metric: Metric, tree: Tree, arcs: Arcs, view: Any) -> None:
    """Compare the arcs' weights with elimination in Python numbers, and tightness with searches."""
    none = unreached_value(graph.weight_dtype)
    near: dict[tuple[int, int], Any] = {}
    for u, v, w in zip(
        graph.tails().tolist(),
        graph.indices.tolist(),
        graph.effective_weights,
        strict=True,
    ):
        if u != v and w < near.get((u, v), none):
            near[u, v] = w
    label = tree.label.tolist()
    for v in tree.vertex.tolist():
        into = [(u, w) for (u, x), w in near.items() if x == v and label[u] > label[v]]
        out = [(x, w) for (u, x), w in near.items() if u == v and label[x] > label[v]]
        for u, a in into:
            for x, b in out:
                total = a + b if graph.weight_dtype.kind == "f" else int(a) + int(b)
                if u != x and total < near.get((u, x), none):
                    near[u, x] = graph.weight_dtype.type(total)
    pairs = ends(tree, arcs)
    sides = metric.sides
    values = as_distance(graph, metric.weights).reshape(-1, sides)
    for (x, y), row in zip(pairs, values, strict=True):
        assert row[0] == near.get((x, y), none)
        assert row[-1] == near.get((y, x), none)
    if graph.weight_dtype.kind == "f" or graph.n_negative:
        return
    exact = all_pairs(graph)
    distances = np.empty_like(metric.weights)
    flags = np.empty(arcs.n_arcs, dtype=np.uint8)
    first = np.empty((sides, len(tree.vertex) + 1), dtype=np.int64)
    _cpu.prepared_perfect(view, metric.weights, distances, flags, first, False, 1)
    found = as_distance(graph, distances).reshape(-1, sides)
    for (x, y), row, bits, between in zip(pairs, values, flags, found, strict=True):
        assert between[0] == exact[x, y]
        assert between[-1] == exact[y, x]
        for side, (u, v) in enumerate([(x, y), (y, x)][:sides]):
            assert bool(bits >> side & 1) == (row[side] != none and row[side] == exact[u, v])


@given(graphs(max_vertices=20), st.integers(1, 3), st.booleans())
def test_against_elimination_by_hand(graph: Graph, threads: int, perfect: bool) -> None:
    tree, arcs, view = made(graph)
    check(graph, customized(view, graph, perfect, threads), tree, arcs, view)


@given(graphs(max_vertices=20, negative=True, dtypes=("int32", "int64")))
def test_negative_weights(graph: Graph) -> None:
    tree, arcs, view = made(graph)
    metric = customized(view, graph, True, 1)
    both = metric.weights.astype(object).reshape(-1, metric.sides)
    found = bool((both[:, 0] + both[:, -1] < 0).any())
    loops = graph.tails() == graph.indices
    assert (found or bool((graph.effective_weights[loops] < 0).any())) == (
        find_negative_cycle(graph) is not None
    )
    if not found:
        check(graph, metric, tree, arcs, view)


@given(graphs(max_vertices=20, dtypes=("int32", "float64")), st.data())
def test_update_is_a_fresh_customization(graph: Graph, data: st.DataObject) -> None:
    if not graph.n_edges:
        return
    tree, _, view = made(graph)
    perfect = data.draw(st.booleans())
    metric = customized(view, graph, perfect, 1)
    for _ in range(3):
        some = data.draw(st.lists(st.integers(0, graph.n_edges - 1), min_size=1, max_size=4))
        weights = graph.effective_weights.copy()
        weights[some] = data.draw(
            st.lists(st.integers(0, 30), min_size=len(some), max_size=len(some))
        )
        graph = graph.with_weights(weights)
        low = np.minimum(tree.label[graph.tails()[some]], tree.label[graph.indices[some]])
        labels = low.astype(np.int32)
        metric, _ = renewed(view, metric, graph, labels, perfect, 1)
        fresh = customized(view, graph, perfect, 1)
        if metric.sides == fresh.sides:
            assert (metric.weights == fresh.weights).all()
        else:
            assert metric.sides == 2
            assert (metric.weights[::2] == fresh.weights).all()
            assert (metric.weights[1::2] == fresh.weights).all()


@pytest.mark.parametrize("threads", [2, 5])
@pytest.mark.parametrize("dtype", ["int32", "int64", "float32", "float64"])
@pytest.mark.parametrize("directed", [False, True])
def test_threads_find_the_same(threads: int, dtype: str, directed: bool) -> None:
    side = 60
    at = np.arange(side * side).reshape(side, side)
    tails = np.concatenate([at[:, :-1].ravel(), at[:-1].ravel()])
    heads = np.concatenate([at[:, 1:].ravel(), at[1:].ravel()])
    rng = np.random.default_rng(0)
    if directed:
        tails, heads = np.concatenate([tails, heads]), np.concatenate([heads, tails])
    weights = rng.integers(1, 50, len(tails)).astype(dtype)
    graph = Graph.from_edges(tails, heads, weights, directed=directed)
    _, arcs, view = made(graph)
    one = customized(view, graph, True, 1)
    many = customized(view, graph, True, threads)
    assert one.sides == (2 if directed else 1)
    assert (one.weights == many.weights).all()
    assert (one.up.weight == many.up.weight).all()
    assert (one.down.head_depth == many.down.head_depth).all()
    assert len(one.up.weight) < arcs.n_arcs


@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_arcs_that_are_each_others_detour_up_to_rounding_are_not_both_left_out(dtype: str) -> None:
    """Regression: an edge lost in rounding made both arcs next to it look unnecessary."""
    heavy, light = (1e12, 1e-12) if dtype == "float32" else (1e18, 1e-12)
    weights = np.array([heavy, heavy, light, heavy], dtype=dtype)
    graph = Graph.from_edges([0, 0, 1, 1], [1, 2, 2, 3], weights, directed=False)
    prepared = nearfar.prepare(graph, np.arange(4), force=True)
    again = prepared.update([0], [prepared.effective_weights[0]])
    for ready in (prepared, again):
        for source in range(4):
            want = nearfar.sssp(graph, source, method="dijkstra_array").distances
            found = nearfar.sssp(ready, source, method="elimination_tree").distances
            np.testing.assert_array_equal(found, want)
            assert ready.distance(source, 1) == want[1]


def test_rows_whose_sums_round_small_weights_away_are_exact() -> None:
    """Regression: many vertices are then equally far, and restoring sums ended too early."""
    side = 60
    graph = nearfar.generate("grid", rows=side, columns=side)
    rng = np.random.default_rng(1)
    weights = (10.0 ** rng.uniform(-12, 12, graph.n_edges)).astype(np.float32)
    graph = Graph.from_csr(graph.indptr, graph.indices, weights)
    prepared = nearfar.prepare(graph, "multilevel", force=True)
    sources = range(0, graph.n_vertices, 60)
    found = nearfar.distances(prepared, sources, method="elimination_tree_rows")
    want = nearfar.distances(graph, sources, method="dijkstra_binary_heap")
    np.testing.assert_array_equal(found, want)


@pytest.mark.usefixtures("emulated_gpu")
@pytest.mark.parametrize("way", ["update", "reweight", "with_weights"])
def test_a_direction_with_another_weight_makes_a_graph_directed(way: str) -> None:
    """Predecessors on a GPU are pulled over the rows of an undirected graph."""
    path = Graph.from_edges([0, 1, 2, 0], [1, 2, 3, 3], [1, 1, 1, 9], directed=False)
    same = path.effective_weights.copy()
    at = int(path.indptr[1])  # 1 -> 0
    other = same.copy()
    other[at] = 5
    assert not path.with_weights(same * 2).directed
    prepared = nearfar.prepare(path, force=True)
    assert not prepared.reweight(same * 2).directed
    changed = {
        "update": lambda: prepared.update([at], [5]),
        "reweight": lambda: prepared.reweight(other),
        "with_weights": lambda: path.with_weights(other),
    }[way]()
    assert changed.directed
    want = nearfar.all_pairs(changed, predecessors=True, device="cpu")
    found = nearfar.all_pairs(changed, predecessors=True, device="cuda")
    for a, b in zip(found, want, strict=True):
        np.testing.assert_array_equal(np.asarray(a), b)
    np.testing.assert_array_equal(want[0], [[0, 1, 2, 3], [5, 0, 1, 2], [6, 1, 0, 1], [7, 2, 1, 0]])
