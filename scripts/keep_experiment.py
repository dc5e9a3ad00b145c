"""Keep what an experiment measured: ``python scripts/keep_experiment.py DIR...``.

Writes ``benchmarks/results/NAME-DEVICE.json`` with settings, environments and every task with all
samples, and copies the figures as PNG to ``docs/reproduction/images/``. Tables and figure data are
left out, because they follow from the tasks. Then run ``python scripts/make_reproduction.py``.
"""

from __future__ import annotations

import json
import shutil
import sys
from pathlib import Path
from typing import Any

from nearfar.bench.report import write_json

ROOT = Path(__file__).resolve().parents[1]
RESULTS = ROOT / "benchmarks" / "results"
IMAGES = ROOT / "docs" / "reproduction" / "images"
#: Queue sizes, iteration by iteration, are drawn for these graphs only.
DRAWN = ("msdoor", "rmat")


def kept(document: dict[str, Any]) -> dict[str, Any]:
    """The part of ``results.json`` that nothing else can make again."""
    names = ("schema", "experiment", "paper", "title", "settings", "environments", "skipped")
    tasks = []
    for task in document["tasks"]:
        result = dict(task["result"])
        if task["key"] not in DRAWN:
            result.pop("queues", None)
        tasks.append({**task, "result": result})
    return {name: document[name] for name in names} | {"tasks": tasks}


def main() -> int:
    for name in sys.argv[1:]:
        folder = Path(name)
        document = json.loads((folder / "results.json").read_text())
        label = f"{document['experiment']}-{document['settings']['device']}"
        write_json(RESULTS / f"{label}.json", kept(document))
        IMAGES.mkdir(parents=True, exist_ok=True)
        for figure in document["figures"]:
            for file in figure["files"]:
                if file.endswith(".png"):
                    shutil.copyfile(folder / "figures" / file, IMAGES / f"{label}-{file}")
        print(f"kept {label}: {len(document['tasks'])} tasks, {len(document['figures'])} figures")
    return 0


if __name__ == "__main__":
    sys.exit(main())
