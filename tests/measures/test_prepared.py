"""Measures of prepared graphs: the same answers, from rows instead of searches."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import nearfar
from nearfar import Graph, measures
from nearfar.measures.simple import prepared_rows
from tests.zoo import ZOO, as_dtype

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
    want, got = EACH[name](graph), EACH[name](prepared)
    assert np.array_equal(np.asarray(want), np.asarray(got))


def test_rows_are_taken_where_they_pay() -> None:
    graph = nearfar.generate("grid", rows=6, columns=6)
    prepared = nearfar.prepare(graph)
    rows = prepared_rows(prepared, 1)
    assert rows is not None
    assert (rows(np.array([4, 2])) == nearfar.distances(graph, [4, 2])).all()
    for other in (graph, nearfar.prepare(graph.astype("float64")), ZOO["grid"]()):
        assert prepared_rows(other, 1) is None


def test_threads_make_no_difference() -> None:
    graph = nearfar.prepare(nearfar.generate("grid", rows=20, columns=20))
    demand = (RNG.integers(0, 400, 900), RNG.integers(0, 400, 900), RNG.random(900))
    values = measures.betweenness(graph, threads=1)
    loads = measures.edge_loads(graph, demand, threads=1).loads
    for threads in (2, 5):
        assert (measures.betweenness(graph, threads=threads) == values).all()
        assert (measures.edge_loads(graph, demand, threads=threads).loads == loads).all()


def test_cycles_of_weight_zero_are_named() -> None:
    graph = Graph.from_edges([0, 1, 2, 3], [1, 2, 3, 1], [1, 0, 0, 0])
    with pytest.raises(nearfar.errors.ZeroCycleError, match="3 vertices"):
        measures.betweenness(nearfar.prepare(graph))
