"""Closed and slowed streets, compared with graphs that are built and prepared anew."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import nearfar
from nearfar.errors import GraphError
from nearfar.graph.dtypes import unreached_value
from tests.covering import pairwise
from tests.graph.test_snapping import streets


def rebuilt(g: nearfar.Graph, closed: np.ndarray, weights: Any = None) -> nearfar.Graph:
    """Return the graph built from the remaining edges."""
    keep = np.ones(g.n_edges, bool)
    keep[closed] = False
    w = g.effective_weights if weights is None else weights
    return nearfar.Graph.from_edges(
        g.tails()[keep], g.indices[keep], w[keep], n_vertices=g.n_vertices
    )


@pytest.mark.parametrize(
    ("dtype", "seed", "perfect"),
    pairwise(["int32", "int64", "float32", "float64"], range(4), [False, True]),
)
def test_a_closed_edge_is_gone(dtype: str, seed: int, perfect: bool) -> None:
    g = streets(25, seed=seed).astype(np.int64).astype(dtype)
    rng = np.random.default_rng(seed)
    prepared = nearfar.prepare(g, force=True)
    for count in (1, 3, g.n_edges // 2, g.n_edges):
        closed = rng.choice(g.n_edges, count, replace=False)
        want = nearfar.all_pairs(rebuilt(g, closed))
        plain = g.without_edges(closed)
        assert np.array_equal(nearfar.all_pairs(plain), want)
        made = prepared.without_edges(closed, perfect=perfect)
        assert np.array_equal(nearfar.all_pairs(made), want)
        pairs = np.indices((25, 25)).reshape(2, -1).T
        assert np.array_equal(made.distances_of_pairs(pairs), want.ravel())
        paths = made.paths_of_pairs(pairs)
        assert not np.isin(paths.edges, closed).any()
        lengths = [made.lengths(paths.edges[a:b])[-1] for a, b in
                   zip(paths.offsets[:-1], paths.offsets[1:], strict=True)]  # fmt: skip
        reached = want.ravel() != unreached_value(want.dtype)
        assert np.array_equal(paths.reached, reached)
        assert np.allclose(np.array(lengths)[reached], want.ravel()[reached].astype(float))
        again = made.without_edges(closed[:1])  # closed already
        assert np.array_equal(nearfar.all_pairs(again), want)


@pytest.mark.parametrize("dtype", ["int32", "float64"])
def test_a_closed_edge_of_negative_weight_is_no_cycle(dtype: str) -> None:
    weights = np.array([5, -4, 3, 2], dtype=dtype)
    g = nearfar.Graph.from_edges([0, 1, 0, 2], [1, 2, 2, 3], weights)
    closed = g.edges_between(1, 2)
    for shut in (g.without_edges(closed), nearfar.prepare(g, force=True).without_edges(closed)):
        assert nearfar.distances(shut, [0]).tolist() == [[0, 5, 3, 5]]
        assert shut.n_negative == 0
        shut.without_edges(closed)
    assert g.n_negative == 1


def test_undirected_graphs_stay_so_where_both_directions_close() -> None:
    g = nearfar.Graph.from_edges([0, 1, 2], [1, 2, 0], [4, 5, 6], directed=False)
    both = np.concatenate([g.edges_between(0, 1), g.edges_between(1, 0)])
    shut = g.without_edges(both)
    assert not shut.directed
    assert nearfar.distances(shut, [0, 1], targets=[1, 0]).tolist() == [[11, 0], [0, 11]]
    one_way = g.without_edges(both[:1])
    assert one_way.directed
    assert nearfar.distances(one_way, [0, 1], targets=[1, 0]).tolist() == [[11, 0], [0, 4]]
    prepared = nearfar.prepare(g, force=True)
    half = prepared.without_edges(both[:1])
    assert half.distance(0, 1) == 11
    assert half.distance(1, 0) == 4
    assert half.transpose().attributes.get("closed_edges") is None


@pytest.mark.parametrize("dtype", ["int32", "float64"])
@pytest.mark.parametrize("perfect", [False, True])
def test_base_and_changed_beside_each_other(dtype: str, perfect: bool) -> None:
    g = streets(30, seed=8).astype(dtype)
    prepared = nearfar.prepare(g, force=True)
    rng = np.random.default_rng(1)
    some = rng.permutation(g.n_edges)
    closed, slow, fast = some[:5], some[5:15], some[15:20]
    both = prepared.scenario(closed=closed, factor=[(slow, 1.5), (fast, 0)], perfect=perfect)
    weights = g.effective_weights.astype(np.float64)
    weights[slow] *= 1.5
    weights[fast] = 0
    weights = np.rint(weights).astype(dtype) if dtype == "int32" else weights
    want = nearfar.all_pairs(rebuilt(g, closed, weights))
    assert np.array_equal(nearfar.all_pairs(both.changed), want)
    assert both.base is prepared
    assert both.closed.tolist() == sorted(closed.tolist())
    same = prepared.scenario()
    assert same.changed is prepared
    tuples = prepared.scenario(factor={(3, 4): 2.0, 5: 3})
    assert tuples.changed.weights[[3, 4, 5]].tolist() == [  # type: ignore[index]
        2 * g.weights[3], 2 * g.weights[4], 3 * g.weights[5]  # type: ignore[index]
    ]  # fmt: skip


def test_a_table_for_both() -> None:
    import pandas

    g = streets(30, seed=9)
    prepared = nearfar.prepare(g, force=True)
    rng = np.random.default_rng(3)
    a = pandas.DataFrame(rng.uniform(100, 700, (12, 2)), columns=["x", "y"])
    b = rng.uniform(100, 600, (9, 2))
    closed = np.arange(0, g.n_edges, 7)
    both = prepared.scenario(closed=closed)
    found = nearfar.table(both, a, b)
    assert found.base.equals(nearfar.table(g, a, b))
    # Places keep their positions, also on closed streets, which no path uses.
    homes, work = g.snap(a["x"], a["y"]), g.snap(*b.T)
    assert np.isin(homes.edge, closed).any()
    plain = nearfar.table(g.without_edges(closed), homes, work)
    assert np.allclose(found.scenario.to_numpy(), plain, equal_nan=True)
    change = (found.scenario - found.base).to_numpy()
    assert np.allclose(found.difference.to_numpy(), change, equal_nan=True)
    assert np.nanmin(change) >= -1e-9
    assert np.nanmax(change) > 0 or np.isnan(change).any()
    again = g.without_edges(closed).snap(a["x"], a["y"], parts="all")
    assert not np.isin(again.edge, closed).any()
    arrays = nearfar.table(both, homes, work)
    assert np.array_equal(arrays.difference, arrays.scenario - arrays.base, equal_nan=True)


@pytest.mark.parametrize(
    ("given", "text"),
    [
        ({"closed": [99999]}, "edge 99999 does not exist"),
        ({"closed": [0.5]}, "give positions of edges"),
        ({"factor": {0: -1}}, "at least 0"),
        ({"factor": {0: "slow"}}, "at least 0"),
        ({"factor": [(0, 1.5), ([0, 1], 2)]}, "edge 0 has two factors"),
        ({"factor": [3]}, "give .edges, number."),
        ({"factor": 3}, "give a mapping"),
        ({"factor": {0: 1e12}}, "does not fit int32"),
    ],
)
def test_bad_input_is_told_in_a_sentence(given: dict[str, Any], text: str) -> None:
    prepared = nearfar.prepare(streets(10, seed=1).astype(np.int32), force=True)
    with pytest.raises(GraphError, match=text):
        prepared.scenario(**given)
