"""Inputs of experiments: built ahead in other processes, limits per method, sources."""

from __future__ import annotations

import os
import signal
import threading
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from nearfar import Graph, generate
from nearfar.answer.proof import certify
from nearfar.cli.main import main
from nearfar.errors import MissingDependencyError, OptionError
from nearfar.lab.bench.cases import Case, case, proven, time_cases, time_once
from nearfar.lab.bench.suite import draw_sources
from nearfar.lab.experiments import run
from nearfar.lab.experiments.ahead import Ahead, keep, load, shared_out
from nearfar.lab.experiments.experiment import Input, Settings, Task
from nearfar.papers.johnson_apsp.run import EXPERIMENT as JOHNSON
from nearfar.papers.martin_2009.run import EXPERIMENT as MARTIN
from nearfar.papers.martin_2009.run import Martin2009

TINY = Settings("tiny", "cpu")


def _numbers(results: dict[str, Any]) -> dict[str, Any]:
    """Return the results of a run without its times."""
    facts = ("n", "m", "sources", "reached", "edges_of_dijkstra", "left_out")
    return {t["key"]: {f: t["result"][f] for f in facts} for t in results["tasks"]}


@pytest.mark.usefixtures("undrawn")
def test_inputs_made_ahead_give_the_same_results(tmp_path: Path) -> None:
    given: dict[str, Any] = {"scale": "tiny", "device": "cpu", "progress": False}
    here = run("martin-2009", out=tmp_path / "here", **given)
    ahead = run("martin-2009", out=tmp_path / "ahead", workers=2, **given)
    assert ahead.measured == here.measured > 2
    assert not ahead.wrong
    assert _numbers(ahead.results) == _numbers(here.results)


def test_a_kept_input_comes_back_whole_and_leaves_nothing(tmp_path: Path) -> None:
    graph = generate("martin", vertices=300, seed=4)
    graph.transpose()
    keep(Input(graph, [5, 7], proven(graph, [5, 7])), tmp_path / "one")
    back = load(tmp_path / "one")
    assert list(tmp_path.iterdir()) == []
    assert back.sources == [5, 7]
    assert np.array_equal(back.graph.indices, graph.indices)
    assert back.graph.has_transpose
    assert back.graph.transpose().transpose() is back.graph
    assert back.graph.transpose().digest() == graph.transpose().digest()
    for source, distances in back.truth.items():
        certify(graph, source, distances)


def test_inputs_are_made_in_batches_and_the_folder_goes(tmp_path: Path) -> None:
    tasks = MARTIN.tasks(TINY)
    with Ahead(MARTIN, TINY, tasks, 2, tmp_path) as ahead:
        first = ahead.take(tasks[0])
        (folder,) = tmp_path.iterdir()
        assert [p.name for p in folder.iterdir()] == [tasks[1].key]
        assert first is not None
        assert list(first.truth) == first.sources
        assert ahead.take(tasks[1]) is not None
        assert list(folder.iterdir()) == []
    assert list(tmp_path.iterdir()) == []


@pytest.mark.usefixtures("undrawn")
def test_with_overlap_workers_go_on_and_results_are_the_same(tmp_path: Path) -> None:
    given: dict[str, Any] = {"scale": "tiny", "device": "cpu", "progress": False}
    here = run("martin-2009", out=tmp_path / "here", **given)
    ahead = run("martin-2009", out=tmp_path / "ahead", workers=2, overlap=True, **given)
    assert _numbers(ahead.results) == _numbers(here.results)
    assert ahead.results["environments"][0]["overlap"] is True
    assert "overlap" not in here.results["environments"][0]
    tasks = MARTIN.tasks(TINY)
    with Ahead(MARTIN, TINY, tasks, 2, tmp_path, overlap=True) as inputs:
        assert inputs.take(tasks[0]) is not None
        assert tasks[1].key in inputs._waiting
        inputs.take(tasks[1])
        assert tasks[2].key in inputs._waiting  # started while the second one is measured


class Placed(Martin2009):
    """Experiment whose inputs record the cores on which they are built."""

    def make(self, task: Task, settings: Settings) -> Input | None:
        made = super().make(task, settings)
        assert made is not None
        made.sources = sorted(os.sched_getaffinity(0))
        return made


def test_with_overlap_no_worker_has_a_core_of_the_process_that_measures(tmp_path: Path) -> None:
    before = os.sched_getaffinity(0)
    placed = Placed()
    tasks = [task for task in placed.tasks(TINY) if task.what["kind"] == "list"]
    ended = threading.Event()
    older = threading.Thread(target=ended.wait)  # stands for a pool of an earlier solve
    older.start()
    assert older.native_id is not None
    with Ahead(placed, TINY, tasks, 2, tmp_path, overlap=True) as inputs:
        made = inputs.take(tasks[0])
        assert made is not None
        assert len(made.sources) == 1
        for thread in (0, older.native_id):
            own = os.sched_getaffinity(thread)
            assert not own & set(made.sources) or len(before) == 1
    assert os.sched_getaffinity(0) == os.sched_getaffinity(older.native_id) == before
    ended.set()


@pytest.mark.parametrize(
    ("cores", "workers", "own", "theirs"),
    [
        ([0, 1, 2, 3], 2, {0, 1}, [2, 3]),
        ([4, 2, 0], 8, {0}, [2, 4]),
        ([5], 2, {5}, [5]),
    ],
)
def test_cores_are_shared_out(
    cores: list[int], workers: int, own: set[int], theirs: list[int]
) -> None:
    assert shared_out(cores, workers) == (own, theirs)


def test_an_error_while_making_ahead_is_that_of_its_task(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setenv("NEARFAR_DATA", str(tmp_path))
    tasks = JOHNSON.tasks(Settings("small", "cpu"))[:2]
    with (
        Ahead(JOHNSON, TINY, tasks, 2) as ahead,
        pytest.raises(MissingDependencyError, match="NEARFAR_DATA"),
    ):
        ahead.take(tasks[1])


class Killed(Martin2009):
    """Experiment whose inputs kill the process that builds them."""

    def make(self, task: Task, settings: Settings) -> Input | None:
        os.kill(os.getpid(), signal.SIGKILL)
        return None


def test_a_worker_that_was_killed_is_told(tmp_path: Path) -> None:
    killed = Killed()
    tasks = killed.tasks(TINY)
    with (
        Ahead(killed, TINY, tasks, 2, tmp_path) as ahead,
        pytest.raises(OptionError, match="fewer workers than 2"),
    ):
        ahead.take(tasks[0])
    assert list(tmp_path.iterdir()) == []


def test_a_method_stops_at_its_limit_on_a_graph() -> None:
    graph = generate("grid", rows=12, columns=12, seed=2)
    cases = [case("heap", "dijkstra_binary_heap@cpu"), case("frontier", "frontier_successors@cpu")]
    found = time_cases(graph, cases, [0, 5, 9], rounds=2, per_method=1e-9)
    for entry in found["cases"].values():
        assert (len(entry["samples"]), entry["sources"]) == (1, 1)
    whole = time_cases(graph, cases, [0, 5, 9], rounds=2, per_method=60.0)
    for entry in whole["cases"].values():
        assert (len(entry["samples"]), entry["sources"]) == (6, 3)
    assert found["cases"]["frontier"]["counters"]["iterations"] > 1


def test_another_method_begins_with_every_source(monkeypatch: pytest.MonkeyPatch) -> None:
    graph = generate("grid", rows=12, columns=12, seed=2)
    order: list[tuple[str, int]] = []

    def noted(one: Case, graph: Graph, source: int) -> tuple[float, Any]:
        order.append((one.label, source))
        return time_once(one, graph, source)

    monkeypatch.setattr("nearfar.lab.bench.cases.time_once", noted)
    cases = [case(x, "dijkstra_binary_heap@cpu") for x in "ab"]
    time_cases(graph, cases, [0, 5], rounds=2)
    timed = order[len(cases) :]
    assert timed[::2] == [("a", 0), ("b", 5), ("b", 0), ("a", 5)]


def test_a_hundred_sources_can_be_drawn() -> None:
    graph = generate("grid", rows=20, columns=20, seed=2)
    sources = draw_sources(graph, 100)
    assert len(set(sources)) == 100
    assert sources[:10] == draw_sources(graph, 10)


def test_limits_that_mean_nothing_are_refused(tmp_path: Path) -> None:
    with pytest.raises(OptionError, match="per_method is 0"):
        run("martin-2009", scale="tiny", device="cpu", out=tmp_path, per_method=0)
    with pytest.raises(OptionError, match="workers is 0"):
        run("martin-2009", scale="tiny", device="cpu", out=tmp_path, workers=0)
    command = ["experiment", "martin-2009", "--device", "cpu", "--per-method", "0"]
    assert main([*command, "-o", str(tmp_path), "-q"]) == 2
