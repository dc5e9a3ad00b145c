"""Run CUDA variants without a GPU: the kernels' own text, compiled for the CPU.

``emulated_gpu`` is a fixture. While it is active, ``nearfar.cuda.runtime`` finds a small device
whose kernels are compiled by g++ with :file:`cuda_emulation.hpp`. It tests the logic of kernels
and drivers; memory order and speed need a GPU (``tests/gpu``).
"""

from __future__ import annotations

import hashlib
import re
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Sequence
from pathlib import Path

import pytest

from nearfar.cuda import compiler, nvrtc, runtime
from tests.emulator import fake_cupy

HERE = Path(__file__).resolve().parent
REPLACED = re.compile(r'#line 1 "cuda/memory\.cuh"\n.*?(?=#line 1 "|\Z)', re.DOTALL)
ACQUIRE = re.compile(r"__device__ __forceinline__ uint32 load_acquire\(.*?\n}\n", re.DOTALL)
ENTRY = re.compile(r'extern "C" __global__ void\s+(?:__launch_bounds__\([^)]*\)\s*)?(\w+)\s*\(')
DYNAMIC = re.compile(
    r"extern __shared__ (?:__align__\(\d+\) |alignas\(\d+\) )?([\w ]+?) (\w+)\[\];"
)
CACHE = Path(tempfile.gettempdir()) / "nearfar-emulated-kernels"


def translate(source: str) -> str:
    """C++ for the host from an assembled kernel source."""
    source = ACQUIRE.sub("", REPLACED.sub("", source))
    source = DYNAMIC.sub(r"\1* const \2 = static_cast<\1*>(emulation::dynamic_shared());", source)
    launches = "".join(
        f'extern "C" void emulation_launch_{name}(const unsigned* shape, unsigned shared, '
        f"int cooperative, void** params) "
        f"{{ emulation::launch(&{name}, shape, shared, cooperative, params); }}\n"
        for name in dict.fromkeys(ENTRY.findall(source))
    )
    return f'#include "{HERE / "cuda_emulation.hpp"}"\n{source}\n#line 1 "launches"\n{launches}'


def compile_for_host(name: str, source: str, options: Sequence[str]) -> bytes:
    """Stand in for the compiler: the path of a shared library, as bytes."""
    text = translate(source)
    defines = [option for option in options if option.startswith("-D")]
    header = (HERE / "cuda_emulation.hpp").read_text()
    key = hashlib.sha256("\0".join([text, header, *defines]).encode()).hexdigest()[:32]
    library = CACHE / f"{key}.so"
    if not library.exists():
        CACHE.mkdir(exist_ok=True)
        with tempfile.TemporaryDirectory(dir=CACHE) as folder:
            cpp, made = Path(folder) / "kernel.cpp", Path(folder) / "kernel.so"
            cpp.write_text(text)
            flags = [
                "-std=c++20",
                "-O1",
                "-shared",
                "-fPIC",
                "-pthread",
                "-w",
                "-fno-strict-aliasing",
            ]
            command = ["g++", *flags, *defines, "-o", str(made), str(cpp)]
            done = subprocess.run(command, capture_output=True, text=True, check=False)
            if done.returncode:
                raise AssertionError(
                    f"{name} does not compile for the emulation:\n{done.stderr[:4000]}"
                )
            made.replace(library)
    return str(library).encode()


def _forget() -> None:
    for cached in (runtime.available, runtime._device, nvrtc.load):
        cached.cache_clear()
    runtime._programs.clear()


@pytest.fixture
def emulated_gpu(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """A device of two multiprocessors whose kernels run on the CPU."""
    if shutil.which("g++") is None:
        pytest.skip("the emulation needs g++")
    _forget()
    monkeypatch.setitem(sys.modules, "cupy", fake_cupy.make())
    monkeypatch.setattr(compiler, "compile_kernel", compile_for_host)
    yield
    monkeypatch.undo()
    _forget()
