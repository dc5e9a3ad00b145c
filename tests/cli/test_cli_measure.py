"""``nearfar measure``: one sub-command per measure."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest

import nearfar
from nearfar.cli.console import Exit
from nearfar.cli.queries.measure import KINDS
from tests.program import fail, run, succeed


def values(text: str) -> dict[str, float]:
    return {line.split("\t")[0]: float(line.split("\t")[-1]) for line in text.splitlines()}


def test_betweenness(graph_file: Path, named_file: Path) -> None:
    graph = nearfar.read(graph_file)
    want = nearfar.measures.betweenness(graph, normalized=False)
    found = values(succeed("measure", "betweenness", graph_file, "--raw"))
    assert found == dict(zip(map(str, range(graph.n_vertices)), want.tolist(), strict=True))
    top = succeed("measure", "betweenness", graph_file, "--raw", "--top", 1).splitlines()
    assert top == [f"{want.argmax()}\t{want.max()}"]
    edges = json.loads(succeed("measure", "betweenness", named_file, "--edges", "--json"))
    named = nearfar.read(named_file)
    assert edges["values"] == nearfar.measures.betweenness(named, edges=True).tolist()
    assert set(edges["tails"]) <= set(named.vertex_names)
    one = values(succeed("measure", "betweenness", named_file, "--source", "Bern", "--raw"))
    assert (
        one["Basel"]
        == nearfar.measures.betweenness(named, ["Bern"], normalized=False)[named.index_of("Basel")]
    )


def test_path_counts_and_all_shortest_paths(tmp_path: Path) -> None:
    path = tmp_path / "diamond.el"
    path.write_text("0 1\n0 2\n1 3\n2 3\n")
    assert values(succeed("measure", "path-counts", path, 0)) == {"0": 1, "1": 1, "2": 1, "3": 2}
    assert values(succeed("measure", "path-counts", path, 0, "--log2", "--top", 1)) == {"3": 1}
    done = run("measure", "all-shortest-paths", path, 0, 3)
    assert done.stdout.splitlines() == ["0 1 3", "0 2 3"]
    assert "2 shortest paths of length 2" in done.stderr
    one = json.loads(succeed("measure", "all-shortest-paths", path, 0, 3, "--most", 1, "--json"))
    assert one == {"count": 2, "length": 2, "paths": [[0, 1, 3]]}
    assert "not reached" in fail(Exit.NO_PATH, "measure", "all-shortest-paths", path, 3, 0)


def test_one_number_per_vertex(named_file: Path) -> None:
    graph = nearfar.read(named_file)
    names = graph.vertex_names.tolist()
    for name in ("closeness", "harmonic"):
        for flags, more in (((), {}), (("--outward", "--limit", 2), {"outward": True, "limit": 2})):
            want = getattr(nearfar.measures, name)(graph, **more).tolist()
            found = values(succeed("measure", name, named_file, *flags))
            assert found == dict(zip(names, want, strict=True))
    one = succeed("measure", "closeness", named_file, "--vertex", "Chur", "--device", "cpu")
    assert list(values(one)) == ["Chur"]


def test_measures_of_a_graph(tmp_path: Path) -> None:
    path = tmp_path / "path.wel"
    path.write_text("0 1 2\n1 0 2\n1 2 3\n2 1 3\n")
    found = {
        name: succeed("measure", name, path).split()
        for name in ("diameter", "radius", "center", "periphery", "average-length", "efficiency")
    }
    assert found["diameter"] == ["5"]
    assert found["radius"] == ["3"]
    assert found["center"] == ["1"]
    assert found["periphery"] == ["0", "2"]
    assert float(found["average-length"][0]) == pytest.approx(20 / 6)
    assert float(found["efficiency"][0]) == pytest.approx((1 / 2 + 1 / 3 + 1 / 5) / 3)
    assert json.loads(succeed("measure", "center", path, "--json")) == {"center": [1]}
    far = values(succeed("measure", "eccentricity", path, "--top", 2))
    assert far == {"0": 5, "2": 5}


@pytest.mark.usefixtures("emulated_gpu")
def test_on_a_device(graph_file: Path) -> None:
    for flags in (("betweenness", "--raw"), ("betweenness", "--edges"), ("path-counts", "0")):
        name, *more = flags
        found = succeed("measure", name, graph_file, *more, "--device", "cuda").splitlines()
        wanted = succeed("measure", name, graph_file, *more, "--device", "cpu").splitlines()
        for got, want in zip(found, wanted, strict=True):
            assert got.split("\t")[:-1] == want.split("\t")[:-1]
            assert float(got.split("\t")[-1]) == pytest.approx(float(want.split("\t")[-1]))
    shared = ("measure", "betweenness", graph_file, "--devices", "0")
    assert succeed(*shared) == succeed(*shared[:3], "--device", "cuda")
    for name in ("closeness", "harmonic"):
        found = succeed("measure", name, graph_file, "--device", "cuda", "--top", 3)
        assert found == succeed("measure", name, graph_file, "--device", "cpu", "--top", 3)


def test_edge_loads(named_file: Path, tmp_path: Path) -> None:
    graph = nearfar.read(named_file)
    trips = tmp_path / "trips.csv"
    trips.write_text("source,target,demand\nBern,Chur,4\nChur,Bern,2\nBern,Basel,1.5\n")
    found = nearfar.measures.edge_loads(
        graph, [("Bern", "Chur", 4.0), ("Chur", "Bern", 2.0), ("Bern", "Basel", 1.5)]
    )
    got = json.loads(succeed("measure", "edge-loads", named_file, "--demand", trips, "--json"))
    assert got["values"] == found.loads.tolist()
    assert got["carried"] == found.carried
    done = run("measure", "edge-loads", named_file, "--demand", trips, "--top", 1)
    assert "carried" in done.stderr
    assert ("no path" in done.stderr) == bool(found.unreached)
    closed = run(
        "measure", "edge-loads", named_file, "--demand", trips, "--closed", "Basel", "--json"
    )
    shut = nearfar.measures.edge_loads(
        graph.with_turns(closed=["Basel"]),
        [("Bern", "Chur", 4.0), ("Chur", "Bern", 2.0), ("Bern", "Basel", 1.5)],
    )
    assert json.loads(closed.stdout)["values"] == shut.loads.tolist()
    trips.write_text("source,target,demand\nBern,Chur,x\n")
    assert "line 2" in fail(Exit.BAD_INPUT, "measure", "edge-loads", named_file, "--demand", trips)
    trips.write_text("source,target\nBern,Chur\n")
    assert "no column 'demand'" in fail(
        Exit.BAD_INPUT, "measure", "edge-loads", named_file, "--demand", trips
    )
    assert ".csv or .parquet" in fail(
        Exit.USAGE, "measure", "edge-loads", named_file, "--demand", "trips.txt"
    )


def test_edge_loads_from_parquet_and_lost_demand(graph_file: Path, tmp_path: Path) -> None:
    pandas = pytest.importorskip("pandas")
    trips = tmp_path / "trips.parquet"
    pandas.DataFrame({"source": [0, 0], "target": [3, 5], "demand": [4, 2]}).to_parquet(trips)
    done = run("measure", "edge-loads", graph_file, "--demand", trips, "--json")
    assert json.loads(done.stdout)["unreached_pairs"] == [[0, 5, 2]]
    assert "demand of 2 has no path, pairs: 1; 0 to 5" in done.stderr


TOWN = """<NUMBER OF ZONES> 2
<NUMBER OF NODES> 4
<FIRST THRU NODE> 3
<NUMBER OF LINKS> 4
<END OF METADATA>
1 2 100 1 1 0.15 4 0 0 1 ;
1 3 100 1 4 0.15 4 0 0 1 ;
2 4 100 1 1 0.15 4 0 0 1 ;
3 4 100 1 1 0.15 4 0 0 1 ;
"""


def test_a_tntp_network_with_its_trips_and_zones(tmp_path: Path, graph_file: Path) -> None:
    net, trips = tmp_path / "town_net.tntp", tmp_path / "town_trips.tntp"
    net.write_text(TOWN)
    trips.write_text("<NUMBER OF ZONES> 2\n<END OF METADATA>\nOrigin 1\n 2 : 7.5;\n")
    loads = ("measure", "edge-loads", net, "--demand", trips)
    assert "FIRST THRU NODE 3" in fail(Exit.BAD_INPUT, *loads)
    through = ("--read-option", "through_zones=true")
    assert succeed(*loads, *through, "--top", 1) == "1\t2\t7.5\n"
    to_four = tmp_path / "trips.csv"
    to_four.write_text("source,target,demand\n1,4,2\n")
    loads = ("measure", "edge-loads", net, "--demand", to_four, *through)
    assert values(succeed(*loads, "--top", 2)) == {"1": 2, "2": 2}
    assert values(succeed(*loads, "--top", 2, "--closed", "zones")) == {"1": 2, "3": 2}
    skim = ("measure", "skims", net, "--source", 1, "--target", 4, *through)
    assert succeed(*skim) == "1\t4\t2.0\n"
    assert succeed(*skim, "--closed", "zones") == "1\t4\t5.0\n"
    trips.write_text("<NUMBER OF ZONES> 3\n<END OF METADATA>\nOrigin 1\n 2 : 7.5;\n")
    assert "3 zones" in fail(
        Exit.BAD_INPUT, "measure", "edge-loads", net, "--demand", trips, *through
    )
    assert "TNTP" in fail(
        *(Exit.USAGE, "measure", "skims", graph_file, "--source", 0, "--target", 3),
        *("--closed", "zones"),
    )


def test_shortest_path_dag(tmp_path: Path) -> None:
    path = tmp_path / "square.csv"
    path.write_text("source,target,weight\na,b,1\nb,c,1\na,d,1\nd,c,1\na,c,5\nx,a,1\n")
    call = ("measure", "shortest-path-dag", path, "a")
    assert succeed(*call) == "a\tb\na\td\nb\tc\nd\tc\n"
    assert succeed(*call, "--limit", 1) == "a\tb\na\td\n"
    graph, found = nearfar.read(path), json.loads(succeed(*call, "--json"))
    ends = zip(found["tails"], found["heads"], strict=True)
    tails = graph.name_of(graph.tails(np.int64))
    assert list(ends) == [(tails[e], graph.name_of(int(graph.indices[e]))) for e in found["edges"]]
    assert "'q'" in fail(Exit.BAD_INPUT, "measure", "shortest-path-dag", path, "q")


def test_skims(graph_file: Path, tmp_path: Path) -> None:
    graph = nearfar.read(graph_file)
    numbers, text = tmp_path / "metres.npy", tmp_path / "tolls.txt"
    np.save(numbers, np.arange(graph.n_edges) * 0.5)
    text.write_text("\n".join(["3"] * graph.n_edges))
    flags = ("--source", 0, "--target", 3, 5, "--quantity", numbers, "--quantity", text)
    got = succeed("measure", "skims", graph_file, *flags).splitlines()
    want = nearfar.measures.skims(
        graph, [0], [3], quantities=[np.arange(graph.n_edges) * 0.5, [3] * graph.n_edges]
    )
    first = [0, 3, want.distances[0, 0], *(total[0, 0] for total in want.totals)]
    assert got[0].split("\t") == [str(value) for value in first]
    assert got[1].split("\t") == ["0", "5", "inf", "inf", "inf"]
    text.write_text("3\nx\n")
    assert "line 2" in fail(Exit.BAD_INPUT, "measure", "skims", graph_file, *flags)
    numbers.write_text("no array")
    assert "not a valid NumPy file" in fail(Exit.BAD_INPUT, "measure", "skims", graph_file, *flags)


def test_errors(graph_file: Path, cycle_file: Path) -> None:
    assert "MEASURE" in run("measure").stderr
    assert "sources or samples" in fail(
        Exit.USAGE, "measure", "betweenness", graph_file, "--source", 1, "--samples", 2
    )
    assert "component" in fail(Exit.NO_PATH, "measure", "diameter", graph_file)
    assert "negative" in fail(Exit.BAD_INPUT, "measure", "betweenness", cycle_file)


def test_a_zero_cycle_is_bad_input(tmp_path: Path) -> None:
    path = tmp_path / "zeros.wel"
    path.write_text("0 1 0\n1 0 0\n")
    assert "weight zero" in fail(Exit.BAD_INPUT, "measure", "betweenness", path)


@pytest.mark.parametrize("name", [name.replace("_", "-") for name in sorted(KINDS)])
def test_help_of_each(name: str) -> None:
    assert f"nearfar measure {name}" in succeed("measure", name, "--help")


@pytest.mark.parametrize(
    ("content", "said"),
    [
        (b"source,target,demand\n0,1\n", "line 2: 2 fields, but the header has 3"),
        (b"source,target,demand\n0,1,1,9\n", "line 2: 4 fields, but the header has 3"),
        (b"source,target,demand\n0,1,nan\n", "line 2: demand is 'nan': give a finite"),
        ("source,target,demand\nZürich,1,2\n".encode("latin-1"), "not a CSV table: 'utf-8' codec"),
        (b"", "the file is empty"),
    ],
)
def test_damaged_tables_of_demand(
    graph_file: Path, tmp_path: Path, content: bytes, said: str
) -> None:
    """Regression: non-UTF-8 text was an unexpected error, and an extra field was dropped."""
    file = tmp_path / "demand.csv"
    file.write_bytes(content)
    assert said in fail(Exit.BAD_INPUT, "measure", "edge-loads", graph_file, "--demand", file)


def test_damaged_parquet_of_demand(graph_file: Path, tmp_path: Path) -> None:
    arrow = pytest.importorskip("pyarrow")
    from pyarrow import parquet

    file = tmp_path / "demand.parquet"
    words = ("measure", "edge-loads", graph_file, "--demand", file)
    file.write_bytes(b"PAR1 cut")
    assert "not a valid Parquet file" in fail(Exit.BAD_INPUT, *words)
    columns = {"source": [0, 0], "target": [1, 1], "demand": [2, None]}
    parquet.write_table(arrow.table(columns), file)
    assert "demand is None in row 2: give a finite number" in fail(Exit.BAD_INPUT, *words)


@pytest.mark.parametrize(
    ("name", "content", "said"),
    [
        ("q.npy", b"", "the file is empty"),
        ("q.npy", b"\x93NUMPY", "not a valid NumPy file"),
        ("q.txt", b"1\n\n2 3\n", "line 3: '2 3' is not a number"),
        ("q.txt", b"1_0\n", "line 1: '1_0' is not a number"),
        ("q.txt", b"\xfc\n", "line 1: "),
    ],
)
def test_damaged_quantities(
    graph_file: Path, tmp_path: Path, name: str, content: bytes, said: str
) -> None:
    file = tmp_path / name
    file.write_bytes(content)
    ends = ("--source", 0, "--target", 1)
    words = ("measure", "skims", graph_file, *ends, "--quantity", file)
    assert said in fail(Exit.BAD_INPUT, *words)


def test_a_table_as_spreadsheets_write_it(graph_file: Path, tmp_path: Path) -> None:
    """Regression: a byte order mark became part of the first column's name."""
    file = tmp_path / "demand.csv"
    file.write_bytes(b"\xef\xbb\xbfsource,target,demand\r\n0,1,2\r\n\r\n")
    found = json.loads(succeed("measure", "edge-loads", graph_file, "--demand", file, "--json"))
    assert found["carried"] == 2


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (("--limit", "nan"), "error: --limit is NaN: give a number\n"),
        (("--samples", "0"), "error: --samples is 0: give"),
        (("--seed", "3"), "error: --seed is 3: give --samples too, otherwise nothing is drawn"),
    ],
)
def test_keywords_are_flags_in_errors(graph_file: Path, words: tuple[str, ...], said: str) -> None:
    """Keywords are named as flags also in sub-commands; a seed without samples is refused."""
    assert said in fail(Exit.USAGE, "measure", "betweenness", graph_file, *words)
    assert "--rows is 0" in fail(Exit.USAGE, "generate", "grid", "--rows", 0)
