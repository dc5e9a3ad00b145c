"""Read distance tables from files that :mod:`nearfar.cli.answers` writes."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from nearfar.cli.answers import suffix_of
from nearfar.cli.tables import as_number, csv_columns, parquet_columns
from nearfar.errors import GraphFormatError, quoted
from nearfar.formats.files import Source, library_errors
from nearfar.formats.libraries.npz import archive_arrays
from nearfar.graph.dtypes import unreached_value
from nearfar.graph.graph import Graph


class SavedAnswer:
    """Distance table read from a file, in the graph's vertex order."""

    def __init__(self, graph: Graph, path: str, columns: dict[str, list[Any]]) -> None:
        self.graph, self.path = graph, path
        self.source: Any = None  # external name of the source, if the file has it
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
        # array, shape (n,); distances in the weights' dtype, or int64 if those of an int32 graph
        # need it
        self.distances = self._numbers(columns["distance"])[np.argsort(order)]
        self.predecessors: NDArray[np.int64] | None = None  # shape (n,), or None
        if "predecessor" in columns:
            found = np.empty(n, dtype=np.int64)
            found[order] = self._indices(columns["predecessor"], "predecessor")
            self.predecessors = found

    def _indices(self, values: list[Any], what: str) -> NDArray[np.int64]:
        """Return vertex indices of external names; -1 for none."""
        graph, n = self.graph, self.graph.n_vertices
        table: dict[Any, int] = {"": -1, None: -1}
        numbers = graph.vertex_numbers
        if numbers is None:
            for i, name in enumerate(graph.name_of(np.arange(n)).tolist()):
                table[name] = i
                table.setdefault(str(name), i)
        out = np.empty(len(values), dtype=np.int64)
        for row, value in enumerate(values):
            try:
                index = table.get(value)
                if index is None and numbers is not None:
                    number = _whole(value)
                    index = number - numbers.start if number in numbers else None
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
        read: Callable[[Any], Any] = _whole if whole else as_number
        empty = unreached_value(dtype)
        out = np.empty(len(values), dtype=dtype)
        for row, value in enumerate(values):
            try:
                out[row] = empty if value is None or value == "" else read(value)
            except (TypeError, ValueError, OverflowError):
                kind = "an integer" if whole else "a number"
                raise GraphFormatError(
                    f"row {row + 1}: distance {quoted(value)} is not {kind}", self.path
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
    """Return an integer; a fraction is refused, not truncated."""
    number = as_number(value)
    if isinstance(number, float) and not number.is_integer():
        raise ValueError(value)
    return int(number)


def load_answer(path: str, graph: Graph) -> SavedAnswer:
    """Read a distance table that belongs to a graph."""
    suffix = suffix_of(path, "answer")
    facts: dict[str, Any] = {}
    source = Source(path)
    if suffix in (".csv", ".csv.gz"):
        columns, _ = csv_columns(source)
    elif suffix == ".parquet":
        columns, said = parquet_columns(source)
        facts = _facts(said.get(b"nearfar", b"{}"), source)
    elif suffix == ".npz":
        columns, facts = _read_npz(source, graph)
    else:
        columns, facts = _read_json(source)
    saved = SavedAnswer(graph, path, columns)
    saved.source, saved.limit = facts.get("source"), facts.get("limit")
    if saved.limit is not None and not isinstance(saved.limit, (int, float)):
        raise GraphFormatError(f"expected a number as limit, got {quoted(saved.limit)}", path)
    return saved


def _facts(text: str | bytes, source: Source) -> dict[str, Any]:
    """Return the metadata of the table."""
    try:
        facts = json.loads(text)
    except (ValueError, RecursionError) as error:
        raise source.fail(f"its facts are not JSON: {error}") from None
    if not isinstance(facts, dict):
        raise source.fail("expected its facts as a JSON object")
    return facts


def _read_npz(source: Source, graph: Graph) -> tuple[dict[str, list[Any]], dict[str, Any]]:
    with library_errors(source.path, "NPZ"):
        arrays = archive_arrays(source)
        said = str(arrays.pop("facts", "{}"))
        columns = {name: array.tolist() for name, array in arrays.items()}
    for name, array in arrays.items():
        if array.ndim != 1:
            raise source.fail(f"column {quoted(name)} has {array.ndim} dimensions, not one")
    if "distance" in arrays and arrays["distance"].dtype.kind in "if":
        distance = arrays["distance"]
        for i in np.flatnonzero(distance == unreached_value(distance.dtype)).tolist():
            columns["distance"][i] = None
    if "predecessor" in arrays:
        if arrays["predecessor"].dtype.kind not in "iu":
            raise source.fail("the predecessors of an NPZ table are integers")
        columns["predecessor"] = [
            None if i < 0 else graph.name_of(i) if i < graph.n_vertices else i
            for i in columns["predecessor"]
        ]
    return columns, _facts(said, source)


def _read_json(source: Source) -> tuple[dict[str, list[Any]], dict[str, Any]]:
    try:
        data = json.loads(source.data.tobytes())
    except (ValueError, RecursionError) as error:
        raise source.fail(f"not JSON: {error}") from None
    if not isinstance(data, dict):
        raise source.fail("not a distance table: expected an object at the top level")
    columns = {k: data[k] for k in ("vertex", "distance", "predecessor") if k in data}
    return columns, data
