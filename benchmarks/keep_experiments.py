"""Store the measurements of experiments: ``python benchmarks/keep_experiments.py [--add] DIR...``.

Writes ``benchmarks/results/NAME-DEVICE.json`` with settings, environments and every task with all
samples. Tables and figures are left out, because ``python -m docs.generators`` derives them from
the tasks. Folders of the same experiment, device and settings are joined, so that an experiment can
be measured in parts; ``--add`` includes the stored tasks. If a task was measured twice, the later
folder counts. An unfinished run contributes its finished tasks.
"""

from __future__ import annotations

import argparse
import json
import sys
from pathlib import Path
from typing import Any

from nearfar.lab import checkout
from nearfar.lab.experiments import find
from nearfar.lab.experiments.experiment import Settings
from nearfar.lab.experiments.runner import RESULTS_SCHEMA
from result_file import write_result


def folder_content(folder: Path) -> dict[str, Any]:
    """Return settings, environments and tasks of an experiment's folder, finished or not."""
    manifest = json.loads((folder / "manifest.json").read_text())
    tasks = []
    for file in sorted((folder / "samples").glob("*.json")):
        sample = json.loads(file.read_text())
        tasks.append({key: sample[key] for key in sample if key != "schema"})
    return {**manifest, "tasks": tasks}


def joined(first: dict[str, Any], second: dict[str, Any]) -> dict[str, Any]:
    """Return two runs joined into one."""
    if Settings(**first["settings"]) != Settings(**second["settings"]):
        raise SystemExit(f"settings differ: {first['settings']} and {second['settings']}")
    processors = [run["environments"][-1]["cpu"] for run in (first, second)]
    if processors[0] != processors[1]:
        raise SystemExit(f"processors differ: {processors}")
    shift = len(first["environments"])
    later = [{**task, "environment": task["environment"] + shift} for task in second["tasks"]]
    tasks = {task["key"]: task for task in [*first["tasks"], *later]}
    environments = first["environments"] + second["environments"]
    return {**second, "environments": environments, "tasks": list(tasks.values())}


def kept(document: dict[str, Any]) -> dict[str, Any]:
    """Return the data that cannot be computed again, tasks in the experiment's order.

    Environments without tasks are dropped.
    """
    experiment = find(document["experiment"])
    order = [task.key for task in experiment.tasks(Settings(**document["settings"]))]
    used = sorted({task["environment"] for task in document["tasks"]})
    tasks = []
    for task in sorted(document["tasks"], key=lambda task: order.index(task["key"])):
        place = used.index(task["environment"])
        result = experiment.kept(task["key"], task["result"])
        tasks.append({**task, "environment": place, "result": result})
    return {
        "schema": RESULTS_SCHEMA,
        "experiment": experiment.name,
        "paper": experiment.paper,
        "title": experiment.title,
        "settings": document["settings"],
        "environments": [document["environments"][i] for i in used],
        "tasks": tasks,
    }


def main(argv: list[str] | None = None) -> int:
    """Store every folder named on the command line."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition(":")[0])
    parser.add_argument("--add", action="store_true", help="begin with the kept results")
    parser.add_argument("folders", nargs="+", type=Path, metavar="DIR")
    given = parser.parse_args(argv)
    checkout.require()
    runs: dict[str, dict[str, Any]] = {}
    for folder in given.folders:
        document = folder_content(folder)
        label = f"{document['experiment']}-{document['settings']['device']}"
        if given.add and label not in runs:
            before = checkout.results(f"{label}.json")
            runs |= {label: before} if before else {}
        runs[label] = joined(runs[label], document) if label in runs else document
    for label, document in runs.items():
        write_result(checkout.ROOT / checkout.RESULTS / f"{label}.json", kept(document))
        print(f"kept {label}: {len(document['tasks'])} tasks")
    return 0


if __name__ == "__main__":
    sys.exit(main())
