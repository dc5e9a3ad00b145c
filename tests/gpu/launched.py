"""Pytest plugin of a recorded run: the kernel files that each test launches, and the tests to run.

It is loaded in the controller and, under xdist, in every worker. Its settings are environment
variables, since workers are separate processes:

- ``NEARFAR_GPU_RECORD``: a record; its tests that passed with the current kernels are left out, and
  the longest of the others run first.
- ``NEARFAR_GPU_OUTCOMES``: a file that gets one line per finished test, so that a crash loses
  nothing.
- ``NEARFAR_GPU_COUNT``: number of devices that workers are distributed over.
"""

from __future__ import annotations

import json
import os
import re
from pathlib import Path
from typing import Any

import pytest

from nearfar.system.devices import compiler, launching
from tests.gpu.digest import fresh_modules

ROOT = Path(__file__).resolve().parents[2]
_LINE = re.compile(r'^#line 1 "(.+)"$', re.MULTILINE)


class Launched:
    """Plugin that adds the kernel files of a test's launches to its report."""

    def __init__(self) -> None:
        self.programs: set[tuple[str, ...]] = set()
        made = launching.Launch.__call__

        def seen(launch: launching.Launch) -> None:
            self.programs.add(launch.kernel.files)
            made(launch)

        launching.Launch.__call__ = seen  # type: ignore[method-assign]

    @pytest.hookimpl(wrapper=True)
    def pytest_runtest_call(self, item: pytest.Item) -> Any:
        self.programs.clear()
        try:
            return (yield)
        finally:
            files = {name for names in self.programs for name in _LINE.findall(assembled(names))}
            item.user_properties.append(("kernels", sorted(files)))


def assembled(names: tuple[str, ...]) -> str:
    """Return the text of a program; of a program written in a test, nothing."""
    known = all((compiler.PACKAGE / name).exists() for name in names)
    return compiler.assemble(names) if known else ""


class Outcomes:
    """Plugin that writes down every finished test."""

    def __init__(self, path: str) -> None:
        self.file = open(path, "a", encoding="utf-8")  # noqa: SIM115

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        if report.when != "call" and report.outcome == "passed":
            return
        row: dict[str, Any] = {"test": report.nodeid, "outcome": report.outcome}
        row["seconds"] = round(report.duration, 3)
        row["kernels"] = dict(report.user_properties).get("kernels", [])
        if not report.passed:
            row["text"] = str(report.longrepr)[-1500:].replace(f"{ROOT}/", "")
        self.file.write(json.dumps(row) + "\n")
        self.file.flush()


def pytest_configure(config: pytest.Config) -> None:
    worker = getattr(config, "workerinput", None)
    if worker is not None:
        share_machine(int(worker["workerid"].removeprefix("gw")), int(worker["workercount"]))
    elif path := os.environ.get("NEARFAR_GPU_OUTCOMES"):
        config.pluginmanager.register(Outcomes(path), "nearfar-gpu-outcomes")
    config.pluginmanager.register(Launched(), "nearfar-gpu-launched")


def share_machine(worker: int, workers: int) -> None:
    """Select one device and a share of the cores, before either is used."""
    if count := int(os.environ.get("NEARFAR_GPU_COUNT", "0")):
        os.environ["CUDA_VISIBLE_DEVICES"] = str(worker % count)
    cores = sorted(os.sched_getaffinity(0))
    os.sched_setaffinity(0, cores[worker::workers] or cores)


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    path = os.environ.get("NEARFAR_GPU_RECORD")
    if path is None:
        return
    record = json.loads(Path(path).read_text(encoding="utf-8"))
    modules, tests = fresh_modules(record), record["tests"]
    fresh = {
        name
        for name, test in tests.items()
        if test["outcome"] != "failed" and name.split("::")[0] in modules
    }
    config.hook.pytest_deselected(items=[item for item in items if item.nodeid in fresh])
    items[:] = [item for item in items if item.nodeid not in fresh]
    items.sort(key=lambda item: -tests.get(item.nodeid, {}).get("seconds", 20.0))
