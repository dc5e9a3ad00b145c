"""Build of the package with a native module of some of its parts under sanitizers."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import sysconfig
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[1]
SOURCE = ROOT / "src" / "nearfar"
#: Parts of every module: the graph's view, errors, interrupts and workers, without solvers.
PARTS = (
    *("bindings/module", "bindings/errors", "distances/proof", "graph/graph_ops"),
    "graph/graph_view",
    *("graph/array_checks.simd", "instructions/isa", "memory/buffer", "memory/huge_block"),
    *("memory/touch", "threads/interrupt", "threads/ranges", "threads/spread"),
    *("threads/waiting", "threads/worker_pool"),
)
FLAGS = ("-std=c++20", "-O1", "-g1", "-fPIC", "-fvisibility=hidden", "-fno-strict-aliasing", "-w")
#: Start of a program: an editable install would otherwise find its own module before PYTHONPATH.
START = """import sys
sys.meta_path[:] = [f for f in sys.meta_path if type(f).__module__ != "_editable_skbc_nearfar"]
"""
#: Flags of the levels, as in CMakeLists.txt.
LEVELS = {
    "v2": ["-march=x86-64-v2"],
    "v3": ["-march=x86-64-v3"],
    "v4": ["-march=x86-64-v4", "-mprefer-vector-width=512"],
}


def flags(sanitizer: str) -> list[str]:
    """Return the flags of compiler and linker for a sanitizer."""
    return [f"-fsanitize={sanitizer}", "-fno-sanitize-recover=all", "-fno-sanitize=vptr"]


def library(name: str) -> str:
    """Return the path of a library of the compiler."""
    found = subprocess.run(
        ["g++", f"-print-file-name={name}"], capture_output=True, text=True, check=True
    )
    return found.stdout.strip()


def package(place: Path, units: list[Path], sanitizer: str) -> None:
    """Build the package in a folder, with a native module of PARTS and ``units``."""
    nanobind = pytest.importorskip("nanobind")
    shutil.copytree(SOURCE, place / "nearfar", ignore=shutil.ignore_patterns("*.so", "*.cpp"))
    (place / "sitecustomize.py").write_text(START)
    folders = [SOURCE, nanobind.include_dir(), sysconfig.get_paths()["include"]]
    folders.append(Path(nanobind.source_dir()).parent / "ext" / "robin_map" / "include")
    include = [f"-I{folder}" for folder in folders]
    whole = [Path(nanobind.source_dir()) / "nb_combined.cpp"]
    whole += [SOURCE / "cpu" / f"{part}.cpp" for part in PARTS]
    work: list[tuple[Path, str, list[str]]] = []
    for unit in [*whole, *units]:
        if unit.name.endswith(".simd.cpp"):
            work += [
                (unit, level, [*extra, f"-DNEARFAR_ISA={level}"]) for level, extra in LEVELS.items()
            ]
        else:
            work.append((unit, "plain", []))

    def compiled(one: tuple[Path, str, list[str]]) -> Path:
        unit, level, extra = one
        made = place / f"{unit.parent.name}-{unit.stem}-{level}.o"
        words: list[str | Path] = [
            "g++",
            *FLAGS,
            *flags(sanitizer),
            *extra,
            *include,
            "-c",
            unit,
            "-o",
            made,
        ]
        subprocess.run(words, check=True)
        return made

    with ThreadPoolExecutor(2) as pool:
        objects = list(pool.map(compiled, work))
    # Baseline objects first: the linker takes a weak symbol from the first object that has it.
    objects.sort(key=lambda made: made.stem.split("-")[-1])
    module = place / "nearfar" / f"_cpu{sysconfig.get_config_var('EXT_SUFFIX')}"
    subprocess.run(["g++", "-shared", *flags(sanitizer), *objects, "-o", module], check=True)


def environment(place: Path, sanitizer: str) -> dict[str, str]:
    """Return variables with which Python finds that package and loads the sanitizer's library."""
    runtime = "libtsan.so" if sanitizer == "thread" else "libasan.so"
    found = {
        "PYTHONPATH": str(place),
        "LD_PRELOAD": f"{library(runtime)} {library('libstdc++.so.6')}",
        "ASAN_OPTIONS": "detect_leaks=0",  # Python keeps what it needs to its end
    }
    asked = [sys.executable, "-c", "from nearfar import _cpu; print(_cpu.__file__)"]
    said = subprocess.run(
        asked, capture_output=True, text=True, check=True, env={**os.environ, **found}
    )
    assert Path(said.stdout.strip()).is_relative_to(place)
    return found
