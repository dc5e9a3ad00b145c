"""GPU benchmarks on tiny graphs and an emulated device: their output and stored rows."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from types import ModuleType
from typing import Any

import numpy as np
import pytest

import nearfar
from nearfar.errors import OutOfMemoryError
from nearfar.generators import generate
from nearfar.system.devices import runtime
from tests.loading import load_program

pytestmark = pytest.mark.usefixtures("emulated_gpu")

TINY: dict[str, tuple[str, dict[str, Any]]] = {
    "grid-1000": ("grid", {"rows": 5, "columns": 6}),
    "random-200": ("uniform_random", {"vertices": 40, "degree": 3}),
    "kronecker-20": ("kronecker", {"scale": 5}),
    "martin-11": ("uniform_random", {"vertices": 40, "degree": 2}),  # sparse, directed
}


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    return tmp_path / "graphs"


def program(name: str, monkeypatch: pytest.MonkeyPatch) -> ModuleType:
    """Return a benchmark with tiny graphs in place of its own."""
    found = load_program("benchmarks", name)
    monkeypatch.setattr(sys.modules["graphs_on_disk"], "GRAPHS", TINY)
    return found


def document_of(
    script: ModuleType, monkeypatch: pytest.MonkeyPatch, file: Path, *given: str
) -> dict[str, Any]:
    """Return the file that the program writes for these arguments."""
    monkeypatch.setattr(sys, "argv", ["benchmark", *given, "-o", str(file)])
    assert script.main() == 0
    found: dict[str, Any] = json.loads(file.read_text())
    return found


def test_the_flagship_adds_graphs_to_its_file(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, folder: Path
) -> None:
    script = program("flagship", monkeypatch)
    monkeypatch.setattr(script, "CORES_S", 0.0)
    file = tmp_path / "flagship.json"
    given = ["--rounds", "1", "--repeats", "2", "--folder", str(folder)]
    document_of(script, monkeypatch, file, "--graphs", "kronecker-20", *given)
    found = document_of(
        script, monkeypatch, file, "--graphs", "random-200", "--cores", "1", "2", *given
    )
    first, second = found["results"]
    assert (first["graph"], second["graph"]) == ("random-200", "kronecker-20")
    assert [row["threads"] for row in first["cores"]] == [1, 2]
    assert all(row["median_ms"] > 0 for row in first["cores"])
    assert "cores" not in second
    alone = ["--graphs", "kronecker-20", "--cores", "2", "--cores-only", "--folder", str(folder)]
    _, second = document_of(script, monkeypatch, file, *alone)["results"]
    assert [row["threads"] for row in second["cores"]] == [2]
    assert second["rows"][0]["right"]
    assert first["wrong_of_repeats"] == 0
    assert (folder / "random-200.distances.npy").exists()


def test_near_far_and_breadth_first(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, folder: Path
) -> None:
    given = ["--rounds", "1", "--graphs", "random-200", "--folder", str(folder)]
    for name, more in (("near_far", []), ("breadth_first_cuda", ["--peers", "cugraph"])):
        script = program(name, monkeypatch)
        file = tmp_path / f"{name}.json"
        (row,) = document_of(script, monkeypatch, file, *given, *more)["results"]
        assert row["n"] == 40
        assert row["environment"]["versions"]["nearfar"]
        assert all(one["right"] for one in row["rows"])
    (peer,) = row["peers"]
    assert (peer["ms"], peer["skipped"]) == (None, "pylibcugraph-cu13 is not installed")


def test_breadth_first_search_that_leaves_a_sparse_graph_to_near_far(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, folder: Path
) -> None:
    script = program("breadth_first_cuda", monkeypatch)
    monkeypatch.setattr("nearfar.algorithms.breadth_first.cuda.balls", lambda *_: None)
    given = ["--rounds", "1", "--graphs", "martin-11", "--folder", str(folder)]
    (row,) = document_of(script, monkeypatch, tmp_path / "bfs.json", *given)["results"]
    own = row["rows"][1]
    assert own["right"]
    assert "transpose_ms" not in own
    assert sum(kind["steps"] for kind in own["kinds"].values()) > 0


def test_compound_frontiers_stand_over_the_heap(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    script = load_program("benchmarks", "frontier_crauser")
    tiny = {"matrix-1": lambda: generate("martin_matrix", vertices=24)}
    monkeypatch.setattr(script, "GRAPHS", tiny)
    file = tmp_path / "frontier_crauser.json"
    given = ["--graphs", "matrix-1", "--rounds", "2"]
    (result,) = document_of(script, monkeypatch, file, *given, "--slow", "60")["results"]
    rows = result["rows"]
    assert len(rows) > 20
    assert {len(row["samples_s"]) for row in rows.values()} == {2}
    assert rows[script.BASE]["over_fibonacci_heap"] == 1
    steps = {rows[f"frontier_successors@{d}"]["counters"]["iterations"] for d in ("cpu", "cuda")}
    assert len(steps) == 1
    assert not any(row["wrong_vertices"] for row in rows.values() if not row["unsafe"])
    # A solve above the limit is its only sample; a file that contains the graph is unchanged.
    again = document_of(script, monkeypatch, file, *given, "--slow", "60", "--resume")
    assert again["results"] == [result]
    only = ["--only", "crauser_fused@cuda", "--slow", "0"]
    (result,) = document_of(script, monkeypatch, file, *given, *only)["results"]
    assert {len(row["samples_s"]) for row in result["rows"].values()} == {1}
    assert len(result["rows"]) == 3


def test_what_types_and_predecessors_cost(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    script = load_program("benchmarks", "flagship_costs")
    made = {name: lambda of=of: generate(of[0], **of[1]) for name, of in TINY.items()}
    monkeypatch.setattr(script, "GRAPHS", made)
    monkeypatch.setattr(script, "SETTLING", 1)
    file = tmp_path / "flagship_costs.json"
    for name in ("kronecker-20", "random-200"):
        found = document_of(script, monkeypatch, file, "--rounds", "1", "--graphs", name)
    first, second = found["types"]
    assert (first["graph"], second["graph"]) == ("random-200", "kronecker-20")
    assert first["right"]
    assert set(first["predecessor_ms"]) == set(script.TYPES)
    assert set(second["call_ms"]) == {"distances", "and predecessors"}


def test_all_pairs_through_every_door(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    script = load_program("benchmarks", "doors_cuda")
    tiny = generate("uniform_random", vertices=80, degree=3)
    monkeypatch.setattr(script, "snap", lambda _: tiny)
    monkeypatch.setattr(script, "_device", lambda: {"name": "emulated"})
    given = ["--only", "all-pairs", "--graphs", "loc-brightkite", "--rounds", "1"]
    part = document_of(script, monkeypatch, tmp_path / "out.json", *given)["all-pairs"]
    (row,) = part["results"]
    assert row["vertices"] == 80
    assert len(row["samples"]) == 5
    assert all(set(kinds) == {"fresh", "again"} for kinds in row["samples"].values())


def test_proofs_are_kept_and_read_again(monkeypatch: pytest.MonkeyPatch, folder: Path) -> None:
    script = program("graphs_on_disk", monkeypatch)
    monkeypatch.setattr(script, "GRAPHS", TINY)
    graph = script.load("kronecker-20", folder)
    found = script.proven("kronecker-20", graph, folder)
    assert found[script.source_of("kronecker-20", graph)] == 0
    np.testing.assert_array_equal(script.proven("kronecker-20", graph, folder), found)


def test_rows_of_another_machine_are_dropped(tmp_path: Path) -> None:
    rows = load_program("benchmarks", "result_file").Rows
    file = tmp_path / "rows.json"
    kept = rows(file, ["a", "b", "c"])
    kept.add({"graph": "c", "ms": 1})
    kept.add({"graph": "a", "ms": 2}, device="here")
    kept.add({"graph": "x", "ms": 3})
    again = rows(file, ["a", "b", "c"])
    again.add({"graph": "c", "ms": 4})
    assert [(row["graph"], row["ms"]) for row in again.rows] == [("a", 2), ("c", 4), ("x", 3)]
    text = json.loads(file.read_text())
    text["results"][0]["environment"]["cpu"] = "another processor"
    file.write_text(json.dumps(text))
    assert rows(file, []).names == {"c", "x"}


def test_results_measured_apart_are_joined(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    script = load_program("benchmarks", "result_file")
    files = [tmp_path / name for name in ("kept.json", "cores.json", "gpu.json")]
    old, cores, gpu = (script.Rows(file, []) for file in files)
    old.add({"graph": "a", "ms": 9})
    old.add({"graph": "b", "ms": 8})
    cores.add({"graph": "a", "cores": 7})
    gpu.add({"graph": "a", "ms": 1}, device="here")
    gpu.add({"graph": "c", "ms": 2}, device="here")
    monkeypatch.setattr(sys, "argv", ["result_file.py", *map(str, files)])
    script.main()
    found = json.loads(files[0].read_text())
    assert [(row["graph"], row["ms"]) for row in found["results"]] == [("a", 1), ("b", 8), ("c", 2)]
    assert found["results"][0]["cores"] == 7
    assert found["device"] == "here"
    # A table compares rows, so those of another machine are dropped.
    other = json.loads(files[2].read_text())
    for row in other["results"]:
        row["environment"]["gpu"] = {"name": "another GPU"}
    assert [row["graph"] for row in script.joined([found, other])["results"]] == ["a", "c"]


def test_parts_measured_apart_are_joined() -> None:
    joined = load_program("benchmarks", "result_file").joined
    first, later = {"parts": {"a": 1, "b": 2}}, {"parts": {"b": 3}}
    assert joined([first, later]) == {"parts": {"a": 1, "b": 3}}
    twice = {"results": [{"graph": "a", "form": 1}, {"graph": "a", "form": 2}]}
    with pytest.raises(SystemExit, match="several rows have the same graph"):
        joined([twice, twice])


@pytest.mark.parametrize("devices", [4, pytest.param(8, marks=pytest.mark.slow)])
def test_the_scaling_curve_over_any_number_of_gpus(
    devices: int, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    """Every case on 1, 2, 4 (and 8) devices, with answers compared and repeated."""
    script = load_program("benchmarks", "scale_gpus")
    monkeypatch.setattr(runtime.cupy().cuda.runtime, "getDeviceCount", lambda: devices)
    monkeypatch.setattr(script, "snap", lambda _: generate("kronecker", scale=5))
    monkeypatch.setattr(script, "load", lambda _: generate("grid", rows=6, columns=7))
    prepare = script.nearfar.prepare
    monkeypatch.setattr(script.nearfar, "prepare", lambda graph: prepare(graph, force=True))
    for name, size in (("SOURCES", 12), ("MANY", 40), ("SHARED", 8), ("SOLVED", 1)):
        monkeypatch.setattr(script, name, size)
    file = tmp_path / "scale_gpus.json"
    given = ["--rounds", "1", "--repeats", "1", "--scales", "8"]
    document = document_of(script, monkeypatch, file, *given)
    counts = {str(1 << k) for k in range(devices.bit_length())}
    assert len(document["results"]) == 8
    for row in document["results"]:
        assert (set(row["samples"]), set(row["speedups"])) == (counts, counts), row["what"]
        assert (row["wrong"], row["repeats"]) == (0, 1)
    one = document["results"][-1]
    assert one["what"] == "Kronecker 8, one source"
    assert (set(one["gteps"]), set(one["link"])) == (counts, counts - {"1"})


def test_a_graph_that_one_gpu_does_not_hold(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    script = load_program("benchmarks", "scale_gpus")
    monkeypatch.setattr(runtime.cupy().cuda.runtime, "getDeviceCount", lambda: 2)
    plain = script.partitioned.measure

    def measure(scale: int, count: int, args: Any) -> dict[str, Any]:
        if count == 1:
            raise OutOfMemoryError(2, 1, "give more devices")
        found: dict[str, Any] = plain(scale, count, args)
        return found

    monkeypatch.setattr(script.partitioned, "measure", measure)
    given = ["--cases", "partitioned", "--rounds", "1", "--scales", "6"]
    document = document_of(script, monkeypatch, tmp_path / "scale_gpus.json", *given)
    (row,) = document["results"]
    assert (row["speedups"], list(row["does_not_fit"])) == ({}, ["1"])


def test_reductions_of_prepared_rows() -> None:
    script = load_program("benchmarks", "prepared_cuda_queries")
    prepared = nearfar.prepare(generate("grid", rows=9, columns=9), force=True)
    result: dict[str, Any] = {}
    meter = script.Meter(1, 2, result, lambda: None)
    script.reductions(prepared, meter, 40)
    assert meter.wrong == 0
    assert {name.split(",")[0] for name in result["samples"]} == {
        "mean",
        "count within a limit",
        "harmonic",
        "nearest:5",
        "10 bins",
        "mean distance per source of all pairs",
    }
