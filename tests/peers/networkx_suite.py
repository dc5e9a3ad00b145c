"""Run NetworkX's own tests with every call that nearfar implements dispatched to nearfar.

Passing is not sufficient: a backend that registers no function passes as well. Therefore calls that
the backend answered are counted, and a function that was never called is an error. A test that
fails on purpose is in DEVIATIONS with its reason.

Usage: python -m tests.peers.networkx_suite [--all]
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import tempfile
import tomllib
from dataclasses import dataclass
from pathlib import Path

import nearfar
import networkx as nx

ROOT = Path(__file__).resolve().parents[2]

#: Test name -> reason why nearfar answers differently.
_CYCLE = "the same cycle, begun at another vertex: NetworkX leaves open where it begins"
DEVIATIONS = {
    "test_weighted.py::TestBellmanFordAndGoldbergRadzik::test_find_negative_cycle_longer_cycle": (
        _CYCLE
    ),
}

_TIE = "cycles of the same lengths, walked from other ties among shortest paths"
#: The same for tests outside MODULES, whose functions call shortest_path inside.
DEVIATIONS_ELSEWHERE = {
    f"test_cycles.py::TestMinimumCycleBasis::{test}": _TIE
    for test in (
        "test_unweighted_diamond",
        "test_weighted_diamond",
        "test_petersen_graph",
        "test_gh6787_and_edge_attribute_names",
    )
}

#: Functions that NetworkX's own tests no longer call, and since when.
UNTESTED = {"floyd_warshall": (3, 7)}

#: Modules with tests of functions that nearfar implements.
MODULES = (
    "networkx.algorithms.shortest_paths",
    "networkx.algorithms.tests.test_distance_measures",
    "networkx.algorithms.tests.test_wiener",
    "networkx.algorithms.tests.test_efficiency",
    *(
        f"networkx.algorithms.centrality.tests.test_{name}_centrality{suffix}"
        for name, suffix in (
            *(("closeness", ""), ("harmonic", "")),
            *(("betweenness", ""), ("betweenness", "_subset")),
        )
    ),
)

#: One test tries 500 random graphs with a hundred calls each, which is most of the suite's time:
#: this selects one seed in ten, of the smallest and the largest graphs.
ONE_SEED = ("-k", "not test_use_bounds_on_off_consistency or -10-1] or -19-1]")

#: Plugin of pytest that counts the calls that nearfar answered.
PLUGIN = """
import functools, inspect, json, os
from collections import Counter

import nearfar.networkx as backend

answered, passed, failed = Counter(), [], []

def counting(name, function):
    @functools.wraps(function)
    def wrapper(*args, **kwargs):
        result = function(*args, **kwargs)
        answered[name] += 1
        return result
    return wrapper

for name, function in backend.FUNCTIONS.items():
    setattr(backend, name, counting(name, function))

def pytest_runtest_logreport(report):
    if report.failed:
        failed.append(report.nodeid)
    elif report.when == "call" and report.passed:
        passed.append(report.nodeid)

def pytest_sessionfinish(session):
    with open(os.environ["NEARFAR_SUITE_REPORT"], "w") as file:
        json.dump({"answered": answered, "passed": len(passed), "failed": failed}, file)
"""


@dataclass
class Outcome:
    """Outcome of a run: tests passed and failed, calls answered per function."""

    passed: int
    failed: list[str]
    answered: dict[str, int]
    functions: list[str]
    output: str
    deviations: dict[str, str]

    @property
    def unexpected(self) -> list[str]:
        """Return failed tests that are not on the list."""
        return [name for name in self.failed if name.split("/")[-1] not in self.deviations]

    @property
    def stale(self) -> list[str]:
        """Return entries of the list that pass, or do not exist."""
        short = {name.split("/")[-1] for name in self.failed}
        return [name for name in self.deviations if name not in short]

    @property
    def never_called(self) -> list[str]:
        """Return functions that no test called through the backend, though there is one."""
        here = tuple(int(part) for part in nx.__version__.split(".")[:2])
        untested = {name for name, since in UNTESTED.items() if here >= since}
        return [f for f in self.functions if not self.answered.get(f) and f not in untested]


def metadata(folder: Path) -> None:
    """Write the package's entry points into a folder, as an installation would."""
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    version = nearfar.__version__
    info = folder / f"{project['name']}-{version}.dist-info"
    info.mkdir(parents=True)
    lines = [f"Metadata-Version: 2.1\nName: {project['name']}\nVersion: {version}\n"]
    (info / "METADATA").write_text(lines[0])
    text = ""
    for group, entries in project["entry-points"].items():
        text += f"[{group}]\n" + "".join(f"{name} = {to}\n" for name, to in entries.items())
    (info / "entry_points.txt").write_text(text)


def environment(folder: Path, **settings: str) -> dict[str, str]:
    """Return the environment of a process that sees the package of this folder as installed."""
    metadata(folder)
    paths = [str(ROOT / "src"), str(folder), os.environ.get("PYTHONPATH", "")]
    return {**os.environ, "PYTHONPATH": os.pathsep.join(filter(None, paths)), **settings}


def run(
    modules: tuple[str, ...] = MODULES, timeout: float = 3600, select: tuple[str, ...] = ()
) -> Outcome:
    """Run NetworkX's tests, or those that arguments of pytest select; return the outcome."""
    from _nx_nearfar import FUNCTIONS

    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        report = folder / "report.json"
        (folder / "count_calls.py").write_text(PLUGIN)
        (folder / "pytest.ini").write_text("[pytest]\n")
        done = subprocess.run(
            [
                *(sys.executable, "-m", "pytest", "-q", "-p", "count_calls", "--tb=short"),
                *("-p", "no:cacheprovider", "-c", str(folder / "pytest.ini"), "--pyargs"),
                *modules,
                *select,
            ],
            env=environment(
                folder,
                NETWORKX_TEST_BACKEND="nearfar",
                NETWORKX_FALLBACK_TO_NX="True",
                NEARFAR_SUITE_REPORT=str(report),
            ),
            cwd=folder,
            capture_output=True,
            text=True,
            timeout=timeout,
            check=False,
        )
        if not report.exists():
            tail = done.stdout[-3000:] + done.stderr[-3000:]
            raise RuntimeError(f"pytest did not finish:\n{tail}")
        found = json.loads(report.read_text())
    return Outcome(
        found["passed"],
        found["failed"],
        found["answered"],
        list(FUNCTIONS),
        done.stdout,
        DEVIATIONS if modules == MODULES else DEVIATIONS | DEVIATIONS_ELSEWHERE,
    )


def main() -> int:
    """Print the counts; return 1 if anything differs from the list."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--all", action="store_true", help="the complete suite: many minutes")
    parser.add_argument("--verbose", action="store_true", help="print pytest's output")
    options = parser.parse_args()
    outcome = run(("networkx",) if options.all else MODULES)
    if options.verbose:
        print(outcome.output)
    for function in outcome.functions:
        print(f"{outcome.answered.get(function, 0):6d} calls  {function}")
    print(f"{outcome.passed} passed, {len(outcome.failed)} failed")
    for name in outcome.unexpected:
        print(f"UNEXPECTED FAILURE {name}")
    for name in outcome.stale:
        print(f"LISTED AS A DEVIATION, BUT PASSES OR IS GONE: {name}")
    for name in outcome.never_called:
        print(f"IMPLEMENTED, BUT NEVER CALLED: {name}")
    return bool(outcome.unexpected or outcome.stale or outcome.never_called or not outcome.passed)


if __name__ == "__main__":
    sys.exit(main())
