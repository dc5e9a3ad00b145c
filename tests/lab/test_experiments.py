"""Experiments: all run at a tiny scale; killed runs resume; errors have clear messages."""

from __future__ import annotations

import json
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, ClassVar

import numpy as np
import pytest

from nearfar import generate
from nearfar.cli.main import main
from nearfar.errors import (
    MissingDependencyError,
    OptionError,
    OutOfMemoryError,
    VariantUnavailable,
)
from nearfar.lab.bench.cases import case, proven, time_cases
from nearfar.lab.experiments import experiments, find, run, runner
from nearfar.lab.experiments.experiment import (
    Column,
    Done,
    Experiment,
    Figure,
    Input,
    Panel,
    Series,
    Settings,
    Table,
    Task,
    whole,
)
from nearfar.lab.experiments.kept import at_once
from nearfar.lab.experiments.render import cell, draw, markdown_table
from nearfar.lab.experiments.runner import Outcome, execute
from nearfar.papers.ortega_arranz_2015.memory import solve_bytes
from nearfar.system.devices import runtime
from nearfar.system.progress import Progress


class Counting(Experiment):
    """Experiment of five tasks that count their runs."""

    name = "counting"
    paper = "none"
    title = "Counting"
    defaults: ClassVar[dict[str, dict[str, Any]]] = {"small": {"rounds": 2}}

    def __init__(self) -> None:
        self.ran: list[str] = []
        self.fail_at = ""
        self.failure: BaseException = RuntimeError("the machine burns")
        self.wrong = 0

    def tasks(self, settings: Settings) -> list[Task]:
        return [Task(f"task-{i}", {"i": i}) for i in range(5)]

    def run(
        self,
        task: Task,
        made: Input | None,
        settings: Settings,
        progress: Callable[[float], None],
    ) -> dict[str, Any]:
        if task.key == self.fail_at:
            raise self.failure
        self.ran.append(task.key)
        progress(0.5)
        safe = {"wrong_runs": self.wrong, "unsafe": False}
        return {
            "square": task.what["i"] ** 2,
            "cases": {"safe": safe, "racy": {"wrong_runs": 9, "unsafe": True}},
        }

    def tables(self, done: Sequence[Done], settings: Settings) -> list[Table]:
        rows = [[d.key, d.result["square"]] for d in done]
        return [Table("squares", "Squares", "By task.", [Column("task"), Column("square")], rows)]

    def figures(self, done: Sequence[Done], settings: Settings) -> list[Figure]:
        x = [d.what["i"] for d in done]
        series = [Series("square", x, [float(d.result["square"]) for d in done])]
        return [Figure("squares", "Squares", "By task.", [Panel("squares", "i", "i^2", series)])]


@pytest.fixture
def counting() -> Counting:
    return Counting()


def go(experiment: Counting, folder: Path, **given: Any) -> Outcome:
    return execute(experiment, experiment.settings("small", "cpu"), folder, **given)


# ---- the runner -------------------------------------------------------------------------------


def test_results_describe_themselves(counting: Counting, tmp_path: Path) -> None:
    outcome = go(counting, tmp_path)
    assert (outcome.measured, outcome.kept, outcome.missing) == (5, 0, [])
    results = json.loads((tmp_path / "results.json").read_text())
    assert results["settings"]["rounds"] == 2
    assert results["environments"][0]["versions"]["nearfar"]
    assert [t["result"]["square"] for t in results["tasks"]] == [0, 1, 4, 9, 16]
    (table,) = results["tables"]
    assert [c["name"] for c in table["columns"]] == ["task", "square"]
    assert "| task-4 |     16 |" in (tmp_path / "tables" / "squares.md").read_text()
    index = (tmp_path / "index.md").read_text()
    assert index.startswith("# Counting")
    assert "![Squares](figures/squares.png)" in index
    assert (tmp_path / "figures" / "squares.png").read_bytes().startswith(b"\x89PNG")
    assert "<svg" in (tmp_path / "figures" / "squares.svg").read_text()


@pytest.mark.usefixtures("undrawn")
def test_a_second_run_measures_only_what_is_missing(counting: Counting, tmp_path: Path) -> None:
    counting.fail_at = "task-3"
    with pytest.raises(RuntimeError, match="burns"):
        go(counting, tmp_path)
    # Tasks that finished before the error are in the tables.
    assert len(json.loads((tmp_path / "results.json").read_text())["tasks"]) == 3
    counting.fail_at = ""
    outcome = go(counting, tmp_path)
    assert (outcome.measured, outcome.kept) == (2, 3)
    assert counting.ran == [f"task-{i}" for i in range(5)]
    assert len(outcome.results["environments"]) == 2


@pytest.mark.usefixtures("undrawn")
def test_a_damaged_sample_counts_as_missing(counting: Counting, tmp_path: Path) -> None:
    go(counting, tmp_path)
    sample = tmp_path / "samples" / "task-2.json"
    sample.write_text(sample.read_text()[:40])
    (tmp_path / "samples" / ".1-0.tmp.task-9.json").write_text("left by a crash")
    outcome = go(counting, tmp_path)
    assert (outcome.measured, outcome.kept) == (1, 4)
    assert not list((tmp_path / "samples").glob(".*"))


@pytest.mark.usefixtures("undrawn")
def test_only_and_budget_leave_tasks_for_later(counting: Counting, tmp_path: Path) -> None:
    outcome = go(counting, tmp_path, only=["task-[12]"])
    assert counting.ran == ["task-1", "task-2"]  # in their own order within a pattern
    assert outcome.missing == ["task-0", "task-3", "task-4"]
    assert "Not measured yet: 3 of 5 tasks." in outcome.results["remarks"]
    assert go(counting, tmp_path, budget=-1.0).measured == 0
    with pytest.raises(OptionError, match=r"no task matches 'x\*'; there are task-0"):
        go(counting, tmp_path, only=["x*"])


def test_patterns_say_the_order(counting: Counting, tmp_path: Path) -> None:
    assert go(counting, tmp_path, only=["task-3", "task-[0-3]"]).measured == 4
    assert counting.ran == ["task-3", "task-0", "task-1", "task-2"]


@pytest.mark.usefixtures("undrawn")
def test_what_cannot_run_here_is_named_and_tried_again(counting: Counting, tmp_path: Path) -> None:
    counting.fail_at, counting.failure = "task-0", OutOfMemoryError(10, 5, "buy more")
    outcome = go(counting, tmp_path)
    assert list(outcome.skipped) == ["task-0"]
    assert any("task-0 was left out" in remark for remark in outcome.results["remarks"])
    counting.fail_at = ""
    assert go(counting, tmp_path).measured == 1


def test_wrong_answers_of_safe_methods_are_named(counting: Counting, tmp_path: Path) -> None:
    counting.wrong = 1
    assert go(counting, tmp_path).wrong == [f"task-{i}: safe" for i in range(5)]


@pytest.mark.usefixtures("undrawn")
def test_another_run_is_not_mixed_in(counting: Counting, tmp_path: Path) -> None:
    go(counting, tmp_path)
    other = counting.settings("small", "cpu", rounds=7)
    with pytest.raises(OptionError, match=r"another run \(.*, not .*\): .* --restart"):
        execute(counting, other, tmp_path)
    assert execute(counting, other, tmp_path, restart=True).measured == 5
    manifest = tmp_path / "manifest.json"
    content = json.loads(manifest.read_text())
    content["environments"][-1]["cpu"] = "Z80"
    manifest.write_text(json.dumps(content))
    with pytest.raises(OptionError, match=r"another run \(cpu Z80, not"):
        execute(counting, other, tmp_path)
    manifest.write_text("{}")
    with pytest.raises(OptionError, match="not an experiment's manifest"):
        execute(counting, other, tmp_path)


@pytest.mark.usefixtures("undrawn")
def test_two_runs_do_not_share_a_folder(counting: Counting, tmp_path: Path) -> None:
    class Twice(Counting):
        def run(self, *given: Any) -> dict[str, Any]:
            with pytest.raises(OptionError, match=r"is being written by process \d+ on .* since"):
                go(counting, tmp_path)
            return super().run(*given)

    assert go(Twice(), tmp_path).measured == 5
    assert counting.ran == []
    assert not (tmp_path / ".lock").exists()
    assert go(counting, tmp_path).kept == 5


def test_without_matplotlib_tables_still_come(
    counting: Counting, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, "matplotlib.backends.backend_agg", None)
    results = go(counting, tmp_path).results
    assert results["figures"][0]["files"] == []
    assert results["tables"][0]["rows"][4] == ["task-4", 16]
    assert any("pip install 'nearfar[plot]'" in remark for remark in results["remarks"])
    with pytest.raises(MissingDependencyError, match="matplotlib"):
        draw(results["figures"][0], tmp_path)


@pytest.mark.usefixtures("undrawn")
def test_a_killed_run_goes_on(tmp_path: Path) -> None:
    """A real process is killed without warning between two tasks."""
    command = [sys.executable, "-m", "nearfar", "experiment", "martin-2009"]
    command += ["--scale", "tiny", "--device", "cpu", "--graphs", "200", "-o", str(tmp_path)]
    samples = tmp_path / "samples"
    with subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL) as child:
        try:
            deadline = time.monotonic() + 60
            while len(list(samples.glob("*.json"))) < 3 and child.poll() is None:
                assert time.monotonic() < deadline
                time.sleep(0.01)
        finally:
            child.send_signal(signal.SIGKILL)
    # A file that was being written at the kill still has its temporary name.
    before = {p.name for p in samples.glob("*.json") if not p.name.startswith(".")}
    assert len(before) >= 2
    outcome = run("martin-2009", scale="tiny", device="cpu", graphs=200, out=tmp_path, budget=-1.0)
    assert outcome.kept == len(before)
    assert outcome.measured == 0
    assert len(outcome.results["tasks"]) == len(before)


# ---- settings, names, the command --------------------------------------------------------------


def test_names_scales_and_numbers_are_checked() -> None:
    assert "martin-2009" in experiments()
    with pytest.raises(OptionError, match="did you mean 'martin-2009'"):
        find("martin-2008")
    with pytest.raises(OptionError, match="no scale 'huge': use small, paper"):
        find("martin-2009").settings("huge", "cpu")
    with pytest.raises(OptionError, match="graphs is 0"):
        find("martin-2009").settings("tiny", "cpu", graphs=0)
    with pytest.raises(ValueError, match="file name"):
        Task("a/b", {})


def test_command_line(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["experiment", "list", "--json"]) == 0
    names = [e["name"] for e in json.loads(capsys.readouterr().out)]
    assert names == sorted(experiments())
    assert main(["experiment", "martin-2009"]) == 2
    assert "-o DIR" in capsys.readouterr().err
    assert main(["experiment", "martin"]) == 2
    assert "no experiment 'martin'" in capsys.readouterr().err
    given = ["experiment", "martin-2009", "--scale", "tiny", "--device", "cpu"]
    assert main([*given, "--only", "lists-*", "-o", str(tmp_path)]) == 0
    caught = capsys.readouterr()
    assert "## Adjacency lists: iterations" in caught.out
    assert "2 tasks measured, 0 kept" in caught.err


def test_wrong_answers_fail_the_command(
    counting: Counting, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("nearfar.lab.experiments.experiments", lambda: {"counting": counting})
    counting.wrong = 1
    assert main(["experiment", "counting", "--device", "cpu", "-o", str(tmp_path), "-q"]) == 6


# ---- measuring --------------------------------------------------------------------------------


def test_time_cases_keeps_samples_and_sees_wrong_answers() -> None:
    graph = generate("grid", rows=12, columns=12, seed=2)
    truth = proven(graph, [0, 5])
    cases = [case("heap", "dijkstra_binary_heap@cpu"), case("frontier", "frontier_successors@cpu")]
    found = time_cases(graph, cases, [0, 5], rounds=3, truth=truth)
    for entry in found["cases"].values():
        assert len(entry["samples"]) == 6
        assert (entry["runs"], entry["wrong_runs"]) == (7, 0)
        assert 0 < entry["minimum_seconds"] <= entry["median_seconds"]
    assert found["edges_of_dijkstra"] == [graph.n_edges] * 2
    assert found["cases"]["frontier"]["counters"]["iterations"] > 1
    spoiled = {s: np.where(np.arange(len(d)) == 7, d + 1, d) for s, d in truth.items()}
    found = time_cases(graph, cases[:1], [0, 5], rounds=1, truth=spoiled)
    assert (found["cases"]["heap"]["wrong_runs"], found["cases"]["heap"]["wrong_vertices"]) == (
        3,
        1,
    )


def test_slow_cases_run_once_and_absent_ones_say_why() -> None:
    graph = generate("grid", rows=12, columns=12, seed=2)
    cases = [case("heap", "dijkstra_binary_heap@cpu"), case("flat", "breadth_first@cpu")]
    found = time_cases(graph, cases, [0], rounds=3, patience=0.0)
    assert found["cases"]["heap"]["timed_once"]
    assert len(found["cases"]["heap"]["samples"]) == 1
    assert "needs a graph without weights" in found["left_out"]["flat"]


def test_memory_of_a_solve_is_measured() -> None:
    graph = generate("martin", vertices=1 << 18, seed=1)
    grown = solve_bytes(case("heap", "dijkstra_relaxed_heap@cpu"), graph, 0)
    assert grown is not None
    # At least the distances, and not as much as fifty words per vertex.
    assert graph.n_vertices * 4 <= grown <= graph.n_vertices * 400


# ---- every experiment, tiny -------------------------------------------------------------------


@pytest.mark.parametrize("name", ["martin-2009", "ortega-arranz-2015"])
def test_paper_runs_tiny_on_the_cpu(name: str, tmp_path: Path) -> None:
    outcome = run(name, scale="tiny", device="cpu", out=tmp_path, progress=False)
    assert outcome.wrong == []
    assert outcome.missing == []
    assert outcome.results["tables"]
    for figure in outcome.results["figures"]:
        assert figure["files"] == [f"{figure['key']}.png", f"{figure['key']}.svg"]
    for task in outcome.results["tasks"]:
        for entry in task["result"]["cases"].values():
            assert entry["samples"]


@pytest.mark.usefixtures("emulated_gpu")
@pytest.mark.parametrize("name", ["martin-2009", "ortega-arranz-2015"])
def test_paper_lists_its_gpu_tasks(name: str) -> None:
    experiment = find(name)
    tasks = experiment.tasks(experiment.settings("paper", "cuda"))
    keys = [task.key for task in tasks]
    assert len(keys) == len(set(keys))
    sizes = {t.what["vertices"] for t in tasks if t.key.startswith(("lists", "martin"))}
    assert sizes == {k << 20 for k in range(1, 12)}


# ---- showing ----------------------------------------------------------------------------------


def test_cells() -> None:
    values = [None, float("nan"), True, 1234567, 0.0, 12.345, 0.001234, 98765.4, "a|b"]
    shown = ["-", "-", "yes", "1,234,567", "0", "12.3", "0.00123", "98,765", "a\\|b"]
    assert [cell(v) for v in values] == shown
    table = Table("t", "T", "", [Column("x", "ms", 2), Column("y")], [[1.25, None]]).as_dict()
    assert markdown_table(table)[0] == "| x, ms | y |"
    assert markdown_table(table)[2] == "| 1.2   | - |"


def test_progress_says_the_time_left(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    now = [0.0]
    monkeypatch.setattr("nearfar.system.progress.time.monotonic", lambda: now[0])
    with Progress("work", always=True) as bar:
        for done in range(5):
            bar(done, 10)
            now[0] += 60.0
    lines = capsys.readouterr().err.splitlines()
    assert lines[-1] == "work 40%, 6 min left"
    silent = Progress("work")
    silent(1, 2)
    assert capsys.readouterr().err == ""


def test_parts_of_a_graph_become_one_graph() -> None:
    what = {"kind": "list", "vertices": 8, "seed": 1}
    gpu = Done("lists-01-g00", what, {"n": 8, "cases": {"F-GPU": {"median_seconds": 1.0}}})
    slow = {"n": 8, "cases": {"FH": {"median_seconds": 9.0}}, "memory": {"FH": 5}}
    host = Done("lists-01-g00-host", what | {"part": "host"}, slow)
    alone = Done("lists-01-g01-host", what | {"seed": 2, "part": "host"}, slow)
    first, second = whole([host, gpu, alone])
    assert (first.key, list(first.result["cases"])) == ("lists-01-g00", ["FH", "F-GPU"])
    assert first.result["memory"] == {"FH": 5}
    assert "part" not in first.what
    assert second is alone
    assert "FH" not in gpu.result["cases"]  # parts are unchanged


def test_tasks_at_the_same_time_are_counted_by_part() -> None:
    def task(second: int, seconds: float, **what: str) -> dict[str, Any]:
        began = f"2026-11-22T16:00:{second:02}.000+00:00"
        return {"key": "x", "what": what, "began": began, "seconds": seconds}

    host = [task(0, 10, part="host"), task(3, 4, part="host"), task(8, 5, part="host")]
    gpu = [task(1, 2), task(3, 2)]
    old = {"key": "y", "what": {}, "seconds": 3.0}
    assert at_once([*host, *gpu, old]) == {"host": 2, "": 1}


def test_host_methods_of_papers_are_tasks_of_their_own() -> None:
    for name in ("martin-2009", "ortega-arranz-2015"):
        experiment = find(name)
        for scale in ("small", "paper"):
            tasks = experiment.tasks(experiment.settings(scale, "cuda"))
            keys = {task.key for task in tasks}
            assert len(keys) == len(tasks)
            host = [task for task in tasks if task.what.get("part") == "host"]
            assert host
            assert {task.key.removesuffix("-host") for task in host} <= keys
            assert not any("part" in t.what for t in experiment.tasks(Settings(scale, "cpu")))


def on_gpu(monkeypatch: pytest.MonkeyPatch, name: str) -> None:
    """Let runs of experiments find this GPU; none without a name."""
    gpu = {"name": name} if name else None
    around = {"commit": "x", "versions": {}, "cpu": "Z80"}
    monkeypatch.setattr(f"{runner.__name__}.environment", lambda: around | {"gpu": gpu})
    here = True if name else "no CUDA device can be used: there is none"
    monkeypatch.setattr(runtime, "available", lambda: here)


@pytest.mark.usefixtures("undrawn")
def test_tasks_of_the_host_need_no_gpu(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    on_gpu(monkeypatch, "")
    given: dict[str, Any] = {"scale": "tiny", "device": "cuda", "out": tmp_path / "made"}
    with pytest.raises(VariantUnavailable, match=r"there is none; tasks that match '\*-host'"):
        run("martin-2009", **given)
    with pytest.raises(VariantUnavailable, match=r"there is none$"):
        run("beyond", **given)
    assert not given["out"].exists()
    beside = "Methods of the host were measured without a GPU, for comparison with "
    (first, second, *rest) = ("matrices-01-g00-host", "lists-01-g00-host", "lists-02-g00-host")
    outcome = run("martin-2009", only=[first], **given)
    assert outcome.measured == 1
    assert beside + "no numbers of a GPU yet." in outcome.results["remarks"]
    on_gpu(monkeypatch, "X100")
    outcome = run("martin-2009", only=[first, second], **given)
    assert (outcome.kept, outcome.measured) == (1, 1)
    assert beside + "the numbers of X100." in outcome.results["remarks"]
    on_gpu(monkeypatch, "")  # once more without a GPU
    assert run("martin-2009", only=rest, **given).measured == 1
    on_gpu(monkeypatch, "X200")
    with pytest.raises(OptionError, match=r"another run \(gpu X100, not X200\)"):
        run("martin-2009", only=[first], **given)


@pytest.mark.usefixtures("emulated_gpu")
@pytest.mark.usefixtures("undrawn")
def test_methods_of_gpu_and_host_stand_in_one_row(tmp_path: Path) -> None:
    outcome = run("martin-2009", out=tmp_path, scale="tiny", device="cuda", only=["lists-01-*"])
    assert outcome.wrong == []
    assert [t["key"] for t in outcome.results["tasks"]] == [
        "lists-01-g00",
        "lists-01-g00-host",
        "lists-01-g00-hybrid",
    ]
    tables = {table["key"]: table for table in outcome.results["tables"]}
    (row,) = tables["list-times"]["rows"]
    names = [column["name"] for column in tables["list-times"]["columns"]]
    times = dict(zip(names, row, strict=True))
    assert {"FH", "U-CPU", "U-H1", "U-H3", "U-GPU", "F-GPU"} <= set(times)
    assert all(times.values())
