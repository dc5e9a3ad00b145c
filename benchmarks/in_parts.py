"""Command line of a benchmark with several parts, each stored separately in the result."""

from __future__ import annotations

import argparse
import json
from collections.abc import Callable, Iterator, Mapping
from typing import Any

from nearfar.lab.bench.environment import environment
from result_file import add_output, write_result

Rows = Iterator[dict[str, Any]]


def answer(
    about: str,
    parts: Mapping[str, Callable[[str], Rows]],
    show: Callable[[str, dict[str, Any]], None],
) -> None:
    """Measure the chosen parts; other parts, and parts without rows, stay unchanged in the output.

    Parameters
    ----------
    about : str
        First line of the program's docstring.
    parts : mapping of str to callable
        By name; given the scale, each yields rows of plain data.
    show : callable
        Called with the part's name and each row as it comes.
    """
    parser = argparse.ArgumentParser(description=about)
    add_output(parser)
    parser.add_argument("--parts", nargs="+", default=list(parts), choices=list(parts))
    parser.add_argument("--scale", default="paper", choices=["paper", "tiny"])
    given = parser.parse_args()
    document: dict[str, Any] = {"parts": {}}
    if given.output and given.output.is_file():
        document = json.loads(given.output.read_text())
    for part in given.parts:
        rows: list[dict[str, Any]] = []
        measured = {"environment": environment(), "rows": rows}
        for row in parts[part](given.scale):
            rows.append(row)
            show(part, row)
            document["parts"][part] = measured
            write_result(given.output, document)
