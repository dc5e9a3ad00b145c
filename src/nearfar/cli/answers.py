"""Write distance tables to files atomically: CSV, Parquet, NPZ, JSON.

Columns are ``vertex``, ``distance`` and, on request, ``predecessor``, with one row per vertex in
the graph's order. An unreached vertex has no distance: an empty field, null, or in NPZ the value
that :class:`nearfar.Paths` documents; predecessors are names, and in NPZ positions in ``vertex``.
Floats are written so that they read back exactly. Parquet, NPZ and JSON also carry the source and
the limit; in CSV the source is the vertex at distance 0 without predecessor.
"""

from __future__ import annotations

import gzip
import json
import sys
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any, TextIO

import numpy as np
from numpy.typing import NDArray

from nearfar.cli.console import plain
from nearfar.errors import MissingDependencyError, OptionError
from nearfar.graph.dtypes import unreached_value
from nearfar.system.output import replacing

if TYPE_CHECKING:
    from nearfar.answer.paths import Paths

SUFFIXES = (".csv", ".csv.gz", ".parquet", ".npz", ".json")
_ROWS = 1 << 16


def suffix_of(path: str, what: str = "output") -> str:
    """Return the suffix that names the table format; ``-`` (stdout) is CSV."""
    if path == "-":
        return ".csv"
    for suffix in sorted(SUFFIXES, key=len, reverse=True):
        if path.lower().endswith(suffix):
            return suffix
    raise OptionError(f"{what} {path!r} has no known suffix: use one of {', '.join(SUFFIXES)}")


def parquet() -> Any:
    """Import ``pyarrow.parquet``."""
    try:
        import pyarrow.parquet as module
    except ImportError:
        raise MissingDependencyError(
            "Parquet needs pyarrow: pip install 'nearfar[tables]', or write .csv or .npz"
        ) from None
    return module


def check_output(path: str | None) -> None:
    """Refuse an output that cannot be written, before solving."""
    if path is None or path == "-":
        return
    if suffix_of(path) == ".parquet":
        parquet()
    check_folder(path)


def check_geography(path: str | None) -> None:
    """Refuse an output that is not a geographic file, or that cannot be written."""
    if path is None:
        return
    if not path.lower().endswith((".geojson", ".json", ".gpkg")):
        raise OptionError(f"output {path!r}: end it in .geojson or .gpkg")
    check_folder(path)


def check_folder(path: str) -> None:
    """Refuse ``-``, a folder, and a path whose folder does not exist."""
    if path == "-":
        raise OptionError("output '-': this output cannot go to standard output: name a file")
    folder = Path(path).resolve().parent
    if not folder.is_dir():
        raise OptionError(f"output {path!r}: the folder {folder} does not exist")
    if Path(path).is_dir():
        raise OptionError(f"output {path!r} is a folder: name a file")


def save_answer(
    path: str,
    paths: Paths,
    *,
    predecessors: bool = False,
    progress: Callable[[float, float], None] | None = None,
) -> None:
    """Write the distance table of one answer; ``-`` writes CSV to stdout."""
    suffix = suffix_of(path)
    if path == "-":
        _csv(sys.stdout, paths, predecessors, progress)
        return
    with replacing(path) as temporary:
        if suffix == ".csv":
            with temporary.open("w", encoding="utf-8", newline="") as file:
                _csv(file, paths, predecessors, progress)
        elif suffix == ".csv.gz":
            with gzip.open(temporary, "wt", 5, "utf-8", newline="") as packed:
                _csv(packed, paths, predecessors, progress)
        elif suffix == ".parquet":
            _parquet(temporary, paths, predecessors)
        elif suffix == ".npz":
            _npz(temporary, paths, predecessors)
        else:
            _json(temporary, paths, predecessors)


def _columns(
    paths: Paths, predecessors: bool, first: int = 0, last: int | None = None
) -> dict[str, tuple[NDArray[Any], NDArray[np.bool_]]]:
    """Return the values of each column and which are missing, for a range of vertices."""
    distances, name_of = paths._host_distances[first:last], paths.graph.name_of
    names = name_of(np.arange(first, first + len(distances)))
    missing = distances == unreached_value(distances.dtype)
    found = {"vertex": (names, np.zeros_like(missing)), "distance": (distances, missing)}
    if predecessors:
        before = np.asarray(paths.predecessors)[first:last]
        found["predecessor"] = name_of(np.maximum(before, 0)), before < 0
    return found


def _texts(values: NDArray[Any]) -> list[str]:
    """Return the shortest text per entry that reads back exactly, quoted where CSV needs it."""
    if values.dtype == np.float32:
        # The shortest text of the float32 itself, not of the double that it widens to.
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
    out: TextIO, paths: Paths, predecessors: bool, progress: Callable[[float, float], None] | None
) -> None:
    n = paths.graph.n_vertices
    out.write("vertex,distance,predecessor\n" if predecessors else "vertex,distance\n")
    for first in range(0, n, _ROWS):
        last = min(first + _ROWS, n)
        columns = []
        for values, missing in _columns(paths, predecessors, first, last).values():
            columns.append(_texts(values))
            for i in np.flatnonzero(missing).tolist():
                columns[-1][i] = ""
        out.write("\n".join(map(",".join, zip(*columns, strict=True))))
        out.write("\n")
        if progress is not None:
            progress(last, n)


def _facts(paths: Paths) -> dict[str, Any]:
    return {
        "source": paths.source,
        "limit": plain(paths.stats.get("proof_limit", paths.limit)),
        "engine": paths.engine,
    }


def _parquet(path: Path, paths: Paths, predecessors: bool) -> None:
    import pyarrow

    module = parquet()
    columns = {
        name: pyarrow.array(values, mask=missing)
        for name, (values, missing) in _columns(paths, predecessors).items()
    }
    table = pyarrow.table(columns).replace_schema_metadata({"nearfar": json.dumps(_facts(paths))})
    module.write_table(table, path)


def _npz(path: Path, paths: Paths, predecessors: bool) -> None:
    columns = _columns(paths, predecessors)
    arrays: dict[str, Any] = {name: values for name, (values, _) in columns.items()}
    if predecessors:
        arrays["predecessor"] = np.asarray(paths.predecessors)
    # NumPy would pickle objects, and pickles are unsafe to exchange.
    if arrays["vertex"].dtype.kind == "O":
        arrays["vertex"] = arrays["vertex"].astype("U")
    facts = np.array(json.dumps(_facts(paths)))
    with path.open("wb") as file:
        np.savez(file, facts=facts, **arrays)


def _json(path: Path, paths: Paths, predecessors: bool) -> None:
    data = _facts(paths)
    for name, (values, missing) in _columns(paths, predecessors).items():
        listed: list[Any] = values.tolist()
        # A float32 keeps its own shortest text; json would write that of the double.
        if name == "distance" and values.dtype == np.float32:
            listed = [float(text) for text in values.astype("U").tolist()]
        for i in np.flatnonzero(missing).tolist():
            listed[i] = None
        data[name] = listed
    path.write_text(json.dumps(data) + "\n", encoding="utf-8")
