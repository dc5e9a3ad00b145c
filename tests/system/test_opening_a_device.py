"""Opening of the first device while CuPy is imported, if a call names the device."""

from __future__ import annotations

import ctypes
import importlib.util
import sys
import threading
import types
import warnings
from typing import Any

import pytest

import nearfar
from nearfar.errors import VariantUnavailable
from nearfar.system.devices import cupy_module, runtime


class Driver:
    """Stand-in for the driver functions that open a device, with counts of their calls."""

    def __init__(self, fails: str | None = None) -> None:
        self.called: list[str] = []
        self.fails = fails

    def __getattr__(self, name: str) -> Any:
        def function(*_: object) -> int:
            self.called.append(name)
            return int(name == self.fails)

        return function


def joined() -> None:
    """Wait for the thread that opens the device."""
    for thread in threading.enumerate():
        if thread.name == "nearfar opens a device":
            thread.join()


STEPS = ["cuInit", "cuDeviceGet", "cuDevicePrimaryCtxRetain"]


@pytest.fixture
def imported(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """Pretend that CuPy is installed, and record each import."""
    found: list[str] = []
    monkeypatch.delitem(sys.modules, "cupy", raising=False)
    monkeypatch.setattr(importlib.util, "find_spec", lambda name: name)
    monkeypatch.setattr(cupy_module, "import_cupy", lambda: found.append("cupy"))
    return found


@pytest.mark.parametrize("fails", [None, *STEPS])
def test_the_device_is_opened_beside_the_import(
    imported: list[str], monkeypatch: pytest.MonkeyPatch, fails: str | None
) -> None:
    driver = Driver(fails)
    monkeypatch.setattr(ctypes, "CDLL", lambda name: driver)
    runtime.import_and_open()
    joined()
    assert imported == ["cupy"]
    upto = len(STEPS) if fails is None else STEPS.index(fails) + 1
    assert driver.called == STEPS[:upto]


def test_no_driver_is_left_to_the_call(
    imported: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    def missing(name: str) -> None:
        raise OSError(name)

    monkeypatch.setattr(ctypes, "CDLL", missing)
    runtime.import_and_open()
    joined()
    assert imported == ["cupy"]


def test_once_cupy_is_imported_nothing_is_opened(
    imported: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, "cupy", sys)
    runtime.import_and_open()
    monkeypatch.delitem(sys.modules, "cupy")
    monkeypatch.setattr(importlib.util, "find_spec", lambda name: None)
    runtime.import_and_open()
    assert not imported


def test_only_a_call_that_names_the_device_opens_it(monkeypatch: pytest.MonkeyPatch) -> None:
    opened: list[int] = []
    monkeypatch.setattr(runtime, "import_and_open", lambda: opened.append(1))
    graph = nearfar.Graph.from_edges([0, 1], [1, 2], [1, 2])
    nearfar.sssp(graph, 0)
    nearfar.distances(graph, device="cpu")
    assert not opened
    if runtime.available() is not True:
        with pytest.raises(VariantUnavailable):
            nearfar.sssp(graph, 0, device="gpu")
    else:
        nearfar.sssp(graph, 0, device="gpu")
    assert opened == [1]


def test_cupy_is_looked_for_once(monkeypatch: pytest.MonkeyPatch) -> None:
    """It is searched again only if another module has replaced it."""
    looked: list[int] = []
    ignoring = warnings.catch_warnings
    monkeypatch.setattr(warnings, "catch_warnings", lambda: looked.append(1) or ignoring())
    for place in ("first", "second"):
        module = types.ModuleType("cupy", place)
        monkeypatch.setitem(sys.modules, "cupy", module)
        for _ in range(3):
            assert cupy_module.import_cupy() is module
    assert len(looked) == 2
    monkeypatch.setitem(sys.modules, "cupy", None)  # as if it were not installed
    assert cupy_module.import_cupy() is None
