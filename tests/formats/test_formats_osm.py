"""OpenStreetMap tags: access, direction and speed, way by way, and a small map read whole."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

import nearfar
from nearfar.errors import GraphFormatError, OptionError
from nearfar.formats import read
from nearfar.formats.roads.osm import great_circle
from nearfar.formats.roads.osm_tags import directions, limit, speeds, usable
from tests.program import run

MILE = 1.609344


@pytest.mark.parametrize(
    ("tags", "modes"),
    [
        ({"highway": "residential"}, "drive cycle walk"),
        ({"highway": "motorway"}, "drive"),
        ({"highway": "trunk", "sidewalk": "both"}, "drive walk"),
        ({"highway": "footway"}, "walk"),
        ({"highway": "footway", "bicycle": "designated"}, "cycle walk"),
        ({"highway": "steps", "bicycle": "yes"}, "walk"),
        ({"highway": "cycleway"}, "cycle walk"),
        ({"highway": "cycleway", "foot": "no"}, "cycle"),
        ({"highway": "service", "access": "private"}, ""),
        ({"highway": "service", "access": "no", "foot": "yes"}, "walk"),
        ({"highway": "service", "access": "private", "motorcar": "yes"}, "drive"),
        ({"highway": "residential", "motor_vehicle": "no"}, "cycle walk"),
        ({"highway": "residential", "vehicle": "no", "bicycle": "yes"}, "cycle walk"),
        ({"highway": "pedestrian", "area": "yes"}, "walk"),
        ({"highway": "service", "area": "yes"}, "walk"),
        ({"highway": "construction"}, ""),
        ({"railway": "tram"}, ""),
    ],
)
def test_who_may_use_a_way(tags: dict[str, str], modes: str) -> None:
    assert [m for m in ("drive", "cycle", "walk") if usable(tags, m)] == modes.split()  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("tags", "drive", "cycle", "walk"),
    [
        ({}, (1, 1), (1, 1), (1, 1)),
        ({"oneway": "yes"}, (1, 0), (1, 0), (1, 1)),
        ({"oneway": "-1"}, (0, 1), (0, 1), (1, 1)),
        ({"oneway": "yes", "oneway:bicycle": "no"}, (1, 0), (1, 1), (1, 1)),
        ({"oneway": "yes", "cycleway:left": "opposite_lane"}, (1, 0), (1, 1), (1, 1)),
        ({"junction": "roundabout"}, (1, 0), (1, 0), (1, 1)),
        ({"junction": "roundabout", "oneway": "no"}, (1, 1), (1, 1), (1, 1)),
        ({"highway": "motorway"}, (1, 0), (1, 0), (1, 1)),
        ({"highway": "motorway_link", "oneway": "no"}, (1, 1), (1, 1), (1, 1)),
        ({"oneway:foot": "yes"}, (1, 1), (1, 1), (1, 0)),
    ],
)
def test_directions(
    tags: dict[str, str], drive: tuple[int, int], cycle: tuple[int, int], walk: tuple[int, int]
) -> None:
    assert directions(tags, "drive") == drive
    assert directions(tags, "cycle") == cycle
    assert directions(tags, "walk") == walk


@pytest.mark.parametrize(
    ("value", "expected"),
    [
        ("50", 50),
        ("50 km/h", 50),
        ("30 mph", 30 * MILE),
        ("30mph", 30 * MILE),
        ("10 knots", 18.52),
        ("50;30", 30),
        ("walk", 5),
        ("none", 130),
        ("FI:urban", 50),
        ("DE:rural", 100),
        ("GB:motorway", 70 * MILE),
        ("DE:zone:30", 30),
        ("DE:zone30", 30),
        ("signals", None),
        ("fast", None),
        ("0", None),
        ("XX:urban", None),
        ("", None),
        (None, None),
    ],
)
def test_limits(value: str | None, expected: float | None) -> None:
    assert limit(value) == (expected if expected is None else pytest.approx(expected))


def test_speeds() -> None:
    road = {"highway": "primary"}
    assert speeds({**road, "maxspeed": "40"}, "drive") == (40, 40)
    assert speeds({**road, "maxspeed": "80", "maxspeed:backward": "60"}, "drive") == (80, 60)
    assert speeds(road, "drive")[0] > speeds({"highway": "residential"}, "drive")[0]
    assert speeds({"highway": "motorway"}, "drive", "FI") == (120, 120)
    assert speeds({"highway": "living_street"}, "drive", "DE") == (7, 7)
    assert speeds({"highway": "trunk"}, "drive", "US")[0] == pytest.approx(55 * MILE)
    assert speeds({"highway": "steps"}, "walk")[0] < speeds(road, "walk")[0]
    assert speeds(road, "cycle") == speeds({**road, "maxspeed": "80"}, "cycle")


def test_great_circle() -> None:
    quarter = great_circle(np.array([[0.0, 0.0]]), np.array([[0.0, 90.0]]))
    assert quarter[0] == pytest.approx(np.pi / 2 * 6_371_008.8)
    same = great_circle(np.array([[24.9, 60.2]]), np.array([[24.9, 60.2]]))
    assert same[0] == 0


MAP = """<?xml version='1.0' encoding='UTF-8'?>
<osm version="0.6">
<node id="70" version="1" lat="60.0" lon="24.0"/>
<node id="50" version="1" lat="60.001" lon="24.0"/>
<node id="60" version="1" lat="60.002" lon="24.0"/>
<node id="90" version="1" lat="60.003" lon="24.0"/>
<way id="1" version="1"><nd ref="70"/><nd ref="50"/><nd ref="60"/>
<tag k="highway" v="residential"/><tag k="maxspeed" v="36"/></way>
<way id="2" version="1"><nd ref="60"/><nd ref="90"/><nd ref="4711"/><nd ref="70"/>
<tag k="highway" v="residential"/><tag k="oneway" v="yes"/></way>
<way id="3" version="1"><nd ref="70"/><nd ref="90"/><tag k="highway" v="footway"/></way>
</osm>
"""


def test_a_small_map(tmp_path: Path) -> None:
    pytest.importorskip("osmium")
    path = tmp_path / "m.osm"
    path.write_text(MAP)
    whole = read(path, largest_component=False)
    assert whole.vertex_names is not None
    assert whole.vertex_names.tolist() == [50, 60, 70, 90]
    found = {
        (whole.name_of(u), whole.name_of(int(v))): w
        for u in range(4)
        for v, w in zip(
            whole.indices[whole.indptr[u] : whole.indptr[u + 1]],
            whole.effective_weights[whole.indptr[u] : whole.indptr[u + 1]],
            strict=True,
        )
    }
    # way 2 is one-way, and cut where node 4711 is not in the extract
    assert set(found) == {(70, 50), (50, 70), (50, 60), (60, 50), (60, 90)}
    step = 6_371_008.8 * np.radians(0.001)
    assert found[70, 50] == pytest.approx(step / 10)  # 36 km/h are 10 m/s
    part = read(path)
    assert part.vertex_names is not None
    assert part.vertex_names.tolist() == [50, 60, 70]
    assert read(path, mode="walk").n_edges == 8
    with pytest.raises(OptionError, match="mode"):
        read(path, mode="fly")
    with pytest.raises(OptionError, match="country"):
        read(path, country="ZZ")
    path.write_text(MAP.replace("highway", "waterway"))
    with pytest.raises(GraphFormatError, match="no way for mode"):
        read(path)


def crossing(*relations: str) -> str:
    """Return two roads that meet at 5, way 14 that passes through it, and a way from there to 6."""
    nodes = {1: (-9, -9), 2: (-9, 0), 3: (9, 0), 4: (0, -1), 5: (0, 0.5), 6: (0, 1), 7: (2, 2)}
    text = "".join(
        f'<node id="{v}" version="1" lat="{60 + y / 100}" lon="{24 + x / 100}"/>\n'
        for v, (x, y) in nodes.items()
    )
    ways = {10: (4, 5), 11: (5, 6), 12: (2, 5), 13: (5, 3), 14: (1, 5, 7), 15: (6, 7), 16: (3, 1)}
    for way, points in ways.items():
        kind = "footway" if way == 16 else "residential"
        text += f'<way id="{way}" version="1">' + "".join(f'<nd ref="{p}"/>' for p in points)
        text += f'<tag k="highway" v="{kind}"/></way>\n'
    return f'<osm version="0.6">\n{text}{"".join(relations)}</osm>\n'.replace(
        "<osm", "<?xml version='1.0' encoding='UTF-8'?>\n<osm", 1
    )


def restriction(
    number: int, value: str, *members: str, key: str = "restriction", **tags: str
) -> str:
    """Return a relation with members such as "from:w10"."""
    kinds = {"w": "way", "n": "node"}
    listed = "".join(
        f'<member type="{kinds[place[0]]}" ref="{place[1:]}" role="{role}"/>'
        for role, place in (member.split(":") for member in members)
    )
    known = {"type": "restriction", key: value, **tags}
    said = "".join(f'<tag k="{k}" v="{v}"/>' for k, v in known.items())
    return f'<relation id="{number}" version="1">{listed}{said}</relation>\n'


TURN = ("from:w10", "via:n5", "to:w12")


@pytest.mark.parametrize(
    ("relation", "turns", "left_out"),
    [
        (restriction(1, "no_left_turn", *TURN), [[4, 5, 2]], {}),
        (
            restriction(1, "only_straight_on", "from:w10", "via:n5", "to:w11"),
            [[4, 5, 1], [4, 5, 2], [4, 5, 3], [4, 5, 4], [4, 5, 7]],
            {},
        ),
        (restriction(1, "no_u_turn", "from:w10", "via:n5", "to:w10"), [[4, 5, 4]], {}),
        (
            restriction(1, "no_entry", "from:w10", "from:w11", "via:n5", "to:w12"),
            [[4, 5, 2], [6, 5, 2]],
            {},
        ),
        (restriction(1, "no_left_turn", *TURN, **{"except": "psv;motorcar"}), [], {}),
        (restriction(1, "no_left_turn", *TURN, **{"except": "bicycle"}), [[4, 5, 2]], {}),
        (restriction(1, "no_left_turn", *TURN, key="restriction:hgv"), [], {}),
        (restriction(1, "no_left_turn", *TURN, key="restriction:motorcar"), [[4, 5, 2]], {}),
        (
            restriction(1, "no_left_turn @ (Mo-Fr)", *TURN, key="restriction:conditional"),
            [],
            {"at times": 1},
        ),
        (restriction(1, "no_left_turn", *TURN, hour_on="07:00"), [], {"at times": 1}),
        (restriction(1, "no_left_turn", "from:w10", "via:w11", "to:w15"), [], {"over ways": 1}),
        (restriction(1, "no_left_turn", "from:w10", "to:w12"), [], {"unclear": 1}),
        (restriction(1, "give_way", *TURN), [], {"unclear": 1}),
        (restriction(1, "no_left_turn", "from:w14", "via:n5", "to:w12"), [], {"unclear": 1}),
        # No edge of this mode, or not in the extract: nothing to forbid.
        (restriction(1, "no_left_turn", "from:w16", "via:n3", "to:w13"), [], {}),
        (restriction(1, "no_left_turn", "from:w10", "via:n5", "to:w99"), [], {}),
        (restriction(1, "no_left_turn", "from:w10", "via:n6", "to:w11"), [], {}),
    ],
)
def test_turn_restrictions(
    tmp_path: Path, relation: str, turns: list[list[int]], left_out: dict[str, int]
) -> None:
    pytest.importorskip("osmium")
    path = tmp_path / "m.osm"
    path.write_text(crossing(relation))
    graph = read(path, weight="metres")
    assert graph.forbidden_turns == turns
    assert graph.attributes.get("restrictions_left_out", {}) == left_out
    assert read(path, mode="walk").forbidden_turns == []
    graph.with_turns(forbidden=graph.forbidden_turns)


def test_routes_obey_turn_restrictions(tmp_path: Path) -> None:
    pytest.importorskip("osmium")
    path = tmp_path / "m.osm"
    path.write_text(crossing(restriction(1, "no_straight_on", "from:w10", "via:n5", "to:w11")))
    graph = read(path, weight="metres")
    assert nearfar.shortest_path(graph, 4, 6)[0] == [4, 5, 6]
    turns = graph.with_turns(forbidden=graph.forbidden_turns)
    assert nearfar.shortest_path(turns, 4, 6)[0] == [4, 5, 7, 6]
    assert nearfar.shortest_path(turns, 6, 4)[0] == [6, 5, 4]
    # The program prints distances along the path, and reports ignored restrictions.
    read_as = (path, 4, 6, "--read-option", "weight=metres")
    plain, obeying = (run("path", *read_as, *flag, "--prove") for flag in ((), ("--turns",)))
    assert "1 forbidden turns are ignored without --turns" in plain.stderr
    assert "1 forbidden turns" in obeying.stderr
    lines = [line.split("\t") for line in obeying.stdout.splitlines()]
    assert [line[0] for line in lines] == ["4", "5", "7", "6"]
    assert float(lines[-1][1]) == nearfar.sssp(turns, 4).distance_to(6)
    assert float(lines[0][1]) == 0
    # Restrictions are kept with names, both directions, and their vertices.
    nearfar.write(graph, tmp_path / "m.nfg")
    assert read(tmp_path / "m.nfg").forbidden_turns == [[4, 5, 6]]
    assert graph.subgraph([4, 5, 6]).forbidden_turns == [[4, 5, 6]]
    assert graph.subgraph([4, 5]).forbidden_turns == []
    for other in (graph.transpose(), graph.without_names()):
        assert other.forbidden_turns == []
    assert graph.without_weights().forbidden_turns == [[4, 5, 6]]
