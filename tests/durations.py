"""Cost of the tests of a run, in ``build/durations.tsv``, by file and by test.

Processor time, including that of child processes, does not depend on other load; wall seconds are
recorded with it. This is a pytest plugin that tests/conftest.py registers.
"""

from __future__ import annotations

import resource
from collections import defaultdict
from collections.abc import Generator
from dataclasses import dataclass

import pytest

RESULT = "build/durations.tsv"


def processor_seconds() -> float:
    """Return processor seconds of this process and of the children that it has waited for."""
    used = [resource.getrusage(who) for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN)]
    return sum(one.ru_utime + one.ru_stime for one in used)


@dataclass
class Cost:
    """Cost of a test, or of all tests in a file."""

    processor: float = 0.0
    clock: float = 0.0
    tests: int = 0


class Durations:
    """Plugin that measures in the process that runs a test, and collects in the main process."""

    def __init__(self) -> None:
        self.read_at = 0.0
        self.tests: defaultdict[str, Cost] = defaultdict(Cost)

    def pytest_runtest_logstart(self) -> None:
        self.read_at = processor_seconds()

    @pytest.hookimpl(wrapper=True)
    def pytest_runtest_makereport(self) -> Generator[None, pytest.TestReport, pytest.TestReport]:
        report = yield
        before, self.read_at = self.read_at, processor_seconds()
        report.processor_seconds = self.read_at - before  # pytest-xdist sends attributes along
        return report

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        cost = self.tests[report.nodeid]
        cost.processor += getattr(report, "processor_seconds", 0.0)  # missing if a worker crashed
        cost.clock += report.duration
        cost.tests = 1

    def pytest_sessionfinish(self, session: pytest.Session) -> None:
        if hasattr(session.config, "workerinput") or not self.tests:
            return
        files: defaultdict[str, Cost] = defaultdict(Cost)
        for name, cost in self.tests.items():
            for whole in (files[name.partition("::")[0]], files["all"]):
                whole.processor += cost.processor
                whole.clock += cost.clock
                whole.tests += cost.tests
        rows = [("kind", "processor seconds", "seconds", "tests", "name")]
        for kind, table in (("file", files), ("test", self.tests)):
            for name, cost in sorted(table.items(), key=lambda item: -item[1].processor):
                seconds = f"{cost.processor:.2f}", f"{cost.clock:.2f}"
                rows.append(("all" if name == "all" else kind, *seconds, str(cost.tests), name))
        path = session.config.rootpath / RESULT
        path.parent.mkdir(exist_ok=True)
        path.write_text("".join("\t".join(row) + "\n" for row in rows))
