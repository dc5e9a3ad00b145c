"""A worker with known faults, in place of worker.py: what the driver must notice."""

from __future__ import annotations

import os
import signal
import sys
import time
from pathlib import Path

from tests.fuzz.worker import found

if __name__ == "__main__":
    first, last, place = int(sys.argv[2]), int(sys.argv[3]), Path(sys.argv[4])
    for number in range(first, last):
        (place / "at").write_text(str(number))
        if number == 3:
            os.kill(os.getpid(), signal.SIGSEGV)
        if number == 5:
            time.sleep(60)
        if number == 7:
            found(number, "planted", "KeyError: 'blocks'")
