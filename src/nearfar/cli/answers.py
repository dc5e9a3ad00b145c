"""Distance tables in files: CSV, Parquet, NPZ, JSON; written whole or not at all, read back for proof.

Columns are ``vertex``, ``distance`` and, where asked for, ``predecessor``, one row a vertex in the
graph's order. An unreached vertex has no distance: an empty field, null, or in NPZ the value that
:class:`nearfar.Paths` documents. Floats are written so that they read back exactly. Parquet, NPZ and JSON
also carry the source and the limit; in CSV the source is the vertex at distance 0 without predecessor.
"""

from __future__ import annotations

import contextlib
import gzip
import json
import os
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any, TextIO

import numpy as np

from nearfar.errors import GraphFormatError, MissingDependencyError, OptionError
from nearfar.graph import unreached_value

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from numpy.typing import NDArray

    from nearfar.graph import Graph
    from nearfar.paths import Paths

__all__ = ["check_output", "replacing", "save_answer"]

SUFFIXES = (".csv", ".csv.gz", ".parquet", ".npz", ".json")
_ROWS = 1 << 16


def suffix_of(path: str) -> str:
    """Suffix that names the table format; ``-`` (stdout) is CSV.

    Raises
    ------
    OptionError
        For any other.
    """
    if path == "-":
        return ".csv"
    for suffix in sorted(SUFFIXES, key=len, reverse=True):
        if path.lower().endswith(suffix):
            return suffix
    raise OptionError(f"output {path!r} has no known suffix: use one of {', '.join(SUFFIXES)}")


def parquet() -> Any:
    """pyarrow.parquet.

    Raises
    ------
    MissingDependencyError
        Without pyarrow.
    """
    try:
        import pyarrow.parquet as module
    except ImportError:
        raise MissingDependencyError(
            "Parquet needs pyarrow: pip install nearfar[tables], or write .csv or .npz"
        ) from None
    return module


def check_output(path: str | None) -> None:
    """Refuse an output that cannot be written, before the work is done.

    Raises
    ------
    OptionError, MissingDependencyError, OSError
        For the suffix, a missing package, a missing folder.
    """
    if path is None or path == "-":
        return
    if suffix_of(path) == ".parquet":
        parquet()
    check_folder(path)


def check_folder(path: str) -> None:
    """Refuse a path whose folder does not exist, or that is a folder itself."""
    folder = Path(path).resolve().parent
    if not folder.is_dir():
        raise OptionError(f"output {path!r}: the folder {folder} does not exist")
    if Path(path).is_dir():
        raise OptionError(f"output {path!r} is a folder: name a file")


@contextlib.contextmanager
def replacing(path: str) -> Iterator[Path]:
    """Give a temporary path beside ``path`` that replaces it on success and vanishes on failure."""
    final = Path(path)
    # The suffixes stay, since some writers choose the format by them.
    temporary = final.with_name(f".{os.getpid()}.tmp.{final.name}")
    try:
        yield temporary
        temporary.replace(final)
    finally:
        temporary.unlink(missing_ok=True)


def save_answer(
    path: str,
    paths: Paths,
    *,
    predecessors: bool = False,
    progress: Callable[[float, float], None] | None = None,
) -> None:
    """Write the distance table of one answer; ``-`` writes CSV to stdout.

    Parameters
    ----------
    path : str
        Ends in one of ``SUFFIXES``.
    paths : Paths
    predecessors : bool
        Whether to write that column.
    progress : callable or None
        Called with rows done and rows in all.
    """
    suffix = suffix_of(path)
    if path == "-":
        _csv(sys.stdout, paths, predecessors, progress)
        return
    with replacing(path) as temporary:
        if suffix == ".csv":
            with temporary.open("w", encoding="utf-8", newline="") as file:
                _csv(file, paths, predecessors, progress)
        elif suffix == ".csv.gz":
            with gzip.open(temporary, "wt", encoding="utf-8", newline="", compresslevel=5) as packed:
                _csv(packed, paths, predecessors, progress)
        elif suffix == ".parquet":
            _parquet(temporary, paths, predecessors)
        elif suffix == ".npz":
            _npz(temporary, paths, predecessors)
        else:
            _json(temporary, paths, predecessors)


def _names(graph: Graph, first: int, last: int) -> NDArray[Any]:
    if graph.vertex_names is None:
        return np.arange(first, last)
    return graph.vertex_names[first:last]


def _named(graph: Graph, indices: NDArray[Any]) -> NDArray[Any]:
    """External names of vertex indices; entries below 0 stay meaningless and are masked by callers."""
    return indices if graph.vertex_names is None else graph.vertex_names[np.maximum(indices, 0)]


def _texts(values: NDArray[Any]) -> list[str]:
    """Shortest text that reads back exactly, one an entry; quoted where CSV needs it."""
    if values.dtype == np.float32:
        # The shortest text of the float32 itself, not of the double it widens to.
        return values.astype("U").tolist()  # type: ignore[no-any-return]
    texts = [str(value) for value in values.tolist()]
    if values.dtype.kind in "OUS":
        special = (",", '"', "\n", "\r")
        return [
            '"' + text.replace('"', '""') + '"' if any(c in text for c in special) else text
            for text in texts
        ]
    return texts


def _csv(
    out: TextIO,
    paths: Paths,
    predecessors: bool,
    progress: Callable[[float, float], None] | None,
) -> None:
    graph, distances = paths.graph, paths._host_distances
    n = graph.n_vertices
    empty = unreached_value(distances.dtype)
    before = paths.predecessors if predecessors else None
    out.write("vertex,distance,predecessor\n" if predecessors else "vertex,distance\n")
    for first in range(0, n, _ROWS):
        last = min(first + _ROWS, n)
        part = distances[first:last]
        columns = [_texts(_names(graph, first, last)), _texts(part)]
        for i in np.flatnonzero(part == empty).tolist():
            columns[1][i] = ""
        if before is not None:
            columns.append(_texts(_named(graph, before[first:last])))
            for i in np.flatnonzero(before[first:last] < 0).tolist():
                columns[2][i] = ""
        out.write("\n".join(map(",".join, zip(*columns, strict=True))))
        out.write("\n")
        if progress is not None:
            progress(last, n)


def _facts(paths: Paths) -> dict[str, Any]:
    from nearfar.cli.console import plain

    return {
        "source": paths.graph.name_of(paths.source),
        "limit": plain(paths.stats.get("proof_limit", paths.limit)),
        "engine": paths.engine,
    }


def _parquet(path: Path, paths: Paths, predecessors: bool) -> None:
    import pyarrow

    module = parquet()
    graph, distances = paths.graph, paths._host_distances
    missing = distances == unreached_value(distances.dtype)
    columns = {
        "vertex": pyarrow.array(_names(graph, 0, graph.n_vertices)),
        "distance": pyarrow.array(distances, mask=missing),
    }
    if predecessors:
        before = paths.predecessors
        columns["predecessor"] = pyarrow.array(_named(graph, before), mask=before < 0)
    table = pyarrow.table(columns).replace_schema_metadata({"nearfar": json.dumps(_facts(paths))})
    module.write_table(table, path)


def _npz(path: Path, paths: Paths, predecessors: bool) -> None:
    graph = paths.graph
    names = _names(graph, 0, graph.n_vertices)
    # NumPy would pickle objects, and a pickle is nothing to hand around.
    names = names.astype("U") if names.dtype.kind == "O" else names
    arrays = {"vertex": names, "distance": paths._host_distances}
    if predecessors:
        arrays["predecessor"] = np.asarray(paths.predecessors)
    facts = np.array(json.dumps(_facts(paths)))
    with path.open("wb") as file:
        np.savez(file, facts=facts, **arrays)


def _json(path: Path, paths: Paths, predecessors: bool) -> None:
    graph, distances = paths.graph, paths._host_distances
    data = _facts(paths)
    data["vertex"] = _names(graph, 0, graph.n_vertices).tolist()
    missing = distances == unreached_value(distances.dtype)
    # A float32 keeps its own shortest text; json would write that of the double.
    if distances.dtype == np.float32:
        values: list[Any] = [float(text) for text in distances.astype("U").tolist()]
    else:
        values = distances.tolist()
    for i in np.flatnonzero(missing).tolist():
        values[i] = None
    data["distance"] = values
    if predecessors:
        before = paths.predecessors
        data["predecessor"] = [
            name if index >= 0 else None
            for name, index in zip(_named(graph, before).tolist(), before.tolist(), strict=True)
        ]
    path.write_text(json.dumps(data) + "\n", encoding="utf-8")


# ---- reading back ------------------------------------------------------------------------------


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
                raise GraphFormatError(f"no column {name!r}: a distance table has it", path)
        n = graph.n_vertices
        if len(columns["vertex"]) != n:
            raise GraphFormatError(
                f"{len(columns['vertex']):,} rows, but the graph has {n:,} vertices", path
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
            index = table.get(value)
            if index is None and graph.vertex_names is None:
                try:
                    index = int(value)
                except (TypeError, ValueError):
                    index = None
                if index is not None and not 0 <= index < n:
                    index = None
            if index is None or (index < 0 and what == "vertex"):
                raise GraphFormatError(
                    f"row {row + 1}: {what} {value!r} is not a vertex of the graph", self.path
                )
            out[row] = index
        return out

    def _numbers(self, values: list[Any]) -> NDArray[Any]:
        dtype = self.graph.weight_dtype
        whole = dtype.kind == "i"
        if whole:
            dtype = np.dtype(np.int64)
        read: Callable[[Any], Any] = int if whole else float
        empty = unreached_value(dtype)
        out = np.empty(len(values), dtype=dtype)
        for row, value in enumerate(values):
            try:
                out[row] = empty if value is None or value == "" else read(value)
            except (TypeError, ValueError, OverflowError):
                kind = "whole number" if whole else "number"
                raise GraphFormatError(
                    f"row {row + 1}: distance {value!r} is not a {kind}", self.path
                ) from None
        if not whole or self.graph.weight_dtype == np.int64:
            return out
        reached = out != empty
        if not reached.any() or np.abs(out[reached]).max() < np.iinfo(np.int32).max:
            narrow = np.full(len(out), np.iinfo(np.int32).max, dtype=np.int32)
            narrow[reached] = out[reached]
            return narrow
        return out


def load_answer(path: str, graph: Graph) -> SavedAnswer:
    """Read a distance table that belongs to a graph.

    Raises
    ------
    GraphFormatError
        Where it is not a table of this graph's vertices.
    """
    suffix = suffix_of(path)
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
    return saved


def _read_csv(path: str, suffix: str) -> dict[str, list[Any]]:
    import csv

    opened = gzip.open if suffix == ".csv.gz" else open
    try:
        with opened(path, "rt", encoding="utf-8", newline="") as file:
            lines = csv.reader(file)
            header = next(lines, None)
            if header is None:
                raise GraphFormatError("the file is empty", path)
            table = []
            for row in lines:
                if len(row) != len(header):
                    raise GraphFormatError(
                        f"{len(row)} fields, but the header has {len(header)}", path, lines.line_num
                    )
                table.append(row)
    except (UnicodeDecodeError, csv.Error, EOFError, gzip.BadGzipFile) as error:
        raise GraphFormatError(f"not a CSV table: {error}", path) from None
    transposed = [list(column) for column in zip(*table, strict=True)] or [[] for _ in header]
    return {name.strip(): column for name, column in zip(header, transposed, strict=True)}


def _read_parquet(path: str) -> tuple[dict[str, list[Any]], dict[str, Any]]:
    import pyarrow

    module = parquet()
    try:
        table = module.read_table(path)
    except pyarrow.ArrowInvalid as error:
        raise GraphFormatError(f"not a Parquet table: {error}", path) from None
    facts = (table.schema.metadata or {}).get(b"nearfar", b"{}")
    return {name: table[name].to_pylist() for name in table.column_names}, json.loads(facts)


def _read_npz(path: str, graph: Graph) -> tuple[dict[str, list[Any]], dict[str, Any]]:
    import zipfile

    try:
        with np.load(path, allow_pickle=False) as archive:
            arrays = {name: archive[name] for name in archive.files}
    except (ValueError, EOFError, zipfile.BadZipFile) as error:
        raise GraphFormatError(f"not an NPZ table: {error}", path) from None
    facts = json.loads(str(arrays.pop("facts", "{}")))
    columns = {name: array.tolist() for name, array in arrays.items()}
    if "distance" in arrays:
        distance = arrays["distance"]
        for i in np.flatnonzero(distance == unreached_value(distance.dtype)).tolist():
            columns["distance"][i] = None
    if "predecessor" in arrays:
        columns["predecessor"] = [
            None if i < 0 else graph.name_of(i) if i < graph.n_vertices else i
            for i in columns["predecessor"]
        ]
    return columns, facts


def _read_json(path: str) -> tuple[dict[str, list[Any]], dict[str, Any]]:
    try:
        data = json.loads(Path(path).read_text(encoding="utf-8"))
    except (json.JSONDecodeError, UnicodeDecodeError) as error:
        raise GraphFormatError(f"not JSON: {error}", path) from None
    if not isinstance(data, dict):
        raise GraphFormatError("not a distance table: the top level is no object", path)
    columns = {k: data[k] for k in ("vertex", "distance", "predecessor") if k in data}
    for name, column in columns.items():
        if not isinstance(column, list):
            raise GraphFormatError(f"column {name!r} is no list", path)
    return columns, data
