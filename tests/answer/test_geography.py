"""Routes and isochrones as geographic data, and the interactive map."""

from __future__ import annotations

import json
import re
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import nearfar
from nearfar import Graph
from nearfar.answer import draw_page, isochrones, routes, write_geography
from nearfar.cli.console import Exit
from nearfar.errors import GraphError, MissingDependencyError, OptionError, UnreachableError
from tests.browser import Browser, find_browser
from tests.graph.test_snapping import streets
from tests.program import fail, succeed
from tests.solve.places.test_table import split


@pytest.fixture
def street() -> Graph:
    """Return three vertices in a row, 100 s apart, and one that nothing leads to."""
    return Graph.from_edges(
        [0, 1], [1, 2], [100, 100], n_vertices=4, directed=False,
        vertex_names=["a", "b", "c", "d"], names=False,
        coordinates=[[24.0, 60.0], [24.1, 60.0], [24.2, 60.0], [24.3, 60.0]],
        attributes={"unit": "s", "attribution": "surveyors <of> Bern"},
    )  # fmt: skip


def test_routes_are_lines_with_their_vertices(street: Graph) -> None:
    found = routes(nearfar.sssp(street, "a"), ["c", "a"])
    line, point = found["features"]
    assert line["geometry"] == {
        "type": "LineString", "coordinates": [[24.0, 60.0], [24.1, 60.0], [24.2, 60.0]],
    }  # fmt: skip
    assert line["properties"] == {
        "source": "a", "target": "c", "distance": 200, "unit": "s", "vertices": ["a", "b", "c"],
    }  # fmt: skip
    assert point["geometry"]["coordinates"] == [[24.0, 60.0]] * 2
    assert found["attribution"] == "surveyors <of> Bern"
    with pytest.raises(UnreachableError):
        routes(nearfar.sssp(street, "a"), ["d"])


def test_isochrones_cut_edges_where_the_time_is_up(street: Graph) -> None:
    paths = nearfar.sssp(street, "a")
    far, near = isochrones(paths, [150, 40])["features"]
    assert (far["properties"]["limit"], far["properties"]["n_vertices"]) == (150.0, 2)
    assert (near["properties"]["limit"], near["properties"]["n_vertices"]) == (40.0, 1)
    (part,) = near["geometry"]["coordinates"]
    assert part == [[24.0, 60.0], [pytest.approx(24.04), 60.0]]
    assert max(point[0] for line in far["geometry"]["coordinates"] for point in line) == (
        pytest.approx(24.15)
    )
    assert isochrones(paths, [0])["features"][0]["geometry"]["coordinates"] == []


def test_the_parts_reached_add_up_to_what_the_distances_say() -> None:
    """On a line graph the reached length is the limit itself, in each direction."""
    n = 50
    rng = np.random.default_rng(5)
    weights = rng.integers(1, 9, n - 1)
    x = np.concatenate(([0], np.cumsum(weights)))
    g = Graph.from_edges(
        range(n - 1),
        range(1, n),
        weights,
        directed=False,
        coordinates=np.column_stack((x, x * 0)),
        attributes={"geographic": True},
    )
    paths = nearfar.sssp(g, 0)
    for limit in (0, 3.5, 17, float(x[-1]), 1e9):
        (feature,) = isochrones(paths, limit)["features"]
        lines = np.reshape(feature["geometry"]["coordinates"], (-1, 2, 2))
        assert np.abs(lines[:, 1, 0] - lines[:, 0, 0]).sum() == pytest.approx(min(limit, x[-1]))


@pytest.mark.parametrize("dtype", ["int32", "float64"])
@pytest.mark.parametrize("lines", [False, True])
def test_many_sources_have_the_features_of_each(dtype: str, lines: bool) -> None:
    g = nearfar.generate("road_like", vertices=3000, seed=3)
    g = g.with_weights((g.weights // 100).astype(dtype))
    xy = np.asarray(g.coordinates)
    attributes: dict[str, Any] = {"unit": "s"}
    if lines:
        # A point in the middle of every third edge.
        bent = np.arange(g.n_edges) % 3 == 0
        middle = (xy[g.tails()[bent]] + xy[g.indices[bent]]) / 2
        attributes["edge_lines"] = (np.concatenate(([0], np.cumsum(bent))), middle + 1e-4)
    g = Graph.from_csr(
        g.indptr, g.indices, g.weights, coordinates=xy / np.abs(xy).max(), attributes=attributes
    )
    sources = [0, 2998, 17, 0, 1500]
    limits = [30 * float(g.mean_weight), 0, 4 * float(g.mean_weight)]
    found = nearfar.isochrones(g, sources, limits)
    assert len(found["features"]) == 15
    assert max(f["properties"]["n_vertices"] for f in found["features"]) > 100
    for i, source in enumerate(sources):
        one = isochrones(nearfar.sssp(g, source), limits)
        assert found["features"][3 * i : 3 * i + 3] == one["features"]


def covered(line: np.ndarray, points: np.ndarray) -> np.ndarray:
    """Return whether each point is on one of the lines, shape (k, 2, 2)."""
    begin, along = line[:, 0], line[:, 1] - line[:, 0]
    length = np.maximum((along**2).sum(axis=1), 1e-30)
    share = ((points[:, None] - begin) * along).sum(axis=2) / length
    gap = points[:, None] - (begin + np.clip(share, 0, 1)[..., None] * along)
    found: np.ndarray = (np.hypot(gap[..., 0], gap[..., 1]) < 1e-9).any(axis=1)
    return found


@pytest.mark.parametrize("dtype", ["int32", "float64"])
@pytest.mark.parametrize("n", [2, 3, 12, 40])
def test_places_reach_their_street_on_both_sides(n: int, dtype: str) -> None:
    """Points spread over all edges are drawn if and only if they are within the limit."""
    g = streets(n, seed=20 + n, high=(1.0, 0.7)).astype(dtype)
    xy = np.asarray(g.coordinates)
    g = Graph.from_csr(g.indptr, g.indices, g.weights, coordinates=xy)
    rng = np.random.default_rng(n)
    points = rng.uniform(0, (1, 0.7), (12, 2))
    points[:2] = xy[rng.integers(0, n, 2)]  # on a vertex
    places = g.snap(*points.T, max_distance=1e9)
    whole, number = split(g, places)
    rows = nearfar.distances(whole, number)
    limits = [1, 9, 40, 150]
    found = nearfar.isochrones(g, places, limits)["features"]
    tails, weights = g.tails(), np.asarray(g.weights, float)
    share = np.linspace(0.003, 0.997, 41)
    on = xy[tails][:, None] + share[:, None] * (xy[g.indices] - xy[tails])[:, None]
    partly = 0
    for i, one in enumerate(found):
        row, limit = rows[i // len(limits)], one["properties"]["limit"]
        assert one["properties"]["source"] == i // len(limits)
        assert one["properties"]["n_vertices"] == (row[:n] <= limit).sum()
        along = row[tails][:, None] + share * weights[:, None]
        place, edge, back, s = (
            a[i // len(limits)] for a in (number, places.edge, places.back, places.share)
        )
        if place >= n:
            ahead = (share - s) * weights[edge]
            along[edge, ahead >= 0] = np.minimum(along[edge], ahead)[ahead >= 0]
            if back >= 0:
                ahead = (share - (1 - s)) * weights[back]
                along[back, ahead >= 0] = np.minimum(along[back], ahead)[ahead >= 0]
        # A point counts for every edge through it, such as the reverse edge.
        keys = np.round(on.reshape(-1, 2), 9)
        _, which = np.unique(keys, axis=0, return_inverse=True)
        least = np.full(which.max() + 1, np.inf)
        np.minimum.at(least, which.ravel(), along.ravel())
        drawn = np.array(one["geometry"]["coordinates"], float).reshape(-1, 2, 2)
        sure = np.abs(along.ravel() - limit) > 1e-6
        want = least[which.ravel()] <= limit
        assert np.array_equal(covered(drawn, on.reshape(-1, 2))[sure], want[sure])
        partly += want.any() and not want.all()
    assert partly > 3


def test_places_of_frames_in_lines_and_beyond_reach() -> None:
    pandas = pytest.importorskip("pandas")
    bent = {"edge_lines": ([0, 1, 2], [[0.1, 0.1], [0.1, 0.1]]), "unit": "s"}
    g = Graph.from_csr(
        [0, 1, 2], [1, 0], [100, 200], coordinates=[[0.0, 0.0], [0.1, 0.2]], attributes=bent
    )
    clinics = pandas.DataFrame(
        {"lon": [0.1, 0.1, 5], "lat": [0.15, 0.12, 5]}, index=["a", "b", "c"]
    )
    found = nearfar.isochrones(g, clinics, [30, 1000], max_distance=100)["features"]
    assert [f["properties"]["source"] for f in found] == list("aabbcc")
    assert [f["properties"]["n_vertices"] for f in found] == [2, 1, 2, 0, 0, 0]
    assert found[4]["geometry"]["coordinates"] == []
    whole, near = (np.array(f["geometry"]["coordinates"]) for f in found[:2])
    lengths = np.hypot(*(whole[:, 1] - whole[:, 0]).T)
    assert lengths.sum() == pytest.approx(np.hypot(0.1, 0.1) + 0.1)
    # Ahead to the end of the street, 30 s back, a share of 0.15 of it.
    lengths = np.hypot(*(near[:, 1] - near[:, 0]).T)
    assert lengths.sum() == pytest.approx(0.05 + 0.15 * (np.hypot(0.1, 0.1) + 0.1), rel=1e-3)
    assert near[..., 1].max() == pytest.approx(0.2)
    one = nearfar.isochrones(g, (0.1, 0.15), [30], max_distance=100)["features"]
    assert one[0]["geometry"] == found[1]["geometry"]
    at_vertex = nearfar.isochrones(g, clinics[:1], [30], to="vertex")["features"][0]
    assert at_vertex["properties"]["n_vertices"] == 1


def test_many_sources_by_name_and_what_is_refused(street: Graph) -> None:
    found = nearfar.isochrones(street, ["c", "d"], [150])
    assert [f["properties"]["source"] for f in found["features"]] == ["c", "d"]
    assert [f["properties"]["n_vertices"] for f in found["features"]] == [2, 1]
    assert found["attribution"] == "surveyors <of> Bern"
    assert nearfar.isochrones(street, [], [150])["features"] == []
    with pytest.raises(OptionError, match="limits"):
        nearfar.isochrones(street, ["a"], [])
    with pytest.raises(GraphError, match="no coordinates"):
        nearfar.isochrones(Graph.from_edges([0], [1], [1]), [0], [1])
    turns = street.with_turns(forbidden=[("a", "b", "c")])
    reached = nearfar.isochrones(turns, ["a"], [150])["features"][0]
    assert reached["geometry"]["coordinates"] == [[[24.0, 60.0], [24.1, 60.0]]]


def test_what_cannot_be_drawn_is_refused(street: Graph) -> None:
    paths = nearfar.sssp(street, "a")
    for limits in ([], [-1], [float("nan")]):
        with pytest.raises(OptionError, match="give numbers of at least 0"):
            isochrones(paths, limits)
    plane = Graph.from_edges([0], [1], coordinates=[[0, 0], [5000, 0]])
    with pytest.raises(GraphError, match="not longitude and latitude"):
        isochrones(nearfar.sssp(plane, 0), [1])
    with pytest.raises(GraphError, match="no coordinates"):
        routes(nearfar.sssp(Graph.from_edges([0], [1]), 0), [1])
    with pytest.raises(OptionError, match=r"end it in \.geojson or \.gpkg"):
        write_geography(isochrones(paths, [1]), "x.shp")


def test_polygons_hold_what_is_reached(street: Graph) -> None:
    shapely = pytest.importorskip("shapely")
    paths = nearfar.sssp(street, "a")
    far, near = isochrones(paths, [150, 40], polygons=True, width=100)["features"]
    area = shapely.from_geojson(json.dumps(far["geometry"]))
    inner = shapely.from_geojson(json.dumps(near["geometry"]))
    assert area.is_valid
    assert area.contains(shapely.Point(24.1499, 60.0))
    assert not area.contains(shapely.Point(24.16, 60.0))
    assert area.contains(shapely.Point(24.1, 60.0008))  # within a hundred metres
    assert not area.contains(shapely.Point(24.1, 60.0011))
    assert area.buffer(1e-4).contains(inner)
    empty = isochrones(nearfar.sssp(street, "d"), [9], polygons=True)
    assert empty["features"][0]["geometry"] == {"type": "MultiPolygon", "coordinates": []}


def test_nested_polygons_are_those_of_each_limit() -> None:
    shapely = pytest.importorskip("shapely")
    graph = nearfar.generate("road_like", vertices=600, seed=3)
    xy = graph.coordinates / np.ptp(graph.coordinates, axis=0) * 0.04 + (24, 60)
    graph = Graph.from_csr(graph.indptr, graph.indices, graph.weights, coordinates=xy)
    paths = nearfar.sssp(graph, 5)
    far = int(paths.distances.max())
    limits = [far, far // 2, far // 4, 0]
    together = isochrones(paths, limits, polygons=True)["features"]
    for limit, feature in zip(limits, together, strict=True):
        alone = isochrones(paths, limit, polygons=True)["features"][0]
        assert feature["properties"] == alone["properties"]
        one, other = (shapely.from_geojson(json.dumps(f["geometry"])) for f in (feature, alone))
        assert one.is_valid
        assert one.symmetric_difference(other).area <= 0.002 * other.area
        lines = isochrones(paths, limit)["features"][0]["geometry"]
        if limit:
            assert one.contains(shapely.from_geojson(json.dumps(lines)))
    assert together[-1]["geometry"] == {"type": "MultiPolygon", "coordinates": []}


def test_polygons_without_shapely(street: Graph, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "shapely", None)
    with pytest.raises(MissingDependencyError, match=r"pip install 'nearfar\[geo\]'"):
        isochrones(nearfar.sssp(street, "a"), [9], polygons=True)


def test_files(street: Graph, tmp_path: Path) -> None:
    paths = nearfar.sssp(street, "a")
    write_geography(routes(paths, ["c"]), tmp_path / "r.geojson")
    assert json.loads((tmp_path / "r.geojson").read_text())["features"][0]["properties"]
    geopandas = pytest.importorskip("geopandas")
    write_geography(isochrones(paths, [50, 150]), tmp_path / "i.gpkg")
    table = geopandas.read_file(tmp_path / "i.gpkg")
    assert table["limit"].tolist() == [150, 50]
    assert table.crs.to_epsg() == 4326
    with pytest.raises(FileNotFoundError):
        write_geography(isochrones(paths, [50]), tmp_path / "none" / "i.gpkg")
    write_geography(routes(paths, ["c"]), tmp_path / "r.gpkg")
    assert json.loads(geopandas.read_file(tmp_path / "r.gpkg")["vertices"][0]) == ["a", "b", "c"]


def test_the_shell_writes_them(street: Graph, tmp_path: Path) -> None:
    file = tmp_path / "street.nfg"
    nearfar.write(street, file)
    out = tmp_path / "out.geojson"
    succeed("map", file, "a", "--breaks", 40, 150, "-o", out)
    alone = json.loads(out.read_text(encoding="utf-8"))["features"]
    assert [f["properties"]["limit"] for f in alone] == [150, 40]
    succeed("path", file, "a", "60.0,24.2001", "-o", out)
    assert json.loads(out.read_text())["features"][0]["properties"]["target"] == "c"
    both = tmp_path / "both.geojson"
    succeed("map", file, "a", "--more", "b", "c", "--breaks", 40, 150, "-o", both)
    features = json.loads(both.read_text(encoding="utf-8"))["features"]
    assert [f["properties"]["source"] for f in features] == ["a", "a", "b", "b", "c", "c"]
    assert features[:2] == alone
    succeed("map", file, "60,24.05", "--more", "60,24.15", "--breaks", 20, "-o", both)
    features = json.loads(both.read_text(encoding="utf-8"))["features"]
    assert features[1]["geometry"]["coordinates"] == [
        [[pytest.approx(24.13), 60.0], [pytest.approx(24.17), 60.0]]
    ]
    assert "--breaks" in fail(Exit.USAGE, "map", file, "a", "--more", "b", "-o", tmp_path / "m.png")
    assert "--limit" in fail(
        Exit.USAGE, "map", file, "a", "--more", "b", "--breaks", 4, "--limit", 3, "-o", both
    )
    succeed("map", file, "a", "-o", tmp_path / "map.html")
    assert (tmp_path / "map.html").stat().st_size > 5000
    assert "--breaks requires" in fail(Exit.USAGE, "map", file, "a", "-o", out)
    assert "--breaks requires" in fail(
        Exit.USAGE, "map", file, "a", "-o", tmp_path / "m.png", "--breaks", 4
    )
    assert "--polygons requires --breaks" in fail(
        Exit.USAGE, "map", file, "a", "-o", tmp_path / "m.png", "--polygons"
    )


# ---- the page ------------------------------------------------------------------------------------


def test_the_page_loads_nothing_and_escapes_what_it_shows(street: Graph, tmp_path: Path) -> None:
    file = tmp_path / "map.html"
    draw_page(nearfar.sssp(street, "a"), file, title="<b>From a</b>", scale=60, unit="minutes")
    text = file.read_text()
    assert "<title>&lt;b&gt;From a&lt;/b&gt;</title>" in text
    assert "<of>" not in text
    assert not re.findall(r"(?:src|href)=|https?://|@import|url\(", text)
    with pytest.raises(GraphError, match="nothing to draw"):
        draw_page(nearfar.sssp(street, "d"), file)
    with pytest.raises(GraphError, match="no coordinates"):
        draw_page(nearfar.sssp(Graph.from_edges([0], [1]), 0), file)


def test_the_page_in_a_browser(tmp_path: Path) -> None:
    """The page draws, shows the distance under the pointer, zooms, and shows less for less time."""
    program = find_browser()
    if program is None:
        pytest.skip("no browser here; `make browser` installs one")
    g = nearfar.generate("road_like", vertices=3000)
    paths = nearfar.isochrone(g, 0, tmp_path / "map.html", title="Roads")
    address = (tmp_path / "map.html").as_uri()
    with Browser(program, tmp_path / "profile") as browser:
        browser.open(address)

        def value(expression: str) -> Any:
            return browser.value(expression)

        assert value("document.title") == "Roads"
        everything = value("nearfar.drawn()")
        assert everything > 3000
        # Regression: it was the mean of an edge's ends.
        most = float(paths.distances[paths.reachable].max()) / 60_000
        said = value("document.getElementById('shown').textContent")
        assert said.startswith("all, ")
        assert float(said.split()[1]) == pytest.approx(most, abs=0.051)
        # Hover over a corner in the middle of the map.
        used = np.unique(np.r_[g.tails(), g.indices])
        xy = g.coordinates[used]
        gaps = np.abs(xy - (xy.min(axis=0) + xy.max(axis=0)) / 2).sum(axis=1)
        middle = int(np.argmin(gaps))
        x, y = value(f"nearfar.at({middle})")
        browser.call("Input.dispatchMouseEvent", type="mouseMoved", x=x, y=y)
        tip = value("document.getElementById('tip').textContent")
        assert re.fullmatch(r"[\d.]+ minutes", tip), tip
        expected = float(paths.distances[used[middle]]) / 60_000
        assert float(tip.split()[0]) == pytest.approx(expected, abs=0.6)
        # Half the time shows fewer streets.
        value("(t => { t.value = 300; t.dispatchEvent(new Event('input')); })"
              "(document.getElementById('time'))")  # fmt: skip
        less = value("nearfar.drawn()")
        assert 0 < less < everything
        assert "minutes" in value("document.getElementById('shown').textContent")
        # Zooming in leaves fewer streets in view, and back shows all of them.
        value("(t => { t.value = 1000; t.dispatchEvent(new Event('input')); })"
              "(document.getElementById('time'))")  # fmt: skip
        before = value("nearfar.view.scale")
        for _ in range(4):
            browser.click("#in")
        assert value("nearfar.view.scale") > 4 * before
        assert value("nearfar.drawn()") < everything
        browser.click("#whole")
        assert value("nearfar.drawn()") == everything
        browser.call("Input.dispatchMouseEvent", type="mouseWheel", x=200, y=200,
                     deltaX=0, deltaY=-200)  # fmt: skip
        # Dragging moves the map.
        at = value("nearfar.view.x")
        for kind, to in (("mousePressed", 300), ("mouseMoved", 380), ("mouseReleased", 380)):
            browser.call("Input.dispatchMouseEvent", type=kind, x=to, y=300, button="left",
                         buttons=1, clickCount=1)  # fmt: skip
        assert value("nearfar.view.x") < at
        assert browser.complaints == []
        assert browser.requests == [address]
