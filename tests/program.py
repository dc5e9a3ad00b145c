"""Functions that run the program in tests, and small graph files for it.

``run`` calls the main function, because starting a process takes a third of a second; tests in
tests/cli/test_process.py check that a process behaves the same. Tests of signals or closed pipes
run in a process.
"""

from __future__ import annotations

import contextlib
import io
import os
import subprocess
import sys
from pathlib import Path

import pytest

import nearfar
from nearfar.cli.console import Exit
from nearfar.cli.main import main

__all__ = [
    "PROGRAM",
    "cycle_file",
    "fail",
    "graph_file",
    "named_file",
    "run",
    "run_process",
    "run_python",
    "succeed",
]

PROGRAM = [sys.executable, "-m", "nearfar"]
Done = subprocess.CompletedProcess[str]


def run(*args: object) -> Done:
    """Run the program in this process; return its exit code, stdout and stderr."""
    words = list(map(str, args))
    out, err = io.StringIO(), io.StringIO()
    with contextlib.redirect_stdout(out), contextlib.redirect_stderr(err):
        try:
            code = main(words)
        except SystemExit as left:  # argparse: a usage error, or help
            code = int(left.code or 0)
    return subprocess.CompletedProcess(words, code, out.getvalue(), err.getvalue())


def run_process(*args: object) -> Done:
    """Run the program as a separate process; return its exit code, stdout and stderr."""
    words = [*PROGRAM, *map(str, args)]
    return subprocess.run(words, capture_output=True, text=True, timeout=120, check=False)


def run_python(code: str, **variables: str) -> str:
    """Run Python code in a separate process with environment variables; return its stdout."""
    around = {**os.environ, "PYTHONPATH": str(Path(nearfar.__file__).parents[1]), **variables}
    words = [sys.executable, "-c", code]
    done = subprocess.run(
        words, env=around, capture_output=True, text=True, timeout=120, check=False
    )
    assert done.returncode == 0, done.stderr
    return done.stdout


def succeed(*args: object) -> str:
    """Run the program, expect success, and return stdout."""
    done = run(*args)
    assert done.returncode == 0, done.stderr
    assert "Traceback" not in done.stderr
    return done.stdout


def fail(code: Exit, *args: object) -> str:
    """Run the program, expect one sentence on stderr and an empty stdout; return the sentence."""
    done = run(*args)
    assert done.returncode == code, (done.returncode, done.stderr)
    assert done.stdout == ""
    assert "Traceback" not in done.stderr
    assert done.stderr.startswith("nearfar: error: ")
    assert done.stderr.count("\n") == 1
    return done.stderr


@pytest.fixture
def graph_file(tmp_path: Path) -> Path:
    """Return a file of edges of vertices 0 to 5; vertex 5 is unreachable from 0."""
    file = tmp_path / "g.txt"
    file.write_text("0 1 4\n0 2 1\n2 1 2\n1 3 5\n3 4 0\n5 0 9\n")
    return file


@pytest.fixture
def named_file(tmp_path: Path) -> Path:
    """Return an edge list whose vertices have names."""
    file = tmp_path / "towns.csv"
    file.write_text("source,target,weight\nBern,Basel,1.5\nBasel,Chur,2.25\nBern,Chur,9.0\n")
    return file


@pytest.fixture
def cycle_file(tmp_path: Path) -> Path:
    """Return a graph file in which vertices 1 and 2 form a cycle of weight -1."""
    file = tmp_path / "cycle.txt"
    file.write_text("0 1 3\n1 2 2\n2 1 -3\n2 3 1\n")
    return file
