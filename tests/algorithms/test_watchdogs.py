"""A stuck kernel is an error, and the process goes on: every watchdog, on the emulated device."""

from __future__ import annotations

import pytest

from tests.watchdogs import CASES, check


@pytest.mark.usefixtures("emulated_gpu")
@pytest.mark.parametrize("name", CASES)
def test_watchdog(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    check(CASES[name], monkeypatch)
