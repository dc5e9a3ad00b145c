"""Kernel cache: sixteen processes at a time, damaged files, folders without write permission."""

from __future__ import annotations

import multiprocessing
import os
import stat
from collections.abc import Sequence
from pathlib import Path

import pytest

from nearfar import errors
from nearfar.system.devices import compiler, cupy_module, nvrtc

SOURCE = 'extern "C" __global__ void k(int* p) { p[threadIdx.x] = 7; }'
OPTIONS = compiler.options_for("sm_80", {"A": 1})


class Counting:
    """Compiler that leaves a mark per run, and runs long enough for other processes to arrive."""

    version = "1.0"

    def __init__(self, marks: Path) -> None:
        self.marks = marks

    def compile(self, source: str, options: Sequence[str], /) -> nvrtc.Result:
        (self.marks / f"{os.getpid()}-{os.urandom(4).hex()}").touch()
        import time

        time.sleep(0.3)
        return nvrtc.Result(b"machine code of " + source.encode(), "")


@pytest.fixture
def cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("NEARFAR_CACHE", str(tmp_path / "cache"))
    marks = tmp_path / "marks"
    marks.mkdir()
    monkeypatch.setattr(cupy_module, "load", lambda: Counting(marks))
    return tmp_path


def compiled(cache: Path) -> int:
    return len(list((cache / "marks").iterdir()))


def only_file(cache: Path) -> Path:
    (found,) = (cache / "cache" / "kernels").glob("*.cubin")
    return found


def _child(marks: str, begin: object, answers: object) -> None:
    nvrtc.load = lambda: Counting(Path(marks))  # type: ignore[assignment]
    begin.wait()  # type: ignore[attr-defined]
    answers.put(compiler.compile_kernel("k", SOURCE, OPTIONS))  # type: ignore[attr-defined]


def test_sixteen_processes_compile_once(cache: Path) -> None:
    context = multiprocessing.get_context("fork")
    begin, answers = context.Event(), context.Queue()
    children = [
        context.Process(target=_child, args=(str(cache / "marks"), begin, answers))
        for _ in range(16)
    ]
    for child in children:
        child.start()
    begin.set()
    found = {answers.get(timeout=60) for _ in children}
    for child in children:
        child.join(60)
        assert child.exitcode == 0
    assert found == {b"machine code of " + SOURCE.encode()}
    assert compiled(cache) == 1
    assert not list((cache / "cache" / "kernels").glob("*.tmp*"))


def test_the_second_call_reads_the_file(cache: Path) -> None:
    first = compiler.compile_kernel("k", SOURCE, OPTIONS)
    assert compiler.compile_kernel("k", SOURCE, OPTIONS) == first
    assert compiled(cache) == 1


def test_text_options_and_version_are_the_key(cache: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    compiler.compile_kernel("k", SOURCE, OPTIONS)
    compiler.compile_kernel("k", SOURCE + " ", OPTIONS)
    compiler.compile_kernel("k", SOURCE, compiler.options_for("sm_90", {"A": 1}))
    monkeypatch.setattr(Counting, "version", "2.0")
    compiler.compile_kernel("k", SOURCE, OPTIONS)
    assert compiled(cache) == 4


@pytest.mark.parametrize("keep", [0, 5, 30, 60])
def test_a_half_written_file_is_compiled_again(cache: Path, keep: int) -> None:
    first = compiler.compile_kernel("k", SOURCE, OPTIONS)
    path = only_file(cache)
    path.write_bytes(path.read_bytes()[:keep])
    assert compiler.compile_kernel("k", SOURCE, OPTIONS) == first
    assert compiled(cache) == 2
    assert compiler.compile_kernel("k", SOURCE, OPTIONS) == first
    assert compiled(cache) == 2


def test_a_damaged_file_is_compiled_again(cache: Path) -> None:
    first = compiler.compile_kernel("k", SOURCE, OPTIONS)
    path = only_file(cache)
    data = bytearray(path.read_bytes())
    data[-3] ^= 1
    path.write_bytes(data)
    assert compiler.compile_kernel("k", SOURCE, OPTIONS) == first
    assert compiled(cache) == 2


def test_a_folder_that_cannot_be_made_is_no_error(
    cache: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (cache / "file").touch()
    monkeypatch.setenv("NEARFAR_CACHE", str(cache / "file"))
    for count in (1, 2):
        assert compiler.compile_kernel("k", SOURCE, OPTIONS).startswith(b"machine code")
        assert compiled(cache) == count


def test_a_folder_without_write_permission_is_no_error(cache: Path) -> None:
    folder = cache / "cache" / "kernels"
    folder.mkdir(parents=True)
    folder.chmod(stat.S_IRUSR | stat.S_IXUSR)
    try:
        assert compiler.compile_kernel("k", SOURCE, OPTIONS).startswith(b"machine code")
    finally:
        folder.chmod(stat.S_IRWXU)


def test_where_the_cache_is(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("NEARFAR_CACHE", "/own")
    assert compiler.cache_directory() == Path("/own/kernels")
    monkeypatch.delenv("NEARFAR_CACHE")
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    assert compiler.cache_directory() == tmp_path / "nearfar" / "kernels"


def test_errors_are_readable(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    library = nvrtc.load_library()
    monkeypatch.setattr(cupy_module, "load", lambda: library)
    monkeypatch.setenv("NEARFAR_CACHE", str(tmp_path))
    source = """#line 1 "family/broken.cuh"
extern "C" __global__ void k(int* p) {
  p[0] = nothing;
}
"""
    with pytest.raises(errors.KernelCompileError) as caught:
        compiler.compile_kernel("family/broken.cuh", source, OPTIONS)
    text = str(caught.value)
    assert "family/broken.cuh line 2" in text
    assert "nothing" in text
    assert "sm_80" in text
    assert "\n" not in text


def test_a_missing_requirement_is_named(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setattr(compiler, "PACKAGE", tmp_path)
    (tmp_path / "a.cuh").write_text("// requires: b.cuh\n")
    with pytest.raises(errors.KernelCompileError, match=r"b\.cuh \(required by a\.cuh\)"):
        compiler.assemble(["a.cuh"])
    (tmp_path / "b.cuh").write_text("// requires: a.cuh\n")
    with pytest.raises(errors.KernelCompileError, match=r"a\.cuh -> b\.cuh"):
        compiler.assemble(["a.cuh"])


def test_each_file_comes_once_and_after_what_it_needs(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setattr(compiler, "PACKAGE", tmp_path)
    (tmp_path / "base.cuh").write_text("BASE\n")
    (tmp_path / "left.cuh").write_text("// requires: base.cuh\nLEFT\n")
    (tmp_path / "top.cuh").write_text("// requires: left.cuh\n// requires: base.cuh\nTOP\n")
    lines = compiler.assemble(["top.cuh"]).split()
    assert [word for word in lines if word.isupper()] == ["BASE", "LEFT", "TOP"]
