"""``nearfar paths``: the k shortest paths from the command line."""

from __future__ import annotations

import json
from pathlib import Path

from nearfar.cli.console import Exit
from tests.program import fail, run, succeed


def test_paths_shortest_first(graph_file: Path) -> None:
    lines = succeed("paths", graph_file, 0, 3, "--quiet").splitlines()
    assert lines == ["8\t3\t0 2 1 3", "9\t2\t0 1 3"]


def test_json(graph_file: Path) -> None:
    found = json.loads(succeed("paths", graph_file, 0, 3, "-k", 1, "--json"))
    assert found["paths"] == [{"length": 8, "vertices": [0, 2, 1, 3]}]
    assert (found["source"], found["target"], found["k"]) == (0, 3, 1)


def test_names_and_floats(named_file: Path) -> None:
    lines = succeed("paths", named_file, "Bern", "Chur", "--quiet").splitlines()
    assert lines == ["3.75\t2\tBern Basel Chur", "9.0\t1\tBern Chur"]


def test_the_note_says_when_there_are_no_more(graph_file: Path) -> None:
    done = run("paths", graph_file, 0, 3, "-k", 5)
    assert "2 paths, 8 to 9" in done.stderr
    assert "no more than 2" in done.stderr


def test_errors(graph_file: Path, cycle_file: Path) -> None:
    assert "vertex 5 is not reached from 0" in fail(Exit.NO_PATH, "paths", graph_file, 0, 5)
    assert "at least 1" in run("paths", graph_file, 0, 3, "-k", 0).stderr
    assert "99" in fail(Exit.BAD_INPUT, "paths", graph_file, 0, 99)
    assert "negative" in fail(Exit.NEGATIVE_CYCLE, "paths", cycle_file, 0, 3)
