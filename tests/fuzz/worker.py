"""Process that parses: a crash ends it, and its parent (driver.py) detects a hang.

Its argument is the job as JSON. It reads its cases one by one. Before each it writes the number of
the case and the number of refused ones to ``at``, so that the parent knows where it died. Findings
go to standard output as lines of JSON.
"""

from __future__ import annotations

import json
import random
import resource
import sys
import tempfile
import traceback
import warnings
from pathlib import Path
from typing import Any

from nearfar.errors import NearfarError
from tests.fuzz.targets import Target, targets

__all__ = ["case"]


def case(all_targets: list[Target], seed: int, number: int) -> tuple[Target, bytes, random.Random]:
    """Return kind of input, bytes and generator of a case; the generator chooses the reader."""
    target = all_targets[number % len(all_targets)]
    rng = random.Random(f"{seed} {target.name} {number}")
    return target, target.made(rng), rng


def _limit_memory(more: int) -> None:
    with open("/proc/self/statm", encoding="ascii") as file:
        now = int(file.read().split()[0]) * resource.getpagesize()
    resource.setrlimit(resource.RLIMIT_AS, (now + more, now + more))


def _main(job: dict[str, Any]) -> None:
    place = Path(job["place"])
    (place / "seeds").mkdir(exist_ok=True)
    all_targets = targets(place / "seeds", only=job["only"], solve=job["solve"])
    if job["memory"]:
        _limit_memory(job["memory"])
    warnings.simplefilter("error")
    refused = 0
    with (place / "at").open("r+b", buffering=0) as at:
        for number in range(job["first"], job["last"]):
            target, data, rng = case(all_targets, job["seed"], number)
            at.seek(0)
            at.write(b"%20d %20d" % (number, refused))
            wrong = ""
            with tempfile.TemporaryDirectory(dir=place) as folder:
                try:
                    target.parse(rng, data, Path(folder))
                except NearfarError as error:
                    refused += 1
                    if len(str(error)) > 1000:
                        wrong = f"a message of {len(str(error))} characters"
                except BaseException as error:
                    wrong = "".join(traceback.format_exception(error))[-1500:]
            if wrong:
                found = {"case": number, "target": target.name, "what": wrong}
                print(json.dumps(found), flush=True)


if __name__ == "__main__":
    _main(json.loads(sys.argv[1]))
