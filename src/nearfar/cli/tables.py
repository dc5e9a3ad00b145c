"""Small tables that commands read: columns of a CSV or Parquet file, and numbers per edge."""

from __future__ import annotations

import csv
import math
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from nearfar.cli.answers import parquet
from nearfar.cli.arguments import number, read_vertex
from nearfar.errors import GraphFormatError, OptionError, quoted
from nearfar.graph.dtypes import unreached_value

if TYPE_CHECKING:
    import argparse

    from numpy.typing import NDArray

    from nearfar.graph.graph import Graph

__all__ = ["read_numbers", "read_table", "unreached_as_inf", "vertices_of"]


def read_table(path: str, names: tuple[str, ...]) -> list[list[Any]]:
    """Columns of a table in a file, the last one as numbers and the others as they are.

    Parameters
    ----------
    path : str
        Of a .csv file with a heading, or a .parquet file.
    names : tuple of str
        Columns.

    Raises
    ------
    GraphFormatError
        If a column is missing, or its last one holds something else than numbers.
    OptionError
        For another suffix.
    """
    if path.lower().endswith(".parquet"):
        table = parquet().read_table(path)
        missing = [name for name in names if name not in table.column_names]
        if missing:
            raise GraphFormatError(f"no column {missing[0]!r}", path)
        return [table[name].to_pylist() for name in names]
    if not path.lower().endswith(".csv"):
        raise OptionError(f"{quoted(path)}: give a .csv or .parquet file")
    found: list[list[Any]] = [[] for _ in names]
    with open(path, newline="", encoding="utf-8") as file:
        reader = csv.DictReader(file)
        missing = [name for name in names if name not in (reader.fieldnames or ())]
        if missing:
            raise GraphFormatError(f"no column {missing[0]!r}", path, 1)
        for row in reader:
            for column, name in zip(found, names, strict=True):
                column.append(row[name])
            try:
                found[-1][-1] = number(found[-1][-1])
            except (TypeError, ValueError):
                raise GraphFormatError(
                    f"{names[-1]} is {row[names[-1]]!r}: give a number", path, reader.line_num
                ) from None
    return found


def vertices_of(args: argparse.Namespace, graph: Graph, column: list[Any], what: str) -> list[Any]:
    """External names from a column: text is read as the command line reads a vertex."""
    known: dict[Any, Any] = {}
    for item in column:
        if item not in known:
            known[item] = read_vertex(args, graph, item, what) if isinstance(item, str) else item
    return [known[item] for item in column]


def read_numbers(path: str) -> NDArray[Any]:
    """Numbers from a .npy file, or from text with one per line.

    Raises
    ------
    GraphFormatError
        If it holds something else.
    """
    if path.lower().endswith(".npy"):
        try:
            return np.asarray(np.load(path, allow_pickle=False))
        except ValueError as error:
            raise GraphFormatError(f"not a .npy file of numbers: {error}", path) from None
    listed = []
    for i, line in enumerate(Path(path).read_text(encoding="utf-8").split()):
        try:
            listed.append(number(line))
        except ValueError:
            raise GraphFormatError(f"{line!r} is not a number", path, i + 1) from None
    return np.array(listed)


def unreached_as_inf(table: NDArray[Any]) -> list[Any]:
    """Rows as lists with inf for what is not reached."""
    none = unreached_value(table.dtype)
    return [[math.inf if value == none else value for value in row] for row in table.tolist()]
