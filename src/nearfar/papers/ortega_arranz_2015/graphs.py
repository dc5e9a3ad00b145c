"""Graphs of Ortega-Arranz et al. (2015), section 4.3, by scale; real ones with weights 1..100.

The paper's Dimacs files of the families walshaw (meshes), clustering, Kronecker and social networks
are replaced by files of the same families from the folder that ``NEARFAR_DATA`` names, and by
generated graphs; flickr's structure by a generated preferential-attachment graph.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from nearfar.generators import generate
from nearfar.generators.random import Stream
from nearfar.graph.graph import Graph
from nearfar.lab.bench.suite import data_file

# Multiples of a unit of vertices.
MARTIN: dict[str, tuple[tuple[int, ...], int]] = {
    "tiny": ((1,), 1 << 8),
    "small": ((1, 4, 11), 1 << 15),
    "paper": ((1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11), 1 << 20),
}
RANDOM: dict[str, tuple[int, ...]] = {
    "tiny": (96,),
    "small": (6_144, 12_288, 24_576),
    "paper": (24_576, 49_152, 98_304),
}
DEGREES: dict[str, tuple[int, ...]] = {
    "tiny": (2, 20),
    "small": (2, 20, 200),
    "paper": (2, 20, 200, 1000, 2000),
}
# More degrees for the largest size, for smoother curves in Figure 3 and the crossing at degree 10.
BETWEEN: dict[str, tuple[tuple[int, int], ...]] = {
    "tiny": (),
    "small": tuple((24_576, degree) for degree in (5, 10, 50, 100)),
    "paper": tuple((98_304, degree) for degree in (5, 10, 50, 100, 500)),
}
# Family of the paper, file below the data folder or generator with parameters.
_FILES = {
    "4elt": ("walshaw", "dimacs10-metis/4elt.graph.xz"),
    "copter2": ("walshaw", "dimacs10-metis/copter2.graph.xz"),
    "wing": ("walshaw", "dimacs10-metis/wing.graph.xz"),
    "power": ("clustering", "dimacs10-metis/power.graph.xz"),
    "PGPgiantcompo": ("clustering", "dimacs10-metis/PGPgiantcompo.graph.xz"),
    "astro-ph": ("clustering", "dimacs10-metis/astro-ph.graph.xz"),
    "soc-Slashdot0902": ("social", "snap-johnson/soc-Slashdot0902.txt.xz"),
    "soc-Epinions1": ("social", "snap-johnson/soc-Epinions1.txt.xz"),
}


def _generated(scale: str) -> dict[str, tuple[str, str, dict[str, Any]]]:
    low, high, people = {
        "tiny": (6, 6, 64),
        "small": (14, 16, 1 << 15),
        "paper": (17, 21, 1 << 20),
    }[scale]
    every = {
        f"kronecker-{k}": ("kronecker", "kronecker", {"scale": k, "low": 1, "high": 100})
        for k in sorted({low, (low + high) // 2, high})
    }
    social = {"vertices": people, "low": 1, "high": 100}
    return every | {"social-like": ("social", "preferential_attachment", social)}


def REAL(scale: str) -> dict[str, str]:
    """Return the names of the real and the real-like graphs of a scale, with the paper's family."""
    files = {} if scale == "tiny" else {name: kind for name, (kind, _) in _FILES.items()}
    return files | {name: kind for name, (kind, _, _) in _generated(scale).items()}


def graph_of(what: Mapping[str, Any], scale: str) -> Graph:
    """Return the graph of a task."""
    if what["kind"] == "martin":
        return generate("martin", vertices=what["vertices"], seed=what["seed"])
    if what["kind"] == "random":
        size = {"vertices": what["vertices"], "degree": what["degree"]}
        return generate("uniform_random", **size, low=1, high=100, seed=what["seed"])
    name = what["name"]
    if name not in _FILES:
        _, family, parameters = _generated(scale)[name]
        return generate(family, **parameters, seed=what["seed"])
    from nearfar.formats import read

    bare = read(data_file(_FILES[name][1]))
    # Weights depend on the pair of ends, so both directions of an undirected edge weigh the same.
    tails = bare.tails(np.int64)
    low, high = np.minimum(tails, bare.indices), np.maximum(tails, bare.indices)
    table = Stream(1, "ortega.real").integers(1, 100, 1 << 16, np.int32)
    weights = table[(low * 2_654_435_761 + high * 40_503) % len(table)]
    return Graph(bare.indptr, bare.indices, weights, attributes={"source": name})
