"""Benchmarks: graphs, sources, fairness of the rounds, answers, reports, the command."""

from __future__ import annotations

import json
import math
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import nearfar
from nearfar.errors import MissingDependencyError, OptionError, ProofError
from nearfar.lab.bench import environment as measured_on
from nearfar.lab.bench import measure as measuring
from nearfar.lab.bench import report, suite
from nearfar.lab.bench.environment import environment
from nearfar.lab.bench.measure import measure
from nearfar.lab.bench.peers import Nearfar, Peer
from nearfar.lab.bench.result import Result, Run, Sample
from nearfar.registry import Request, variants
from tests.loading import load_program

SIZES = {"grid": (1500 // 10) ** 2, "martin": (1 << 20) // 100, "random": 983, "mesh": 5_000}


@pytest.fixture
def graph() -> nearfar.Graph:
    return nearfar.generate("grid", rows=20, columns=30, missing=0.1, seed=3)


# ---- graphs and sources -----------------------------------------------------------------------


@pytest.mark.parametrize("name", sorted(SIZES))
def test_generated_graphs_shrink_and_repeat(name: str) -> None:
    first, second = suite.load(name, 100), suite.load(name, 100)
    assert first.n_vertices == SIZES[name]
    assert first.digest() == second.digest()


def test_full_size_of_the_dense_random_graph() -> None:
    random = suite.load("random")
    assert (random.n_vertices, random.n_edges) == (98_304, 98_304 * 200)
    assert (random.min_weight, random.max_weight) == (1, 100)


def test_small_graph_has_its_size_with_and_without_the_file(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setenv("NEARFAR_DATA", str(tmp_path))
    stand_in = suite.load("small")
    assert (stand_in.n_vertices, stand_in.n_edges) == (6_301, 20_777)
    assert suite.SUITE["newyork"].available() != True  # noqa: E712 - a reason in words
    with pytest.raises(MissingDependencyError, match="NEARFAR_DATA"):
        suite.load("newyork")


@pytest.mark.data
def test_real_graphs() -> None:
    if suite.data_folder() is None:
        pytest.skip("no data folder: set NEARFAR_DATA")
    small = suite.load("small")
    assert (small.n_vertices, small.n_edges) == (6_301, 20_777)
    roads = suite.load("newyork")
    assert (roads.n_vertices, roads.n_edges) == (264_346, 733_846)
    assert roads.vertex_names is None


def test_unknown_graph_offers_the_nearest() -> None:
    with pytest.raises(OptionError, match="did you mean 'grid'"):
        suite.load("grd")
    with pytest.raises(OptionError, match="shrink"):
        suite.load("grid", 0)


def test_sources_reach_half_of_what_has_an_edge() -> None:
    graph = suite.load("kronecker", 256)
    sources = suite.draw_sources(graph, 3)
    assert sources == suite.draw_sources(graph, 3)
    assert len(set(sources)) == 3
    touched = np.union1d(np.flatnonzero(graph.degrees), graph.indices)
    for source in sources:
        assert nearfar.sssp(graph, source, device="cpu").n_reached >= len(touched) // 2


def test_sources_of_poor_graphs() -> None:
    chain = nearfar.Graph.from_edges(np.arange(999), np.arange(1, 1000))
    assert len(suite.draw_sources(chain, 2)) == 2
    assert suite.draw_sources(nearfar.Graph.from_edges([], [], n_vertices=1)) == [0]
    assert suite.draw_sources(chain, 3, fixed=7) == [7]


# ---- measuring --------------------------------------------------------------------------------


class Recorder(Nearfar):
    """Contender that records who solved which source."""

    def __init__(self, name: str, log: list[tuple[str, int]], off: float = 0.0) -> None:
        super().__init__(1)
        self.who, self.log, self.off = name, log, off

    @property
    def label(self) -> str:
        return self.who

    def solve(self, source: int) -> Any:
        self.log.append((self.who, source))
        return super().solve(source)

    def distances(self, answer: Any) -> Any:
        return super().distances(answer) + self.off


def test_contenders_take_turns_on_the_same_sources(
    graph: nearfar.Graph, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(measuring, "_MOST_CALLS", 1)
    log: list[tuple[str, int]] = []
    run = measure(graph, [Recorder(n, log) for n in "abc"], [5, 9], rounds=4)
    warm, timed = log[:6], log[6:]
    assert warm == [(n, s) for n in "abc" for s in (5, 9)]
    assert timed == [
        *[("a", 5), ("b", 5), ("c", 5)],
        *[("b", 9), ("c", 9), ("a", 9)],
        *[("c", 5), ("a", 5), ("b", 5)],
        *[("a", 9), ("b", 9), ("c", 9)],
    ]
    for result in run.results:
        assert [(s.round, s.source) for s in result.samples] == [(0, 5), (1, 9), (2, 5), (3, 9)]
        assert result.answer == "equal"
        assert 0 < result.minimum <= result.median
        assert result.engine.endswith("@cpu")


def test_short_solves_are_repeated(graph: nearfar.Graph) -> None:
    run = measure(graph, [Nearfar(1)], [0], rounds=2)
    assert all(s.calls > 1 for s in run.results[0].samples)


def test_a_wrong_answer_is_found(graph: nearfar.Graph) -> None:
    run = measure(graph, [Recorder("right", []), Recorder("off", [], off=1.0)], [0], rounds=1)
    assert [r.answer for r in run.results] == ["equal", "wrong"]
    assert "WRONG" in "\n".join(report.markdown([run], environment(), base="right"))


def test_a_wrong_reference_stops_everything(
    graph: nearfar.Graph, monkeypatch: pytest.MonkeyPatch
) -> None:
    honest = Nearfar.solve

    def tampered(self: Nearfar, source: int) -> Any:
        paths = honest(self, source)
        paths.distances[-1] += 1
        return paths

    monkeypatch.setattr(Nearfar, "solve", tampered)
    with pytest.raises(ProofError):
        measure(graph, [Nearfar(1)], [0], rounds=1)


def test_the_slow_and_the_missing_are_left_out_with_a_reason(graph: nearfar.Graph) -> None:
    class NeverAsked(Peer):
        def prepare(self, graph: nearfar.Graph) -> None:
            raise AssertionError("it said that it cannot")

        def solve(self, source: int) -> None:
            raise AssertionError("it was never prepared")

    class Missing(NeverAsked):
        name = "missing"
        package = "no-such-distribution"

    class Failing(NeverAsked):
        name = "failing"

        def prepare(self, graph: nearfar.Graph) -> None:
            raise RuntimeError("no room")

    class Huge(NeverAsked):
        name = "huge"
        bytes_per_edge = 2**50

    class Limited(NeverAsked):
        name = "limited"
        max_edges = 10

    peers = [Missing(), Failing(), Huge(), Limited()]
    run = measure(graph, peers, [0], rounds=1)
    reasons = {r.name: r.skipped for r in run.results}
    assert "not installed" in reasons["missing"]
    assert "no room" in reasons["failing"]
    assert "GiB" in reasons["huge"]
    assert "10 edges" in reasons["limited"]
    assert all(math.isnan(run.ratio(r)) for r in run.results)
    slow = measure(graph, [Nearfar(1)], [0], rounds=1, patience=0.0).results[0]
    assert "the limit is" in slow.skipped
    assert not slow.samples
    with pytest.raises(OptionError):
        measure(graph, [Nearfar(1)], [], rounds=1)


def test_comparison_knows_no_closeness_for_integers() -> None:
    truth = np.array([0.0, 3.0, np.inf])
    near = truth * (1 + 1e-13)
    assert measuring.compare(truth.copy(), truth, np.dtype("int32")) == "equal"
    assert measuring.compare(near, truth, np.dtype("int32")) == "wrong"
    assert measuring.compare(near, truth, np.dtype("float64")) == "close"
    assert measuring.compare(truth * 1.01, truth, np.dtype("float64")) == "wrong"
    assert measuring.compare(truth[:2], truth, np.dtype("float64")) == "wrong"


# ---- reports ----------------------------------------------------------------------------------


def made_up() -> Run:
    def result(label: str, *seconds: float, **more: Any) -> Result:
        samples = [Sample(i, 0, s, 1) for i, s in enumerate(seconds)]
        name = label.split()[0]
        return Result(label, name, "1.0", 1, samples=samples, answer="equal", **more)

    return Run(
        graph="toy",
        summary="a toy",
        n_vertices=3,
        n_edges=4,
        weight_dtype="int32",
        origin="generated",
        sources=[0],
        rounds=3,
        results=[
            result("scipy", 0.030, 0.020, 0.040),
            result("nearfar (1 thr)", 0.010, 0.012, 0.008, engine="delta_stepping@cpu"),
            result("gap (1 thr)", skipped="not here"),
            result("gap (2 thr)", skipped="not here"),
        ],
    )


def test_medians_and_ratios() -> None:
    run = made_up()
    own = run.find("nearfar (1 thr)")
    assert own is not None
    assert (own.median, own.minimum) == (0.010, 0.008)
    assert own.spread == pytest.approx(0.2)
    assert run.ratio(own) == pytest.approx(3.0)
    assert run.find("gap (1 thr)") is None


def test_markdown_says_numbers_engines_and_who_is_missing() -> None:
    text = "\n".join(report.markdown([made_up()], environment()))
    assert "10.0 (3.00x)" in text
    assert "delta_stepping@cpu on toy (1)" in text
    assert "- gap: not here (toy)" in text
    assert "gap (" not in text
    widths = {len(line) for line in text.splitlines() if line.startswith("|")}
    assert len(widths) == 1


def test_json_holds_every_sample(tmp_path: Path) -> None:
    data = report.document([made_up()], environment(), {"rounds": 3})
    report.write_json(tmp_path / "out.json", data)
    text = (tmp_path / "out.json").read_text()
    assert json.loads(text) == json.loads(json.dumps(data))
    assert "[0, 0, 0.03, 1]" in text
    own = json.loads(text)["runs"][0]["results"][1]
    assert own["times_scipy"] == pytest.approx(3.0)
    assert len(own["samples"]) == 3
    (beside,) = json.loads(text)["runs"][0]["beside_peers"]
    assert beside["best_peer"] == "scipy"
    assert beside["best_peer_over_ours"] == pytest.approx(3.0)


def test_the_driver_is_read_where_the_kernel_tells_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    file = tmp_path / "version"
    file.write_text("NVRM version: NVIDIA UNIX x86_64 Kernel Module  570.86.15  Thu Jan 23\n")
    assert measured_on._driver(file) == "570.86.15"
    file.write_text("NVRM version: NVIDIA UNIX Open Kernel Module for x86_64  580.65.06  Release\n")
    assert measured_on._driver(file) == "580.65.06"
    tool = tmp_path / "nvidia-smi"
    tool.write_text("#!/bin/sh\necho 535.1.2\necho 535.1.2\n")
    tool.chmod(0o755)
    monkeypatch.setenv("PATH", str(tmp_path))
    assert measured_on._driver(tmp_path / "none") == "535.1.2"
    tool.unlink()
    assert measured_on._driver(tmp_path / "none") == ""


def test_environment_names_no_host() -> None:
    import platform

    said = json.dumps(environment())
    assert platform.node() not in said
    assert {"cpu", "cores", "commit", "versions", "date"} <= set(environment())


def test_plot(tmp_path: Path) -> None:
    pytest.importorskip("matplotlib")
    report.plot([made_up()], tmp_path / "out.png")
    assert (tmp_path / "out.png").read_bytes()[:4] == b"\x89PNG"


# ---- the command and the scripts --------------------------------------------------------------


def command(*arguments: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-m", "nearfar", "bench", *arguments],
        capture_output=True,
        text=True,
        check=False,
        timeout=120,
    )


def test_command_measures_and_writes(tmp_path: Path) -> None:
    done = command(
        *["peers", "--graphs", "grid", "martin", "--peers", "scipy", "--threads", "1"],
        *["--shrink", "1000", "--rounds", "2", "-o", str(tmp_path)],
    )
    assert done.returncode == 0, done.stderr
    assert "| grid " in done.stdout
    assert "| martin " in done.stdout
    data = json.loads((tmp_path / "peers.json").read_text())
    assert data["schema"] == report.SCHEMA
    for run in data["runs"]:
        assert [r["contender"] for r in run["results"]] == ["scipy", "nearfar (1 thr)"]
        assert {r["answer"] for r in run["results"]} == {"equal"}
        assert run["results"][1]["times_scipy"] > 0
    assert (tmp_path / "peers.md").read_text().startswith("Milliseconds")


def test_command_json_and_refusals() -> None:
    listed = command("graphs", "--json")
    assert {g["name"] for g in json.loads(listed.stdout)} == set(suite.SUITE)
    wrong = command("peers", "--peers", "scipi")
    assert wrong.returncode == 2
    assert "did you mean 'scipy'" in wrong.stderr
    assert command("peers", "--graphs", "nowhere").returncode == 2
    assert command("peers", "--methods", "nothing").returncode == 2


def test_choice_is_judged_against_every_variant() -> None:
    judge = load_program("benchmarks", "choose_quality").judge
    graph = suite.load("grid", 10_000)
    found = judge("grid", graph, 1, 2, 0.2)
    every = variants(device="cpu", problem="sssp")
    expected = {v.id for v in every if v.can_run(graph, Request(device="cpu")) is True}
    assert set(found["tried"]) == expected
    assert {"delta_stepping@cpu", "dijkstra_binary_heap@cpu"} <= set(found["tried"])
    assert found["best_seconds"] == min(found["finalists"].values())
    assert found["auto_over_best"] == found["auto_seconds"] / found["best_seconds"]


def test_overheads_measure(tmp_path: Path) -> None:
    overheads = load_program("benchmarks", "overheads")
    seconds, heavy = overheads.import_time(1)
    assert 0 < seconds["value"] < 5
    assert heavy["value"] == 0, heavy["names"]
    graph, source = overheads.keep("martin", 20, tmp_path)
    again, start = overheads.kept("martin", tmp_path)
    assert (again.digest(), start, again.directed) == (graph.digest(), source, graph.directed)
    assert overheads.conversion("martin", graph, source, 1)["value"] > 0
    if Path("/proc/self/clear_refs").exists():
        found = overheads.memory("martin", tmp_path, 1)
        n = found["n_vertices"]
        assert n * 4 <= found["value"] * n + 2**20  # at least the distances, up to a few pages
        assert found["packed_bytes"] >= 0
