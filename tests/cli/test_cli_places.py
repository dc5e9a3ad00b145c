"""``nearfar table``, ``route`` and ``catchment``: places from tables and on the command line."""

from __future__ import annotations

import csv
import json
from pathlib import Path

import numpy as np
import pandas
import pytest

import nearfar
from nearfar.cli.console import Exit
from tests.program import fail, run, succeed
from tests.solve.places.test_table import grid

PLACES = {"h1": (24.95, 60.12), "h2": (25.0, 60.15), "h3": (25.05, 60.18)}


@pytest.fixture(scope="module")
def town(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("town")
    g = grid()
    nearfar.write(g, folder / "town.nfg")
    nearfar.prepare(g).save(folder / "town.nfp")
    lines = [f"{name},{lat},{lon},{i + 1}" for i, (name, (lon, lat)) in enumerate(PLACES.items())]
    (folder / "homes.csv").write_text("\n".join(["id,Latitude,Longitude,people", *lines]) + "\n")
    clinics = ["lon,lat,beds", "24.95,60.12,4", "25.0,60.15,6"]
    (folder / "clinics.csv").write_text("\n".join(clinics) + "\n")
    return folder


def want(town: Path) -> np.ndarray:
    homes = list(PLACES.values())
    found: np.ndarray = nearfar.table(nearfar.load(town / "town.nfp"), homes, homes[:2])
    return found


def test_a_table_on_the_terminal(town: Path) -> None:
    call = ("table", town / "town.nfp", town / "homes.csv", town / "clinics.csv")
    done = run(*call)
    assert (
        "longitude in 'Longitude', latitude in 'Latitude'; 3 origins named by 'id'" in done.stderr
    )
    assert "longitude in 'lon', latitude in 'lat'; 2 destinations numbered from 1" in done.stderr
    lines = [line.split("\t") for line in done.stdout.splitlines()]
    assert [line[:2] for line in lines[:3]] == [["h1", "1"], ["h1", "2"], ["h2", "1"]]
    assert np.allclose([float(line[2]) for line in lines], want(town).ravel())
    told = json.loads(succeed(*call, "--json", "--quiet"))
    assert np.allclose(told["distances"], want(town))
    assert told["origins"] == ["h1", "h2", "h3"]
    limited = json.loads(succeed(*call, "--json", "--quiet", "--limit", 1))
    assert limited["distances"] == [[0.0, None], [None, 0.0], [None, None]]


def test_a_table_in_files(town: Path, tmp_path: Path) -> None:
    call = ("table", town / "town.nfg", town / "homes.csv", town / "clinics.csv")
    succeed(*call, "-o", tmp_path / "t.parquet")
    frame = pandas.read_parquet(tmp_path / "t.parquet").set_index("origin")
    assert frame.index.tolist() == ["h1", "h2", "h3"]
    assert np.allclose(frame.to_numpy(), want(town))
    succeed(*call, "-o", tmp_path / "t.parquet")  # complete already
    succeed(*call, "-o", tmp_path / "t.csv", "--limit", 1)
    rows = list(csv.reader((tmp_path / "t.csv").read_text().splitlines()))
    assert rows[0] == ["origin", "1", "2"]
    assert rows[3] == ["h3", "", ""]
    # A Parquet table of places, as written by pandas.
    pandas.read_csv(town / "homes.csv").to_parquet(tmp_path / "homes.parquet")
    other = ("table", town / "town.nfp", tmp_path / "homes.parquet", town / "clinics.csv")
    assert np.allclose(json.loads(succeed(*other, "--json", "-q"))["distances"], want(town))


def test_the_nearest(town: Path, tmp_path: Path) -> None:
    call = ("table", town / "town.nfp", town / "homes.csv", town / "clinics.csv", "--nearest", 1)
    lines = [line.split("\t") for line in succeed(*call, "--quiet").splitlines()]
    assert [line[:3] for line in lines[:2]] == [["h1", "1", "1"], ["h2", "1", "2"]]
    assert float(lines[2][3]) == pytest.approx(want(town)[2].min())
    succeed(*call, "-o", tmp_path / "n.csv")
    assert pandas.read_csv(tmp_path / "n.csv").columns.tolist() == [
        "origin", "rank", "destination", "distance"
    ]  # fmt: skip
    assert "ends in .csv" in fail(Exit.USAGE, *call, "-o", tmp_path / "n.parquet")


def test_routes(town: Path, tmp_path: Path) -> None:
    ends = ("60.12,24.95", "60.18,25.05")
    out = tmp_path / "r.geojson"
    found = json.loads(
        succeed("route", town / "town.nfp", *ends, "-k", 3, "--stretch", 1.5, "-o", out, "--json")
    )
    g = nearfar.load(town / "town.nfp")
    want = nearfar.routes(g, PLACES["h1"], PLACES["h3"], 3, stretch=1.5)
    assert [r["length"] for r in found] == pytest.approx([r.length for r in want])
    assert np.allclose(found[0]["coordinates"], want[0].points)
    features = json.loads(out.read_text())["features"]
    assert np.allclose(features[0]["geometry"]["coordinates"], want[0].points)
    one = succeed("route", town / "town.nfg", *ends)
    assert one.startswith(f"{want[0].length:,.6g} s\t")
    solver = ("--threads", 1, "--device", "cpu", "--method", "dijkstra")
    assert one == succeed("route", town / "town.nfg", *ends, *solver)
    said = fail(Exit.USAGE, "route", town / "town.nfp", *ends, "-k", 2, "--threads", 1)
    assert "--threads is an option of one route" in said
    assert "needs a prepared graph" in fail(Exit.USAGE, "route", town / "town.nfg", *ends, "-k", 2)
    assert "swap them" in fail(
        Exit.BAD_INPUT, "route", town / "town.nfg", "24.95,60.12", "60.18,25.05"
    )


def test_catchments(town: Path, tmp_path: Path) -> None:
    call = ("catchment", town / "town.nfp", town / "homes.csv", town / "clinics.csv",
            "--supply", "beds", "--limit", 500_000)  # fmt: skip
    g = nearfar.load(town / "town.nfp")
    homes = list(PLACES.values())
    for flags, options in (
        ((), {}),
        (("--demand", "people"), {"demand": [1, 2, 3]}),
        (("--decay", "gaussian:30000"), {"decay": ("gaussian", 30000.0)}),
    ):
        want = nearfar.accessibility(g, homes, homes[:2], [4, 6], limit=500_000, **options)
        lines = succeed(*call, *flags, "-q").splitlines()
        assert [line.split("\t")[0] for line in lines] == ["h1", "h2", "h3"]
        assert np.allclose([float(line.split("\t")[1]) for line in lines], want)
    succeed(*call, "-o", tmp_path / "s.csv")
    assert pandas.read_csv(tmp_path / "s.csv")["origin"].tolist() == ["h1", "h2", "h3"]


def test_bad_tables(town: Path, tmp_path: Path) -> None:
    def told(text: str, *more: object) -> str:
        path = tmp_path / "bad.csv"
        path.write_text(text)
        call = ("table", town / "town.nfg", path, town / "clinics.csv", "--quiet", *more)
        return fail(Exit.BAD_INPUT, *call)

    north = "lon,lat\n25,60.1\n25,north\n"
    assert "bad.csv, line 3: lat is 'north': give a finite number" in told(north)
    assert "bad.csv, line 1: no column 'street'" in told("lon,lat\n25,60.1\n", "--id", "street")
    assert "origins, row 1: place 0" in (swapped := told("lon,lat\n60.1,25\n"))
    assert "swap them" in swapped
    call = ("table", town / "town.nfg", "--quiet")
    empty = tmp_path / "empty.csv"
    empty.write_text("lon,lat\n")
    assert "origins is empty" in fail(Exit.USAGE, *call, empty, town / "clinics.csv")
    empty.write_text("a,b\n1,2\n")
    assert "no columns of coordinates" in fail(Exit.USAGE, *call, empty, town / "clinics.csv")
    assert "ends in .csv or .parquet" in fail(
        Exit.USAGE, *call, town / "town.nfg", town / "clinics.csv"
    )
    # Before the graph is read.
    names = ("none.nfg", "a.csv", "b.csv", "-o")
    assert "end it in .csv, .npy" in fail(Exit.USAGE, "table", *names, "t.xlsx")
    for command in ("table", "catchment"):
        missing = tmp_path / "none" / "t.csv"
        assert "does not exist" in fail(Exit.USAGE, command, *names, missing)


def test_what_is_left_out_is_said(tmp_path: Path) -> None:
    xy = [[24.9, 60.1], [24.95, 60.1], [24.9, 60.15], [24.92, 60.12], [24.93, 60.12]]
    g = nearfar.Graph.from_edges([0, 1, 2, 3], [1, 2, 0, 4], [9, 9, 9, 9], coordinates=xy)
    g.attributes["forbidden_turns"] = [[0, 1, 2]]
    nearfar.write(g, tmp_path / "g.nfg")
    done = run("route", tmp_path / "g.nfg", "60.1,24.91", "60.1,24.94")
    assert "2 of 5 vertices and 1 of 4 edges are left out; --parts all includes them" in done.stderr
    assert "1 forbidden turns are ignored without --turns" in done.stderr
    assert "Warning" not in done.stderr


def test_turns_between_places(tmp_path: Path) -> None:
    file, ready = tmp_path / "g.nfg", tmp_path / "g.nfp"
    xy = [[24.9, 60.1], [24.95, 60.1], [25, 60.1], [24.95, 60.05]]
    g = nearfar.Graph.from_edges([0, 1, 1], [1, 2, 3], [10, 10, 10], directed=False, coordinates=xy)
    g.attributes["forbidden_turns"] = [[0, 1, 2]]
    nearfar.write(g, file)
    succeed("prepare", file, "--turns", "-o", ready, "-q")
    ends = ("60.1,24.925", "60.1,24.975")
    assert json.loads(succeed("route", file, *ends, "--json"))[0]["length"] == pytest.approx(
        10, abs=1e-6
    )
    (tmp_path / "a.csv").write_text("lon,lat\n24.925,60.1\n")
    (tmp_path / "b.csv").write_text("lon,lat\n24.975,60.1\n")
    tables = (tmp_path / "a.csv", tmp_path / "b.csv")
    for graph in (file, ready):
        done = succeed("route", graph, *ends, "--turns", "--json")
        (route,) = json.loads(done)
        # To the end of the other street, back, and then on.
        assert route["length"] == pytest.approx(30, abs=1e-6)
        assert route["vertices"] == [1, 3, 1]
        found = json.loads(succeed("table", graph, *tables, "--turns", "--json"))
        assert found["distances"] == [[pytest.approx(30, abs=1e-6)]]
        found = json.loads(succeed("catchment", graph, *tables, "--turns", "--limit", 20, "--json"))
        assert found["accessibility"] == [0]
    assert "is a table: give one place" in fail(Exit.USAGE, "route", file, *tables)
    said = fail(Exit.USAGE, "route", file, *ends, "--turns", "-k", 2, "--quiet")
    assert f"-k 2 needs a prepared graph: nearfar prepare {file} --turns" in said
    (route,) = json.loads(succeed("route", ready, *ends, "--turns", "-k", 2, "--json"))
    assert route["vertices"] == [1, 3, 1]
