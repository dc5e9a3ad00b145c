"""The parsers under ASan and UBSan, over damaged files: ``make test-slow``."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.fuzz.driver import fuzz
from tests.sanitized import SOURCE, environment, package


@pytest.mark.slow
@pytest.mark.timeout(1800)
def test_damaged_files_under_sanitizers(tmp_path: Path) -> None:
    package(tmp_path, sorted((SOURCE / "formats").glob("*.cpp")), "address,undefined")
    around = environment(tmp_path, "address,undefined")
    outcome = fuzz(6_000, seed=9, solve=False, seconds=60, memory=0, environment=around)
    assert outcome.findings == []
    assert outcome.refused > 1_000
