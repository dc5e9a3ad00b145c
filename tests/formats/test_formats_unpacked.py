"""Content that unpacks to far more than its file, and endless streams."""

from __future__ import annotations

import bz2
import gc
import gzip
import lzma
import os
import subprocess
import sys
import weakref
import zipfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from nearfar import Graph
from nearfar.errors import GraphFormatError, OptionError
from nearfar.formats import files, read, write
from nearfar.formats.compression import COMPRESSIONS
from nearfar.formats.files import Source
from nearfar.formats.lists.table_rows import arrow_buffer


def _packers() -> dict[str, Callable[[bytes], bytes]]:
    zstandard = pytest.importorskip("zstandard")
    return {
        ".gz": gzip.compress,
        ".xz": lzma.compress,
        ".bz2": bz2.compress,
        ".zst": zstandard.ZstdCompressor().compress,
    }


@pytest.mark.parametrize("packed", list(COMPRESSIONS))
def test_content_is_bounded(packed: str, tmp_path: Path, monkeypatch: Any) -> None:
    """Regression: kilobytes were unpacked until they filled the memory."""
    monkeypatch.setattr(files, "_MODEST", 1 << 20)
    text = b"p sp 2 1\n" + b"c" * (8 << 20) + b"\na 1 2 5\n"
    path = tmp_path / f"g.gr{packed}"
    path.write_bytes(_packers()[packed](text))
    with pytest.raises(GraphFormatError, match=r"more than [\d,]+ bytes, [\d,]+ times its size"):
        read(path)
    with pytest.raises(GraphFormatError, match="more than 8,000,000 bytes"):
        read(path, max_unpacked=8_000_000)
    assert read(path, max_unpacked=len(text)).n_edges == 1
    plain = tmp_path / "plain.gr"
    plain.write_bytes(text)
    assert read(plain, max_unpacked=1).n_edges == 1  # no compression, no limit


@pytest.mark.parametrize("packed", list(COMPRESSIONS))
def test_content_like_that_of_graphs_is_read(packed: str, tmp_path: Path, monkeypatch: Any) -> None:
    """The maximum ratio is far above the ratio of the most regular graphs."""
    monkeypatch.setattr(files, "_MODEST", 0)
    path = tmp_path / f"path.txt{packed}"
    ends = np.arange(100_000)
    write(Graph.from_edges(ends[:-1], ends[1:], np.ones(99_999, np.int32)), path)
    assert read(path).n_edges == 99_999


def test_streams_without_an_end_are_stopped(monkeypatch: Any) -> None:
    with pytest.raises(GraphFormatError, match="the stream holds more than 10,000,000 bytes"):
        read("/dev/zero", format="edges", max_unpacked=10**7)
    monkeypatch.setattr(files, "free_memory", lambda: 1 << 25)
    with pytest.raises(GraphFormatError, match="the stream holds more than 16,777,216 bytes"):
        read("/dev/zero", format="edges")


def test_gzip_without_an_end(tmp_path: Path) -> None:
    """Content of an endless compressed pipe is bounded as well."""
    path = tmp_path / "endless.gr.gz"
    os.mkfifo(path)
    code = (
        "import gzip, sys\nfile = open(sys.argv[1], 'wb')\n"
        "member = gzip.compress(bytes(1 << 20))\nwhile True: file.write(member)"
    )
    with subprocess.Popen([sys.executable, "-c", code, path], stderr=subprocess.DEVNULL) as feeder:
        with pytest.raises(GraphFormatError, match="holds more than 1,000,000 bytes"):
            read(path, max_unpacked=10**6)
        feeder.kill()


@pytest.mark.parametrize("given", [0, -1, float("inf"), float("nan"), "much"])
def test_a_limit_that_is_none(given: Any, tmp_path: Path) -> None:
    with pytest.raises(OptionError, match=r"max_unpacked is .*: give a number of bytes"):
        read(tmp_path / "g.gr", max_unpacked=given)


def test_zstandard_is_written_with_checksums(tmp_path: Path) -> None:
    zstandard = pytest.importorskip("zstandard")
    path = tmp_path / "g.gr.zst"
    rng = np.random.default_rng(5)
    write(Graph.from_edges(*rng.integers(0, 99, (2, 999)), rng.random(999)), path)
    assert zstandard.get_frame_parameters(path.read_bytes()).has_checksum
    whole = bytearray(path.read_bytes())
    whole[-1] ^= 1
    path.write_bytes(whole)
    with pytest.raises(GraphFormatError, match="checksum"):
        read(path)


def test_arrays_that_promise_more_than_there_is(tmp_path: Path) -> None:
    """``numpy.load`` would allocate a petabyte for the first, and trust pickle for the second."""
    path = tmp_path / "g.npz"
    parts = dict(format=np.array(b"csr"), shape=np.array([1, 1]), indptr=np.array([0, 0]))
    for dtype, message in [("<i8", "cannot reshape"), ("|O", "OBJECT")]:
        with zipfile.ZipFile(path, "w") as archive:
            for name, array in parts.items():
                with archive.open(f"{name}.npy", "w") as member:
                    np.lib.format.write_array(member, array)
            with archive.open("indices.npy", "w") as member:
                np.lib.format.write_array_header_1_0(
                    member, {"descr": dtype, "fortran_order": False, "shape": (10**14,)}
                )
                member.write(bytes(64))
        with pytest.raises(GraphFormatError, match=message):
            read(path)


def test_archives_are_bounded(tmp_path: Path, monkeypatch: Any) -> None:
    monkeypatch.setattr(files, "_MODEST", 1 << 20)
    path = tmp_path / "g.npz"
    np.savez_compressed(path, zeros=np.zeros(8 << 20, np.uint8))
    with pytest.raises(GraphFormatError, match=r"the archive holds more than [\d,]+ bytes"):
        read(path)


@pytest.mark.parametrize("suffix", ["", ".gz"])
def test_no_array_of_python_is_left_to_arrows_threads(suffix: str, tmp_path: Path) -> None:
    """A thread that releases one while the process ends aborts it."""
    pytest.importorskip("pyarrow")
    path = tmp_path / f"t.csv{suffix}"
    write(Graph.from_edges([0, 1], [1, 2], [3, 4]), path)
    source = Source(path)
    content, array = source.data.tobytes(), weakref.ref(source.data)
    buffer = arrow_buffer(source)
    del source
    gc.collect()
    assert array() is None
    assert buffer.to_pybytes() == content
