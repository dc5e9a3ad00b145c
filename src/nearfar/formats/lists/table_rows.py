"""Rows of a table in a file: read through pyarrow, filtered, and located for messages."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from nearfar.errors import GraphFormatError, listed, quoted
from nearfar.formats.files import Source

ARROW = (".arrow", ".feather", ".ipc")
PARQUET = (".parquet", ".pq")
#: Suffixes of text, and their separators.
TEXT = {".csv": ",", ".tsv": "\t", ".tab": "\t"}
_PIECE = 1 << 20  # bytes per step of a scan


def sniff(head: bytes) -> bool:
    """Return whether the content is Parquet or an Arrow file."""
    return head.startswith((b"PAR1", b"ARROW1\0\0"))


def is_text(source: Source) -> bool:
    """Return whether it is CSV or TSV, by its name or, if it has none, by its content."""
    unnamed = source.suffix not in (*ARROW, *PARQUET) and b"\0" not in source.head
    return (source.suffix in TEXT or unnamed) and not sniff(source.head)


class Rows:
    """Rows of a file: all of them, or those selected by :meth:`keep`.

    Attributes
    ----------
    source : Source
    table : pyarrow.Table
    """

    def __init__(self, source: Source) -> None:
        self.source, self.table = source, _load(source)
        self._numbers: NDArray[np.int64] | None = None  # row numbers in the file; None for all

    def keep(self, name: str, value: Any) -> None:
        """Keep the rows with a value in a column."""
        import pyarrow
        from pyarrow import compute

        if name not in self.table.column_names:
            raise self.source.fail(
                f"no column {quoted(name)}; it has {listed(self.table.column_names)}"
            )
        column = self.table[name]
        try:
            kept = np.flatnonzero(compute.equal(column, value).fill_null(False))
        except (pyarrow.ArrowInvalid, pyarrow.ArrowNotImplementedError, TypeError):
            raise self.source.fail(
                f"column {quoted(name)} holds {column.type}: no row equals {quoted(value)}"
            ) from None
        if not len(kept) and len(column):
            raise self.source.fail(f"no row has {quoted(value)} in column {quoted(name)}")
        self.table = self.table.take(kept)
        self._numbers = kept if self._numbers is None else self._numbers[kept]

    def text(self, *names: str) -> Any:
        """Return columns of a text file as unconverted text, for these rows."""
        texts = _load(self.source, names)
        return texts if self._numbers is None else texts.take(self._numbers)

    def place(self, row: int) -> tuple[int, int | None]:
        """Return the number of a row in the file, and its line in a text file."""
        number = row if self._numbers is None else int(self._numbers[row])
        return number, _line_of_row(self.source, number)

    def fail(self, message: str, row: int) -> GraphFormatError:
        """Return an error at a row."""
        return self.source.fail(message, self.place(row)[1])


def arrow_buffer(source: Source) -> Any:
    """Return the bytes of a file as a buffer that belongs to Arrow.

    Arrow's threads may release a buffer when the process ends. If it belonged to Python, they
    would wait for the interpreter, which aborts the process.
    """
    import pyarrow

    data = source.data
    if source.mapped and data.size == source.size:
        with pyarrow.memory_map(source.path) as mapped:
            return mapped.read_buffer()
    buffer = pyarrow.allocate_buffer(data.size)
    np.frombuffer(buffer, dtype=np.uint8)[...] = data
    return buffer


def _load(source: Source, text: Sequence[str] = ()) -> Any:
    """Return the table of a file, or only the columns in ``text``, as text."""
    import pyarrow

    buffer = arrow_buffer(source)
    if source.head.startswith(b"PAR1"):
        from pyarrow import parquet

        return parquet.read_table(pyarrow.BufferReader(buffer))
    if source.head.startswith(b"ARROW1"):
        with pyarrow.ipc.open_file(pyarrow.BufferReader(buffer)) as reader:
            return reader.read_all()
    if not is_text(source):
        raise source.fail("neither Parquet nor an Arrow file: the magic at its start is missing")
    return _parse(source, buffer, text)


def _parse(source: Source, buffer: Any, text: Sequence[str]) -> Any:
    import pyarrow
    from pyarrow import csv

    skipped = _comments(source)
    first = source.head.split(b"\n")[skipped]
    separator = next(
        (one for one in ";\t" if one.encode() in first and b"," not in first),
        TEXT.get(source.suffix, ","),
    )
    parse = csv.ParseOptions(delimiter=separator)
    convert = csv.ConvertOptions(
        column_types=dict.fromkeys(text, pyarrow.string()),
        include_columns=list(text),
        null_values=[""],  # NA may be a name, and nan is refused later
        strings_can_be_null=True,
    )

    def table(use_threads: bool) -> Any:
        read = csv.ReadOptions(skip_rows=skipped, use_threads=use_threads)
        return csv.read_csv(pyarrow.BufferReader(buffer), read, parse, convert)

    try:
        return table(use_threads=True)
    except pyarrow.ArrowInvalid:
        try:
            return table(use_threads=False)  # one thread numbers rows in errors
        except pyarrow.ArrowInvalid as error:
            wrong = re.search(r"Row #(\d+): Expected (\d+) columns, got (\d+)", str(error))
            if wrong is None:
                raise
            row, expected, got = map(int, wrong.groups())
            raise source.fail(
                f"expected {expected} fields as in the header, got {got}",
                _line_of_row(source, row - skipped - 2),
            ) from None


def _comments(source: Source) -> int:
    """Return the number of comment lines before the header."""
    lines = source.head.split(b"\n")
    return next((i for i, line in enumerate(lines) if not line.startswith(b"#")), 0)


def _line_of_row(source: Source, row: int) -> int | None:
    """Return the line of a row of text, if no quoted field before it has a line break."""
    if not is_text(source):
        return None
    left = row + 2
    for number, line in enumerate(bytes(source.data).split(b"\n")[_comments(source) :], start=1):
        left -= line not in (b"", b"\r")
        if left == 0:
            return _comments(source) + number
    return None


def has_zeros(data: NDArray[np.uint8]) -> bool:
    """Return whether any field begins with a zero followed by a digit."""
    for start in range(0, len(data), _PIECE):
        piece = data[max(start - 1, 0) : start + _PIECE + 1]
        before, zero, after = piece[:-2], piece[1:-1], piece[2:]
        at = np.flatnonzero((zero == ord("0")) & (after >= ord("0")) & (after <= ord("9")))
        if np.isin(before[at], np.frombuffer(b',;\t \n"', np.uint8)).any():
            return True
    return False
