"""The process that parses. A crash ends it, a hang is noticed by its parent (driver.py).

    python -m tests.fuzz.worker SEED FIRST LAST PLACE MEMORY ONLY

Reads its cases one by one and writes each number to ``PLACE/at`` before, with how many were
refused so far, so that the parent knows where it died. Findings go to standard output as lines of JSON.
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

from nearfar.errors import NearfarError
from tests.fuzz.targets import Target, targets

__all__ = ["case", "found"]


def case(all_targets: list[Target], seed: int, number: int) -> tuple[Target, bytes, random.Random]:
    """Kind of input and bytes of a case; the generator then chooses how they are read."""
    target = all_targets[number % len(all_targets)]
    rng = random.Random(f"{seed} {target.name} {number}")
    return target, target.made(rng), rng


def _limit_memory(more: int) -> None:
    with open("/proc/self/statm", encoding="ascii") as file:
        now = int(file.read().split()[0]) * resource.getpagesize()
    resource.setrlimit(resource.RLIMIT_AS, (now + more, now + more))


def main(seed: int, first: int, last: int, place: Path, memory: int, only: str) -> None:
    """Parse the cases from first to last - 1."""
    (place / "seeds").mkdir(exist_ok=True)
    all_targets = targets(place / "seeds", only)
    _limit_memory(memory)
    warnings.simplefilter("error")
    refused = 0
    with (place / "at").open("r+b", buffering=0) as at:
        for number in range(first, last):
            target, data, rng = case(all_targets, seed, number)
            at.seek(0)
            at.write(b"%20d %20d" % (number, refused))
            with tempfile.TemporaryDirectory(dir=place) as folder:
                try:
                    target.parse(rng, data, Path(folder))
                except NearfarError as error:
                    refused += 1
                    if len(str(error)) > 1000:
                        found(number, target.name, f"a message of {len(str(error))} characters")
                except BaseException as error:
                    shown = "".join(traceback.format_exception(error)[-3:])
                    found(number, target.name, shown)
    print(json.dumps({"refused": refused}), flush=True)


def found(number: int, name: str, what: str) -> None:
    """Tell the parent what a case ended in."""
    print(json.dumps({"case": number, "target": name, "what": what[-1500:]}), flush=True)


if __name__ == "__main__":
    main(*map(int, sys.argv[1:4]), Path(sys.argv[4]), int(sys.argv[5]), sys.argv[6])
