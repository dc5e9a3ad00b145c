"""PASGAL's ``sssp`` (successor of Parallel-SSSP): rho-stepping, C++ and ParlayLib.

The program is taken from ``NEARFAR_PASGAL_SSSP``, or from PATH as ``pasgal-sssp``. It reads a
weighted PBBS text graph (``.adj``; its binary form has no weights), solves one warm-up and five
rounds for a source (``-r``), times itself, and writes its distances (``-d``), which are checked
like everybody's. The predecessor project, Parallel-SSSP, cannot be given a source, so it cannot
run on the same ones.
"""

from __future__ import annotations

import os
import re
import statistics
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

import numpy as np

from nearfar.bench.peers.base import Peer, on_path, run_program
from nearfar.bench.peers.gap import integer_program_takes

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from nearfar.graph import Graph

__all__ = ["Pasgal"]

_LIMIT = 600.0
_BLOCK = 1 << 20


def write_adj(graph: Graph, path: Path) -> None:
    """Write the PBBS text form: header, n, m, offsets, targets, weights, one number a line."""
    with path.open("w") as out:
        out.write(f"WeightedAdjacencyGraph\n{graph.n_vertices}\n{graph.n_edges}\n")
        for array in (graph.indptr[:-1], graph.indices, graph.effective_weights):
            for start in range(0, len(array), _BLOCK):
                out.write("\n".join(map(str, array[start : start + _BLOCK].tolist())))
                out.write("\n")


class Pasgal(Peer):
    """PASGAL's rho-stepping."""

    name = "pasgal"
    parallel = True

    def __init__(self, threads: int = 1) -> None:
        super().__init__(threads)
        self._folder: tempfile.TemporaryDirectory[str] | None = None

    def _program(self) -> str | None:
        return os.environ.get("NEARFAR_PASGAL_SSSP") or on_path("pasgal-sssp")

    def available(self) -> Literal[True] | str:
        """Whether the program is found."""
        return True if self._program() else "no pasgal-sssp on PATH: set NEARFAR_PASGAL_SSSP"

    def takes(self, graph: Graph) -> Literal[True] | str:
        """Integer weights."""
        fits = integer_program_takes(graph, 2**31)
        return fits if fits is not True else super().takes(graph)

    def prepare(self, graph: Graph) -> None:
        """Write the graph for the program."""
        program = self._program()
        if program is None:
            raise RuntimeError("PASGAL's sssp is gone")
        self.program = program
        self.n_vertices = graph.n_vertices
        self.symmetric = not graph.directed
        self._folder = tempfile.TemporaryDirectory(prefix="nearfar-pasgal-")
        write_adj(graph, Path(self._folder.name) / "graph.adj")

    def solve(self, source: int) -> Path:
        """Run the program for one source; the median of its rounds counts."""
        if self._folder is None:
            raise RuntimeError("prepare comes before solve")
        folder = self._folder.name
        command = [self.program, "-i", "graph.adj", "-r", str(source), "-d"]
        text = run_program(
            command + (["-s"] if self.symmetric else []),
            _LIMIT,
            cwd=folder,
            env=os.environ | {"PARLAY_NUM_THREADS": str(self.threads)},
        )
        times = [float(t) for t in re.findall(r"^Round \d+: ([0-9.]+)", text, re.MULTILINE)]
        if not times:
            raise RuntimeError(f"{self.program} printed no round times")
        self.reported_seconds = statistics.median(times)
        return Path(folder) / "sssp.out"

    def distances(self, answer: Any) -> NDArray[np.float64]:
        """The numbers that it wrote; the greatest of its type is unreached."""
        values = np.fromstring(answer.read_text(), dtype=np.float64, sep="\n")
        values[values >= 2**31 - 1] = np.inf
        return values

    def close(self) -> None:
        """Remove the files."""
        if self._folder is not None:
            self._folder.cleanup()
            self._folder = None
