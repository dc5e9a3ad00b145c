"""Tables between places, compared with a graph in which every place is a vertex."""

from __future__ import annotations

import dataclasses
import itertools
from pathlib import Path
from typing import Any

import numpy as np
import pandas
import polars
import pytest

import nearfar
from nearfar.errors import GraphError, OptionError, VertexError
from nearfar.graph.snapping.snap import Snapped
from nearfar.solve.places import table as table_module
from tests.graph.test_snapping import streets


def split(g: nearfar.Graph, places: Snapped) -> tuple[nearfar.Graph, np.ndarray]:
    """Return the graph with every place as a vertex within its edge and the reverse edge."""
    tails, heads = g.tails(np.int64), g.indices.astype(np.int64)
    weights = g.effective_weights.astype(np.float64)
    ends: list[tuple[int, int, float]] = []
    n = g.n_vertices
    on: dict[int, list[tuple[float, int]]] = {}
    number = np.empty(len(places), np.int64)
    for i in range(len(places)):
        if places.vertex[i] >= 0 or places.share[i] in (0, 1):
            e = places.edge[i]
            at_end = tails[e] if places.share[i] == 0 else heads[e]
            number[i] = places.vertex[i] if places.vertex[i] >= 0 else at_end
            continue
        number[i] = n
        on.setdefault(int(places.edge[i]), []).append((places.share[i], n))
        if places.back[i] >= 0:
            on.setdefault(int(places.back[i]), []).append((1 - places.share[i], n))
        n += 1
    for e in range(g.n_edges):
        along = [(0.0, tails[e]), *sorted(on.get(e, [])), (1.0, heads[e])]
        for (s, u), (t, v) in itertools.pairwise(along):
            ends.append((int(u), int(v), (t - s) * weights[e]))
    u, v, w = zip(*ends, strict=True)
    return nearfar.Graph.from_edges(u, v, w, n_vertices=n), number


def joined(*parts: Snapped) -> Snapped:
    names = ("edge", "back", "share", "offset", "vertex", "distance", "x", "y")
    arrays = {name: np.concatenate([getattr(p, name) for p in parts]) for name in names}
    return Snapped(**arrays, n_edges=parts[0].n_edges)


def expected(g: nearfar.Graph, origins: Snapped, destinations: Snapped) -> np.ndarray:
    whole, number = split(g, joined(origins, destinations))
    k = len(origins)
    found = nearfar.distances(whole, number[:k], targets=number[k:])
    return np.where(np.isinf(found), np.nan, found)


@pytest.mark.parametrize("dtype", ["int32", "int64", "float32", "float64"])
@pytest.mark.parametrize("n", [2, 4, 12, 60])
def test_places_count_as_vertices_in_the_middle_of_edges(n: int, dtype: str) -> None:
    g = streets(n, seed=10 + n).astype(np.int64).astype(dtype)
    rng = np.random.default_rng(n)
    xy: Any = g.coordinates
    points = rng.uniform(0, 1000, (60, 2))
    points[:10] = xy[rng.integers(0, n, 10)]  # on a vertex
    a, b = (g.snap(*part.T, max_distance=1e9) for part in np.split(points, [40]))
    want = expected(g, a, b)
    for graph in (g, nearfar.prepare(g, force=True)):
        assert np.allclose(nearfar.table(graph, a, b), want, rtol=1e-9, atol=1e-9, equal_nan=True)
        some = nearfar.table(graph, a, b, limit=60)
        near = np.where(want <= 60, want, np.nan)
        sure = abs(want - 60) > 1e-6
        assert np.allclose(some[sure], near[sure], rtol=1e-9, atol=1e-9, equal_nan=True)


@pytest.mark.parametrize("dtype", ["int32", "float32", "float64"])
def test_searches_end_at_the_limit(dtype: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """A path between places is no shorter than its part between vertices."""
    g = streets(400, seed=3).astype(np.int64).astype(dtype)
    places = np.random.default_rng(3).uniform(0, 1000, (40, 2))
    whole = nearfar.table(g, places, places)
    given, distances = [], table_module.distances

    def noted(graph: Any, sources: Any, **how: Any) -> Any:
        given.append(how.get("limit"))
        return distances(graph, sources, **how)

    monkeypatch.setattr(table_module, "distances", noted)
    for limit in (0.0, float(np.nanquantile(whole, 0.1)), float(whole[3, 5]), np.inf):
        some = nearfar.table(g, places, places, limit=limit)
        np.testing.assert_array_equal(some, np.where(whole <= limit, whole, np.nan))
        assert given.pop() == (limit if limit < np.inf else None)
    prepared = nearfar.prepare(g, force=True)
    nearfar.table(prepared, places, places, limit=60)
    assert given == [None]


def test_two_places_on_one_edge() -> None:
    xy = [[0, 0], [100, 0], [100, 100]]
    kept: dict[str, Any] = {"coordinates": xy, "attributes": {"geographic": False}}
    one_way = nearfar.Graph.from_edges([0, 1, 2], [1, 2, 0], [10, 10, 15], **kept)
    both = nearfar.Graph.from_edges([0, 1, 1], [1, 0, 2], [10, 20, 10], **kept)
    a, b = [(20.0, 0.0)], [(70.0, 0.0)]
    assert nearfar.table(one_way, a, b).item() == pytest.approx(5)
    assert nearfar.table(one_way, b, a).item() == pytest.approx(3 + 10 + 15 + 2)
    assert nearfar.table(both, a, b, parts="all").item() == pytest.approx(5)
    assert nearfar.table(both, b, a, parts="all").item() == pytest.approx(10)
    assert nearfar.table(both, a, a, parts="all").item() == 0
    # A path between two places of an edge leaves the edge if that is shorter.
    loop = nearfar.Graph.from_edges([0, 0, 1], [1, 1, 0], [100, 1, 100], n_vertices=3, **kept)
    quick = loop.snap([10, 90], [0, 0], parts="all")
    heavy = dataclasses.replace(quick, edge=np.array([0, 0]), back=np.array([2, 2]))
    assert nearfar.table(loop, heavy, heavy)[0, 1] == pytest.approx(10 + 1 + 10)
    assert nearfar.table(loop, heavy, heavy)[1, 0] == pytest.approx(80)


def test_unreached_pairs_are_missing_values() -> None:
    g = nearfar.Graph.from_edges(
        [0, 1], [1, 2], [4, 5], coordinates=[[0, 0], [10, 0], [20, 0]],
        attributes={"geographic": False},
    )  # fmt: skip
    stats: dict[str, Any] = {}
    found = nearfar.table(g, [(15, 0)], [(5, 0), (16, 0)], parts="all", stats=stats)
    assert np.isnan(found[0, 0])
    assert found[0, 1] == pytest.approx(0.5)
    assert stats["unreached"] == 1
    far = nearfar.table(g, [(15, 0), (15, 900)], [(16, 0)], parts="all", max_distance=10)
    assert np.isnan(far[1, 0])
    frame = nearfar.table(g, [(15, 0)], [(5, 0), (16, 0)], parts="all", out="polars")
    assert frame["0"].to_list() == [None] or frame.null_count().sum_horizontal().item() == 1


def grid() -> nearfar.Graph:
    made = nearfar.generate("road_like", vertices=400, seed=3)
    xy = np.array(made.coordinates)
    xy = (xy - xy.min(axis=0)) / np.ptp(xy, axis=0)
    return nearfar.Graph.from_csr(
        made.indptr, made.indices, made.weights, directed=made.directed,
        coordinates=xy * [0.2, 0.1] + [24.9, 60.1], attributes={"unit": "s"},
    )  # fmt: skip


PLACES = np.array([[24.95, 60.12], [25.0, 60.15], [25.05, 60.18]])


def test_frames_give_frames_in_their_index() -> None:
    g = grid()
    want = nearfar.table(g, PLACES, PLACES[:2])
    for names in (("lon", "lat"), ("Longitude", "LATITUDE"), ("lng", "lat"), ("x", "y")):
        homes = pandas.DataFrame(PLACES, columns=names, index=["a", "b", "c"])
        homes["people"] = [3, 4, 5]
        found = nearfar.table(g, homes, PLACES[:2])
        assert found.index.equals(homes.index)
        assert found.columns.tolist() == [0, 1]
        assert np.array_equal(found.to_numpy(), want)
    clinics = pandas.DataFrame(
        PLACES[:2], columns=["lon", "lat"], index=pandas.Index([7, 9], name="id")
    )
    found = nearfar.table(g, homes, clinics)
    assert found.columns.equals(clinics.index)
    assert np.array_equal(nearfar.table(g, homes, clinics, out="numpy"), want)
    plain = polars.DataFrame({"lon": PLACES[:, 0], "lat": PLACES[:, 1]})
    assert np.array_equal(nearfar.table(g, plain, clinics, out="numpy"), want)
    labelled = nearfar.table(g, homes, clinics, out="xarray")
    assert labelled.sel(source="b", target=9).item() == want[1, 1]


def test_other_forms_of_the_same_places() -> None:
    import geopandas

    g = grid()
    want = nearfar.table(g, PLACES, PLACES)
    series = geopandas.GeoSeries.from_xy(*PLACES.T, crs=4326, index=["a", "b", "c"])
    found = nearfar.table(g, series, series)
    assert found.index.tolist() == ["a", "b", "c"]
    assert np.array_equal(found.to_numpy(), want)
    frame = geopandas.GeoDataFrame({"beds": [1, 2, 3]}, geometry=series.values)
    assert np.array_equal(nearfar.table(g, frame, PLACES.tolist()).to_numpy(), want)
    pair = PLACES[:, 0], PLACES[:, 1]
    assert np.array_equal(nearfar.table(g, pair, [tuple(p) for p in PLACES]), want)
    snapped = g.snap(*PLACES.T)
    assert np.array_equal(nearfar.table(g, snapped, snapped), want)
    one = nearfar.table(g, tuple(PLACES[0].tolist()), PLACES)
    assert np.array_equal(one, want[:1])
    with pytest.raises(GraphError, match=r"in EPSG:3857, but the network is in degrees: .*to_crs"):
        nearfar.table(g, series.to_crs(3857), series)


def test_vertices_are_places_too() -> None:
    g = grid()
    want = nearfar.distances(g, [3, 5], targets=[7, 8, 9])
    assert np.array_equal(nearfar.table(g, np.array([3, 5]), [7, 8, 9]), want)
    named = nearfar.Graph.from_edges(
        ["a", "b"], ["b", "c"], [4, 5], directed=False, coordinates=[[0, 0], [9, 0], [9, 9]]
    )
    found = nearfar.table(named, pandas.Series(["a", "b"], index=["home", "work"]), ["c"])
    assert found.loc["home"].tolist() == [9]
    pairs = nearfar.Graph.from_edges([(0, 0), (0, 1)], [(0, 1), (1, 1)], [4, 5], directed=False)
    assert nearfar.table(pairs, [(0, 0)], [(1, 1)]).tolist() == [[9]]


def test_a_file_is_written_in_blocks_and_resumed(tmp_path: Path) -> None:
    g = nearfar.prepare(grid())
    rng = np.random.default_rng(1)
    homes = pandas.DataFrame(
        rng.uniform([24.9, 60.1], [25.1, 60.2], (50, 2)), columns=["lon", "lat"]
    )
    homes.index = pandas.Index([f"h{i}" for i in range(50)])
    want = nearfar.table(g, homes, PLACES, out="numpy")
    for name in ("t.npy", "t.zarr", "t.parquet"):
        told: list[tuple[float, float]] = []

        def stop(done: float, total: float, told: list[tuple[float, float]] = told) -> None:
            told.append((done, total))
            if done >= 20:
                raise KeyboardInterrupt

        path = tmp_path / name
        with pytest.raises(KeyboardInterrupt):
            nearfar.table(g, homes, PLACES, out=path, block=10, progress=stop)
        assert told == [(10, 50), (20, 50)]
        stats: dict[str, Any] = {}
        nearfar.table(g, homes, PLACES, out=str(path), block=10, stats=stats)
        assert stats["vertices"][0] <= 60  # two of three blocks were kept
        if name == "t.parquet":
            frame = pandas.read_parquet(path).set_index("origin")
            assert frame.index.tolist() == homes.index.tolist()
            assert frame.columns.tolist() == ["0", "1", "2"]
            found = frame.to_numpy()
        else:
            found = nearfar.table(g, homes, PLACES, out=path, block=10)
        assert np.array_equal(np.asarray(found), want)
        with pytest.raises(OptionError, match="holds another run"):
            nearfar.table(g, homes[::-1], PLACES, out=path, block=10)


def test_the_k_nearest_are_those_of_the_table() -> None:
    g = streets(40, seed=1)
    rng = np.random.default_rng(2)
    a, b = rng.uniform(0, 700, (30, 2)), rng.uniform(0, 700, (50, 2))
    b[7] = b[3]  # the first of equally near ones
    whole = nearfar.table(g, a, b)
    for k in (1, 3, 49, 50, 60):
        found = nearfar.nearest_places(g, a, b, k)
        order = np.argsort(whole, axis=1, kind="stable")[:, :k]
        most = min(k, 50)
        assert np.array_equal(found.destinations[:, :most], order)
        assert np.array_equal(found.distances[:, :most], np.take_along_axis(whole, order, 1))
        assert (found.destinations[:, most:] == -1).all()
        assert np.isnan(found.distances[:, most:]).all()
    near = nearfar.nearest_places(g, a, b, 3, limit=30)
    assert (np.isnan(near.distances) == (near.destinations < 0)).all()
    frame = nearfar.nearest_places(
        g, pandas.DataFrame(a, columns=["x", "y"], index=[f"h{i}" for i in range(30)]), b, 2
    )
    assert frame.loc[("h4", 1), "distance"] == whole[4].min()
    assert frame.loc[("h4", 2), "destination"] == np.argsort(whole[4], kind="stable")[1]


BAD: list[tuple[Any, dict[str, Any], type[Exception], str]] = [
    (pandas.DataFrame({"lon": [], "lat": []}), {}, OptionError, "origins is empty"),
    (pandas.DataFrame({"lon": [24.9], "name": [1]}), {}, OptionError, "no columns of coordinates"),
    (pandas.DataFrame({"lon": [1], "lng": [1], "lat": [1]}), {}, OptionError, "several columns"),
    (pandas.DataFrame({"lon": ["a"], "lat": [1]}), {}, VertexError, "'lon' is not a number"),
    (
        pandas.DataFrame({"lon": [None], "lat": [1.0]}),
        {},
        VertexError,
        "origins: place 0 is at nan",
    ),
    (PLACES[:, ::-1], {}, VertexError, "origins: place 0 is at longitude 60.12 .* swap"),
    (PLACES + 10, {}, VertexError, "from the nearest street"),
    (np.zeros((2, 3)), {}, VertexError, "give x and y per row"),
    (PLACES, {"out": "pands"}, OptionError, "did you mean 'pandas'"),
    (
        PLACES,
        {"out": np.empty((3, 3), int)},
        OptionError,
        r"out has shape \(3, 3\) and dtype int64: give \(3, 3\) and float64$",
    ),
    (np.ma.masked_values(PLACES, PLACES[1, 0]), {}, VertexError, "place 1 is at nan"),
    (PLACES, {"out": np.broadcast_to(0.0, (3, 3))}, OptionError, "out is read-only"),
    (PLACES, {"block": 0}, OptionError, "block is 0"),
    (PLACES, {"block": "all"}, OptionError, "block is 'all'"),
    (PLACES, {"limit": -4}, OptionError, "limit"),
]


@pytest.mark.parametrize(("given", "options", "error", "text"), BAD, ids=[c[3][:25] for c in BAD])
def test_bad_places_are_told_in_a_sentence(
    given: Any, options: dict[str, Any], error: type[Exception], text: str
) -> None:
    with pytest.raises(error, match=text):
        nearfar.table(grid(), given, PLACES, **options)


def test_errors_name_the_row_of_a_frame() -> None:
    homes = pandas.DataFrame(PLACES, columns=["lon", "lat"], index=[f"h{i}" for i in range(3)])
    for column, value in (("lat", np.nan), ("lon", 24.9 + 30), ("lon", 400)):
        bad = homes.copy()
        bad.loc["h1", column] = value
        with pytest.raises(VertexError, match="origins, row 'h1': place 1 is at"):
            nearfar.table(grid(), bad, homes)


@pytest.mark.parametrize("names", [("lon", "lat"), ("Longitude", "LAT")])
def test_a_row_of_a_frame_is_one_place(names: tuple[str, str]) -> None:
    g = grid()
    homes = pandas.DataFrame(PLACES, columns=list(names), index=list("abc"))
    want = nearfar.route(g, tuple(PLACES[0]), tuple(PLACES[2]))
    for a, b in ((homes.iloc[0], homes.loc["c"]), (dict(homes.iloc[0]), dict(homes.iloc[2]))):
        found = nearfar.route(g, a, b)
        assert found.length == want.length
        assert found.edges.tolist() == want.edges.tolist()
        assert nearfar.table(g, a, b).tolist() == [[want.length]]
        assert nearfar.isochrones(g, a, 4) == nearfar.isochrones(g, [tuple(PLACES[0])], [4])
        near = nearfar.sssp(g, a).distances
        assert np.array_equal(near, nearfar.sssp(g, tuple(PLACES[0])).distances)
    with pytest.raises(OptionError, match="several columns"):
        nearfar.route(g, {"lon": 24.9, "lng": 24.9, "lat": 60.1}, homes.iloc[1])


def test_other_bad_input() -> None:
    g = streets(5, seed=1)
    degrees = pandas.DataFrame({"lon": [24.9], "lat": [60.1]})
    with pytest.raises(GraphError, match="the network's coordinates are not degrees"):
        nearfar.table(g, degrees, degrees)
    bare = nearfar.Graph.from_edges([0], [1], [3])
    with pytest.raises(GraphError, match="the network has no coordinates"):
        nearfar.table(bare, degrees, degrees)
    with pytest.raises(OptionError, match="snapped to a graph of"):
        nearfar.table(g, grid().snap(*PLACES.T), [(0.0, 0.0)])
    with pytest.raises(OptionError, match="width is 0"):
        nearfar.isochrones(grid(), PLACES, 4, polygons=True, width=0)
    with pytest.raises(OptionError, match="k is 0"):
        nearfar.nearest_places(g, [(0.0, 0.0)], [(0.0, 0.0)], 0)
    below = nearfar.Graph.from_edges([0, 1], [1, 0], [3, -1], coordinates=[[0, 0], [5, 5]])
    with pytest.raises(GraphError, match="has a negative weight"):
        nearfar.table(below, [(1.0, 1.0)], [(1.0, 1.0)])
