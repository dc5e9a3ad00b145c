"""The GAP Benchmark Suite's ``sssp``: delta-stepping with bucket fusion; and Wasp, built on it.

The program is the one that ``NEARFAR_GAP_SSSP`` names, or ``gap-sssp`` on PATH, or ``sssp`` if its
help is GAP's. It reads GAP's serialised weighted graph (``.wsg``, int32 weights) and reports its
own time, which excludes starting the process and reading the file. GAP recommends setting delta per
graph: the first solve tries six, from a 256th of the greatest weight to four times it, and keeps
the fastest with a correct answer. The program does not write its distances; its own verifier
(``-v``) checks them in that first run.
"""

from __future__ import annotations

import contextlib
import math
import os
import re
from pathlib import Path

import numpy as np

from nearfar.graph.graph import Graph
from nearfar.lab.bench.peers.base import TookTooLong, on_path, run_program
from nearfar.lab.bench.peers.program import Program


def write_wsg(graph: Graph, path: Path, backwards: Graph | None = None) -> None:
    """Write GAP's serialised form: a flag, m, n, 64-bit offsets, then (target, weight) pairs.

    Weights are int32, or float32 for a program that was built for floats.

    The flag says undirected unless ``backwards``, the reversed graph, is given, which then follows.
    GAP's ``sssp`` never reads reversed edges.
    """
    with path.open("wb") as out:
        out.write(b"\0" if backwards is None else b"\1")
        np.array([graph.n_edges, graph.n_vertices], dtype=np.int64).tofile(out)
        weight = np.dtype(np.float32 if graph.weight_dtype.kind == "f" else np.int32)
        for one in (graph,) if backwards is None else (graph, backwards):
            pairs = np.empty(one.n_edges, dtype=[("target", np.int32), ("weight", weight)])
            pairs["target"] = one.indices
            pairs["weight"] = one.effective_weights
            one.indptr.astype(np.int64).tofile(out)
            pairs.tofile(out)


class WrongAnswer(RuntimeError):
    """Error for an answer that failed the program's own verification with every delta."""


class Gap(Program):
    """GAP's delta-stepping.

    Attributes
    ----------
    delta : int or float
        Fastest width with a correct answer; 0 before the first solve.
    failed : list of int or float
        Faster widths with a wrong answer.
    widths : range
        Powers of four, times the greatest weight, that are tried as delta.
    limit : float
        Seconds of a run; a delta that takes longer when it is tried is skipped.
    hopeless : float
        Ratio to the best delta's time from which no smaller delta is tried.
    trials : int
        Solves in a row, of which the first only warms up.
    """

    name = "gap"
    command = "gap-sssp"
    farthest = 2**30

    def __init__(self, threads: int = 1) -> None:
        super().__init__(threads)
        self.delta: float = 0
        self.heaviest: float = 0
        self.failed: list[float] = []
        self.widths = range(-4, 2)
        self.limit, self.hopeless, self.trials = 300.0, math.inf, 2
        self._deltas: list[float] = []
        self._right: set[float] = set()

    def find(self, floats: bool = False) -> str | None:
        """Return the program's path; a plain ``sssp`` on PATH counts if it answers as GAP's."""
        named = super().find(floats)
        found = on_path("sssp") if named is None and type(self) is Gap else None
        if found is None:
            return named
        try:
            told = run_program([found, "-h"], 10)
        except (RuntimeError, OSError):
            return None
        return found if "single-source shortest-path" in told else None

    def write(self, graph: Graph, folder: Path) -> None:
        """Write the serialised form, with weights."""
        write_wsg(graph, folder / "graph.wsg")
        self.heaviest = graph.max_weight

    def _run(self, source: int, delta: float, trials: int, *more: str) -> tuple[list[float], str]:
        command = [self.program, "-f", str(self.folder / "graph.wsg"), "-r", str(source)]
        command += ["-d", str(delta), "-n", str(trials), *more]
        environment = os.environ | {"OMP_NUM_THREADS": str(self.threads)}
        text = run_program(command, self.limit, env=environment)
        times = [float(t) for t in re.findall(r"Trial Time:\s*([0-9.]+)", text)]
        if len(times) != trials:
            raise RuntimeError(f"{self.program} printed {len(times)} trial times of {trials}")
        return times, text

    def _tune(self, source: int) -> None:
        if not self._deltas:
            widths = [self.heaviest * 4.0**i for i in self.widths]
            whole = isinstance(self.heaviest, int)
            self._deltas = sorted({max(1, int(w)) for w in widths} if whole else set(widths))
        timed: list[tuple[float, float]] = []
        for delta in reversed(self._deltas):
            with contextlib.suppress(TookTooLong):
                timed.append((min(self._run(source, delta, 2)[0]), delta))
            if timed and timed[-1][0] > self.hopeless * min(timed)[0]:
                break
        for _, delta in sorted(timed):
            if delta in self._right or self._verified(source, delta):
                self._right.add(delta)
                self.delta = delta
                return
            self.failed.append(delta)
        raise WrongAnswer(
            f"{Path(self.program).name} took too long with every delta, or failed its own "
            f"verification: {', '.join(map(str, self.failed))}"
        )

    def _verified(self, source: int, delta: float) -> bool:
        text = self._run(source, delta, 1, "-v")[1]
        return re.search(r"Verification:\s*PASS", text) is not None

    def fewer_threads(self, threads: int, most: int) -> None:
        """Continue with fewer threads; the next solve searches for delta again.

        It tries the ``most`` deltas around the last one, and accepts a delta that was right with
        more threads as correct.
        """
        self.take_deltas(self, most)
        self.threads, self.delta, self.failed = threads, 0, []

    def borrow(self, lender: Program) -> None:
        """Read the graph's file of another instance, which is closed after this one."""
        assert isinstance(lender, Gap)
        super().borrow(lender)
        self.heaviest = lender.heaviest

    def take_deltas(self, other: Gap, most: int) -> None:
        """Try the ``most`` deltas around the best of another program on the same graph.

        A delta that was correct with that program is accepted as correct.
        """
        self._deltas, self._right = other._deltas, other._right
        if other.delta and most < len(other._deltas):
            first = other._deltas.index(other.delta) - most // 2
            first = min(max(0, first), len(other._deltas) - most)
            self._deltas = other._deltas[first : first + most]

    def solve(self, source: int) -> None:
        """Run the program for one source; the least time of the trials after the first counts."""
        if not self.delta:
            self._tune(source)
        self.reported_seconds = min(self._run(source, self.delta, self.trials)[0][1:])

    def distances(self, answer: None) -> None:
        """Return None, because GAP does not write its distances."""
        return None


class Wasp(Gap):
    """Wasp's ``sssp`` (D'Antonio et al., SC'25): asynchronous delta-stepping, C++ and OpenMP.

    The program is the one that ``NEARFAR_WASP_SSSP`` names, or ``wasp-sssp`` on PATH; it must be
    built with ``-DUSE_INT32``. ``NEARFAR_WASP_SSSP_FLOAT``, or ``wasp-sssp-float``, is the program
    for float32. It is built on GAP's benchmark suite, with the same serialised graph, options,
    timing and verification, and delta is searched as for GAP. On an undirected graph it also
    relaxes against the edges, so a directed graph is written with its reversed edges unless they
    are the same.
    """

    name = "wasp"
    command = "wasp-sssp"
    floats = True

    def write(self, graph: Graph, folder: Path) -> None:
        """Write the serialised form, with reversed edges unless they are the same."""
        backwards = graph.transpose() if graph.directed else None
        if backwards is not None:
            # Reversing twice sorts the rows, as in the reversed graph.
            again = Graph.from_csr(backwards.indptr, backwards.indices, backwards.weights)
            if _equal(backwards, again.transpose()):
                backwards = None
        write_wsg(graph, folder / "graph.wsg", backwards)
        self.heaviest = graph.max_weight


def _equal(one: Graph, other: Graph) -> bool:
    """Return whether both have the same edges in the same order."""
    return (
        np.array_equal(one.indptr, other.indptr)
        and np.array_equal(one.indices, other.indices)
        and np.array_equal(one.effective_weights, other.effective_weights)
    )
