"""Run SciPy's own tests of its shortest paths against nearfar.csgraph.

The test file of the installed SciPy is run by pytest after replacing one import. A test that
nearfar fails on purpose is in DEVIATIONS with its reason; an entry that passes is an error as well,
so that the list stays correct.

Usage: python -m tests.peers.scipy_suite
"""

from __future__ import annotations

import importlib.util
import re
import sys
import tempfile
from dataclasses import dataclass, field
from pathlib import Path

import pytest

#: Test name -> reason why nearfar answers differently.
DEVIATIONS = {
    "test_predecessors": (
        "vertex 4 reaches vertex 1 at distance 4 by an edge and by way of vertex 3; SciPy names "
        "one predecessor, nearfar the one with the smallest id (SciPy leaves it open)"
    ),
}

IMPORT = re.compile(r"^from scipy\.sparse\.csgraph import", re.MULTILINE)


@dataclass
class Outcome:
    """Outcome of each test."""

    passed: list[str] = field(default_factory=list)
    failed: list[str] = field(default_factory=list)
    other: list[str] = field(default_factory=list)

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        """Record a report; called by pytest."""
        name = report.nodeid.split("::", 1)[-1]
        if report.failed:
            self.failed.append(name)
        elif report.when == "call":
            (self.passed if report.passed else self.other).append(name)
        elif report.skipped:
            self.other.append(name)

    @property
    def unexpected(self) -> list[str]:
        """Return failed tests that are not on the list."""
        return [name for name in self.failed if name not in DEVIATIONS]

    @property
    def stale(self) -> list[str]:
        """Return entries of the list that pass, or do not exist."""
        return [name for name in DEVIATIONS if name not in self.failed]


def swapped_source() -> str:
    """Return SciPy's test file with its import replaced by nearfar.csgraph.

    Raises
    ------
    RuntimeError
        If the import does not occur exactly once, so that SciPy would be tested by mistake.
    """
    found = importlib.util.find_spec("scipy.sparse.csgraph.tests.test_shortest_path")
    if found is None or found.origin is None:
        raise RuntimeError("the installed SciPy has no tests")
    text, count = IMPORT.subn("from nearfar.csgraph import", Path(found.origin).read_text())
    if count != 1:
        raise RuntimeError(f"SciPy's test file imports csgraph {count} times: look at it")
    return text


def run() -> Outcome:
    """Run the file and return the outcome."""
    outcome = Outcome()
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / "test_shortest_path.py"
        file.write_text(swapped_source())
        (Path(folder) / "pytest.ini").write_text("[pytest]\n")
        options = [
            "-q",
            "-p",
            "no:cacheprovider",
            "--rootdir",
            folder,
            "-c",
            f"{folder}/pytest.ini",
        ]
        pytest.main([*options, str(file)], plugins=[outcome])
    return outcome


def main() -> int:
    """Print the counts; return 1 if anything differs from the list."""
    outcome = run()
    print(f"{len(outcome.passed)} passed, {len(outcome.failed)} failed, {len(outcome.other)} other")
    for name, reason in DEVIATIONS.items():
        print(f"deviation {name}: {reason}")
    for name in outcome.unexpected:
        print(f"UNEXPECTED FAILURE {name}")
    for name in outcome.stale:
        print(f"LISTED AS A DEVIATION, BUT PASSES OR IS GONE: {name}")
    return bool(outcome.unexpected or outcome.stale or not outcome.passed)


if __name__ == "__main__":
    sys.exit(main())
