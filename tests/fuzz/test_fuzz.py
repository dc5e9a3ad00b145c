"""Damaged files: a few hundred in every run of the tests, 20,000 in the slow ones."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.fuzz.driver import fuzz
from tests.sanitized import SOURCE, environment, package

pytest.importorskip("zstandard")
pytest.importorskip("pyarrow")
pytest.importorskip("osmium")


def test_the_driver_notices() -> None:
    outcome = fuzz(9, seed=0, seconds=1.5, worker="tests.fuzz.planted")
    found = {finding["case"]: finding["what"] for finding in outcome.findings}
    assert found.keys() == {3, 5, 7}
    assert "exit status -11" in found[3]
    assert "more than 1.5 s" in found[5]
    assert "KeyError" in found[7]


def test_damaged_files() -> None:
    outcome = fuzz(600, seed=1)
    assert outcome.findings == []
    assert 200 < outcome.refused < 600  # some damage is harmless, and some is refused


@pytest.mark.slow
@pytest.mark.timeout(1800)
@pytest.mark.parametrize("seed", range(2, 6))
def test_many_damaged_files(seed: int) -> None:
    outcome = fuzz(5_000, seed=seed)
    assert outcome.findings == []


@pytest.mark.slow
@pytest.mark.timeout(1800)
def test_damaged_files_under_sanitizers(tmp_path: Path) -> None:
    package(tmp_path, sorted((SOURCE / "formats").rglob("*.cpp")), "address,undefined")
    around = environment(tmp_path, "address,undefined")
    outcome = fuzz(6_000, seed=9, solve=False, seconds=60, memory=0, environment=around)
    assert outcome.findings == []
    assert outcome.refused > 1_000
