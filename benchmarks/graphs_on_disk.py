"""Write generated graphs to a folder as native containers, for benchmark runs to share.

``python benchmarks/graphs_on_disk.py FOLDER NAME...`` generates the named graphs, each in a
separate process; ``--proofs`` also solves each from its source and stores the proven distances.
"""

from __future__ import annotations

import argparse
import os
from concurrent.futures import ProcessPoolExecutor, as_completed
from pathlib import Path
from typing import Any

import numpy as np

import nearfar
from nearfar.generators import generate
from nearfar.graph.graph import Graph
from nearfar.lab.bench.suite import load as load_suite
from nearfar.system.output import replacing

# Family and parameters; see `nearfar generate`. ny-roads is read from the folder of real graphs.
GRAPHS: dict[str, tuple[str, dict[str, Any]]] = {
    "kronecker-24": ("kronecker", {"scale": 24}),
    "grid-4000": ("grid", {"rows": 4000, "columns": 4000}),
    "kronecker-22": ("kronecker", {"scale": 22}),
    "kronecker-20": ("kronecker", {"scale": 20}),
    "martin-11": ("martin", {"vertices": 11 * 2**20}),
    "random-200": ("uniform_random", {"vertices": 98_304, "degree": 200}),
    "grid-2000": ("grid", {"rows": 2000, "columns": 2000}),
    "grid-1000": ("grid", {"rows": 1000, "columns": 1000}),
    "ny-roads": ("", {}),
}
#: Sources other than the vertex of largest degree, which reaches most of every other graph.
SOURCES = {"ny-roads": 189_259}


def make(name: str) -> Graph:
    """Generate or read the graph of that name."""
    family, parameters = GRAPHS[name]
    if family:
        return generate(family, **parameters)
    return load_suite("newyork")


def load(name: str, folder: Path | None) -> Graph:
    """Return the graph from the folder; generate and store it first if it is missing."""
    if folder is None:
        return make(name)
    kept = folder / f"{name}.nfg"
    if not kept.exists():
        folder.mkdir(parents=True, exist_ok=True)
        nearfar.write(make(name), kept)
    return nearfar.read(kept)


def source_of(name: str, graph: Graph) -> int:
    """Return the vertex from which benchmarks solve this graph."""
    return SOURCES.get(name, int(np.argmax(graph.degrees)))


def proven(name: str, graph: Graph, folder: Path | None) -> Any:
    """Return distances from the graph's source, proven in this call or when they were stored."""
    kept = folder / f"{name}.distances.npy" if folder else None
    if kept is not None and kept.exists():
        return np.load(kept)
    paths = nearfar.sssp(graph, source_of(name, graph), device="cpu")
    nearfar.verify(graph, paths)
    if kept is not None:
        with replacing(kept) as place, place.open("wb") as file:
            np.save(file, paths.distances)
    return paths.distances


def _keep(name: str, folder: Path, proofs: bool) -> str:
    graph = load(name, folder)
    if proofs:
        proven(name, graph, folder)
    return f"{name}: {graph.n_vertices:,} vertices, {graph.n_edges:,} edges"


def main() -> None:
    """Fill the folder."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("folder", type=Path)
    parser.add_argument("names", nargs="*", default=list(GRAPHS), choices=[*GRAPHS, []])
    parser.add_argument("--proofs", action="store_true")
    given = parser.parse_args()
    with ProcessPoolExecutor(min(len(given.names), os.cpu_count() or 1)) as pool:
        futures = [pool.submit(_keep, name, given.folder, given.proofs) for name in given.names]
        for future in as_completed(futures):
            print(future.result(), flush=True)


if __name__ == "__main__":
    main()
