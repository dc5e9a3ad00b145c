"""Totals along paths between places, compared with single routes."""

from __future__ import annotations

import numpy as np
import pandas
import pytest

import nearfar
from nearfar.errors import GraphError, OptionError
from nearfar.measures import skims


def country() -> tuple[nearfar.Graph, np.ndarray, np.ndarray]:
    g = nearfar.generate("country_roads", vertices=400, seed=3)
    rng = np.random.default_rng(1)
    xy = np.asarray(g.coordinates)
    places = xy[rng.integers(0, len(xy), 14)] + rng.normal(0, 40, (14, 2))
    return g, places[:8], places[6:]  # two are both origin and destination


@pytest.mark.parametrize("prepare", [False, True])
def test_totals_of_routes(prepare: bool) -> None:
    g, origins, destinations = country()
    metres = np.random.default_rng(2).integers(1, 500, g.n_edges)
    tolls = np.random.default_rng(3).random(g.n_edges)
    graph = nearfar.prepare(g, force=True) if prepare else g
    found = skims(graph, origins, destinations, quantities={"metres": metres, "tolls": tolls})
    assert np.allclose(found.distances, nearfar.table(g, origins, destinations))
    for i, a in enumerate(origins.tolist()):
        for j, b in enumerate(destinations.tolist()):
            way = nearfar.route(g, tuple(a), tuple(b))
            assert found.distances[i, j] == pytest.approx(way.length, abs=1e-9)
            assert found.totals["metres"][i, j] == pytest.approx(way.total(metres), abs=1e-9)
            assert found.totals["tolls"][i, j] == pytest.approx(way.total(tolls), abs=1e-9)


def test_frames() -> None:
    g, origins, destinations = country()
    frame = pandas.DataFrame({"x": origins[:, 0], "y": origins[:, 1]})
    metres = np.arange(g.n_edges)
    one, other = (skims(g, at, destinations, quantities=[metres]) for at in (frame, origins))
    assert np.array_equal(one.totals[0], other.totals[0])


def test_one_edge_and_no_way() -> None:
    g = nearfar.Graph.from_edges(
        [0, 1], [1, 2], [40, 30], coordinates=[[0, 0], [400, 0], [400, 300]]
    )
    home = g.snap([100, 300], [0, 0], parts="all")
    away = g.snap([200, 400], [0, 150], parts="all")
    found = skims(g, home, away, quantities=[[400, 300]])
    assert found.distances.tolist() == [[10, 45], [np.inf, 25]]
    assert found.totals[0].tolist() == [[100, 450], [np.inf, 250]]


def test_vertices_stay_vertices() -> None:
    g = nearfar.Graph.from_edges(
        [0, 1], [1, 2], [40, 30], coordinates=[[0, 0], [400, 0], [400, 300]]
    )
    found = skims(g, (0, 1), [2], quantities=[[400, 300]])
    assert found.distances.tolist() == [[70], [30]]
    assert found.totals[0].dtype == np.int64


def test_places_that_are_refused() -> None:
    g = nearfar.Graph.from_edges([0, 1], [1, 2], [40, -30], coordinates=[[0, 0], [4, 0], [4, 3]])
    with pytest.raises((GraphError, nearfar.NegativeWeightError)):
        skims(g, [(1.0, 0.0)], [(2.0, 0.0)], quantities=[[1, 1]])
    plain = nearfar.Graph.from_edges([0, 1], [1, 2], [40, 30])
    with pytest.raises((GraphError, OptionError, nearfar.VertexError)):
        skims(plain, [(1.0, 0.0)], [(2.0, 0.0)], quantities=[[1, 1]])
