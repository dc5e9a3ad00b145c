"""The variant in CONTRIBUTING.md: its C++ compiles, and its Python registers and runs."""

from __future__ import annotations

import os
import re
import subprocess
import sys
import sysconfig
import textwrap
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
#: The loop of another variant replaces the one that is not built here.
RUN = """
import nearfar
from nearfar import _cpu

_cpu.my_idea = lambda view, source, distances, limit: _cpu.dijkstra_array(
    view, source, distances, limit
)
graph = nearfar.Graph.from_edges([0, 1, 0], [1, 2, 2], [4, 3, 9])
paths = nearfar.sssp(graph, 0, method="my_idea")
nearfar.verify(graph, paths)
ranked = [one.variant.id for one in nearfar.explain(graph, 0).ranking]
print(paths.engine, paths.distances.tolist(), "my_idea@cpu" in ranked)
"""


def shown(language: str) -> str:
    """Return the only snippet of a language."""
    page = (ROOT / "CONTRIBUTING.md").read_text(encoding="utf-8")
    (found,) = re.findall(rf"^   ```{language}\n(.*?)^   ```$", page, re.MULTILINE | re.DOTALL)
    return textwrap.dedent(found)


def test_the_loop_compiles(tmp_path: Path) -> None:
    nanobind = pytest.importorskip("nanobind")
    robin_map = Path(nanobind.source_dir()).parent / "ext" / "robin_map" / "include"
    folders = [ROOT / "src" / "nearfar", nanobind.include_dir(), robin_map]
    folders.append(Path(sysconfig.get_paths()["include"]))
    (tmp_path / "my_idea.cpp").write_text(shown("cpp"))
    flags = ["-std=c++20", "-fsyntax-only", "-Wall", "-Wextra", "-Werror"]
    command = ["g++", *flags, *(f"-isystem{folder}" for folder in folders)]
    done = subprocess.run(
        [*command, str(tmp_path / "my_idea.cpp")], capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr[:3000]


def test_the_variant_registers_and_runs(tmp_path: Path) -> None:
    folder = tmp_path / "more" / "my_idea"
    folder.mkdir(parents=True)
    (folder / "__init__.py").write_text('"""My idea."""\n')
    (folder / "cpu.py").write_text(shown("python"))
    environment = {**os.environ, "NEARFAR_VARIANTS": str(folder.parent)}
    done = subprocess.run(
        [sys.executable, "-c", RUN], capture_output=True, text=True, check=False, env=environment
    )
    assert done.stdout == "my_idea@cpu [0, 4, 7] True\n", done.stderr
