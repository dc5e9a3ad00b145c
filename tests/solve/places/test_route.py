"""Routes between places, and one place as a source."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pandas
import pytest

import nearfar
from nearfar.errors import OptionError, UnreachableError, VertexError
from nearfar.solve.places.route import routes_geojson
from tests.graph.test_snapping import bent, streets


def check(g: nearfar.Graph, found: Any, length: float) -> None:
    """Check that a route's edges are consecutive, and that their shares sum to its length."""
    assert found.length == pytest.approx(length)
    assert found.total(g.effective_weights) == pytest.approx(length)
    tails = g.tails()
    for e, f in zip(found.edges[:-1], found.edges[1:], strict=True):
        assert g.indices[e] == tails[f]
    assert ((found.shares > 0) | (length == 0)).all()
    assert (found.shares[1:-1] == 1).all()


@pytest.mark.parametrize("n", [2, 5, 30])
def test_routes_are_as_long_as_the_table_says(n: int) -> None:
    g = streets(n, seed=n)
    rng = np.random.default_rng(n)
    a, b = rng.uniform(0, 1000, (2, 60, 2))
    a[:5] = b[:5]
    b[5:9] = g.coordinates[0]  # type: ignore[index]
    options: dict[str, Any] = {"max_distance": 1e9}
    want = np.diagonal(nearfar.table(g, a, b, **options))
    snapped = g.snap(*a.T, **options), g.snap(*b.T, **options)
    for graph in (g, nearfar.prepare(g, force=True)):
        for i, found in enumerate(nearfar.route(graph, a, b, **options)):
            check(g, found, want[i])
            ends = [[s.x[i], s.y[i]] for s in snapped]
            assert np.allclose(found.points[[0, -1]], ends)


def test_a_route_follows_lines() -> None:
    g = bent()
    found = nearfar.route(g, (0.0, 5.0), (20.0, 5.0))
    assert found.points.tolist() == [[0, 5], [0, 10], [20, 10], [20, 5]]
    assert found.length == pytest.approx(30)
    assert (found.edges.tolist(), found.vertices) == ([0], [])
    back = nearfar.route(g, (20.0, 5.0), (10.0, -5.0))
    # Back along the bend, and round into the one-way street.
    assert back.edges.tolist() == [2, 1]
    assert back.vertices == [0]
    assert back.points.tolist() == [[20, 5], [20, 10], [0, 10], [0, 0], [0, -5], [10, -5]]
    collection = routes_geojson([found, back])
    assert [f["properties"]["route"] for f in collection["features"]] == [0, 1]
    assert json.loads(json.dumps(collection))["features"][1]["properties"]["vertices"] == [0]


def test_single_and_several() -> None:
    g = streets(10, seed=1)
    one = nearfar.route(g, 0, 5)
    assert one.length == nearfar.distances(g, [0], targets=[5]).item()
    assert one.vertices == nearfar.shortest_path(g, 0, 5)[0]
    assert nearfar.route(g, 3, 3).points.tolist() == [g.coordinates[3].tolist()]  # type: ignore[index]
    frame = pandas.DataFrame({"x": [100.0, 300.0], "y": [100.0, 200.0]})
    assert len(nearfar.route(g, frame, frame[::-1])) == 2
    assert len(nearfar.route(g, [(100.0, 100.0)], [(300.0, 200.0)])) == 1
    assert len(nearfar.route(g, g.snap(*frame.to_numpy().T), frame)) == 2
    assert len(nearfar.route(g, g.snap(100, 100), [(300.0, 200.0)])) == 1
    with pytest.raises(OptionError, match="2 origins and 1 destinations"):
        nearfar.route(g, frame, (1.0, 1.0))
    with pytest.raises(OptionError, match="give one for each of"):
        one.total([1, 2])


def test_no_way() -> None:
    g = nearfar.Graph.from_edges(
        [0, 1], [1, 2], [4, 5], coordinates=[[0, 0], [10, 0], [20, 0]],
        attributes={"geographic": False},
    )  # fmt: skip
    for graph in (g, nearfar.prepare(g, force=True)):
        with pytest.raises(UnreachableError, match="no way"):
            nearfar.route(graph, (15.0, 0.0), (5.0, 0.0), parts="all")
        assert nearfar.route(graph, [(15.0, 0.0)], [(5.0, 0.0)], parts="all") == [None]


@pytest.mark.parametrize("prepared", [False, True])
def test_a_place_is_a_source(prepared: bool, tmp_path: Path) -> None:
    g = streets(30, seed=5)
    graph = nearfar.prepare(g, force=True) if prepared else g
    place = (312.5, 250.0)
    paths = nearfar.sssp(graph, place)
    want = nearfar.table(g, [place], np.arange(30))[0]
    assert np.allclose(paths.distances[:30], want)
    assert paths.source == 30
    nearfar.verify(paths.graph, paths)
    assert nearfar.sssp(graph, g.snap(*place)).distances.tolist() == paths.distances.tolist()
    found = nearfar.isochrone(graph, place, tmp_path / "map.png")
    assert np.array_equal(found.distances, paths.distances)
    with pytest.raises(VertexError, match="several places"):
        nearfar.sssp(graph, g.snap([1, 2], [1, 2]))


def test_a_place_in_a_graph_of_names_and_lines() -> None:
    names = nearfar.Graph.from_edges(
        ["a", "b"], ["b", "c"], [40, 30], directed=False, coordinates=[[0, 0], [400, 0], [400, 300]]
    )
    paths = nearfar.sssp(names, (100.0, 0.0))
    assert paths.distance_to("c") == pytest.approx(60)
    assert paths.path_to("c") == [(100.0, 0.0), "b", "c"]
    pairs = nearfar.Graph.from_edges([(0.5, 1.5)], [(2.5, 3.5)], [4], coordinates=[[0, 0], [1, 1]])
    assert nearfar.sssp(pairs, (0.5, 1.5)).distances.tolist() == [0, 4]  # a name, not a place
    tall = nearfar.sssp(bent(), (0.0, 5.0))
    assert tall.distances[:2].tolist() == pytest.approx([44 / 8, 35])
    from nearfar.graph.snapping.lines import edge_lines, route_points

    assert edge_lines(tall.graph) is not None
    first = tall.graph.edges_between(0, 1)
    assert route_points(tall.graph, first[:1]).tolist() == [[0, 0], [0, 10], [20, 10], [20, 0]]
