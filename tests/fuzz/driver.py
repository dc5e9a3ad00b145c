"""Driver that runs cases in subprocesses: a crash, a hang or a wrong exception is a finding."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
import time
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

__all__ = ["Outcome", "fuzz"]

ROOT = Path(__file__).resolve().parents[2]


@dataclass
class Outcome:
    """Result of a run.

    Attributes
    ----------
    parsed, refused : int
        Number of cases, and of those that ended in an error of the library.
    findings : list of dict
        All other outcomes: ``case`` (its number), ``target`` and ``what``.
    """

    parsed: int = 0
    refused: int = 0
    findings: list[dict[str, Any]] = field(default_factory=list)


def fuzz(
    count: int,
    seed: int,
    *,
    first: int = 0,
    only: str = "",
    solve: bool = True,
    seconds: float = 20,
    memory: int = 3 << 30,
    worker: str = "tests.fuzz.worker",
    environment: dict[str, str] | None = None,
) -> Outcome:
    """Parse ``count`` damaged inputs.

    Parameters
    ----------
    count, seed, first : int
        Cases ``first`` to ``first + count - 1`` of the seed.
    only : str
        Only kinds of input whose name starts with this.
    solve : bool
        Whether graphs are solved; without solves, saved rows are left out.
    seconds : float
        Maximum seconds of one case; a longer one is a hang.
    memory : int
        Bytes that the process may allocate; 0 sets no limit.
    worker : str
        Module that parses.
    environment : dict or None
        Additional variables of the process.

    Returns
    -------
    Outcome
    """
    outcome, last = Outcome(), first + count
    variables = {**os.environ, **(environment or {})}
    with tempfile.TemporaryDirectory() as place:
        at = Path(place, "at")
        while first < last:
            at.write_text("")
            job = {"seed": seed, "first": first, "last": last, "only": only, "solve": solve}
            job |= {"memory": memory, "place": place}
            command = [sys.executable, "-m", worker, json.dumps(job)]
            first = _run(outcome, command, variables, at, seconds) or last
    outcome.parsed = count
    return outcome


def _run(
    outcome: Outcome, command: list[str], variables: dict[str, str], at: Path, seconds: float
) -> int | None:
    """Run one subprocess; return the case to continue with, or None after the last."""
    with tempfile.TemporaryFile("w+") as out, tempfile.TemporaryFile("w+") as err:
        with subprocess.Popen(command, cwd=ROOT, env=variables, stdout=out, stderr=err) as child:
            hung = _wait(child, at, seconds)
        out.seek(0), err.seek(0)
        lines, tail = out.read().splitlines(), err.read()[-1500:]
    outcome.findings += map(json.loads, lines)
    died, _, refused = at.read_text().strip().partition(" ")
    if not died:
        raise RuntimeError(tail)  # before the first case: the fuzzer itself is broken
    outcome.refused += int(refused)
    if child.returncode == 0:
        return None
    what = f"more than {seconds} s" if hung else f"exit status {child.returncode}: {tail}"
    outcome.findings.append({"case": int(died), "target": "?", "what": what})
    return int(died) + 1


def _wait(child: subprocess.Popen[bytes], at: Path, seconds: float) -> bool:
    """Wait for the end; kill the process and return True if one case takes too long."""
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
