"""Graphs to and from other libraries, names of any kind, and parts of a graph."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import igraph
import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
import rustworkx
from hypothesis import given

import nearfar
import networkx as nx
from nearfar import Graph
from nearfar.errors import GraphError, GraphFormatError, MissingDependencyError, VertexError
from nearfar.graph.geography import on_earth
from tests.strategies import graphs


def same(one: Graph, other: Graph) -> None:
    """Return whether vertices and edges agree, parallel edges by their weights."""
    assert one.directed == other.directed
    assert one.n_vertices == other.n_vertices

    def edges(graph: Graph) -> list[Any]:
        ends = graph.name_of(graph.tails()).tolist(), graph.name_of(graph.indices).tolist()
        return sorted(zip(*ends, graph.effective_weights.tolist(), strict=True))

    assert edges(one) == edges(other)
    assert one.is_weighted == other.is_weighted or not one.n_edges


@given(graph=graphs())
def test_there_and_back_is_the_same_graph(graph: Graph) -> None:
    same(Graph.from_networkx(graph.to_networkx()), graph)
    same(Graph.from_igraph(graph.to_igraph()), graph)


def test_there_and_back_with_names_coordinates_and_no_direction() -> None:
    g = Graph.from_edges(
        ["a", "b", "b", "c"], ["b", "c", "c", "c"], [1.5, 2.0, 3.0, 4.0],
        directed=False, coordinates=[[0, 1], [2, 3], [4, 5]], attributes={"unit": "s"},
    )  # fmt: skip
    theirs = g.to_networkx()
    assert isinstance(theirs, nx.MultiGraph)
    assert theirs.number_of_edges() == 4
    assert theirs.nodes["b"] == {"x": 2.0, "y": 3.0}
    assert theirs.graph == {"unit": "s"}
    assert nx.dijkstra_path_length(theirs, "a", "c") == 3.5
    again = Graph.from_networkx(theirs)
    same(again, g)
    np.testing.assert_array_equal(again.coordinates, g.coordinates)
    assert again.attributes == g.attributes
    del theirs.nodes["b"]["x"]
    assert Graph.from_networkx(theirs).coordinates is None
    other = g.to_igraph()
    assert other.distances("a", "c", weights="weight") == [[3.5]]
    back = Graph.from_igraph(other)
    same(back, g)
    np.testing.assert_array_equal(back.coordinates, g.coordinates)
    table = g.to_pandas()
    assert len(table) == 4
    same(Graph.from_dataframe(table, directed=False), g)
    assert list(g.without_weights().to_pandas().columns) == ["source", "target"]


def test_igraph_objects_get_a_hint_and_a_way() -> None:
    """Regression: the message for an igraph.Graph did not name the conversion."""
    theirs = igraph.Graph([(0, 1), (1, 2)], directed=True)
    with pytest.raises(GraphError, match=r"cannot convert igraph\.Graph .*use Graph\.from_igraph"):
        nearfar.sssp(theirs, 0)
    assert Graph.from_igraph(theirs).weights is None
    theirs.es["km"] = [3, 4]
    with pytest.raises(GraphError, match="numbers in km: choose with weight='km'"):
        Graph.from_igraph(theirs)
    g = Graph.from_igraph(theirs, "km")
    assert nearfar.sssp(g, 0).distances.tolist() == [0, 3, 7]
    assert not Graph.from_igraph(theirs, None).is_weighted
    theirs.es["weight"] = [1, None]
    with pytest.raises(
        GraphError, match="edge attribute 'weight' is not a number everywhere: one is None"
    ):
        Graph.from_igraph(theirs)


@pytest.mark.parametrize(
    ("made", "hint"),
    [
        (rustworkx.PyGraph(), r"use Graph\.from_rustworkx"),
        (pd.DataFrame(), r"use Graph\.from_dataframe"),
        (np.zeros((2, 2)), r"use Graph\.from_dense"),
        ("roads.gr", r"cannot convert str .*nearfar\.read"),
    ],
)
def test_what_is_not_taken_says_what_to_use(made: Any, hint: str) -> None:
    with pytest.raises(GraphError, match=hint):
        nearfar.sssp(made, 0)


def test_rustworkx() -> None:
    theirs = rustworkx.PyDiGraph()
    theirs.add_nodes_from("abcd")
    theirs.add_edges_from([(0, 2, 1.5), (2, 3, 2.5), (1, 2, 9.0)])
    g = Graph.from_rustworkx(theirs)
    assert nearfar.sssp(g, 0).distances.tolist() == [0, float("inf"), 1.5, 4]
    theirs.remove_node(1)
    g = Graph.from_rustworkx(theirs)
    assert g.vertex_names.tolist() == [0, 2, 3]
    assert nearfar.sssp(g, 2).distance_to(3) == 2.5
    undirected = rustworkx.PyGraph()
    undirected.add_nodes_from(range(3))
    undirected.add_edges_from([(0, 1, {"km": 4, "n": "x"}), (1, 2, {"km": 5})])
    with pytest.raises(GraphError, match="numbers in km"):
        Graph.from_rustworkx(undirected)
    g = Graph.from_rustworkx(undirected, "km")
    assert (g.directed, nearfar.sssp(g, 2).distances.tolist()) == (False, [9, 5, 0])
    assert Graph.from_rustworkx(undirected, lambda d: 2 * d["km"]).weights.tolist()[0] == 8
    undirected.add_edge(0, 2, {})
    with pytest.raises(GraphError, match="edge 2 has no 'km'"):
        Graph.from_rustworkx(undirected, "km")
    plain = rustworkx.generators.path_graph(3)
    assert Graph.from_rustworkx(plain).weights is None
    plain.add_edge(0, 2, "road")
    with pytest.raises(GraphError, match="the data of an edge is"):
        Graph.from_rustworkx(plain)
    assert Graph.from_rustworkx(plain, None).n_edges == 6


def test_edge_index() -> None:
    ends = np.array([[0, 2, 1], [1, 0, 2]])
    g = Graph.from_edge_index(ends, np.array([[1.0], [2.0], [4.0]], np.float32), n_vertices=4)
    assert nearfar.sssp(g, 0).distances.tolist() == [0, 1, 5, float("inf")]
    assert Graph.from_edge_index(ends, directed=False).n_edges == 6
    with pytest.raises(GraphError, match=r"shape \(3, 2\): give \(2, number of edges\)"):
        Graph.from_edge_index(ends.T)
    with pytest.raises(GraphError, match="give integers"):
        Graph.from_edge_index(ends.astype(float))


# ---- names ---------------------------------------------------------------------------------------


@pytest.mark.parametrize("make", [list, np.array, pd.Series, pl.Series, pa.array])
def test_edges_between_texts(make: Any) -> None:
    """Regression: text vertices raised `sources has dtype <U1: give integers`."""
    g = Graph.from_edges(make(["b", "a"]), make(["a", "c"]), [1, 2])
    assert g.vertex_names.tolist() == ["a", "b", "c"]
    assert nearfar.sssp(g, "b").to_dict() == {"b": 0, "a": 1, "c": 3} | {}
    assert nearfar.shortest_path(g, "b", "c") == (["b", "a", "c"], 3)


NAMED = {
    "list": list,
    "objects": lambda names: np.array(names, dtype=object),
    "pandas": pd.Series,
    "pandas objects": lambda names: pd.Series(names, dtype=object),
    "pandas categories": lambda names: pd.Series(names, dtype="category"),
    "polars": pl.Series,
    "polars categories": lambda names: pl.Series(names, dtype=pl.Categorical),
    "polars enum": lambda names: pl.Series(names, dtype=pl.Enum(["c", "x", "ü", "b", "a"])),
    "arrow": pa.array,
    "arrow dictionary": lambda names: pa.array(names).dictionary_encode(),
    "arrow chunks": lambda names: pa.chunked_array([names[:2], names[2:]], pa.large_string()),
    "arrow dictionaries": lambda names: pa.chunked_array(
        [pa.array(part).dictionary_encode() for part in (names[:2], names[2:])]
    ),
}


@pytest.mark.parametrize("kind", NAMED)
def test_columns_of_names_are_encoded_by_their_library(kind: str) -> None:
    make = NAMED[kind]
    tails, heads = make(["b", "a", "b", "ü"]), make(["a", "c", "a", "b"])
    g = Graph.from_edges(tails, heads, [1, 2, 3, 4])
    assert g.vertex_names.tolist() == ["a", "b", "c", "ü"]
    assert nearfar.sssp(g, "ü").to_dict() == {"ü": 0, "b": 4, "a": 5, "c": 7}
    known = Graph.from_edges(tails, heads, vertex_names=["ü", "c", "b", "a"])
    assert known.vertex_names.tolist() == ["ü", "c", "b", "a"]
    assert known.n_edges == 4
    with pytest.raises(GraphError, match="the end of edge 1 is missing: give a name"):
        Graph.from_edges(make(["b", None, "a"]), make(["a", "b", "a"]))


def test_names_in_two_dimensions_are_refused() -> None:
    pairs = pl.Series([{"a": 1, "b": 2}, {"a": 3, "b": 4}])  # NumPy makes a matrix of it
    with pytest.raises(GraphError, match="names have 2 dimensions: give one per vertex"):
        Graph.from_dataframe(pl.DataFrame({"source": pairs, "target": pairs}))
    with pytest.raises(GraphError, match="names have 2 dimensions"):
        Graph.from_edges(np.ones((2, 2)), np.ones((2, 2)), names=True)


def test_edges_between_tuples() -> None:
    g = Graph.from_edges([(0, 0), (0, 1)], [(0, 1), (1, 1)])
    assert g.vertex_names.tolist() == [(0, 0), (0, 1), (1, 1)]
    assert nearfar.sssp(g, (0, 0)).distance_to((1, 1)) == 2


def test_edges_between_mixed_names() -> None:
    g = Graph.from_edges([1, "a"], ["a", (2, "b")], [3, 4])
    assert g.vertex_names.tolist() == [1, "a", (2, "b")]
    assert nearfar.sssp(g, 1).distance_to((2, "b")) == 7
    table = pd.DataFrame({"source": [1, "a"], "target": ["a", "1"]})
    g = Graph.from_dataframe(table)
    assert g.vertex_names.tolist() == [1, "a", "1"]  # regression: 1 became "1"


def test_sets_are_names_although_only_some_of_them_compare() -> None:
    """Sorting does not bring equal sets together: one set became several vertices."""
    ends = [frozenset(map(int, f"{i:b}")) | {i % 5} for i in range(40)]
    g = Graph.from_edges(ends[:20], ends[20:])
    assert len(set(g.vertex_names.tolist())) == g.n_vertices == len(set(ends))


def test_given_names_order_the_vertices_and_may_be_more() -> None:
    g = Graph.from_edges(["b"], ["a"], vertex_names=["c", "b", "a"])
    assert g.vertex_names.tolist() == ["c", "b", "a"]
    assert g.indices.tolist() == [2]
    with pytest.raises(GraphError, match="'q' is not among vertex_names"):
        Graph.from_edges(["q"], ["a"], vertex_names=["a", "b"])
    with pytest.raises(GraphError, match="n_vertices is 5, but there are 2 names"):
        Graph.from_edges(["q"], ["a"], n_vertices=5)
    mixed = Graph.from_edges([0], [1], vertex_names=[1, "1"], names=False)
    assert mixed.vertex_names.tolist() == [1, "1"]
    assert (
        Graph.from_edges([0], [1], vertex_names=[(0, 0), (0, 1)], names=False).index_of((0, 1)) == 1
    )


@pytest.mark.parametrize("missing", [None, float("nan"), pd.NA])
def test_a_missing_name_is_refused(missing: Any) -> None:
    with pytest.raises(GraphError, match="the end of edge 1 is missing"):
        Graph.from_edges(["a", missing], ["b", "c"])


@pytest.mark.parametrize(
    "column",
    [pd.array([True, None], "boolean"), pd.array(["a", None], "string"), pd.to_datetime([0, None])],
)
def test_a_missing_entry_of_a_table_is_refused(column: Any) -> None:
    """NA was an error of pandas, and NaT the name of a vertex."""
    table = pd.DataFrame({"a": ["b", "c"], "b": column})
    for ends in (("a", "b"), ("b", "a")):
        with pytest.raises(GraphError, match="column 'b' is empty in row 1"):
            Graph.from_dataframe(table, *ends)
    with pytest.raises(GraphError, match="the table has 2 columns 'a': keep one"):
        Graph.from_dataframe(table.set_axis(["a", "a"], axis=1), "a", "a")


def test_names_that_cannot_be_looked_up_are_refused() -> None:
    with pytest.raises(GraphError, match="names are 5: give one per vertex"):
        Graph.from_edges([0], [1], vertex_names=5)
    with pytest.raises(GraphError, match="invalid vertex name: unhashable"):
        Graph.from_edges(["a", {}], ["b", "c"])


# ---- parts ---------------------------------------------------------------------------------------


def test_neighbors_and_size() -> None:
    g = Graph.from_edges(["a", "a", "a"], ["c", "b", "c"], vertex_names=["a", "b", "c", "d"])
    assert g.neighbors("a").tolist() == ["c", "b"]
    assert g.neighbors("d").tolist() == []
    assert len(g) == 4
    assert Graph.from_edges([], [], n_vertices=0)  # a graph without edges is true
    with pytest.raises(VertexError):
        g.neighbors("q")


@given(graph=graphs(max_vertices=10))
def test_a_subgraph_is_networkx_subgraph(graph: Graph) -> None:
    kept = list(range(graph.n_vertices))[::-2]
    theirs = graph.to_networkx().subgraph(kept)
    ours = graph.subgraph(kept)
    assert ours.vertex_names.tolist() == kept
    same(ours, Graph.from_networkx(nx.relabel_nodes(theirs, {v: v for v in kept}).copy()))


def test_a_subgraph_keeps_names_coordinates_and_order() -> None:
    g = Graph.from_edges(["a", "b"], ["b", "c"], [1, 2], coordinates=np.arange(6).reshape(3, 2))
    part = g.subgraph(["c", "b"])
    assert part.vertex_names.tolist() == ["c", "b"]
    assert part.coordinates.tolist() == [[4, 5], [2, 3]]
    assert nearfar.shortest_path(part, "b", "c") == (["b", "c"], 2)
    assert len(g.subgraph([])) == 0
    with pytest.raises(GraphError, match="vertex 'b' is given twice"):
        g.subgraph(["b", "b"])


# ---- maps ----------------------------------------------------------------------------------------


def street_graph() -> nx.MultiDiGraph:
    theirs = nx.MultiDiGraph(crs="epsg:4326")
    for name, x, y in ((11, 24.90, 60.10), (12, 24.91, 60.11), (13, 24.92, 60.12)):
        theirs.add_node(name, x=x, y=y)
    theirs.add_edge(12, 13, key=0, length=40.0, travel_time=4.0)
    theirs.add_edge(11, 12, key=1, length=50.0, travel_time=3.0)
    theirs.add_edge(11, 12, key=0, length=60.0, travel_time=2.0)
    return theirs


def test_osmnx_keeps_coordinates_and_keys() -> None:
    g = Graph.from_osmnx(street_graph())
    assert g.attributes["unit"] == "m"
    assert g.attributes["crs"] == "epsg:4326"
    assert g.coordinates[g.index_of(13)].tolist() == [24.92, 60.12]
    assert g.weights.tolist() == [50, 60, 40]
    assert g.attributes["edge_keys"].tolist() == [1, 0, 0]
    assert "edge_keys" not in g.transpose().attributes
    assert "edge_keys" not in g.subgraph([11, 12]).attributes
    assert nearfar.sssp(Graph.from_osmnx(street_graph(), "travel_time"), 11).distance_to(13) == 6
    with pytest.raises(GraphError, match=r"a vertex has no 'x': .*from_networkx"):
        Graph.from_osmnx(nx.path_graph(3))


def test_the_vertex_nearest_to_a_place() -> None:
    g = Graph.from_osmnx(street_graph())
    assert g.nearest_vertex(24.9101, 60.1101) == 12
    assert g.nearest_vertex([24.9, 24.93], [60.1, 60.13]).tolist() == [11, 13]
    with pytest.raises(VertexError, match=r"longitude 60\.1, latitude 240 is not on the Earth"):
        g.nearest_vertex(60.1, 240)
    with pytest.raises(VertexError, match="is not finite"):
        g.nearest_vertex(float("nan"), 0)
    for x, y in (("60.1", "N"), ([1.0, 2.0], [1.0]), (None, "a")):
        with pytest.raises(VertexError, match="numbers, or vectors of the same length"):
            g.nearest_vertex(x, y)
    pacific = Graph.from_edges([0], [1], coordinates=[[-179.9, 0], [170, 0]])
    assert pacific.nearest_vertex(179.9, 0) == 0  # across the date line
    north = Graph.from_edges([0], [1], coordinates=[[0.0, 80.0], [3.0, 80.3]])
    assert north.nearest_vertex(3.0, 80.0) == 1  # a degree of longitude is short at 80 degrees
    plane = Graph.from_edges([0], [1], coordinates=[[0, 0], [5000, 0]])
    assert plane.nearest_vertex(2600, 10) == 1
    with pytest.raises(GraphError, match="no coordinates"):
        Graph.from_edges([0], [1]).nearest_vertex(0, 0)


def test_what_is_known_of_coordinates_goes_before_their_range() -> None:
    """Regression: rows and columns of a grid were taken for degrees."""
    grid = nearfar.generate("grid", rows=30, columns=30)
    assert not on_earth(grid)
    assert grid.nearest_vertex(4.9, 95) == grid.nearest_vertex(5, 29)
    streets = street_graph()
    assert on_earth(Graph.from_osmnx(streets))
    streets.graph["crs"] = "EPSG:3067"
    assert not on_earth(Graph.from_osmnx(streets))
    degrees = Graph.from_edges([0], [1], coordinates=[[24.9, 60.1], [25.0, 60.2]])
    assert on_earth(degrees)
    degrees.attributes["geographic"] = False
    assert not on_earth(degrees)
    assert not on_earth(degrees.without_names().transpose())


def test_geographic_tables() -> None:
    geopandas = pytest.importorskip("geopandas")
    from shapely.geometry import LineString, MultiLineString

    lines = [LineString([(0, 0), (3, 4)]), LineString([(3, 4), (3, 5), (3, 10)])]
    table = geopandas.GeoDataFrame({"minutes": [7, 8]}, geometry=lines, crs="EPSG:3067")
    g = Graph.from_geodataframe(table)
    assert (g.n_vertices, g.n_edges, g.directed) == (3, 4, False)
    assert (g.attributes["unit"], g.attributes["crs"]) == ("m", "EPSG:3067")
    assert nearfar.sssp(g, g.nearest_vertex(0, 0)).distance_to(g.nearest_vertex(3, 10)) == 11
    assert Graph.from_geodataframe(table, "minutes", directed=True).weights.tolist() == [7, 8]
    with pytest.raises(GraphError, match="no column 'km'; numeric columns: minutes"):
        Graph.from_geodataframe(table, "km")
    with pytest.raises(GraphError, match="lengths of these lines would be in degrees"):
        Graph.from_geodataframe(table.to_crs("EPSG:4326"))
    near = geopandas.GeoDataFrame(
        geometry=[LineString([(0, 0), (1, 0)]), LineString([(1.0004, 0), (2, 0)])]
    )
    assert Graph.from_geodataframe(near).n_vertices == 4
    assert Graph.from_geodataframe(near, digits=2).n_vertices == 3
    several = geopandas.GeoDataFrame(geometry=[lines[0], MultiLineString(lines)])
    with pytest.raises(GraphError, match="row 1 holds MultiLineString: give single lines"):
        Graph.from_geodataframe(several)
    for other in (table.geometry, pd.DataFrame({"a": [1]})):  # regression: an AttributeError
        with pytest.raises(GraphError, match="give a GeoDataFrame"):
            Graph.from_geodataframe(other)


# ---- GraphML -------------------------------------------------------------------------------------


def test_graphml(tmp_path: Path) -> None:
    g = Graph.from_edges(
        ["a", "b", "b"], ["b", "c", "c"], [1.5, 2.0, 3.0], coordinates=[[0, 1], [2, 3], [4, 5]],
        attributes={"unit": "s", "edge_keys": np.zeros(3)},
    )  # fmt: skip
    nearfar.write(g, tmp_path / "g.graphml")
    back = nearfar.read(tmp_path / "g.graphml")
    same(back, g)
    assert back.attributes["unit"] == "s"
    np.testing.assert_array_equal(back.coordinates, g.coordinates)
    assert nx.read_graphml(tmp_path / "g.graphml").number_of_edges() == 3
    numbers = Graph.from_edges(
        [0, 1], [1, 2], [7, 8], directed=False, vertex_names=range(1, 4), names=False
    )
    nearfar.write(numbers, tmp_path / "n.graphml.gz")
    same(nearfar.read(tmp_path / "n.graphml.gz"), numbers)
    nx.write_graphml(nx.Graph([(1, 2, {"km": 3})]), tmp_path / "km.graphml")
    with pytest.raises(GraphFormatError, match="numbers in km: choose"):
        nearfar.read(tmp_path / "km.graphml")
    assert nearfar.read(tmp_path / "km.graphml", weight="km").weights.tolist() == [3, 3]


def test_graphml_keeps_attributes_of_the_graph(tmp_path: Path) -> None:
    theirs = nx.DiGraph([("a", "b")], unit="s", year=2026, name="town", attribution="survey")
    nx.write_graphml(theirs, tmp_path / "g.graphml")
    g = nearfar.read(tmp_path / "g.graphml")
    known = {"unit": "s", "year": 2026, "name": "town", "attribution": "survey"}
    assert g.attributes.items() >= known.items()
    nearfar.write(g, tmp_path / "h.graphml")
    assert nx.read_graphml(tmp_path / "h.graphml").graph == {
        **known, "node_default": {}, "edge_default": {},
    }  # fmt: skip


def test_graphml_that_is_wrong(tmp_path: Path) -> None:
    file = tmp_path / "bad.graphml"
    file.write_text('<?xml version="1.0"?>\n<graphml>\n<graph edgedefault="directed">\n<node ')
    with pytest.raises(GraphFormatError, match="line 4: not a valid GraphML file"):
        nearfar.read(file)
    with pytest.raises(GraphFormatError, match="two vertices would be called '1'"):
        nearfar.write(Graph.from_edges([1], ["1"]), tmp_path / "twice.graphml")
    with pytest.raises(GraphFormatError, match="XML does not allow a character of"):
        nearfar.write(Graph.from_edges(["a\1"], ["b"]), tmp_path / "control.graphml")


def test_graphml_without_networkx(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    import sys

    monkeypatch.setitem(sys.modules, "networkx", None)
    g = Graph.from_edges(
        ["a & b", '<"\'\n>', "é"], ["é", "é", "a & b"], [2**60, 0, 7],
        attributes={"note": " a<b\r\n", "closed": True, "share": 0.1},
    )  # fmt: skip
    nearfar.write(g, tmp_path / "g.graphml")
    back = nearfar.read(tmp_path / "g.graphml")
    same(back, g)
    assert back.attributes.items() >= g.attributes.items()


def test_graphml_of_other_programs(tmp_path: Path) -> None:
    file = tmp_path / "g.graphml"
    ends = [(0, 1), (0, 1), (2, 2), (3, 2)]
    theirs = igraph.Graph(4, ends, edge_attrs={"weight": [1, 2.5, 3, 4]})
    theirs.write_graphml(str(file))
    back = nearfar.read(file)
    assert back.vertex_names.tolist() == ["n0", "n1", "n2", "n3"]
    names = [[f"n{end[side]}" for end in ends] for side in (0, 1)]
    same(back, Graph.from_edges(*names, [1, 2.5, 3, 4], directed=False))

    streets = nx.MultiDiGraph(crs="epsg:4326")  # OSMnx writes every value as text
    streets.add_nodes_from((v, {"x": f"24.{v}", "y": "60.1"}) for v in (7, 8))
    streets.add_edge(7, 8, osmid="12", length="64.25", geometry="LINESTRING (24 60, 25 61)")
    streets.add_edge(7, 8, osmid="13", length="80.5")
    nx.write_graphml(streets, file)
    with pytest.raises(GraphFormatError, match="but numbers in length: choose with"):
        nearfar.read(file)
    back = nearfar.read(file, weight="length")
    assert (back.vertex_names.tolist(), back.weights.tolist()) == ([7, 8], [64.25, 80.5])
    assert back.coordinates.tolist() == [[24.7, 60.1], [24.8, 60.1]]
    assert back.attributes["crs"] == "epsg:4326"

    file.write_text(
        """<?xml version="1.0" encoding="UTF-8"?>
        <g:graphml xmlns:g="http://graphml.graphdrawing.org/xmlns" xmlns:y="urn:y">
        <g:key id="d" for="node" yfiles.type="nodegraphics"/>
        <g:key id="w" for="edge" attr.name="weight" attr.type="int"><g:default>5</g:default></g:key>
        <g:graph edgedefault="undirected">
        <g:edge source="a" target="b"/>
        <g:node id="a"><g:port name="p"/><g:data key="d"><y:Shape>
        <y:Geometry x="1" y="2.5"/></y:Shape></g:data></g:node>
        <g:node id="b" yfiles.foldertype="group">
        <g:data key="d"><y:Geometry x="3" y="4"/></g:data>
        <g:graph edgedefault="undirected">
        <g:node id="c"><g:data key="d"><y:Geometry x="5" y="6"/></g:data></g:node>
        <g:edge source="c" target="a"><g:data key="w">9</g:data></g:edge></g:graph>
        </g:node></g:graph><g:graph edgedefault="directed"><g:node id="z"/></g:graph></g:graphml>
        """
    )
    back = nearfar.read(file)
    same(back, Graph.from_edges(["a", "c"], ["b", "a"], [5, 9], directed=False))
    assert back.coordinates.tolist() == [[1, 2.5], [3, 4], [5, 6]]


def test_a_missing_library_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    import sys

    monkeypatch.setitem(sys.modules, "igraph", None)
    with pytest.raises(MissingDependencyError, match="to_igraph needs igraph: pip install igraph"):
        Graph.from_edges([0], [1]).to_igraph()


@pytest.mark.parametrize("x", [None, float("nan"), "1"])
def test_vertices_without_a_place_leave_the_coordinates_out(x: object) -> None:
    """Regression: igraph's None was a TypeError, and NaN failed when the map was drawn."""
    nx, igraph = pytest.importorskip("networkx"), pytest.importorskip("igraph")
    places = {"x": [0.5, x], "y": [1.0, 2.0]}
    made = igraph.Graph([(0, 1)], vertex_attrs=places)
    assert Graph.from_igraph(made).coordinates is None
    other = nx.Graph([(0, 1)])
    for name, values in places.items():
        nx.set_node_attributes(other, dict(enumerate(values)), name)
    assert Graph.from_networkx(other).coordinates is None
    other.nodes[1]["x"] = 7
    assert Graph.from_networkx(other).coordinates.tolist() == [[0.5, 1.0], [7.0, 2.0]]


def test_frames_of_a_matrix_have_one_order() -> None:
    """Regression: rows and columns were taken in their own orders."""
    pandas = pytest.importorskip("pandas")
    frame = pandas.DataFrame([[0, 1.0], [2, 0]], index=["a", "b"], columns=["b", "a"])
    with pytest.raises(GraphError, match="rows are named a, b, columns b, a: give one order"):
        Graph.from_dense(frame, missing=0)
    assert Graph.from_dense(frame[frame.index], missing=0).weights.tolist() == [1, 2]  # type: ignore[union-attr]
    assert Graph.from_dense(frame.to_numpy(), missing=0).n_edges == 2


def test_weights_above_64_bits_are_named() -> None:
    """Regression: the message was that they are no numbers."""
    nx = pytest.importorskip("networkx")
    graph = nx.Graph([(0, 1, {"weight": 10**30})])
    with pytest.raises(GraphError, match=r"'weight' does not fit 64 bits: one is 10{30}$"):
        Graph.from_networkx(graph)
