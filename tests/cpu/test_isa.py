"""The level of x86-64 that the module picks when it is imported."""

from __future__ import annotations

import os
import subprocess
import sys

import pytest

from nearfar import _cpu


def test_the_level_in_use_is_the_best_compiled() -> None:
    assert "NEARFAR_CPU_LEVEL" in os.environ or _cpu.isa() == _cpu.isa_levels()[-1]


@pytest.mark.parametrize("level", _cpu.isa_levels())
def test_the_environment_picks_a_level(level: str) -> None:
    done = _import(level)
    assert done.returncode == 0, done.stderr
    assert done.stdout.strip() == level


@pytest.mark.parametrize("level", ["v9", "V4", "v1"])
def test_a_level_that_is_not_there_is_refused(level: str) -> None:
    done = _import(level)
    assert done.returncode == 1
    last = done.stderr.strip().splitlines()[-1]
    assert last.startswith(f"ImportError: NEARFAR_CPU_LEVEL={level} ")
    assert last.endswith(", ".join(_cpu.isa_levels()))


def _import(level: str) -> subprocess.CompletedProcess[str]:
    """Import the module under one setting and print the level."""
    return subprocess.run(
        [sys.executable, "-c", "from nearfar import _cpu; print(_cpu.isa())"],
        env={**os.environ, "NEARFAR_CPU_LEVEL": level},
        capture_output=True,
        text=True,
        check=False,
    )
