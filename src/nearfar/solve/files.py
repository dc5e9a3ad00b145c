"""Distances written to disk block by block, and continued after an interruption.

A run leaves two things: the data (an ``.npy`` that can be memory-mapped, a ``.zarr`` folder, or a
``.parquet`` folder with one file per block) and a manifest ``<name>.manifest.json`` that says what
the data belongs to - digest of the graph, sources, targets, limit, dtype, rows per block - and for
each finished block its CRC-32. A block's data is flushed before the manifest names it, and the
manifest is replaced by a rename, so after a kill every block it names is whole. The same call then
checks the blocks that are named, solves the others, and gives the bytes that an undisturbed run
would have given.

The manifest comes first, before any data, so a kill at any point leaves what the next run can go
on from. One process writes at a time (:func:`nearfar.system.output.only_writer`), and what is not
whole yet has one fixed name, so the next run replaces what a killed one left.
"""

from __future__ import annotations

import contextlib
import errno
import hashlib
import json
import os
import threading
import zlib
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol

import numpy as np

from nearfar.errors import (
    DistanceOverflowError,
    MissingDependencyError,
    OptionError,
    did_you_mean,
    quoted,
)
from nearfar.system.output import naming, only_writer, replacing

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from nearfar.graph.graph import Graph

__all__ = ["FileSink", "Written", "ZarrRows", "checksum", "kept_blocks", "read_rows"]

_VERSION = 1


def _digest(array: NDArray[Any] | None) -> str | None:
    if array is None:
        return None
    return hashlib.sha256(np.ascontiguousarray(array).tobytes()).hexdigest()


def checksum(rows: NDArray[Any]) -> int:
    """CRC-32 of a block of rows."""
    return zlib.crc32(np.ascontiguousarray(rows).reshape(-1).data.cast("B"))


def _sync_folder(folder: Path) -> None:
    handle = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)


def _reserve(path: Path) -> None:
    """Take a mapped file's disk space now: writing to a map on a full disk kills the process.

    Raises
    ------
    OSError
        If the disk has no room for the file.
    """
    if not hasattr(os, "posix_fallocate"):
        return
    with path.open("r+b") as file:
        try:
            os.posix_fallocate(file.fileno(), 0, path.stat().st_size)
        except OSError as error:
            if error.errno in (errno.EINVAL, errno.ENOSYS, errno.EOPNOTSUPP):
                return  # this file system cannot
            raise OSError(
                error.errno,
                f"{error.strerror}: {path.stat().st_size:,} bytes needed",
                os.fspath(path),
            ) from None


class Written(Protocol):
    """What a run that is written says of itself."""

    block: int

    @property
    def graph(self) -> Graph:
        """Where the distances are."""

    @property
    def rows(self) -> NDArray[np.int64]:
        """Vertex indices of the sources."""

    @property
    def columns(self) -> NDArray[np.int64] | None:
        """Vertex indices of the targets."""

    @property
    def limit(self) -> Any:
        """The inclusive limit, or None."""

    @property
    def engine(self) -> str:
        """What solves, in a word."""


class _Format(Protocol):
    def open(self, fresh: bool) -> None: ...
    def write(self, number: int, first: int, rows: NDArray[Any]) -> None: ...
    def read(self, number: int, first: int, count: int) -> NDArray[Any]: ...
    def result(self) -> Any: ...


class _Npy:
    """One ``.npy`` file, memory-mapped."""

    map: Any

    def __init__(self, path: Path, shape: tuple[int, int], dtype: np.dtype[Any]) -> None:
        self.path, self.shape, self.dtype = path, shape, dtype

    def open(self, fresh: bool) -> None:
        if fresh:
            self._create()
        elif self.shape[0] * self.shape[1] == 0:
            self.map = np.load(self.path)
        else:
            self.map = np.lib.format.open_memmap(self.path, mode="r+")
        if self.map.shape != self.shape or self.map.dtype != self.dtype:
            raise ValueError("another matrix")

    def _create(self) -> None:
        """The file takes its name once it has its disk space; until then nothing is kept of it."""
        with contextlib.suppress(FileNotFoundError):
            os.unlink(os.path.realpath(self.path))  # so that both need not fit on the disk
        with replacing(self.path, sole=True) as place:
            if self.shape[0] * self.shape[1] == 0:
                self.map = np.empty(self.shape, self.dtype)
                np.save(place, self.map)
                return
            try:
                self.map = np.lib.format.open_memmap(
                    place, mode="w+", dtype=self.dtype, shape=self.shape
                )
            except OSError as error:
                if error.errno != errno.ENOMEM:
                    raise
                raise MemoryError(
                    f"{place.stat().st_size:,} bytes of {self.path} cannot be mapped: raise the "
                    "limit of address space (ulimit -v), or write .zarr or .parquet"
                ) from None
            _reserve(place)

    def write(self, number: int, first: int, rows: NDArray[Any]) -> None:
        self.map[first : first + len(rows)] = rows
        if hasattr(self.map, "flush"):
            self.map.flush()

    def read(self, number: int, first: int, count: int) -> NDArray[Any]:
        return np.asarray(self.map[first : first + count])

    def result(self) -> Any:
        return np.load(self.path, mmap_mode="r" if self.map.size else None)


class ZarrRows:
    """A Zarr array with one chunk per block.

    Parameters
    ----------
    path : Path
    shape : tuple of int
    dtype : dtype
    block : int
        Rows per block.

    Raises
    ------
    MissingDependencyError
        Without zarr.
    """

    def __init__(
        self, path: Path, shape: tuple[int, int], dtype: np.dtype[Any], block: int
    ) -> None:
        try:
            import zarr
        except ImportError:
            raise MissingDependencyError(
                "writing .zarr needs zarr: pip install 'nearfar[dask]'"
            ) from None
        self.zarr, self.path, self.shape, self.dtype, self.block = zarr, path, shape, dtype, block

    def open(self, fresh: bool) -> None:
        """Make the array, or open the one that is there for the only writer."""
        self.array: Any
        if not fresh:
            self.join()
            self.tidy()
            return
        chunks = (max(self.block, 1), max(self.shape[1], 1))
        self.array = self.zarr.open(
            str(self.path), mode="w", shape=self.shape, chunks=chunks, dtype=self.dtype
        )

    def join(self) -> None:
        """Open the array that is there; others may write other blocks."""
        self.array = self.zarr.open(str(self.path), mode="r+")
        if self.array.shape != self.shape or self.array.dtype != self.dtype:
            raise ValueError("another matrix")

    def tidy(self) -> None:
        """Remove what a writer left of the chunks that it was at when it was killed."""
        for left in self.path.rglob("*.partial"):
            left.unlink(missing_ok=True)

    def write(self, number: int, first: int, rows: NDArray[Any]) -> None:
        """Write a block; a chunk appears whole or not at all."""
        with naming(self.path):
            self.array[first : first + len(rows)] = rows

    def read(self, number: int, first: int, count: int) -> NDArray[Any]:
        """The rows of a block."""
        return np.asarray(self.array[first : first + count])

    def result(self) -> Any:
        """The array, read-only."""
        self.tidy()
        return self.zarr.open(str(self.path), mode="r")


class _Parquet:
    """A folder with one file per block; a row holds its source's name and the list of distances."""

    def __init__(self, path: Path, sources: NDArray[Any], n_blocks: int) -> None:
        try:
            import pyarrow
            import pyarrow.parquet
        except ImportError:
            raise MissingDependencyError(
                "writing .parquet needs pyarrow: pip install 'nearfar[tables]'"
            ) from None
        self.arrow, self.path, self.n_blocks = pyarrow, path, n_blocks
        try:
            self.sources = pyarrow.array(sources.tolist() if sources.dtype.kind == "O" else sources)
            plain = not pyarrow.types.is_nested(self.sources.type)
        except pyarrow.ArrowException:
            plain = False
        if not plain:
            raise OptionError(
                "a .parquet column cannot hold the names of these sources: give "
                "graph.without_names(), or out='name.npy'"
            )

    def open(self, fresh: bool) -> None:
        self.path.mkdir(exist_ok=True)
        own = set() if fresh else {self._file(number).name for number in range(self.n_blocks)}
        for name in ("block-*.parquet", ".tmp.block-*.parquet"):  # the latter from a kill
            for old in self.path.glob(name):
                if old.name not in own:
                    old.unlink()

    def _file(self, number: int) -> Path:
        return self.path / f"block-{number:06d}.parquet"

    def write(self, number: int, first: int, rows: NDArray[Any]) -> None:
        flat = self.arrow.array(np.ascontiguousarray(rows).reshape(-1))
        table = self.arrow.table(
            {
                "source": self.sources[first : first + len(rows)],
                "distances": self.arrow.FixedSizeListArray.from_arrays(flat, rows.shape[1]),
            }
        )
        with replacing(self._file(number), sole=True) as place:
            self.arrow.parquet.write_table(table, place)
            with open(place, "rb") as handle:
                os.fsync(handle.fileno())
        _sync_folder(self.path)

    def read(self, number: int, first: int, count: int) -> NDArray[Any]:
        table = self.arrow.parquet.read_table(self._file(number))
        sources = self.arrow.chunked_array([self.sources[first : first + count]])
        if not table.column("source").equals(sources):  # a manifest with another block size
            raise ValueError("a block of other rows")
        flat = table.column("distances").combine_chunks().flatten().to_numpy()
        found: NDArray[Any] = flat.reshape(count, -1)
        return found

    def result(self) -> Any:
        return self.path


def _is_manifest(known: Any) -> bool:
    """Whether JSON is what :class:`FileSink` writes, so far as it relies on it."""
    if not isinstance(known, dict) or not isinstance(known.get("blocks"), dict):
        return False
    block = known.get("block")
    return isinstance(block, int) and block > 0 and all(map(str.isdecimal, known["blocks"]))


def kept_blocks(path: str | os.PathLike[str]) -> tuple[int, int] | None:
    """Finished blocks of an interrupted run, and how many it has; None where nothing is kept.

    Parameters
    ----------
    path : str or path
        The data; its manifest lies beside it.
    """
    data = Path(path)
    manifest = data.with_name(data.name + ".manifest.json")
    try:
        known = json.loads(manifest.read_text(encoding="utf-8"))
    except (OSError, ValueError):
        return None
    if not data.exists() or not _is_manifest(known):
        return None
    return len(known["blocks"]), len(range(0, max(known["shape"][0], 1), known["block"]))


class FileSink:
    """The sink for ``out=path``.

    Parameters
    ----------
    path : str
        Ends in ``.npy``, ``.zarr`` or ``.parquet``.
    run : Written
        What is being written; names the data in the manifest.

    Raises
    ------
    OptionError
        For another ending, or when the manifest beside the path belongs to other data.
    """

    on_device = False

    def __init__(self, path: str, run: Written) -> None:
        self.path, self.run = Path(path), run
        self.manifest = self.path.with_name(self.path.name + ".manifest.json")
        self.blocks: dict[int, int] = {}
        self._held = contextlib.ExitStack()
        self._one_at_a_time = threading.Lock()  # of those that write the manifest
        if self.path.suffix not in (".npy", ".zarr", ".parquet"):
            near = did_you_mean(os.fspath(path), ("csr", "pandas", "polars", "xarray"))
            raise OptionError(f"out is {quoted(path)}: end it in .npy, .zarr or .parquet{near}")

    def start(self, shape: tuple[int, int], dtype: np.dtype[Any]) -> None:
        """Open the data, and keep of an interrupted run what its checksums confirm.

        Raises
        ------
        OptionError, OSError
            As :meth:`open`.
        """
        named = self.open(shape, dtype)
        for number, found in named.items():
            if self._checksum(number) == found:
                self.keep(number, found)
        if named:
            self.save()

    def open(self, shape: tuple[int, int], dtype: np.dtype[Any]) -> dict[int, int]:
        """Open the data, and trust nothing of an interrupted run yet.

        Returns
        -------
        dict of int to int
            Checksums of the blocks that the manifest names.

        Raises
        ------
        OptionError
            If another writer is at work, or the manifest belongs to other data.
        OSError
            If there is no room; nothing is left of a file that did not fit.
        """
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
        }
        known = self._load()
        fresh = known is None or not self.path.exists()
        if known is not None and not fresh:
            run.block = int(known["block"])  # the blocks of the first run, whatever memory is now
        self.n_blocks = len(range(0, max(shape[0], 1), run.block))
        self.data = self._format()
        fresh = fresh or not self._reopened()
        if fresh:
            self.save()
            try:
                self.data.open(True)
            except BaseException:
                if not self.path.exists():
                    self.manifest.unlink()
                raise
            return {}
        return {int(name): found for name, found in (known or {"blocks": {}})["blocks"].items()}

    def _names(self) -> str | None:
        """A digest of the names that rows are kept under, which only Parquet keeps."""
        if self.path.suffix != ".parquet" or self.run.graph.vertex_names is None:
            return None
        names = self.run.graph.name_of(self.run.rows).tolist()
        return hashlib.sha256(repr(names).encode("utf-8", "backslashreplace")).hexdigest()

    def _reopened(self) -> bool:
        """Whether the data beside the manifest could be opened; if not, it is written anew."""
        try:
            self.data.open(False)
        except MemoryError:
            raise
        except Exception:  # whatever a library says of a damaged file
            return False
        return True

    def _format(self) -> _Format:
        if self.path.suffix == ".npy":
            return _Npy(self.path, self.shape, self.dtype)
        if self.path.suffix == ".zarr":
            return ZarrRows(self.path, self.shape, self.dtype, self.run.block)
        return _Parquet(self.path, self.run.graph.name_of(self.run.rows), self.n_blocks)

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
            raise OptionError(
                f"{self.manifest} is damaged: remove it and the data beside it"
            ) from None
        differing = [name for name, value in self.identity.items() if known.get(name) != value]
        if differing:
            raise OptionError(
                f"{self.path} holds another run (different {', '.join(differing)}): "
                "remove it with its manifest, or choose another name"
            )
        return known

    def save(self) -> None:
        """Write the manifest of the blocks that are kept so far."""
        with self._one_at_a_time:
            self._save()

    def _save(self) -> None:
        text = json.dumps(
            {
                **self.identity,
                "block": self.run.block,
                "engine": self.run.engine,
                "complete": len(self.blocks) == self.n_blocks,
                "blocks": {str(number): found for number, found in sorted(self.blocks.items())},
            },
            indent=1,
        )
        with (
            replacing(self.manifest, sole=True) as place,
            place.open("w", encoding="utf-8") as file,
        ):
            file.write(text)
            file.flush()
            os.fsync(file.fileno())
        _sync_folder(self.manifest.parent)

    def _checksum(self, number: int) -> int | None:
        first = number * self.run.block
        count = min(self.run.block, self.shape[0] - first)
        try:
            rows = self.data.read(number, first, count)
        except MemoryError:
            raise
        except Exception:  # whatever a library says of a damaged file
            return None
        return checksum(rows)

    def has(self, number: int) -> bool:
        """Whether an earlier run finished the block and its checksum holds."""
        return number in self.blocks

    def memory(self, first: int, count: int) -> NDArray[Any] | None:
        """Rows are solved into memory of their own, so that the file holds whole blocks."""
        return None

    def put(self, number: int, first: int, rows: NDArray[Any]) -> None:
        """Write a block, flush it, and only then name it in the manifest."""
        if rows.dtype != self.dtype:
            raise DistanceOverflowError(
                f"a distance does not fit {self.dtype}: convert the weights to {rows.dtype} first"
            )
        self.data.write(number, first, rows)
        self.keep(number, checksum(rows))
        self.save()

    def keep(self, number: int, found: int) -> None:
        """Remember the checksum of a block that is written and flushed."""
        self.blocks[number] = found

    def finish(self) -> Any:
        """A read-only memory map, the Zarr array, or the folder of Parquet files."""
        return self.data.result()

    def close(self) -> None:
        """Let the next writer in."""
        self._held.close()


def read_rows(folder: str | os.PathLike[str]) -> tuple[NDArray[Any], NDArray[Any]]:
    """Sources and distances from a ``.parquet`` folder that :func:`nearfar.distances` wrote.

    Parameters
    ----------
    folder : str or path

    Returns
    -------
    sources : array, shape (k,)
        External names; objects where they are texts.
    distances : array, shape (k, columns)

    Raises
    ------
    GraphFormatError
        If the folder holds no such files, or a damaged one.
    """
    import pyarrow.parquet

    from nearfar.formats.files import library_errors

    with library_errors(os.fspath(folder), "folder of rows"):
        table = pyarrow.parquet.read_table(sorted(Path(folder).glob("block-*.parquet")))
        flat = table.column("distances").combine_chunks().flatten().to_numpy()
        sources = table.column("source").to_numpy()
        return sources, flat.reshape(len(sources), -1)
