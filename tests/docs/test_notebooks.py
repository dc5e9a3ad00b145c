"""Notebooks of docs/tutorials run from the first cell to the last, and are stored without outputs.

The code cells of a notebook, a JSON file, are run in one namespace of a separate process, as in a
kernel, without Jupyter.
"""

from __future__ import annotations

import json
import lzma
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from tests.datafiles import data_path

ROOT = Path(__file__).resolve().parents[2]
NOTEBOOKS = sorted((ROOT / "docs" / "tutorials").glob("*.ipynb"))
RUNNER = """
import json, sys
cells = json.load(open(sys.argv[1], encoding="utf-8"))["cells"]
names = {"__name__": "__main__"}
for at, cell in enumerate(cells):
    if cell["cell_type"] == "code":
        exec(compile("".join(cell["source"]), f"cell {at}", "exec"), names)
"""
IMAGES = ("isochrones.png", "queues.png", "deltas.png", "work-parallelism.png")


def load(file: Path) -> dict[str, Any]:
    notebook: dict[str, Any] = json.loads(file.read_text(encoding="utf-8"))
    return notebook


def run(file: Path, folder: Path, **more: str) -> subprocess.CompletedProcess[str]:
    environment = {**os.environ, "NEARFAR_NOTEBOOK_OUTPUT": str(folder), **more}
    return subprocess.run(
        [sys.executable, "-W", "error", "-c", RUNNER, str(file)],
        capture_output=True,
        text=True,
        check=False,
        timeout=200,
        cwd=folder,
        env=environment,
    )


def test_there_is_a_notebook() -> None:
    assert NOTEBOOKS


@pytest.mark.parametrize("file", NOTEBOOKS, ids=lambda p: p.name)
def test_stored_small_and_without_outputs(file: Path) -> None:
    notebook = load(file)
    assert notebook["nbformat"] == 4
    assert len({cell["id"] for cell in notebook["cells"]}) == len(notebook["cells"])
    for cell in notebook["cells"]:
        if cell["cell_type"] == "code":
            assert cell["outputs"] == []
            assert cell["execution_count"] is None
    assert file.stat().st_size < 50_000


def pictures(folder: Path) -> None:
    from matplotlib.image import imread

    for name in IMAGES:
        pixels = imread(folder / name)
        assert min(pixels.shape[:2]) > 200
        assert pixels.std() > 0.02, f"{name} is empty"


def test_road_map_on_a_generated_network(tmp_path: Path) -> None:
    done = run(ROOT / "docs" / "tutorials" / "road-map-to-parallelism.ipynb", tmp_path)
    assert done.returncode == 0, done.stderr
    assert "vertices per iteration" in done.stdout
    pictures(tmp_path)


def test_road_map_on_helsinki(tmp_path: Path) -> None:
    pytest.importorskip("osmium")
    extract = tmp_path / "Helsinki.osm.pbf"
    extract.write_bytes(
        lzma.decompress(data_path("transport-misc/Helsinki.osm.pbf.xz").read_bytes())
    )
    file = ROOT / "docs" / "tutorials" / "road-map-to-parallelism.ipynb"
    done = run(file, tmp_path, NEARFAR_MAP=str(extract))
    assert done.returncode == 0, done.stderr
    pictures(tmp_path)


def test_a_broken_cell_is_noticed(tmp_path: Path) -> None:
    notebook = load(NOTEBOOKS[0])
    notebook["cells"][-2]["source"] = ["raise ValueError('broken')"]
    del notebook["cells"][:-2]  # which take seconds
    broken = tmp_path / "broken.ipynb"
    broken.write_text(json.dumps(notebook))
    assert "broken" in run(broken, tmp_path).stderr
