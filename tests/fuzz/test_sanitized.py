"""The parsers under ASan and UBSan, over damaged files: ``make test-slow``."""

from __future__ import annotations

import shutil
import subprocess
import sysconfig
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from tests.fuzz.driver import ROOT, fuzz

SOURCE = ROOT / "src" / "nearfar"
#: What reading and writing files needs of the native module, without any solver.
PARTS = ("module", "errors", "interrupt", "graph_ops", "graph_view", "buffer", "worker_pool")
PARTS += ("waiting", "attendance", "isa")
FLAGS = ("-std=c++20", "-O1", "-g1", "-fPIC", "-fvisibility=hidden", "-fno-strict-aliasing", "-w")
SANITIZE = ("-fsanitize=address,undefined", "-fno-sanitize-recover=all", "-fno-sanitize=vptr")


def library(name: str) -> str:
    found = subprocess.run(
        ["g++", f"-print-file-name={name}"], capture_output=True, text=True, check=True
    )
    return found.stdout.strip()


def package(place: Path) -> Path:
    """A folder with the package, its native module made of the parsers and under sanitizers."""
    nanobind = pytest.importorskip("nanobind")
    shutil.copytree(SOURCE, place / "nearfar", ignore=shutil.ignore_patterns("*.so", "*.cpp"))
    folders = [SOURCE, nanobind.include_dir(), sysconfig.get_paths()["include"]]
    folders.append(Path(nanobind.source_dir()).parent / "ext" / "robin_map" / "include")
    units = [Path(nanobind.source_dir()) / "nb_combined.cpp", *(SOURCE / "formats").glob("*.cpp")]
    units += [SOURCE / "cpu" / f"{part}.cpp" for part in PARTS]

    def compiled(unit: Path) -> Path:
        made = place / f"{unit.stem}.o"
        include = [f"-I{folder}" for folder in folders]
        subprocess.run(["g++", *FLAGS, *SANITIZE, *include, "-c", unit, "-o", made], check=True)
        return made

    with ThreadPoolExecutor(2) as pool:
        objects = list(pool.map(compiled, units))
    module = place / "nearfar" / f"_cpu{sysconfig.get_config_var('EXT_SUFFIX')}"
    subprocess.run(["g++", "-shared", *SANITIZE, *objects, "-o", module], check=True)
    return place


@pytest.mark.slow
@pytest.mark.timeout(1800)
def test_damaged_files_under_sanitizers(tmp_path: Path) -> None:
    environment = {
        "PYTHONPATH": str(package(tmp_path)),
        "LD_PRELOAD": f"{library('libasan.so')} {library('libstdc++.so.6')}",
        "ASAN_OPTIONS": "detect_leaks=0",  # Python keeps what it needs to its end
    }
    outcome = fuzz(6_000, seed=9, solve=False, seconds=60, memory=0, environment=environment)
    assert outcome.findings == []
    assert outcome.refused > 1_000
