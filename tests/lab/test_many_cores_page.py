"""The table and the picture of ``many_cores.json``, with a wrong peer and without the file."""

from __future__ import annotations

import json
import sys
import xml.etree.ElementTree as ElementTree
from pathlib import Path
from typing import Any

import pytest
from docs.generators import many_cores

import nearfar
from nearfar.lab.bench.peers import PEERS
from nearfar.lab.bench.peers.gap import WrongAnswer
from tests.loading import load_program


def test_a_file_that_is_missing_is_said(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(many_cores, "results", lambda name: None)
    assert "Not measured yet" in many_cores.many_cores()
    ElementTree.fromstring(many_cores.chart())


def test_a_peer_that_is_wrong_does_not_stop_the_run(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    class Peer(PEERS["gap"]):  # type: ignore[name-defined, misc]
        """Right with one thread; its answers are never shown."""

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
    monkeypatch.setattr(many_cores, "results", lambda name: document)
    rows = {(r["engine"], r["threads"]): r for r in document["graphs"][0]["rows"]}
    assert rows["gap", 1]["median_ms"] == 4
    assert "verification" in rows["gap", 2]["wrong"]
    lines = many_cores.many_cores().splitlines()
    assert "| grid, gap | 4.00 | wrong |" in lines
    (ratio,) = [line for line in lines if "best peer / nearfar" in line]
    assert ratio.endswith("| - |")
    assert ratio.count("x |") == 1
    picture = ElementTree.fromstring(many_cores.chart())
    drawn = picture.findall("{http://www.w3.org/2000/svg}polyline")
    assert [len(line.attrib["points"].split()) for line in drawn] == [2, 1]
    texts = [part.text for part in picture.findall("{http://www.w3.org/2000/svg}text")]
    assert "grid, ms per solve" in texts
    assert texts.count("2 threads") == 1


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
    monkeypatch.setattr(many_cores, "results", lambda name: both)
    assert "cores, load average" in many_cores.many_cores()
    # What another commit measured does not stay.
    for g in both["graphs"]:
        g["environment"]["commit"] = "0123456789abcdef"
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
