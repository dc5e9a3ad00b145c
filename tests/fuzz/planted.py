"""Worker with known faults, in place of worker.py, which the driver must detect."""

from __future__ import annotations

import json
import os
import signal
import sys
import time
from pathlib import Path

if __name__ == "__main__":
    job = json.loads(sys.argv[1])
    for number in range(job["first"], job["last"]):
        Path(job["place"], "at").write_text(f"{number} 0")
        if number == 3:
            os.kill(os.getpid(), signal.SIGSEGV)
        if number == 5:
            time.sleep(60)
        if number == 7:
            print(json.dumps({"case": number, "target": "planted", "what": "KeyError: 'blocks'"}))
