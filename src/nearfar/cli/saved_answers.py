"""Distance tables read back from the files that :mod:`nearfar.cli.answers` writes."""

from __future__ import annotations

import gzip
import json
import zlib
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from nearfar.cli.answers import parquet, suffix_of
from nearfar.errors import GraphFormatError, quoted
from nearfar.graph.dtypes import unreached_value

if TYPE_CHECKING:
    from collections.abc import Callable

    from numpy.typing import NDArray

    from nearfar.graph.graph import Graph

__all__ = ["SavedAnswer", "load_answer"]


class SavedAnswer:
    """A table read back, in the graph's vertex order.

    Attributes
    ----------
    distances : array, shape (n,)
        In the weights' dtype, or int64 where an int32 graph's distances need it.
    predecessors : int array, shape (n,), or None
    source : object or None
        External name of the source, where the file says it.
    limit : int, float or None
    """

    def __init__(self, graph: Graph, path: str, columns: dict[str, list[Any]]) -> None:
        self.graph, self.path = graph, path
        self.source: Any = None
        self.limit: Any = None
        for name in ("vertex", "distance"):
            if name not in columns:
                raise GraphFormatError(f"no column {quoted(name)}: a distance table has it", path)
        n = graph.n_vertices
        for name, column in columns.items():
            if not isinstance(column, list):
                raise GraphFormatError(f"expected a list in column {quoted(name)}", path)
            if len(column) != n:
                raise GraphFormatError(
                    f"{len(column):,} rows in column {quoted(name)}, but the graph has "
                    f"{n:,} vertices",
                    path,
                )
        order = self._indices(columns["vertex"], "vertex")
        seen = np.zeros(n, dtype=bool)
        seen[order] = True
        if not seen.all():
            missing = graph.name_of(int(np.flatnonzero(~seen)[0]))
            raise GraphFormatError(f"vertex {missing} has no row and another has two", path)
        self.distances = self._numbers(columns["distance"])[np.argsort(order)]
        self.predecessors: NDArray[np.int64] | None = None
        if "predecessor" in columns:
            found = np.empty(n, dtype=np.int64)
            found[order] = self._indices(columns["predecessor"], "predecessor")
            self.predecessors = found

    def _indices(self, values: list[Any], what: str) -> NDArray[np.int64]:
        """Vertex indices of external names; -1 for none."""
        graph, n = self.graph, self.graph.n_vertices
        table: dict[Any, int] = {"": -1, None: -1}
        if graph.vertex_names is not None:
            for i, name in enumerate(graph.vertex_names.tolist()):
                table[name] = i
                table.setdefault(str(name), i)
        out = np.empty(len(values), dtype=np.int64)
        for row, value in enumerate(values):
            try:
                index = table.get(value)
                if index is None and graph.vertex_names is None:
                    index = _whole(value)
                    index = index if 0 <= index < n else None
            except (TypeError, ValueError):
                index = None
            if index is None or (index < 0 and what == "vertex"):
                raise GraphFormatError(
                    f"row {row + 1}: {what} {quoted(value)} is not a vertex of the graph", self.path
                )
            out[row] = index
        return out

    def _numbers(self, values: list[Any]) -> NDArray[Any]:
        dtype = self.graph.weight_dtype
        whole = dtype.kind == "i"
        if whole:
            dtype = np.dtype(np.int64)
        read: Callable[[Any], Any] = _whole if whole else _number
        empty = unreached_value(dtype)
        out = np.empty(len(values), dtype=dtype)
        for row, value in enumerate(values):
            try:
                out[row] = empty if value is None or value == "" else read(value)
            except (TypeError, ValueError, OverflowError):
                kind = "whole number" if whole else "number"
                raise GraphFormatError(
                    f"row {row + 1}: distance {quoted(value)} is not a {kind}", self.path
                ) from None
        if not whole or self.graph.weight_dtype == np.int64:
            return out
        reached = out != empty
        if not reached.any() or np.abs(out[reached]).max() < np.iinfo(np.int32).max:
            narrow = np.full(len(out), np.iinfo(np.int32).max, dtype=np.int32)
            narrow[reached] = out[reached]
            return narrow
        return out


def _whole(value: Any) -> int:
    """A whole number; a fraction is refused, not cut off."""
    number = _number(value)
    if isinstance(number, float) and not number.is_integer():
        raise ValueError(value)
    return int(number)


def _number(value: Any) -> int | float:
    """A number, or the number that a text says."""
    if isinstance(value, bool) or not isinstance(value, (int, float, str)):
        raise TypeError(value)
    if not isinstance(value, str):
        return value
    if "_" in value:  # Python reads 1_0 as 10; no table means that
        raise ValueError(value)
    try:
        return int(value)
    except ValueError:
        return float(value)


def load_answer(path: str, graph: Graph) -> SavedAnswer:
    """Read a distance table that belongs to a graph.

    Raises
    ------
    GraphFormatError
        Where it is not a table of this graph's vertices.
    """
    suffix = suffix_of(path, "answer")
    facts: dict[str, Any] = {}
    if suffix in (".csv", ".csv.gz"):
        columns = _read_csv(path, suffix)
    elif suffix == ".parquet":
        columns, facts = _read_parquet(path)
    elif suffix == ".npz":
        columns, facts = _read_npz(path, graph)
    else:
        columns, facts = _read_json(path)
    saved = SavedAnswer(graph, path, columns)
    saved.source, saved.limit = facts.get("source"), facts.get("limit")
    if saved.limit is not None and not isinstance(saved.limit, (int, float)):
        raise GraphFormatError(f"expected a number as limit, got {quoted(saved.limit)}", path)
    return saved


def _facts(text: str | bytes, path: str) -> dict[str, Any]:
    """What the table says of itself."""
    try:
        facts = json.loads(text)
    except (ValueError, RecursionError) as error:
        raise GraphFormatError(f"its facts are not JSON: {error}", path) from None
    if not isinstance(facts, dict):
        raise GraphFormatError("expected its facts as a JSON object", path)
    return facts


def _read_csv(path: str, suffix: str) -> dict[str, list[Any]]:
    import csv

    opened = gzip.open if suffix == ".csv.gz" else open
    try:
        # "-sig": spreadsheets put a byte order mark in front
        with opened(path, "rt", encoding="utf-8-sig", newline="") as file:
            lines = csv.reader(file)
            header = next(lines, None)
            if header is None:
                raise GraphFormatError("the file is empty", path)
            header = [name.strip() for name in header]
            if len(set(header)) < len(header):
                raise GraphFormatError("two columns have the same name", path, 1)
            table = []
            for row in lines:
                if not row:  # a blank line
                    continue
                if len(row) != len(header):
                    raise GraphFormatError(
                        f"{len(row)} fields, but the header has {len(header)}", path, lines.line_num
                    )
                table.append(row)
    except (UnicodeDecodeError, csv.Error, EOFError, gzip.BadGzipFile, zlib.error) as error:
        raise GraphFormatError(f"not a CSV table: {error}", path) from None
    transposed = [list(column) for column in zip(*table, strict=True)] or [[] for _ in header]
    return dict(zip(header, transposed, strict=True))


def _read_parquet(path: str) -> tuple[dict[str, list[Any]], dict[str, Any]]:
    import pyarrow

    module = parquet()
    try:
        table = module.read_table(path)
        columns = {name: table[name].to_pylist() for name in set(table.column_names)}
    except (pyarrow.ArrowException, KeyError, OSError, ValueError) as error:
        if isinstance(error, OSError) and error.errno is not None:
            raise
        raise GraphFormatError(f"not a Parquet table: {error}", path) from None
    return columns, _facts((table.schema.metadata or {}).get(b"nearfar", b"{}"), path)


def _read_npz(path: str, graph: Graph) -> tuple[dict[str, list[Any]], dict[str, Any]]:
    import zipfile

    try:
        archive = np.load(path, allow_pickle=False)
        if isinstance(archive, np.ndarray):
            raise ValueError("it is one array")
        with archive:
            arrays = {name: archive[name] for name in archive.files}
    except (ValueError, EOFError, zipfile.BadZipFile, zlib.error) as error:
        raise GraphFormatError(f"not an NPZ table: {error}", path) from None
    facts = _facts(str(arrays.pop("facts", "{}")), path)
    for name, array in arrays.items():
        if array.ndim != 1:
            raise GraphFormatError(
                f"column {quoted(name)} has {array.ndim} dimensions, not one", path
            )
    columns = {name: array.tolist() for name, array in arrays.items()}
    if "distance" in arrays and arrays["distance"].dtype.kind in "if":
        distance = arrays["distance"]
        for i in np.flatnonzero(distance == unreached_value(distance.dtype)).tolist():
            columns["distance"][i] = None
    if "predecessor" in arrays and arrays["predecessor"].dtype.kind not in "iu":
        raise GraphFormatError("the predecessors of an NPZ table are integers", path)
    if "predecessor" in arrays:
        columns["predecessor"] = [
            None if i < 0 else graph.name_of(i) if i < graph.n_vertices else i
            for i in columns["predecessor"]
        ]
    return columns, facts


def _read_json(path: str) -> tuple[dict[str, list[Any]], dict[str, Any]]:
    try:
        data = json.loads(Path(path).read_text(encoding="utf-8"))
    except (json.JSONDecodeError, UnicodeDecodeError, RecursionError) as error:
        raise GraphFormatError(f"not JSON: {error}", path) from None
    if not isinstance(data, dict):
        raise GraphFormatError("not a distance table: expected an object at the top level", path)
    columns = {k: data[k] for k in ("vertex", "distance", "predecessor") if k in data}
    return columns, data
