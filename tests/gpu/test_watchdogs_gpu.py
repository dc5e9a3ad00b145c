"""Every watchdog on a GPU: a stuck kernel is an error, and the process continues."""

from __future__ import annotations

import pytest

from tests.watchdogs import CASES, check


@pytest.mark.parametrize("name", CASES)
def test_watchdog(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    check(CASES[name], monkeypatch)
