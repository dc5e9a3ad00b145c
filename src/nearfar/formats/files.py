"""Input and output of bytes: compression, memory mapping, atomic replacement, progress, errors.

A reader gets a :class:`Source` and a writer a :class:`Sink`, which handle compression.
"""

from __future__ import annotations

import contextlib
import functools
import io
import os
import re
import stat
import time
import warnings
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from numbers import Real
from typing import TYPE_CHECKING, Any, BinaryIO

import numpy as np
from numpy.typing import NDArray

from nearfar.errors import (
    GraphError,
    GraphFormatError,
    MissingDependencyError,
    OptionError,
    OutOfMemoryError,
    keyword,
    quoted,
)
from nearfar.formats.compression import (
    COMPRESSIONS,
    compression_of,
    gathered,
    packer,
    split_suffix,
    unpacked,
)
from nearfar.graph.graph import Graph
from nearfar.options import file_name
from nearfar.system import output
from nearfar.system.memory import free_memory, shortage

if TYPE_CHECKING:
    Progress = Callable[[str, int, int], None]

_HEAD = 1 << 16
_SLICE = 1 << 18
_MARK = b"\xef\xbb\xbf"
_CHUNK = 1 << 22
_PAUSE = 0.05  # seconds between two reports of progress
_MODEST = 256 << 20  # bytes that a file of any size may unpack to
_RATIO = 200  # highest plausible compression; text of grids and paths reaches 100
_VISIBLE = b"\t\r" + bytes(range(32, 256))


class Source:
    """Input file: its name, its uncompressed bytes, and a callback for progress."""

    def __init__(
        self,
        path: str | os.PathLike[str],
        progress: Progress | None = None,
        max_unpacked: int | None = None,
    ) -> None:
        if max_unpacked is not None and not (
            isinstance(max_unpacked, Real) and 0 < max_unpacked < float("inf")
        ):
            raise OptionError(f"max_unpacked is {quoted(max_unpacked)}: give a number of bytes")
        self._max_unpacked = max_unpacked
        self.path = file_name(path)
        self.suffix, packed = split_suffix(self.path)
        self._progress = progress
        self._data: NDArray[np.uint8] | None = None
        self._next_tell = 0.0
        if not self.path:
            raise OptionError("the name of the graph file is empty: give a file")
        if os.path.isdir(self.path):
            raise GraphFormatError("this is a folder: give a file", self.path)
        try:
            status = os.stat(self.path)
            self.regular = stat.S_ISREG(status.st_mode)
            self.size = status.st_size
            with open(self.path, "rb") as file:
                if self.regular:
                    first = file.read(_HEAD)
                else:
                    self._data = self._whole_stream(file)
                    first = self._data[:_HEAD].tobytes()
        except FileNotFoundError:
            raise GraphFormatError("there is no such file", self.path) from None
        except OSError as error:
            raise GraphFormatError(
                f"it cannot be opened: {error.strerror or error}", self.path
            ) from None
        except ValueError as error:  # a NUL character in the name
            raise GraphFormatError(f"it cannot be opened: {error}", self.path) from None
        if not first:
            raise GraphFormatError("the file is empty", self.path)
        found = compression_of(first)
        promised = COMPRESSIONS.get(packed)
        if promised is not None and found != promised:
            raise GraphFormatError(
                f"the name ends in {packed}, but the content is not {promised}", self.path
            )
        self.compression = found
        if found is not None:
            self._data = self._decompress(self._data)
            first = self._data[:_HEAD].tobytes()
            if not first:
                raise GraphFormatError("the file is empty inside its compression", self.path)
        self.head = self._plain_text(first)

    @property
    def data(self) -> NDArray[np.uint8]:
        """Return the bytes, shape (size,), read-only: decompressed, or mapped from the file."""
        if self._data is None:
            self._data = np.memmap(self.path, dtype=np.uint8, mode="r")
        return self._data

    def _plain_text(self, head: bytes) -> bytes:
        """Return the head without a byte order mark, and with LF for lines that end in CR.

        No binary format begins with such a mark or has no control character.
        """
        if head.startswith((b"\xff\xfe", b"\xfe\xff")):
            raise GraphFormatError("this is UTF-16 text: save it as UTF-8", self.path)
        if head.startswith(_MARK):
            self._data = self.data[len(_MARK) :]
            head = head[len(_MARK) :]
            if not head:
                raise GraphFormatError("the file is empty", self.path)
        if b"\r" in head and not head.translate(None, _VISIBLE) and not (self.data == 10).any():
            self._data = np.where(self.data == 13, np.uint8(10), self.data)
            head = head.replace(b"\r", b"\n")
        return head

    @property
    def mapped(self) -> bool:
        """Whether :attr:`data` is a mapping of the file."""
        return isinstance(self.data, np.memmap)

    def keep(self) -> None:
        """Read the file into memory, so that later changes of the file have no effect."""
        self._data = np.fromfile(self.path, dtype=np.uint8)
        self._data.flags.writeable = False

    def progress(self, stage: str = "parse") -> Callable[[int, int], None] | None:
        """Return the user's callback for one stage, in the form of the C++ parsers."""
        tell = self._progress
        return None if tell is None else lambda done, total: tell(stage, done, total)

    def fail(self, message: str, line: int | None = None) -> GraphFormatError:
        """Return an error that names this file."""
        return GraphFormatError(message, self.path, line)

    def check_vertices(self, n: int, line: int | None = None) -> None:
        """Refuse a vertex count that is impossible for the file's size, before allocation."""
        if n > max(1 << 24, 64 * self.data.size):
            raise self.fail(f"{n} vertices promised in a file of {self.data.size} bytes", line)

    def room(self, packed: int | None = None) -> int:
        """Return the maximum size of unpacked content; ``packed`` is its size in the file."""
        if self._max_unpacked is not None:
            return int(self._max_unpacked)
        room = free_memory() // 2  # the graph needs memory too
        return room if packed is None else min(room, max(_MODEST, _RATIO * packed))

    def too_large(self, what: str, packed: int | None = None) -> GraphFormatError:
        """Return an error that says how to read content above :meth:`room`."""
        limit = self.room(packed)
        times = "" if packed is None else f", {limit // max(packed, 1):,} times its size"
        return self.fail(
            f"{what} holds more than {limit:,} bytes{times}: if that is right, raise the limit by "
            f"{keyword('max_unpacked', ...)}"
        )

    def _whole_stream(self, file: BinaryIO) -> NDArray[np.uint8]:
        try:
            whole = gathered(iter(lambda: file.read(_CHUNK), b""), self.room())
        except OverflowError:
            raise self.too_large("the stream") from None
        return np.frombuffer(memoryview(whole).toreadonly(), dtype=np.uint8)

    def _decompress(self, already: NDArray[np.uint8] | None) -> NDArray[np.uint8]:
        name = str(self.compression)
        packed = self.size if already is None else already.size
        try:
            with self._raw(already) as file:
                tell = functools.partial(self._tell, file)
                whole = unpacked(file, name, self.room(packed), tell)
                return np.frombuffer(memoryview(whole).toreadonly(), dtype=np.uint8)
        except OverflowError:
            raise self.too_large(f"the {name} stream", packed) from None
        except ValueError as error:
            raise GraphFormatError(
                f"the {name} stream is damaged or cut short: {error}", self.path
            ) from None

    def _tell(self, file: BinaryIO) -> None:
        if self._progress is None or not self.size or time.monotonic() < self._next_tell:
            return
        self._next_tell = time.monotonic() + _PAUSE
        self._progress("decompress", min(file.tell(), self.size), self.size)

    def _raw(self, already: NDArray[np.uint8] | None) -> BinaryIO:
        return open(self.path, "rb") if already is None else io.BytesIO(already.tobytes())


class Sink:
    """Binary file object of a writer, with progress.

    Attributes
    ----------
    path : str
        Final name, for messages.
    file : binary file object
        File object that compresses.
    """

    def __init__(self, path: str, file: BinaryIO, progress: Progress | None) -> None:
        self.path, self.file, self._progress = path, file, progress

    def write(self, data: bytes | memoryview) -> None:
        """Append bytes in slices, so that Ctrl-C interrupts a compressor."""
        view = memoryview(data)
        for start in range(0, len(view), _SLICE):
            self.file.write(view[start : start + _SLICE])

    def tell(self, done: int, total: int) -> None:
        """Report progress in edges."""
        if self._progress is not None:
            self._progress("write", done, total)

    def fail(self, message: str) -> GraphFormatError:
        """Return an error that names this file."""
        return GraphFormatError(message, self.path)


def warn_of_lost(graph: Graph, sink: Sink) -> None:
    """Warn of vertices without edges that a list of edges does not hold."""
    isolated = graph.degrees == 0
    isolated[graph.indices] = False
    lost = int(np.count_nonzero(isolated))
    if graph.vertex_numbers is not None and lost < graph.n_vertices:
        lost = int(np.argmin(isolated[::-1]))  # below the largest end, numbers imply vertices
    if lost:
        some = "1 vertex has" if lost == 1 else f"{lost:,} vertices have"
        warnings.warn(
            f"{sink.path}: {some} no edge, and a list of edges omits them: write .nfg to keep all",
            stacklevel=4,
        )


def distinct_texts(graph: Graph, sink: Sink) -> list[str]:
    """Return the vertex names as text, refusing names that text would merge."""
    graph._check_distinct_names("this format")
    texts = [str(name) for name in graph.name_of(np.arange(graph.n_vertices)).tolist()]
    if len(set(texts)) < len(texts):
        twice = next(text for text, count in Counter(texts).items() if count > 1)
        raise sink.fail(
            f"two vertices would be called {quoted(twice)}: this format stores names as text"
        )
    return texts


@contextlib.contextmanager
def replacing(path: str, progress: Progress | None = None) -> Iterator[Sink]:
    """Write to a temporary name in the same folder, and rename on success.

    Readers of ``path`` see the old file or the complete new one. The suffix determines the
    compression.
    """
    try:
        with (
            output.replacing(path) as place,
            place.open("wb") as raw,
            packer(raw, split_suffix(path)[1]) as file,
        ):
            yield Sink(path, file, progress)
    except IsADirectoryError:
        raise GraphFormatError("this is a folder: give a file name", path) from None
    except OSError as error:
        raise GraphFormatError(f"it cannot be written: {error.strerror or error}", path) from error
    except ValueError as error:
        if "\0" not in path:
            raise
        raise GraphFormatError(f"it cannot be written: {error}", path) from None


def chunks_of_rows(graph: Graph) -> Iterator[tuple[int, int, int]]:
    """Yield the ranges of vertices with about a million edges each: (first, last, edges so far)."""
    n, first, edges = graph.n_vertices, 0, 1 << 20
    while first < n:
        goal = int(graph.indptr[first]) + edges
        last = int(np.searchsorted(graph.indptr, goal, side="right")) - 1
        last = min(max(last, first + 1), n, first + edges)
        yield first, last, int(graph.indptr[last])
        first = last


def narrowed(values: NDArray[Any]) -> NDArray[Any]:
    """Return integers of a text file in int32 if all of them fit; other values unchanged."""
    limit = np.iinfo(np.int32)
    if values.dtype != np.int64 or (
        values.size and (values.min() < limit.min or values.max() > limit.max)
    ):
        return values
    return values.astype(np.int32)


def array_of_names(texts: Sequence[str]) -> NDArray[np.str_]:
    """Return vertex names as an array, in which every name takes the space of the longest."""
    needed = 4 * len(texts) * max(map(len, texts), default=0)
    if (free := shortage(needed)) is not None:
        raise OutOfMemoryError(
            needed, free, "every vertex name takes as much memory as the longest one"
        )
    return np.array(texts, dtype=np.str_)


@contextlib.contextmanager
def library_errors(path: str, what: str, *, writing: bool = False) -> Iterator[None]:
    """Convert errors of a parser library to :class:`GraphFormatError`, with the line.

    Errors of nearfar, lack of memory or disk space, and Ctrl-C pass through.
    """
    try:
        yield
    except (GraphFormatError, MissingDependencyError, OptionError, MemoryError):
        raise
    except Exception as error:
        if writing and isinstance(error, OSError):
            raise
        text = " ".join(str(error).split()) or type(error).__name__
        match = re.search(r"[Ll]ine (\d+)", text)
        line = int(match.group(1)) if match else None
        wrong = f"a {what} file cannot hold this" if writing else f"not a valid {what} file"
        raise GraphFormatError(f"{wrong}: {text[:300]}", path, line) from None


@contextlib.contextmanager
def finish(path: str) -> Iterator[None]:
    """Return a context that adds the file's name to errors of parsers and of graph checks."""
    try:
        yield
    except GraphFormatError as error:
        if error.path is not None:
            raise
        raise GraphFormatError(error.message, path, error.line) from None
    except GraphError as error:
        raise GraphFormatError(str(error), path) from None
