"""Results written after every row, so that a run that is cut keeps what it has.

A later run of the same benchmark adds to the file: rows of a name that it measures replace the
older ones, the others stay, each with the environment it was measured in. Rows of another GPU or
processor are dropped, because a table compares them.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from nearfar.lab.bench.environment import environment
from nearfar.lab.bench.report import write_json

__all__ = ["Rows"]


def _machine(around: Mapping[str, Any]) -> tuple[Any, Any]:
    return around.get("cpu"), (around.get("gpu") or {}).get("name")


class Rows:
    """The rows of one result file.

    Parameters
    ----------
    file : Path or None
        None writes nothing.
    order : sequence of str
        Names of rows in the order of the file; others follow as they come.
    by : str
        Key of a row's name.
    under : str
        Key of the list of rows in the file.
    """

    def __init__(
        self,
        file: Path | None,
        order: Sequence[str],
        *,
        by: str = "graph",
        under: str = "results",
    ) -> None:
        self.file, self.by, self.under = file, by, under
        self._order = list(order)
        self._now = environment()
        self.rows: list[dict[str, Any]] = []
        if file is not None and file.is_file():
            document = json.loads(file.read_text())
            around = document.get("environment", {})
            found = [{"environment": around, **row} for row in document.get(under, [])]
            here = _machine(self._now)
            self.rows = [row for row in found if _machine(row["environment"]) == here]

    @property
    def names(self) -> set[str]:
        """Names of the rows that are there."""
        return {row[self.by] for row in self.rows}

    def add(self, row: dict[str, Any], **more: Any) -> None:
        """Put a row in the place of its name and write the file, with ``more`` beside the rows."""
        rest = [old for old in self.rows if old[self.by] != row[self.by]]
        rows = [*rest, {"environment": environment(), **row}]
        places = {name: place for place, name in reversed([*enumerate(self._order)])}
        self.rows = sorted(rows, key=lambda one: places.get(one[self.by], len(places)))
        if self.file is not None:
            self.file.parent.mkdir(parents=True, exist_ok=True)
            write_json(self.file, {"environment": self._now, **more, self.under: self.rows})
