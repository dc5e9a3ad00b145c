"""doubleGraph's ``sssp`` (a rewrite of cuGraph's, 2026): its kernels for three GPUs, CUDA.

The programs, one per form, are taken from the folder ``NEARFAR_DOUBLEGRAPH_SSSP``, or from PATH as
``doublegraph-sssp-FORM``; build them with ``benchmarks/gpu_peers/build.sh``. Each form solves once
to warm up and then several rounds; the first solve for a graph tries all of them, and the fastest
whose distances are right counts. Weights are float32, so distances above 2^24 would be rounded.
"""

from __future__ import annotations

import os
import re
import statistics
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

import numpy as np

from nearfar.lab.bench.peers.base import TookTooLong, on_path, run_program
from nearfar.lab.bench.peers.program import Program

from .forms import Forms

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from nearfar.graph.graph import Graph

__all__ = ["DoubleGraph"]

FORMS = tuple(f"{gpu}-{kind}" for gpu in ("a100", "a10g", "l4") for kind in ("f32", "f32_seg"))

_LIMIT = 20.0  # seconds per run
_ROUNDS = 5


class DoubleGraph(Forms, Program):
    """Fastest form of doubleGraph."""

    name = "doublegraph"
    parallel = False
    command = "doublegraph-sssp"
    farthest = 2**24

    def _programs(self) -> dict[str, str]:
        folder = os.environ.get(self.variable)
        found = {}
        for form in FORMS:
            name = f"{self.command}-{form}"
            path = str(Path(folder) / name) if folder else on_path(name)
            if path and Path(path).is_file():
                found[form] = path
        return found

    def missing(self, floats: bool = False) -> str:
        """Return a message that says how to install the program."""
        return f"no {self.command}-* on PATH: set {self.variable} to their folder"

    def find(self, floats: bool = False) -> str | None:
        """Return the first of the programs, as the head of this file says."""
        return next(iter(self._programs().values()), None)

    def takes(self, graph: Graph) -> Literal[True] | str:
        """Return whether weights are exact in float32."""
        if graph.max_weight > self.farthest:
            return "float32 does not represent its weights"
        return super().takes(graph)

    def write(self, graph: Graph, folder: Path) -> None:
        """Write sizes, offsets, targets and weights."""
        with (folder / "graph.bin").open("wb") as out:
            np.array([graph.n_vertices, graph.n_edges], dtype=np.int64).tofile(out)
            graph.indptr.astype(np.int32).tofile(out)
            graph.indices.astype(np.int32).tofile(out)
            graph.effective_weights.astype(np.float32).tofile(out)

    def solve(self, source: int) -> Path:
        """Run every form for one source; the fastest counts."""
        self.forms, self.failed = {}, {}
        for form, program in self._programs().items():
            command = [program, "graph.bin", str(source), str(_ROUNDS), f"{form}.out"]
            try:
                text = run_program(command, _LIMIT, cwd=self.folder)
            except TookTooLong as problem:  # other forms would not be much faster
                self.failed[form] = str(problem)
                break
            except RuntimeError as problem:
                self.failed[form] = str(problem)
                continue
            rounds = [float(t) for t in re.findall(r"^Round: ([0-9.]+) ms", text, re.MULTILINE)]
            self.forms[form] = statistics.median(rounds)
        return self.folder / f"{self.fastest()}.out"

    def distances(self, answer: Any) -> NDArray[np.float64]:
        """Return the distances of the fastest form; the greatest float is unreached."""
        found = np.fromfile(answer, dtype=np.float32)
        values = found.astype(np.float64)
        values[found >= np.finfo(np.float32).max] = np.inf
        return values
