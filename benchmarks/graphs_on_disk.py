"""Generated graphs kept in a folder as native containers, for benchmark runs to share.

``python benchmarks/graphs_on_disk.py FOLDER NAME...`` generates the named graphs, each in a
process of its own.
"""

from __future__ import annotations

import argparse
import os
from concurrent.futures import ProcessPoolExecutor
from pathlib import Path
from typing import Any

import nearfar
from nearfar.generators import generate
from nearfar.graph.graph import Graph
from nearfar.lab.bench.suite import data_folder

# Family and parameters; see `nearfar generate`. ny-roads is read from the folder of real graphs.
GRAPHS: dict[str, tuple[str, dict[str, Any]]] = {
    "kronecker-22": ("kronecker", {"scale": 22}),
    "kronecker-20": ("kronecker", {"scale": 20}),
    "martin-11": ("martin", {"vertices": 11 * 2**20}),
    "random-200": ("uniform_random", {"vertices": 98_304, "degree": 200}),
    "grid-2000": ("grid", {"rows": 2000, "columns": 2000}),
    "grid-1000": ("grid", {"rows": 1000, "columns": 1000}),
    "ny-roads": ("", {}),
}


def make(name: str) -> Graph:
    """The graph of that name, generated or read now."""
    family, parameters = GRAPHS[name]
    if family:
        return generate(family, **parameters)
    folder = data_folder()
    if folder is None:
        raise FileNotFoundError("set NEARFAR_DATA to the folder of real graphs")
    return nearfar.read(folder / "dimacs9-road" / "USA-road-d.NY.gr.xz").without_names()


def load(name: str, folder: Path | None) -> Graph:
    """The graph from the folder; generated, and kept there, when it is not in it yet."""
    if folder is None:
        return make(name)
    kept = folder / f"{name}.nfg"
    if not kept.exists():
        folder.mkdir(parents=True, exist_ok=True)
        nearfar.write(make(name), kept)
    return nearfar.read(kept)


def _keep(name: str, folder: Path) -> str:
    graph = load(name, folder)
    return f"{name}: {graph.n_vertices:,} vertices, {graph.n_edges:,} edges"


def main() -> None:
    """Fill the folder."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("folder", type=Path)
    parser.add_argument("names", nargs="*", default=list(GRAPHS), choices=[*GRAPHS, []])
    given = parser.parse_args()
    with ProcessPoolExecutor(min(len(given.names), os.cpu_count() or 1)) as pool:
        for line in pool.map(_keep, given.names, [given.folder] * len(given.names)):
            print(line, flush=True)


if __name__ == "__main__":
    main()
