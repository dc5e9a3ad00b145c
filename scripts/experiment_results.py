"""Reading what ``scripts/keep_experiment.py`` kept, for the pages of docs/reproduction."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from nearfar.experiments import find
from nearfar.experiments.experiment import Done, Settings
from nearfar.experiments.render import cell, markdown_table

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
        self.there = path.is_file()
        self.command = f"nearfar experiment {name} --device {device}"
        self.done: list[Done] = []
        if not self.there:
            return
        document: dict[str, Any] = json.loads(path.read_text(encoding="utf-8"))
        self.settings = Settings(**document["settings"])
        self.environment: dict[str, Any] = document["environments"][-1]
        self.done = [Done(t["key"], t["what"], t["result"]) for t in document["tasks"]]
        tables = find(name).tables(self.done, self.settings)
        self.tables = {table.key: table.as_dict() for table in tables}
        self.command += f" --scale {self.settings.scale}"

    def table(self, key: str, level: str = "###") -> list[str]:
        """A table with its title and caption, or how to measure it."""
        if not self.there:
            return [f"Not measured yet: `{self.command} -o DIR`.", ""]
        table = self.tables[key]
        lines = [f"{level} {table['title']}", "", *markdown_table(table), "", table["caption"]]
        return [*lines, "", self.how(), ""]

    def how(self) -> str:
        """One line: on what, with what, when, from where."""
        if not self.there:
            return f"Not measured yet: `{self.command} -o DIR`."
        where, settings = self.environment, self.settings
        gpu = where.get("gpu")
        device = f"{gpu['name']}, CuPy {gpu['cupy']}, host " if gpu else ""
        versions = where["versions"]
        commit = where["commit"][:12]
        changed = " with uncommitted changes" if where["uncommitted_changes"] else ""
        return (
            f"*{device}{where['cpu']}, {where['cores']} cores, Python {versions['python']}, NumPy "
            f"{versions['numpy']}; {where['date'][:10]}, commit {commit}{changed}; "
            f"`{self.command}`, {settings.rounds} rounds, seed {settings.seed}. "
            f"From `{self.file}`.*"
        )

    def wrong(self) -> int:
        """How many timed or checked answers were wrong."""
        return sum(
            int(case.get("wrong_runs", 0))
            for one in self.done
            for case in one.result.get("cases", {}).values()
        )


def spread(values: list[float], digits: int = 3) -> str:
    """Range of some numbers, in words."""
    low, high = min(values), max(values)
    return f"{cell(low, digits)} to {cell(high, digits)}"
