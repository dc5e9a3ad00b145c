"""Run CUDA variants without a GPU: the kernels' own text, compiled for the CPU.

``emulated_gpu`` is a fixture. While it is active, ``nearfar.system.devices.runtime`` finds a small
device whose kernels are compiled by g++ with :file:`cuda_emulation.hpp`. It tests the logic of
kernels and drivers; memory order and speed need a GPU (``tests/gpu``).
"""

from __future__ import annotations

import hashlib
import re
import shutil
import subprocess
import sys
import tempfile
import threading
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import pytest

from nearfar.algorithms.near_far.one_launch import forms
from nearfar.errors import MissingDependencyError
from nearfar.system import cache
from nearfar.system.devices import compiler, cupy_module, nvrtc, runtime
from tests.emulator import fake_cupy

HERE = Path(__file__).resolve().parent
REPLACED = re.compile(
    r'#line 1 "cuda/primitives/(?:memory|copy_async)\.cuh"\n.*?(?=#line 1 "|\Z)', re.DOTALL
)
BARRIERS = re.compile(
    r"__device__ __forceinline__ \w+ (?:load_acquire|add_released)\(.*?\n}\n", re.DOTALL
)
LIMITS = r"(?:(?:__launch_bounds__|ONE_CLUSTER)\([^)]*\)\s*)*"
ENTRY = re.compile(rf'extern "C" __global__ void\s+{LIMITS}(\w+)\s*\(')
DYNAMIC = re.compile(
    r"extern __shared__ (?:__align__\(\d+\) |alignas\(\d+\) )?([\w ]+?) (\w+)\[\];"
)
CACHE = Path(tempfile.gettempdir()) / "nearfar-emulated-kernels"


def translate(source: str) -> str:
    """C++ for the host from an assembled kernel source."""
    source = BARRIERS.sub("", REPLACED.sub("", source))
    source = DYNAMIC.sub(r"\1* const \2 = static_cast<\1*>(emulation::dynamic_shared());", source)
    launches = "".join(
        f'extern "C" void emulation_launch_{name}(const unsigned* shape, unsigned shared, '
        f"int cooperative, void** params) "
        f"{{ emulation::launch(&{name}, shape, shared, cooperative, params); }}\n"
        for name in dict.fromkeys(ENTRY.findall(source))
    )
    return f'{source}\n#line 1 "launches"\n{launches}'


# Programs of one kernel with other macros are loaded side by side: none may take another's shared
# memory, which is static in functions of the same name.
OWN_STATICS = "-fno-gnu-unique"
FLAGS = ("-std=c++20", "-O1", "-fPIC", "-pthread", "-w", "-fno-strict-aliasing", OWN_STATICS)

# Every load and store of a kernel calls a function of the scheduler first.
CHECKED = (
    "-fsanitize=kernel-address",
    *("--param=asan-instrumentation-with-call-threshold=0", "--param=asan-stack=0"),
    "--param=asan-globals=0",
)
_checks: tuple[str, ...] = ()  # further flags of kernels


def _build(command: list[str], made: Path, what: str) -> None:
    """Run a compiler unless that was done before: test processes share what one of them made."""
    with cache.locked(made), tempfile.TemporaryDirectory(dir=CACHE) as folder:
        if made.exists():
            return
        fresh = Path(folder) / made.name
        done = subprocess.run(
            [*command, "-o", str(fresh)], capture_output=True, text=True, check=False
        )
        if done.returncode:
            raise AssertionError(
                f"{what} does not compile for the emulation:\n{done.stderr[:4000]}"
            )
        fresh.replace(made)


def _emulation() -> tuple[Path, Path]:
    """What every kernel is compiled after, and what it is linked with.

    A header in the cache with its precompiled form beside it, and the scheduler's library.
    """
    header_text, scheduler = (
        b"".join((HERE / part).read_bytes() for part in parts)
        for parts in (("cuda_emulation.hpp", "cuda_intrinsics.hpp"), ("cuda_scheduler.cpp",))
    )
    key = hashlib.sha256(b"\0".join([header_text, scheduler, *map(str.encode, (*FLAGS, *_checks))]))
    header = CACHE / f"emulation-{key.hexdigest()[:16]}.hpp"
    if not header.exists():
        CACHE.mkdir(exist_ok=True)
        with tempfile.NamedTemporaryFile(dir=CACHE, delete=False) as file:
            file.write(header_text)
        Path(file.name).replace(header)
    precompiled = header.with_suffix(".hpp.gch")
    if not precompiled.exists():
        _build(["g++", *FLAGS, *_checks, "-x", "c++-header", str(header)], precompiled, header.name)
    library = header.with_suffix(".so")
    if not library.exists():
        source = HERE / "cuda_scheduler.cpp"
        _build(
            ["g++", *FLAGS, "-O2", "-ftls-model=initial-exec", "-shared", str(source)],
            library,
            source.name,
        )
    return header, library


def compile_for_host(name: str, source: str, options: Sequence[str]) -> bytes:
    """Stand in for the compiler: the path of a shared library, as bytes."""
    header, scheduler = _emulation()
    text = f'#include "{header}"\n{translate(source)}'
    defines = [option for option in options if option.startswith("-D")]
    key = hashlib.sha256("\0".join([text, *FLAGS, *_checks, *defines]).encode()).hexdigest()[:32]
    cpp = CACHE / f"{key}.cpp"
    library = CACHE / f"{key}.so"
    if not library.exists():
        with tempfile.NamedTemporaryFile("w", dir=CACHE, delete=False) as file:
            file.write(text)
        Path(file.name).replace(cpp)
        command = ["g++", *FLAGS, *_checks, *defines, "-shared", str(cpp), str(scheduler)]
        _build(command, library, name)
    return str(library).encode()


def _forget() -> None:
    for cached in (runtime.available, runtime._device, cupy_module.load, cupy_module.cupy):
        cached.cache_clear()
    runtime._programs.clear()
    runtime._compiling.clear()


@pytest.fixture
def emulated_gpu(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """A device of two multiprocessors whose kernels run on the CPU."""
    if shutil.which("g++") is None:
        pytest.skip("the emulation needs g++")
    try:
        nvrtc.load_library()
    except MissingDependencyError as error:
        pytest.skip(str(error))
    _forget()
    monkeypatch.setitem(sys.modules, "cupy", fake_cupy.make())
    monkeypatch.setattr(compiler, "compile_kernel", compile_for_host)
    yield
    monkeypatch.undo()
    _forget()


@pytest.fixture
def checked_loads(emulated_gpu: None, monkeypatch: pytest.MonkeyPatch) -> None:
    """The emulated device; a launch fails that loads 4 bytes or more which nobody has written.

    As initcheck of compute-sanitizer. Kernels are compiled anew for it, and are slow.
    """
    monkeypatch.setattr(sys.modules[__name__], "_checks", CHECKED)


@pytest.fixture
def held_compiler(emulated_gpu: None, monkeypatch: pytest.MonkeyPatch) -> threading.Event:
    """The emulated device; programs compiled in the background wait for the event."""
    compile_kernel, may_go_on = compiler.compile_kernel, threading.Event()

    def slow(name: str, *given: Any) -> bytes:
        if threading.current_thread() is not threading.main_thread():
            may_go_on.wait(60)
        return compile_kernel(name, *given)

    monkeypatch.setattr(compiler, "compile_kernel", slow)
    monkeypatch.setattr(compiler, "_in_background", {})
    return may_go_on


@pytest.fixture
def several_ranges(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let small graphs be divided into ranges on a GPU, as others are."""
    monkeypatch.setattr(forms, "_AT_ONCE", forms._USUAL)
