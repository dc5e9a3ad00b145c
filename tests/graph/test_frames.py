"""Networks from frames of nodes and edges, and the lines of streets in them."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import geopandas
import numpy as np
import pandas
import pytest
from shapely.geometry import LineString, Point

import nearfar
import networkx
from nearfar.errors import GraphError, GraphFormatError, OptionError
from nearfar.graph.snapping.edge_arrays import with_edge_arrays
from nearfar.graph.snapping.lines import EDGE_LINES, EdgeLines, edge_lines, route_points

NODES = pandas.DataFrame({"x": [0.0, 40.0, 40.0], "y": [0.0, 0.0, 30.0]}, index=[11, 12, 13])
BEND = LineString([(0, 0), (0, 10), (40, 10), (40, 0)])


def osmnx_frames() -> tuple[Any, Any]:
    """Return frames as from osmnx.graph_to_gdfs: a two-way bend and a one-way street."""
    index = pandas.MultiIndex.from_tuples(
        [(11, 12, 0), (12, 11, 0), (12, 13, 0), (12, 13, 1)], names=["u", "v", "key"]
    )
    straight = LineString([(40, 0), (40, 30)])
    edges = geopandas.GeoDataFrame(
        {"length": [60.0, 60.0, 30.0, 50.0], "travel_time": [6.0, 7.0, 3.0, 5.0]},
        geometry=[BEND, BEND.reverse(), straight, LineString([(40, 0), (60, 15), (40, 30)])],
        index=index, crs=3067,
    )  # fmt: skip
    nodes = geopandas.GeoDataFrame(NODES, geometry=[Point(p) for p in NODES.to_numpy()], crs=3067)
    return nodes, edges


def test_frames_of_osmnx() -> None:
    nodes, edges = osmnx_frames()
    g = nearfar.Graph.from_frames(nodes, edges, columns=["travel_time"])
    assert g.name_of(np.arange(3)).tolist() == [11, 12, 13]
    assert g.attributes["edge_keys"].tolist() == [0, 0, 0, 1]
    assert g.attributes["edge_rows"].tolist() == [0, 1, 2, 3]
    assert (g.attributes["unit"], g.attributes["geographic"]) == ("m", False)
    assert nearfar.shortest_path(g, 11, 13) == ([11, 12, 13], 90.0)
    assert route_points(g, np.array([0, 3])).tolist() == [
        [0, 0], [0, 10], [40, 10], [40, 0], [60, 15], [40, 30]
    ]  # fmt: skip
    found = g.snap([20, 55], [12, 15], parts="all")
    assert found.edge.tolist() == [0, 3]
    assert found.back.tolist() == [1, -1]
    fast = nearfar.route(g, (20.0, 12.0), (55.0, 11.25), parts="all")
    assert fast.total(g.attributes["edge_columns"]["travel_time"]) == pytest.approx(3 + 1.875, 0.05)
    seconds = g.with_weights(g.attributes["edge_columns"]["travel_time"], unit="s")
    assert nearfar.route(seconds, (20.0, 12.0), 13, parts="all").length == pytest.approx(6.0)


def test_a_graph_of_osmnx_gives_the_same() -> None:
    nodes, edges = osmnx_frames()
    made = networkx.MultiDiGraph(crs="epsg:3067")
    for name, row in nodes.iterrows():
        made.add_node(name, x=row["x"], y=row["y"])
    for (u, v, key), row in edges.iterrows():
        straight = {} if len(row.geometry.coords) == 2 else {"geometry": row.geometry}
        made.add_edge(u, v, key, length=row["length"], **straight)
    g = nearfar.Graph.from_osmnx(made)
    other = nearfar.Graph.from_frames(nodes, edges)
    for one, two in zip(edge_lines(g) or (), edge_lines(other) or (), strict=True):
        assert np.array_equal(one, two)
    assert np.array_equal(g.indices, other.indices)


def test_frames_of_pandana_and_momepy() -> None:
    edges = pandas.DataFrame({"from": [13, 11], "to": [12, 12], "minutes": [3.0, 4.0]})
    g = nearfar.Graph.from_frames(NODES, edges, "minutes", directed=False)
    assert nearfar.shortest_path(g, 11, 13) == ([11, 12, 13], 7.0)
    assert g.attributes["edge_rows"].tolist() == [1, 0, 1, 0]
    # momepy: ids in a column, lines that may run either way.
    points = geopandas.GeoDataFrame(
        {"nodeID": [7, 8]}, geometry=[Point(0, 0), Point(40, 0)], index=["a", "b"], crs=3067
    )
    lines = geopandas.GeoDataFrame(
        {"mm_len": [60.0], "node_start": [7], "node_end": [8]}, geometry=[BEND.reverse()], crs=3067
    )
    g = nearfar.Graph.from_frames(points, lines, "mm_len", directed=False)
    assert g.name_of(np.arange(2)).tolist() == [7, 8]
    assert g.coordinates.tolist() == [[0, 0], [40, 0]]  # type: ignore[union-attr]
    assert route_points(g, np.array([0])).tolist() == [list(p) for p in BEND.coords]
    assert route_points(g, np.array([1])).tolist() == [list(p) for p in BEND.reverse().coords]


def test_edges_come_in_the_order_of_the_graph() -> None:
    rng = np.random.default_rng(1)
    nodes = pandas.DataFrame(
        rng.random((20, 2)), columns=["x", "y"], index=rng.permutation(100)[:20]
    )
    ends = rng.choice(nodes.index, (2, 60))
    edges = pandas.DataFrame({"source": ends[0], "target": ends[1], "length": rng.random(60)})
    for directed in (True, False):
        g = nearfar.Graph.from_frames(nodes, edges, directed=directed)
        rows = edges.iloc[g.attributes["edge_rows"]]
        assert np.array_equal(rows["length"], g.weights)
        pairs = np.sort(np.stack([g.name_of(g.tails()), g.name_of(g.indices)]), axis=0)
        assert np.array_equal(pairs, np.sort(rows[["source", "target"]].to_numpy().T, axis=0))
        if directed:
            assert np.array_equal(g.name_of(g.tails()), rows["source"])
        assert nearfar.Graph.from_frames(nodes, edges, None).weights is None


BAD: list[tuple[Any, Any, dict[str, Any], type[Exception], str]] = [
    (NODES, [(11, 12)], {}, GraphError, "edges is a list: give a pandas DataFrame"),
    (NODES, {"from": [11], "to": [12]}, {}, GraphError, "edges has no column 'length'"),
    (NODES, {"from": [11], "to": [99], "length": [1]}, {}, GraphError, "99 is not among"),
    (NODES, {"a": [11], "b": [12]}, {}, GraphError, "edges has no columns u and v"),
    (NODES, {"a": [1]}, {"ends": ("a", "b")}, OptionError, "no columns a and b; it has a"),
    (NODES, {"from": [1], "to": [1]}, {"ids": "osmid"}, OptionError, "no column 'osmid'"),
    (NODES, {"from": [11], "to": [12], "length": [np.nan]}, {}, GraphError, "not a number in"),
    (NODES.iloc[[0, 0]], {"from": [11], "to": [11], "length": [1]}, {}, GraphError, "same id"),
]


@pytest.mark.parametrize(
    ("nodes", "edges", "options", "error", "text"), BAD, ids=[c[4] for c in BAD]
)
def test_bad_frames_are_told_in_a_sentence(
    nodes: Any, edges: Any, options: dict[str, Any], error: type[Exception], text: str
) -> None:
    table = pandas.DataFrame(edges) if isinstance(edges, dict) else edges
    with pytest.raises(error, match=text):
        nearfar.Graph.from_frames(nodes, table, **options)


def test_a_geographic_table_keeps_lines_both_ways() -> None:
    table = geopandas.GeoDataFrame(geometry=[BEND, LineString([(40, 0), (40, 30)])], crs=3067)
    g = nearfar.Graph.from_geodataframe(table)
    start = int(g.snap(0, 0, to="vertex").vertex[0])
    edge = int(g.indptr[start])
    assert route_points(g, np.array([edge])).tolist() == [list(p) for p in BEND.coords]
    found = g.snap(20, 11)
    assert {int(found.edge[0]), int(found.back[0])} == {edge, int(g.edges_between(
        int(g.indices[edge]), start)[0])}  # fmt: skip
    assert found.distance[0] == pytest.approx(1)
    plain = nearfar.Graph.from_geodataframe(table.iloc[1:])
    assert edge_lines(plain) is None


def test_damaged_lines_in_a_file_are_told(tmp_path: Path) -> None:
    g = nearfar.Graph.from_frames(*osmnx_frames())
    lines = g.attributes[EDGE_LINES]
    for first, xy in (
        (lines.first[:-1], lines.xy),
        (lines.first[::-1].copy(), lines.xy),
        (lines.first, lines.xy[:-1]),
        (lines.first, np.where(lines.xy > 5, np.nan, lines.xy)),
    ):
        bad = nearfar.Graph.from_frames(*osmnx_frames())
        bad.attributes[EDGE_LINES] = EdgeLines(first, xy)
        with pytest.raises(GraphError, match="does not belong to 4 edges"):
            bad.snap(1, 1, parts="all")
        with pytest.raises(GraphFormatError, match="does not belong to 4 edges"):
            nearfar.write(bad, tmp_path / "g.nfg")


def test_lines_survive_files(tmp_path: Path) -> None:
    nodes, edges = osmnx_frames()
    g = nearfar.Graph.from_frames(nodes, edges)
    nearfar.write(g, tmp_path / "g.nfg")
    prepared = nearfar.prepare(g, force=True)
    prepared.save(tmp_path / "g.nfp")
    for back in (nearfar.read(tmp_path / "g.nfg"), nearfar.load(tmp_path / "g.nfp"), prepared):
        for one, two in zip(edge_lines(g) or (), edge_lines(back) or (), strict=True):
            assert np.array_equal(one, two)
        place = nearfar.route(back, (20.0, 12.0), (40.0, 15.0), parts="all")
        assert place.points.tolist() == [[20, 10], [40, 10], [40, 0], [40, 15]]


def test_attributes_of_edges_survive_files(tmp_path: Path) -> None:
    """Regression: rows, keys, columns and closed edges were lost."""
    nodes, edges = osmnx_frames()
    edges["lanes"] = np.arange(len(edges), dtype=np.int16)
    g = nearfar.Graph.from_frames(nodes, edges, columns=["lanes", "length"])
    g = g.without_edges([1, 2])
    nearfar.write(g, tmp_path / "g.nfg")
    nearfar.prepare(g, force=True).save(tmp_path / "g.nfp")
    for verify in (None, True, False):
        back = [nearfar.read(tmp_path / "g.nfg", verify=verify), nearfar.load(tmp_path / "g.nfp")]
        for one in back:
            for name in ("edge_rows", "edge_keys"):
                assert one.attributes[name].tolist() == g.attributes[name].tolist()
            columns = one.attributes["edge_columns"]
            assert columns["lanes"].tolist() == g.attributes["edge_columns"]["lanes"].tolist()
            assert columns["length"].dtype == np.float64
            closed = one.attributes["closed_edges"]
            assert closed.edge.tolist() == [1, 2]
            assert closed.head.tolist() == g.attributes["closed_edges"].head.tolist()


def test_what_no_file_holds_is_named(tmp_path: Path) -> None:
    g = nearfar.Graph.from_frames(*osmnx_frames())
    g.attributes["edge_columns"] = {"name": np.array(["a"] * g.n_edges, dtype=object)}
    with pytest.warns(UserWarning, match="edge_columns.name"):
        nearfar.write(g, tmp_path / "g.nfg")
    with pytest.warns(UserWarning, match="edge_columns.name"):
        nearfar.prepare(g, force=True).save(tmp_path / "g.nfp")
    assert "edge_columns" not in nearfar.read(tmp_path / "g.nfg").attributes


@pytest.mark.parametrize(
    "arrays",
    [
        {"edge_rows": np.arange(3)},
        {"edge_columns.lanes": np.zeros((4, 2))},
        {"closed_edges.edge": np.array([9]), "closed_edges.head": np.array([0])},
        {"closed_edges.edge": np.array([1]), "closed_edges.head": np.array([-1])},
        {"closed_edges.edge": np.array([2, 1]), "closed_edges.head": np.array([0, 0])},
        {"closed_edges.edge": np.array([1])},
    ],
)
def test_damaged_attributes_of_edges_are_told(arrays: dict[str, Any]) -> None:
    with pytest.raises(GraphError, match=r"for 4 edges|to 4 edges"):
        with_edge_arrays({}, arrays, 3, 4)


def test_degrees_are_on_the_earth() -> None:
    """Latitudes above 90 in a network in degrees were accepted."""
    lines = geopandas.GeoDataFrame(
        {"length": [1.0]}, geometry=[LineString([(60.2, 24.9), (60.2, 124.9)])], crs=4326
    )
    with pytest.raises(GraphError, match=r"vertex 1 .* latitude 124\.9, not on the Earth.*as x"):
        nearfar.Graph.from_geodataframe(lines)
    made = networkx.MultiDiGraph(crs="epsg:4326")
    made.add_node(0, x=361.0, y=0.0)
    with pytest.raises(GraphError, match="vertex 0 is at longitude 361 and latitude 0"):
        nearfar.Graph.from_osmnx(made)
    known = {"geographic": True}
    places = {"coordinates": [[0, 0], [359, 90]]}  # longitudes from 0 to 360 are in use, too
    assert nearfar.Graph.from_edges([0], [1], attributes=known, **places).n_vertices == 2


def test_coordinates_are_a_pair_of_columns() -> None:
    """Regression: x was taken with lat if they came first."""
    edges = pandas.DataFrame({"from": [11], "to": [12], "length": [3.0]})
    nodes = pandas.DataFrame({"lat": [60, 61], "x": [5, 6], "lon": [24, 25], "y": [7, 8]},
                             index=[11, 12])  # fmt: skip
    g = nearfar.Graph.from_frames(nodes, edges)
    assert g.coordinates is not None
    assert g.coordinates.tolist() == [[5, 7], [6, 8]]
    g = nearfar.Graph.from_frames(nodes[["lat", "x", "lon"]], edges)
    assert g.coordinates is not None
    assert g.coordinates.tolist() == [[24, 60], [25, 61]]
    with pytest.raises(GraphError, match="several columns for a coordinate, x, X, y: keep one"):
        nearfar.Graph.from_frames(nodes.assign(X=1), edges)
    with pytest.raises(GraphError, match="column 'x' of nodes is not a number in every row"):
        nearfar.Graph.from_frames(nodes.assign(x=["5", "b"]), edges)
