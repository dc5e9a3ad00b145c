"""C++ code of prepared graphs and rasters under ASan, UBSan and TSan: ``make test-slow``."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from nearfar import _cpu
from tests.sanitized import LEVELS, SOURCE, environment, package

TESTS = Path(__file__).parent
#: Part of the package -> program that prints the number of comparisons, and its minimum.
PROGRAMS = {
    "prepared": (TESTS / "prepared" / "sanitized_queries.py", 1_000_000),
    "raster": (TESTS / "raster" / "sanitized_searches.py", 3_000_000),
}


@pytest.mark.slow
@pytest.mark.timeout(3600)
@pytest.mark.skipif(_cpu.isa() not in LEVELS, reason="the levels compiled here are those of x86-64")
@pytest.mark.parametrize("sanitizer", ["address,undefined", "thread"])
@pytest.mark.parametrize("part", PROGRAMS)
def test_under_sanitizers(part: str, sanitizer: str, tmp_path: Path) -> None:
    units = sorted((SOURCE / part).rglob("*.cpp"))
    program, least = PROGRAMS[part]
    package(tmp_path, units, sanitizer)
    around = {**os.environ, **environment(tmp_path, sanitizer)}
    for level in list(LEVELS)[: list(LEVELS).index(_cpu.isa()) + 1]:
        done = subprocess.run(
            [sys.executable, program],
            env={**around, "NEARFAR_CPU_LEVEL": level},
            capture_output=True,
            text=True,
            check=False,
        )
        # A report of the sanitizer makes the exit status other than 0, as a wrong answer does.
        assert done.returncode == 0, done.stdout + done.stderr[-6000:]
        assert int(done.stdout.split()[-1]) > least
