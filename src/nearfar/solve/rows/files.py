"""Files of distances, written block by block and resumed after an interruption.

A run writes two files: the data (an ``.npy`` that can be memory-mapped, a ``.zarr`` folder, or a
``.parquet`` folder with one file per block) and a manifest ``<name>.manifest.json`` that records
the digest of the graph, the sources, targets, limit, dtype and rows per block, and the CRC-32 of
each finished block. The data of a block is flushed before the manifest lists it, and the manifest
is replaced by a rename, so after a kill every listed block is complete. The same call then checks
the listed blocks, solves the others, and produces the bytes of an uninterrupted run.

The manifest is written before any data, so the next run can resume after a kill at any point. One
process writes at a time (:func:`nearfar.system.output.only_writer`), and incomplete files have
fixed names, so the next run replaces those of a killed one.
"""

from __future__ import annotations

import contextlib
import hashlib
import json
import os
import threading
import zlib
from pathlib import Path
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from nearfar.errors import DistanceOverflowError, OptionError, did_you_mean, keyword, quoted
from nearfar.graph.graph import Graph
from nearfar.solve.rows.row_files import NpyRows, ParquetRows, RowForm, ZarrRows, sync_folder
from nearfar.solve.rows.sinks import Sink
from nearfar.system.output import only_writer, replacing

_VERSION = 1


def _digest(array: NDArray[Any] | None) -> str | None:
    if array is None:
        return None
    return hashlib.sha256(np.ascontiguousarray(array).tobytes()).hexdigest()


def checksum(rows: NDArray[Any]) -> int:
    """Return the CRC-32 of a block of rows."""
    return zlib.crc32(np.ascontiguousarray(rows).reshape(-1).data.cast("B"))


class _Run(Protocol):
    """Run that writes a file: vertex indices of its rows and columns, and other inputs of these."""

    block: int

    @property
    def graph(self) -> Graph: ...
    @property
    def rows(self) -> NDArray[np.int64]: ...
    @property
    def columns(self) -> NDArray[np.int64] | None: ...
    @property
    def limit(self) -> Any: ...
    @property
    def engine(self) -> str: ...


def _is_manifest(known: Any) -> bool:
    """Return whether JSON has the required fields of a :class:`FileSink` manifest."""
    if not isinstance(known, dict) or not isinstance(known.get("blocks"), dict):
        return False
    block = known.get("block")
    return isinstance(block, int) and block > 0 and all(map(str.isdecimal, known["blocks"]))


def finished_blocks(path: str | os.PathLike[str]) -> tuple[int, int] | None:
    """Return the numbers of finished and of all blocks of a run; None without a manifest."""
    data = Path(path)
    manifest = data.with_name(data.name + ".manifest.json")
    try:
        known = json.loads(manifest.read_text(encoding="utf-8"))
    except (OSError, ValueError):
        return None
    if not data.exists() or not _is_manifest(known):
        return None
    return len(known["blocks"]), len(range(0, max(known["shape"][0], 1), known["block"]))


class FileSink(Sink):
    """Sink for ``out=path``; ``further`` values determine the rows and belong to the manifest.

    A Parquet file has one column per distance if there are names for them.
    """

    in_order = True

    def __init__(
        self,
        path: str,
        run: _Run,
        further: dict[str, Any] | None = None,
        column_names: list[str] | None = None,
    ) -> None:
        self.path, self.run = Path(path), run
        self.further, self.column_names = further or {}, column_names
        self.blocks: dict[int, int] = {}
        self._held = contextlib.ExitStack()
        self._one_at_a_time = threading.Lock()  # threads that write the manifest
        if self.path.suffix not in (".npy", ".zarr", ".parquet"):
            near = did_you_mean(os.fspath(path), ("csr", "pandas", "polars", "xarray"))
            raise OptionError(
                f"{keyword('out')} is {quoted(path)}: end it in .npy, .zarr or .parquet{near}"
            )
        self.manifest = self.path.with_name(self.path.name + ".manifest.json")

    def start(self, shape: tuple[int, int], dtype: np.dtype[Any]) -> None:
        """Open the data, keeping the blocks of an interrupted run whose checksums match."""
        named = self.open(shape, dtype)
        for number, found in named.items():
            if self._checksum(number) == found:
                self.keep(number, found)
        if named:
            self.save()

    def open(self, shape: tuple[int, int], dtype: np.dtype[Any]) -> dict[int, int]:
        """Open the data without checking the blocks of an interrupted run."""
        self._held.enter_context(only_writer(self.path))
        self.shape, self.dtype = shape, dtype
        run = self.run
        self.identity = {
            "version": _VERSION,
            "graph": run.graph.digest(),
            "sources": _digest(run.rows),
            "targets": _digest(run.columns),
            "limit": run.limit,
            "shape": list(shape),
            "dtype": dtype.name,
            "names": self._names(),
            **self.further,
        }
        known = self._load()
        if known is not None and not self.path.exists():
            known = None
        if known is not None:
            run.block = int(known["block"])  # block size of the first run
        self.n_blocks = len(range(0, max(shape[0], 1), run.block))
        self.data = self._format()
        if known is not None and self._reopened():
            return {int(name): found for name, found in known["blocks"].items()}
        self.save()
        try:
            self.data.open(True)
        except BaseException:
            if not self.path.exists():
                self.manifest.unlink()
            raise
        return {}

    def _names(self) -> str | None:
        """Return a digest of the row names for Parquet files, which store them."""
        if self.path.suffix != ".parquet" or self.run.graph.vertex_names is None:
            return None
        names = self.run.graph.name_of(self.run.rows).tolist()
        return hashlib.sha256(repr(names).encode("utf-8", "backslashreplace")).hexdigest()

    def _reopened(self) -> bool:
        """Try to open the data of the manifest, and return whether this succeeded."""
        try:
            self.data.open(False)
        except MemoryError:
            raise
        except Exception:  # libraries raise errors of many types for damaged files
            return False
        return True

    def _format(self) -> RowForm:
        if self.path.suffix == ".npy":
            return NpyRows(self.path, self.shape, self.dtype)
        if self.path.suffix == ".zarr":
            return ZarrRows(self.path, self.shape, self.dtype, self.run.block)
        if not self.shape[1]:
            raise OptionError("a .parquet file needs at least one target: give one, or out='x.npy'")
        sources = self.run.graph.name_of(self.run.rows)
        return ParquetRows(self.path, sources, self.n_blocks, self.column_names)

    def _load(self) -> dict[str, Any] | None:
        try:
            known: dict[str, Any] = json.loads(self.manifest.read_text(encoding="utf-8"))
            if not _is_manifest(known):
                raise ValueError
        except FileNotFoundError:
            if self.path.exists():
                raise OptionError(
                    f"{self.path} exists without a manifest: remove it or choose another name"
                ) from None
            return None
        except (ValueError, RecursionError):
            raise OptionError(f"{self.manifest} is damaged: remove it and its data file") from None
        differing = [name for name, value in self.identity.items() if known.get(name) != value]
        if differing:
            raise OptionError(
                f"{self.path} holds another run (different {', '.join(differing)}): "
                "remove it with its manifest, or choose another name"
            )
        return known

    def save(self) -> None:
        """Write the manifest with the blocks finished so far."""
        with self._one_at_a_time:
            content = {
                **self.identity,
                "block": self.run.block,
                "engine": self.run.engine,
                "complete": len(self.blocks) == self.n_blocks,
                "blocks": {str(number): found for number, found in sorted(self.blocks.items())},
            }
            with replacing(self.manifest, sole=True) as place, place.open("wb") as file:
                file.write(json.dumps(content, indent=1).encode())
                file.flush()
                os.fsync(file.fileno())
            sync_folder(self.manifest.parent)

    def _checksum(self, number: int) -> int | None:
        first = number * self.run.block
        count = min(self.run.block, self.shape[0] - first)
        try:
            rows = self.data.read(number, first, count)
        except MemoryError:
            raise
        except Exception:  # libraries raise errors of many types for damaged files
            return None
        return checksum(rows)

    def has(self, number: int) -> bool:
        """Return whether an earlier run finished the block and its checksum matches."""
        return number in self.blocks

    def put(self, number: int, first: int, rows: NDArray[Any]) -> None:
        """Write and flush a block, then list it in the manifest."""
        if rows.dtype != self.dtype:
            raise DistanceOverflowError(
                f"a distance does not fit {self.dtype}: convert the weights to {rows.dtype} first"
            )
        self.data.write(number, first, rows)
        self.keep(number, checksum(rows))
        self.save()

    def keep(self, number: int, found: int) -> None:
        """Record the checksum of a block that has been written and flushed."""
        self.blocks[number] = found

    def finish(self) -> Any:
        """Return a read-only memory map, the Zarr array, or the folder of Parquet files."""
        return self.data.result()

    def close(self) -> None:
        """Release the lock on the file."""
        self._held.close()
