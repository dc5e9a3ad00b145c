"""Shared fixtures, Hypothesis settings, and the recording of test durations."""

import gc
import os
import tempfile
from pathlib import Path

import pytest
from hypothesis import HealthCheck, settings

from nearfar.system.devices import runtime
from tests.durations import Durations
from tests.emulator import checked_loads, emulated_gpu, held_compiler, several_ranges
from tests.program import cycle_file, graph_file, named_file
from tests.small_blocks import small_blocks

__all__ = [
    "checked_loads",
    "cycle_file",
    "emulated_gpu",
    "graph_file",
    "held_compiler",
    "named_file",
    "several_ranges",
    "small_blocks",
]

# Load on the machine must not fail a test: whole tests have a time limit, examples do not.
settings.register_profile("nearfar", deadline=None, suppress_health_check=[HealthCheck.too_slow])
settings.load_profile("nearfar")


def pytest_configure(config: pytest.Config) -> None:
    config.pluginmanager.register(Durations())
    # Speeds that `nearfar tune` stored for this machine choose no method in a test.
    os.environ["NEARFAR_CACHE"] = str(Path(tempfile.gettempdir(), "nearfar-tests"))
    gc.disable()  # until ten thousand tests are collected, none of which is garbage


@pytest.fixture(autouse=True)
def no_gpu(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    """Hide this machine's GPUs from tests of the host, which find the same on every machine."""
    if request.node.get_closest_marker("gpu") is None and runtime.available() is True:
        monkeypatch.setattr(runtime, "available", lambda: "no CUDA device: a test of the host")
        monkeypatch.setenv("CUDA_VISIBLE_DEVICES", "")


def pytest_collection_finish() -> None:
    gc.freeze()
    gc.enable()
