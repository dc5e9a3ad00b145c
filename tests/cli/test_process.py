"""The program as a process behaves as in the tests that call its main function."""

from __future__ import annotations

import shlex
import subprocess
import sys
from pathlib import Path

import pytest

from nearfar.cli.console import Exit
from tests.program import PROGRAM, run, run_process


@pytest.mark.parametrize(
    ("words", "code"),
    [
        (["sssp", "GRAPH", "0", "--quiet", "--predecessors", "-o", "-"], Exit.OK),
        (["path", "GRAPH", "0", "3", "--quiet"], Exit.OK),
        (["methods", "--json"], Exit.OK),
        (["convert", "--help"], Exit.OK),
        (["path", "GRAPH", "0", "5"], Exit.NO_PATH),
        (["info", "none.gr"], Exit.BAD_INPUT),
        (["dijkstra"], Exit.USAGE),
        ([], Exit.USAGE),
    ],
    ids=lambda value: value[0] if isinstance(value, list) and value else None,
)
def test_a_process_says_and_returns_the_same(
    words: list[str], code: Exit, graph_file: Path
) -> None:
    given = [str(graph_file) if word == "GRAPH" else word for word in words]
    there, here = run_process(*given), run(*given)
    assert there.returncode == here.returncode == code
    assert there.stdout == here.stdout
    assert there.stderr == here.stderr


def test_an_unexpected_error_shows_its_traceback_on_request(tmp_path: Path) -> None:
    done = run_process("sssp", tmp_path / "none.gr", 0, "--debug")
    assert done.returncode == Exit.UNEXPECTED
    assert "Traceback" in done.stderr


def test_the_installed_program_is_this_one() -> None:
    program = Path(sys.executable).with_name("nearfar")
    done = subprocess.run([program, "--version"], capture_output=True, text=True, check=False)
    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout == run("--version").stdout


@pytest.mark.parametrize("closed", [">&-", "2>&-", "<&-", ">&- 2>&- <&-"])
def test_streams_that_the_caller_closed(graph_file: Path, tmp_path: Path, closed: str) -> None:
    """Regression: Python sets closed streams to None, on which every command failed."""
    out = tmp_path / "out.csv"
    words = shlex.join([*PROGRAM, "sssp", str(graph_file), "0", "-o", str(out)])
    done = subprocess.run(f"{words} {closed}", shell=True, timeout=120, check=False)
    assert done.returncode == Exit.OK
    assert out.read_text().startswith("vertex,distance\n0,0\n")
