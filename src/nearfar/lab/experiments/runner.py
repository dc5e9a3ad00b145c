"""Run an experiment task by task, so that it can be stopped and resumed at any time.

Every finished task is on disk, whole, before the next one begins. A later run with the same
settings in the same folder skips them; a file that a crash left half-written counts as missing.
"""

from __future__ import annotations

import contextlib
import dataclasses
import fnmatch
import json
import time
from collections.abc import Callable, Iterable, Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from nearfar.errors import (
    MissingDependencyError,
    OptionError,
    OutOfMemoryError,
    VariantUnavailable,
    quoted,
)
from nearfar.lab.bench.environment import environment
from nearfar.lab.bench.report import write_json
from nearfar.lab.experiments.ahead import Ahead
from nearfar.lab.experiments.experiment import Done, Experiment, Settings, Task, whole
from nearfar.lab.experiments.render import draw, markdown_table
from nearfar.system.devices import runtime
from nearfar.system.output import only_writer

RESULTS_SCHEMA = "nearfar-experiment-results/1"
MANIFEST_SCHEMA = "nearfar-experiment-manifest/1"
SAMPLE_SCHEMA = "nearfar-experiment-sample/1"
_NO_FIGURES = "Figures were left out: they need matplotlib (pip install 'nearfar[plot]')."


@dataclasses.dataclass(slots=True)
class Outcome:
    """Result of a run."""

    folder: Path
    results: dict[str, Any]  # the content of `results.json`
    # measured, kept: tasks measured now, and found finished
    measured: int = 0
    kept: int = 0
    # tasks that could not run on this machine, with the reason
    skipped: dict[str, str] = dataclasses.field(default_factory=dict)
    # tasks excluded by the budget or by `only`
    missing: list[str] = dataclasses.field(default_factory=list)
    # `task: method` of every wrong answer of a safe method
    wrong: list[str] = dataclasses.field(default_factory=list)


def _read(path: Path, schema: str) -> dict[str, Any] | None:
    """Return the content of a result file; None if it is missing, damaged or another file."""
    try:
        data = json.loads(path.read_text(encoding="utf-8"))
    except (OSError, ValueError):
        return None
    return data if isinstance(data, dict) and data.get("schema") == schema else None


def _machine(runs: Sequence[dict[str, Any]]) -> dict[str, Any]:
    """Return processor and GPU of the runs in a folder, host runs without a GPU included."""
    return {"cpu": runs[-1].get("cpu"), "gpu": next(iter(_gpus(reversed(runs))), None)}


def _gpus(runs: Iterable[dict[str, Any]]) -> list[str]:
    """Return the distinct GPUs of runs."""
    return list(dict.fromkeys(run["gpu"]["name"] for run in runs if run.get("gpu")))


def _open(
    experiment: Experiment, settings: Settings, folder: Path, restart: bool, overlap: bool
) -> tuple[dict[str, Any], int]:
    """Return the folder's manifest, new or continued, and the index of this run's environment."""
    path = folder / "manifest.json"
    held = _read(path, MANIFEST_SCHEMA)
    if path.exists() and held is None and not restart:
        raise OptionError(f"{path} is not an experiment's manifest: give another folder")
    now = environment() | ({"overlap": True} if overlap else {})
    if held is not None and not restart:
        both = [*held["environments"], now]
        theirs = {"experiment": held["experiment"], **_machine(held["environments"])}
        theirs["gpu"] = theirs["gpu"] or _machine(both)["gpu"]
        ours = {"experiment": experiment.name, **_machine(both)}
        theirs |= dataclasses.asdict(Settings(**held["settings"]))
        ours |= dataclasses.asdict(settings)
        other = [
            f"{what} {theirs[what]}, not {value}"
            for what, value in ours.items()
            if theirs[what] != value
        ]
        if other:
            raise OptionError(
                f"{folder} holds another run ({'; '.join(other)}): give another folder, or "
                "--restart to delete it"
            )
        held["environments"].append(now)
        manifest = held
    else:
        if restart and folder.is_dir():
            for old in (folder / "samples").glob("*.json"):
                old.unlink()
        manifest = {
            "schema": MANIFEST_SCHEMA,
            "experiment": experiment.name,
            "settings": dataclasses.asdict(settings),
            "environments": [now],
        }
    (folder / "samples").mkdir(parents=True, exist_ok=True)
    for leftover in (folder / "samples").glob(".*.tmp.*"):
        leftover.unlink()
    write_json(path, manifest)
    return manifest, len(manifest["environments"]) - 1


def _wrong(result: Any, where: str) -> list[str]:
    """Yield ``cases`` entries with ``wrong_runs`` that are not unsafe by design."""
    found = []
    if isinstance(result, dict):
        for label, case in result.get("cases", {}).items():
            if case.get("wrong_runs") and not case.get("unsafe"):
                found.append(f"{where}: {label}")
        for value in result.values():
            found += _wrong(value, where)
    return list(dict.fromkeys(found))


def execute(
    experiment: Experiment,
    settings: Settings,
    folder: Path,
    *,
    only: Sequence[str] = (),
    budget: float | None = None,
    restart: bool = False,
    workers: int = 1,
    overlap: bool = False,
    progress: Callable[[float, float, str], None] = lambda done, total, text: None,
) -> Outcome:
    """Measure missing tasks, then write results, tables and figures."""
    tasks = experiment.tasks(settings)
    chosen = _chosen(tasks, only)
    if settings.device == "cuda" and not all(task.on_host for task in chosen):
        _need_gpu(tasks)
    folder.mkdir(parents=True, exist_ok=True)
    with only_writer(folder, folder / ".lock"):
        manifest, index = _open(experiment, settings, folder, restart, overlap and workers > 1)
        kept = {t.key for t in chosen if _read(_sample(folder, t.key), SAMPLE_SCHEMA)}
        todo = [t for t in chosen if t.key not in kept]
        skipped: dict[str, str] = {}
        try:
            with Ahead(experiment, settings, todo, workers, overlap=overlap) as ahead:
                measured = _measure(ahead, todo, folder, index, budget, progress, skipped)
        except BaseException:
            # Also after Ctrl-C or an error, for the tables of the finished part.
            with contextlib.suppress(Exception):
                rebuild(experiment, settings, folder, manifest, tasks, skipped)
            raise
        results = rebuild(experiment, settings, folder, manifest, tasks, skipped)
    wrong = [line for entry in results["tasks"] for line in _wrong(entry["result"], entry["key"])]
    return Outcome(folder, results, measured, len(kept), skipped, list(results["missing"]), wrong)


def _need_gpu(tasks: Sequence[Task]) -> None:
    """Raise :class:`VariantUnavailable` without a GPU; the message names tasks that need none."""
    here = runtime.available()
    if here is not True:
        some = "; tasks that match '*-host' (only=) need none"
        raise VariantUnavailable(here + (some if any(t.on_host for t in tasks) else ""))


def _sample(folder: Path, key: str) -> Path:
    return folder / "samples" / f"{key}.json"


def _chosen(tasks: Sequence[Task], only: Sequence[str]) -> list[Task]:
    """Return tasks whose key matches a pattern, in the order of the patterns; all without any."""
    found = {} if only else {task.key: task for task in tasks}
    for pattern in only:
        matching = {task.key: task for task in tasks if fnmatch.fnmatch(task.key, pattern)}
        if not matching:
            shown = ", ".join(task.key for task in tasks[:6])
            raise OptionError(f"no task matches {quoted(pattern)}; there are {shown}, ...")
        found |= {key: task for key, task in matching.items() if key not in found}
    return list(found.values())


def _measure(
    ahead: Ahead,
    todo: Sequence[Task],
    folder: Path,
    index: int,
    budget: float | None,
    progress: Callable[[float, float, str], None],
    skipped: dict[str, str],
) -> int:
    """Measure and store tasks and return their number; add those that cannot run to ``skipped``."""
    total = sum(t.cost for t in todo)
    spent, measured = 0.0, 0
    began = time.monotonic()
    for task in todo:
        if budget is not None and time.monotonic() - began > budget:
            break

        def report(part: float, task: Task = task, spent: float = spent) -> None:
            progress(spent + part * task.cost, total, task.key)

        report(0.0)
        task_began, date = time.monotonic(), datetime.now(UTC)
        try:
            result = ahead.experiment.run(task, ahead.take(task), ahead.settings, report)
        except (OutOfMemoryError, VariantUnavailable, MissingDependencyError) as error:
            skipped[task.key] = f"{type(error).__name__}: {error}"
        else:
            sample = {
                "schema": SAMPLE_SCHEMA,
                "key": task.key,
                "what": task.what,
                "environment": index,
                "began": date.isoformat(timespec="milliseconds"),
                "seconds": time.monotonic() - task_began,
                "result": result,
            }
            write_json(_sample(folder, task.key), sample)
            measured += 1
        spent += task.cost
    return measured


def _beside(runs: Sequence[dict[str, Any]], found: Sequence[dict[str, Any]]) -> list[str]:
    """Return a remark on the GPU that host tasks are compared with, if they ran without one."""
    if all(runs[sample["environment"]].get("gpu") for sample in found):
        return []
    gpus = _gpus(runs[sample["environment"]] for sample in found)
    where = f"the numbers of {' and '.join(gpus)}" if gpus else "no numbers of a GPU yet"
    return [f"Methods of the host were measured without a GPU, for comparison with {where}."]


def rebuild(
    experiment: Experiment,
    settings: Settings,
    folder: Path,
    manifest: dict[str, Any],
    tasks: Sequence[Task],
    skipped: dict[str, str],
) -> dict[str, Any]:
    """Write ``results.json``, ``tables/``, ``figures/`` and ``index.md`` from the samples."""
    found = []
    for task in tasks:
        sample = _read(_sample(folder, task.key), SAMPLE_SCHEMA)
        if sample is not None:
            found.append({key: sample[key] for key in sample if key != "schema"})
    done = whole([Done(s["key"], s["what"], s["result"]) for s in found])
    tables = [t.as_dict() for t in experiment.tables(done, settings)] if done else []
    figures = [f.as_dict() for f in experiment.figures(done, settings)] if done else []
    remarks = []
    present = {s["key"] for s in found}
    missing = [t.key for t in tasks if t.key not in present and t.key not in skipped]
    if missing:
        remarks.append(f"Not measured yet: {len(missing)} of {len(tasks)} tasks.")
    if settings.device == "cuda":
        remarks += _beside(manifest["environments"], found)
    remarks += [f"{key} was left out: {why}" for key, why in skipped.items()]
    for figure in figures:
        try:
            figure["files"] = draw(figure, folder / "figures")
        except MissingDependencyError:
            figure["files"] = []
    if figures and not any(figure["files"] for figure in figures):
        remarks.append(_NO_FIGURES)
    results = {
        "schema": RESULTS_SCHEMA,
        "experiment": experiment.name,
        "paper": experiment.paper,
        "title": experiment.title,
        "settings": manifest["settings"],
        "environments": manifest["environments"],
        "remarks": remarks,
        "missing": missing,
        "skipped": skipped,
        "tables": tables,
        "figures": figures,
        "tasks": found,
    }
    (folder / "tables").mkdir(exist_ok=True)
    lines = [f"# {experiment.title}", ""]
    for table in tables:
        text = [f"## {table['title']}", "", *markdown_table(table), "", table["caption"], ""]
        (folder / "tables" / f"{table['key']}.md").write_text("\n".join(text), encoding="utf-8")
        lines += text
    for figure in figures:
        lines += [f"## {figure['title']}", ""]
        if figure["files"]:
            lines += [f"![{figure['title']}](figures/{figure['files'][0]})", ""]
        lines += [figure["caption"], ""]
    lines += [f"- {remark}" for remark in remarks]
    (folder / "index.md").write_text("\n".join(lines).rstrip() + "\n", encoding="utf-8")
    write_json(folder / "results.json", results)
    return results
