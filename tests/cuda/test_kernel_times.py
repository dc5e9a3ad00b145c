"""Device time by kernel: every launch is recorded once, and answers are unchanged."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest

from nearfar.cli.console import Exit
from nearfar.cli.main import main
from nearfar.cuda.kernel_times import kernel_times
from nearfar.registry import Workspace, registered
from nearfar.system.devices import launching
from tests.emulator import emulated_gpu as emulated_gpu
from tests.loading import load_program
from tests.program import fail
from tests.program import graph_file as graph_file
from tests.zoo import ZOO


def test_every_launch_is_seen_and_the_answer_stays(emulated_gpu: None) -> None:
    graph = ZOO["skewed"]()
    variant = registered("frontier_successors@cuda")
    assert variant is not None
    alone = variant.run(graph, 0, variant.options(), Workspace())
    with kernel_times() as times:
        seen = variant.run(graph, 0, variant.options(), Workspace())
    np.testing.assert_array_equal(alone.distances, seen.distances)
    iterations = seen.stats["iterations"]
    launches = {name: one.launches for name, one in times.found.items()}
    assert launches["settle_start"] == 1
    assert launches["relax_successors"] == iterations
    # The last iteration settles no vertex and stops before the update.
    assert sorted(launches.values())[-2:] == [iterations, iterations]
    assert all(one.seconds >= 0 for one in times.found.values())
    assert times.gap >= 0


def test_nothing_is_seen_after_the_block_nor_after_an_error(emulated_gpu: None) -> None:
    try:
        with kernel_times():
            raise KeyError
    except KeyError:
        pass
    assert launching.set_observer(None) is None


@pytest.mark.parametrize("part", ["johnson", "lists", "matrices", "ortega"])
def test_the_benchmark_of_the_papers_questions_runs(emulated_gpu: None, part: str) -> None:
    rows = list(load_program("benchmarks", "kernel_times").PARTS[part]("tiny"))
    assert len({row["label"] for row in rows}) >= 2
    # One of the compared stores is wrong by design: it never reads the stored value.
    wrong = {row["label"] for row in rows if not row["right"]}
    assert wrong == ({"plain store, never read"} if part == "matrices" else set())
    assert all(row["kernels"] for row in rows)


def test_the_command_line_prints_kernels(
    emulated_gpu: None, graph_file: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    words = ["sssp", str(graph_file), "1", "--kernels", "--json"]
    # In this process, because the emulated device exists only in it.
    assert main([*words, "--method", "frontier_successors@cuda"]) == Exit.OK
    told = json.loads(capsys.readouterr().out)
    assert told["kernels"]["relax_successors"]["launches"] > 0
    assert told["kernels"]["relax_successors"]["seconds"] >= 0


def test_a_method_without_kernels_is_refused(graph_file: Path) -> None:
    words = ("sssp", graph_file, "1", "--kernels", "--device", "cpu")
    assert "launches no kernels" in fail(Exit.USAGE, *words)
