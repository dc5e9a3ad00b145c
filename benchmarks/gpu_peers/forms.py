"""A peer that solves in several forms."""

from __future__ import annotations

from nearfar.lab.bench.peers.base import Peer


class Forms(Peer):
    """Peer with several forms of solving, of which the fastest counts."""

    def __init__(self, threads: int = 1) -> None:
        super().__init__(threads)
        self.forms: dict[str, float] = {}  # milliseconds of each form that ran in the last solve
        self.failed: dict[str, str] = {}  # forms that did not run, with the reason

    def fastest(self) -> str:
        """Return the fastest form, and report its time."""
        if not self.forms:
            raise RuntimeError(f"no form ended: {next(iter(self.failed.values()))}")
        best = min(self.forms, key=lambda form: self.forms[form])
        self.reported_seconds = self.forms[best] / 1e3
        return best
