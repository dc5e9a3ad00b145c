"""Tables of measured results, declared in ``tables.toml`` and rendered as Markdown."""

from __future__ import annotations

import functools
import tomllib
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from docs.generators.results import at, cell, filled, load, rows_of
from nearfar.lab.checkout import RESULTS

__all__ = ["Table", "tables"]

_VERDICTS = ("right", "proven", "same_answer")


@dataclass(frozen=True)
class Table:
    """Block of a page with values of a result file; see :mod:`docs.generators.results`."""

    page: str  #: Path below ``docs``, without ``.md``; ``README`` is the repository's.
    block: str
    file: str  #: File in ``benchmarks/results``.
    rows: str = "results/*"
    where: str = ""  #: Condition that selects rows.
    order: str = ""  #: Keys by which rows are sorted, if any.
    columns: Mapping[str, str] = field(
        default_factory=dict
    )  #: Expressions of the columns by heading.
    #: With ``across``, rows that agree in all columns share a line, and ``cell`` is in a column
    #: named by ``across``.
    across: str = ""
    cell: str = ""
    best: str = ""  #: Expression whose least value selects among several rows for one line or cell.
    turned: bool = False  #: Whether the table is transposed: a line per column, a column per row.
    optional: bool = (
        False  #: Whether columns without a value are left out instead of being an error.
    )
    above: str = ""
    note: str = ""
    proof: str = ""  #: Comparison of the answers, stated if none was wrong.
    gpu: bool = False  #: Whether the rows were measured on a GPU.
    measure: str = ""  #: Command, if it is not the script with the file's name.

    @property
    def where_to(self) -> str:
        """Path of the page below the root."""
        return "README.md" if self.page == "README" else f"docs/{self.page}.md"

    def markdown(self) -> str:
        """Return the text of the block."""
        document = load(self.file)
        if document is None or not (rows := rows_of(document, self.rows, self.where)):
            command = self.measure or f"python benchmarks/{self.file.removesuffix('.json')}.py"
            return f"Not measured yet: `{command} -o {RESULTS}/{self.file}`."
        if self.order:
            rows = sorted(rows, key=lambda row: at(row, self.order))
        lines = self._lines(rows)
        if self.turned:
            lines = [list(line) for line in zip(*lines, strict=True)]
        # Words are aligned to the left, numbers to the right.
        words = (
            any(line[:1].isalpha() for line in column[1:]) for column in zip(*lines, strict=True)
        )
        lines[1:1] = [["---" if of_words else "---:" for of_words in words]]
        lines[1][0] = "---"
        drawn = "\n".join(f"| {' | '.join(line)} |" for line in lines)
        wrong = sum(_wrong(document))
        proof = f"**{wrong} wrong answers.**" if wrong else self.proof
        place = f"{_measured_on(document, rows, self.gpu)}; `{RESULTS}/{self.file}`."
        below = " ".join(filter(None, (filled(self.note, document), proof, place)))
        return "\n\n".join(filter(None, (filled(self.above, document), drawn, below)))

    def _lines(self, rows: list[Any]) -> list[list[str]]:
        """Return headings and lines."""
        labels = [tuple(cell(text, row) for text in self.columns.values()) for row in rows]
        if not self.across:
            held = self._least(zip((label[0] for label in labels), rows, labels, strict=True))
            return self._full(list(held.values()) if self.best else labels)
        heads = [cell(self.across, row) for row in rows]
        keys = zip(labels, heads, strict=True)
        cells = self._least(zip(keys, rows, (cell(self.cell, row) for row in rows), strict=True))
        heads = list(dict.fromkeys(heads))
        lines = [
            [*x, *(cells.get((x, head), "-") for head in heads)] for x in dict.fromkeys(labels)
        ]
        return [[*self.columns, *heads], *lines]

    def _least(self, found: Iterable[tuple[Any, Any, Any]]) -> dict[Any, Any]:
        """Return the value of each key; of several rows that of the least ``best``."""
        held: dict[Any, tuple[Any, Any]] = {}
        for key, row, text in found:
            if key not in held or (self.best and at(row, self.best) < at(held[key][0], self.best)):
                held[key] = row, text
        return {key: text for key, (_, text) in held.items()}

    def _full(self, lines: Sequence[Sequence[str]]) -> list[list[str]]:
        """Return headings and lines; empty columns are left out if optional."""
        columns = [list(column) for column in zip(self.columns, *lines, strict=True)]
        full = [column for column in columns if {*column[1:]} - {"-"}]
        if len(full) < len(columns) and not self.optional:
            empty = [column[0] for column in columns if column not in full]
            raise ValueError(f"{self.page}, {self.block}: no row has {', '.join(empty)}")
        return [list(line) for line in zip(*full, strict=True)]


@functools.cache
def tables() -> list[Table]:
    """Return all tables; one that is ``like`` another inherits the fields that it does not set."""
    declared = tomllib.loads(Path(__file__).with_name("tables.toml").read_text(encoding="utf-8"))
    flat = {
        block: {**own, "page": page, "block": block}
        for page, blocks in declared.items()
        for block, own in blocks.items()
    }
    found = {block: _resolve(own, flat) for block, own in flat.items()}
    return [Table(**one) for one in found.values()]


def _resolve(own: dict[str, Any], flat: dict[str, dict[str, Any]]) -> dict[str, Any]:
    """Complete a table with the keys of the one that it is like, recursively."""
    model = _resolve(flat[own["like"]], flat) if "like" in own else {}
    columns = {**model.get("columns", {}), **own.get("columns", {})}
    rest = {name: value for name, value in own.items() if name != "like"}
    return {**model, **rest, "columns": columns}


def _wrong(value: Any) -> Iterator[int]:
    """Yield the counts of wrong answers of nearfar in a document."""
    if isinstance(value, list):
        for one in value:
            yield from _wrong(one)
    elif isinstance(value, dict) and not value.get("unsafe"):
        for key, one in value.items():
            if key.startswith("wrong"):
                yield len(one) if isinstance(one, list) else int(one)
            elif key in _VERDICTS:
                yield one is False
            elif key not in ("peers", "environment"):
                yield from _wrong(one)


def _measured_on(document: Any, rows: list[Any], gpu: bool) -> str:
    """Return the machine and date of the rows; the file has commits and versions."""
    around = [row.get("environment", document.get("environment")) for row in rows]
    if "environments" in document:
        around = [document["environments"][index] for index in around]
    machines = [_gpu(one, document) if gpu else _cores(one) for one in around]
    words = [" and ".join(dict.fromkeys(machines))]
    if not gpu:
        loads = [f"{one['load_average']:.1f}" for one in around]
        words.append(f"load average {_ends(loads, float)}")
    words.append(_ends([one["date"][:10] for one in around], str))
    return ", ".join(words)


def _cores(around: Any) -> str:
    """Return a processor and its cores."""
    count = around["cores"]
    return f"{around['cpu']}, {count} core{'s' * (count != 1)}"


def _gpu(around: Any, document: Any) -> str:
    """Return the name of a GPU."""
    return str((around.get("gpu") or document["device"])["name"])


def _ends(values: list[str], key: Callable[[str], Any]) -> str:
    """Return least and greatest, or the common value."""
    return " to ".join(dict.fromkeys((min(values, key=key), max(values, key=key))))
