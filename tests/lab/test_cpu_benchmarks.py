"""Benchmarks of CPU cores on small graphs: their output, and results of interrupted runs."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

import pytest

import nearfar
from nearfar.lab.bench.peers import PEERS
from nearfar.lab.bench.peers.gap import WrongAnswer
from tests.loading import load_program


def test_batches_on_several_threads(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    script = load_program("benchmarks", "batches")
    graph = nearfar.generate("grid", rows=20, columns=20, seed=1)
    cases = {
        "grid, one per worker": script.Case(lambda: graph, "worker_per_source", 4),
        "grid, all pairs by lanes": script.Case(lambda: graph, "lanes", None),
        "absent": script.Case(lambda: graph, "lanes", None, "no/such.file"),
    }
    monkeypatch.setattr(script, "CASES", cases)
    command = ["batches.py", "--threads", "1", "3", "--rounds", "2", "--seconds", "0.01"]
    monkeypatch.setattr(
        sys, "argv", [*command, "--table-megabytes", "0.1", "-o", str(tmp_path / "batches.json")]
    )
    assert script.main() == 0
    document: dict[str, Any] = json.loads((tmp_path / "batches.json").read_text())
    assert [case["case"] for case in document["cases"]] == list(cases)[:2]
    first, second = (case["rows"] for case in document["cases"])
    assert [row["sources"] for row in first] == [4, 12]
    assert [row["sources"] for row in second] == [400, 400]
    for row in (*first, *second):
        assert len(row["samples"]) == 2
        assert row["seconds_per_source"] > 0 < row["hashes_per_second"]
        assert row["idle"] < 1


def test_a_wrong_row_ends_the_run(monkeypatch: pytest.MonkeyPatch) -> None:
    script = load_program("benchmarks", "batches")
    graph = nearfar.generate("grid", rows=5, columns=5, seed=1)
    rows = nearfar.all_pairs(graph)
    every = list(range(graph.n_vertices))
    script.check(graph, every, rows)
    rows[:, 3] += 1
    with pytest.raises(SystemExit, match="is wrong"):
        script.check(graph, every, rows)


def test_a_peer_that_is_wrong_does_not_stop_the_run(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    class Peer(PEERS["gap"]):  # type: ignore[name-defined, misc]
        """Peer that is right with one thread, and does not show its answers."""

        def find(self, floats: bool = False) -> str:
            return "gap-sssp"

        def prepare(self, graph: Any) -> None:
            self._deltas = [1, 4, 16]

        def solve(self, source: int) -> None:
            if self.threads > 1:
                raise WrongAnswer("it failed its own verification with every delta: 1, 4, 16")
            self.delta, self.reported_seconds = 4, 0.004

    script = load_program("benchmarks", "many_cores")
    graph = nearfar.generate("grid", rows=30, columns=30, seed=1)
    monkeypatch.setitem(script.GRAPHS, "grid", lambda: graph)
    monkeypatch.setitem(PEERS, "gap", Peer)
    command = ["many_cores.py", "--only", "grid", "--threads", "1", "2", "--rounds", "1"]
    command += ["--sources", "2", "--engines", "auto", "--peers", "gap", "--deltas", "3"]
    monkeypatch.setattr(sys, "argv", [*command, "-o", str(tmp_path / "many_cores.json")])
    assert script.main() == 0

    document = json.loads((tmp_path / "many_cores.json").read_text())
    rows = {(r["engine"], r["threads"]): r for r in document["graphs"][0]["rows"]}
    assert rows["gap", 1]["median_ms"] == 4
    assert "verification" in rows["gap", 2]["wrong"]


def test_two_runs_make_one_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    script = load_program("benchmarks", "many_cores")
    for name, rows in (("grid", 20), ("mesh", 30)):
        graph = nearfar.generate("grid", rows=rows, columns=20, seed=1)
        monkeypatch.setitem(script.GRAPHS, name, lambda graph=graph: graph)
    command = ["many_cores.py", "--threads", "1", "--rounds", "2", "--sources", "1"]
    command += ["--engines", "auto", "--peers", "-o", str(tmp_path / "many_cores.json"), "--only"]

    def run(*names: str) -> dict[str, Any]:
        monkeypatch.setattr(sys, "argv", [*command, *names])
        assert script.main() == 0
        found: dict[str, Any] = json.loads((tmp_path / "many_cores.json").read_text())
        return found

    assert [g["graph"] for g in run("mesh")["graphs"]] == ["mesh"]
    both = run("grid")
    assert [g["graph"] for g in both["graphs"]] == ["grid", "mesh"]  # in the order of the table
    assert all(g["environment"]["cores"] >= 1 for g in both["graphs"])
    # Results of another machine are dropped.
    for g in both["graphs"]:
        g["environment"]["cpu"] = "another processor"
    (tmp_path / "many_cores.json").write_text(json.dumps(both))
    assert [g["graph"] for g in run("grid")["graphs"]] == ["grid"]


def test_a_run_that_is_cut_keeps_what_it_has(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    script = load_program("benchmarks", "many_cores")
    graph = nearfar.generate("grid", rows=20, columns=20, seed=1)
    monkeypatch.setitem(script.GRAPHS, "grid", lambda: graph)

    def cut() -> nearfar.Graph:
        raise KeyboardInterrupt

    monkeypatch.setitem(script.GRAPHS, "mesh", cut)
    command = ["many_cores.py", "--threads", "1", "--rounds", "1", "--sources", "1", "--peers"]
    command += [
        "--engines",
        "auto",
        "-o",
        str(tmp_path / "many_cores.json"),
        "--only",
        "grid",
        "mesh",
    ]
    monkeypatch.setattr(sys, "argv", command)
    with pytest.raises(KeyboardInterrupt):
        script.main()
    document = json.loads((tmp_path / "many_cores.json").read_text())
    assert [g["graph"] for g in document["graphs"]] == ["grid"]


def test_prepared_graphs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A small map, with SciPy as the only peer: every answer is right, every round is stored."""
    pytest.importorskip("pymetis")
    output = tmp_path / "prepared.json"
    small = "country-roads-5k"
    script = load_program("benchmarks", "prepared")
    given = ["prepared.py", "--graphs", small, "--foresee", small, "--peers", "scipy"]
    given += ["--rounds", "2", "--threads", "2", "-o", str(output)]
    monkeypatch.setattr(sys, "argv", given)
    assert script.main() == 0
    document = json.loads(output.read_text())
    (result,) = document["results"]
    assert result["right"]
    assert result["rounds"] == 2
    assert {len(samples) for samples in result["samples"].values()} == {2}
    assert result["order"] == "multilevel"
    assert 0 < result["float_difference"] < 1e-12
    assert result["structure_bytes"] > 16 * result["arcs"]
    assert {row["order"] for row in document["foreseen"]} == {"multilevel", "metis"}
    for form in ("int64", "float32", "float64"):
        wanted = {f"{query}, {form}, 1" for query in ("row of many", "table", "pair")}
        assert wanted <= set(result["samples"])


def test_a_missing_map_is_left_out_with_a_word(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    pytest.importorskip("pymetis")
    monkeypatch.setenv("NEARFAR_DATA", str(tmp_path))
    given = ["prepared.py", "--graphs", "florida", "ny-roads", "--foresee", "p2p-Gnutella31"]
    monkeypatch.setattr(sys, "argv", given)
    assert load_program("benchmarks", "prepared").main() == 0
    said = capsys.readouterr().out
    assert "== florida: left out: " in said
    assert "== p2p-Gnutella31: left out: " in said


def test_a_country(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Every step has a time, and answers of queries and scenarios are right."""
    output = tmp_path / "nation.json"
    monkeypatch.setattr(sys, "argv", ["nation.py", "--scale", "tiny", "-o", str(output)])
    load_program("benchmarks", "nation").main()
    parts = json.loads(output.read_text())["parts"]
    assert set(parts) == {"preparing", "orders", "queries", "scenarios", "tables", "largest"}
    assert {"order", "analysis", "arcs"} <= set(parts["largest"]["rows"][0]["steps"])
    assert all(
        row["right"] for part in ("queries", "scenarios", "tables") for row in parts[part]["rows"]
    )
    assert {"multilevel"} <= {row["order"] for row in parts["orders"]["rows"]}


def test_integer_weights_as_given_and_in_int32(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    script = load_program("benchmarks", "integer_weights")
    tiny = nearfar.generate("grid", rows=70, columns=70, seed=1)
    monkeypatch.setattr(script, "GRAPHS", {"grid": lambda: tiny})
    monkeypatch.setattr(script, "MANY", 3)
    file = tmp_path / "integer_weights.json"
    monkeypatch.setattr(sys, "argv", ["integer_weights.py", "--rounds", "1", "-o", str(file)])
    assert script.main() == 0
    (row,) = json.loads(file.read_text())["results"]
    assert row["same_answer"]
    assert set(row["dtypes"]) == {"int32", "int64", "float32", "float64"}
    assert row["dtypes"]["float64"]["many_ms"].keys() == {"auto", "as given"}
