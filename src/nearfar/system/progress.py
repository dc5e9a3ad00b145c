"""Progress bar with the remaining time, on stderr if that is a terminal."""

from __future__ import annotations

import os
import shutil
import sys
import threading
import time
from collections.abc import Callable

_FIRST = 0.5  # seconds before the first bar
_LINE_EVERY = 10.0  # seconds between lines if the bar cannot be redrawn


def time_left(seconds: float) -> str:
    """Format a rough duration: ``40 s``, ``3 min``, ``2 h 10 min``."""
    if seconds < 60:
        return f"{max(round(seconds), 1)} s"
    minutes = round(seconds / 60)
    return f"{minutes} min" if minutes < 60 else f"{minutes // 60} h {minutes % 60} min"


class Finished:
    """Count of finished parts, reported to a function ``(done, total)`` by any thread."""

    def __init__(self, progress: Callable[[float, float], None] | None, total: int) -> None:
        self.progress, self.total, self.done = progress, total, 0
        self.lock = threading.Lock()

    def add(self, count: int) -> None:
        """Count further parts as finished."""
        with self.lock:
            self.done += count
            if self.progress is not None:
                self.progress(min(self.done, self.total), self.total)


class Progress:
    """Progress bar on stderr for long work; silent without a terminal, or with ``--quiet``.

    Notes
    -----
    The object is called with ``(done, total)``, for example by functions with a ``progress``
    argument. The bar appears after half a second, so that short work leaves no trace; inside a
    ``with`` block it appears even if nothing is reported until then. After two seconds it shows the
    remaining time at the pace since the first call. ``NO_COLOR`` disables colour.
    """

    def __init__(self, text: str, *, enabled: bool = True, always: bool = False) -> None:
        self.title = self.text = text
        self.bar = enabled and sys.stderr.isatty() and os.environ.get("TERM") != "dumb"
        self.enabled = self.bar or (enabled and always)
        self.colour = not os.environ.get("NO_COLOR")
        self.began = time.monotonic()
        self.drawn = 0.0
        self.first: tuple[float, float] | None = None
        self.last = (0.0, 1.0)
        # Shows an empty bar if nothing is reported for a while.
        self.waiting = threading.Timer(_FIRST + 0.1, self._begin)
        self.waiting.daemon = True

    def __enter__(self) -> Progress:
        if self.bar:
            self.waiting.start()
        return self

    def _begin(self) -> None:
        if not self.drawn:
            self(*self.last)

    def __exit__(self, *_: object) -> None:
        self.waiting.cancel()
        if self.waiting.is_alive():
            self.waiting.join()  # the timer may be drawing
        if self.drawn and self.bar:
            sys.stderr.write("\r\x1b[K")
            sys.stderr.flush()

    def stage(self, stage: str, done: float, total: float) -> None:
        """Report progress with the name of a stage; see :meth:`__call__`."""
        self.text = f"{self.title} ({stage})"
        self(done, total)

    def left(self, now: float, done: float, total: float) -> str:
        """Return the remaining time at the pace since the first call as text, empty if unknown."""
        if self.first is None:
            self.first = (now, done)
        begun, at_first = self.first
        if now - begun < 2.0 or done <= at_first or total <= done:
            return ""
        return f"{time_left((now - begun) * (total - done) / (done - at_first))} left"

    def __call__(self, done: float, total: float) -> None:
        """Report the finished work; cheap enough for frequent calls."""
        now = time.monotonic()
        if not self.enabled:
            return
        self.last = (done, total)
        left = self.left(now, done, total)
        pause = 0.1 if self.bar else _LINE_EVERY
        if now - self.began < _FIRST or (self.drawn and now - self.drawn < pause):
            return
        self.drawn = now
        part = min(max(done / total, 0.0), 1.0) if total > 0 else 0.0
        if not self.bar:
            sys.stderr.write(f"{self.text} {part:.0%}{', ' if left else ''}{left}\n")
            sys.stderr.flush()
            return
        room = shutil.get_terminal_size().columns - len(self.text) - len(left) - 13
        width = max(min(room, 40), 5)
        full = round(part * width)
        bar = "#" * full + "-" * (width - full)
        if self.colour:
            bar = f"\x1b[36m{'━' * full}\x1b[90m{'━' * (width - full)}\x1b[0m"
        sys.stderr.write(f"\r\x1b[K{self.text} {bar} {part:4.0%} {left}")
        sys.stderr.flush()
