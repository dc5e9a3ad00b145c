"""Compilation of kernel files to machine code: assembly of the text, NVRTC, and a disk cache.

A kernel file includes nothing. It lists the required headers in lines of the form
``// requires: cuda/primitives/distance.cuh`` (relative to the package), and :func:`assemble`
concatenates each file once, dependencies first. A kernel thus depends only on the assembled text,
and the cache key is the SHA-256 of that text, the options and NVRTC's version, so that entries
never have to be invalidated by hand.

Many processes may start at once (a cluster job, a test runner). With one file lock per key, one
process compiles while the others wait and then read the result. It is written by a rename and has a
digest, so a damaged file is detected and compiled again.
"""

from __future__ import annotations

import contextlib
import hashlib
import os
import re
import threading
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import NamedTuple

from nearfar.errors import KernelCompileError
from nearfar.system import cache
from nearfar.system.devices import cupy_module, nvrtc
from nearfar.system.output import replacing

PACKAGE = Path(__file__).resolve().parents[2]
_MAGIC = b"nearfar kernel 1\n"
_REQUIRES = re.compile(r"^//\s*requires:\s*(\S+)\s*$", re.MULTILINE)
_LINKS = re.compile(r"^//\s*links:\s*cudadevrt\s*$", re.MULTILINE)
_ERROR = re.compile(
    r"^(?P<file>[^\s(]+)\((?P<line>\d+)\): (?:catastrophic )?error:? (?P<text>.*)$", re.M
)
_ENTRY = re.compile(r"Compiling entry function '(\w+)'")
_STACK = re.compile(
    r"(\d+) bytes stack frame, (\d+) bytes spill stores, (\d+) bytes spill loads", re.MULTILINE
)
_REGISTERS = re.compile(r"Used (\d+) registers")


def kernel_files() -> list[str]:
    """Return the sorted paths of all ``.cuh`` files, relative to the package."""
    return sorted(str(path.relative_to(PACKAGE)) for path in PACKAGE.rglob("*.cuh"))


def assemble(files: Sequence[str]) -> str:
    """Return the text of kernel files and of all files they require, each once, in order."""
    done: dict[str, str] = {}
    open_files: list[str] = []

    def visit(name: str) -> None:
        if name in done:
            return
        if name in open_files:
            raise KernelCompileError(f"kernel files require each other: {' -> '.join(open_files)}")
        try:
            text = (PACKAGE / name).read_text(encoding="utf-8")
        except OSError as error:
            needed = f" (required by {open_files[-1]})" if open_files else ""
            raise KernelCompileError(
                f"kernel file {name}{needed} cannot be read: {error}"
            ) from None
        open_files.append(name)
        for required in _REQUIRES.findall(text):
            visit(required)
        open_files.pop()
        done[name] = f'#line 1 "{name}"\n{text}\n'

    for name in files:
        visit(name)
    return "".join(done.values())


def is_relocatable(source: str) -> bool:
    """Return whether an assembled source requests linking with CUDA's device runtime."""
    return _LINKS.search(source) is not None


def options_for(arch: str, macros: Mapping[str, str | int], source: str = "") -> tuple[str, ...]:
    """Return compiler options for an architecture such as ``sm_90`` and macros, in a fixed order.

    A source with ``// links: cudadevrt`` is compiled to relocatable code, which
    :mod:`nearfar.system.devices.linking` links.
    """
    defines = [f"-D{name}={value}" for name, value in sorted(macros.items())]
    if is_relocatable(source):
        defines.append("--relocatable-device-code=true")
    return (f"--gpu-architecture={arch}", "--std=c++17", "--ptxas-options=-v", *defines)


def cache_directory() -> Path:
    """Return the folder of compiled kernels, in the user's cache."""
    return cache.folder() / "kernels"


def compile_kernel(name: str, source: str, options: Sequence[str]) -> bytes:
    """Return the machine code (cubin) of an assembled source, from the disk cache if possible."""
    path = _cached(source, options)
    code = _read(path)
    if code is not None:
        return code
    with _locked(path):
        code = _read(path)  # another process may have compiled it in the meantime
        if code is None:
            code = _compile(cupy_module.load(), name, source, options)
            _write(path, code)
    return code


def _cached(source: str, options: Sequence[str]) -> Path:
    text = "\0".join([source, *options, cupy_module.load().version])
    return cache_directory() / f"{hashlib.sha256(text.encode()).hexdigest()}.cubin"


_in_background: dict[Path, threading.Thread] = {}


def background(name: str, source: str, options: Sequence[str]) -> threading.Thread | None:
    """Return the thread that compiles a source, started if necessary; None if it is cached.

    The thread is not a daemon, since NVRTC must not run while the process exits.
    """
    path = _cached(source, options)
    if path not in _in_background and path.exists():
        return None

    def work() -> None:
        # compile_kernel raises the same error for callers that need the program.
        with contextlib.suppress(KernelCompileError):
            compile_kernel(name, source, options)

    thread = threading.Thread(target=work, name=f"nearfar compiles {name}")
    if _in_background.setdefault(path, thread) is thread:
        thread.start()
    return _in_background[path]


def finish_background() -> None:
    """Wait until all background compilations have finished."""
    for thread in list(_in_background.values()):
        thread.join()


def _compile(backend: nvrtc.Compiler, name: str, source: str, options: Sequence[str]) -> bytes:
    result = backend.compile(source, options)
    if result.code is None:
        first = _ERROR.search(result.log)
        where = (
            f"{first['file']} line {first['line']}: {first['text']}"
            if first
            else next((line for line in result.log.splitlines() if line.strip()), "no message")
        )
        raise KernelCompileError(
            f"kernel {name} did not compile with {' '.join(options)} "
            f"(NVRTC {backend.version}): {where}"
        )
    return result.code


class Resources(NamedTuple):
    """Registers and bytes per thread of one entry point, as reported by the assembler."""

    registers: int
    stack: int
    spill_stores: int
    spill_loads: int


def resources(name: str, source: str, options: Sequence[str]) -> dict[str, Resources]:
    """Compile without the cache, and return registers, stack and spills of each entry point."""
    backend = cupy_module.load()
    result = backend.compile(source, options)
    if result.code is None:
        _compile(backend, name, source, options)
    table: dict[str, Resources] = {}
    parts = _ENTRY.split(result.log)
    for entry, report in zip(parts[1::2], parts[2::2], strict=True):
        frame, used = _STACK.search(report), _REGISTERS.search(report)
        if frame and used:
            table[entry] = Resources(int(used[1]), *(int(part) for part in frame.groups()))
    return table


def _read(path: Path) -> bytes | None:
    """Return the payload of a cache file, or None if it is missing, truncated or damaged."""
    try:
        data = path.read_bytes()
    except OSError:
        return None
    head = len(_MAGIC) + 32
    if (
        not data.startswith(_MAGIC)
        or hashlib.sha256(data[head:]).digest() != data[len(_MAGIC) : head]
    ):
        return None
    return data[head:]


def _write(path: Path, code: bytes) -> None:
    """Store a payload in the cache by rename; an unwritable cache is not an error."""
    with contextlib.suppress(OSError), replacing(path) as temporary, temporary.open("wb") as file:
        file.write(_MAGIC + hashlib.sha256(code).digest() + code)
        file.flush()
        os.fsync(file.fileno())


@contextlib.contextmanager
def _locked(path: Path) -> Iterator[None]:
    """Hold the lock of a cache file, or no lock if none can be created (read-only home)."""
    with contextlib.ExitStack() as stack:
        with contextlib.suppress(OSError):
            stack.enter_context(cache.locked(path))
        yield
