"""Reading what ``scripts/keep_experiment.py`` kept, for the pages of docs/reproduction."""

from __future__ import annotations

import json
import re
import shutil
import tempfile
from collections.abc import Container, Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from nearfar.lab.experiments import find
from nearfar.lab.experiments.claims import AGREES, NOT_MEASURED, Claim, spread
from nearfar.lab.experiments.experiment import Done, Settings
from nearfar.lab.experiments.render import draw, markdown_table

__all__ = ["Kept", "Why", "beside", "describe", "spread"]

ROOT = Path(__file__).resolve().parents[1]


class Kept:
    """One run of an experiment: its tasks, settings and environment.

    Parameters
    ----------
    name, device : str
        Experiment and device, as in the name of the file.
    """

    def __init__(self, name: str, device: str) -> None:
        self.file = f"benchmarks/results/{name}-{device}.json"
        path = ROOT / self.file
        self.name, self.device = name, device
        self.there = path.is_file()
        self.command = f"nearfar experiment {name} --device {device}"
        self.done: list[Done] = []
        if not self.there:
            return
        document: dict[str, Any] = json.loads(path.read_text(encoding="utf-8"))
        self.settings = Settings(**document["settings"])
        used = sorted({task["environment"] for task in document["tasks"]})
        self.environments: list[dict[str, Any]] = [document["environments"][i] for i in used]
        self.done = [Done(t["key"], t["what"], t["result"]) for t in document["tasks"]]
        tables = find(name).tables(self.done, self.settings)
        self.tables = {table.key: table.as_dict() for table in tables}
        self.figures = {f.key for f in find(name).figures(self.done, self.settings)}
        self.command += f" --scale {self.settings.scale}"

    def images(self, folder: Path, wanted: Container[str]) -> None:
        """Draw the figures whose ``NAME-DEVICE-KEY.png`` is wanted, from the kept results."""
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
        """A picture of the page's folder, or nothing where there is none."""
        if not self.there or key not in self.figures:
            return []
        return [f"![{text}](images/{self.name}-{self.device}-{key}.png)", ""]

    def table(self, key: str, level: str = "###", *, how: bool = True) -> list[str]:
        """A table with title and caption; how to measure it; nothing where its tasks are missing.

        ``how=False`` leaves out the line on its origin, which a section then says once.
        """
        if not self.there:
            return [f"Not measured yet: `{self.command} -o DIR`.", ""]
        if key not in self.tables:
            return []
        table = self.tables[key]
        lines = [f"{level} {table['title']}", "", *markdown_table(table), "", table["caption"]]
        return [*lines, "", *([self.how(), ""] if how else [])]

    def how(self) -> str:
        """One line: on what, with what, when, from where."""
        if not self.there:
            return f"Not measured yet: `{self.command} -o DIR`."
        runs = dict.fromkeys(_commit(place) for place in self.environments)
        return (
            f"*{describe(self.environments[-1], ', and '.join(runs))}; `{self.command}`, "
            f"{self.settings.rounds} rounds, seed {self.settings.seed}. From `{self.file}`.*"
        )

    def place(self) -> str:
        """What a heading calls the machine: one GPU by its short name, or the CPU."""
        if self.device != "cuda":
            return "the CPU"
        gpus = [place["gpu"]["name"] for place in self.environments] if self.there else []
        short = {re.sub(r"^NVIDIA\s+", "", g).split()[0] for g in gpus}
        return f"one {' and one '.join(sorted(short))}" if short else "one GPU"

    def missing(self) -> str:
        """A sentence on the tasks of this scale that were not measured; empty if there are none."""
        there = {one.key for one in self.done}
        tasks = find(self.name).tasks(self.settings)
        left = [task.key for task in tasks if task.key not in there]
        if not left:
            return ""
        names = ", ".join(f"`{key}`" for key in left)
        return f"Not measured yet: {len(left)} of {len(tasks)} tasks ({names})."

    def wrong(self) -> int:
        """How many timed or checked answers were wrong, of methods that promise right ones."""
        return sum(
            int(case.get("wrong_runs", 0))
            for one in self.done
            for case in one.result.get("cases", {}).values()
            if not case.get("unsafe")
        )


def describe(where: dict[str, Any], runs: str = "") -> str:
    """Device, versions, date and commit of an environment."""
    gpu = where.get("gpu")
    device = ""
    if gpu:
        number = gpu.get("driver_version") or ""
        driver = f"driver {number} (CUDA {gpu['driver']})" if number else f"CUDA {gpu['driver']}"
        device = f"{gpu['name']}, {driver}, CuPy {gpu['cupy']}, host "
    versions = where["versions"]
    return (
        f"{device}{where['cpu']}, {where['cores']} cores, Python {versions['python']}, NumPy "
        f"{versions['numpy']}; {runs or _commit(where)}"
    )


def _commit(place: dict[str, Any]) -> str:
    """Date and commit of a run."""
    changed = " with uncommitted changes" if place["uncommitted_changes"] else ""
    return f"{place['date'][:10]}, commit {place['commit'][:12]}{changed}"


@dataclass(frozen=True, slots=True)
class Why:
    """Reasons of a claim's outcomes: the page shows the one that the numbers choose."""

    differs: str
    agrees: str = ""


def beside(claims: Iterable[Claim], why: Mapping[str, Why], *, measured: bool = False) -> list[str]:
    """The paper's statements beside ours, each with its direction and the reason that fits it.

    ``measured`` leaves out what was not measured.

    Raises
    ------
    KeyError
        For a claim whose reasons are not written.
    """
    lines = ["| the paper says | where | here | direction, and why |", "|---|---|---|---|"]
    for one in claims:
        if one.of or not measured:
            reasons = why[one.key]
            reason = reasons.agrees if one.verdict in (AGREES, NOT_MEASURED) else reasons.differs
            said = (
                f"**{one.verdict}**" if one.verdict not in (AGREES, NOT_MEASURED) else one.verdict
            )
            told = f"{said}: {reason}" if reason and one.of else said
            lines.append(f"| {one.said} | {one.where} | {one.here} | {told} |")
    return ["*Direction*: which side is ahead, not by how much.", "", *lines]
