"""A peer that solves in several forms."""

from __future__ import annotations

from nearfar.lab.bench.peers.base import Peer


class Forms(Peer):
    """Contender that solves in several forms, of which the fastest counts."""

    def __init__(self, threads: int = 1) -> None:
        super().__init__(threads)
        self.forms: dict[str, float] = {}  # milliseconds of each form that ran in the last solve
        self.failed: dict[str, str] = {}  # forms that did not, with the reason

    def fastest(self) -> str:
        """Return the form that counts, its time reported."""
        if not self.forms:
            raise RuntimeError(f"no form ended: {next(iter(self.failed.values()))}")
        best = min(self.forms, key=lambda form: self.forms[form])
        self.reported_seconds = self.forms[best] / 1e3
        return best
