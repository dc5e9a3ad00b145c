"""Result files: their invariants, and functions that write, resume and join them.

A file is one JSON object. Its rows are in lists or mappings (``results``, ``rows``, ``graphs``,
``parts``). Every row has the ``environment`` in which it was measured, in the row itself, in its
part or in the file, either whole or as a position in ``environments``. :func:`check` has the other
invariants; ``docs/generators/tables.toml`` selects what pages show.

:class:`Rows` writes after every row, so that an interrupted run keeps its results. A later run of
the same benchmark adds to the file: its rows replace older ones of the same name, other rows are
kept, each with the environment in which it was measured. Rows of another GPU or processor are
dropped, because a table compares rows.

``python benchmarks/result_file.py KEPT PART...`` joins files of separate runs, such as runs on
machines without storage; parts later on the command line count as measured later. Files of
``in_parts.py`` are joined part by part.
"""

from __future__ import annotations

import argparse
import datetime
import json
import math
import statistics
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from nearfar.lab.bench.environment import environment
from nearfar.lab.bench.report import write_json

__all__ = ["Rows", "add_output", "check", "joined", "write_result"]

NAMES = ("graph", "what")  # keys by which files name their rows
#: Required fields of an environment, with their types.
ENVIRONMENT: dict[str, Any] = {"date": str, "cpu": str, "cores": int, "system": str, "commit": str}
ENVIRONMENT |= {"load_average": float | int, "memory_bytes": int, "versions": dict}
VERDICTS = ("right", "proven", "same_answer")


def add_output(parser: argparse.ArgumentParser) -> None:
    """Add ``-o FILE`` to a parser, as a path or None; folders are refused with a message."""

    def file(text: str) -> Path:
        path = Path(text)
        if path.is_dir() or path.suffix != ".json":
            example = f"{Path(parser.prog).stem}.json"
            example = str((path if path.is_dir() else path.parent) / example)
            what = "a folder" if path.is_dir() else "not named *.json"
            raise argparse.ArgumentTypeError(f"{text} is {what}: give a file, such as {example}")
        return path

    parser.add_argument(
        "-o",
        "--output",
        type=file,
        metavar="FILE",
        help="JSON file for the results, made with its folder (default: print only)",
    )


def check(document: Any) -> None:
    """Check that a document is a valid result file.

    Raises
    ------
    ValueError
        With the path of the first fault: an environment that lacks a field, a measured row without
        one, a time that is not a finite number, a median that is not that of its samples, or a
        verdict that is not a boolean.
    """
    for wrong in _wrong("", document, None, document.get("environments", [])):
        raise ValueError(wrong)


def _wrong(path: str, value: Any, around: Any, listed: Sequence[Any]) -> Iterator[str]:
    """Yield the faults at a path and below it, in an environment."""
    if isinstance(value, list):
        for place, one in enumerate(value):
            yield from _wrong(f"{path}/{place}", one, around, listed)
    elif isinstance(value, dict):
        around = value.get("environment", around)
        around = listed[around] if isinstance(around, int) else around
        if "environment" in value:
            yield from _wrong_environment(f"{path}/environment", around)
        for key, one in value.items():
            if key.startswith("samples") or key.endswith("samples"):
                if around is None:
                    yield f"{path}/{key}: no environment of the measurement"
                yield from _wrong_samples(f"{path}/{key}", one)
                median = key.replace("samples", "median")
                if value.get(median) is not None and not _is_median(value[median], one):
                    yield f"{path}/{median}: not the median of the samples"
            elif key in VERDICTS and not isinstance(one, bool):
                yield f"{path}/{key}: {one!r} is not a boolean"
            elif key not in ("environment", "environments"):
                yield from _wrong(f"{path}/{key}", one, around, listed)
    elif isinstance(value, float) and not math.isfinite(value):
        yield f"{path}: {value} is not a finite number"


def _wrong_environment(path: str, around: Any) -> Iterator[str]:
    """Yield the missing fields of an environment."""
    for name, kind in ENVIRONMENT.items():
        if not isinstance(around.get(name), kind):
            yield f"{path}/{name}: {around.get(name)!r}"
    for name in ("nearfar", "python", "numpy", "scipy"):
        if not around["versions"].get(name):
            yield f"{path}/versions/{name} is missing"
    datetime.datetime.fromisoformat(around["date"])
    if around["gpu"] is not None and not {"name", "driver", "cupy"} <= around["gpu"].keys():
        yield f"{path}/gpu: {around['gpu']!r}"


def _wrong_samples(path: str, samples: Any) -> Iterator[str]:
    """Yield the faults of samples, which may be nested in lists and mappings."""
    if isinstance(samples, dict | list):
        pairs = samples.items() if isinstance(samples, dict) else enumerate(samples)
        for key, one in pairs:
            yield from _wrong_samples(f"{path}/{key}", one)
    elif not isinstance(samples, float | int) or not math.isfinite(samples) or samples < 0:
        yield f"{path}: {samples!r} is not a finite number of at least 0"


def _is_median(middle: Any, samples: Any) -> bool:
    """Return whether a number, or each of a mapping, is the median of the samples of its name."""
    if isinstance(middle, dict):
        return all(_is_median(one, samples[name]) for name, one in middle.items())
    return math.isclose(middle, statistics.median(samples), rel_tol=1e-3)


def write_result(file: Path | None, document: dict[str, Any]) -> None:
    """Check a document and write it; do nothing without a file."""
    check(document)
    if file is not None:
        write_json(file, document)


def _machine(around: Mapping[str, Any]) -> tuple[Any, Any]:
    return around.get("cpu"), (around.get("gpu") or {}).get("name")


def _rows_on(machine: tuple[Any, Any], document: dict[str, Any], under: str) -> list[Any]:
    """Return the rows of a document that were measured on a machine, each with its environment."""
    around = document.get("environment", {})
    found = [{"environment": around, **row} for row in document.get(under, [])]
    return [row for row in found if _machine(row["environment"]) == machine]


class Rows:
    """Rows of one result file.

    Parameters
    ----------
    file : Path or None
        None writes nothing.
    order : sequence of str
        Names of rows in the order of the file; other rows follow in order of addition.
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
        """Names of the rows in the file."""
        return {row[self.by] for row in self.rows}

    def add(self, row: dict[str, Any], **more: Any) -> None:
        """Add a row, replacing one of its name; write the file with ``more`` next to the rows."""
        rest = [old for old in self.rows if old[self.by] != row[self.by]]
        rows = [*rest, {"environment": environment(), **row}]
        places = {name: place for place, name in reversed([*enumerate(self._order)])}
        self.rows = sorted(rows, key=lambda one: places.get(one[self.by], len(places)))
        write_result(self.file, {"environment": self._now, **more, self.under: self.rows})


def joined(documents: Sequence[dict[str, Any]]) -> dict[str, Any]:
    """Join several documents of the same benchmark; data other than rows come from the last one.

    A row replaces the entries of an earlier one of its name and keeps the others, so that results
    of a graph whose GPU and cores were measured separately are combined.
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
    write_result(given.kept, joined([json.loads(file.read_text()) for file in files]))


if __name__ == "__main__":
    main()
