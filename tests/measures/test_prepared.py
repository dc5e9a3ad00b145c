"""Measures of prepared graphs: the same answers, from rows instead of searches."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import nearfar
from nearfar import Graph, measures
from nearfar.measures.centrality import brandes
from nearfar.measures.simple import many_rows
from tests.zoo import as_dtype

RNG = np.random.default_rng(2)
DEMAND = (RNG.integers(0, 60, 90), RNG.integers(0, 60, 90), RNG.integers(1, 9, 90))
EACH: dict[str, Callable[[Any], Any]] = {
    "betweenness": measures.betweenness,
    "of edges": lambda g: measures.betweenness(g, range(0, 60, 7), edges=True),
    "to targets": lambda g: measures.betweenness(g, targets=range(20), endpoints=True),
    "within": lambda g: measures.betweenness(g, limit=900),
    "closeness": measures.closeness,
    "harmonic": measures.harmonic,
    "eccentricity": measures.eccentricity,
    "diameter": measures.diameter,
    "radius": measures.radius,
    "center": measures.center,
    "periphery": measures.periphery,
    "average_length": measures.average_length,
    "efficiency": measures.efficiency,
    "path_counts": lambda g: measures.path_counts(g, 3).values(),
    "shortest_path_dag": lambda g: measures.shortest_path_dag(g, 3).predecessors,
    "all_shortest_paths": lambda g: list(measures.all_shortest_paths(g, 0, 59)),
    "edge_loads": lambda g: measures.edge_loads(g, DEMAND).loads,
    "skims": lambda g: measures.skims(
        g, range(9), range(50, 60), quantities=[np.arange(g.n_edges)]
    ).totals[0],
}


@pytest.fixture(scope="module", params=["int32", "float64", "unweighted"])
def both(request: pytest.FixtureRequest) -> tuple[Graph, Graph]:
    graph = as_dtype(nearfar.generate("grid", rows=8, columns=9), request.param)
    return graph, nearfar.prepare(graph)


@pytest.mark.parametrize("name", EACH)
def test_the_same_bits(name: str, both: tuple[Graph, Graph]) -> None:
    graph, prepared = both
    want, got = np.asarray(EACH[name](graph)), np.asarray(EACH[name](prepared))
    if graph.weight_dtype.kind == "f" and want.dtype.kind == "f":  # distances in fixed point
        np.testing.assert_allclose(got, want, rtol=1e-12)
    else:
        assert np.array_equal(want, got)


def test_rows_are_taken_where_they_pay() -> None:
    graph = nearfar.generate("grid", rows=60, columns=60)
    prepared = nearfar.prepare(graph)
    rows = many_rows(prepared, 200, 1)
    assert rows is not None
    assert (rows(np.array([4, 2])) == nearfar.distances(graph, [4, 2])).all()
    for other, count in ((graph, 200), (prepared, 3), (prepared.without_weights(), 200)):
        assert many_rows(other, count, 1) is None


def test_threads_make_no_difference() -> None:
    graph = nearfar.prepare(nearfar.generate("grid", rows=40, columns=40))
    demand = (RNG.integers(0, 1600, 900), RNG.integers(0, 1600, 900), RNG.random(900))
    assert many_rows(graph, 900, 1) is not None
    values = measures.betweenness(graph, threads=1)
    loads = measures.edge_loads(graph, demand, threads=1).loads
    for threads in (2, 5):
        assert (measures.betweenness(graph, threads=threads) == values).all()
        assert (measures.edge_loads(graph, demand, threads=threads).loads == loads).all()


def test_cycles_of_weight_zero_are_named() -> None:
    graph = Graph.from_edges([0, 1, 2, 3], [1, 2, 3, 1], [1, 0, 0, 0])
    with pytest.raises(nearfar.errors.ZeroCycleError, match="3 vertices"):
        measures.betweenness(nearfar.prepare(graph))


def test_searches_that_share_their_work(monkeypatch: pytest.MonkeyPatch) -> None:
    """A graph of small diameter: rows are computed together, with the same results."""
    rng = np.random.default_rng(8)
    tails, heads = rng.integers(0, 2000, (2, 9000))
    heads[4000:] += 1000  # a third has no out-edges
    weights = rng.integers(1, 90, 9000, dtype=np.int32)
    graph = Graph.from_edges(tails, heads, weights, n_vertices=3000)
    rows = many_rows(graph, 500, 1)
    assert rows is not None
    assert (rows(np.arange(40)) == nearfar.distances(graph, range(40))).all()
    some = rng.permutation(3000)[:700]
    got = measures.betweenness(graph, some, threads=2)
    monkeypatch.setattr(brandes, "many_rows", lambda *_: None)
    assert (measures.betweenness(graph, some, threads=1) == got).all()
