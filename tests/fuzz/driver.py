"""Runs cases in subprocesses: a crash, a hang or a wrong exception is a finding with a number."""

from __future__ import annotations

import json
import subprocess
import sys
import tempfile
import threading
import time
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

__all__ = ["Outcome", "fuzz"]

ROOT = Path(__file__).resolve().parents[2]


@dataclass
class Outcome:
    """What came of a run.

    Attributes
    ----------
    parsed, refused : int
        Cases, and those of them that ended in an error of the library's own.
    findings : list of dict
        ``case`` (its number), ``target`` and ``what``: all else that came out.
    """

    parsed: int = 0
    refused: int = 0
    findings: list[dict[str, Any]] = field(default_factory=list)


def fuzz(
    count: int,
    seed: int,
    *,
    first: int = 0,
    seconds: float = 20,
    memory: int = 3 << 30,
    only: str = "",
    worker: str = "tests.fuzz.worker",
) -> Outcome:
    """Parse ``count`` damaged inputs.

    Parameters
    ----------
    count, seed, first : int
        Cases ``first`` to ``first + count - 1`` of the seed.
    seconds : float
        For one case; longer is a hang.
    memory : int
        Bytes that the process may take beyond those it begins with.
    only : str
        Only kinds of input whose name begins so.
    worker : str
        Module that parses.

    Returns
    -------
    Outcome
    """
    outcome, last = Outcome(), first + count
    with tempfile.TemporaryDirectory() as folder:
        place = Path(folder)
        while first < last:
            first = _run(
                outcome, first, last, place, seconds, [worker, str(seed), str(memory), only]
            )
    outcome.parsed = count
    return outcome


def _run(
    outcome: Outcome, first: int, last: int, place: Path, seconds: float, how: list[str]
) -> int:
    """One subprocess; returns the case to go on with after it ended."""
    at = place / "at"
    at.write_text("")
    worker, seed, *more = how
    words = [sys.executable, "-m", worker, seed, str(first), str(last), str(place), *more]
    pipe = subprocess.PIPE
    with subprocess.Popen(words, cwd=ROOT, stdout=pipe, stderr=pipe, text=True) as child:
        lines: list[str] = []
        reader = threading.Thread(target=lambda: lines.extend(child.stdout or ()))
        tail: list[str] = []
        other = threading.Thread(target=lambda: tail.extend(child.stderr or ()))
        reader.start(), other.start()
        hung = _wait(child, at, seconds)
        reader.join(), other.join()
    for line in lines:
        said = json.loads(line)
        if "refused" in said:
            outcome.refused += said["refused"]
        else:
            outcome.findings.append(said)
    if child.returncode == 0:
        return last
    died, _, refused = at.read_text().strip().partition(" ")
    outcome.refused += int(refused or 0)
    if not died:
        raise RuntimeError("".join(tail))  # before the first case: the fuzzer itself is broken
    what = f"more than {seconds} s" if hung else f"exit status {child.returncode}: "
    outcome.findings.append(
        {"case": int(died), "target": "?", "what": what + "".join(tail)[-1500:]}
    )
    return int(died) + 1


def _wait(child: subprocess.Popen[str], at: Path, seconds: float) -> bool:
    """Wait for the end; kill and return True where one case takes too long."""
    case, since = "", time.monotonic()
    while child.poll() is None:
        time.sleep(0.05)
        now = at.read_text()
        if now != case or not now:
            case, since = now, time.monotonic()
        elif time.monotonic() - since > seconds:
            child.kill()
            return True
    return False
