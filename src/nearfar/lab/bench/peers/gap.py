"""The GAP Benchmark Suite's ``sssp``: delta-stepping with bucket fusion, C++ and OpenMP.

The program is taken from ``NEARFAR_GAP_SSSP``, or from PATH as ``gap-sssp``, or as ``sssp`` when
its help is GAP's. It reads GAP's serialised weighted graph (``.wsg``, int32 weights) and times
itself; that time counts, so starting the process and reading the file are not held against it.
Delta matters, and GAP says to set it for each graph: the first solve tries six, from a 256th of
the greatest weight to four times it, and keeps the fastest. The program keeps its distances; its
own verifier (``-v``) checks them in that first run.
"""

from __future__ import annotations

import os
import re
from typing import TYPE_CHECKING

import numpy as np

from nearfar.lab.bench.peers.base import on_path, run_program
from nearfar.lab.bench.peers.program import IntegerProgram

if TYPE_CHECKING:
    from pathlib import Path

    from nearfar.graph.graph import Graph

__all__ = ["Gap"]

_LIMIT = 300.0  # seconds a program run


def write_wsg(graph: Graph, path: Path) -> None:
    """Write GAP's serialised form: a flag, m, n, 64-bit offsets, then (target, weight) pairs.

    The flag says undirected, so that GAP does not ask for the reversed edges, which its ``sssp``
    never reads.
    """
    pairs = np.empty((graph.n_edges, 2), dtype=np.int32)
    pairs[:, 0] = graph.indices
    pairs[:, 1] = graph.effective_weights
    with path.open("wb") as out:
        out.write(b"\0")
        np.array([graph.n_edges, graph.n_vertices], dtype=np.int64).tofile(out)
        graph.indptr.astype(np.int64).tofile(out)
        pairs.tofile(out)


class Gap(IntegerProgram):
    """GAP's delta-stepping."""

    name = "gap"
    missing = "no GAP sssp on PATH: set NEARFAR_GAP_SSSP"
    farthest = 2**30

    def __init__(self, threads: int = 1) -> None:
        super().__init__(threads)
        self.delta = 0

    def find(self) -> str | None:
        """As the head of this file says."""
        named = os.environ.get("NEARFAR_GAP_SSSP") or on_path("gap-sssp")
        if named:
            return named
        found = on_path("sssp")
        if found is None:
            return None
        try:
            told = run_program([found, "-h"], 10)
        except (RuntimeError, OSError):
            return None
        return found if "single-source shortest-path" in told else None

    def write(self, graph: Graph, folder: Path) -> None:
        """Serialised, with weights."""
        write_wsg(graph, folder / "graph.wsg")
        self.heaviest = int(graph.max_weight)

    def _run(self, source: int, delta: int, trials: int, *more: str) -> tuple[list[float], str]:
        command = [
            self.program,
            "-f",
            str(self.folder / "graph.wsg"),
            "-r",
            str(source),
            "-d",
            str(delta),
        ]
        environment = os.environ | {"OMP_NUM_THREADS": str(self.threads)}
        text = run_program([*command, "-n", str(trials), *more], _LIMIT, env=environment)
        times = [float(t) for t in re.findall(r"Trial Time:\s*([0-9.]+)", text)]
        if len(times) != trials:
            raise RuntimeError(f"{self.program} printed {len(times)} trial times of {trials}")
        return times, text

    def _tune(self, source: int) -> None:
        deltas = sorted({max(1, self.heaviest * 4**i // 256) for i in range(6)})
        timed = [(min(self._run(source, delta, 3)[0]), delta) for delta in deltas]
        self.delta = min(timed)[1]
        text = self._run(source, self.delta, 1, "-v")[1]
        if not re.search(r"Verification:\s*PASS", text):
            raise RuntimeError(f"{self.program} failed its own verification")

    def solve(self, source: int) -> None:
        """Run the program for one source; the second of two trials counts, the first warms up."""
        if not self.delta:
            self._tune(source)
        self.reported_seconds = self._run(source, self.delta, 2)[0][1]

    def distances(self, answer: None) -> None:
        """GAP does not write its distances."""
        return None

    def version(self) -> str:
        """The program does not say."""
        return "unknown"
