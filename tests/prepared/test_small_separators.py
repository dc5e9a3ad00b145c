"""Prepared graphs with small separators, compared with searches: random meshes, real maps.

Sums that do not fit the dtype are drawn too.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import nearfar
from nearfar import DistanceOverflowError, Graph
from nearfar.graph.dtypes import unreached_value
from nearfar.solve import Reduction
from nearfar.solve.rows.reductions import ReducingSink
from tests.datafiles import data_path
from tests.prepared.test_queries import check_path, every_pair, ready
from tests.strategies import graphs

ROWS = "elimination_tree_rows"


@st.composite
def meshes(draw: Any) -> Graph:
    """Draw a grid with holes, one-way streets, distant bridges, loops and parallel edges."""
    rows, columns = draw(st.integers(2, 16)), draw(st.integers(2, 16))
    rng = np.random.default_rng(draw(st.integers(0, 2**32 - 1)))
    at = np.arange(rows * columns).reshape(rows, columns)
    tails = np.concatenate([at[:, :-1].ravel(), at[:-1].ravel()])
    heads = np.concatenate([at[:, 1:].ravel(), at[1:].ravel()])
    both = rng.random(len(tails)) < draw(st.sampled_from([0.5, 1.0]))
    tails, heads = np.append(tails, heads[both]), np.append(heads, tails[both])
    there = rng.random(len(tails)) < draw(st.sampled_from([0.6, 0.9, 1.0]))
    extra = rng.integers(0, rows * columns, (2, draw(st.integers(0, 4))))  # loops and bridges
    again = rng.integers(0, max(int(there.sum()), 1), 3 if there.any() else 0)
    tails, heads = tails[there], heads[there]
    tails = np.concatenate([tails, tails[again], extra[0]])
    heads = np.concatenate([heads, heads[again], extra[1]])
    dtype = draw(st.sampled_from(["int32", "int64", "float32", "float64"]))
    most = draw(st.sampled_from([1, 9, 1000]))
    weights = rng.integers(0, most + 1, len(tails)).astype(dtype)
    if weights.dtype.kind == "f":
        weights *= rng.choice(np.array([1e-3, 1.0, 0.7], dtype=dtype))
    return Graph.from_edges(tails, heads, weights, n_vertices=rows * columns)


@settings(max_examples=60, deadline=None)
@given(meshes(), st.booleans())
def test_meshes(graph: Graph, perfect: bool) -> None:
    prepared = ready(graph, perfect=perfect)
    n = graph.n_vertices
    want = nearfar.all_pairs(graph, threads=1, method="worker_per_source")
    form = {} if prepared.fixed is None else {"sums": "search"}
    rows = nearfar.all_pairs(prepared, method=ROWS, threads=2, **form)
    np.testing.assert_array_equal(rows, want)
    if prepared.fixed is not None:
        np.testing.assert_allclose(nearfar.all_pairs(prepared, method=ROWS), want, rtol=1e-5)
        graph, want = prepared, nearfar.all_pairs(prepared, method=ROWS)
    pairs = np.random.default_rng(0).integers(0, n, (60, 2))
    vector = want[pairs[:, 0], pairs[:, 1]]
    np.testing.assert_array_equal(prepared.distances_of_pairs(pairs), vector)
    np.testing.assert_array_equal(prepared.label().distances_of_pairs(pairs), vector)
    targets = pairs[:7, 1]
    table = nearfar.distances(prepared, pairs[:9, 0], targets=targets, method=ROWS)
    np.testing.assert_array_equal(table, want[pairs[:9, 0]][:, targets])
    none = unreached_value(want.dtype)
    for (s, t), length in list(zip(pairs.tolist(), vector, strict=True))[:8]:
        if length != none:
            check_path(prepared, prepared.path_edges(s, t), s, t, length)
    for how in ("count", "sum", "max", "nearest:3"):
        found = nearfar.distances(prepared, pairs[:5, 0], reduce=how, method=ROWS)
        given = {} if prepared.fixed is None else {"method": ROWS}
        rows = nearfar.distances(graph, pairs[:5, 0], **given)
        sink = ReducingSink(Reduction.parse(how), pairs[:5, 0], None, graph)
        sink.start(rows.shape, rows.dtype)
        sink.put(0, 0, rows)
        np.testing.assert_array_equal(found, sink.finish())
    paths = nearfar.sssp(prepared, 0, method="elimination_tree", predecessors=True)
    nearfar.verify(graph, paths)
    if prepared.fixed is None or prepared.fixed.exact:
        summed = nearfar.sssp(prepared.summed, 0)
        np.testing.assert_array_equal(paths.predecessors, summed.predecessors)


@st.composite
def heavy(draw: Any) -> Graph:
    """Draw integers whose sums often do not fit, some not even in 64 bits."""
    graph = draw(graphs(max_vertices=10, max_edges=30, dtypes=("int32", "int64")))
    wide = graph.weight_dtype == np.int64
    top = 2**61 if wide else 2**31 - 2
    m = graph.n_edges
    values = st.one_of(st.integers(0, 5), st.integers(top // 4, top))
    weights = draw(st.lists(values, min_size=m, max_size=m))
    return Graph(graph.indptr, graph.indices, np.array(weights, dtype=graph.weight_dtype))


def outcome(ask: Any) -> Any:
    try:
        return ask().tolist()
    except DistanceOverflowError:
        return "does not fit"


@given(heavy())
def test_sums_that_do_not_fit(graph: Graph) -> None:
    prepared = ready(graph)
    pairs = every_pair(graph.n_vertices)
    # A request is answered as a whole: one distance that does not fit refuses it.
    want = outcome(lambda: nearfar.all_pairs(graph, method="worker_per_source", threads=1))
    assert outcome(lambda: nearfar.all_pairs(prepared, method=ROWS, threads=1)) == want
    vector = want if isinstance(want, str) else [d for row in want for d in row]
    assert outcome(lambda: prepared.distances_of_pairs(pairs, 1)) == vector
    assert outcome(lambda: prepared.label().distances_of_pairs(pairs, 1)) == vector
    assert outcome(lambda: nearfar.all_pairs(graph, method="prepare_first", threads=1)) == want
    if isinstance(want, str):
        return
    for s, t in pairs[:: max(1, len(pairs) // 8)].tolist():
        if want[s][t] != unreached_value(np.dtype(np.int64)) and prepared.distance(s, t) < 2**63:
            steps, length = prepared.path(s, t)
            assert length == want[s][t]
            assert (steps[0], steps[-1]) == (s, t)


@pytest.mark.parametrize(
    "name", ["dimacs10-metis/power.graph.xz", "dimacs9-road/USA-road-d.NY.gr.xz"]
)
def test_real_maps(name: str) -> None:
    graph = nearfar.read(data_path(name))
    prepared = nearfar.prepare(graph)
    n = graph.n_vertices
    at = np.random.default_rng(1).integers(0, n, 24)
    sources = graph.name_of(at)
    want = nearfar.distances(graph, sources[:6])
    np.testing.assert_array_equal(nearfar.distances(prepared, sources[:6], method=ROWS), want)
    table = nearfar.distances(prepared, sources[:6], targets=sources, method=ROWS)
    np.testing.assert_array_equal(table, want[:, at])
    pairs = np.stack([np.repeat(sources[:6], 24), np.tile(sources, 6)], axis=1)
    np.testing.assert_array_equal(prepared.distances_of_pairs(pairs), want[:, at].ravel())
    for i in range(6):
        paths = nearfar.sssp(prepared, sources[i], method="elimination_tree")
        np.testing.assert_array_equal(paths.distances, want[i])
        steps, length = prepared.path(sources[i], sources[7])
        assert length == want[i, at[7]]
        assert nearfar.sssp(graph, sources[i]).distance_to(steps[-1]) == length
    nearfar.verify(graph, paths)
    near = nearfar.nearest(prepared, sources, k=4)
    far = nearfar.nearest(graph, sources, k=4)
    np.testing.assert_array_equal(near.distances, far.distances)
    np.testing.assert_array_equal(near.sources, far.sources)
