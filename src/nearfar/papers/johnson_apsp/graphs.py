"""Graphs of the Johnson paper's Table 1, of which six of eight are available."""

from __future__ import annotations

import numpy as np

from nearfar.graph.graph import Graph
from nearfar.lab.experiments.solving import weighted

#: Name in Table 1, file, vertices and edges as printed in the paper; None for a missing file.
GRAPHS: dict[str, tuple[str | None, int, int]] = {
    "graph1": ("p2p-Gnutella08", 6_301, 20_777),
    "graph2": ("p2p-Gnutella30", 36_682, 88_328),
    "graph3": ("p2p-Gnutella31", 62_586, 147_892),
    "graph4": ("loc-brightkite", 58_228, 428_156),
    "graph5": ("soc-Epinions1", 75_879, 508_837),
    "graph6": (None, 77_360, 905_468),
    "graph7": (None, 265_214, 420_045),
    "graph8": ("soc-Slashdot0902", 82_168, 948_464),
}
#: Probable graphs of the two missing files, by size.
MISSING = {"graph6": "soc-Slashdot0811", "graph7": "email-EuAll"}


def load(name: str) -> Graph:
    """Return a graph of the paper with seeded weights."""
    from nearfar.formats import read
    from nearfar.lab.bench.suite import data_file

    bare = read(data_file(f"snap-johnson/{name}.txt.xz"))
    if name == "loc-brightkite" and bare.n_edges < 300_000:
        tails = bare.tails(np.int64)
        both = np.concatenate([tails, bare.indices]), np.concatenate([bare.indices, tails])
        bare = Graph.from_edges(*both, n_vertices=bare.n_vertices)
    return weighted(bare, 1, 100, "experiments.johnson")
