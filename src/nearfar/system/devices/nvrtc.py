"""NVIDIA's run-time compiler, used through CuPy if installed, otherwise through its library.

Compilation needs no GPU. With the library, a machine with neither a GPU nor CuPy can compile every
kernel for every architecture, as the tests do with the ``nvidia-cuda-nvrtc`` wheel.
"""

from __future__ import annotations

import ctypes
import importlib.util
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import NamedTuple, Protocol

from nearfar.errors import MissingDependencyError


class Result(NamedTuple):
    """Machine code, or None if the compilation failed, and the log of the compiler."""

    code: bytes | None
    log: str


class Compiler(Protocol):
    """Interface of a compiler for :mod:`nearfar.system.devices.compiler`."""

    version: str

    def compile(self, source: str, options: Sequence[str], /) -> Result:
        """Compile to a cubin."""
        ...


class _Library:
    """C interface of ``libnvrtc`` through ctypes."""

    def __init__(self, path: str) -> None:
        self._lib = ctypes.CDLL(path)
        major, minor = ctypes.c_int(), ctypes.c_int()
        self._lib.nvrtcVersion(ctypes.byref(major), ctypes.byref(minor))
        self.version = f"{major.value}.{minor.value}"

    def compile(self, source: str, options: Sequence[str], /) -> Result:
        lib, program = self._lib, ctypes.c_void_p()
        created = lib.nvrtcCreateProgram(
            ctypes.byref(program), source.encode(), b"kernel.cu", 0, None, None
        )
        if created != 0:
            return Result(None, f"nvrtcCreateProgram failed with code {created}")
        try:
            given = (ctypes.c_char_p * len(options))(*(option.encode() for option in options))
            failed = lib.nvrtcCompileProgram(program, len(options), given)
            log = self._text(program, "ProgramLog").rstrip(b"\0").decode(errors="replace")
            return Result(None if failed else self._text(program, "CUBIN"), log)
        finally:
            lib.nvrtcDestroyProgram(ctypes.byref(program))

    def _text(self, program: ctypes.c_void_p, what: str) -> bytes:
        size = ctypes.c_size_t()
        getattr(self._lib, f"nvrtcGet{what}Size")(program, ctypes.byref(size))
        buffer = ctypes.create_string_buffer(size.value)
        getattr(self._lib, f"nvrtcGet{what}")(program, buffer)
        return buffer.raw


def in_wheels(*patterns: str) -> Iterator[Path]:
    """Yield the files and folders of NVIDIA's wheels that match, those of new versions first."""
    spec = importlib.util.find_spec("nvidia")
    for root in (spec.submodule_search_locations or ()) if spec else ():
        for pattern in patterns:
            yield from sorted(Path(root).glob(pattern), reverse=True)


def _candidates() -> Iterator[str]:
    """Yield possible paths of ``libnvrtc``: NVIDIA's wheels, then names for the loader."""
    found = in_wheels("cu*/lib/libnvrtc.so.*", "cuda_nvrtc/lib/libnvrtc.so.*")
    yield from (str(path) for path in found if "alt" not in path.name)
    yield from ("libnvrtc.so.13", "libnvrtc.so.12", "libnvrtc.so")


def load_library() -> Compiler:
    """Load NVRTC without CuPy."""
    for path in _candidates():
        try:
            return _Library(path)
        except (OSError, AttributeError):
            continue
    raise MissingDependencyError(
        "NVRTC (libnvrtc) is not installed: pip install 'nearfar[cuda13]' "
        "(or 'nearfar[cuda12]' for an older driver)"
    )
