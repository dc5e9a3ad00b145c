"""Read small tables: columns of a CSV or Parquet file, and numbers per edge."""

from __future__ import annotations

import argparse
import csv
import io
import math
from typing import Any

import numpy as np
from numpy.typing import NDArray

from nearfar.cli.answers import parquet
from nearfar.cli.arguments import read_vertex
from nearfar.errors import OptionError, listed, quoted
from nearfar.formats.files import Source, library_errors
from nearfar.formats.lists.table_rows import arrow_buffer
from nearfar.graph.dtypes import unreached_value
from nearfar.graph.graph import Graph


def csv_columns(source: Source) -> tuple[dict[str, list[Any]], list[int]]:
    """Return the columns of text by their headings, and the line of each row."""
    try:
        reader = csv.reader(io.StringIO(source.data.tobytes().decode(), newline=""))
        header = [name.strip() for name in next(reader, [])]
        if len(set(header)) < len(header):
            raise source.fail("two columns have the same name", 1)
        table, lines = [], []
        for row in reader:
            if not row:  # a blank line
                continue
            if len(row) != len(header):
                plural = "s" if len(row) != 1 else ""
                raise source.fail(
                    f"{len(row)} field{plural}, but the header has {len(header)}", reader.line_num
                )
            table.append(row)
            lines.append(reader.line_num)
    except (UnicodeDecodeError, csv.Error) as error:
        raise source.fail(f"not a CSV table: {error}") from None
    transposed = [list(column) for column in zip(*table, strict=True)] or [[] for _ in header]
    return dict(zip(header, transposed, strict=True)), lines


def parquet_columns(source: Source) -> tuple[dict[str, list[Any]], dict[bytes, bytes]]:
    """Return the columns of a Parquet file, and its metadata."""
    module = parquet()
    with library_errors(source.path, "Parquet"):
        import pyarrow

        table = module.read_table(pyarrow.BufferReader(arrow_buffer(source)))
        columns = {name: table[name].to_pylist() for name in set(table.column_names)}
        return columns, table.schema.metadata or {}


def as_number(value: Any) -> int | float:
    """Return a number unchanged, and a text as a number."""
    if isinstance(value, bool) or not isinstance(value, (int, float, str)):
        raise TypeError(value)
    if not isinstance(value, str):
        return value
    if "_" in value:  # Python reads 1_0 as 10
        raise ValueError(value)
    try:
        return int(value)
    except ValueError:
        return float(value)


class FileTable:
    """Columns of a .csv or .parquet file by name, and for text the line of each row."""

    def __init__(self, path: str) -> None:
        lowered = path.lower()
        if not lowered.endswith((".parquet", ".csv", ".csv.gz", ".csv.xz")):
            raise OptionError(f"{path}: a table ends in .csv or .parquet")
        self.source = Source(path)
        self.columns: dict[str, list[Any]]
        self.lines: list[int] | None = None
        if lowered.endswith(".parquet"):
            self.columns, _ = parquet_columns(self.source)
        else:
            self.columns, self.lines = csv_columns(self.source)

    def check(self, *names: str) -> None:
        """Refuse a column that is missing."""
        for name in names:
            if name not in self.columns:
                has = f"no column {name!r}; it has {listed(self.columns)}"
                raise self.source.fail(has, None if self.lines is None else 1)

    def numbers(self, name: str) -> list[Any]:
        """Return a column as finite numbers."""
        found = []
        for row, value in enumerate(self.columns[name]):
            try:
                found.append(as_number(value))
                if not math.isfinite(found[-1]):
                    raise ValueError
            except (TypeError, ValueError):
                where = f" in row {row + 1}" if self.lines is None else ""
                raise self.source.fail(
                    f"{name} is {quoted(value)}{where}: give a finite number",
                    None if self.lines is None else self.lines[row],
                ) from None
        return found

    def array(self, name: str) -> NDArray[np.float64]:
        """Return a column as an array of finite numbers."""
        return np.array(self.numbers(name), np.float64)


def read_table(path: str, names: tuple[str, ...]) -> list[list[Any]]:
    """Return columns of a table in a file, the last one as finite numbers."""
    table = FileTable(path)
    table.check(*names)
    return [*(table.columns[name] for name in names[:-1]), table.numbers(names[-1])]


def vertices_of(args: argparse.Namespace, graph: Graph, column: list[Any], what: str) -> list[Any]:
    """Return external names from a column; text is read as on the command line."""
    known: dict[Any, Any] = {}
    for item in column:
        if item not in known:
            known[item] = read_vertex(args, graph, item, what) if isinstance(item, str) else item
    return [known[item] for item in column]


def read_numbers(path: str) -> NDArray[Any]:
    """Return the numbers from a .npy file, or from text with one per line."""
    source = Source(path)
    if path.lower().endswith(".npy"):
        with library_errors(path, "NumPy"):
            return np.asarray(np.lib.format.read_array(io.BytesIO(source.data.tobytes())))
    listed = []
    for number, line in enumerate(source.data.tobytes().splitlines(), start=1):
        text = line.decode(errors="replace").strip()
        if not text:
            continue
        try:
            listed.append(as_number(text))
        except ValueError:
            raise source.fail(f"{quoted(text)} is not a number", number) from None
    return np.array(listed)


def unreached_as_inf(table: NDArray[Any]) -> list[Any]:
    """Return rows as lists with inf for unreached vertices."""
    none = unreached_value(table.dtype)
    return [[math.inf if value == none else value for value in row] for row in table.tolist()]
