"""Level of x86-64 that the module selects when it is imported."""

from __future__ import annotations

import os
import subprocess
import sys

import pytest

from nearfar import _cpu
from tests.program import run_python


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


#: Lengths around the registers and blocks of every instruction set, and a position in each.
CODE = """
import numpy as np
from nearfar import _cpu

rng = np.random.default_rng(5)
for size in (0, 1, 7, 8, 9, 31, 63, 64, 65, 127, 129, 4095, 4096, 4097, 70_001):
    for dtype in (np.int32, np.int64):
        given = rng.integers(0, 1000, size).astype(dtype)
        for out in (None, np.full_like(given, -1)):
            for threads in (1, 3):
                assert _cpu.first_bad_index(given, 1000, threads, out) == -1
            assert out is None or np.array_equal(out, given)
        for at in {0, size // 2, size - 1} if size else ():
            for wrong in (-1, 1000, np.iinfo(dtype).max, np.iinfo(dtype).min):
                bad = given.copy()
                bad[at] = wrong
                assert _cpu.first_bad_index(bad, 1000, 2, None) == at
        starts = np.arange(size + 1, dtype=dtype) // 2  # falls nowhere, and repeats
        assert _cpu.first_bad_indptr(starts, size // 2) == -1
        for at in {1, 2, size // 2, size - 1, size} if size > 2 else ():
            bad = starts.copy()
            bad[at] = -1
            assert _cpu.first_bad_indptr(bad, size // 2) == at
    for dtype in (np.int32, np.int64, np.float32, np.float64):
        given = rng.integers(1, 1000, size).astype(dtype)
        if size:
            given[size // 3] = -7
            given[size - 1] = np.iinfo(np.int32).max - 127  # in a float32 too
        for out in (None, np.zeros_like(given)):
            found = _cpu.weight_scan(given, 1, out)
            assert out is None or np.array_equal(out, given)
            negative = int(np.sum(given < 0))
            assert (found["n_negative"], found["n_nonfinite"]) == (negative, 0)
            if size:
                assert (found["min"], found["max"]) == (given.min(), given.max())
                assert found["mean"] == given.astype(np.float64).mean()  # whole, so exact
        for at in {0, size // 2, size - 1} if size and given.dtype.kind == "f" else ():
            for wrong in (np.nan, np.inf, -np.inf):
                bad = given.copy()
                bad[at] = wrong
                found = _cpu.weight_scan(bad, 2, None)
                assert (found["first_nonfinite"], found["n_nonfinite"]) == (at, 1)
"""


@pytest.mark.parametrize("level", _cpu.isa_levels())
def test_every_instruction_set_finds_the_same(level: str) -> None:
    run_python(CODE, NEARFAR_CPU_LEVEL=level)
