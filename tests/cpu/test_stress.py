"""Lock-free code under the sanitizers, without Python, with busy loops: ``make test-slow``."""

from __future__ import annotations

import re
import subprocess
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
SOURCES = ("threads/spread", "threads/worker_pool", "threads/waiting", "memory/buffer")


@pytest.mark.slow
@pytest.mark.parametrize(
    ("sanitizer", "macros"),
    [
        ("thread", []),
        ("address,undefined", []),
        ("thread", ["-DNEARFAR_WITHOUT_FUTEX"]),  # as on macOS and Windows
    ],
)
def test_searches_on_several_cores_have_no_races(
    sanitizer: str, macros: list[str], tmp_path: Path
) -> None:
    program = tmp_path / "stress"
    source = ROOT / "src" / "nearfar"
    subprocess.run(
        [
            *("g++", "-std=c++20", "-O1", "-g", "-pthread", "-w"),
            *(f"-fsanitize={sanitizer}", "-fno-sanitize-recover=all", *macros),
            *(f"-I{source}", "-o", program),
            ROOT / "tests" / "stress" / "parallel_searches.cpp",
            *(source / "cpu" / f"{name}.cpp" for name in SOURCES),
        ],
        check=True,
    )
    done = subprocess.run(
        [program, "2", "12"], capture_output=True, text=True, check=False, timeout=600
    )
    # A report of the sanitizer makes the exit status other than 0, as a wrong answer does.
    assert done.returncode == 0, done.stdout + done.stderr
    found = dict(re.findall(r"(\w+) (\d+)", done.stdout))
    assert found["wrong"] == "0"
    assert found["solves"] == str(12 * 9 * 3)
    # The run is meaningful only if workers took entries of others and shared levels.
    assert int(found["rounds"]) > 12 * 9 * 2
    assert int(found["steals"]) > 0
    assert int(found["together"]) > 0
