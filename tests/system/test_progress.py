"""Progress bar of long work on a terminal."""

from __future__ import annotations

import io
import re
import sys
import time

import pytest

from nearfar.system import progress
from nearfar.system.progress import Progress


class Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


def terminal_for(monkeypatch: pytest.MonkeyPatch) -> Terminal:
    """Provide a terminal in place of stderr; within the test, as pytest sets stderr per phase."""
    shown = Terminal()
    monkeypatch.setattr(sys, "stderr", shown)
    monkeypatch.setenv("TERM", "xterm")
    monkeypatch.setenv("NO_COLOR", "1")
    return shown


def test_work_that_reports_late_has_a_bar_too(monkeypatch: pytest.MonkeyPatch) -> None:
    """Regression: rows of a large graph showed no bar for minutes, until the first block."""
    terminal = terminal_for(monkeypatch)
    monkeypatch.setattr(progress, "_FIRST", 0.05)
    with Progress("solving") as bar:
        bar(0, 7)
        time.sleep(0.6)
        assert re.search(r"solving -+ +0% ", terminal.getvalue())
    assert terminal.getvalue().endswith("\r\x1b[K")  # and is erased


def test_short_work_leaves_no_trace(monkeypatch: pytest.MonkeyPatch) -> None:
    terminal = terminal_for(monkeypatch)
    with Progress("solving") as bar:
        bar(0, 7)
        bar(7, 7)
    assert terminal.getvalue() == ""
    assert not bar.waiting.is_alive()
    with Progress("solving", enabled=False) as bar:
        assert not bar.waiting.is_alive()


def test_the_time_left_is_that_at_the_pace_so_far(monkeypatch: pytest.MonkeyPatch) -> None:
    terminal = terminal_for(monkeypatch)
    now = [100.0]
    monkeypatch.setattr(progress.time, "monotonic", lambda: now[0])
    bar = Progress("solving")
    bar(0, 10)
    now[0] += 30
    bar(2, 10)
    assert "20% 2 min left" in terminal.getvalue()
