"""Stored results in benchmarks/results for the pages of docs/reproduction.

:class:`Kept` is a run of an experiment, as ``benchmarks/keep_experiments.py`` wrote it.
:class:`Part` holds results of other benchmarks: times of single kernels (``kernel_times``), and
counts that no timed method makes (``paper_counts``).
"""

from __future__ import annotations

import re
import shutil
import tempfile
from collections.abc import Callable, Container, Iterable, Sequence
from datetime import datetime
from pathlib import Path
from typing import Any

from nearfar.lab import checkout
from nearfar.lab.experiments import find
from nearfar.lab.experiments.experiment import Done, Settings, whole
from nearfar.lab.experiments.render import by_family, draw, markdown_table

Row = dict[str, Any]


class Kept:
    """Run of an experiment: its tasks, settings and environment."""

    def __init__(self, name: str, device: str) -> None:
        self.file = f"{checkout.RESULTS}/{name}-{device}.json"
        document: dict[str, Any] | None = checkout.results(f"{name}-{device}.json")
        self.name, self.device = name, device
        self.there = document is not None
        self.command = f"nearfar experiment {name} --device {device}"
        self.done: list[Done] = []
        self.environments: list[dict[str, Any]] = []
        self.keys: set[str] = set()
        self.at_once: dict[str, int] = {}
        if document is None:
            return
        self.settings = Settings(**document["settings"])
        self.environments = document["environments"]
        self.keys = {task["key"] for task in document["tasks"]}
        self.at_once = at_once(document["tasks"])
        self.by_gpu: dict[str, list[str]] = {}  # keys of the tasks that each GPU measured
        for task in document["tasks"]:
            gpu = document["environments"][task["environment"]].get("gpu")
            if gpu:  # methods of the host need no GPU
                self.by_gpu.setdefault(gpu["name"], []).append(task["key"])
        self.done = whole([Done(t["key"], t["what"], t["result"]) for t in document["tasks"]])
        tables = find(name).tables(self.done, self.settings)
        self.tables = {table.key: table.as_dict() for table in tables}
        self.figures = {f.key for f in find(name).figures(self.done, self.settings)}
        self.command += f" --scale {self.settings.scale}"

    def images(self, folder: Path, wanted: Container[str]) -> None:
        """Draw the wanted figures, named ``NAME-DEVICE-KEY.png``, from the stored results."""
        label = f"{self.name}-{self.device}"
        figures = find(self.name).figures(self.done, self.settings) if self.there else []
        for figure in figures:
            file = f"{label}-{figure.key}.png"
            if file in wanted:
                with tempfile.TemporaryDirectory() as made:
                    draw(figure.as_dict(), Path(made))
                    folder.mkdir(parents=True, exist_ok=True)
                    shutil.copyfile(Path(made) / f"{figure.key}.png", folder / file)

    def figure(self, key: str, text: str) -> list[str]:
        """Return Markdown of a picture in the page's folder, or nothing if it does not exist."""
        if not self.there or key not in self.figures:
            return []
        return [f"![{text}](images/{self.name}-{self.device}-{key}.png)", ""]

    def table(self, key: str) -> list[str]:
        """Return a table with title and caption, or nothing if its tasks are missing."""
        if key not in self.tables:
            return []
        table = self.tables[key]
        return [f"### {table['title']}", "", *markdown_table(table), "", table["caption"], ""]

    def summary(
        self,
        key: str,
        family: Callable[[list[Any]], str],
        only: Sequence[str] = (),
        note: str | None = None,
    ) -> list[str]:
        """Return a table with one row per family of graphs, or nothing if its tasks are missing.

        ``note`` replaces the caption of the table of every graph.
        """
        if key not in self.tables:
            return []
        table = by_family(self.tables[key], family, only)
        lines = [f"### {table['title']}", "", *markdown_table(table), ""]
        below = table["caption"] if note is None else note
        return [*lines, below, ""] if below else lines

    def full(self) -> str:
        """Return a sentence on the tables of every graph and on how to read summaries."""
        return (
            "Rows summarise groups of graphs: the range, and the geometric mean in brackets. "
            f"`{self.command} -o DIR` and `nearfar report DIR` show every graph."
        )

    def how(self) -> str:
        """Return one line on the origin: devices, command, date and file."""
        if not self.there:
            return f"Not measured yet: `{self.command} -o DIR`."
        with_gpu = [place for place in self.environments if place.get("gpu")]
        # some tasks of the host were measured without a GPU
        last = (with_gpu or self.environments)[-1]
        return (
            f"*{describe(last, _runs(self.environments))}; `{self.command}`, "
            f"{self.settings.rounds} rounds, seed {self.settings.seed}. From `{self.file}`.*"
            + self._where()
            + (
                " Other cores made graphs meanwhile, which lengthens iterations that wait for the "
                "host by up to half."
                if any(place.get("overlap") for place in self.environments)
                else ""
            )
        )

    def _where(self) -> str:
        """Describe the tasks that each GPU measured, if there were several GPUs."""
        if len(self.by_gpu) < 2:
            return ""
        *fewer, most = sorted(self.by_gpu, key=lambda gpu: len(self.by_gpu[gpu]))
        told = []
        for gpu in fewer:
            told.append(f"{', '.join(f'`{key}`' for key in self.by_gpu[gpu])} on {gpu}")
        return f" Measured {', '.join(told)}; everything else on {most}."

    def place(self) -> str:
        """Return the name of the machine for a heading: the GPU's short name, or the CPU."""
        if self.device != "cuda":
            return "the CPU"
        gpus = [place["gpu"]["name"] for place in self.environments if place.get("gpu")]
        short = {re.sub(r"^NVIDIA\s+", "", g).split()[0] for g in gpus}
        return f"one {' and one '.join(sorted(short))}" if short else "one GPU"

    def missing(self) -> str:
        """Describe the tasks of this scale that were not measured; empty if there are none."""
        tasks = find(self.name).tasks(self.settings)
        left = [task.key for task in tasks if task.key not in self.keys]
        if not left:
            return ""
        names = ", ".join(f"`{key}`" for key in left)
        return f"Not measured yet: {len(left)} of {len(tasks)} tasks ({names})."

    def wrong(self) -> int:
        """Return the number of wrong answers of safe methods."""
        return sum(
            int(case.get("wrong_runs", 0))
            for one in self.done
            for case in one.result.get("cases", {}).values()
            if not case.get("unsafe")
        )


def at_once(tasks: Iterable[dict[str, Any]]) -> dict[str, int]:
    """Return the maximum number of tasks of each part that ran at the same time.

    Tasks that one process measured one after the other give 1; those without ``began`` are left
    out.
    """
    spans: dict[str, list[tuple[float, float]]] = {}
    for task in tasks:
        if "began" in task:
            began = datetime.fromisoformat(task["began"]).timestamp()
            part = task["what"].get("part", "")
            spans.setdefault(part, []).append((began, began + task["seconds"]))
    return {
        part: max(sum(start <= begin < end for start, end in every) for begin, _ in every)
        for part, every in spans.items()
    }


def describe(where: dict[str, Any], runs: str = "") -> str:
    """Describe an environment: device, date and commit."""
    gpu = where.get("gpu")
    device = ""
    if gpu:
        number = gpu.get("driver_version") or ""
        driver = f"driver {number} (CUDA {gpu['driver']})" if number else f"CUDA {gpu['driver']}"
        device = f"{gpu['name']}, {driver}, host "
    return f"{device}{where['cpu']}, {where['cores']} cores; {runs or _commit(where)}"


def _runs(places: Sequence[dict[str, Any]]) -> str:
    """Return the dates of several runs, or date and commit of one."""
    if len(runs := dict.fromkeys(map(_commit, places))) == 1:
        return next(iter(runs))
    dates = sorted({place["date"][:10] for place in places})
    return " to ".join(dict.fromkeys((dates[0], dates[-1])))


def _commit(place: dict[str, Any]) -> str:
    """Return date and commit of a run."""
    changed = " with uncommitted changes" if place["uncommitted_changes"] else ""
    return f"{place['date'][:10]}, commit {place['commit'][:12]}{changed}"


class Part:
    """Part of a benchmark's results: rows and their environment; none if it was not measured."""

    def __init__(self, benchmark: str, part: str) -> None:
        self.file = f"{checkout.RESULTS}/{benchmark}.json"
        self.command = f"python benchmarks/{benchmark}.py --parts {part}"
        parts = (checkout.results(f"{benchmark}.json") or {"parts": {}})["parts"]
        self.there = part in parts
        self.rows: list[Row] = parts[part]["rows"] if self.there else []
        self.environment: dict[str, Any] = parts[part]["environment"] if self.there else {}

    def at(self, graph: str, label: str) -> Row:
        """Return the row of a method on a graph."""
        return next(r for r in self.rows if r["graph"] == graph and r["label"] == label)

    def graphs(self) -> list[str]:
        """Return the graphs in the order of measurement."""
        return list(dict.fromkeys(r["graph"] for r in self.rows))

    def how(self) -> str:
        """Return one line on the origin: devices, date and file."""
        if not self.there:
            return f"Not measured yet: `{self.command} -o {self.file}`."
        return f"*{describe(self.environment)}; `{self.command}`. From `{self.file}`.*"

    def table(
        self,
        title: str,
        columns: list[str],
        rows: list[list[Any]],
        note: str,
        family: Callable[[list[Any]], str] | None = None,
    ) -> list[str]:
        """Return a table with title, caption and origin, or the command that measures it."""
        if not self.there:
            return [self.how(), ""]
        shown = [{"name": name, "unit": "", "digits": 3} for name in columns]
        table = {"columns": shown, "rows": rows}
        lines = markdown_table(by_family(table, family) if family else table)
        return [f"### {title}", "", *lines, "", note, "", self.how(), ""]


def kernel_seconds(row: Row, *names: str) -> float:
    """Return the seconds of the named kernels of a run, by default of all."""
    chosen: Iterable[str] = names or row["kernels"]
    return float(sum(row["kernels"][n]["seconds"] for n in chosen if n in row["kernels"]))


def share(row: Row, *names: str) -> float:
    """Return the time of the named kernels in percent of the run's time."""
    return 100.0 * kernel_seconds(row, *names) / float(row["seconds"])
