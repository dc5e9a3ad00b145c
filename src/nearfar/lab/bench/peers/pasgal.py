"""PASGAL's ``sssp`` (successor of Parallel-SSSP): rho-stepping, C++ and ParlayLib.

The program is taken from ``NEARFAR_PASGAL_SSSP``, or from PATH as ``pasgal-sssp``; that for float32
(``make FLOAT=1``), which writes six digits of a distance, from ``NEARFAR_PASGAL_SSSP_FLOAT`` or
``pasgal-sssp-float``. It reads a weighted PBBS text graph (``.adj``; its binary form has no
weights), solves one warm-up and five rounds for a source (``-r``), times itself, and writes its
distances (``-d``), which are checked like those of every peer. The predecessor project,
Parallel-SSSP, does not accept a source, so it is not measured.
"""

from __future__ import annotations

import os
import re
import statistics
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from nearfar.graph.graph import Graph
from nearfar.lab.bench.peers.base import run_program
from nearfar.lab.bench.peers.program import Program

_LIMIT = 600.0
_BLOCK = 1 << 20


def write_adj(graph: Graph, path: Path) -> None:
    """Write the PBBS text form: header, n, m, offsets, targets, weights, one number per line."""
    with path.open("w") as out:
        out.write(f"WeightedAdjacencyGraph\n{graph.n_vertices}\n{graph.n_edges}\n")
        for array in (graph.indptr[:-1], graph.indices, graph.effective_weights):
            for start in range(0, len(array), _BLOCK):
                out.write("\n".join(map(str, array[start : start + _BLOCK].tolist())))
                out.write("\n")


class Pasgal(Program):
    """PASGAL's rho-stepping."""

    name = "pasgal"
    command = "pasgal-sssp"
    floats = True
    farthest = 2**31
    max_edges = 10_000_000  # larger text files take minutes to read

    def write(self, graph: Graph, folder: Path) -> None:
        """Write text with weights."""
        write_adj(graph, folder / "graph.adj")
        self.unreached = 3.4e38 if graph.weight_dtype.kind == "f" else 2**31 - 1
        self.symmetric = not graph.directed

    def solve(self, source: int) -> Path:
        """Run the program for one source; the median of its rounds counts."""
        command = [self.program, "-i", "graph.adj", "-r", str(source), "-d"]
        text = run_program(
            command + (["-s"] if self.symmetric else []),
            _LIMIT,
            cwd=self.folder,
            env=os.environ | {"PARLAY_NUM_THREADS": str(self.threads)},
        )
        times = [float(t) for t in re.findall(r"^Round \d+: ([0-9.]+)", text, re.MULTILINE)]
        if not times:
            raise RuntimeError(f"{self.program} printed no round times")
        self.reported_seconds = statistics.median(times)
        return self.folder / "sssp.out"

    def distances(self, answer: Any) -> NDArray[np.float64]:
        """Return the distances that the program wrote; the maximum of its type is unreached."""
        values = np.fromstring(answer.read_text(), dtype=np.float64, sep="\n")
        values[values >= self.unreached] = np.inf
        return values
