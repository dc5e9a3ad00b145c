"""What several tests of experiments use."""

import pytest

from nearfar.lab.experiments import runner


@pytest.fixture
def undrawn(monkeypatch: pytest.MonkeyPatch) -> None:
    """Runs of experiments draw no figures, which would take most of a tiny one's time."""
    monkeypatch.setattr(runner, "draw", lambda figure, folder: [])
