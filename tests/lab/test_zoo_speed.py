"""Graphs of the speed zoo, resumed runs, and the page and picture."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from docs.generators import readings, table

import nearfar
from nearfar.lab.bench.peers import PEERS
from nearfar.lab.bench.peers.base import TookTooLong
from tests.loading import load_program

script = load_program("benchmarks", "zoo_speed")
ZOO = script.ZOO
make = load_program("benchmarks", "zoo_graphs").make


@pytest.mark.parametrize("name", ZOO)
def test_every_graph_is_what_its_entry_says(name: str) -> None:
    graph, entry = make(name, 1500), ZOO[name]
    assert 500 <= graph.n_vertices <= 2000
    assert graph.weight_dtype == entry.dtype
    assert graph.n_negative == 0
    again = make(name, 1500)
    assert np.array_equal(graph.indices, again.indices)
    assert np.array_equal(graph.weights, again.weights)
    (source,) = script.draw_sources(graph, 1)
    paths = nearfar.sssp(graph, source, device="cpu", threads=1)
    assert np.count_nonzero(paths.reachable) > graph.n_vertices // 4
    given, scaled = script.for_peers(graph, float(paths.distances[paths.reachable].max()))
    assert given.weight_dtype == np.int32
    assert scaled or np.array_equal(given.weights, graph.weights)
    reached = nearfar.sssp(given, source, device="cpu", threads=1)
    assert reached.distances[reached.reachable].max() <= script.FARTHEST


def test_halves_families_weights_and_sizes() -> None:
    halves = {half: [e for e in ZOO.values() if e.half == half] for half in ("tuned", "reported")}
    assert min(map(len, halves.values())) >= 20
    for field, least in (("family", 10), ("weights", 6), ("dtype", 3)):
        for entries in halves.values():
            assert len({getattr(entry, field) for entry in entries}) >= least
    sizes = {entry.vertices for entry in ZOO.values()}
    assert (min(sizes), max(sizes)) == (1000, 10_000_000)


class Peer(PEERS["gap"]):  # type: ignore[name-defined, misc]
    """Peer that takes 3 ms, and with two threads hangs except with its first delta."""

    solved = 0

    def find(self, floats: bool = False) -> str:
        return "gap-sssp"

    def prepare(self, graph: Any) -> None:
        self.solved = 0

    def solve(self, source: int) -> None:
        self.solved += 1
        if self.threads > 1 and self.solved > 1:
            raise TookTooLong("gap-sssp took longer than 10 s")
        self.delta, self.reported_seconds = 4, 0.003


def run(monkeypatch: pytest.MonkeyPatch, *words: str) -> dict[str, Any]:
    monkeypatch.setitem(PEERS, "gap", Peer)
    monkeypatch.setattr(sys, "argv", ["zoo_speed.py", *words, "--most", "400", "--peers", "gap"])
    assert script.main() == 0
    document: dict[str, Any] = json.loads(Path(words[-1]).read_text())
    return document


def test_a_run_goes_on_where_it_was_cut_and_its_page_is_drawn(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    file = str(tmp_path / "zoo.json")
    common = ("--threads", "1", "2", "--rounds", "1", "--sources", "1")
    run(monkeypatch, "--only", "path", *common, "-o", file)
    capsys.readouterr()
    document = run(monkeypatch, "--only", "path", "maze", *common, "-o", file)
    printed = capsys.readouterr().out
    assert "maze" in printed
    assert "path" not in printed
    rows = {row["graph"]: row for row in document["results"]}
    assert set(rows) == {"path", "maze"}
    assert "no run took less" in rows["maze"]["skipped"]["gap, 2 threads"]
    engines = {(row["engine"], row["threads"]) for row in rows["maze"]["rows"]}
    assert engines == {("nearfar", 1), ("nearfar", 2), ("gap", 1)}
    document = run(monkeypatch, "--only", "path", *common[:-1], "2", "-o", file)
    assert "path" in capsys.readouterr().out  # with other samples it is measured again

    half = next(one for one in readings.zoo_halves(document) if one["half"] == "reported")
    assert (half["threads"], half["graphs"]) == (1, 1)
    assert half["names"].startswith("maze ")
    monkeypatch.setattr(table, "load", lambda name: document if name == "zoo_speed.json" else None)
    found = {one.block: one.markdown() for one in table.tables() if "zoo-speed" in one.block}
    assert "| reported, threads: 1 | 1 |" in found["zoo-speed-halves"]
    assert "| maze: nearly constant, int32 | reported |" in found["zoo-speed-cpu"]
    assert "Not measured yet" in found["zoo-speed-gpu"]


@pytest.mark.usefixtures("emulated_gpu")
def test_a_run_on_a_gpu(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    file = str(tmp_path / "zoo.json")
    words = ["zoo_speed.py", "--device", "cuda", "--only", "maze-open", "--most", "300", "--peers"]
    monkeypatch.setattr(sys, "argv", [*words, "--set", "delta_growth=1", "-o", file])
    assert script.main() == 0
    (row,) = json.loads(Path(file).read_text())["results"]
    assert [one["engine"] for one in row["rows"]] == ["nearfar", "one core"]
    assert row["rows"][0]["steps"] > 1
    assert row["rows"][0]["first_ms"] > 0


def test_processor_time_is_that_of_one_thread(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(sys, "argv", ["zoo_speed.py", "--clock", "processor"])
    with pytest.raises(SystemExit):
        script.main()
    assert "give --threads 1" in capsys.readouterr().err


def test_a_program_that_sleeps_uses_no_processor_time() -> None:
    program = "import time; began = time.time(); time.sleep(0.5); print(time.time() - began)"
    with script.peers_clock("processor"):
        done = subprocess.run(
            [sys.executable, "-c", program], check=True, capture_output=True, text=True
        )
    assert float(done.stdout) < 0.4
