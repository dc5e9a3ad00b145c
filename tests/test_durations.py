"""Costs of tests: sums by file, and single tests."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path
from types import SimpleNamespace

import pytest

from tests.durations import RESULT, Durations


def report(name: str, when: str, clock: float, processor: float) -> pytest.TestReport:
    """Return the report of one phase of a test."""
    given = {"duration": clock, "processor_seconds": processor}
    return pytest.TestReport(name, ("", None, ""), {}, "passed", None, when, **given)


def test_phases_and_files_are_summed_the_dearest_first(tmp_path: Path) -> None:
    durations = Durations()
    for name, processor in (("a.py::one", 1.0), ("b.py::two", 2.0), ("a.py::three", 1.5)):
        for when in ("setup", "call", "teardown"):
            durations.pytest_runtest_logreport(report(name, when, 3.0, processor))
    durations.pytest_sessionfinish(SimpleNamespace(config=SimpleNamespace(rootpath=tmp_path)))
    assert [line.split("\t") for line in (tmp_path / RESULT).read_text().splitlines()] == [
        ["kind", "processor seconds", "seconds", "tests", "name"],
        ["all", "13.50", "27.00", "3", "all"],
        ["file", "7.50", "18.00", "2", "a.py"],
        ["file", "6.00", "9.00", "1", "b.py"],
        ["test", "6.00", "9.00", "1", "b.py::two"],
        ["test", "4.50", "9.00", "1", "a.py::three"],
        ["test", "3.00", "9.00", "1", "a.py::one"],
    ]


def test_a_worker_writes_nothing(tmp_path: Path) -> None:
    durations = Durations()
    durations.pytest_runtest_logreport(report("a.py::one", "call", 1.0, 1.0))
    worker = SimpleNamespace(rootpath=tmp_path, workerinput={})
    durations.pytest_sessionfinish(SimpleNamespace(config=worker))
    assert list(tmp_path.iterdir()) == []


def test_work_of_child_processes_counts() -> None:
    durations = Durations()
    durations.pytest_runtest_logstart()
    busy = "import time\nwhile time.process_time() < 0.3: pass"
    subprocess.run([sys.executable, "-c", busy], check=True)
    measured = durations.pytest_runtest_makereport()
    next(measured)
    with pytest.raises(StopIteration) as ended:
        measured.send(report("a.py::one", "call", 1.0, 0.0))
    assert 0.3 <= ended.value.value.processor_seconds < 3
