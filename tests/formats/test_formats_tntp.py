"""TNTP: networks, closed zones, trips, flows and coordinates."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

import nearfar
from nearfar.errors import GraphFormatError, OptionError
from nearfar.formats import detect, read, read_flows, read_traffic, read_trips
from nearfar.graph.turns import TurnGraph
from tests.datafiles import data_path

HEADING = (
    "<NUMBER OF ZONES> 2\n<NUMBER OF NODES> 4\n<FIRST THRU NODE> {first}\n<NUMBER OF LINKS> 5\n"
    "<ORIGINAL HEADER>~ anything ;\n<END OF METADATA>\t\t\n\n~ from to ... ;\n"
)
LINKS = (
    "3 1 100 1 2.5 0.15 4 0 0 1 ;\n"
    "1 2 100 1 1 0.15 4 0 0 1 ;\n"
    "\t1\t3\t200\t7\t4\t0.15\t4\t0\t0.5\t1\t;\n"
    "3 2 100 1 4 0.15 4 0 0 1\n"
    "2 4 100 1 1 0.15 4 0 0 1 ; ~ a remark\n"
)


@pytest.fixture
def files(tmp_path: Path) -> dict[str, Path]:
    texts = {
        "net": HEADING.format(first=3) + LINKS,
        "trips": "<NUMBER OF ZONES> 2\n<TOTAL OD FLOW> 12.5\n<END OF METADATA>\n\nOrigin 1\n"
        " 1 : 0.0; 2 : 7.5;\nOrigin  2 \n1:5.0;\n",
        "flow": "From To Volume Cost\n1 2 3.5 1.1\n1 3 4 4\n2 4 0 1\n3 1 0 2.5\n3 2 4 4\n",
        "node": "Node X Y ;\n1 0 0 ;\n2 1 0 ;\n3 0 1 ;\n4 1 1 ;\n",
    }
    found = {}
    for name, text in texts.items():
        found[name] = tmp_path / f"town_{name}.tntp"
        found[name].write_text(text)
    return found


def test_traffic(files: dict[str, Path]) -> None:
    town = read_traffic(files["net"], files["trips"], files["node"])
    graph = town.graph
    assert (graph.n_vertices, graph.n_edges) == (4, 5)
    assert graph.vertex_names == range(1, 5)
    assert graph.tails().tolist() == [0, 0, 1, 2, 2]
    assert graph.indices.tolist() == [1, 2, 3, 0, 1]
    assert graph.weights.tolist() == town.links["free_flow_time"].tolist() == [1, 4, 1, 2.5, 4]
    assert town.links["length"].tolist() == [1, 7, 1, 1, 1]
    assert town.links["toll"].tolist() == [0, 0.5, 0, 0, 0]
    assert (town.zones, town.closed) == (range(1, 3), range(1, 3))
    assert town.demand.toarray().tolist() == [[0, 7.5], [5, 0]]
    assert graph.coordinates.tolist() == [[0, 0], [1, 0], [0, 1], [1, 1]]
    # Through zone 2 there would be a path to 4.
    assert isinstance(town.searched, TurnGraph)
    paths = nearfar.sssp(town.searched, 1)
    assert [paths.distance_to(v) for v in (2, 3, 4)] == [1, 4, float("inf")]
    assert nearfar.sssp(town.searched, 2).distance_to(4) == 1
    found = nearfar.measures.edge_loads(town.searched, town.demand, zones=town.zones)
    assert found.loads.tolist() == [7.5, 0, 0, 0, 0]
    assert (found.unreached, found.unreached_sources.tolist()) == (5, [2])
    volumes, costs = read_flows(files["flow"], graph)
    assert volumes.tolist() == [3.5, 4, 0, 0, 4]
    assert costs.tolist() == [1.1, 4, 1, 2.5, 4]


def test_a_plain_graph(files: dict[str, Path]) -> None:
    net = files["net"]
    assert detect(net) == "tntp"
    with pytest.raises(GraphFormatError, match=r"zones 1 to 2.*read_traffic, or through_zones"):
        read(net)
    graph = read(net, through_zones=True)
    assert nearfar.sssp(graph, 1).distance_to(4) == 2
    assert graph.attributes["first_thru_node"] == 3
    assert read(net, through_zones=True, weight="length").weights.tolist() == [1, 7, 1, 1, 1]
    assert not read(net, through_zones=True, weight=None).is_weighted
    with pytest.raises(OptionError, match="free_flow_time"):
        read(net, through_zones=True, weight="free_flow")
    net.write_text(HEADING.format(first=1) + LINKS)
    assert read(net).attributes["zones"] == 2
    assert read_traffic(net).searched is not None
    assert not read_traffic(net).closed


@pytest.mark.parametrize(
    ("old", "new", "line", "message"),
    [
        ("<NUMBER OF LINKS> 5", "<NUMBER OF LINKS> 6", None, "5 links, but its heading says 6"),
        ("<NUMBER OF NODES> 4\n", "", None, "no <NUMBER OF NODES>"),
        ("<NUMBER OF NODES> 4", "<NUMBER OF NODES> x", 2, "'x': expected an integer"),
        ("<NUMBER OF ZONES> 2", "<NUMBER OF ZONES> 5", 1, "5 zones among 4"),
        ("<FIRST THRU NODE> 3", "<FIRST THRU NODE> 9", 3, "FIRST THRU NODE 9 of 4"),
        ("<END OF METADATA>", "", 9, "<END OF METADATA>"),
        ("3 1 100", "3 5 100", 9, "vertex '5': expected 1 to 4"),
        ("3 1 100", "0 1 100", 9, "vertex '0'"),
        ("3 1 100", "3 1", 9, "9 columns"),
        ("3 1 100", "3 1 nan", 9, "'nan' is not a number"),
        ("3 1 100", "3 1 1_0", 9, "'1_0' is not a number"),
    ],
)
def test_broken_networks(
    files: dict[str, Path], old: str, new: str, line: int | None, message: str
) -> None:
    text = files["net"].read_text()
    assert old in text
    files["net"].write_text(text.replace(old, new, 1))
    with pytest.raises(GraphFormatError, match=message) as caught:
        read_traffic(files["net"])
    assert caught.value.line == line
    assert caught.value.path == str(files["net"])


@pytest.mark.parametrize(
    ("kind", "old", "new", "message"),
    [
        ("trips", "Origin 1\n", "", "expected 'Origin'"),
        ("trips", "2 : 7.5", "3 : 7.5", "zone '3': expected 1 to 2"),
        ("trips", "7.5", "x", "'x' is not a number"),
        ("trips", "7.5", "-7.5", "at least 0"),
        ("trips", "1:5.0;", "", "add up to 7.5, but its heading says 12.5"),
        ("trips", "ZONES> 2", "ZONES> 3", "3 zones, but the network has 2"),
        ("flow", "1 2 3.5 1.1\n", "", "4 links, but the network has 5"),
        ("flow", "1 2 3.5", "1 4 3.5", "link 1 to 4 is not in the network"),
        ("flow", "1 2 3.5 1.1", "1 2 3.5", "3 columns"),
        ("node", "2 1 0 ;\n", "", "no line for vertex 2"),
        ("node", "2 1 0 ;", "2 1 ;", "2 columns"),
    ],
)
def test_broken_companions(
    files: dict[str, Path], kind: str, old: str, new: str, message: str
) -> None:
    text = files[kind].read_text()
    assert old in text
    files[kind].write_text(text.replace(old, new, 1))

    def read_all() -> None:
        town = read_traffic(files["net"], files["trips"], files["node"])
        read_flows(files["flow"], town.graph)

    with pytest.raises(GraphFormatError, match=message) as caught:
        read_all()
    assert caught.value.path == str(files[kind])


def test_trips_alone(files: dict[str, Path]) -> None:
    assert read_trips(files["trips"]).shape == (2, 2)
    with pytest.raises(GraphFormatError, match="no such file"):
        read_trips("nowhere.tntp")


@pytest.mark.data
@pytest.mark.parametrize(
    ("name", "vertices", "links", "zones", "first", "trips"),
    [
        ("SiouxFalls", 24, 76, 24, 1, 360600.0),
        ("Anaheim", 416, 914, 38, 39, 104694.4),
        ("ChicagoSketch", 933, 2950, 387, 1, 1260907.44),
    ],
)
def test_the_real_networks(
    name: str, vertices: int, links: int, zones: int, first: int, trips: float
) -> None:
    town = read_traffic(
        data_path(f"tntp/{name}_net.tntp.xz"), data_path(f"tntp/{name}_trips.tntp.xz")
    )
    assert (town.graph.n_vertices, town.graph.n_edges, len(town.zones)) == (vertices, links, zones)
    assert len(town.closed) == first - 1
    assert town.demand.sum() == pytest.approx(trips)
    volumes, costs = read_flows(data_path(f"tntp/{name}_flow.tntp.xz"), town.graph)
    time = town.links["free_flow_time"] * (
        1 + town.links["b"] * (volumes / town.links["capacity"]) ** town.links["power"]
    )
    if name == "ChicagoSketch":
        time += 0.04 * town.links["length"] + 0.02 * town.links["toll"]
    assert np.allclose(time, costs, rtol=1e-4)


def test_trips_are_no_network(files: dict[str, Path]) -> None:
    with pytest.raises(GraphFormatError, match=r"no <NUMBER OF NODES>; it is a table of trips"):
        read(files["trips"])
