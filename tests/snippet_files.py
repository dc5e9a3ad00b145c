"""Small versions of the files that readers of the documentation would have."""

from __future__ import annotations

import shutil
from pathlib import Path

import numpy as np

from nearfar import Graph
from nearfar.formats import write
from nearfar.generators import generate

RESULTS = Path(__file__).resolve().parents[1] / "benchmarks" / "results"
SCENARIO = "version 1\n1\tarena.map\t4\t3\t0\t0\t3\t2\t5.0\n"


def snippet_files(folder: Path) -> None:
    """Write all files."""
    write(generate("grid", rows=40, columns=40, missing=0), folder / "roads.gr")
    floats = Graph.from_edges([0, 1, 2], [1, 2, 0], np.array([1.5, 2.5, 3.5], np.float32))
    write(floats, folder / "graph.bin", format="galois")
    (folder / "wiki-Vote.txt").write_text("# who votes for whom\n0\t1\n1\t2\n2\t0\n")
    (folder / "friends.txt").write_text("0 1\n1 2\n")
    (folder / "log.txt").write_text("monday 0 1 seen 5\ntuesday 1 2 seen 7\n")
    (folder / "routes.csv").write_text(
        "from,to,miles,kind\nHEL,ARN,247,flight\nHEL,TLL,50,ferry\nARN,OSL,240,flight\n"
    )
    (folder / "plain.csv").write_text("0,1,4\n1,2,3\n")
    (folder / "arena.map").write_text("type octile\nheight 3\nwidth 4\nmap\n....\n.@@.\n....\n")
    (folder / "arena.map.scen").write_text(SCENARIO)
    experiment = folder / "results" / "davidson-2014"
    experiment.mkdir(parents=True)
    shutil.copy(RESULTS / "davidson-2014-cpu.json", experiment / "results.json")


def map_extract(file: Path) -> None:
    """Write a crossing of four streets as an OpenStreetMap extract; needs osmium."""
    import osmium

    nodes = {1: (24.94, 60.17), 2: (24.941, 60.17), 3: (24.94, 60.171), 4: (24.941, 60.171)}
    ways = [[1, 2, 4, 3, 1], [1, 4]]
    with osmium.SimpleWriter(str(file)) as writer:
        for number, place in nodes.items():
            writer.add_node(osmium.osm.mutable.Node(id=number, location=place, version=1))
        for number, way in enumerate(ways, 1):
            tags = {"highway": "residential"}
            writer.add_way(osmium.osm.mutable.Way(id=number, nodes=way, tags=tags, version=1))
