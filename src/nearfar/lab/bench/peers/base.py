"""Base class of the adapters."""

from __future__ import annotations

import shutil
import subprocess
from abc import ABC, abstractmethod
from importlib import metadata
from pathlib import Path
from typing import Any, ClassVar, Literal

import numpy as np
from numpy.typing import NDArray

from nearfar.graph.graph import Graph
from nearfar.system.memory import free_memory


class Peer(ABC):
    """Contender of a measurement.

    Subclasses set ``name`` and ``package``, and write :meth:`prepare`, :meth:`solve` and, unless
    the answer of ``solve`` is the distances already, :meth:`distances`. Only ``solve`` is timed.
    """

    name: ClassVar[str]
    # distribution whose version is reported, None for a program
    package: ClassVar[str | None] = None
    parallel: ClassVar[bool] = False  # whether it can use more than one thread for one source
    # rough size of its graph object; a graph that would take more than half of the free memory is
    # left out
    bytes_per_edge: ClassVar[int] = 16
    max_edges: ClassVar[int | None] = None  # beyond it, building the graph takes minutes

    def __init__(self, threads: int = 1) -> None:
        self.threads = threads
        # set by programs that time themselves; replaces the wall clock, which includes starting a
        # process and reading a file
        self.reported_seconds: float | None = None
        self.n_vertices = 0
        self.graph: Any = None  # graph object of the library

    @property
    def label(self) -> str:
        """Name in tables, with the number of threads if the peer can use several."""
        return f"{self.name} ({self.threads} thr)" if self.parallel else self.name

    def version(self) -> str:
        """Return the version of the library."""
        return metadata.version(self.package) if self.package else "unknown"

    def available(self) -> Literal[True] | str:
        """Return whether it is installed: True, or the reason in words."""
        if self.package is None:
            return True
        try:
            metadata.version(self.package)
        except metadata.PackageNotFoundError:
            return f"{self.package} is not installed: pip install 'nearfar[peers]'"
        return True

    def takes(self, graph: Graph) -> Literal[True] | str:
        """Return whether it supports this graph: True, or the reason in words."""
        if self.max_edges is not None and graph.n_edges > self.max_edges:
            return f"more than {self.max_edges:,} edges: building its graph would take minutes"
        needed = self.bytes_per_edge * graph.n_edges
        if needed > free_memory() // 2:
            return f"its graph would take about {needed / 2**30:.1f} GiB"
        return True

    @abstractmethod
    def prepare(self, graph: Graph) -> None:
        """Build its inputs from the graph, untimed."""

    @abstractmethod
    def solve(self, source: int) -> Any:
        """Solve from one source and return the peer's own form of the answer; timed."""

    def distances(self, answer: Any) -> NDArray[np.float64] | None:
        """Return distances, inf if unreached; None if the peer does not return them. Untimed."""
        return np.asarray(answer, dtype=np.float64)

    def close(self) -> None:
        """Free the inputs of :meth:`prepare`."""
        self.graph = None


class TookTooLong(RuntimeError):
    """Error for a program that exceeded its time limit."""


def run_program(command: list[str], seconds: float, **options: Any) -> str:
    """Run a program and return its standard output."""
    name = Path(command[0]).name
    try:
        done = subprocess.run(
            command, capture_output=True, text=True, timeout=seconds, check=False, **options
        )
    except subprocess.TimeoutExpired:
        raise TookTooLong(f"{name} took longer than {seconds:g} s") from None
    if done.returncode != 0:
        tail = (done.stderr or done.stdout).strip().splitlines()[-1:]
        raise RuntimeError(f"{name} ended with code {done.returncode}: {' '.join(tail)}")
    return str(done.stdout)


def on_path(*names: str) -> str | None:
    """Return the first of the named programs that is on PATH."""
    return next((found for found in map(shutil.which, names) if found), None)
