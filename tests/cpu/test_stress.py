"""Lock-free code under the sanitizers, without Python, beside busy loops: ``make test-slow``."""

from __future__ import annotations

import re
import subprocess
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
SOURCES = ("worker_pool", "waiting", "attendance", "buffer")


@pytest.mark.slow
@pytest.mark.parametrize("sanitizer", ["thread", "address,undefined"])
def test_parallel_delta_stepping_has_no_races(sanitizer: str, tmp_path: Path) -> None:
    program = tmp_path / "stress"
    source = ROOT / "src" / "nearfar"
    subprocess.run(
        [
            *("g++", "-std=c++20", "-O1", "-g", "-pthread", "-w"),
            *(f"-fsanitize={sanitizer}", "-fno-sanitize-recover=all"),
            *(f"-I{source}", "-o", program),
            ROOT / "tests" / "stress" / "parallel_delta_stepping.cpp",
            *(source / "cpu" / f"{name}.cpp" for name in SOURCES),
        ],
        check=True,
    )
    done = subprocess.run(
        [program, "2", "12"], capture_output=True, text=True, check=False, timeout=600
    )
    # A report of the sanitizer makes the exit status other than 0, as a wrong answer does.
    assert done.returncode == 0, done.stdout + done.stderr
    found = re.search(r"solves (\d+) wrong 0 thrown \d+ let go (\d+) rounds (\d+)", done.stdout)
    assert found, done.stdout
    solves, let_go, rounds = map(int, found.groups())
    assert solves == 12 * 9 * 2
    assert rounds > solves
    assert let_go > 0  # the program solves until it was, or nothing was shown
