"""Maps follow the lines of streets in a graph."""

from __future__ import annotations

import base64
import json
import re
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import nearfar
from nearfar import Graph, GraphError
from nearfar.answer.geography import isochrones, routes
from nearfar.answer.streets import line_of, parts_of

#: A street with a bend from 0 to 1, its reverse, a straight continuation, and a parallel detour.
TAILS, HEADS, WEIGHTS = [0, 0, 1, 1], [1, 1, 0, 2], [8, 20, 8, 4]
BEND, AROUND = [[2.0, 0.0], [2.0, 1.0]], [[0.0, 5.0]]


def street_graph(**more: Any) -> Graph:
    lines = [BEND, AROUND, BEND[::-1], []]
    first = np.concatenate([[0], np.cumsum([len(line) for line in lines])])
    xy = np.array([point for line in lines for point in line])
    return Graph.from_csr(
        np.array([0, 2, 4, 4]), np.array(HEADS), np.array(WEIGHTS, np.int32),
        coordinates=np.array([[0.0, 0.0], [4.0, 1.0], [6.0, 1.0]]),
        attributes={"edge_lines": (first, xy), "geographic": True, **more},
    )  # fmt: skip


def test_parts_of_lines() -> None:
    graph = street_graph()
    parts = parts_of(graph, np.array([3, 0]))
    assert parts.edge.tolist() == [0, 1, 1, 1]
    assert parts.ends.tolist() == [
        [[4, 1], [6, 1]], [[0, 0], [2, 0]], [[2, 0], [2, 1]], [[2, 1], [4, 1]]
    ]  # fmt: skip
    np.testing.assert_allclose(parts.since, [0, 0, 0.4, 0.6], rtol=1e-4)  # near the equator
    np.testing.assert_allclose(parts.until, [1, 0.4, 0.6, 1], rtol=1e-3)
    assert len(parts_of(graph, np.empty(0, np.int64)).edge) == 0
    half = parts.within(np.array([0.0, 0.5]))
    np.testing.assert_allclose(half, [[[0, 0], [2, 0]], [[2, 0], [2, 0.5]]], rtol=1e-3)


def test_routes_run_along_the_lightest_line() -> None:
    graph = street_graph()
    paths = nearfar.sssp(graph, 0)
    (feature,) = routes(paths, [2])["features"]
    assert feature["geometry"]["coordinates"] == [[0, 0], *BEND, [4, 1], [6, 1]]
    assert line_of(graph, np.array([1])) == [[4, 1]]


def test_an_isochrone_ends_within_a_line() -> None:
    paths = nearfar.sssp(street_graph(), 0)
    (near,) = isochrones(paths, 4)["features"]
    # half of the first street, a fifth of the other
    lines = np.round(near["geometry"]["coordinates"], 3).tolist()
    assert [[0, 0], [2, 0]] in lines
    assert [[2, 0], [2, 0.5]] in lines
    assert [[2, 1], [4, 1]] not in lines
    (feature,) = isochrones(paths, [100])["features"]
    shown = feature["geometry"]["coordinates"]
    # the reverse edge has the same line
    assert sorted(map(str, shown)) == sorted({*map(str, shown)})
    assert [[0, 5], [4, 1]] in shown


def test_pictures_follow_the_lines(tmp_path: Path) -> None:
    paths = nearfar.sssp(street_graph(), 0)
    from nearfar.answer.page import draw_page

    draw_page(paths, tmp_path / "map.html")
    text = (tmp_path / "map.html").read_text()
    found = re.search(r'\{"places".*?\}', text)
    assert found
    data = json.loads(found[0])
    places = np.frombuffer(base64.b64decode(data["places"]), "<f4").reshape(-1, 2)
    ends = np.frombuffer(base64.b64decode(data["ends"]), "<u4").reshape(-1, 2)
    values = np.frombuffer(base64.b64decode(data["values"]), "<f4")
    assert len(places) == len(values) == 6  # three vertices, three bends
    assert len(ends) == 6
    np.testing.assert_allclose(np.sort(values), [0, 3.2, 8 * 5 / (5 + 32**0.5), 4.8, 8, 12], 1e-3)
    pytest.importorskip("matplotlib")
    from nearfar.answer.isochrone import draw_isochrones

    draw_isochrones(paths, tmp_path / "map.png")
    assert (tmp_path / "map.png").stat().st_size > 1000


def test_lines_of_other_edges_are_refused() -> None:
    graph = street_graph(edge_lines=(np.array([0, 1]), np.zeros((1, 2))))
    with pytest.raises(GraphError, match="edge_lines"):
        parts_of(graph, np.array([0]))


def test_a_map_of_an_osmnx_graph_draws_the_geometry_of_its_edges(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    networkx = pytest.importorskip("networkx")
    shapely = pytest.importorskip("shapely")
    rng = np.random.default_rng(3)
    made = networkx.MultiDiGraph(crs="epsg:3067")
    places = rng.uniform(0, 900, (12, 2))
    for name, (x, y) in enumerate(places, 40):
        made.add_node(name, x=x, y=y)
    wanted: set[tuple[tuple[float, float], ...]] = set()
    for at in range(30):
        u, v = (at % 12, (at + 1) % 12) if at < 12 else rng.choice(12, 2, replace=False)
        bends = rng.uniform(0, 900, (int(rng.integers(0, 4)), 2))
        points = [*map(tuple, np.vstack([places[u], bends, places[v]]).tolist())]
        straight = {} if not len(bends) else {"geometry": shapely.LineString(points)}
        made.add_edge(int(u) + 40, int(v) + 40, key=at, length=rng.uniform(1, 9), **straight)
        wanted |= set(pairwise(points))
    graph = Graph.from_osmnx(made)
    paths = nearfar.sssp(graph, 40)

    from nearfar.answer.page import draw_page

    draw_page(paths, tmp_path / "map.html")
    data = json.loads(re.search(r'\{"places".*?\}', (tmp_path / "map.html").read_text())[0])
    drawn = np.frombuffer(base64.b64decode(data["places"]), "<f4").reshape(-1, 2)
    ends = np.frombuffer(base64.b64decode(data["ends"]), "<u4").reshape(-1, 2)
    # The page has places around their middle, and float32.
    every = np.array(sorted({point for part in wanted for point in part}))
    middle = (every.min(axis=0) + every.max(axis=0)) / 2
    segments = np.array(sorted(wanted)).reshape(-1, 4)
    found = (drawn[ends] + middle).reshape(-1, 4)
    found = found[np.lexsort(np.round(found[:, ::-1], 2).T)]
    assert len(found) == len(segments)
    np.testing.assert_allclose(found, segments, atol=1e-3)

    pytest.importorskip("matplotlib")
    import matplotlib.collections

    shown: list[Any] = []
    make = matplotlib.collections.PathCollection.__init__

    def kept(self: Any, paths: Any, *more: Any, **how: Any) -> None:
        shown.extend(path.vertices.reshape(-1, 4) for path in paths)
        make(self, paths, *more, **how)

    monkeypatch.setattr(matplotlib.collections.PathCollection, "__init__", kept)
    nearfar.isochrone(graph, 40, tmp_path / "map.png")
    pictured = np.concatenate(shown)
    reached = {tuple(row) for row in np.round(pictured, 6).tolist()}
    assert reached >= {tuple(row) for row in np.round(segments, 6).tolist()}
