"""Every query of a prepared graph against searches."""

from __future__ import annotations

import itertools
import pickle
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import nearfar
from nearfar import (
    DistanceOverflowError,
    Graph,
    GraphFormatError,
    NegativeCycleError,
    OptionError,
    OutOfMemoryError,
    Prepared,
    UnreachableError,
    VertexError,
    _cpu,
)
from nearfar.graph.dtypes import unreached_value
from tests.prepared.fixed_sums import assert_within_bound, exact_rows
from tests.strategies import graphs
from tests.zoo import DTYPES, ZOO, as_dtype


def ready(graph: Graph, **options: Any) -> Prepared:
    return nearfar.prepare(graph, options.pop("order", "multilevel"), force=True, **options)


def every_pair(n: int) -> np.ndarray:
    return np.stack(np.meshgrid(np.arange(n), np.arange(n), indexing="ij"), -1).reshape(-1, 2)


def check_path(graph: Graph, edges: np.ndarray, source: int, target: int, length: Any) -> None:
    fixed = graph.fixed if isinstance(graph, Prepared) else None
    summed = graph if fixed is None else fixed.graph
    weights = summed.effective_weights
    at, total = source, summed.weight_dtype.type(0)
    tails = graph.tails()
    for e in edges.tolist():
        assert tails[e] == at
        at = int(graph.indices[e])
        total = summed.weight_dtype.type(total + weights[e])
        mine = (tails == tails[e]) & (graph.indices == at)
        assert e == np.flatnonzero(mine)[np.argmin(weights[mine])]
    assert at == target
    if fixed is not None:
        total = fixed.floats(np.array([total]), graph.weight_dtype)[0]
    assert total == length


def check_all(graph: Graph, prepared: Prepared) -> None:
    """Check all pairs by every form of query."""
    want = nearfar.all_pairs(graph, threads=1, method="worker_per_source")
    n = graph.n_vertices
    pairs = every_pair(n)
    none = unreached_value(want.dtype)
    labels = [prepared.label(threads=2, compact=size) for size in (0, 1, 4, n)]
    targets = np.arange(n)[:: max(1, n // 3)]

    def same(found: np.ndarray, wanted: np.ndarray) -> None:
        far = wanted == unreached_value(wanted.dtype)
        np.testing.assert_array_equal(found == unreached_value(found.dtype), far)
        np.testing.assert_array_equal(found[~far], wanted[~far])

    def check_form(wanted: np.ndarray, **form: Any) -> None:
        same(prepared.distances_of_pairs(pairs, 1, **form), wanted.ravel())
        for some in labels:
            same(some.distances_of_pairs(pairs, 2, **form), wanted.ravel())
        given = {"method": "elimination_tree_rows@cpu", **form}
        np.testing.assert_array_equal(nearfar.all_pairs(prepared, threads=2, **given), wanted)
        table = nearfar.distances(prepared, None, targets=targets, threads=1, **given)
        np.testing.assert_array_equal(table, wanted[:, targets])

    if graph.weight_dtype.kind == "f":
        check_form(want, sums="search")
    if prepared.fixed is not None:
        want = nearfar.all_pairs(prepared, method="elimination_tree_rows@cpu", threads=1)
        if prepared.fixed.bound < 2**62 and graph.n_vertices <= 24:
            for row, exact in zip(want, exact_rows(graph), strict=True):
                assert_within_bound(prepared, row, exact)
    check_form(want)
    np.testing.assert_array_equal(nearfar.distances(prepared, pairs=pairs), want.ravel())
    for source in {0, n // 2}:
        paths = nearfar.sssp(prepared, source, method="elimination_tree@cpu", predecessors=True)
        assert paths.engine == "elimination_tree@cpu"
        np.testing.assert_array_equal(paths.distances, want[source])
        nearfar.verify(graph, paths)
        nearfar.verify(prepared, paths)
        for target in {0, n - 1, n // 3}:
            if want[source, target] == none:
                with pytest.raises(UnreachableError):
                    prepared.path_edges(source, target)
                assert prepared.distance(source, target) == float("inf")
            else:
                edges = prepared.path_edges(source, target)
                check_path(prepared, edges, source, target, want[source, target])
                steps, length = prepared.path(source, target)
                assert steps == [source, *graph.indices[edges].tolist()]
                assert length == want[source, target]
                assert type(length) is type(want[source, target].item())


@pytest.mark.parametrize("dtype", ["int32", "int64", "float32", "float64"])
@pytest.mark.parametrize("side", [0, 26])
def test_labels_with_many_arcs(dtype: str, side: int) -> None:
    # Rows of windows, full ones and, of a grid where pruning leaves half, with gaps.
    rng = np.random.default_rng(7)
    if side:
        made = nearfar.generate("grid", rows=side, columns=side)
        graph = made.with_weights(rng.integers(0, 40, made.n_edges).astype(dtype))
    else:
        tails, heads = every_pair(90).T
        graph = Graph.from_edges(tails, heads, rng.integers(0, 10**6, 8100).astype(dtype))
    prepared = ready(graph)
    assert np.diff(prepared.metric.up.first).max() >= 16
    pairs = rng.integers(0, graph.n_vertices, (400, 2))
    want = nearfar.distances(graph, pairs=pairs, method="dijkstra")
    np.testing.assert_array_equal(prepared.distances_of_pairs(pairs, 1, memory=0), want)
    for (a, b), length in zip(pairs[:60].tolist(), want.tolist(), strict=False):
        if length == unreached_value(want.dtype):
            continue
        assert prepared.distance(a, b) == length
        assert prepared.path(a, b)[1] == length
        check_path(prepared, prepared.path_edges(a, b), a, b, length)
    if graph.weight_dtype.kind == "i":
        rises = rng.integers(0, 10**6, graph.n_vertices)
        signed = graph.effective_weights + (rises[graph.indices] - rises[graph.tails()])
        found = ready(graph.with_weights(signed.astype(dtype)))
        assert found.n_negative
        there = want != unreached_value(want.dtype)
        moved = want + rises[pairs[:, 1]] - rises[pairs[:, 0]]
        again = found.distances_of_pairs(pairs, 1, memory=0)
        np.testing.assert_array_equal(again[there], moved[there])


@given(graphs(max_vertices=24), st.booleans())
def test_any_graph(graph: Graph, perfect: bool) -> None:
    check_all(graph, ready(graph, perfect=perfect))


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("name", list(ZOO))
def test_zoo(name: str, dtype: str) -> None:
    graph = as_dtype(ZOO[name](), dtype)
    if graph.n_vertices > 60:
        prepared = ready(graph)
        want = nearfar.sssp(graph, 0).distances
        given = {"sums": "search"} if graph.weight_dtype.kind == "f" else {}
        found = nearfar.sssp(prepared, 0, method="elimination_tree@cpu", **given).distances
        np.testing.assert_array_equal(found, want)
        nearfar.verify(graph, nearfar.sssp(prepared, 0, method="elimination_tree@cpu"))
    else:
        check_all(graph, ready(graph))


@given(graphs(max_vertices=16, negative=True))
def test_negative_weights(graph: Graph) -> None:
    try:
        nearfar.all_pairs(graph, method="johnson", threads=1)
        fits = True
    except NegativeCycleError:
        fits = False
    if not fits:
        with pytest.raises(NegativeCycleError) as raised:
            ready(graph)
        assert raised.value.total < 0
        return
    prepared = ready(graph)
    want = nearfar.all_pairs(graph, method="johnson", threads=1)
    given = {"sums": "search"} if graph.weight_dtype.kind == "f" else {}
    rows = nearfar.all_pairs(prepared, method="elimination_tree_rows@cpu", threads=1, **given)
    np.testing.assert_array_equal(rows, want)
    pairs = every_pair(graph.n_vertices)
    np.testing.assert_array_equal(prepared.distances_of_pairs(pairs, **given), want.ravel())
    for compact in (0, 3):
        labels = prepared.label(compact=compact)
        np.testing.assert_array_equal(labels.distances_of_pairs(pairs, **given), want.ravel())


def mesh(side: int, dtype: str = "int32", directed: bool = True, seed: int = 0) -> Graph:
    at = np.arange(side * side).reshape(side, side)
    tails = np.concatenate([at[:, :-1].ravel(), at[:-1].ravel()])
    heads = np.concatenate([at[:, 1:].ravel(), at[1:].ravel()])
    if directed:
        tails, heads = np.concatenate([tails, heads]), np.concatenate([heads, tails])
    rng = np.random.default_rng(seed)
    weights = rng.integers(1, 100, len(tails)).astype(dtype)
    if np.dtype(dtype).kind == "f":
        weights = (weights / 7).astype(dtype)
    return Graph.from_edges(tails, heads, weights, n_vertices=side * side, directed=directed)


@pytest.mark.parametrize("lanes", [0, 1, 2])
@pytest.mark.parametrize("dtype", ["int32", "int64", "float32", "float64"])
def test_lanes_of_every_width(dtype: str, lanes: int) -> None:
    graph = mesh(23, dtype)
    prepared = ready(graph)
    narrow = 16 if np.dtype(dtype).itemsize == 4 else 8
    sources = np.random.default_rng(1).integers(0, graph.n_vertices, 53)
    want = nearfar.distances(graph, sources, method="worker_per_source")
    given: dict[str, Any] = {"method": "elimination_tree_rows", "threads": 3}
    targets = sources[::5]
    if np.dtype(dtype).kind == "f":
        found = nearfar.distances(prepared, sources, lanes=lanes * narrow, sums="search", **given)
        np.testing.assert_array_equal(found, want)
        want = prepared.distances_of_pairs(every_pair(graph.n_vertices)).reshape(want.shape[1], -1)
        want = want[sources]
        narrow = 16 if prepared.metric.dtype.itemsize == 4 else 8
    found = nearfar.distances(prepared, sources, lanes=lanes * narrow, **given)
    np.testing.assert_array_equal(found, want)
    found = nearfar.distances(prepared, sources, targets=targets, **given)
    np.testing.assert_array_equal(found, want[:, targets])
    with pytest.raises(OptionError, match="lanes is 3"):
        nearfar.distances(prepared, sources, method="elimination_tree_rows", lanes=3)


def test_a_mesh_in_pairs_and_labels() -> None:
    graph = mesh(30)
    prepared = ready(graph)
    rng = np.random.default_rng(2)
    pairs = rng.integers(0, graph.n_vertices, (3000, 2))
    want = nearfar.distances(graph, pairs=pairs)
    np.testing.assert_array_equal(prepared.distances_of_pairs(pairs), want)
    labels = prepared.label()
    assert labels.nbytes >= prepared.label_bytes
    np.testing.assert_array_equal(labels.distances_of_pairs(pairs), want)
    sizes = [labels.up.nbytes]
    for compact in (1, 4, 16, 64, graph.n_vertices):
        some = prepared.label(compact=compact)
        sizes.append(some.up.nbytes)
        np.testing.assert_array_equal(some.distances_of_pairs(pairs), want)
    assert sizes[-1] == 0
    assert all(b < a for a, b in itertools.pairwise(sizes))
    for wrong in (-1, 1.5, True, "16"):
        with pytest.raises(OptionError, match="compact is"):
            prepared.label(compact=wrong)  # type: ignore[arg-type]
    with pytest.raises(OutOfMemoryError, match="compact=16"):
        prepared.label(prepared.label_bytes - 1)
    assert [prepared.distance(s, t) for s, t in pairs[:20].tolist()] == want[:20].tolist()
    for s, t in pairs[:50].tolist():
        steps, length = prepared.path(s, t)
        assert length == nearfar.sssp(graph, s).distance_to(t)
        check_path(graph, prepared.path_edges(s, t), s, t, length)
        assert len(steps) == len(set(steps))


@pytest.mark.parametrize("kind", ["int32", "float64", "signed", "tiny"])
def test_no_path_passes_a_vertex_twice_over_weights_of_0(kind: str) -> None:
    rng = np.random.default_rng(3)
    for _ in range(20):
        n, m = 12, 40
        ends = rng.integers(0, n, (2, m))
        weights = rng.integers(0, 2, m) * rng.integers(0, 4, m)
        if kind == "signed":  # differences of heights: every cycle of them weighs 0
            heights = rng.integers(0, 5, n)
            weights = heights[ends[1]] - heights[ends[0]]
        elif kind == "tiny":  # 0 in fixed point
            weights = np.where(weights > 0, 1e6 * weights, 1e-25)
        graph = Graph.from_edges(*ends, weights.astype("float64" if kind == "tiny" else
                                 "int64" if kind == "signed" else kind), n_vertices=n)  # fmt: skip
        prepared = ready(graph)
        pairs = every_pair(n)
        found = prepared.paths_of_pairs(pairs)
        lengths = prepared.distances_of_pairs(pairs)
        for i, (s, t) in enumerate(pairs.tolist()):
            edges = found.edges[found.offsets[i] : found.offsets[i + 1]]
            assert not len(edges) or found.reached[i]
            passed = [s, *graph.indices[edges].tolist()]
            assert len(set(passed)) == len(passed)
            if found.reached[i]:
                assert prepared.path_edges(s, t).tolist() == edges.tolist()
                assert prepared.path(s, t)[0] == passed
                assert passed[-1] == t
                assert prepared.lengths(edges)[-1] == lengths[i]


@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_floats_in_fixed_point_and_as_a_search_adds(dtype: str) -> None:
    graph = mesh(25, dtype)
    prepared = ready(graph)
    want = nearfar.sssp(graph, 3).distances
    given = {"method": "elimination_tree"}
    found = nearfar.sssp(prepared, 3, **given).distances
    np.testing.assert_allclose(found, want, rtol=1e-5 if dtype == "float32" else 1e-12)
    assert (nearfar.sssp(prepared, 3, sums="search", **given).distances == want).all()
    assert prepared.describe_preparation()["sums"] == "fixed point"
    assert prepared.describe_preparation()["exact"] == (dtype == "float32")
    for s, t in np.random.default_rng(3).integers(0, 625, (100, 2)).tolist():
        search = prepared.distance(s, t, sums="search")
        hops = len(prepared.path_edges(s, t))
        assert abs(search - prepared.distance(s, t)) <= np.finfo(dtype).eps * hops * search
    with pytest.raises(OptionError, match="sums is 'any'"):
        prepared.distance(0, 1, sums="any")  # type: ignore[arg-type]


def test_pairs_of_floats_with_too_many_nearly_shortest_ways() -> None:
    """In float32 the rounding bound leaves much of a mesh open, so rows answer."""
    side = 120
    plain = mesh(side, "int32", seed=3)
    graph = Graph(plain.indptr, plain.indices, np.ones(plain.n_edges, np.float32))
    prepared = ready(graph)
    n = graph.n_vertices
    pairs = np.array([[0, n - 1], [5, n - 7], [0, 1]])
    want = nearfar.distances(graph, pairs=pairs)
    np.testing.assert_array_equal(prepared.distances_of_pairs(pairs, sums="search"), want)
    searched = prepared.summing("search")
    check_path(searched, searched.path_edges(0, n - 1), 0, n - 1, want[0])
    assert searched.path_edges(0, 1).shape == (1,)


def test_the_lightest_parallel_edge_where_rounding_hides_the_difference() -> None:
    """1 + 2e-9 and 1 + 1e-9 are both 1 in float32: the path must name the lighter edge."""
    weights = np.array([1, 2e-9, 1e-9, 1e-9], np.float32)
    graph = Graph.from_edges([0, 1, 1, 1], [1, 2, 2, 2], weights)
    for prepared in (ready(graph), ready(graph).summing("search")):
        assert prepared.path_edges(0, 2).tolist() == [0, 2]
        check_path(prepared, prepared.path_edges(0, 2), 0, 2, np.float32(1))


def test_sums_beyond_32_bits_come_back_in_64() -> None:
    n = 40
    graph = Graph.from_edges(
        np.arange(n - 1), np.arange(1, n), np.full(n - 1, 2**30, np.int32), n_vertices=n + 1
    )
    prepared = ready(graph)
    assert prepared.distance(0, n - 1) == (n - 1) * 2**30
    assert prepared.distance(0, 1) == 2**30
    assert prepared.distance(0, n) == float("inf")
    assert prepared.path(0, n - 1) == (list(range(n)), (n - 1) * 2**30)
    found = prepared.distances_of_pairs([(0, n - 1), (0, 1), (1, 0)])
    assert found.tolist() == [(n - 1) * 2**30, 2**30, 2**63 - 1]
    for compact in (0, 8):
        labels = prepared.label(compact=compact).distances_of_pairs([(0, n - 1), (0, 1), (1, 0)])
        assert labels.tolist() == found.tolist()
    rows = nearfar.distances(prepared, [0], method="elimination_tree_rows")
    assert rows.dtype == np.int64
    assert rows[0, n - 1] == (n - 1) * 2**30
    assert (
        nearfar.sssp(prepared, 0, method="elimination_tree").distance_to(n - 1) == (n - 1) * 2**30
    )


def test_sums_beyond_64_bits_are_refused() -> None:
    graph = Graph.from_edges([0, 1, 2], [1, 2, 3], np.full(3, 2**62, np.int64), n_vertices=5)
    prepared = ready(graph)
    with pytest.raises(DistanceOverflowError):
        prepared.distance(0, 3)
    assert prepared.distance(0, 4) == float("inf")


def test_vertex_names() -> None:
    graph = Graph.from_csr(
        np.array([0, 1, 2, 2]), np.array([1, 2]), np.array([5, 6]), vertex_names=["a", "b", "c"]
    )
    prepared = ready(graph)
    assert prepared.distance("a", "c") == 11
    assert prepared.path("a", "c") == (["a", "b", "c"], 11)
    assert prepared.distances_of_pairs([("a", "b"), ("b", "c")]).tolist() == [5, 6]
    with pytest.raises(VertexError):
        prepared.distance("a", "d")
    with pytest.raises(UnreachableError, match="'a' is not reached from 'c'"):
        prepared.path("c", "a")


def test_bad_pairs() -> None:
    prepared = ready(mesh(4))
    with pytest.raises(VertexError):
        prepared.distances_of_pairs(np.array([[0, 99]]))
    for wrong in (np.zeros((2, 3), int), [(1, 2, 3)], 5):
        with pytest.raises(OptionError, match="pair"):
            prepared.distances_of_pairs(wrong)
    with pytest.raises(OptionError, match="threads"):
        prepared.distances_of_pairs([(0, 1)], threads=0)
    with pytest.raises(OutOfMemoryError):
        prepared.label(memory=10)
    with pytest.raises(OptionError, match="memory is '4G': give a number of bytes"):
        prepared.label(memory="4G")  # type: ignore[call-overload]


@settings(max_examples=40)
@given(st.data())
def test_reweight_and_update(data: st.DataObject) -> None:
    graph = data.draw(graphs(max_vertices=14, dtypes=("int32", "int64", "float64")))
    prepared = ready(graph)
    m = graph.n_edges
    weights = np.array(
        data.draw(st.lists(st.integers(0, 50), min_size=m, max_size=m)), dtype=graph.weight_dtype
    )
    prepared = prepared.reweight(weights, perfect=data.draw(st.sampled_from([None, True, False])))
    check_all(graph.with_weights(weights), prepared)
    if not m:
        return
    for _ in range(data.draw(st.integers(1, 5))):
        some = data.draw(st.lists(st.integers(0, m - 1), min_size=1, max_size=3, unique=True))
        new = data.draw(st.lists(st.integers(0, 80), min_size=len(some), max_size=len(some)))
        weights = weights.copy()
        weights[some] = new
        perfect = data.draw(st.sampled_from([None, True, False]))
        before = prepared.perfect
        prepared = prepared.update(some, new, perfect=perfect)
        assert prepared.perfect == (before if perfect is None else perfect)
        np.testing.assert_array_equal(prepared.weights, weights)
    check_all(graph.with_weights(weights), prepared)


def test_update_recomputes_little_and_refuses_nonsense() -> None:
    graph = mesh(40)
    prepared = ready(graph)
    changed = prepared.update([5], [1000])
    assert changed.weights[5] == 1000
    assert prepared.weights[5] == graph.weights[5]
    assert 0 < changed.n_updated < 200
    # One direction of a symmetric graph changes: no further arcs are recomputed.
    alike = ready(Graph(graph.indptr, graph.indices, np.full(graph.n_edges, 9, np.int32)))
    assert alike.metric.sides == 1
    one_way = alike.update([5], [1])
    assert one_way.metric.sides == 2
    assert 0 < one_way.n_updated < 200
    for s, t in ((0, 1599), (1599, 0)):
        searched = Graph(graph.indptr, graph.indices, one_way.weights)
        assert one_way.distance(s, t) == nearfar.sssp(searched, s).distance_to(t)
    plain = prepared.update([5], [1000], perfect=False)
    assert not plain.perfect
    assert plain.n_updated == changed.n_updated
    assert len(plain.metric.up.weight) > len(changed.metric.up.weight)
    want = nearfar.sssp(Graph(graph.indptr, graph.indices, changed.weights), 7).distances
    np.testing.assert_array_equal(
        nearfar.sssp(changed, 7, method="elimination_tree").distances, want
    )
    assert prepared.update([], []).n_updated == 0
    assert prepared.update([5, 5], [7, 8]).weights[5] == 8
    with pytest.raises(nearfar.GraphError, match="do not fit int32"):
        prepared.update([1], [1.5])
    with pytest.raises(nearfar.GraphError, match="edge 99999 does not exist"):
        prepared.update([99999], [1])
    with pytest.raises(nearfar.GraphError, match="do not fit int32"):
        prepared.update([1], [2**40])
    with pytest.raises(nearfar.GraphError, match="one weight per edge"):
        prepared.update([1, 2], [3])
    with pytest.raises(nearfar.GraphError, match="give numbers"):
        prepared.update([1], ["a"])
    masked = np.ma.masked_equal(graph.weights, graph.weights[3])
    for refused in (lambda: prepared.update([3], masked[[3]]), lambda: prepared.reweight(masked)):
        with pytest.raises(nearfar.GraphError, match="masked entries"):
            refused()
    with pytest.raises(nearfar.GraphError, match="cannot be read as an array"):
        prepared.reweight([1, [2]])  # type: ignore[list-item]
    with pytest.raises(NegativeCycleError):
        prepared.update([1], [-(10**6)])


def test_other_dtypes_and_copies_stay_prepared() -> None:
    graph = mesh(9)
    prepared = ready(graph)
    wide = prepared.astype(np.int64)
    assert isinstance(wide, Prepared)
    assert wide is prepared.astype(np.int64)
    assert wide.distance(0, 80) == prepared.distance(0, 80)
    copied = pickle.loads(pickle.dumps(prepared))
    assert isinstance(copied, Prepared)
    assert copied.distance(0, 80) == prepared.distance(0, 80)
    assert nearfar.prepare(prepared) is prepared
    assert type(prepared.without_weights()) is Graph


@given(graphs(max_vertices=16), st.integers(0, 60))
def test_pairs_and_paths_within_a_limit(graph: Graph, limit: int) -> None:
    prepared = ready(graph)
    n = graph.n_vertices
    pairs = every_pair(n)
    want = nearfar.distances(graph, pairs=pairs, limit=limit)
    if prepared.fixed is not None:
        want = prepared.distances_of_pairs(pairs)
        want[want > limit] = np.inf
    found = nearfar.distances(prepared, pairs=pairs, limit=limit)
    assert found.dtype == want.dtype
    np.testing.assert_array_equal(found, want)
    for source, target in [(0, n - 1), (n - 1, n // 2)]:
        length = want[source * n + target]
        if length == unreached_value(want.dtype):
            with pytest.raises(UnreachableError, match="is not reached from"):
                nearfar.shortest_path(prepared, source, target, limit=limit)
        else:
            stats: dict[str, Any] = {}
            path, total = nearfar.shortest_path(prepared, source, target, limit=limit, stats=stats)
            assert total == length
            assert path[0] == source
            assert path[-1] == target
            assert stats["reason"].startswith("prepared: a walk")


def test_a_named_method_gives_a_search_s_path() -> None:
    graph = as_dtype(ZOO["grid"](), "int32")  # many shortest paths
    flat = Graph(graph.indptr, graph.indices, np.ones(graph.n_edges, np.int32))
    prepared = ready(flat)
    last = flat.n_vertices - 1
    want = nearfar.shortest_path(flat, 0, last)
    assert nearfar.shortest_path(prepared, 0, last)[1] == want[1]
    assert nearfar.shortest_path(prepared, 0, last, method="elimination_tree") == want
    assert nearfar.shortest_path(prepared, 0, last, weight=None) == want
    with pytest.raises(OptionError, match="limit is -1"):
        nearfar.shortest_path(prepared, 0, 1, limit=-1)


def test_lengths_along_a_path() -> None:
    for dtype in ("int32", "float32"):
        graph = mesh(12, dtype)
        prepared = ready(graph)
        steps, length = prepared.path(0, 143)
        lengths = prepared.lengths(prepared.path_edges(0, 143))
        rows = nearfar.sssp(prepared, 0, method="elimination_tree").distances
        assert lengths == rows[steps].tolist()
        assert lengths[-1] == length
        assert prepared.lengths(prepared.path_edges(5, 5)) == [0]


@pytest.mark.parametrize("count", [3, 16, 40, 300])
@pytest.mark.parametrize("dtype", ["int32", "int64", "float64"])
def test_tables_of_sources_in_any_order(count: int, dtype: str) -> None:
    """Sources share the paths to the root of their tree, and targets their ancestors."""
    rng = np.random.default_rng(count)
    for directed, edges in ((True, 260), (False, 150)):  # the second falls into many parts
        tails, heads = rng.integers(0, 200, (2, edges))
        weights = rng.integers(0, 30, edges).astype(dtype)
        graph = Graph.from_edges(tails, heads, weights, n_vertices=200, directed=directed)
        prepared = ready(graph)
        sources, targets = rng.integers(0, 200, count), rng.integers(0, 200, 25)
        rows = nearfar.distances(graph, sources, device="cpu")
        method = "elimination_tree_rows"
        np.testing.assert_array_equal(nearfar.distances(prepared, sources, method=method), rows)
        for threads in (1, 2):
            table = nearfar.distances(
                prepared, sources, targets=targets, method=method, threads=threads
            )
            np.testing.assert_array_equal(table, rows[:, targets])


@pytest.mark.parametrize("limit", [0, 60, 200, 1000, 10**6])
@pytest.mark.parametrize("directed", [False, True])
def test_rows_within_a_limit(limit: int, directed: bool) -> None:
    graph = mesh(60, directed=directed)
    prepared = nearfar.prepare(graph)
    sources = np.random.default_rng(0).integers(0, graph.n_vertices, 20)
    want = nearfar.distances(graph, sources, limit=limit)
    found = nearfar.distances(prepared, sources, limit=limit, method="elimination_tree_rows")
    np.testing.assert_array_equal(found, want)
    for source, row in zip(sources[:5].tolist(), want, strict=False):
        paths = nearfar.sssp(prepared, source, limit=limit, method="elimination_tree")
        np.testing.assert_array_equal(paths.distances, row)
        nearfar.verify(graph, paths)


def test_a_limit_leaves_out_subtrees() -> None:
    graph = mesh(60)
    prepared = nearfar.prepare(graph)
    out = np.empty((1, graph.n_vertices), dtype=np.int32)
    start = np.array([1830])

    def looks_at_most(limit: int, most: int) -> bool:
        return _cpu.prepared_rows_within(prepared.metric_view, start, limit, most, out, 1)

    near = int(np.count_nonzero(nearfar.sssp(graph, 1830, limit=60).reachable))
    assert near < 60
    assert looks_at_most(60, 900)
    assert np.count_nonzero(out != 2**31 - 1) == near
    assert not looks_at_most(10**6, 900)
    assert looks_at_most(10**6, 3600)


def test_lightest_of_parallel_edges_where_the_sums_are_equal() -> None:
    """In float32 both sums are 1, so only the weights distinguish the edges."""
    weights = np.array([1, 2e-10, 1e-10], dtype=np.float32)
    for order in ([0, 1, 2], [0, 2, 1]):
        heads = np.array([1, 2, 2], dtype=np.int32)
        graph = Graph(np.array([0, 1, 3, 3]), heads, weights[order])
        path = ready(graph).path_edges(0, 2)
        assert graph.effective_weights[path].tolist() == weights[[0, 2]].tolist()


@pytest.mark.parametrize("directed", [False, True])
@pytest.mark.parametrize("compact", [0, 8])
def test_labels_stay_in_a_file(directed: bool, compact: int, tmp_path: Path) -> None:
    graph = mesh(20, "float64", directed)
    prepared = ready(graph)
    file = tmp_path / "labels.nfp"
    labels = prepared.label(compact=compact)
    labels.save(file)
    found = prepared.read_labels(file)
    assert found.compact == compact
    assert isinstance(found.up, np.memmap) or isinstance(found.up.base, np.memmap)
    pairs = np.random.default_rng(3).integers(0, graph.n_vertices, (500, 2))
    want = labels.distances_of_pairs(pairs)
    np.testing.assert_array_equal(found.distances_of_pairs(pairs), want)
    np.testing.assert_array_equal(prepared.distances_of_pairs(pairs, memory=0), want)
    again = ready(graph).read_labels(file, check=False)
    np.testing.assert_array_equal(again.distances_of_pairs(pairs), want)
    heavier = prepared.reweight(graph.weights + 1)
    with pytest.raises(GraphFormatError, match="belong to another graph"):
        heavier.read_labels(file)
    prepared.save(tmp_path / "graph.nfp")
    with pytest.raises(GraphFormatError, match="no labels"):
        prepared.read_labels(tmp_path / "graph.nfp")
    with pytest.raises(GraphFormatError, match="this file holds labels"):
        nearfar.load(file)
    damaged = bytearray(file.read_bytes())
    damaged[-200] ^= 1
    file.write_bytes(damaged)
    with pytest.raises(GraphFormatError):
        prepared.read_labels(file)
    with pytest.raises(OptionError, match="nfp"):
        labels.save(tmp_path / "labels.npy")


@pytest.mark.parametrize("dtype", ["int32", "int64", "float32", "float64"])
def test_many_pairs_in_one_call_make_labels(dtype: str) -> None:
    """Labels are used from a quarter of the vertices on, within the memory limit."""
    graph = mesh(70, dtype)
    prepared = ready(graph)
    n = graph.n_vertices
    pairs = np.random.default_rng(2).integers(0, n, (n // 4 + 1, 2))
    stats: dict[str, Any] = {}
    found = prepared.distances_of_pairs(pairs, 2, stats=stats)
    assert stats["pairs_by"] == "labels"
    assert stats["label_bytes"] >= prepared.label_bytes
    assert stats["label_seconds"] > 0
    full = stats["label_bytes"]
    packed = prepared.distances_of_pairs(pairs, 2, stats=stats, memory=prepared.label_bytes - 1)
    assert stats["pairs_by"] == "labels"
    assert stats["label_bytes"] < full / 2
    np.testing.assert_array_equal(found, packed)
    for few, how in ((pairs[:-2], {}), (pairs, {"memory": 1000})):
        stats = {}
        want = prepared.distances_of_pairs(few, 2, stats=stats, **how)
        assert stats == {"pairs_by": "walks"}
        np.testing.assert_array_equal(found[: len(few)], want)
    np.testing.assert_array_equal(nearfar.distances(prepared, pairs=pairs, stats=stats), found)
    assert stats["pairs_by"] == "labels"
    assert "labels" in stats["reason"]
    np.testing.assert_array_equal(
        nearfar.distances(prepared, pairs=pairs, memory=0, stats=stats), found
    )
    assert stats["pairs_by"] == "walks"
    if graph.weight_dtype.kind == "f":  # a search's sums are walks
        prepared.distances_of_pairs(pairs, 2, sums="search", stats=stats)
        assert stats["pairs_by"] == "walks"


def test_many_pairs_whose_sums_do_not_fit_come_back_in_64_bits() -> None:
    n = 1200
    weights = np.full(n - 1, 2**30, np.int32)
    prepared = ready(Graph.from_edges(np.arange(n - 1), np.arange(1, n), weights))
    ends = np.random.default_rng(0).integers(0, n, 2000)
    stats: dict[str, Any] = {}
    found = prepared.distances_of_pairs(np.stack([0 * ends, ends], 1), stats=stats)
    assert stats["pairs_by"] == "labels"
    assert found.dtype == np.int64
    np.testing.assert_array_equal(found, ends * 2**30)
