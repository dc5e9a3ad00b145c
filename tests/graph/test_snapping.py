"""Snapping of places to edges and vertices, compared with all segments by brute force."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

import nearfar
from nearfar.errors import GraphError, OptionError, VertexError
from nearfar.graph.geography import EARTH_RADIUS
from nearfar.graph.snapping.lines import EDGE_LINES, EdgeLines, edge_lines, lines_from, route_points

Xy = NDArray[np.float64]


def streets(n: int, seed: int, low: Any = (0.0, 0.0), high: Any = (1000.0, 700.0)) -> nearfar.Graph:
    """Return random places joined to a few others, some one-way, all strongly connected."""
    rng = np.random.default_rng(seed)
    xy = rng.uniform(low, high, (n, 2))
    ring = np.arange(n)
    u = np.concatenate([ring, rng.integers(0, n, 2 * n)])
    v = np.concatenate([(ring + 1) % n, rng.integers(0, n, 2 * n)])
    both = rng.random(len(u)) < 0.6
    tails, heads = np.concatenate([u, v[both]]), np.concatenate([v, u[both]])
    weights = rng.integers(1, 100, len(tails))
    return nearfar.Graph.from_edges(
        tails, heads, weights, n_vertices=n, coordinates=xy, attributes={"geographic": False}
    )


def on_all_edges(g: nearfar.Graph, points: Xy) -> tuple[Xy, Xy]:
    """Return distance and share of each point on each edge: (points, edges)."""
    xy: Any = g.coordinates
    a, b = xy[g.tails()], xy[g.indices]
    along = b - a
    length = (along**2).sum(axis=1)
    t = ((points[:, None] - a) * along).sum(axis=2) / np.where(length > 0, length, 1)
    t = np.clip(t, 0, 1)
    gap = points[:, None] - (a + t[..., None] * along)
    return np.hypot(*gap.transpose(2, 0, 1)), t


@pytest.mark.parametrize("n", [2, 3, 9, 40, 300])
@pytest.mark.parametrize("threads", [1, 3])
def test_the_nearest_of_all_edges_is_found(n: int, threads: int) -> None:
    g = streets(n, seed=n)
    rng = np.random.default_rng(1)
    points = rng.uniform(-200, 1200, (500, 2))
    found = g.snap(points[:, 0], points[:, 1], max_distance=1e9, threads=threads)
    away, share = on_all_edges(g, points)
    rows = np.arange(len(points))
    assert np.allclose(found.distance, away.min(axis=1), rtol=1e-12)
    assert np.allclose(found.distance, away[rows, found.edge], rtol=1e-9, atol=1e-9)
    assert np.allclose(found.share, share[rows, found.edge], atol=1e-9)
    assert np.allclose(np.hypot(found.x - points[:, 0], found.y - points[:, 1]), found.distance)
    tails = g.tails()
    lengths = np.hypot(*(g.coordinates[g.indices] - g.coordinates[tails]).T)  # type: ignore[index]
    assert np.allclose(found.offset, found.share * lengths[found.edge])


def test_answers_do_not_depend_on_threads() -> None:
    g = streets(500, seed=6)
    rng = np.random.default_rng(1)
    points = rng.uniform(0, 1000, (20_000, 2))
    points[:5000] = g.coordinates[rng.integers(0, 500, 5000)]  # type: ignore[index]
    want = g.snap(*points.T, threads=1)
    for _ in range(30):
        found = g.snap(*points.T, threads=4)
        for name in ("edge", "back", "share", "distance", "x", "y"):
            assert np.array_equal(getattr(found, name), getattr(want, name)), name
    order = rng.permutation(len(points))
    other = g.snap(*points[order].T)
    assert np.array_equal(other.edge, want.edge[order])


def test_the_way_back_is_the_lightest_edge_of_the_other_direction() -> None:
    xy = [[0, 0], [10, 0]]
    g = nearfar.Graph.from_edges(
        [0, 0, 1, 1], [1, 1, 0, 0], [5, 3, 9, 8], coordinates=xy, attributes={"geographic": False}
    )
    found = g.snap(4, 1)
    assert (found.edge[0], found.back[0], found.share[0]) == (1, 3, 0.4)
    against = nearfar.Graph.from_edges([1], [0], [5], coordinates=xy)
    found = against.snap(4, 1, parts="all")
    assert (found.edge[0], found.back[0], found.share[0]) == (0, -1, pytest.approx(0.6))


@pytest.mark.parametrize("latitude", [0.0, 45.0, 60.0, -75.0])
@pytest.mark.parametrize("away", [0.001, 0.03])
def test_the_bound_on_the_earth_holds(latitude: float, away: float) -> None:
    rng = np.random.default_rng(7)
    xy = np.column_stack([rng.uniform(24, 24.2, 60), latitude + rng.uniform(0, 0.1, 60)])
    ring = np.arange(60)
    g = nearfar.Graph.from_edges(ring, (ring + 1) % 60, coordinates=xy, directed=False)
    places = xy[rng.integers(0, 60, 40)] + rng.uniform(-away, away, (40, 2))
    found = g.snap(places[:, 0], places[:, 1])
    steps = np.linspace(0, 1, 1001)
    a, b = xy[g.tails()], xy[g.indices]
    dense = (a[:, None] + steps[:, None] * (b - a)[:, None]).reshape(-1, 2)
    for i, place in enumerate(places):
        least = great_circle(place, dense).min()
        bound = 1 + found.distance[i] / EARTH_RADIUS * abs(math.tan(math.radians(latitude + 0.1)))
        assert found.distance[i] <= least * bound + 1e-6
        assert found.distance[i] >= least - 12  # steps of the brute force
        there = np.array([[found.x[i], found.y[i]]])
        assert found.distance[i] == pytest.approx(great_circle(place, there)[0], rel=2e-6)


def great_circle(place: Xy, others: Xy) -> Xy:
    lon, lat = np.radians(place)
    lons, lats = np.radians(others).T
    half = np.sin((lats - lat) / 2) ** 2
    half = half + np.cos(lat) * np.cos(lats) * np.sin((lons - lon) / 2) ** 2
    return 2 * EARTH_RADIUS * np.arcsin(np.sqrt(half))


def test_streets_across_the_date_line() -> None:
    g = nearfar.Graph.from_edges(
        [0, 1],
        [1, 2],
        [1, 1],
        directed=False,
        coordinates=[[179.9, -17], [-179.9, -17], [-179.8, -17]],
    )
    found = g.snap([179.99, -179.99, 179.95, -179.85], [-17.001] * 4)
    assert found.edge.tolist() == [0, 0, 0, 2]
    assert found.distance == pytest.approx([111.195] * 4, rel=1e-3)
    assert found.share == pytest.approx([0.45, 0.55, 0.25, 0.5], abs=1e-6)
    assert found.x == pytest.approx([179.99, -179.99, 179.95, -179.85], abs=1e-6)


def test_only_the_largest_strong_part_unless_all_are_asked_for() -> None:
    g = nearfar.Graph.from_edges(
        [0, 1, 2, 3], [1, 2, 0, 4], coordinates=[[0, 0], [100, 0], [0, 100], [50, 60], [60, 60]],
        attributes={"geographic": False},
    )  # fmt: skip
    with pytest.warns(UserWarning, match="2 of 5 vertices and 1 of 4 edges are left out"):
        found = g.snap(55, 60)
    assert found.edge.tolist() == [1]
    assert "2 of 5" in found.remark
    assert g.snap(55, 60).remark == found.remark  # warned once, and stored in the answer
    everything = g.snap(55, 60, parts="all")
    assert (everything.edge.tolist(), everything.remark) == ([3], "")
    assert g.snap(55, 61, parts="all", to="vertex").vertex.tolist() == [3]


def test_strong_parts_are_those_of_scipy() -> None:
    from scipy.sparse import csr_array
    from scipy.sparse.csgraph import connected_components

    from nearfar.graph.snapping.snap import strong_parts

    rng = np.random.default_rng(3)
    for n in (1, 2, 5, 30, 200):
        for m in (0, n // 2, n, 2 * n, 4 * n):
            u, v = rng.integers(0, n, (2, m))
            g = nearfar.Graph.from_edges(u, v, n_vertices=n)
            part, largest = strong_parts(g)
            ones = np.ones(m)
            matrix = csr_array((ones, (u, v)), shape=(n, n))
            matrix.sum_duplicates()
            count, label = connected_components(matrix, connection="strong")
            assert len(set(zip(part.tolist(), label.tolist(), strict=True))) == count
            assert np.bincount(part)[largest] == np.bincount(label).max()


def test_the_largest_of_few_is_found_on_a_long_path() -> None:
    n = 200_000  # no recursion
    ring = np.arange(n)
    g = nearfar.Graph.from_edges(ring, (ring + 1) % n, n_vertices=n)
    from nearfar.graph.snapping.snap import strong_parts

    assert (strong_parts(g)[0] == 0).all()


def test_places_at_the_equator() -> None:
    """Regression: at latitude 0 nothing was found without max_distance."""
    g = nearfar.Graph.from_edges(
        [0, 1], [1, 2], [10, 20], directed=False,
        coordinates=[[0, 0], [1, 0], [1, 1]], attributes={"geographic": True},
    )  # fmt: skip
    found = g.snap([0.25, 0.5, 1.5], [0, 0, 0])
    assert found.edge.tolist()[:2] == [0, 0]
    np.testing.assert_allclose(found.share[:2], [0.25, 0.5])
    assert found.found.all()
    assert nearfar.table(g, [(0.25, 0.0)], [(1.0, 0.5)]) == pytest.approx(17.5)


def test_points_of_shapely_say_how_to_give_them() -> None:
    shapely = pytest.importorskip("shapely")
    g = nearfar.Graph.from_edges([0], [1], directed=False, coordinates=[[0, 0], [1, 0]])
    for given in (shapely.Point(0, 0), [shapely.Point(0, 0)]):
        with pytest.raises(VertexError, match=r"holds a Point of Shapely: give x and y"):
            nearfar.route(g, given, (1.0, 0.0))


def test_beyond_max_distance_there_is_nothing() -> None:
    g = streets(30, seed=2)
    found = g.snap([500, 9000], [300, 9000], max_distance=500)
    assert found.found.tolist() == [True, False]
    assert found.edge[1] == found.back[1] == -1
    assert np.isnan([found.distance[1], found.x[1], found.share[1]]).all()
    to_vertex = g.snap([500, 9000], [300, 9000], max_distance=500, to="vertex")
    assert to_vertex.found.tolist() == [True, False]
    xy: Any = g.coordinates
    assert g.snap(*xy[5], max_distance=0).distance.tolist() == [0.0]


def test_vertices_as_before() -> None:
    g = streets(50, seed=4)
    points = np.random.default_rng(5).uniform(0, 700, (40, 2))
    found = g.snap(points[:, 0], points[:, 1], to="vertex")
    assert found.vertex.tolist() == g.nearest_vertex(points[:, 0], points[:, 1]).tolist()


def test_lines_bend() -> None:
    g = bent()
    found = g.snap([10, 25, 5], [12, 5, -9])
    assert found.edge.tolist() == [0, 0, 1]
    assert found.back.tolist() == [2, 2, -1]
    assert found.share == pytest.approx([0.5, 35 / 40, 10 / 30])
    assert found.offset == pytest.approx([20, 35, 10])
    assert route_points(g, np.array([0, 2])).tolist() == [
        [0, 0], [0, 10], [20, 10], [20, 0], [20, 10], [0, 10], [0, 0]
    ]  # fmt: skip


def bent() -> nearfar.Graph:
    """Return a bent two-way street between two vertices, and a one-way street on the other side."""
    counts = np.array([4, 4, 4])
    xy = np.array([
        [0, 0], [0, 10], [20, 10], [20, 0],
        [0, 0], [0, -5], [20, -5], [20, 0],
        [20, 0], [20, 10], [0, 10], [0, 0],
    ], float)  # fmt: skip
    lines = lines_from(counts, xy, np.arange(3), np.zeros(3, bool))
    return nearfar.Graph.from_csr(
        [0, 2, 3], [1, 1, 0], [40, 30, 44], coordinates=[[0, 0], [20, 0]],
        attributes={EDGE_LINES: lines, "geographic": False},
    )  # fmt: skip


def test_a_closed_street_that_bends_is_drawn_and_found_no_more() -> None:
    shut = bent().without_edges([0, 2])
    found = shut.snap([10, 10], [9, -5], parts="all")
    assert found.edge.tolist() == [1, 1]
    lines = edge_lines(shut)
    assert lines is not None
    assert lines.first.tolist() == [0, 0, 2, 2]
    assert lines.xy.tolist() == [[0, -5], [20, -5]]
    with pytest.raises(GraphError, match="edge 3 does not exist"):
        shut.without_edges([3])


BAD: list[tuple[dict[str, Any], type[Exception], str]] = [
    ({"x": [np.nan], "y": [1.0]}, VertexError, "place 0 is at nan, 1 .1 of 1 places"),
    ({"x": [24.9, 24.9], "y": [60.2, np.inf]}, VertexError, "place 1 is at 24.9, inf"),
    ({"x": [60.2], "y": [24.9]}, VertexError, "in it: swap them"),
    ({"x": [2400.0], "y": [60.2]}, VertexError, ", not on the Earth: give degrees"),
    ({"x": [-73.9], "y": [40.7]}, VertexError, "m from the nearest street of a network that is"),
    ({"x": ["here"], "y": [40.7]}, VertexError, "must be numbers"),
    ({"x": [1, 2, 3], "y": [1, 2]}, VertexError, "vectors of the same length"),
    ({"x": 24.9, "y": 60.2, "to": "corner"}, OptionError, "give 'edge' or 'vertex'"),
    ({"x": 24.9, "y": 60.2, "parts": "some"}, OptionError, "give 'largest' or 'all'"),
    ({"x": 24.9, "y": 60.2, "max_distance": -1}, OptionError, "at least 0"),
    ({"x": 24.9, "y": 60.2, "max_distance": "near"}, OptionError, "max_distance is 'near'"),
]


@pytest.mark.parametrize(("given", "error", "text"), BAD, ids=[case[2][:30] for case in BAD])
def test_bad_input_is_told_in_a_sentence(
    given: dict[str, Any], error: type[Exception], text: str
) -> None:
    g = nearfar.Graph.from_edges(
        [0, 1], [1, 2], directed=False, coordinates=[[24.9, 60.1], [24.95, 60.2], [25.0, 60.2]]
    )
    with pytest.raises(error, match=text):
        g.snap(**given)


def test_points_in_one_array() -> None:
    """Regression: a TypeError about a missing argument."""
    g = nearfar.Graph.from_edges([0, 1], [1, 0], coordinates=[[0, 0], [4, 0]])
    points = np.array([[1.0, 2.0], [3.0, -1.0]])
    for given in (points, points.tolist(), np.ma.masked_invalid(points)):
        assert g.snap(given).x.tolist() == [1, 3]
        assert g.nearest_vertex(given).tolist() == [0, 1]
    pandas = pytest.importorskip("pandas")
    frame = pandas.DataFrame(points, columns=["lat", "lon"])
    for given in (frame, points[0], points[:, :1], [[1, 2], [3]], 5, None, np.ones((2, 2, 2))):
        with pytest.raises(VertexError, match=r"y is missing: .* one array of points, shape"):
            g.snap(given)
    with pytest.raises(VertexError, match="must be numbers"):
        g.snap([["a", "b"]])


def test_graphs_that_cannot_be_snapped_to() -> None:
    with pytest.raises(GraphError, match="no coordinates"):
        nearfar.Graph.from_edges([0], [1]).snap(0, 0)
    lonely = nearfar.Graph.from_edges([], [], n_vertices=1, coordinates=[[3, 4]])
    with pytest.raises(GraphError, match="no edge to snap places to"):
        lonely.snap(3, 4)
    assert lonely.snap(3, 4, to="vertex").vertex.tolist() == [0]
    with pytest.raises(GraphError, match="no vertices"):
        nearfar.Graph.from_edges([], [], n_vertices=0, coordinates=np.empty((0, 2))).snap(0, 0)
    assert len(streets(5, seed=1).snap([], [])) == 0


def test_edges_between() -> None:
    g = nearfar.Graph.from_edges(["a", "a", "b"], ["b", "b", "a"], [4, 5, 6])
    assert g.edges_between("a", "b").tolist() == [0, 1]
    assert g.edges_between(["b", "a"], ["a", "b"]).tolist() == [2, 0, 1]
    with pytest.raises(GraphError, match="no edge from 'b' to 'b'"):
        g.edges_between("b", "b")
    with pytest.raises(OptionError, match="2 vertices u and 1 vertices v"):
        g.edges_between(["a", "b"], ["b"])
    with pytest.raises(VertexError):
        g.edges_between("a", "c")


def test_lines_that_belong_to_another_graph_are_refused() -> None:
    lines = EdgeLines(np.zeros(5, np.int64), np.empty((0, 2)))
    g = nearfar.Graph.from_edges(
        [0, 1], [1, 0], coordinates=[[0, 0], [1, 1]], attributes={EDGE_LINES: lines}
    )
    with pytest.raises(GraphError, match="does not belong to 2 edges"):
        edge_lines(g)
    assert EDGE_LINES not in bent().transpose().attributes
    assert EDGE_LINES not in bent().subgraph([0]).attributes
    assert edge_lines(bent().with_weights([1, 2, 3])) is not None
