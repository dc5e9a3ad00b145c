"""File formats for rows written block by block: an .npy file, a .zarr or a .parquet folder.

A block is complete when ``write`` returns. :mod:`nearfar.solve.rows.files` records which blocks
are complete.
"""

from __future__ import annotations

import contextlib
import errno
import importlib
import os
from pathlib import Path
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from nearfar.errors import OptionError
from nearfar.graph.libraries import needed
from nearfar.system.output import naming, replacing


def sync_folder(folder: Path) -> None:
    """Flush the directory entries of a folder, so that they survive a loss of power."""
    handle = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)


def _reserve(path: Path) -> None:
    """Allocate the disk space of a mapped file, since writing to a map on a full disk crashes."""
    if not hasattr(os, "posix_fallocate"):
        return
    with path.open("r+b") as file:
        try:
            os.posix_fallocate(file.fileno(), 0, path.stat().st_size)
        except OSError as error:
            if error.errno in (errno.EINVAL, errno.ENOSYS, errno.EOPNOTSUPP):
                return  # the file system does not support it
            raise OSError(
                error.errno,
                f"{error.strerror}: {path.stat().st_size:,} bytes needed",
                os.fspath(path),
            ) from None


class NpyRows:
    """Rows in one ``.npy`` file, memory-mapped."""

    map: Any

    def __init__(self, path: Path, shape: tuple[int, int], dtype: np.dtype[Any]) -> None:
        self.path, self.shape, self.dtype = path, shape, dtype

    def open(self, fresh: bool) -> None:
        """Create the data, or open the existing data."""
        if fresh:
            self._create()
        elif self.shape[0] * self.shape[1] == 0:
            self.map = np.load(self.path)
        else:
            self.map = np.lib.format.open_memmap(self.path, mode="r+")
        if self.map.shape != self.shape or self.map.dtype != self.dtype:
            raise ValueError("another matrix")

    def _create(self) -> None:
        """Create the file under its name only once its disk space is allocated."""
        with contextlib.suppress(FileNotFoundError):
            # So that old and new file need not fit on the disk.
            os.unlink(os.path.realpath(self.path))
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
        """Write a block and flush it."""
        self.map[first : first + len(rows)] = rows
        if hasattr(self.map, "flush"):
            self.map.flush()

    def read(self, number: int, first: int, count: int) -> NDArray[Any]:
        """Return the rows of a block."""
        return np.asarray(self.map[first : first + count])

    def result(self) -> Any:
        """Return a read-only memory map of the file."""
        return np.load(self.path, mmap_mode="r" if self.map.size else None)


class ZarrRows:
    """Rows in a Zarr array with one chunk per block."""

    def __init__(
        self, path: Path, shape: tuple[int, int], dtype: np.dtype[Any], block: int
    ) -> None:
        self.zarr = needed("zarr", "writing .zarr", "dask")
        self.path, self.shape, self.dtype, self.block = path, shape, dtype, block

    def open(self, fresh: bool) -> None:
        """Create the array, or open the existing one as its only writer."""
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
        """Open the existing array, whose other blocks other processes may write."""
        self.array = self.zarr.open(str(self.path), mode="r+")
        if self.array.shape != self.shape or self.array.dtype != self.dtype:
            raise ValueError("another matrix")

    def tidy(self) -> None:
        """Remove partial chunks that a killed writer left."""
        for left in self.path.rglob("*.partial"):
            left.unlink(missing_ok=True)

    def write(self, number: int, first: int, rows: NDArray[Any]) -> None:
        """Write a block; each chunk is written atomically."""
        with naming(self.path):
            self.array[first : first + len(rows)] = rows

    def read(self, number: int, first: int, count: int) -> NDArray[Any]:
        """Return the rows of a block."""
        return np.asarray(self.array[first : first + count])

    def result(self) -> Any:
        """Return the array, read-only."""
        self.tidy()
        return self.zarr.open(str(self.path), mode="r")


class ParquetRows:
    """Rows in a folder with one file per block, each row with the source's name and distances.

    With the names ``columns``, each distance has its own column, and NaN is a missing value.
    """

    def __init__(
        self, path: Path, sources: NDArray[Any], n_blocks: int, columns: list[str] | None = None
    ) -> None:
        pyarrow = needed("pyarrow", "writing .parquet", "tables")
        self.parquet = importlib.import_module("pyarrow.parquet")
        self.arrow, self.path, self.n_blocks, self.columns = pyarrow, path, n_blocks, columns
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
        """Create the folder, or open the existing one."""
        self.path.mkdir(exist_ok=True)
        own = set() if fresh else {self._file(number).name for number in range(self.n_blocks)}
        for name in ("block-*.parquet", ".tmp.block-*.parquet"):  # files of a killed run
            for old in self.path.glob(name):
                if old.name not in own:
                    old.unlink()

    def _file(self, number: int) -> Path:
        return self.path / f"block-{number:06d}.parquet"

    def write(self, number: int, first: int, rows: NDArray[Any]) -> None:
        """Write a block and flush it."""
        part = self.sources[first : first + len(rows)]
        if self.columns is not None:
            made = [self.arrow.array(column, from_pandas=True) for column in rows.T]
            table = self.arrow.table([part, *made], names=["origin", *self.columns])
        else:
            flat = self.arrow.array(np.ascontiguousarray(rows).reshape(-1))
            lists = self.arrow.FixedSizeListArray.from_arrays(flat, rows.shape[1])
            table = self.arrow.table({"source": part, "distances": lists})
        with replacing(self._file(number), sole=True) as place:
            self.parquet.write_table(table, place)
            with open(place, "rb") as handle:
                os.fsync(handle.fileno())
        sync_folder(self.path)

    def read(self, number: int, first: int, count: int) -> NDArray[Any]:
        """Return the rows of a block."""
        table = self.parquet.read_table(self._file(number))
        sources = self.arrow.chunked_array([self.sources[first : first + count]])
        named = "source" if self.columns is None else "origin"
        if not table.column(named).equals(sources):  # a manifest with another block size
            raise ValueError("a block of other rows")
        if self.columns is not None:
            return np.stack([table.column(name).to_numpy() for name in self.columns], axis=1)
        flat = table.column("distances").combine_chunks().flatten().to_numpy()
        found: NDArray[Any] = flat.reshape(count, -1)
        return found

    def result(self) -> Any:
        """Return the folder."""
        return self.path


RowForm: TypeAlias = NpyRows | ZarrRows | ParquetRows


def read_rows(folder: str | os.PathLike[str]) -> tuple[NDArray[Any], NDArray[Any]]:
    """Return sources and distances from a ``.parquet`` folder that :func:`nearfar.distances` wrote.

    Parameters
    ----------
    folder : str or path

    Returns
    -------
    sources : array, shape (k,)
        External names; an object array if they are strings.
    distances : array, shape (k, columns)
        Distances from each source.

    Raises
    ------
    GraphFormatError
        If the folder contains no such files, or a damaged one.
    """
    import pyarrow.parquet

    from nearfar.formats.files import library_errors

    with library_errors(os.fspath(folder), "folder of rows"):
        table = pyarrow.parquet.read_table(sorted(Path(folder).glob("block-*.parquet")))
        flat = table.column("distances").combine_chunks().flatten().to_numpy()
        sources = table.column("source").to_numpy()
        return sources, flat.reshape(len(sources), -1)
