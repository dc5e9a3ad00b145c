"""ADDS (Wang, Fussell and Lin, PPoPP'21): asynchronous delta-stepping on one GPU, CUDA.

The program is taken from ``NEARFAR_ADDS_SSSP``, or from PATH as ``adds-sssp``; build it with
``benchmarks/gpu_peers/build.sh``. It reads Galois's binary graph (``.gr``, version 1), chooses
delta itself, solves eight times, times itself on the device and writes its distances, which are
checked. It does not terminate on some graphs with hubs, so every run has a time limit.
"""

from __future__ import annotations

import re
import statistics
from typing import TYPE_CHECKING, Any

import numpy as np

from nearfar.lab.bench.peers.base import run_program
from nearfar.lab.bench.peers.program import Program

if TYPE_CHECKING:
    from pathlib import Path

    from numpy.typing import NDArray

    from nearfar.graph.graph import Graph

__all__ = ["Adds", "write_galois"]

_LIMIT = 10.0  # seconds per run, five times those of reading a large graph and eight solves


def write_galois(graph: Graph, path: Path) -> None:
    """Write Galois's ``.gr``, version 1: four 64-bit sizes, row ends, targets, uint32 weights."""
    with path.open("wb") as out:
        np.array([1, 4, graph.n_vertices, graph.n_edges], dtype=np.uint64).tofile(out)
        graph.indptr[1:].astype(np.uint64).tofile(out)
        graph.indices.astype(np.uint32).tofile(out)
        if graph.n_edges % 2:
            np.zeros(1, dtype=np.uint32).tofile(out)
        graph.effective_weights.astype(np.uint32).tofile(out)


class Adds(Program):
    """ADDS for integer weights."""

    name = "adds"
    parallel = False
    command = "adds-sssp"
    farthest = 2**31

    def write(self, graph: Graph, folder: Path) -> None:
        """Write Galois's binary form."""
        write_galois(graph, folder / "graph.gr")

    def solve(self, source: int) -> Path:
        """Run the program for one source; the median of its samples counts."""
        answer = self.folder / "distances.txt"
        command = [self.program, "-s", str(source), "-o", answer.name, "graph.gr"]
        # It writes a summary to descriptor 3, which must be open.
        text = run_program(
            ["sh", "-c", 'exec "$@" 3>/dev/null', "sh", *command], _LIMIT, cwd=self.folder
        )
        times = [float(t) for t in re.findall(r"time for sample = ([0-9.]+)s", text)]
        if not times:
            raise RuntimeError(f"{self.program} printed no times")
        self.reported_seconds = statistics.median(times)
        return answer

    def distances(self, answer: Any) -> NDArray[np.float64]:
        """Return the lines of vertex and distance, INF where unreached."""
        words = answer.read_text().replace("INF", "inf").split()
        return np.array(words[1::2], dtype=np.float64)
