"""Tables of edges: CSV and TSV with a header, Parquet, Arrow and Feather, through pyarrow.

There is one row per edge. Ends are found by name (source/from/src/..., target/to/dst/...) or named
by ``columns=``, weights by ``weight=``; ``weight`` by default. Ends may be integers or text; as in
edge lists, integers are kept if that wastes at most half of the vertices, and numbered otherwise. A
CSV of bare numbers without a header is read as an edge list, without pyarrow.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from nearfar.errors import OptionError, keyword, listed, quoted
from nearfar.formats.compression import import_extra, split_suffix
from nearfar.formats.files import (
    Sink,
    Source,
    array_of_names,
    chunks_of_rows,
    library_errors,
    narrowed,
    warn_of_lost,
)
from nearfar.formats.lists.table_rows import ARROW, PARQUET, TEXT, Rows, has_zeros, is_text, sniff
from nearfar.formats.specs import Format, register
from nearfar.graph.convert import weight_problem
from nearfar.graph.graph import Graph

_SOURCES = ("source", "src", "from", "u", "tail", "start", "origin", "fromnodeid", "source_id")
_TARGETS = (
    "target",
    "dst",
    "dest",
    "to",
    "v",
    "head",
    "end",
    "destination",
    "tonodeid",
    "target_id",
)
#: Keys of the number of the first vertex, if that is not 0, and of the number of vertices.
_FIRST, _COUNT = b"nearfar.first_vertex", b"nearfar.vertices"
_WHOLE = re.compile(r"\s*[+-]?[0-9]+\s*$")


def read(
    source: Source,
    *,
    columns: Sequence[str] | str | None = None,
    weight: str | None = "weight",
    names: bool | None = None,
    directed: bool = True,
    where: dict[str, Any] | None = None,
    base: int | None = None,
    renumber: bool | None = None,
) -> Graph:
    """Read a table of edges."""
    if is_text(source) and columns is None and _no_header(source.head):
        from nearfar.formats.lists.edges import read as read_edges

        third = None if weight is None else "weight"
        return read_edges(
            source, directed=directed, base=base, renumber=renumber, weight=third, names=names
        )
    import_extra("pyarrow", "tables", "reading tables")
    with library_errors(source.path, "table"):
        rows = Rows(source)
        if not isinstance(where or {}, dict):
            raise OptionError(
                f"where is {quoted(where)}: give a dict of columns and values, in Python"
            )
        chosen = _choose(source, rows.table.column_names, columns)
        for name, value in (where or {}).items():
            rows.keep(name, value)
        if weight is None:
            chosen = chosen[:2]
        elif len(chosen) == 2:
            chosen += _weight_column(source, rows.table, weight, [*chosen, *(where or {})])
        texts = None
        if is_text(source) and names is not False and (names or has_zeros(source.data)):
            texts = rows.text(*chosen[:2])
        ends = [_ends(rows, name, names, texts) for name in chosen[:2]]
        weights = _numbers(rows, chosen[2]) if len(chosen) == 3 else None
    if all(isinstance(end, np.ndarray) for end in ends):
        from nearfar.formats.lists.edges import settle_ids

        first = _noted(rows, _FIRST) if base is None else None
        labels: NDArray[Any] | range | None
        (sources, targets), n, labels = settle_ids(
            ends[0],
            ends[1],
            base=base if first is None else first,
            renumber=renumber,
            at_least=_noted(rows, _COUNT),
            source=source,
        )
        n = n if labels is None else len(labels)
        if first is not None and labels is None and n is not None:
            labels = range(first, first + n)
    else:
        (sources, targets), labels = _factorised(ends)
        n = len(labels)
        if names is None and is_text(source):
            _refuse_blanks(source, labels)
    graph: Graph = Graph.from_edges(
        sources,
        targets,
        weights,
        n_vertices=n,
        directed=directed,
        vertex_names=labels,
        names=False,
        attributes={"columns": list(chosen)},
    )
    return graph


def _noted(rows: Rows, key: bytes) -> int | None:
    """Return a number that :func:`write` stored next to the columns."""
    noted = (rows.table.schema.metadata or {}).get(key, b"")
    return int(noted) if noted.isdigit() else None


def _no_header(head: bytes) -> bool:
    for line in head.split(b"\n"):
        if line.strip() and not line.startswith((b"#", b"%")):
            return re.match(rb"^\s*-?\d+\s*[,;\t ]\s*-?\d+", line) is not None
    return False


def _choose(source: Source, present: list[str], wanted: Sequence[str] | str | None) -> list[str]:
    if wanted is not None:
        names = wanted.split(",") if isinstance(wanted, str) else wanted
        if not isinstance(names, (list, tuple)) or len(names) not in (2, 3):
            raise OptionError(f"columns is {quoted(wanted)}: give two or three names")
        for name in names:
            if name not in present:
                raise source.fail(f"no column {quoted(name)}; it has {listed(present)}", 1)
            _refuse_repeated(source, present, name)
        return list(names)
    plain = _plain_names(present)
    found = [
        next((_sole(source, plain, name) for name in kind if name in plain), None)
        for kind in (_SOURCES, _TARGETS)
    ]
    if found[0] is None or found[1] is None:
        raise source.fail(
            "the first line does not name columns such as source and target: pass "
            f"{keyword('columns', ...)}, two or three of {listed(present)}, or "
            f"{keyword('format', 'edges')} for a file without names of columns",
            1,
        )
    return [name for name in found if name is not None]


def _refuse_repeated(source: Source, present: list[str], name: str) -> None:
    """Refuse a column whose name another one has."""
    if (count := present.count(name)) > 1:
        raise source.fail(
            f"{count} columns are called {quoted(name)}: rename them",
            1 if is_text(source) else None,
        )


def _plain_names(present: list[str]) -> dict[str, list[str]]:
    """Return columns by their names in lower case without the marks of graph databases."""
    found: dict[str, list[str]] = {}
    for name in present:
        found.setdefault(re.sub(r"^[~:_]+|:.*$", "", name).strip().lower(), []).append(name)
    return found


def _sole(source: Source, plain: dict[str, list[str]], name: str) -> str:
    """Return the only column of a plain name."""
    _refuse_repeated(source, plain[name], plain[name][0])
    if len(plain[name]) > 1:
        raise source.fail(
            f"several columns match {quoted(name)}, {listed(plain[name])}: choose with "
            f"{keyword('columns', ...)}, or rename them",
            1 if is_text(source) else None,
        )
    return plain[name][0]


def _weight_column(source: Source, table: Any, weight: str, used: list[str]) -> list[str]:
    """Return the column of the weights, or none."""
    import pyarrow

    spare = [name for name in table.column_names if name not in used]
    if weight in spare:
        _refuse_repeated(source, spare, weight)
        return [weight]
    if weight.lower() in (plain := _plain_names(spare)):
        return [_sole(source, plain, weight.lower())]
    numeric = [
        field.name
        for field in table.schema
        if field.name in spare
        and (pyarrow.types.is_integer(field.type) or pyarrow.types.is_floating(field.type))
    ]
    problem = weight_problem(weight, spare, numeric, "column")
    if problem:
        raise source.fail(problem, 1 if is_text(source) else None)
    return []


def _ends(rows: Rows, name: str, names: bool | None, texts: Any | None) -> Any:
    """Return a column as int64 or as an Arrow array of text; ``texts`` has a text file's ends."""
    import pyarrow

    column = rows.table[name]
    _refuse_empty(rows, column, name)
    kind = column.type
    if pyarrow.types.is_dictionary(kind):
        column, kind = column.cast(kind.value_type), kind.value_type
    if names:
        column = (column if texts is None else texts[name]).cast(pyarrow.string())
    elif pyarrow.types.is_integer(kind) or len(column) == 0:  # text of no rows has no type
        if texts is not None:
            _refuse_zeros(rows, texts[name], name)
        return _values(column.cast(pyarrow.int64()))
    elif not (pyarrow.types.is_string(kind) or pyarrow.types.is_large_string(kind)):
        value = column[0].as_py()
        if is_text(rows.source) and isinstance(value, bytes):
            raise rows.source.fail(
                f"column {quoted(name)} is not UTF-8, first {value!r}: save the file as UTF-8"
            )
        raise rows.source.fail(
            f"column {quoted(name)} holds {kind}, first {value}: ends are integers or text; "
            f"{keyword('names', True)} takes them as text"
        )
    elif names is False:
        raise rows.source.fail(
            f"column {quoted(name)} holds text, such as {quoted(column[0].as_py())}"
        )
    return column.cast(pyarrow.large_string()).combine_chunks()


def _values(column: Any) -> NDArray[Any]:
    """Return the numbers of a column without gaps; ``to_numpy`` would import pandas."""
    return np.from_dlpack(column.combine_chunks())


def _refuse_zeros(rows: Rows, column: Any, name: str) -> None:
    from pyarrow import compute

    padded = np.asarray(compute.match_substring_regex(column, "^-?0[0-9]").combine_chunks())
    if padded.any():
        row = int(np.argmax(padded))
        raise rows.fail(
            f"{quoted(column[row].as_py())} in column {quoted(name)} begins with zeros: "
            f"{keyword('names', True)} keeps them as text, {keyword('names', False)} reads numbers",
            row,
        )


def _numbers(rows: Rows, name: str) -> NDArray[Any]:
    import pyarrow

    column = rows.table[name]
    _refuse_empty(rows, column, name)
    if len(column) == 0:
        return np.zeros(0, dtype=np.int32)
    if not (pyarrow.types.is_integer(column.type) or pyarrow.types.is_floating(column.type)):
        for row, value in enumerate(column.to_pylist()):
            if not _is_number(value):
                raise rows.fail(
                    f"weight {quoted(value)} in column {quoted(name)} is not a number", row
                )
        raise rows.source.fail(f"weight column {quoted(name)} holds {column.type}, not numbers")
    values = _values(column)
    if values.dtype.kind == "f" and not np.isfinite(values).all():
        row = int(np.argmin(np.isfinite(values)))
        number, line = rows.place(row)
        where = f" in row {number}" if line is None else ""
        raise rows.fail(f"weight {values[row]}{where} is not a finite number", row)
    if not is_text(rows.source):
        return values
    if values.dtype.kind == "f" and (np.abs(values) >= 2.0**63).any():
        _refuse_beyond_64_bits(rows, name)
    return narrowed(values)


def _refuse_beyond_64_bits(rows: Rows, name: str) -> None:
    """Refuse integers that Arrow has rounded to floats because they do not fit."""
    for row, text in enumerate(rows.text(name)[name].to_pylist()):
        if text is not None and _WHOLE.match(text) and not -(2**63) <= int(text) < 2**63:
            raise rows.fail(
                f"weight {quoted(text)} does not fit 64 bits: write it with a decimal point to "
                "have it rounded",
                row,
            )


def _refuse_empty(rows: Rows, column: Any, name: str) -> None:
    if column.null_count:
        row = int(np.argmax(np.asarray(column.is_null().combine_chunks())))
        number, line = rows.place(row)
        where = f", first in row {number}" if line is None else ""
        count = f"{column.null_count} row{'s' * (column.null_count > 1)}"
        raise rows.fail(f"column {quoted(name)} is empty in {count}{where}", row)


def _is_number(value: Any) -> bool:
    try:
        float(value)
    except (TypeError, ValueError):
        return False
    return "_" not in str(value)


def _factorised(ends: list[Any]) -> tuple[tuple[NDArray[Any], NDArray[Any]], NDArray[Any]]:
    """Return indices for text, in order of appearance by column, and the text by index."""
    import pyarrow

    text = pyarrow.large_string()
    texts = [pyarrow.array(e).cast(text) if isinstance(e, np.ndarray) else e for e in ends]
    encoded = pyarrow.concat_arrays(texts).dictionary_encode()
    codes = np.from_dlpack(encoded.indices).astype(np.int64)
    names = array_of_names(encoded.dictionary.to_pylist())
    k = len(ends[0])
    return (codes[:k], codes[k:]), names


def _refuse_blanks(source: Source, labels: NDArray[Any]) -> None:
    """Refuse names that are equal but for blanks around them: ``A, B`` after ``B,C``."""
    trimmed: dict[str, str] = {}
    listed = labels.tolist()
    if [label.strip() for label in listed] == listed:
        return
    for label in listed:
        other = trimmed.setdefault(label.strip(), label)
        if other != label:
            raise source.fail(
                f"vertices {quoted(other)} and {quoted(label)} differ only by blanks: remove "
                f"these, or pass {keyword('names', True)} to keep them"
            )


def write(graph: Graph, sink: Sink) -> None:
    """Write columns ``source``, ``target`` and ``weight``; every stored edge is a row."""
    suffix = split_suffix(sink.path)[0]
    kind = suffix if suffix in TEXT or suffix in ARROW else ".parquet"
    if kind in TEXT and graph.vertex_names is not None and "" in graph.vertex_names:
        raise sink.fail("text cannot represent vertices without names: write .parquet")
    graph._check_distinct_names("a table of edges")
    if kind in TEXT or graph.vertex_numbers is None:
        warn_of_lost(graph, sink)
    import_extra("pyarrow", "tables", "writing tables")
    with library_errors(sink.path, "table", writing=True):
        parts = _pieces(graph)
        first = next(parts)
        writer = _writer(kind, sink, first.schema)
        with writer:
            writer.write_table(first)
            for done, part in enumerate(parts, start=1):
                writer.write_table(part)
                sink.tell(min(done << 20, graph.n_edges), graph.n_edges)


def _writer(kind: str, sink: Sink, schema: Any) -> Any:
    import pyarrow

    if kind in TEXT:
        from pyarrow import csv

        options = csv.WriteOptions(delimiter=TEXT[kind], quoting_style="needed")
        return csv.CSVWriter(sink.file, schema, write_options=options)
    if kind in ARROW:
        return pyarrow.ipc.new_file(sink.file, schema)
    from pyarrow import parquet

    return parquet.ParquetWriter(sink.file, schema)


def _pieces(graph: Graph) -> Any:
    """Return the tables of about a million edges each, at least one."""
    import pyarrow

    ranges = list(chunks_of_rows(graph)) or [(0, 0, 0)]
    for first, last, _ in ranges:
        begin, end = int(graph.indptr[first]), int(graph.indptr[last])
        sources = np.repeat(np.arange(first, last, dtype=np.int64), graph.degrees[first:last])
        targets = graph.indices[begin:end].astype(np.int64)
        columns = {"source": graph.name_of(sources), "target": graph.name_of(targets)}
        if graph.weights is not None:
            columns["weight"] = graph.weights[begin:end]
        table = pyarrow.table(columns)
        numbers = graph.vertex_numbers
        if numbers is not None:
            notes = {_FIRST: str(numbers.start), _COUNT: str(len(numbers))}
            table = table.replace_schema_metadata(notes)
        yield table


register(
    Format(
        name="table",
        title="CSV, TSV, Parquet, Arrow and Feather tables of edges",
        suffixes=(*TEXT, *PARQUET, *ARROW),
        read=read,
        write=write,
        sniff=sniff,
        extra="tables",
        keeps="weights, vertex names; every edge as a row, no isolated vertices with names or, in "
        "text, at the end",
    )
)
