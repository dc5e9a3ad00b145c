"""Compressed streams: detection by name or first bytes, unpacking at once, packing on the fly.

A few kilobytes can unpack to terabytes, so callers give a limit.
"""

from __future__ import annotations

import bz2
import contextlib
import gzip
import lzma
import os
import re
import zlib
from collections.abc import Callable, Iterable, Iterator
from typing import Any, BinaryIO

from nearfar.errors import MissingDependencyError

COMPRESSIONS = {".gz": "gzip", ".xz": "xz", ".zst": "zstandard", ".bz2": "bzip2"}
_MAGIC = {
    "gzip": re.compile(rb"\x1f\x8b"),
    "xz": re.compile(rb"\xfd7zXZ\x00"),
    "zstandard": re.compile(rb"\x28\xb5\x2f\xfd"),
    "bzip2": re.compile(rb"BZh[1-9](1AY&SY|\x17rE8P\x90)"),
}
_CHUNK = 1 << 22
_ZSTD_STEP = 1 << 12  # bytes per call, which unpacks all of its input: 4 bytes can be 128 KiB


def import_extra(module: str, extra: str, what: str) -> Any:
    """Import an optional package, or raise an error that names the pip extra with it."""
    import importlib

    try:
        return importlib.import_module(module)
    except ImportError:
        raise MissingDependencyError(
            f"{what} needs the package {module.partition('.')[0]}: pip install 'nearfar[{extra}]'"
        ) from None


def split_suffix(path: str | os.PathLike[str]) -> tuple[str, str]:
    """Split a name into format and compression suffix: ``("x.gr.XZ") -> (".gr", ".xz")``."""
    name = os.path.basename(os.fspath(path)).lower()
    stem, last = os.path.splitext(name)
    packed = last if last in COMPRESSIONS else ""
    if packed:
        stem, last = os.path.splitext(stem)
    return last, packed


def compression_of(head: bytes) -> str | None:
    """Return the compression that the first bytes of a file indicate, or None."""
    return next((name for name, magic in _MAGIC.items() if magic.match(head)), None)


def unpacked(file: BinaryIO, name: str, limit: int, tell: Callable[[], None]) -> bytearray:
    """Return the content of a compressed stream; call ``tell`` every few megabytes."""
    try:
        if name == "zstandard":
            return gathered(_zstandard(file), limit, tell)
        unpack: Any = {"gzip": gzip.open, "xz": lzma.open, "bzip2": bz2.open}[name]
        with unpack(file, "rb") as stream:
            return gathered(iter(lambda: stream.read(_CHUNK), b""), limit, tell)
    except (EOFError, OSError, lzma.LZMAError, zlib.error) as error:
        raise ValueError(str(error)) from None


def gathered(
    pieces: Iterable[bytes], limit: int, tell: Callable[[], None] = lambda: None
) -> bytearray:
    """Concatenate the pieces of a stream."""
    whole = bytearray()
    for piece in pieces:
        if len(whole) + len(piece) > limit:
            raise OverflowError(limit)
        whole += piece
        tell()
    return whole


def _zstandard(file: BinaryIO) -> Iterator[bytes]:
    zstandard = import_extra("zstandard", "zstd", "reading .zst files")
    try:
        unpack = zstandard.ZstdDecompressor().decompressobj()
        while raw := file.read(_ZSTD_STEP):
            pieces = []
            while raw:  # frames follow one another
                if unpack.eof:
                    unpack = zstandard.ZstdDecompressor().decompressobj()
                pieces.append(unpack.decompress(raw))
                raw = unpack.unused_data if unpack.eof else b""
            yield b"".join(pieces)
    except zstandard.ZstdError as error:
        raise ValueError(str(error)) from None
    if not unpack.eof:
        raise EOFError("it ends in the middle of a frame")


def packer(raw: BinaryIO, packed: str) -> Any:
    """Return a file object that compresses into ``raw``, reproducibly without time stamps."""
    if packed == ".gz":
        return gzip.GzipFile(filename="", fileobj=raw, mode="wb", compresslevel=6, mtime=0)
    if packed == ".xz":
        return lzma.open(raw, "wb", preset=6)
    if packed == ".bz2":
        return bz2.open(raw, "wb")
    if packed == ".zst":
        zstandard = import_extra("zstandard", "zstd", "writing .zst files")
        return zstandard.ZstdCompressor(level=3, write_checksum=True).stream_writer(
            raw, closefd=False
        )
    return contextlib.nullcontext(raw)
