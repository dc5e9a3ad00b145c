"""Results written after every row, so that a run that is cut keeps what it has.

A later run of the same benchmark adds to the file: rows of a name that it measures replace the
older ones, the others stay, each with the environment it was measured in. Rows of another GPU or
processor are dropped, because a table compares them.

``python benchmarks/row_by_row.py KEPT PART...`` puts files together that were written apart, as by
runs on a machine that kept none of them: parts later on the command line count as measured later.
Files of ``in_parts.py`` are joined part by part.
"""

from __future__ import annotations

import argparse
import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from nearfar.lab.bench.environment import environment
from nearfar.lab.bench.report import write_json

__all__ = ["Rows", "joined"]

NAMES = ("graph", "what")  # keys by which files name their rows


def _machine(around: Mapping[str, Any]) -> tuple[Any, Any]:
    return around.get("cpu"), (around.get("gpu") or {}).get("name")


def _rows_on(machine: tuple[Any, Any], document: dict[str, Any], under: str) -> list[Any]:
    """Rows of a document that were measured on a machine, each with its environment."""
    around = document.get("environment", {})
    found = [{"environment": around, **row} for row in document.get(under, [])]
    return [row for row in found if _machine(row["environment"]) == machine]


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
            self.rows = _rows_on(_machine(self._now), json.loads(file.read_text()), under)

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
            write_json(self.file, {"environment": self._now, **more, self.under: self.rows})


def joined(documents: Sequence[dict[str, Any]]) -> dict[str, Any]:
    """One document of several of the same benchmark; what is not a row is the last one's.

    A row replaces what an earlier one of its name has, and leaves what only that has: of a graph
    whose GPU and cores were measured apart both stay.
    """
    last = documents[-1]
    if "parts" in last:
        parts = [document.get("parts", {}) for document in documents]
        return {"parts": {name: part for every in parts for name, part in every.items()}}
    (under,) = (
        key
        for key, value in last.items()
        if isinstance(value, list) and value and isinstance(value[0], dict)
    )
    (by,) = {name for name in NAMES if name in last[under][0]}
    if len({row[by] for row in last[under]}) < len(last[under]):
        raise SystemExit(f"several rows have the same {by}: this benchmark is measured as a whole")
    machine = _machine(last[under][-1].get("environment", last.get("environment", {})))
    rows: dict[str, dict[str, Any]] = {}
    for document in documents:
        for row in _rows_on(machine, document, under):
            rows[row[by]] = rows.get(row[by], {}) | row
    return {**last, under: list(rows.values())}


def main() -> None:
    """Join the files named on the command line into the first."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("kept", type=Path, metavar="KEPT", help="result file; it may be missing")
    parser.add_argument("parts", type=Path, nargs="+", metavar="PART")
    given = parser.parse_args()
    files = [file for file in (given.kept, *given.parts) if file != given.kept or file.is_file()]
    write_json(given.kept, joined([json.loads(file.read_text()) for file in files]))


if __name__ == "__main__":
    main()
