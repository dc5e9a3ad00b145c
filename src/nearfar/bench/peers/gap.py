"""The GAP Benchmark Suite's ``sssp``: delta-stepping with bucket fusion, C++ and OpenMP.

The program is taken from ``NEARFAR_GAP_SSSP``, or from PATH as ``gap-sssp``, or as ``sssp`` when
its help is GAP's. It reads GAP's serialised weighted graph (``.wsg``, int32 weights) and times
itself; that time counts, so starting the process and reading the file are not held against it.
Delta matters, and GAP says to set it for each graph: the first solve tries powers of four and
keeps the fastest. The program keeps its distances; its own verifier (``-v``) checks them in that
first run.
"""

from __future__ import annotations

import os
import re
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING, Literal

import numpy as np

from nearfar.bench.peers.base import Peer, on_path, run_program

if TYPE_CHECKING:
    from nearfar.graph import Graph

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


def integer_program_takes(graph: Graph, most: int) -> Literal[True] | str:
    """Whether a program with 32-bit integers and distances up to ``most`` can serve the graph."""
    if graph.weight_dtype.kind != "i":
        return f"the program is built for integers, the weights are {graph.weight_dtype}"
    if graph.n_vertices >= 2**31 - 1:
        return "too many vertices for 32-bit ids"
    if graph.max_weight * graph.n_vertices > most and graph.weight_dtype.itemsize > 4:
        return "its 32-bit distances may overflow"
    return True


class Gap(Peer):
    """GAP's delta-stepping."""

    name = "gap"
    parallel = True

    def __init__(self, threads: int = 1) -> None:
        super().__init__(threads)
        self.delta = 0
        self._folder: tempfile.TemporaryDirectory[str] | None = None

    def _program(self) -> str | None:
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

    def available(self) -> Literal[True] | str:
        """Whether the program is found."""
        return True if self._program() else "no GAP sssp on PATH: set NEARFAR_GAP_SSSP"

    def takes(self, graph: Graph) -> Literal[True] | str:
        """Integer weights."""
        fits = integer_program_takes(graph, 2**30)
        return fits if fits is not True else super().takes(graph)

    def prepare(self, graph: Graph) -> None:
        """Write the graph for the program."""
        program = self._program()
        if program is None:
            raise RuntimeError("GAP's sssp is gone")
        self.program = program
        self._folder = tempfile.TemporaryDirectory(prefix="nearfar-gap-")
        self.path = Path(self._folder.name) / "graph.wsg"
        write_wsg(graph, self.path)
        self.heaviest = int(graph.max_weight)

    def _run(self, source: int, delta: int, trials: int, *more: str) -> tuple[list[float], str]:
        command = [self.program, "-f", str(self.path), "-r", str(source), "-d", str(delta)]
        environment = os.environ | {"OMP_NUM_THREADS": str(self.threads)}
        text = run_program([*command, "-n", str(trials), *more], _LIMIT, env=environment)
        times = [float(t) for t in re.findall(r"Trial Time:\s*([0-9.]+)", text)]
        if len(times) != trials:
            raise RuntimeError(f"{self.program} printed {len(times)} trial times of {trials}")
        return times, text

    def _tune(self, source: int) -> None:
        deltas = [4**i for i in range(16) if 4**i <= 8 * max(self.heaviest, 1)]
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

    def close(self) -> None:
        """Remove the file."""
        if self._folder is not None:
            self._folder.cleanup()
            self._folder = None
